//! Doubles inside values.

/// A double, kept as its bits.
///
/// Every payload of a [`Value`](super::Value) is one machine word of the integer kind, so that the compiler hands a value
/// over as a pair of registers: a tag and a word. A plain `f64` among them would make it go through memory in two
/// stores and one load that must wait for both.
#[derive(Clone, Copy)]
pub struct Float(u64);

impl Float {
    /// The double `x`, special ones included.
    #[inline]
    pub(crate) const fn new(x: f64) -> Float {
        Float(x.to_bits())
    }

    /// The double.
    #[inline]
    pub const fn get(self) -> f64 {
        f64::from_bits(self.0)
    }

    /// Whether this is no number.
    #[inline]
    pub const fn is_nan(self) -> bool {
        self.get().is_nan()
    }

    /// Whether this is neither infinite nor NaN.
    #[inline]
    pub const fn is_finite(self) -> bool {
        self.get().is_finite()
    }

    /// Whether this is one of the infinities.
    #[inline]
    pub const fn is_infinite(self) -> bool {
        self.get().is_infinite()
    }
}

/// As doubles: NaN equals nothing, and `0.0` equals `-0.0`.
impl PartialEq for Float {
    #[inline]
    fn eq(&self, other: &Float) -> bool {
        self.get() == other.get()
    }
}

impl std::fmt::Debug for Float {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(&self.get(), f)
    }
}
