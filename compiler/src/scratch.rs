//! The tables of one compilation, kept for the next one on the same thread.
//!
//! A short program is compiled in a microsecond or two, and allocating a dozen tables would be a good part of that. The tables
//! of an unusually large program are not kept. Neither are those of a program that was refused.

use std::cell::Cell;

use crate::{analyze, codegen, form, reader};

/// Empty tables.
#[derive(Default)]
pub(crate) struct Scratch {
    pub(crate) stacks: reader::Stacks,
    pub(crate) forms: Box<form::FormBuffers>,
    pub(crate) analysis: analyze::AnalysisBuffers,
    pub(crate) codegen: codegen::GeneratorBuffers,
}

/// Forms of more than so many bytes are a large program's: that is a text of some 16 KiB.
const MOST_BYTES: usize = 64 << 10;

thread_local! {
    static KEPT: Cell<Option<Scratch>> = const { Cell::new(None) };
}

/// The tables of the last compilation, or new ones.
#[inline]
pub(crate) fn take() -> Scratch {
    KEPT.take().unwrap_or_default()
}

/// Keeps tables for the next compilation, unless they are large.
#[inline]
pub(crate) fn keep(scratch: Scratch) {
    if scratch.forms.bytes() + scratch.stacks.bytes() <= MOST_BYTES {
        KEPT.set(Some(scratch));
    }
}
