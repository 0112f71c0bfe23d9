//! A vector under construction.

use crate::error::Result;
use crate::meter;
use crate::value::{Value, Vector};

/// Collects values into a vector. Room is [reserved](meter::reserve) before it is taken and charged while the
/// builder lives, so that a frame that waits with a half-built result is accounted for.
#[derive(Default)]
pub struct Builder {
    items: Vec<Value>,
    charged: usize,
}

const SLOT: usize = size_of::<Value>();
const FIRST: usize = 4;

impl Builder {
    /// An empty builder with room for `capacity` values; fails when the memory limit does not allow that many.
    pub fn with_capacity(capacity: usize) -> Result<Builder> {
        meter::reserve(capacity.saturating_mul(SLOT))?;
        let items = Vec::with_capacity(capacity);
        let charged = items.capacity() * SLOT;
        meter::charge_memory(charged);
        Ok(Builder { items, charged })
    }

    /// An empty builder.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// Appends a value.
    #[inline]
    pub fn push(&mut self, value: Value) -> Result<()> {
        if self.items.len() == self.items.capacity() {
            self.grow(1)?;
        }
        self.items.push(value);
        Ok(())
    }

    /// Makes room for `more` values, doubling at least while the limit allows it.
    #[cold]
    fn grow(&mut self, more: usize) -> Result<()> {
        let capacity = self.items.capacity();
        let needed = self.items.len().saturating_add(more);
        // While it grows both blocks exist.
        let mut wanted = needed.max(capacity * 2).max(FIRST);
        if meter::reserve(wanted.saturating_mul(SLOT)).is_err() {
            wanted = needed.max(capacity + capacity / 8);
            meter::reserve(wanted.saturating_mul(SLOT))?;
        }
        self.items.reserve_exact(wanted - self.items.len());
        let charged = self.items.capacity() * SLOT;
        meter::charge_memory(charged - self.charged);
        self.charged = charged;
        Ok(())
    }

    /// Appends the elements of a vector; charges a step for each.
    pub fn extend(&mut self, items: &Vector) -> Result<()> {
        meter::charge_steps(items.len() as u64)?;
        if self.items.capacity() - self.items.len() < items.len() {
            self.grow(items.len())?;
        }
        self.items.extend(items.iter());
        Ok(())
    }

    /// How many values there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The last value.
    pub fn last(&self) -> Option<&Value> {
        self.items.last()
    }

    /// The values so far.
    pub fn as_slice(&self) -> &[Value] {
        &self.items
    }

    /// Takes the values out as a vector and leaves the builder empty. Room that is mostly unused is given back.
    pub fn take_vector(&mut self) -> Vector {
        let mut items = std::mem::take(&mut self.items);
        meter::credit_memory(self.charged);
        self.charged = 0;
        if items.capacity() > 2 * items.len().max(FIRST) {
            items.shrink_to_fit();
        }
        Vector::from_vec(items)
    }

    /// As [`Builder::take_vector`], as a value.
    pub fn take(&mut self) -> Value {
        Value::Vector(self.take_vector())
    }

    /// Takes the values out as they are.
    pub fn take_items(&mut self) -> Vec<Value> {
        meter::credit_memory(self.charged);
        self.charged = 0;
        std::mem::take(&mut self.items)
    }
}

impl Drop for Builder {
    fn drop(&mut self) {
        meter::credit_memory(self.charged);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::Account;

    #[test]
    fn room_is_charged_while_it_grows_and_given_back() {
        let mut account = Account::new(10_000);
        {
            let _installed = account.install();
            let mut builder = Builder::new();
            for n in 0..100 {
                builder.push(Value::Int(n)).unwrap();
            }
            let vector = builder.take_vector();
            assert_eq!(vector.len(), 100);
        }
        assert_eq!(account.live, 0);
        assert!(account.peak >= 1600);
    }

    #[test]
    fn growth_stops_at_the_memory_limit() {
        let mut account = Account::new(10_000);
        let _installed = account.install();
        assert!(Builder::with_capacity(1_000_000).is_err());
        assert!(Builder::with_capacity(usize::MAX).is_err());
        let mut builder = Builder::new();
        let refused = (0..10_000).find_map(|n| builder.push(Value::Int(n)).err());
        assert!(refused.is_some());
        assert!(builder.len() <= 625);
    }
}
