//! Dates, instants, durations and times of zones under their Java names.
//!
//! Five opaque kinds: the calendar day (`LocalDate` in messages), the instant in UTC (`DateTime`, for every Java class of it),
//! the duration, the date and time without a zone (`LocalDateTime`) and with one (`ZonedDateTime`).

/// A row whose function is told the name and the arguments of its call, and what stands in the row.
macro_rules! named {
    ($name:literal, $namespace:expr, $parameters:literal, $family:ident::$function:ident($($rest:expr),*)) => {
        fun($name, $namespace, $parameters, |_, args| $family::$function($name, args, $($rest),*))
    };
}

mod arguments;
mod comparing;
mod date_or_moment;
mod formatting;
mod pattern;
mod points;
mod spans;
mod text;
mod zone_rows;
mod zones;

pub(super) use points::java_date;
pub(super) use zone_rows::BUILTINS as ZONES;

use super::Builtin;
use super::namespaces::{
    CHRONO_UNIT, COMPARABLE, CORE, DATE, DATE_TIME_FORMATTER, DURATION, EXTENSION, INSTANT, JAVA_TIME,
    LOCAL_DATE, LOCAL_DATE_TIME, OFFSET_DATE_TIME, SYSTEM,
};
use super::row::{constant, fun, section};
use crate::value::{Day, Value};
use date_or_moment::SECOND;
use std::cmp::Ordering;

