//! Code generation: core forms to bytecode.
//!
//! Locals live on the value stack: a binding is the slot in which its value was computed. The generator therefore knows the
//! depth of the stack at every instruction. Both branches of a conditional leave the stack one value deeper.
//!
//! [`body`] emits the instructions of one function, and [`generator`] holds the parts that are made once per program. Each of
//! the other files generates the code of one family of core forms.

mod body;
mod calls;
mod conditionals;
mod constants;
mod fusing;
mod generator;
mod loops;
mod nodes;
mod patterns;
mod positions;
mod rows;

pub(crate) use generator::GeneratorBuffers;

use ptc_vm::Program;

use crate::analyze::Analysis;
use crate::error::Result;
use crate::form::Forms;
use generator::Generator;

/// Generates the program. The tables are empty and may have served before; they come back empty.
///
/// # Errors
/// `invalid_form` for a regex literal that does not compile; `compile_memory_exceeded` for a function with more values in
/// its frame than an instruction can name.
#[inline]
pub(crate) fn generate(
    source: &str,
    forms: &Forms<'_>,
    analysis: &Analysis,
    tables: &mut GeneratorBuffers,
) -> Result<Program> {
    let mut generator = Generator::new(source, forms, analysis, std::mem::take(tables));
    generator.program()?;
    Ok(generator.finish(tables))
}
