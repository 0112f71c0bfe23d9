//! A vector as pieces: elements side by side, and stretches that are a run of integers or one value over and over.
//!
//! A tree has one progression (or one repeated value) over all its addresses, which shows wherever it has no leaf. So a vector
//! is written as that, and the elements of its leaves.

use super::node::{BITS, Branch, Leaf, TrieNode, WIDTH, nth};
use super::trie::{NeighbourRun, Trie};
use super::{LENGTH_MAX, Repr, Vector};
use crate::value::Value;

/// The elements of a tree where it has no leaf.
#[derive(Clone, Debug)]
pub(crate) enum Uniform {
    /// The integer that the first element would be, and the difference of neighbours. Integers outside 64 bits wrap, but are
    /// never shown.
    Run(i64, i64),
    /// The value.
    Repeat(Value),
}

/// A vector with stretches that take no memory.
#[derive(Debug)]
pub(crate) struct Pieces {
    /// The elements of the stretches.
    pub(crate) uniform: Uniform,
    /// The address of the first element: which elements lie together in a leaf depends on it.
    pub(crate) start: u64,
    /// Lengths, in turn of elements that are there and of stretches that are not; the first may be 0.
    pub(crate) lengths: Vec<usize>,
}

/// Levels of the highest tree.
const LEVELS: u32 = 51_u32.div_ceil(BITS);
/// Largest address of a first element.
const START_MAX: u64 = LENGTH_MAX as u64;

impl Vector {
    /// The pieces of a vector that has such stretches.
    pub(crate) fn pieces(&self) -> Option<Pieces> {
        let Repr::Tree(trie) = &*self.0 else { return None };
        let mut uniform = None;
        let mut lengths: Vec<usize> = vec![0];
        let (mut at, len) = (0, trie.len());
        while at < len {
            let (run, first, end) = trie.run(at);
            crate::meter::uncharged(Vector::BLOCK);
            let is_there = match run {
                NeighbourRun::Leaf(_) => true,
                NeighbourRun::Range(from, step) => {
                    // `first` may be before the first element, and `from` is what would be there.
                    let base = nth(from, step, 0_u64.wrapping_sub(first as u64));
                    uniform.get_or_insert(Uniform::Run(base, step));
                    false
                }
                NeighbourRun::Fill(value) => {
                    uniform.get_or_insert(Uniform::Repeat(value));
                    false
                }
            };
            // Elements that are there have even places.
            if is_there == lengths.len().is_multiple_of(2) {
                lengths.push(0);
            }
            if let Some(last) = lengths.last_mut() {
                *last += end - at;
            }
            at = end;
        }
        let uniform = uniform?;
        Some(Pieces { uniform, start: lowered(trie.start(), len), lengths })
    }

    /// Most bytes that the nodes of a tree of such pieces can take.
    pub(crate) fn bytes_of_pieces(lengths: &[usize]) -> usize {
        let sum = |lengths: &mut dyn Iterator<Item = &usize>| {
            lengths.fold(0_usize, |sum, length| sum.saturating_add(*length))
        };
        let len = sum(&mut lengths.iter());
        let there = sum(&mut lengths.iter().step_by(2));
        let leaves = (there / WIDTH).saturating_add(2 * lengths.len());
        // A level has no more branches than leaves below them, and no more than cover all elements.
        let branches =
            (1..LEVELS).map(|level| leaves.min(len.checked_shr(level * BITS).unwrap_or(0) + 2)).sum();
        leaves.saturating_mul(Leaf::BYTES).saturating_add(Branch::BYTES.saturating_mul(branches))
    }

    /// The vector of these pieces, with `items` for the elements that are there. `None` if they do not fit together.
    ///
    /// Memory is charged as it is taken; callers [reserve](crate::meter::reserve) nothing for the stretches.
    pub(crate) fn from_pieces(pieces: Pieces, items: Vec<Value>) -> Option<Vector> {
        let Pieces { uniform, start, lengths } = pieces;
        let len = lengths.iter().try_fold(0_usize, |sum, length| sum.checked_add(*length))?;
        let there = lengths.iter().step_by(2).try_fold(0_usize, |sum, length| sum.checked_add(*length))?;
        if len == 0 || len > LENGTH_MAX || start > START_MAX || there != items.len() {
            return None;
        }
        let start = lowered(start, len);
        let (root, step) = match uniform {
            // What is at the first address of all.
            Uniform::Run(first, step) => (TrieNode::Range(nth(first, step, 0_u64.wrapping_sub(start))), step),
            Uniform::Repeat(value) => (TrieNode::Fill(value), 0),
        };
        let mut trie = Trie::from_root(root, step, start, start + len as u64);
        let (mut items, mut at) = (items.into_iter(), 0);
        for (place, length) in lengths.into_iter().enumerate() {
            if place.is_multiple_of(2) {
                trie.overwrite(at, items.by_ref().take(length));
            }
            at += length;
        }
        Some(Vector::from_trie(trie))
    }
}

/// The address of the first of `len` elements in the smallest tree that has them.
fn lowered(start: u64, len: usize) -> u64 {
    let last = start + len as u64 - 1;
    let mut shift = 0;
    // The first level above which both ends are in the same child.
    while start >> (shift + BITS) != last >> (shift + BITS) {
        shift += BITS;
    }
    start & ((1 << (shift + BITS)) - 1)
}
