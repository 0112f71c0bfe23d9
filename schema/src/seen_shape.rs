//! The shape of a value that was seen: `{"count" int, "matches" [{"id" int "title"}]}`. Keys and types, never values: below the
//! outermost level a name alone is that of a string.
//!
//! It is read from the beginning of the value's JSON, which may end anywhere. Keys that are data (a map by e-mail address)
//! never show: [`are_names`] is the rule.

use std::fmt::Write as _;

use ptc_base::text::string_literal;

/// Most keys of a map that are shown.
const MAX_KEYS: usize = 12;
/// Nesting that is shown.
const MAX_DEPTH: usize = 4;
/// Longest shape, in bytes.
const MAX_BYTES: usize = 300;
/// Most keys of a record; a map of more is a table.
const MOST_NAMES: usize = 32;
/// Longest name, in bytes.
const LONGEST_NAME: usize = 40;
/// Longest string whose kind is determined, in bytes.
const LONGEST_KIND: usize = 40;

/// Bytes of a value's JSON from which its shape is read.
pub const SAMPLE_BYTES: usize = 4096;

/// The shape of a value, and where it ends.
pub(crate) struct SeenValue {
    pub(crate) shape: String,
    /// Bytes up to its end, white space after it included.
    pub(crate) end: usize,
    /// Whether its strings are in single quotes, or its words are `True`, `False` or `None`: it is no JSON.
    pub(crate) is_python: bool,
}

/// The shape of the value that begins like this, in JSON or as Python prints it; `None` if it is neither.
pub(crate) fn seen_value(json: &[u8]) -> Option<SeenValue> {
    let mut reader = Reader { json, at: 0, is_python: false };
    let seen = reader.value(0)?;
    let mut shape = String::new();
    show(&seen, 0, &mut shape);
    reader.token();
    Some(SeenValue { shape, end: reader.at.min(json.len()), is_python: reader.is_python })
}

/// Whether keys are the names of a record's fields: few, and each like an identifier.
pub fn are_names<'k>(keys: impl IntoIterator<Item = &'k str>) -> bool {
    let mut count = 0;
    keys.into_iter().all(|key| {
        count += 1;
        count <= MOST_NAMES && is_name(key)
    })
}

/// Whether a key is like an identifier: a letter first, no spaces, and not mostly digits.
fn is_name(key: &str) -> bool {
    let digits = key.bytes().filter(u8::is_ascii_digit).count();
    key.len() <= LONGEST_NAME
        && key.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '$'))
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-$?!".contains(&byte))
        && digits * 2 <= key.len()
        && digits <= 4
        && !is_hash(key)
}

/// Whether a key is the text of many random bits that may happen to have few digits: a UUID, or a long row of hex digits.
fn is_hash(key: &str) -> bool {
    let hex = key.bytes().filter(u8::is_ascii_hexdigit).count();
    let hyphens = key.bytes().filter(|byte| *byte == b'-').count();
    hex >= 16 && hex + hyphens == key.len()
}

/// The kind of a string, as far as programs treat it differently: a number in quotes, a date or a time of ISO 8601, or any
/// text.
fn string_kind(text: &str) -> &'static str {
    let pattern: String =
        text.chars().take(LONGEST_KIND + 1).map(|c| if c.is_ascii_digit() { '9' } else { c }).collect();
    let number = pattern.strip_prefix('-').unwrap_or(&pattern);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "9"));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte == b'9');
    if pattern == "9999-99-99" {
        "date"
    } else if pattern.starts_with("9999-99-99T99:99") && pattern.len() <= LONGEST_KIND {
        "time"
    } else if is_digits(whole) && is_digits(fraction) && pattern.len() <= LONGEST_KIND {
        "digits"
    } else {
        "string"
    }
}

/// The known part of a value.
#[derive(Clone, Debug, PartialEq)]
enum Seen {
    Scalar(&'static str),
    /// With its first element, if it was seen.
    List(Option<Box<Seen>>),
    /// The entries that were seen, and whether these are all.
    Map(Vec<(String, Seen)>, bool),
    /// It begins after the end of the sample, or nests too deep.
    Cut,
}

impl Seen {
    /// The shape without names, which is common to values of one table.
    fn kind(&self) -> &'static str {
        match self {
            Seen::Scalar("digits" | "date" | "time") => "string",
            Seen::Scalar(word) => word,
            Seen::List(_) => "list",
            Seen::Map(..) => "map",
            Seen::Cut => "cut",
        }
    }
}

