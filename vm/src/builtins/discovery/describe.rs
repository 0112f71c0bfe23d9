//! `(describe x)`: the shape of data, small enough to read (language.md 11).
//!
//! A summary is a map. Everything has `:type` (or `:types` with counts where values differ) and `:count` of values seen.
//! Scalars have `:distinct` and `:examples`, numbers `:min` and `:max`; maps have `:keys`, collections `:items`, each with a
//! summary of the values there, down to `:depth`. With `:paths true` the summaries come flat, by path: `rows[].name`.

use crate::builtins::printing;
use crate::builtins::support::Builder;
use crate::error::{Error, Reason, Result};
use crate::machine::Ctx;
use crate::meter;
use crate::print::{self, Preview};
use crate::value::{Keyword, Map, Value, compare, identical};
use std::cmp::Ordering;

/// Elements of a collection that are looked at.
const MOST_ITEMS: usize = 1_000;
/// Keys of a map that are described.
const MOST_KEYS: usize = 100;
/// Paths that are described.
const MOST_PATHS: usize = 300;
/// Values that are looked at under one path.
const MOST_VALUES: usize = 10_000;
/// Most distinct values that are counted.
const MOST_DISTINCT: usize = 50;
/// Characters of an example.
const EXAMPLE: usize = 120;
/// Bytes of a summary, for reservations.
const SUMMARY: usize = 2_048;

#[derive(Clone, Copy)]
struct Options {
    depth: usize,
    examples: usize,
    paths: bool,
}

fn integer_option(options: &Map, key: &str, most: i64, default: usize) -> Result<usize> {
    match options.get_flexible(&Value::Keyword(Keyword::new(key))) {
        None => Ok(default),
        Some(Value::Int(n)) if (1..=most).contains(n) => Ok(*n as usize),
        Some(other) => {
            Err(fault(format!(":{key} must be an integer 1..{most}, got {}", print::literal(other))))
        }
    }
}

#[cold]
fn fault(text: String) -> Error {
    Error::verbatim(Reason::RuntimeError, format!("runtime_error: describe {text}"))
}

/// `(describe x)`, `(describe x opts)`
pub(super) fn describe(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let empty = Map::new();
    let options = match args.get(1) {
        None => &empty,
        Some(Value::Map(options)) => options,
        Some(other) => return Err(fault(format!("options must be a map, got {}", print::literal(other)))),
    };
    let paths = match options.get_flexible(&Value::keyword("paths")) {
        None | Some(Value::Nil) => false,
        Some(Value::True) => true,
        Some(Value::False) => false,
        Some(other) => return Err(fault(format!(":paths must be a boolean, got {}", print::literal(other)))),
    };
    let options = Options {
        depth: integer_option(options, "depth", 5, 3)?,
        examples: integer_option(options, "sample", 3, 2)?,
        paths,
    };
    let values = vec![args[0].clone()];
    if options.paths {
        let (paths, omitted) = by_path(values, options)?;
        if omitted > 0 {
            // Beside the data, not in it (ruling 55).
            let text = format!(
                "describe: {MOST_PATHS} paths shown, {omitted} left out; describe a part of the data, or less :depth"
            );
            printing::log(ctx, text, printing::TextEnd::Line)?;
        }
        Ok(paths)
    } else {
        summary(&values, options, options.depth).map(Value::Map)
    }
}

/// The word for a value's kind.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Int(_) | Value::BigInt(_) => "integer",
        Value::Float(_) => "float",
        Value::True | Value::False => "boolean",
        Value::Vector(_) => "vector",
        Value::List(_) | Value::Queue(_) => "list",
        Value::Temporal(_) => "time",
        Value::Regex(_) => "regex",
        Value::Blob(_) => "reference",
        other => other.kind_label(),
    }
}

