//! Arguments of the date functions, and what is wrong with them.

use super::date_or_moment::DateOrMoment;
use crate::builtins::support::errors::java_type_name;
use crate::error::{Error, Result};
use crate::print;
use crate::value::{Day, Value};

/// The days of a date.
pub(super) fn days(method: &str, value: &Value) -> Result<i64> {
    match DateOrMoment::of(value) {
        Some(DateOrMoment::Day(days)) => Ok(days),
        _ => Err(no_date(method, value)),
    }
}

#[cold]
pub(super) fn no_date(method: &str, value: &Value) -> Error {
    Error::type_error(format!("{method}: expected LocalDate, got {}", java_type_name(value)))
}

#[cold]
pub(super) fn no_instant(method: &str, value: &Value) -> Error {
    let shown = match value {
        Value::Temporal(temporal) => temporal.iso(),
        other => print::readable_lossy(other),
    };
    Error::type_error(format!("{method}: expected DateTime, got {shown}"))
}

pub(super) fn integer(method: &str, what: &str, value: &Value) -> Result<i64> {
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

/// A text for a message, cut at 100 characters.
pub(super) fn shorten(text: &str) -> String {
    match text.char_indices().nth(100) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}

/// The day of a year, a month and a day of the month.
pub(super) fn day_of(name: &str, args: &[Value]) -> Result<Day> {
    let year = integer(name, "year", &args[0])?;
    let month = integer(name, "month", &args[1])?;
    let day = integer(name, "day", &args[2])?;
    let real = Some(year).filter(|year| year.unsigned_abs() <= 999_999);
    let real = real.and_then(|year| Day::new(year, month, day));
    real.ok_or_else(|| Error::type_error(format!("{name}: there is no date {year}-{month:02}-{day:02}")))
}
