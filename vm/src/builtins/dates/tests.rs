use crate::builtins::support::testing::display;
use crate::value::{Temporal, Value};

fn s(text: &str) -> Value {
    Value::str(text)
}

fn date(text: &str) -> Value {
    super::text::date(text).map(|days| Value::temporal(Temporal::date(days))).expect("a date")
}

fn instant(text: &str) -> Value {
    let moment = super::text::date_time(text, false).and_then(|stamp| stamp.moment()).expect("an instant");
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
            "LocalDate/of",
            [i64::MIN, 2, 29].map(Value::Int).to_vec(),
            "LocalDate/of: there is no date -9223372036854775808-02-29",
        ),
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
        (".atStartOfDay", vec![Value::temporal(Temporal::date(Temporal::MOST_DAYS))]),
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

fn zoned(text: &str) -> Value {
    let stamp = super::text::date_time(text, false).expect("a time");
    stamp.when().expect("in range").value()
}

fn local(text: &str) -> Value {
    super::text::stamp(text, false).and_then(|stamp| stamp.when()).expect("a time").value()
}

const BERLIN: &str = "Europe/Berlin";

#[test]
fn gaps_move_forward_and_overlaps_take_the_earlier_offset() {
    for (text, want) in [
        ("2026-03-29T02:30", "2026-03-29T03:30+02:00[Europe/Berlin]"),
        ("2026-03-29T01:59:59.5", "2026-03-29T01:59:59.5+01:00[Europe/Berlin]"),
        ("2026-10-25T02:30", "2026-10-25T02:30+02:00[Europe/Berlin]"),
        ("2026-10-25T03:00", "2026-10-25T03:00+01:00[Europe/Berlin]"),
        ("1890-01-01T12:00", "1890-01-01T12:00+00:53:28[Europe/Berlin]"),
    ] {
        for name in [".atZone", "in-zone", "ZonedDateTime/of"] {
            assert_eq!(display(name, [local(text), s(BERLIN)]), format!("\"{want}\""), "{name} {text}");
        }
    }
}

#[test]
fn days_count_by_the_calendar_and_hours_by_elapsed_time() {
    let before = || zoned("2026-03-28T02:30+01:00[Europe/Berlin]");
    let second = || zoned("2026-10-25T02:30+01:00[Europe/Berlin]");
    for (name, value, n, want) in [
        (".plusDays", before(), 1, "2026-03-29T03:30+02:00[Europe/Berlin]"),
        (".plusDays", before(), 2, "2026-03-30T02:30+02:00[Europe/Berlin]"),
        (".plusHours", before(), 24, "2026-03-29T03:30+02:00[Europe/Berlin]"),
        (".plusHours", before(), 48, "2026-03-30T03:30+02:00[Europe/Berlin]"),
        (
            ".plusMonths",
            zoned("2026-01-31T10:00+01:00[Europe/Berlin]"),
            6,
            "2026-07-31T10:00+02:00[Europe/Berlin]",
        ),
        // The later of two offsets stays.
        (".plusMinutes", second(), 1, "2026-10-25T02:31+01:00[Europe/Berlin]"),
        (".plusDays", second(), 0, "2026-10-25T02:30+01:00[Europe/Berlin]"),
        (".minusYears", second(), 0, "2026-10-25T02:30+01:00[Europe/Berlin]"),
        (".minusHours", second(), 1, "2026-10-25T02:30+02:00[Europe/Berlin]"),
        (".plusDays", local("2026-03-28T02:30"), 1, "2026-03-29T02:30"),
        (".plusMillis", local("2026-03-28T02:30"), 5, "2026-03-28T02:30:00.005"),
        (".plusWeeks", zoned("2026-11-28T10:00:00+0200"), 1, "2026-12-05T10:00+02:00"),
    ] {
        assert_eq!(display(name, [value, Value::Int(n)]), format!("\"{want}\""), "{name} {n}");
    }
}

#[test]
fn a_day_begins_at_its_first_time() {
    for (day, zone, want) in [
        ("2026-03-29", BERLIN, "2026-03-29T00:00+01:00[Europe/Berlin]"),
        // Clocks went from midnight to one o'clock.
        ("2018-11-04", "America/Sao_Paulo", "2018-11-04T01:00-02:00[America/Sao_Paulo]"),
        // The gap of an hour began at half past eleven.
        ("1919-03-31", "America/Toronto", "1919-03-31T00:30-04:00[America/Toronto]"),
        ("2026-01-01", "+05:30", "2026-01-01T00:00+05:30"),
    ] {
        assert_eq!(display(".atStartOfDay", [date(day), s(zone)]), format!("\"{want}\""), "{day}");
    }
}

