//! JSON Lines: a document a line.

use super::parse::Parser;
use super::read_error::ReadError;
use crate::error::Result;
use crate::meter;
use crate::value::{Value, Vector};

/// Parses each line that is not blank; a line that is not JSON becomes `nil` at its place. Charges as [`parse`](super::parse)
/// does.
pub(crate) fn parse_lines(text: &str) -> Result<Value> {
    meter::charge_steps(text.len() as u64 / 16)?;
    let mut values = Vector::new();
    let mut parser = Parser::new("");
    for line in text.split('\n') {
        meter::charge_steps(1)?;
        if line.bytes().all(|byte| byte.is_ascii_whitespace()) {
            continue;
        }
        parser.restart(line);
        values.push(match parser.document() {
            Ok(value) => value,
            Err(ReadError::NotJson) => Value::Nil,
            Err(ReadError::Limit(error)) => return Err(error),
        });
        meter::check_memory()?;
    }
    Ok(Value::Vector(values))
}
