//! The library: the table of all functions that programs find.

use super::frame::{AnyFrame, FrameRow};
use super::{Args, Arities, Builtin, CallNow, Ctx, Flow, Native, SeriesFn};
use crate::error::{Error, Reason, Result};
use crate::special_forms::SpecialForm;
use crate::value::{BuiltinHandle, BuiltinId, Combinator, Str, Value};
use ahash::AHashMap;
use std::rc::Rc;

/// The functions that programs find, by id and by name.
///
/// Neither the machine nor the compiler knows any function by itself: both are handed the library, which defines the meaning of
/// names, how a function is called, and the behaviour of functions that [combinators](crate::value::Combinator) make.
pub struct Library {
    /// The named ones first.
    all: Vec<&'static Builtin>,
    named: usize,
    handles: Vec<BuiltinHandle>,
    /// Bare names, and those of the special forms: a name of a program costs one probe.
    by_name: AHashMap<&'static str, NameMeaning>,
    by_alias: AHashMap<&'static str, BuiltinId>,
    /// The qualified spellings and aliases of all builtins, in the order of their ids.
    aliases: Vec<&'static str>,
    /// Where in `aliases` those of a builtin end.
    ends: Vec<usize>,
    pub(super) parts: LibraryParts,
}

/// The meaning of a name without the program's definitions: a special form, a builtin, both or neither.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NameMeaning {
    /// The special form of that name.
    pub special: Option<SpecialForm>,
    /// The builtin of that name.
    pub builtin: Option<BuiltinId>,
}

