//! `partition` and its kin: runs of neighbours.

use crate::builtins::support::transducer;
use crate::builtins::support::{Builder, Feed, Sink, check, each, elements, endless, errors};
use crate::error::{Error, Result};
use crate::machine::{Ctx, Flow, portable};
use crate::print;
use crate::value::{Value, Vector, identical};
use std::mem::take;
use std::ops::ControlFlow;

/// Bytes of a vector besides its elements, for reservations.
const GROUP: usize = 64;

/// `NAME: WHAT must be a positive integer, got V`; the doubled prefix is the text of the specification.
#[cold]
pub(crate) fn not_positive(name: &str, what: &str, got: &Value) -> Error {
    Error::type_error(format!(
        "type_error: {name}: {what} must be a positive integer, got {}",
        print::readable_lossy(got)
    ))
}

/// A count that is more than zero.
pub(crate) fn positive(name: &str, what: &str, value: &Value) -> Result<usize> {
    check::count(value).filter(|n| *n > 0).ok_or_else(|| not_positive(name, what, value))
}

/// A size or a step, which may be below zero: a fraction counts as one more. Refuses values that are no number.
pub(super) fn size(name: &str, what: &str, value: &Value) -> Result<i64> {
    match (check::count(value), check::position(value)) {
        (Some(0), Some(below)) => Ok(below.min(0)),
        (Some(n), Some(_)) => Ok(i64::try_from(n).unwrap_or(i64::MAX)),
        _ => Err(not_positive(name, what, value)),
    }
}

/// Whether this is no whole number, so that no group has as many elements.
fn is_fraction(n: &Value) -> bool {
    matches!(n, Value::Float(x) if x.get().fract() != 0.0)
}

/// The treatment of groups at the end that have fewer than n elements.
enum Tail {
    Drop,
    Keep,
    /// The first one is completed with the elements of this and kept, the others are dropped.
    Pad(Value),
}

/// The arguments of `(name n c)`, `(name n step c)` …
struct Grouping {
    /// The number of elements of a group.
    n: i64,
    /// From the beginning of one group to that of the next.
    step: i64,
    elements: Vector,
}

fn arguments(ctx: &mut Ctx<'_>, name: &str, args: &mut [Value]) -> Result<Grouping> {
    let n = size(name, "n", &args[0])?;
    let step = if args.len() > 2 { size(name, "step", &args[1])? } else { n };
    let last = args.len() - 1;
    if !args[last].is_seqable() {
        return Err(errors::not_a_collection(&args[last]));
    }
    let elements = elements(ctx, take(&mut args[last]))?.unwrap_or_default();
    Ok(Grouping { n, step, elements })
}

/// The groups of `n` elements that begin at each `step`-th one. By no step, or a negative one, the first group comes again
/// and again.
fn groups(ctx: &mut Ctx<'_>, grouping: &Grouping, tail: &Tail) -> Result<Value> {
    let Grouping { n, step, elements: ref all } = *grouping;
    // No group has fewer elements than none.
    if all.is_empty() || n < 0 && !matches!(tail, Tail::Keep) {
        return Ok(Value::vector([]));
    }
    let (n, step) = (usize::try_from(n).unwrap_or(0), usize::try_from(step).unwrap_or(0));
    if step > 0 {
        return in_steps(ctx, n, step, all, tail);
    }
    if n <= all.len() || matches!(tail, Tail::Keep) {
        return Ok(endless::make(ctx, "repeat", [Value::Vector(all.slice(0, n))]));
    }
    let behind = all.len();
    in_steps(ctx, n, behind, all, tail)
}

