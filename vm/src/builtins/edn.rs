//! `read-string`: the value of a text of data, as programs write data (functions.md 26.1).
//!
//! It reads and never evaluates: a list is its parts, a name is a symbol.

use super::Builtin;
use super::namespaces::{CORE, EDN};
use super::row::{fun, section};
use super::strings::{is_readable_keyword, parts_of_name};
use super::support::Builder;
use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::meter;
use crate::value::{Map, Set, Str, Value};
use num_bigint::BigInt;

/// Deepest nesting, as that of JSON.
const MAX_DEPTH: usize = 128;
/// Most digits of a number, as in programs.
const MAX_DIGITS: usize = 100;

/// A collection that is being read.
struct Level<'t> {
    opening: u8,
    /// What the keys of a map without a namespace get: `#:ns{…}`.
    namespace: Option<&'t str>,
    items: Builder,
    /// Forms that `#_` discards.
    discarded: usize,
}

impl Level<'_> {
    fn closing(&self) -> u8 {
        match self.opening {
            b'(' => b')',
            b'[' => b']',
            _ => b'}',
        }
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    levels: Vec<Level<'t>>,
    /// Forms that `#_` discards outside of collections.
    discarded: usize,
}

/// Whether a byte ends a number or a name.
fn is_end(byte: u8) -> bool {
    byte.is_ascii_whitespace() || b",()[]{}\";".contains(&byte)
}

