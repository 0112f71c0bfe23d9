use crate::builtins::support::testing::display;
use crate::value::{Temporal, Value};

fn s(text: &str) -> Value {
    Value::str(text)
}

fn date(text: &str) -> Value {
    super::text::date(text).map(|days| Value::temporal(Temporal::date(days))).expect("a date")
}

fn instant(text: &str) -> Value {
    let moment = super::text::date_time(text, false).expect("an instant");
    Value::temporal(Temporal::instant(moment.micros, moment.digits))
}

#[test]
fn timestamps_are_seconds_or_milliseconds() {
    for (n, want) in [
        (0, "\"1970-01-01T00:00:00Z\""),
        (-1, "\"1969-12-31T23:59:59Z\""),
        (1_700_000_000, "\"2023-11-14T22:13:20Z\""),
        (1_700_000_000_123, "\"2023-11-14T22:13:20.123Z\""),
        (1_000_000_000_000, "\"2001-09-09T01:46:40.000Z\""),
        (-1_000_000_000_000, "\"1938-04-24T22:13:20.000Z\""),
        (253_402_300_799, "\"9999-12-31T23:59:59Z\""),
        (253_402_300_800, "! type_error: java.util.Date: invalid timestamp 253402300800"),
        (i64::MAX, "! type_error: java.util.Date: invalid timestamp 9223372036854775807"),
        (i64::MIN, "! type_error: java.util.Date: invalid timestamp -9223372036854775808"),
    ] {
        assert_eq!(display("java.util.Date.", [Value::Int(n)]), want);
    }
}

#[test]
fn the_least_integer_is_out_of_range_like_any_other() {
    for (n, name) in [(i64::MIN, "LocalDate/ofEpochDay"), (i64::MIN + 1, "LocalDate/ofEpochDay")] {
        assert_eq!(
            display(name, [Value::Int(n)]),
            format!("! type_error: {name}: the result is out of range")
        );
    }
    for name in [".plusMonths", ".minusMonths", ".plusDays", ".minusDays", ".plusYears", ".minusWeeks"] {
        let moved = display(name, [date("2024-01-31"), Value::Int(i64::MIN)]);
        assert_eq!(moved, format!("! type_error: {name}: the result is out of range"));
    }
}

#[test]
fn java_dates_read_many_texts() {
    for (text, want) in [
        ("2026-01-08T14:30:00+02:00", "2026-01-08T12:30:00Z"),
        ("2026-01-08 14:30:00.25", "2026-01-08T14:30:00.25Z"),
        ("2026-01-08", "2026-01-08T00:00:00Z"),
        ("Thu, 8 Jan 2026 14:30:00 +0500", "2026-01-08T14:30:00Z"),
    ] {
        assert_eq!(display("java.util.Date.", [s(text)]), format!("\"{want}\""));
    }
    assert_eq!(
        display("java.util.Date.", [s("garbage")]),
        "! type_error: java.util.Date: cannot parse 'garbage'. Expected ISO-8601, RFC 2822, or timestamp."
    );
    assert_eq!(display("java.util.Date.", [date("2024-01-15")]), "\"2024-01-15T00:00:00Z\"");
    for (value, shown_value) in [(Value::Nil, "nil"), (Value::float(1.5), "1.5"), (Value::keyword("a"), ":a")]
    {
        let want = format!("! type_error: java.util.Date: cannot construct from {shown_value}");
        assert_eq!(display("java.util.Date.", [value]), want);
    }
}

#[test]
fn parse_decides_by_the_text() {
    for (value, want) in [
        (s("2023-02-29"), "invalid ISO-8601 date '2023-02-29' (expected YYYY-MM-DD)"),
        (s("2024-01-15 10:30:00Z"), "invalid ISO-8601 date '2024-01-15 10:30:00Z' (expected YYYY-MM-DD)"),
        (s("2024-01-15T10:30"), "invalid ISO-8601 date/time '2024-01-15T10:30'"),
        (Value::Nil, "cannot parse nil"),
        (Value::Int(20_240_101), "expected string, got 20240101"),
    ] {
        assert_eq!(display("parse", [value]), format!("! type_error: parse: {want}"));
    }
}

#[test]
fn kinds_are_named_in_messages() {
    let duration = || Value::temporal(Temporal::duration(1));
    for (name, args, want) in [
        (".getTime", vec![Value::Int(5)], ".getTime: expected DateTime, got 5"),
        (".getTime", vec![date("2024-01-01")], ".getTime: expected DateTime, got 2024-01-01"),
        (
            ".toEpochDay",
            vec![instant("2024-01-01T00:00:00Z")],
            ".toEpochDay: expected LocalDate, got DateTime",
        ),
        (".plusDays", vec![Value::Nil, Value::Int(1)], ".plusDays: expected LocalDate, got nil"),
        (
            ".plusDays",
            vec![date("2024-01-01"), Value::float(1.0)],
            ".plusDays: expected integer days, got float",
        ),
        (".toDays", vec![date("2024-01-01")], ".toDays: expected Duration, got LocalDate"),
        (
            "Duration/between",
            vec![date("2024-01-01"), duration()],
            "Duration/between: expected DateTime start argument, got LocalDate",
        ),
        (
            "Duration/between",
            vec![instant("2024-01-01T00:00:00Z"), Value::vector([])],
            "Duration/between: expected DateTime end argument, got list",
        ),
        (
            ".isBefore",
            vec![date("2024-01-01"), instant("2024-01-01T00:00:00Z")],
            ".isBefore: cannot compare LocalDate with DateTime — use same types",
        ),
        (".isAfter", vec![date("2024-01-01"), s("x")], ".isAfter: expected LocalDate argument, got string"),
        (".isBefore", vec![s("x"), s("x")], ".isBefore: expected LocalDate or DateTime, got string"),
        ("LocalDate/of", [2023, 2, 29].map(Value::Int).to_vec(), "LocalDate/of: there is no date 2023-02-29"),
        (
            ".between",
            vec![Value::keyword("hours"), date("2024-01-01"), date("2024-01-02")],
            ".between: the unit :hours does not apply to LocalDate",
        ),
    ] {
        assert_eq!(display(name, args), format!("! type_error: {want}"));
    }
}

#[test]
fn nothing_overflows() {
    for (name, args) in [
        (".plusDays", vec![date("2024-01-01"), Value::Int(i64::MAX)]),
        (".minusDays", vec![date("2024-01-01"), Value::Int(i64::MIN)]),
        (".plusYears", vec![date("2024-01-01"), Value::Int(i64::MAX)]),
        (".minusMonths", vec![date("2024-01-01"), Value::Int(i64::MIN)]),
        (".plusSeconds", vec![instant("2024-01-01T00:00:00Z"), Value::Int(i64::MAX)]),
        ("Duration/ofDays", vec![Value::Int(i64::MAX)]),
        ("Instant/ofEpochSecond", vec![Value::Int(i64::MIN)]),
        ("LocalDate/ofEpochDay", vec![Value::Int(i64::MIN + 1)]),
    ] {
        assert_eq!(display(name, args), format!("! type_error: {name}: the result is out of range"));
    }
}

#[test]
fn units_between_days_are_whole_and_toward_zero() {
    let between =
        |unit: &str, a: &str, b: &str| display(".between", [Value::keyword(unit), date(a), date(b)]);
    assert_eq!(between("days", "2024-03-01", "2024-02-28"), "-2");
    assert_eq!(between("weeks", "2024-01-01", "2024-01-14"), "1");
    assert_eq!(between("months", "2024-03-30", "2024-01-31"), "-1");
    assert_eq!(between("years", "2020-02-29", "2024-02-28"), "3");
}
