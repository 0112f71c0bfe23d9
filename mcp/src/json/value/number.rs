//! Numbers, kept as text.

use std::fmt;

/// A JSON number, kept as its text. Two numbers are equal if their texts are.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Number(Box<str>);

impl Number {
    /// The number of a text that is known to be one. An exponent is written `e`, with its sign.
    pub(super) fn read(text: &str) -> Self {
        let Some(at) = text.find(['e', 'E']) else { return Self(text.into()) };
        let (mantissa, exponent) = (&text[..at], &text[at + 1..]);
        let sign = if exponent.starts_with(['+', '-']) { "" } else { "+" };
        Self(format!("{mantissa}e{sign}{exponent}").into())
    }

    /// The number of a text that our side has written, kept exactly.
    pub(super) fn written(text: &str) -> Self {
        Self(text.into())
    }

    /// The shortest text that reads as `float`; `None` for values without a JSON number.
    pub fn from_f64(float: f64) -> Option<Self> {
        let text = float.is_finite().then(|| serde_json::to_string(&float).ok()).flatten()?;
        Some(Self(text.into()))
    }

    /// The shortest text that reads as `float`; `None` for values without a JSON number.
    pub(crate) fn from_f32(float: f32) -> Option<Self> {
        let text = float.is_finite().then(|| serde_json::to_string(&float).ok()).flatten()?;
        Some(Self(text.into()))
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The integer, if it is written as one and an `i64` holds it.
    pub fn as_i64(&self) -> Option<i64> {
        self.0.parse().ok()
    }

    /// The integer, if it is written as one and a `u64` holds it.
    pub fn as_u64(&self) -> Option<u64> {
        self.0.parse().ok()
    }

    /// The finite `f64` nearest to it.
    pub fn as_f64(&self) -> Option<f64> {
        self.0.parse().ok().filter(|float: &f64| float.is_finite())
    }

    /// Whether it is written as an integer that an `i64` holds.
    pub fn is_i64(&self) -> bool {
        self.as_i64().is_some()
    }

    /// Whether it is written as an integer that a `u64` holds.
    pub fn is_u64(&self) -> bool {
        self.as_u64().is_some()
    }
}

macro_rules! from_integers {
    ($($integer:ty),*) => {$(
        impl From<$integer> for Number {
            fn from(number: $integer) -> Self {
                Self(itoa::Buffer::new().format(number).into())
            }
        }
    )*};
}

from_integers!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize);

impl fmt::Display for Number {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Number({})", self.0)
    }
}
