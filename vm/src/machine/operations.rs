//! The slow paths of single instructions.

use super::env::Env;
use crate::code::{Function, Op};
use crate::error::{Error, Reason, Result};
use crate::meter;
use crate::number;
use crate::print;
use crate::value::{Map, Value, compare};
use std::cell::Cell;
use std::cmp::Ordering;

/// `(inc a)`, `(dec a)`
pub(super) fn increment(a: &Value, by: i64) -> Result<Value> {
    match a {
        Value::Int(n) if n.checked_add(by).is_some() => Ok(Value::Int(n + by)),
        Value::Int(_) | Value::BigInt(_) | Value::Float(_) => number::add(a, &Value::Int(by)),
        _ => Err(Error::bad_arithmetic()),
    }
}

/// `(mod a b)` of small integers where `b` is positive.
#[inline(always)]
pub(super) fn small_modulo(a: i64, b: i64) -> Option<i64> {
    if b > 0 { a.checked_rem_euclid(b) } else { None }
}

/// NaN compares false with everything.
fn unordered(a: &Value, b: &Value) -> bool {
    matches!(a, Value::Float(x) if x.is_nan()) || matches!(b, Value::Float(x) if x.is_nan())
}

pub(super) fn less(a: &Value, b: &Value) -> Result<Value> {
    Ok(Value::bool(!unordered(a, b) && compare(a, b) == Ordering::Less))
}

pub(super) fn less_or_equal(a: &Value, b: &Value) -> Result<Value> {
    Ok(Value::bool(!unordered(a, b) && compare(a, b) != Ordering::Greater))
}

pub(super) fn greater(a: &Value, b: &Value) -> Result<Value> {
    Ok(Value::bool(!unordered(a, b) && compare(a, b) == Ordering::Greater))
}

pub(super) fn greater_or_equal(a: &Value, b: &Value) -> Result<Value> {
    Ok(Value::bool(!unordered(a, b) && compare(a, b) != Ordering::Less))
}

pub(super) fn equal(a: &Value, b: &Value) -> Result<Value> {
    Ok(Value::bool(crate::value::equal(a, b)))
}

/// A read of a constant key at the place of the last hit. `None` is inconclusive: continue with [`find`].
#[inline(always)]
pub(super) fn find_at(map: &Value, key: &Value, guess: &Cell<u32>) -> Option<Value> {
    let Value::Map(map) = map else { return None };
    map.get_at_guess(key, guess.get()).cloned()
}

/// A read of a constant key, with a guess of where it is.
#[inline(never)]
pub(super) fn find(map: &Value, key: &Value, guess: &Cell<u32>) -> Option<Value> {
    match map {
        Value::Map(map) => map.get_guessed(key, guess).cloned(),
        Value::Set(set) => set.get(key).cloned(),
        _ => None,
    }
}

/// Where the operands of a binary operation lie.
pub(super) enum Operands {
    /// Both on top of the stack.
    Popped,
    /// In two slots.
    Locals(u16, u16),
    /// The left one on top, the right one in a slot.
    Local(u32),
    /// The left one in a slot; the right one is this.
    LocalInt(u16, i32),
    /// The left one on top; the right one is this.
    Int(i32),
}

/// A binary operation on values of any kind.
pub(super) struct Binary {
    /// The builtin that it stands for.
    pub(super) name: &'static str,
    pub(super) run: fn(&Value, &Value) -> Result<Value>,
    pub(super) operands: Operands,
}

macro_rules! binaries {
    ($($name:literal $run:path: $popped:ident $locals:ident $local:ident $local_int:ident $int:ident;)*) => {
        /// The operation of an instruction, if it has one.
        pub(super) fn binary(op: Op) -> Option<Binary> {
            let (name, run, operands): (_, fn(&Value, &Value) -> Result<Value>, _) = match op {
                $(
                    Op::$popped => ($name, $run, Operands::Popped),
                    Op::$locals { a, b } => ($name, $run, Operands::Locals(a, b)),
                    Op::$local(b) => ($name, $run, Operands::Local(b)),
                    Op::$local_int { a, n } => ($name, $run, Operands::LocalInt(a, n)),
                    Op::$int(n) => ($name, $run, Operands::Int(n)),
                )*
                _ => return None,
            };
            Some(Binary { name, run, operands })
        }
    };
}

binaries! {
    "+" number::add: Add AddLocals AddLocal AddLocalInt AddInt;
    "-" number::subtract: Subtract SubtractLocals SubtractLocal SubtractLocalInt SubtractInt;
    "*" number::multiply: Multiply MultiplyLocals MultiplyLocal MultiplyLocalInt MultiplyInt;
    "mod" number::modulo: Modulo ModuloLocals ModuloLocal ModuloLocalInt ModuloInt;
    "<" less: Less LessLocals LessLocal LessLocalInt LessInt;
    "<=" less_or_equal: LessOrEqual LessOrEqualLocals LessOrEqualLocal LessOrEqualLocalInt LessOrEqualInt;
    ">" greater: Greater GreaterLocals GreaterLocal GreaterLocalInt GreaterInt;
    ">=" greater_or_equal: GreaterOrEqual GreaterOrEqualLocals GreaterOrEqualLocal GreaterOrEqualLocalInt GreaterOrEqualInt;
    "=" equal: Equal EqualLocals EqualLocal EqualLocalInt EqualInt;
}

