//! Messages that are almost JSON (upstreams.md 7.1): with `NaN`, an extra comma, a byte order mark or a banner before them, or
//! spread over lines. Their meaning is clear, and the request that waits for them must not wait in vain.

use bytes::Bytes;
use ptc_mcp::text::clip;
use serde::de::IgnoredAny;

use ptc_base::visible::without_controls;

/// Objects on one line that are looked at.
const MOST_OBJECTS: usize = 16;
/// Characters of a server's text that are shown.
const SHOWN: usize = 80;

/// The note on an answer in which numbers were no JSON.
const NO_NUMBERS: &str = "has NaN or Infinity, which JSON does not have: each became nil";

/// A piece of text that a server wrote.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TextPiece {
    /// It is JSON, or has become JSON; with the note that readers are owed.
    Json(Bytes, Option<&'static str>),
    /// It begins like an object or a list and is incomplete at the end of the text.
    Unfinished(Bytes),
    /// It begins like an object and is none: the place where it ceases to be JSON.
    Broken { text: Bytes, at: usize },
    /// It is no JSON.
    Noise(Bytes),
}

/// The pieces of a text that is not one JSON value. Text after a broken object is skipped: it may be a string inside of it.
pub(super) fn pieces(text: &Bytes) -> Vec<TextPiece> {
    let mut pieces = Vec::new();
    let mut rest = without_mark(text);
    while pieces.len() < MOST_OBJECTS
        && let Some(start) = first_value(&rest)
    {
        if start > 0 {
            pieces.push(TextPiece::Noise(rest.slice(..start)));
        }
        rest = rest.slice(start..);
        match first_json(&rest) {
            Ok(end) => {
                pieces.push(TextPiece::Json(rest.slice(..end), None));
                rest = rest.slice(end..);
            }
            Err(at) => {
                pieces.push(unreadable(rest, at));
                return pieces;
            }
        }
    }
    if !rest.trim_ascii().is_empty() {
        pieces.push(TextPiece::Noise(rest));
    }
    pieces
}

/// The piece for a text that begins like JSON and ceases to be that at `at`.
fn unreadable(text: Bytes, at: usize) -> TextPiece {
    if let Some((mended, note)) = mend(&text) {
        let mended = Bytes::from(mended);
        match first_json(&mended) {
            Ok(end) => return TextPiece::Json(mended.slice(..end), note),
            Err(at) if at >= mended.len() && !ends_in_string(&text) => return TextPiece::Unfinished(text),
            Err(_) => {}
        }
    }
    match at >= text.len() && !ends_in_string(&text) {
        true => TextPiece::Unfinished(text),
        false => TextPiece::Broken { at: at.min(text.len()), text },
    }
}

/// The text without a byte order mark, of which some servers write one.
pub(super) fn without_mark(text: &Bytes) -> Bytes {
    text.slice(if text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 }..)
}

/// Where the first object begins, or the list of objects with which the text begins.
fn first_value(text: &[u8]) -> Option<usize> {
    let blank = text.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    // `[INFO] …` and `[12:00] …` are no lists.
    if text.get(blank) == Some(&b'[')
        && matches!(text[blank + 1..].trim_ascii_start().first(), None | Some(b'{'))
    {
        return Some(blank);
    }
    memchr::memchr_iter(b'{', text).find(|at| begins_object(&text[at + 1..]))
}

/// Whether the text after a brace is valid there in JSON.
fn begins_object(inner: &[u8]) -> bool {
    matches!(inner.trim_ascii_start().first(), None | Some(b'"' | b'}'))
}

/// Where the JSON value ends with which the text begins.
///
/// # Errors
/// Where it ceases to be JSON; the length of the text if it only ends too early.
#[expect(clippy::disallowed_methods, reason = "entry point: first_json()")]
fn first_json(text: &[u8]) -> Result<usize, usize> {
    let mut values = serde_json::Deserializer::from_slice(text).into_iter::<IgnoredAny>();
    match values.next() {
        Some(Ok(_)) => Ok(values.byte_offset()),
        Some(Err(error)) if !error.is_eof() => Err(offset_of(text, error.line(), error.column())),
        _ => Err(text.len()),
    }
}

/// The offset of a place given by line and column.
fn offset_of(text: &[u8], line: usize, column: usize) -> usize {
    let before: usize =
        text.split_inclusive(|byte| *byte == b'\n').take(line.saturating_sub(1)).map(<[u8]>::len).sum();
    (before + column.saturating_sub(1)).min(text.len())
}

/// Whether the text ends within a string, which cannot continue on another line in JSON.
fn ends_in_string(text: &[u8]) -> bool {
    let mut nesting = Nesting::default();
    nesting.feed(text);
    nesting.in_string
}

/// How deep a text of JSON that goes by is nested.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Nesting {
    pub(super) depth: usize,
    pub(super) in_string: bool,
    is_escaped: bool,
}

