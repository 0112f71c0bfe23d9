use super::number::{write_float, write_float_plain};
use super::*;
use crate::meter::Account;
use crate::value::{Keyword, Map, Set, Str, Temporal, Vector, Zone};
use num_bigint::BigInt;
use std::rc::Rc;

fn map<const N: usize>(entries: [(Value, Value); N]) -> Value {
    Value::Map(Map::from_entries(entries.into()))
}

fn ints(n: i64) -> Value {
    Value::Vector((0..n).map(Value::Int).collect())
}

fn nested(depth: usize) -> Value {
    (0..depth).fold(Value::Nil, |inner, _| Value::vector([inner]))
}

/// `(reduce (fn [a _] [a a]) [] (range levels))`
fn shared(levels: usize) -> Value {
    (0..levels).fold(Value::vector([]), |inner, _| Value::vector([inner.clone(), inner]))
}

#[test]
fn no_byte_of_a_text_goes_beyond_the_limit() {
    for length in 0..40 {
        let limit = 100_000;
        let mut account = Account::new(limit);
        let _installed = account.install();
        crate::meter::set_work_limit(u64::MAX);
        let leaf = Value::vector([Value::str("x".repeat(length))]);
        let tree = (0..20).fold(leaf, |inner, _| Value::vector([inner.clone(), inner]));
        let mut out = String::new();
        assert!(write_readable(&tree, &mut out).is_err());
        assert!(out.capacity() as u64 <= limit, "{} with strings of {length}", out.capacity());
    }
}

#[test]
fn scalars_print_in_both_styles() {
    let temporal = |t| Value::Temporal(Rc::new(t));
    for (value, readable_text, plain_text) in [
        (Value::Nil, "nil", ""),
        (Value::True, "true", "true"),
        (Value::Int(-42), "-42", "-42"),
        (
            Value::integer(BigInt::from(10).pow(30)),
            "1000000000000000000000000000000",
            "1000000000000000000000000000000",
        ),
        (Value::float(1.5), "1.5", "1.5"),
        (Value::float(f64::NEG_INFINITY), "##-Inf", "-Infinity"),
        (Value::float(f64::NAN), "##NaN", "NaN"),
        (Value::keyword("a-b?"), ":a-b?", ":a-b?"),
        (Value::str("é\"\\\n\u{1b}\u{7f}"), "\"é\\\"\\\\\\n\\u001B\\u007F\"", "é\"\\\n\u{1b}\u{7f}"),
        (Value::Var(Str::new("x")), "#'x", "#'x"),
        (Value::Var(Str::new("program/b/x")), "#'x", "#'x"),
        (Value::Symbol(Str::new("a/b")), "'a/b", "a/b"),
        (Value::Tool(Str::new("search")), "tool/search", "tool/search"),
        (temporal(Temporal::date(19_782)), "\"2024-02-29\"", "2024-02-29"),
        (temporal(Temporal::date(-719_529)), "\"-0001-12-31\"", "-0001-12-31"),
        (temporal(Temporal::instant(1_500_000, 2)), "\"1970-01-01T00:00:01.50Z\"", "1970-01-01T00:00:01.50Z"),
        (temporal(Temporal::instant(-1, 0)), "\"1969-12-31T23:59:59Z\"", "1969-12-31T23:59:59Z"),
        (temporal(Temporal::local(1_500_000, 1)), "\"1970-01-01T00:00:01.5\"", "1970-01-01T00:00:01.5"),
        (temporal(Temporal::local(-60_000_000, 3)), "\"1969-12-31T23:59\"", "1969-12-31T23:59"),
        (temporal(Temporal::zoned(0, 0, Zone::UTC)), "\"1970-01-01T00:00Z\"", "1970-01-01T00:00Z"),
        (
            temporal(Temporal::zoned(0, 0, Zone::named("Europe/Berlin").expect("a zone"))),
            "\"1970-01-01T01:00+01:00[Europe/Berlin]\"",
            "1970-01-01T01:00+01:00[Europe/Berlin]",
        ),
        (temporal(Temporal::duration(-5)), "#duration[-5ms]", "#duration[-5ms]"),
    ] {
        assert_eq!(readable(&value).unwrap(), readable_text);
        assert_eq!(plain(&value).unwrap(), plain_text);
    }
}

#[test]
fn floats_print_with_the_digits_that_read_back() {
    for (x, text) in [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (100.0, "100.0"),
        (0.1, "0.1"),
        (0.1 + 0.2, "0.30000000000000004"),
        (3.3000000000000003, "3.3000000000000003"),
        (0.00048828125, "0.00048828125"),
        (0.00012, "0.00012"),
        (0.99999999999, "0.99999999999"),
        (8901575091.718998, "8901575091.718998"),
        (-1368.7363043530643, "-1368.7363043530643"),
        (0.00001, "0.00001"),
        (0.000012, "0.000012"),
        (-0.0000012345, "-0.0000012345"),
        (1e-6, "0.000001"),
        (1e15, "1000000000000000.0"),
        (9007199254740993.5, "9007199254740994.0"),
        (9999999999999998.0, "9999999999999998.0"),
        (1e16, "1.0e16"),
        (1.2345e16, "1.2345e16"),
        (9.99e-7, "9.99e-7"),
        (-9.99e-7, "-9.99e-7"),
        (1e-11, "1.0e-11"),
        (-6.02e23, "-6.02e23"),
        (f64::MAX, "1.7976931348623157e308"),
        (5e-324, "5.0e-324"),
    ] {
        for write in [write_float, write_float_plain] {
            let mut out = String::new();
            write(x, &mut out);
            assert_eq!(out, text);
        }
    }
}

