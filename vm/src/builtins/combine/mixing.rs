//! Several collections at a time: `interleave`, `interpose`, `zip`, `zipmap`, `combinations`.

use crate::builtins::support::transducer;
use crate::builtins::support::{Builder, check, elements, endless, errors, sequence};
use crate::error::{Error, Result};
use crate::machine::{Ctx, Flow};
use crate::value::{Cursor, Map, Value, Vector};
use std::mem::take;

const SLOT: usize = size_of::<Value>();

/// `(interleave & cs)`
pub(super) fn interleave(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    if !args.iter().all(|arg| arg.is_seqable() || endless::open(arg).is_some()) {
        return Err(Error::argument_types("interleave", args));
    }
    let mut all = sequence::in_step(ctx, args, |_, value| errors::not_a_collection(value))?;
    let shortest = all.iter().map(Cursor::remaining).min().unwrap_or(0);
    let total = shortest.saturating_mul(all.len());
    ctx.charge(total)?;
    let mut out = Builder::with_capacity(total)?;
    for _ in 0..shortest {
        for items in &mut all {
            out.push(items.advance().unwrap_or_default())?;
        }
    }
    Ok(out.take())
}

/// `(interpose sep c)`
pub(crate) fn interpose(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    if args.len() == 1 {
        return transducer(ctx, "interpose", args);
    }
    if !args[1].is_seqable() {
        return Err(Error::argument_types("interpose", args));
    }
    let all = elements(ctx, take(&mut args[1]))?.unwrap_or_default();
    let total = all.len().saturating_mul(2).saturating_sub(1);
    ctx.charge(total)?;
    let mut out = Builder::with_capacity(total)?;
    for (i, item) in all.into_iter().enumerate() {
        if i > 0 {
            out.push(args[0].clone())?;
        }
        out.push(item)?;
    }
    Ok(Flow::Return(out.take()))
}

/// `(zip a b)`
pub(super) fn zip(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let (
        Value::Vector(a) | Value::List(a) | Value::Queue(a),
        Value::Vector(b) | Value::List(b) | Value::Queue(b),
    ) = (&args[0], &args[1])
    else {
        return Err(Error::argument_types("zip", args));
    };
    let count = a.len().min(b.len());
    ctx.charge(count)?;
    ctx.reserve(count.saturating_mul(SLOT + sequence::PAIR))?;
    let mut out = Builder::with_capacity(count)?;
    for (a, b) in a.iter().zip(b.iter()) {
        out.push(Value::pair(a, b))?;
    }
    Ok(out.take())
}

/// `(zipmap ks vs)`
pub(super) fn zipmap(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let refuse = |i, value: &Value| Error::argument("zipmap", i + 1, "seqable", value);
    let mut both = sequence::in_step(ctx, args, refuse)?.into_iter();
    let (Some(mut keys), Some(mut values)) = (both.next(), both.next()) else {
        return Ok(Value::Map(Map::new()));
    };
    let count = keys.remaining().min(values.remaining());
    ctx.charge(count)?;
    ctx.reserve(count.saturating_mul(4 * SLOT))?;
    let mut entries = Vec::with_capacity(count);
    while let (Some(key), Some(value)) = (keys.advance(), values.advance()) {
        entries.push((key, value));
    }
    Ok(Value::Map(Map::from_entries(entries)))
}

/// How many ways there are to choose `k` of `n`; saturates.
fn choose(n: usize, k: usize) -> usize {
    let k = k.min(n - k) as u128;
    let mut ways: u128 = 1;
    for i in 0..k {
        // Exact: the product of i + 1 neighbours is divisible by i + 1.
        ways = match ways.checked_mul(n as u128 - i) {
            Some(product) => product / (i + 1),
            None => return usize::MAX,
        };
        if ways > usize::MAX as u128 {
            return usize::MAX;
        }
    }
    ways as usize
}

/// Moves on to the next choice of places, of which there are `count`, in order: the last one that can move does, and those
/// after it follow next to it. `false` after the last choice.
pub(super) fn next_choice(chosen: &mut [usize], count: usize) -> bool {
    let n = chosen.len();
    let Some(moving) = (0..n).rev().find(|i| chosen[*i] < count - n + i) else { return false };
    chosen[moving] += 1;
    for i in moving + 1..n {
        chosen[i] = chosen[i - 1] + 1;
    }
    true
}

/// `(combinations c n)`
pub(super) fn combinations(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    if !args[0].is_seqable() {
        return Err(Error::argument_types("combinations", args));
    }
    let all = elements(ctx, take(&mut args[0]))?.unwrap_or_default();
    let n = match &args[1] {
        Value::Int(n) if *n < 0 => None,
        n => check::count(n),
    };
    let Some(n) = n.filter(|n| *n <= all.len()) else { return Ok(Value::vector([])) };
    if n == 0 {
        return Ok(Value::vector([Value::vector([])]));
    }
    let count = choose(all.len(), n);
    ctx.reserve(count.saturating_mul(n.saturating_mul(SLOT).saturating_add(SLOT + 64)))?;
    ctx.charge(count.saturating_mul(n))?;
    let items = all.to_vec();
    let mut chosen: Vec<usize> = (0..n).collect();
    let mut out = Builder::with_capacity(count)?;
    loop {
        let subset: Vector = chosen.iter().map(|i| items[*i].clone()).collect();
        out.push(Value::Vector(subset))?;
        if !next_choice(&mut chosen, items.len()) {
            return Ok(out.take());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::choose;

    #[test]
    fn counts_of_combinations_saturate() {
        assert_eq!(choose(5, 2), 10);
        assert_eq!(choose(40, 20), 137_846_528_820);
        assert_eq!(choose(7, 7), 1);
        assert_eq!(choose(100_000, 50_000), usize::MAX);
    }
}
