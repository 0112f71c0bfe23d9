//! Compiled code as bytes, to tell whether a text came to the same code again.

use super::{Bounds, EncodeError, Encoder, WireWriter};
use crate::code::{LANGUAGE_VERSION, Program};
use std::fmt::Write as _;

/// Passes to `sink` everything that determines a compiled program's meaning, piece by piece: the same pieces for the same code
/// only, within one build. The first piece is the version of the language, since the same code may have another meaning in
/// another one. A holder of a program's text stores a digest of this beside it. Charges a step for each 64 bytes.
///
/// # Errors
/// The account is at its limits, or the constants are more than [`Bounds::default`] admits.
pub fn write_code(program: &Program, sink: &mut dyn FnMut(&[u8])) -> Result<(), EncodeError> {
    sink(&LANGUAGE_VERSION.to_le_bytes());
    let mut constants = Encoder::new(Bounds::default());
    let mut text = String::new();
    let mut flush = |text: &mut String| {
        sink(&(text.len() as u64).to_le_bytes());
        sink(text.as_bytes());
        let charged = crate::meter::charge_steps(text.len() as u64 / super::BYTES_A_STEP);
        text.clear();
        charged
    };
    let mut places = WireWriter::new();
    let shown = write!(
        text,
        "{:?} {:?} {:?} {}",
        program.globals, program.requires, program.tools, program.shadows_builtin
    );
    debug_assert!(shown.is_ok(), "a string takes any text");
    if !program.parts.is_empty() {
        let shown = write!(text, "{:?}", program.parts);
        debug_assert!(shown.is_ok(), "a string takes any text");
    }
    flush(&mut text)?;
    for function in &program.functions {
        let shown = write!(
            text,
            "{:?} {:?} {} {}",
            function.name,
            function.captures,
            function.display,
            function.arities.len()
        );
        debug_assert!(shown.is_ok(), "a string takes any text");
        for arity in &function.arities {
            let shown = write!(
                text,
                "{:?} {} {} {:?} {:?}",
                arity.parameters,
                arity.max_stack,
                arity.lookups.len(),
                arity.code,
                arity.positions
            );
            debug_assert!(shown.is_ok(), "a string takes any text");
            for constant in &arity.constants {
                places.place(constants.value(constant)?);
            }
        }
        flush(&mut text)?;
    }
    for info in &program.defs {
        let shown = write!(text, "{info:?}");
        debug_assert!(shown.is_ok(), "a string takes any text");
        flush(&mut text)?;
    }
    let mut table = WireWriter::new();
    constants.finish().write(&mut table);
    sink(&table.into_bytes());
    sink(&places.into_bytes());
    Ok(())
}
