//! The reader: one pass over the bytes, no tree in between.

use super::keys::KeyCache;
use super::layouts::{LayoutId, Layouts};
use super::nesting::NestedReader;
use super::read_error::{MAX_NESTING, ReadError, ReadResult};
use super::{number, rows, strings};
use crate::error::Result;
use crate::meter;
use crate::number::{MAX_INTEGER_BITS, integer_too_large};
use crate::value::{Map, ReplyText, Str, Value, Vector};
use bytes::Bytes;
#[cfg(feature = "simdutf8")]
use simdutf8::compat::from_utf8;
use std::rc::Rc;
#[cfg(not(feature = "simdutf8"))]
use std::str::from_utf8;

/// White space between two places where others may have the thread.
const SPACES_AT_ONCE: usize = 1 << 16;
/// White space that takes as long as a value that is freed.
const SPACES_PER_UNIT: usize = 32;

/// Parses one JSON document into a value; `None` when the text is not JSON as ruling 10 defines it.
///
/// Charges steps and memory to the running program, and fails only at its limits.
pub fn parse(text: &[u8]) -> Result<Option<Value>> {
    meter::charge_steps(text.len() as u64 / 16)?;
    let Ok(text) = from_utf8(text) else { return Ok(None) };
    let mut parser = Parser::new(text);
    match parser.document() {
        Ok(value) => Ok(Some(value)),
        Err(ReadError::NotJson) => Ok(None),
        Err(ReadError::Limit(error)) => Err(error),
    }
}

/// The reading of a document from outside.
#[derive(Debug)]
pub(crate) enum DocumentReading {
    /// Its value.
    Value(Value),
    /// Its value, after so many halves of surrogate pairs that stood alone have become U+FFFD.
    Mended(Value, usize),
    /// It is not JSON as ruling 10 defines it; the sentence describes the fault.
    Malformed(String),
    /// It is JSON with a number that no program can hold; the sentence says so.
    TooLarge(String),
}

/// As [`parse`], for the reply of an upstream: its faults are not the program's. The maps remember that they came from a reply,
/// and the rows of a large one stay text until a program reads them.
///
/// Half a surrogate pair is no character, and no reason to lose the text around it (ruling 10, decision 162).
pub(crate) fn parse_reply(bytes: &Bytes) -> Result<DocumentReading> {
    let read = read_reply(bytes)?;
    let DocumentReading::Malformed(_) = &read else { return Ok(read) };
    let Some((mended, count)) = strings::without_half_pairs(bytes)? else { return Ok(read) };
    Ok(match read_reply(&Bytes::from(mended))? {
        DocumentReading::Value(value) => DocumentReading::Mended(value, count),
        // What else is wrong is told of the text as it came.
        DocumentReading::TooLarge(why) => DocumentReading::TooLarge(why),
        DocumentReading::Malformed(_) | DocumentReading::Mended(..) => read,
    })
}

fn read_reply(bytes: &Bytes) -> Result<DocumentReading> {
    meter::charge_steps(bytes.len() as u64 / 16)?;
    let text = match from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            return Ok(DocumentReading::Malformed(format!("no UTF-8 at byte {}", error.valid_up_to())));
        }
    };
    let mut parser = Parser::new(text);
    parser.reply = true;
    if text.len() >= rows::SHORTEST_REPLY && u32::try_from(text.len()).is_ok() {
        parser.rows_of = Some(ReplyText::new(bytes.clone()));
    }
    let document = parser.document();
    if let Some(text) = &parser.rows_of {
        text.share_among_rows();
    }
    match document {
        Ok(value) => match parser.too_large {
            None => Ok(DocumentReading::Value(value)),
            Some(digits) => Ok(DocumentReading::TooLarge(format!(
                "an integer of {digits} digits is more than the {MAX_INTEGER_BITS} bits that a program can hold"
            ))),
        },
        Err(ReadError::NotJson) => Ok(DocumentReading::Malformed(parser.complaint())),
        Err(ReadError::Limit(error)) => Err(error),
    }
}

/// A reader of one text.
pub(super) struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    /// Elements, keys and values of all arrays and objects that are open.
    stack: Vec<Value>,
    /// Bytes of `stack` as charged.
    charged: usize,
    keys: KeyCache,
    layouts: Layouts,
    /// Whether more documents may follow.
    repeats: bool,
    /// Whether this is the reply of an upstream.
    reply: bool,
    /// The reply, if its rows may be left as text.
    rows_of: Option<Rc<ReplyText>>,
    /// Where the values of a row begin.
    places: Vec<u16>,
    /// Digits of an integer of a reply that no program can hold.
    too_large: Option<usize>,
    /// Room for strings with escapes.
    scratch: String,
}

impl Drop for Parser<'_> {
    fn drop(&mut self) {
        meter::credit_memory(self.charged);
    }
}

