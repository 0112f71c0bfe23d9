//! Times in zones: making them and changing their zone.
//!
//! A zone is its name, a string, as a formatter is its pattern.

use super::arguments::{day_of, days, integer, no_instant, out_of_range, shorten};
use super::date_or_moment::{DAY, DateOrMoment, Moment, SECOND};
use super::text;
use crate::builtins::support::errors::java_type_name;
use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::meter;
use crate::print;
use crate::value::{Str, Value, Zone, offset_text};

/// The zone of a name.
fn zone(name: &str, text: &str) -> Result<Zone> {
    meter::charge_steps(2)?;
    match Zone::named(text) {
        Some(zone) => Ok(zone),
        None => Err(unknown_zone(name, text)?),
    }
}

/// The error of a name that is no zone's. Looking for near ones is charged; a text that is longer than any
/// name means none.
#[cold]
fn unknown_zone(name: &str, text: &str) -> Result<Error> {
    let near = if text.len() <= Zone::LONGEST_NAME {
        meter::charge_steps(2_000)?;
        Zone::nearest(text)
    } else {
        Vec::new()
    };
    let hint = match &near[..] {
        [] => "write a region such as Europe/Berlin or an offset such as +02:00".to_owned(),
        [near] => format!("the nearest is {near}"),
        near => format!("the nearest are {}", near.join(", ")),
    };
    Ok(Error::type_error(format!("{name}: there is no time zone '{}': {hint}", shorten(text))))
}

/// The zone that the argument of number `n` names.
pub(super) fn zone_argument(name: &str, n: usize, value: &Value) -> Result<Zone> {
    match value {
        Value::Str(text) => zone(name, text.as_str()),
        other => Err(Error::argument(name, n, "time zone such as \"Europe/Berlin\"", other)),
    }
}

/// Refuses a text whose zone in brackets is none.
pub(super) fn check_zone_of_text(name: &str, text: &str) -> Result<()> {
    let named = text.strip_suffix(']').and_then(|text| text.split_once('['));
    match named {
        Some((_, named)) => zone(name, named).map(|_| ()),
        None => Ok(()),
    }
}

fn name_of(zone: Zone) -> Value {
    Value::str(zone.name().as_ref())
}

/// `(ZoneId/of name)`: the name, which is checked.
pub(super) fn zone_of(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    zone_argument("ZoneId/of", 1, &args[0]).map(name_of)
}

/// `(ZoneOffset/of text)`
pub(super) fn offset_of(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let name = "ZoneOffset/of";
    match zone_argument(name, 1, &args[0])? {
        zone if zone.is_offset() => Ok(name_of(zone)),
        zone => {
            Err(Error::type_error(format!("{name}: expected an offset such as +02:00, got {}", zone.name())))
        }
    }
}

/// `(ZoneOffset/ofHours n)`, `(ZoneOffset/ofHoursMinutes h m)`
pub(super) fn offset_of_hours(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let name = if args.len() == 1 { "ZoneOffset/ofHours" } else { "ZoneOffset/ofHoursMinutes" };
    let hours = integer(name, "hours", &args[0])?;
    let minutes = args.get(1).map_or(Ok(0), |minutes| integer(name, "minutes", minutes))?;
    let fits = minutes.unsigned_abs() < 60 && hours.signum() * minutes.signum() >= 0;
    let seconds = hours.checked_mul(3600).and_then(|seconds| seconds.checked_add(minutes.checked_mul(60)?));
    let zone = seconds.filter(|_| fits).and_then(Zone::offset);
    zone.map(name_of).ok_or_else(|| Error::type_error(format!("{name}: an offset is at most 18 hours")))
}

/// `(.getTotalSeconds offset)`
pub(super) fn total_seconds(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let name = ".getTotalSeconds";
    match zone_argument(name, 1, &args[0])? {
        zone if zone.is_offset() => Ok(Value::Int(i64::from(zone.offset_at(0)))),
        zone => {
            Err(Error::type_error(format!("{name}: expected an offset such as +02:00, got {}", zone.name())))
        }
    }
}