/// The family's functions.
pub(super) static BUILTINS: &[Builtin] = &section("dates", "Date and time").of([
    fun("java.util.Date.", DATE, "| x", points::java_date)
        .aliases(&["Date."])
        .doc("Instant from the program's start, a timestamp (seconds below 10^12, else milliseconds), a text or a date")
        .example("(.getTime (java.util.Date. 1700000000))", "1700000000000")
        .example(r#"(str (java.util.Date. "2026-01-08T14:30:00+02:00"))"#, r#""2026-01-08T12:30:00Z""#)
        .example(r#"(str (java.util.Date. "Thu, 8 Jan 2026 14:30:00 +0000"))"#, r#""2026-01-08T14:30:00Z""#),
    fun("parse", LOCAL_DATE, "s | s formatter", points::parse)
        .also_in(INSTANT)
        .doc("Date from YYYY-MM-DD, or instant from ISO 8601 text with a time; from other texts by a formatter or its pattern")
        .example(r#"(parse "2024-02-29")"#, r#""2024-02-29""#)
        .example(r#"(parse "2024-01-02T03:04:05+01:00")"#, r#""2024-01-02T02:04:05Z""#)
        .example(r#"(LocalDate/parse "2024-01-31")"#, r#""2024-01-31""#)
        .example(r#"(LocalDate/parse "31/01/2024" (DateTimeFormatter/ofPattern "dd/MM/yyyy"))"#, r#""2024-01-31""#)
        .example(r#"(Instant/parse "2024-01-02T03:04:05Z")"#, r#""2024-01-02T03:04:05Z""#),
    fun("LocalDate/of", LOCAL_DATE, "year month day", points::local_date_of)
        .doc("Date from year, month and day")
        .example("(LocalDate/of 2024 2 29)", r#""2024-02-29""#),
    fun("LocalDate/ofEpochDay", LOCAL_DATE, "n", points::of_epoch_day)
        .doc("Date some days after 1970-01-01")
        .example("(LocalDate/ofEpochDay 31)", r#""1970-02-01""#),
    fun("LocalDate/now", LOCAL_DATE, "| zone", points::today)
        .doc("Date in UTC, or in a zone, when the program started")
        .example("(int? (.toEpochDay (LocalDate/now)))", "true")
        .example(r#"(int? (.getYear (LocalDate/now "Asia/Tokyo")))"#, "true"),
    fun("Instant/ofEpochMilli", INSTANT, "n", points::of_epoch_milli)
        .doc("Instant from Unix milliseconds")
        .example("(Instant/ofEpochMilli 1500)", r#""1970-01-01T00:00:01.500Z""#),
    fun("Instant/ofEpochSecond", INSTANT, "n", points::of_epoch_second)
        .doc("Instant from Unix seconds")
        .example("(Instant/ofEpochSecond 1)", r#""1970-01-01T00:00:01Z""#),
    fun("Instant/now", INSTANT, "", points::now)
        .doc("Instant at which the program started")
        .example("(inst? (Instant/now))", "true"),
    named!(".getTime", DATE, "instant", points::since_epoch(1_000))
        .aliases(&[".toEpochMilli", "inst-ms", "clojure.core/inst-ms", "core/inst-ms"])
        .doc("Unix milliseconds of an instant")
        .example(r#"(.getTime (parse "1970-01-01T00:00:01.5Z"))"#, "1500"),
    named!(".getEpochSecond", INSTANT, "instant", points::since_epoch(1_000_000))
        .aliases(&[".toEpochSecond"])
        .doc("Unix seconds of an instant")
        .example(r#"(.getEpochSecond (parse "1970-01-01T00:01:00Z"))"#, "60"),
    fun(".toEpochDay", LOCAL_DATE, "date", points::to_epoch_day)
        .doc("Days since 1970-01-01 of a date")
        .example(r#"(.toEpochDay (parse "1970-02-01"))"#, "31"),
    named!(".getYear", LOCAL_DATE, "date", points::part(Day::year))
        .doc("Year of a date or of a point in time")
        .example(r#"(.getYear (parse "2024-02-29"))"#, "2024"),
    named!(".getMonthValue", LOCAL_DATE, "date", points::part(Day::month))
        .aliases(&[".getMonth"])
        .doc("Month of a date, 1 to 12; month-name gives its name")
        .example(r#"(.getMonthValue (parse "2024-02-29"))"#, "2"),
    named!(".getDayOfMonth", LOCAL_DATE, "date", points::part(Day::of_month))
        .doc("Day of the month of a date")
        .example(r#"(.getDayOfMonth (parse "2024-02-29"))"#, "29"),
    named!(".getDayOfYear", LOCAL_DATE, "date", points::part(Day::of_year))
        .doc("Day of the year of a date, from 1")
        .example(r#"(.getDayOfYear (parse "2024-02-29"))"#, "60"),
    named!(".getDayOfWeek", LOCAL_DATE, "date", points::part(Day::of_week))
        .doc("Day of the week of a date: 1 is Monday, 7 is Sunday; day-name gives its name")
        .example(r#"(.getDayOfWeek (parse "2024-02-29"))"#, "4"),
    fun("day-name", EXTENSION, "d", formatting::day_name)
        .doc("English name of the day of the week of a date or an instant, or of a number from 1 (Monday) to 7")
        .example(r#"(day-name (LocalDate/parse "2024-02-29"))"#, r#""Thursday""#)
        .example("(day-name 7)", r#""Sunday""#),
    fun("month-name", EXTENSION, "d", formatting::month_name)
        .doc("English name of the month of a date or an instant, or of a number from 1 to 12")
        .example(r#"(month-name (LocalDate/parse "2024-02-29"))"#, r#""February""#),
    fun("DateTimeFormatter/ofPattern", DATE_TIME_FORMATTER, "pattern", formatting::of_pattern)
        .doc(
            "Formatter of a pattern of yyyy MM dd HH mm ss SSS MMM MMMM EEE EEEE h a XXX VV z and 'text': \
             the pattern itself, which is checked",
        )
        .example(r#"(.format (LocalDate/of 2024 2 9) (DateTimeFormatter/ofPattern "d MMM yyyy"))"#, r#""9 Feb 2024""#),
    constant("DateTimeFormatter/ISO_LOCAL_DATE", DATE_TIME_FORMATTER, || Value::str("ISO_LOCAL_DATE"))
        .doc("Formatter of 2024-01-31")
        .example(r#"(.format (parse "2024-01-31T10:15:30Z") DateTimeFormatter/ISO_LOCAL_DATE)"#, r#""2024-01-31""#),
    constant("DateTimeFormatter/ISO_DATE", DATE_TIME_FORMATTER, || Value::str("ISO_DATE"))
        .doc("Formatter of 2024-01-31")
        .example(r#"(LocalDate/parse "2024-01-31" DateTimeFormatter/ISO_DATE)"#, r#""2024-01-31""#),
    constant("DateTimeFormatter/ISO_LOCAL_DATE_TIME", DATE_TIME_FORMATTER, || Value::str("ISO_LOCAL_DATE_TIME"))
        .doc("Formatter of 2024-01-31T10:15:30")
        .example(
            r#"(.format (parse "2024-01-31T10:15:30Z") DateTimeFormatter/ISO_LOCAL_DATE_TIME)"#,
            r#""2024-01-31T10:15:30""#,
        ),
    constant("DateTimeFormatter/ISO_DATE_TIME", DATE_TIME_FORMATTER, || Value::str("ISO_DATE_TIME"))
        .doc("Formatter of 2024-01-31T10:15:30Z")
        .example(
            r#"(LocalDateTime/parse "2024-01-31T10:15:30" DateTimeFormatter/ISO_DATE_TIME)"#,
            r#""2024-01-31T10:15:30""#,
        ),
    constant("DateTimeFormatter/ISO_OFFSET_DATE_TIME", DATE_TIME_FORMATTER, || Value::str("ISO_OFFSET_DATE_TIME"))
        .doc("Formatter of 2024-01-31T10:15:30Z")
        .example(
            r#"(OffsetDateTime/parse "2024-01-31T10:15:30+02:00" DateTimeFormatter/ISO_OFFSET_DATE_TIME)"#,
            r#""2024-01-31T08:15:30Z""#,
        ),
    constant("DateTimeFormatter/ISO_ZONED_DATE_TIME", DATE_TIME_FORMATTER, || Value::str("ISO_ZONED_DATE_TIME"))
        .doc("Formatter of 2024-01-31T10:15:30+01:00[Europe/Berlin]")
        .example(
            r#"(.format (in-zone (parse "2024-01-31T10:15:30Z") "Europe/Berlin") DateTimeFormatter/ISO_ZONED_DATE_TIME)"#,
            r#""2024-01-31T11:15:30+01:00[Europe/Berlin]""#,
        ),
    constant("DateTimeFormatter/ISO_INSTANT", DATE_TIME_FORMATTER, || Value::str("ISO_INSTANT"))
        .doc("Formatter of 2024-01-31T10:15:30Z")
        .example(
            r#"(.format DateTimeFormatter/ISO_INSTANT (parse "2024-01-31T10:15:30Z"))"#,
            r#""2024-01-31T10:15:30Z""#,
        ),
    constant("DateTimeFormatter/BASIC_ISO_DATE", DATE_TIME_FORMATTER, || Value::str("BASIC_ISO_DATE"))
        .doc("Formatter of 20240131")
        .example(r#"(.format (LocalDate/of 2024 1 31) DateTimeFormatter/BASIC_ISO_DATE)"#, r#""20240131""#),
    fun(".format", JAVA_TIME, "date formatter", formatting::format)
        .doc("Text of a date or a point in time by a formatter or its pattern: an instant in UTC, a time of a zone in its zone")
        .example(r#"(.format (LocalDate/of 2024 2 9) "EEEE, dd.MM.yyyy")"#, r#""Friday, 09.02.2024""#)
        .example(r#"(.format (parse "2024-02-09T15:04:05Z") "h:mm a")"#, r#""3:04 PM""#)
        .example(r#"(.format (in-zone (parse "2024-02-09T15:04:05Z") "America/New_York") "HH:mm z")"#, r#""10:04 EST""#),
    fun("LocalDateTime/parse", LOCAL_DATE_TIME, "s | s formatter", formatting::parse_local_date_time)
        .doc("Date and time without a zone from ISO 8601 text, or by a formatter or its pattern; an instant if the text says an offset")
        .example(r#"(LocalDateTime/parse "2024-01-31T10:15")"#, r#""2024-01-31T10:15""#)
        .example(r#"(LocalDateTime/parse "31.01.2024 10:15" "dd.MM.yyyy HH:mm")"#, r#""2024-01-31T10:15""#),
    fun("OffsetDateTime/parse", OFFSET_DATE_TIME, "s | s formatter", formatting::parse_offset_date_time)
        .doc("Instant from a text with date, time and offset, or by a formatter or its pattern")
        .example(r#"(OffsetDateTime/parse "2024-01-31T10:15:30+02:00")"#, r#""2024-01-31T08:15:30Z""#),
    fun(".toLocalDate", LOCAL_DATE_TIME, "time", formatting::to_local_date)
        .doc("Date of a point in time: of an instant in UTC, of a time of a zone in its zone")
        .example(r#"(.toLocalDate (parse "2024-01-31T23:59:59Z"))"#, r#""2024-01-31""#),
    named!(".getHour", LOCAL_DATE_TIME, "time", formatting::clock(|micros| micros / (3_600 * SECOND)))
        .doc("Hour of a point in time, 0 to 23: of an instant in UTC")
        .example(r#"(.getHour (parse "2024-01-31T10:15:30Z"))"#, "10"),
    named!(".getMinute", LOCAL_DATE_TIME, "time", formatting::clock(|micros| micros / (60 * SECOND) % 60))
        .doc("Minute of a point in time: of an instant in UTC")
        .example(r#"(.getMinute (parse "2024-01-31T10:15:30Z"))"#, "15"),
    named!(".getSecond", LOCAL_DATE_TIME, "time", formatting::clock(|micros| micros / SECOND % 60))
        .doc("Second of a point in time")
        .example(r#"(.getSecond (parse "2024-01-31T10:15:30Z"))"#, "30"),
    named!(".plusDays", LOCAL_DATE, "date n", points::move_days("days", 1))
        .doc("Date, or time of a zone or without one, some days later by the calendar")
        .example(r#"(str (.plusDays (parse "2024-02-28") 2))"#, r#""2024-03-01""#),
    named!(".plusWeeks", LOCAL_DATE, "date n", points::move_days("weeks", 7))
        .doc("Date some weeks later")
        .example(r#"(str (.plusWeeks (parse "2024-02-28") 1))"#, r#""2024-03-06""#),
    named!(".plusMonths", LOCAL_DATE, "date n", points::move_months("months", 1))
        .doc("Date some months later; the last day of the month where it is shorter")
        .example(r#"(str (.plusMonths (parse "2024-01-31") 1))"#, r#""2024-02-29""#),
    named!(".plusYears", LOCAL_DATE, "date n", points::move_months("years", 12))
        .doc("Date some years later; the last day of the month where it is shorter")
        .example(r#"(str (.plusYears (parse "2024-02-29") 1))"#, r#""2025-02-28""#),
    named!(".minusDays", LOCAL_DATE, "date n", points::move_days("days", -1))
        .doc("Date some days earlier")
        .example(r#"(str (.minusDays (parse "2024-03-01") 1))"#, r#""2024-02-29""#),
    named!(".minusWeeks", LOCAL_DATE, "date n", points::move_days("weeks", -7))
        .doc("Date some weeks earlier")
        .example(r#"(str (.minusWeeks (parse "2024-03-06") 1))"#, r#""2024-02-28""#),
    named!(".minusMonths", LOCAL_DATE, "date n", points::move_months("months", -1))
        .doc("Date some months earlier")
        .example(r#"(str (.minusMonths (parse "2024-03-31") 1))"#, r#""2024-02-29""#),
    named!(".minusYears", LOCAL_DATE, "date n", points::move_months("years", -12))
        .doc("Date some years earlier")
        .example(r#"(str (.minusYears (parse "2024-02-29") 1))"#, r#""2023-02-28""#),
    named!(".plusSeconds", INSTANT, "instant n", points::move_instant("seconds", 1_000_000, 0))
        .doc("Instant some seconds later")
        .example(r#"(.plusSeconds (parse "1970-01-01T00:01:00Z") 30)"#, r#""1970-01-01T00:01:30Z""#),
    named!(".minusSeconds", INSTANT, "instant n", points::move_instant("seconds", -1_000_000, 0))
        .doc("Instant some seconds earlier")
        .example(r#"(.minusSeconds (parse "1970-01-01T00:01:00Z") 30)"#, r#""1970-01-01T00:00:30Z""#),
    named!(".plusMillis", INSTANT, "instant n", points::move_instant("milliseconds", 1_000, 3))
        .doc("Instant some milliseconds later")
        .example(r#"(.plusMillis (parse "1970-01-01T00:01:00Z") 500)"#, r#""1970-01-01T00:01:00.500Z""#),
    named!(".minusMillis", INSTANT, "instant n", points::move_instant("milliseconds", -1_000, 3))
        .doc("Instant some milliseconds earlier")
        .example(r#"(.minusMillis (parse "1970-01-01T00:01:00Z") 500)"#, r#""1970-01-01T00:00:59.500Z""#),
    named!(".isBefore", JAVA_TIME, "a b", comparing::holds(Ordering::is_lt))
        .aliases(&[".before"])
        .doc("True when strictly earlier; both of one kind")
        .example(r#"(.isBefore (parse "2024-01-31") (parse "2024-02-01"))"#, "true"),
    named!(".isAfter", JAVA_TIME, "a b", comparing::holds(Ordering::is_gt))
        .aliases(&[".after"])
        .doc("True when strictly later; both of one kind")
        .example(r#"(.isAfter (parse "2024-01-31") (parse "2024-02-01"))"#, "false"),
    named!(".isEqual", JAVA_TIME, "a b", comparing::holds(Ordering::is_eq))
        .doc("True when both are the same time; both of one kind")
        .example(r#"(.isEqual (parse "2024-01-31") (parse "2024-01-31"))"#, "true"),
    fun(".compareTo", COMPARABLE, "a b", comparing::compare_to)
        .aliases(&["Boolean/compare", "Character/compare"])
        .doc("-1, 0 or 1: the order of two dates, instants, strings, numbers or other values of one kind")
        .example(r#"(.compareTo (parse "2024-01-31") (parse "2024-02-01"))"#, "-1"),
    fun("inst?", CORE, "x", comparing::is_inst)
        .doc("True for instants")
        .example(r#"(inst? (parse "2024-01-02T03:04:05Z"))"#, "true")
        .example(r#"(inst? "2024")"#, "false"),
    fun(".between", CHRONO_UNIT, "unit a b", comparing::between)
        .doc("Whole units from a to b, such as (.between ChronoUnit/DAYS a b)")
        .example(r#"(.between ChronoUnit/DAYS (parse "2024-02-28") (parse "2024-03-01"))"#, "2")
        .example(r#"(.between ChronoUnit/MONTHS (parse "2024-01-31") (parse "2024-03-30"))"#, "1"),
    constant("ChronoUnit/MILLIS", CHRONO_UNIT, || Value::keyword("millis"))
        .doc("Unit for .between: millis")
        .example("ChronoUnit/MILLIS", ":millis"),
    constant("ChronoUnit/SECONDS", CHRONO_UNIT, || Value::keyword("seconds"))
        .doc("Unit for .between: seconds")
        .example("ChronoUnit/SECONDS", ":seconds"),
    constant("ChronoUnit/MINUTES", CHRONO_UNIT, || Value::keyword("minutes"))
        .doc("Unit for .between: minutes")
        .example("ChronoUnit/MINUTES", ":minutes"),
    constant("ChronoUnit/HOURS", CHRONO_UNIT, || Value::keyword("hours"))
        .doc("Unit for .between: hours")
        .example("ChronoUnit/HOURS", ":hours"),
    constant("ChronoUnit/DAYS", CHRONO_UNIT, || Value::keyword("days"))
        .doc("Unit for .between: days")
        .example("ChronoUnit/DAYS", ":days"),
    constant("ChronoUnit/WEEKS", CHRONO_UNIT, || Value::keyword("weeks"))
        .doc("Unit for .between: weeks")
        .example("ChronoUnit/WEEKS", ":weeks"),
    constant("ChronoUnit/MONTHS", CHRONO_UNIT, || Value::keyword("months"))
        .doc("Unit for .between: months")
        .example("ChronoUnit/MONTHS", ":months"),
    constant("ChronoUnit/YEARS", CHRONO_UNIT, || Value::keyword("years"))
        .doc("Unit for .between: years")
        .example("ChronoUnit/YEARS", ":years"),
    fun("Duration/between", DURATION, "a b", spans::between)
        .doc("Duration from one point in time to another: both instants or times of zones, or both local times")
        .example("(.toMillis (Duration/between (java.util.Date. 0) (java.util.Date. 5)))", "5000"),
    fun("Duration/parse", DURATION, "s", spans::parse)
        .doc("Duration from ISO 8601 text")
        .example(r#"(Duration/parse "PT1H30M")"#, "#duration[5400000ms]"),
    named!("Duration/ofDays", DURATION, "n", spans::of(86_400_000))
        .doc("Duration of some days")
        .example("(Duration/ofDays 2)", "#duration[172800000ms]"),
    named!("Duration/ofHours", DURATION, "n", spans::of(3_600_000))
        .doc("Duration of some hours")
        .example("(Duration/ofHours 2)", "#duration[7200000ms]"),
    named!("Duration/ofMinutes", DURATION, "n", spans::of(60_000))
        .doc("Duration of some minutes")
        .example("(Duration/ofMinutes 2)", "#duration[120000ms]"),
    named!("Duration/ofSeconds", DURATION, "n", spans::of(1_000))
        .doc("Duration of some seconds")
        .example("(Duration/ofSeconds 2)", "#duration[2000ms]"),
    named!("Duration/ofMillis", DURATION, "n", spans::of(1))
        .doc("Duration of some milliseconds")
        .example("(Duration/ofMillis 2)", "#duration[2ms]"),
    named!(".toMillis", DURATION, "duration", spans::to(1))
        .doc("Milliseconds of a duration")
        .example(r#"(.toMillis (Duration/parse "P1DT12H"))"#, "129600000"),
    named!(".toSeconds", DURATION, "duration", spans::to(1_000))
        .doc("Whole seconds of a duration")
        .example(r#"(.toSeconds (Duration/parse "P1DT12H"))"#, "129600"),
    named!(".toMinutes", DURATION, "duration", spans::to(60_000))
        .doc("Whole minutes of a duration")
        .example(r#"(.toMinutes (Duration/parse "P1DT12H"))"#, "2160"),
    named!(".toHours", DURATION, "duration", spans::to(3_600_000))
        .doc("Whole hours of a duration")
        .example(r#"(.toHours (Duration/parse "P1DT12H"))"#, "36"),
    named!(".toDays", DURATION, "duration", spans::to(86_400_000))
        .doc("Whole days of a duration")
        .example(r#"(.toDays (Duration/parse "P1DT12H"))"#, "1"),
    fun("currentTimeMillis", SYSTEM, "", points::current_time_millis)
        .doc("Unix time in milliseconds when the program started")
        .example("(pos? (inc (currentTimeMillis)))", "true")
        .example("(int? (System/currentTimeMillis))", "true"),
    fun("System/nanoTime", SYSTEM, "", points::nano_time)
        .doc("Unix time in nanoseconds when the program started, as exact as milliseconds")
        .example("(int? (System/nanoTime))", "true"),
]);

#[cfg(test)]
mod tests;
