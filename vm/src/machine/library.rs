//! The library: the table of all functions that programs find.

use super::{Arities, Builtin, BuiltinId};
use crate::error::{Error, Reason, Result};
use ahash::AHashMap;

/// The functions that programs find, by id and by name.
///
/// Neither the machine nor the compiler knows any function by itself: both are handed the library, and get from it what
/// a name means, how a function is called, and what the functions that [combinators](crate::value::Combinator) make do.
pub struct Library {
    all: Vec<&'static Builtin>,
    by_name: AHashMap<&'static str, BuiltinId>,
    /// The qualified spellings and aliases of all builtins, in the order of their ids.
    aliases: Vec<&'static str>,
    /// Where in `aliases` those of a builtin end.
    ends: Vec<usize>,
    display_name: fn(&Builtin) -> &'static str,
}

impl Library {
    /// The library of these families; their order fixes the ids. `display_name` gives the spelling of a
    /// builtin's name in the message about a wrong number of arguments.
    ///
    /// # Panics
    /// If a name is registered twice.
    pub fn new(families: &[&'static [Builtin]], display_name: fn(&Builtin) -> &'static str) -> Library {
        let all: Vec<&'static Builtin> = families.iter().flat_map(|family| family.iter()).collect();
        // One text holds the qualified spellings, so that a thousand names are one allocation.
        let mut spellings = String::new();
        for (qualifier, member) in all.iter().flat_map(|builtin| builtin.qualified()) {
            spellings.push_str(qualifier);
            spellings.push_str(member);
        }
        let mut spellings: &'static str = spellings.leak();
        let (mut aliases, mut ends) = (Vec::new(), Vec::with_capacity(all.len()));
        let mut by_name = AHashMap::with_capacity(all.len() * 3);
        for (id, builtin) in all.iter().enumerate() {
            let before = aliases.len();
            for (qualifier, member) in builtin.qualified() {
                let (spelling, rest) = spellings.split_at(qualifier.len() + member.len());
                aliases.push(spelling);
                spellings = rest;
            }
            aliases.extend(builtin.aliases);
            ends.push(aliases.len());
            let id = BuiltinId::try_from(id).expect("fewer than 65 536 builtins");
            for name in std::iter::once(&builtin.name).chain(&aliases[before..]) {
                let before = by_name.insert(*name, id);
                assert!(before.is_none(), "builtin name {name} is registered twice");
            }
        }
        Library { all, by_name, aliases, ends, display_name }
    }

    /// The builtin with this id.
    #[inline]
    pub fn get(&self, id: BuiltinId) -> &'static Builtin {
        self.all[usize::from(id)]
    }

    /// The id of a bare name or a qualified spelling.
    pub fn id(&self, name: &str) -> Option<BuiltinId> {
        self.by_name.get(name).copied()
    }

    /// The builtin of a bare name or a qualified spelling.
    pub fn find(&self, name: &str) -> Option<&'static Builtin> {
        self.id(name).map(|id| self.get(id))
    }

    /// Spellings that mean the same as the builtin's name, such as `clojure.string/join` and `str/join`.
    pub fn aliases(&self, builtin: &Builtin) -> &[&'static str] {
        let Some(id) = self.id(builtin.name).map(usize::from) else { return &[] };
        let start = if id == 0 { 0 } else { self.ends[id - 1] };
        &self.aliases[start..self.ends[id]]
    }

    /// All builtins in the order of their ids.
    pub fn all(&self) -> &[&'static Builtin] {
        &self.all
    }

    /// Refuses a wrong number of arguments with the text of functions.md 0.5.
    #[inline]
    pub fn check_arity(&self, builtin: &Builtin, argc: usize) -> Result<()> {
        let fits = match builtin.arities {
            Arities::OneOf(counts) => counts.iter().any(|n| usize::from(*n) == argc),
            Arities::AtLeast(n) => argc >= usize::from(n),
        };
        if fits { Ok(()) } else { Err(self.wrong_arity(builtin, argc)) }
    }

    #[cold]
    fn wrong_arity(&self, builtin: &Builtin, argc: usize) -> Error {
        let name = (self.display_name)(builtin);
        let text = match builtin.arities {
            Arities::AtLeast(n) => {
                format!("{name} requires at least {n} argument{}, got {argc}", if n == 1 { "" } else { "s" })
            }
            Arities::OneOf([n]) => format!("{name} expects {n} argument(s), got {argc}"),
            Arities::OneOf([a, b]) => format!("{name} expects {a} or {b} argument(s), got {argc}"),
            Arities::OneOf(counts) => {
                let counts: Vec<String> = counts.iter().map(u8::to_string).collect();
                format!("{name} expects {} argument(s), got {argc}", counts.join(", "))
            }
        };
        Error::new(Reason::ArityError, text)
    }
}
