//! Where the parts of a tool's result lie. They are found while the message around it is read, so that a large reply is gone
//! through once.

use std::ops::Range;

use bytes::Bytes;

use super::Member;
use crate::json::{JsonError, Kind, Raw, Scanner};

/// The parts of a result of `tools/call` in its usual form: places in its text, in bytes from its beginning, and the flags that
/// decide between them. The accessors take that text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outline {
    /// Whether `isError` is `true`.
    pub is_error: bool,
    /// Whether `content` has anything besides its first text block.
    pub has_more: bool,
    /// Bytes of the whole as compact JSON.
    pub compact_len: usize,
    /// `structuredContent` unless absent or null.
    structured: Option<Range<usize>>,
    /// The value of its only member, and whether that is named `result`.
    only: Option<(Range<usize>, bool)>,
    /// `text` of the first text block.
    text: Option<Range<usize>>,
    /// Its decoded form, if it has escapes.
    decoded: Option<Bytes>,
    /// `resultType`
    result_type: Option<Range<usize>>,
}

/// A member `result`: its text, and its outline if it has the form of a tool's result.
#[derive(Debug)]
pub(super) struct OutlinedResult<'a> {
    pub(super) text: &'a str,
    pub(super) outline: Option<Outline>,
}

impl<'a> Member<'a> for Option<OutlinedResult<'a>> {
    fn read(scanner: &mut Scanner<'a>) -> Result<Self, JsonError> {
        let before = scanner.clone();
        if let Some((text, outline)) = Outline::read(scanner) {
            return Ok(Some(OutlinedResult { text, outline: Some(outline) }));
        }
        *scanner = before;
        Ok(Some(OutlinedResult { text: scanner.value()?.text(), outline: None }))
    }
}

impl Outline {
    /// The outline of a whole result without white space around it; `None` if it is not in the usual form, or no JSON.
    pub fn of(result: &str) -> Option<Outline> {
        let mut scanner = Scanner::new(result);
        let (_, outline) = Outline::read(&mut scanner)?;
        scanner.end().ok()?;
        Some(outline)
    }

    /// `structuredContent` as written, unless absent or null.
    pub fn structured<'a>(&self, result: &'a str) -> Option<Raw<'a>> {
        raw(result, self.structured.as_ref()?)
    }

    /// The value of the only member of `structuredContent`, if that is an object of one member, and whether this is named
    /// `result`.
    pub fn only<'a>(&self, result: &'a str) -> Option<(Raw<'a>, bool)> {
        let (place, is_result) = self.only.as_ref()?;
        Some((raw(result, place)?, *is_result))
    }

    /// `text` of the first text block, a string.
    pub fn text<'a>(&self, result: &'a str) -> Option<Raw<'a>> {
        raw(result, self.text.as_ref()?)
    }

    /// The decoded `text` of the first text block, UTF-8, if it is written with escapes.
    pub fn decoded_text(&self) -> Option<&Bytes> {
        self.decoded.as_ref()
    }

    /// `resultType` as written.
    pub fn result_type<'a>(&self, result: &'a str) -> Option<Raw<'a>> {
        raw(result, self.result_type.as_ref()?)
    }

    /// Reads the result at the cursor; `None` anywhere after that if it is not in the usual form.
    fn read<'a>(scanner: &mut Scanner<'a>) -> Option<(&'a str, Outline)> {
        scanner.peek();
        let (from, space) = (scanner.position(), scanner.space());
        let place = |scanner: &Scanner<'a>, value: Raw<'a>| {
            let end = scanner.position() - from;
            end - value.text().len()..end
        };
        let (mut outline, mut first) = (Outline::default(), true);
        scanner.enter_object().ok()?;
        while scanner.next_member(&mut first).ok()? {
            match &*scanner.key().ok()? {
                "isError" => outline.is_error = scanner.value().ok()?.text() == "true",
                "structuredContent" => {
                    (outline.structured, outline.only) = structured(scanner, &place)?;
                }
                "resultType" => {
                    let value = scanner.value().ok()?;
                    outline.result_type = Some(place(scanner, value));
                }
                "content" => {
                    let content = content(scanner, &place)?;
                    let (text, decoded) = content.text.unzip();
                    (outline.text, outline.decoded) = (text, decoded.flatten());
                    outline.has_more = content.has_more;
                }
                _ => {
                    scanner.value().ok()?;
                }
            }
        }
        let whole = scanner.since(from);
        outline.compact_len = whole.len() - (scanner.space() - space);
        Some((whole, outline))
    }
}

/// A place in a text that the scanner has accepted.
fn raw<'a>(result: &'a str, place: &Range<usize>) -> Option<Raw<'a>> {
    result.get(place.clone()).map(Raw::accepted)
}

type ByteRange = Range<usize>;

/// The structured content at the cursor, and the value of its only member.
#[expect(clippy::type_complexity, reason = "the two places of the outline")]
fn structured<'a>(
    scanner: &mut Scanner<'a>,
    place: &impl Fn(&Scanner<'a>, Raw<'a>) -> ByteRange,
) -> Option<(Option<ByteRange>, Option<(ByteRange, bool)>)> {
    if scanner.peek() != Some(b'{') {
        let value = scanner.value().ok()?;
        let is_there = value.kind() != Kind::Null;
        return Some((is_there.then(|| place(scanner, value)), None));
    }
    let from = scanner.position();
    let (mut members, mut only, mut first) = (0_usize, None, true);
    scanner.enter_object().ok()?;
    while scanner.next_member(&mut first).ok()? {
        let is_result = scanner.key().ok()? == "result";
        let value = scanner.value().ok()?;
        members += 1;
        only = (members == 1).then(|| (place(scanner, value), is_result));
    }
    let whole = Raw::accepted(scanner.since(from));
    Some((Some(place(scanner, whole)), only))
}

/// The content of a result.
#[derive(Default)]
struct Content {
    /// The place of the text of the first text block, and its decoded form if it has escapes.
    text: Option<(ByteRange, Option<Bytes>)>,
    /// Whether there is anything else.
    has_more: bool,
}

/// The content at the cursor; `None`: it is not written as usual.
fn content<'a>(
    scanner: &mut Scanner<'a>,
    place: &impl Fn(&Scanner<'a>, Raw<'a>) -> ByteRange,
) -> Option<Content> {
    let (mut content, mut first) = (Content::default(), true);
    scanner.enter_array().ok()?;
    while scanner.next_element(&mut first).ok()? {
        if content.text.is_some() {
            content.has_more = true;
            scanner.value().ok()?;
            continue;
        }
        let (mut kind, mut text, mut first) = (None, None, true);
        scanner.enter_object().ok()?;
        while scanner.next_member(&mut first).ok()? {
            let key = scanner.key().ok()?;
            let twice = match &*key {
                "type" => kind.replace(scanner.value().ok()?).is_some(),
                // It is going to be needed, and going over it once does for both.
                "text" if scanner.peek() == Some(b'"') => {
                    let (value, decoded) = scanner.decoded_string().ok()?;
                    text.replace((place(scanner, value), decoded.map(Bytes::from))).is_some()
                }
                key => {
                    scanner.value().ok()?;
                    key == "text" && text.is_some()
                }
            };
            if twice {
                return None;
            }
        }
        let is_text = kind.is_some_and(|kind: Raw<'_>| kind.text() == "\"text\"");
        content.text = text.filter(|_| is_text);
        content.has_more |= content.text.is_none();
    }
    Some(content)
}
