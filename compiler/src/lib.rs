//! The PTC-Lisp front end: text to bytecode.
//!
//! ```text
//! text → token → reader (forms) → analyze (core forms) → liveness → codegen → Program
//! ```
//!
//! Each phase uses only those to its left. [`verify`] checks the result in tests.
//!
//! Each phase runs over the whole program before the next begins, so a program that cannot be compiled has no effect. Names
//! that only a session knows are left to linking ([`Machine::new`](ptc_vm::Machine::new)): a program is compiled once, for any
//! namespace it runs in.
//!
//! # Beyond the first implementation
//!
//! Some syntax that Clojure accepts and the first implementation refuses is accepted here, with Clojure's meaning: `#_`, quoted
//! collections (lists are vectors) and scalars, `()` as `[]`, `\uXXXX` in strings and characters, `+5`, `0x1F`, `36rZZ`, `12N`;
//! several arities, `letfn`, `dotimes`, `declare`, `doto`; `if-let` and its kin with patterns and without else; `:as` in vector
//! patterns, `:syms`, constant keys of any kind, expressions in `:or`, empty map patterns, keyword arguments wherever a map
//! pattern stands after `&`; `:>>` in `condp`; vectors, maps and sets as `case` constants; `juxt` as a value; bare references
//! in discovery forms. A function body may use names that the program defines further down.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod analyze;
mod ast;
mod codegen;
pub mod datum;
mod error;
pub mod form;
mod liveness;
mod names;
mod nil_origin;
pub mod parts;
pub mod reader;
mod scratch;
mod source;
pub mod token;
pub mod verify;
mod vocabulary;

pub use error::CompileError;
pub use nil_origin::nil_origin;
pub use source::{Position, Span};

use error::Result;
use ptc_vm::machine::Library;
use ptc_vm::{Program, Reason};
use scratch::Scratch;

/// Limits of compilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompileOptions {
    /// Most bytes of source text.
    pub max_source_bytes: usize,
    /// Most distinct names of symbols and keywords, apart from the usual forms.
    pub max_names: usize,
}

impl Default for CompileOptions {
    /// The defaults of language.md 8.
    fn default() -> Self {
        Self { max_source_bytes: 1_000_000, max_names: 10_000 }
    }
}

/// Compiles a program that calls the functions of `library`.
///
/// # Errors
/// The reasons of phases 1 to 4, with the texts of the language specification and the place in the source.
pub fn compile(source: &str, library: &'static Library, options: &CompileOptions) -> Result<Program> {
    check_size(source, options)?;
    compile_checked(source, library, options).map_err(|error| error.locate(source))
}

fn compile_checked(source: &str, library: &'static Library, options: &CompileOptions) -> Result<Program> {
    let Scratch { stacks, forms, analysis, mut codegen } = scratch::take();
    let parts = parts::parts(source);
    let (mut forms, stacks, called) = reader::read_into(source, &parts, forms, stacks)?;
    check_names(&forms, library, options)?;
    let mut analysis = analyze::analyze(source, library, &mut forms, analysis, &parts, &called)?;
    liveness::mark_last_uses(&mut analysis.ast);
    let program = codegen::generate(source, &forms, &analysis, &mut codegen)?;
    scratch::keep(Scratch { stacks, forms: forms.into_tables(), analysis: analysis.into_tables(), codegen });
    Ok(program)
}

fn check_size(source: &str, options: &CompileOptions) -> Result<()> {
    // Offsets are 32 bits wide.
    let limit = options.max_source_bytes.min(u32::MAX as usize / 4);
    if source.len() > limit {
        let text = format!("program size {} bytes exceeds limit of {limit}", source.len());
        return Err(CompileError::new(Reason::ProgramTooLarge, Span::default(), text));
    }
    Ok(())
}

fn check_names(forms: &form::Forms<'_>, library: &Library, options: &CompileOptions) -> Result<()> {
    let limit = options.max_names;
    if forms.names.len() <= limit {
        return Ok(());
    }
    let count =
        forms.counted_names().filter(|name| vocabulary::is_counted(forms.names.text(*name), library)).count();
    if count <= limit {
        return Ok(());
    }
    let text = format!("program contains {count} unique symbols/keywords, exceeds limit of {limit}");
    Err(CompileError::new(Reason::SymbolLimitExceeded, Span::default(), text))
}
