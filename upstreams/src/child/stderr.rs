//! The last output of a child on standard error.

use ptc_base::sync::Mutex;
use std::collections::VecDeque;
use std::sync::MutexGuard;

use ptc_base::visible::without_controls;

/// A bounded memory of a child's standard error, for the hints of fault messages. Older bytes fall
/// out at the front.
#[derive(Debug)]
pub(crate) struct StderrRing {
    bytes: Mutex<VecDeque<u8>>,
    capacity: usize,
}

impl StderrRing {
    /// A ring that keeps the last `capacity` bytes.
    #[must_use]
    pub(crate) fn new(capacity: usize) -> Self {
        Self { bytes: Mutex::new(VecDeque::new()), capacity }
    }

    /// Appends a chunk.
    pub(crate) fn push(&self, chunk: &[u8]) {
        let kept = &chunk[chunk.len().saturating_sub(self.capacity)..];
        let mut bytes = self.lock();
        let surplus = (bytes.len() + kept.len()).saturating_sub(self.capacity);
        bytes.drain(..surplus);
        bytes.extend(kept);
    }

    /// The last lines as text, at most `max` characters from the end; empty if nothing was said.
    /// Control characters are replaced by spaces: the text goes into messages and terminals.
    #[must_use]
    pub(crate) fn tail(&self, max: usize) -> String {
        let bytes: Vec<u8> = self.lock().iter().copied().collect();
        let text: String = without_controls(&String::from_utf8_lossy(&bytes), &['\n']).collect();
        let text = text.trim();
        let start = text.char_indices().rev().take(max).last().map_or(0, |(at, _)| at);
        text[start..].to_owned()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<u8>> {
        self.bytes.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ring_keeps_the_end() {
        let ring = StderrRing::new(8);
        ring.push(b"abcdef");
        ring.push(b"ghij\n");
        assert_eq!(ring.tail(100), "defghij");
        ring.push(&[b'x'; 100]);
        assert_eq!(ring.tail(100), "xxxxxxxx");
        assert_eq!(ring.tail(3), "xxx");
    }

    #[test]
    fn the_tail_is_fit_for_a_terminal() {
        let ring = StderrRing::new(64);
        assert_eq!(ring.tail(10), "");
        ring.push(b"\x1b[31mred\xff\n");
        assert_eq!(ring.tail(50), "[31mred\u{fffd}");
    }
}
