//! Over all entries: `update-vals`, `update-keys`, `reduce-kv`, `merge-with`.

use super::write::merged_key;
use crate::builtins::support::reduced::{is_reduced, unreduced};
use crate::builtins::support::{Builder, COUNTED, Feed, Sink, callee, check, each, pulse};
use crate::error::{Error, Result};
use crate::machine::{Args, CallNow, Ctx, Flow, Input, NativeFrame, portable};
use crate::value::{Cursor, Map, MapIter, Value, Vector};
use std::mem::take;
use std::ops::ControlFlow;

/// Refuses arguments other than `(map, function)`; `nil` and vectors count as maps.
fn check_pair(name: &str, args: &[Value]) -> Result<()> {
    match (&args[0], &args[1]) {
        (Value::Map(_) | Value::Vector(_) | Value::Nil, function) => {
            check::callable(name, 2, "callable", function)
        }
        (Value::Builtin(_) | Value::Closure(_) | Value::Combinator(_), Value::Map(_)) => {
            Err(Error::type_error(format!(
                "{name} expects (map, function) but got (function, map). Use -> (thread-first) instead of ->> \
                 (thread-last) with {name}"
            )))
        }
        (other, _) => Err(Error::argument(name, 1, "map", other)),
    }
}

/// The keys, or the values, of a map as a vector.
fn column(ctx: &mut Ctx<'_>, map: &Map, show: impl Fn(&Value, &Value) -> Value) -> Result<Vector> {
    ctx.charge(map.len())?;
    let mut out = Builder::with_capacity(map.len())?;
    for (key, value) in map.iter() {
        out.push(show(key, value))?;
    }
    Ok(out.take_vector())
}

/// New values for the keys of a map.
pub(crate) struct NewValues {
    map: Map,
    values: Builder,
}

portable!(NewValues { map, values });

impl Sink for NewValues {
    fn fits(&self, left: usize) -> bool {
        self.values.len() + 1 + left == self.map.len()
    }

    fn accept(&mut self, _: &mut Ctx<'_>, _: Value, result: Value) -> Result<ControlFlow<Value>> {
        self.values.push(result)?;
        Ok(ControlFlow::Continue(()))
    }

    fn finish(&mut self, ctx: &mut Ctx<'_>) -> Result<Value> {
        ctx.reserve(self.map.len().saturating_mul(2 * Map::ENTRY_BYTES))?;
        Ok(Value::Map(self.map.with_values(self.values.take_vector())))
    }
}

/// The results as a vector.
#[derive(Default)]
pub(crate) struct VectorCollector(Builder);

portable!(VectorCollector(out));

impl Sink for VectorCollector {
    fn accept(&mut self, _: &mut Ctx<'_>, _: Value, result: Value) -> Result<ControlFlow<Value>> {
        self.0.push(result)?;
        Ok(ControlFlow::Continue(()))
    }

    fn finish(&mut self, _: &mut Ctx<'_>) -> Result<Value> {
        Ok(self.0.take())
    }
}

/// `(update-vals m f)`
pub(super) fn update_vals(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    check_pair("update-vals", args)?;
    let function = take(&mut args[1]);
    match take(&mut args[0]) {
        Value::Map(map) => {
            let values = column(ctx, &map, |_, value| value.clone())?;
            let sink = NewValues { values: Builder::with_capacity(map.len())?, map };
            Ok(each(function, Feed::One(Cursor::Vector(values.into_iter())), sink))
        }
        Value::Vector(vector) => {
            Ok(each(function, Feed::One(Cursor::Vector(vector.into_iter())), VectorCollector::default()))
        }
        _ => Ok(Flow::Return(Value::Nil)),
    }
}

/// New keys for the values of a map or a vector.
pub(crate) struct NewKeys {
    values: Vector,
    keys: Builder,
}

portable!(NewKeys { values, keys });

impl Sink for NewKeys {
    fn accept(&mut self, _: &mut Ctx<'_>, _: Value, result: Value) -> Result<ControlFlow<Value>> {
        self.keys.push(result)?;
        Ok(ControlFlow::Continue(()))
    }

    fn finish(&mut self, ctx: &mut Ctx<'_>) -> Result<Value> {
        ctx.charge(self.keys.len())?;
        ctx.reserve(self.keys.len().saturating_mul(3 * Map::ENTRY_BYTES))?;
        Ok(Value::Map(self.keys.take_vector().into_iter().zip(self.values.iter()).collect()))
    }
}

/// `(update-keys m f)`
pub(super) fn update_keys(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    check_pair("update-keys", args)?;
    let function = take(&mut args[1]);
    let (keys, values) = match take(&mut args[0]) {
        Value::Map(map) => {
            (column(ctx, &map, |key, _| key.clone())?, column(ctx, &map, |_, value| value.clone())?)
        }
        Value::Vector(vector) => (Vector::range(0, 1, vector.len()), vector),
        _ => return Ok(Flow::Return(Value::Nil)),
    };
    let sink = NewKeys { keys: Builder::with_capacity(values.len())?, values };
    Ok(each(function, Feed::One(Cursor::Vector(keys.into_iter())), sink))
}

