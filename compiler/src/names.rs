//! The names of one program: every symbol and keyword text once, as a small number.

use std::sync::LazyLock;

use ahash::RandomState;

use crate::source::Span;

/// A symbol, keyword or namespace text of one program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(u32);

impl Name {
    /// Position in the table, in order of first appearance.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The table of names. A keyword and a symbol of the same text are one name.
#[derive(Debug)]
pub struct Names<'s> {
    source: &'s str,
    tables: Tables,
}

/// What a table of names lies in, without the program: kept from one to the next.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    /// Where each name stands first.
    spans: Vec<Span>,
    /// What tells each from others of the same length: see [`Key`].
    keys: Vec<Key>,
    /// Names plus one by their hash, with linear probing; zero where there is none. At most half full, and empty or a power
    /// of two long.
    slots: Vec<u32>,
}

impl Tables {
    pub(crate) fn clear(&mut self) {
        self.spans.clear();
        self.keys.clear();
        self.slots.fill(0);
    }
}

/// Fewest slots.
const SLOTS: usize = 64;

/// The bytes of a text of up to [`Key::SHORT`] bytes: its first ones and its last ones, which overlap, so that they and the
/// length are the whole text. Of a longer text a hash and nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key(u64, u64);

impl Key {
    const SHORT: usize = 16;

    fn of(text: &[u8]) -> Key {
        match text.len() {
            8..=Self::SHORT => match (text.first_chunk::<8>(), text.last_chunk::<8>()) {
                (Some(first), Some(last)) => Key(u64::from_le_bytes(*first), u64::from_le_bytes(*last)),
                _ => unreachable!("there are eight bytes"),
            },
            4..8 => match (text.first_chunk::<4>(), text.last_chunk::<4>()) {
                (Some(first), Some(last)) => {
                    Key(u64::from(u32::from_le_bytes(*first)), u64::from(u32::from_le_bytes(*last)))
                }
                _ => unreachable!("there are four bytes"),
            },
            0..4 => Key(text.iter().fold(0, |key, &byte| key << 8 | u64::from(byte)), 0),
            _ => Key(SECRETS.0.hash_one(text), 0),
        }
    }

    /// A hash that differs from process to process, so that no text can be written to make all its names collide.
    fn hash(self, length: usize) -> usize {
        let secrets = &*SECRETS;
        let product = u128::from(self.0 ^ secrets.1) * u128::from(self.1 ^ secrets.2 ^ length as u64);
        (product ^ (product >> 64)) as usize
    }
}

static SECRETS: LazyLock<(RandomState, u64, u64)> = LazyLock::new(|| {
    let state = RandomState::new();
    let (one, other) = (state.hash_one(1), state.hash_one(2));
    (state, one, other)
});

/// The bytes at `span`, which need no look at where characters begin.
fn bytes(source: &str, span: Span) -> &[u8] {
    &source.as_bytes()[span.start as usize..span.end as usize]
}

impl<'s> Names<'s> {
    /// An empty table for the names of `source`.
    pub fn new(source: &'s str) -> Self {
        Self::with_tables(source, Tables::default())
    }

    pub(crate) fn with_tables(source: &'s str, tables: Tables) -> Self {
        Self { source, tables }
    }

    pub(crate) fn into_tables(self) -> Tables {
        self.tables
    }

    /// The name of the text at `span`, entered on first sight.
    pub fn intern(&mut self, span: Span) -> Name {
        if self.tables.spans.len() * 2 >= self.tables.slots.len() {
            self.grow();
        }
        let text = bytes(self.source, span);
        let key = Key::of(text);
        let Tables { spans, keys, slots } = &mut self.tables;
        let mask = slots.len() - 1;
        let mut slot = key.hash(text.len()) & mask;
        while let Some(name) = slots[slot].checked_sub(1) {
            let known = spans[name as usize];
            if keys[name as usize] == key
                && (known.end - known.start) as usize == text.len()
                && (text.len() <= Key::SHORT || bytes(self.source, known) == text)
            {
                return Name(name);
            }
            slot = (slot + 1) & mask;
        }
        spans.push(span);
        keys.push(key);
        slots[slot] = spans.len() as u32;
        Name(spans.len() as u32 - 1)
    }

    #[cold]
    fn grow(&mut self) {
        let Tables { spans, keys, slots } = &mut self.tables;
        let count = (slots.len() * 2).max(SLOTS);
        slots.clear();
        slots.resize(count, 0);
        for (name, (span, key)) in spans.iter().zip(keys).enumerate() {
            let mut slot = key.hash((span.end - span.start) as usize) & (count - 1);
            while slots[slot] != 0 {
                slot = (slot + 1) & (count - 1);
            }
            slots[slot] = name as u32 + 1;
        }
    }

    /// The text of `name`.
    pub fn text(&self, name: Name) -> &'s str {
        self.tables.spans[name.index()].text(self.source)
    }

    /// Where `name` stands first.
    pub fn span(&self, name: Name) -> Span {
        self.tables.spans[name.index()]
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.tables.spans.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.tables.spans.is_empty()
    }

    /// All names, in order of first appearance.
    pub fn all(&self) -> impl Iterator<Item = Name> + use<> {
        (0..self.len() as u32).map(Name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_are_one_name() {
        let mut names = Names::new("a b a");
        let a = names.intern(Span::new(0, 1));
        let b = names.intern(Span::new(2, 3));
        assert_eq!(names.intern(Span::new(4, 5)), a);
        assert_ne!(a, b);
        assert_eq!((names.text(b), names.len()), ("b", 2));
    }

    #[test]
    fn texts_that_differ_anywhere_are_different_names() {
        for length in 1..40 {
            let mut text = "a".repeat(length);
            let others: Vec<String> = (0..length)
                .map(|at| text.char_indices().map(|(i, c)| if i == at { 'b' } else { c }).collect())
                .collect();
            for other in others.iter().chain([&"a".repeat(length + 1), &"\0".repeat(length)]) {
                text.push_str(other);
            }
            let mut names = Names::new(&text);
            let mut start = 0;
            for word in 0..=length {
                let span = Span::new(start, start + length);
                assert_eq!(names.intern(span).index(), word, "{length}");
                start += length;
            }
            assert_eq!(names.intern(Span::new(start, start + length + 1)).index(), length + 1);
            assert_eq!(names.intern(Span::new(start + length + 1, text.len())).index(), length + 2);
            assert_eq!(names.intern(Span::new(0, length)).index(), 0);
        }
    }

    #[test]
    fn a_table_grows_and_serves_again() {
        // Of all lengths up to beyond what a key holds.
        let words: Vec<String> = (0..1000).map(|n| format!("{n}{}", "x".repeat(n % 20))).collect();
        let text = words.join(" ");
        let spans = || {
            let mut start = 0;
            words.iter().map(move |word| {
                let span = Span::new(start, start + word.len());
                start = span.end as usize + 1;
                span
            })
        };
        let mut tables = Tables::default();
        for _ in 0..2 {
            let mut names = Names::with_tables(&text, tables);
            let first: Vec<Name> = spans().map(|span| names.intern(span)).collect();
            let again: Vec<Name> = spans().map(|span| names.intern(span)).collect();
            assert_eq!(first, again);
            assert_eq!(first, names.all().collect::<Vec<_>>());
            assert!(first.iter().zip(&words).all(|(&name, word)| names.text(name) == word));
            tables = names.into_tables();
            tables.clear();
        }
    }
}
