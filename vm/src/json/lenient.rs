//! Nearly JSON: JSON5 and the literals of Python.
//!
//! Servers answer so that print their data instead of encoding it: `[{'id': 1, 'active': True, 'note': None}]`.

use super::nesting::NestedReader;
use super::parse;
use super::read_error::{ReadError, ReadResult};
use crate::error::Result;
use crate::meter;
use crate::print::grow_string;
use crate::value::{Map, Str, Value, Vector};
use num_bigint::BigInt;
use num_traits::Num;
use std::str::from_utf8;

/// Bytes that are looked through in one go, and that take as long as a value that is freed.
const PIECE: usize = 16 << 10;
const BYTES_PER_UNIT: usize = 16;

/// Parses one document: JSON, or a variant with single quotes, the words of Python and JavaScript (`True False None`,
/// `undefined NaN Infinity`), trailing commas, comments, keys without quotes, tuples, and numbers such as `+1`, `.5` and
/// `0x1F`. `None` if the text is not even that.
///
/// Charges steps and memory to the running program, and fails only at its limits.
pub(crate) fn parse_lenient(text: &str) -> Result<Option<Value>> {
    if let Some(value) = parse::parse(text.as_bytes())? {
        return Ok(Some(value));
    }
    LenientReader { text, at: 0, paid: 0, depth: 0, is_python: false }.read()
}

/// Parses a text that is no JSON but wholly a list or a dictionary as Python prints them (decision 171); `None` for every
/// other text, also for one with comments or keys without quotes, which a person has written.
///
/// Charges steps and memory to the running program, and fails only at its limits.
pub(crate) fn parse_python(text: &[u8]) -> Result<Option<Value>> {
    let text = text.trim_ascii();
    let ([b'[', .., b']'] | [b'{', .., b'}']) = text else { return Ok(None) };
    meter::charge_steps(text.len() as u64 / 16)?;
    let Ok(text) = from_utf8(text) else { return Ok(None) };
    LenientReader { text, at: 0, paid: 0, depth: 0, is_python: true }.read()
}

struct LenientReader<'a> {
    text: &'a str,
    at: usize,
    /// Where the text begins that has not been charged.
    paid: usize,
    depth: usize,
    /// Whether only the printed form of Python is accepted.
    is_python: bool,
}

impl NestedReader for LenientReader<'_> {
    fn place(&mut self) -> (&mut usize, &mut usize) {
        (&mut self.at, &mut self.depth)
    }
}

impl<'a> LenientReader<'a> {
    fn read(mut self) -> Result<Option<Value>> {
        match self.document() {
            Ok(value) => Ok(Some(value)),
            Err(ReadError::NotJson) => Ok(None),
            Err(ReadError::Limit(error)) => Err(error),
        }
    }

    fn document(&mut self) -> ReadResult<Value> {
        self.text = self.text.trim_start_matches('\u{feff}');
        self.skip_space()?;
        let value = self.value()?;
        self.skip_space()?;
        self.pay()?;
        if self.at == self.text.len() { Ok(value) } else { Err(ReadError::NotJson) }
    }

