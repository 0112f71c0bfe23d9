//! Collections within collections, on the native stack: so their depth is bounded.

use super::MAX_NESTING;
use super::read_error::ReadError;
use super::read_error::ReadResult;
use crate::meter;
use crate::value::Value;

/// A reader whose collections nest at most [`MAX_NESTING`] deep.
pub(super) trait NestedReader {
    /// Where it is in the text, and how many collections are open there.
    fn place(&mut self) -> (&mut usize, &mut usize);

    /// Reads a collection, whose opening bracket is the byte at the cursor.
    fn nested(&mut self, read: fn(&mut Self) -> ReadResult<Value>) -> ReadResult<Value> {
        let (at, depth) = self.place();
        *at += 1;
        *depth += 1;
        if *depth > MAX_NESTING {
            return Err(ReadError::NotJson);
        }
        let value = read(self)?;
        *self.place().1 -= 1;
        // Small values charge memory without asking; so ask at least once for each collection.
        meter::check_memory()?;
        Ok(value)
    }
}
