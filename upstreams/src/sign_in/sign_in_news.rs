//! Notification of sign-ins in this process.

use tokio::sync::watch;

/// Sign-ins that this process knows of, at one upstream.
#[derive(Debug, Default)]
pub(super) struct News(watch::Sender<u64>);

impl News {
    /// How many there were.
    pub(super) fn count(&self) -> u64 {
        *self.0.borrow()
    }

    /// Those to come.
    pub(super) fn heard(&self) -> watch::Receiver<u64> {
        self.0.subscribe()
    }

    /// There is one more.
    pub(super) fn tell(&self) {
        self.0.send_modify(|count| *count += 1);
    }
}
