//! `permutations`, `cartesian-product` and their kin, in the order and with the treatment of equal items of
//! `clojure.math.combinatorics`.

use super::mixing::next_choice;
use crate::builtins::support::{Builder, Table, check, elements};
use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::meter;
use crate::value::{Value, Vector};
use std::mem::take;

const SLOT: usize = size_of::<Value>();
/// Bytes of a result besides its items.
const RESULT: usize = 64;

/// The elements of a collection.
fn items(ctx: &mut Ctx<'_>, name: &str, value: &mut Value) -> Result<Vec<Value>> {
    if !value.is_seqable() {
        return Err(Error::argument_types(name, std::slice::from_ref(value)));
    }
    let all = elements(ctx, take(value))?.unwrap_or_default();
    ctx.charge(all.len())?;
    ctx.reserve(all.len().saturating_mul(4 * SLOT))?;
    Ok(all.to_vec())
}

/// Different items in the order in which they come first, and for each item, sorted, which of them it is.
fn ranked(items: Vec<Value>) -> Result<(Vec<Value>, Vec<usize>)> {
    let mut seen: Table<usize> = Table::default();
    let mut different = Vec::new();
    let mut ranks = Vec::with_capacity(items.len());
    for item in items {
        let (rank, fresh) = seen.entry(item.clone(), || different.len())?;
        ranks.push(*rank);
        if fresh {
            different.push(item);
        }
    }
    ranks.sort_unstable();
    Ok((different, ranks))
}

/// Adds the items of these ranks to the results, for the price of one.
fn add(out: &mut Builder, different: &[Value], ranks: impl ExactSizeIterator<Item = usize>) -> Result<()> {
    let count = ranks.len();
    meter::charge_steps(1 + count as u64)?;
    meter::reserve(count.saturating_mul(SLOT) + RESULT)?;
    let result: Vector = ranks.map(|rank| different[rank].clone()).collect();
    out.push(Value::Vector(result))
}

/// `(combinatorics/permutations c)`: all orders, in that of the places of the items; equal items count as one.
pub(super) fn permutations(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let (different, mut ranks) = ranked(items(ctx, "combinatorics/permutations", &mut args[0])?)?;
    let mut out = Builder::new();
    loop {
        add(&mut out, &different, ranks.iter().copied())?;
        // The next order: the last rank that has a larger one behind it changes places with the smallest of those.
        let Some(at) = (1..ranks.len()).rev().find(|at| ranks[at - 1] < ranks[*at]) else {
            return Ok(out.take());
        };
        let with = (at..ranks.len()).rev().find(|with| ranks[*with] > ranks[at - 1]).unwrap_or(at);
        ranks.swap(at - 1, with);
        ranks[at..].reverse();
    }
}

/// Adds all combinations of `n` of the sorted ranks, each once.
fn choose(out: &mut Builder, different: &[Value], ranks: &[usize], n: usize) -> Result<()> {
    let mut chosen: Vec<usize> = (0..n).collect();
    loop {
        meter::charge_steps(1 + n as u64)?;
        // Of equal items those that come first stand for the others.
        let is_first = chosen.iter().enumerate().all(|(i, &place)| {
            place == 0 || ranks[place - 1] != ranks[place] || i > 0 && chosen[i - 1] == place - 1
        });
        if is_first {
            add(out, different, chosen.iter().map(|place| ranks[*place]))?;
        }
        if !next_choice(&mut chosen, ranks.len()) {
            return Ok(());
        }
    }
}

/// A count of items that is not negative.
fn size(name: &str, args: &[Value]) -> Result<usize> {
    match &args[1] {
        Value::Int(n) if *n < 0 => Ok(0),
        n => check::count(n).ok_or_else(|| Error::argument_types(name, args)),
    }
}

/// `(combinatorics/combinations c n)`: equal items count as one.
pub(super) fn combinations(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let n = size("combinatorics/combinations", args)?;
    let (different, ranks) = ranked(items(ctx, "combinatorics/combinations", &mut args[0])?)?;
    let mut out = Builder::new();
    if n <= ranks.len() {
        choose(&mut out, &different, &ranks, n)?;
    }
    Ok(out.take())
}

/// `(combinatorics/subsets c)`: the combinations of each size.
pub(super) fn subsets(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let (different, ranks) = ranked(items(ctx, "combinatorics/subsets", &mut args[0])?)?;
    let mut out = Builder::new();
    for n in 0..=ranks.len() {
        choose(&mut out, &different, &ranks, n)?;
    }
    Ok(out.take())
}

/// All ways to take one item of each, the last one changing first.
fn product(all: &[&[Value]]) -> Result<Value> {
    let mut out = Builder::new();
    if all.iter().any(|items| items.is_empty()) {
        return Ok(out.take());
    }
    let mut places = vec![0; all.len()];
    loop {
        meter::charge_steps(1 + all.len() as u64)?;
        meter::reserve(all.len().saturating_mul(SLOT) + RESULT)?;
        let result: Vector = all.iter().zip(&places).map(|(items, place)| items[*place].clone()).collect();
        out.push(Value::Vector(result))?;
        let Some(moving) = (0..all.len()).rev().find(|i| places[*i] + 1 < all[*i].len()) else {
            return Ok(out.take());
        };
        places[moving] += 1;
        places[moving + 1..].fill(0);
    }
}

/// `(combinatorics/cartesian-product & cs)`
pub(super) fn cartesian_product(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let mut all = Vec::with_capacity(args.len());
    for arg in args {
        all.push(items(ctx, "combinatorics/cartesian-product", arg)?);
    }
    let all: Vec<&[Value]> = all.iter().map(Vec::as_slice).collect();
    product(&all)
}

/// `(combinatorics/selections c n)`: all ways to take n items, one item as often as it may be.
pub(super) fn selections(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let n = size("combinatorics/selections", args)?;
    let items = items(ctx, "combinatorics/selections", &mut args[0])?;
    ctx.charge(n)?;
    ctx.reserve(n.saturating_mul(2 * SLOT))?;
    product(&vec![items.as_slice(); n])
}
