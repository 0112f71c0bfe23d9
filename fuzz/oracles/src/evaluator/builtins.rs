//! Functions of the library, in the language's own terms (functions.md).

use super::value::{Result, Stop, Value};
use num_bigint::BigInt;
use num_bigint::Sign;

const TYPE: Stop = Stop::Fail("type_error");
const ARITHMETIC: Stop = Stop::Fail("arithmetic_error");

/// Calls a function of the program or of the library.
pub(super) type Apply<'a> = &'a mut dyn FnMut(&Value, Vec<Value>) -> Result;

/// Calls a function by name, which may `apply` the functions among its arguments. Wrong counts of arguments, and kinds of
/// arguments that the language gives a meaning of their own, are left open.
pub(super) fn call(apply: Apply<'_>, name: &str, arguments: Vec<Value>) -> Result {
    if let Some(value) = number(name, &arguments)? {
        return Ok(value);
    }
    if let Some(value) = predicate(name, &arguments)? {
        return Ok(value);
    }
    if let Some(value) = keyed(name, &arguments)? {
        return Ok(value);
    }
    if let Some(value) = sequence(name, &arguments)? {
        return Ok(value);
    }
    calling(apply, name, &arguments)
}

fn integers(arguments: &[Value]) -> Option<Vec<&BigInt>> {
    arguments.iter().map(|value| if let Value::Int(n) = value { Some(n) } else { None }).collect()
}

fn number(name: &str, arguments: &[Value]) -> Result<Option<Value>> {
    let numbers = integers(arguments);
    let result = match (name, arguments.len()) {
        ("+" | "-" | "*", 2) => {
            let [a, b] = numbers.ok_or(TYPE)?[..] else { return Err(Stop::Open) };
            match name {
                "+" => a + b,
                "-" => a - b,
                _ => a * b,
            }
        }
        ("inc" | "dec", 1) => {
            let n = numbers.ok_or(ARITHMETIC)?[0];
            if name == "inc" { n + 1 } else { n - 1 }
        }
        ("quot" | "rem" | "mod", 2) => {
            let [a, b] = numbers.ok_or(ARITHMETIC)?[..] else { return Err(Stop::Open) };
            if b.sign() == Sign::NoSign {
                return Err(ARITHMETIC);
            }
            let rest = a % b;
            match name {
                "quot" => a / b,
                "mod" if rest.sign() != Sign::NoSign && rest.sign() != b.sign() => rest + b,
                _ => rest,
            }
        }
        ("abs", 1) => {
            let n = numbers.ok_or(TYPE)?[0];
            if n.sign() == Sign::Minus { -n } else { n.clone() }
        }
        _ => return Ok(None),
    };
    Ok(Some(Value::Int(result)))
}

fn predicate(name: &str, arguments: &[Value]) -> Result<Option<Value>> {
    let sign = |wanted: fn(Sign) -> bool| matches!(&arguments[0], Value::Int(n) if wanted(n.sign()));
    let odd = |value: &Value| match value {
        Value::Int(n) => Some(n.bit(0)),
        _ => None,
    };
    let flag = match (name, arguments) {
        ("=", [a, b]) => a.compare(b)?.is_eq(),
        ("not=", [a, b]) => a.compare(b)?.is_ne(),
        ("<", [a, b]) => a.compare(b)?.is_lt(),
        (">", [a, b]) => a.compare(b)?.is_gt(),
        ("<=", [a, b]) => a.compare(b)?.is_le(),
        (">=", [a, b]) => a.compare(b)?.is_ge(),
        ("not", [a]) => !a.truthy(),
        ("nil?", [a]) => matches!(a, Value::Nil),
        ("some?", [a]) => !matches!(a, Value::Nil),
        ("vector?", [a]) => matches!(a, Value::Vector(_)),
        ("map?", [a]) => matches!(a, Value::Map(_)),
        ("set?", [a]) => matches!(a, Value::Set(_)),
        ("string?", [a]) => matches!(a, Value::Str(_)),
        ("keyword?", [a]) => matches!(a, Value::Keyword(_)),
        ("number?", [a]) => matches!(a, Value::Int(_)),
        ("zero?", [_]) => sign(|sign| sign == Sign::NoSign),
        ("pos?", [_]) => sign(|sign| sign == Sign::Plus),
        ("neg?", [_]) => sign(|sign| sign == Sign::Minus),
        ("odd?", [a]) => odd(a) == Some(true),
        ("even?", [a]) => odd(a) == Some(false),
        ("empty?", [a]) => a.elements().ok_or(TYPE)?.is_empty(),
        _ => return Ok(None),
    };
    Ok(Some(Value::Bool(flag)))
}

