//! `range` and `repeat`: O(1) in memory where the elements allow it.

use crate::builtins::support::{Builder, check, endless};
use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::number;
use crate::print;
use crate::value::{Value, Vector, compare};
use num_traits::ToPrimitive;
use std::cmp::Ordering;
use std::mem::take;

fn is_finite_number(value: &Value) -> bool {
    match value {
        Value::Int(_) | Value::BigInt(_) => true,
        Value::Float(x) => x.is_finite(),
        _ => false,
    }
}

fn as_float(value: &Value) -> f64 {
    match value {
        Value::Int(n) => *n as f64,
        Value::Float(x) => x.get(),
        Value::BigInt(n) => n.get().to_f64().unwrap_or(f64::INFINITY),
        _ => 0.0,
    }
}

/// `(range)`, `(range end)`, `(range start end)`, `(range start end step)`
pub(super) fn range(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let (start, end, step) = match args {
        [] => return Ok(endless::make(ctx, "range", [Value::Int(0), Value::Int(1)])),
        [end] => (Value::Int(0), take(end), Value::Int(1)),
        [start, end] => (take(start), take(end), Value::Int(1)),
        [start, end, step, ..] => (take(start), take(end), take(step)),
    };
    let is_infinite = matches!(end, Value::Float(bound) if bound.get().is_infinite());
    if is_infinite && is_finite_number(&start) && is_finite_number(&step) {
        let zero = Value::Int(0);
        return Ok(match (compare(&step, &zero), compare(&end, &zero)) {
            (Ordering::Equal, _) => endless::make(ctx, "range", [start, zero]),
            (towards, at) if towards == at => endless::make(ctx, "range", [start, step]),
            _ => Value::vector([]),
        });
    }
    if ![&start, &end, &step].into_iter().all(is_finite_number) {
        let shown = print::readable_lossy(&Value::vector([start, end, step]));
        return Err(Error::type_error(format!(
            "type_error: range expects numeric bounds and step, got {shown}"
        )));
    }
    if let (Value::Int(start), Value::Int(end), Value::Int(step)) = (&start, &end, &step)
        && *step != 0
    {
        return Ok(Value::Vector(integers(*start, *end, *step)));
    }
    let before_end = match compare(&step, &Value::Int(0)) {
        Ordering::Greater => Ordering::Less,
        Ordering::Less => Ordering::Greater,
        Ordering::Equal if compare(&start, &end).is_eq() => return Ok(Value::vector([])),
        Ordering::Equal => return Ok(endless::make(ctx, "range", [start, Value::Int(0)])),
    };
    by_addition(ctx, start, &end, &step, before_end).map(Value::Vector)
}

/// A range of small integers; the step is not 0.
fn integers(start: i64, end: i64, step: i64) -> Vector {
    let span = i128::from(end) - i128::from(start);
    let step_wide = i128::from(step);
    if span == 0 || (span > 0) != (step > 0) {
        return Vector::new();
    }
    let count = (span.abs() + step_wide.abs() - 1) / step_wide.abs();
    Vector::range(start, step, usize::try_from(count).unwrap_or(usize::MAX))
}

/// A range whose elements come from repeated addition, as far as they compare with the end as `before_end`.
fn by_addition(
    ctx: &mut Ctx<'_>,
    start: Value,
    end: &Value,
    step: &Value,
    before_end: Ordering,
) -> Result<Vector> {
    // About as many as there will be, so that a hopeless range is refused at once.
    let about = ((as_float(end) - as_float(&start)) / as_float(step)).max(0.0);
    ctx.reserve((about as usize).saturating_mul(size_of::<Value>()))?;
    let mut out = Builder::new();
    let mut next = start;
    while compare(&next, end) == before_end {
        ctx.charge(1)?;
        let after = number::add(&next, step)?;
        out.push(std::mem::replace(&mut next, after))?;
    }
    Ok(out.take_vector())
}

/// `(repeat n x)`, `(repeat x)`
pub(super) fn repeat(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    ctx.charge(1)?;
    match args {
        [x] => Ok(endless::make(ctx, "repeat", [take(x)])),
        [n, x] => match check::position(n) {
            Some(count) => Ok(Value::Vector(Vector::repeat(take(x), usize::try_from(count).unwrap_or(0)))),
            None => Err(Error::argument("repeat", 1, "integer", n)),
        },
        _ => unreachable!("one or two arguments have been checked"),
    }
}
