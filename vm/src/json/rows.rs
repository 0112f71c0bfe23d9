//! Rows of a reply that stay text until a field is read (`vm/src/value/ordered/unread_rows.rs`). They are checked as strictly as
//! rows that are read at once, and nothing is built of them.

use super::number;
use super::strings::{self, find_special};
use crate::value::{Rows, Str, Value};

/// Shortest reply whose rows may wait: reading a smaller one costs less than scanning twice.
pub(super) const SHORTEST_REPLY: usize = 16 << 10;

/// Bytes of a string that may wait. The read of a field cannot yield to others.
const LONGEST_STRING: usize = 16 << 10;

/// Digits of an integer that fits for every value.
const SAFE_DIGITS: usize = 18;
/// Bytes of a number without exponent that is certainly finite.
const SAFE_FLOAT: usize = 300;

/// A row that was checked.
pub(super) struct CheckedRow {
    /// Where its closing brace is.
    pub(super) end: usize,
    /// Bytes that its strings take as values, at least.
    pub(super) owed: usize,
}

/// Checks the row whose first member begins at `at`: it has just the members of these names in this order, and their values are
/// scalars that can wait. `None` says nothing about it. `scratch` is room for strings with escapes, and `places` for where each
/// value begins, counted from `at`.
pub(super) fn check(
    bytes: &[u8],
    mut at: usize,
    names: &[Str],
    scratch: &mut String,
    places: &mut Vec<u16>,
) -> Option<CheckedRow> {
    let (from, mut owed) = (at, 0);
    places.clear();
    for (index, name) in names.iter().enumerate() {
        if index > 0 {
            at = skip_space(bytes, at);
            if *bytes.get(at)? != b',' {
                return None;
            }
            at += 1;
        }
        at = skip_name(bytes, at, name)?;
        places.push(u16::try_from(at - from).ok()?);
        let (end, bytes_as_value) = check_scalar(bytes, at, scratch)?;
        (at, owed) = (end, owed + bytes_as_value);
    }
    at = skip_space(bytes, at);
    (*bytes.get(at)? == b'}').then_some(CheckedRow { end: at, owed })
}

#[inline]
fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = bytes.get(at) {
        at += 1;
    }
    at
}

/// Goes over the name of a member, which must be this one, and its colon, to its value.
#[inline]
fn skip_name(bytes: &[u8], at: usize, name: &Str) -> Option<usize> {
    let at = skip_space(bytes, at);
    let name = name.as_str().as_bytes();
    let rest = bytes.get(at..)?.strip_prefix(b"\"")?.strip_prefix(name)?.strip_prefix(b"\"")?;
    let at = skip_space(bytes, bytes.len() - rest.len());
    (*bytes.get(at)? == b':').then(|| skip_space(bytes, at + 1))
}

/// Where the scalar at `at` ends, and the bytes that it takes as a value besides its place.
#[inline]
fn check_scalar(bytes: &[u8], at: usize, scratch: &mut String) -> Option<(usize, usize)> {
    match *bytes.get(at)? {
        b'"' => {
            let start = at + 1;
            let end = check_string(bytes, start, scratch)?;
            Some((end + 1, Str::bytes_for(end - start)))
        }
        b'-' | b'0'..=b'9' => check_number(bytes, at).map(|end| (end, 0)),
        b't' => word_end(bytes, at, b"true").map(|end| (end, 0)),
        b'f' => word_end(bytes, at, b"false").map(|end| (end, 0)),
        b'n' => word_end(bytes, at, b"null").map(|end| (end, 0)),
        _ => None,
    }
}

fn word_end(bytes: &[u8], at: usize, word: &[u8]) -> Option<usize> {
    bytes.get(at..)?.starts_with(word).then_some(at + word.len())
}

/// Where the quote is that closes the string which begins at `start`.
#[inline]
fn check_string(bytes: &[u8], start: usize, scratch: &mut String) -> Option<usize> {
    let bounded = &bytes[..bytes.len().min(start + LONGEST_STRING)];
    let mut at = find_special(bounded, start);
    loop {
        match *bounded.get(at)? {
            b'"' => return Some(at),
            b'\\' => {
                scratch.clear();
                at = strings::escape(bytes, at + 1, scratch).ok()?;
                at = find_special(bounded, at.min(bounded.len()));
            }
            _ => return None,
        }
    }
}

