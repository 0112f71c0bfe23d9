//! Collection literals and quoted data.

use super::{Analyzer, Nodes};
use crate::ast::{Node, NodeId, Run};
use crate::error::{CompileError, Reason, Result};
use crate::form::{Form, FormKind, Items};
use crate::source::{Span, excerpt};
use ahash::AHashMap;

impl<'s> Analyzer<'_, 's> {
    pub(super) fn vector(&mut self, items: Items, span: Span) -> Result<NodeId> {
        let items = self.values(items)?;
        let constant = self.all_constant(items);
        Ok(self.ast.add(Node::Vector { items, constant }, span))
    }

    pub(super) fn map(&mut self, items: Items, span: Span) -> Result<NodeId> {
        self.refuse_duplicates(items, 2, "key", "map")?;
        let items = self.values(items)?;
        let constant = self.all_constant(items);
        Ok(self.ast.add(Node::Map { items, constant }, span))
    }

    pub(super) fn set(&mut self, items: Items, span: Span) -> Result<NodeId> {
        self.refuse_duplicates(items, 1, "element", "set")?;
        let items = self.values(items)?;
        let constant = self.all_constant(items);
        Ok(self.ast.add(Node::Set { items, constant }, span))
    }

    fn all_constant(&self, items: Run) -> bool {
        self.ast.list(items).iter().all(|&node| self.ast.is_constant(node))
    }

    /// Two keys or elements that are equal as they are written are an error, whatever they would evaluate to.
    fn refuse_duplicates(&self, items: Items, stride: usize, noun: &str, literal: &str) -> Result<()> {
        let keys = || self.forms[items].iter().step_by(stride).copied();
        let duplicate = if items.len() <= 8 * stride {
            keys().enumerate().find(|&(n, key)| keys().take(n).any(|before| self.forms.equal(before, key)))
        } else {
            let mut seen: AHashMap<u64, Vec<Form>> = AHashMap::with_capacity(items.len());
            keys().enumerate().find(|&(_, key)| {
                let alike = seen.entry(self.forms.hash(key)).or_default();
                let found = alike.iter().any(|&before| self.forms.equal(before, key));
                alike.push(key);
                found
            })
        };
        match duplicate {
            None => Ok(()),
            Some((_, key)) => {
                let text = format!("duplicate {noun} {} in {literal} literal", self.shown(key));
                Err(CompileError::prefixed(Reason::DuplicateKey, key.span, text))
            }
        }
    }

    /// `(quote form)`
    pub(super) fn quote(&mut self, items: Items, span: Span) -> Result<NodeId> {
        if items.len() != 1 {
            let text = format!("(quote symbol) requires exactly 1 symbol, got {}", items.len());
            return Err(CompileError::arity(span, text));
        }
        self.quoted(self.forms.at(items, 0))
    }

    /// A form as data: symbols become symbol references, lists become vectors.
    pub(super) fn quoted(&mut self, form: Form) -> Result<NodeId> {
        let node = match form.kind {
            FormKind::Symbol(name) => Node::Symbol(name),
            FormKind::Qualified { .. } | FormKind::History(_) => {
                let text = form.span.text(self.source).trim_start_matches("#'");
                Node::Symbol(self.intern(text))
            }
            FormKind::List(items) | FormKind::Vector(items) => {
                Node::Vector { items: self.quoted_items(items)?, constant: true }
            }
            FormKind::Map(items) => {
                self.refuse_duplicates(items, 2, "key", "map")?;
                Node::Map { items: self.quoted_items(items)?, constant: true }
            }
            FormKind::Set(items) => {
                self.refuse_duplicates(items, 1, "element", "set")?;
                Node::Set { items: self.quoted_items(items)?, constant: true }
            }
            FormKind::ShortFn(_) | FormKind::Quoted(_) | FormKind::Threaded(_) => {
                let text = format!("quote takes data, got {}", excerpt(self.source, form.span));
                return Err(CompileError::form(form.span, text));
            }
            _ => return self.expr(form, false),
        };
        Ok(self.ast.add(node, form.span))
    }

    fn quoted_items(&mut self, items: Items) -> Result<Run> {
        let mut nodes = Nodes::new();
        for i in 0..items.len() {
            nodes.push(self.quoted(self.forms.at(items, i))?);
        }
        Ok(self.list(nodes))
    }

    /// A name that the program holds only as part of another.
    pub(super) fn intern(&mut self, text: &'s str) -> crate::names::Name {
        let name = self.forms.names.intern(text);
        if name.index() >= self.names.len() {
            self.names.resize(name.index() + 1, Default::default());
        }
        name
    }
}
