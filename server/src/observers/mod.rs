//! Observers of calls, for operators and callers.

pub mod audit;
pub mod console;
pub mod log;
pub mod metrics;
pub mod recent;
pub mod recording;
pub mod sources;
mod telemetry;
pub mod trace;

pub use telemetry::Telemetry;
