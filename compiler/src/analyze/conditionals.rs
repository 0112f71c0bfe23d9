//! `if`, `when`, `and`, `or`, `cond`, and the forms that bind their test.

use super::analyzer::{Analyzer, Nodes};
use crate::ast::{Condition, ConditionalLet, Node, NodeId};
use crate::error::{CompileError, Reason, Result};
use crate::form::{Form, FormKind, Items};
use crate::source::Span;
use ptc_vm::SpecialForm;

impl Analyzer<'_, '_> {
    pub(super) fn if_form(
        &mut self,
        special: SpecialForm,
        items: Items,
        span: Span,
        tail: bool,
    ) -> Result<NodeId> {
        let negated = special == SpecialForm::IfNot;
        if !(2..=3).contains(&items.len()) {
            let word = special.name();
            return Err(CompileError::arity(span, format!("expected ({word} cond then else?)")));
        }
        let condition = self.expr(self.forms.at(items, 0), false)?;
        let then = self.expr(self.forms.at(items, 1), tail)?;
        let otherwise = match items.len() {
            3 => self.expr(self.forms.at(items, 2), tail)?,
            _ => self.nil(span),
        };
        let node =
            if negated { Node::If(condition, otherwise, then) } else { Node::If(condition, then, otherwise) };
        Ok(self.ast.add(node, span))
    }

    pub(super) fn when(
        &mut self,
        special: SpecialForm,
        items: Items,
        span: Span,
        tail: bool,
    ) -> Result<NodeId> {
        let negated = special == SpecialForm::WhenNot;
        if items.is_empty() {
            let word = special.name();
            return Err(CompileError::arity(span, format!("expected ({word} cond body ...)")));
        }
        let condition = self.expr(self.forms.at(items, 0), false)?;
        let body = self.uncertain_body(items.skip(1), tail, span)?;
        let nil = self.nil(span);
        let node = if negated { Node::If(condition, nil, body) } else { Node::If(condition, body, nil) };
        Ok(self.ast.add(node, span))
    }

    pub(super) fn and_or(
        &mut self,
        special: SpecialForm,
        items: Items,
        span: Span,
        tail: bool,
    ) -> Result<NodeId> {
        let is_or = special == SpecialForm::Or;
        if items.is_empty() {
            let node = if is_or { Node::Nil } else { Node::Bool(true) };
            return Ok(self.ast.add(node, span));
        }
        let mut nodes = Nodes::new();
        for i in 0..items.len() {
            let form = self.forms.at(items, i);
            nodes.push(match form.kind {
                FormKind::Symbol(name) if is_or && !self.text(name).starts_with('%') => {
                    self.or_operand(name, form.span)
                }
                _ => self.expr(form, tail && i + 1 == items.len())?,
            });
        }
        let list = self.list(&nodes);
        let node = if is_or { Node::Or(list) } else { Node::And(list) };
        Ok(self.ast.add(node, span))
    }

    /// A bare name in `or` may mean nothing when it is read: it is nil then, also in the value of its own first
    /// definition, `(def seen (or seen #{}))`.
    fn or_operand(&mut self, name: crate::names::Name, span: Span) -> NodeId {
        let node = match self.lexical(name) {
            Some(node) => node,
            None => Node::GlobalOrNil(name),
        };
        self.ast.add(node, span)
    }

    pub(super) fn cond(&mut self, items: Items, span: Span, tail: bool) -> Result<NodeId> {
        if items.len() % 2 == 1 {
            let text = "cond requires even number of test/result forms";
            return Err(CompileError::prefixed(Reason::InvalidCondForm, span, text));
        }
        // From the last clause to the first: that is the order in which faults are reported.
        let mut nodes = Nodes::new();
        nodes.push(self.nil(span));
        for i in (0..items.len()).step_by(2).rev() {
            nodes.push(self.expr(self.forms.at(items, i + 1), tail)?);
            nodes.push(self.expr(self.forms.at(items, i), false)?);
        }
        nodes.reverse();
        let list = self.list(&nodes);
        Ok(self.ast.add(Node::Cond(list), span))
    }

    /// `if-let` `if-some` `when-let` `when-some` `when-first`
    pub(super) fn conditional_let(
        &mut self,
        special: SpecialForm,
        items: Items,
        span: Span,
        tail: bool,
    ) -> Result<NodeId> {
        let word = special.name();
        let condition = match special {
            SpecialForm::IfLet | SpecialForm::WhenLet => Condition::Truthy,
            SpecialForm::IfSome | SpecialForm::WhenSome => Condition::NonNil,
            _ => Condition::First,
        };
        let is_if = matches!(special, SpecialForm::IfLet | SpecialForm::IfSome);
        let shape = || {
            let rest = if is_if { "then else" } else { "body ..." };
            CompileError::arity(span, format!("expected ({word} [name expr] {rest})"))
        };
        let fits = if is_if { (2..=3).contains(&items.len()) } else { !items.is_empty() };
        let Some(Form { kind: FormKind::Vector(pair), span: at }) =
            self.forms[items].first().copied().filter(|_| fits)
        else {
            return Err(shape());
        };
        if pair.len() != 2 {
            let text = format!("{word} requires exactly one binding pair [name expr]");
            return Err(CompileError::form(at, text));
        }
        let target = self.forms.at(pair, 0);
        if !matches!(target.kind, FormKind::Symbol(_) | FormKind::Vector(_) | FormKind::Map(_)) {
            return Err(CompileError::form(
                target.span,
                "binding must be a simple symbol, not a destructuring pattern",
            ));
        }
        let value = self.expr(self.forms.at(pair, 1), false)?;
        let mark = self.scope.mark();
        let pattern = self.pattern(target)?;
        let (then, otherwise) = if is_if {
            let then = self.expr(self.forms.at(items, 1), tail)?;
            let otherwise = match items.len() {
                3 => self.otherwise(target, self.forms.at(items, 2), mark, tail)?,
                _ => self.nil(span),
            };
            (then, otherwise)
        } else {
            (self.uncertain_body(items.skip(1), tail, span)?, self.nil(span))
        };
        self.unbind(mark);
        self.ast.conditional_lets.push(ConditionalLet { condition, pattern, value, then, otherwise });
        let index = self.ast.conditional_lets.len() as u32 - 1;
        Ok(self.ast.add(Node::ConditionalLet(index), span))
    }

    /// The else branch. It does not see the names of the binding (as in Clojure), except that a plain name which means
    /// nothing else there is the falsy value (as in the first implementation).
    fn otherwise(&mut self, target: Form, form: Form, mark: usize, tail: bool) -> Result<NodeId> {
        let FormKind::Symbol(name) = target.kind else {
            self.unbind(mark);
            return self.expr(form, tail);
        };
        let innermost = self.hide(name);
        let elsewhere = self.names[name.index()].binding != 0 || self.is_bound_globally(name);
        if !elsewhere {
            self.show(name, innermost);
        }
        let node = self.expr(form, tail);
        self.show(name, innermost);
        node
    }
}
