//! Newline framing with a byte cap.
//!
//! An oversized line is not kept. Its head is reported when the cap is passed and its tail when its newline arrives;
//! the next frame is read normally. Memory is bounded by the cap plus one read.

use bytes::{Bytes, BytesMut};
use memchr::memchr;

use crate::id_finder::IdFinder;

/// How much of either end of an oversized line is kept, to find its request.
const KEPT: usize = 256;
/// The smallest and the largest read, in bytes. Reads grow while they fill up, up to the capacity of a pipe, so that an idle
/// connection costs little.
const MIN_READ: usize = 8 * 1024;
const MAX_READ: usize = 64 * 1024;
/// Room that a buffer may keep from one line to the next, in bytes.
const MAX_ROOM: usize = 4 * MAX_READ;

/// One thing found in the stream.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame {
    /// A whole line without its newline (and without a carriage return before it).
    Line(Bytes),
    /// The line being read has just passed the cap; this is how it begins.
    Overflow {
        /// The first bytes of the line.
        head: Bytes,
    },
    /// The newline of the line that had passed the cap.
    OverflowEnd {
        /// The last bytes of the line.
        tail: Bytes,
        /// The length of the whole line in bytes.
        bytes: u64,
        /// The `id` of the message on the line as JSON text, wherever it stood, if there was one.
        id: Option<Bytes>,
    },
}

/// Splits a byte stream into lines.
#[derive(Debug)]
pub struct LineBuffer {
    buffer: BytesMut,
    /// Bytes at the front of `buffer` known to hold no newline.
    scanned: usize,
    /// While an oversized line is being dropped: how many of its bytes are gone already.
    dropped: Option<u64>,
    /// Finds the id in a dropped line.
    finder: IdFinder,
    read: usize,
}

impl Default for LineBuffer {
    fn default() -> Self {
        Self {
            buffer: BytesMut::new(),
            scanned: 0,
            dropped: None,
            finder: IdFinder::default(),
            read: MIN_READ,
        }
    }
}

impl LineBuffer {
    /// The buffer to read into: it has room for at least one read. The memory of an unusually long line that has ended is
    /// given back.
    pub fn space(&mut self) -> &mut BytesMut {
        if self.buffer.capacity() > MAX_ROOM && self.buffer.len() <= MAX_READ {
            self.buffer = BytesMut::from(&self.buffer[..]);
        }
        self.buffer.reserve(self.read);
        &mut self.buffer
    }

    /// Notes that a read brought `n` bytes, to size the next one.
    pub fn filled(&mut self, n: usize) {
        if n >= self.read {
            self.read = (self.read * 2).min(MAX_READ);
        }
    }

