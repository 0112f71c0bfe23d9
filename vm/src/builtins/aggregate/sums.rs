//! `sum`, `avg` and their forms with a key: finite arithmetic over numbers, `nil` skipped.

use crate::builtins::support::{COUNTED, Feed, Sink, check, each};
use crate::error::{Error, Result};
use crate::machine::{Ctx, Flow, portable};
use crate::number;
use crate::value::Value;
use num_traits::ToPrimitive;
use std::mem::take;
use std::ops::ControlFlow;

/// Whether the total or the mean is asked for.
#[derive(Clone, Copy)]
enum Aggregate {
    Sum,
    Mean,
}

portable!(enum Aggregate { 0: Sum, 1: Mean });

/// A running total.
pub(crate) struct Total {
    kind: Aggregate,
    sum: Value,
    count: i64,
}

portable!(Total { kind, sum, count } if |total: &Total| (0..COUNTED).contains(&total.count));

impl Total {
    fn new(kind: Aggregate) -> Total {
        Total { kind, sum: Value::Int(0), count: 0 }
    }

    fn add(&mut self, value: &Value) -> Result<()> {
        let sum = match (&self.sum, value) {
            (_, Value::Nil) => return Ok(()),
            (Value::Int(a), Value::Int(b)) => match a.checked_add(*b) {
                Some(sum) => Value::Int(sum),
                None => number::add(&self.sum, value)?,
            },
            (_, Value::Float(x)) if !x.is_finite() => return Err(Error::bad_arithmetic()),
            (sum, value) if value.is_number() => match number::add(sum, value) {
                Ok(Value::Float(x)) if !x.is_finite() => return Err(Error::bad_arithmetic()),
                Ok(sum) => sum,
                Err(error) => return Err(error),
            },
            _ => return Err(Error::bad_arithmetic().with_hint(not_a_number(value))),
        };
        self.sum = sum;
        self.count += 1;
        Ok(())
    }

    fn value(&mut self) -> Result<Value> {
        match self.kind {
            Aggregate::Sum => Ok(take(&mut self.sum)),
            Aggregate::Mean if self.count == 0 => Ok(Value::Nil),
            Aggregate::Mean => {
                let sum = match &self.sum {
                    Value::Int(n) => *n as f64,
                    Value::Float(x) => x.get(),
                    Value::BigInt(n) => n.get().to_f64().unwrap_or(f64::INFINITY),
                    _ => 0.0,
                };
                let mean = sum / self.count as f64;
                if mean.is_finite() { Ok(Value::float(mean)) } else { Err(Error::bad_arithmetic()) }
            }
        }
    }
}

/// Longest beginning of a text that an error shows, in characters.
const SHOWN: usize = 20;

/// What to do about an element that is no number: cells of tables are texts.
#[cold]
fn not_a_number(value: &Value) -> String {
    let Value::Str(text) = value else { return format!(". Got {}, not a number", value.kind_label()) };
    let mut shown: String = text.as_str().chars().take(SHOWN + 1).collect();
    if let Some((cut, _)) = shown.char_indices().nth(SHOWN) {
        shown.truncate(cut);
        shown.push('…');
    }
    format!(". Got the string {shown:?}, not a number: (parse-double s) reads one")
}

impl Sink for Total {
    fn accept(&mut self, _: &mut Ctx<'_>, _: Value, result: Value) -> Result<ControlFlow<Value>> {
        self.add(&result)?;
        Ok(ControlFlow::Continue(()))
    }

    fn finish(&mut self, _: &mut Ctx<'_>) -> Result<Value> {
        self.value()
    }
}

fn total(ctx: &mut Ctx<'_>, name: &str, kind: Aggregate, args: &mut [Value]) -> Result<Value> {
    let mut total = Total::new(kind);
    match &args[0] {
        Value::Nil => {}
        Value::Vector(vector) | Value::List(vector) | Value::Queue(vector) => {
            for item in vector.iter() {
                ctx.charge(1)?;
                total.add(&item)?;
            }
        }
        _ => return Err(Error::argument_types(name, args)),
    }
    total.value()
}

/// `(sum v)`
pub(super) fn sum(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    total(ctx, "sum", Aggregate::Sum, args)
}

/// `(avg v)`
pub(super) fn avg(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    total(ctx, "avg", Aggregate::Mean, args)
}

/// `(sum-by k c)`
pub(super) fn sum_by(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    let items = check::keyed(ctx, "sum-by", false, args)?;
    Ok(each(take(&mut args[0]), Feed::One(items), Total::new(Aggregate::Sum)))
}

/// `(avg-by k c)`
pub(super) fn avg_by(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    let items = check::keyed(ctx, "avg-by", false, args)?;
    Ok(each(take(&mut args[0]), Feed::One(items), Total::new(Aggregate::Mean)))
}
