//! Parses the heads of the frames of an HTTP/2 connection (RFC 9113, 4.1).

/// The connection preface of HTTP/2 clients (RFC 9113, 3.4).
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Bytes of the head of a frame.
const HEAD_BYTES: usize = 9;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
/// The flag of a padded frame.
const PADDED: u8 = 8;

/// The head of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameHead {
    /// Length of the payload.
    pub(super) length: usize,
    kind: u8,
    flags: u8,
}

impl FrameHead {
    fn read(head: &[u8; HEAD_BYTES]) -> FrameHead {
        let length = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
        FrameHead { length, kind: head[3], flags: head[4] }
    }

    /// True if it begins a request or an answer.
    pub(super) fn is_headers(self) -> bool {
        self.kind == HEADERS
    }

    /// True if it has a part of a body.
    pub(super) fn is_data(self) -> bool {
        self.kind == DATA
    }

    /// True if some of its bytes may be padding.
    pub(super) fn is_padded(self) -> bool {
        self.flags & PADDED != 0
    }
}

/// A parser of one direction of a connection, which arrives in pieces of any size.
#[derive(Debug)]
pub(super) struct Frames {
    /// The head that is being read.
    head: [u8; HEAD_BYTES],
    /// Bytes of the head that have arrived.
    have: usize,
    /// Bytes of the payload that have not arrived.
    left: usize,
}

impl Frames {
    /// A parser at the beginning of a frame.
    pub(super) fn new() -> Frames {
        Frames { head: [0; HEAD_BYTES], have: 0, left: 0 }
    }

    /// True at the boundary between two frames.
    pub(super) fn is_between(&self) -> bool {
        self.have == 0 && self.left == 0
    }

    /// Parses `bytes`, and passes each frame whose head ends in them to `each`.
    pub(super) fn walk(&mut self, mut bytes: &[u8], mut each: impl FnMut(FrameHead)) {
        while !bytes.is_empty() {
            let skipped = self.left.min(bytes.len());
            self.left -= skipped;
            bytes = &bytes[skipped..];
            let taken = (HEAD_BYTES - self.have).min(bytes.len());
            self.head[self.have..self.have + taken].copy_from_slice(&bytes[..taken]);
            self.have += taken;
            bytes = &bytes[taken..];
            if self.have == HEAD_BYTES {
                let frame = FrameHead::read(&self.head);
                (self.have, self.left) = (0, frame.length);
                each(frame);
            }
        }
    }
}

/// Detects the protocol of a client by its first bytes.
#[derive(Debug, Default)]
pub(super) struct Preface {
    seen: usize,
}

impl Preface {
    /// Reads more bytes: `None` while both protocols are possible, then whether it is HTTP/2, and the bytes after the
    /// preface.
    pub(super) fn read<'b>(&mut self, bytes: &'b [u8]) -> Option<(bool, &'b [u8])> {
        let expected = &PREFACE[self.seen..];
        let compared = expected.len().min(bytes.len());
        if bytes[..compared] != expected[..compared] {
            return Some((false, bytes));
        }
        self.seen += compared;
        (self.seen == PREFACE.len()).then(|| (true, &bytes[compared..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0, 0, payload.len() as u8, kind, flags, 0, 0, 0, 1];
        bytes.extend_from_slice(payload);
        bytes
    }

    #[test]
    fn frames_are_found_wherever_the_pieces_end() {
        let bytes =
            [frame(HEADERS, 0, b"abc"), frame(4, 0, b""), frame(DATA, PADDED, &[7; 200]), frame(6, 0, b"")]
                .concat();
        for size in 1..bytes.len() {
            let (mut frames, mut found) = (Frames::new(), Vec::new());
            for piece in bytes.chunks(size) {
                frames.walk(piece, |frame| found.push((frame.kind, frame.length, frame.is_padded())));
            }
            assert_eq!(found, [(1, 3, false), (4, 0, false), (0, 200, true), (6, 0, false)], "{size}");
            assert!(frames.is_between());
        }
        let mut frames = Frames::new();
        frames.walk(&bytes[..10], |_| {});
        assert!(!frames.is_between(), "in the middle of what it has");
        let mut frames = Frames::new();
        frames.walk(&bytes[..5], |_| panic!("no head has ended"));
        assert!(!frames.is_between());
    }

    #[test]
    fn the_first_bytes_tell_the_protocol() {
        let mut preface = Preface::default();
        for byte in &PREFACE[..23] {
            assert_eq!(preface.read(&[*byte]), None);
        }
        assert_eq!(preface.read(b"\nrest"), Some((true, &b"rest"[..])));
        assert_eq!(Preface::default().read(b"POST / HTTP/1.1"), Some((false, &b"POST / HTTP/1.1"[..])));
        let mut preface = Preface::default();
        assert_eq!(preface.read(b"PRI * "), None);
        assert_eq!(preface.read(b"HTTP/1"), Some((false, &b"HTTP/1"[..])), "which is no request of ours");
    }
}
