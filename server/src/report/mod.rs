//! The full outcome of a call, before a response profile selects from it.

mod call;
mod payload;
pub(crate) mod ptc_metrics;
mod session;

pub(crate) use call::{CallReport, PlannerReport, TaskEvent, Usage};
pub(crate) use payload::{Ending, ErrorReason, Payload};
pub(crate) use session::SessionPart;
