//! Dates and instants: making, reading, moving, comparing.

use super::arguments::{day_of, days, integer, no_date, no_instant, out_of_range, shorten};
use super::comparing::micros_of_unit;
use super::date_or_moment::{DAY, DateOrMoment, Moment};
use super::formatting::parse_by;
use super::text;
use super::zones::{check_zone_of_text, zone_argument};
use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::print;
use crate::value::{Day, Temporal, Value};

/// The first day after year 9999, and that of year −9999.
const LAST_DAY: i64 = 2_932_896;
const FIRST_DAY: i64 = -4_371_587;

fn instant(moment: Moment) -> Value {
    DateOrMoment::Instant(moment).value()
}

/// The microseconds of an instant, and the digits it was given with.
fn moment(method: &str, value: &Value) -> Result<Moment> {
    DateOrMoment::of(value).and_then(DateOrMoment::instant).ok_or_else(|| no_instant(method, value))
}

fn date(method: &str, days: Option<i64>) -> Result<Value> {
    match days {
        Some(days) if days.unsigned_abs() <= Temporal::MOST_DAYS.unsigned_abs() => {
            Ok(Value::temporal(Temporal::date(days)))
        }
        _ => Err(out_of_range(method)),
    }
}

/// `(parse s)`, `(LocalDate/parse s)`, `(Instant/parse s)`, each with a formatter
pub(super) fn parse(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    if let [text, formatter] = args {
        return Ok(parse_by("parse", text, formatter)?.settled().value());
    }
    let text = match &args[0] {
        Value::Str(text) => text.as_str(),
        Value::Nil => return Err(Error::type_error("parse: cannot parse nil")),
        other => {
            let shown = print::readable_lossy(other);
            return Err(Error::type_error(format!("parse: expected string, got {shown}")));
        }
    };
    let shown = || shorten(text);
    if text.contains('T') {
        check_zone_of_text("parse", text)?;
        let when = text::date_time(text, false).and_then(|stamp| stamp.settled());
        return when
            .map(DateOrMoment::value)
            .ok_or_else(|| Error::type_error(format!("parse: invalid ISO-8601 date/time '{}'", shown())));
    }
    let days = text::date(text).ok_or_else(|| {
        Error::type_error(format!("parse: invalid ISO-8601 date '{}' (expected YYYY-MM-DD)", shown()))
    })?;
    Ok(Value::temporal(Temporal::date(days)))
}

/// `(java.util.Date.)`, `(java.util.Date. x)`
pub(in crate::builtins) fn java_date(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    match args {
        [] => now(ctx, args),
        [Value::Int(n)] => {
            // Numbers of less than 13 digits are seconds.
            let (seconds, digits) = if n.unsigned_abs() < 1_000_000_000_000 { (true, 0) } else { (false, 3) };
            let micros = n.checked_mul(if seconds { 1_000_000 } else { 1_000 });
            let in_range = |micros: &i64| (FIRST_DAY..=LAST_DAY).contains(&micros.div_euclid(DAY));
            match micros.filter(in_range) {
                Some(micros) => Ok(instant(Moment { micros, digits })),
                None => Err(Error::type_error(format!("java.util.Date: invalid timestamp {n}"))),
            }
        }
        [big @ Value::BigInt(_)] => {
            let shown = print::readable_lossy(big);
            Err(Error::type_error(format!("java.util.Date: invalid timestamp {shown}")))
        }
        [Value::Str(text)] => {
            let text = text.as_str();
            let moment = text::date_time(text, true)
                .and_then(|stamp| stamp.moment())
                .or_else(|| text::date(text).and_then(Moment::midnight))
                .or_else(|| text::rfc_2822(text));
            moment.map(instant).ok_or_else(|| {
                Error::type_error(format!(
                    "java.util.Date: cannot parse '{}'. Expected ISO-8601, RFC 2822, or timestamp.",
                    shorten(text)
                ))
            })
        }
        [Value::Temporal(temporal)] => match **temporal {
            Temporal::Instant { .. } => Ok(Value::Temporal(temporal.clone())),
            Temporal::Zoned { micros, digits, .. } => Ok(instant(Moment { micros, digits })),
            Temporal::Date(days) => {
                Moment::midnight(days).map(instant).ok_or_else(|| out_of_range("java.util.Date"))
            }
            Temporal::Duration(_) | Temporal::Local { .. } => {
                Err(Error::type_error(format!("java.util.Date: cannot construct from {}", temporal.iso())))
            }
        },
        args => {
            let shown = print::readable_lossy(&args[0]);
            Err(Error::type_error(format!("java.util.Date: cannot construct from {shown}")))
        }
    }
}

