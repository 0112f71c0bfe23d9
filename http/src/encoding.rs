//! Bodies that a server compresses although the client did not ask for it: gzip, deflate, zstd. They are decoded piece by
//! piece, so that the cap applies to the decoded body, and is checked before more is decoded.

use std::io::{self, Read as _, Write};

use bytes::{Buf as _, Bytes, BytesMut};
use flate2::write::{DeflateDecoder, GzDecoder, ZlibDecoder};
use http::HeaderMap;
use http::header::CONTENT_ENCODING;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::HttpError;
use ptc_base::pace::{PIECE, STEP};

/// Input that may become nothing, in bytes. Beyond it, two bytes of input may bring one.
const MAX_SURPLUS: u64 = 1 << 20;
/// Members of gzip, or frames of zstd, that may follow each other without anything in them.
const MAX_EMPTY_MEMBERS: u32 = 64;
/// The largest window of a frame of zstd, as RFC 9659 bounds it for content codings.
const MAX_WINDOW: u64 = 8 << 20;

/// The decoder of one body.
pub(super) struct Decoder {
    coding: Coding,
    name: &'static str,
    /// Input that is not decoded yet.
    input: BytesMut,
    /// Whether anything has come: an empty body is one in every coding.
    begun: bool,
}

enum Coding {
    Gzip(Box<Gzip>),
    /// `deflate` names the format of zlib; some servers send it without its frame.
    Deflate(Option<Deflate>),
    Zstd(Box<Zstd>),
}

enum Deflate {
    Framed(Box<ZlibDecoder<Vec<u8>>>),
    Raw(Box<DeflateDecoder<Vec<u8>>>),
}

/// The result of decoding a part of the input.
pub(super) enum DecodeStep {
    /// A further piece of the body.
    Decoded(Bytes),
    /// Nothing came of as much input.
    Nothing {
        /// In bytes.
        taken: usize,
    },
    /// Everything that has come is decoded.
    Drained,
}

impl Decoder {
    /// The decoder that the headers of an answer require; `None` for a body without an encoding.
    ///
    /// # Errors
    /// A coding that is not known here, or several.
    pub(super) fn of(headers: &HeaderMap) -> Result<Option<Self>, HttpError> {
        let mut named = headers.get_all(CONTENT_ENCODING).iter();
        let Some(value) = named.next() else { return Ok(None) };
        let text = String::from_utf8_lossy(value.as_bytes()).trim().to_ascii_lowercase();
        let (coding, name) = match text.as_str() {
            "" | "identity" if named.next().is_none() => return Ok(None),
            "gzip" | "x-gzip" if named.next().is_none() => (Coding::Gzip(Box::default()), "gzip"),
            "deflate" if named.next().is_none() => (Coding::Deflate(None), "deflate"),
            "zstd" if named.next().is_none() => (Coding::Zstd(Box::default()), "zstd"),
            _ => {
                let text = format!("content-encoding {text:.40} although identity was asked for");
                return Err(HttpError::Malformed(text));
            }
        };
        Ok(Some(Self { coding, name, input: BytesMut::new(), begun: false }))
    }

    /// Takes further input. All previous input must have been decoded.
    pub(super) fn feed(&mut self, bytes: &Bytes) {
        self.begun |= !bytes.is_empty();
        self.input.extend_from_slice(bytes);
    }

    /// The most input, in bytes, of a body that has become `decoded` bytes so far.
    pub(super) fn most_input(&self, decoded: u64) -> u64 {
        // Frames of zstd may keep as much as their window.
        let kept = if matches!(self.coding, Coding::Zstd(_)) { MAX_WINDOW } else { 0 };
        decoded.saturating_mul(2).saturating_add(MAX_SURPLUS + kept)
    }

    /// The fault of a body that has more input than that.
    pub(super) fn too_much_for_nothing(&self) -> HttpError {
        HttpError::Malformed(format!("{}: more than {MAX_SURPLUS} bytes of it became nothing", self.name))
    }

