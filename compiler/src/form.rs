//! Forms: the reader's output from tokens.
//!
//! The forms of a program lie in one vector, and a collection refers to the run of its children in it. Reading allocates
//! nothing for a single form, and no pass follows pointers.

use std::ops::Index;
use std::sync::LazyLock;

use ahash::RandomState;
use num_bigint::BigInt;
use ptc_vm::meter::{self, MemoryCharge};

use crate::names::{self, Name, Names};
use crate::source::Span;
use crate::token::NumberKind;

/// A form and where it stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Form {
    /// The kind.
    pub kind: FormKind,
    /// The text it was read from. A form that analysis makes carries the span of the form that it replaces.
    pub span: Span,
}

/// A run of forms in [`Forms`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Items {
    start: u32,
    len: u32,
    contents: Contents,
}

/// The known properties of a run of forms, without scanning them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Contents {
    /// All of them stand for themselves, at all depths.
    literal: bool,
    /// None of them is a vector, a map or a set.
    flat: bool,
}

impl Contents {
    /// Of no forms.
    pub(crate) const NONE: Contents = Contents { literal: true, flat: true };

    /// Those of a run that continues with this form.
    #[inline]
    pub(crate) fn add(&mut self, kind: FormKind) {
        self.literal &= kind.is_literal();
        self.flat &= !matches!(kind, FormKind::Vector(_) | FormKind::Map(_) | FormKind::Set(_));
    }
}

impl Items {
    /// How many forms there are.
    pub(crate) fn len(self) -> usize {
        self.len as usize
    }

    /// Whether there are none.
    pub(crate) fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Whether all of them stand for themselves, at all depths: vectors, maps and sets of numbers, strings, keywords and the
    /// like. Not known of a run that analysis makes.
    pub(crate) fn are_literal(self) -> bool {
        self.contents.literal
    }

    /// Whether certainly none of them is a vector, a map or a set. Not known of a run that analysis makes.
    pub(crate) fn are_flat(self) -> bool {
        self.contents.flat
    }

    /// The run without its first `n` forms.
    pub(crate) fn skip(self, n: usize) -> Self {
        let n = (n as u32).min(self.len);
        Self { start: self.start + n, len: self.len - n, ..self }
    }

    /// The first `n` forms of the run.
    pub(crate) fn take(self, n: usize) -> Self {
        Self { len: (n as u32).min(self.len), ..self }
    }
}

/// The kind of a form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FormKind {
    /// `nil`
    Nil,
    /// `true`, `false`
    Bool(bool),
    /// An integer that fits in 64 bits.
    Int(i64),
    /// Any other integer; an index for [`Forms::big`].
    BigInt(u32),
    /// A finite float.
    Float(f64),
    /// `##Inf`, `##-Inf`, `##NaN`
    SpecialFloat(f64),
    /// A string or character, decoded; an index for [`Forms::string`].
    Str(u32),
    /// The pattern of a regex literal, decoded; an index for [`Forms::string`].
    Regex(u32),
    /// `:name`, `:namespace/name`
    Keyword(Name),
    /// A keyword whose namespace stands elsewhere, as in `#:user{:id 1}`.
    JoinedKeyword {
        /// With the namespace; an index for [`Forms::string`].
        text: u32,
        /// As it stands in the program.
        name: Name,
    },
    /// `name`
    Symbol(Name),
    /// `namespace/name`
    Qualified {
        /// Before the first `/`.
        namespace: Name,
        /// After it.
        name: Name,
    },
    /// `'name`, with everything after the quote.
    QuotedSymbol(Name),
    /// `'form` for any other form: one item.
    Quoted(Items),
    /// `*1`, `*2`, `*3`
    History(u8),
    /// `( … )`
    List(Items),
    /// `[ … ]`
    Vector(Items),
    /// `{ … }`, keys and values in turn
    Map(Items),
    /// `#{ … }`
    Set(Items),
    /// `#( … )`
    ShortFn(Items),
    /// Made by analysis: the value that a threading form has so far; an index into its own table.
    Threaded(u32),
}

