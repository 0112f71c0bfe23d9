//! Dates and instants by patterns, and the names of days and months.

use super::arguments::shorten;
use super::date_or_moment::{DateOrMoment, Moment};
use super::pattern::{DatePattern, MissingPart, PatternMismatch};
use super::text;
use super::text::{MONTHS, WEEKDAYS};
use super::zones::check_zone_of_text;
use crate::builtins::support::errors::java_type_name;
use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::meter;
use crate::print;
use crate::value::{Day, Str, Value, local_iso, offset_text};

/// The meaning of a formatter: a pattern, or one of the constants of ISO 8601, which are strings of their names.
enum Formatter {
    Date,
    LocalDateTime,
    /// With the offset.
    Offset,
    /// With the offset and the zone, where there is one.
    Zoned,
    /// In UTC.
    Instant,
    Pattern(DatePattern),
}

impl Formatter {
    fn of(name: &str, formatter: &Str) -> Result<Formatter> {
        let text = formatter.as_str();
        meter::charge_steps(1 + text.len().min(1_000) as u64 / 16)?;
        Ok(match text {
            "ISO_LOCAL_DATE" | "ISO_DATE" => Formatter::Date,
            "ISO_LOCAL_DATE_TIME" => Formatter::LocalDateTime,
            "ISO_OFFSET_DATE_TIME" => Formatter::Offset,
            "ISO_DATE_TIME" | "ISO_ZONED_DATE_TIME" => Formatter::Zoned,
            "ISO_INSTANT" => Formatter::Instant,
            pattern => {
                let pattern = if pattern == "BASIC_ISO_DATE" { "yyyyMMdd" } else { pattern };
                let read = DatePattern::new(pattern);
                Formatter::Pattern(read.map_err(|why| {
                    Error::type_error(format!("{name}: the pattern \"{}\": {why}", shorten(pattern)))
                })?)
            }
        })
    }

    fn read(&self, text: &str) -> std::result::Result<DateOrMoment, PatternMismatch> {
        let unfit = PatternMismatch::Meaning("it is not of that form");
        match self {
            Formatter::Date => text::date(text).map(DateOrMoment::Day).ok_or(unfit),
            Formatter::Pattern(pattern) => pattern.read(text),
            _ => match text::stamp(text, false) {
                Some(stamp) if matches!(self, Formatter::LocalDateTime) && stamp.is_placed() => Err(unfit),
                stamp => stamp.and_then(|stamp| stamp.when()).ok_or(unfit),
            },
        }
    }

    fn write(&self, when: DateOrMoment) -> std::result::Result<String, MissingPart> {
        if let Formatter::Pattern(pattern) = self {
            return pattern.write(when);
        }
        if matches!(self, Formatter::Date) {
            return Ok(Day::from_epoch(when.parts().0).iso());
        }
        let (moment, offset) = match when {
            DateOrMoment::Day(_) => return Err(MissingPart::Time),
            DateOrMoment::Local(moment) => (moment, None),
            DateOrMoment::Instant(moment) | DateOrMoment::Zoned(moment, _) => (moment, when.offset()),
        };
        let Moment { micros, digits } = moment;
        let local = local_iso(micros, offset.unwrap_or(0), digits, false);
        Ok(match self {
            Formatter::Instant => {
                local_iso(micros, offset.map(|_| 0).ok_or(MissingPart::Offset)?, digits, false) + "Z"
            }
            Formatter::Offset => local + &offset_text(offset.ok_or(MissingPart::Offset)?),
            Formatter::Zoned => match (offset, when.zone()) {
                (Some(offset), Some(zone)) if !zone.is_offset() => {
                    format!("{local}{}[{}]", offset_text(offset), zone.name())
                }
                (Some(offset), _) => local + &offset_text(offset),
                // `ISO_DATE_TIME` is `ISO_LOCAL_DATE_TIME` where there is no offset.
                (None, _) => local,
            },
            _ => local,
        })
    }
}

/// Reads `text` by `formatter`.
pub(super) fn parse_by(name: &str, text: &Value, formatter: &Value) -> Result<DateOrMoment> {
    let Value::Str(text) = text else { return Err(Error::argument(name, 1, "string", text)) };
    let Value::Str(formatter) = formatter else {
        return Err(Error::argument(name, 2, "formatter or pattern such as \"dd/MM/yyyy\"", formatter));
    };
    meter::charge_steps(text.as_str().len() as u64 / 16)?;
    match Formatter::of(name, formatter)?.read(text.as_str()) {
        Ok(when) => Ok(when),
        Err(misfit) => {
            let why = match misfit {
                PatternMismatch::At(character) => format!("at character {character}"),
                PatternMismatch::Meaning(why) => why.to_owned(),
            };
            let (text, pattern) = (shorten(text.as_str()), shorten(formatter.as_str()));
            Err(Error::type_error(format!("{name}: '{text}' does not fit {pattern}: {why}")))
        }
    }
}

/// `(LocalDateTime/parse s)`, `(LocalDateTime/parse s formatter)`: without a zone, unless the text says an offset.
pub(super) fn parse_local_date_time(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let when = match read_point("LocalDateTime/parse", args, "2024-01-31T10:15:30")? {
        local @ DateOrMoment::Local(_) => local,
        other => other.settled(),
    };
    Ok(when.value())
}

/// `(OffsetDateTime/parse s)`, `(OffsetDateTime/parse s formatter)`: an instant.
pub(super) fn parse_offset_date_time(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let name = "OffsetDateTime/parse";
    let when = read_point(name, args, "2024-01-31T10:15:30+02:00")?;
    // A pattern without an offset means UTC.
    match when.instant() {
        Some(moment) => Ok(DateOrMoment::Instant(moment).value()),
        None if args.len() > 1 => Ok(when.settled().value()),
        None => Err(no_point(name, args, "2024-01-31T10:15:30+02:00")),
    }
}

