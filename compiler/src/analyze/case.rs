//! `case` and `condp`.

use super::analyzer::{Analyzer, Nodes};
use crate::ast::{Case, Condp, CondpClause, Node, NodeId, TableRange};
use crate::error::{CompileError, Result};
use crate::form::{Form, FormKind, Items};
use crate::source::Span;

impl Analyzer<'_, '_> {
    pub(super) fn case(&mut self, items: Items, span: Span, tail: bool) -> Result<NodeId> {
        if items.is_empty() {
            return Err(CompileError::form(span, "case requires at least an expression to test"));
        }
        let clauses = items.skip(1);
        let pairs = clauses.len() / 2;
        // Faults are reported from the last clause to the first.
        let default = match clauses.len() % 2 {
            1 => self.expr(self.forms.at(clauses, clauses.len() - 1), tail)?,
            _ => self.nil(span),
        };
        let mut made = Vec::with_capacity(pairs);
        for i in (0..pairs).rev() {
            let result = self.expr(self.forms.at(clauses, 2 * i + 1), tail)?;
            let constants = self.case_constants(self.forms.at(clauses, 2 * i))?;
            made.push((constants, result));
        }
        made.reverse();
        let subject = self.expr(self.forms.at(items, 0), false)?;
        self.ast.cases.push(Case { subject, clauses: made, default });
        Ok(self.ast.add(Node::Case(self.ast.cases.len() as u32 - 1), span))
    }

    fn case_constants(&mut self, form: Form) -> Result<TableRange> {
        let mut nodes = Nodes::new();
        match form.kind {
            FormKind::List(items) if items.is_empty() => {
                return Err(CompileError::form(
                    form.span,
                    "case grouped match must contain at least one value",
                ));
            }
            FormKind::List(items) => {
                for i in 0..items.len() {
                    nodes.push(self.case_constant(self.forms.at(items, i))?);
                }
            }
            // Constants are not evaluated, so that they need no quote; one that stands alone may have it.
            FormKind::QuotedSymbol(_) => nodes.push(self.quoted(form)?),
            FormKind::Quoted(items) => nodes.push(self.case_constant(self.forms.at(items, 0))?),
            _ => nodes.push(self.case_constant(form)?),
        }
        Ok(self.list(&nodes))
    }

    fn case_constant(&mut self, form: Form) -> Result<NodeId> {
        if !self.is_case_constant(form) {
            let text = "case test values must be compile-time constants (keywords, symbols, strings, numbers, booleans, nil)";
            return Err(CompileError::form(form.span, text));
        }
        self.quoted(form)
    }

    /// Scalars, and (as in Clojure) collections of them. A list that is no group stands for itself.
    fn is_case_constant(&self, form: Form) -> bool {
        match form.kind {
            FormKind::Nil
            | FormKind::Bool(_)
            | FormKind::Int(_)
            | FormKind::BigInt(_)
            | FormKind::Float(_)
            | FormKind::SpecialFloat(_)
            | FormKind::Str(_)
            | FormKind::Symbol(_)
            | FormKind::Qualified { .. }
            | FormKind::Keyword(_)
            | FormKind::JoinedKeyword { .. } => true,
            FormKind::List(items) | FormKind::Vector(items) | FormKind::Map(items) | FormKind::Set(items) => {
                self.forms[items].iter().all(|&item| self.is_case_constant(item))
            }
            _ => false,
        }
    }

    pub(super) fn condp(&mut self, items: Items, span: Span, tail: bool) -> Result<NodeId> {
        if items.len() < 3 {
            let text = "condp requires a predicate, an expression, and at least one clause";
            return Err(CompileError::form(span, text));
        }
        let (clauses, default) = self.condp_clauses(items.skip(2));
        let default = match default {
            Some(form) => self.expr(form, tail)?,
            None => self.nil(span),
        };
        let mut made = Vec::with_capacity(clauses.len());
        for &(test, result, applies) in clauses.iter().rev() {
            let result = self.expr(result, tail && !applies)?;
            let test = self.expr(test, false)?;
            made.push(CondpClause { test, result, applies });
        }
        made.reverse();
        let predicate = self.expr(self.forms.at(items, 0), false)?;
        let subject = self.expr(self.forms.at(items, 1), false)?;
        self.ast.condps.push(Condp { predicate, subject, clauses: made, default });
        Ok(self.ast.add(Node::Condp(self.ast.condps.len() as u32 - 1), span))
    }

    /// Clauses are `test result` or `test :>> function`; one form left over is the default.
    fn condp_clauses(&self, items: Items) -> (Vec<(Form, Form, bool)>, Option<Form>) {
        let mut clauses = Vec::new();
        let mut rest = &self.forms[items];
        loop {
            match rest {
                [] => return (clauses, None),
                [default] => return (clauses, Some(*default)),
                [test, arrow, function, tail @ ..] if matches!(arrow.kind, FormKind::Keyword(name) if self.text(name) == ">>") =>
                {
                    clauses.push((*test, *function, true));
                    rest = tail;
                }
                [test, result, tail @ ..] => {
                    clauses.push((*test, *result, false));
                    rest = tail;
                }
            }
        }
    }
}