fn keyed(name: &str, arguments: &[Value]) -> Result<Option<Value>> {
    let value = match (name, arguments) {
        ("get", [Value::Nil | Value::List(_) | Value::Int(_), _]) => Value::Nil,
        ("get", [Value::Nil | Value::List(_) | Value::Int(_), _, other]) => other.clone(),
        ("get", [Value::Map(map), key]) => Value::find(map, key)?.cloned().unwrap_or(Value::Nil),
        ("get", [Value::Map(map), key, other]) => {
            Value::find(map, key)?.cloned().unwrap_or_else(|| other.clone())
        }
        ("get", [Value::Str(_) | Value::Set(_), ..]) => return Err(Stop::Open),
        ("contains?", [Value::Map(map), key]) => Value::Bool(Value::find(map, key)?.is_some()),
        ("contains?", [Value::Set(items), item]) => {
            let mut found = false;
            for known in items {
                found |= known.compare(item)?.is_eq();
            }
            Value::Bool(found)
        }
        ("assoc", [map @ (Value::Nil | Value::Map(_)), key, value]) => {
            let mut entries = if let Value::Map(entries) = map { entries.clone() } else { Vec::new() };
            Value::find(&entries, key)?;
            Value::put(&mut entries, key.clone(), value.clone())?;
            Value::Map(entries)
        }
        ("assoc", [Value::Int(_) | Value::Str(_) | Value::List(_), _, _]) => return Err(TYPE),
        ("contains?", [Value::List(_), _]) => return Err(TYPE),
        ("dissoc", [Value::Map(map), key]) => {
            Value::find(map, key)?;
            let mut kept = Vec::new();
            for (known, value) in map {
                if known.compare(key)?.is_ne() {
                    kept.push((known.clone(), value.clone()));
                }
            }
            Value::Map(kept)
        }
        ("dissoc", [Value::Int(_) | Value::Vector(_) | Value::List(_), _]) => return Err(TYPE),
        ("keys" | "vals", [Value::Nil]) => Value::Nil,
        ("keys" | "vals", [Value::Map(map)]) if map.is_empty() => Value::Nil,
        ("keys", [Value::Map(map)]) => Value::Vector(map.iter().map(|entry| entry.0.clone()).collect()),
        ("vals", [Value::Map(map)]) => Value::Vector(map.iter().map(|entry| entry.1.clone()).collect()),
        ("keys" | "vals", [other]) => {
            let entries = other.elements().ok_or(TYPE)?;
            if entries.is_empty() {
                return Ok(Some(Value::Nil));
            }
            let part = usize::from(name == "vals");
            let part_of = |entry: &Value| match entry {
                Value::Vector(pair) | Value::List(pair) if pair.len() == 2 => Ok(pair[part].clone()),
                _ => Err(TYPE),
            };
            Value::Vector(entries.iter().map(part_of).collect::<Result<Vec<_>>>()?)
        }
        ("zipmap", [keys, values]) => {
            let (Some(keys), Some(values)) = (keys.elements(), values.elements()) else { return Err(TYPE) };
            let mut map = Vec::new();
            for (key, value) in keys.into_iter().zip(values) {
                Value::put(&mut map, key, value)?;
            }
            Value::Map(map)
        }
        ("frequencies", [items]) => {
            let mut map: Vec<(Value, Value)> = Vec::new();
            for item in items.elements().ok_or(TYPE)? {
                let mut count = BigInt::from(1);
                for (known, so_far) in &map {
                    if let (true, Value::Int(n)) = (known.compare(&item)?.is_eq(), so_far) {
                        count += n;
                    }
                }
                Value::put(&mut map, item, Value::Int(count))?;
            }
            Value::Map(map)
        }
        _ => return Ok(None),
    };
    Ok(Some(value))
}

