//! Binary content of a tool's answer, which a program holds without seeing it.

use super::Value;
use crate::error::Result;
use crate::meter;
use std::rc::Rc;
use std::sync::Arc;

/// Longest MIME type that is taken as it is, in bytes.
const MAX_MIME_TYPE: usize = 127;
/// The type of content without a declared one.
const UNKNOWN_TYPE: &str = "application/octet-stream";
/// Bytes of base64 that are checked in one go, and that take as long as a value that is freed.
const PIECE: usize = 32 << 10;
const BYTES_A_UNIT: usize = 64;
/// Bytes of base64 whose check costs one step.
const BYTES_A_STEP: usize = 64;

/// An image, a recording or a file. Made by the host's answers only: a program can keep one and attach it to its reply,
/// but neither make one nor look into it.
#[derive(Debug)]
pub struct Blob {
    content: BlobContent,
    charged: usize,
}

/// The content of a [`Blob`], as it leaves the program's thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobContent {
    /// The kind of content block: `image`, `audio`, or `resource` for everything else.
    pub kind: &'static str,
    /// Its MIME type.
    pub mime_type: Arc<str>,
    /// Where it comes from; may be empty.
    pub uri: Arc<str>,
    /// The content in base64, standard alphabet, without white space.
    pub base64: Arc<str>,
}

impl BlobContent {
    /// Bytes of the content.
    pub fn len(&self) -> u64 {
        decoded_len(self.base64.as_bytes())
    }

    /// Whether there is no content.
    pub fn is_empty(&self) -> bool {
        self.base64.is_empty()
    }
}

/// Bytes of base64 in either alphabet, with or without padding and white space.
pub fn decoded_len(base64: &[u8]) -> u64 {
    let is_digit = |byte: u8| is_standard(byte) || matches!(byte, b'-' | b'_');
    // Counts of a byte are added up many at a time.
    let in_part = |part: &[u8]| part.iter().fold(0_u8, |digits, byte| digits + u8::from(is_digit(*byte)));
    let digits: usize = base64.chunks(128).map(|part| usize::from(in_part(part))).sum();
    (digits / 4 * 3 + digits % 4 * 3 / 4) as u64
}

/// Whether it is a digit of the standard alphabet.
fn is_standard(byte: u8) -> bool {
    matches!(byte, b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/')
}

impl Blob {
    /// Takes content from an answer; `None` where `base64` is none. Charged to the running program.
    pub(crate) fn new(kind: &str, mime_type: &str, uri: &str, base64: &[u8]) -> Result<Option<Rc<Blob>>> {
        const OVERHEAD: usize = 160;
        let charged = OVERHEAD + base64.len() + uri.len();
        meter::charge_steps((base64.len() / BYTES_A_STEP) as u64)?;
        meter::reserve(charged)?;
        let Some(base64) = normal(base64) else { return Ok(None) };
        meter::charge_memory(charged);
        let kind = match kind {
            "image" => "image",
            "audio" => "audio",
            _ => "resource",
        };
        let is_type = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&^_.+-/;= \"".contains(&byte);
        let is_plain = !mime_type.is_empty() && mime_type.len() <= MAX_MIME_TYPE;
        let mime_type = if is_plain && mime_type.bytes().all(is_type) { mime_type } else { UNKNOWN_TYPE };
        let content =
            BlobContent { kind, mime_type: mime_type.into(), uri: uri.into(), base64: base64.into() };
        Ok(Some(Rc::new(Blob { content, charged })))
    }

    /// Its content.
    pub fn content(&self) -> &BlobContent {
        &self.content
    }

    /// The form that a program sees, for instance `#<image image/png 48211 bytes>`.
    pub(crate) fn label(&self) -> String {
        let BlobContent { kind, mime_type, .. } = &self.content;
        format!("#<{kind} {mime_type} {} bytes>", self.content.len())
    }
}

/// Base64 in the standard alphabet, with padding and without white space. Yields regularly.
fn normal(base64: &[u8]) -> Option<String> {
    let mut text = String::with_capacity(base64.len() + 3);
    let mut padding = 0;
    for piece in base64.chunks(PIECE) {
        let whole = if padding == 0 { plain(piece) } else { None };
        match whole {
            Some(digits) => text.push_str(digits),
            None => append(piece, &mut text, &mut padding)?,
        }
        meter::uncharged(piece.len() / BYTES_A_UNIT);
    }
    let missing = (4 - text.len() % 4) % 4;
    // One digit holds no byte; padding is left out, or is what is missing.
    if missing == 3 || (padding != 0 && padding != missing) {
        return None;
    }
    text.extend(std::iter::repeat_n('=', missing));
    Some(text)
}

/// A piece that has digits of the standard alphabet alone.
fn plain(piece: &[u8]) -> Option<&str> {
    piece.iter().all(|byte| is_standard(*byte)).then(|| std::str::from_utf8(piece).ok()).flatten()
}

/// Appends the digits of a piece, and counts its padding.
fn append(piece: &[u8], text: &mut String, padding: &mut usize) -> Option<()> {
    for byte in piece {
        match byte {
            byte if is_standard(*byte) && *padding == 0 => text.push(char::from(*byte)),
            b'-' if *padding == 0 => text.push('+'),
            b'_' if *padding == 0 => text.push('/'),
            b'=' => *padding += 1,
            b' ' | b'\t' | b'\r' | b'\n' => {}
            _ => return None,
        }
    }
    Some(())
}

impl Drop for Blob {
    fn drop(&mut self) {
        meter::credit_memory(self.charged);
    }
}

impl From<Rc<Blob>> for Value {
    fn from(blob: Rc<Blob>) -> Value {
        Value::Blob(blob)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_brought_to_one_form_or_refused() {
        for (written, taken) in [
            ("", Some("")),
            ("AA==", Some("AA==")),
            ("AA", Some("AA==")),
            ("AAA", Some("AAA=")),
            ("AA-_", Some("AA+/")),
            ("AAAA\r\nAA==", Some("AAAAAA==")),
            ("A", None),
            ("AAA==", None),
            ("AA=A", None),
            ("AAAA=", None),
            ("AA!A", None),
            ("é", None),
        ] {
            assert_eq!(normal(written.as_bytes()).as_deref(), taken, "{written:?}");
        }
        for (text, bytes) in [("", 0), ("AA==", 1), ("AAA=", 2), ("AAAA", 3), ("AAAAAA", 4), ("AA AA", 3)] {
            assert_eq!(decoded_len(text.as_bytes()), bytes, "{text:?}");
        }
    }

    #[test]
    fn labels_show_no_more_than_types() {
        let label =
            |kind, mime_type| Blob::new(kind, mime_type, "", b"AAAA").expect("room").expect("base64").label();
        assert_eq!(label("image", "image/png"), "#<image image/png 3 bytes>");
        assert_eq!(label("ima>ge", "a>\nb"), "#<resource application/octet-stream 3 bytes>");
        assert_eq!(label("audio", ""), "#<audio application/octet-stream 3 bytes>");
    }

    #[test]
    fn what_is_charged_is_given_back() {
        let mut account = meter::Account::new(1 << 20);
        let installed = account.install();
        let blob = Blob::new("image", "image/png", "u", &[b'A'; 4000]).expect("room").expect("base64");
        assert!(meter::live_and_peak().0 >= 4000);
        drop(blob);
        assert_eq!(meter::live_and_peak().0, 0);
        drop(installed);
    }
}
