//! From the outcome of an evaluation to what a client sees of it.
//!
//! An evaluation gives one full [`Payload`](crate::report::Payload). [`shape`] bounds it and projects it to a response
//! profile; diagnostics take the payload as it is.

pub mod feedback;
pub mod preview;
pub mod project;

mod calls;
mod guard;
mod limits;
mod session;

#[cfg(test)]
mod tests;

pub(super) use calls::call_result;
pub use guard::guard;
pub use project::{Shaper, shape};
