//! `update`, `update-in` and `assoc-in`: one place of a nested value becomes a function of itself.

use super::path::{Levels, steps};
use super::write::{put, writable_index};
use crate::builtins::Arities;
use crate::builtins::support::{Continuation, call_then, check, errors};
use crate::error::{Error, Reason, Result};
use crate::machine::{Args, Ctx, Flow, portable};
use crate::meter;
use crate::value::{Map, Value, Vector};
use std::mem::take;

/// The error for too few arguments, which names the least number, or the kinds if only the function is missing.
fn check_count(name: &str, args: &[Value]) -> Result<()> {
    match args.len() {
        0 | 1 => {
            let text = format!("{name} requires at least 3 arguments, got {}", args.len());
            Err(Error::new(Reason::ArityError, text))
        }
        2 => Err(Error::argument_types(name, args)),
        _ => Ok(()),
    }
}

/// Refuses a call of `function` with `argc` arguments that cannot fit, with a hint at the likely intention.
fn check_fits(ctx: &Ctx<'_>, name: &str, function: &Value, argc: usize) -> Result<()> {
    let expected = match function {
        Value::Closure(closure) => match closure.code().arities.as_slice() {
            [only] if !only.parameters.accepts(argc) && !only.parameters.rest => {
                only.parameters.required as usize
            }
            _ => return Ok(()),
        },
        Value::Builtin(handle) => match ctx.library().of(handle).arities {
            Arities::OneOf([only]) if usize::from(*only) != argc => usize::from(*only),
            _ => return Ok(()),
        },
        _ => return Ok(()),
    };
    let hint = match argc {
        1 => String::new(),
        2 => format!(
            "The extra argument may have been intended as a default value, but {name} passes extra args to the \
             function. Use (or current-val default) inside the function, or wrap with fnil."
        ),
        _ => "Extra arguments are passed to the function, not used as defaults.".to_string(),
    };
    let text = format!("{name}: function expects {expected} argument(s) but was called with {argc}. {hint}");
    Err(Error::new(Reason::ArityError, text))
}

/// The arguments of the function: the old value, then the arguments after the function in the call.
fn call_args(old: Value, more: &mut [Value]) -> Args {
    let mut args = Args::with_capacity(1 + more.len());
    args.push(old);
    for piece in meter::pieces_mut(more) {
        args.extend(piece.iter_mut().map(take));
    }
    args
}

/// `(update m k f & args)`
pub(super) fn update(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    check_count("update", args)?;
    if matches!(args[0], Value::List(_) | Value::Queue(_)) {
        return Err(errors::no_index("update"));
    }
    if !matches!(args[0], Value::Map(_) | Value::Vector(_) | Value::Nil) {
        return Err(Error::argument("update", 1, "map or list", &args[0]));
    }
    check::callable("update", 3, "callable", &args[2])?;
    check_fits(ctx, "update", &args[2], args.len() - 2)?;
    ctx.charge(args.len())?;
    if let Value::Vector(vector) = &args[0] {
        let index = writable_index(vector, &args[1], || Error::argument_types("update", args))?;
        let Value::Vector(mut vector) = take(&mut args[0]) else { unreachable!("it is a vector") };
        let old = vector.take(index).unwrap_or_default();
        let (function, call) = (take(&mut args[2]), call_args(old, &mut args[3..]));
        return call_then(ctx, function, call, NewElement { vector, index });
    }
    let (mut map, key) = match (take(&mut args[0]), take(&mut args[1])) {
        (Value::Map(map), key) => {
            let key = map.key_flexible(&key).unwrap_or(key);
            (map, key)
        }
        (_, key) => (Map::new(), key),
    };
    let old = map.take(&key).unwrap_or_default();
    let (function, call) = (take(&mut args[2]), call_args(old, &mut args[3..]));
    call_then(ctx, function, call, NewEntry { map, key })
}

/// A vector that waits for one of its elements.
pub(crate) struct NewElement {
    vector: Vector,
    index: usize,
}

portable!(NewElement { vector, index } if |new: &NewElement| new.index <= new.vector.len());

impl Continuation for NewElement {
    fn finish(mut self, _: &mut Ctx<'_>, new: Value) -> Result<Flow> {
        put(&mut self.vector, self.index, new);
        Ok(Flow::Return(Value::Vector(self.vector)))
    }
}

/// A map that waits for the value of one of its keys.
pub(crate) struct NewEntry {
    map: Map,
    key: Value,
}

portable!(NewEntry { map, key });

impl Continuation for NewEntry {
    fn finish(mut self, _: &mut Ctx<'_>, new: Value) -> Result<Flow> {
        self.map.insert(self.key, new);
        Ok(Flow::Return(Value::Map(self.map)))
    }
}

impl Continuation for Levels {
    fn finish(self, _: &mut Ctx<'_>, new: Value) -> Result<Flow> {
        Ok(Flow::Return(self.ascend(new)))
    }
}

/// `(update-in m path f & args)`
pub(super) fn update_in(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    check_count("update-in", args)?;
    let types = types_of("update-in", args);
    let path = steps("update-in", &args[1], &types)?;
    check::callable("update-in", 3, "callable", &args[2])?;
    check_fits(ctx, "update-in", &args[2], args.len() - 2)?;
    ctx.charge(args.len())?;
    let (levels, old) = Levels::descend(ctx, "update-in", take(&mut args[0]), path, &types)?;
    let (function, call) = (take(&mut args[2]), call_args(old, &mut args[3..]));
    call_then(ctx, function, call, levels)
}

/// `(assoc-in m path v)`
pub(super) fn assoc_in(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let types = types_of("assoc-in", args);
    let path = steps("assoc-in", &args[1], &types)?;
    let (levels, _) = Levels::descend(ctx, "assoc-in", take(&mut args[0]), path, &types)?;
    Ok(levels.ascend(take(&mut args[2])))
}

/// Makes the TYPES error of these arguments later, when they have been taken apart.
fn types_of(shown: &'static str, args: &[Value]) -> impl Fn() -> Error + use<> {
    let kinds: Vec<&'static str> = args.iter().map(Value::kind_label).collect();
    move || Error::type_error(format!("{shown}: invalid argument types: {}", kinds.join(", ")))
}
