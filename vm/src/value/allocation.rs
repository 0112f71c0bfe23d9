//! Where values lie, for who writes each allocation once.

use super::Value;
use std::rc::Rc;

/// An allocation with a reference count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allocation {
    /// Its address: no other allocation has it as long as this one has an owner.
    pub(crate) address: usize,
    /// How many hold it.
    pub(crate) holders: usize,
}

impl Allocation {
    /// The one that `held` points to.
    #[inline]
    pub(crate) fn of<T: ?Sized>(held: &Rc<T>) -> Allocation {
        Allocation { address: Rc::as_ptr(held).addr(), holders: Rc::strong_count(held) }
    }
}

impl Value {
    /// The allocation that this value points to; `None` for one that points to none. A var, a symbol and the name of a tool
    /// point to their text, as a string does, and a list to its elements, as a vector does.
    pub(crate) fn allocation(&self) -> Option<Allocation> {
        Some(match self {
            Value::Nil | Value::False | Value::True | Value::Int(_) | Value::Float(_) | Value::Builtin(_) => {
                return None;
            }
            Value::Keyword(keyword) => keyword.allocation(),
            Value::Str(text) | Value::Var(text) | Value::Symbol(text) | Value::Tool(text) => {
                text.allocation()
            }
            Value::Vector(vector) | Value::List(vector) | Value::Queue(vector) => vector.allocation(),
            Value::Map(map) => map.allocation(),
            Value::Set(set) => set.allocation(),
            Value::Closure(closure) => Allocation::of(closure),
            Value::Combinator(combinator) => Allocation::of(combinator),
            Value::BigInt(n) => Allocation::of(n),
            Value::Regex(regex) => Allocation::of(regex),
            Value::Blob(blob) => Allocation::of(blob),
            Value::Temporal(temporal) => Allocation::of(temporal),
            Value::Cursor(cursor) => Allocation::of(cursor),
        })
    }
}
