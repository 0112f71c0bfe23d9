//! The memory of a walk over values: the way back up, and the collections that it has met.
//!
//! Values share their parts, so that a tree of sixty levels may be sixty vectors. A walk that remembers by identity which
//! collections it has met costs their number and not the number of ways to them. Only a long walk remembers anything: a
//! short one pays nothing.

use crate::meter;
use crate::value::Value;
use ahash::AHashMap;
use std::rc::Rc;

/// Looks after which a walk is long.
pub(super) const LONG: u32 = 256;

/// Most collections that a walk remembers. Beyond, it forgets all and begins again, so that its memory is bounded.
const MOST: usize = 1 << 16;

/// The address of a collection or function: equal only for the same allocation, as long as that lives. `None` for values that
/// are compared directly.
#[inline]
pub(super) fn identity(value: &Value) -> Option<usize> {
    match value {
        // A list is equal to the vector of its elements, so that it may be taken for it.
        Value::Vector(vector) | Value::List(vector) | Value::Queue(vector) => Some(vector.address()),
        Value::Map(map) => Some(map.address()),
        Value::Set(set) => Some(set.address()),
        Value::Closure(closure) => Some(Rc::as_ptr(closure).addr()),
        Value::Combinator(combinator) => Some(Rc::as_ptr(combinator).addr()),
        _ => None,
    }
}

/// Known facts about allocations; charged to the program that walks.
pub(super) struct AllocationFacts<T> {
    by_address: AHashMap<usize, T>,
    charged: usize,
}

impl<T> Default for AllocationFacts<T> {
    fn default() -> AllocationFacts<T> {
        AllocationFacts { by_address: AHashMap::new(), charged: 0 }
    }
}

impl<T: Copy> AllocationFacts<T> {
    pub(super) fn get(&self, address: usize) -> Option<T> {
        self.by_address.get(&address).copied()
    }

    pub(super) fn insert(&mut self, address: usize, what: T) {
        if self.by_address.len() >= MOST {
            self.by_address.clear();
        }
        self.by_address.insert(address, what);
        let bytes = self.by_address.capacity() * size_of::<(usize, T)>();
        if bytes > self.charged {
            meter::charge_memory(bytes - self.charged);
            self.charged = bytes;
        }
    }
}

impl<T> Drop for AllocationFacts<T> {
    fn drop(&mut self) {
        meter::credit_memory(self.charged);
    }
}

/// Collections that a comparison has paired, as classes of equal ones.
///
/// The first difference ends a comparison, so all pairs before it are equal, or are still being compared. Pairs of the second
/// kind may join a class too: a collection is never inside itself, so that no pair inside can be taken for equal by them alone.
#[derive(Default)]
pub(super) struct PairedCollections {
    /// Each collection with another one of its class, nearer to the one that stands for all.
    toward: AllocationFacts<usize>,
}

impl PairedCollections {
    /// Whether these two are of one class already; they are from now on.
    pub(super) fn again(&mut self, a: usize, b: usize) -> bool {
        let (a, b) = (self.representative(a), self.representative(b));
        if a != b {
            self.toward.insert(a, b);
        }
        a == b
    }

    fn representative(&mut self, address: usize) -> usize {
        let mut found = address;
        while let Some(next) = self.toward.get(found) {
            found = next;
        }
        let mut at = address;
        while let Some(next) = self.toward.get(at)
            && next != found
        {
            self.toward.insert(at, found);
            at = next;
        }
        found
    }
}

/// A stack on the heap; charged to the program that walks.
pub(super) struct Stack<T> {
    items: Vec<T>,
    charged: usize,
}

impl<T> Stack<T> {
    pub(super) fn new() -> Stack<T> {
        Stack { items: Vec::new(), charged: 0 }
    }

    #[inline]
    pub(super) fn push(&mut self, item: T) {
        self.items.push(item);
        let bytes = self.items.capacity() * size_of::<T>();
        if bytes > self.charged {
            meter::charge_memory(bytes - self.charged);
            self.charged = bytes;
        }
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<T> {
        self.items.pop()
    }
}

impl<T> Drop for Stack<T> {
    fn drop(&mut self) {
        meter::credit_memory(self.charged);
    }
}
