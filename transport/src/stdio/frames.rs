//! Reads lines of bounded length from a pipe.

use bytes::Bytes;
use ptc_mcp::lines::{self, LineBuffer};
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt};

/// The next item of the input.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame {
    /// A line, without its newline and without one carriage return before it.
    Line(Bytes),
    /// A line beyond the limit. Its bytes were dropped as they arrived, except for the `id` of its message.
    TooLong(Option<Bytes>),
    /// The input has ended. A line without newline before it is dropped.
    End,
}

/// Reads lines. [`FrameReader::next`] may be dropped at any await without losing bytes.
pub struct FrameReader<R> {
    reader: R,
    max: usize,
    lines: LineBuffer,
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    /// Frames of `reader`, of at most `max` bytes each.
    pub fn new(reader: R, max: usize) -> Self {
        FrameReader { reader, max, lines: LineBuffer::default() }
    }

    /// The next complete line that is buffered already.
    pub(super) fn buffered(&mut self) -> Option<Frame> {
        loop {
            match self.lines.next(self.max)? {
                lines::Frame::Line(line) => return Some(Frame::Line(line)),
                lines::Frame::OverflowEnd { id, .. } => return Some(Frame::TooLong(id)),
                // The client is answered when the line has ended.
                lines::Frame::Overflow { .. } => {}
            }
        }
    }

    /// The next frame.
    ///
    /// # Errors
    /// Those of the reader.
    pub async fn next(&mut self) -> io::Result<Frame> {
        loop {
            if let Some(frame) = self.buffered() {
                return Ok(frame);
            }
            match self.reader.read_buf(self.lines.space()).await? {
                0 => return Ok(Frame::End),
                n => self.lines.filled(n),
            }
        }
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
                Frame::Line(line) => String::from_utf8_lossy(&line).into_owned(),
                Frame::TooLong(_) => "<too long>".into(),
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
}
