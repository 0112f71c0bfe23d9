//! Nodes of the radix tree.

use crate::meter;
use crate::value::deferred_drop::drop_all;
use crate::value::{Value, drop_deferred};
use std::mem::ManuallyDrop;
use std::rc::Rc;

/// Children of a branch and elements of a leaf.
pub(super) const WIDTH: usize = 32;
/// Bits of an address that one level of the tree takes.
pub(super) const BITS: u32 = 5;
const MASK: u64 = WIDTH as u64 - 1;

/// A subtree. Its height is known from the way to it: at `shift` 0 it spans [`WIDTH`] addresses, and 32 times
/// as many with every [`BITS`] more.
#[derive(Clone)]
pub(super) enum TrieNode {
    /// No addresses in use.
    Empty,
    Branch(Rc<Branch>),
    /// Only at `shift` 0.
    Leaf(Rc<Leaf>),
    /// Integers: this one first, each more by the step of the tree.
    Range(i64),
    /// This value everywhere.
    Fill(Value),
}

pub(super) struct Branch(pub(super) [TrieNode; WIDTH]);

/// Its `Drop` empties it: that the compiler drops the elements again, of which nothing is left, would cost more than making
/// a vector of numbers.
pub(super) struct Leaf(pub(super) ManuallyDrop<[Value; WIDTH]>);

impl Branch {
    pub(super) const BYTES: usize = size_of::<Branch>() + 16;

    pub(super) fn new(children: [TrieNode; WIDTH]) -> Rc<Branch> {
        meter::charge_memory(Branch::BYTES);
        Rc::new(Branch(children))
    }
}

impl Clone for Branch {
    fn clone(&self) -> Branch {
        meter::charge_memory(Branch::BYTES);
        Branch(self.0.clone())
    }
}

impl Drop for Branch {
    fn drop(&mut self) {
        meter::credit_memory(Branch::BYTES);
        for child in &mut self.0 {
            child.drop_fill();
        }
    }
}

impl Leaf {
    pub(super) const BYTES: usize = size_of::<Leaf>() + 16;

    pub(super) fn new(items: [Value; WIDTH]) -> Rc<Leaf> {
        meter::uncharged(WIDTH);
        meter::charge_memory(Leaf::BYTES);
        Rc::new(Leaf(ManuallyDrop::new(items)))
    }
}

impl Clone for Leaf {
    fn clone(&self) -> Leaf {
        meter::charge_memory(Leaf::BYTES);
        Leaf(self.0.clone())
    }
}

impl Drop for Leaf {
    fn drop(&mut self) {
        meter::credit_memory(Leaf::BYTES);
        drop_all(&mut *self.0);
    }
}

/// The index of the child on the way to `address`.
#[inline]
pub(super) fn index(address: u64, shift: u32) -> usize {
    ((address >> shift) & MASK) as usize
}

/// How far `address` is after the first one of its subtree at `shift`.
#[inline]
pub(super) fn offset(address: u64, shift: u32) -> u64 {
    address & (u64::MAX >> (64 - (shift + BITS)))
}

impl TrieNode {
    /// Drops a repeated value without native recursion into it.
    pub(super) fn drop_fill(&mut self) {
        if let TrieNode::Fill(value) = self {
            drop_deferred(std::mem::take(value));
        }
    }

    fn clear(&mut self) {
        self.drop_fill();
        *self = TrieNode::Empty;
    }

    /// The leaf or the uniform subtree that holds `address`, and its shift.
    #[inline]
    pub(super) fn descend(&self, mut shift: u32, address: u64) -> (&TrieNode, u32) {
        let mut node = self;
        while let TrieNode::Branch(branch) = node {
            node = &branch.0[index(address, shift)];
            shift -= BITS;
        }
        (node, shift)
    }

