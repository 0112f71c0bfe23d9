//! Reads a text of data, form by form. Nothing recurses: open forms are a list of levels.

use super::number::{MAX_DIGITS, number};
use crate::builtins::support::Builder;
use crate::error::{Error, Result};
use crate::machine::portable;
use crate::meter;
use crate::value::{Map, Set, Str, Value, is_readable_keyword, parts_of_name};

/// Deepest nesting, as that of JSON.
const MAX_DEPTH: usize = 128;

/// The kind of a form that is open while its parts are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OpenFormKind {
    List,
    Vector,
    Map,
    Set,
    /// A value after a tag.
    Tagged,
}

portable!(enum OpenFormKind { 0: List, 1: Vector, 2: Map, 3: Set, 4: Tagged });

/// A collection or a tagged value that is being read.
pub(super) struct OpenForm {
    kind: OpenFormKind,
    /// The namespace for the keys of a map that have none: `#:ns{…}`. For a tagged value, its tag.
    name: Option<Str>,
    items: Builder,
    /// Forms that `#_` discards.
    discarded: usize,
}

portable!(OpenForm { kind, name, items, discarded });

impl OpenForm {
    fn closing(&self) -> Option<u8> {
        match self.kind {
            OpenFormKind::List => Some(b')'),
            OpenFormKind::Vector => Some(b']'),
            OpenFormKind::Map | OpenFormKind::Set => Some(b'}'),
            OpenFormKind::Tagged => None,
        }
    }
}

/// A text that is being read, with all that has been read of it.
pub(super) struct EdnReader<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    pub(super) levels: Vec<OpenForm>,
    /// Forms that `#_` discards outside of collections.
    pub(super) discarded: usize,
}

/// Why reading stops.
pub(super) enum ReadStop {
    /// At the end of the first form, or of a text without one.
    Done(Option<Value>),
    /// At the end of a tagged value.
    Tagged(Str, Value),
}

/// Whether a byte ends a number or a name.
fn is_end(byte: u8) -> bool {
    byte.is_ascii_whitespace() || b",()[]{}\";".contains(&byte)
}