    /// Appends bytes that were read elsewhere.
    pub fn extend(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next frame, if a whole one (or an event of an oversized one) is there. `cap` is the
    /// longest line in bytes, newline not counted.
    pub fn next(&mut self, cap: usize) -> Option<Frame> {
        let newline = memchr(b'\n', &self.buffer[self.scanned..]).map(|at| self.scanned + at);
        if let Some(gone) = self.dropped {
            return self.drop_more(gone, newline);
        }
        let length = newline.unwrap_or(self.buffer.len());
        if length > cap {
            self.dropped = Some(0);
            self.scanned = length;
            self.finder.feed(&self.buffer[..length]);
            return Some(Frame::Overflow { head: Bytes::copy_from_slice(&self.buffer[..KEPT.min(length)]) });
        }
        let Some(newline) = newline else {
            self.scanned = self.buffer.len();
            return None;
        };
        self.scanned = 0;
        let mut line = self.buffer.split_to(newline + 1).freeze();
        line.truncate(newline);
        if line.last() == Some(&b'\r') {
            line.truncate(newline - 1);
        }
        Some(Frame::Line(line))
    }

    /// Bytes that no frame has taken: when [`Self::next`] has nothing more to give, those of the line that has not ended yet.
    pub fn unread(&self) -> usize {
        self.buffer.len()
    }

    /// The line that has not ended yet, unless it has passed the cap.
    pub fn unended(&self) -> &[u8] {
        if self.dropped.is_some() { &[] } else { &self.buffer }
    }

    /// Takes the unfinished line as a finished one: the next bytes begin another.
    pub fn end_line(&mut self) -> Bytes {
        self.scanned = 0;
        self.buffer.split().freeze()
    }

    /// Drops the line that has not ended yet, as if it had passed the cap; yields how it begins.
    pub fn give_up(&mut self) -> Bytes {
        let head = Bytes::copy_from_slice(&self.buffer[..KEPT.min(self.buffer.len())]);
        let begun = if self.dropped.is_some() { self.scanned } else { 0 };
        self.finder.feed(&self.buffer[begun..]);
        let surplus = self.buffer.len().saturating_sub(KEPT);
        // A copy, so that the room of what is dropped is free at once.
        self.buffer = BytesMut::from(&self.buffer[surplus..]);
        self.scanned = self.buffer.len();
        self.dropped = Some(self.dropped.unwrap_or_default() + surplus as u64);
        head
    }

    fn drop_more(&mut self, gone: u64, newline: Option<usize>) -> Option<Frame> {
        self.finder.feed(&self.buffer[self.scanned..newline.unwrap_or(self.buffer.len())]);
        let Some(newline) = newline else {
            let surplus = self.buffer.len().saturating_sub(KEPT);
            let _ = self.buffer.split_to(surplus);
            self.scanned = self.buffer.len();
            self.dropped = Some(gone + surplus as u64);
            return None;
        };
        let line = self.buffer.split_to(newline + 1);
        self.scanned = 0;
        self.dropped = None;
        Some(Frame::OverflowEnd {
            tail: Bytes::copy_from_slice(&line[newline.saturating_sub(KEPT)..newline]),
            bytes: gone + newline as u64,
            id: std::mem::take(&mut self.finder).found(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frames(chunks: &[&[u8]], cap: usize) -> Vec<Frame> {
        let mut buffer = LineBuffer::default();
        let mut out = Vec::new();
        for chunk in chunks {
            buffer.extend(chunk);
            while let Some(frame) = buffer.next(cap) {
                out.push(frame);
            }
        }
        out
    }

    fn line(text: &'static str) -> Frame {
        Frame::Line(Bytes::from_static(text.as_bytes()))
    }

    #[test]
    fn lines_end_at_newlines_wherever_reads_are_cut() {
        assert_eq!(frames(&[b"a\r\n\nbc", b"d", b"\ne"], 10), [line("a"), line(""), line("bcd")]);
    }

    #[test]
    fn a_line_at_the_cap_passes_and_one_byte_more_does_not() {
        assert_eq!(frames(&[b"12345\nx\n"], 5), [line("12345"), line("x")]);
        let over = frames(&[b"123456\nx\n"], 5);
        assert_eq!(over[0], Frame::Overflow { head: Bytes::from_static(b"123456") });
        assert_eq!(over[1], Frame::OverflowEnd { tail: Bytes::from_static(b"123456"), bytes: 6, id: None });
        assert_eq!(over[2], line("x"));
    }

    #[test]
    fn an_oversized_line_is_dropped_in_bounded_memory() {
        let mut buffer = LineBuffer::default();
        let mut seen = Vec::new();
        for _ in 0..1000 {
            buffer.extend(&[b'a'; 4096]);
            seen.extend(std::iter::from_fn(|| buffer.next(10_000)));
            assert!(buffer.buffer.len() <= 10_000 + 4096);
        }
        buffer.extend(b"tail\nnext\n");
        seen.extend(std::iter::from_fn(|| buffer.next(10_000)));
        assert!(matches!(&seen[0], Frame::Overflow { head } if head.len() == KEPT));
        assert!(
            matches!(&seen[1], Frame::OverflowEnd { tail, bytes: 4_096_004, .. } if tail.ends_with(b"tail"))
        );
        assert_eq!(seen[2..], [line("next")]);
    }

    #[test]
    fn memory_of_a_long_line_is_given_back() {
        let mut buffer = LineBuffer::default();
        for chunk in [&[b'x'; 1 << 20][..], b"\nsho"] {
            buffer.space();
            buffer.extend(chunk);
        }
        assert!(matches!(buffer.next(2 << 20), Some(Frame::Line(line)) if line.len() == 1 << 20));
        assert_eq!(buffer.next(2 << 20), None);
        assert!(buffer.space().capacity() <= MAX_ROOM);
        buffer.extend(b"rt\n");
        assert_eq!(buffer.next(2 << 20), Some(line("short")));
    }

    #[test]
    fn a_line_that_is_given_up_ends_like_an_oversized_one() {
        let mut buffer = LineBuffer::default();
        buffer.extend(b"first\n");
        buffer.extend(&[b'a'; 5000]);
        assert_eq!(buffer.next(10_000), Some(line("first")));
        assert_eq!((buffer.next(10_000), buffer.unread()), (None, 5000));
        assert_eq!(buffer.give_up(), [b'a'; KEPT][..]);
        assert_eq!((buffer.next(10_000), buffer.unread()), (None, KEPT));
        buffer.extend(b"tail\nnext\n");
        let Some(Frame::OverflowEnd { tail, bytes: 5004, .. }) = buffer.next(10_000) else {
            panic!("no end")
        };
        assert!(tail.ends_with(b"aatail"));
        assert_eq!((buffer.next(10_000), buffer.next(10_000)), (Some(line("next")), None));
    }

    #[test]
    fn the_id_of_an_oversized_line_is_found_and_the_next_line_has_its_own() {
        let long = "x".repeat(600);
        let text = format!("{{\"a\":\"{long}\",\"id\":7}}\n{{\"a\":\"{long}\"}}\n");
        for size in [1, 7, 100, 5000] {
            let chunks: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            let ids: Vec<_> = frames(&chunks, 100)
                .into_iter()
                .filter_map(|frame| if let Frame::OverflowEnd { id, .. } = frame { Some(id) } else { None })
                .collect();
            assert_eq!(ids, [Some(Bytes::from_static(b"7")), None], "{size}");
        }
    }

    proptest! {
        #[test]
        fn framing_does_not_depend_on_how_reads_are_cut(
            text in "[ab\n]{0,60}",
            cuts in proptest::collection::vec(1usize..7, 0..40),
            cap in 1usize..12,
        ) {
            let whole = frames(&[text.as_bytes()], cap);
            let mut rest = text.as_bytes();
            let mut chunks = Vec::new();
            for cut in cuts {
                let (now, later) = rest.split_at(cut.min(rest.len()));
                chunks.push(now);
                rest = later;
            }
            chunks.push(rest);
            let lines = |frames: Vec<Frame>| -> Vec<Frame> {
                // The head of an oversized line is as long as what had arrived.
                frames.into_iter().filter(|f| !matches!(f, Frame::Overflow { .. })).collect()
            };
            prop_assert_eq!(lines(frames(&chunks, cap)), lines(whole));
        }
    }
}