impl<'t> Reader<'t> {
    fn error(&self, what: impl std::fmt::Display) -> Error {
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

    /// The first form of the text, or nothing if there is none.
    fn read(mut self) -> Result<Option<Value>> {
        loop {
            self.skip_blanks()?;
            meter::charge_steps(1)?;
            let Some(byte) = self.peek() else {
                return match self.levels.last() {
                    Some(level) => Err(self.error(format!("{} is missing", char::from(level.closing())))),
                    None if self.discarded > 0 => Err(self.error("a form behind #_ is missing")),
                    None => Ok(None),
                };
            };
            let value = match byte {
                b'(' | b'[' | b'{' => {
                    self.open(byte, None, 1)?;
                    continue;
                }
                b')' | b']' | b'}' => self.close(byte)?,
                b'"' => self.string()?,
                b'\\' => self.character()?,
                b'#' => match self.text.as_bytes().get(self.at + 1) {
                    Some(b'{') => {
                        self.open(b'#', None, 2)?;
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
                    _ => return Err(self.error("only data can be read, not #")),
                },
                b'\'' | b'`' | b'~' | b'@' | b'^' => {
                    return Err(self.error(format!("only data can be read, not {}", char::from(byte))));
                }
                _ => self.atom()?,
            };
            let discarded = self.levels.last_mut().map_or(&mut self.discarded, |level| &mut level.discarded);
            if *discarded > 0 {
                *discarded -= 1;
            } else if let Some(level) = self.levels.last_mut() {
                level.items.push(value)?;
            } else {
                return Ok(Some(value));
            }
        }
    }

    fn open(&mut self, opening: u8, namespace: Option<&'t str>, bytes: usize) -> Result<()> {
        if self.levels.len() == MAX_DEPTH {
            return Err(self.error(format!("nested deeper than {MAX_DEPTH} levels")));
        }
        self.at += bytes;
        self.levels.push(Level { opening, namespace, items: Builder::new(), discarded: 0 });
        Ok(())
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
        self.open(b'{', Some(namespace), 1)
    }

    fn close(&mut self, closing: u8) -> Result<Value> {
        let unmatched = || format!("unmatched {}", char::from(closing));
        match self.levels.last() {
            Some(level) if level.closing() != closing || level.discarded > 0 => {
                return Err(self.error(unmatched()));
            }
            Some(_) => {}
            None => return Err(self.error(unmatched())),
        }
        let Some(mut level) = self.levels.pop() else { return Err(self.error(unmatched())) };
        let items = level.items.take_vector();
        let value = match level.opening {
            b'{' => {
                if items.len() % 2 == 1 {
                    return Err(self.error("a map with a key and no value ends"));
                }
                meter::charge_steps(items.len() as u64)?;
                meter::reserve(items.len() * Map::ENTRY_BYTES)?;
                let mut entries = Vec::with_capacity(items.len() / 2);
                let mut items = items.into_iter();
                while let (Some(key), Some(value)) = (items.next(), items.next()) {
                    let key = match level.namespace {
                        Some(namespace) => in_namespace(key, namespace)?,
                        None => key,
                    };
                    entries.push((key, value));
                }
                Value::Map(Map::from_entries(entries))
            }
            b'#' => {
                meter::charge_steps(items.len() as u64)?;
                meter::reserve(2 * items.len() * Set::ELEMENT_BYTES)?;
                Value::Set(items.into_iter().collect())
            }
            b'(' => Value::List(items),
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

    /// The character behind a backslash in a string.
    fn escape(&mut self) -> Result<char> {
        let kind = self.text[self.at + 1..].chars().next();
        let c = match kind {
            Some('n') => '\n',
            Some('t') => '\t',
            Some('r') => '\r',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some(c @ ('"' | '\\')) => c,
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

/// The number that a token writes: an integer in any of Clojure's ways, a float, a quotient.
fn number(token: &str) -> Option<Value> {
    if token.len() > MAX_DIGITS {
        return None;
    }
    let (sign, digits) = match token.strip_prefix(['+', '-']) {
        Some(digits) => (if token.starts_with('-') { "-" } else { "" }, digits),
        None => ("", token),
    };
    let integer = |digits: &str, radix| {
        let is_digits = !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix));
        let number = is_digits.then(|| BigInt::parse_bytes(format!("{sign}{digits}").as_bytes(), radix));
        number.flatten().map(Value::integer)
    };
    if let Some(digits) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        return integer(digits, 16);
    }
    if let Some((radix, digits)) = digits.split_once(['r', 'R']) {
        return integer(digits, radix.parse().ok().filter(|radix| (2..=36).contains(radix))?);
    }
    if let Some((over, under)) = digits.split_once('/') {
        let (over, under): (i64, i64) = (over.parse().ok()?, under.parse().ok()?);
        let over = if sign.is_empty() { over } else { -over };
        let exact = over.checked_rem(under)? == 0;
        return Some(if exact { Value::Int(over / under) } else { Value::float(over as f64 / under as f64) });
    }
    let is_integer = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    let digits = digits.strip_suffix('N').filter(|digits| is_integer(digits)).unwrap_or(digits);
    let digits = digits.strip_suffix('M').unwrap_or(digits);
    if is_integer(digits) {
        let is_octal = digits.len() > 1 && digits.starts_with('0');
        return integer(digits, if is_octal { 8 } else { 10 });
    }
    let is_float = digits.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
    let float = is_float.then(|| format!("{sign}{digits}").parse::<f64>().ok()).flatten()?;
    Some(Value::float(float))
}

/// `(read-string s)`, `(read-string {:eof v} s)`
fn read_string(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let blank = match args {
        [Value::Map(options), _] => options.get_flexible(&Value::keyword("eof")).cloned().unwrap_or_default(),
        [_] => Value::Nil,
        _ => return Err(Error::argument_types("read-string", args)),
    };
    match &args[args.len() - 1] {
        Value::Nil => Ok(Value::Nil),
        Value::Str(text) => {
            let reader = Reader { text: text.as_str(), at: 0, levels: Vec::new(), discarded: 0 };
            Ok(reader.read()?.unwrap_or(blank))
        }
        _ => Err(Error::argument_types("read-string", args)),
    }
}

/// The family's functions.
pub(super) static BUILTINS: &[Builtin] = &section("edn", "Data as text").of([fun(
    "read-string",
    CORE,
    "s | options s",
    read_string,
)
.also_in(EDN)
.doc("The first value of a text of data: numbers, strings, keywords, symbols, collections; nothing is evaluated")
.example(r#"(read-string "[1 :a \"b\" {x nil}]")"#, r#"[1 :a "b" {'x nil}]"#)
.example(r#"(map read-string ["12" "0.5" ":k"])"#, "[12 0.5 :k]")]);

#[cfg(test)]
mod tests {
    use crate::builtins::support::testing::display;
    use crate::value::Value;

    fn read(text: &str) -> String {
        display("read-string", [Value::str(text)])
    }

    #[test]
    fn data_is_read_as_programs_write_it() {
        for (text, value) in [
            ("42", "42"),
            ("-7 8", "-7"),
            ("+3", "3"),
            ("0x1F", "31"),
            ("-2r101", "-5"),
            ("017", "15"),
            ("12N", "12"),
            ("1.5M", "1.5"),
            ("3M", "3"),
            ("6/3", "2"),
            ("1/4", "0.25"),
            ("1e3", "1000.0"),
            ("123456789012345678901", "123456789012345678901"),
            ("##-Inf", "##-Inf"),
            (" ; comment\n nil", "nil"),
            ("true", "true"),
            (":a-b", ":a-b"),
            (":user/id", ":user/id"),
            ("#:user {:id 1 x 2 :a/b 3 :_/c 4 \"d\" 5}", "{:a/b 3 :c 4 :user/id 1 'user/x 2 \"d\" 5}"),
            ("a/b", "'a/b"),
            (r#""a\n\"\u00e9\uD83D\uDE00""#, "\"a\\n\\\"é😀\""),
            (r"[\a \space \u0041 \)]", r#"["a" " " "A" ")"]"#),
            ("[1, [2 [3]] {:a #{1 2}} #_ x #_#_ y z 4]", "[1 [2 [3]] {:a #{1 2}} 4]"),
            ("(+ 1 2)", "('+ 1 2)"),
            ("{:b 1 \"a\" 2}", "{:b 1 \"a\" 2}"),
            ("", "nil"),
            ("#_1", "nil"),
            ("#_1 2", "2"),
        ] {
            assert_eq!(read(text), value, "{text}");
        }
        assert_eq!(display("edn/read-string", [Value::Nil]), "nil");
        let options = crate::builtins::support::testing::read("{:eof :end}");
        assert_eq!(display("clojure.edn/read-string", [options, Value::str(" ")]), ":end");
    }

    #[test]
    fn what_is_no_data_is_refused_with_its_place() {
        for (text, what) in [
            ("[1", "] is missing at byte 2"),
            ("[1)", "unmatched ) at byte 2"),
            (")", "unmatched ) at byte 0"),
            ("{:a}", "a map with a key and no value ends at byte 3"),
            ("\"a", "\" is missing: the string does not end at byte 1"),
            ("'a", "only data can be read, not ' at byte 0"),
            ("#inst \"2024\"", "only data can be read, not # at byte 0"),
            ("12x", "an invalid number at byte 0"),
            (":a/b/c", "an invalid keyword at byte 0"),
            ("::a", "a keyword with :: (write one colon) at byte 0"),
            ("#:a/b{}", "an invalid namespace of a map at byte 0"),
            ("#::{}", "an invalid namespace of a map at byte 0"),
            ("#:a []", "{ is missing behind the namespace of a map at byte 4"),
            ("#_", "a form behind #_ is missing at byte 2"),
            (r#""\q""#, "an unknown escape in the string at byte 1"),
        ] {
            assert_eq!(read(text), format!("! type_error: read-string: {what}"), "{text}");
        }
        assert!(read(&"[".repeat(200)).contains("nested deeper than 128 levels"));
        assert!(display("read-string", [Value::Int(1)]).starts_with("! type_error: read-string: "));
    }
}
