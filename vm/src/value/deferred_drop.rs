//! Dropping deep values without recursion on the native stack.
//!
//! `(reduce (fn [acc _] [acc]) nil (range 100000))` nests vectors 100 000 deep. Every container hands its
//! children to [`drop_deferred`], which lets the first few levels recurse and puts deeper children on a list
//! that the outermost drop empties.

use super::Value;
use crate::meter;
use std::cell::{Cell, RefCell};

/// Levels that may recurse natively: cheap, and small against the smallest thread stack (256 KiB).
const NATIVE_LEVELS: u32 = 32;

/// Values that are dropped between two places where others may have the thread.
const TOGETHER: usize = 500;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static WAITING: RefCell<Vec<Value>> = const { RefCell::new(Vec::new()) };
}

/// A drop under way, put away for as long as another machine has the thread.
pub(crate) struct DeferredDrop {
    depth: u32,
    waiting: Vec<Value>,
}

impl DeferredDrop {
    /// Leaves the thread as if nothing was being dropped.
    pub(crate) fn take() -> DeferredDrop {
        DeferredDrop { depth: DEPTH.take(), waiting: WAITING.try_with(RefCell::take).unwrap_or_default() }
    }

    /// Goes on with it.
    pub(crate) fn put_back(self) {
        debug_assert_eq!(DEPTH.get(), 0, "what ran meanwhile has dropped everything that it began to drop");
        DEPTH.set(self.depth);
        let _ = WAITING.try_with(|waiting| waiting.replace(self.waiting));
    }
}

/// Drops `value`, now or when the drop that is under way gets to it.
#[inline]
pub(crate) fn drop_deferred(value: Value) {
    match value {
        Value::Nil | Value::True | Value::False | Value::Int(_) | Value::Float(_) | Value::Builtin(_) => {}
        Value::Keyword(_) | Value::Str(_) | Value::BigInt(_) => drop(value),
        value => drop_container(value),
    }
}

/// As [`drop_deferred`] for each of these values. Values without counted parts stay as they are, others are replaced by `nil`:
/// for an owner that keeps them from being dropped, there is nothing left to drop.
pub(super) fn drop_all(values: &mut [Value]) {
    meter::uncharged(values.len());
    let Some(first) = values.iter().position(|value| !value.is_immediate()) else { return };
    let counted = values[first..].iter_mut().filter(|value| !value.is_immediate()).map(std::mem::take);
    let depth = DEPTH.get();
    if depth >= NATIVE_LEVELS {
        counted.for_each(drop_deferred);
        return;
    }
    DEPTH.set(depth + 1);
    counted.for_each(drop);
    if depth == 0 {
        drop_waiting();
    }
    DEPTH.set(depth);
}

/// Drops values of which there may be as many as a collection has elements.
pub(crate) fn drop_many(values: &mut [Value]) {
    values.chunks_mut(TOGETHER).for_each(drop_all);
}

fn drop_container(value: Value) {
    let depth = DEPTH.get();
    if depth >= NATIVE_LEVELS {
        // The list is gone only while the thread itself ends.
        let _ = WAITING.try_with(|waiting| waiting.borrow_mut().push(value));
        return;
    }
    DEPTH.set(depth + 1);
    meter::uncharged(1);
    drop(value);
    if depth == 0 {
        drop_waiting();
    }
    DEPTH.set(depth);
}

/// Drops everything that was deferred below, one after the other.
fn drop_waiting() {
    while let Ok(Some(next)) = WAITING.try_with(|waiting| waiting.borrow_mut().pop()) {
        drop(next);
    }
}