fn in_steps(ctx: &mut Ctx<'_>, n: usize, step: usize, all: &Vector, tail: &Tail) -> Result<Value> {
    let length = all.len();
    let starts = length.div_ceil(step);
    // Groups that are complete, and what they hold together. There is none behind the last element.
    let complete = if length < n { 0 } else { ((length - n) / step + 1).min(starts) };
    let kept = if matches!(tail, Tail::Keep) { starts } else { complete };
    let elements = kept.saturating_mul(n.min(length));
    ctx.charge(elements.saturating_add(kept))?;
    ctx.reserve(kept.saturating_mul(GROUP + size_of::<Value>()))?;
    let mut out = Builder::with_capacity(kept)?;
    for group in 0..kept {
        let start = group * step;
        // Long groups share the elements, short ones copy them.
        out.push(Value::Vector(all.slice(start, start.saturating_add(n))))?;
        ctx.reserve(0)?;
    }
    if let (Tail::Pad(pad), true) = (tail, complete < starts) {
        let start = complete * step;
        let mut group = all.slice(start, length);
        let pad = padding(ctx, pad, n - group.len())?;
        ctx.charge(group.len() + pad.len())?;
        ctx.reserve((group.len() + pad.len()).saturating_mul(size_of::<Value>()))?;
        group.append(&pad);
        out.push(Value::Vector(group))?;
    }
    Ok(out.take())
}

/// So many elements of the padding of a group, if it has as many.
fn padding(ctx: &mut Ctx<'_>, pad: &Value, missing: usize) -> Result<Vector> {
    match endless::open(pad) {
        Some(series) => endless::beginning(ctx, &series, missing)?.ok_or_else(|| endless::error(pad)),
        None => {
            let all = elements(ctx, pad.clone())?.unwrap_or_default();
            Ok(all.slice(0, missing))
        }
    }
}

/// `(partition n c)`, `(partition n step c)`, `(partition n step pad c)`
pub(super) fn partition(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    partition_as(ctx, "partition", args)
}

/// `(partitionv …)`
pub(super) fn partitionv(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    partition_as(ctx, "partitionv", args)
}

fn partition_as(ctx: &mut Ctx<'_>, name: &str, args: &mut [Value]) -> Result<Value> {
    if args.len() < 4 {
        let parts = arguments(ctx, name, args)?;
        if is_fraction(&args[0]) {
            return Ok(Value::vector([]));
        }
        return groups(ctx, &parts, &Tail::Drop);
    }
    if !(args[2].is_seqable() || args[2].is_endless()) {
        return Err(Error::argument_types(name, args));
    }
    let pad = take(&mut args[2]);
    let parts = arguments(ctx, name, args)?;
    groups(ctx, &parts, &Tail::Pad(pad))
}

/// `(partition-all n c)`, `(partition-all n step c)`
pub(crate) fn partition_all(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    if args.len() == 1 {
        let n = positive("partition-all", "n", &args[0])?;
        args[0] = Value::Int(i64::try_from(n).unwrap_or(i64::MAX));
        return transducer(ctx, "partition-all", args);
    }
    let parts = arguments(ctx, "partition-all", args)?;
    groups(ctx, &parts, &Tail::Keep).map(Flow::Return)
}

/// `(partitionv-all n c)`, `(partitionv-all n step c)`
pub(super) fn partitionv_all(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let parts = arguments(ctx, "partitionv-all", args)?;
    groups(ctx, &parts, &Tail::Keep)
}

/// Collects runs of elements whose keys are identical.
pub(crate) struct Runs {
    key: Option<Value>,
    run: Builder,
    out: Builder,
}

portable!(Runs { key, run, out });

impl Runs {
    fn close(&mut self) -> Result<()> {
        if !self.run.is_empty() {
            let run = self.run.take();
            self.out.push(run)?;
        }
        Ok(())
    }
}

impl Sink for Runs {
    const KEEPS_ITEM: bool = true;

    fn accept(&mut self, _: &mut Ctx<'_>, item: Value, key: Value) -> Result<ControlFlow<Value>> {
        if self.key.as_ref().is_none_or(|last| !identical(last, &key)) {
            self.close()?;
            self.key = Some(key);
        }
        self.run.push(item)?;
        Ok(ControlFlow::Continue(()))
    }

    fn finish(&mut self, _: &mut Ctx<'_>) -> Result<Value> {
        self.close()?;
        Ok(self.out.take())
    }
}

/// `(partition-by f c)`
pub(crate) fn partition_by(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    if args.len() == 1 {
        check::callable("partition-by", 1, "keyfn", &args[0])?;
        return transducer(ctx, "partition-by", args);
    }
    let items = check::unchecked(ctx, "partition-by", args)?;
    let sink = Runs { key: None, run: Builder::new(), out: Builder::new() };
    Ok(each(take(&mut args[0]), Feed::One(items), sink))
}
