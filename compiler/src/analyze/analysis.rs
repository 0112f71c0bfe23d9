//! The result of analysing a program.

use super::scope::{NameState, Scope};
use crate::ast::Ast;
use crate::names::Name;
use crate::source::Span;
use ptc_vm::machine::{Library, NameMeaning};
use ptc_vm::meter::MemoryCharge;

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
