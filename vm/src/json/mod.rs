//! JSON straight into values and straight out of them (language.md 9.4, 9.5; ruling 10).
//!
//! Reading gives exact integers of any size, floats where there is a fraction or an exponent, and string keys; it takes strict
//! JSON in UTF-8 nested at most [`MAX_NESTING`] deep and without lone surrogates. Writing turns keywords into their names, sets
//! into arrays, dates and instants into ISO-8601 text, and refuses values without a JSON form with the path to them.

mod keys;
mod layouts;
mod lenient;
mod lines;
mod nesting;
mod number;
mod parse;
mod read_error;
mod rows;
mod strings;
mod write;

pub(crate) use lenient::{parse_lenient, parse_python};
pub(crate) use lines::parse_lines;
pub use parse::parse;
pub(crate) use parse::{DocumentReading, parse_reply};
pub use read_error::MAX_NESTING;
pub(crate) use write::{ArgumentSendError, write_tool_arguments, write_within};
pub use write::{ToolArguments, generate, write};

#[cfg(test)]
mod tests;
