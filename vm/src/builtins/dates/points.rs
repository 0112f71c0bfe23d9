//! Dates and instants: making, reading, moving, comparing.

use super::formatting::parse_by;
use super::text::{self, Moment};
use crate::builtins::support::errors::java_type_name;
use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::meter;
use crate::print;
use crate::value::{Day, Temporal, Value, day_of_week};

/// The first day after year 9999, and that of year −9999.
const LAST_DAY: i64 = 2_932_896;
const FIRST_DAY: i64 = -4_371_587;
const DAY_MILLIS: i64 = 86_400_000;

pub(super) fn instant(moment: Moment) -> Value {
    Value::temporal(Temporal::instant(moment.micros, moment.digits))
}

/// The days of a date.
fn days(method: &str, value: &Value) -> Result<i64> {
    if let Value::Temporal(temporal) = value
        && let Temporal::Date(days) = **temporal
    {
        return Ok(days);
    }
    Err(Error::type_error(format!("{method}: expected LocalDate, got {}", java_type_name(value))))
}

/// The microseconds of an instant, and the digits it was given with.
fn moment(method: &str, value: &Value) -> Result<Moment> {
    let shown = match value {
        Value::Temporal(temporal) => match **temporal {
            Temporal::Instant { micros, digits } => return Ok(Moment { micros, digits }),
            _ => temporal.iso(),
        },
        other => print::readable_lossy(other),
    };
    Err(Error::type_error(format!("{method}: expected DateTime, got {shown}")))
}

fn integer(method: &str, what: &str, value: &Value) -> Result<i64> {
    match value {
        Value::Int(n) => Ok(*n),
        Value::BigInt(_) => Err(out_of_range(method)),
        other => Err(Error::type_error(format!(
            "{method}: expected integer {what}, got {}",
            java_type_name(other)
        ))),
    }
}

#[cold]
pub(super) fn out_of_range(method: &str) -> Error {
    Error::type_error(format!("{method}: the result is out of range"))
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
        return parse_by("parse", text, formatter);
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
        let moment = text::date_time(text, false)
            .ok_or_else(|| Error::type_error(format!("parse: invalid ISO-8601 date/time '{}'", shown())))?;
        return Ok(instant(moment));
    }
    let days = text::date(text).ok_or_else(|| {
        Error::type_error(format!("parse: invalid ISO-8601 date '{}' (expected YYYY-MM-DD)", shown()))
    })?;
    Ok(Value::temporal(Temporal::date(days)))
}

/// A text for a message, cut at 100 characters.
pub(super) fn shorten(text: &str) -> String {
    match text.char_indices().nth(100) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}

/// `(java.util.Date.)`, `(java.util.Date. x)`
pub(in crate::builtins) fn java_date(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    match args {
        [] => now(ctx, args),
        [Value::Int(n)] => {
            // Numbers of less than 13 digits are seconds.
            let (seconds, digits) = if n.unsigned_abs() < 1_000_000_000_000 { (true, 0) } else { (false, 3) };
            let micros = n.checked_mul(if seconds { 1_000_000 } else { 1_000 });
            let in_range =
                |micros: &i64| (FIRST_DAY..=LAST_DAY).contains(&micros.div_euclid(DAY_MILLIS * 1000));
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
            Temporal::Date(days) => {
                Moment::midnight(days).map(instant).ok_or_else(|| out_of_range("java.util.Date"))
            }
            Temporal::Duration(_) => {
                Err(Error::type_error(format!("java.util.Date: cannot construct from {}", temporal.iso())))
            }
        },
        args => {
            let shown = print::readable_lossy(&args[0]);
            Err(Error::type_error(format!("java.util.Date: cannot construct from {shown}")))
        }
    }
}

/// `(Instant/now)`
pub(super) fn now(ctx: &mut Ctx<'_>, _args: &mut [Value]) -> Result<Value> {
    let micros = ctx.started_at().checked_mul(1000).ok_or_else(|| out_of_range("Instant/now"))?;
    Ok(instant(Moment { micros, digits: 3 }))
}