/// A local time in a zone: its instant, in which gaps have moved it forward.
fn placed(name: &str, local: Moment, zone: Zone) -> Result<DateOrMoment> {
    let micros = zone.instant_of(local.micros, None).ok_or_else(|| out_of_range(name))?;
    Ok(DateOrMoment::Zoned(Moment { micros, ..local }, zone))
}

/// `(.atZone time zone)`: of an instant, and of a local time.
pub(super) fn at_zone(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let name = ".atZone";
    let zone = zone_argument(name, 2, &args[1])?;
    let zoned = match DateOrMoment::of(&args[0]) {
        Some(DateOrMoment::Instant(moment)) => DateOrMoment::Zoned(moment, zone),
        Some(DateOrMoment::Local(local)) => placed(name, local, zone)?,
        _ => {
            let got = java_type_name(&args[0]);
            let text = format!("{name}: expected DateTime or LocalDateTime, got {got}");
            return Err(Error::type_error(text).with_hint(advice(&args[0])));
        }
    };
    Ok(zoned.value())
}

/// The expression to write for a value without a time.
fn advice(value: &Value) -> String {
    match DateOrMoment::of(value) {
        Some(DateOrMoment::Day(_)) => ". Write (.atStartOfDay date zone)".to_owned(),
        Some(DateOrMoment::Zoned(..)) => ". Write (.withZoneSameInstant time zone)".to_owned(),
        _ => String::new(),
    }
}

/// `(in-zone time zone)`: an instant, a time of another zone, a local time, or a text that says when, as clocks in the zone
/// show it.
pub(super) fn in_zone(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let name = "in-zone";
    let zone = zone_argument(name, 2, &args[1])?;
    let when = match &args[0] {
        Value::Str(text) => {
            let text = text.as_str();
            meter::charge_steps(text.len() as u64 / 16)?;
            check_zone_of_text(name, text)?;
            let stamp = text::stamp(text, true);
            let when = stamp.and_then(|stamp| stamp.when()).ok_or_else(|| {
                Error::type_error(format!(
                    "{name}: cannot parse '{}', expected a text such as 2024-01-31T10:15:30Z",
                    shorten(text)
                ))
            })?;
            Some(when)
        }
        value => DateOrMoment::of(value),
    };
    let zoned = match when {
        Some(DateOrMoment::Instant(moment) | DateOrMoment::Zoned(moment, _)) => {
            DateOrMoment::Zoned(moment, zone)
        }
        Some(DateOrMoment::Local(local)) => placed(name, local, zone)?,
        Some(DateOrMoment::Day(_)) | None => {
            return Err(no_instant(name, &args[0]).with_hint(advice(&args[0])));
        }
    };
    Ok(zoned.value())
}

/// The time of a zone that a method is called on.
fn zoned(method: &str, value: &Value) -> Result<(Moment, Zone)> {
    match DateOrMoment::of(value) {
        Some(DateOrMoment::Zoned(moment, zone)) => Ok((moment, zone)),
        Some(DateOrMoment::Instant(_)) => {
            let shown = print::readable_lossy(value);
            let text = format!("{method}: expected ZonedDateTime, got {shown}");
            Err(Error::type_error(text)
                .with_hint(". Put it into its zone first: (in-zone instant \"Europe/Berlin\")".to_owned()))
        }
        _ => {
            Err(Error::type_error(format!("{method}: expected ZonedDateTime, got {}", java_type_name(value))))
        }
    }
}

/// `(.withZoneSameInstant time zone)`
pub(super) fn with_zone_same_instant(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let (moment, _) = zoned(".withZoneSameInstant", &args[0])?;
    let zone = zone_argument(".withZoneSameInstant", 2, &args[1])?;
    Ok(DateOrMoment::Zoned(moment, zone).value())
}