/// Whether the entries are a record. A map whose keys are data has keys that are no names, or values that are all alike:
/// maps with the same keys, or many of one kind.
fn is_record(entries: &[(String, Seen)]) -> bool {
    if !are_names(entries.iter().map(|(key, _)| key.as_str())) {
        return false;
    }
    let [(_, first), rest @ ..] = entries else { return true };
    let alike = rest.iter().all(|(_, seen)| seen.kind() == first.kind() || *seen == Seen::Cut);
    if rest.is_empty() || !alike {
        return true;
    }
    match first {
        Seen::Map(fields, _) => {
            let names =
                |fields: &[(String, Seen)]| fields.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>();
            let fields = names(fields);
            !rest.iter().any(|(_, seen)| matches!(seen, Seen::Map(other, _) if names(other) == fields))
        }
        Seen::List(_) => entries.len() < 4,
        Seen::Scalar(_) if first.kind() == "string" => entries.len() < 12,
        Seen::Scalar(_) => entries.len() < 5,
        Seen::Cut => true,
    }
}

fn show(seen: &Seen, depth: usize, out: &mut String) {
    match seen {
        Seen::Scalar(word) => out.push_str(word),
        Seen::Cut => out.push('…'),
        Seen::List(None) => out.push_str("[]"),
        Seen::List(Some(first)) => {
            out.push('[');
            show(first, depth, out);
            out.push(']');
        }
        Seen::Map(entries, _) if entries.is_empty() => out.push_str("{}"),
        Seen::Map(entries, _) if depth >= MAX_DEPTH || !is_record(entries) => out.push_str("{…}"),
        Seen::Map(entries, complete) => {
            out.push('{');
            let mut shown = 0;
            for (key, value) in entries.iter().take(MAX_KEYS) {
                if out.len() > MAX_BYTES {
                    break;
                }
                if shown > 0 {
                    out.push_str(if depth == 0 { ", " } else { " " });
                }
                shown += 1;
                let _ = write!(out, "{}", string_literal(key));
                if depth == 0 || !matches!(value, Seen::Scalar("string") | Seen::Cut) {
                    out.push(' ');
                    show(value, depth + 1, out);
                }
            }
            if shown < entries.len() || !complete {
                out.push_str(" …");
            }
            out.push('}');
        }
    }
}

/// Reads JSON, or the printed form of Python (decision 171), that may end anywhere. Text after a mistake is skipped: whether a
/// text is data is decided elsewhere.
struct Reader<'a> {
    json: &'a [u8],
    at: usize,
    is_python: bool,
}

