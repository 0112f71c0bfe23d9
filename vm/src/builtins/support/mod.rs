//! Shared by the families: reading arguments, building results, and calling functions element by element.
//!
//! | Module | Purpose |
//! |---|---|
//! | [`sequence`] | any seqable value as a [`Cursor`](crate::value::Cursor) or a vector, charged and reserved |
//! | [`adding`] | adding to a collection of any kind |
//! | [`builder`] | a vector that grows within the memory limit |
//! | [`mod@each`] | the frame of `map`, `filter`, `some` …: call a function for each element, do something with the results |
//! | [`callee`] | calls by function, string key or path; the reading of paths |
//! | [`check`] | the values that positions of functions and collections accept |
//! | [`keys`] | keys of maps that stand for arguments |
//! | [`table`] | a hash table by identity, for counting and grouping |
//! | [`endless`] | sequences without end, of which functions take a finite part |
//! | [`order`] | comparing where NaN is an error |
//! | [`reduced`] | the wrapper with which a reducing function stops early |
//! | `testing` | calling a builtin in a machine of its own, for tests |
//! | [`continuation`] | one call of a function, and the use of its result |
//! | [`text`] | a text that grows within the memory limit |
//! | [`mod@transducer`] | the value that a function without its collection is |
//! | [`errors`] | the message templates of functions.md 0.5 that several families use |

pub(super) mod adding;
pub(super) mod builder;
pub(super) mod callee;
pub(super) mod check;
pub(super) mod continuation;
pub(super) mod each;
pub(super) mod endless;
pub(super) mod errors;
pub(super) mod keys;
pub(super) mod order;
pub(super) mod reduced;
pub(super) mod sequence;
pub(super) mod table;
#[cfg(test)]
pub(super) mod testing;
pub(super) mod text;
pub(super) mod transducer;

pub(super) use crate::meter::MemoryCharge;
pub(super) use builder::Builder;
pub(super) use callee::call;
pub(super) use continuation::{Continuation, ThenFrame, call_then};
pub(super) use each::{Each, Feed, Sink, each};
pub(super) use sequence::{cursor, elements};
pub(super) use table::Table;
pub(super) use text::{TextBuilder, copied};
pub(super) use transducer::transducer;

use crate::error::Result;
use crate::machine::Ctx;
use crate::meter;

/// Limit on counts of elements in untrusted bytes, so that none overflows: no program has steps to come near.
pub(super) const COUNTED: i64 = 1 << 62;

/// For loops that run direct calls: refuses when memory is used up, and says whether to answer
/// [`Flow::Yield`](crate::machine::Flow::Yield). To be asked *after* an element, so that each slice makes progress.
#[inline]
pub(super) fn pulse(ctx: &Ctx<'_>) -> Result<bool> {
    meter::check_memory()?;
    Ok(ctx.should_yield())
}
