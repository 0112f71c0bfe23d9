//! Bodies that a server compresses although it was asked not to: gzip, deflate, zstd. They are decoded piece by piece, so that
//! the cap of a body is that of what it becomes, and is looked at before more is made.

use std::io::{self, Write};

use bytes::{Buf as _, Bytes, BytesMut};
use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use http::HeaderMap;
use http::header::CONTENT_ENCODING;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::HttpError;

/// Input that is decoded at a time.
const STEP: usize = 4096;
/// The largest window of a frame of zstd, as RFC 9659 bounds it for content codings.
const MAX_WINDOW: u64 = 8 << 20;

/// What decodes one body.
pub(super) struct Decoder {
    coding: Coding,
    name: &'static str,
    /// What has come and is not decoded yet.
    input: BytesMut,
    /// Whether anything has come: an empty body is one in every coding.
    begun: bool,
}

enum Coding {
    Gzip(Box<MultiGzDecoder<Vec<u8>>>),
    /// `deflate` names the format of zlib; some servers send it without its frame.
    Deflate(Option<Deflate>),
    Zstd(Box<Zstd>),
}

enum Deflate {
    Framed(Box<ZlibDecoder<Vec<u8>>>),
    Raw(Box<DeflateDecoder<Vec<u8>>>),
}

impl Decoder {
    /// What the headers of an answer call for; `None` for a body that is as it is.
    ///
    /// # Errors
    /// A coding that is not known here, or several.
    pub(super) fn of(headers: &HeaderMap) -> Result<Option<Self>, HttpError> {
        let mut named = headers.get_all(CONTENT_ENCODING).iter();
        let Some(value) = named.next() else { return Ok(None) };
        let text = String::from_utf8_lossy(value.as_bytes()).trim().to_ascii_lowercase();
        let (coding, name) = match text.as_str() {
            "" | "identity" if named.next().is_none() => return Ok(None),
            "gzip" | "x-gzip" if named.next().is_none() => {
                (Coding::Gzip(Box::new(MultiGzDecoder::new(Vec::new()))), "gzip")
            }
            "deflate" if named.next().is_none() => (Coding::Deflate(None), "deflate"),
            "zstd" if named.next().is_none() => (Coding::Zstd(Box::default()), "zstd"),
            _ => {
                let text = format!("content-encoding {text:.40} although identity was asked for");
                return Err(HttpError::Malformed(text));
            }
        };
        Ok(Some(Self { coding, name, input: BytesMut::new(), begun: false }))
    }

    /// Takes what has come. What it took before has to be decoded.
    pub(super) fn feed(&mut self, bytes: &Bytes) {
        self.begun |= !bytes.is_empty();
        self.input.extend_from_slice(bytes);
    }

    /// A further piece; `None` once everything that has come is decoded.
    pub(super) fn piece(&mut self) -> Result<Option<Bytes>, HttpError> {
        let piece = match &mut self.coding {
            Coding::Gzip(gzip) => {
                written(&mut self.input, &mut **gzip, |gzip| std::mem::take(gzip.get_mut()))
            }
            Coding::Deflate(known) => {
                if known.is_none() {
                    let Some(first) = self.input.first_chunk::<2>() else { return Ok(None) };
                    let framed = first[0] & 0x0f == 8 && u16::from_be_bytes(*first) % 31 == 0;
                    *known = Some(match framed {
                        true => Deflate::Framed(Box::new(ZlibDecoder::new(Vec::new()))),
                        false => Deflate::Raw(Box::new(DeflateDecoder::new(Vec::new()))),
                    });
                }
                match known {
                    Some(Deflate::Framed(zlib)) => {
                        written(&mut self.input, &mut **zlib, |zlib| std::mem::take(zlib.get_mut()))
                    }
                    Some(Deflate::Raw(raw)) => {
                        written(&mut self.input, &mut **raw, |raw| std::mem::take(raw.get_mut()))
                    }
                    None => Ok(Vec::new()),
                }
            }
            Coding::Zstd(zstd) => zstd.piece(&mut self.input),
        };
        let piece = piece.map_err(|error| self.malformed(&error))?;
        Ok((!piece.is_empty()).then(|| piece.into()))
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
            Coding::Gzip(gzip) => gzip.try_finish().map(|()| std::mem::take(gzip.get_mut())),
            Coding::Deflate(Some(Deflate::Framed(zlib))) => {
                zlib.try_finish().map(|()| std::mem::take(zlib.get_mut()))
            }
            Coding::Deflate(Some(Deflate::Raw(raw))) => {
                raw.try_finish().map(|()| std::mem::take(raw.get_mut()))
            }
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

/// Writes input to a decoder until something comes out or all is written.
fn written<W: Write>(
    input: &mut BytesMut,
    decoder: &mut W,
    take: impl Fn(&mut W) -> Vec<u8>,
) -> io::Result<Vec<u8>> {
    while !input.is_empty() {
        let taken = decoder.write(&input[..input.len().min(STEP)])?;
        if taken == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "there is more behind its end"));
        }
        input.advance(taken);
        let out = take(decoder);
        if !out.is_empty() {
            return Ok(out);
        }
    }
    // What is decoded and kept back: an event stream's reader waits for it.
    decoder.flush()?;
    Ok(take(decoder))
}

/// Frames of zstd, of which one block is decoded at a time: a block has at most 128 KiB, whatever it is made of.
#[derive(Default)]
struct Zstd {
    decoder: FrameDecoder,
    /// Whether the frame under way ends with a checksum.
    frame: Option<bool>,
}

impl Zstd {
    fn piece(&mut self, input: &mut BytesMut) -> io::Result<Vec<u8>> {
        let broken =
            |error: &dyn std::fmt::Display| io::Error::new(io::ErrorKind::InvalidData, error.to_string());
        loop {
            let Some(has_checksum) = self.frame else {
                let Some(header) = FrameHeader::read(input)? else { return Ok(Vec::new()) };
                self.decoder.reset(&input[..header.bytes]).map_err(|error| broken(&error))?;
                input.advance(header.bytes);
                self.frame = Some(header.has_checksum);
                continue;
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
                self.frame = None;
            }
            let out = self.decoder.collect().unwrap_or_default();
            if !out.is_empty() {
                return Ok(out);
            }
        }
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
            return Err(io::Error::new(io::ErrorKind::InvalidData, "no frame"));
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
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a window of more than 8 MiB"));
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
            while let Some(piece) = decoder.piece()? {
                longest = longest.max(piece.len());
                all.extend_from_slice(&piece);
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
            assert!(longest <= 9 << 20, "{coding}: {longest}");
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