impl Nesting {
    pub(super) fn feed(&mut self, text: &[u8]) {
        for byte in text {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' if self.in_string => self.is_escaped = true,
                b'"' => self.in_string = !self.in_string,
                _ if self.in_string => {}
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
    }
}

/// The text with nulls for numbers that are none and without commas before a closing bracket, and the note on it; `None` if it
/// has neither.
fn mend(text: &[u8]) -> Option<(Vec<u8>, Option<&'static str>)> {
    let mut out: Vec<u8> = Vec::new();
    let (mut at, mut copied, mut note) = (0, 0, None);
    let mut nesting = Nesting::default();
    while let Some(byte) = text.get(at) {
        let gone = match byte {
            _ if nesting.in_string => None,
            b',' => {
                let blank = text[at + 1..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
                matches!(text.get(at + 1 + blank), Some(b'}' | b']')).then_some((1, &b""[..]))
            }
            b'-' | b'N' | b'n' | b'I' | b'i' => no_number(&text[at..]).map(|length| (length, &b"null"[..])),
            _ => None,
        };
        let Some((length, instead)) = gone else {
            nesting.feed(&text[at..=at]);
            at += 1;
            continue;
        };
        out.extend_from_slice(&text[copied..at]);
        out.extend_from_slice(instead);
        if !instead.is_empty() {
            note = Some(NO_NUMBERS);
        }
        at += length;
        copied = at;
    }
    if copied == 0 {
        return None;
    }
    out.extend_from_slice(&text[copied..]);
    Some((out, note))
}

/// The length of a word for a number that is none, with which the text begins.
fn no_number(text: &[u8]) -> Option<usize> {
    let sign = usize::from(text.first() == Some(&b'-'));
    // One letter more than the longest name has is enough to see that it is none.
    let word = text[sign..].iter().take(9).take_while(|byte| byte.is_ascii_alphabetic()).count();
    let is_one = |name: &str| text[sign..sign + word].eq_ignore_ascii_case(name.as_bytes());
    ["nan", "infinity", "inf"].into_iter().any(is_one).then_some(sign + word)
}

/// The beginning of a server's text as people are shown it.
pub(super) fn shown(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(&text[..text.len().min(4 * SHOWN)]).into_owned();
    let line = text.trim().lines().next().unwrap_or_default();
    clip(&without_controls(line, &[]).collect::<String>(), SHOWN)
}

/// The defect of a text that ceases to be JSON at `at`.
pub(super) fn complaint(text: &[u8], at: usize) -> String {
    match text.get(at..).unwrap_or_default() {
        [] => format!("it ends too early, at byte {at}"),
        rest => format!("no JSON at byte {at}: {}", clip(&shown(rest), 24)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &'static str) -> Vec<TextPiece> {
        pieces(&Bytes::from_static(text.as_bytes()))
    }

    fn json(text: &'static str) -> TextPiece {
        TextPiece::Json(Bytes::from_static(text.as_bytes()), None)
    }

    fn noise(text: &'static str) -> TextPiece {
        TextPiece::Noise(Bytes::from_static(text.as_bytes()))
    }

    fn mended(text: &'static str) -> Vec<TextPiece> {
        vec![TextPiece::Json(Bytes::from_static(text.as_bytes()), Some(NO_NUMBERS))]
    }

    #[test]
    fn a_long_word_is_looked_at_once() {
        assert_eq!(mend(&vec![b'n'; 1 << 20]), None);
    }

    #[test]
    fn messages_are_found_behind_and_between_other_text() {
        assert_eq!(told("Loading... {\"id\":1}"), [noise("Loading... "), json("{\"id\":1}")]);
        assert_eq!(told("\u{feff}{\"id\":1} "), [json("{\"id\":1}")]);
        assert_eq!(
            told("{\"a\":[]}{\"id\":1} done"),
            [json("{\"a\":[]}"), json("{\"id\":1}"), noise(" done")]
        );
        assert_eq!(told("use {config} {\"id\":1}"), [noise("use {config} "), json("{\"id\":1}")]);
        for mark in ["[INFO] ", "[12:00] ", "[\"a\"] "] {
            let text = Bytes::from(format!("{mark}{{\"id\":1}}"));
            assert_eq!(pieces(&text)[1], json("{\"id\":1}"), "{mark}");
        }
        assert_eq!(told("Server ready"), [noise("Server ready")]);
    }

    #[test]
    fn numbers_that_are_none_become_null_and_surplus_commas_go() {
        assert_eq!(
            told(r#"{"a":NaN,"b":-Infinity,"c":[Infinity,inf],"d":"NaN,]"}"#),
            mended(r#"{"a":null,"b":null,"c":[null,null],"d":"NaN,]"}"#)
        );
        assert_eq!(told(r#"{"a":[1, ],"b":"\",}",}"#), [json(r#"{"a":[1 ],"b":"\",}"}"#)]);
    }

    #[test]
    fn text_that_goes_on_is_told_from_text_that_is_broken() {
        for text in ["{", "{\"id\": 1,", "{\"a\": [NaN,", "[", "{\"a\": {"] {
            assert!(matches!(&told(text)[..], [TextPiece::Unfinished(_)]), "{text} {:?}", told(text));
        }
        let text = r#"{"id":1,"x":undefined,"y":{"id":2,"result":1}}"#;
        assert_eq!(told(text), [TextPiece::Broken { text: Bytes::from_static(text.as_bytes()), at: 12 }]);
        assert_eq!(complaint(text.as_bytes(), 12), "no JSON at byte 12: undefined,\"y\":{\"id\":2,\"r…");
        assert!(matches!(&told("{\"id\":1,\"x\":\"cut")[..], [TextPiece::Broken { .. }]));
        assert_eq!(complaint(b"{", 1), "it ends too early, at byte 1");
    }
}