/// When the program started.
fn start(ctx: &Ctx<'_>, name: &str) -> Result<Moment> {
    let micros = ctx.started_at().checked_mul(1000).ok_or_else(|| out_of_range(name))?;
    Ok(Moment { micros, digits: 3 })
}

/// `(Instant/now)`
pub(super) fn now(ctx: &mut Ctx<'_>, _args: &mut [Value]) -> Result<Value> {
    start(ctx, "Instant/now").map(instant)
}

/// When the program started, in the zone that is given, or else in UTC.
fn start_in_zone(ctx: &Ctx<'_>, name: &str, args: &[Value]) -> Result<DateOrMoment> {
    let moment = start(ctx, name)?;
    match args {
        [] => Ok(DateOrMoment::Instant(moment)),
        [zone, ..] => Ok(DateOrMoment::Zoned(moment, zone_argument(name, 1, zone)?)),
    }
}

/// `(LocalDate/now)`, `(LocalDate/now zone)`
pub(super) fn today(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    date("LocalDate/now", Some(start_in_zone(ctx, "LocalDate/now", args)?.parts().0))
}

/// `(LocalDateTime/now)`, `(LocalDateTime/now zone)`
pub(super) fn local_now(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let name = "LocalDateTime/now";
    let local = start_in_zone(ctx, name, args)?.local().ok_or_else(|| out_of_range(name))?;
    Ok(DateOrMoment::Local(local).value())
}

/// `(ZonedDateTime/now zone)`
pub(super) fn zoned_now(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    Ok(start_in_zone(ctx, "ZonedDateTime/now", args)?.value())
}

/// `(currentTimeMillis)`
pub(super) fn current_time_millis(ctx: &mut Ctx<'_>, _args: &mut [Value]) -> Result<Value> {
    Ok(Value::Int(ctx.started_at()))
}

/// `(System/nanoTime)`: as exact as milliseconds.
pub(super) fn nano_time(ctx: &mut Ctx<'_>, _args: &mut [Value]) -> Result<Value> {
    Ok(Value::Int(ctx.started_at().saturating_mul(1_000_000)))
}

/// `(LocalDate/of year month day)`
pub(super) fn local_date_of(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    date("LocalDate/of", Some(day_of("LocalDate/of", args)?.to_epoch()))
}

/// `(LocalDate/ofEpochDay n)`
pub(super) fn of_epoch_day(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    date("LocalDate/ofEpochDay", Some(integer("LocalDate/ofEpochDay", "days", &args[0])?))
}

/// `(Instant/ofEpochMilli n)`
pub(super) fn of_epoch_milli(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let millis = integer("Instant/ofEpochMilli", "milliseconds", &args[0])?;
    let micros = millis.checked_mul(1_000).ok_or_else(|| out_of_range("Instant/ofEpochMilli"))?;
    Ok(instant(Moment { micros, digits: if millis % 1000 == 0 { 0 } else { 3 } }))
}

/// `(Instant/ofEpochSecond n)`
pub(super) fn of_epoch_second(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let seconds = integer("Instant/ofEpochSecond", "seconds", &args[0])?;
    let micros = seconds.checked_mul(1_000_000).ok_or_else(|| out_of_range("Instant/ofEpochSecond"))?;
    Ok(instant(Moment { micros, digits: 0 }))
}

/// `(.getTime instant)` and the like: whole units of so many microseconds since 1970.
pub(super) fn since_epoch(method: &str, args: &[Value], micros_each: i64) -> Result<Value> {
    Ok(Value::Int(moment(method, &args[0])?.micros.div_euclid(micros_each)))
}

/// `(.toEpochDay date)`
pub(super) fn to_epoch_day(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    days(".toEpochDay", &args[0]).map(Value::Int)
}

/// A part of a date, or of the day that a point in time shows.
pub(super) fn part(method: &str, args: &[Value], read: fn(Day) -> i64) -> Result<Value> {
    Ok(Value::Int(read(Day::from_epoch(day(method, &args[0])?))))
}

/// The days of a date, or those that a point in time shows.
fn day(method: &str, value: &Value) -> Result<i64> {
    DateOrMoment::of(value).map(|when| when.parts().0).ok_or_else(|| no_date(method, value))
}