/// `(LocalDate/now)`
pub(super) fn today(ctx: &mut Ctx<'_>, _args: &mut [Value]) -> Result<Value> {
    date("LocalDate/now", Some(ctx.started_at().div_euclid(DAY_MILLIS)))
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
    let year = integer("LocalDate/of", "year", &args[0])?;
    let month = integer("LocalDate/of", "month", &args[1])?;
    let day = integer("LocalDate/of", "day", &args[2])?;
    let real = match (u8::try_from(month), u8::try_from(day)) {
        (Ok(m), Ok(d)) if year.abs() <= 999_999 => Day::new(year, m, d),
        _ => None,
    };
    match real {
        Some(day) => date("LocalDate/of", Some(day.to_epoch())),
        None => Err(Error::type_error(format!("LocalDate/of: there is no date {year}-{month:02}-{day:02}"))),
    }
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

/// `(.getTime instant)`
pub(super) fn get_time(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    Ok(Value::Int(moment(".getTime", &args[0])?.micros.div_euclid(1_000)))
}

/// `(.getEpochSecond instant)`
pub(super) fn get_epoch_second(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    Ok(Value::Int(moment(".getEpochSecond", &args[0])?.micros.div_euclid(1_000_000)))
}

/// `(.toEpochDay date)`
pub(super) fn to_epoch_day(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    days(".toEpochDay", &args[0]).map(Value::Int)
}

/// A part of a date, or of the day that an instant has in UTC.
fn part(method: &str, args: &[Value], read: impl FnOnce(Day) -> i64) -> Result<Value> {
    Ok(Value::Int(read(Day::from_epoch(day(method, &args[0])?))))
}

/// The days of a date, or of an instant in UTC.
fn day(method: &str, value: &Value) -> Result<i64> {
    match value {
        Value::Temporal(temporal) if matches!(**temporal, Temporal::Instant { .. }) => {
            Ok(moment(method, value)?.micros.div_euclid(DAY_MILLIS * 1000))
        }
        _ => days(method, value),
    }
}

/// `(.getYear date)`
pub(super) fn get_year(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    part(".getYear", args, |day| day.year)
}

/// `(.getMonthValue date)`
pub(super) fn get_month_value(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    part(".getMonthValue", args, |day| i64::from(day.month))
}

/// `(.getDayOfMonth date)`
pub(super) fn get_day_of_month(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    part(".getDayOfMonth", args, |day| i64::from(day.day))
}

/// `(.getDayOfYear date)`
pub(super) fn get_day_of_year(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    part(".getDayOfYear", args, Day::of_year)
}

/// `(.getDayOfWeek date)`: 1 is Monday.
pub(super) fn get_day_of_week(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    Ok(Value::Int(day_of_week(day(".getDayOfWeek", &args[0])?)))
}

fn move_days(method: &str, what: &str, args: &[Value], days_each: i64) -> Result<Value> {
    let start = days(method, &args[0])?;
    let count = integer(method, what, &args[1])?;
    date(method, count.checked_mul(days_each).and_then(|n| start.checked_add(n)))
}

/// `(.plusDays date n)`
pub(super) fn plus_days(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    move_days(".plusDays", "days", args, 1)
}

/// `(.minusDays date n)`
pub(super) fn minus_days(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    move_days(".minusDays", "days", args, -1)
}

/// `(.plusWeeks date n)`
pub(super) fn plus_weeks(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    move_days(".plusWeeks", "weeks", args, 7)
}

/// `(.minusWeeks date n)`
pub(super) fn minus_weeks(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    move_days(".minusWeeks", "weeks", args, -7)
}

fn move_months(method: &str, what: &str, args: &[Value], months_each: i64) -> Result<Value> {
    let start = Day::from_epoch(days(method, &args[0])?);
    let count = integer(method, what, &args[1])?;
    // Far beyond the range of dates, and far within that of the arithmetic.
    let moved = count
        .checked_mul(months_each)
        .filter(|n| n.unsigned_abs() < 100_000_000)
        .and_then(|n| start.plus_months(n));
    date(method, moved.map(Day::to_epoch))
}

/// `(.plusMonths date n)`: the last day of the month where it is shorter.
pub(super) fn plus_months(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    move_months(".plusMonths", "months", args, 1)
}

/// `(.minusMonths date n)`
pub(super) fn minus_months(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    move_months(".minusMonths", "months", args, -1)
}

/// `(.plusYears date n)`
pub(super) fn plus_years(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    move_months(".plusYears", "years", args, 12)
}

/// `(.minusYears date n)`
pub(super) fn minus_years(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    move_months(".minusYears", "years", args, -12)
}

fn move_instant(method: &str, what: &str, args: &[Value], micros_each: i64, digits: u8) -> Result<Value> {
    let start = moment(method, &args[0])?;
    let count = integer(method, what, &args[1])?;
    let moved = count.checked_mul(micros_each).and_then(|n| start.micros.checked_add(n));
    let micros = moved.ok_or_else(|| out_of_range(method))?;
    let digits = if micros % 1_000_000 == 0 { start.digits } else { start.digits.max(digits) };
    Ok(instant(Moment { micros, digits }))
}

/// `(.plusSeconds instant n)`
pub(super) fn plus_seconds(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    move_instant(".plusSeconds", "seconds", args, 1_000_000, 0)
}

/// `(.minusSeconds instant n)`
pub(super) fn minus_seconds(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    move_instant(".minusSeconds", "seconds", args, -1_000_000, 0)
}

/// `(.plusMillis instant n)`
pub(super) fn plus_millis(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    move_instant(".plusMillis", "milliseconds", args, 1_000, 3)
}

/// `(.minusMillis instant n)`
pub(super) fn minus_millis(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    move_instant(".minusMillis", "milliseconds", args, -1_000, 3)
}

/// Both arguments of a comparison, of one kind.
fn comparable<'v>(method: &str, args: &'v [Value]) -> Result<(&'v Temporal, &'v Temporal)> {
    let (receiver, other) = (java_type_name(&args[0]), java_type_name(&args[1]));
    let fault = match (receiver, other) {
        ("LocalDate", "LocalDate") | ("DateTime", "DateTime") => match args {
            [Value::Temporal(a), Value::Temporal(b)] => return Ok((a, b)),
            _ => String::new(),
        },
        ("LocalDate", "DateTime") | ("DateTime", "LocalDate") => {
            format!("cannot compare {receiver} with {other} — use same types")
        }
        ("LocalDate" | "DateTime", _) => format!("expected {receiver} argument, got {other}"),
        _ => format!("expected LocalDate or DateTime, got {receiver}"),
    };
    Err(Error::type_error(format!("{method}: {fault}")))
}