impl FormKind {
    /// Whether it stands for itself, with all it consists of.
    #[inline]
    pub(crate) fn is_literal(self) -> bool {
        match self {
            Self::Nil
            | Self::Bool(_)
            | Self::Int(_)
            | Self::BigInt(_)
            | Self::Float(_)
            | Self::SpecialFloat(_)
            | Self::Str(_)
            | Self::Regex(_)
            | Self::Keyword(_)
            | Self::JoinedKeyword { .. }
            | Self::QuotedSymbol(_) => true,
            Self::Vector(items) | Self::Map(items) | Self::Set(items) => items.contents.literal,
            _ => false,
        }
    }
}

/// All forms of a program.
#[derive(Debug)]
pub struct Forms<'s> {
    /// Every symbol and keyword text.
    pub(crate) names: Names<'s>,
    source: &'s str,
    tables: Box<FormBuffers>,
    program: Items,
    /// Notes on spellings that are read as something else, the first of each kind.
    notes: Vec<(NumberKind, String)>,
    /// The memory of the tables, on the account of the program.
    held: MemoryCharge,
}

/// The buffers of forms, without the program: reused from one program to the next.
#[derive(Debug, Default)]
pub(crate) struct FormBuffers {
    names: names::NameBuffers,
    nodes: Vec<Form>,
    strings: Vec<TextLocation>,
    decoded: String,
    big: Vec<BigInt>,
}

/// Where the value of a string lies.
#[derive(Clone, Copy, Debug)]
enum TextLocation {
    /// In the program's text.
    Source(Span),
    /// In the buffer of decoded texts.
    Decoded(Span),
}

/// Bytes of an integer of as many digits as a literal may have, about.
const BIG: usize = 80;

impl FormBuffers {
    /// Bytes that it holds on to.
    pub(crate) fn bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<Form>()
            + self.strings.capacity() * size_of::<TextLocation>()
            + self.decoded.capacity()
            + self.big.capacity() * BIG
    }
}

impl<'s> Forms<'s> {
    /// No forms, in empty tables that may have served before.
    pub(crate) fn with_tables(source: &'s str, mut tables: Box<FormBuffers>) -> Self {
        let names = Names::with_tables(source, std::mem::take(&mut tables.names));
        tables.nodes.reserve(source.len() / 6 + 8);
        Self {
            names,
            source,
            tables,
            program: Items::default(),
            notes: Vec::new(),
            held: MemoryCharge::default(),
        }
    }

    /// The tables, emptied.
    #[inline]
    pub(crate) fn into_tables(self) -> Box<FormBuffers> {
        let mut tables = self.tables;
        tables.names = self.names.into_tables();
        tables.names.clear();
        tables.nodes.clear();
        tables.strings.clear();
        tables.decoded.clear();
        tables.big.clear();
        tables
    }

    /// Charges the growth of the tables, and `more` bytes of others.
    pub(crate) fn charge(&mut self, more: usize) -> ptc_vm::Result<()> {
        let bytes = self.tables.bytes() + self.names.bytes();
        self.held.resize(bytes + more)
    }

    /// How many forms there are, at all depths.
    pub fn len(&self) -> usize {
        self.tables.nodes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.tables.nodes.is_empty()
    }

