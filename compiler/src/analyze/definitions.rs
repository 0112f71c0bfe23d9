//! `def`, `defonce`, `defn`, `declare`.

use super::analyzer::Analyzer;
use crate::ast::{Definition, Node, NodeId};
use crate::error::{CompileError, Result};
use crate::form::{Form, FormKind, Items};
use crate::names::Name;
use crate::source::Span;
use ptc_vm::SpecialForm;

impl Analyzer<'_, '_> {
    pub(super) fn def(&mut self, special: SpecialForm, items: Items, span: Span) -> Result<NodeId> {
        let word = special.name();
        let shape = || format!("expected ({word} name value) or ({word} name docstring value)");
        if let Some(&name) = self.forms[items].first() {
            self.defined_name(name, word)?;
        }
        let (doc, value) = match self.forms[items] {
            // A name that has no value yet is declared; one that has a value keeps it.
            [_] if special == SpecialForm::Def => return self.declare(items, span),
            [_] => {
                let text = format!("expected ({word} name value), got ({word} name) without value");
                return Err(CompileError::arity(span, text));
            }
            [_, value] => (None, value),
            [_, Form { kind: FormKind::Str(doc), .. }, value] => (Some(doc), value),
            _ => return Err(CompileError::arity(span, shape())),
        };
        let name = self.defined_name(self.forms.at(items, 0), word)?;
        self.define(name, span)?;
        let value = self.expr(value, false)?;
        self.names[name.index()].endless = self.may_never_end(value, span)?;
        self.add_definition(Definition { name, value, doc, once: special == SpecialForm::Defonce, span })
    }

    /// `(defn name "doc" {attributes} [params] body …)`: the attributes are metadata, and read as nothing.
    pub(super) fn defn(&mut self, special: SpecialForm, items: Items, span: Span) -> Result<NodeId> {
        let word = special.name();
        let shape = || CompileError::arity(span, format!("expected ({word} name [params] body)"));
        if items.len() < 2 {
            return Err(shape());
        }
        let name = self.defined_name(self.forms.at(items, 0), word)?;
        let mut rest = items.skip(1);
        let mut doc = None;
        if let FormKind::Str(text) = self.forms.at(rest, 0).kind {
            doc = Some(text);
            rest = rest.skip(1);
        }
        if let [Form { kind: FormKind::Map(_), .. }, _, ..] = self.forms[rest] {
            rest = rest.skip(1);
        }
        // Bodies may have their attributes behind them.
        if let [Form { kind: FormKind::List(_), .. }, .., Form { kind: FormKind::Map(_), .. }] =
            self.forms[rest]
        {
            rest = rest.take(rest.len() - 1);
        }
        if rest.is_empty() {
            return Err(shape());
        }
        self.define(name, span)?;
        let value = self.defn_function(name, rest, span)?;
        self.add_definition(Definition { name, value, doc, once: false, span })
    }

    fn add_definition(&mut self, definition: Definition) -> Result<NodeId> {
        self.ast.definitions.push(definition);
        let index = self.ast.definitions.len() as u32 - 1;
        Ok(self.ast.add(Node::Def(index), definition.span))
    }

    /// `(declare name …)`: the names are legal from here on; their value is still to come.
    pub(super) fn declare(&mut self, items: Items, span: Span) -> Result<NodeId> {
        let mut node = Node::Nil;
        for i in 0..items.len() {
            let name = self.defined_name(self.forms.at(items, i), "declare")?;
            self.define(name, span)?;
            node = Node::Var(name);
        }
        Ok(self.ast.add(node, span))
    }

    /// Notes that a name is certainly defined from here on, its own value included.
    fn define(&mut self, name: Name, span: Span) -> Result<()> {
        let shadows = self.known(name).builtin.is_some();
        if self.program.is_some() {
            self.define_in_program(name, shadows, span)?;
        } else {
            self.shadows_builtin |= shadows;
        }
        let state = &mut self.names[name.index()];
        state.defined += 1;
        state.bound = true;
        self.defined.push(name);
        Ok(())
    }

    fn defined_name(&self, form: Form, word: &str) -> Result<Name> {
        match form.kind {
            FormKind::Symbol(name) => {
                self.refuse_placeholder(name, form.span)?;
                Ok(name)
            }
            FormKind::Qualified { namespace, .. } => {
                let display = self.excerpt(form);
                let text = match self.text(namespace) {
                    protected @ ("tool" | "data" | "budget") => format!(
                        "cannot define {display}: {protected}/ is a protected namespace. Define unqualified names in the \
                         user namespace instead."
                    ),
                    _ => format!(
                        "qualified definitions are not supported: cannot define {display}. Define unqualified names in the \
                         user namespace instead."
                    ),
                };
                Err(CompileError::form(form.span, text))
            }
            _ => {
                let text = format!("{word} name must be a symbol, got: {}", self.excerpt(form));
                Err(CompileError::form(form.span, text))
            }
        }
    }
}
