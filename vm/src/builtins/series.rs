//! Results of functions over endless sequences: again an endless one, or the finite part that they take of it.
//!
//! Walks go over the sequence from its beginning: a second one makes the elements, and calls functions for them, once
//! more.

use super::subset::{counting, grouping, while_true};
use super::support::endless::{self, Endless};
use super::support::{adding, callee, check, elements, sequence, transducer};
use super::transducers::pipeline::{self, Output};
use super::transducers::stage::PipelineStage;
use super::transform::{filtering, mapping};
use super::{FrameFn, SeriesFn, combine, generate};
use crate::error::Result;
use crate::machine::{Ctx, Flow, Input, NativeFrame, portable};
use crate::value::{Combinator, CombinatorKind, Value, Vector};
use std::iter::once;
use std::mem::take;

/// The functions, by name, and their variants for an endless sequence among their arguments.
pub(super) static FUNCTIONS: &[(&str, SeriesFn)] = &[
    ("bounded-count", bounded_count),
    ("concat", concat),
    ("conj", conj),
    ("cons", cons),
    ("cycle", itself),
    ("dedupe", dedupe),
    ("distinct", distinct),
    ("doall", doall),
    ("dorun", dorun),
    ("drop", drop),
    ("drop-while", drop_while),
    ("empty?", empty_p),
    ("every?", every),
    ("filter", filter),
    ("ffirst", ffirst),
    ("first", first),
    ("fnext", second),
    ("interleave", interleave),
    ("interpose", interpose),
    ("keep", keep),
    ("keep-indexed", keep_indexed),
    ("list*", list_star),
    ("map", map),
    ("map-indexed", map_indexed),
    ("mapcat", mapcat),
    ("mapv", mapv),
    ("next", rest),
    ("nfirst", nfirst),
    ("nnext", nnext),
    ("not-any?", not_any),
    ("not-empty", itself),
    ("not-every?", not_every),
    ("nth", nth),
    ("nthnext", nthrest),
    ("nthrest", nthrest),
    ("partition", partition),
    ("partition-all", partition_all),
    ("partition-by", partition_by),
    ("reduce", reduce),
    ("reductions", reductions),
    ("remove", remove),
    ("replace", replace),
    ("rest", rest),
    ("run!", run_all),
    ("second", second),
    ("seq", itself),
    ("some", some),
    ("split-at", split_at),
    ("split-with", split_with),
    ("take", take_count),
    ("take-nth", take_nth),
    ("take-while", take_while),
    ("zipmap", zipmap),
];

/// The sequence that the transducer which `make` makes of the other arguments makes of the last one.
fn through(ctx: &mut Ctx<'_>, make: FrameFn, args: &mut [Value]) -> Result<Option<Flow>> {
    let Some((series, own)) = args.split_last_mut() else { return Ok(None) };
    if !series.is_endless() || own.len() > 1 {
        return Ok(None);
    }
    let Flow::Return(transducer) = make(ctx, own)? else { return Ok(None) };
    endless::through(ctx, transducer, take(series)).map(|made| Some(Flow::Return(made)))
}