/// Where the number at `at` ends, if it is one that every program can hold.
fn check_number(bytes: &[u8], at: usize) -> Option<usize> {
    let number = number::span(&bytes[at..]).ok()?;
    let safe = match number.is_float {
        true => !number.has_exponent && number.len <= SAFE_FLOAT,
        false => number.digits <= SAFE_DIGITS,
    };
    safe.then_some(at + number.len)
}

/// The value of the scalar that begins at `at`, which was checked.
pub(super) fn read(rows: &Rows, at: usize) -> Value {
    let bytes = rows.text.bytes();
    let text = scalar_end(bytes, at).and_then(|end| bytes.get(at..end));
    text.map_or(Value::Nil, |text| scalar(rows, text))
}

/// Where a scalar that was checked ends.
#[inline]
fn scalar_end(bytes: &[u8], at: usize) -> Option<usize> {
    if *bytes.get(at)? != b'"' {
        let is_part = |byte: &u8| matches!(byte, b'+' | b'-' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'E');
        return Some(at + bytes[at..].iter().position(|byte| !is_part(byte))?);
    }
    let mut end = find_special(bytes, at + 1);
    while *bytes.get(end)? == b'\\' {
        end = find_special(bytes, end + 2);
    }
    Some(end + 1)
}

/// The value of a scalar that was checked.
fn scalar(rows: &Rows, text: &[u8]) -> Value {
    match text {
        [b'"', inner @ .., b'"'] => Value::Str(string(rows, inner)),
        b"true" => Value::True,
        b"false" => Value::False,
        b"null" => Value::Nil,
        number => {
            let number = std::str::from_utf8(number).ok().and_then(|text| number::read(text).ok());
            number.and_then(|(value, _)| value).unwrap_or_default()
        }
    }
}