/// `(ZonedDateTime/parse s)`, `(ZonedDateTime/parse s formatter)`
pub(super) fn parse_zoned_date_time(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let (name, form) = ("ZonedDateTime/parse", "2024-01-31T10:15:30+01:00[Europe/Berlin]");
    match read_point(name, args, form)? {
        zoned @ DateOrMoment::Zoned(..) => Ok(zoned.value()),
        _ if args.len() > 1 => Err(Error::type_error(format!(
            "{name}: the pattern has no zone: add XXX or VV, or use LocalDateTime/parse and .atZone"
        ))),
        _ => Err(no_point(name, args, form)),
    }
}

/// The error of a text that says no point in time.
#[cold]
fn no_point(name: &str, args: &[Value], form: &str) -> Error {
    let text = match &args[0] {
        Value::Str(text) => shorten(text.as_str()),
        other => return Error::argument(name, 1, "string", other),
    };
    Error::type_error(format!(
        "{name}: cannot parse '{text}', expected a text such as {form}, or a formatter"
    ))
}

/// The point in time that a text says, by ISO 8601 or a formatter.
fn read_point(name: &str, args: &[Value], form: &str) -> Result<DateOrMoment> {
    if let [text, formatter] = args {
        return match parse_by(name, text, formatter)? {
            DateOrMoment::Day(_) => Err(Error::type_error(format!(
                "{name}: the pattern has no time: use LocalDate/parse, or add HH:mm"
            ))),
            when => Ok(when),
        };
    }
    let Value::Str(text) = &args[0] else { return Err(no_point(name, args, form)) };
    let text = text.as_str();
    meter::charge_steps(text.len() as u64 / 16)?;
    check_zone_of_text(name, text)?;
    text::stamp(text, false).and_then(|stamp| stamp.when()).ok_or_else(|| no_point(name, args, form))
}

/// `(DateTimeFormatter/ofPattern pattern)`: the pattern, which is checked.
pub(super) fn of_pattern(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let Value::Str(pattern) = &args[0] else {
        return Err(Error::argument("DateTimeFormatter/ofPattern", 1, "string", &args[0]));
    };
    Formatter::of("DateTimeFormatter/ofPattern", pattern)?;
    Ok(Value::Str(pattern.clone()))
}

/// `(.format date formatter)`, `(.format formatter date)`
pub(super) fn format(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let (date, formatter) = match args {
        [Value::Str(formatter), date] | [date, Value::Str(formatter)] => (&*date, &*formatter),
        args => return Err(Error::argument_types(".format", args)),
    };
    let Some(when) = DateOrMoment::of(date) else {
        let got = java_type_name(date);
        return Err(Error::type_error(format!(
            ".format: expected a date or an instant and a formatter, got {got}"
        )));
    };
    match Formatter::of(".format", formatter)?.write(when) {
        Ok(text) => Ok(Value::Str(Str::from_string(text))),
        Err(lack) => {
            let (pattern, shown) = (shorten(formatter.as_str()), print::readable_lossy(date));
            let part = match lack {
                MissingPart::Time => "a time",
                MissingPart::Offset => "an offset or a zone",
            };
            Err(Error::type_error(format!(".format: {pattern} has {part}, and {shown} has none")))
        }
    }
}

/// `(day-name d)`: of a date, a point in time, or the number of a day.
pub(super) fn day_name(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let number = match DateOrMoment::of(&args[0]) {
        Some(when) => Some(Day::from_epoch(when.parts().0).of_week()),
        None => number(&args[0]),
    };
    named(&WEEKDAYS, number).ok_or_else(|| {
        Error::argument("day-name", 1, "date, instant or number from 1 (Monday) to 7", &args[0])
    })
}

/// `(month-name d)`: of a date, a point in time, or the number of a month.
pub(super) fn month_name(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let number = match DateOrMoment::of(&args[0]) {
        Some(when) => Some(Day::from_epoch(when.parts().0).month()),
        None => number(&args[0]),
    };
    named(&MONTHS, number)
        .ok_or_else(|| Error::argument("month-name", 1, "date, instant or number from 1 to 12", &args[0]))
}

fn number(value: &Value) -> Option<i64> {
    match value {
        Value::Int(n) => Some(*n),
        _ => None,
    }
}

fn named(names: &[&str], number: Option<i64>) -> Option<Value> {
    let index = usize::try_from(number?.checked_sub(1)?).ok()?;
    names.get(index).map(Value::str)
}

/// `(.toLocalDate time)`
pub(super) fn to_local_date(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    match DateOrMoment::of(&args[0]) {
        Some(when) => Ok(DateOrMoment::Day(when.parts().0).value()),
        None => Err(wrong_receiver(".toLocalDate", &args[0])),
    }
}

/// `(.getHour time)` and the like: a part of the time of the day, which is given in microseconds.
pub(super) fn clock(method: &str, args: &[Value], read: fn(i64) -> i64) -> Result<Value> {
    match DateOrMoment::of(&args[0]) {
        Some(DateOrMoment::Day(_)) | None => Err(wrong_receiver(method, &args[0])),
        Some(when) => Ok(Value::Int(read(when.parts().1))),
    }
}

fn wrong_receiver(method: &str, value: &Value) -> Error {
    Error::type_error(format!("{method}: expected DateTime, got {}", java_type_name(value)))
}
