//! Counting steps.

use crate::meter;

/// Steps of one run of one fiber.
#[derive(Clone, Copy)]
pub(super) struct Fuel {
    /// Steps of this slice that are left. Below zero after an operation that cost more.
    pub(super) left: i64,
    /// Steps of this slice.
    slice: i64,
    /// Steps of the program that are left beyond this slice.
    beyond: u64,
}

impl Fuel {
    /// A slice of `slice` steps of a program that may use `left` in all.
    pub(super) fn new(slice: i64, left: u64) -> Fuel {
        Fuel { left: slice, slice, beyond: left - (slice.max(0) as u64).min(left) }
    }

    /// Steps used so far.
    pub(super) fn used(&self) -> u64 {
        (self.slice - self.left) as u64
    }

    /// Tells the meter how much work the next builtin may charge.
    #[inline]
    pub(super) fn open(&self) {
        meter::set_work_limit(self.beyond.saturating_add(self.left.max(0) as u64));
    }

    /// Takes over the charges of a builtin.
    #[inline]
    pub(super) fn close(&mut self) {
        let work = meter::take_work();
        self.left = self.left.saturating_sub(i64::try_from(work).unwrap_or(i64::MAX));
    }

    /// Whether the slice is used up.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.left <= 0
    }

    /// Steps left in this slice.
    pub(super) fn left(&self) -> u64 {
        self.left.max(0) as u64
    }
}