impl Reader<'_> {
    fn token(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.json.get(self.at) {
            self.at += 1;
        }
        self.json.get(self.at).copied()
    }

    /// The value at the cursor; `None` if it is none, or begins after the end.
    fn value(&mut self, depth: usize) -> Option<Seen> {
        let first = self.token()?;
        Some(match first {
            b'{' => self.map(depth),
            b'[' => self.list(depth, b']'),
            b'(' => {
                self.is_python = true;
                self.list(depth, b')')
            }
            b'"' | b'\'' => Seen::Scalar(self.string().map_or("string", |text| string_kind(&text))),
            b't' | b'f' | b'n' | b'T' | b'F' | b'N' | b'-' | b'0'..=b'9' => self.word(first),
            _ => return None,
        })
    }

    fn word(&mut self, first: u8) -> Seen {
        self.is_python |= matches!(first, b'T' | b'F' | b'N');
        let rest = &self.json[self.at..];
        let end = rest.iter().position(|byte| b",]}) \n\r\t".contains(byte)).unwrap_or(rest.len());
        self.at += end;
        Seen::Scalar(match first {
            b't' | b'f' | b'T' | b'F' => "bool",
            b'n' | b'N' => "nil",
            _ if rest[..end].iter().any(|byte| b".eE".contains(byte)) => "float",
            _ => "int",
        })
    }

    /// The string at the cursor, decoded; `None` if its end is not there, or if it is Python's and has escapes.
    #[expect(clippy::disallowed_methods, reason = "entry point: Reader.string")]
    fn string(&mut self) -> Option<String> {
        let start = self.at;
        let quote = self.json[start];
        self.is_python |= quote == b'\'';
        self.at += 1;
        loop {
            match *self.json.get(self.at)? {
                byte if byte == quote => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        let text = &self.json[start..self.at];
        match quote {
            b'"' => serde_json::from_slice(text).ok(),
            _ if text.contains(&b'\\') => None,
            _ => std::str::from_utf8(&text[1..text.len() - 1]).ok().map(str::to_owned),
        }
    }

    fn map(&mut self, depth: usize) -> Seen {
        self.at += 1;
        let mut entries = Vec::new();
        loop {
            match self.token() {
                Some(b'}') => {
                    self.at += 1;
                    return Seen::Map(entries, true);
                }
                Some(b',') => self.at += 1,
                Some(b'"' | b'\'') => {
                    let Some(key) = self.string() else { break };
                    if self.token() != Some(b':') {
                        break;
                    }
                    self.at += 1;
                    let value = self.nested(depth);
                    let cut = value == Seen::Cut;
                    entries.push((key, value));
                    if cut && self.at >= self.json.len() {
                        break;
                    }
                }
                _ => break,
            }
        }
        self.at = self.json.len();
        Seen::Map(entries, false)
    }

    fn list(&mut self, depth: usize, close: u8) -> Seen {
        self.at += 1;
        let mut first = None;
        loop {
            match self.token() {
                Some(byte) if byte == close => {
                    self.at += 1;
                    break;
                }
                Some(b',') => self.at += 1,
                None => break,
                Some(_) => {
                    let before = self.at;
                    let element = self.nested(depth);
                    first.get_or_insert_with(|| Box::new(element));
                    if self.at == before {
                        self.at = self.json.len();
                        break;
                    }
                }
            }
        }
        Seen::List(first)
    }

    /// A value inside another one. Native recursion is bounded: deeper ones are skipped.
    fn nested(&mut self, depth: usize) -> Seen {
        if depth < MAX_DEPTH {
            return self.value(depth + 1).unwrap_or(Seen::Cut);
        }
        let mut open = 0_usize;
        loop {
            match self.token() {
                None => return Seen::Cut,
                Some(b'"' | b'\'') => {
                    if self.string().is_none() {
                        self.at = self.json.len();
                        return Seen::Cut;
                    }
                }
                Some(b'{' | b'[' | b'(') => {
                    open += 1;
                    self.at += 1;
                }
                Some(b'}' | b']' | b')') if open == 0 => return Seen::Cut,
                Some(b'}' | b']' | b')') => {
                    open -= 1;
                    self.at += 1;
                }
                Some(b',') if open == 0 => return Seen::Cut,
                Some(_) => self.at += 1,
            }
            if open == 0
                && !matches!(self.json.get(self.at), Some(byte) if byte.is_ascii_alphanumeric() || b".+-".contains(byte))
            {
                return Seen::Cut;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(json: &str) -> String {
        seen_value(json.as_bytes()).unwrap().shape
    }

    #[test]
    fn keys_and_types_are_shown() {
        assert_eq!(
            of(
                r#"{"count": 2, "matches": [{"id": 1, "title": "x", "tags": ["a"]}, {"id": 2}], "next": null}"#
            ),
            r#"{"count" int, "matches" [{"id" int "title" "tags" [string]}], "next" nil}"#
        );
        assert_eq!(
            of(
                r#"{"total": "12.50", "rows": [{"ts": "1772.01", "on": "2026-03-01", "at": "2026-03-01T10:00:00+01:00", "n": -1, "v": "1.2.3", "who": null}]}"#
            ),
            r#"{"total" digits, "rows" [{"ts" digits "on" date "at" time "n" int "v" "who" nil}]}"#
        );
        assert_eq!(of("[]"), "[]");
        assert_eq!(of("[1.5, 2]"), "[float]");
        assert_eq!(of(" \"x\" "), "string");
        assert_eq!(of("true"), "bool");
        assert_eq!(
            of(r#"{"a":{"b":{"c":{"d":{"e":{"f":1}}}}}, "z": 1}"#),
            r#"{"a" {"b" {"c" {"d" {…}}}}, "z" int}"#
        );
        assert_eq!(
            of("[{'id': 1, 'ok': True, 'note': None, 'at': (1, 'x')}]"),
            r#"[{"id" int, "ok" bool, "note" nil, "at" [int]}]"#
        );
        assert_eq!(of("{'id': 1.5, 'ok': False}"), r#"{"id" float, "ok" bool}"#);
        assert!(seen_value(b"plain text").is_none() && seen_value(b"").is_none());
        let two = seen_value(b"{\"a\": 1} \n{\"a\": 2}").unwrap();
        assert_eq!((two.end, two.is_python), (10, false));
        assert!(seen_value(b"{'a': None}").unwrap().is_python);
    }

    #[test]
    fn what_was_cut_ends_in_dots() {
        let whole = r#"{"count": 2, "matches": [{"id": 1, "title": "a \" quote"}]}"#;
        for end in 1..whole.len() {
            let shape = of(&whole[..end]);
            assert!(shape.starts_with('{') && shape.ends_with('}') && !shape.contains("quote"), "{shape}");
        }
        assert_eq!(of(&whole[..20]), r#"{"count" int …}"#);
        let wide: Vec<String> = (0..20).map(|n| format!("\"{}\":{{}}", char::from(b'a' + n))).collect();
        assert!(of(&format!("{{\"x\":1,{}}}", wide.join(","))).ends_with(" …}"));
    }

    #[test]
    fn keys_that_are_data_do_not_show() {
        for data in [
            r#"{"ada@example.org": {"n": 1}}"#,
            r#"{"2024-01-01": 1, "2024-01-02": 2}"#,
            r#"{"Ada Lovelace": 1}"#,
            r#"{"8c5f2a1e": 1}"#,
            r#"{"deadbeef-cafe-babe-face-abcdefabcdef": {"n": 1}}"#,
            r#"{"abcdefabcdefabcdef": 1}"#,
            r#"{"src/main.rs": 1, "README.md": 2}"#,
            r#"{"C:\\\\temp": 1}"#,
            r#"{"42": "x", "43": "y"}"#,
            r#"{"T-1001": {"n": 1}, "T-1002": {"n": 2}}"#,
            r#"{"+49 30 1234": 1}"#,
            r#"{"": 1}"#,
            r#"{"alice": {"age": 1}, "bob": {"age": 2}}"#,
            r#"{"alice": 1, "bob": 2, "carol": 3, "dave": 4, "erin": 5}"#,
            r#"{"alice": [1], "bob": [], "carol": [2], "dave": []}"#,
        ] {
            assert_eq!(of(data), "{…}", "{data}");
            assert_eq!(of(&format!(r#"{{"total": 1, "rows": {data}}}"#)), r#"{"total" int, "rows" {…}}"#);
        }
        let table: Vec<String> = (0..40).map(|n| format!("\"key_{}\":\"v\"", "x".repeat(n))).collect();
        assert_eq!(of(&format!("{{{}}}", table.join(","))), "{…}");
        assert_eq!(
            of(r#"{"name":"a","title":"b","state":"c"}"#),
            r#"{"name" string, "title" string, "state" string}"#
        );
        assert_eq!(
            of(r#"{"entities":[{"name":"a"}],"relations":[]}"#),
            r#"{"entities" [{"name"}], "relations" []}"#
        );
    }

    proptest! {
        #[test]
        fn nothing_makes_it_fail(text in r#"[\{\}\[\]",:a-z0-9 \\.-]{0,80}"#) {
            let seen = seen_value(text.as_bytes());
            prop_assert!(seen.is_none_or(|seen| seen.shape.len() < 2 * MAX_BYTES && seen.end <= text.len()));
        }
    }
}