    /// Charges for the text read and for the next piece, so that a text which soon proves invalid costs little.
    fn pay(&mut self) -> ReadResult<()> {
        while self.paid <= self.at && self.paid < self.text.len() {
            let piece = PIECE.min(self.text.len() - self.paid);
            meter::charge_steps(piece as u64 / 4)?;
            self.paid += piece;
        }
        Ok(())
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Takes `text` if it comes next.
    fn take(&mut self, text: &str) -> bool {
        let comes = self.rest().starts_with(text);
        self.at += if comes { text.len() } else { 0 };
        comes
    }

    /// Takes the characters that are `of` a kind.
    fn run(&mut self, of: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let mut end = 0;
        while end < rest.len() {
            let piece = &rest[end..rest.ceil_char_boundary(end + PIECE)];
            let of_it = piece.find(|c| !of(c));
            end += of_it.unwrap_or(piece.len());
            if of_it.is_some() {
                break;
            }
            meter::uncharged(piece.len() / BYTES_PER_UNIT);
        }
        self.at += end;
        &rest[..end]
    }

    /// White space and comments.
    fn skip_space(&mut self) -> ReadResult<()> {
        loop {
            meter::uncharged(1);
            self.run(char::is_whitespace);
            if self.is_python {
                return Ok(());
            }
            if self.take("//") || self.take("#") {
                self.run(|c| c != '\n');
            } else if self.take("/*") {
                let end = self.rest().find("*/").ok_or(ReadError::NotJson)?;
                self.at += end + 2;
            } else {
                return Ok(());
            }
        }
    }

    /// One value. Native recursion is bounded by [`NestedReader`].
    fn value(&mut self) -> ReadResult<Value> {
        self.pay()?;
        meter::charge_steps(2)?;
        match self.peek() {
            Some('[') => self.nested(|reader| reader.sequence("]")),
            Some('(') => self.nested(|reader| reader.sequence(")")),
            Some('{') => self.nested(LenientReader::object),
            Some('"' | '\'') => self.string().map(|text| Value::Str(Str::from_string(text))),
            Some('0'..='9' | '+' | '-' | '.') => self.number(),
            _ => self.word(),
        }
    }

    /// The elements of a list or a tuple, and its closing character.
    fn sequence(&mut self, close: &str) -> ReadResult<Value> {
        let mut items = Vector::new();
        loop {
            self.skip_space()?;
            if self.take(close) {
                return Ok(Value::Vector(items));
            }
            items.push(self.value()?);
            meter::check_memory()?;
            self.separator(close)?;
        }
    }

    fn object(&mut self) -> ReadResult<Value> {
        let mut map = Map::new();
        loop {
            self.skip_space()?;
            if self.take("}") {
                return Ok(Value::Map(map));
            }
            let key = self.key()?;
            self.skip_space()?;
            if !self.take(":") {
                return Err(ReadError::NotJson);
            }
            self.skip_space()?;
            let value = self.value()?;
            meter::charge_steps(u64::from((map.len() + 1).ilog2()))?;
            meter::reserve(Map::ENTRY_BYTES)?;
            map.insert(Value::Str(key), value);
            self.separator("}")?;
        }
    }

    /// A comma, or the closing character of the collection, which stays.
    fn separator(&mut self, close: &str) -> ReadResult<()> {
        self.skip_space()?;
        if self.take(",") || self.rest().starts_with(close) { Ok(()) } else { Err(ReadError::NotJson) }
    }

    /// A key: a string, a bare name, or a number as Python's dictionaries have it.
    fn key(&mut self) -> ReadResult<Str> {
        match self.peek() {
            Some('"' | '\'') => self.string().map(Str::from_string),
            _ => {
                let name = self.run(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | '-' | '.'));
                let is_numeric = name.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit());
                let is_pythons = is_numeric || matches!(name, "None" | "True" | "False");
                if name.is_empty() || (self.is_python && !is_pythons) {
                    return Err(ReadError::NotJson);
                }
                meter::reserve(name.len())?;
                Ok(Str::new(name))
            }
        }
    }

    fn word(&mut self) -> ReadResult<Value> {
        Ok(match self.run(char::is_alphanumeric) {
            "null" | "None" | "undefined" | "nil" => Value::Nil,
            "true" | "True" => Value::True,
            "false" | "False" => Value::False,
            "NaN" | "nan" => Value::float(f64::NAN),
            "Infinity" | "inf" => Value::float(f64::INFINITY),
            // `b'…'`, `r'…'` and `u'…'` of Python.
            "b" | "u" | "r" if matches!(self.peek(), Some('"' | '\'')) => {
                Value::Str(Str::from_string(self.string()?))
            }
            _ => return Err(ReadError::NotJson),
        })
    }

    fn number(&mut self) -> ReadResult<Value> {
        let sign = self.run(|c| matches!(c, '+' | '-'));
        let negative = match sign {
            "" | "+" => false,
            "-" => true,
            _ => return Err(ReadError::NotJson),
        };
        if let Some('I' | 'i' | 'N' | 'n') = self.peek() {
            return match self.word()? {
                Value::Float(x) => Ok(Value::float(if negative { -x.get() } else { x.get() })),
                _ => Err(ReadError::NotJson),
            };
        }
        let text = self.run(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_'));
        // An exponent may have a sign of its own.
        let exponent =
            text.ends_with(['e', 'E']) && !text.starts_with("0x") && matches!(self.peek(), Some('+' | '-'));
        let mut digits = text.replace('_', "");
        if exponent {
            digits.push_str(self.run(|c| matches!(c, '+' | '-')));
            digits.push_str(self.run(|c| c.is_ascii_digit()));
        }
        let radix = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
        let whole = match radix {
            Some(hexadecimal) => BigInt::from_str_radix(hexadecimal, 16).map_err(|_| ReadError::NotJson)?,
            None if digits.bytes().all(|byte| byte.is_ascii_digit()) && digits.len() < 400 => {
                digits.parse().map_err(|_| ReadError::NotJson)?
            }
            None => {
                let is_decimal = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.');
                return match digits.parse::<f64>() {
                    Ok(x) if x.is_finite() && is_decimal => Ok(Value::float(if negative { -x } else { x })),
                    _ => Err(ReadError::NotJson),
                };
            }
        };
        Ok(Value::integer(if negative { -whole } else { whole }))
    }

    fn string(&mut self) -> ReadResult<String> {
        let quote = if self.take("'''") || self.take("\"\"\"") {
            &self.text[self.at - 3..self.at]
        } else {
            self.at += 1;
            &self.text[self.at - 1..self.at]
        };
        // Two quotes are the empty string, and nothing else begins with them.
        if quote.len() == 1 && self.take(quote) {
            return Ok(String::new());
        }
        let mut out = String::new();
        loop {
            let plain = self.run(|c| c != '\\' && !quote.starts_with(c));
            grow_string(&mut out, plain.len() + 4)?;
            meter::charge_steps(1)?;
            out.push_str(plain);
            if self.take(quote) {
                meter::reserve(out.len())?;
                return Ok(out);
            }
            match self.peek() {
                None => return Err(ReadError::NotJson),
                Some('\\') => {
                    self.at += 1;
                    self.escape(&mut out)?;
                }
                Some(single) => {
                    self.at += single.len_utf8();
                    out.push(single);
                }
            }
        }
    }

    /// The character after a backslash.
    fn escape(&mut self, out: &mut String) -> ReadResult<()> {
        let c = self.peek().ok_or(ReadError::NotJson)?;
        self.at += c.len_utf8();
        let plain = match c {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'v' => '\u{b}',
            'a' => '\u{7}',
            '0' => '\0',
            '\n' => return Ok(()),
            'x' => self.code(2)?,
            'u' => {
                let high = self.unit(4)?;
                match char::from_u32(high) {
                    Some(c) => c,
                    // A pair of surrogates.
                    None if self.take("\\u") => {
                        let low = self.unit(4)?;
                        let units = [high, low].map(|unit| u16::try_from(unit).unwrap_or(0));
                        match char::decode_utf16(units).next() {
                            Some(Ok(c)) => c,
                            _ => return Err(ReadError::NotJson),
                        }
                    }
                    None => return Err(ReadError::NotJson),
                }
            }
            'U' => self.code(8)?,
            '"' | '\'' | '\\' | '/' => c,
            // Python leaves unknown escapes as they are.
            other => {
                out.push('\\');
                other
            }
        };
        out.push(plain);
        Ok(())
    }

    fn unit(&mut self, digits: usize) -> ReadResult<u32> {
        let text = self.rest().get(..digits).ok_or(ReadError::NotJson)?;
        self.at += digits;
        u32::from_str_radix(text, 16).map_err(|_| ReadError::NotJson)
    }

    fn code(&mut self, digits: usize) -> ReadResult<char> {
        char::from_u32(self.unit(digits)?).ok_or(ReadError::NotJson)
    }
}