/// The functions with a transducer of their own, which goes over the elements.
macro_rules! through {
    ($($name:ident $make:expr;)*) => {
        $(fn $name(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Option<Flow>> {
            through(ctx, $make, args)
        })*
    };
}

through! {
    filter filtering::filter;
    remove filtering::remove;
    distinct filtering::distinct;
    dedupe filtering::dedupe;
    map_indexed mapping::map_indexed;
    keep mapping::keep;
    keep_indexed mapping::keep_indexed;
    replace mapping::replace_elements;
    drop counting::drop;
    drop_while while_true::drop_while;
    partition_all grouping::partition_all;
    partition_by grouping::partition_by;
    interpose combine::mixing::interpose;
}

/// `(take-nth n s)`, by some step.
fn take_nth(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Option<Flow>> {
    match args {
        [step, _] if check::count(step) == Some(0) => Ok(None),
        _ => through(ctx, counting::take_nth, args),
    }
}

/// `(map f s)`; of several collections a walk in step.
fn map(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Option<Flow>> {
    match args {
        [_, _] => through(ctx, mapping::map, args),
        [function, all @ ..] if !all.is_empty() && all.iter().all(Value::is_endless) => {
            endless_in_step(ctx, "map", take(function), all).map(|made| Some(Flow::Return(made)))
        }
        _ => in_step(ctx, "map", args),
    }
}

/// `(mapcat f s)`; of several collections a walk in step.
fn mapcat(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Option<Flow>> {
    match args {
        [_, _] => through(ctx, mapping::mapcat, args),
        [function, all @ ..] if !all.is_empty() && all.iter().all(Value::is_endless) => {
            let each = endless_in_step(ctx, "mapcat", take(function), all)?;
            spliced(ctx, each).map(Some)
        }
        _ => in_step(ctx, "mapcat", args),
    }
}

/// `(mapv f s c)`: a walk in step.
fn mapv(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Option<Flow>> {
    in_step(ctx, "mapv", args)
}

/// `(interleave s c)`: a walk in step.
fn interleave(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Option<Flow>> {
    if !args.iter().all(Value::is_endless) {
        return in_step(ctx, "interleave", args);
    }
    let vector = ctx.library().required("vector");
    let each = endless_in_step(ctx, "interleave", vector, args)?;
    spliced(ctx, each).map(Some)
}

/// `(zipmap ks s)`: a walk in step.
fn zipmap(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Option<Flow>> {
    in_step(ctx, "zipmap", args)
}

/// The sequence of a function's results over several endless sequences.
fn endless_in_step(ctx: &mut Ctx<'_>, name: &str, function: Value, all: &mut [Value]) -> Result<Value> {
    check::callable(name, 1, "callable", &function)?;
    ctx.charge(all.len())?;
    ctx.reserve(size_of_val(all))?;
    let parts: Vec<Value> = once(function).chain(all.iter_mut().map(take)).collect();
    Ok(endless::make(ctx, "map", parts))
}

/// The elements of the elements of an endless sequence.
fn spliced(ctx: &mut Ctx<'_>, series: Value) -> Result<Flow> {
    let cat = ctx.library().required("cat");
    endless::through(ctx, cat, series).map(Flow::Return)
}

/// The result for the elements after the first `count`.
fn run(ctx: &mut Ctx<'_>, count: usize, series: &Value, output: Output) -> Result<Option<Flow>> {
    let more = if count > 0 { vec![PipelineStage::Drop(count)] } else { Vec::new() };
    pipeline::over(ctx, series, more, output).map(Some)
}

/// `(first s)`
fn first(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Option<Flow>> {
    run(ctx, 0, &args[0], Output::First(Value::Nil))
}

/// `(ffirst s)`
fn ffirst(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Option<Flow>> {
    of_first(ctx, "first", args)
}

/// `(nfirst s)`
fn nfirst(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Option<Flow>> {
    of_first(ctx, "next", args)
}

/// The result of the function of this name for the first element.
fn of_first(ctx: &mut Ctx<'_>, name: &str, args: &mut [Value]) -> Result<Option<Flow>> {
    let more = vec![PipelineStage::Map(ctx.library().required(name))];
    pipeline::over(ctx, &args[0], more, Output::First(Value::Nil)).map(Some)
}

/// `(second s)`, `(fnext s)`
fn second(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Option<Flow>> {
    run(ctx, 1, &args[0], Output::First(Value::Nil))
}

/// `(nth s i)`, `(nth s i default)`: there is an element at each index from 0 on.
fn nth(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Option<Flow>> {
    match (args[0].is_endless(), &args[1]) {
        (true, Value::Int(index)) => match usize::try_from(*index) {
            Ok(index) => run(ctx, index, &args[0], Output::First(Value::Nil)),
            Err(_) => Ok(Some(Flow::Return(args.get_mut(2).map(take).unwrap_or_default()))),
        },
        _ => Ok(None),
    }
}

/// The sequence without its first `count` elements.
fn behind(ctx: &mut Ctx<'_>, count: usize, series: &mut Value) -> Result<Option<Flow>> {
    let Flow::Return(transducer) = counting::drop(ctx, &mut [Value::Int(count as i64)])? else {
        return Ok(None);
    };
    endless::through(ctx, transducer, take(series)).map(|made| Some(Flow::Return(made)))
}

/// `(rest s)`, `(next s)`
fn rest(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Option<Flow>> {
    behind(ctx, 1, &mut args[0])
}

/// `(nnext s)`
fn nnext(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Option<Flow>> {
    behind(ctx, 2, &mut args[0])
}

/// `(nthrest s n)`, `(nthnext s n)`
fn nthrest(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Option<Flow>> {
    match (args[0].is_endless(), check::count(&args[1])) {
        (true, Some(count)) => behind(ctx, count, &mut args[0]),
        _ => Ok(None),
    }
}

/// `(seq s)`, `(not-empty s)`, `(cycle s)`
fn itself(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Option<Flow>> {
    Ok(Some(Flow::Return(take(&mut args[0]))))
}

/// `(bounded-count n s)`
fn bounded_count(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Option<Flow>> {
    let limit = if args[1].is_endless() { check::count(&args[0]) } else { None };
    Ok(limit.map(|limit| Flow::Return(Value::Int(i64::try_from(limit).unwrap_or(i64::MAX)))))
}

/// Makes the elements that `(dorun n s)` makes in Clojure, which is one more than `n`, and drops them.
fn realize(ctx: &mut Ctx<'_>, args: &mut [Value], result: Value) -> Result<Option<Flow>> {
    let [count, series] = args else { return Ok(Some(Flow::Return(result))) };
    let (true, Some(count)) = (series.is_endless(), check::count(count)) else { return Ok(None) };
    let more = vec![PipelineStage::Take(count.saturating_add(1))];
    pipeline::over(ctx, series, more, Output::Nothing(result)).map(Some)
}

/// `(doall s)`, `(doall n s)`
fn doall(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Option<Flow>> {
    let series = args.last().cloned().unwrap_or_default();
    realize(ctx, args, series)
}

/// `(dorun s)`, `(dorun n s)`
fn dorun(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Option<Flow>> {
    realize(ctx, args, Value::Nil)
}

/// `(run! f s)`: until the function says `reduced`.
fn run_all(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Option<Flow>> {
    let [function, series] = args else { return Ok(None) };
    if !series.is_endless() {
        return Ok(None);
    }
    check::callable("run!", 1, "callable", function)?;
    let more = vec![PipelineStage::Map(take(function))];
    pipeline::over(ctx, series, more, Output::Nothing(Value::Nil)).map(Some)
}

/// `(empty? s)`
fn empty_p(_: &mut Ctx<'_>, _: &mut [Value]) -> Result<Option<Flow>> {
    Ok(Some(Flow::Return(Value::False)))
}

/// `(cons x s)`
fn cons(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Option<Flow>> {
    if !args[1].is_endless() {
        return Ok(None);
    }
    let (item, series) = args.split_at_mut(1);
    before(ctx, item.iter_mut().map(take), &mut series[0])
}

/// `(conj s x)`: in front, as onto a list.
fn conj(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Option<Flow>> {
    let [series, items @ ..] = args else { return Ok(None) };
    if !series.is_endless() {
        return Ok(None);
    }
    before(ctx, items.iter_mut().rev().map(take), series)
}

/// `(list* x s)`
fn list_star(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Option<Flow>> {
    let Some((series, items)) = args.split_last_mut() else { return Ok(None) };
    if !series.is_endless() {
        return Ok(None);
    }
    before(ctx, items.iter_mut().map(take), series)
}

/// These elements, and then those of an endless sequence.
fn before(
    ctx: &mut Ctx<'_>,
    items: impl ExactSizeIterator<Item = Value>,
    series: &mut Value,
) -> Result<Option<Flow>> {
    ctx.charge(items.len())?;
    ctx.reserve(items.len() * size_of::<Value>())?;
    endless::after(ctx, items.collect(), take(series)).map(|made| Some(Flow::Return(made)))
}

/// `(concat c s)`: elements after an endless sequence are never reached.
fn concat(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Option<Flow>> {
    let Some(at) = args.iter().position(Value::is_endless) else { return Ok(None) };
    if !args.iter().all(|arg| arg.is_seqable() || arg.is_endless()) {
        return Ok(None);
    }
    let mut front = Vector::new();
    for arg in &mut args[..at] {
        let more = elements(ctx, take(arg))?.unwrap_or_default();
        adding::append(ctx, &mut front, &more)?;
    }
    endless::after(ctx, front, take(&mut args[at])).map(|made| Some(Flow::Return(made)))
}

/// `(take n s)`
fn take_count(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Option<Flow>> {
    let [count, series] = args else { return Ok(None) };
    let (true, Some(count)) = (series.is_endless(), check::count(count)) else { return Ok(None) };
    beginning(ctx, series, count).map(Some)
}

/// The first `count` elements.
fn beginning(ctx: &mut Ctx<'_>, series: &Value, count: usize) -> Result<Flow> {
    if let Some(plain) = endless::open(series) {
        if let Some(items) = endless::beginning(ctx, &plain, count)? {
            return Ok(Flow::Return(Value::Vector(items)));
        }
        if let Endless::Repeatedly(function) = plain {
            return generate::unfolding::times(count, function.clone());
        }
    }
    if count == 0 {
        return Ok(Flow::Return(Value::vector([])));
    }
    pipeline::over(ctx, series, vec![PipelineStage::Take(count)], pipeline::vector_of(count)?)
}

/// `(take-while p s)`
fn take_while(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Option<Flow>> {
    let [predicate, series] = args else { return Ok(None) };
    if !(series.is_endless() && predicate.is_callable()) {
        return Ok(None);
    }
    let more = vec![PipelineStage::TakeWhile(take(predicate))];
    pipeline::over(ctx, series, more, pipeline::vector_of(0)?).map(Some)
}

/// `(split-at n s)`
fn split_at(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Option<Flow>> {
    let is_count = args[1].is_endless() && check::count(&args[0]).is_some();
    Ok(is_count.then(|| both(ctx, ["take", "drop"], args)))
}

/// `(split-with p s)`
fn split_with(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Option<Flow>> {
    let is_predicate = args[1].is_endless() && args[0].is_callable();
    Ok(is_predicate.then(|| both(ctx, ["take-while", "drop-while"], args)))
}

/// The results of two functions for the same two arguments, as a pair.
fn both(ctx: &Ctx<'_>, names: [&str; 2], args: &mut [Value]) -> Flow {
    let first = take(&mut args[0]);
    let of_first = |name| {
        let parts = vec![ctx.library().required(name), first.clone()];
        Value::Combinator(Combinator::new(CombinatorKind::Partial, parts))
    };
    let functions = names.map(of_first).to_vec();
    let function = Value::Combinator(Combinator::new(CombinatorKind::Juxt, functions));
    Flow::TailCall(function, callee::one(take(&mut args[1])))
}

/// `(some p s)` and its kin: the first answer that is truthy (or falsy) decides.
fn decide(
    ctx: &mut Ctx<'_>,
    args: &mut [Value],
    decisive: bool,
    decided: Option<bool>,
) -> Result<Option<Flow>> {
    let [predicate, series] = args else { return Ok(None) };
    if !(series.is_endless() && predicate.is_callable()) {
        return Ok(None);
    }
    let output = Output::Decide { predicate: take(predicate), decisive, decided, answer: Value::Nil };
    run(ctx, 0, series, output)
}

/// `(some p s)`
fn some(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Option<Flow>> {
    decide(ctx, args, true, None)
}

/// `(every? p s)`
fn every(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Option<Flow>> {
    decide(ctx, args, false, Some(false))
}

/// `(not-any? p s)`
fn not_any(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Option<Flow>> {
    decide(ctx, args, true, Some(false))
}

/// `(not-every? p s)`
fn not_every(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Option<Flow>> {
    decide(ctx, args, false, Some(true))
}

/// `(reduce f s)`, `(reduce f init s)`: until the function says `reduced`.
fn reduce(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Option<Flow>> {
    let (function, acc, series) = match args {
        [function, series] if series.is_endless() => (function, None, series),
        [function, acc, series] if series.is_endless() => (function, Some(take(acc)), series),
        _ => return Ok(None),
    };
    check::callable("reduce", 1, "callable", function)?;
    let started = acc.is_some();
    let output = Output::Reduce { function: take(function), acc: acc.unwrap_or_default(), started };
    run(ctx, 0, series, output)
}

/// `(reductions f s)`, `(reductions f init s)`: ends where the function says `reduced`.
fn reductions(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Option<Flow>> {
    let (function, series) = match args {
        [function, series] | [function, _, series] => (function, series),
        _ => return Ok(None),
    };
    if !series.is_endless() {
        return Ok(None);
    }
    check::callable("reductions", 1, "callable", function)?;
    let Flow::Return(folds) = transducer(ctx, "reductions", &mut [take(function)])? else { return Ok(None) };
    let series = take(series);
    // The initial value is the first accumulator, and the first one that is given out.
    let series = match args {
        [_, init, _] => endless::after(ctx, Vector::from_vec(vec![take(init)]), series)?,
        _ => series,
    };
    endless::through(ctx, folds, series).map(|made| Some(Flow::Return(made)))
}

/// `(partition n s)`, `(partition n step s)`
fn partition(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Option<Flow>> {
    let (n, step, series) = match args {
        [n, series] => (&*n, &*n, series),
        [n, step, series] => (&*n, &*step, series),
        _ => return Ok(None),
    };
    if !series.is_endless() {
        return Ok(None);
    }
    let whole = |name, value| -> Result<Value> {
        let count = grouping::positive("partition", name, value)?;
        Ok(Value::Int(i64::try_from(count).unwrap_or(i64::MAX)))
    };
    let sizes = [whole("n", n)?, whole("step", step)?];
    let Flow::Return(groups) = transducer(ctx, "partition", &mut sizes.clone())? else { return Ok(None) };
    endless::through(ctx, groups, take(series)).map(|made| Some(Flow::Return(made)))
}

/// Makes finite parts of the endless ones among several collections, as long as the shortest finite one, and calls the function
/// with those.
pub(crate) struct InStep {
    function: Value,
    args: Vec<Value>,
    /// The argument whose part is made.
    at: usize,
    /// How many elements are wanted.
    count: usize,
}

portable!(InStep { function, args, at, count } if |walk: &InStep| walk.at < walk.args.len());

impl NativeFrame for InStep {
    fn resume(&mut self, ctx: &mut Ctx<'_>, input: Input) -> Result<Flow> {
        if let Input::Value(part) = input {
            self.args[self.at] = part;
        }
        let Some(at) = self.args.iter().position(Value::is_endless) else {
            return Ok(Flow::TailCall(take(&mut self.function), self.args.drain(..).collect()));
        };
        self.at = at;
        let count = i64::try_from(self.count).unwrap_or(i64::MAX);
        let part = callee::two(Value::Int(count), take(&mut self.args[at]));
        Ok(Flow::Call(ctx.library().required("take"), part))
    }
}

/// A walk over several collections, of which some never end.
fn in_step(ctx: &mut Ctx<'_>, name: &'static str, args: &mut [Value]) -> Result<Option<Flow>> {
    let collections = if matches!(name, "interleave" | "zipmap") { &*args } else { &args[1..] };
    let finite = collections.iter().filter(|collection| !collection.is_endless());
    let Some(counts) = finite.map(sequence::count).collect::<Option<Vec<usize>>>() else { return Ok(None) };
    // Those that call nothing are walked as they are.
    let calls = |value: &Value| {
        use Endless::{After, InStep, Iterate, Repeatedly, Through};
        let made = endless::open(value);
        matches!(made, Some(Iterate(..) | Repeatedly(_) | Through(..) | After(..) | InStep(..)))
    };
    let (Some(count), true) = (counts.into_iter().min(), collections.iter().any(calls)) else {
        return Ok(None);
    };
    ctx.charge(args.len())?;
    ctx.reserve(size_of_val(args))?;
    let args = args.iter_mut().map(take).collect();
    Ok(Some(Flow::Push(Box::new(InStep { function: ctx.library().required(name), args, at: 0, count }))))
}