    /// The value at `address`; `nil` where nothing is.
    #[inline]
    pub(super) fn get(&self, shift: u32, address: u64, step: i64) -> Value {
        match self.descend(shift, address) {
            (TrieNode::Leaf(leaf), _) => leaf.0[index(address, 0)].clone(),
            (TrieNode::Range(first), shift) => Value::Int(nth(*first, step, offset(address, shift))),
            (TrieNode::Fill(value), _) => value.clone(),
            (TrieNode::Branch(_) | TrieNode::Empty, _) => Value::Nil,
        }
    }

    /// The leaf that holds `address`, to be changed: made where there is none, copied where it is shared.
    pub(super) fn leaf_mut(&mut self, mut shift: u32, address: u64, step: i64) -> &mut [Value; WIDTH] {
        let mut node = self;
        loop {
            node.unfold(shift, step);
            match node {
                TrieNode::Branch(branch) => {
                    node = &mut Rc::make_mut(branch).0[index(address, shift)];
                    shift -= BITS;
                }
                TrieNode::Leaf(leaf) => return &mut Rc::make_mut(leaf).0,
                _ => unreachable!("just unfolded"),
            }
        }
    }

    /// Puts `leaf` to the addresses from `address` on, the first ones of a leaf.
    pub(super) fn put_leaf(&mut self, mut shift: u32, address: u64, step: i64, leaf: Rc<Leaf>) {
        let mut node = self;
        while shift > 0 {
            node.unfold(shift, step);
            let TrieNode::Branch(branch) = node else { unreachable!("just unfolded") };
            node = &mut Rc::make_mut(branch).0[index(address, shift)];
            shift -= BITS;
        }
        node.drop_fill();
        *node = TrieNode::Leaf(leaf);
    }

    /// Makes a branch or a leaf of a node that is none.
    fn unfold(&mut self, shift: u32, step: i64) {
        if matches!(self, TrieNode::Branch(_) | TrieNode::Leaf(_)) {
            return;
        }
        let unfolded = if shift == 0 {
            let base = &*self;
            TrieNode::Leaf(Leaf::new(std::array::from_fn(|i| base.get(0, i as u64, step))))
        } else {
            let child = |i: usize| match self {
                TrieNode::Range(first) => TrieNode::Range(nth(*first, step, (i as u64) << shift)),
                TrieNode::Fill(value) => TrieNode::Fill(value.clone()),
                _ => TrieNode::Empty,
            };
            TrieNode::Branch(Branch::new(std::array::from_fn(child)))
        };
        self.drop_fill();
        *self = unfolded;
    }

    /// Lets go of all subtrees without an address from `first` to `last`, both in this subtree.
    pub(super) fn trim(&mut self, shift: u32, first: u64, last: u64) {
        let mut node = self;
        let mut shift = shift;
        // As long as both ends are in the same child there is one way down; then it forks.
        loop {
            let TrieNode::Branch(branch) = node else { return };
            let (low, high) = (index(first, shift), index(last, shift));
            let children = &mut Rc::make_mut(branch).0;
            children[..low].iter_mut().for_each(TrieNode::clear);
            children[high + 1..].iter_mut().for_each(TrieNode::clear);
            if low == high {
                node = &mut children[low];
                shift -= BITS;
                continue;
            }
            children[low].trim_edge(shift - BITS, first, true);
            children[high].trim_edge(shift - BITS, last, false);
            return;
        }
    }

    /// Lets go of all subtrees before `address`, or of all after it.
    fn trim_edge(&mut self, mut shift: u32, address: u64, before: bool) {
        let mut node = self;
        while let TrieNode::Branch(branch) = node {
            let here = index(address, shift);
            let children = &mut Rc::make_mut(branch).0;
            let outside = if before { &mut children[..here] } else { &mut children[here + 1..] };
            outside.iter_mut().for_each(TrieNode::clear);
            node = &mut children[here];
            // A leaf has shift 0 and no branch below, so that this never goes under.
            shift = shift.saturating_sub(BITS);
        }
    }
}

/// Integers outside the addresses in use may be outside 64 bits, but are never shown.
#[inline]
pub(super) fn nth(first: i64, step: i64, offset: u64) -> i64 {
    first.wrapping_add(step.wrapping_mul(offset as i64))
}
