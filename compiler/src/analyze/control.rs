//! `return`, `fail`, the journal, and forms that are calls of a builtin with a fixed shape.

use super::analyzer::Analyzer;
use crate::ast::{Node, NodeId};
use crate::error::{CompileError, Result};
use crate::form::Items;
use crate::source::Span;
use ptc_vm::SpecialForm;

impl Analyzer<'_, '_> {
    pub(super) fn exit(&mut self, special: SpecialForm, items: Items, span: Span) -> Result<NodeId> {
        let is_return = special == SpecialForm::Return;
        if items.len() != 1 {
            let shape = if is_return { "expected (return value)" } else { "expected (fail error)" };
            return Err(CompileError::arity(span, shape));
        }
        let value = self.expr(self.forms.at(items, 0), false)?;
        let node = if is_return { Node::Return(value) } else { Node::Fail(value) };
        Ok(self.ast.add(node, span))
    }

    pub(super) fn journal(&mut self, special: SpecialForm, items: Items, span: Span) -> Result<NodeId> {
        let (count, shape) = match special {
            SpecialForm::Task => (2, "expected (task \"id\" expr)"),
            SpecialForm::StepDone => (2, "expected (step-done id summary)"),
            _ => (1, "expected (task-reset id)"),
        };
        if items.len() != count {
            return Err(CompileError::arity(span, shape));
        }
        match special {
            SpecialForm::Task => {
                let id = self.expr(self.forms.at(items, 0), false)?;
                let value = self.expr(self.forms.at(items, 1), false)?;
                Ok(self.ast.add(Node::Task(id, value), span))
            }
            _ => self.builtin_call(special.name(), items, span, span),
        }
    }

    /// `apply`, `juxt`, `pmap`, `pcalls`
    pub(super) fn function_form(&mut self, special: SpecialForm, items: Items, span: Span) -> Result<NodeId> {
        let (least, shape) = match special {
            SpecialForm::Apply => (2, "expected (apply f coll) or (apply f x y coll)"),
            SpecialForm::Juxt => (1, "expected (juxt f ...) with at least one function"),
            SpecialForm::Pmap => (2, "expected (pmap f coll) or (pmap f c1 c2 ...)"),
            _ => (0, ""),
        };
        if items.len() < least {
            return Err(CompileError::arity(span, shape));
        }
        self.builtin_call(special.name(), items, span, span)
    }
}
