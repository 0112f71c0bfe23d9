//! Numbers, texts and places as bytes: LEB128, each number in its shortest form.

use super::DecodeError;
use super::graph_ref::{GraphRef, unzigzag, zigzag};
use crate::meter;

/// Bytes that are written in one go.
const PIECE: usize = 64 << 10;
/// Written bytes that count as one unit of work.
const BYTES_PER_UNIT: usize = 32;

/// Bytes that are being written.
#[derive(Debug, Default)]
pub struct WireWriter(Vec<u8>);

impl WireWriter {
    /// Nothing yet.
    pub fn new() -> WireWriter {
        WireWriter::default()
    }

    /// The bytes written.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// Bytes that have been written.
    #[expect(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn capacity(&self) -> usize {
        self.0.capacity()
    }

    /// One byte.
    pub fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    /// A number of 1 to 10 bytes.
    pub fn unsigned(&mut self, mut n: u64) {
        while n >= 0x80 {
            self.0.push(n as u8 | 0x80);
            n >>= 7;
        }
        self.0.push(n as u8);
    }

    /// A number with sign.
    pub fn signed(&mut self, n: i64) {
        self.unsigned(zigzag(n));
    }

    /// A length or an index.
    pub fn count(&mut self, n: usize) {
        self.unsigned(n as u64);
    }

    /// Bytes of a length that the reader knows. Many are written in pieces, between which others may have the thread.
    pub fn raw(&mut self, bytes: &[u8]) {
        if bytes.len() <= PIECE {
            return self.0.extend_from_slice(bytes);
        }
        self.0.reserve(bytes.len());
        for piece in bytes.chunks(PIECE) {
            self.0.extend_from_slice(piece);
            meter::uncharged(piece.len() / BYTES_PER_UNIT);
        }
    }

    /// Bytes after their length.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.raw(bytes);
    }

    /// A text after its length in bytes.
    pub fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// Whether there is a value, as a flag, and the value.
    pub fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(T, &mut WireWriter)) {
        self.byte(u8::from(value.is_some()));
        if let Some(value) = value {
            write(value, self);
        }
    }

    /// A value.
    pub fn place(&mut self, place: GraphRef) {
        self.unsigned(place.0);
    }
}

/// Bytes that are being read.
#[derive(Clone, Debug)]
pub struct WireReader<'a>(&'a [u8]);

