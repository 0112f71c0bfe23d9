//! What a call came to: everything before a response profile picks from it.

mod call;
mod payload;
pub mod ptc_metrics;
mod session;

pub use call::{CallReport, PlannerReport, TaskEvent, Usage};
pub use payload::{Ending, ErrorReason, Payload};
pub use session::SessionPart;
