//! Waiting for sign-ins.

use std::time::Duration;

use super::records;
use super::site::Site;
use ptc_base::time;

/// Poll interval with backoff: other processes do not announce sign-ins.
const FIRST_LOOK: Duration = Duration::from_millis(500);
const LAST_LOOK: Duration = Duration::from_secs(4);

impl Site {
    /// When the sign-in of an account was made, in milliseconds since 1970; `None` if the store has no usable one. Reads the
    /// store, and calls from now on use the tokens found.
    pub async fn signed_in_at(&self, account: &str) -> Option<u64> {
        let account = self.account(account);
        let binding = self.binding(account).await.ok()??;
        let record = records::tokens(self.store(), &binding, account).await.ok()??;
        let is_of_use = record.is_signed_in(self.now()) && record.last_error.is_none();
        is_of_use.then_some(record.signed_in_at)
    }

    /// Makes the next call of a principal that has signed in read the store, however recently it was read.
    pub fn note_sign_in(&self) {
        self.news.tell();
    }

    /// Waits for a sign-in of an account that was made when it `is_enough`.
    pub async fn until_signed_in(&self, account: &str, is_enough: impl Fn(u64) -> bool) {
        // What comes between a look and the wait behind it counts.
        let mut told = self.news.heard();
        let mut pause = FIRST_LOOK;
        while !self.signed_in_at(account).await.is_some_and(&is_enough) {
            // The sender is here.
            let _ = time::timeout(pause, told.changed()).await;
            pause = (pause * 2).min(LAST_LOOK);
        }
    }
}