impl<'a> WireReader<'a> {
    /// All of `bytes`.
    pub fn new(bytes: &'a [u8]) -> WireReader<'a> {
        WireReader(bytes)
    }

    /// Bytes that are left.
    pub fn left(&self) -> usize {
        self.0.len()
    }

    /// Nothing may be left.
    ///
    /// # Errors
    /// `part` is invalid if something is.
    pub fn finish(self, part: &'static str) -> Result<(), DecodeError> {
        if self.0.is_empty() { Ok(()) } else { Err(DecodeError::Invalid(part)) }
    }

    /// One byte.
    ///
    /// # Errors
    /// None is left.
    pub fn byte(&mut self) -> Result<u8, DecodeError> {
        let (first, rest) = self.0.split_first().ok_or(DecodeError::Invalid("length"))?;
        self.0 = rest;
        Ok(*first)
    }

    /// A byte that is 0 or 1.
    ///
    /// # Errors
    /// As [`byte`](WireReader::byte); also if it is another one.
    pub fn flag(&mut self) -> Result<bool, DecodeError> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(DecodeError::Invalid("flag")),
        }
    }

    /// A number in its shortest form.
    ///
    /// # Errors
    /// It is cut, longer than need be, or of more than 64 bits.
    pub fn unsigned(&mut self) -> Result<u64, DecodeError> {
        let mut n = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits || (byte == 0 && shift > 0) {
                break;
            }
            n |= bits << shift;
            if byte < 0x80 {
                return Ok(n);
            }
        }
        Err(DecodeError::Invalid("number"))
    }

    /// A number with sign.
    ///
    /// # Errors
    /// As [`unsigned`](WireReader::unsigned).
    pub fn signed(&mut self) -> Result<i64, DecodeError> {
        self.unsigned().map(unzigzag)
    }

    /// The number of things that come next, each of at least one byte.
    ///
    /// # Errors
    /// As [`unsigned`](WireReader::unsigned); also if there are not as many bytes left.
    pub fn count(&mut self) -> Result<usize, DecodeError> {
        let n = usize::try_from(self.unsigned()?).unwrap_or(usize::MAX);
        if n <= self.left() { Ok(n) } else { Err(DecodeError::Invalid("length")) }
    }

    /// An index below `end`.
    ///
    /// # Errors
    /// As [`unsigned`](WireReader::unsigned); `part` is invalid if it is not below `end`.
    pub fn index(&mut self, end: usize, part: &'static str) -> Result<usize, DecodeError> {
        usize::try_from(self.unsigned()?).ok().filter(|index| *index < end).ok_or(DecodeError::Invalid(part))
    }

    /// A number of 32 bits.
    ///
    /// # Errors
    /// As [`unsigned`](WireReader::unsigned); also if it has more bits.
    pub fn unsigned_32(&mut self) -> Result<u32, DecodeError> {
        u32::try_from(self.unsigned()?).map_err(|_| DecodeError::Invalid("number"))
    }

    /// So many bytes.
    ///
    /// # Errors
    /// There are not as many left.
    pub fn raw(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let (bytes, rest) = self.0.split_at_checked(count).ok_or(DecodeError::Invalid("length"))?;
        self.0 = rest;
        Ok(bytes)
    }

    /// Bytes after their length.
    ///
    /// # Errors
    /// As [`count`](WireReader::count).
    pub fn bytes(&mut self) -> Result<&'a [u8], DecodeError> {
        let count = self.count()?;
        self.raw(count)
    }

    /// A text after its length in bytes.
    ///
    /// # Errors
    /// As [`count`](WireReader::count); also if it is no UTF-8.
    pub fn text(&mut self) -> Result<&'a str, DecodeError> {
        std::str::from_utf8(self.bytes()?).map_err(|_| DecodeError::Invalid("text"))
    }

    /// A value; [`Graph`](super::Graph) says which.
    ///
    /// # Errors
    /// As [`unsigned`](WireReader::unsigned).
    pub fn place(&mut self) -> Result<GraphRef, DecodeError> {
        self.unsigned().map(GraphRef)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_written_in_pieces_with_pauses_between_them() {
        use crate::meter::{PauseAnswer, Pauses, pausing};
        use std::cell::Cell;
        thread_local! {
            static PAUSED: Cell<usize> = const { Cell::new(0) };
        }
        let counted = Pauses {
            is_due: || true,
            pause: || {
                PAUSED.set(PAUSED.get() + 1);
                PauseAnswer::GoOn
            },
        };
        let long = "é".repeat(10 * PIECE);
        let mut writer = WireWriter::new();
        pausing(counted, || writer.text(&long));
        assert!(PAUSED.get() >= 19, "{}", PAUSED.get());
        let bytes = writer.into_bytes();
        assert_eq!(WireReader::new(&bytes).text().expect("a text"), long);
    }

    #[test]
    fn numbers_come_back_and_small_ones_are_short() {
        for (n, bytes) in [(0, 1), (1, 1), (127, 1), (128, 2), (16_383, 2), (16_384, 3), (u64::MAX, 10)] {
            let mut writer = WireWriter::new();
            writer.unsigned(n);
            assert_eq!(writer.len(), bytes, "{n}");
            let bytes = writer.into_bytes();
            let mut reader = WireReader::new(&bytes);
            assert_eq!((reader.unsigned().expect("a number"), reader.left()), (n, 0));
        }
        for (n, bytes) in [(0, 1), (-1, 1), (63, 1), (-64, 1), (64, 2), (i64::MIN, 10), (i64::MAX, 10)] {
            let mut writer = WireWriter::new();
            writer.signed(n);
            assert_eq!(writer.len(), bytes, "{n}");
            assert_eq!(WireReader::new(&writer.into_bytes()).signed().expect("a number"), n);
        }
    }

    #[test]
    fn a_number_has_one_form() {
        let long = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02];
        let longer = [0x80; 11];
        for bytes in [&[0x80, 0x00][..], &[0xff, 0x80, 0x00], &long, &longer, &[0x80], &[]] {
            assert!(WireReader::new(bytes).unsigned().is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn lengths_are_held_against_what_is_left() {
        assert_eq!(WireReader::new(&[2, b'h', b'i']).text().ok(), Some("hi"));
        for bytes in [&[3, b'h', b'i'][..], &[1, 0xff], &[0xff, 0xff, 0xff, 0xff, 0x0f, b'h']] {
            assert!(WireReader::new(bytes).text().is_err(), "{bytes:?}");
        }
        assert!(WireReader::new(&[0]).finish("end").is_err());
    }
}