    /// All forms, at all depths.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Form> {
        self.tables.nodes.iter()
    }

    /// The top-level forms.
    pub fn program(&self) -> Items {
        self.program
    }

    pub(crate) fn set_program(&mut self, items: Items) {
        self.program = items;
    }

    /// Enters a run of forms that analysis made.
    pub(crate) fn add(&mut self, forms: &[Form]) -> Items {
        let start = self.tables.nodes.len() as u32;
        self.tables.nodes.extend_from_slice(forms);
        Items { start, len: forms.len() as u32, contents: Contents::default() }
    }

    /// Enters a run of forms as they were read.
    #[inline]
    pub(crate) fn add_read(&mut self, forms: &[Form], contents: Contents) -> Items {
        Items { contents, ..self.add(forms) }
    }

    /// Notes how the first number of this kind is read.
    pub(crate) fn note(&mut self, kind: NumberKind, text: impl FnOnce() -> String) {
        if self.notes.iter().all(|(noted, _)| *noted != kind) {
            self.notes.push((kind, text()));
        }
    }

    /// The notes on the spellings of numbers.
    pub(crate) fn notes(&self) -> impl Iterator<Item = &str> {
        self.notes.iter().map(|(_, note)| note.as_str())
    }

    /// Enters a string that stands in the program's text as it is.
    pub(crate) fn add_string(&mut self, span: Span) -> u32 {
        self.tables.strings.push(TextLocation::Source(span));
        self.tables.strings.len() as u32 - 1
    }

    /// Enters a string that stands in the program's text in another spelling.
    pub(crate) fn add_decoded(&mut self, text: &str) -> u32 {
        let start = self.tables.decoded.len();
        self.tables.decoded.push_str(text);
        self.tables.strings.push(TextLocation::Decoded(Span::new(start, self.tables.decoded.len())));
        self.tables.strings.len() as u32 - 1
    }

    /// Enters the text of a keyword whose namespace and name do not stand together. `more`: as for [`charge`](Self::charge).
    pub(crate) fn join_keyword(&mut self, namespace: &str, name: &str, more: usize) -> ptc_vm::Result<u32> {
        // A long namespace is written out for each of many keys.
        let bytes = namespace.len() + 1 + name.len();
        meter::charge_steps(1 + bytes as u64 / 16)?;
        let decoded = &self.tables.decoded;
        let growth =
            if decoded.capacity() - decoded.len() < bytes { decoded.capacity().max(bytes) } else { 0 };
        self.charge(more + growth)?;
        Ok(self.add_decoded(&format!("{namespace}/{name}")))
    }

    /// The text of a form that is a keyword.
    fn keyword_text(&self, kind: FormKind) -> &str {
        match kind {
            FormKind::Keyword(name) => self.names.text(name),
            FormKind::JoinedKeyword { text, .. } => self.string(text),
            _ => "",
        }
    }

    pub(crate) fn add_big(&mut self, number: BigInt) -> u32 {
        self.tables.big.push(number);
        self.tables.big.len() as u32 - 1
    }

    /// The text of a [`FormKind::Str`] or [`FormKind::Regex`].
    pub(crate) fn string(&self, index: u32) -> &str {
        match self.tables.strings[index as usize] {
            TextLocation::Source(span) => span.text(self.source),
            TextLocation::Decoded(span) => span.text(&self.tables.decoded),
        }
    }

    /// The number of a [`FormKind::BigInt`].
    pub(crate) fn big(&self, index: u32) -> &BigInt {
        &self.tables.big[index as usize]
    }

    /// The `n`th form of a run.
    pub(crate) fn at(&self, items: Items, n: usize) -> Form {
        self[items][n]
    }

    /// The names that count towards the limit of a program: symbols, keywords, and the parts after a `/`. Each once.
    pub(crate) fn counted_names(&self) -> impl Iterator<Item = Name> {
        let mut counted: Vec<Name> = self
            .tables
            .nodes
            .iter()
            .filter_map(|form| match form.kind {
                FormKind::Keyword(name)
                | FormKind::JoinedKeyword { name, .. }
                | FormKind::Symbol(name)
                | FormKind::Qualified { name, .. } => Some(name),
                _ => None,
            })
            .collect();
        counted.sort_unstable();
        counted.dedup();
        counted.into_iter()
    }

    /// Whether two forms are equal as they are written: numbers by value and kind, maps and sets in any order, regexes and
    /// short functions never.
    pub(crate) fn equal(&self, a: Form, b: Form) -> bool {
        use FormKind::*;
        match (a.kind, b.kind) {
            (Nil, Nil) => true,
            (Bool(a), Bool(b)) => a == b,
            (Int(a), Int(b)) => a == b,
            (BigInt(a), BigInt(b)) => self.big(a) == self.big(b),
            (Float(a), Float(b)) => a == b,
            (SpecialFloat(a), SpecialFloat(b)) => a == b || (a.is_nan() && b.is_nan()),
            (Str(a), Str(b)) => self.string(a) == self.string(b),
            (Keyword(a), Keyword(b)) | (Symbol(a), Symbol(b)) | (QuotedSymbol(a), QuotedSymbol(b)) => a == b,
            (Keyword(_) | JoinedKeyword { .. }, Keyword(_) | JoinedKeyword { .. }) => {
                self.keyword_text(a.kind) == self.keyword_text(b.kind)
            }
            (Qualified { namespace: an, name: a }, Qualified { namespace: bn, name: b }) => {
                an == bn && a == b
            }
            (History(a), History(b)) => a == b,
            (List(a), List(b)) | (Vector(a), Vector(b)) | (Quoted(a), Quoted(b)) => {
                a.len() == b.len() && self[a].iter().zip(&self[b]).all(|(&a, &b)| self.equal(a, b))
            }
            (Set(a), Set(b)) => {
                a.len() == b.len() && self[a].iter().all(|&x| self[b].iter().any(|&y| self.equal(x, y)))
            }
            (Map(a), Map(b)) => {
                let entry = |x: &[Form], y: &[Form]| self.equal(x[0], y[0]) && self.equal(x[1], y[1]);
                a.len() == b.len()
                    && self[a].chunks_exact(2).all(|x| self[b].chunks_exact(2).any(|y| entry(x, y)))
            }
            _ => false,
        }
    }
}