/// `(.withZoneSameLocal time zone)`
pub(super) fn with_zone_same_local(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let name = ".withZoneSameLocal";
    let (moment, from) = zoned(name, &args[0])?;
    let zone = zone_argument(name, 2, &args[1])?;
    let before = DateOrMoment::Zoned(moment, from);
    let local = before.local().ok_or_else(|| out_of_range(name))?;
    let micros = zone.instant_of(local.micros, before.offset()).ok_or_else(|| out_of_range(name))?;
    Ok(DateOrMoment::Zoned(Moment { micros, ..moment }, zone).value())
}

/// `(.withEarlierOffsetAtOverlap time)` and the like.
pub(super) fn at_overlap(name: &str, args: &[Value], choose: fn((i32, i32)) -> i32) -> Result<Value> {
    let (moment, zone) = zoned(name, &args[0])?;
    let local = DateOrMoment::Zoned(moment, zone).local().ok_or_else(|| out_of_range(name))?;
    let Some(offsets) = zone.overlap(local.micros) else { return Ok(args[0].clone()) };
    let micros = zone.instant_of(local.micros, Some(choose(offsets))).ok_or_else(|| out_of_range(name))?;
    Ok(DateOrMoment::Zoned(Moment { micros, ..moment }, zone).value())
}

/// `(.getZone time)`
pub(super) fn get_zone(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    zoned(".getZone", &args[0]).map(|(_, zone)| name_of(zone))
}

/// `(.getOffset time)`
pub(super) fn get_offset(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let (moment, zone) = zoned(".getOffset", &args[0])?;
    Ok(Value::Str(Str::from_string(offset_text(zone.offset_at(moment.micros)))))
}

/// `(.toInstant time)`, `(.toInstant local-time offset)`
pub(super) fn to_instant(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let name = ".toInstant";
    let moment = match (DateOrMoment::of(&args[0]), args.get(1)) {
        (Some(DateOrMoment::Instant(moment) | DateOrMoment::Zoned(moment, _)), None) => moment,
        (Some(DateOrMoment::Local(local)), Some(zone)) => {
            let micros = zone_argument(name, 2, zone)?.instant_of(local.micros, None);
            Moment { micros: micros.ok_or_else(|| out_of_range(name))?, ..local }
        }
        (Some(DateOrMoment::Local(_)), None) => {
            let text = format!("{name}: a LocalDateTime has no offset");
            return Err(Error::type_error(text)
                .with_hint(". Write (.toInstant time \"+02:00\") or (.atZone time zone)".to_owned()));
        }
        _ => return Err(no_instant(name, &args[0])),
    };
    Ok(DateOrMoment::Instant(moment).value())
}

/// `(.toLocalDateTime time)`
pub(super) fn to_local_date_time(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let name = ".toLocalDateTime";
    match DateOrMoment::of(&args[0]) {
        None | Some(DateOrMoment::Day(_)) => {
            Err(no_instant(name, &args[0]).with_hint(advice_of_day(&args[0])))
        }
        Some(when) => Ok(DateOrMoment::Local(when.local().ok_or_else(|| out_of_range(name))?).value()),
    }
}

fn advice_of_day(value: &Value) -> String {
    match DateOrMoment::of(value) {
        Some(DateOrMoment::Day(_)) => ". Write (.atStartOfDay date) or (.atTime date 10 30)".to_owned(),
        _ => String::new(),
    }
}

/// `(.atStartOfDay date)`, `(.atStartOfDay date zone)`: the first time of the day.
pub(super) fn at_start_of_day(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let name = ".atStartOfDay";
    let midnight = Moment::midnight(days(name, &args[0])?).ok_or_else(|| out_of_range(name))?;
    let when = match args.get(1) {
        None => DateOrMoment::Local(midnight),
        Some(zone) => start_of_day(name, midnight, zone_argument(name, 2, zone)?)?,
    };
    Ok(when.value())
}

