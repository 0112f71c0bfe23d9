//! Functions and programs.

use super::Op;
use crate::error::{Definition, Position, Result};
use crate::meter::Reservation;
use crate::value::Value;
use std::any::Any;
use std::cell::{Cell, OnceCell};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

/// A compiled program. Belongs to one thread, since its constants are values.
#[derive(Debug)]
pub struct Program {
    /// All functions of the text; the first is the program itself, without parameters.
    pub functions: Vec<Rc<Function>>,
    /// Global names that the code mentions. [`Op::Global`] and its like index this table.
    pub globals: Vec<Rc<str>>,
    /// Names that must have a value in the namespace before the program may start: used, but not certainly
    /// defined before (language.md 3.14), in order of traversal.
    pub requires: Vec<Requirement>,
    /// `tool/NAME`s that the text mentions, in order of first mention (language.md 5.5).
    pub tools: Vec<Requirement>,
    /// Documentation of definitions; see [`Op::DefGlobalDoc`].
    pub defs: Vec<Rc<DefInfo>>,
    /// Where the text of each of `defs` begins.
    pub def_positions: Vec<Position>,
    /// Names that the text binds or defines, for the hint of a name that is missing. Empty if nothing is required.
    pub local_names: Vec<Rc<str>>,
    /// The compiler's notes on the text for the reader of the value: numbers that are read as others.
    pub notes: Vec<Rc<str>>,
    /// Whether the text defines a name that a builtin has.
    pub shadows_builtin: bool,
    /// Size of the program's text in bytes.
    pub source_bytes: usize,
    /// The kept programs that the text is made of, the main one first; empty where it is none and calls none.
    pub parts: Box<[ProgramPart]>,
    /// What the host derives from the parts.
    pub derived: DerivedFromParts,
    /// The text, if the code that compiled it keeps it: serializing a function needs it.
    pub text: Option<Arc<str>>,
    /// A digest of its code, computed on first use.
    pub code_digest: OnceCell<[u8; 16]>,
    /// Bytes that it takes: code, tables and constants, as it was compiled.
    pub heap_bytes: usize,
    /// The reservation for its bytes, for as long as it has an owner: a cache, a machine, a function of a session.
    pub reserved: ReservedMemory,
}

impl Program {
    /// The digest of its code, made by `make` on first use.
    ///
    /// # Errors
    /// Those of `make`.
    pub(crate) fn digest(&self, make: &dyn Fn(&Program) -> Result<[u8; 16]>) -> Result<[u8; 16]> {
        if let Some(known) = self.code_digest.get() {
            return Ok(*known);
        }
        let digest = make(self)?;
        Ok(*self.code_digest.get_or_init(|| digest))
    }
}

/// A kept program within a text: the main one, or one that it calls (language.md 12).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramPart {
    /// Its name; empty for the main one.
    pub name: Rc<str>,
    /// The bytes of its file in the text; those of the main one have no head where `has_head` is false.
    pub bytes: Range<u32>,
    /// Whether its first form is data.
    pub has_head: bool,
    /// Its function in [`Program::functions`]; that of the main one is 0.
    pub function: u32,
    /// The function that calls it, the value of its name.
    pub entry: u32,
    /// The names that it defines, in [`Program::globals`]; those of the main one are not listed.
    pub globals: Box<[u32]>,
}

impl ProgramPart {
    /// Bytes that it takes, nearly.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        size_of::<ProgramPart>() + self.name.len() + size_of_val(&*self.globals)
    }
}

/// What a host derives from the parts of a program, made once and kept with it.
#[derive(Default)]
pub struct DerivedFromParts(pub OnceCell<Rc<dyn Any>>);

impl std::fmt::Debug for DerivedFromParts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("DerivedFromParts").field(&self.0.get().is_some()).finish()
    }
}

/// What the names that kept programs define begin with: `program/NAME/`.
pub const PROGRAM_NAMESPACE: &str = "program/";

/// A global name as the program has it that defines it: without the name of a kept program.
pub(crate) fn bare_name(name: &str) -> &str {
    match name.strip_prefix(PROGRAM_NAMESPACE).and_then(|rest| rest.split_once('/')) {
        Some((_, bare)) => bare,
        None => name,
    }
}

/// A reservation from the memory that all programs share. Dropping this releases it.
#[derive(Default)]
pub struct ReservedMemory(pub Option<Rc<dyn Reservation>>);

impl std::fmt::Debug for ReservedMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ReservedMemory").field(&self.0.is_some()).finish()
    }
}

/// A name that linking must find, and where the text first uses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// The name.
    pub name: Rc<str>,
    /// First use.
    pub position: Position,
}

