//! Dates and instants by patterns, and the names of days and months.

use super::pattern::{DatePattern, MONTHS, Misfit, WEEKDAYS, When};
use super::points::{instant, shorten};
use super::text::{self, Moment};
use crate::builtins::support::errors::java_type_name;
use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::meter;
use crate::print;
use crate::value::{Day, Str, Temporal, Value, day_of_week};

const DAY_MICROS: i64 = 86_400_000_000;

/// What a formatter stands for: a pattern, or one of the constants of ISO 8601, which are strings of their names.
enum Formatter {
    Date,
    LocalDateTime,
    DateTime,
    Pattern(DatePattern),
}

impl Formatter {
    fn of(name: &str, formatter: &Str) -> Result<Formatter> {
        let text = formatter.as_str();
        meter::charge_steps(1 + text.len().min(1_000) as u64 / 16)?;
        Ok(match text {
            "ISO_LOCAL_DATE" | "ISO_DATE" => Formatter::Date,
            "ISO_LOCAL_DATE_TIME" => Formatter::LocalDateTime,
            "ISO_DATE_TIME" | "ISO_OFFSET_DATE_TIME" | "ISO_ZONED_DATE_TIME" | "ISO_INSTANT" => {
                Formatter::DateTime
            }
            pattern => {
                let pattern = if pattern == "BASIC_ISO_DATE" { "yyyyMMdd" } else { pattern };
                let read = DatePattern::new(pattern);
                Formatter::Pattern(read.map_err(|why| {
                    Error::type_error(format!("{name}: the pattern \"{}\": {why}", shorten(pattern)))
                })?)
            }
        })
    }

    fn read(&self, text: &str) -> std::result::Result<When, Misfit> {
        let unfit = Misfit::Meaning("it is not of that form");
        match self {
            Formatter::Date => text::date(text).map(When::Day).ok_or(unfit),
            Formatter::LocalDateTime if has_offset(text) => Err(unfit),
            Formatter::LocalDateTime | Formatter::DateTime => {
                iso_date_time(text).map(When::Moment).ok_or(unfit)
            }
            Formatter::Pattern(pattern) => pattern.read(text),
        }
    }

    fn write(&self, when: When) -> Option<String> {
        match (self, when) {
            (Formatter::Pattern(pattern), when) => pattern.write(when),
            (Formatter::Date, When::Day(days)) => Some(Day::from_epoch(days).iso()),
            (Formatter::Date, When::Moment(moment)) => {
                Some(Day::from_epoch(moment.micros.div_euclid(DAY_MICROS)).iso())
            }
            (_, When::Day(_)) => None,
            (formatter, When::Moment(Moment { micros, digits })) => {
                let mut text = Temporal::instant(micros, digits).iso();
                if matches!(formatter, Formatter::LocalDateTime) {
                    text.pop();
                }
                Some(text)
            }
        }
    }
}

/// A date and a time as ISO 8601 writes them; seconds may be left out.
fn iso_date_time(text: &str) -> Option<Moment> {
    let without_seconds = || {
        let (date, time) = text.split_once('T')?;
        let (minutes, offset) = (time.get(..5)?, time.get(5..)?);
        if offset.starts_with(':') {
            return None;
        }
        text::date_time(&format!("{date}T{minutes}:00{offset}"), false)
    };
    text::date_time(text, false).or_else(without_seconds)
}

/// Whether a text of ISO 8601 with a time says its offset.
fn has_offset(text: &str) -> bool {
    text.split_once('T').is_some_and(|(_, time)| time.contains(['Z', '+', '-']))
}

/// A point in time, or a date, that a text says.
fn value(when: When) -> Value {
    match when {
        When::Day(days) => Value::temporal(Temporal::date(days)),
        When::Moment(moment) => instant(moment),
    }
}

/// A date, or an instant, as a value holds it.
fn when(value: &Value) -> Option<When> {
    let Value::Temporal(temporal) = value else { return None };
    match **temporal {
        Temporal::Date(days) => Some(When::Day(days)),
        Temporal::Instant { micros, digits } => Some(When::Moment(Moment { micros, digits })),
        Temporal::Duration(_) => None,
    }
}

/// Reads `text` by `formatter`.
pub(super) fn parse_by(name: &str, text: &Value, formatter: &Value) -> Result<Value> {
    let Value::Str(text) = text else { return Err(Error::argument(name, 1, "string", text)) };
    let Value::Str(formatter) = formatter else {
        return Err(Error::argument(name, 2, "formatter or pattern such as \"dd/MM/yyyy\"", formatter));
    };
    meter::charge_steps(text.as_str().len() as u64 / 16)?;
    match Formatter::of(name, formatter)?.read(text.as_str()) {
        Ok(when) => Ok(value(when)),
        Err(misfit) => {
            let why = match misfit {
                Misfit::At(character) => format!("at character {character}"),
                Misfit::Meaning(why) => why.to_owned(),
            };
            let (text, pattern) = (shorten(text.as_str()), shorten(formatter.as_str()));
            Err(Error::type_error(format!("{name}: '{text}' does not fit {pattern}: {why}")))
        }
    }
}

