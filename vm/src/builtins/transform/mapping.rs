//! `map` and its kin: the results of calls, all or some of them.

use crate::builtins::support::reduced::is_reduced;
use crate::builtins::support::transducer;
use crate::builtins::support::{Builder, Feed, Sink, check, cursor, each, elements, errors, sequence};
use crate::error::{Error, Result};
use crate::machine::{Ctx, Flow, portable};
use crate::value::{Cursor, Value};
use std::ops::ControlFlow;

/// Collects every result.
pub(crate) struct Collect(Builder);

portable!(Collect(out));

impl Collect {
    /// For as many results as the feed has calls.
    pub(crate) fn all(feed: &Feed) -> Result<Collect> {
        Ok(Collect(Builder::with_capacity(feed.remaining())?))
    }
}

impl Sink for Collect {
    #[inline]
    fn accept(&mut self, _: &mut Ctx<'_>, _: Value, result: Value) -> Result<ControlFlow<Value>> {
        self.0.push(result)?;
        Ok(ControlFlow::Continue(()))
    }

    fn finish(&mut self, _: &mut Ctx<'_>) -> Result<Value> {
        Ok(self.0.take())
    }
}

/// Collects the results that are not `nil`.
pub(crate) struct Present(Builder);

portable!(Present(out));

impl Sink for Present {
    fn accept(&mut self, _: &mut Ctx<'_>, _: Value, result: Value) -> Result<ControlFlow<Value>> {
        if !result.is_nil() {
            self.0.push(result)?;
        }
        Ok(ControlFlow::Continue(()))
    }

    fn finish(&mut self, _: &mut Ctx<'_>) -> Result<Value> {
        Ok(self.0.take())
    }
}

/// Collects the elements of the results.
pub(crate) struct Splice {
    out: Builder,
    /// The function is a keyword: values that are neither vector nor list count as one element.
    by_keyword: bool,
}

portable!(Splice { out, by_keyword });

impl Sink for Splice {
    fn accept(&mut self, ctx: &mut Ctx<'_>, _: Value, result: Value) -> Result<ControlFlow<Value>> {
        match spliced(ctx, result, self.by_keyword)? {
            ControlFlow::Continue(mut items) => {
                ctx.charge(items.remaining())?;
                ctx.reserve(items.remaining().saturating_mul(size_of::<Value>()))?;
                while let Some(item) = items.advance() {
                    self.out.push(item)?;
                }
            }
            ControlFlow::Break(one) => self.out.push(one)?,
        }
        Ok(ControlFlow::Continue(()))
    }

    fn finish(&mut self, _: &mut Ctx<'_>) -> Result<Value> {
        Ok(self.out.take())
    }
}

/// The contribution of a result of `mapcat`'s function: its elements, or itself (`Break`).
pub(crate) fn spliced(
    ctx: &mut Ctx<'_>,
    result: Value,
    by_keyword: bool,
) -> Result<ControlFlow<Value, Cursor>> {
    if by_keyword && !matches!(result, Value::Vector(_) | Value::List(_) | Value::Queue(_) | Value::Nil) {
        return Ok(ControlFlow::Break(result));
    }
    match cursor(ctx, &result)? {
        Some(items) => Ok(ControlFlow::Continue(items)),
        None => Err(Error::type_error(format!(
            "mapcat: function must return a collection, got {}",
            result.kind_label()
        ))),
    }
}

/// The arguments after the function: one or more seqables, walked in step.
pub(crate) fn feed(ctx: &mut Ctx<'_>, name: &str, args: &[Value]) -> Result<Feed> {
    let expected = if args.len() == 2 { "keyfn" } else { "callable" };
    check::callable(name, 1, expected, &args[0])?;
    if let [_, collection] = args {
        return Ok(Feed::One(check::seqable(ctx, name, 2, collection)?));
    }
    let refuse = |i, value: &Value| Error::argument(name, i + 2, "seqable", value);
    sequence::in_step(ctx, &args[1..], refuse).map(Feed::Several)
}

fn map_as(ctx: &mut Ctx<'_>, name: &str, args: &mut [Value]) -> Result<Flow> {
    let feed = feed(ctx, name, args)?;
    let sink = Collect::all(&feed)?;
    Ok(each(std::mem::take(&mut args[0]), feed, sink))
}