/// The documentation of a definition, for the discovery forms.
#[derive(Clone, Debug, Default)]
pub struct DefInfo {
    /// Docstring, kept for functions only.
    pub doc: Option<Rc<str>>,
    /// Parameter lists as source text, for functions.
    pub parameters: Vec<Rc<str>>,
    /// The text of the whole definition.
    pub source: Rc<str>,
}

/// A function: its bodies by number of parameters, and the captures of a closure over it.
#[derive(Debug)]
pub struct Function {
    /// The name it was given, for messages; never shown in print.
    pub name: Option<Rc<str>>,
    /// The bodies, by ascending number of parameters, a variadic one last. Never empty.
    pub arities: Vec<Rc<Arity>>,
    /// Where a new closure takes its captured values from, in the frame that creates it.
    pub captures: Vec<Capture>,
    /// How the function prints, such as `#fn[x & more]`.
    pub display: Rc<str>,
    /// Where its text begins.
    pub position: Position,
}

/// Where a captured value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capture {
    /// A slot of the creating frame.
    Local(u32),
    /// A captured value of the creating closure.
    Capture(u32),
    /// The creating closure itself.
    SelfFn,
    /// A closure over this program function that shares the creating closure's captures.
    Sibling(u32),
    /// Nothing yet: a place of a `letfn` group that is never read.
    Nothing,
}

/// One body of a function.
#[derive(Debug)]
pub struct Arity {
    /// How many arguments it takes.
    pub parameters: Parameters,
    /// Instructions; the last one executed is a return, a tail call or an end.
    pub code: Vec<Op>,
    /// Constants of [`Op::Const`] and of the instructions with a key.
    pub constants: Vec<Value>,
    /// Most values the frame holds above its base, arguments included.
    pub max_stack: u32,
    /// Guesses of [`Op::Lookup`]: the index at which the key was found last time.
    pub lookups: Vec<Cell<u32>>,
    /// Source positions: `(first instruction, position)`, ascending by instruction.
    pub positions: Vec<(u32, Position)>,
}

/// How many arguments a body takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Named parameters; with `rest` the least number of arguments.
    pub required: u32,
    /// Whether surplus arguments go into a vector, which is one more slot.
    pub rest: bool,
}

impl Parameters {
    /// Slots that the parameters take.
    pub fn slots(self) -> u32 {
        self.required + u32::from(self.rest)
    }

    /// Whether `argc` arguments fit, one for each parameter.
    #[inline]
    pub(crate) fn is_exactly(self, argc: usize) -> bool {
        !self.rest && self.required as usize == argc
    }

    /// Whether `argc` arguments fit.
    pub(crate) fn accepts(self, argc: usize) -> bool {
        if self.rest { argc >= self.required as usize } else { argc == self.required as usize }
    }
}

impl Function {
    /// The body for `argc` arguments.
    #[inline]
    pub(crate) fn body_for(&self, argc: usize) -> Option<&Rc<Arity>> {
        self.arities.iter().find(|arity| arity.parameters.accepts(argc))
    }
}

impl Program {
    /// The number of the part that a function is the whole of.
    pub fn part_of(&self, function: u32) -> Option<u32> {
        let mut called = (0..).zip(&self.parts).skip(1);
        called.find(|(_, part)| part.function == function).map(|(number, _)| number)
    }

    /// Whether a function is the value of a program's name, which has no place in the text.
    pub(crate) fn is_entry(&self, function: u32) -> bool {
        self.parts.iter().skip(1).any(|part| part.entry == function)
    }

    /// The definition around a place of the text, the outermost if there are several; with the place counted from its beginning.
    pub(crate) fn definition_at(&self, at: Position) -> Option<Definition> {
        let around = self.defs.iter().zip(&self.def_positions).filter_map(|(info, &begin)| {
            let position = match at.line.checked_sub(begin.line)? {
                0 => Position { line: 1, column: at.column.checked_sub(begin.column)? + 1 },
                lines => Position { line: lines + 1, column: at.column },
            };
            let line = info.source.split('\n').nth(position.line as usize - 1)?;
            let is_inside = line.chars().count() >= position.column as usize;
            is_inside
                .then(|| ((begin.line, begin.column), Definition { source: info.source.clone(), position }))
        });
        around.min_by_key(|(begin, _)| *begin).map(|(_, definition)| definition)
    }
}

impl Arity {
    /// Its bytes, without those held by its constants.
    pub fn heap_bytes(&self) -> usize {
        size_of::<Arity>()
            + self.code.capacity() * size_of::<Op>()
            + self.constants.capacity() * size_of::<Value>()
            + self.lookups.capacity() * size_of::<Cell<u32>>()
            + self.positions.capacity() * size_of::<(u32, Position)>()
    }

    /// The source position of instruction `pc`.
    pub fn position(&self, pc: usize) -> Option<Position> {
        let after = self.positions.partition_point(|(first, _)| *first as usize <= pc);
        after.checked_sub(1).map(|i| self.positions[i].1)
    }
}
