//! The result of analysing a program.

use super::scope::{NameState, Scope};
use crate::ast::{Ast, FnId};
use crate::names::Name;
use crate::source::Span;
use ahash::AHashSet;
use ptc_vm::machine::{Library, NameMeaning};
use ptc_vm::meter::MemoryCharge;
use std::rc::Rc;

/// A name that the program uses but does not certainly define before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FreeName {
    /// The name.
    pub name: Name,
    /// Its first use.
    pub span: Span,
    /// Whether it stands in the body of a function, which may run after later definitions.
    pub(super) in_function: bool,
}

/// The main part of a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MainPart {
    /// Its file.
    pub span: Span,
    /// Whether its first form is data.
    pub has_head: bool,
}

/// A program that the text brings along.
#[derive(Debug)]
pub(crate) struct LinkedProgram {
    /// Its name.
    pub name: Rc<str>,
    /// Its file.
    pub span: Span,
    /// The function that its text is, of its argument.
    pub function: FnId,
    /// The function that calls that one: the value of its name.
    pub entry: FnId,
    /// The names that it defines.
    pub defined: AHashSet<Name>,
}

/// The result of analysing a program.
pub(crate) struct Analysis {
    /// The core forms. Boxed, because a tree has many tables and changes hands from phase to phase.
    pub ast: Box<Ast>,
    /// Names that the namespace must have, by first use.
    pub requires: Vec<FreeName>,
    /// Tools that are called or referred to, by first use.
    pub tools: Vec<FreeName>,
    /// Names that the program binds or defines, if it requires any: a missing name may be one of them, misspelt.
    pub local_names: Vec<Name>,
    /// Whether a definition takes the name of a builtin.
    pub shadows_builtin: bool,
    /// The main part of a text that is made of several programs, or has a head.
    pub main_part: Option<MainPart>,
    /// The programs that the text brings along, to be called.
    pub programs: Vec<LinkedProgram>,
    /// Where names are looked up.
    pub library: &'static Library,
    /// The memory of the tables, on the account of the program.
    pub(super) _held: MemoryCharge,
    pub(super) names: Vec<NameState>,
    pub(super) scope: Scope,
}

/// The buffers of analysis, without the program: reused from one program to the next.
#[derive(Debug, Default)]
pub(crate) struct AnalysisBuffers {
    pub(super) ast: Box<Ast>,
    pub(super) names: Vec<NameState>,
    pub(super) scope: Scope,
}

impl Analysis {
    /// The meaning of a called name without the program's definitions.
    pub(crate) fn known(&self, name: Name, text: &str) -> NameMeaning {
        self.names[name.index()].known.unwrap_or_else(|| self.library.known(text))
    }

    /// The tables, emptied.
    #[inline]
    pub(crate) fn into_tables(self) -> AnalysisBuffers {
        let Self { mut ast, mut names, mut scope, .. } = self;
        ast.clear();
        names.clear();
        scope.clear();
        AnalysisBuffers { ast, names, scope }
    }
}
