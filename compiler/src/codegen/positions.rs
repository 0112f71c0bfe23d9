//! Line and column of many byte offsets of one text.

use ptc_vm::error::Position;
use smallvec::SmallVec;

/// How often the characters of a text that is not ASCII are counted.
const STRIDE: usize = 64;

pub(super) struct Lines<'s> {
    source: &'s str,
    /// Offsets of the first characters of lines 2, 3, ….
    starts: SmallVec<[u32; 16]>,
    /// How many characters begin before each multiple of [`STRIDE`] bytes; empty for ASCII.
    counts: Vec<u32>,
}

impl<'s> Lines<'s> {
    pub(super) fn new(source: &'s str) -> Self {
        let bytes = source.as_bytes();
        let mut starts = SmallVec::new();
        for at in memchr::memchr_iter(b'\n', bytes) {
            starts.push(at as u32 + 1);
        }
        let mut counts = Vec::new();
        if !source.is_ascii() {
            let mut total = 0;
            for chunk in bytes.chunks(STRIDE) {
                counts.push(total);
                total += characters(chunk);
            }
            counts.push(total);
        }
        Self { source, starts, counts }
    }

    pub(super) fn position(&self, offset: u32) -> Position {
        let line = self.starts.partition_point(|&start| start <= offset);
        let start = line.checked_sub(1).map_or(0, |before| self.starts[before]);
        let column = self.characters_before(offset) - self.characters_before(start);
        Position { line: line as u32 + 1, column: column + 1 }
    }

    /// How many characters begin before a byte.
    fn characters_before(&self, offset: u32) -> u32 {
        if self.counts.is_empty() {
            return offset;
        }
        let chunk = (offset as usize / STRIDE).min(self.counts.len() - 1);
        let rest = &self.source.as_bytes()[(chunk * STRIDE).min(self.source.len())..];
        self.counts[chunk] + characters(&rest[..(offset as usize % STRIDE).min(rest.len())])
    }
}

/// How many characters begin in these bytes.
fn characters(bytes: &[u8]) -> u32 {
    bytes.iter().filter(|&&byte| byte & 0xC0 != 0x80).count() as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::line_column;

    #[test]
    fn agrees_with_counting_from_the_start() {
        for text in ["", "a", "ab\ncd\n", &"é😀x\n".repeat(60), &"日本語 ".repeat(80)] {
            let lines = Lines::new(text);
            for (offset, _) in text.char_indices().chain([(text.len(), ' ')]) {
                let Position { line, column } = lines.position(offset as u32);
                assert_eq!((line, column), line_column(text, offset), "offset {offset} of {text:?}");
            }
        }
    }
}
