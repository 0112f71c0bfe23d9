//! Questions to people that a program waits for (waiting.md 3).
//!
//! * [`Level`] — how far from the model an answer must come.
//! * [`approval`] — what is asked before a call that policy does not let through by itself.

#[cfg(feature = "seals")]
pub mod approval;
mod level;

pub use level::Level;
