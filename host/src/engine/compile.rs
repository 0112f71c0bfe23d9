//! Text to program.

use ptc_compiler::CompileOptions;
use ptc_vm::{Program, Result};

/// Compiles a program. Its size has been checked against the eval's own limit.
pub(super) fn compile(source: &str) -> Result<Program> {
    let options = CompileOptions { max_source_bytes: usize::MAX, ..CompileOptions::default() };
    Ok(ptc_compiler::compile(source, &options)?)
}
