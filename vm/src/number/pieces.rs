//! Products, quotients and decimal digits of very large integers, in pieces.
//!
//! One call of the crate that computes with integers may take 160 ms for an integer of [`MAX_INTEGER_BITS`], and nothing can
//! yield inside it. So large operands are split here until one call is under a millisecond, and each is charged for before it
//! is made: products after Karatsuba, quotients after Burnikel and Ziegler, digits by halves.
//!
//! [`MAX_INTEGER_BITS`]: super::MAX_INTEGER_BITS

use super::big::{product_cost, quotient_cost};
use crate::error::Result;
use crate::meter::{self, MemoryCharge};
use num_bigint::{BigInt, BigUint, Sign};
use num_integer::Integer;
use num_traits::Zero;
use std::iter::repeat_n;

/// Bits of the factors that are multiplied in one go.
const FACTOR: u64 = 96 << 10;
/// Bits of a divisor, and of its quotient, that are divided in one go.
const DIVISOR: u64 = 48 << 10;
/// Decimal digits that are read or written in one go.
const DIGITS: usize = 6_000;
/// Bits of the integers of [`DIGITS`] digits at most.
const DIGITS_BITS: u64 = 19_932;

/// `a × b`, charged
pub(crate) fn product(a: &BigInt, b: &BigInt) -> Result<BigInt> {
    if a.bits().max(b.bits()) <= FACTOR {
        meter::charge_steps(product_cost(a.bits(), b.bits()))?;
        return Ok(a * b);
    }
    let _scratch = scratch(a.bits() + b.bits())?;
    Ok(signed(is_negative(a) != is_negative(b), multiply(a.magnitude(), b.magnitude())?))
}

/// The quotient toward zero and the remainder, which has the sign of `a`, charged. `b` is not zero.
pub(crate) fn quotient_and_remainder(a: &BigInt, b: &BigInt) -> Result<(BigInt, BigInt)> {
    if divides_in_one_go(a.bits(), b.bits()) {
        meter::charge_steps(quotient_cost(a.bits(), b.bits()))?;
        return Ok(a.div_rem(b));
    }
    let _scratch = scratch(a.bits() + b.bits())?;
    let (quotient, remainder) = divide(a.magnitude(), b.magnitude())?;
    Ok((signed(is_negative(a) != is_negative(b), quotient), signed(is_negative(a), remainder)))
}

/// As [`quotient_and_remainder`], rounded down, so that the remainder has the sign of `b`.
pub(crate) fn floor_quotient_and_remainder(a: &BigInt, b: &BigInt) -> Result<(BigInt, BigInt)> {
    let (quotient, remainder) = quotient_and_remainder(a, b)?;
    if !remainder.is_zero() && is_negative(&remainder) != is_negative(b) {
        return Ok((quotient - 1, remainder + b));
    }
    Ok((quotient, remainder))
}

/// Appends the decimal digits of `n`, and its sign; charged. The caller has room in `out`.
pub(crate) fn write_decimal(n: &BigInt, out: &mut String) -> Result<()> {
    if is_negative(n) {
        out.push('-');
    }
    if n.bits() <= DIGITS_BITS {
        meter::charge_steps(digits_cost(n.bits()))?;
        out.push_str(&n.magnitude().to_string());
        return Ok(());
    }
    let _scratch = scratch(2 * n.bits())?;
    let mut powers = Powers::new()?;
    while powers.last().bits() <= n.bits().div_ceil(2) {
        powers.square()?;
    }
    write_part(n.magnitude(), &powers.0, true, out)
}

/// The integer with these decimal digits, which may begin with `-`, if they are digits; charged.
pub(crate) fn read_decimal(text: &str) -> Result<Option<BigInt>> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(None);
    }
    let mut powers = Powers(Vec::new());
    let _scratch = if digits.len() > DIGITS {
        let held = scratch(8 * digits.len() as u64)?;
        powers = Powers::new()?;
        while powers.digits() * 2 < digits.len() {
            powers.square()?;
        }
        Some(held)
    } else {
        None
    };
    Ok(Some(signed(digits.len() < text.len(), read_part(digits, &powers.0)?)))
}

