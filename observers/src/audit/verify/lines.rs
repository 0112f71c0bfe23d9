//! The lines of a file, one at a time in bounded memory.

use std::io::{self, BufRead};

use super::super::chain::MAX_LINE;

/// What comes next in a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NextLine {
    /// A line, without its line feed.
    Line(Vec<u8>),
    /// The rest of the file, which has no line feed.
    Part(Vec<u8>),
    /// A line, or a rest, that is longer than any of a log, in bytes.
    TooLong(u64),
    /// Nothing.
    End,
}

/// Reads lines.
pub(super) struct Lines<R> {
    reader: R,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        Lines { reader }
    }

    /// The next line.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(super) fn next(&mut self) -> io::Result<NextLine> {
        let (mut line, mut bytes) = (Vec::new(), 0_u64);
        loop {
            let found = match self.reader.fill_buf() {
                Ok(found) => found,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let end = found.iter().position(|byte| *byte == b'\n');
            let part = &found[..end.unwrap_or(found.len())];
            bytes += part.len() as u64;
            if bytes <= MAX_LINE as u64 {
                line.extend_from_slice(part);
            }
            let (is_end, used) = (found.is_empty(), part.len() + usize::from(end.is_some()));
            self.reader.consume(used);
            if end.is_none() && !is_end {
                continue;
            }
            return Ok(match (bytes, is_end) {
                (0, true) => NextLine::End,
                (bytes, _) if bytes > MAX_LINE as u64 => NextLine::TooLong(bytes),
                (_, true) => NextLine::Part(line),
                (_, false) => NextLine::Line(line),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_whole_and_long_ones_are_counted() {
        let long = "x".repeat(MAX_LINE + 1);
        let text = format!("a\n\n{long}\nb");
        let mut lines = Lines::new(io::BufReader::with_capacity(7, text.as_bytes()));
        let mut next = || lines.next().unwrap();
        assert_eq!((next(), next()), (NextLine::Line(b"a".to_vec()), NextLine::Line(Vec::new())));
        assert_eq!(next(), NextLine::TooLong(long.len() as u64));
        assert_eq!((next(), next()), (NextLine::Part(b"b".to_vec()), NextLine::End));
    }
}
