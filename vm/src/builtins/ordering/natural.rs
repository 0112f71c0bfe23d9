//! Sorting by the order of values where that is certainly consistent: keys of one simple kind, without calls.
//!
//! Runs of the keys are sorted one by one and then merged, a batch at a time, so that a long sort keeps neither the limits nor
//! other programs waiting.

use crate::builtins::support::Held;
use crate::error::Result;
use crate::machine::Ctx;
use crate::value::Value;
use std::cmp::Ordering;
use std::mem::{swap, take};

/// Keys that are sorted without a look at the meters: about a millisecond's work.
const RUN: usize = 16_384;
/// The same for texts, whose comparisons wait for memory.
const RUN_OF_TEXTS: usize = 4_096;

/// What all keys are.
#[derive(Clone, Copy)]
enum Kind {
    Int,
    /// None of them NaN.
    Float,
    Text,
    Keyword,
}

impl Kind {
    fn of(key: &Value) -> Option<Kind> {
        match key {
            Value::Int(_) => Some(Kind::Int),
            Value::Float(x) if !x.is_nan() => Some(Kind::Float),
            Value::Str(_) => Some(Kind::Text),
            Value::Keyword(_) => Some(Kind::Keyword),
            _ => None,
        }
    }

    /// Whether `key` is of this kind.
    fn has(self, key: &Value) -> bool {
        match (self, key) {
            (Kind::Int, Value::Int(_)) | (Kind::Text, Value::Str(_)) | (Kind::Keyword, Value::Keyword(_)) => {
                true
            }
            (Kind::Float, Value::Float(x)) => !x.is_nan(),
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
    kind: Kind,
    descending: bool,
    /// Steps of one comparison.
    cost: usize,
    /// Keys that are sorted at once.
    run: usize,
    /// Indices of the keys: those of the sorted runs, then those of the runs merged so far.
    order: Vec<u32>,
    /// What the present round of merging has put in order.
    merged: Vec<u32>,
    /// Length of the runs in `order`.
    width: usize,
    /// Next of the left run, and its end.
    left: (usize, usize),
    /// Next of the right run, and its end.
    right: (usize, usize),
    _held: Held,
}

impl Natural {
    /// A sort of these keys, ascending or descending, equal ones in the order they came; `None` when they are not all small
    /// integers, all strings, all keywords, or all floats but NaN.
    pub(super) fn of(ctx: &mut Ctx<'_>, keys: &[Value], descending: bool) -> Result<Option<Natural>> {
        let Some(kind) = keys.first().and_then(Kind::of) else { return Ok(None) };
        ctx.charge(keys.len())?;
        if !keys.iter().all(|key| kind.has(key)) {
            return Ok(None);
        }
        let (run, longest) = match kind {
            Kind::Int | Kind::Float => (RUN, 0),
            Kind::Text | Kind::Keyword => {
                (RUN_OF_TEXTS, keys.iter().map(|key| text(key).len()).max().unwrap_or(0))
            }
        };
        let at_once = keys.len().min(run).saturating_mul(2 * size_of::<(&str, u32)>());
        let rest = if keys.len() > run { keys.len().saturating_mul(2 * size_of::<u32>()) } else { 0 };
        let held = Held::new(at_once.saturating_add(rest))?;
        Ok(Some(Natural {
            kind,
            descending,
            cost: 1 + longest / 32,
            run,
            order: Vec::with_capacity(keys.len()),
            merged: Vec::new(),
            width: run,
            left: (0, 0),
            right: (0, 0),
            _held: held,
        }))
    }

    /// Sorts or merges for about a millisecond; the sorted indices, once all is done.
    pub(super) fn advance(&mut self, ctx: &mut Ctx<'_>, keys: &[Value]) -> Result<Option<Vec<u32>>> {
        let count = keys.len();
        let sorted = self.order.len();
        if sorted < count {
            let length = self.run.min(count - sorted);
            let comparisons = length.saturating_mul(length.max(2).ilog2() as usize);
            ctx.charge(comparisons.saturating_mul(self.cost))?;
        } else {
            ctx.charge(self.run.saturating_mul(self.cost))?;
        }
        match self.kind {
            Kind::Int => self.work(keys, int, i64::cmp),
            Kind::Float => self.work(keys, float, |a, b| a.partial_cmp(b).unwrap_or(Ordering::Equal)),
            Kind::Text | Kind::Keyword => self.work(keys, text, |a, b| a.cmp(b)),
        }
        let done = self.order.len() == count && self.width >= count;
        Ok(done.then(|| take(&mut self.order)))
    }

    fn work<'a, K>(
        &mut self,
        keys: &'a [Value],
        key: impl Fn(&'a Value) -> K,
        compare: impl Fn(&K, &K) -> Ordering,
    ) {
        if self.order.len() < keys.len() {
            self.sort_run(keys, key, compare);
        } else {
            self.merge(keys, key, compare);
        }
    }

    /// Sorts the next run.
    fn sort_run<'a, K>(
        &mut self,
        keys: &'a [Value],
        key: impl Fn(&'a Value) -> K,
        compare: impl Fn(&K, &K) -> Ordering,
    ) {
        let start = self.order.len();
        let end = keys.len().min(start + self.run);
        let mut pairs: Vec<(K, u32)> =
            keys[start..end].iter().zip(start as u32..).map(|(value, i)| (key(value), i)).collect();
        if self.descending {
            pairs.sort_by(|a, b| compare(&b.0, &a.0));
        } else {
            pairs.sort_by(|a, b| compare(&a.0, &b.0));
        }
        self.order.extend(pairs.into_iter().map(|(_, i)| i));
        if end == keys.len() && end > self.run {
            self.merged.reserve_exact(end);
            self.start_pair(0);
        }
    }

    fn start_pair(&mut self, start: usize) {
        let middle = (start + self.width).min(self.order.len());
        self.left = (start, middle);
        self.right = (middle, (middle + self.width).min(self.order.len()));
    }

    /// Merges pairs of runs until a batch is in order or the round is over.
    fn merge<'a, K>(
        &mut self,
        keys: &'a [Value],
        key: impl Fn(&'a Value) -> K,
        compare: impl Fn(&K, &K) -> Ordering,
    ) {
        let batch = self.merged.len() + self.run;
        let later = if self.descending { Ordering::Less } else { Ordering::Greater };
        let key = |i: u32| key(&keys[i as usize]);
        loop {
            while self.left.0 < self.left.1 && self.right.0 < self.right.1 {
                if self.merged.len() >= batch {
                    return;
                }
                let (first, second) = (self.order[self.left.0], self.order[self.right.0]);
                if compare(&key(first), &key(second)) == later {
                    self.merged.push(second);
                    self.right.0 += 1;
                } else {
                    self.merged.push(first);
                    self.left.0 += 1;
                }
            }
            self.merged.extend_from_slice(&self.order[self.left.0..self.left.1]);
            self.merged.extend_from_slice(&self.order[self.right.0..self.right.1]);
            let end = self.right.1;
            if end < self.order.len() {
                self.start_pair(end);
                continue;
            }
            swap(&mut self.order, &mut self.merged);
            self.merged.clear();
            self.width *= 2;
            self.start_pair(0);
            return;
        }
    }
}