impl Forms<'_> {
    /// A hash that agrees with [`equal`](Self::equal). Differs from process to process.
    pub(crate) fn hash(&self, form: Form) -> u64 {
        static KEYS: LazyLock<RandomState> = LazyLock::new(RandomState::new);
        use FormKind::*;
        let items = |items: Items| self[items].iter().map(|&item| self.hash(item));
        match form.kind {
            Nil => KEYS.hash_one(0u8),
            Bool(b) => KEYS.hash_one((1u8, b)),
            Int(n) => KEYS.hash_one((2u8, n)),
            BigInt(n) => KEYS.hash_one((3u8, self.big(n))),
            Float(f) => KEYS.hash_one((4u8, (f + 0.0).to_bits())),
            SpecialFloat(f) => KEYS.hash_one((5u8, f.is_nan(), f > 0.0)),
            Str(s) => KEYS.hash_one((6u8, self.string(s))),
            keyword @ (Keyword(_) | JoinedKeyword { .. }) => KEYS.hash_one((7u8, self.keyword_text(keyword))),
            Symbol(name) => KEYS.hash_one((8u8, name)),
            QuotedSymbol(name) => KEYS.hash_one((9u8, name)),
            Qualified { namespace, name } => KEYS.hash_one((10u8, namespace, name)),
            History(n) => KEYS.hash_one((11u8, n)),
            List(run) => KEYS.hash_one((12u8, items(run).collect::<Vec<_>>())),
            Vector(run) => KEYS.hash_one((13u8, items(run).collect::<Vec<_>>())),
            Quoted(run) => KEYS.hash_one((14u8, items(run).collect::<Vec<_>>())),
            Set(run) => KEYS.hash_one((15u8, items(run).fold(0, u64::wrapping_add))),
            Map(run) => {
                let entry = |pair: &[Form]| KEYS.hash_one((self.hash(pair[0]), self.hash(pair[1])));
                KEYS.hash_one((16u8, self[run].chunks_exact(2).map(entry).fold(0, u64::wrapping_add)))
            }
            Regex(n) | Threaded(n) => KEYS.hash_one((17u8, n)),
            ShortFn(_) => KEYS.hash_one((18u8, form.span.start)),
        }
    }
}

impl Index<Items> for Forms<'_> {
    type Output = [Form];

    fn index(&self, items: Items) -> &[Form] {
        &self.tables.nodes[items.start as usize..][..items.len as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_three_words() {
        assert_eq!(size_of::<Form>(), 24);
    }
}
