//! Memory of a builtin's own, besides values.

use crate::error::Result;
use crate::meter;

/// Bytes that a builtin holds while this lives: refused beyond the limit, charged, and given back.
pub struct Held(usize);

impl Held {
    /// Charges `bytes`.
    pub fn new(bytes: usize) -> Result<Held> {
        meter::reserve(bytes)?;
        meter::charge_memory(bytes);
        Ok(Held(bytes))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        meter::credit_memory(self.0);
    }
}