/// `data/NAME`
pub(super) fn data(env: &Env, key: &Value) -> Result<Value> {
    data_of(&env.context, key, env.strict_data)
}

/// An entry of a context, or of the argument of a kept program. `strict`: reading one that is not there is an error.
pub(super) fn data_of(context: &Value, key: &Value, strict: bool) -> Result<Value> {
    let found = match context {
        Value::Map(context) => context.get_flexible(key),
        _ => None,
    };
    match (found, key) {
        (Some(value), _) => Ok(value.clone()),
        (None, Value::Keyword(name)) if strict => {
            let name = name.name();
            let text = format!(
                "runtime_error: data/{name} is not bound: the `context` object did not provide a `{name}` key"
            );
            Err(Error::verbatim(Reason::RuntimeError, text))
        }
        _ => Ok(Value::Nil),
    }
}

#[cold]
fn destructure(text: String) -> Error {
    Error::new(Reason::DestructureError, text)
}

/// Bytes that an element of a map or text takes in a vector, besides its slot.
const ELEMENT_BYTES: usize = 48 + 2 * size_of::<Value>();

/// Makes the value in a slot a vector or `nil`, for a vector pattern; `walked`: the pattern has a rest, so that any
/// collection will do, as in Clojure.
pub(super) fn check_sequential(value: &mut Value, walked: bool) -> Result<()> {
    let (steps, count) = match &*value {
        Value::Vector(_) | Value::List(_) | Value::Queue(_) | Value::Nil => return Ok(()),
        series if series.is_endless() => return Ok(()),
        Value::Str(text) => (text.as_str().len(), text.len()),
        Value::Map(map) if walked => (map.len(), map.len()),
        Value::Set(set) if walked => (set.len(), set.len()),
        other => {
            return Err(destructure(format!("expected list or nil, got {}", print::readable_lossy(other))));
        }
    };
    meter::charge_steps(steps as u64)?;
    meter::reserve(count.saturating_mul(size_of::<Value>() + ELEMENT_BYTES))?;
    if let Some(mut elements) = value.cursor()? {
        *value = Value::Vector(std::iter::from_fn(|| elements.advance()).collect());
    }
    Ok(())
}

/// The map that a map pattern destructures: for a list, the map of its pairs; for anything else, the value itself.
pub(super) fn check_map(value: &mut Value) -> Result<()> {
    if matches!(value, Value::List(_) | Value::Queue(_)) { keyword_arguments(value) } else { Ok(()) }
}

/// Makes a map of `k v k v …` and of a map after them; one value alone stands for itself.
pub(crate) fn keyword_arguments(value: &mut Value) -> Result<()> {
    let (Value::Vector(args) | Value::List(args) | Value::Queue(args)) = &*value else { return Ok(()) };
    let count = args.len();
    if count == 1 {
        *value = args.get(0).unwrap_or_default();
        return Ok(());
    }
    let last = match args.get(count.wrapping_sub(1)) {
        Some(Value::Map(last)) if count % 2 == 1 => Some(last),
        _ if count % 2 == 1 => {
            return Err(destructure(format!("keyword args must be even, got odd count: {count}")));
        }
        _ => None,
    };
    meter::charge_steps((count + last.as_ref().map_or(0, Map::len)) as u64)?;
    meter::reserve((count / 2).saturating_mul(Map::ENTRY_BYTES))?;
    let mut map = Map::new();
    let mut items = args.iter();
    while let (Some(key), Some(value)) = (items.next(), items.next()) {
        map.insert(key, value);
    }
    for (key, value) in last.iter().flat_map(Map::iter) {
        map.insert(key.clone(), value.clone());
    }
    *value = Value::Map(map);
    Ok(())
}

/// The value that a map pattern finds under a key that is no number; in a value that is no map, the result of `get`.
pub(super) fn entry(value: &Value, key: &Value) -> Option<Value> {
    match value {
        Value::Map(map) => map.get_flexible(key).cloned(),
        Value::Set(set) => set.get(key).cloned(),
        _ => None,
    }
}

/// The id of a task as text, by `str`.
pub(super) fn task_id(id: &Value) -> Result<Value> {
    match id {
        Value::Str(_) => Ok(id.clone()),
        other => Ok(Value::str(print::plain(other)?)),
    }
}

/// The error of a closure called with a number of arguments that no body takes (language.md 4.4).
#[cold]
pub(super) fn wrong_arity(function: &Function, argc: usize) -> Error {
    let expected = match &function.arities[..] {
        [one] if one.parameters.rest => format!("at least {}", one.parameters.required),
        [one] => one.parameters.required.to_string(),
        several => {
            let mut counts: Vec<String> = Vec::new();
            for arity in several {
                let least = arity.parameters.required;
                counts.push(if arity.parameters.rest {
                    format!("at least {least}")
                } else {
                    least.to_string()
                });
            }
            counts.join(" or ")
        }
    };
    let hint = match &function.name {
        Some(name) => {
            format!(". The function is {name}, {} at line {}", function.display, function.position.line)
        }
        // The body of a `loop`, or of a function for its `recur`, shows no parameters.
        None if &*function.display == "#fn[]" => String::new(),
        None => format!(". The function is {} at line {}", function.display, function.position.line),
    };
    Error::new(Reason::ArityMismatch, format!("expected {expected} argument(s), got {argc}")).with_hint(hint)
}
