//! A bounded, single-pass JSON scanner for message envelopes.
//!
//! The scanner checks the whole text (grammar, nesting, surrogates) and returns the few members that the protocol needs
//! as slices of the input. It builds nothing for the rest, so a message costs one pass over its bytes and no tree.
//!
//! The scanner is iterative: its depth is bounded by [`MAX_DEPTH`] and never by the stack.

use std::borrow::Cow;
use std::fmt;

use super::plain;

/// Deepest nesting of a whole message, in levels of `{` and `[`. A value inside a message may nest 128 levels; the
/// envelope, `params`, `arguments` and a batch around it use a few more.
pub const MAX_DEPTH: usize = 192;

/// Why a text is not acceptable JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonError {
    /// The text is not JSON. Holds the byte offset where that became certain.
    Syntax(usize),
    /// The text nests deeper than [`MAX_DEPTH`].
    TooDeep,
    /// A `\u` escape of half a surrogate pair: it denotes no character.
    LoneSurrogate(usize),
}

impl fmt::Display for JsonError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JsonError::Syntax(at) => write!(out, "not JSON at byte {at}"),
            JsonError::TooDeep => write!(out, "nested deeper than {MAX_DEPTH} levels"),
            JsonError::LoneSurrogate(at) => write!(out, "half a surrogate pair at byte {at}"),
        }
    }
}

/// The JSON type of a value, by its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `null`
    Null,
    /// `true` or `false`
    Boolean,
    /// A number written without fraction or exponent.
    Integer,
    /// Any other number.
    Number,
    /// A string
    String,
    /// An array
    Array,
    /// An object
    Object,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 7] =
        [Kind::Null, Kind::Boolean, Kind::Integer, Kind::Number, Kind::String, Kind::Array, Kind::Object];

    /// The name used in messages to clients.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Null => "null",
            Kind::Boolean => "boolean",
            Kind::Integer => "integer",
            Kind::Number => "number",
            Kind::String => "string",
            Kind::Array => "array",
            Kind::Object => "object",
        }
    }
}

/// The text of one JSON value, already checked, without surrounding whitespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Raw<'a>(&'a str);

impl<'a> Raw<'a> {
    /// Checks `text` to be one JSON value and nothing else.
    pub fn parse(text: &'a str) -> Result<Raw<'a>, JsonError> {
        let mut scanner = Scanner::new(text);
        let raw = scanner.value()?;
        scanner.end()?;
        Ok(raw)
    }

    /// The object whose JSON text this is, if it is one: some clients send objects as their text (ruling 74).
    pub fn object_of(text: &'a str) -> Option<Raw<'a>> {
        Raw::parse(text.trim()).ok().filter(|value| value.kind() == Kind::Object)
    }

    /// A text that the scanner has accepted as one value before.
    pub(crate) fn accepted(text: &'a str) -> Raw<'a> {
        Raw(text)
    }

    /// The text as it was received.
    pub fn text(self) -> &'a str {
        self.0
    }

    /// The JSON type.
    pub fn kind(self) -> Kind {
        match self.0.as_bytes().first() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b't' | b'f') => Kind::Boolean,
            Some(b'n') | None => Kind::Null,
            Some(_) if self.0.bytes().any(|b| matches!(b, b'.' | b'e' | b'E')) => Kind::Number,
            Some(_) => Kind::Integer,
        }
    }

    /// The string this value is, decoded; `None` if it is no string.
    pub fn as_str(self) -> Option<Cow<'a, str>> {
        let inner = self.0.strip_prefix('"')?.strip_suffix('"')?;
        Some(decoded(inner))
    }

    /// The boolean this value is.
    pub fn as_bool(self) -> Option<bool> {
        match self.0 {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    /// Walks the members of this object in order; `None` if it is no object.
    pub fn members(self) -> Option<Members<'a>> {
        if self.kind() != Kind::Object {
            return None;
        }
        let mut scanner = Scanner::new(self.0);
        scanner.enter_object().ok()?;
        Some(Members { scanner, first: true })
    }

    /// Bytes of the value as compact JSON: without the whitespace between its tokens, escapes as short as they can be.
    pub fn compact_len(self) -> usize {
        let bytes = self.0.as_bytes();
        let (mut at, mut len) = (0, 0);
        while let Some(&byte) = bytes.get(at) {
            if byte == b'"' {
                let mut string = Scanner::new(self.0);
                string.pos = at;
                if string.string().is_err() {
                    break;
                }
                let raw = Raw(&self.0[at..string.pos]);
                len += raw.as_str().map_or(0, |text| string_len(&text));
                at = string.pos;
            } else {
                len += usize::from(!byte.is_ascii_whitespace());
                at += 1;
            }
        }
        len
    }
}