    /// Decodes at most [`STEP`] bytes, or one block.
    pub(super) fn piece(&mut self) -> Result<DecodeStep, HttpError> {
        let before = self.input.len();
        let piece = match &mut self.coding {
            Coding::Gzip(gzip) => written(&mut self.input, &mut **gzip),
            Coding::Deflate(known) => {
                if known.is_none() {
                    let Some(first) = self.input.first_chunk::<2>() else { return Ok(DecodeStep::Drained) };
                    let framed = first[0] & 0x0f == 8 && u16::from_be_bytes(*first) % 31 == 0;
                    *known = Some(match framed {
                        true => Deflate::Framed(Box::new(ZlibDecoder::new(Vec::new()))),
                        false => Deflate::Raw(Box::new(DeflateDecoder::new(Vec::new()))),
                    });
                }
                match known {
                    Some(Deflate::Framed(zlib)) => written(&mut self.input, &mut **zlib),
                    Some(Deflate::Raw(raw)) => written(&mut self.input, &mut **raw),
                    None => Ok(Vec::new()),
                }
            }
            Coding::Zstd(zstd) => zstd.piece(&mut self.input),
        };
        let piece = piece.map_err(|error| self.malformed(&error))?;
        Ok(match before - self.input.len() {
            _ if !piece.is_empty() => DecodeStep::Decoded(piece.into()),
            0 => DecodeStep::Drained,
            taken => DecodeStep::Nothing { taken },
        })
    }

    /// The last piece, after all has come.
    ///
    /// # Errors
    /// The body ends too early.
    pub(super) fn end(&mut self) -> Result<Option<Bytes>, HttpError> {
        if !self.begun {
            return Ok(None);
        }
        let rest = match &mut self.coding {
            Coding::Gzip(gzip) => gzip.member.try_finish().map(|()| gzip.take()),
            Coding::Deflate(Some(Deflate::Framed(zlib))) => zlib.try_finish().map(|()| zlib.take()),
            Coding::Deflate(Some(Deflate::Raw(raw))) => raw.try_finish().map(|()| raw.take()),
            Coding::Zstd(zstd) if zstd.frame.is_none() && self.input.is_empty() => Ok(Vec::new()),
            Coding::Deflate(None) | Coding::Zstd(_) => Err(io::ErrorKind::UnexpectedEof.into()),
        };
        let rest = rest.map_err(|error| self.malformed(&error))?;
        Ok((!rest.is_empty()).then(|| rest.into()))
    }

    fn malformed(&self, error: &io::Error) -> HttpError {
        HttpError::Malformed(format!("{}: {error}", self.name))
    }
}

/// A decoder that keeps its output.
trait Keeping: Write {
    fn take(&mut self) -> Vec<u8>;
}

impl Keeping for ZlibDecoder<Vec<u8>> {
    fn take(&mut self) -> Vec<u8> {
        std::mem::take(self.get_mut())
    }
}

impl Keeping for DeflateDecoder<Vec<u8>> {
    fn take(&mut self) -> Vec<u8> {
        std::mem::take(self.get_mut())
    }
}