/// The common properties of several values at one place, with summaries of the values in them for `depth` levels.
fn summary(values: &[Value], options: Options, depth: usize) -> Result<Map> {
    meter::charge_steps(values.len() as u64 + 10)?;
    meter::reserve(SUMMARY)?;
    let mut out = facts(values, options)?;
    let (keys, omitted) = keys(values)?;
    if !keys.is_empty() {
        let mut described = Map::new();
        for key in keys {
            let found = under_key(values, &key)?;
            let inner =
                if depth > 1 { summary(&found, options, depth - 1)? } else { facts(&found, options)? };
            described.insert(key, Value::Map(inner));
        }
        out.insert(Value::keyword("keys"), Value::Map(described));
        if omitted > 0 {
            out.insert(Value::keyword("keys-omitted"), Value::Int(omitted));
        }
    }
    let items = items(values)?;
    if !items.is_empty() {
        let inner = if depth > 1 { summary(&items, options, depth - 1)? } else { facts(&items, options)? };
        out.insert(Value::keyword("items"), Value::Map(inner));
    }
    Ok(out)
}

/// The summary without nested values.
fn facts(values: &[Value], options: Options) -> Result<Map> {
    let mut out = Map::new();
    let mut set = |key: &str, value: Value| out.insert(Value::keyword(key), value);
    let mut kinds: Vec<(&str, i64)> = Vec::new();
    for value in values {
        match kinds.iter_mut().find(|(known, _)| *known == kind(value)) {
            Some((_, count)) => *count += 1,
            None => kinds.push((kind(value), 1)),
        }
    }
    kinds.sort_unstable();
    match kinds.as_slice() {
        [(only, _)] => set("type", Value::keyword(only)),
        kinds => {
            let mut types = Map::new();
            for (kind, count) in kinds {
                types.insert(Value::keyword(kind), Value::Int(*count));
            }
            set("types", Value::Map(types));
        }
    }
    set("count", Value::Int(values.len() as i64));
    extremes("size", values.iter().filter_map(size).map(Value::Int), &mut set);
    let numbers = values.iter().filter(|v| v.is_number() && !matches!(v, Value::Float(x) if x.is_nan()));
    extremes("", numbers.cloned(), &mut set);
    let scalars: Vec<&Value> = values.iter().filter(|value| is_scalar(value)).collect();
    if !scalars.is_empty() {
        let distinct = distinct(&scalars)?;
        if scalars.len() > 1 {
            let shown = if distinct.len() > MOST_DISTINCT {
                Value::str(format!("more than {MOST_DISTINCT}"))
            } else {
                Value::Int(distinct.len() as i64)
            };
            set("distinct", shown);
        }
        let examples = distinct.iter().take(options.examples).map(|value| example(value));
        set("examples", Value::vector(examples.collect::<Vec<Value>>()));
    }
    Ok(out)
}

fn size(value: &Value) -> Option<i64> {
    match value {
        Value::Vector(items) | Value::List(items) | Value::Queue(items) => Some(items.len() as i64),
        Value::Set(items) => Some(items.len() as i64),
        Value::Map(entries) => Some(entries.len() as i64),
        _ => None,
    }
}

/// `:min-size` and `:max-size` (`:size` where they agree), or `:min` and `:max`.
fn extremes(suffix: &str, values: impl Iterator<Item = Value>, set: &mut impl FnMut(&str, Value)) {
    let mut range: Option<(Value, Value)> = None;
    for value in values {
        range = Some(match range {
            None => (value.clone(), value),
            Some((low, high)) if compare(&value, &low) == Ordering::Less => (value, high),
            Some((low, high)) if compare(&value, &high) == Ordering::Greater => (low, value),
            Some(range) => range,
        });
    }
    match range {
        Some((low, high)) if suffix.is_empty() => {
            set("min", low);
            set("max", high);
        }
        Some((low, high)) if identical(&low, &high) => set(suffix, low),
        Some((low, high)) => {
            set(&format!("min-{suffix}"), low);
            set(&format!("max-{suffix}"), high);
        }
        None => {}
    }
}

fn is_scalar(value: &Value) -> bool {
    !matches!(
        value,
        Value::Nil | Value::Vector(_) | Value::List(_) | Value::Queue(_) | Value::Map(_) | Value::Set(_)
    )
}