/// `(.isBefore a b)`
pub(super) fn is_before(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    comparable(".isBefore", args).map(|(a, b)| Value::bool(a < b))
}

/// `(.isAfter a b)`
pub(super) fn is_after(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    comparable(".isAfter", args).map(|(a, b)| Value::bool(a > b))
}

/// `(.isEqual a b)`
pub(super) fn is_equal(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    comparable(".isEqual", args).map(|(a, b)| Value::bool(a == b))
}

/// How far a text is behind another one in Java: the distance of the first UTF-16 units that differ, or else of the lengths.
fn text_distance(ctx: &mut Ctx<'_>, a: &str, b: &str) -> Result<i64> {
    ctx.charge((a.len() + b.len()) / 16)?;
    let mut same = 0;
    for piece in meter::text_pieces(a) {
        let equal = piece.bytes().zip(b[same..].bytes()).take_while(|(a, b)| a == b).count();
        if equal < piece.len() {
            same = a.floor_char_boundary(same + equal);
            break;
        }
        same += equal;
    }
    let (a, b) = (&a[same..], &b[same..]);
    let units = |text| meter::text_pieces(text).map(|piece| piece.encode_utf16().count() as i64).sum::<i64>();
    let mut firsts = a.chars().zip(b.chars()).take(1).flat_map(|(a, b)| {
        let (mut left, mut right) = ([0; 2], [0; 2]);
        a.encode_utf16(&mut left);
        b.encode_utf16(&mut right);
        left.into_iter().zip(right)
    });
    let differing = firsts.find(|(a, b)| a != b);
    Ok(differing.map_or_else(|| units(a) - units(b), |(a, b)| i64::from(a) - i64::from(b)))
}

/// `(.compareTo a b)`: of dates, instants, strings, numbers, keywords and the like of one kind.
pub(super) fn compare_to(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let order = match &args[..] {
        [Value::Str(a), Value::Str(b)] => return text_distance(ctx, a.as_str(), b.as_str()).map(Value::Int),
        [a @ Value::Keyword(_), b @ Value::Keyword(_)]
        | [a @ Value::Vector(_), b @ Value::Vector(_)]
        | [a @ (Value::True | Value::False), b @ (Value::True | Value::False)] => crate::value::compare(a, b),
        [a, b] if a.is_number() && b.is_number() => crate::value::compare(a, b),
        args => {
            let (a, b) = comparable(".compareTo", args)?;
            a.cmp(b)
        }
    };
    Ok(Value::Int(order as i64))
}

/// `(inst? x)`
pub(super) fn is_inst(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    Ok(Value::bool(java_type_name(&args[0]) == "DateTime"))
}

/// `(.between unit a b)`, with `unit` such as `ChronoUnit/DAYS`: whole units from a to b.
pub(super) fn between(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let unit = match &args[0] {
        Value::Keyword(unit) => unit.name(),
        _ => return Err(Error::type_error(".between: expected a unit such as ChronoUnit/DAYS")),
    };
    let (a, b) = comparable(".between", &args[1..])?;
    let fixed = match unit {
        "millis" => Some(1_000),
        "seconds" => Some(1_000_000),
        "minutes" => Some(60_000_000),
        "hours" => Some(3_600_000_000),
        "days" => Some(86_400_000_000),
        "weeks" => Some(7 * 86_400_000_000),
        _ => None,
    };
    let count = match (a, b, fixed) {
        (Temporal::Date(a), Temporal::Date(b), Some(micros)) if micros >= 86_400_000_000 => {
            (b - a) / (micros / 86_400_000_000)
        }
        (Temporal::Instant { micros: a, .. }, Temporal::Instant { micros: b, .. }, Some(micros)) => {
            b.checked_sub(*a).ok_or_else(|| out_of_range(".between"))? / micros
        }
        (Temporal::Date(a), Temporal::Date(b), None) => {
            let months = whole_months(*a, *b);
            if unit == "years" { months / 12 } else { months }
        }
        _ => {
            let kind = java_type_name(&args[1]);
            return Err(Error::type_error(format!(".between: the unit :{unit} does not apply to {kind}")));
        }
    };
    Ok(Value::Int(count))
}

/// Whole months from day `a` to day `b`, toward zero.
fn whole_months(a: i64, b: i64) -> i64 {
    let (from, to) = (Day::from_epoch(a), Day::from_epoch(b));
    let months = (to.year - from.year) * 12 + i64::from(to.month) - i64::from(from.month);
    match months {
        m if m > 0 && to.day < from.day => m - 1,
        m if m < 0 && to.day > from.day => m + 1,
        m => m,
    }
}