impl<'t> EdnReader<'t> {
    pub(super) fn error(&self, what: impl std::fmt::Display) -> Error {
        Error::type_error(format!("read-string: {what} at byte {}", self.at))
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Passes over white space, commas and comments.
    fn skip_blanks(&mut self) -> Result<()> {
        let start = self.at;
        while let Some(byte) = self.peek() {
            match byte {
                b';' => {
                    while self.peek().is_some_and(|byte| byte != b'\n') {
                        meter::uncharged(1);
                        self.at += 1;
                    }
                }
                byte if byte.is_ascii_whitespace() || byte == b',' => self.at += 1,
                _ => break,
            }
            meter::uncharged(1);
        }
        meter::charge_steps((self.at - start) as u64 / 16)
    }

    /// Reads on to the end of the first form or of a tagged value.
    pub(super) fn read(&mut self) -> Result<ReadStop> {
        loop {
            self.skip_blanks()?;
            meter::charge_steps(1)?;
            let Some(byte) = self.peek() else {
                let is_discarding = self.levels.last().map_or(self.discarded, |level| level.discarded) > 0;
                return match self.levels.last().map(OpenForm::closing) {
                    _ if is_discarding => Err(self.error("a form behind #_ is missing")),
                    Some(Some(closing)) => Err(self.error(format!("{} is missing", char::from(closing)))),
                    Some(None) => Err(self.error("a form behind a tag is missing")),
                    None => Ok(ReadStop::Done(None)),
                };
            };
            let value = match byte {
                b'(' | b'[' | b'{' => {
                    let kind = match byte {
                        b'(' => OpenFormKind::List,
                        b'[' => OpenFormKind::Vector,
                        _ => OpenFormKind::Map,
                    };
                    self.open(kind, None, 1)?;
                    continue;
                }
                b')' | b']' | b'}' => self.close(byte)?,
                b'"' => self.string()?,
                b'\\' => self.character()?,
                b'#' => match self.text.as_bytes().get(self.at + 1) {
                    Some(b'{') => {
                        self.open(OpenFormKind::Set, None, 2)?;
                        continue;
                    }
                    Some(b':') => {
                        self.open_namespaced()?;
                        continue;
                    }
                    Some(b'_') => {
                        self.at += 2;
                        *self.levels.last_mut().map_or(&mut self.discarded, |level| &mut level.discarded) +=
                            1;
                        continue;
                    }
                    Some(b'#') => self.special_float()?,
                    Some(byte) if byte.is_ascii_alphabetic() => {
                        self.open_tagged()?;
                        continue;
                    }
                    _ => return Err(self.error("only data can be read, not #")),
                },
                b'\'' | b'`' | b'~' | b'@' | b'^' => {
                    return Err(self.error(format!("only data can be read, not {}", char::from(byte))));
                }
                _ => self.atom()?,
            };
            if let Some(stop) = self.take(value)? {
                return Ok(stop);
            }
        }
    }

    /// Puts a value that has been read where it belongs. Reading stops if it is the last one, or that of a tag.
    pub(super) fn take(&mut self, value: Value) -> Result<Option<ReadStop>> {
        loop {
            let discarded = self.levels.last_mut().map_or(&mut self.discarded, |level| &mut level.discarded);
            if *discarded > 0 {
                *discarded -= 1;
                return Ok(None);
            }
            let Some(level) = self.levels.last_mut() else { return Ok(Some(ReadStop::Done(Some(value)))) };
            if level.kind != OpenFormKind::Tagged {
                level.items.push(value)?;
                return Ok(None);
            }
            let tag = self.levels.pop().and_then(|level| level.name).unwrap_or_else(|| Str::new(""));
            // What is discarded needs no meaning.
            if self.discarded == 0 && self.levels.iter().all(|level| level.discarded == 0) {
                return Ok(Some(ReadStop::Tagged(tag, value)));
            }
        }
    }

    fn open(&mut self, kind: OpenFormKind, name: Option<&str>, bytes: usize) -> Result<()> {
        if self.levels.len() == MAX_DEPTH {
            return Err(self.error(format!("nested deeper than {MAX_DEPTH} levels")));
        }
        self.at += bytes;
        let name = match name {
            Some(name) => {
                meter::reserve(name.len())?;
                Some(Str::new(name))
            }
            None => None,
        };
        self.levels.push(OpenForm { kind, name, items: Builder::new(), discarded: 0 });
        Ok(())
    }

    /// `#tag`
    fn open_tagged(&mut self) -> Result<()> {
        let tag = &self.token()?[1..];
        self.open(OpenFormKind::Tagged, Some(tag), 1 + tag.len())
    }

    /// `#:ns{`
    fn open_namespaced(&mut self) -> Result<()> {
        let namespace = &self.token()?[2..];
        if !is_readable_keyword(namespace) || namespace.contains('/') {
            return Err(self.error("an invalid namespace of a map"));
        }
        self.at += 2 + namespace.len();
        self.skip_blanks()?;
        if self.peek() != Some(b'{') {
            return Err(self.error("{ is missing behind the namespace of a map"));
        }
        self.open(OpenFormKind::Map, Some(namespace), 1)
    }

    fn close(&mut self, closing: u8) -> Result<Value> {
        let unmatched = || format!("unmatched {}", char::from(closing));
        let fits = |level: &OpenForm| level.closing() == Some(closing) && level.discarded == 0;
        if !self.levels.last().is_some_and(fits) {
            return Err(self.error(unmatched()));
        }
        let Some(mut level) = self.levels.pop() else { return Err(self.error(unmatched())) };
        let items = level.items.take_vector();
        let value = match level.kind {
            OpenFormKind::Map => {
                if items.len() % 2 == 1 {
                    return Err(self.error("a map with a key and no value ends"));
                }
                meter::charge_steps(items.len() as u64)?;
                meter::reserve(items.len() * Map::ENTRY_BYTES)?;
                let mut entries = Vec::with_capacity(items.len() / 2);
                let mut items = items.into_iter();
                while let (Some(key), Some(value)) = (items.next(), items.next()) {
                    let key = match &level.name {
                        Some(namespace) => in_namespace(key, namespace.as_str())?,
                        None => key,
                    };
                    entries.push((key, value));
                }
                Value::Map(Map::from_entries(entries))
            }
            OpenFormKind::Set => {
                meter::charge_steps(items.len() as u64)?;
                meter::reserve(2 * items.len() * Set::ELEMENT_BYTES)?;
                Value::Set(items.into_iter().collect())
            }
            OpenFormKind::List => Value::List(items),
            _ => Value::Vector(items),
        };
        self.at += 1;
        Ok(value)
    }

    fn string(&mut self) -> Result<Value> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = &self.text.as_bytes()[self.at..];
            let Some(plain) =
                rest.iter().inspect(|_| meter::uncharged(1)).position(|b| matches!(b, b'"' | b'\\'))
            else {
                return Err(self.error("\" is missing: the string does not end"));
            };
            meter::charge_steps(1 + plain as u64 / 16)?;
            crate::print::append(&mut out, &self.text[self.at..self.at + plain])?;
            self.at += plain;
            if self.peek() == Some(b'"') {
                self.at += 1;
                return Ok(Value::Str(Str::from_string(out)));
            }
            let c = self.escape()?;
            crate::print::grow_string(&mut out, c.len_utf8())?;
            out.push(c);
        }
    }

    /// The character after a backslash in a string.
    fn escape(&mut self) -> Result<char> {
        let kind = self.text[self.at + 1..].chars().next();
        let c = match kind {
            Some('n') => '\n',
            Some('t') => '\t',
            Some('r') => '\r',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some(c @ ('"' | '\\')) => c,
            Some('0'..='7') => {
                let (c, digits) = self.octal(self.at + 1)?;
                self.at += 1 + digits;
                return Ok(c);
            }
            Some('u') => {
                let unit = self.unit(self.at + 2)?;
                self.at += 6;
                if !(0xD800..0xDC00).contains(&unit) {
                    return char::from_u32(unit).ok_or_else(|| self.error("half a surrogate pair"));
                }
                if !self.text[self.at..].starts_with("\\u") {
                    return Err(self.error("half a surrogate pair"));
                }
                let low = self.unit(self.at + 2)?;
                self.at += 6;
                let pair = low.checked_sub(0xDC00).filter(|low| *low < 0x400);
                let code = pair.map(|low| 0x10000 + ((unit - 0xD800) << 10) + low);
                return code.and_then(char::from_u32).ok_or_else(|| self.error("half a surrogate pair"));
            }
            _ => return Err(self.error("an unknown escape in the string")),
        };
        self.at += 2;
        Ok(c)
    }

    /// The character of one to three octal digits, and how many they are.
    fn octal(&self, at: usize) -> Result<(char, usize)> {
        let digits = &self.text.as_bytes()[at..self.text.len().min(at + 3)];
        let digits = digits.iter().take_while(|byte| matches!(byte, b'0'..=b'7')).count();
        let code = u8::from_str_radix(&self.text[at..at + digits], 8);
        let code = code.map_err(|_| self.error("an octal escape is at most 377"))?;
        Ok((char::from(code), digits))
    }

    /// The four hexadecimal digits of a `\u`.
    fn unit(&self, at: usize) -> Result<u32> {
        let digits = self.text.get(at..at + 4).filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()));
        let unit = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        unit.ok_or_else(|| self.error("\\u takes four hexadecimal digits; found something else"))
    }

    fn character(&mut self) -> Result<Value> {
        let behind = &self.text[self.at + 1..];
        let Some(first) = behind.chars().next() else { return Err(self.error("a character is missing")) };
        let more = behind[first.len_utf8()..].bytes().position(is_end);
        let name = &behind[..more.map_or(behind.len(), |more| first.len_utf8() + more)];
        let text = match name {
            "newline" => "\n",
            "space" => " ",
            "tab" => "\t",
            "return" => "\r",
            "backspace" => "\u{8}",
            "formfeed" => "\u{c}",
            name if name.len() == 5 && name.starts_with('u') => {
                let unit = self.unit(self.at + 2)?;
                let c = char::from_u32(unit).ok_or_else(|| self.error("half a surrogate pair"))?;
                self.at += 6;
                return Ok(Value::str(c.encode_utf8(&mut [0; 4])));
            }
            name if name.len() > 1 && name.starts_with('o') && name.as_bytes()[1].is_ascii_digit() => {
                let (c, digits) = self.octal(self.at + 2)?;
                if name.len() != 1 + digits {
                    return Err(self.error("an unknown character"));
                }
                self.at += 1 + name.len();
                return Ok(Value::str(c.encode_utf8(&mut [0; 4])));
            }
            name => name,
        };
        if name.len() > MAX_DIGITS || Str::new(text).len() != 1 {
            return Err(self.error("an unknown character"));
        }
        self.at += 1 + name.len();
        Ok(Value::str(text))
    }

    /// The bytes up to the end of a number or a name.
    fn token(&mut self) -> Result<&'t str> {
        let rest = &self.text.as_bytes()[self.at..];
        let length = rest.iter().inspect(|_| meter::uncharged(1)).position(|byte| is_end(*byte));
        let token = &self.text[self.at..self.at + length.unwrap_or(rest.len())];
        meter::charge_steps(token.len() as u64 / 16)?;
        Ok(token)
    }

    fn special_float(&mut self) -> Result<Value> {
        let token = self.token()?;
        let value = match token {
            "##Inf" => f64::INFINITY,
            "##-Inf" => f64::NEG_INFINITY,
            "##NaN" => f64::NAN,
            _ => return Err(self.error("an unknown ##")),
        };
        self.at += token.len();
        Ok(Value::float(value))
    }

    fn atom(&mut self) -> Result<Value> {
        let token = self.token()?;
        let unsigned = token.strip_prefix(['+', '-']).unwrap_or(token);
        let value = if unsigned.starts_with(|c: char| c.is_ascii_digit()) {
            number(token).ok_or_else(|| self.error("an invalid number"))?
        } else if let Some(name) = token.strip_prefix(':') {
            if !is_readable_keyword(name) {
                let what = if name.starts_with(':') {
                    "a keyword with :: (write one colon)"
                } else {
                    "an invalid keyword"
                };
                return Err(self.error(what));
            }
            meter::reserve(name.len())?;
            Value::keyword(name)
        } else {
            match token {
                "nil" => Value::Nil,
                "true" => Value::True,
                "false" => Value::False,
                name => {
                    meter::reserve(name.len())?;
                    Value::Symbol(Str::new(name))
                }
            }
        };
        self.at += token.len();
        Ok(value)
    }
}

/// A key of a map of this namespace: a keyword or a symbol without one of its own gets it, and `_` stands for none.
fn in_namespace(key: Value, namespace: &str) -> Result<Value> {
    let text = match &key {
        Value::Keyword(keyword) => keyword.name(),
        Value::Symbol(symbol) => symbol.as_str(),
        _ => return Ok(key),
    };
    let bytes = namespace.len() + 1 + text.len();
    meter::charge_steps(1 + bytes as u64 / 16)?;
    meter::reserve(2 * bytes)?;
    let text = match parts_of_name(text) {
        (None, name) => format!("{namespace}/{name}"),
        (Some("_"), name) => name.to_owned(),
        (Some(_), _) => return Ok(key),
    };
    Ok(match key {
        Value::Keyword(_) => Value::keyword(&text),
        _ => Value::Symbol(Str::from_string(text)),
    })
}