/// The entries that `reduce-kv` folds over.
enum Entries {
    Map(MapIter),
    Vector(i64, crate::value::VectorIter),
}

portable!(enum Entries { 0: Map(entries), 1: Vector(index, items) }
    if |entries: &Entries| matches!(entries, Entries::Map(_) | Entries::Vector(0..COUNTED, _)));

impl Entries {
    fn advance(&mut self) -> Option<(Value, Value)> {
        match self {
            Entries::Map(entries) => entries.next(),
            Entries::Vector(index, items) => {
                let item = items.next()?;
                *index += 1;
                Some((Value::Int(*index - 1), item))
            }
        }
    }
}

/// A fold over entries under way.
pub(crate) struct ReduceKv {
    function: Value,
    entries: Entries,
    acc: Value,
}

portable!(ReduceKv { function, entries, acc });

impl NativeFrame for ReduceKv {
    fn resume(&mut self, ctx: &mut Ctx<'_>, input: Input) -> Result<Flow> {
        if let Input::Value(result) = input {
            if is_reduced(&result) {
                return Ok(Flow::Return(unreduced(result)));
            }
            self.acc = result;
        }
        loop {
            let Some((key, value)) = self.entries.advance() else {
                return Ok(Flow::Return(take(&mut self.acc)));
            };
            // The accumulator moves into the call, so that the function may change it in place.
            let args = Args::from_buf([take(&mut self.acc), key, value]);
            match ctx.call_now(&self.function, args)? {
                CallNow::Done(result) if is_reduced(&result) => return Ok(Flow::Return(unreduced(result))),
                CallNow::Done(result) => self.acc = result,
                CallNow::NeedsFrame(args) => return Ok(Flow::Call(self.function.clone(), args)),
            }
            if pulse(ctx)? {
                return Ok(Flow::Yield);
            }
        }
    }
}

/// `(reduce-kv f init m)`
pub(super) fn reduce_kv(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    check::callable("reduce-kv", 1, "callable", &args[0])?;
    let entries = match &args[2] {
        Value::Nil => return Ok(Flow::Return(take(&mut args[1]))),
        // A keyword takes no three arguments.
        Value::Map(_) | Value::Vector(_) if matches!(args[0], Value::Keyword(_)) => {
            return Err(Error::argument_types("reduce-kv", args));
        }
        Value::Map(map) => Entries::Map(map.clone().into_iter()),
        Value::Vector(vector) => Entries::Vector(0, vector.iter()),
        other => return Err(Error::argument("reduce-kv", 3, "map", other)),
    };
    args[2] = Value::Nil;
    let (function, acc) = (take(&mut args[0]), take(&mut args[1]));
    Ok(Flow::Push(Box::new(ReduceKv { function, entries, acc })))
}

/// A merge under way.
pub(crate) struct MergeWith {
    function: Value,
    merged: Map,
    /// The maps to come, the next one last.
    left: Vec<Map>,
    /// The map whose entries are being merged, and those that are left.
    from: Map,
    entries: MapIter,
    /// Where the result of the call goes.
    key: Value,
}

portable!(MergeWith { function, merged, left, from, entries, key });

impl NativeFrame for MergeWith {
    fn resume(&mut self, ctx: &mut Ctx<'_>, input: Input) -> Result<Flow> {
        if let Input::Value(result) = input {
            self.merged.insert(take(&mut self.key), result);
        }
        loop {
            let Some((key, value)) = self.entries.next() else {
                let Some(next) = self.left.pop() else {
                    return Ok(Flow::Return(Value::Map(take(&mut self.merged))));
                };
                self.entries = next.clone().into_iter();
                self.from = next;
                continue;
            };
            match merged_key(&self.merged, &self.from, &key) {
                None => {
                    ctx.charge(1)?;
                    self.merged.insert(key, value);
                }
                Some(key) => {
                    let old = self.merged.take(&key).unwrap_or_default();
                    match ctx.call_now(&self.function, callee::two(old, value))? {
                        CallNow::Done(result) => self.merged.insert(key, result),
                        CallNow::NeedsFrame(args) => {
                            self.key = key;
                            return Ok(Flow::Call(self.function.clone(), args));
                        }
                    }
                }
            }
            if pulse(ctx)? {
                return Ok(Flow::Yield);
            }
        }
    }
}

/// `(merge-with f & ms)`
pub(super) fn merge_with(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    check::callable("merge-with", 1, "callable", &args[0])?;
    match args {
        [_, only] => return Ok(Flow::Return(take(only))),
        [_, all @ ..] if all.iter().all(Value::is_nil) => return Ok(Flow::Return(Value::Nil)),
        _ => {}
    }
    let mut left = Vec::with_capacity(args.len());
    for (i, arg) in args.iter_mut().enumerate().skip(1) {
        match take(arg) {
            Value::Map(map) => left.push(map),
            Value::Nil => {}
            other => return Err(Error::argument("merge-with", i + 1, "map", &other)),
        }
    }
    left.reverse();
    let merged = left.pop().unwrap_or_default();
    let (function, from) = (take(&mut args[0]), Map::new());
    let entries = from.clone().into_iter();
    Ok(Flow::Push(Box::new(MergeWith { function, merged, left, from, entries, key: Value::Nil })))
}
