//! Durations.

use super::arguments::{out_of_range, shorten};
use super::date_or_moment::DateOrMoment;
use super::text;
use crate::builtins::support::errors::java_type_name;
use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::value::{Temporal, Value};

fn duration(millis: i64) -> Value {
    Value::temporal(Temporal::duration(millis))
}

fn millis(method: &str, value: &Value) -> Result<i64> {
    if let Value::Temporal(temporal) = value
        && let Temporal::Duration(millis) = **temporal
    {
        return Ok(millis);
    }
    Err(Error::type_error(format!("{method}: expected Duration, got {}", java_type_name(value))))
}

/// `(Duration/between a b)`
pub(super) fn between(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let fault = |which: &str, value: &Value| {
        let kind = java_type_name(value);
        Error::type_error(format!("Duration/between: expected DateTime {which} argument, got {kind}"))
    };
    let (from, to) = (DateOrMoment::of(&args[0]), DateOrMoment::of(&args[1]));
    let (a, b) = match (from, to) {
        (Some(DateOrMoment::Local(a)), Some(DateOrMoment::Local(b))) => (a.micros, b.micros),
        (Some(DateOrMoment::Local(_)), _) => {
            let kind = java_type_name(&args[1]);
            let text = format!("Duration/between: expected LocalDateTime end argument, got {kind}");
            return Err(Error::type_error(text));
        }
        (from, to) => {
            let from = from.and_then(DateOrMoment::instant).ok_or_else(|| fault("start", &args[0]))?;
            let to = to.and_then(DateOrMoment::instant).ok_or_else(|| fault("end", &args[1]))?;
            (from.micros, to.micros)
        }
    };
    let span = b.checked_sub(a).ok_or_else(|| out_of_range("Duration/between"))?;
    Ok(duration(span.div_euclid(1_000)))
}

/// `(Duration/parse s)`
pub(super) fn parse(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let Value::Str(text) = &args[0] else {
        let kind = java_type_name(&args[0]);
        return Err(Error::type_error(format!("Duration/parse: expected string, got {kind}")));
    };
    text::duration(text.as_str()).map(duration).ok_or_else(|| {
        let shown = shorten(text.as_str());
        Error::type_error(format!(
            "Duration/parse: invalid ISO-8601 duration '{shown}' (expected PnDTnHnMnS)"
        ))
    })
}

/// `(Duration/ofDays n)` and the like: units of so many milliseconds.
pub(super) fn of(method: &str, args: &[Value], millis_each: i64) -> Result<Value> {
    match &args[0] {
        Value::Int(n) => n.checked_mul(millis_each).map(duration).ok_or_else(|| out_of_range(method)),
        Value::BigInt(_) => Err(out_of_range(method)),
        other => Err(Error::type_error(format!("{method}: expected integer, got {}", java_type_name(other)))),
    }
}

/// `(.toDays duration)` and the like: whole units of so many milliseconds, toward zero.
pub(super) fn to(method: &str, args: &[Value], millis_each: i64) -> Result<Value> {
    millis(method, &args[0]).map(|millis| Value::Int(millis / millis_each))
}
