//! `apropos dir doc meta ns-publics ns-name all-ns source`.

use super::analyzer::{Analyzer, Nodes};
use crate::ast::{Node, NodeId};
use crate::error::{CompileError, Result};
use crate::form::{Form, FormKind, Items};
use crate::names::Name;
use crate::source::Span;
use ptc_vm::SpecialForm;

impl Analyzer<'_, '_> {
    pub(super) fn discovery(&mut self, special: SpecialForm, items: Items, span: Span) -> Result<NodeId> {
        let got = items.len();
        let (counts, shape) = match special {
            SpecialForm::Apropos => {
                (1..=2, format!("(apropos query) or (apropos query opts) — got {got} args"))
            }
            SpecialForm::Dir => (1..=2, format!("(dir server) or (dir server opts) — got {got} args")),
            SpecialForm::Doc => (1..=17, format!("(doc ref…) takes 1 to 16 names, got {got}")),
            SpecialForm::Meta => (1..=1, format!("(meta tool-ref) requires exactly 1 argument, got {got}")),
            SpecialForm::NsPublics => {
                (1..=1, format!("(ns-publics namespace) requires exactly 1 argument, got {got}"))
            }
            SpecialForm::NsName => {
                (1..=1, format!("(ns-name namespace) requires exactly 1 argument, got {got}"))
            }
            SpecialForm::Source => (1..=1, format!("(source ref) requires exactly 1 argument, got {got}")),
            _ => (0..=0, "(all-ns) takes no arguments".to_owned()),
        };
        if !counts.contains(&got) {
            return Err(CompileError::arity(span, shape));
        }
        let callee = self.builtin(special.name(), span)?;
        let mut nodes = Nodes::new();
        for i in 0..got {
            let form = self.forms.at(items, i);
            nodes.push(match special {
                SpecialForm::Apropos => self.expr(form, false)?,
                _ if i == 0 || special == SpecialForm::Doc => self.reference(form)?,
                _ => self.expr(form, false)?,
            });
        }
        let arguments = self.list(&nodes);
        Ok(self.ast.add(Node::Call { callee, arguments }, span))
    }

    /// A bare name as a reference means the quoted name, unless it is bound to a possible reference (language.md 11,
    /// ruling 55).
    fn reference(&mut self, form: Form) -> Result<NodeId> {
        match form.kind {
            FormKind::Symbol(name) if !self.text(name).starts_with('%') => {
                let node = match self.lexical(name) {
                    Some(node @ (Node::Local { .. } | Node::Capture(_))) => node,
                    _ if self.is_defined_as_reference(name) => Node::Global(name),
                    _ => Node::Symbol(name),
                };
                Ok(self.ast.add(node, form.span))
            }
            FormKind::Qualified { .. } => self.quoted(form),
            _ => self.expr(form, false),
        }
    }

    /// Whether the program's last definition of a name is written as a string, a quoted symbol or a keyword.
    fn is_defined_as_reference(&self, name: Name) -> bool {
        let last = self.ast.definitions.iter().rev().find(|definition| definition.name == name);
        self.names[name.index()].defined > 0
            && last.is_some_and(|last| {
                matches!(self.ast.node(last.value), Node::Str(_) | Node::Symbol(_) | Node::Keyword(_))
            })
    }
}
