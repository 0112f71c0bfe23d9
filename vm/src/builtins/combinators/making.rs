//! The functions that make functions.

use crate::builtins::support::check;
use crate::error::{Error, Reason, Result};
use crate::machine::Ctx;
use crate::meter;
use crate::value::{Combinator, CombinatorKind, Value};
use std::mem::take;

fn make(ctx: &mut Ctx<'_>, kind: CombinatorKind, args: &mut [Value]) -> Result<Value> {
    ctx.charge(args.len())?;
    ctx.reserve(size_of_val(args))?;
    let mut parts = Vec::with_capacity(args.len());
    for piece in meter::pieces_mut(args) {
        parts.extend(piece.iter_mut().map(take));
    }
    Ok(Value::Combinator(Combinator::new(kind, parts)))
}

/// `(comp & fs)`: of nothing, `identity`.
pub(super) fn comp(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    match args {
        [] => Ok(ctx.library().required("identity")),
        [only] => Ok(take(only)),
        _ => make(ctx, CombinatorKind::Comp, args),
    }
}

/// `(partial f & xs)`
pub(super) fn partial(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    match args {
        [] => Err(Error::runtime("partial requires at least 1 argument (the function)")),
        [only] => Ok(take(only)),
        _ => make(ctx, CombinatorKind::Partial, args),
    }
}

/// `(complement f)`
pub(super) fn complement(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    make(ctx, CombinatorKind::Complement, args)
}

/// `(constantly x)`
pub(super) fn constantly(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    make(ctx, CombinatorKind::Constantly, args)
}

/// `(every-pred p & ps)`
pub(super) fn every_pred(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    if args.is_empty() {
        return Err(Error::runtime("every-pred requires at least 1 predicate"));
    }
    make(ctx, CombinatorKind::EveryPred, args)
}

/// `(some-fn f & fs)`
pub(super) fn some_fn(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    if args.is_empty() {
        return Err(Error::runtime("some-fn requires at least 1 function"));
    }
    make(ctx, CombinatorKind::SomeFn, args)
}

/// `(fnil f default)`, with up to three defaults
pub(super) fn fnil(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    if !args[0].is_callable() {
        return Err(Error::argument_types("fnil", args));
    }
    make(ctx, CombinatorKind::Fnil, args)
}

/// `(juxt f & fs)`
pub(super) fn juxt(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    if args.is_empty() {
        return Err(Error::new(Reason::InvalidArity, "expected (juxt f ...) with at least one function"));
    }
    make(ctx, CombinatorKind::Juxt, args)
}

/// `(memoize f)`
pub(super) fn memoize(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    check::callable("memoize", 1, "callable", &args[0])?;
    make(ctx, CombinatorKind::Memoize, args)
}

/// `(comparator p)`
pub(super) fn comparator(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    check::callable("comparator", 1, "callable", &args[0])?;
    let parts = vec![ctx.library().unnamed(&super::calling::COMPARING), take(&mut args[0])];
    Ok(Value::Combinator(Combinator::new(CombinatorKind::Partial, parts)))
}
