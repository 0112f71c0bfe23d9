//! Arithmetic on the numbers of the language: integers of any size up to [`MAX_INTEGER_BITS`], and floats.
//!
//! Results that a program can make huge are charged and reserved before they are computed, and computed in pieces. A float
//! operand makes the result a float.

mod arithmetic;
mod big;
mod pieces;

pub(crate) use arithmetic::{
    add, divide, extreme, float, floor_quotient, increment, modulo, multiply, negate, quotient, remainder,
    subtract,
};
pub(crate) use big::{MAX_INTEGER_BITS, admit, integer_too_large, integral, scaled, to_float, unscaled};
pub(crate) use pieces::{read_decimal, write_decimal};
