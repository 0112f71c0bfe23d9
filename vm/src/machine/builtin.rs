//! The description of a function of the library, for the machine, the compiler, the discovery forms and the documentation.

use super::{Ctx, Flow};
use crate::error::Result;
use crate::value::Value;
use std::borrow::Cow;

/// A function that needs no call back into the program: the arguments are the slice, which it may take apart.
pub type PlainFn = fn(&mut Ctx<'_>, &mut [Value]) -> Result<Value>;

/// A function that may call functions, fork, or wait; see [`Flow`].
pub type FrameFn = fn(&mut Ctx<'_>, &mut [Value]) -> Result<Flow>;

/// The variant of a builtin for arguments of which one is an endless sequence; `None` where it treats them as all others. A
/// plain one refuses those, and leaves its arguments as they are.
pub type SeriesFn = fn(&mut Ctx<'_>, &mut [Value]) -> Result<Option<Flow>>;

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

/// An example that the tests run: a program and the `pr-str` of its value.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// The program.
    pub program: &'static str,
    /// The printed value.
    pub value: &'static str,
}

/// The examples of one function.
#[derive(Clone, Copy)]
pub struct Examples {
    list: [Example; Examples::MOST],
    count: usize,
}

impl Examples {
    const MOST: usize = 6;

    /// No example.
    pub(crate) const NONE: Examples =
        Examples { list: [Example { program: "", value: "" }; Examples::MOST], count: 0 };

    /// These and one more.
    pub(crate) const fn with(mut self, example: Example) -> Examples {
        self.list[self.count] = example;
        self.count += 1;
        self
    }

    pub(crate) const fn as_slice(&self) -> &[Example] {
        self.list.split_at(self.count).0
    }
}

impl std::ops::Deref for Examples {
    type Target = [Example];

    fn deref(&self) -> &[Example] {
        self.as_slice()
    }
}

/// A section of the documentation.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// Its short name.
    pub name: &'static str,
    /// Its title in the discovery forms.
    pub title: &'static str,
}

/// A function of the library, as the compiler, the machine, the discovery forms and the documentation see it.
pub struct Builtin {
    /// The bare name, unique.
    pub name: &'static str,
    /// Home namespace such as `clojure.core`; empty for extensions that have only a bare name.
    pub namespace: &'static str,
    /// The prefixes of qualified spellings of the name, such as `clojure.string/` and `str/`.
    pub(crate) qualifiers: [&'static [&'static str]; 2],
    /// Spellings that do not follow from the qualifiers.
    pub(crate) aliases: &'static [&'static str],
    /// Argument counts.
    pub arities: Arities,
    /// Lists of parameters with `|` between them.
    pub(crate) parameters: &'static str,
    /// The calls as the documentation shows them, where they do not follow from the parameters.
    pub(crate) calls: &'static [&'static str],
    /// One line of documentation.
    pub doc: &'static str,
    /// Section of the documentation.
    pub section: Section,
    /// Programs that show it.
    pub examples: Examples,
    /// The implementation.
    pub native: Native,
}

impl Builtin {
    /// Calls as the documentation shows them: `(join sep coll)`.
    pub fn signatures(&self) -> Vec<Cow<'static, str>> {
        if !self.calls.is_empty() || matches!(self.native, Native::Constant(_)) {
            return self.calls.iter().map(|call| Cow::Borrowed(*call)).collect();
        }
        let call = |list: &str| match list.trim() {
            "" => format!("({})", self.name),
            list => format!("({} {list})", self.name),
        };
        self.parameters.split('|').map(|list| Cow::Owned(call(list))).collect()
    }

    /// The spellings that follow from the qualifiers, each as the qualifier and the member after it.
    ///
    /// A name that is itself qualified, such as `set/join`, is spelled with the other qualifiers of its namespace.
    /// Methods, whose names begin with a dot, have no qualified spelling.
    pub(super) fn qualified(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let name = self.name;
        self.qualifiers.iter().filter(|_| !name.starts_with('.')).flat_map(move |qualifiers| {
            let own = qualifiers.iter().find(|own| name.starts_with(**own)).copied();
            let member = own.map_or(name, |own| &name[own.len()..]);
            qualifiers
                .iter()
                .filter(move |qualifier| Some(**qualifier) != own)
                .map(move |qualifier| (*qualifier, member))
        })
    }
}

impl std::fmt::Debug for Builtin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}
