//! Questions to people that a program waits for (waiting.md 3).
//!
//! * [`Form`] — what is filled in.
//! * [`Level`] — how far from the model an answer must come.
//! * [`approval`] — what is asked before a call that policy does not let through by itself.

#[cfg(feature = "seals")]
pub mod approval;
mod form;
mod level;

pub use form::{Choice, Field, Form, FormDialect, FormFault, Length, Range, StringFormat, Wanted};
pub use level::Level;