/// The members of a checked object, in the order written.
#[derive(Debug)]
pub struct Members<'a> {
    scanner: Scanner<'a>,
    first: bool,
}

impl Members<'_> {
    /// The deepest nesting among the members read so far, the object itself included.
    pub fn deepest(&self) -> usize {
        self.scanner.deepest
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = (Cow<'a, str>, Raw<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let more = self.scanner.next_member(&mut self.first).ok()?;
        more.then(|| {
            let key = self.scanner.key().ok()?;
            let value = self.scanner.value().ok()?;
            Some((key, value))
        })?
    }
}

/// A position in a JSON text.
#[derive(Debug, Clone)]
pub struct Scanner<'a> {
    text: &'a str,
    pos: usize,
    /// Levels opened by the caller's own descent (see [`Scanner::enter_object`]).
    depth: usize,
    /// The deepest level seen.
    deepest: usize,
    /// Bytes of white space passed.
    space: usize,
}

impl<'a> Scanner<'a> {
    /// Starts at the beginning of `text`.
    pub fn new(text: &'a str) -> Self {
        Scanner { text, pos: 0, depth: 0, deepest: 0, space: 0 }
    }

    /// Bytes of white space between the tokens read so far.
    pub fn space(&self) -> usize {
        self.space
    }

    /// The offset of the cursor.
    pub(crate) fn position(&self) -> usize {
        self.pos
    }

