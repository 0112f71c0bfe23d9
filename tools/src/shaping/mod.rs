//! Turns the outcome of an evaluation into the reply to a client.
//!
//! An evaluation produces one full [`Payload`](ptc_protocol::report::Payload). [`shape`] bounds it and projects it onto a
//! response profile. Diagnostics use the payload unchanged.

pub mod feedback;
pub mod preview;
pub mod project;

mod calls;
mod guard;
mod limits;
mod running;
mod sections;
mod session;
mod waiting;

#[cfg(test)]
mod forgery;
#[cfg(test)]
mod tests;

pub(super) use calls::call_result;
pub use guard::guard;
pub use limits::Shaper;
pub use project::shape;
pub(super) use running::{cancelled, running};
pub(super) use waiting::waiting;
