//! Dropping deep values without recursion on the native stack.
//!
//! `(reduce (fn [acc _] [acc]) nil (range 100000))` nests vectors 100 000 deep. Every container hands its
//! children to [`drop_deferred`], which lets the first few levels recurse and puts deeper children on a list
//! that the outermost drop empties.

use super::Value;
use std::cell::{Cell, RefCell};

/// Levels that may recurse natively: cheap, and small against the smallest thread stack (256 KiB).
const NATIVE_LEVELS: u32 = 32;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static WAITING: RefCell<Vec<Value>> = const { RefCell::new(Vec::new()) };
}

/// Drops `value`, now or when the drop that is under way gets to it.
#[inline]
pub fn drop_deferred(value: Value) {
    match value {
        Value::Nil | Value::True | Value::False | Value::Int(_) | Value::Float(_) | Value::Builtin(_) => {}
        Value::Keyword(_) | Value::Str(_) | Value::BigInt(_) => drop(value),
        value => drop_container(value),
    }
}

fn drop_container(value: Value) {
    let depth = DEPTH.get();
    if depth >= NATIVE_LEVELS {
        // The list is gone only while the thread itself ends.
        let _ = WAITING.try_with(|waiting| waiting.borrow_mut().push(value));
        return;
    }
    DEPTH.set(depth + 1);
    drop(value);
    if depth == 0 {
        // Everything that was deferred below is dropped from here, one after the other.
        while let Ok(Some(next)) = WAITING.try_with(|waiting| waiting.borrow_mut().pop()) {
            drop(next);
        }
    }
    DEPTH.set(depth);
}