#[test]
fn zones_change_and_the_instant_or_the_clock_stays() {
    let noon = || zoned("2026-07-01T12:00+02:00[Europe/Berlin]");
    let second = || zoned("2026-10-25T02:30+01:00[Europe/Berlin]");
    let first = "\"2026-10-25T02:30+02:00[Europe/Berlin]\"";
    for (name, args, want) in [
        (".withZoneSameInstant", vec![noon(), s("Asia/Tokyo")], "\"2026-07-01T19:00+09:00[Asia/Tokyo]\""),
        (".withZoneSameLocal", vec![noon(), s("Asia/Tokyo")], "\"2026-07-01T12:00+09:00[Asia/Tokyo]\""),
        // An offset that the other zone has at that time stays, too.
        (".withZoneSameLocal", vec![second(), s("Europe/Paris")], "\"2026-10-25T02:30+01:00[Europe/Paris]\""),
        (".withEarlierOffsetAtOverlap", vec![second()], first),
        (".withEarlierOffsetAtOverlap", vec![noon()], "\"2026-07-01T12:00+02:00[Europe/Berlin]\""),
        (
            "in-zone",
            vec![s("2026-07-01 10:00:00 +0000"), s("UTC+2")],
            "\"2026-07-01T12:00+02:00[UTC+02:00]\"",
        ),
        ("in-zone", vec![s("2026-07-01T10:00"), s(BERLIN)], "\"2026-07-01T10:00+02:00[Europe/Berlin]\""),
        (".toInstant", vec![noon()], "\"2026-07-01T10:00:00Z\""),
        (".toInstant", vec![local("2026-07-01T10:00"), s("+0200")], "\"2026-07-01T08:00:00Z\""),
        (".toLocalDateTime", vec![noon()], "\"2026-07-01T12:00\""),
        (".toLocalDate", vec![zoned("2026-07-01T01:00+02:00[Europe/Berlin]")], "\"2026-07-01\""),
        (".getOffset", vec![noon()], "\"+02:00\""),
        (".getZone", vec![zoned("2026-07-01T12:00:00Z[UTC]")], "\"UTC\""),
        (".getDayOfWeek", vec![zoned("2026-06-30T23:00:00-05:00")], "2"),
        (".getHour", vec![noon()], "12"),
        ("month-name", vec![zoned("2026-07-01T00:00+02:00[Europe/Berlin]")], "\"July\""),
        ("java.util.Date.", vec![noon()], "\"2026-07-01T10:00:00Z\""),
        (
            "parse",
            vec![s("2026-07-01T12:00+02:00[Europe/Berlin]")],
            "\"2026-07-01T12:00+02:00[Europe/Berlin]\"",
        ),
        ("parse", vec![s("2026-07-01T12:00+02:00")], "\"2026-07-01T10:00:00Z\""),
        // The offset says the instant, whatever the zone has.
        (
            "ZonedDateTime/parse",
            vec![s("2026-07-01T12:00Z[Europe/Berlin]")],
            "\"2026-07-01T14:00+02:00[Europe/Berlin]\"",
        ),
        (".format", vec![noon(), s("d MMM yyyy HH:mm z VV")], "\"1 Jul 2026 12:00 CEST Europe/Berlin\""),
        (".format", vec![noon(), s("ISO_INSTANT")], "\"2026-07-01T10:00:00Z\""),
        (".format", vec![noon(), s("ISO_OFFSET_DATE_TIME")], "\"2026-07-01T12:00:00+02:00\""),
        (".format", vec![local("2026-07-01T12:00"), s("ISO_LOCAL_DATE_TIME")], "\"2026-07-01T12:00:00\""),
        ("LocalDateTime/parse", vec![s("2026-07-01T12:00:00+0200")], "\"2026-07-01T10:00:00Z\""),
        (".truncatedTo", vec![second(), Value::keyword("days")], "\"2026-10-25T00:00+02:00[Europe/Berlin]\""),
        (
            ".truncatedTo",
            vec![second(), Value::keyword("hours")],
            "\"2026-10-25T02:00+01:00[Europe/Berlin]\"",
        ),
    ] {
        assert_eq!(display(name, args), want, "{name}");
    }
}

#[test]
fn times_of_zones_compare_by_their_instant() {
    let (here, there) = (|| zoned("2026-07-01T12:00:00+02:00"), || zoned("2026-07-01T10:00:00Z[UTC]"));
    let later = || zoned("2026-07-01T06:30-04:00[America/New_York]");
    for (name, args, want) in [
        (".isEqual", [here(), there()], "true"),
        (".equals", [here(), there()], "false"),
        ("=", [here(), here()], "true"),
        (".isBefore", [here(), later()], "true"),
        (".isAfter", [later(), there()], "true"),
        (".compareTo", [here(), there()], "1"),
        (".compareTo", [there(), later()], "-1"),
        ("compare", [here(), later()], "-1"),
    ] {
        assert_eq!(display(name, args), want, "{name}");
    }
    let sorted =
        display("sort", [Value::vector([later(), here(), local("2030-01-01T00:00"), date("2040-01-01")])]);
    assert_eq!(
        sorted,
        "[\"2040-01-01\" \"2030-01-01T00:00\" \"2026-07-01T12:00+02:00\" \"2026-07-01T06:30-04:00[America/New_York]\"]"
    );
}

