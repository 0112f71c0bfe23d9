//! `min-by`, `max-by`, `min-key`, `max-key`.

use crate::builtins::support::{Feed, Sink, check, each, order};
use crate::error::{Error, Result};
use crate::machine::{Ctx, Flow, portable};
use crate::value::{Cursor, Value, Vector};
use std::cmp::Ordering;
use std::mem::take;
use std::ops::ControlFlow;

/// Keeps the item with the best key so far.
pub(crate) struct Extreme {
    better: Ordering,
    rule: Rule,
    best: Option<(Value, Value)>,
}

portable!(Extreme { better, rule, best });

/// The treatment of equal keys and of `nil`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// `min-by`, `max-by`: the first of equals, `nil` is skipped.
    FirstOfSome,
    /// `min-key`, `max-key`: the last of equals, as in Clojure.
    LastOfAll,
}

portable!(enum Rule { 0: FirstOfSome, 1: LastOfAll });

impl Sink for Extreme {
    const KEEPS_ITEM: bool = true;

    fn accept(&mut self, _: &mut Ctx<'_>, item: Value, key: Value) -> Result<ControlFlow<Value>> {
        if !(self.rule == Rule::FirstOfSome && key.is_nil()) {
            let replaces = match (&self.best, self.rule) {
                (None, _) => true,
                (Some((best, _)), Rule::FirstOfSome) => order::compare(&key, best)? == self.better,
                (Some((best, _)), Rule::LastOfAll) => order::compare(&key, best)? != self.better.reverse(),
            };
            if replaces {
                self.best = Some((key, item));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn finish(&mut self, _: &mut Ctx<'_>) -> Result<Value> {
        Ok(self.best.take().map(|(_, item)| item).unwrap_or_default())
    }
}

fn arguments_as_items(args: &mut [Value]) -> Cursor {
    let items: Vector = args.iter_mut().map(take).collect();
    Cursor::Vector(items.into_iter())
}

/// A string is the key of maps: items that have no keys at all are refused.
fn check_string_key(ctx: &mut Ctx<'_>, shown: &str, args: &[Value]) -> Result<()> {
    let [Value::Str(_), Value::Vector(items) | Value::List(items) | Value::Queue(items)] = args else {
        return Ok(());
    };
    for item in items.iter() {
        ctx.charge(1)?;
        if !matches!(
            item,
            Value::Nil | Value::Map(_) | Value::Vector(_) | Value::List(_) | Value::Queue(_) | Value::Set(_)
        ) {
            return Err(Error::argument_types(shown, args));
        }
    }
    Ok(())
}

fn by(ctx: &mut Ctx<'_>, name: &str, better: Ordering, args: &mut [Value]) -> Result<Flow> {
    if args.len() < 2 {
        return Err(Error::runtime(format!("{name} requires at least a key and one value or collection")));
    }
    let is_collection = args.len() == 2
        && matches!(
            args[1],
            Value::Nil | Value::Vector(_) | Value::List(_) | Value::Queue(_) | Value::Map(_) | Value::Set(_)
        );
    if !is_collection && !check::is_key_function(&args[0]) {
        return Err(Error::argument_types(name, args));
    }
    let items = if is_collection {
        check_string_key(ctx, name, args)?;
        check::keyed(ctx, name, false, args)?
    } else {
        ctx.charge(args.len())?;
        arguments_as_items(&mut args[1..])
    };
    Ok(each(take(&mut args[0]), Feed::One(items), Extreme { better, rule: Rule::FirstOfSome, best: None }))
}

/// `(min-by k c)`, `(min-by k x & more)`
pub(super) fn min_by(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    by(ctx, "min-by", Ordering::Less, args)
}

/// `(max-by k c)`, `(max-by k x & more)`
pub(super) fn max_by(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    by(ctx, "max-by", Ordering::Greater, args)
}

fn key(ctx: &mut Ctx<'_>, name: &str, better: Ordering, args: &mut [Value]) -> Result<Flow> {
    match args {
        [] => return Err(Error::argument_types(name, args)),
        [_] => {
            let text = format!("{name} requires at least 2 arguments (function and one value)");
            return Err(Error::runtime(text));
        }
        [_, only] => return Ok(Flow::Return(take(only))),
        [function, ..] if !function.is_callable() => return Err(Error::argument_types(name, args)),
        _ => {}
    }
    ctx.charge(args.len())?;
    let items = arguments_as_items(&mut args[1..]);
    Ok(each(take(&mut args[0]), Feed::One(items), Extreme { better, rule: Rule::LastOfAll, best: None }))
}

/// `(min-key f x & more)`
pub(super) fn min_key(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    key(ctx, "min-key", Ordering::Less, args)
}

/// `(max-key f x & more)`
pub(super) fn max_key(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    key(ctx, "max-key", Ordering::Greater, args)
}