#[cfg(test)]
mod tests {
    use super::{parse_lenient, parse_python};
    use crate::print;
    use crate::value::Value;

    fn shown(value: Option<Value>) -> String {
        match value {
            Some(value) => print::readable(&value).expect("within the limits"),
            None => "not JSON".to_owned(),
        }
    }

    fn read(text: &str) -> String {
        shown(parse_lenient(text).expect("within the limits"))
    }

    #[test]
    fn what_python_prints_is_told_from_what_people_write() {
        for (text, value) in [
            ("[{'id': 1, 'ok': True, 'note': None}]", "[{\"id\" 1 \"note\" nil \"ok\" true}]"),
            ("\n{\"it's\": (1, 'x')} ", "{\"it's\" [1 \"x\"]}"),
            ("[1, 'x']", "[1 \"x\"]"),
            ("{1: 'a', -2: 'b', None: 'c'}", "{\"-2\" \"b\" \"1\" \"a\" \"None\" \"c\"}"),
            ("[('a', 1), ('b', 2.5)]", "[[\"a\" 1] [\"b\" 2.5]]"),
        ] {
            assert_eq!(shown(parse_python(text.as_bytes()).expect("within the limits")), value, "{text}");
        }
        for text in [
            "[link](http://h)",
            "[INFO] started [1]",
            "{name}",
            "{name: 'x'}",
            "[1, # one\n 2]",
            "{'a': 1} {'b': 2}",
            "[datetime.datetime(2026, 1, 1)]",
            "(1, 'x')",
            "'x'",
            "None",
            "[",
            "[}",
            "",
        ] {
            assert_eq!(
                shown(parse_python(text.as_bytes()).expect("within the limits")),
                "not JSON",
                "{text}"
            );
        }
    }