#[test]
fn units_between_times_of_zones_follow_the_calendar_of_the_first() {
    let (a, b) = (
        || zoned("2026-03-28T12:00+01:00[Europe/Berlin]"),
        || zoned("2026-03-29T12:00+02:00[Europe/Berlin]"),
    );
    let between = |unit: &str, a: Value, b: Value| display(".between", [Value::keyword(unit), a, b]);
    assert_eq!((between("days", a(), b()).as_str(), between("hours", a(), b()).as_str()), ("1", "23"));
    assert_eq!(between("days", a(), zoned("2026-03-29T11:59+02:00[Europe/Berlin]")), "0");
    assert_eq!(between("days", b(), a()), "-1");
    assert_eq!(between("months", local("2026-01-31T10:00"), local("2026-03-31T09:59")), "1");
    assert_eq!(between("minutes", local("2026-01-31T10:00"), local("2026-01-31T09:58:30")), "-1");
    assert_eq!(display("Duration/between", [a(), b()]), "#duration[82800000ms]");
    assert_eq!(
        display("Duration/between", [local("2026-03-28T12:00"), local("2026-03-29T12:00")]),
        "#duration[86400000ms]"
    );
}

#[test]
fn what_has_no_zone_or_no_time_is_refused_with_advice() {
    let noon = || zoned("2026-07-01T12:00+02:00[Europe/Berlin]");
    for (name, args, want) in [
        (
            "ZoneId/of",
            vec![s("Europe/Berln")],
            "ZoneId/of: there is no time zone 'Europe/Berln': the nearest is Europe/Berlin",
        ),
        (
            "ZoneId/of",
            vec![s("zzzzqqqq")],
            "ZoneId/of: there is no time zone 'zzzzqqqq': write a region such as Europe/Berlin or an offset such as +02:00",
        ),
        (
            "ZoneId/of",
            vec![Value::Nil],
            "ZoneId/of: arg 1 expected time zone such as \"Europe/Berlin\", got nil",
        ),
        (
            "parse",
            vec![s("2026-07-01T12:00:00Z[PST]")],
            "parse: there is no time zone 'PST': the nearest is America/Los_Angeles",
        ),
        (
            ".atZone",
            vec![date("2026-07-01"), s(BERLIN)],
            ".atZone: expected DateTime or LocalDateTime, got LocalDate",
        ),
        (".toInstant", vec![local("2026-07-01T12:00")], ".toInstant: a LocalDateTime has no offset"),
        (
            ".getZone",
            vec![instant("2026-07-01T12:00:00Z")],
            ".getZone: expected ZonedDateTime, got \"2026-07-01T12:00:00Z\"",
        ),
        (
            "ZonedDateTime/parse",
            vec![s("2026-07-01T12:00")],
            "ZonedDateTime/parse: cannot parse '2026-07-01T12:00', expected a text such as 2024-01-31T10:15:30+01:00[Europe/Berlin], or a formatter",
        ),
        (
            ".isBefore",
            vec![noon(), instant("2026-07-01T12:00:00Z")],
            ".isBefore: cannot compare ZonedDateTime with DateTime — use same types",
        ),
        (".getTime", vec![local("2026-07-01T12:00")], ".getTime: expected DateTime, got 2026-07-01T12:00"),
        (
            "java.util.Date.",
            vec![local("2026-07-01T12:00")],
            "java.util.Date: cannot construct from 2026-07-01T12:00",
        ),
        (
            ".format",
            vec![local("2026-07-01T12:00"), s("HH:mm XXX")],
            ".format: HH:mm XXX has an offset or a zone, and \"2026-07-01T12:00\" has none",
        ),
        (
            "ZonedDateTime/of",
            [2026, 2, 30, 0, 0, 0, 0].map(Value::Int).into_iter().chain([s(BERLIN)]).collect(),
            "ZonedDateTime/of: there is no date 2026-02-30",
        ),
        (
            "LocalDateTime/of",
            [2026, 2, 1, 24, 0].map(Value::Int).to_vec(),
            "LocalDateTime/of: there is no hour 24",
        ),
        (
            "ZoneOffset/of",
            vec![s(BERLIN)],
            "ZoneOffset/of: expected an offset such as +02:00, got Europe/Berlin",
        ),
        ("ZoneOffset/ofHours", vec![Value::Int(19)], "ZoneOffset/ofHours: an offset is at most 18 hours"),
        (".plusHours", vec![noon(), Value::Int(i64::MAX)], ".plusHours: the result is out of range"),
        (
            ".plusYears",
            vec![local("2026-07-01T12:00"), Value::Int(900_000)],
            ".plusYears: the result is out of range",
        ),
        (
            ".atStartOfDay",
            vec![date("2026-07-01"), s("nowhere")],
            ".atStartOfDay: there is no time zone 'nowhere': write a region such as Europe/Berlin or an offset such as +02:00",
        ),
    ] {
        assert_eq!(display(name, args), format!("! type_error: {want}"));
    }
}
