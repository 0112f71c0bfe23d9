//! Collection literals and quoted data.

use super::analyzer::{Analyzer, Nodes};
use crate::ast::{Collection, Node, NodeId, TableRange};
use crate::error::{CompileError, Reason, Result};
use crate::form::{Form, FormKind, Items};
use crate::source::{Span, excerpt};
use ahash::AHashMap;
use ptc_vm::meter;

impl Analyzer<'_, '_> {
    pub(super) fn vector(&mut self, form: Form, items: Items) -> Result<NodeId> {
        if items.are_literal() {
            return self.literal(Collection::Vector, form, items);
        }
        let items = self.values(items)?;
        let constant = self.all_constant(items);
        Ok(self.ast.add(Node::Vector { items, constant }, form.span))
    }

    pub(super) fn map(&mut self, form: Form, items: Items) -> Result<NodeId> {
        if items.are_literal() {
            return self.literal(Collection::Map, form, items);
        }
        self.refuse_duplicates(items, 2, "key", "map")?;
        let items = self.values(items)?;
        let constant = self.all_constant(items);
        Ok(self.ast.add(Node::Map { items, constant }, form.span))
    }

    pub(super) fn set(&mut self, form: Form, items: Items) -> Result<NodeId> {
        if items.are_literal() {
            return self.literal(Collection::Set, form, items);
        }
        self.refuse_duplicates(items, 1, "element", "set")?;
        let items = self.values(items)?;
        let constant = self.all_constant(items);
        Ok(self.ast.add(Node::Set { items, constant }, form.span))
    }

    /// A collection that stands for itself stays a form until its value is made: there is nothing in it to resolve.
    fn literal(&mut self, kind: Collection, form: Form, items: Items) -> Result<NodeId> {
        self.check_literal(form)?;
        Ok(self.ast.add(Node::Literal { kind, items }, form.span))
    }

    /// Refuses duplicates at all depths.
    fn check_literal(&mut self, form: Form) -> Result<()> {
        let items = match form.kind {
            FormKind::Vector(items) => items,
            FormKind::Map(items) => {
                self.refuse_duplicates(items, 2, "key", "map")?;
                items
            }
            FormKind::Set(items) => {
                self.refuse_duplicates(items, 1, "element", "set")?;
                items
            }
            _ => return Ok(()),
        };
        if items.are_flat() {
            return Ok(());
        }
        for i in 0..items.len() {
            let item = self.forms.at(items, i);
            if matches!(item.kind, FormKind::Vector(_) | FormKind::Map(_) | FormKind::Set(_)) {
                self.check_literal(item)?;
            }
        }
        Ok(())
    }

    fn all_constant(&self, items: TableRange) -> bool {
        self.ast.list(items).iter().all(|&node| self.ast.is_constant(node))
    }

    /// Two keys or elements that are equal as they are written are an error, regardless of their values.
    fn refuse_duplicates(&mut self, items: Items, stride: usize, noun: &str, literal: &str) -> Result<()> {
        if self.are_different_keywords(items, stride) {
            return Ok(());
        }
        // Each may be gone through once more for what it stands in, at each of the levels of nesting.
        let forms = &self.forms[items];
        if let (Some(first), Some(last)) = (forms.first(), forms.last()) {
            let span = Span { start: first.span.start, end: last.span.end.max(first.span.start) };
            meter::charge_steps(2 * u64::from(span.end - span.start))
                .map_err(|error| CompileError::limit(span, &error))?;
        }
        match self.duplicate(forms, stride) {
            None => Ok(()),
            Some(key) => {
                let text = format!("duplicate {noun} {} in {literal} literal", self.excerpt(key));
                Err(CompileError::prefixed(Reason::DuplicateKey, key.span, text))
            }
        }
    }

    /// Whether every `stride`th form is a keyword, as keys mostly are, and no two are the same.
    fn are_different_keywords(&mut self, items: Items, stride: usize) -> bool {
        self.literals += 1;
        self.forms[items].iter().step_by(stride).all(|form| {
            let FormKind::Keyword(name) = form.kind else { return false };
            let seen = std::mem::replace(&mut self.names[name.index()].key_of, self.literals);
            seen != self.literals
        })
    }

    /// The first of every `stride`th form that is equal to one before it.
    fn duplicate(&self, forms: &[Form], stride: usize) -> Option<Form> {
        if forms.len() <= 8 * stride {
            for (at, &form) in forms.iter().enumerate().step_by(stride) {
                for &before in forms[..at].iter().step_by(stride) {
                    if self.forms.equal(before, form) {
                        return Some(form);
                    }
                }
            }
            return None;
        }
        let mut seen: AHashMap<u64, Vec<Form>> = AHashMap::with_capacity(forms.len());
        forms.iter().step_by(stride).copied().find(|&form| {
            let alike = seen.entry(self.forms.hash(form)).or_default();
            let found = alike.iter().any(|&before| self.forms.equal(before, form));
            alike.push(form);
            found
        })
    }

    /// `(quote form)`
    pub(super) fn quote(&mut self, items: Items, span: Span) -> Result<NodeId> {
        if items.len() != 1 {
            let text = format!("(quote symbol) requires exactly 1 symbol, got {}", items.len());
            return Err(CompileError::arity(span, text));
        }
        self.quoted(self.forms.at(items, 0))
    }

    /// A form as data: symbols become symbol references.
    pub(super) fn quoted(&mut self, form: Form) -> Result<NodeId> {
        let node = match form.kind {
            FormKind::Symbol(name) => Node::Symbol(name),
            FormKind::Qualified { .. } | FormKind::History(_) => {
                let written = form.span.text(self.source).trim_start_matches("#'").len();
                let start = form.span.end - written as u32;
                Node::Symbol(self.intern(Span { start, ..form.span }))
            }
            FormKind::List(items) => Node::List(self.quoted_items(items)?),
            FormKind::Vector(items) => Node::Vector { items: self.quoted_items(items)?, constant: true },
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

    fn quoted_items(&mut self, items: Items) -> Result<TableRange> {
        let mut nodes = Nodes::new();
        for i in 0..items.len() {
            let form = self.forms.at(items, i);
            nodes.push(match form.kind {
                FormKind::QuotedSymbol(name) => {
                    let symbol = self.ast.add(Node::Symbol(name), form.span);
                    self.quotation(symbol, form.span)
                }
                FormKind::Quoted(items) => {
                    let data = self.quoted(self.forms.at(items, 0))?;
                    self.quotation(data, form.span)
                }
                _ => self.quoted(form)?,
            });
        }
        Ok(self.list(&nodes))
    }

    /// A quote inside quoted data: the list `(quote data)`.
    fn quotation(&mut self, data: NodeId, span: Span) -> NodeId {
        let text = *self.quote.get_or_insert_with(|| self.forms.add_decoded("quote"));
        let quote = self.ast.add(Node::Joined { text, is_keyword: false }, span);
        let items = self.list(&[quote, data]);
        self.ast.add(Node::List(items), span)
    }

    /// A name that the program holds only as part of another.
    pub(super) fn intern(&mut self, span: Span) -> crate::names::Name {
        let name = self.forms.names.intern(span);
        if name.index() >= self.names.len() {
            self.names.resize(name.index() + 1, Default::default());
        }
        name
    }
}
