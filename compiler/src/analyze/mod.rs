//! Analysis: forms to core forms.
//!
//! Special forms are checked and expanded, names are resolved, and patterns are destructured, all in one pass. The pass
//! recurses as deep as the text is nested (at most 65 levels), plus one level for each special form among the steps of a `->`,
//! which has its own limit.
//!
//! [`scope`] holds the bindings of names, and [`analyzer`] the pass itself. Each of the other files adds the methods for one
//! family of forms.

mod analysis;
mod analyzer;
mod bindings;
mod calls;
mod case;
mod comprehensions;
mod conditionals;
mod control;
mod definitions;
mod discovery;
mod endless;
mod functions;
mod lexical;
mod literals;
mod loaded_names;
mod loading;
mod namespaces;
mod patterns;
mod programs;
mod scope;
mod short_fn;
mod threading;

pub(crate) use analysis::AnalysisBuffers;
pub(crate) use analysis::{Analysis, FreeName};

use crate::error::Result;
use crate::form::{Forms, Items};
use crate::parts::TextPart;
use analyzer::Analyzer;
use ptc_vm::machine::Library;

/// Analyses a program (phase 4), and finds its free names (for phases 5 and 6). The tables are empty and may have served
/// before. `parts` are those of the text, `called` the forms of the programs that it brings along.
///
/// # Errors
/// The first fault in source order; `cond`, `case` and `condp` look at their last clause first.
#[inline]
pub(crate) fn analyze<'s>(
    source: &'s str,
    library: &'static Library,
    forms: &mut Forms<'s>,
    tables: AnalysisBuffers,
    parts: &[TextPart<'_>],
    called: &[Items],
) -> Result<Analysis> {
    let program = forms.program();
    let mut analyzer = Analyzer::new(source, library, forms, tables)?;
    if !parts.is_empty() {
        analyzer.declare_programs(parts);
    }
    analyzer.program(program)?;
    if !called.is_empty() {
        analyzer.called_programs(called)?;
    }
    Ok(analyzer.finish())
}
