use super::*;
use crate::Value;
use crate::meter::{self, Account};
use crate::print::readable;
use crate::value::{Map, Set, Str, Temporal, Vector};
use std::rc::Rc;

fn parsed(text: &str) -> Option<String> {
    parse(text.as_bytes()).unwrap().map(|value| readable(&value).unwrap())
}

fn written(value: &Value) -> String {
    let mut out = Vec::new();
    match write(value, &mut out) {
        Ok(()) => String::from_utf8(out).unwrap(),
        Err(error) => format!("! {}", error.message()),
    }
}

fn map<const N: usize>(entries: [(Value, Value); N]) -> Value {
    Value::Map(Map::from_entries(entries.into()))
}

fn key(name: &str) -> Value {
    Value::keyword(name)
}

#[test]
fn documents_become_values() {
    for (text, value) in [
        ("null", "nil"),
        (" true\n", "true"),
        ("-0", "0"),
        ("-0.0", "-0.0"),
        ("12", "12"),
        ("9223372036854775807", "9223372036854775807"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("1.0", "1.0"),
        ("1e2", "100.0"),
        ("1.5E-3", "0.0015"),
        ("1e-400", "0.0"),
        ("\"\"", "\"\""),
        ("\"a\\\"\\\\\\/\\b\\f\\n\\r\\tz\"", "\"a\\\"\\\\/\\b\\f\\n\\r\\tz\""),
        ("\"\\u00e9\\ud83d\\ude00\"", "\"é😀\""),
        ("\"naïve — ünïcödé 日本語 text that is long\"", "\"naïve — ünïcödé 日本語 text that is long\""),
        ("[]", "[]"),
        ("[1, [2,3] ,{}]", "[1 [2 3] {}]"),
        ("{\"b\":1,\"a\":{\"x\":[null]}}", "{\"a\" {\"x\" [nil]} \"b\" 1}"),
        ("{\"a\":1,\"b\":2,\"a\":3}", "{\"a\" 3 \"b\" 2}"),
        (
            "[{\"id\":1,\"n\":\"x\"},{\"id\":2,\"n\":\"y\"}]",
            "[{\"id\" 1 \"n\" \"x\"} {\"id\" 2 \"n\" \"y\"}]",
        ),
    ] {
        assert_eq!(parsed(text).as_deref(), Some(value), "{text}");
    }
}

#[test]
fn what_is_not_strict_json_is_refused() {
    for text in [
        "",
        " ",
        "nul",
        "True",
        "01",
        "-",
        "+1",
        "1.",
        ".5",
        "1e",
        "1e+",
        "0x1",
        "NaN",
        "Infinity",
        "1e400",
        "\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\ud800\"",
        "\"\\ud800\\u0041\"",
        "\"\\udc00\"",
        "\"a\nb\"",
        "[1,]",
        "[,1]",
        "[1 2]",
        "[",
        "{\"a\"}",
        "{\"a\":1,}",
        "{a:1}",
        "{\"a\":1 \"b\":2}",
        "{1:2}",
        "1 2",
        "[]]",
        "'a'",
        "// c\n1",
        "\u{feff}1",
        "\"\u{1}\"",
    ] {
        assert_eq!(parsed(text), None, "{text:?}");
    }
    assert!(parse(b"\"\xff\"").unwrap().is_none());
    assert!(parse(b"\"\xed\xa0\x80\"").unwrap().is_none());
}

#[test]
fn nesting_is_bounded() {
    let nested = |n: usize| format!("{}1{}", "[".repeat(n), "]".repeat(n));
    assert!(parsed(&nested(MAX_NESTING)).is_some());
    assert!(parsed(&nested(MAX_NESTING + 1)).is_none());
    assert!(parsed(&"[".repeat(1_000_000)).is_none());
}

#[test]
fn special_bytes_are_found_at_every_offset() {
    for special in ['"', '\\', '\u{0}', '\u{1f}', '\n'] {
        for before in 0..40 {
            for plain in ["a", "é", "\u{7f}", "\u{10ffff}"] {
                let text = format!("{}{special}{}", plain.repeat(before), plain.repeat(9));
                assert_eq!(
                    super::strings::find_special(text.as_bytes(), 0),
                    plain.len() * before,
                    "{text:?}"
                );
            }
        }
    }
}

#[test]
fn repeated_keys_share_their_text() {
    let value = parse(b"[{\"id\":1},{\"id\":2}]").unwrap().unwrap();
    let Value::Vector(rows) = value else { panic!("a vector") };
    let key = |i: usize| match rows.get(i) {
        Some(Value::Map(map)) => match map.iter().next() {
            Some((Value::Str(s), _)) => s.clone(),
            _ => panic!("a string key"),
        },
        _ => panic!("a map"),
    };
    assert!(key(0).same_allocation(&key(1)));
}

#[test]
fn objects_of_the_same_members_share_their_keys_and_others_do_not_suffer() {
    let text = r#"[{"b":1,"a":2},{"b":3,"a":4},{"b":5},{"b":6,"c":7},{"b":8,"a":9,"d":0},{"b":1,"b":2},{"a":1,"b":2},
        {"b":{"b":1,"a":2},"a":[{"b":3,"a":4}]}, {}, {"b":10,"a":11}]"#;
    assert_eq!(
        parsed(text).as_deref(),
        Some(
            "[{\"a\" 2 \"b\" 1} {\"a\" 4 \"b\" 3} {\"b\" 5} {\"b\" 6 \"c\" 7} {\"a\" 9 \"b\" 8 \"d\" 0} {\"b\" 2} \
             {\"a\" 1 \"b\" 2} {\"a\" [{\"a\" 4 \"b\" 3}] \"b\" {\"a\" 2 \"b\" 1}} {} {\"a\" 11 \"b\" 10}]"
        )
    );
    let rows = parse(br#"[{"b":1,"a":2},{"b":3,"a":4}]"#).unwrap().unwrap();
    let Value::Vector(rows) = rows else { panic!("a vector") };
    let shape = |i: usize| match rows.get(i) {
        Some(Value::Map(map)) => map.shape().cloned().expect("a small map"),
        _ => panic!("a map"),
    };
    assert!(Rc::ptr_eq(&shape(0), &shape(1)));
    let lines = parse_lines("{\"x\":1,\"y\":2}\n{\"x\":3,\"y\":4}\n{\"x\":5,\"z\":6}").unwrap();
    assert_eq!(readable(&lines).unwrap(), "[{\"x\" 1 \"y\" 2} {\"x\" 3 \"y\" 4} {\"x\" 5 \"z\" 6}]");
}

#[test]
fn reading_is_charged_and_stops_at_the_limits() {
    let text = format!("[{}1]", "1,".repeat(100_000));
    let mut account = Account::new(500_000);
    {
        let _installed = account.install();
        assert_eq!(parse(text.as_bytes()).unwrap_err().reason(), crate::Reason::MemoryExceeded);
    }
    assert_eq!(account.live, 0, "everything is credited again");
    let mut account = Account::new(100_000_000);
    {
        let _installed = account.install();
        meter::set_work_limit(10_000);
        assert_eq!(parse(text.as_bytes()).unwrap_err().reason(), crate::Reason::StepLimitExceeded);
    }
    {
        let _installed = account.install();
        drop(parse(text.as_bytes()).unwrap());
        assert!(meter::take_work() >= 100_000);
    }
    assert_eq!(account.live, 0);
    assert!(account.peak >= 1_600_000);
    let huge = "9".repeat(400_000);
    assert_eq!(parse(huge.as_bytes()).unwrap_err().reason(), crate::Reason::MemoryExceeded);
}

#[test]
fn values_become_documents() {
    for (value, text) in [
        (Value::Nil, "null"),
        (Value::False, "false"),
        (Value::Int(i64::MIN), "-9223372036854775808"),
        (parse(b"123456789012345678901234567890").unwrap().unwrap(), "123456789012345678901234567890"),
        (Value::float(0.1), "0.1"),
        (Value::float(3.0), "3.0"),
        (Value::float(-0.0), "-0.0"),
        (Value::float(1e20), "1.0e20"),
        (Value::float(1.5e-9), "1.5e-9"),
        (
            Value::str("a\"\\/\u{8}\u{c}\n\r\t\u{1b}\u{7f}é\u{2028}"),
            "\"a\\\"\\\\/\\b\\f\\n\\r\\t\\u001b\u{7f}é\u{2028}\"",
        ),
        (key("k?"), "\"k?\""),
        (Value::vector([Value::Int(1), Value::vector([]), Value::Nil]), "[1,[],null]"),
        (Value::Set(Set::from_iter([Value::Int(2), Value::Int(1)])), "[1,2]"),
        (Value::Temporal(Rc::new(Temporal::date(0))), "\"1970-01-01\""),
        (
            map([(Value::str("b"), Value::Int(1)), (key("a-b"), map([])), (Value::Int(7), Value::Nil)]),
            "{\"7\":null,\"a-b\":{},\"b\":1}",
        ),
    ] {
        assert_eq!(written(&value), text);
        assert_eq!(generate(&value).unwrap().as_deref(), Some(text));
    }
}

#[test]
fn what_has_no_json_form_is_refused_with_its_path() {
    let bad = || Value::float(f64::NAN);
    for (value, text) in [
        (bad(), "! non-JSON-encodable value at <root>"),
        (Value::Symbol(Str::new("x")), "! non-JSON-encodable value at <root>"),
        (Value::Temporal(Rc::new(Temporal::duration(5))), "! non-JSON-encodable value at <root>"),
        (Value::vector([Value::Nil, bad()]), "! non-JSON-encodable value at [1]"),
        (
            map([(
                key("rows"),
                Value::vector([map([(Value::str("id"), Value::Nil), (Value::str("ts"), bad())])]),
            )]),
            "! non-JSON-encodable value at rows[0].ts",
        ),
        (
            map([(key("a"), map([(Value::Nil, Value::Int(1))]))]),
            "! non-JSON-encodable value at a.nil: the key nil is neither text nor an integer",
        ),
        (
            map([(key("x"), map([(key("a"), Value::Int(1)), (Value::str("a"), Value::Int(2))]))]),
            "! non-JSON-encodable value at x.a: the keys :a and \"a\" would both be written \"a\"",
        ),
        (
            map([(Value::Int(1), Value::Nil), (key("z"), Value::Nil), (Value::str("1"), Value::Int(2))]),
            "! non-JSON-encodable value at 1: the keys 1 and \"1\" would both be written \"1\"",
        ),
    ] {
        assert_eq!(written(&value), text);
        assert_eq!(generate(&value).unwrap(), None);
    }
}

#[test]
fn writing_is_bounded() {
    let deep = (0..100_000).fold(Value::Nil, |inner, _| Value::vector([inner]));
    assert_eq!(written(&deep), "! Runtime error: value is nested more than 10000 levels deep");
    assert_eq!(generate(&deep).unwrap(), None);
    let shared = (0..60).fold(Value::vector([]), |inner, _| Value::vector([inner.clone(), inner]));
    let mut account = Account::new(100_000);
    let _installed = account.install();
    assert_eq!(write(&shared, &mut Vec::new()).unwrap_err().reason(), crate::Reason::MemoryExceeded);
    assert_eq!(generate(&shared).unwrap_err().reason(), crate::Reason::MemoryExceeded);
}

#[test]
fn tool_arguments_tell_where_keyword_keys_have_hyphens() {
    let inner = map([(key("dry-run"), Value::True), (Value::str("x-y"), Value::Nil)]);
    let Value::Map(arguments) = map([(key("max-items"), Value::Int(3)), (key("options"), inner)]) else {
        panic!("a map")
    };
    let written = write_tool_arguments(&arguments, usize::MAX).unwrap();
    let text = std::str::from_utf8(&written.json).unwrap();
    assert_eq!(text, "{\"max-items\":3,\"options\":{\"dry-run\":true,\"x-y\":null}}");
    let names: Vec<&str> = written.hyphenated.iter().map(|range| &text[range.clone()]).collect();
    assert_eq!(names, ["max-items", "dry-run"]);
}

#[test]
fn writing_stops_at_the_most_bytes_that_may_be_sent() {
    let of = |value: Value| match map([(key("k"), value)]) {
        Value::Map(map) => map,
        _ => panic!("a map"),
    };
    // `{"k":[` and `]}` around it.
    let items = |count: usize| Value::vector(vec![Value::vector([]); count]);
    assert_eq!(write_tool_arguments(&of(items(5)), 22).unwrap().json.len(), 22);
    assert!(matches!(write_tool_arguments(&of(items(5)), 21), Err(ArgumentSendError::TooLong(22))));
    let quotes = Value::str("\"".repeat(10));
    assert_eq!(write_tool_arguments(&of(quotes.clone()), 28).unwrap().json.len(), 28);
    assert!(matches!(write_tool_arguments(&of(quotes), 27), Err(ArgumentSendError::TooLong(27 | 28))));
    // A value that is small by sharing and endless as text costs what is written of it.
    let shared = (0..60).fold(Value::vector([]), |inner, _| Value::vector([inner.clone(), inner]));
    let mut account = Account::new(100_000);
    let _installed = account.install();
    crate::meter::take_work();
    assert!(matches!(write_tool_arguments(&of(shared), 10_000), Err(ArgumentSendError::TooLong(10_001))));
    let work = crate::meter::take_work();
    assert!(work < 20_000, "{work}");
}

#[test]
fn lines_are_documents() {
    let value = parse_lines("{\"a\":1}\n\n  \nnope\r\n[2]\r\n").unwrap();
    assert_eq!(readable(&value).unwrap(), "[{\"a\" 1} nil [2]]");
    assert_eq!(readable(&parse_lines("").unwrap()).unwrap(), "[]");
}

#[test]
fn what_is_written_reads_back_and_agrees_with_serde_json() {
    for seed in 0..300_u64 {
        let value = arbitrary(&mut seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(1), 4);
        let text = written(&value);
        let again = parse(text.as_bytes()).unwrap().unwrap();
        assert!(crate::value::identical(&value, &again), "{text}");
        let foreign: serde_json::Value = serde_json::from_str(&text).unwrap();
        let theirs = parse(foreign.to_string().as_bytes()).unwrap().unwrap();
        assert!(crate::value::equal(&value, &theirs), "{text}");
    }
}

/// A value made of numbers, strings, vectors and string-keyed maps.
fn arbitrary(seed: &mut u64, depth: u32) -> Value {
    let mut next = || {
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        *seed
    };
    let (kind, size) = (next() % if depth == 0 { 5 } else { 7 }, next() % 4);
    let bits = next();
    match kind {
        0 => Value::Nil,
        1 => Value::bool(bits.is_multiple_of(2)),
        2 => Value::Int(bits as i64 >> (bits % 60)),
        3 => Value::float(if f64::from_bits(bits).is_finite() { f64::from_bits(bits) } else { 0.5 }),
        4 => Value::str(
            (0..size * 5).filter_map(|i| char::from_u32((bits >> i) as u32 % 0x3000)).collect::<String>(),
        ),
        5 => Value::Vector((0..size).map(|_| arbitrary(seed, depth - 1)).collect::<Vector>()),
        _ => {
            let entries =
                (0..size).map(|i| (Value::str(format!("k{i}")), arbitrary(seed, depth - 1))).collect();
            Value::Map(Map::from_entries(entries))
        }
    }
}

#[test]
fn halves_of_surrogate_pairs_in_a_reply_become_replacement_characters() {
    let read = |text: &str| super::parse_reply(&bytes::Bytes::from(text.to_owned())).unwrap();
    for (text, shown, halves) in [
        (r#"["a\ud800", 1]"#, "[\"a\u{fffd}\" 1]", 1),
        (r#"["\udc00\ud83d\ude00\ud800\\ud800"]"#, "[\"\u{fffd}😀\u{fffd}\\\\ud800\"]", 2),
        (r#"["\uD800\ud83d\ude00\uDBFF"]"#, "[\"\u{fffd}😀\u{fffd}\"]", 2),
        (r#"{"k\ud800":["\\\ud800"]}"#, "{\"k\u{fffd}\" [\"\\\\\u{fffd}\"]}", 2),
    ] {
        let super::DocumentReading::Mended(value, count) = read(text) else { panic!("{text}") };
        assert_eq!((crate::print::readable(&value).unwrap().as_str(), count), (shown, halves), "{text}");
    }
    assert!(matches!(read(r#"["\ud83d\ude00"]"#), super::DocumentReading::Value(_)));
    for wrong in [r#"["\ud800""#, r#"["\ud8"]"#, "\\", r#"C:\ud800"#] {
        assert!(matches!(read(wrong), super::DocumentReading::Malformed(_)), "{wrong}");
    }
    // A large reply whose rows wait.
    let rows = r#"{"a":"x\ud800","b":"y"},"#.repeat(2000);
    let super::DocumentReading::Mended(value, 2000) = read(&format!("[{}]", rows.trim_end_matches(',')))
    else {
        panic!("rows")
    };
    assert!(crate::print::readable(&value).unwrap().contains("x\u{fffd}"));
}
