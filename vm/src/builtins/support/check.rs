//! Checking the arguments of higher-order functions (functions.md 0.4).

use super::{cursor, errors};
use crate::builtins::Native;
use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::value::{CombinatorKind, Cursor, Value};

/// Refuses values that cannot be called; `n` counts from 1, `expected` is the word of the template ARG.
pub(crate) fn callable(name: &str, n: usize, expected: &str, value: &Value) -> Result<()> {
    if value.is_callable() { Ok(()) } else { Err(Error::argument(name, n, expected, value)) }
}

/// The elements of argument `n`, which counts from 1; refuses values that are not seqable.
pub(crate) fn seqable(ctx: &mut Ctx<'_>, name: &str, n: usize, value: &Value) -> Result<Cursor> {
    match cursor(ctx, value)? {
        Some(cursor) => Ok(cursor),
        None => Err(Error::argument(name, n, "seqable", value)),
    }
}

/// Whether a call with `argc` arguments can fit the parameters of this function.
pub(crate) fn takes(ctx: &mut Ctx<'_>, function: &Value, argc: usize) -> Result<bool> {
    let (mut function, mut argc) = (function, argc);
    loop {
        ctx.charge(1)?;
        let combinator = match function {
            Value::Closure(closure) => return Ok(closure.code().body_for(argc).is_some()),
            Value::Builtin(handle) => {
                let builtin = ctx.library().of(handle);
                let is_function = !matches!(builtin.native, Native::Constant(_));
                return Ok(is_function && ctx.library().check_arity(builtin, argc).is_ok());
            }
            Value::Keyword(_) | Value::Symbol(_) | Value::Map(_) => return Ok(argc == 1 || argc == 2),
            Value::Set(_) | Value::Vector(_) => return Ok(argc == 1),
            Value::Tool(_) => return Ok(argc <= 1),
            Value::Combinator(combinator) => combinator,
            _ => return Ok(false),
        };
        let parts = &combinator.parts;
        match combinator.kind {
            CombinatorKind::Constantly | CombinatorKind::EveryPred | CombinatorKind::SomeFn => {
                return Ok(true);
            }
            CombinatorKind::Endless | CombinatorKind::Reduced | CombinatorKind::Transducer => {
                return Ok(false);
            }
            CombinatorKind::Comp => function = &parts[parts.len() - 1],
            CombinatorKind::Partial => {
                function = &parts[0];
                argc += parts.len() - 1;
            }
            CombinatorKind::Complement
            | CombinatorKind::Fnil
            | CombinatorKind::Juxt
            | CombinatorKind::Memoize => function = &parts[0],
        }
    }
}

/// Whether a value can stand for the key of an item: anything callable, a string key, a path.
pub(crate) fn is_key_function(value: &Value) -> bool {
    value.is_callable() || matches!(value, Value::Str(_))
}

/// The elements of the last argument for a function whose first argument is checked only when there is something
/// to call it with. `shown` is the name in TYPES texts.
pub(crate) fn unchecked(ctx: &mut Ctx<'_>, shown: &str, args: &[Value]) -> Result<Cursor> {
    let collection = &args[args.len() - 1];
    let Some(items) = cursor(ctx, collection)? else { return Err(errors::not_a_collection(collection)) };
    match &args[0] {
        _ if items.remaining() == 0 => Ok(items),
        function if function.is_callable() => Ok(items),
        _ => Err(Error::argument_types(shown, args)),
    }
}

/// The elements of a vector, map or set (or `nil`) for a function whose first argument is a key of its items.
/// The key is checked only when there are items. `strings` says whether graphemes of a string are items too.
pub(crate) fn keyed(ctx: &mut Ctx<'_>, shown: &str, strings: bool, args: &[Value]) -> Result<Cursor> {
    let accepted = match &args[1] {
        Value::Str(_) => strings,
        value => value.is_seqable(),
    };
    let items = if accepted { cursor(ctx, &args[1])? } else { None };
    match items {
        Some(items) if items.remaining() == 0 || is_key_function(&args[0]) => Ok(items),
        _ => Err(Error::argument_types(shown, args)),
    }
}

/// A count argument, clamped to the range; negative counts are 0. A fraction counts as one more, as where Clojure counts down
/// to zero. `None` if it is no number.
pub(crate) fn count(value: &Value) -> Option<usize> {
    match value {
        Value::Int(n) => Some(usize::try_from(*n).unwrap_or(0)),
        Value::BigInt(n) => Some(if n.get().sign() == num_bigint::Sign::Minus { 0 } else { usize::MAX }),
        // The cast saturates, and makes 0 of NaN.
        Value::Float(x) => Some(x.get().ceil() as usize),
        _ => None,
    }
}

/// A number as an index or a length: without its fraction, as where Clojure takes a `long`. One outside 64 bits lies before or
/// after everything. `None` when it is no number.
pub(crate) fn position(value: &Value) -> Option<i64> {
    match value {
        Value::Int(n) => Some(*n),
        Value::BigInt(n) if n.get().sign() == num_bigint::Sign::Minus => Some(i64::MIN),
        Value::BigInt(_) => Some(i64::MAX),
        // The cast saturates, and makes 0 of NaN.
        Value::Float(x) => Some(x.get() as i64),
        _ => None,
    }
}