fn small(value: &Value) -> Result<i64> {
    match value {
        Value::Int(n) => i64::try_from(n).ok().filter(|n| n.abs() < 1_000).ok_or(Stop::Open),
        _ => Err(Stop::Open),
    }
}

fn sequence(name: &str, arguments: &[Value]) -> Result<Option<Value>> {
    let ordered = |value: &Value| value.elements().ok_or(TYPE);
    let or_nil = |item: Option<&Value>| item.cloned().unwrap_or(Value::Nil);
    let value = match (name, arguments) {
        ("vector", items) => Value::Vector(items.to_vec()),
        ("hash-set", items) => Value::set(items.to_vec())?,
        ("set", [items]) => Value::set(items.elements().ok_or(TYPE)?)?,
        ("vec", [Value::Nil]) => Value::Nil,
        ("vec", [items]) => Value::Vector(items.elements().ok_or(TYPE)?),
        ("identity", [value]) => value.clone(),
        ("count", [items]) => Value::Int(items.elements().ok_or(TYPE)?.len().into()),
        ("first", [items]) => or_nil(ordered(items)?.first()),
        ("second", [items]) => or_nil(ordered(items)?.get(1)),
        ("last", [items]) => or_nil(ordered(items)?.last()),
        ("rest", [items]) => items.sequence_like(ordered(items)?.into_iter().skip(1).collect()),
        ("next", [whole]) => match ordered(whole)? {
            items if items.len() < 2 => Value::Nil,
            items => whole.sequence_like(items[1..].to_vec()),
        },
        ("reverse", [items]) => Value::List(ordered(items)?.into_iter().rev().collect()),
        ("nth", [items @ (Value::Nil | Value::Vector(_) | Value::List(_)), at, other]) => {
            let at = usize::try_from(small(at)?).ok();
            at.and_then(|at| ordered(items).ok()?.get(at).cloned()).unwrap_or_else(|| other.clone())
        }
        ("take", [n, items]) | ("drop", [n, items]) => {
            let Value::Int(_) = n else { return Err(TYPE) };
            let n = usize::try_from(small(n)?.max(0)).map_err(|_| Stop::Open)?;
            let items = items.elements().ok_or(TYPE)?;
            let at = n.min(items.len());
            Value::Vector(if name == "take" { items[..at].to_vec() } else { items[at..].to_vec() })
        }
        ("concat", lists) => {
            let lists = lists.iter().map(Value::elements).collect::<Option<Vec<_>>>().ok_or(TYPE)?;
            Value::Vector(lists.concat())
        }
        ("interleave", [a, b]) => {
            let (Some(a), Some(b)) = (a.elements(), b.elements()) else { return Err(Stop::Open) };
            Value::Vector(a.into_iter().zip(b).flat_map(|(a, b)| [a, b]).collect())
        }
        ("conj", [Value::Vector(items), more @ ..]) => Value::Vector([items, more].concat()),
        ("conj", [Value::Set(items), more @ ..]) => Value::set([items, more].concat())?,
        ("conj", [target @ (Value::Nil | Value::List(_)), more @ ..]) if !more.is_empty() => {
            Value::List([more.iter().rev().cloned().collect(), ordered(target)?].concat())
        }
        ("conj", [Value::Int(_) | Value::Str(_), _]) => return Err(TYPE),
        ("into", [Value::Vector(to), from]) => {
            Value::Vector([to.clone(), from.elements().ok_or(TYPE)?].concat())
        }
        ("into", [Value::List(to), from]) => {
            Value::List([from.elements().ok_or(TYPE)?.into_iter().rev().collect(), to.clone()].concat())
        }
        ("into", [Value::Set(to), from]) => Value::set([to.clone(), from.elements().ok_or(TYPE)?].concat())?,
        ("distinct", [items]) => {
            let mut kept: Vec<Value> = Vec::new();
            if matches!(items, Value::Map(_) | Value::Set(_)) {
                return Err(TYPE);
            }
            for item in items.elements().ok_or(Stop::Open)? {
                let mut known = false;
                for before in &kept {
                    known |= before.compare(&item)?.is_eq();
                }
                if !known {
                    kept.push(item);
                }
            }
            Value::Vector(kept)
        }
        ("sort", [items]) => {
            let mut sorted: Vec<Value> = Vec::new();
            for item in items.elements().ok_or(Stop::Open)? {
                let mut at = sorted.len();
                while at > 0 && sorted[at - 1].compare(&item)?.is_gt() {
                    at -= 1;
                }
                sorted.insert(at, item);
            }
            Value::Vector(sorted)
        }
        ("range", [end]) => Value::Vector((0..small(end)?).map(|n| Value::Int(n.into())).collect()),
        ("str", items) => Value::Str(items.iter().map(plain).collect::<Result<Vec<_>>>()?.concat()),
        ("join", [Value::Str(between), items]) => {
            let parts = items.elements().ok_or(TYPE)?;
            Value::Str(parts.iter().map(plain).collect::<Result<Vec<_>>>()?.join(between))
        }
        _ => return Ok(None),
    };
    Ok(Some(value))
}

