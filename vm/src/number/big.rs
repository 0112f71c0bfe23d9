//! Integers of any size: their cost, their limit, and conversions to and from floats.

use crate::error::{Error, Reason, Result};
use crate::meter;
use crate::value::Value;
use num_bigint::BigInt;
use num_traits::{FromPrimitive, ToPrimitive};

/// Most bits of an integer (ruling 5: above 1 Mbit it is `memory_exceeded`).
pub(crate) const MAX_INTEGER_BITS: u64 = 1 << 20;

/// An integer of more than [`MAX_INTEGER_BITS`] bits.
#[cold]
pub(crate) fn integer_too_large() -> Error {
    Error::verbatim(
        Reason::MemoryExceeded,
        format!("integer of more than {MAX_INTEGER_BITS} bits; keep numbers smaller, for example with mod"),
    )
}

/// To be asked before an integer of at most `bits` bits is computed: charges for writing it and reserves the
/// memory.
pub(crate) fn admit(bits: u64) -> Result<()> {
    if bits > MAX_INTEGER_BITS {
        return Err(integer_too_large());
    }
    meter::charge_steps(bits / 4_096 + 1)?;
    meter::reserve(bits as usize / 8 + 64)
}

/// Steps for a division of integers of so many bits: three times the product of quotient and divisor, as
/// measured.
pub(super) fn quotient_cost(a: u64, b: u64) -> u64 {
    3 * product_cost(a.saturating_sub(b), b)
}

/// Steps for a product of integers of so many bits, which takes more than linear work.
pub(super) fn product_cost(a: u64, b: u64) -> u64 {
    let (short, long) = (a.min(b) / 64 + 1, a.max(b) / 64 + 1);
    // Long multiplication up to 32 words; beyond that the exponent of the algorithms in use is about 1.5.
    if short <= 32 { long * short / 64 + 1 } else { long.div_ceil(short) * (short * short.isqrt() / 4) }
}

/// The nearest float, infinite when there is none.
pub(crate) fn to_float(n: &BigInt) -> f64 {
    n.to_f64().unwrap_or(f64::NAN)
}

/// A finite float without fraction as an integer.
pub(crate) fn integral(x: f64) -> Value {
    // 2^63 itself does not fit.
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&x) {
        return Value::Int(x as i64);
    }
    BigInt::from_f64(x).map_or(Value::float(x), Value::integer)
}

/// An integer as `m × 2^e` with `m` a float of 64 bits' precision, for results that fit a float though the
/// integer does not.
pub(crate) fn scaled(n: &BigInt) -> (f64, i64) {
    let shift = n.bits().saturating_sub(64);
    (to_float(&(n >> shift)), shift as i64)
}

/// `m × 2^e`
pub(crate) fn unscaled(mut m: f64, e: i64) -> f64 {
    // In steps, because 2^e itself may be out of range where the product is not. The odd one comes first: whatever it or a
    // later one but the last makes subnormal is zero in the end, so that nothing is rounded twice.
    let mut left = e.clamp(-4_000, 4_000) as i32;
    while left != 0 {
        let step = match left % 512 {
            0 => 512 * left.signum(),
            odd => odd,
        };
        m *= 2f64.powi(step);
        left -= step;
    }
    m
}
