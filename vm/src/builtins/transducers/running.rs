//! The functions that run transducers.

use super::pipeline::{CollectionArgument, Output, run};
use super::split_transducer::SplitTransducer;
use super::stage::{PipelineStage, of_several, stages};
use crate::builtins::Builtin;
use crate::builtins::namespaces::EXTENSION;
use crate::builtins::row::frame;
use crate::builtins::support::adding::is_target;
use crate::builtins::support::{Builder, check, elements, endless, transducer};
use crate::error::{Error, Result};
use crate::machine::{Ctx, Flow};
use crate::value::{Combinator, CombinatorKind, Value};
use std::mem::take;

/// `(transduce xf f c)`, `(transduce xf f init c)`
pub(super) fn transduce(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    let written = SplitTransducer::of(ctx, &args[0])?;
    let stages = if written.is_none() { stages(ctx, "transduce", 1, &args[0])? } else { Vec::new() };
    check::callable("transduce", 2, "callable", &args[1])?;
    let last = args.len() - 1;
    let acc = (last == 3).then(|| take(&mut args[2]));
    if let Some(written) = written {
        let collection =
            CollectionArgument { function: "transduce", position: last + 1, value: take(&mut args[last]) };
        return written.fold(ctx, collection, take(&mut args[1]), acc);
    }
    let output = Output::Fold { function: take(&mut args[1]), acc };
    let collection = CollectionArgument { function: "transduce", position: last + 1, value: &args[last] };
    run(ctx, collection, stages, output)
}

/// `(into to xf from)`
pub(crate) fn into(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    let written = SplitTransducer::of(ctx, &args[1])?;
    let stages = if written.is_none() { stages(ctx, "into", 2, &args[1])? } else { Vec::new() };
    if args[2].is_seqable() && !is_target(&args[0]) {
        return Err(Error::argument_types("into", args));
    }
    let target = take(&mut args[0]);
    if let Some(written) = written {
        let conj = ctx.library().required("conj");
        let collection = CollectionArgument { function: "into", position: 3, value: take(&mut args[2]) };
        return written.fold(ctx, collection, conj, Some(target));
    }
    let collection = CollectionArgument { function: "into", position: 3, value: &args[2] };
    run(ctx, collection, stages, Output::Into(target))
}

/// `(sequence xf c & cs)`: the same over `(map vector c & cs)`.
fn sequence_of_several(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    let combine = |kind, parts: [Value; 2]| Value::Combinator(Combinator::new(kind, parts.to_vec()));
    let transducer = of_several(ctx, &args[0])?;
    let library = ctx.library();
    let outer = combine(CombinatorKind::Partial, [library.required("sequence"), transducer]);
    let inner = combine(CombinatorKind::Partial, [library.required("map"), library.required("vector")]);
    let function = combine(CombinatorKind::Comp, [outer, inner]);
    Ok(Flow::TailCall(function, args[1..].iter_mut().map(take).collect()))
}

/// `(sequence c)`, `(sequence xf c)`, `(sequence xf c & cs)`
pub(super) fn sequence(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    if let [collection] = args {
        if collection.is_endless() {
            return Ok(Flow::Return(take(collection)));
        }
        if !collection.is_seqable() {
            return Err(Error::argument("sequence", 1, "seqable", collection));
        }
        return Ok(Flow::Return(match take(collection) {
            list @ Value::List(_) => list,
            Value::Queue(items) => Value::List(items),
            other => Value::Vector(elements(ctx, other)?.unwrap_or_default()),
        }));
    }
    if args.len() > 2 {
        return sequence_of_several(ctx, args);
    }
    if !args[1].is_endless()
        && let Some(written) = SplitTransducer::of(ctx, &args[0])?
    {
        let conj = ctx.library().required("conj");
        let collection = CollectionArgument { function: "sequence", position: 2, value: take(&mut args[1]) };
        return written.fold(ctx, collection, conj, Some(Value::vector([])));
    }
    let stages = stages(ctx, "sequence", 1, &args[0])?;
    if args[1].is_endless() && !stages.iter().any(PipelineStage::ends) {
        return endless::through(ctx, take(&mut args[0]), take(&mut args[1])).map(Flow::Return);
    }
    let collection = CollectionArgument { function: "sequence", position: 2, value: &args[1] };
    run(ctx, collection, stages, Output::Vector(Builder::new()))
}

/// `(eduction xf & xfs c)`
pub(super) fn eduction(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    let last = args.len() - 1;
    let mut all = Vec::new();
    for (i, transducer) in args[..last].iter().enumerate() {
        all.append(&mut stages(ctx, "eduction", i + 1, transducer)?);
    }
    if args[last].is_endless() && !all.iter().any(PipelineStage::ends) {
        let mut series = take(&mut args[last]);
        for transducer in &mut args[..last] {
            series = endless::through(ctx, take(transducer), series)?;
        }
        return Ok(Flow::Return(series));
    }
    let collection = CollectionArgument { function: "eduction", position: last + 1, value: &args[last] };
    run(ctx, collection, all, Output::Vector(Builder::new()))
}

/// `(halt-when p)`, `(halt-when p result)`
pub(super) fn halt_when(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    for (i, function) in args.iter().enumerate() {
        if !(i == 1 && function.is_nil()) {
            check::callable("halt-when", i + 1, "callable", function)?;
        }
    }
    transducer(ctx, "halt-when", args)
}

/// The error of a transducer that is called like a function.
#[cold]
pub(crate) fn called() -> Error {
    Error::type_error(
        "a transducer such as (map f) is not called: give it to into, transduce, sequence or eduction, for instance \
         (into [] (map f) c)",
    )
}

/// `(cat rf)`
pub(super) fn cat(_: &mut Ctx<'_>, _: &mut [Value]) -> Result<Value> {
    Err(called())
}

/// `(completing f)`, `(completing f cf)`
pub(super) fn completing(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    for (i, function) in args.iter().enumerate() {
        check::callable("completing", i + 1, "callable", function)?;
    }
    let function = take(&mut args[0]);
    let finish = args.get_mut(1).map(take).unwrap_or_default();
    let parts = vec![ctx.library().unnamed(&COMPLETING), function, finish];
    Ok(Value::Combinator(Combinator::new(CombinatorKind::Partial, parts)))
}

/// The function that the result of `completing` calls: `(f cf)`, `(f cf acc)`, `(f cf acc x)`.
pub(crate) static COMPLETING: Builtin =
    frame("completing", EXTENSION, "f cf | f cf acc | f cf acc x", |_, args| {
        let function = take(&mut args[0]);
        Ok(match args.len() {
            3 if args[1].is_nil() => Flow::Return(take(&mut args[2])),
            3 => Flow::TailCall(take(&mut args[1]), args[2..].iter_mut().map(take).collect()),
            _ => Flow::TailCall(function, args[2..].iter_mut().map(take).collect()),
        })
    });
