//! A radix tree that grows at both ends.

use super::node::{BITS, Branch, Leaf, TrieNode, WIDTH, index, nth, offset};
use crate::value::Value;
use std::rc::Rc;

/// Elements at the addresses from `start` up to `end` of a radix tree.
///
/// Addresses before and after may be occupied by elements of earlier versions; they are never shown.
#[derive(Clone)]
pub(super) struct Trie {
    root: TrieNode,
    shift: u32,
    start: u64,
    end: u64,
    /// Difference of neighbours in [`TrieNode::Range`].
    step: i64,
}

/// A run of neighbours that can be read without walking the tree again.
#[derive(Clone)]
pub(super) enum NeighbourRun {
    /// The leaf, whose first element has the address before the colon.
    Leaf(Rc<Leaf>),
    /// Integers: the first one of the run, and the step.
    Range(i64, i64),
    /// One value.
    Fill(Value),
}

impl Trie {
    fn uniform(root: TrieNode, step: i64, len: usize) -> Trie {
        Trie::from_root(root, step, 0, len as u64)
    }

    /// The elements at the addresses from `start` up to `end`, at least one, of a tree that is `root` all over.
    pub(super) fn from_root(root: TrieNode, step: i64, start: u64, end: u64) -> Trie {
        let mut shift = 0;
        while !fits(end - 1, shift) {
            shift += BITS;
        }
        Trie { root, shift, start, end, step }
    }

    /// The address of the first element.
    pub(super) fn start(&self) -> u64 {
        self.start
    }

    /// Replaces as many elements as `items` has, from the one at `index` on. They exist.
    pub(super) fn overwrite(&mut self, index: usize, items: impl Iterator<Item = Value>) {
        let mut items = items.peekable();
        let mut address = self.start + index as u64;
        while items.peek().is_some() {
            let places =
                &mut self.root.leaf_mut(self.shift, address, self.step)[super::node::index(address, 0)..];
            for (place, item) in places.iter_mut().zip(items.by_ref()) {
                place.put(item);
                address += 1;
            }
        }
    }

    /// `start, start + step, …`; `len` is not 0.
    pub(super) fn range(start: i64, step: i64, len: usize) -> Trie {
        Trie::uniform(TrieNode::Range(start), step, len)
    }

    /// `len` times `value`; `len` is not 0.
    pub(super) fn repeat(value: Value, len: usize) -> Trie {
        Trie::uniform(TrieNode::Fill(value), 0, len)
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        (self.end - self.start) as usize
    }

    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<Value> {
        let address = self.start + index as u64;
        if address >= self.end {
            return None;
        }
        Some(self.root.get(self.shift, address, self.step))
    }

    /// The element at `index`, which exists.
    pub(super) fn get_mut(&mut self, index: usize) -> &mut Value {
        let address = self.start + index as u64;
        self.at(address)
    }

    fn at(&mut self, address: u64) -> &mut Value {
        &mut self.root.leaf_mut(self.shift, address, self.step)[index(address, 0)]
    }

    pub(super) fn push_back(&mut self, value: Value) {
        if !fits(self.end, self.shift) {
            self.raise(0);
        }
        self.at(self.end).put(value);
        self.end += 1;
    }

    pub(super) fn push_front(&mut self, value: Value) {
        if self.start == 0 {
            self.raise(WIDTH / 2);
        }
        self.start -= 1;
        self.at(self.start).put(value);
    }

    /// Appends all of `items`, leaf by leaf.
    pub(super) fn extend(&mut self, items: impl IntoIterator<Item = Value>) {
        let mut items = items.into_iter().peekable();
        while items.peek().is_some() {
            if !fits(self.end, self.shift) {
                self.raise(0);
            }
            let from = index(self.end, 0);
            let places = &mut self.root.leaf_mut(self.shift, self.end, self.step)[from..];
            for place in places {
                let Some(item) = items.next() else { return };
                place.put(item);
                self.end += 1;
            }
        }
    }

    /// As [`extend`](Trie::extend); a whole leaf's elements, where one begins, are moved there together.
    pub(super) fn extend_vec(&mut self, items: Vec<Value>) {
        if index(self.end, 0) != 0 {
            return self.extend(items);
        }
        match <[Value; WIDTH]>::try_from(items) {
            Ok(items) => {
                if !fits(self.end, self.shift) {
                    self.raise(0);
                }
                self.root.put_leaf(self.shift, self.end, self.step, Leaf::new(items));
                self.end += WIDTH as u64;
            }
            Err(items) => self.extend(items),
        }
    }

    /// Whether `holds` says so of every element, asked in order until it does not.
    pub(super) fn all(&self, mut holds: impl FnMut(&Value) -> bool) -> bool {
        let mut next = 0;
        while next < self.len() {
            let (run, first, end) = self.run(next);
            let mut places = (next as i64 - first) as usize..(end as i64 - first) as usize;
            crate::meter::uncharged(places.len());
            let all = match &run {
                NeighbourRun::Leaf(leaf) => leaf.0[places].iter().all(&mut holds),
                run => places.all(|at| holds(&run.get(at))),
            };
            if !all {
                return false;
            }
            next = end;
        }
        true
    }

