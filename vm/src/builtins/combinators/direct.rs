//! Combinators over functions that need no frame: called at once.

use crate::builtins::support::callee;
use crate::builtins::{Library, Native};
use crate::error::Result;
use crate::machine::{Args, CallNow, Ctx};
use crate::value::{Combinator, CombinatorKind, Value, Vector};

/// Levels of combinators inside combinators that are called on the native stack.
const LEVELS: u32 = 3;
/// Functions of one combinator that are looked at before each call.
const PARTS: usize = 8;

fn is_direct(library: &Library, function: &Value, levels: u32) -> bool {
    match function {
        Value::Builtin(handle) => matches!(library.of(handle).native, Native::Plain(_)),
        Value::Keyword(_) | Value::Map(_) | Value::Set(_) => true,
        Value::Combinator(inner) => levels > 0 && parts_are_direct(library, inner, levels - 1),
        _ => false,
    }
}

fn parts_are_direct(library: &Library, combinator: &Combinator, levels: u32) -> bool {
    let parts = &combinator.parts;
    match combinator.kind {
        CombinatorKind::Constantly => true,
        CombinatorKind::Partial | CombinatorKind::Fnil | CombinatorKind::Complement => {
            is_direct(library, &parts[0], levels)
        }
        CombinatorKind::Comp | CombinatorKind::EveryPred | CombinatorKind::Juxt | CombinatorKind::SomeFn => {
            parts.len() <= PARTS && parts.iter().all(|part| is_direct(library, part, levels))
        }
        CombinatorKind::Endless
        | CombinatorKind::Memoize
        | CombinatorKind::Reduced
        | CombinatorKind::Transducer => false,
    }
}

/// Calls a combinator if none of its functions needs a frame; returns the arguments otherwise.
pub(crate) fn call_now(ctx: &mut Ctx<'_>, combinator: &Combinator, args: Args) -> Result<CallNow> {
    if parts_are_direct(ctx.library(), combinator, LEVELS) {
        call(ctx, combinator, args).map(CallNow::Done)
    } else {
        Ok(CallNow::NeedsFrame(args))
    }
}

/// Calls a function that has been found direct.
fn call_part(ctx: &mut Ctx<'_>, function: &Value, args: Args) -> Result<Value> {
    match ctx.call_now(function, args)? {
        CallNow::Done(value) => Ok(value),
        CallNow::NeedsFrame(_) => unreachable!("only direct functions are called here"),
    }
}

fn call(ctx: &mut Ctx<'_>, combinator: &Combinator, mut args: Args) -> Result<Value> {
    let parts = &combinator.parts;
    match combinator.kind {
        CombinatorKind::Constantly => Ok(parts[0].clone()),
        CombinatorKind::Comp => {
            for function in parts.iter().rev() {
                let value = call_part(ctx, function, args)?;
                args = callee::one(value);
            }
            Ok(args.pop().unwrap_or_default())
        }
        CombinatorKind::Partial => {
            let args = super::calling::with_first(ctx, &parts[1..], args)?;
            call_part(ctx, &parts[0], args)
        }
        CombinatorKind::Complement => Ok(Value::bool(!call_part(ctx, &parts[0], args)?.is_truthy())),
        CombinatorKind::Fnil => {
            super::calling::fill(&parts[1..], &mut args);
            call_part(ctx, &parts[0], args)
        }
        CombinatorKind::Juxt => {
            let mut out = Vec::with_capacity(parts.len());
            for function in parts {
                out.push(call_part(ctx, function, args.clone())?);
            }
            Ok(Value::Vector(Vector::from_vec(out)))
        }
        CombinatorKind::EveryPred => {
            for function in parts {
                for arg in &args {
                    if !call_part(ctx, function, callee::one(arg.clone()))?.is_truthy() {
                        return Ok(Value::False);
                    }
                }
            }
            Ok(Value::True)
        }
        CombinatorKind::SomeFn => {
            let mut last = Value::Nil;
            for function in parts {
                for arg in &args {
                    last = call_part(ctx, function, callee::one(arg.clone()))?;
                    if last.is_truthy() {
                        return Ok(last);
                    }
                }
            }
            Ok(last)
        }
        CombinatorKind::Endless
        | CombinatorKind::Memoize
        | CombinatorKind::Reduced
        | CombinatorKind::Transducer => {
            unreachable!("only direct combinators are called here")
        }
    }
}
