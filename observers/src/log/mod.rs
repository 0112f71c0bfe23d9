//! Structured logs on standard error: one JSON object per line.
//!
//! ```json
//! {"ts":"2026-03-04T05:06:07.123456Z","level":"info","event":"tools_call_start","request_id":"0f3a…","rpc_id":"7","fields":{"tool":"lisp_eval"}}
//! ```
//!
//! Events are ordinary `tracing` events with a field `event`. A field `request_id` moves to the top level; declared
//! fields without a value are null. Programs and data never appear in logs. A separate thread writes the lines, because
//! a client that does not read our standard error must not stop the server. Lines that arrive within a few milliseconds
//! share a write. At the end, all received lines are written.

mod layer;
mod sink;
mod timestamp;

use std::time::Duration;

use ptc_host::credentials::Redactor;
use tracing::Subscriber;
use tracing_subscriber::Registry;
use tracing_subscriber::layer::SubscriberExt;

use layer::JsonLines;
use ptc_protocol::settings::LogLevel;
use sink::Sink;

pub use layer::CurrentLevel;

/// Keeps logging alive; writes the remaining lines on drop.
pub struct LogGuard {
    sink: Sink,
    level: CurrentLevel,
}

impl LogGuard {
    /// The level, to change it while the process runs.
    #[must_use]
    pub fn level(&self) -> &CurrentLevel {
        &self.level
    }
}

impl Drop for LogGuard {
    fn drop(&mut self) {
        self.sink.flush(Duration::from_millis(500));
    }
}

/// Installs standard error as the process's log. May be called once; later calls keep the first log.
#[must_use = "lines are lost when the guard is dropped early"]
pub fn init(level: LogLevel, redactor: Redactor) -> LogGuard {
    let (sink, level) = (Sink::new(std::io::stderr()), CurrentLevel::new(level));
    // Fails only if a subscriber is set already (an embedder's, a test's), which then stays.
    let _ = tracing::subscriber::set_global_default(subscriber(level.clone(), redactor, sink.clone()));
    LogGuard { sink, level }
}

fn subscriber(level: CurrentLevel, redactor: Redactor, sink: Sink) -> impl Subscriber + Send + Sync {
    Registry::default().with(JsonLines::new(level, redactor, sink))
}

#[cfg(test)]
mod tests;
