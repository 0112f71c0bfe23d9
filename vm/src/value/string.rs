//! Strings: UTF-8, with lengths and positions in extended grapheme clusters (language.md 2.3).

use super::graphemes::Graphemes;
use super::{Allocation, Value, Vector};
use crate::meter;
use compact_str::CompactString;
use std::cell::Cell;
use std::rc::Rc;

/// An immutable string.
#[derive(Clone)]
pub struct Str(Rc<StrText>);

struct StrText {
    text: CompactString,
    /// Number of graphemes plus one, or 0 until it is computed.
    graphemes: Cell<u32>,
}

impl StrText {
    const OVERHEAD: usize = Str::OVERHEAD;

    fn bytes(&self) -> usize {
        Self::OVERHEAD + if self.text.is_heap_allocated() { self.text.capacity() } else { 0 }
    }
}

impl Drop for StrText {
    fn drop(&mut self) {
        meter::credit_memory(self.bytes());
    }
}

impl Str {
    /// Bytes that any string is charged.
    const OVERHEAD: usize = 48;
    /// Up to this many bytes of text take no more than that.
    const INLINE: usize = size_of::<CompactString>();

    /// Bytes that a string of so many bytes is charged, at least.
    pub(crate) fn bytes_for(len: usize) -> usize {
        Str::OVERHEAD + if len > Str::INLINE { len } else { 0 }
    }

    /// Bytes that this one was charged.
    pub(crate) fn charged_bytes(&self) -> usize {
        self.0.bytes()
    }

    /// A copy of `text`. Callers that build text of a size that the program controls
    /// [reserve](meter::reserve) it first.
    pub fn new(text: &str) -> Str {
        Str::from_compact(CompactString::new(text))
    }

    /// Takes over `text`.
    pub(crate) fn from_string(text: String) -> Str {
        Str::from_compact(CompactString::from(text))
    }

    /// Takes over `text`.
    pub(crate) fn from_compact(text: CompactString) -> Str {
        let text = StrText { text, graphemes: Cell::new(0) };
        meter::charge_memory(text.bytes());
        Str(Rc::new(text))
    }

    /// The text.
    #[inline]
    pub fn as_str(&self) -> &str {
        self.0.text.as_str()
    }

    /// Whether both are the same allocation.
    #[inline]
    pub(crate) fn same_allocation(&self, other: &Str) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// Where the text lies.
    pub(super) fn allocation(&self) -> Allocation {
        Allocation::of(&self.0)
    }

    /// Whether every byte is a grapheme of its own, so that positions in bytes and in graphemes agree.
    /// CR LF together is one grapheme.
    pub(crate) fn is_simple(&self) -> bool {
        self.len() == self.as_str().len()
    }

    /// Length in graphemes. Where that is not the number of bytes it is charged as work, every time: whether the
    /// number is known already must not show in a program's steps.
    #[expect(clippy::len_without_is_empty, reason = "`as_str().is_empty()` says it")]
    pub fn len(&self) -> usize {
        let bytes = self.as_str().len();
        let graphemes = match self.0.graphemes.get() {
            0 => {
                let n = count_graphemes(self.as_str());
                if let Ok(n) = u32::try_from(n + 1) {
                    self.0.graphemes.set(n);
                }
                n
            }
            n => n as usize - 1,
        };
        if graphemes != bytes {
            meter::work(bytes as u64);
        }
        graphemes
    }

    /// The graphemes as one-grapheme strings.
    pub(crate) fn graphemes(&self) -> Vector {
        meter::work(self.as_str().len() as u64);
        if self.is_simple() {
            let mut buffer = [0u8; 4];
            self.as_str().chars().map(|c| Value::str(&*c.encode_utf8(&mut buffer))).collect()
        } else {
            Graphemes::new(self.as_str()).map(|(_, grapheme)| Value::str(grapheme)).collect()
        }
    }

    /// The byte offset at which grapheme `index` starts; the length in bytes when there are fewer.
    pub(crate) fn byte_offset(&self, index: usize) -> usize {
        if self.is_simple() {
            return index.min(self.as_str().len());
        }
        meter::work(self.as_str().len() as u64);
        Graphemes::new(self.as_str()).nth(index).map_or(self.as_str().len(), |(offset, _)| offset)
    }

    /// The graphemes from `start` up to `end`, both clamped.
    pub fn slice(&self, start: usize, end: usize) -> Str {
        let (from, to) = (self.byte_offset(start), self.byte_offset(end.max(start)));
        if from == 0 && to == self.as_str().len() { self.clone() } else { Str::new(&self.as_str()[from..to]) }
    }
}

fn count_graphemes(text: &str) -> usize {
    if text.is_ascii() { text.len() - count_crlf(text.as_bytes()) } else { Graphemes::new(text).count() }
}

fn count_crlf(bytes: &[u8]) -> usize {
    // Few texts have any, and looking for one byte is much cheaper than looking at each pair.
    if !bytes.contains(&b'\r') {
        return 0;
    }
    bytes.windows(2).filter(|pair| pair == b"\r\n").count()
}

impl AsRef<str> for Str {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl From<&str> for Str {
    fn from(text: &str) -> Str {
        Str::new(text)
    }
}

impl From<String> for Str {
    fn from(text: String) -> Str {
        Str::from_string(text)
    }
}

impl PartialEq for Str {
    fn eq(&self, other: &Str) -> bool {
        self.same_allocation(other) || self.as_str() == other.as_str()
    }
}

impl Eq for Str {}

impl std::fmt::Debug for Str {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(self.as_str(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_in_graphemes() {
        for (text, length) in [("", 0), ("abc", 3), ("a\r\n", 2), ("👨‍👩‍👧", 1), ("e\u{301}x", 2)]
        {
            assert_eq!(Str::new(text).len(), length, "{text:?}");
            assert_eq!(Str::new(text).graphemes().len(), length, "{text:?}");
        }
    }

    #[test]
    fn a_length_costs_the_same_every_time() {
        for text in ["abc", "é", "a\r\n"] {
            let s = Str::new(text);
            let mut account = meter::Account::new(1 << 20);
            let _installed = account.install();
            let cost = || {
                s.len();
                meter::take_work()
            };
            assert_eq!(cost(), cost(), "{text:?}");
        }
    }

    #[test]
    fn slices_are_clamped_and_cut_between_graphemes() {
        let s = Str::new("ae\u{301}👍z");
        assert_eq!(s.slice(1, 3).as_str(), "e\u{301}👍");
        assert_eq!(s.slice(3, 99).as_str(), "z");
        assert_eq!(s.slice(9, 2).as_str(), "");
    }
}