    #[test]
    fn what_servers_print_is_read() {
        for (text, value) in [
            (r#"{"a": [1, 2.5]}"#, r#"{"a" [1 2.5]}"#),
            (
                "[{'id': 1, 'name': 'O\\'Hara', 'ok': True, 'note': None}]",
                r#"[{"id" 1 "name" "O'Hara" "note" nil "ok" true}]"#,
            ),
            (r#"[{'name': "it's", 'n': False}]"#, r#"[{"n" false "name" "it's"}]"#),
            ("{a: 1, b_c: 'x', $d: undefined,}", r#"{"$d" nil "a" 1 "b_c" "x"}"#),
            ("// head\n[1, /* two */ 2, # three\n 3,]", "[1 2 3]"),
            ("(1, 'a', (2,))", r#"[1 "a" [2]]"#),
            ("[+1, -.5, 0x1F, 1e3, 2E-1, 1_000, nan, -inf]", "[1 -0.5 31 1000.0 0.2 1000 ##NaN ##-Inf]"),
            ("{1: 'a', 2: 'b'}", r#"{"1" "a" "2" "b"}"#),
            (r#"['\x41é\U0001F600\n', '😀', '''a'b''', u'x', '']"#, r#"["Aé😀\n" "😀" "a'b" "x" ""]"#),
            ("[123456789012345678901234567890]", "[123456789012345678901234567890]"),
            ("  'text'  ", r#""text""#),
        ] {
            assert_eq!(read(text), value, "{text}");
        }
    }

    #[test]
    fn what_is_no_data_is_none() {
        for text in [
            "",
            "[1 2]",
            "{'a' 1}",
            "['a",
            "[1,,2]",
            "foo",
            "[foo]",
            "{'a': }",
            "--1",
            "1x",
            "[1]]",
            "/* open",
            "datetime.date(2024, 1, 2)",
            "0x",
            "'\\ud800'",
            "é",
            "'\\xé'",
            "{:a 1}",
        ] {
            assert_eq!(read(text), "not JSON", "{text}");
        }
        let deep = "[".repeat(129) + "," + &"]".repeat(129);
        assert_eq!(read(&deep), "not JSON");
    }
}