/// The parts of a library.
pub(crate) struct LibraryParts {
    /// The functions that have names; their order fixes the ids.
    pub families: &'static [&'static [Builtin]],
    /// Functions that no name reaches: only other functions make values of them.
    pub unnamed: &'static [&'static Builtin],
    /// The kinds of frames, by ascending name.
    pub frames: &'static [FrameRow],
    /// Calls the function that a combinator made, if that needs no frame.
    pub call_combinator_now: fn(&mut Ctx<'_>, &Combinator, Args) -> Result<CallNow>,
    /// Calls the function that a combinator made.
    pub call_combinator: fn(&mut Ctx<'_>, &Rc<Combinator>, Args) -> Result<Flow>,
    /// Calls the tool of this name.
    pub call_tool: fn(&mut Ctx<'_>, &Str, &[Value]) -> Result<Flow>,
    /// Whether a combinator has the parts that calls of it expect: one that was made by the library's functions has.
    pub accepts_combinator: fn(&Rc<Combinator>) -> bool,
    /// The functions' variants for endless sequences, by name.
    pub over_series: &'static [(&'static str, SeriesFn)],
    /// The frame that gives the elements of an endless sequence one by one, as [`Flow::Element`].
    pub walk_series: fn(&mut Ctx<'_>, &Value) -> Result<Box<dyn AnyFrame>>,
    /// The kind of that frame.
    pub walk_kind: &'static str,
    /// Converts the last value of a program to its external form.
    pub result: fn(Value) -> Result<Value>,
}

impl Library {
    /// The function's variant for these arguments, if one of them is an endless sequence.
    #[inline]
    pub(super) fn series_function(&self, builtin: &Builtin, args: &[Value]) -> Option<SeriesFn> {
        if !args.iter().any(Value::is_endless) {
            return None;
        }
        let of_name = |(name, _): &&(&str, SeriesFn)| *name == builtin.name;
        self.parts.over_series.iter().find(of_name).map(|(_, over)| *over)
    }

    /// The error of a function, given its arguments: for an endless sequence that it cannot take, it advises.
    #[cold]
    pub(super) fn refused(&self, error: Error, args: &[Value]) -> Error {
        if error.reason() != Reason::TypeError {
            return error;
        }
        let series = args.iter().find(|arg| arg.is_endless());
        series.and_then(|series| (self.parts.result)(series.clone()).err()).unwrap_or(error)
    }

    /// The library of these parts.
    ///
    /// # Panics
    /// If a name is registered twice.
    pub(crate) fn new(parts: LibraryParts) -> Library {
        let mut all: Vec<&'static Builtin> = parts.families.iter().flat_map(|family| family.iter()).collect();
        // One text holds the qualified spellings, so that a thousand names are one allocation.
        let mut spellings = String::new();
        for (qualifier, member) in all.iter().flat_map(|builtin| builtin.qualified()) {
            spellings.push_str(qualifier);
            spellings.push_str(member);
        }
        let mut spellings: &'static str = spellings.leak();
        let (mut aliases, mut ends) = (Vec::new(), Vec::with_capacity(all.len()));
        let mut by_name: AHashMap<&str, NameMeaning> =
            AHashMap::with_capacity(all.len() + SpecialForm::ALL.len());
        let mut by_alias = AHashMap::with_capacity(all.len() * 2);
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
            let twice = by_name.entry(builtin.name).or_default().builtin.replace(id).is_some();
            assert!(!twice, "builtin name {} is registered twice", builtin.name);
            for name in &aliases[before..] {
                let twice = by_alias.insert(*name, id).is_some();
                assert!(!twice, "builtin name {name} is registered twice");
            }
        }
        for name in by_alias.keys() {
            assert!(!by_name.contains_key(name), "builtin name {name} is registered twice");
        }
        for form in SpecialForm::ALL {
            by_name.entry(form.name()).or_default().special = Some(*form);
        }
        let named = all.len();
        all.extend(parts.unnamed);
        let handles = (0..)
            .zip(&all)
            .map(|(id, builtin)| BuiltinHandle { id, name: builtin.name, named: usize::from(id) < named })
            .collect();
        Library { all, named, handles, by_name, by_alias, aliases, ends, parts }
    }

    /// The builtin with this id.
    #[inline]
    pub fn get(&self, id: BuiltinId) -> &'static Builtin {
        self.all[usize::from(id)]
    }

    /// The meaning of a bare name without the program's definitions.
    pub fn known(&self, name: &str) -> NameMeaning {
        self.by_name.get(name).copied().unwrap_or_default()
    }

    /// The id of a bare name or a qualified spelling.
    pub fn id(&self, name: &str) -> Option<BuiltinId> {
        let builtin = self.known(name).builtin;
        builtin.or_else(|| self.by_alias.get(name).copied())
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

    /// All builtins that have names, in the order of their ids.
    pub fn all(&self) -> &[&'static Builtin] {
        &self.all[..self.named]
    }

    /// The kinds of builtins in the middle of their work, by ascending name.
    pub fn frame_kinds(&self) -> impl Iterator<Item = &'static str> {
        self.parts.frames.iter().map(|row| row.name)
    }

    /// The builtin that a value stands for.
    #[inline]
    pub fn of(&self, handle: &BuiltinHandle) -> &'static Builtin {
        self.get(handle.id)
    }

    /// A builtin as a value: a function, or the value of a constant.
    pub fn value(&'static self, id: BuiltinId) -> Value {
        match self.get(id).native {
            Native::Constant(value) => value(),
            _ => self.function(id),
        }
    }

    /// A builtin as a function.
    #[inline]
    pub fn function(&'static self, id: BuiltinId) -> Value {
        Value::Builtin(&self.handles[usize::from(id)])
    }

    /// The builtin of a bare name or a qualified spelling as a function.
    pub(crate) fn function_named(&'static self, name: &str) -> Option<Value> {
        self.id(name).map(|id| self.function(id))
    }

    /// A function that the library is known to have, regardless of the program's definition of its name.
    ///
    /// # Panics
    /// If it has none of this name.
    pub(crate) fn required(&'static self, name: &str) -> Value {
        self.function_named(name).expect("a function of the library")
    }

    /// The function whose value has this very name: one that the name reaches, or one that no program can name.
    pub(crate) fn function_called(&'static self, name: &str, named: bool) -> Option<Value> {
        let unnamed = || {
            let place = self.all[self.named..].iter().position(|builtin| builtin.name == name)?;
            BuiltinId::try_from(self.named + place).ok()
        };
        let id = if named { self.known(name).builtin? } else { unnamed()? };
        let is_function = !matches!(self.get(id).native, Native::Constant(_));
        is_function.then(|| self.function(id))
    }

    /// One of the functions that no name reaches.
    ///
    /// # Panics
    /// If it is none of them.
    pub(crate) fn unnamed(&'static self, builtin: &'static Builtin) -> Value {
        let index = self.parts.unnamed.iter().position(|known| std::ptr::eq(*known, builtin));
        let index = self.named + index.expect("a function of the library");
        Value::Builtin(&self.handles[index])
    }

    /// Refuses a wrong number of arguments with the text of functions.md 0.5.
    #[inline]
    pub(crate) fn check_arity(&self, builtin: &Builtin, argc: usize) -> Result<()> {
        let fits = match builtin.arities {
            Arities::OneOf(counts) => counts.iter().any(|n| usize::from(*n) == argc),
            Arities::AtLeast(n) => argc >= usize::from(n),
        };
        // Of a constant, the value says what a call of it takes.
        if fits || matches!(builtin.native, Native::Constant(_)) {
            Ok(())
        } else {
            Err(self.wrong_arity(builtin, argc))
        }
    }

    #[cold]
    fn wrong_arity(&self, builtin: &Builtin, argc: usize) -> Error {
        let name = builtin.name;
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
