//! `notifications/initialized`: the client has read the answer to `initialize`. Nothing waits for it.

/// Logs it.
pub fn act() {
    tracing::debug!(event = "notifications_initialized");
}
