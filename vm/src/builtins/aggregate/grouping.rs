//! `group-by` and `frequencies`.

use crate::builtins::support::{Builder, Feed, Sink, Table, check, cursor, each};
use crate::error::{Error, Result};
use crate::machine::{Ctx, Flow, portable};
use crate::value::Value;
use std::mem::take;
use std::ops::ControlFlow;

/// Collects the elements of each key in input order.
#[derive(Default)]
pub(crate) struct Groups(Table<Builder>);

portable!(Groups(table));

impl Sink for Groups {
    const KEEPS_ITEM: bool = true;

    fn accept(&mut self, _: &mut Ctx<'_>, item: Value, key: Value) -> Result<ControlFlow<Value>> {
        self.0.entry(key, Builder::new)?.0.push(item)?;
        Ok(ControlFlow::Continue(()))
    }

    fn finish(&mut self, _: &mut Ctx<'_>) -> Result<Value> {
        self.0.take_map(|mut group| group.take()).map(Value::Map)
    }
}

/// `(group-by k c)`
pub(super) fn group_by(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    let items = check::keyed(ctx, "group-by", true, args)?;
    Ok(each(take(&mut args[0]), Feed::One(items), Groups::default()))
}

/// `(frequencies c)`
pub(super) fn frequencies(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let mut counts = Table::default();
    if let Value::Vector(items) | Value::List(items) | Value::Queue(items) = &args[0] {
        let mut counted = Ok(());
        items.all(|item| {
            counted = counts.entry_of(item, || 0).map(|count| *count += 1);
            counted.is_ok()
        });
        counted?;
    } else {
        let Some(mut items) = cursor(ctx, &args[0])? else {
            return Err(Error::argument_types("frequencies", args));
        };
        while let Some(item) = items.advance() {
            *counts.entry(item, || 0)?.0 += 1;
        }
    }
    counts.take_map(Value::Int).map(Value::Map)
}
