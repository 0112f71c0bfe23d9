//! The rows of times in zones.

use super::date_or_moment::SECOND;
use super::{formatting, points, zones};
use crate::builtins::Builtin;
use crate::builtins::namespaces::{
    EXTENSION, JAVA_TIME, LOCAL_DATE, LOCAL_DATE_TIME, ZONE_ID, ZONE_OFFSET, ZONED_DATE_TIME,
};
use crate::builtins::row::{constant, fun, section};
use crate::value::Value;

/// The functions of zones, and of times without one.
pub(in crate::builtins) static BUILTINS: &[Builtin] = &section("zones", "Time zones").of([
    fun("in-zone", EXTENSION, "time zone", zones::in_zone)
        .doc("An instant, a time of another zone, or ISO 8601 text, as clocks in the zone show it. The zone is a region such as \"Europe/Berlin\" or an offset such as \"+02:00\"")
        .example(r#"(in-zone (parse "2026-03-29T01:30:00Z") "Europe/Berlin")"#, r#""2026-03-29T03:30+02:00[Europe/Berlin]""#)
        .example(r#"(.getHour (in-zone "2026-07-01T12:00:00Z" "Asia/Kolkata"))"#, "17"),
    fun("ZoneId/of", ZONE_ID, "name", zones::zone_of)
        .aliases(&[".getId"])
        .doc("Time zone of a name, which is checked: a region such as Europe/Berlin, or Z, +02:00, UTC, UTC+2. A zone is its name")
        .example(r#"(ZoneId/of "Europe/Berlin")"#, r#""Europe/Berlin""#)
        .example(r#"(ZoneId/of "+0200")"#, r#""+02:00""#),
    fun("ZoneOffset/of", ZONE_OFFSET, "offset", zones::offset_of)
        .doc("Time zone of an offset from UTC")
        .example(r#"(ZoneOffset/of "-0530")"#, r#""-05:30""#),
    fun("ZoneOffset/ofHours", ZONE_OFFSET, "hours", zones::offset_of_hours)
        .doc("Time zone of an offset of some hours")
        .example("(ZoneOffset/ofHours 2)", r#""+02:00""#),
    fun("ZoneOffset/ofHoursMinutes", ZONE_OFFSET, "hours minutes", zones::offset_of_hours)
        .doc("Time zone of an offset of hours and minutes")
        .example("(ZoneOffset/ofHoursMinutes -5 -30)", r#""-05:30""#),
    constant("ZoneOffset/UTC", ZONE_OFFSET, || Value::str("Z"))
        .doc("Time zone of UTC")
        .example("ZoneOffset/UTC", r#""Z""#),
    fun(".getTotalSeconds", ZONE_OFFSET, "offset", zones::total_seconds)
        .doc("Seconds that an offset is ahead of UTC")
        .example(r#"(.getTotalSeconds "+02:00")"#, "7200"),
    fun(
        "LocalDateTime/of",
        LOCAL_DATE_TIME,
        "year month day hour minute | year month day hour minute second | year month day hour minute second nano",
        zones::local_date_time_of,
    )
    .doc("Date and time without a zone")
    .example("(LocalDateTime/of 2024 1 31 10 15)", r#""2024-01-31T10:15""#),
    fun("LocalDateTime/now", LOCAL_DATE_TIME, "| zone", points::local_now)
        .doc("Date and time in UTC, or in a zone, when the program started")
        .example(r#"(int? (.getHour (LocalDateTime/now "Europe/Berlin")))"#, "true"),
    fun("LocalDateTime/ofInstant", LOCAL_DATE_TIME, "instant zone", zones::local_date_time_of_instant)
        .doc("Date and time that clocks in a zone show at an instant, without the zone")
        .example(r#"(LocalDateTime/ofInstant (parse "2024-01-31T10:15:30Z") "Asia/Tokyo")"#, r#""2024-01-31T19:15:30""#),
    fun(
        "ZonedDateTime/of",
        ZONED_DATE_TIME,
        "local-time zone | year month day hour minute second nano zone",
        zones::zoned_of,
    )
    .one_of(&[2, 8])
    .doc("Time of a zone from what its clocks show: forward over a gap, with the earlier offset in an overlap")
    .example(r#"(ZonedDateTime/of 2026 3 29 2 30 0 0 "Europe/Berlin")"#, r#""2026-03-29T03:30+02:00[Europe/Berlin]""#),
    fun("ZonedDateTime/ofInstant", ZONED_DATE_TIME, "instant zone", zones::zoned_of_instant)
        .doc("Instant as clocks in a zone show it")
        .example(
            r#"(ZonedDateTime/ofInstant (parse "2024-01-31T10:15:30Z") "Asia/Tokyo")"#,
            r#""2024-01-31T19:15:30+09:00[Asia/Tokyo]""#,
        ),
    fun("ZonedDateTime/now", ZONED_DATE_TIME, "zone", points::zoned_now)
        .doc("Time in a zone when the program started")
        .example(r#"(.getZone (ZonedDateTime/now "Europe/Berlin"))"#, r#""Europe/Berlin""#),
    fun("ZonedDateTime/parse", ZONED_DATE_TIME, "s | s formatter", formatting::parse_zoned_date_time)
        .doc("Time of a zone from a text with an offset, a zone in brackets, or both, or by a formatter or its pattern")
        .example(
            r#"(ZonedDateTime/parse "2026-03-29T03:30+02:00[Europe/Berlin]")"#,
            r#""2026-03-29T03:30+02:00[Europe/Berlin]""#,
        )
        .example(r#"(ZonedDateTime/parse "2026-11-28T10:00:00+0200")"#, r#""2026-11-28T10:00+02:00""#),
    fun(".atZone", JAVA_TIME, "time zone", zones::at_zone)
        .aliases(&[".atOffset"])
        .doc("An instant as clocks in the zone show it; a local time as one of the zone, forward over a gap, with the earlier offset in an overlap")
        .example(
            r#"(.atZone (LocalDateTime/parse "2026-07-01T10:00") (ZoneId/of "Europe/Berlin"))"#,
            r#""2026-07-01T10:00+02:00[Europe/Berlin]""#,
        )
        .example(
            r#"(.atZone (Instant/parse "2026-07-01T10:00:00Z") "Europe/Berlin")"#,
            r#""2026-07-01T12:00+02:00[Europe/Berlin]""#,
        ),
    fun(".atStartOfDay", LOCAL_DATE, "date | date zone", zones::at_start_of_day)
        .doc("First time of a date, without a zone or in one")
        .example("(.atStartOfDay (LocalDate/of 2024 1 31))", r#""2024-01-31T00:00""#)
        .example(
            r#"(.atStartOfDay (LocalDate/of 2024 1 31) "Europe/Berlin")"#,
            r#""2024-01-31T00:00+01:00[Europe/Berlin]""#,
        ),
    fun(".atTime", LOCAL_DATE, "date hour minute | date hour minute second", zones::at_time)
        .doc("Time of a date, without a zone")
        .example("(.atTime (LocalDate/of 2024 1 31) 10 15)", r#""2024-01-31T10:15""#),
    fun(".toInstant", JAVA_TIME, "time | local-time offset", zones::to_instant)
        .doc("Instant of a time of a zone, or of a local time with an offset")
        .example(r#"(.toInstant (ZonedDateTime/parse "2026-11-28T10:00:00+0200"))"#, r#""2026-11-28T08:00:00Z""#),
    fun(".toLocalDateTime", ZONED_DATE_TIME, "time", zones::to_local_date_time)
        .doc("Date and time that the clock of a zone shows, without the zone; of an instant in UTC")
        .example(r#"(.toLocalDateTime (ZonedDateTime/parse "2026-11-28T10:00:00+0200"))"#, r#""2026-11-28T10:00""#),
    fun(".getZone", ZONED_DATE_TIME, "time", zones::get_zone)
        .doc("Name of the zone of a time")
        .example(r#"(.getZone (in-zone "2026-07-01T10:00:00Z" "Europe/Berlin"))"#, r#""Europe/Berlin""#),
    fun(".getOffset", ZONED_DATE_TIME, "time", zones::get_offset)
        .doc("Offset from UTC that the zone has at a time")
        .example(r#"(.getOffset (in-zone "2026-07-01T10:00:00Z" "Europe/Berlin"))"#, r#""+02:00""#),
    fun(".withZoneSameInstant", ZONED_DATE_TIME, "time zone", zones::with_zone_same_instant)
        .doc("The same instant in another zone")
        .example(
            r#"(.withZoneSameInstant (in-zone "2026-07-01T10:00:00Z" "Europe/Berlin") "Asia/Tokyo")"#,
            r#""2026-07-01T19:00+09:00[Asia/Tokyo]""#,
        ),
    fun(".withZoneSameLocal", ZONED_DATE_TIME, "time zone", zones::with_zone_same_local)
        .doc("The same time of the day in another zone")
        .example(
            r#"(.withZoneSameLocal (in-zone "2026-07-01T10:00:00Z" "Europe/Berlin") "Asia/Tokyo")"#,
            r#""2026-07-01T12:00+09:00[Asia/Tokyo]""#,
        ),
    named!(".withEarlierOffsetAtOverlap", ZONED_DATE_TIME, "time", zones::at_overlap(|(earlier, _)| earlier))
        .doc("The earlier of two instants at which clocks of the zone show the time")
        .example(
            r#"(.withEarlierOffsetAtOverlap (in-zone "2026-10-25T01:30:00Z" "Europe/Berlin"))"#,
            r#""2026-10-25T02:30+02:00[Europe/Berlin]""#,
        ),
    named!(".withLaterOffsetAtOverlap", ZONED_DATE_TIME, "time", zones::at_overlap(|(_, later)| later))
        .doc("The later of two instants at which clocks of the zone show the time")
        .example(
            r#"(.withLaterOffsetAtOverlap (in-zone "2026-10-25T00:30:00Z" "Europe/Berlin"))"#,
            r#""2026-10-25T02:30+01:00[Europe/Berlin]""#,
        ),
    fun(".truncatedTo", JAVA_TIME, "time unit", points::truncated_to)
        .doc("A point in time without what is less than a unit from ChronoUnit/MILLIS to ChronoUnit/DAYS")
        .example(
            r#"(.truncatedTo (in-zone "2026-07-01T10:15:30Z" "Europe/Berlin") ChronoUnit/HOURS)"#,
            r#""2026-07-01T12:00+02:00[Europe/Berlin]""#,
        ),
    named!(".plusHours", JAVA_TIME, "time n", points::move_instant("hours", 3_600_000_000, 0))
        .doc("Point in time some hours later")
        .example(
            r#"(.plusHours (in-zone "2026-03-29T00:30:00Z" "Europe/Berlin") 1)"#,
            r#""2026-03-29T03:30+02:00[Europe/Berlin]""#,
        ),
    named!(".minusHours", JAVA_TIME, "time n", points::move_instant("hours", -3_600_000_000, 0))
        .doc("Point in time some hours earlier")
        .example("(.minusHours (LocalDateTime/of 2024 1 31 10 15) 12)", r#""2024-01-30T22:15""#),
    named!(".plusMinutes", JAVA_TIME, "time n", points::move_instant("minutes", 60_000_000, 0))
        .doc("Point in time some minutes later")
        .example("(.plusMinutes (LocalDateTime/of 2024 1 31 23 45) 30)", r#""2024-02-01T00:15""#),
    named!(".minusMinutes", JAVA_TIME, "time n", points::move_instant("minutes", -60_000_000, 0))
        .doc("Point in time some minutes earlier")
        .example("(.minusMinutes (LocalDateTime/of 2024 1 31 0 15) 30)", r#""2024-01-30T23:45""#),
    named!(".getNano", LOCAL_DATE_TIME, "time", formatting::clock(|micros| micros % SECOND * 1_000))
        .doc("Nanosecond of the second of a point in time")
        .example(r#"(.getNano (parse "2024-01-31T10:15:30.5Z"))"#, "500000000"),
]);