/// Distinct values in order of appearance, up to one more than the limit.
fn distinct<'v>(values: &[&'v Value]) -> Result<Vec<&'v Value>> {
    let mut found: Vec<&Value> = Vec::new();
    for value in values {
        meter::charge_steps(found.len() as u64 / 4 + 1)?;
        if !found.iter().any(|known| identical(known, value)) {
            found.push(value);
            if found.len() > MOST_DISTINCT {
                break;
            }
        }
    }
    Ok(found)
}

/// A value as an example: strings cut at 120 characters, other values as they are.
fn example(value: &Value) -> Value {
    match value {
        Value::Str(text) if text.as_str().len() > EXAMPLE && text.len() > EXAMPLE => {
            Value::str(format!("{}...", text.slice(0, EXAMPLE).as_str()))
        }
        Value::BigInt(_) => {
            Value::str(print::preview(value, Preview { items: 1, characters: Some(EXAMPLE), counts: false }))
        }
        other => other.clone(),
    }
}

/// The keys of all maps in order, at most 100, and how many more there are.
fn keys(values: &[Value]) -> Result<(Vec<Value>, i64)> {
    let mut all = Map::new();
    let mut omitted = Map::new();
    for value in values {
        let Value::Map(map) = value else { continue };
        for (key, _) in map.iter().take(MOST_ITEMS) {
            meter::charge_steps(1)?;
            if all.get(key).is_none() {
                let target = if all.len() < MOST_KEYS { &mut all } else { &mut omitted };
                target.insert(key.clone(), Value::Nil);
            }
        }
    }
    meter::check_memory()?;
    Ok((all.into_iter().map(|(key, _)| key).collect(), omitted.len() as i64))
}

/// The maps' values under a key.
fn under_key(values: &[Value], key: &Value) -> Result<Vec<Value>> {
    meter::charge_steps(values.len() as u64)?;
    let found = values.iter().filter_map(|value| match value {
        Value::Map(map) => map.get(key).cloned(),
        _ => None,
    });
    Ok(found.take(MOST_VALUES).collect())
}

/// The elements of all vectors and sets: at most 1 000 of each, 10 000 together.
fn items(values: &[Value]) -> Result<Vec<Value>> {
    let mut found = Vec::new();
    for value in values {
        let room = MOST_VALUES - found.len();
        let before = found.len();
        match value {
            Value::Vector(items) | Value::List(items) | Value::Queue(items) => {
                found.extend(items.iter().take(MOST_ITEMS.min(room)));
            }
            Value::Set(items) => found.extend(items.iter().take(MOST_ITEMS.min(room)).cloned()),
            _ => continue,
        }
        meter::charge_steps((found.len() - before) as u64)?;
    }
    Ok(found)
}

/// Summaries by path, breadth first, and how many paths are left out.
fn by_path(root: Vec<Value>, options: Options) -> Result<(Value, usize)> {
    let mut out = Builder::new();
    let mut level = vec![(String::new(), root)];
    let mut omitted = 0usize;
    for depth in 0..=options.depth {
        let mut next = Vec::new();
        for (path, values) in level {
            if out.len() >= MOST_PATHS {
                omitted += 1;
                continue;
            }
            meter::charge_steps(values.len() as u64 + 10)?;
            meter::reserve(SUMMARY)?;
            let mut facts = facts(&values, options)?;
            let shown = if path.is_empty() { "<root>" } else { &path };
            facts.insert(Value::keyword("path"), Value::str(shown));
            out.push(Value::Map(facts))?;
            if depth == options.depth {
                continue;
            }
            let elements = items(&values)?;
            if !elements.is_empty() {
                next.push((format!("{path}[]"), elements));
            }
            for key in keys(&values)?.0 {
                let name = match &key {
                    Value::Keyword(name) => name.name().to_owned(),
                    Value::Str(name) => name.as_str().chars().take(EXAMPLE).collect(),
                    other => print::literal(other),
                };
                let dot = if path.is_empty() { "" } else { "." };
                next.push((format!("{path}{dot}{name}"), under_key(&values, &key)?));
            }
        }
        level = next;
    }
    Ok((out.take(), omitted))
}