fn plain(value: &Value) -> Result<String> {
    match value {
        Value::Nil => Ok(String::new()),
        Value::Str(text) => Ok(text.clone()),
        other => other.print(),
    }
}

fn calling(apply: Apply<'_>, name: &str, arguments: &[Value]) -> Result {
    let callable = |f: &Value| {
        !matches!(
            f,
            Value::Nil | Value::Bool(_) | Value::Int(_) | Value::Str(_) | Value::Vector(_) | Value::List(_)
        )
    };
    let (function, rest) = match arguments.split_first() {
        Some((function, rest)) if callable(function) => (function, rest),
        _ => return Err(Stop::Open),
    };
    match (name, rest) {
        ("map" | "mapv", [items]) => {
            let items = items.elements().ok_or(TYPE)?;
            let values = items.into_iter().map(|item| apply(function, vec![item]));
            Ok(Value::Vector(values.collect::<Result<_>>()?))
        }
        ("mapv", [a, b]) => {
            let (Some(a), Some(b)) = (a.elements(), b.elements()) else { return Err(Stop::Open) };
            let values = a.into_iter().zip(b).map(|(a, b)| apply(function, vec![a, b]));
            Ok(Value::Vector(values.collect::<Result<_>>()?))
        }
        ("filter" | "remove", [items]) => {
            let mut kept = Vec::new();
            for item in items.elements().ok_or(TYPE)? {
                if apply(function, vec![item.clone()])?.truthy() == (name == "filter") {
                    kept.push(item);
                }
            }
            Ok(Value::Vector(kept))
        }
        ("reduce", [first, items]) => {
            let items = items.elements().ok_or(TYPE)?;
            items.into_iter().try_fold(first.clone(), |so_far, item| apply(function, vec![so_far, item]))
        }
        ("every?", [items]) => {
            for item in items.elements().ok_or(Stop::Open)? {
                if !apply(function, vec![item])?.truthy() {
                    return Ok(Value::Bool(false));
                }
            }
            Ok(Value::Bool(true))
        }
        ("some", [items]) => {
            for item in items.elements().ok_or(TYPE)? {
                let found = apply(function, vec![item])?;
                if found.truthy() {
                    return Ok(found);
                }
            }
            Ok(Value::Nil)
        }
        ("apply", [arguments]) => match arguments {
            Value::Vector(items) | Value::List(items) => apply(function, items.clone()),
            Value::Nil => apply(function, Vec::new()),
            Value::Int(_) => Err(TYPE),
            _ => Err(Stop::Open),
        },
        _ => Err(Stop::Open),
    }
}