impl NestedReader for Parser<'_> {
    fn place(&mut self) -> (&mut usize, &mut usize) {
        (&mut self.at, &mut self.depth)
    }
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str) -> Parser<'a> {
        Parser {
            text,
            at: 0,
            depth: 0,
            stack: Vec::new(),
            charged: 0,
            keys: KeyCache::default(),
            layouts: Layouts::default(),
            repeats: false,
            reply: false,
            too_large: None,
            rows_of: None,
            places: Vec::new(),
            scratch: String::new(),
        }
    }

    /// Starts over with another text, keeping the known keys.
    pub(super) fn restart(&mut self, text: &'a str) {
        self.text = text;
        (self.at, self.depth) = (0, 0);
        self.repeats = true;
        self.stack.clear();
    }

    /// The value that is the whole text.
    pub(super) fn document(&mut self) -> ReadResult<Value> {
        let value = self.value()?;
        self.skip_space();
        if self.at == self.text.len() { Ok(value) } else { Err(ReadError::NotJson) }
    }

    #[inline]
    fn peek(&self) -> u8 {
        // NUL is no token of JSON, so it can stand for the end.
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    #[inline]
    fn skip_space(&mut self) {
        while let b' ' | b'\n' | b'\r' | b'\t' = self.peek() {
            self.at += 1;
            if self.at.is_multiple_of(SPACES_AT_ONCE) {
                meter::uncharged(SPACES_AT_ONCE / SPACES_PER_UNIT);
            }
        }
    }

    /// The next byte that is no white space, not consumed.
    #[inline]
    fn token(&mut self) -> u8 {
        self.skip_space();
        self.peek()
    }

    fn word(&mut self, word: &str, value: Value) -> ReadResult<Value> {
        if self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            self.at += word.len();
            Ok(value)
        } else {
            Err(ReadError::NotJson)
        }
    }

    /// One value. Native recursion is bounded by [`MAX_NESTING`].
    fn value(&mut self) -> ReadResult<Value> {
        meter::charge_steps(1)?;
        match self.token() {
            b'"' => {
                self.at += 1;
                let text = strings::read(self.text, &mut self.at, &mut self.scratch)?;
                Ok(Value::Str(Str::new(text)))
            }
            b'{' => self.nested(Parser::object),
            b'[' => self.nested(Parser::array),
            b'-' | b'0'..=b'9' => {
                let (value, len) = number::read(&self.text[self.at..])?;
                self.at += len;
                match value {
                    Some(value) => Ok(value),
                    None => self.integer_too_large(&self.text[self.at - len..self.at]),
                }
            }
            b't' => self.word("true", Value::True),
            b'f' => self.word("false", Value::False),
            b'n' => self.word("null", Value::Nil),
            _ => Err(ReadError::NotJson),
        }
    }

    /// An integer that no program can hold: whose fault that is depends on where the text comes from.
    #[cold]
    fn integer_too_large(&mut self, text: &str) -> ReadResult<Value> {
        if !self.reply {
            return Err(ReadError::Limit(integer_too_large()));
        }
        self.too_large = Some(text.trim_start_matches('-').len());
        Ok(Value::Nil)
    }

    /// The fault in a text that is not JSON, for its author.
    #[cold]
    fn complaint(&self) -> String {
        if self.depth > MAX_NESTING {
            return format!("nested deeper than {MAX_NESTING} levels at byte {}", self.at);
        }
        let half_pair = strings::has_half_pair(&self.text.as_bytes()[self.at..]);
        let what = if half_pair { "half a surrogate pair in the string" } else { "no JSON" };
        format!("{what} at byte {}", self.at)
    }

    fn array(&mut self) -> ReadResult<Value> {
        if self.token() == b']' {
            self.at += 1;
            return Ok(Value::Vector(Vector::new()));
        }
        let start = self.stack.len();
        loop {
            let item = self.value()?;
            self.push(item)?;
            match self.token() {
                b',' => self.at += 1,
                b']' => break,
                _ => return Err(ReadError::NotJson),
            }
        }
        self.at += 1;
        meter::reserve((self.stack.len() - start) * size_of::<Value>())?;
        Ok(Value::Vector(self.stack.drain(start..).collect()))
    }

    fn object(&mut self) -> ReadResult<Value> {
        if self.token() == b'}' {
            self.at += 1;
            return Ok(Value::Map(Map::new()));
        }
        let start = self.stack.len();
        // Nine of ten objects are like the one before.
        let mut expected = self.layouts.last(self.depth);
        if let Some(row) = expected.and_then(|layout| self.row(layout).transpose()) {
            return row;
        }
        let mut count = 0;
        loop {
            if self.token() != b'"' {
                return Err(ReadError::NotJson);
            }
            self.at += 1;
            let rest = &self.text.as_bytes()[self.at..];
            if let Some(len) = expected.and_then(|layout| self.layouts.goes_on(layout, count, rest)) {
                meter::reserve(len)?;
                self.at += len + 1;
            } else {
                self.unexpected_key(&mut expected, count, start)?;
            }
            if self.token() != b':' {
                return Err(ReadError::NotJson);
            }
            self.at += 1;
            let value = self.value()?;
            self.push(value)?;
            count += 1;
            match self.token() {
                b',' => self.at += 1,
                b'}' => break,
                _ => return Err(ReadError::NotJson),
            }
        }
        self.at += 1;
        // Sorting: see to it that an object of many members pays for it, whether its order is known or not.
        meter::charge_steps(count as u64 * u64::from(count.ilog2()) / 4)?;
        meter::reserve(count * Map::ENTRY_BYTES)?;
        if let Some(layout) = expected {
            if let Some(map) = self.layouts.map(layout, &mut self.stack[start..]) {
                self.stack.truncate(start);
                return Ok(Value::Map(map));
            }
            self.put_keys_back(start, layout)?;
        }
        let mut names = Vec::new();
        let mut entries = Vec::with_capacity(count);
        let mut items = self.stack.drain(start..);
        while let (Some(key), Some(value)) = (items.next(), items.next()) {
            match &key {
                // A single object has no others of its kind to help.
                Value::Str(name) if self.repeats || self.depth > 1 => names.push(name.clone()),
                _ => {}
            }
            entries.push((key, value));
        }
        drop(items);
        let map = Map::from_entries(entries);
        if self.reply
            && let Some(shape) = map.shape()
        {
            shape.mark_reply();
        }
        self.layouts.learn(self.depth, names, &map, self.rows_of.as_ref());
        Ok(Value::Map(map))
    }

    /// The object after the brace at the cursor as text, if it has the expected layout and may be left as text. It costs as
    /// much as if it were read.
    fn row(&mut self, layout: LayoutId) -> ReadResult<Option<Value>> {
        let Some(of) = self.layouts.rows(layout) else { return Ok(None) };
        let (bytes, scratch) = (self.text.as_bytes(), &mut self.scratch);
        let checked = rows::check(bytes, self.at, &of.names, scratch, &mut self.places);
        let Some(checked) = checked.filter(|checked| u32::try_from(checked.owed).is_ok()) else {
            return Ok(None);
        };
        let count = of.names.len();
        meter::charge_steps(count as u64 + count as u64 * u64::from(count.ilog2()) / 4)?;
        meter::reserve(count * Map::ENTRY_BYTES + checked.owed)?;
        let row = Map::unread(of.clone(), self.at as u32, &self.places, checked.owed as u32);
        self.at = checked.end + 1;
        Ok(Some(Value::Map(row)))
    }

    /// Reads member name number `count` where it is not known to be the expected one.
    fn unexpected_key(
        &mut self,
        expected: &mut Option<LayoutId>,
        count: usize,
        start: usize,
    ) -> ReadResult<()> {
        let name = strings::read(self.text, &mut self.at, &mut self.scratch)?;
        if let Some(layout) = *expected
            && self.layouts.name(layout, count).is_some_and(|key| key.as_str() == name)
        {
            return Ok(());
        }
        let key = self.keys.get(name);
        if count == 0 {
            *expected = self.layouts.find(self.depth, &key);
        } else if let Some(layout) = expected.take() {
            self.put_keys_back(start, layout)?;
        }
        if expected.is_none() {
            self.push(Value::Str(key))?;
        }
        Ok(())
    }

    /// Gives up an expectation: puts the layout's names before the values that have been read so far.
    #[cold]
    fn put_keys_back(&mut self, start: usize, layout: LayoutId) -> ReadResult<()> {
        let values: Vec<Value> = self.stack.drain(start..).collect();
        for (index, value) in values.into_iter().enumerate() {
            let key = self.layouts.name(layout, index).cloned().ok_or(ReadError::NotJson)?;
            self.push(Value::Str(key))?;
            self.push(value)?;
        }
        Ok(())
    }

    /// Puts a value on the stack, which belongs to the program's memory.
    #[inline]
    fn push(&mut self, value: Value) -> ReadResult<()> {
        if self.stack.len() == self.stack.capacity() {
            self.grow()?;
        }
        self.stack.push(value);
        Ok(())
    }

    #[cold]
    fn grow(&mut self) -> ReadResult<()> {
        let wanted = (self.stack.capacity() * 2).max(16);
        let bytes = wanted * size_of::<Value>();
        meter::reserve(bytes)?;
        self.stack.reserve_exact(wanted - self.stack.len());
        meter::charge_memory(bytes - self.charged);
        self.charged = bytes;
        Ok(())
    }
}