/// `(LocalDateTime/parse s)`, `(LocalDateTime/parse s formatter)`: in UTC.
pub(super) fn parse_local_date_time(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    parse_point("LocalDateTime/parse", args, false)
}

/// `(OffsetDateTime/parse s)`, `(OffsetDateTime/parse s formatter)`
pub(super) fn parse_offset_date_time(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    parse_point("OffsetDateTime/parse", args, true)
}

fn parse_point(name: &str, args: &[Value], offset: bool) -> Result<Value> {
    match args {
        [text, formatter] => match parse_by(name, text, formatter)? {
            value if matches!(when(&value), Some(When::Day(_))) => Err(Error::type_error(format!(
                "{name}: the pattern has no time: use LocalDate/parse, or add HH:mm"
            ))),
            value => Ok(value),
        },
        [Value::Str(text), ..] => {
            let text = text.as_str();
            meter::charge_steps(text.len() as u64 / 16)?;
            let fits = !offset || has_offset(text);
            iso_date_time(text).filter(|_| fits).map(instant).ok_or_else(|| {
                let form = if offset { "2024-01-31T10:15:30+02:00" } else { "2024-01-31T10:15:30" };
                let text = shorten(text);
                Error::type_error(format!(
                    "{name}: cannot parse '{text}', expected a text such as {form}, or a formatter"
                ))
            })
        }
        [other, ..] => Err(Error::argument(name, 1, "string", other)),
        [] => Err(Error::argument(name, 1, "string", &Value::Nil)),
    }
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
    let Some(when) = when(date) else {
        let got = java_type_name(date);
        return Err(Error::type_error(format!(
            ".format: expected a date or an instant and a formatter, got {got}"
        )));
    };
    match Formatter::of(".format", formatter)?.write(when) {
        Some(text) => Ok(Value::Str(Str::from_string(text))),
        None => {
            let pattern = shorten(formatter.as_str());
            Err(Error::type_error(format!(
                ".format: {pattern} has a time, and {} has none",
                print::readable_lossy(date)
            )))
        }
    }
}

/// `(day-name d)`: of a date, an instant, or the number of a day.
pub(super) fn day_name(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let number = match when(&args[0]) {
        Some(When::Day(days)) => Some(day_of_week(days)),
        Some(When::Moment(moment)) => Some(day_of_week(moment.micros.div_euclid(DAY_MICROS))),
        None => number(&args[0]),
    };
    named(&WEEKDAYS, number).ok_or_else(|| {
        Error::argument("day-name", 1, "date, instant or number from 1 (Monday) to 7", &args[0])
    })
}

/// `(month-name d)`: of a date, an instant, or the number of a month.
pub(super) fn month_name(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let number = match when(&args[0]) {
        Some(When::Day(days)) => Some(i64::from(Day::from_epoch(days).month)),
        Some(When::Moment(moment)) => {
            Some(i64::from(Day::from_epoch(moment.micros.div_euclid(DAY_MICROS)).month))
        }
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

/// `(.toLocalDate instant)`
pub(super) fn to_local_date(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    match when(&args[0]) {
        Some(When::Moment(moment)) => Ok(value(When::Day(moment.micros.div_euclid(DAY_MICROS)))),
        Some(When::Day(days)) => Ok(value(When::Day(days))),
        None => Err(wrong_receiver(".toLocalDate", &args[0])),
    }
}

/// `(.getHour instant)`
pub(super) fn get_hour(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    clock(".getHour", args, |seconds| seconds / 3600)
}

/// `(.getMinute instant)`
pub(super) fn get_minute(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    clock(".getMinute", args, |seconds| seconds / 60 % 60)
}

/// `(.getSecond instant)`
pub(super) fn get_second(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    clock(".getSecond", args, |seconds| seconds % 60)
}

fn clock(method: &str, args: &[Value], read: fn(i64) -> i64) -> Result<Value> {
    match when(&args[0]) {
        Some(When::Moment(moment)) => Ok(Value::Int(read(moment.micros.rem_euclid(DAY_MICROS) / 1_000_000))),
        _ => Err(wrong_receiver(method, &args[0])),
    }
}

fn wrong_receiver(method: &str, value: &Value) -> Error {
    Error::type_error(format!("{method}: expected DateTime, got {}", java_type_name(value)))
}
