//! Comparing dates and points in time, and counting units between them.

use super::arguments::{no_date, out_of_range};
use super::date_or_moment::{DAY, DateOrMoment, SECOND};
use crate::builtins::support::errors::java_type_name;
use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::meter;
use crate::value::{Day, Temporal, Value};
use std::cmp::Ordering;

/// Both arguments of a comparison, of one kind.
fn comparable<'v>(method: &str, args: &'v [Value]) -> Result<(&'v Temporal, &'v Temporal)> {
    let (receiver, other) = (java_type_name(&args[0]), java_type_name(&args[1]));
    let fault = match (DateOrMoment::of(&args[0]), DateOrMoment::of(&args[1])) {
        (Some(_), Some(_)) => match args {
            [Value::Temporal(a), Value::Temporal(b)] if receiver == other => return Ok((a, b)),
            _ => format!("cannot compare {receiver} with {other} — use same types"),
        },
        (Some(_), None) => format!("expected {receiver} argument, got {other}"),
        (None, _) => format!("expected LocalDate or DateTime, got {receiver}"),
    };
    Err(Error::type_error(format!("{method}: {fault}")))
}

/// `(.isBefore a b)` and the like.
pub(super) fn holds(method: &str, args: &[Value], is: fn(Ordering) -> bool) -> Result<Value> {
    comparable(method, args).map(|(a, b)| Value::bool(is(a.cmp(b))))
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
            // As Java has it, what shows a later time is the later one of two at the same instant.
            a.cmp(b).then_with(|| match (DateOrMoment::of(&args[0]), DateOrMoment::of(&args[1])) {
                (Some(x @ DateOrMoment::Zoned(_, from)), Some(y @ DateOrMoment::Zoned(_, to))) => {
                    x.offset().cmp(&y.offset()).then_with(|| from.name().cmp(&to.name()))
                }
                _ => Ordering::Equal,
            })
        }
    };
    Ok(Value::Int(order as i64))
}

/// `(inst? x)`
pub(super) fn is_inst(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    Ok(Value::bool(java_type_name(&args[0]) == "DateTime"))
}

/// Microseconds of the units that are always equally long.
pub(super) fn micros_of_unit(unit: &str) -> Option<i64> {
    match unit {
        "millis" => Some(1_000),
        "seconds" => Some(SECOND),
        "minutes" => Some(60 * SECOND),
        "hours" => Some(3_600 * SECOND),
        "days" => Some(DAY),
        "weeks" => Some(7 * DAY),
        _ => None,
    }
}

/// `(.between unit a b)`, with `unit` such as `ChronoUnit/DAYS`: whole units from a to b.
pub(super) fn between(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let unit = match &args[0] {
        Value::Keyword(unit) => unit.name(),
        _ => return Err(Error::type_error(".between: expected a unit such as ChronoUnit/DAYS")),
    };
    comparable(".between", &args[1..])?;
    let fixed = micros_of_unit(unit);
    let (from, to) = match (DateOrMoment::of(&args[1]), DateOrMoment::of(&args[2])) {
        (Some(from), Some(to)) => (from, to),
        _ => return Err(no_date(".between", &args[1])),
    };
    let refused = || {
        let kind = java_type_name(&args[1]);
        Error::type_error(format!(".between: the unit :{unit} does not apply to {kind}"))
    };
    let is_of_calendar = fixed.is_none_or(|micros| micros >= DAY);
    let elapsed = match (from, to) {
        (DateOrMoment::Instant(a), DateOrMoment::Instant(b)) if fixed.is_some() => (a.micros, b.micros),
        (DateOrMoment::Local(a), DateOrMoment::Local(b)) if !is_of_calendar => (a.micros, b.micros),
        (DateOrMoment::Zoned(a, _), DateOrMoment::Zoned(b, _)) if !is_of_calendar => (a.micros, b.micros),
        (DateOrMoment::Instant(_), _) => return Err(refused()),
        _ if !is_of_calendar => return Err(refused()),
        _ => {
            // Both by the clock of the first.
            let to = match (from, to) {
                (DateOrMoment::Zoned(_, zone), DateOrMoment::Zoned(moment, _)) => {
                    DateOrMoment::Zoned(moment, zone)
                }
                _ => to,
            };
            return Ok(Value::Int(by_calendar(unit, fixed, from.parts(), to.parts())));
        }
    };
    let span = elapsed.1.checked_sub(elapsed.0).ok_or_else(|| out_of_range(".between"))?;
    Ok(Value::Int(span / fixed.unwrap_or(1)))
}

/// Whole units of days or more between two days and times of the day.
fn by_calendar(unit: &str, fixed: Option<i64>, from: (i64, i64), to: (i64, i64)) -> i64 {
    // A day that is not whole does not count.
    let end = match to.0.cmp(&from.0) {
        Ordering::Greater => to.0 - i64::from(to.1 < from.1),
        Ordering::Less => to.0 + i64::from(to.1 > from.1),
        Ordering::Equal => to.0,
    };
    match fixed {
        Some(micros) => (end - from.0) / (micros / DAY),
        None => {
            let months = whole_months(from.0, end);
            if unit == "years" { months / 12 } else { months }
        }
    }
}

/// Whole months from day `a` to day `b`, toward zero.
fn whole_months(a: i64, b: i64) -> i64 {
    let (from, to) = (Day::from_epoch(a), Day::from_epoch(b));
    let months = (to.year() - from.year()) * 12 + to.month() - from.month();
    match months {
        m if m > 0 && to.of_month() < from.of_month() => m - 1,
        m if m < 0 && to.of_month() > from.of_month() => m + 1,
        m => m,
    }
}