/// Moves the date of a value that has one; the time of the day stays, as far as the zone has it on that day.
fn move_date(
    method: &str,
    args: &[Value],
    what: &str,
    by: impl FnOnce(i64, i64) -> Option<i64>,
) -> Result<Value> {
    let when = match DateOrMoment::of(&args[0]) {
        // Java's instants have no calendar either.
        None | Some(DateOrMoment::Instant(_)) => return Err(no_date(method, &args[0])),
        Some(when) => when,
    };
    let count = integer(method, what, &args[1])?;
    let (days, of_day) = when.parts();
    let moved = by(days, count);
    if let DateOrMoment::Day(_) = when {
        return date(method, moved);
    }
    let local = moved.and_then(|days| days.checked_mul(DAY)?.checked_add(of_day));
    let local = local.ok_or_else(|| out_of_range(method))?;
    Ok(at_local(method, when, local)?.value())
}

/// The time whose clock shows `local` microseconds where that of `when` shows others. A zone keeps its offset if it can.
fn at_local(method: &str, when: DateOrMoment, local: i64) -> Result<DateOrMoment> {
    match when {
        DateOrMoment::Zoned(Moment { digits, .. }, zone) => {
            let micros = zone.instant_of(local, when.offset()).ok_or_else(|| out_of_range(method))?;
            Ok(DateOrMoment::Zoned(Moment { micros, digits }, zone))
        }
        DateOrMoment::Instant(moment) => Ok(DateOrMoment::Instant(Moment { micros: local, ..moment })),
        DateOrMoment::Local(moment) => Ok(DateOrMoment::Local(Moment { micros: local, ..moment })),
        DateOrMoment::Day(_) => Ok(DateOrMoment::Day(local.div_euclid(DAY))),
    }
}

/// `(.plusDays date n)` and the like: by so many days each.
pub(super) fn move_days(method: &str, args: &[Value], what: &str, days_each: i64) -> Result<Value> {
    move_date(method, args, what, |start, count| {
        count.checked_mul(days_each).and_then(|n| start.checked_add(n))
    })
}

/// `(.plusMonths date n)` and the like: to the last day of the month where it is shorter.
pub(super) fn move_months(method: &str, args: &[Value], what: &str, months_each: i64) -> Result<Value> {
    move_date(method, args, what, |start, count| {
        // Far beyond the range of dates, and far within that of the arithmetic.
        let months = count.checked_mul(months_each).filter(|n| n.unsigned_abs() < 100_000_000)?;
        Day::from_epoch(start).plus_months(months).map(Day::to_epoch)
    })
}

/// `(.plusHours time n)` and the like: by so much elapsed time each, shown with so many digits.
pub(super) fn move_instant(
    method: &str,
    args: &[Value],
    what: &str,
    micros_each: i64,
    digits: u8,
) -> Result<Value> {
    let when = match DateOrMoment::of(&args[0]) {
        None | Some(DateOrMoment::Day(_)) => return Err(no_instant(method, &args[0])),
        Some(when) => when,
    };
    let count = integer(method, what, &args[1])?;
    let moved = |start: Moment| {
        let micros = count.checked_mul(micros_each).and_then(|n| start.micros.checked_add(n))?;
        let digits = if micros % 1_000_000 == 0 { start.digits } else { start.digits.max(digits) };
        Some(Moment { micros, digits })
    };
    let when = match when {
        DateOrMoment::Local(start) => moved(start).map(DateOrMoment::Local),
        DateOrMoment::Zoned(start, zone) => moved(start).map(|moment| DateOrMoment::Zoned(moment, zone)),
        DateOrMoment::Instant(start) => moved(start).map(DateOrMoment::Instant),
        DateOrMoment::Day(_) => None,
    };
    Ok(when.ok_or_else(|| out_of_range(method))?.value())
}

/// `(.truncatedTo time unit)`, with `unit` such as `ChronoUnit/HOURS`: the whole units of the time that its clock shows.
pub(super) fn truncated_to(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let method = ".truncatedTo";
    let when = match DateOrMoment::of(&args[0]) {
        None | Some(DateOrMoment::Day(_)) => return Err(no_instant(method, &args[0])),
        Some(when) => when,
    };
    let micros = match &args[1] {
        Value::Keyword(unit) => micros_of_unit(unit.name()).filter(|micros| *micros <= DAY),
        _ => None,
    };
    let micros = micros.ok_or_else(|| {
        Error::type_error(format!("{method}: expected a unit from ChronoUnit/MILLIS to ChronoUnit/DAYS"))
    })?;
    let local = when.local().ok_or_else(|| out_of_range(method))?;
    let local =
        local.micros.checked_sub(local.micros.rem_euclid(micros)).ok_or_else(|| out_of_range(method))?;
    Ok(at_local(method, when, local)?.value())
}
