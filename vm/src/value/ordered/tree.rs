//! A persistent B+ tree.

use super::EntryValue;
use super::node::{Branch, Leaf, SPARSE, TreeNode, WIDTH};
use crate::meter;
use crate::value::Value;
use crate::value::order::key_compare;
use std::cmp::Ordering;
use std::rc::Rc;

/// At least one key.
#[derive(Clone)]
pub(super) struct Tree<V: EntryValue> {
    root: TreeNode<V>,
    len: usize,
}

impl<V: EntryValue> Tree<V> {
    /// The tree of these entries, in ascending order, at least one.
    pub(super) fn from_sorted(entries: impl IntoIterator<Item = (Value, V)>) -> Tree<V> {
        let mut level: Vec<TreeNode<V>> = Vec::new();
        let mut leaf = Leaf::new();
        let mut len = 0;
        for (key, payload) in entries {
            if leaf.keys.len() == WIDTH {
                meter::uncharged(WIDTH);
                level.push(TreeNode::Leaf(Rc::new(std::mem::replace(&mut leaf, Leaf::new()))));
            }
            leaf.keys.push(key);
            leaf.payloads.push(payload);
            len += 1;
        }
        level.push(TreeNode::Leaf(Rc::new(leaf)));
        while level.len() > 1 {
            let mut above = Vec::with_capacity(level.len().div_ceil(WIDTH));
            let mut children = level.into_iter().peekable();
            while children.peek().is_some() {
                let mut branch = Branch::new();
                children.by_ref().take(WIDTH).for_each(|child| branch.push(child));
                above.push(TreeNode::Branch(Rc::new(branch)));
            }
            level = above;
        }
        Tree { root: level.swap_remove(0), len }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn get_by(&self, mut compare: impl FnMut(&Value) -> Ordering) -> Option<(&Value, &V)> {
        let mut node = &self.root;
        loop {
            match node {
                TreeNode::Branch(branch) => node = &branch.children[child_for(branch, &mut compare)],
                TreeNode::Leaf(leaf) => {
                    let index = leaf.keys.binary_search_by(compare).ok()?;
                    return Some(leaf.entry(index));
                }
            }
        }
    }

    /// The payload of a key, to be changed; its path is copied where it is shared.
    pub(super) fn get_mut(&mut self, key: &Value) -> Option<&mut V> {
        let mut node = &mut self.root;
        loop {
            match node {
                TreeNode::Branch(branch) => {
                    let child = child_for(branch, &mut |other: &Value| key_compare(other, key));
                    node = &mut Rc::make_mut(branch).children[child];
                }
                TreeNode::Leaf(leaf) => {
                    let index = leaf.keys.binary_search_by(|other| key_compare(other, key)).ok()?;
                    return Rc::make_mut(leaf).payloads.get_mut(index);
                }
            }
        }
    }

    /// The leaf with the entry at `index`, which exists, and the index of its first entry.
    pub(super) fn leaf_at(&self, index: usize) -> (&Rc<Leaf<V>>, usize) {
        let mut node = &self.root;
        let mut first = 0;
        loop {
            match node {
                TreeNode::Leaf(leaf) => return (leaf, first),
                TreeNode::Branch(branch) => {
                    let mut child = 0;
                    while first + branch.sizes[child] <= index {
                        first += branch.sizes[child];
                        child += 1;
                    }
                    node = &branch.children[child];
                }
            }
        }
    }

    pub(super) fn insert(&mut self, key: Value, payload: V) {
        let (added, split) = insert(&mut self.root, key, payload);
        self.len += usize::from(added);
        if let Some(right) = split {
            let mut root = Branch::new();
            // Something must stand where the old root was until the new one takes its place.
            root.push(std::mem::replace(&mut self.root, right.clone()));
            root.push(right);
            self.root = TreeNode::Branch(Rc::new(root));
        }
    }

    /// Removes a key that is there, of more than one.
    pub(super) fn remove(&mut self, key: &Value) -> Option<V> {
        let removed = remove(&mut self.root, key)?;
        self.len -= 1;
        while let TreeNode::Branch(branch) = &self.root
            && branch.children.len() == 1
        {
            self.root = branch.children[0].clone();
        }
        Some(removed)
    }
}

/// The child that holds the target of `compare`, if any does.
#[inline]
fn child_for<V: EntryValue>(branch: &Branch<V>, compare: &mut impl FnMut(&Value) -> Ordering) -> usize {
    // The first child is right for everything below the second one, so its own first key does not count.
    branch.firsts[1..].partition_point(|first| compare(first) != Ordering::Greater)
}

/// Sets a key below `node`: whether it is new, and the right half of `node` if it had to be split. Recurses as
/// deep as the tree is high, which is less than 14.
fn insert<V: EntryValue>(node: &mut TreeNode<V>, key: Value, payload: V) -> (bool, Option<TreeNode<V>>) {
    match node {
        TreeNode::Leaf(leaf) => {
            let leaf = Rc::make_mut(leaf);
            let index = match leaf.keys.binary_search_by(|other| key_compare(other, &key)) {
                Ok(index) => {
                    std::mem::replace(&mut leaf.payloads[index], payload).discard();
                    return (false, None);
                }
                Err(index) => index,
            };
            if leaf.keys.len() < WIDTH {
                leaf.keys.insert(index, key);
                leaf.payloads.insert(index, payload);
                return (true, None);
            }
            let at = split_point(index);
            let mut right = leaf.split(at);
            let (half, index) =
                if index <= at && at < WIDTH { (leaf, index) } else { (&mut right, index - at) };
            half.keys.insert(index, key);
            half.payloads.insert(index, payload);
            (true, Some(TreeNode::Leaf(Rc::new(right))))
        }
        TreeNode::Branch(branch) => {
            let branch = Rc::make_mut(branch);
            let child = child_for(branch, &mut |other: &Value| key_compare(other, &key));
            let (added, split) = insert(&mut branch.children[child], key, payload);
            let Some(new) = split else {
                branch.sizes[child] += usize::from(added);
                if child == 0 {
                    branch.refresh(0);
                }
                return (added, None);
            };
            branch.refresh(child);
            let index = child + 1;
            if branch.children.len() < WIDTH {
                branch.insert(index, new);
                return (added, None);
            }
            let at = split_point(index);
            let mut right = branch.split(at);
            if index <= at && at < WIDTH {
                branch.insert(index, new);
            } else {
                right.insert(index - at, new);
            }
            (added, Some(TreeNode::Branch(Rc::new(right))))
        }
    }
}

/// Where to split a full node that gets an entry at `index`: at its end when it grows there, so that ascending
/// keys leave full nodes behind.
fn split_point(index: usize) -> usize {
    if index == WIDTH { WIDTH } else { WIDTH / 2 }
}

/// Removes a key below `node`. Never leaves an empty node, unless it is the root.
fn remove<V: EntryValue>(node: &mut TreeNode<V>, key: &Value) -> Option<V> {
    match node {
        TreeNode::Leaf(leaf) => {
            let index = leaf.keys.binary_search_by(|other| key_compare(other, key)).ok()?;
            let leaf = Rc::make_mut(leaf);
            crate::value::drop_deferred(leaf.keys.remove(index));
            Some(leaf.payloads.remove(index))
        }
        TreeNode::Branch(branch) => {
            let branch = Rc::make_mut(branch);
            let child = child_for(branch, &mut |other: &Value| key_compare(other, key));
            let removed = remove(&mut branch.children[child], key)?;
            match branch.children[child].width() {
                0 => drop(branch.remove(child)),
                SPARSE.. => branch.refresh(child),
                width => {
                    let fits =
                        |other: usize| branch.children.get(other).is_some_and(|n| n.width() + width <= WIDTH);
                    let left =
                        if fits(child + 1) { Some(child) } else { child.checked_sub(1).filter(|&l| fits(l)) };
                    match left {
                        Some(left) => {
                            let right = branch.remove(left + 1);
                            branch.children[left].join(right);
                            branch.refresh(left);
                        }
                        None => branch.refresh(child),
                    }
                }
            }
            Some(removed)
        }
    }
}