/// Steps for making the decimal digits of an integer of `bits` bits in one go, or reading them: quadratic work, as measured.
fn digits_cost(bits: u64) -> u64 {
    let words = bits / 64 + 1;
    words + words * words / 64
}

fn is_negative(n: &BigInt) -> bool {
    n.sign() == Sign::Minus
}

fn signed(negative: bool, magnitude: BigUint) -> BigInt {
    // Zero has no sign, whichever is given.
    BigInt::from_biguint(if negative { Sign::Minus } else { Sign::Plus }, magnitude)
}

/// The memory for splitting integers of so many bits together: parts of them, and of the result, at each level.
fn scratch(bits: u64) -> Result<MemoryCharge> {
    MemoryCharge::new(bits as usize / 2)
}

/// The bits from `at` on, and those below.
fn split(n: &BigUint, at: u64) -> (BigUint, BigUint) {
    let high = n >> at;
    let low = n - (&high << at);
    (high, low)
}

fn multiply(a: &BigUint, b: &BigUint) -> Result<BigUint> {
    let (short, long) = if a.bits() <= b.bits() { (a, b) } else { (b, a) };
    if long.bits() <= FACTOR {
        meter::charge_steps(product_cost(short.bits(), long.bits()))?;
        return Ok(short * long);
    }
    // Splitting and adding is linear work.
    meter::charge_steps(long.bits() / 4_096)?;
    if short.bits() <= long.bits() / 2 {
        let width = short.bits().max(FACTOR);
        let at = (long.bits() / 2).next_multiple_of(width).min(long.bits() - 1);
        let (high, low) = split(long, at);
        return Ok((multiply(short, &high)? << at) + multiply(short, &low)?);
    }
    let at = long.bits().div_ceil(2);
    let ((a_high, a_low), (b_high, b_low)) = (split(long, at), split(short, at));
    let high = multiply(&a_high, &b_high)?;
    let low = multiply(&a_low, &b_low)?;
    let middle = multiply(&(a_high + a_low), &(b_high + b_low))? - &high - &low;
    Ok((high << (2 * at)) + (middle << at) + low)
}

/// Whether one call may divide integers of so many bits: its work is the product of quotient and divisor.
fn divides_in_one_go(a: u64, b: u64) -> bool {
    let quotient = a.saturating_sub(b) + 1;
    quotient.saturating_mul(b) <= DIVISOR * DIVISOR
}

fn divide(a: &BigUint, b: &BigUint) -> Result<(BigUint, BigUint)> {
    if divides_in_one_go(a.bits(), b.bits()) {
        meter::charge_steps(quotient_cost(a.bits(), b.bits()))?;
        return Ok(a.div_rem(b));
    }
    // The divisor is made so long that it can be halved until it is short, its highest bit set.
    let halvings = b.bits().div_ceil(DIVISOR).next_power_of_two();
    let width = b.bits().next_multiple_of(halvings);
    let shift = width - b.bits();
    let (a, b) = (a << shift, b << shift);
    let mut quotient = BigUint::ZERO;
    let mut remainder = BigUint::ZERO;
    for block in (0..a.bits().div_ceil(width)).rev() {
        meter::charge_steps(a.bits() / 4_096 + 1)?;
        let (_, below) = split(&a, (block + 1) * width);
        let (digit, _) = split(&below, block * width);
        let (part, rest) = halves((remainder << width) + digit, &b, width)?;
        quotient = (quotient << width) + part;
        remainder = rest;
    }
    Ok((quotient, remainder >> shift))
}

