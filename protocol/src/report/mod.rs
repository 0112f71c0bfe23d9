//! The full outcome of a call, before a response profile selects from it.

mod call;
mod payload;
pub mod ptc_metrics;
mod session;

pub use call::{CallReport, CallUsage, PlannerReport, TaskEvent};
pub use payload::{Ending, ErrorReason, Payload};
pub use session::SessionPart;
