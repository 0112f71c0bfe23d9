//! Iteration over a vector, leaf by leaf.

use super::trie::NeighbourRun;
use super::{Repr, Vector};
use crate::meter;
use crate::value::Value;

/// Iterates a vector that it holds.
#[derive(Clone)]
pub struct VectorIter {
    vector: Vector,
    next: usize,
    end: usize,
    /// The run of a tree that `next` is in, if `next` is before `run_end`; flat vectors need none.
    run: Option<NeighbourRun>,
    /// The index of the run's first element; negative when a slice hides it.
    run_start: i64,
    run_end: usize,
}

impl VectorIter {
    #[inline]
    pub(super) fn new(vector: Vector) -> VectorIter {
        let end = vector.len();
        let run_end = if vector.as_flat().is_some() { end } else { 0 };
        VectorIter { vector, next: 0, end, run: None, run_start: 0, run_end }
    }

    /// The remaining elements, as a vector.
    pub fn rest(&self) -> Vector {
        self.vector.slice(self.next, self.end)
    }

    /// The vector, and how many of its elements have been taken from the front.
    pub(crate) fn taken(&self) -> (&Vector, usize) {
        (&self.vector, self.next)
    }

    #[cold]
    fn load(&mut self) {
        if let Repr::Tree(trie) = &*self.vector.0 {
            let (run, start, end) = trie.run(self.next);
            (self.run, self.run_start, self.run_end) = (Some(run), start, end);
            meter::uncharged(Vector::BLOCK);
        }
    }
}

impl Iterator for VectorIter {
    type Item = Value;

    #[inline]
    fn next(&mut self) -> Option<Value> {
        if self.next >= self.end {
            return None;
        }
        if self.next >= self.run_end {
            self.load();
        }
        let index = self.next;
        self.next += 1;
        match &self.run {
            None => self.vector.get(index),
            Some(run) => Some(run.get((index as i64 - self.run_start) as usize)),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.end - self.next, Some(self.end - self.next))
    }

    fn nth(&mut self, n: usize) -> Option<Value> {
        let skipped = self.next.saturating_add(n).min(self.end);
        self.next = skipped;
        self.next()
    }
}

impl DoubleEndedIterator for VectorIter {
    #[inline]
    fn next_back(&mut self) -> Option<Value> {
        if self.next >= self.end {
            return None;
        }
        self.end -= 1;
        self.vector.get(self.end)
    }
}

impl ExactSizeIterator for VectorIter {}