/// The first time that a day has in a zone: in a gap over midnight the one at which it ends.
fn start_of_day(name: &str, midnight: Moment, zone: Zone) -> Result<DateOrMoment> {
    let placed = placed(name, midnight, zone)?;
    if placed.local() == Some(midnight) {
        return Ok(placed);
    }
    // A gap has moved it by its length, which may be more than the part of the gap behind midnight.
    let before_gap =
        placed.offset().and_then(|offset| midnight.micros.checked_sub(i64::from(offset) * SECOND));
    let end = before_gap.and_then(|before| zone.next_transition(before)).ok_or_else(|| out_of_range(name))?;
    Ok(DateOrMoment::Zoned(Moment { micros: end, ..midnight }, zone))
}

/// `(.atTime date hour minute)`, `(.atTime date hour minute second)`
pub(super) fn at_time(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let name = ".atTime";
    let midnight = Moment::midnight(days(name, &args[0])?).ok_or_else(|| out_of_range(name))?;
    let of_day = time_of_day(name, &args[1..])?;
    let micros = midnight.micros.checked_add(of_day.micros).ok_or_else(|| out_of_range(name))?;
    Ok(DateOrMoment::Local(Moment { micros, ..of_day }).value())
}

/// Hour, minute, and perhaps second and nanosecond: the time since midnight.
fn time_of_day(name: &str, args: &[Value]) -> Result<Moment> {
    let mut parts = [0; 4];
    let limits = [("hour", 24), ("minute", 60), ("second", 60), ("nanosecond", 1_000_000_000)];
    for ((part, value), (what, limit)) in parts.iter_mut().zip(args).zip(limits) {
        *part = integer(name, what, value)?;
        if !(0..limit).contains(part) {
            return Err(Error::type_error(format!("{name}: there is no {what} {part}")));
        }
    }
    let [hour, minute, second, nano] = parts;
    let fraction = nano / 1_000;
    let digits = match fraction {
        0 => 0,
        fraction if fraction % 1_000 == 0 => 3,
        _ => 6,
    };
    Ok(Moment { micros: ((hour * 60 + minute) * 60 + second) * SECOND + fraction, digits })
}

/// Year, month, day, and a time of the day.
fn local_of(name: &str, args: &[Value]) -> Result<Moment> {
    let day = day_of(name, args)?;
    let of_day = time_of_day(name, &args[3..])?;
    let micros = day.to_epoch().checked_mul(DAY).and_then(|days| days.checked_add(of_day.micros));
    Ok(Moment { micros: micros.ok_or_else(|| out_of_range(name))?, ..of_day })
}

/// `(LocalDateTime/of year month day hour minute …)`
pub(super) fn local_date_time_of(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    Ok(DateOrMoment::Local(local_of("LocalDateTime/of", args)?).value())
}

/// `(LocalDateTime/ofInstant instant zone)`
pub(super) fn local_date_time_of_instant(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let name = "LocalDateTime/ofInstant";
    let local = of_instant(name, args)?.local().ok_or_else(|| out_of_range(name))?;
    Ok(DateOrMoment::Local(local).value())
}

/// `(ZonedDateTime/ofInstant instant zone)`
pub(super) fn zoned_of_instant(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    Ok(of_instant("ZonedDateTime/ofInstant", args)?.value())
}

fn of_instant(name: &str, args: &[Value]) -> Result<DateOrMoment> {
    let moment = match DateOrMoment::of(&args[0]) {
        Some(DateOrMoment::Instant(moment)) => moment,
        _ => return Err(no_instant(name, &args[0])),
    };
    Ok(DateOrMoment::Zoned(moment, zone_argument(name, 2, &args[1])?))
}

/// `(ZonedDateTime/of local-time zone)`, `(ZonedDateTime/of year month day hour minute second nano zone)`
pub(super) fn zoned_of(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let name = "ZonedDateTime/of";
    let n = args.len();
    let zone = zone_argument(name, n, &args[n - 1])?;
    let local = match &args[..n - 1] {
        [local] => match DateOrMoment::of(local) {
            Some(DateOrMoment::Local(local)) => local,
            _ => {
                let text = format!("{name}: expected LocalDateTime, got {}", java_type_name(local));
                return Err(Error::type_error(text));
            }
        },
        parts => local_of(name, parts)?,
    };
    Ok(placed(name, local, zone)?.value())
}