    /// The text from an offset to the cursor.
    pub(crate) fn since(&self, from: usize) -> &'a str {
        &self.text[from..self.pos]
    }

    /// The first byte of the next value, without consuming it.
    pub fn peek(&mut self) -> Option<u8> {
        self.skip_space();
        self.text.as_bytes().get(self.pos).copied()
    }

    /// Requires that nothing but whitespace is left.
    pub fn end(&mut self) -> Result<(), JsonError> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.syntax()),
        }
    }

    /// Enters the object at the cursor. Every member is then read by [`Scanner::next_member`], [`Scanner::key`] and
    /// either [`Scanner::value`] or a further descent.
    pub fn enter_object(&mut self) -> Result<(), JsonError> {
        self.enter(b'{')
    }

    /// Enters the array at the cursor; its elements are read by [`Scanner::next_element`] and [`Scanner::value`].
    pub fn enter_array(&mut self) -> Result<(), JsonError> {
        self.enter(b'[')
    }

    /// Steps over the opening bracket at the cursor, of a descent whose depth the caller bounds by itself.
    pub(super) fn open(&mut self) {
        self.pos += 1;
    }

    fn enter(&mut self, open: u8) -> Result<(), JsonError> {
        if self.peek() != Some(open) {
            return Err(self.syntax());
        }
        self.pos += 1;
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        if self.depth > MAX_DEPTH { Err(JsonError::TooDeep) } else { Ok(()) }
    }

    /// Moves to the next member of the entered object: `true` if there is one, `false` after its closing brace.
    pub fn next_member(&mut self, first: &mut bool) -> Result<bool, JsonError> {
        self.next_item(first, b'}')
    }

    /// Moves to the next element of the entered array: `true` if there is one, `false` after its closing bracket.
    pub fn next_element(&mut self, first: &mut bool) -> Result<bool, JsonError> {
        self.next_item(first, b']')
    }

    fn next_item(&mut self, first: &mut bool, close: u8) -> Result<bool, JsonError> {
        let was_first = std::mem::replace(first, false);
        match self.peek() {
            Some(byte) if byte == close => {
                self.pos += 1;
                self.depth = self.depth.saturating_sub(1);
                Ok(false)
            }
            Some(_) if was_first => Ok(true),
            Some(b',') => {
                self.pos += 1;
                // A comma promises another item: `[1,]` is not JSON.
                match self.peek() {
                    Some(byte) if byte == close => Err(self.syntax()),
                    _ => Ok(true),
                }
            }
            _ => Err(self.syntax()),
        }
    }

    /// Reads a member's key and its colon.
    pub fn key(&mut self) -> Result<Cow<'a, str>, JsonError> {
        self.skip_space();
        let start = self.pos;
        let has_escapes = self.string()?;
        let inner = &self.text[start + 1..self.pos - 1];
        if self.peek() != Some(b':') {
            return Err(self.syntax());
        }
        self.pos += 1;
        Ok(if has_escapes { Cow::Owned(unescape(inner)) } else { Cow::Borrowed(inner) })
    }

    /// Reads one value of any kind and returns its text.
    pub fn value(&mut self) -> Result<Raw<'a>, JsonError> {
        self.skip_space();
        let start = self.pos;
        if self.text.as_bytes().get(start) == Some(&b'"') {
            // The most common value needs no levels.
            self.string()?;
            return Ok(Raw(&self.text[start..self.pos]));
        }
        let mut open = OpenLevels::default();
        loop {
            // Here a value is due.
            match self.peek() {
                Some(b'"') => {
                    self.string()?;
                }
                Some(b'{') => {
                    self.pos += 1;
                    self.deepest = self.deepest.max(open.push(true, self.depth)?);
                    if self.peek() != Some(b'}') {
                        self.key()?;
                        continue;
                    }
                }
                Some(b'[') => {
                    self.pos += 1;
                    self.deepest = self.deepest.max(open.push(false, self.depth)?);
                    if self.peek() != Some(b']') {
                        continue;
                    }
                }
                Some(b't') => self.word("true")?,
                Some(b'f') => self.word("false")?,
                Some(b'n') => self.word("null")?,
                Some(b'-' | b'0'..=b'9') => self.number()?,
                _ => return Err(self.syntax()),
            }
            // Here a value is complete, or a container stands before its closing byte.
            loop {
                let Some(in_object) = open.top() else {
                    return Ok(Raw(&self.text[start..self.pos]));
                };
                match (self.peek(), in_object) {
                    (Some(b','), true) => {
                        self.pos += 1;
                        self.key()?;
                        break;
                    }
                    (Some(b','), false) => {
                        self.pos += 1;
                        break;
                    }
                    (Some(b'}'), true) | (Some(b']'), false) => {
                        self.pos += 1;
                        open.pop();
                    }
                    _ => return Err(self.syntax()),
                }
            }
        }
    }

    /// Reads the string at the cursor, and its decoded form if it has escapes: UTF-8.
    pub(crate) fn decoded_string(&mut self) -> Result<(Raw<'a>, Option<Vec<u8>>), JsonError> {
        let (bytes, start) = (self.text.as_bytes(), self.pos);
        let end = plain::end(bytes, start + 1);
        if bytes.get(end) == Some(&b'"') {
            self.pos = end + 1;
            return Ok((Raw(&self.text[start..self.pos]), None));
        }
        // The string ends within the text, and is not longer than what is written.
        let mut out = StringDecoder::beginning_with(&bytes[start + 1..end], bytes.len() - end);
        let mut at = end;
        loop {
            at = match bytes.get(at) {
                Some(b'\\') => {
                    let letter = bytes.get(at + 1).copied().unwrap_or_default();
                    match StringDecoder::simple_escape(letter) {
                        Some(byte) => {
                            out.push(&[byte]);
                            at + 2
                        }
                        None => {
                            let end = self.escape(at)?;
                            out.push_unicode(bytes, at + 2);
                            end
                        }
                    }
                }
                Some(b'"') => break,
                Some(0..=0x1f) | None => return Err(JsonError::Syntax(at)),
                Some(_) => at,
            };
            at += out.copy(bytes, at);
        }
        self.pos = at + 1;
        Ok((Raw(&self.text[start..self.pos]), Some(out.finish())))
    }

    fn skip_space(&mut self) {
        let bytes = self.text.as_bytes();
        while matches!(bytes.get(self.pos), Some(b' ' | b'\n' | b'\t' | b'\r')) {
            self.pos += 1;
            self.space += 1;
        }
    }

    fn syntax(&self) -> JsonError {
        JsonError::Syntax(self.pos)
    }

    fn word(&mut self, word: &str) -> Result<(), JsonError> {
        if self.text.as_bytes()[self.pos..].starts_with(word.as_bytes()) {
            self.pos += word.len();
            Ok(())
        } else {
            Err(self.syntax())
        }
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        let bytes = self.text.as_bytes();
        let start = self.pos;
        while matches!(bytes.get(self.pos), Some(b'0'..=b'9')) {
            self.pos += 1;
        }
        if self.pos == start { Err(self.syntax()) } else { Ok(()) }
    }

    fn number(&mut self) -> Result<(), JsonError> {
        let bytes = self.text.as_bytes();
        if bytes.get(self.pos) == Some(&b'-') {
            self.pos += 1;
        }
        if bytes.get(self.pos) == Some(&b'0') {
            self.pos += 1;
        } else {
            self.digits()?;
        }
        if bytes.get(self.pos) == Some(&b'.') {
            self.pos += 1;
            self.digits()?;
        }
        if matches!(bytes.get(self.pos), Some(b'e' | b'E')) {
            self.pos += 1;
            if matches!(bytes.get(self.pos), Some(b'+' | b'-')) {
                self.pos += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    /// Reads a string, and returns whether it has escapes.
    fn string(&mut self) -> Result<bool, JsonError> {
        let bytes = self.text.as_bytes();
        if bytes.get(self.pos) != Some(&b'"') {
            return Err(self.syntax());
        }
        let mut at = self.pos + 1;
        let mut has_escapes = false;
        loop {
            at = plain::end(bytes, at);
            match bytes.get(at) {
                Some(b'"') => {
                    self.pos = at + 1;
                    return Ok(has_escapes);
                }
                Some(b'\\') => {
                    at = self.escape(at)?;
                    has_escapes = true;
                }
                _ => return Err(JsonError::Syntax(at)),
            }
        }
    }

    /// Checks the escape at `at` (a backslash) and returns the offset after it.
    fn escape(&self, at: usize) -> Result<usize, JsonError> {
        let bytes = self.text.as_bytes();
        match bytes.get(at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
            Some(b'u') => {
                let unit = hex4(bytes, at + 2).ok_or(JsonError::Syntax(at))?;
                match unit {
                    0xd800..=0xdbff => {
                        let low = (bytes.get(at + 6..at + 8) == Some(b"\\u"))
                            .then(|| hex4(bytes, at + 8))
                            .flatten()
                            .ok_or(JsonError::LoneSurrogate(at))?;
                        if (0xdc00..=0xdfff).contains(&low) {
                            Ok(at + 12)
                        } else {
                            Err(JsonError::LoneSurrogate(at))
                        }
                    }
                    0xdc00..=0xdfff => Err(JsonError::LoneSurrogate(at)),
                    _ => Ok(at + 6),
                }
            }
            _ => Err(JsonError::Syntax(at)),
        }
    }
}

/// Which containers are open, one bit each: set for an object, clear for an array.
#[derive(Default)]
struct OpenLevels {
    bits: [u64; MAX_DEPTH / 64],
    count: usize,
}

impl OpenLevels {
    /// Opens a level and returns how deep it is.
    fn push(&mut self, object: bool, outer: usize) -> Result<usize, JsonError> {
        if self.count + outer >= MAX_DEPTH {
            return Err(JsonError::TooDeep);
        }
        let (word, bit) = (self.count / 64, self.count % 64);
        self.bits[word] = (self.bits[word] & !(1 << bit)) | (u64::from(object) << bit);
        self.count += 1;
        Ok(self.count + outer)
    }

    fn pop(&mut self) {
        self.count -= 1;
    }

    fn top(&self) -> Option<bool> {
        let last = self.count.checked_sub(1)?;
        Some(self.bits[last / 64] >> (last % 64) & 1 == 1)
    }
}

fn hex4(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.iter().try_fold(0, |unit, byte| Some(unit << 4 | (*byte as char).to_digit(16)?))
}

/// The inside of a string that the scanner has accepted, without its escapes.
fn decoded(inner: &str) -> Cow<'_, str> {
    if memchr::memchr(b'\\', inner.as_bytes()).is_some() {
        Cow::Owned(unescape(inner))
    } else {
        Cow::Borrowed(inner)
    }
}

/// Decodes the inside of a string that the scanner has accepted.
fn unescape(inner: &str) -> String {
    let bytes = inner.as_bytes();
    let mut out = StringDecoder::beginning_with(&[], bytes.len());
    let mut at = 0;
    loop {
        at += out.copy(bytes, at);
        match bytes.get(at) {
            Some(b'\\') => at = out.push_escape(bytes, at + 1),
            // The scanner accepts none of these.
            Some(0..=0x1f | b'"') => break,
            Some(_) => {}
            None => break,
        }
    }
    String::from_utf8(out.finish())
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// The decoded form of a string, as far as it has been read.
struct StringDecoder {
    /// Longer than the decoded part, with room for the next bytes.
    out: Vec<u8>,
    len: usize,
    /// The most that it becomes besides that room.
    most: usize,
}

impl StringDecoder {
    /// Room at the end before anything is written.
    const ROOM: usize = plain::LONGEST_COPY + plain::WORD;

    /// Bytes from which on it is likely to be nearly all of the text that it stands in: it then grows once more, to its largest
    /// possible size. The unused part of that is memory that is never touched.
    const LONG: usize = 64 << 10;

    /// A string that begins with `plain`, and becomes at most `rest` bytes longer.
    fn beginning_with(plain: &[u8], rest: usize) -> StringDecoder {
        let mut out = Vec::with_capacity(plain.len() + StringDecoder::ROOM);
        out.extend_from_slice(plain);
        out.resize(plain.len() + StringDecoder::ROOM, 0);
        StringDecoder { out, len: plain.len(), most: plain.len() + rest }
    }

    #[cold]
    fn grow(&mut self) {
        let most = self.most + StringDecoder::ROOM;
        let len = if self.out.len() >= StringDecoder::LONG {
            most
        } else {
            self.out.len() * 2 + StringDecoder::ROOM
        };
        let mut longer = vec![0; len.min(most).max(self.out.len() + StringDecoder::ROOM)];
        longer[..self.len].copy_from_slice(&self.out[..self.len]);
        self.out = longer;
    }

    /// Copies the plain run at `at`, and returns its length. The copy may extend beyond that if nothing special follows.
    #[inline]
    fn copy(&mut self, bytes: &[u8], at: usize) -> usize {
        if self.out.len() - self.len < StringDecoder::ROOM {
            self.grow();
        }
        let copied = plain::copy(bytes, at, &mut self.out[self.len..]);
        self.len += copied;
        copied
    }

    /// The byte that a backslash and this letter mean; `None` for all but the escapes of one letter.
    #[inline]
    fn simple_escape(letter: u8) -> Option<u8> {
        match letter {
            b'"' | b'\\' | b'/' => Some(letter),
            b'n' => Some(b'\n'),
            b'r' => Some(b'\r'),
            b't' => Some(b'\t'),
            b'b' => Some(8),
            b'f' => Some(12),
            _ => None,
        }
    }

    /// Adds the meaning of the escape whose letter is at `at`, and returns the place after it. The scanner has accepted it.
    fn push_escape(&mut self, bytes: &[u8], at: usize) -> usize {
        match StringDecoder::simple_escape(bytes.get(at).copied().unwrap_or_default()) {
            Some(byte) => {
                self.push(&[byte]);
                at + 1
            }
            None => self.push_unicode(bytes, at + 1),
        }
    }

    fn push_unicode(&mut self, bytes: &[u8], mut at: usize) -> usize {
        let mut unit = hex4(bytes, at).unwrap_or_default();
        at += 4;
        if (0xd800..0xdc00).contains(&unit) {
            let low = hex4(bytes, at + 2).unwrap_or_default();
            at += 6;
            unit = 0x10000 + ((unit - 0xd800) << 10) + (low & 0x3ff);
        }
        let decoded = char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER);
        self.push(decoded.encode_utf8(&mut [0; 4]).as_bytes());
        at
    }

    #[inline]
    fn push(&mut self, bytes: &[u8]) {
        if self.out.len() - self.len < bytes.len() {
            self.grow();
        }
        self.out[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    fn finish(mut self) -> Vec<u8> {
        self.out.truncate(self.len);
        if self.out.capacity() > StringDecoder::LONG && self.out.capacity() > self.len + self.len / 4 {
            self.out.shrink_to_fit();
        }
        self.out
    }
}

/// Bytes of `text` as a JSON string with escapes as short as they can be, its quotes included.
pub fn string_len(text: &str) -> usize {
    text.bytes().fold(2, |sum, byte| {
        sum + match byte {
            b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
            0..=0x1f => 6,
            _ => 1,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_what_serde_json_accepts_and_nothing_else() {
        let texts = [
            "null",
            "true",
            "false",
            "0",
            "-0",
            "12",
            "-1.5e+10",
            "1E2",
            "\"\"",
            "\"a\\n\\u00e9\\ud83d\\ude00\"",
            "[]",
            "{}",
            "[1,[2,{\"a\":[]}]]",
            " { \"a\" : 1 , \"b\" : [ ] } ",
            "[{},{}]",
            "",
            " ",
            "nul",
            "nulll",
            "01",
            "-",
            "1.",
            ".5",
            "1e",
            "+1",
            "\"",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\u{1}\"",
            "[",
            "]",
            "[1,]",
            "[,1]",
            "[1 2]",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{,}",
            "{a:1}",
            "{\"a\":1]",
            "[1}",
            "{\"a\":1 \"b\":2}",
            "1 2",
            "{} {}",
            "\"a\" b",
            "tru",
            "[true,fals]",
            "{\"a\":{\"b\":{\"c\":[1,2,{\"d\":null}]}}}",
        ];
        for text in texts {
            let reference = serde_json::from_str::<serde_json::Value>(text).is_ok();
            assert_eq!(Raw::parse(text).is_ok(), reference, "{text}");
        }
    }

    #[test]
    fn strings_end_where_they_end_at_every_offset() {
        for before in (0..20).chain(28..36).chain(60..72) {
            let plain = "é".repeat(before / 2) + &"x".repeat(before % 2);
            for (special, fine) in
                [("\\\"", true), ("\\\\", true), ("\u{1}", false), ("\u{1f}", false), (" ", true)]
            {
                for behind in 0..20 {
                    let text = format!("\"{plain}{special}{}\"", "\u{7f}".repeat(behind));
                    assert_eq!(Raw::parse(&text).is_ok(), fine, "{text:?}");
                    assert_eq!(Raw::parse(&text).is_ok(), serde_json::from_str::<String>(&text).is_ok());
                    assert!(Raw::parse(&text[..text.len() - 1]).is_err(), "{text:?}");
                }
            }
        }
    }

    #[test]
    fn refuses_half_surrogate_pairs() {
        for text in [r#""\ud800""#, r#""\udc00""#, r#""\ud800\u0041""#, r#""\ud800x""#, r#"{"\udfff":1}"#] {
            assert!(matches!(Raw::parse(text), Err(JsonError::LoneSurrogate(_))), "{text}");
        }
    }

    #[test]
    fn bounds_nesting() {
        let nested = |n: usize| "[".repeat(n) + &"]".repeat(n);
        assert!(Raw::parse(&nested(MAX_DEPTH)).is_ok());
        assert_eq!(Raw::parse(&nested(MAX_DEPTH + 1)), Err(JsonError::TooDeep));
        assert_eq!(Raw::parse(&"{\"a\":".repeat(100_000)), Err(JsonError::TooDeep));
    }

    #[test]
    fn members_come_in_order_with_decoded_keys() {
        let raw = Raw::parse(r#"{"a":1,"\u0062":[2, 3],"c\n":"x"}"#).unwrap();
        let members: Vec<_> = raw.members().unwrap().map(|(k, v)| (k.into_owned(), v.text())).collect();
        assert_eq!(members, [("a".into(), "1"), ("b".into(), "[2, 3]"), ("c\n".into(), "\"x\"")]);
        assert!(Raw::parse("[1]").unwrap().members().is_none());
        assert_eq!(Raw::parse("{}").unwrap().members().unwrap().count(), 0);
    }

    #[test]
    fn compact_length_and_depth() {
        for text in [r#" { "a" : [ 1 , "x y\u0041" ] } "#, "[]", "\"\\u00e9\"", r#"{"a":{"b":[[]]},"c":[]}"#]
        {
            let raw = Raw::parse(text).unwrap();
            let tree: serde_json::Value = serde_json::from_str(text).unwrap();
            assert_eq!(raw.compact_len(), tree.to_string().len(), "{text}");
        }
        let mut scanner = Scanner::new(" { \"a b\" : [ 1 ,\n2 ] } ");
        scanner.value().and_then(|_| scanner.end()).unwrap();
        assert_eq!(scanner.space(), 10);
        let mut members = Raw::parse(r#"{"a":{"b":[[]]},"c":[]}"#).unwrap().members().unwrap();
        assert_eq!((members.by_ref().count(), members.deepest()), (2, 4));
    }

    #[test]
    fn kinds() {
        let kind = |text| Raw::parse(text).unwrap().kind().name();
        assert_eq!(
            ["1", "-1", "1.0", "1e3", "\"\"", "[]", "{}", "null", "true"].map(kind),
            ["integer", "integer", "number", "number", "string", "array", "object", "null", "boolean"]
        );
    }
}