#[test]
fn printed_floats_read_back() {
    for i in 0..5_000_u64 {
        let x = f64::from_bits(i.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        if x.is_finite() {
            let mut out = String::new();
            write_float(x, &mut out);
            assert_eq!(out.parse::<f64>().unwrap().to_bits(), x.to_bits(), "{out}");
        }
    }
}

#[test]
fn collections_print_with_single_spaces_and_readable_elements() {
    let value = map([
        (Value::Nil, Value::vector([Value::str("a"), Value::Nil, Value::float(1.0)])),
        (Value::keyword("k"), Value::Set(Set::from_iter([Value::Int(2), Value::Int(1)]))),
        (Value::vector([Value::Int(1)]), map([])),
    ]);
    assert_eq!(plain(&value).unwrap(), "{nil [\"a\" nil 1.0] :k #{1 2} [1] {}}");
    let list = Value::list([Value::str("a"), Value::list([]), Value::vector([])]);
    assert_eq!(readable(&list).unwrap(), "(\"a\" () [])");
}

#[test]
fn deep_values_are_refused_not_overflown() {
    assert_eq!(readable(&nested(10_000)).unwrap().len(), 20_003);
    let error = readable(&nested(100_000)).unwrap_err();
    assert_eq!(error.message(), "Runtime error: value is nested more than 10000 levels deep");
}

#[test]
fn values_that_are_enormous_by_sharing_stop_at_a_limit() {
    let value = shared(60);
    let mut account = Account::new(1_000_000);
    {
        let _installed = account.install();
        meter::set_work_limit(100_000_000);
        assert_eq!(readable(&value).unwrap_err().reason(), crate::Reason::MemoryExceeded);
    }
    let mut account = Account::new(1_000_000_000);
    let _installed = account.install();
    meter::set_work_limit(100_000);
    assert_eq!(readable(&value).unwrap_err().reason(), crate::Reason::StepLimitExceeded);
}

#[test]
fn printing_costs_in_proportion_to_the_text() {
    let long = Value::str("x".repeat(16_000));
    let mut account = Account::new(1_000_000);
    let _installed = account.install();
    readable(&ints(1_000)).unwrap();
    assert!((1_000..=3_000).contains(&meter::take_work()));
    readable(&long).unwrap();
    assert!((1_000..=1_010).contains(&meter::take_work()));
}

#[test]
fn a_capped_text_that_fits_is_whole() {
    let value = ints(10);
    let whole = readable(&value).unwrap();
    let rendered = render_capped(&value, whole.len(), Budget::default());
    assert_eq!(rendered, RenderedValue { text: whole.clone(), truncated: None, string_bytes: None });
    assert!(render_capped(&value, whole.len() - 1, Budget::default()).truncated.is_some());
}

#[test]
fn a_cut_falls_between_elements() {
    let value = ints(1_000);
    let rendered = render_capped(&value, 30, Budget::default());
    let cut = rendered.truncated.unwrap();
    assert_eq!(rendered.text, "[0 1 2 3 4 5 6 7 8 9 10 ...]");
    assert_eq!((cut.unit, cut.shown, cut.total), (CutUnit::Items, 11, 1_000));
    assert_eq!(cut.full_bytes, readable(&value).unwrap().len() as u64);
    assert!(!cut.at_least);
}

#[test]
fn a_cut_keeps_rows_whole_when_that_wastes_little_and_goes_inside_otherwise() {
    let row = |n| map([(Value::keyword("id"), Value::Int(n)), (Value::keyword("name"), Value::str("abc"))]);
    let rows = Value::Vector((0..100).map(row).collect());
    let rendered = render_capped(&rows, 100, Budget::default());
    assert_eq!(
        rendered.text,
        "[{:id 0 :name \"abc\"} {:id 1 :name \"abc\"} {:id 2 :name \"abc\"} {:id 3 :name \"abc\"} ...]"
    );
    let inside = map([(Value::str("n"), Value::Int(100)), (Value::keyword("rows"), rows)]);
    let rendered = render_capped(&inside, 100, Budget::default());
    assert_eq!(
        rendered.text,
        "{:rows [{:id 0 :name \"abc\"} {:id 1 :name \"abc\"} {:id 2 :name \"abc\"} {:id 3 :name \"abc\"} ...] ...}"
    );
    let cut = rendered.truncated.unwrap();
    assert_eq!((cut.path.as_str(), cut.shown, cut.total), ("rows", 4, 100));
}

#[test]
fn one_long_string_is_cut_between_graphemes_and_closed() {
    let family = "👨‍👩‍👧";
    let value = Value::str(family.repeat(10));
    let rendered = render_capped(&value, 60, Budget::default());
    assert_eq!(rendered.text, format!("\"{}\"", family.repeat(3)));
    let cut = rendered.truncated.unwrap();
    assert_eq!((cut.unit, cut.shown, cut.total, cut.full_bytes), (CutUnit::Characters, 3, 10, 182));
    let inside =
        map([(Value::keyword("body"), Value::str("x\n".repeat(100))), (Value::keyword("n"), Value::Int(1))]);
    let rendered = render_capped(&inside, 40, Budget::default());
    assert_eq!(rendered.text, format!("{{:body \"{}x\" ...}}", "x\\n".repeat(8)));
    assert!(rendered.text.len() <= 40);
    assert_eq!((rendered.truncated.unwrap().path.as_str(), rendered.string_bytes), ("body", None));
}

#[test]
fn a_capped_string_tells_how_much_of_it_is_shown() {
    let text = "a \"b\"\\\n\té\u{1b}👩‍🚀 ".repeat(9);
    let value = Value::str(text.clone());
    for max in 20..=readable(&value).unwrap().len() {
        let rendered = render_capped(&value, max, Budget::default());
        let shown = Value::str(&text[..rendered.string_bytes.unwrap()]);
        assert_eq!(rendered.text, readable(&shown).unwrap(), "{max}");
    }
    assert_eq!(render_capped(&value, 100, Budget { nodes: 0, bytes: 0 }).string_bytes, None);
}

#[test]
fn caps_hold_at_every_size() {
    let value = map([
        (
            Value::keyword("a"),
            Value::vector([ints(5), Value::str("héllo \"wörld\""), map([(Value::Int(1), nested(4))])]),
        ),
        (Value::str("b"), Value::Set(Set::from_iter((0..9).map(Value::Int)))),
    ]);
    let whole = readable(&value).unwrap();
    for max in 0..=whole.len() {
        let rendered = render_capped(&value, max, Budget::default());
        assert!(rendered.text.len() <= max.max(5), "{max}: {}", rendered.text);
        assert_eq!(rendered.truncated.is_none(), max == whole.len(), "{max}");
        for (open, close) in [('[', ']'), ('{', '}')] {
            assert_eq!(
                rendered.text.matches(open).count(),
                rendered.text.matches(close).count(),
                "{}",
                rendered.text
            );
        }
        if let Some(cut) = rendered.truncated {
            assert_eq!((cut.full_bytes, cut.at_least), (whole.len() as u64, false));
        }
    }
}

#[test]
fn a_capped_text_of_an_enormous_tree_stops_at_its_budget() {
    let rendered = render_capped(&shared(60), 1_000, Budget { nodes: 10_000, bytes: 1_000_000 });
    let cut = rendered.truncated.unwrap();
    assert!(cut.at_least && cut.full_bytes >= 10_000);
    assert!(rendered.text.len() <= 1_000);
    for max in [16_384, 25_000] {
        let rendered = render_capped(&nested(100_000), max, Budget::default());
        assert!(rendered.text.len() <= max);
        assert_eq!(rendered.text.matches('[').count(), rendered.text.matches(']').count());
    }
}

#[test]
fn previews_show_some_items_of_each_collection() {
    assert_eq!(bounded(&ints(10), 3), "[0 1 2 ...] (3/10)");
    assert_eq!(bounded(&Value::list([Value::Int(1), Value::Int(2)]), 1), "(1 ...) (1/2)");
    let value = map([(Value::keyword("a"), Value::Int(1)), (Value::keyword("b"), ints(3))]);
    assert_eq!(bounded(&value, 1), "{:a 1 ...} (1/2)");
    assert_eq!(bounded(&value, 2), "{:a 1 :b [0 1 ...] (2/3)}");
    assert_eq!(bounded(&Value::Set(Set::from_iter([Value::Int(1), Value::Int(2)])), 1), "#{1 ...} (1/2)");
    let text = Value::str("é".repeat(512));
    let cut = preview(&text, Preview { items: 5, characters: Some(40), counts: true });
    assert_eq!(cut, format!("\"{}...\" (40/512 chars)", "é".repeat(40)));
    assert!(bounded(&shared(60), 50).len() < 300_000);
    assert!(bounded(&nested(100_000), 50).len() < 300_000);
}

#[test]
fn quoted_values_are_short() {
    assert_eq!(literal(&Value::str("")), "\"\"");
    assert_eq!(literal(&Value::str("x".repeat(50))), format!("\"{}...\"", "x".repeat(40)));
    assert_eq!(literal(&ints(5)), "[0 1 2 ...]");
    assert_eq!(readable_lossy(&Value::str("y".repeat(500))), format!("\"{}...\"", "y".repeat(198)));
    assert!(readable_lossy(&shared(60)).len() <= 210);
    assert!(readable_lossy(&nested(100_000)).len() <= 210);
    assert_eq!(readable_lossy(&Value::Keyword(Keyword::new("k"))), ":k");
    assert_eq!(readable_lossy(&Value::Vector(Vector::new())), "[]");
}
