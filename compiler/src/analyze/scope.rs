//! What names are bound to, and what functions capture.
//!
//! Each name knows its innermost binding, each binding the one it hides: entering and leaving a scope costs its names,
//! looking one up costs nothing.

use ahash::AHashMap;

use super::Analyzer;
use crate::ast::{CaptureSource, FnId, LocalId, Node};
use crate::names::Name;

/// What a lexical name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BindingKind {
    /// A local of the body that binds it.
    Local(LocalId),
    /// The function itself.
    SelfFn,
    /// A sibling of the function.
    Sibling(FnId),
}

#[derive(Clone, Copy, Debug)]
struct Binding {
    name: Name,
    kind: BindingKind,
    /// Which of the open function bodies binds it.
    level: u32,
    /// The binding of the same name that it hides, plus one.
    hidden: u32,
}

/// A function body that is being analysed.
#[derive(Debug)]
pub(super) struct Body {
    /// Index into [`Ast::captures`](crate::ast::Ast::captures).
    pub(super) captures: u32,
    /// Locals so far.
    pub(super) locals: u32,
    /// Every read of a local, in the order of analysis.
    pub(super) reads: Vec<LocalId>,
    /// The targets of `recur`, innermost last: the number of parameters or variables, and which loop it is.
    pub(super) targets: Vec<Target>,
    /// Its placeholders, if it is a `#( … )`.
    pub(super) short_fn: Option<Box<Placeholders>>,
}

/// Which placeholders a short function uses.
#[derive(Debug, Default)]
pub(super) struct Placeholders {
    /// The highest number, or zero.
    pub(super) highest: u8,
    /// Whether `%&` is among them.
    pub(super) rest: bool,
}

/// What `recur` goes back to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    /// Index into [`Ast::loops`](crate::ast::Ast::loops), or [`FUNCTION_BODY`](crate::ast::FUNCTION_BODY).
    pub(super) index: u32,
    /// Whether some `recur` goes there.
    pub(super) used: bool,
}

#[derive(Debug, Default)]
pub(super) struct Scope {
    bindings: Vec<Binding>,
    bodies: Vec<Body>,
    /// Where a captured binding lies in a capture list: `(list, binding) → index`.
    captured: AHashMap<(u32, u32), u32>,
}

impl Scope {
    /// Forgets everything but its room.
    pub(super) fn clear(&mut self) {
        self.bindings.clear();
        self.bodies.clear();
        self.captured.clear();
    }

    pub(super) fn enter_function(&mut self, captures: u32) {
        let body = Body { captures, locals: 0, reads: Vec::new(), targets: Vec::new(), short_fn: None };
        self.bodies.push(body);
    }

    pub(super) fn leave_function(&mut self) -> Body {
        self.bodies.pop().expect("a body was entered")
    }

    pub(super) fn body(&mut self) -> &mut Body {
        self.bodies.last_mut().expect("the program is a body")
    }

    /// Whether the innermost body is a function of the program, not the program itself.
    pub(super) fn in_function(&self) -> bool {
        self.bodies.len() > 1
    }

    /// How many bodies are open.
    pub(super) fn level(&self) -> u32 {
        self.bodies.len() as u32 - 1
    }

    pub(super) fn body_at(&mut self, level: u32) -> &mut Body {
        &mut self.bodies[level as usize]
    }

    /// A mark to leave the scope by.
    pub(super) fn mark(&self) -> usize {
        self.bindings.len()
    }
}

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
        self.scope.bindings.push(Binding { name, kind, level, hidden });
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
