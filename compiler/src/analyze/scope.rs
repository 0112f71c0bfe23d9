//! The bindings of names, and the captures of functions.
//!
//! Each name knows its innermost binding, and each binding the one it hides. Entering and leaving a scope costs its names;
//! looking one up costs nothing.

use ahash::AHashMap;

use crate::ast::{FnId, LocalId, NodeId};
use crate::names::Name;
use ptc_vm::machine::NameMeaning;

/// The binding of a lexical name.
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
pub(super) struct ScopeBinding {
    pub(super) name: Name,
    pub(super) kind: BindingKind,
    /// Which of the open function bodies binds it.
    pub(super) level: u32,
    /// The binding of the same name that it hides, plus one.
    pub(super) hidden: u32,
}

/// A function body that is being analysed.
#[derive(Debug)]
pub(super) struct FunctionScope {
    /// Index into [`Ast::captures`](crate::ast::Ast::captures).
    pub(super) captures: u32,
    /// Locals so far.
    pub(super) locals: u32,
    /// Locals that are bound to the values of calls, in their order.
    pub(super) values: Vec<(LocalId, NodeId)>,
    /// Every read of a local, in the order of analysis.
    pub(super) reads: Vec<LocalId>,
    /// The targets of `recur`, innermost last: the number of parameters or variables, and which loop it is.
    pub(super) targets: Vec<RecurTarget>,
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

/// The target of `recur`.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecurTarget {
    /// Index into [`Ast::loops`](crate::ast::Ast::loops), or [`FUNCTION_BODY`](crate::ast::FUNCTION_BODY).
    pub(super) index: u32,
    /// Whether some `recur` goes there.
    pub(super) used: bool,
}

/// The meaning of a name at the current place.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NameState {
    /// Index of its innermost binding in [`Scope`], plus one.
    pub(super) binding: u32,
    /// How many definitions of it certainly run before this place.
    pub(super) defined: u32,
    /// Whether the whole program certainly defines or declares it.
    pub(super) top_level: bool,
    /// Whether its last definition may be a sequence without end.
    pub(super) endless: bool,
    /// Whether the program binds or defines it anywhere.
    pub(super) bound: bool,
    /// Filled in on first use.
    pub(super) known: Option<NameMeaning>,
    /// The number of the last literal that had the keyword of this name as a key.
    pub(super) key_of: u32,
}

#[derive(Debug, Default)]
pub(super) struct Scope {
    pub(super) bindings: Vec<ScopeBinding>,
    bodies: Vec<FunctionScope>,
    /// Where a captured binding lies in a capture list: `(list, binding) → index`.
    pub(super) captured: AHashMap<(u32, u32), u32>,
}

impl Scope {
    /// Forgets everything but its room.
    pub(super) fn clear(&mut self) {
        self.bindings.clear();
        self.bodies.clear();
        self.captured.clear();
    }

    pub(super) fn enter_function(&mut self, captures: u32) {
        self.bodies.push(FunctionScope {
            captures,
            locals: 0,
            values: Vec::new(),
            reads: Vec::new(),
            targets: Vec::new(),
            short_fn: None,
        });
    }

    pub(super) fn leave_function(&mut self) -> FunctionScope {
        self.bodies.pop().expect("a body was entered")
    }

    pub(super) fn body(&mut self) -> &mut FunctionScope {
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

    /// The body at a level, to be looked at.
    pub(super) fn at(&self, level: u32) -> &FunctionScope {
        &self.bodies[level as usize]
    }

    pub(super) fn body_at(&mut self, level: u32) -> &mut FunctionScope {
        &mut self.bodies[level as usize]
    }

    /// A mark to leave the scope by.
    pub(super) fn mark(&self) -> usize {
        self.bindings.len()
    }
}
