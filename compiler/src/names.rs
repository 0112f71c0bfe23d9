//! The interned names of one program: each symbol and keyword text once, as a small number.

use std::sync::LazyLock;

use ahash::RandomState;

use crate::source::Span;

/// A symbol, keyword or namespace text of one program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(u32);

impl Name {
    /// Position in the table, in order of first appearance.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// The table of names. A keyword and a symbol of the same text are one name.
#[derive(Debug)]
pub(crate) struct Names<'s> {
    source: &'s str,
    tables: NameBuffers,
    /// See [`TextKey::hash`].
    secrets: [u64; 2],
}

/// The buffers of a table of names, without the program: reused from one to the next.
#[derive(Debug, Default)]
pub(crate) struct NameBuffers {
    entries: Vec<InternedText>,
    /// Names plus one by their hash, with linear probing; zero where there is none. At most half full, and empty or a power
    /// of two long.
    slots: Vec<u32>,
    /// Names before this one are those of other programs of the text.
    first: u32,
}

impl NameBuffers {
    pub(crate) fn clear(&mut self) {
        self.first = 0;
        self.entries.clear();
        self.slots.fill(0);
    }
}

#[derive(Clone, Copy, Debug)]
struct InternedText {
    /// Distinguishes the name from others of the same length.
    key: TextKey,
    /// Where it stands first.
    span: Span,
}

/// Fewest slots.
const SLOTS: usize = 64;

/// The bytes of a text of up to [`TextKey::SHORT`] bytes: its first ones and its last ones, which overlap, so that they and the
/// length are the whole text. Of a longer text a hash and nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TextKey(u64, u64);

impl TextKey {
    const SHORT: usize = 16;

    #[inline(always)]
    fn of(text: &[u8]) -> TextKey {
        match text {
            [] => TextKey(0, 0),
            [.., last] if text.len() < 4 => {
                let (first, middle) = (text[0], text[text.len() / 2]);
                TextKey(u64::from(first) | u64::from(middle) << 8 | u64::from(*last) << 16, 0)
            }
            _ if text.len() < 8 => match (text.first_chunk::<4>(), text.last_chunk::<4>()) {
                (Some(first), Some(last)) => {
                    TextKey(u64::from(u32::from_le_bytes(*first)), u64::from(u32::from_le_bytes(*last)))
                }
                _ => unreachable!("there are four bytes"),
            },
            _ if text.len() <= Self::SHORT => match (text.first_chunk::<8>(), text.last_chunk::<8>()) {
                (Some(first), Some(last)) => TextKey(u64::from_le_bytes(*first), u64::from_le_bytes(*last)),
                _ => unreachable!("there are eight bytes"),
            },
            _ => TextKey::of_long(text),
        }
    }

    /// A function of its own, so that the state for short names stays in registers.
    #[cold]
    #[inline(never)]
    fn of_long(text: &[u8]) -> TextKey {
        TextKey(SECRETS.0.hash_one(text), 0)
    }

    /// A hash that differs from process to process, so that no text can be written to make all its names collide.
    #[inline(always)]
    fn hash(self, length: usize, secrets: [u64; 2]) -> usize {
        let product = u128::from(self.0 ^ secrets[0]) * u128::from(self.1 ^ secrets[1] ^ length as u64);
        (product ^ (product >> 64)) as usize
    }
}

static SECRETS: LazyLock<(RandomState, [u64; 2])> = LazyLock::new(|| {
    let state = RandomState::new();
    let secrets = [state.hash_one(1), state.hash_one(2)];
    (state, secrets)
});

/// The bytes at `span`, which need no look at where characters begin.
fn bytes(source: &str, span: Span) -> &[u8] {
    &source.as_bytes()[span.start as usize..span.end as usize]
}

impl<'s> Names<'s> {
    /// Bytes that the tables hold on to.
    pub(crate) fn bytes(&self) -> usize {
        self.tables.entries.capacity() * size_of::<InternedText>()
            + self.tables.slots.capacity() * size_of::<u32>()
    }

    /// The names of `source`, in empty tables that may have served before.
    pub(crate) fn with_tables(source: &'s str, tables: NameBuffers) -> Self {
        Self { source, tables, secrets: SECRETS.1 }
    }

    pub(crate) fn into_tables(self) -> NameBuffers {
        self.tables
    }

    /// The name of the text at `span`, entered on first sight.
    #[inline]
    pub(crate) fn intern(&mut self, span: Span) -> Name {
        if self.tables.entries.len() * 2 >= self.tables.slots.len() {
            self.grow();
        }
        let text = bytes(self.source, span);
        let key = TextKey::of(text);
        match self.probe(text, key) {
            Ok(name) => name,
            Err(slot) => {
                self.tables.entries.push(InternedText { key, span });
                let count = self.tables.entries.len() as u32;
                self.tables.slots[slot] = count;
                Name(count - 1)
            }
        }
    }

    /// The name of this text, or the slot where it belongs. There are slots.
    #[inline(always)]
    fn probe(&self, text: &[u8], key: TextKey) -> Result<Name, usize> {
        let NameBuffers { entries, slots, .. } = &self.tables;
        let mask = slots.len() - 1;
        let mut slot = key.hash(text.len(), self.secrets) & mask;
        while let Some(name) = slots[slot].checked_sub(1) {
            let known = &entries[name as usize];
            if known.key == key
                && (known.span.end - known.span.start) as usize == text.len()
                && (text.len() <= TextKey::SHORT || bytes(self.source, known.span) == text)
            {
                return Ok(Name(name));
            }
            slot = (slot + 1) & mask;
        }
        Err(slot)
    }

    #[cold]
    fn grow(&mut self) {
        let NameBuffers { entries, slots, first } = &mut self.tables;
        let count = (slots.len() * 2).max(SLOTS);
        slots.clear();
        slots.resize(count, 0);
        for (name, InternedText { key, span }) in entries.iter().enumerate().skip(*first as usize) {
            let mut slot = key.hash((span.end - span.start) as usize, self.secrets) & (count - 1);
            while slots[slot] != 0 {
                slot = (slot + 1) & (count - 1);
            }
            slots[slot] = name as u32 + 1;
        }
    }

    /// Begins the names of another program: texts that were entered before are new names there.
    pub(crate) fn begin_program(&mut self) {
        self.tables.slots.fill(0);
        self.tables.first = self.tables.entries.len() as u32;
    }

    /// Whether `name` begins with this ASCII character.
    #[inline]
    pub(crate) fn starts_with(&self, name: Name, first: u8) -> bool {
        let span = self.span(name);
        span.start < span.end && self.source.as_bytes()[span.start as usize] == first
    }

    /// The text of `name`.
    pub(crate) fn text(&self, name: Name) -> &'s str {
        self.span(name).text(self.source)
    }

    /// Where `name` stands first.
    pub(crate) fn span(&self, name: Name) -> Span {
        self.tables.entries[name.index()].span
    }

    /// How many names there are.
    pub(crate) fn len(&self) -> usize {
        self.tables.entries.len()
    }

    /// All names, in order of first appearance.
    pub(crate) fn all(&self) -> impl Iterator<Item = Name> + use<> {
        (0..self.len() as u32).map(Name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_are_one_name() {
        let mut names = Names::with_tables("a b a", NameBuffers::default());
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
            let mut names = Names::with_tables(&text, NameBuffers::default());
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
        let mut tables = NameBuffers::default();
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
