//! `filter` and its kin: the elements themselves, all or some of them.

use crate::builtins::support::transducer;
use crate::builtins::support::{Builder, Feed, Sink, Table, check, cursor, each, elements, endless, errors};
use crate::error::{Error, Result};
use crate::machine::{Ctx, Flow, portable};
use crate::value::{Value, Vector, VectorIter, identical};
use std::mem::take;
use std::ops::ControlFlow;

/// Collects the elements for which the result is truthy (or is not).
pub(crate) struct Select {
    truthy: bool,
    out: Builder,
}

portable!(Select { truthy, out });

impl Sink for Select {
    const KEEPS_ITEM: bool = true;

    #[inline]
    fn accept(&mut self, _: &mut Ctx<'_>, item: Value, result: Value) -> Result<ControlFlow<Value>> {
        if result.is_truthy() == self.truthy {
            self.out.push(item)?;
        }
        Ok(ControlFlow::Continue(()))
    }

    fn finish(&mut self, _: &mut Ctx<'_>) -> Result<Value> {
        Ok(self.out.take())
    }
}

fn select(args: &mut [Value], items: crate::value::Cursor, truthy: bool) -> Flow {
    each(take(&mut args[0]), Feed::One(items), Select { truthy, out: Builder::new() })
}

/// `(filter p c)`
pub(crate) fn filter(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    if let [first, second] = &*args {
        let collection_first = !matches!(first, Value::Set(_)) && first.is_seqable();
        if collection_first && second.is_function() {
            return Err(errors::swapped());
        }
    }
    check::callable("filter", 1, "predicate", &args[0])?;
    if args.len() == 1 {
        return transducer(ctx, "filter", args);
    }
    let items = check::seqable(ctx, "filter", 2, &args[1])?;
    Ok(select(args, items, true))
}

/// `(filterv p c)`
pub(super) fn filterv(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    let items = check::unchecked(ctx, "filterv", args)?;
    Ok(select(args, items, true))
}

/// `(remove p c)`
pub(crate) fn remove(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    check::callable("remove", 1, "predicate", &args[0])?;
    if args.len() == 1 {
        return transducer(ctx, "remove", args);
    }
    let items = check::seqable(ctx, "remove", 2, &args[1])?;
    Ok(select(args, items, false))
}

/// Collects the first element of each key.
pub(crate) struct Distinct {
    seen: Table<()>,
    out: Builder,
}

portable!(Distinct { seen, out });

impl Sink for Distinct {
    const KEEPS_ITEM: bool = true;

    fn accept(&mut self, _: &mut Ctx<'_>, item: Value, key: Value) -> Result<ControlFlow<Value>> {
        if self.seen.entry(key, || ())?.1 {
            self.out.push(item)?;
        }
        Ok(ControlFlow::Continue(()))
    }

    fn finish(&mut self, _: &mut Ctx<'_>) -> Result<Value> {
        Ok(self.out.take())
    }
}

/// `(distinct-by k c)`
pub(super) fn distinct_by(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    let items = check::keyed(ctx, "distinct-by", false, args)?;
    let sink = Distinct { seen: Table::default(), out: Builder::new() };
    Ok(each(take(&mut args[0]), Feed::One(items), sink))
}

/// `(distinct c)`
pub(crate) fn distinct(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    let Some(collection) = args.first_mut() else { return transducer(ctx, "distinct", args) };
    match collection {
        Value::Vector(_) | Value::List(_) | Value::Queue(_) | Value::Str(_) | Value::Nil => {}
        Value::Set(_) => return Err(errors::no_sets("distinct")),
        Value::Map(_) => return Err(errors::no_maps("distinct")),
        _ => return Err(Error::argument_types("distinct", args)),
    }
    let all = elements(ctx, take(collection))?.unwrap_or_default();
    let mut seen = Table::default();
    let mut out = Builder::new();
    for item in all {
        if seen.entry(item.clone(), || ())?.1 {
            out.push(item)?;
        }
    }
    Ok(Flow::Return(out.take()))
}

/// `(dedupe c)`
pub(crate) fn dedupe(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    let Some(collection) = args.first_mut() else { return transducer(ctx, "dedupe", args) };
    let Some(mut items) = cursor(ctx, collection)? else { return Err(errors::not_a_collection(collection)) };
    ctx.charge(items.remaining())?;
    let mut out = Builder::new();
    let mut last: Option<Value> = None;
    while let Some(item) = items.advance() {
        if last.as_ref().is_none_or(|last| !identical(last, &item)) {
            out.push(item.clone())?;
            last = Some(item);
        }
    }
    Ok(Flow::Return(out.take()))
}

/// `(flatten v)`: pending iterators lie on a stack, so that depth is bounded by memory only.
pub(super) fn flatten(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let root = match take(&mut args[0]) {
        Value::Vector(vector) | Value::List(vector) | Value::Queue(vector) => vector,
        series if series.is_endless() => return Err(endless::error(&series)),
        // What is no sequence has nothing to be spliced.
        _ => Vector::new(),
    };
    let mut out = Builder::new();
    let mut open = Vec::new();
    let mut items = root.into_iter();
    loop {
        match items.next() {
            Some(Value::Vector(inner) | Value::List(inner) | Value::Queue(inner)) => {
                ctx.charge(1)?;
                // An iterator at its end is not kept: a long chain of last elements needs no stack.
                let outer = std::mem::replace(&mut items, inner.into_iter());
                if outer.len() > 0 {
                    ctx.reserve((open.len() + 1) * 2 * size_of::<VectorIter>())?;
                    open.push(outer);
                }
            }
            Some(item) => {
                ctx.charge(1)?;
                out.push(item)?;
            }
            None => match open.pop() {
                Some(outer) => items = outer,
                None => return Ok(out.take()),
            },
        }
    }
}