fn string(rows: &Rows, inner: &[u8]) -> Str {
    let plain = |bytes| std::str::from_utf8(bytes).unwrap_or_default();
    let mut end = find_special(inner, 0);
    if end == inner.len() {
        return rows.string(plain(inner));
    }
    let (mut out, mut from) = (String::with_capacity(inner.len()), 0);
    while end < inner.len() {
        out.push_str(plain(&inner[from..end]));
        from = strings::escape(inner, end + 1, &mut out).unwrap_or(inner.len());
        end = find_special(inner, from);
    }
    out.push_str(plain(&inner[from..]));
    Str::new(&out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{DocumentReading, parse, parse_reply};
    use crate::meter::{self, Account, take_work};
    use crate::print::readable;
    use crate::value::{Map, Vector};
    use bytes::Bytes;
    use proptest::prelude::*;

    /// An array of these rows, as long as a reply has to be whose rows may wait.
    fn document(rows: &[String]) -> String {
        let padding = " ".repeat(SHORTEST_REPLY);
        format!("[{}]{padding}", rows.join(","))
    }

    fn rows_of(document: &str) -> Vector {
        match parse_reply(&Bytes::from(document.to_owned())).unwrap() {
            DocumentReading::Value(Value::Vector(rows)) => rows,
            other => panic!("{other:?}"),
        }
    }

    fn scalar_text() -> impl Strategy<Value = String> {
        let text = prop_oneof![
            "[a-z]{0,40}",
            "[ -~äß日😀\n\t\"\\\\]{0,30}",
            proptest::collection::vec(any::<char>(), 0..20).prop_map(String::from_iter),
        ];
        prop_oneof![
            text.prop_map(|text| serde_json::to_string(&text).unwrap()),
            Just(r#""\u00fc\ud83d\ude00\/""#.to_owned()),
            any::<i64>().prop_map(|n| n.to_string()),
            any::<f64>()
                .prop_filter("JSON", |x| x.is_finite())
                .prop_map(|x| format!("{x:?}").replace("inf", "1")),
            "[1-9][0-9]{17,30}",
            Just("1e3".to_owned()),
            Just("-0".to_owned()),
            Just("true".to_owned()),
            Just("false".to_owned()),
            Just("null".to_owned()),
            Just("[1,{}]".to_owned()),
        ]
    }

    fn row_text() -> impl Strategy<Value = String> {
        let space = prop_oneof![5 => Just(""), 1 => Just(" "), 1 => Just("\n\t")];
        (proptest::collection::vec(scalar_text(), 5), space, 1_usize..=5).prop_map(
            |(values, space, count)| {
                let member = |(index, value): (usize, &String)| {
                    format!("\"k{}\"{space}:{space}{value}{space}", 9 - index)
                };
                format!(
                    "{{{}}}",
                    values
                        .iter()
                        .take(count)
                        .enumerate()
                        .map(member)
                        .collect::<Vec<_>>()
                        .join(&format!(",{space}"))
                )
            },
        )
    }

    proptest! {
        #[test]
        fn rows_that_wait_are_those_that_do_not(rows in proptest::collection::vec(row_text(), 0..40), asked in proptest::collection::vec((0_usize..40, 0_usize..5), 0..60)) {
            let document = document(&rows);
            let mut account = Account::new(u64::MAX >> 1);
            let _installed = account.install();
            take_work();
            let now = parse(document.as_bytes()).unwrap().unwrap();
            let work_now = take_work();
            let held_now = meter::live();
            let Value::Vector(now_rows) = &now else { panic!("{now:?}") };
            let later = rows_of(&document);
            prop_assert_eq!(take_work(), work_now, "steps");
            prop_assert!(meter::live() - held_now >= held_now - 64 * rows.len() as i64, "a row is charged before it is read");
            for (row, member) in asked {
                let key = Value::str(format!("k{}", 9 - member));
                let field = |rows: &Vector| match rows.get(row) {
                    Some(Value::Map(row)) => row.get_flexible(&key).cloned(),
                    _ => None,
                };
                prop_assert_eq!(
                    field(now_rows).map(|value| readable(&value).unwrap()),
                    field(&later).map(|value| readable(&value).unwrap())
                );
            }
            prop_assert_eq!(readable(&now).unwrap(), readable(&Value::Vector(later.clone())).unwrap());
            prop_assert!(crate::value::equal(&now, &Value::Vector(later.clone())));
            drop(later);
            prop_assert_eq!(meter::live(), held_now);
            drop(now);
            prop_assert_eq!(meter::live(), 0);
        }

        #[test]
        fn what_is_no_json_is_found_out_at_once(rows in proptest::collection::vec(row_text(), 3..20), at in any::<prop::sample::Index>(), byte in 0x20_u8..0x7f) {
            let mut document = document(&rows).into_bytes();
            let at = at.index(document.len() - SHORTEST_REPLY);
            prop_assume!(document[at].is_ascii());
            document[at] = byte;
            let now = parse(&document).unwrap();
            let later = parse_reply(&Bytes::from(document)).unwrap();
            match (now, later) {
                (Some(now), DocumentReading::Value(later)) => prop_assert_eq!(readable(&now).unwrap(), readable(&later).unwrap()),
                (None, DocumentReading::Malformed(_) | DocumentReading::Mended(..)) => {}
                (now, later) => prop_assert!(false, "{:?} {:?}", now, later),
            }
        }
    }

    fn many(count: usize) -> Vector {
        let row = |id: usize| {
            format!(r#"{{"id":{id},"name":"a name that is long enough to be on the heap {id}","on":true}}"#)
        };
        rows_of(&document(&(0..count).map(row).collect::<Vec<_>>()))
    }

    fn row(rows: &Vector, index: usize) -> Map {
        match rows.get(index) {
            Some(Value::Map(row)) => row,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_text_is_charged_for_as_long_as_one_row_needs_it() {
        let mut account = Account::new(1 << 30);
        let _installed = account.install();
        let rows = many(500);
        let last = row(&rows, 499);
        drop(rows);
        let held = meter::live();
        assert!(held > SHORTEST_REPLY as i64, "{held}: one row that was not read holds the whole text");
        assert_eq!(last.iter().count(), 3);
        let held = meter::live();
        assert!(held < 1_000, "{held}: a row that was read holds itself");
        drop(last);
        assert_eq!(meter::live(), 0);
    }

    #[test]
    fn a_row_that_changes_is_read() {
        let rows = many(10);
        let mut changed = row(&rows, 5);
        changed.insert(Value::str("on"), Value::Int(1));
        assert!(matches!(changed.get(&Value::str("id")), Some(Value::Int(5))));
        assert!(matches!(row(&rows, 5).get(&Value::str("on")), Some(Value::True)));
        assert!(changed.remove(&Value::str("id")).is_some());
        assert_eq!((changed.len(), row(&rows, 5).len()), (2, 3));
    }

    #[test]
    fn a_row_that_does_not_fit_is_refused_where_the_reply_is_read() {
        let row = |id: usize| format!(r#"{{"a":"","b":"","c":"","id":{id}}}"#);
        let document = document(&(0..10_000).map(row).collect::<Vec<_>>());
        let mut account = Account::new(1 << 20);
        let _installed = account.install();
        assert!(parse_reply(&Bytes::from(document)).is_err());
    }
}
