//! Observers of calls, for operators and callers.

// Tests may read any clock.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod audit;
pub mod console;
pub mod draft_desk;
pub mod log;
pub mod metrics;
#[cfg(feature = "otel")]
pub mod otel;
pub mod recent;
pub mod recording;
pub mod sources;
pub mod static_page;
mod telemetry;
pub mod trace;

pub use telemetry::Telemetry;
