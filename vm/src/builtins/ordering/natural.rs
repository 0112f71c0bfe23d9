//! Sorting by the order of values where that is certainly consistent: keys of one simple kind, without calls.

use crate::builtins::support::Held;
use crate::error::Result;
use crate::machine::Ctx;
use crate::value::Value;
use std::cmp::Ordering;

/// The indices of `keys` in ascending (or descending) order, equal keys in the order they came; `None` when they
/// are not all small integers, all strings, all keywords, or all floats but NaN.
pub(super) fn order(ctx: &mut Ctx<'_>, keys: &[Value], descending: bool) -> Result<Option<Vec<u32>>> {
    match keys.first() {
        Some(Value::Int(_)) => sorted(ctx, keys, descending, 0, i64::cmp, |value| match value {
            Value::Int(n) => Some(*n),
            _ => None,
        }),
        Some(Value::Float(_)) => {
            let compare = |a: &f64, b: &f64| a.partial_cmp(b).unwrap_or(Ordering::Equal);
            sorted(ctx, keys, descending, 0, compare, |value| match value {
                Value::Float(x) if !x.is_nan() => Some(x.get()),
                _ => None,
            })
        }
        Some(Value::Str(_)) => by_text(ctx, keys, descending, |value| match value {
            Value::Str(text) => Some(text.as_str()),
            _ => None,
        }),
        Some(Value::Keyword(_)) => by_text(ctx, keys, descending, |value| match value {
            Value::Keyword(keyword) => Some(keyword.name()),
            _ => None,
        }),
        _ => Ok(None),
    }
}

fn by_text<'a>(
    ctx: &mut Ctx<'_>,
    keys: &'a [Value],
    descending: bool,
    text: impl Fn(&'a Value) -> Option<&'a str>,
) -> Result<Option<Vec<u32>>> {
    let longest = keys.iter().filter_map(&text).map(str::len).max().unwrap_or(0);
    sorted(ctx, keys, descending, longest / 32, |a: &&str, b: &&str| a.cmp(b), text)
}

/// Sorts by keys of type `K`; `extra` steps more than one for each comparison.
fn sorted<'a, K>(
    ctx: &mut Ctx<'_>,
    keys: &'a [Value],
    descending: bool,
    extra: usize,
    compare: impl Fn(&K, &K) -> Ordering,
    key: impl Fn(&'a Value) -> Option<K>,
) -> Result<Option<Vec<u32>>> {
    let count = keys.len();
    ctx.charge(count)?;
    let _held = Held::new(count.saturating_mul(2 * size_of::<(K, u32)>()))?;
    let mut pairs = Vec::with_capacity(count);
    for (i, value) in keys.iter().enumerate() {
        match key(value) {
            Some(key) => pairs.push((key, i as u32)),
            None => return Ok(None),
        }
    }
    let comparisons = count.saturating_mul(count.max(2).ilog2() as usize);
    ctx.charge(comparisons.saturating_mul(1 + extra))?;
    if descending {
        pairs.sort_by(|a, b| compare(&b.0, &a.0));
    } else {
        pairs.sort_by(|a, b| compare(&a.0, &b.0));
    }
    Ok(Some(pairs.into_iter().map(|(_, i)| i).collect()))
}
