//! Sorting by the order of values where that is certainly consistent: keys of one simple kind, without calls.
//!
//! Runs of the keys are sorted one by one and then merged, a batch at a time, so that a long sort keeps neither the limits nor
//! other programs waiting.

use super::merge::Merge;
use crate::builtins::support::MemoryCharge;
use crate::error::Result;
use crate::machine::Ctx;
use crate::value::{Value, Vector};
use std::cmp::Ordering;

/// Keys that are sorted without checking the meters: about a millisecond's work.
const RUN: usize = 16_384;
/// The same for texts, whose comparisons wait for memory.
const RUN_OF_TEXTS: usize = 4_096;

/// The common type of all keys.
#[derive(Clone, Copy)]
enum KeyType {
    Int,
    /// None of them NaN.
    Float,
    Text,
    Keyword,
}

impl KeyType {
    fn of(key: &Value) -> Option<KeyType> {
        match key {
            Value::Int(_) => Some(KeyType::Int),
            Value::Float(x) if !x.is_nan() => Some(KeyType::Float),
            Value::Str(_) => Some(KeyType::Text),
            Value::Keyword(_) => Some(KeyType::Keyword),
            _ => None,
        }
    }

    /// Whether `key` is of this kind.
    fn has(self, key: &Value) -> bool {
        match (self, key) {
            (KeyType::Int, Value::Int(_))
            | (KeyType::Text, Value::Str(_))
            | (KeyType::Keyword, Value::Keyword(_)) => true,
            (KeyType::Float, Value::Float(x)) => !x.is_nan(),
            _ => false,
        }
    }
}

fn int(key: &Value) -> i64 {
    match key {
        Value::Int(n) => *n,
        _ => 0,
    }
}

fn float(key: &Value) -> f64 {
    match key {
        Value::Float(x) => x.get(),
        _ => 0.0,
    }
}

fn text(key: &Value) -> &str {
    match key {
        Value::Str(text) => text.as_str(),
        Value::Keyword(keyword) => keyword.name(),
        _ => "",
    }
}

/// A sort under way.
pub(super) struct Natural {
    order: Order,
    descending: bool,
    /// Steps of one comparison.
    cost: usize,
    _held: MemoryCharge,
}

/// The sort in progress.
enum Order {
    /// Integers that are their own keys. Equal ones are indistinguishable, so that no order among them need be kept.
    Integers(Merge<i64>),
    /// The indices of keys of this kind.
    Indices(KeyType, Merge<u32>),
}

/// The sorted result.
pub(super) enum SortResult<'a> {
    /// The items themselves.
    Integers(&'a [i64]),
    /// Where they lie.
    Indices(&'a [u32]),
}

impl Natural {
    /// A sort of these keys, ascending or descending, equal ones in the order they came; `None` when they are not all small
    /// integers, all strings, all keywords, or all floats but NaN. `alone`: they are all that is sorted.
    pub(super) fn of(
        ctx: &mut Ctx<'_>,
        keys: &Vector,
        alone: bool,
        descending: bool,
    ) -> Result<Option<Natural>> {
        let Some(kind) = keys.first().as_ref().and_then(KeyType::of) else { return Ok(None) };
        ctx.charge(keys.len())?;
        if alone && let KeyType::Int = kind {
            return Natural::of_integers(keys, descending);
        }
        let mut longest = 0;
        let same = keys.all(|key| {
            longest = longest.max(text(key).len());
            kind.has(key)
        });
        if !same {
            return Ok(None);
        }
        let run = match kind {
            KeyType::Int | KeyType::Float => RUN,
            KeyType::Text | KeyType::Keyword => RUN_OF_TEXTS,
        };
        let count = keys.len();
        let at_once = count.min(run).saturating_mul(2 * size_of::<(&str, u32)>());
        let held = MemoryCharge::new(at_once.saturating_add(bytes_of::<u32>(count, run)))?;
        let order = Order::Indices(kind, Merge::by_runs((0..count as u32).collect(), run));
        Ok(Some(Natural { order, descending, cost: 1 + longest / 32, _held: held }))
    }

    fn of_integers(keys: &Vector, descending: bool) -> Result<Option<Natural>> {
        let held = MemoryCharge::new(bytes_of::<i64>(keys.len(), RUN))?;
        let mut integers = Vec::with_capacity(keys.len());
        let same = keys.all(|key| match key {
            Value::Int(n) => {
                integers.push(*n);
                true
            }
            _ => false,
        });
        let order = Order::Integers(Merge::by_runs(integers, RUN));
        Ok(same.then_some(Natural { order, descending, cost: 1, _held: held }))
    }

    /// Whether it needs no keys any more.
    pub(super) fn has_keys(&self) -> bool {
        matches!(self.order, Order::Integers(_))
    }

    /// Sorts or merges for about a millisecond. Returns the result, once all is done.
    pub(super) fn advance(&mut self, ctx: &mut Ctx<'_>, keys: &[Value]) -> Result<Option<SortResult<'_>>> {
        let (unsorted, run) = match &self.order {
            Order::Integers(merge) => (merge.unsorted_run(), merge.run()),
            Order::Indices(_, merge) => (merge.unsorted_run(), merge.run()),
        };
        let comparisons = match unsorted.map(|run| run.len()) {
            Some(length) => length.saturating_mul(length.max(2).ilog2() as usize),
            None => run,
        };
        ctx.charge(comparisons.saturating_mul(self.cost))?;
        let descending = self.descending;
        Ok(match &mut self.order {
            Order::Integers(merge) => {
                let done = if descending {
                    merge.advance(|run| run.sort_unstable_by(|a, b| b.cmp(a)), |a, b| a < b)
                } else {
                    merge.advance(<[i64]>::sort_unstable, |a, b| a > b)
                };
                done.then(|| SortResult::Integers(merge.sorted()))
            }
            Order::Indices(kind, merge) => {
                let done = match kind {
                    KeyType::Int => by_keys(merge, keys, descending, int, i64::cmp),
                    KeyType::Float => by_keys(merge, keys, descending, float, |a, b| {
                        a.partial_cmp(b).unwrap_or(Ordering::Equal)
                    }),
                    KeyType::Text | KeyType::Keyword => {
                        by_keys(merge, keys, descending, text, |a, b| a.cmp(b))
                    }
                };
                done.then(|| SortResult::Indices(merge.sorted()))
            }
        })
    }
}

/// Bytes of a sort of `count` items `T`, which are merged where they are more than a run.
fn bytes_of<T>(count: usize, run: usize) -> usize {
    let copies = if count > run { 2 } else { 1 };
    count.saturating_mul(copies * size_of::<T>())
}

/// Takes the sort of the indices of `keys` further. Whether it is done.
fn by_keys<'a, K>(
    merge: &mut Merge<u32>,
    keys: &'a [Value],
    descending: bool,
    key: impl Fn(&'a Value) -> K,
    compare: impl Fn(&K, &K) -> Ordering,
) -> bool {
    let later = if descending { Ordering::Less } else { Ordering::Greater };
    let sort = |run: &mut [u32]| {
        let mut pairs: Vec<(K, u32)> = run.iter().map(|i| (key(&keys[*i as usize]), *i)).collect();
        if descending {
            pairs.sort_by(|a, b| compare(&b.0, &a.0));
        } else {
            pairs.sort_by(|a, b| compare(&a.0, &b.0));
        }
        run.iter_mut().zip(pairs).for_each(|(place, (_, i))| *place = i);
    };
    let second_first = |a: u32, b: u32| compare(&key(&keys[a as usize]), &key(&keys[b as usize])) == later;
    merge.advance(sort, second_first)
}