    /// Puts a new root above this one, which becomes its child `at`.
    fn raise(&mut self, at: usize) {
        let mut old = std::mem::replace(&mut self.root, TrieNode::Empty);
        let children = std::array::from_fn(|i| {
            if i == at { std::mem::replace(&mut old, TrieNode::Empty) } else { TrieNode::Empty }
        });
        self.root = TrieNode::Branch(Branch::new(children));
        self.shift += BITS;
        self.start += (at as u64) << self.shift;
        self.end += (at as u64) << self.shift;
    }

    /// Keeps the elements from `start` up to `end`, at least one, and lets go of all nodes without them.
    pub(super) fn narrow(&mut self, start: usize, end: usize) {
        let (first, last) = (self.start + start as u64, self.start + end as u64 - 1);
        let same_leaves = first >> BITS == self.start >> BITS && last >> BITS == (self.end - 1) >> BITS;
        self.start = first;
        self.end = last + 1;
        if same_leaves {
            return;
        }
        self.root.trim(self.shift, first, last);
        self.lower();
    }

    /// Replaces a root of which one child is in use by that child.
    fn lower(&mut self) {
        let last = self.end - 1;
        while self.shift > 0 && index(self.start, self.shift) == index(last, self.shift) {
            let TrieNode::Branch(branch) = &self.root else { return };
            let at = index(self.start, self.shift);
            let child = branch.0[at].clone();
            self.root = child;
            let below = (at as u64) << self.shift;
            self.start -= below;
            self.end -= below;
            self.shift -= BITS;
        }
    }

    /// The run that holds the element at `index`, which exists: with the index of the run's first element (negative if that is
    /// hidden) and the one after its last.
    pub(super) fn run(&self, index: usize) -> (NeighbourRun, i64, usize) {
        let address = self.start + index as u64;
        let (node, shift) = self.root.descend(self.shift, address);
        let before = offset(address, shift);
        let first = index as i64 - before as i64;
        let span = 1i64.checked_shl(shift + BITS).unwrap_or(i64::MAX);
        let end = usize::try_from(first.saturating_add(span)).unwrap_or(0).min(self.len());
        let run = match node {
            TrieNode::Leaf(leaf) => NeighbourRun::Leaf(leaf.clone()),
            TrieNode::Range(first) => NeighbourRun::Range(*first, self.step),
            TrieNode::Fill(value) => NeighbourRun::Fill(value.clone()),
            TrieNode::Branch(_) | TrieNode::Empty => NeighbourRun::Fill(Value::Nil),
        };
        (run, first, end)
    }
}

impl Drop for Trie {
    fn drop(&mut self) {
        self.root.drop_fill();
    }
}

impl NeighbourRun {
    /// The element `offset` after the run's first one.
    #[inline]
    pub(super) fn get(&self, offset: usize) -> Value {
        match self {
            NeighbourRun::Leaf(leaf) => leaf.0[offset % WIDTH].clone(),
            NeighbourRun::Range(first, step) => Value::Int(nth(*first, *step, offset as u64)),
            NeighbourRun::Fill(value) => value.clone(),
        }
    }
}

#[inline]
fn fits(address: u64, shift: u32) -> bool {
    address >> shift < WIDTH as u64
}

/// Collects elements into leaves, and leaves into a tree.
#[derive(Default)]
pub(super) struct Builder {
    leaves: Vec<TrieNode>,
    len: usize,
}

impl Builder {
    /// Appends `items` to whole leaves, the last of which may be filled in part.
    pub(super) fn extend(&mut self, items: impl IntoIterator<Item = Value>) {
        debug_assert!(self.len.is_multiple_of(WIDTH), "nothing comes behind a leaf that is not full");
        let mut items = items.into_iter();
        while let Some(first) = items.next() {
            let mut leaf = [const { Value::Nil }; WIDTH];
            leaf[0].put(first);
            let mut filled = 1;
            for (place, item) in leaf[1..].iter_mut().zip(items.by_ref()) {
                place.put(item);
                filled += 1;
            }
            self.len += filled;
            self.leaves.push(TrieNode::Leaf(Leaf::new(leaf)));
        }
    }

    /// The tree of all elements, of which there is at least one.
    pub(super) fn finish(self) -> Trie {
        let mut level = self.leaves;
        let mut shift = 0;
        while level.len() > 1 {
            let mut nodes = level.into_iter().peekable();
            let mut above = Vec::new();
            while nodes.peek().is_some() {
                let children = std::array::from_fn(|_| nodes.next().unwrap_or(TrieNode::Empty));
                above.push(TrieNode::Branch(Branch::new(children)));
            }
            level = above;
            shift += BITS;
        }
        Trie { root: level.pop().unwrap_or(TrieNode::Empty), shift, start: 0, end: self.len as u64, step: 0 }
    }
}
