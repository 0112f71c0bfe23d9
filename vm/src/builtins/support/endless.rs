//! Sequences without end: `(range)`, `(repeat x)`, `(cycle c)`, `(iterate f x)`, `(repeatedly f)`, and ranges with
//! step 0.
//!
//! Collections are eager, so endless sequences are no collections: a value of this kind only remembers how it was made, and has
//! a constant size. The result of `map`, `filter` and their kin over one is one again: it remembers the transducers that its
//! elements pass. Elements are made as they are taken, and not kept. Everywhere else it is an error whose text names `take`.

use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::number;
use crate::print;
use crate::value::{Combinator, CombinatorKind, Value, Vector};

use super::adding::append;
use super::{Builder, reduced};

/// A sequence without end, taken apart.
pub(crate) enum Endless<'a> {
    /// The same value again and again.
    Repeat(&'a Value),
    /// `start`, `start + step` …
    Range(&'a Value, &'a Value),
    /// The elements of a vector, which has some, again and again.
    Cycle(&'a Vector),
    /// `x`, `(f x)`, `(f (f x))` …
    Iterate(&'a Value, &'a Value),
    /// `(f)`, `(f)` …
    Repeatedly(&'a Value),
    /// Transducers, the first one first, over another one, which is none of this kind.
    Through(&'a [Value], &'a Value),
    /// The elements of a vector, and then those of another one.
    After(&'a Vector, &'a Value),
    /// A function over the elements of others, which are walked in step.
    InStep(&'a Value, &'a [Value]),
}

/// The endless sequence that `(name args…)` means.
pub(crate) fn make(ctx: &Ctx<'_>, name: &str, args: impl IntoIterator<Item = Value>) -> Value {
    let mut parts = vec![ctx.library().required(name)];
    parts.extend(args);
    Value::Combinator(Combinator::new(CombinatorKind::Endless, parts))
}

/// An endless sequence with `transducer` applied, as one.
///
/// # Errors
/// The program's limits.
pub(crate) fn through(ctx: &mut Ctx<'_>, transducer: Value, series: Value) -> Result<Value> {
    let Some(Endless::Through(stages, source)) = open(&series) else {
        return Ok(make(ctx, "sequence", [transducer, series]));
    };
    ctx.charge(stages.len())?;
    ctx.reserve((stages.len() + 3) * size_of::<Value>())?;
    let (last, before) = stages.split_last().expect("one at least");
    let parts = match both_dropped(last, &transducer) {
        Some(count) => {
            let dropped = [ctx.library().required("drop"), Value::Int(count)];
            let drop = Combinator::new(CombinatorKind::Transducer, dropped.to_vec());
            before.iter().cloned().chain([Value::Combinator(drop), source.clone()]).collect::<Vec<_>>()
        }
        None => stages.iter().cloned().chain([transducer, source.clone()]).collect(),
    };
    Ok(make(ctx, "sequence", parts))
}

/// How many elements `(drop a)` and then `(drop b)` leave out: a walk by `rest` grows no longer and longer.
fn both_dropped(a: &Value, b: &Value) -> Option<i64> {
    let count = |value: &Value| {
        let Value::Combinator(combinator) = value else { return None };
        match (combinator.kind, &combinator.parts[..]) {
            (CombinatorKind::Transducer, [Value::Builtin(builtin), Value::Int(count)])
                if builtin.name == "drop" =>
            {
                Some(*count)
            }
            _ => None,
        }
    };
    count(a)?.checked_add(count(b)?)
}

/// The elements of `front`, and then those of an endless sequence.
///
/// # Errors
/// The program's limits.
pub(crate) fn after(ctx: &mut Ctx<'_>, mut front: Vector, series: Value) -> Result<Value> {
    if front.is_empty() {
        return Ok(series);
    }
    let Some(Endless::After(more, rest)) = open(&series) else {
        return Ok(make(ctx, "concat", [Value::Vector(front), series]));
    };
    append(ctx, &mut front, more)?;
    Ok(make(ctx, "concat", [Value::Vector(front), rest.clone()]))
}

/// The form of an endless sequence, if it is one.
pub(crate) fn open(value: &Value) -> Option<Endless<'_>> {
    let Value::Combinator(combinator) = value else { return None };
    if combinator.kind != CombinatorKind::Endless {
        return None;
    }
    let [Value::Builtin(builtin), args @ ..] = &combinator.parts[..] else { return None };
    Some(match (builtin.name, args) {
        ("repeat", [x]) => Endless::Repeat(x),
        ("range", [start, Value::Int(0)]) => Endless::Repeat(start),
        ("range", [start, step]) => Endless::Range(start, step),
        ("cycle", [Value::Vector(vector)]) => Endless::Cycle(vector),
        ("iterate", [function, x]) => Endless::Iterate(function, x),
        ("repeatedly", [function]) => Endless::Repeatedly(function),
        ("sequence", [stages @ .., source]) if !stages.is_empty() && source.is_endless() => {
            Endless::Through(stages, source)
        }
        ("concat", [Value::Vector(front), rest]) if rest.is_endless() => Endless::After(front, rest),
        ("map", [function, all @ ..]) if !all.is_empty() && all.iter().all(Value::is_endless) => {
            Endless::InStep(function, all)
        }
        _ => return None,
    })
}

/// The innermost sequence, before all that is done to it.
fn source(mut value: &Value) -> &Value {
    loop {
        match open(value) {
            Some(Endless::Through(_, inner) | Endless::After(_, inner) | Endless::InStep(_, [inner, ..])) => {
                value = inner;
            }
            _ => return value,
        }
    }
}

/// The error of an endless sequence where a collection is needed: it names where the elements come from.
#[cold]
pub(crate) fn error(value: &Value) -> Error {
    let value = source(value);
    let Value::Combinator(combinator) = value else { return super::errors::not_a_collection(value) };
    let [Value::Builtin(builtin), args @ ..] = &combinator.parts[..] else {
        return super::errors::not_a_collection(value);
    };
    if let ("range", [_, Value::Int(0)]) = (builtin.name, args) {
        return Error::type_error("type_error: zero-step range must be consumed by bounded take");
    }
    let mut call = format!("({}", builtin.name);
    if builtin.name != "range" {
        for arg in args {
            call.push(' ');
            call.push_str(&print::readable_lossy(arg));
        }
    }
    call.push(')');
    Error::runtime(format!("{call} never ends: take a finite part of it, for instance (take 10 {call})"))
}

/// The first `count` elements of one that calls no function; `None` for one that does.
pub(crate) fn beginning(ctx: &mut Ctx<'_>, endless: &Endless<'_>, count: usize) -> Result<Option<Vector>> {
    ctx.charge(1)?;
    Ok(Some(match endless {
        Endless::Repeat(x) => Vector::repeat((*x).clone(), count),
        Endless::Range(start, step) => match (start, step) {
            (Value::Int(first), Value::Int(by)) if fits(*first, *by, count) => {
                Vector::range(*first, *by, count)
            }
            _ => {
                let mut out = Builder::with_capacity(count)?;
                let mut next = (*start).clone();
                for _ in 0..count {
                    ctx.charge(1)?;
                    let after = number::add(&next, step)?;
                    out.push(std::mem::replace(&mut next, after))?;
                }
                out.take_vector()
            }
        },
        Endless::Cycle(vector) => {
            ctx.charge(count)?;
            let mut out = Builder::with_capacity(count)?;
            let mut items = vector.iter();
            for _ in 0..count {
                let item = items.next().or_else(|| {
                    items = vector.iter();
                    items.next()
                });
                out.push(item.unwrap_or_default())?;
            }
            out.take_vector()
        }
        Endless::Iterate(..)
        | Endless::Repeatedly(_)
        | Endless::Through(..)
        | Endless::After(..)
        | Endless::InStep(..) => return Ok(None),
    }))
}

fn fits(start: i64, step: i64, count: usize) -> bool {
    i64::try_from(count)
        .ok()
        .and_then(|count| step.checked_mul(count))
        .and_then(|span| start.checked_add(span))
        .is_some()
}

/// The external form of a program's value: a `reduced` value is unwrapped, and an endless sequence is refused.
pub(crate) fn result(value: Value) -> Result<Value> {
    if open(&value).is_some() {
        return Err(error(&value));
    }
    Ok(reduced::unreduced(value))
}
