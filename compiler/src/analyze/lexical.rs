//! Lexical scope: binding names and resolving them.

use super::analyzer::Analyzer;
use super::scope::{BindingKind, ScopeBinding};
use crate::ast::{CaptureSource, LocalId, Node};
use crate::names::Name;

impl Analyzer<'_, '_> {
    /// A local without a name.
    pub(super) fn hidden_local(&mut self) -> LocalId {
        let body = self.scope.body();
        body.locals += 1;
        LocalId(body.locals - 1)
    }

    /// Binds a name to a new local.
    pub(super) fn bind(&mut self, name: Name) -> LocalId {
        let local = self.hidden_local();
        self.bind_to(name, BindingKind::Local(local));
        local
    }

    pub(super) fn bind_to(&mut self, name: Name, kind: BindingKind) {
        let level = self.scope.level();
        let hidden = self.names[name.index()].binding;
        self.scope.bindings.push(ScopeBinding { name, kind, level, hidden });
        let state = &mut self.names[name.index()];
        state.binding = self.scope.bindings.len() as u32;
        state.bound = true;
    }

    /// Undoes all bindings since `mark`.
    pub(super) fn unbind(&mut self, mark: usize) {
        for binding in self.scope.bindings.drain(mark..).rev() {
            self.names[binding.name.index()].binding = binding.hidden;
        }
    }

    /// Makes the innermost binding of `name` invisible until [`show`](Self::show) gets the result.
    pub(super) fn hide(&mut self, name: Name) -> u32 {
        let innermost = self.names[name.index()].binding;
        if let Some(binding) = innermost.checked_sub(1) {
            self.names[name.index()].binding = self.scope.bindings[binding as usize].hidden;
        }
        innermost
    }

    pub(super) fn show(&mut self, name: Name, innermost: u32) {
        self.names[name.index()].binding = innermost;
    }

    /// The lexical meaning of a name at this place.
    pub(super) fn lexical(&mut self, name: Name) -> Option<Node> {
        let index = self.names[name.index()].binding.checked_sub(1)?;
        let binding = self.scope.bindings[index as usize];
        Some(self.resolve(index, binding.kind, binding.level))
    }

    /// The local of an open body, read from the innermost one.
    pub(super) fn resolve(&mut self, key: u32, kind: BindingKind, level: u32) -> Node {
        if let BindingKind::Local(local) = kind {
            self.scope.body_at(level).reads.push(local);
        }
        if level == self.scope.level() {
            return match kind {
                BindingKind::Local(local) => Node::Local { local, last: false },
                BindingKind::SelfFn => Node::SelfFn,
                BindingKind::Sibling(function) => Node::Sibling(function),
            };
        }
        let mut source = match kind {
            BindingKind::Local(local) => CaptureSource::Local(local),
            BindingKind::SelfFn => CaptureSource::SelfFn,
            BindingKind::Sibling(function) => CaptureSource::Sibling(function),
        };
        for inner in level + 1..=self.scope.level() {
            let list = self.scope.body_at(inner).captures;
            let sources = &mut self.ast.captures[list as usize];
            let index = *self.scope.captured.entry((list, key)).or_insert_with(|| {
                sources.push(source);
                sources.len() as u32 - 1
            });
            source = CaptureSource::Capture(index);
        }
        match source {
            CaptureSource::Capture(index) => Node::Capture(index),
            _ => unreachable!("the binding lies further out"),
        }
    }

    /// A local of the innermost body, read.
    pub(super) fn read_local(&mut self, local: LocalId) -> Node {
        self.scope.body().reads.push(local);
        Node::Local { local, last: false }
    }
}