/// Divides less than `b × 2ʷ` by `b`, which has `width` bits.
fn halves(a: BigUint, b: &BigUint, width: u64) -> Result<(BigUint, BigUint)> {
    if width <= DIVISOR || width % 2 == 1 {
        meter::charge_steps(quotient_cost(a.bits(), b.bits()))?;
        return Ok(a.div_rem(b));
    }
    let half = width / 2;
    let (high, low) = split(&a, half);
    let (first, rest) = thirds(&high, b, half)?;
    let (second, rest) = thirds(&((rest << half) + low), b, half)?;
    Ok(((first << half) + second, rest))
}

/// Divides less than `b × 2ʷ` by `b`, which has twice `width` bits.
fn thirds(a: &BigUint, b: &BigUint, width: u64) -> Result<(BigUint, BigUint)> {
    meter::charge_steps(width / 4_096 + 1)?;
    let (b_high, b_low) = split(b, width);
    let (a_high, a_low) = split(a, width);
    let (mut quotient, rest) = if (&a_high >> width) < b_high {
        halves(a_high, &b_high, width)?
    } else {
        let ones = (BigUint::from(1_u8) << width) - 1_u8;
        (ones, a_high - (&b_high << width) + &b_high)
    };
    let mut have = (rest << width) + a_low;
    let taken = multiply(&quotient, &b_low)?;
    // At most twice: the high half of the divisor has its highest bit set.
    while have < taken {
        quotient -= 1_u8;
        have += b;
    }
    Ok((quotient, have - taken))
}

/// 10 to the power of [`DIGITS`], of twice as much, of four times as much …
struct Powers(Vec<BigUint>);

impl Powers {
    fn new() -> Result<Powers> {
        meter::charge_steps(digits_cost(DIGITS_BITS))?;
        Ok(Powers(vec![BigUint::from(10_u8).pow(DIGITS as u32)]))
    }

    fn last(&self) -> &BigUint {
        self.0.last().expect("there is one from the beginning")
    }

    /// How many zeros the last one has.
    fn digits(&self) -> usize {
        DIGITS << (self.0.len() - 1)
    }

    fn square(&mut self) -> Result<()> {
        let square = multiply(self.last(), self.last())?;
        self.0.push(square);
        Ok(())
    }
}

/// Appends the digits of `n`, which is less than the square of the last of `powers`; `first` if nothing stands before them.
fn write_part(n: &BigUint, powers: &[BigUint], first: bool, out: &mut String) -> Result<()> {
    let Some((power, smaller)) = powers.split_last() else {
        meter::charge_steps(digits_cost(n.bits()))?;
        let digits = if n.is_zero() { String::new() } else { n.to_string() };
        if !first {
            out.extend(repeat_n('0', DIGITS - digits.len()));
        }
        out.push_str(&digits);
        return Ok(());
    };
    let (high, low) = if n < power { (BigUint::ZERO, n.clone()) } else { divide(n, power)? };
    let first = if first && high.is_zero() {
        true
    } else {
        write_part(&high, smaller, first, out)?;
        false
    };
    write_part(&low, smaller, first, out)
}

