//! Waiting for a condition by looking again: the one place where tests do.

use std::time::{Duration, Instant};

/// How long anything may take before a test gives up, on however busy a machine.
pub const PATIENCE: Duration = Duration::from_secs(180);

/// How long there is between two looks.
const PAUSE: Duration = Duration::from_millis(5);

/// Waits until `condition` holds.
///
/// # Panics
/// If it does not within [`PATIENCE`]. The text of the panic has `what`.
#[track_caller]
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < end, "still not so: {what}");
        std::thread::sleep(PAUSE);
    }
}

/// Waits until `condition` holds, and lets other tasks run meanwhile.
///
/// # Panics
/// As [`wait_until`] does.
pub async fn wait_until_async(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !condition().await {
        assert!(Instant::now() < end, "still not so: {what}");
        tokio::time::sleep(PAUSE).await;
    }
}
