//! Text to program.

use ptc_vm::{Error, Program, Reason, Result};

/// Compiles a program.
pub(super) fn compile(_source: &str) -> Result<Program> {
    Err(Error::new(Reason::ParseError, "no compiler yet"))
}
