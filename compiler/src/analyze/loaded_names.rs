//! The names of a program's namespaces.

use super::namespaces;
use crate::names::Name;
use ptc_vm::machine::Library;
use ptc_vm::value::BuiltinId;

/// The names loaded by the forms at the head of a program.
#[derive(Debug, Default)]
pub(super) struct LoadedNames {
    /// Aliases with the prefix that each one stands for.
    pub(super) aliases: Vec<(Name, &'static str)>,
    /// Names that mean something else than the builtin of the same name.
    pub(super) referred: Vec<(Name, BuiltinId)>,
    /// Prefixes all of whose members are meant by their bare names.
    pub(super) all: Vec<&'static str>,
}

impl LoadedNames {
    /// The prefix that `alias` stands for.
    pub(super) fn alias(&self, alias: Name) -> Option<&'static str> {
        self.aliases.iter().rev().find(|(name, _)| *name == alias).map(|(_, prefix)| *prefix)
    }

    /// The meaning of a bare name because the program refers to it. `text` is the name's.
    pub(super) fn referred(&self, name: Name, text: &str, library: &Library) -> Option<BuiltinId> {
        if self.referred.is_empty() && self.all.is_empty() {
            return None;
        }
        let one = self.referred.iter().rev().find(|(referred, _)| *referred == name).map(|(_, id)| *id);
        one.or_else(|| self.all.iter().rev().find_map(|prefix| namespaces::member(prefix, text, library)))
    }
}
