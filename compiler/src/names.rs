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
    /// Names plus one by their hash, with linear probing; zero where there is none. At most half full, and empty or a power
    /// of two long.
    slots: Vec<u32>,
}

impl Tables {
    pub(crate) fn clear(&mut self) {
        self.spans.clear();
        self.slots.fill(0);
    }
}

/// Fewest slots.
const SLOTS: usize = 64;

/// A hash that differs from process to process, so that no text can be written to make all its names collide.
fn hash(text: &[u8]) -> usize {
    static KEYS: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    KEYS.hash_one(text) as usize
}

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
        let Tables { spans, slots } = &mut self.tables;
        let mask = slots.len() - 1;
        let mut slot = hash(text) & mask;
        loop {
            match slots[slot].checked_sub(1) {
                Some(name) if bytes(self.source, spans[name as usize]) == text => return Name(name),
                Some(_) => slot = (slot + 1) & mask,
                None => break,
            }
        }
        spans.push(span);
        slots[slot] = spans.len() as u32;
        Name(spans.len() as u32 - 1)
    }

    #[cold]
    fn grow(&mut self) {
        let count = (self.tables.slots.len() * 2).max(SLOTS);
        self.tables.slots.clear();
        self.tables.slots.resize(count, 0);
        for (name, span) in self.tables.spans.iter().enumerate() {
            let mut slot = hash(bytes(self.source, *span)) & (count - 1);
            while self.tables.slots[slot] != 0 {
                slot = (slot + 1) & (count - 1);
            }
            self.tables.slots[slot] = name as u32 + 1;
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
    fn a_table_grows_and_serves_again() {
        let words: Vec<String> = (0..1000).map(|n| n.to_string()).collect();
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
