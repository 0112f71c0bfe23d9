//! What the families share: reading arguments, building results, and calling functions element by element.
//!
//! | Module | What it gives |
//! |---|---|
//! | [`sequence`] | any seqable value as a [`Cursor`](crate::value::Cursor) or a vector, charged and reserved |
//! | [`adding`] | adding to a collection of any kind |
//! | [`builder`] | a vector that grows within the memory limit |
//! | [`mod@each`] | the frame behind `map`, `filter`, `some` …: call a function for each element, do something with the results |
//! | [`callee`] | calls by function, string key or path; the reading of paths |
//! | [`check`] | what the positions of functions and collections accept |
//! | [`table`] | a hash table by identity, for counting and grouping |
//! | [`endless`] | sequences without end, which only `take` and walks in step accept |
//! | [`order`] | comparing where NaN is an error |
//! | [`reduced`] | the wrapper with which a reducing function stops early |
//! | `testing` | calling a builtin in a machine of its own, for tests |
//! | [`then`] | one call of a function, and what becomes of its result |
//! | [`text`] | a text that grows within the memory limit |
//! | [`mod@transducer`] | the value that a function without its collection is |
//! | [`errors`] | the message templates of functions.md 0.5 that several families use |

pub mod adding;
pub mod builder;
pub mod callee;
pub mod check;
pub mod each;
pub mod endless;
pub mod errors;
pub mod order;
pub mod reduced;
pub mod sequence;
pub mod table;
#[cfg(test)]
pub mod testing;
pub mod text;
pub mod then;
pub mod transducer;

pub use crate::meter::Held;
pub use builder::Builder;
pub use callee::{call, read_path};
pub use each::{Each, Feed, Sink, each};
pub use sequence::{cursor, elements};
pub use table::Table;
pub use text::TextBuilder;
pub use then::{Continuation, Then, call_then};
pub use transducer::transducer;

use crate::error::Result;
use crate::machine::Ctx;
use crate::meter;

/// For loops that run direct calls: refuses when memory is used up, and says whether to answer
/// [`Flow::Yield`](crate::machine::Flow::Yield). To be asked *after* an element, so that each slice makes progress.
#[inline]
pub fn pulse(ctx: &Ctx<'_>) -> Result<bool> {
    meter::check_memory()?;
    Ok(ctx.should_yield())
}
