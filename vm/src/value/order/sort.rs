//! A stable merge sort that survives any comparison.
//!
//! The sort of the standard library may panic when the order contradicts itself, and ours does as soon as the
//! program's steps are used up (see the text of [`meter`](crate::meter)).

use super::key_compare;
use crate::meter;
use crate::value::Value;
use std::cmp::Ordering;

/// Runs of this length are sorted by insertion before they are merged.
const RUN: usize = 8;

/// Items that are merged or moved between two places where others may have the thread.
const PIECE: usize = 1 << 10;
/// Merged or moved items that count as one unit of work.
const ITEMS_PER_UNIT: usize = 4;

/// Sorts `items` by the keys that `key` shows, in the order of [`key_compare`]; items of identical keys keep
/// their order. Allocates 8 bytes an item, if there are more than a few.
pub fn sort_by_key<T: Default>(items: &mut [T], key: impl Fn(&T) -> &Value) {
    sort_by(items, |a, b| key_compare(key(a), key(b)));
}

/// Sorts `items` stably. An order that contradicts itself gives any permutation. Allocates 8
/// bytes an item, if there are more than a few.
pub fn sort_by<T: Default>(items: &mut [T], mut compare: impl FnMut(&T, &T) -> Ordering) {
    if items.is_sorted_by(|a, b| compare(a, b).is_le()) {
        return;
    }
    if items.len() <= 2 * RUN {
        for sorted in 1..items.len() {
            let mut at = sorted;
            while at > 0 && compare(&items[at - 1], &items[at]).is_gt() {
                items.swap(at - 1, at);
                at -= 1;
            }
        }
        return;
    }
    let count = u32::try_from(items.len()).expect("fewer than 2³² items fit into memory limits");
    let mut from: Vec<u32> = (0..count).collect();
    let mut follows = |a: u32, b: u32| compare(&items[a as usize], &items[b as usize]).is_gt();
    for run in from.chunks_mut(RUN) {
        for sorted in 1..run.len() {
            let mut at = sorted;
            while at > 0 && follows(run[at - 1], run[at]) {
                run.swap(at - 1, at);
                at -= 1;
            }
        }
        meter::uncharged(RUN);
    }
    let mut into = Vec::with_capacity(from.len());
    let mut width = RUN;
    while width < from.len() {
        into.clear();
        for pair in from.chunks(2 * width) {
            let (mut left, mut right) = pair.split_at(width.min(pair.len()));
            while !left.is_empty() && !right.is_empty() {
                let stop = into.len() + PIECE;
                while into.len() < stop
                    && let (Some(&a), Some(&b)) = (left.first(), right.first())
                {
                    if follows(a, b) {
                        into.push(b);
                        right = &right[1..];
                    } else {
                        into.push(a);
                        left = &left[1..];
                    }
                }
                meter::uncharged((into.len() + PIECE - stop) / ITEMS_PER_UNIT);
            }
            into.extend_from_slice(left);
            into.extend_from_slice(right);
        }
        std::mem::swap(&mut from, &mut into);
        width *= 2;
    }
    permute(items, &mut from);
}

/// Puts the item that is at `sources[i]` to `i`, for all `i`.
fn permute<T: Default>(items: &mut [T], sources: &mut [u32]) {
    let mut moved = 0;
    for start in 0..items.len() {
        if sources[start] as usize == start {
            continue;
        }
        // Follow the cycle through `start`; every place visited becomes its own source.
        let first = std::mem::take(&mut items[start]);
        let mut hole = start;
        loop {
            let source = std::mem::replace(&mut sources[hole], hole as u32) as usize;
            if source == start {
                break;
            }
            items[hole] = std::mem::take(&mut items[source]);
            hole = source;
            moved += 1;
            if moved % PIECE == 0 {
                meter::uncharged(PIECE / ITEMS_PER_UNIT);
            }
        }
        items[hole] = first;
    }
}
