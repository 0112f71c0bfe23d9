//! A vector under construction.

use crate::error::Result;
use crate::machine::{PartReader, PartWriter, Portable, RestoreError, SnapshotError};
use crate::meter;
use crate::value::{Value, Vector};

/// Collects values into a vector. Room is [reserved](meter::reserve) before it is taken and charged while the
/// builder lives, so that a frame that waits with a half-built result is accounted for.
///
/// Values gather in a short block that is appended to the vector when it is full: a long result is never held
/// twice, and the vector is built leaf by leaf.
#[derive(Default)]
pub(crate) struct Builder {
    /// The full blocks so far.
    vector: Option<Vector>,
    block: Vec<Value>,
}

const SLOT: usize = size_of::<Value>();
const FIRST: usize = 4;
/// Values of a block: the values side by side in a long vector, so that blocks are moved there as a whole.
const BLOCK: usize = Vector::BLOCK;

impl Builder {
    /// An empty builder for `capacity` values; fails when the memory limit does not allow that many.
    pub(crate) fn with_capacity(capacity: usize) -> Result<Builder> {
        meter::reserve(capacity.saturating_mul(SLOT))?;
        let block = Vec::with_capacity(capacity.min(BLOCK));
        meter::charge_memory(block.capacity() * SLOT);
        Ok(Builder { vector: None, block })
    }

    /// An empty builder.
    pub(crate) fn new() -> Builder {
        Builder::default()
    }

    /// Appends a value.
    #[inline(always)]
    pub(crate) fn push(&mut self, value: Value) -> Result<()> {
        if self.block.len() == self.block.capacity() {
            return self.push_to_full(value);
        }
        self.block.push(value);
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn push_to_full(&mut self, value: Value) -> Result<()> {
        self.make_room()?;
        self.block.push(value);
        Ok(())
    }

    fn make_room(&mut self) -> Result<()> {
        let capacity = self.block.capacity();
        if capacity >= BLOCK {
            meter::reserve(BLOCK * SLOT)?;
            let full = std::mem::replace(&mut self.block, Vec::with_capacity(BLOCK));
            meter::credit_memory(capacity * SLOT);
            match &mut self.vector {
                Some(vector) => vector.append_vec(full, 1),
                None => self.vector = Some(Vector::from_vec(full)),
            }
            meter::charge_memory(self.block.capacity() * SLOT);
        } else {
            let wanted = (capacity * 2).max(FIRST);
            meter::reserve((wanted - capacity) * SLOT)?;
            self.block.reserve_exact(wanted - capacity);
            meter::charge_memory((self.block.capacity() - capacity) * SLOT);
        }
        Ok(())
    }

    /// How many values there are.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.vector.as_ref().map_or(0, Vector::len) + self.block.len()
    }

    /// Whether there are none.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes the values out as a vector and leaves the builder empty.
    pub(crate) fn take_vector(&mut self) -> Vector {
        let mut block = std::mem::take(&mut self.block);
        meter::credit_memory(block.capacity() * SLOT);
        if block.capacity() > 2 * block.len() {
            block.shrink_to_fit();
        }
        match self.vector.take() {
            Some(mut vector) => {
                vector.append_vec(block, 0);
                vector
            }
            None => Vector::from_vec(block),
        }
    }

    /// As [`Builder::take_vector`], as a value.
    pub(crate) fn take(&mut self) -> Value {
        Value::Vector(self.take_vector())
    }
}

/// The full blocks, the capacity of the last one, and its content.
impl Portable for Builder {
    fn layout(out: &mut String) {
        out.push_str("builder,");
    }

    fn write(&self, to: &mut PartWriter<'_>) -> Result<(), SnapshotError> {
        self.vector.write(to)?;
        self.block.capacity().write(to)?;
        self.block.write(to)
    }

    fn read(from: &mut PartReader<'_>) -> Result<Builder, RestoreError> {
        let vector = Portable::read(from)?;
        let (capacity, values) = (usize::read(from)?, Vec::<Value>::read(from)?);
        from.check(capacity <= BLOCK && values.len() <= capacity)?;
        let mut builder = Builder::with_capacity(capacity)?;
        builder.vector = vector;
        builder.block.extend(values);
        Ok(builder)
    }
}

impl Drop for Builder {
    fn drop(&mut self) {
        meter::credit_memory(self.block.capacity() * SLOT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::Account;

    #[test]
    fn room_is_charged_while_it_grows_and_given_back() {
        for count in [0, 3, 100, 1024, 5000] {
            let mut account = Account::new(1_000_000);
            {
                let _installed = account.install();
                let mut builder = Builder::new();
                for n in 0..count {
                    builder.push(Value::Int(n)).unwrap();
                }
                assert_eq!(builder.len(), count as usize);
                let items = builder.take_vector().to_vec();
                assert!(items.iter().zip(0..count).all(|(item, n)| matches!(item, Value::Int(i) if *i == n)));
                assert_eq!(items.len(), count as usize);
            }
            assert_eq!(account.live, 0);
            assert!(account.peak >= 16 * count);
        }
    }

    #[test]
    fn growth_stops_at_the_memory_limit() {
        let mut account = Account::new(100_000);
        let _installed = account.install();
        assert!(Builder::with_capacity(1_000_000).is_err());
        assert!(Builder::with_capacity(usize::MAX).is_err());
        let mut builder = Builder::new();
        let refused = (0..10_000).find_map(|n| builder.push(Value::Int(n)).err());
        assert!(refused.is_some());
        assert!(builder.len() <= 7_000);
    }
}
