//! Nodes of the B+ tree.

use super::EntryValue;
use crate::meter;
use crate::value::{Value, drop_deferred};
use std::rc::Rc;

/// Most keys of a leaf and most children of a branch.
pub(super) const WIDTH: usize = 32;

/// Nodes with fewer entries than this look for a neighbour to join.
pub(super) const SPARSE: usize = WIDTH / 3;

#[derive(Clone)]
pub(super) enum TreeNode<V: EntryValue> {
    Leaf(Rc<Leaf<V>>),
    Branch(Rc<Branch<V>>),
}

/// Keys with their payloads, at least one.
pub(in crate::value) struct Leaf<V: EntryValue> {
    pub(super) keys: Vec<Value>,
    pub(super) payloads: Vec<V>,
}

/// Children of the same height, at least one.
pub(super) struct Branch<V: EntryValue> {
    /// The first key of each child.
    pub(super) firsts: Vec<Value>,
    /// How many keys each child has.
    pub(super) sizes: Vec<usize>,
    pub(super) children: Vec<TreeNode<V>>,
}

impl<V: EntryValue> Leaf<V> {
    /// Leaves have room for [`WIDTH`] keys from the beginning.
    const BYTES: usize = size_of::<Leaf<V>>() + 16 + WIDTH * (size_of::<Value>() + size_of::<V>());

    pub(super) fn new() -> Leaf<V> {
        meter::uncharged(WIDTH);
        meter::charge_memory(Leaf::<V>::BYTES);
        Leaf { keys: Vec::with_capacity(WIDTH), payloads: Vec::with_capacity(WIDTH) }
    }

    /// The entry at `index`, which exists.
    #[inline]
    pub(super) fn entry(&self, index: usize) -> (&Value, &V) {
        (&self.keys[index], &self.payloads[index])
    }

    /// Moves the entries from `at` on into a new leaf.
    pub(super) fn split(&mut self, at: usize) -> Leaf<V> {
        let mut right = Leaf::new();
        right.keys.extend(self.keys.drain(at..));
        right.payloads.extend(self.payloads.drain(at..));
        right
    }
}

impl<V: EntryValue> Clone for Leaf<V> {
    fn clone(&self) -> Leaf<V> {
        let mut leaf = Leaf::new();
        leaf.keys.extend_from_slice(&self.keys);
        leaf.payloads.extend_from_slice(&self.payloads);
        leaf
    }
}

impl<V: EntryValue> Drop for Leaf<V> {
    fn drop(&mut self) {
        meter::credit_memory(Leaf::<V>::BYTES);
        meter::uncharged(self.keys.len());
        self.keys.drain(..).for_each(drop_deferred);
        self.payloads.drain(..).for_each(V::discard);
    }
}

impl<V: EntryValue> Branch<V> {
    const BYTES: usize = size_of::<Branch<V>>()
        + 16
        + WIDTH * (size_of::<Value>() + size_of::<usize>() + size_of::<TreeNode<V>>());

    pub(super) fn new() -> Branch<V> {
        meter::charge_memory(Branch::<V>::BYTES);
        Branch {
            firsts: Vec::with_capacity(WIDTH),
            sizes: Vec::with_capacity(WIDTH),
            children: Vec::with_capacity(WIDTH),
        }
    }

    pub(super) fn insert(&mut self, index: usize, child: TreeNode<V>) {
        self.firsts.insert(index, child.first_key().clone());
        self.sizes.insert(index, child.len());
        self.children.insert(index, child);
    }

    pub(super) fn push(&mut self, child: TreeNode<V>) {
        self.insert(self.children.len(), child);
    }

    pub(super) fn remove(&mut self, index: usize) -> TreeNode<V> {
        drop_deferred(self.firsts.remove(index));
        self.sizes.remove(index);
        self.children.remove(index)
    }

    /// Updates its record of a child that has changed.
    pub(super) fn refresh(&mut self, index: usize) {
        self.sizes[index] = self.children[index].len();
        drop_deferred(std::mem::replace(&mut self.firsts[index], self.children[index].first_key().clone()));
    }

    /// Moves the children from `at` on into a new branch.
    pub(super) fn split(&mut self, at: usize) -> Branch<V> {
        let mut right = Branch::new();
        right.firsts.extend(self.firsts.drain(at..));
        right.sizes.extend(self.sizes.drain(at..));
        right.children.extend(self.children.drain(at..));
        right
    }
}

impl<V: EntryValue> Clone for Branch<V> {
    fn clone(&self) -> Branch<V> {
        let mut branch = Branch::new();
        branch.firsts.extend_from_slice(&self.firsts);
        branch.sizes.extend_from_slice(&self.sizes);
        branch.children.extend_from_slice(&self.children);
        branch
    }
}

impl<V: EntryValue> Drop for Branch<V> {
    fn drop(&mut self) {
        meter::credit_memory(Branch::<V>::BYTES);
        self.firsts.drain(..).for_each(drop_deferred);
    }
}

impl<V: EntryValue> TreeNode<V> {
    /// How many keys it holds, itself or below.
    pub(super) fn len(&self) -> usize {
        match self {
            TreeNode::Leaf(leaf) => leaf.keys.len(),
            TreeNode::Branch(branch) => branch.sizes.iter().sum(),
        }
    }

    /// How many keys or children it has itself.
    pub(super) fn width(&self) -> usize {
        match self {
            TreeNode::Leaf(leaf) => leaf.keys.len(),
            TreeNode::Branch(branch) => branch.children.len(),
        }
    }

    pub(super) fn first_key(&self) -> &Value {
        match self {
            TreeNode::Leaf(leaf) => &leaf.keys[0],
            TreeNode::Branch(branch) => &branch.firsts[0],
        }
    }

    /// Takes over all entries of the node to the right of it.
    pub(super) fn join(&mut self, right: TreeNode<V>) {
        match (self, right) {
            (TreeNode::Leaf(left), TreeNode::Leaf(mut right)) => {
                let (left, right) = (Rc::make_mut(left), Rc::make_mut(&mut right));
                left.keys.append(&mut right.keys);
                left.payloads.append(&mut right.payloads);
            }
            (TreeNode::Branch(left), TreeNode::Branch(mut right)) => {
                let (left, right) = (Rc::make_mut(left), Rc::make_mut(&mut right));
                left.firsts.append(&mut right.firsts);
                left.sizes.append(&mut right.sizes);
                left.children.append(&mut right.children);
            }
            _ => unreachable!("neighbours have the same height"),
        }
    }
}