/// `(map f c & cs)`
pub(crate) fn map(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    if args.len() == 1 {
        check::callable("map", 1, "keyfn", &args[0])?;
        return transducer(ctx, "map", args);
    }
    map_as(ctx, "map", args)
}

/// `(mapv f c & cs)`
pub(super) fn mapv(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    map_as(ctx, "mapv", args)
}

/// `(mapcat f c & cs)`
pub(crate) fn mapcat(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    check::callable("mapcat", 1, "callable", &args[0])?;
    if args.len() == 1 {
        return transducer(ctx, "mapcat", args);
    }
    let feed = feed(ctx, "mapcat", args)?;
    let by_keyword = matches!(args[0], Value::Keyword(_));
    Ok(each(std::mem::take(&mut args[0]), feed, Splice { out: Builder::new(), by_keyword }))
}

/// The index and element of each item, for a function that is checked only when there is something to call it with.
fn indexed(ctx: &mut Ctx<'_>, shown: &str, args: &[Value]) -> Result<Feed> {
    let Some(items) = cursor(ctx, &args[1])? else { return Err(errors::not_a_collection(&args[1])) };
    if !args[0].is_callable() {
        return Err(Error::argument_types(shown, args));
    }
    Ok(Feed::Indexed(0, items))
}

/// `(map-indexed f c)`
pub(crate) fn map_indexed(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    if args.len() == 1 {
        check::callable("map-indexed", 1, "callable", &args[0])?;
        return transducer(ctx, "map-indexed", args);
    }
    let feed = indexed(ctx, "map-indexed", args)?;
    let sink = Collect::all(&feed)?;
    Ok(each(std::mem::take(&mut args[0]), feed, sink))
}

/// `(keep f c)`
pub(crate) fn keep(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    check::callable("keep", 1, "keyfn", &args[0])?;
    if args.len() == 1 {
        return transducer(ctx, "keep", args);
    }
    let items = check::seqable(ctx, "keep", 2, &args[1])?;
    Ok(each(std::mem::take(&mut args[0]), Feed::One(items), Present(Builder::new())))
}

/// `(keep-indexed f c)`
pub(crate) fn keep_indexed(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    if args.len() == 1 {
        check::callable("keep-indexed", 1, "callable", &args[0])?;
        return transducer(ctx, "keep-indexed", args);
    }
    let feed = indexed(ctx, "keep-indexed", args)?;
    Ok(each(std::mem::take(&mut args[0]), feed, Present(Builder::new())))
}

/// Drops every result, up to a `reduced` one.
pub(crate) struct Ignore;

portable!(Ignore {});

impl Sink for Ignore {
    fn accept(&mut self, _: &mut Ctx<'_>, _: Value, result: Value) -> Result<ControlFlow<Value>> {
        Ok(if is_reduced(&result) { ControlFlow::Break(Value::Nil) } else { ControlFlow::Continue(()) })
    }

    fn finish(&mut self, _: &mut Ctx<'_>) -> Result<Value> {
        Ok(Value::Nil)
    }
}

/// `(run! f c)`
pub(super) fn run(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    check::callable("run!", 1, "callable", &args[0])?;
    let items = check::seqable(ctx, "run!", 2, &args[1])?;
    Ok(each(std::mem::take(&mut args[0]), Feed::One(items), Ignore))
}

/// The elements of a collection with those replaced that `m` has an entry for: `(replace m c)`, `(replace m)`.
pub(crate) fn replace_elements(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    let is_table = matches!(args[0], Value::Map(_) | Value::Vector(_) | Value::Nil);
    if args.len() == 1 && is_table {
        return transducer(ctx, "replace", args);
    }
    if !(is_table && args[1].is_seqable()) {
        return Err(Error::argument_types("replace", args));
    }
    let all = elements(ctx, std::mem::take(&mut args[1]))?.unwrap_or_default();
    ctx.charge(all.len())?;
    let mut out = Builder::with_capacity(all.len())?;
    for item in all {
        let item = replacement(ctx, &args[0], item)?;
        out.push(item)?;
    }
    Ok(Flow::Return(out.take()))
}

/// The replacement for `item` in `table`: a map, a vector by index, or `nil`.
pub(crate) fn replacement(ctx: &mut Ctx<'_>, table: &Value, item: Value) -> Result<Value> {
    let found = match table {
        Value::Map(_) => ctx.lookup(table, &item),
        Value::Vector(vector) => vector.at(&item),
        _ => None,
    };
    Ok(found.unwrap_or(item))
}
