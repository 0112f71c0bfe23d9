//! The description of a builtin, and the library: the table of all of them.

use super::{Ctx, Flow};
use crate::error::{Error, Reason, Result};
use crate::value::Value;
use ahash::AHashMap;

/// Index of a builtin in the registry.
pub type BuiltinId = u16;

/// A function that needs no call back into the program: the arguments are the slice, which it may take apart.
pub type PlainFn = fn(&mut Ctx<'_>, &mut [Value]) -> Result<Value>;

/// A function that may call functions, fork, or wait; see [`Flow`].
pub type FrameFn = fn(&mut Ctx<'_>, &mut [Value]) -> Result<Flow>;

/// The implementation of a builtin.
#[derive(Clone, Copy)]
pub enum Native {
    /// Runs to its end at once.
    Plain(PlainFn),
    /// Answers with a [`Flow`]: a result, a frame that calls functions, a host call.
    Frame(FrameFn),
    /// Not a function but a constant, such as `Double/NaN`.
    Constant(fn() -> Value),
}

/// How many arguments a builtin takes. Checked by the machine before the implementation runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arities {
    /// One of these counts, ascending.
    OneOf(&'static [u8]),
    /// This many or more.
    AtLeast(u8),
}

/// An example that the tests run: a program and what `pr-str` of its value gives.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// The program.
    pub program: &'static str,
    /// The printed value.
    pub value: &'static str,
}

/// A function of the library, as the compiler, the machine, the discovery forms and the documentation see it.
pub struct Builtin {
    /// The bare name, unique.
    pub name: &'static str,
    /// Home namespace such as `clojure.core`; empty for extensions that have only a bare name.
    pub namespace: &'static str,
    /// Qualified spellings that mean the same, such as `clojure.string/join` and `str/join`.
    pub aliases: &'static [&'static str],
    /// Argument counts.
    pub arities: Arities,
    /// Calls as the documentation shows them: `(join sep coll)`.
    pub signatures: &'static [&'static str],
    /// One line of what it does.
    pub doc: &'static str,
    /// Section of the documentation.
    pub section: &'static str,
    /// Programs that show it.
    pub examples: &'static [Example],
    /// The implementation.
    pub native: Native,
}

impl std::fmt::Debug for Builtin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// The functions that programs find, by id and by name.
///
/// Neither the machine nor the compiler knows any function by itself: both are handed the library, and get from it what
/// a name means, how a function is called, and what the functions that [combinators](crate::value::Combinator) make do.
pub struct Library {
    all: Vec<&'static Builtin>,
    by_name: AHashMap<&'static str, BuiltinId>,
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
        let mut by_name = AHashMap::with_capacity(all.len() * 3);
        for (id, builtin) in all.iter().enumerate() {
            let id = BuiltinId::try_from(id).expect("fewer than 65 536 builtins");
            for name in std::iter::once(&builtin.name).chain(builtin.aliases) {
                let before = by_name.insert(*name, id);
                assert!(before.is_none(), "builtin name {name} is registered twice");
            }
        }
        Library { all, by_name, display_name }
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