/// Writes a step of input to a decoder, and yields its output.
fn written(input: &mut BytesMut, decoder: &mut impl Keeping) -> io::Result<Vec<u8>> {
    if !input.is_empty() {
        let taken = decoder.write(&input[..input.len().min(STEP)])?;
        if taken == 0 {
            return Err(invalid("there is more behind its end"));
        }
        input.advance(taken);
    }
    if input.is_empty() {
        // What is decoded and kept back: an event stream's reader waits for it.
        decoder.flush()?;
    }
    Ok(decoder.take())
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Counts consecutive empty members.
#[derive(Default)]
struct EmptyMembers {
    empty: u32,
    /// Whether anything has come of the present one.
    is_empty: bool,
}

impl EmptyMembers {
    fn begin(&mut self) {
        self.is_empty = true;
    }

    fn note(&mut self, decoded: &[u8]) {
        self.is_empty &= decoded.is_empty();
    }

    fn end(&mut self) -> io::Result<()> {
        self.empty = if self.is_empty { self.empty + 1 } else { 0 };
        match self.empty {
            0..=MAX_EMPTY_MEMBERS => Ok(()),
            _ => Err(invalid(&format!("more than {MAX_EMPTY_MEMBERS} empty members in a row"))),
        }
    }
}

/// Members of gzip, one after the other.
struct Gzip {
    member: GzDecoder<Vec<u8>>,
    members: EmptyMembers,
}

impl Default for Gzip {
    fn default() -> Self {
        let mut members = EmptyMembers::default();
        members.begin();
        Self { member: GzDecoder::new(Vec::new()), members }
    }
}

impl Write for Gzip {
    fn write(&mut self, input: &[u8]) -> io::Result<usize> {
        let taken = self.member.write(input)?;
        if taken > 0 || input.is_empty() {
            return Ok(taken);
        }
        // The member has ended, and there is more.
        self.member.try_finish()?;
        let decoded = std::mem::take(self.member.get_mut());
        self.members.note(&decoded);
        self.members.end()?;
        self.members.begin();
        self.member = GzDecoder::new(decoded);
        self.member.write(input)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.member.flush()
    }
}

impl Keeping for Gzip {
    fn take(&mut self) -> Vec<u8> {
        let decoded = std::mem::take(self.member.get_mut());
        self.members.note(&decoded);
        decoded
    }
}

/// Frames of zstd, of which one block is decoded at a time: a block has at most 128 KiB, for any content.
#[derive(Default)]
struct Zstd {
    decoder: FrameDecoder,
    /// Whether the frame under way ends with a checksum.
    frame: Option<bool>,
    /// Whether a frame has ended and is not counted yet.
    has_ended: bool,
    members: EmptyMembers,
}

impl Zstd {
    /// A piece of the output, else a further block, or the head of a frame.
    fn piece(&mut self, input: &mut BytesMut) -> io::Result<Vec<u8>> {
        let broken = |error: &dyn std::fmt::Display| invalid(&error.to_string());
        let ready = self.ready()?;
        if !ready.is_empty() {
            return Ok(ready);
        }
        let Some(has_checksum) = self.frame else {
            if self.has_ended {
                self.members.end()?;
                self.has_ended = false;
            }
            let Some(header) = FrameHeader::read(input)? else { return Ok(Vec::new()) };
            self.members.begin();
            self.decoder.reset(&input[..header.bytes]).map_err(|error| broken(&error))?;
            input.advance(header.bytes);
            self.frame = Some(header.has_checksum);
            return Ok(Vec::new());
        };
        let Some(head) = input.first_chunk::<3>() else { return Ok(Vec::new()) };
        let head = u32::from_le_bytes([head[0], head[1], head[2], 0]);
        let (is_last, is_run, size) = (head & 1 == 1, (head >> 1) & 3 == 1, (head >> 3) as usize);
        let checksum = if is_last && has_checksum { 4 } else { 0 };
        let block = 3 + if is_run { 1 } else { size } + checksum;
        if size > 128 << 10 {
            return Err(broken(&"a block of more than 128 KiB"));
        }
        if input.len() < block {
            return Ok(Vec::new());
        }
        let one = BlockDecodingStrategy::UptoBlocks(1);
        self.decoder.decode_blocks(&input[..block], one).map_err(|error| broken(&error))?;
        input.advance(block);
        if is_last {
            (self.frame, self.has_ended) = (None, true);
        }
        self.ready()
    }

    /// At most [`PIECE`] bytes that the window does not need.
    fn ready(&mut self) -> io::Result<Vec<u8>> {
        let mut ready = vec![0; self.decoder.can_collect().min(PIECE)];
        self.decoder.read_exact(&mut ready)?;
        self.members.note(&ready);
        Ok(ready)
    }
}

/// The beginning of a frame (RFC 8878, 3.1.1.1).
struct FrameHeader {
    bytes: usize,
    has_checksum: bool,
}

impl FrameHeader {
    /// `None` if more has to come.
    fn read(input: &[u8]) -> io::Result<Option<Self>> {
        let Some(&[m0, m1, m2, m3, descriptor]) = input.first_chunk::<5>() else { return Ok(None) };
        if u32::from_le_bytes([m0, m1, m2, m3]) != 0xFD2F_B528 {
            return Err(invalid("no frame"));
        }
        let is_single = descriptor & 0x20 != 0;
        let window = usize::from(!is_single);
        let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
        let size = [usize::from(is_single), 2, 4, 8][usize::from(descriptor >> 6)];
        let bytes = 5 + window + dictionary + size;
        let Some(rest) = input.get(5..bytes) else { return Ok(None) };
        let needed = if is_single {
            let mut content = [0; 8];
            content[..size].copy_from_slice(&rest[dictionary..]);
            u64::from_le_bytes(content) + if size == 2 { 256 } else { 0 }
        } else {
            let base = 1u64 << (10 + (rest[0] >> 3));
            base + base / 8 * u64::from(rest[0] & 7)
        };
        if needed > MAX_WINDOW {
            return Err(invalid("a window of more than 8 MiB"));
        }
        Ok(Some(Self { bytes, has_checksum: descriptor & 4 != 0 }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use http::HeaderValue;
    use proptest::prelude::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    fn decoder(coding: &'static str) -> Decoder {
        let headers = HeaderMap::from_iter([(CONTENT_ENCODING, HeaderValue::from_static(coding))]);
        Decoder::of(&headers).unwrap().unwrap()
    }

    /// All codings of a text, each with its name.
    fn encoded(text: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
        let mut raw = DeflateEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(text).unwrap();
        zlib.write_all(text).unwrap();
        raw.write_all(text).unwrap();
        vec![
            ("gzip", gzip.finish().unwrap()),
            ("deflate", zlib.finish().unwrap()),
            ("deflate", raw.finish().unwrap()),
            ("zstd", compress_to_vec(text, CompressionLevel::Fastest)),
            ("zstd", compress_to_vec(text, CompressionLevel::Uncompressed)),
        ]
    }

    /// The whole text, and the longest piece.
    fn decode(coding: &'static str, chunks: &[&[u8]]) -> Result<(Vec<u8>, usize), HttpError> {
        let mut decoder = decoder(coding);
        let (mut all, mut longest) = (Vec::new(), 0);
        for chunk in chunks {
            decoder.feed(&Bytes::copy_from_slice(chunk));
            loop {
                let before = decoder.input.len();
                match decoder.piece()? {
                    DecodeStep::Decoded(piece) => {
                        longest = longest.max(piece.len());
                        all.extend_from_slice(&piece);
                    }
                    DecodeStep::Nothing { taken } => {
                        assert!(taken > 0 && taken == before - decoder.input.len())
                    }
                    DecodeStep::Drained => break,
                }
                let taken = before - decoder.input.len();
                assert!(taken <= STEP.max((128 << 10) + 7), "{coding}: {taken} bytes at once");
            }
        }
        if let Some(piece) = decoder.end()? {
            longest = longest.max(piece.len());
            all.extend_from_slice(&piece);
        }
        Ok((all, longest))
    }

    #[test]
    fn much_comes_in_pieces_out_of_little() {
        let text = vec![b'0'; 20 << 20];
        for (coding, bytes) in encoded(&text).into_iter().take(4) {
            assert!(bytes.len() < 64 << 10, "{coding}");
            let (all, longest) = decode(coding, &[&bytes]).unwrap();
            assert!(all == text, "{coding}");
            assert!(longest <= PIECE, "{coding}: {longest}");
        }
    }

    #[test]
    fn a_body_that_ends_early_or_is_damaged_is_an_error() {
        let text: Vec<u8> = (0..5000u32).flat_map(u32::to_le_bytes).collect();
        for (coding, bytes) in encoded(&text) {
            if coding == "gzip" || coding == "zstd" {
                assert!(decode(coding, &[&bytes[..bytes.len() - 5]]).is_err(), "{coding}");
            }
            let mut longer = bytes.clone();
            longer.extend_from_slice(b"more");
            assert!(decode(coding, &[&longer]).map_or(true, |(all, _)| all == text), "{coding}");
            assert_eq!(decode(coding, &[]).unwrap().0, b"", "{coding}: nothing is an empty body");
        }
        // A window of 4 GiB in a frame of a few bytes.
        let frame = [0x28, 0xB5, 0x2F, 0xFD, 0x00, 22 << 3, 0x01, 0x00, 0x00];
        let error = decode("zstd", &[&frame]).unwrap_err().to_string();
        assert_eq!(error, "malformed HTTP response: zstd: a window of more than 8 MiB");
    }

    #[test]
    fn members_without_anything_in_them_may_follow_each_other_so_often() {
        for (coding, text) in [("gzip", "a"), ("zstd", "b")] {
            let of = |text: &[u8]| encoded(text).into_iter().find(|(name, _)| *name == coding).unwrap().1;
            let (empty, full) = (of(b""), of(text.as_bytes()));
            let most = empty.repeat(MAX_EMPTY_MEMBERS as usize);
            let whole = [&*most, &*full, &*most, &*full].concat();
            assert_eq!(decode(coding, &[&whole]).unwrap().0, text.repeat(2).into_bytes(), "{coding}");
            let error = decode(coding, &[&*most, &*empty, &*full]).unwrap_err().to_string();
            let expected = format!("malformed HTTP response: {coding}: more than 64 empty members in a row");
            assert_eq!(error, expected);
        }
    }

    #[test]
    fn empty_blocks_are_decoded_step_by_step() {
        // Stored blocks without content, and blocks of zstd alike.
        let raw = [0, 0, 0, 0xff, 0xff].repeat(20_000);
        let head = [0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x00];
        let zstd = [&head[..], &[0, 0, 0].repeat(20_000)].concat();
        for (coding, input) in [("deflate", raw), ("zstd", zstd)] {
            let mut decoder = decoder(coding);
            decoder.feed(&Bytes::from(input.clone()));
            let mut steps = 0;
            while let DecodeStep::Nothing { taken } = decoder.piece().unwrap() {
                assert!(taken <= STEP, "{coding}: {taken}");
                steps += 1;
            }
            assert!(steps >= input.len() / STEP && decoder.input.is_empty(), "{coding}: {steps}");
        }
    }

    #[test]
    fn two_bytes_of_input_bring_one_beyond_a_megabyte() {
        let gzip = decoder("gzip");
        assert_eq!((gzip.most_input(0), gzip.most_input(5)), (1 << 20, (1 << 20) + 10));
        assert_eq!(decoder("zstd").most_input(0), (1 << 20) + MAX_WINDOW);
    }

    #[test]
    fn other_codings_are_refused() {
        for value in ["br", "gzip, gzip", "x"] {
            let headers = HeaderMap::from_iter([(CONTENT_ENCODING, HeaderValue::from_static(value))]);
            assert!(Decoder::of(&headers).is_err(), "{value}");
        }
        let mut twice = HeaderMap::new();
        twice.append(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        twice.append(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        assert!(Decoder::of(&twice).is_err());
    }

    proptest! {
        #[test]
        fn what_is_encoded_comes_back_however_it_is_cut(
            text in proptest::collection::vec(any::<u8>(), 1..3000),
            size in 1usize..400,
        ) {
            for (coding, bytes) in encoded(&text) {
                let chunks: Vec<&[u8]> = bytes.chunks(size).collect();
                prop_assert_eq!(&decode(coding, &chunks).unwrap().0, &text, "{}", coding);
            }
        }

        #[test]
        fn no_bytes_make_a_decoder_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            for (coding, head) in encoded(b"some text") {
                let _ = decode(coding, &[&bytes]);
                let _ = decode(coding, &[&head[..head.len().min(6)], &bytes]);
            }
        }
    }
}