/// The value of digits that are at most twice as many as the last of `powers` has zeros.
fn read_part(digits: &str, powers: &[BigUint]) -> Result<BigUint> {
    let Some((power, smaller)) = powers.split_last() else {
        meter::charge_steps(digits_cost(digits.len() as u64 * 10 / 3))?;
        return Ok(BigUint::parse_bytes(digits.as_bytes(), 10).unwrap_or_default());
    };
    let zeros = DIGITS << smaller.len();
    match digits.len().checked_sub(zeros) {
        None | Some(0) => read_part(digits, smaller),
        Some(high) => {
            let (high, low) = digits.split_at(high);
            Ok(multiply(&read_part(high, smaller)?, power)? + read_part(low, smaller)?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::Account;
    use num_traits::One;
    use proptest::prelude::*;

    /// Integers around the sizes at which they are taken apart: any bits, all ones, a single one.
    fn large() -> impl Strategy<Value = BigInt> {
        let size = prop_oneof![
            0..200_u64,
            DIVISOR - 70..DIVISOR + 70,
            FACTOR - 70..FACTOR + 70,
            (1_u64..400_000),
            (1_u64..5).prop_map(|n| n * 2 * DIVISOR),
        ];
        (size, 0..4_u8, any::<u64>(), any::<bool>()).prop_map(|(bits, kind, seed, negative)| {
            let one = BigUint::one();
            let magnitude = match kind {
                0 => one << bits,
                1 => (one << bits) - 1_u8,
                _ => {
                    let mut state = seed | 1;
                    let words = std::iter::repeat_with(|| {
                        state ^= state << 13;
                        state ^= state >> 7;
                        state ^= state << 17;
                        // Runs of zeros and ones try the corrections.
                        [state as u32, 0, u32::MAX][(state >> 40) as usize % 3]
                    });
                    BigUint::new(words.take(bits as usize / 32 + 1).collect())
                }
            };
            signed(negative, magnitude)
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 40 } else { 400 }))]

        #[test]
        fn pieces_give_what_the_whole_gives(a in large(), b in large()) {
            prop_assert_eq!(product(&a, &b).unwrap(), &a * &b);
            if !b.is_zero() {
                prop_assert_eq!(quotient_and_remainder(&a, &b).unwrap(), a.div_rem(&b));
                prop_assert_eq!(floor_quotient_and_remainder(&a, &b).unwrap(), a.div_mod_floor(&b));
            }
        }

        #[test]
        fn digits_are_those_of_the_whole(n in large()) {
            let mut text = String::new();
            write_decimal(&n, &mut text).unwrap();
            prop_assert_eq!(&text, &n.to_string());
            prop_assert_eq!(read_decimal(&text).unwrap(), Some(n));
        }
    }

    #[test]
    fn digits_around_the_powers_keep_their_zeros() {
        for zeros in [DIGITS - 1, DIGITS, 2 * DIGITS, 4 * DIGITS, 5 * DIGITS + 3] {
            let power = BigInt::from(10).pow(zeros as u32);
            for n in [&power - 1, power.clone(), power + 1] {
                let mut text = String::new();
                write_decimal(&n, &mut text).unwrap();
                assert_eq!(text, n.to_string(), "{zeros} zeros");
                assert_eq!(read_decimal(&text).unwrap(), Some(n), "{zeros} zeros");
            }
        }
        assert_eq!(read_decimal("000").unwrap(), Some(BigInt::ZERO));
        for text in ["", "-", "1a", "+1", "--1", "1-"] {
            assert_eq!(read_decimal(text).unwrap(), None, "{text}");
        }
    }

    #[test]
    fn the_largest_are_charged_piece_by_piece_and_refused_in_between() {
        let mut account = Account::new(u64::MAX >> 1);
        let _installed = account.install();
        let n = (BigInt::one() << (super::super::MAX_INTEGER_BITS - 1)) - 1;
        let root = (BigInt::one() << (super::super::MAX_INTEGER_BITS / 2)) - 12_345;
        let mut text = String::new();
        write_decimal(&n, &mut text).unwrap();
        let all = meter::take_work();
        assert!((100_000..5_000_000).contains(&all), "{all}");
        type Work<'a> = &'a dyn Fn() -> bool;
        let works: [Work<'_>; 4] = [
            &|| write_decimal(&n, &mut String::new()).is_err(),
            &|| read_decimal(&text).is_err(),
            &|| product(&root, &root).is_err(),
            &|| quotient_and_remainder(&n, &root).is_err(),
        ];
        for (index, work) in works.into_iter().enumerate() {
            meter::set_work_limit(10_000);
            assert!(work(), "work {index} is refused");
            let done = meter::take_work();
            assert!((10_001..40_000).contains(&done), "work {index} charged {done} at once");
        }
    }
}
