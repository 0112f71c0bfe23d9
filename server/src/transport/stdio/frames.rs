//! Splits a byte stream into lines of bounded length.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

/// Bytes per read.
const CHUNK: usize = 64 << 10;

/// The next item of the input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Frame<'a> {
    /// A line, without its newline and without one carriage return before it.
    Line(&'a [u8]),
    /// A line over the length limit has ended. Its bytes were dropped on arrival.
    TooLong,
    /// The input has ended. A line without newline before it is dropped.
    End,
}

/// Reads lines. [`FrameReader::next`] may be dropped at any await without losing bytes.
pub(super) struct FrameReader<R> {
    reader: R,
    max: usize,
    buffer: Vec<u8>,
    /// Bytes of `buffer` that belong to lines already handed out.
    used: usize,
    /// Bytes of `buffer` known to hold no newline, counted from `used`.
    searched: usize,
    /// Whether the current line is too long.
    skipping: bool,
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    pub(super) fn new(reader: R, max: usize) -> Self {
        FrameReader { reader, max, buffer: Vec::new(), used: 0, searched: 0, skipping: false }
    }

    /// The next complete line in the buffer, if there is one.
    pub(super) fn buffered(&mut self) -> Option<Frame<'_>> {
        let start = self.used;
        let length = self.newline()?;
        self.used += length + 1;
        self.searched = 0;
        if std::mem::take(&mut self.skipping) || length > self.max {
            return Some(Frame::TooLong);
        }
        let line = &self.buffer[start..start + length];
        Some(Frame::Line(line.strip_suffix(b"\r").unwrap_or(line)))
    }

    /// Length of the current line, if its end was read.
    fn newline(&self) -> Option<usize> {
        let unread = &self.buffer[self.used + self.searched..];
        memchr::memchr(b'\n', unread).map(|at| at + self.searched)
    }

    pub(super) async fn next(&mut self) -> io::Result<Frame<'_>> {
        loop {
            if self.newline().is_some() {
                return Ok(self.buffered().unwrap_or(Frame::End));
            }
            self.searched = self.buffer.len() - self.used;
            if self.skipping || self.searched > self.max {
                self.skipping = true;
                self.used = self.buffer.len();
                self.searched = 0;
            }
            self.make_room();
            if self.reader.read_buf(&mut self.buffer).await? == 0 {
                return Ok(Frame::End);
            }
        }
    }

    /// Drops the bytes handed out, and frees the memory of an unusually long line.
    fn make_room(&mut self) {
        if self.used == self.buffer.len() {
            self.buffer.clear();
            self.buffer.shrink_to(CHUNK);
        } else {
            self.buffer.drain(..self.used);
        }
        self.used = 0;
        self.buffer.reserve(CHUNK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn frames(input: &[u8], max: usize) -> Vec<String> {
        // One byte at a time: the split must not depend on how bytes arrive.
        let mut reader = FrameReader::new(ByteByByte(input), max);
        let mut all = Vec::new();
        loop {
            all.push(match reader.next().await.unwrap() {
                Frame::Line(line) => String::from_utf8_lossy(line).into_owned(),
                Frame::TooLong => "<too long>".into(),
                Frame::End => return all,
            });
        }
    }

    struct ByteByByte<'a>(&'a [u8]);

    impl AsyncRead for ByteByByte<'_> {
        fn poll_read(
            mut self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
            buffer: &mut tokio::io::ReadBuf<'_>,
        ) -> std::task::Poll<io::Result<()>> {
            if let Some((first, rest)) = self.0.split_first() {
                buffer.put_slice(&[*first]);
                self.0 = rest;
            }
            std::task::Poll::Ready(Ok(()))
        }
    }

    #[tokio::test]
    async fn splits_at_newlines() {
        assert_eq!(frames(b"ab\r\n\ncd\r\r\nrest", 10).await, ["ab", "", "cd\r"]);
        assert_eq!(frames(b"", 10).await, [""; 0]);
    }

    #[tokio::test]
    async fn a_line_too_long_does_not_take_the_next_one_with_it() {
        assert_eq!(
            frames(b"1234\n12345\n123456789\n\n12\n", 4).await,
            ["1234", "<too long>", "<too long>", "", "12"]
        );
        assert_eq!(frames("éééé\nok\n".as_bytes(), 4).await, ["<too long>", "ok"]);
        assert_eq!(frames(b"123456789", 4).await, [""; 0]);
    }

    #[tokio::test]
    async fn memory_of_a_long_line_is_given_back() {
        let mut input = vec![b'x'; 1 << 20];
        input.extend_from_slice(b"\nshort\n");
        let mut reader = FrameReader::new(&input[..], 2 << 20);
        assert!(matches!(reader.next().await.unwrap(), Frame::Line(line) if line.len() == 1 << 20));
        assert_eq!(reader.next().await.unwrap(), Frame::Line(b"short"));
        assert_eq!(reader.next().await.unwrap(), Frame::End);
        assert!(reader.buffer.capacity() <= 4 * CHUNK);
    }
}
