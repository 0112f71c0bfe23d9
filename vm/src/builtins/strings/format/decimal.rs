//! Numbers in decimal with a given precision.

use super::fill::fill;
use crate::error::Result;
use crate::meter;
use crate::print::grow_string;

/// A finite number as digits: `0.d₁d₂d₃… × 10^point`, without sign.
pub(super) struct Decimal {
    digits: Vec<u8>,
    point: i64,
}

impl Decimal {
    /// The shortest digits that read back to `x`, a finite float; its sign is dropped.
    pub(super) fn of_float(x: f64) -> Decimal {
        let text = format!("{:e}", x.abs());
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let digits: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).map(|b| b - b'0').collect();
        let point = exponent.parse::<i64>().unwrap_or(0) + 1;
        Decimal { digits, point }.trimmed()
    }

    /// An integer from its digits.
    pub(super) fn of_digits(text: &str) -> Decimal {
        let digits: Vec<u8> = text.bytes().map(|b| b - b'0').collect();
        let point = digits.len() as i64;
        Decimal { digits, point }.trimmed()
    }

    fn trimmed(mut self) -> Decimal {
        if self.digits.iter().all(|d| *d == 0) {
            return Decimal { digits: vec![0], point: 1 };
        }
        while self.digits.last() == Some(&0) {
            self.digits.pop();
        }
        self
    }

    fn is_zero(&self) -> bool {
        self.digits == [0]
    }

    /// The exponent of the first digit.
    pub(super) fn exponent(&self) -> i64 {
        self.point - 1
    }

    /// Keeps `count` digits, rounding half up.
    pub(super) fn round_to(&mut self, count: i64) {
        let Ok(count) = usize::try_from(count) else {
            *self = Decimal { digits: vec![0], point: 1 };
            return;
        };
        if count >= self.digits.len() {
            return;
        }
        let up = self.digits[count] >= 5;
        self.digits.truncate(count);
        if up {
            let mut at = count;
            loop {
                if at == 0 {
                    self.digits.insert(0, 1);
                    self.point += 1;
                    break;
                }
                at -= 1;
                if self.digits[at] < 9 {
                    self.digits[at] += 1;
                    break;
                }
                self.digits[at] = 0;
            }
        }
        if self.digits.is_empty() {
            self.digits.push(0);
        }
        let point = self.point;
        *self = Decimal { digits: std::mem::take(&mut self.digits), point }.trimmed();
    }

    /// Appends the `count` digits whose first one has the weight `10^-place`, with place 1 the first after the point. There is
    /// room.
    fn push_digits(&self, place: i64, count: usize, out: &mut String) {
        let first = self.point - 1 + place;
        let zeros = usize::try_from(first.min(0).unsigned_abs()).unwrap_or(usize::MAX).min(count);
        fill(out, '0', zeros);
        let known = self.digits.iter().skip(usize::try_from(first).unwrap_or(0)).take(count - zeros);
        let before = out.len();
        out.extend(known.map(|digit| char::from(b'0' + digit)));
        fill(out, '0', count - zeros - (out.len() - before));
    }

    /// `123.4500`: rounded to `precision` decimals.
    pub(super) fn fixed(mut self, precision: usize, out: &mut String) -> Result<()> {
        let decimals = i64::try_from(precision).unwrap_or(i64::MAX);
        self.round_to(self.point.saturating_add(decimals));
        let whole = if self.is_zero() { 1 } else { self.point.max(1) };
        let whole_digits = usize::try_from(whole).unwrap_or(0);
        let length = whole_digits.saturating_add(precision).saturating_add(1);
        grow_string(out, length)?;
        meter::charge_steps(length as u64 / 16)?;
        self.push_digits(1 - whole, whole_digits, out);
        if precision > 0 {
            out.push('.');
            self.push_digits(1, precision, out);
        }
        Ok(())
    }

    /// `1.2345e+04`: one digit before the point, `precision` after it, an exponent of at least two digits.
    pub(super) fn scientific(mut self, precision: usize, out: &mut String) -> Result<()> {
        self.round_to(i64::try_from(precision).unwrap_or(i64::MAX).saturating_add(1));
        let length = precision.saturating_add(8);
        grow_string(out, length)?;
        meter::charge_steps(length as u64 / 16)?;
        // The first digit stands before the point, whatever its weight.
        let first = 1 - self.point;
        self.push_digits(first, 1, out);
        if precision > 0 {
            out.push('.');
            self.push_digits(first + 1, precision, out);
        }
        let exponent = if self.is_zero() { 0 } else { self.exponent() };
        out.push_str(&format!("e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs()));
        Ok(())
    }
}
