//! Bounds how many frames that ask for nothing an HTTP/2 client may send.
//!
//! Frames such as `PING`, `SETTINGS`, `RST_STREAM` or `DATA` without data are cheap for the client and cost the
//! server work each, without any request that could be refused. So there is a token bucket: each frame of the client
//! takes one token, answers add some, and the rest is refilled with time.

use super::frames::FrameHead;
use ptc_host::time::{self, Instant};

/// The capacity: frames that may come at once.
const MOST: f64 = 2_000.0;
/// Tokens refilled in a second: enough for a client that only listens.
const PER_SECOND: f64 = 20.0;
/// Tokens for an answer: a request has its own head, an end of its body, a reset and a window update.
const ANSWER: f64 = 5.0;
/// Tokens for each part of an answer's body, which may be acknowledged for its stream and for the connection.
const PART: f64 = 2.0;
/// A part of a request's body of at least that size costs nothing. Bodies have limits of their own.
const LEAST_DATA: usize = 64;

/// The bucket of one connection.
#[derive(Debug)]
pub(super) struct Patience {
    left: f64,
    at: Instant,
}

impl Patience {
    pub(super) fn new() -> Patience {
        Patience { left: MOST, at: time::now() }
    }

    /// Refills the bucket, and returns whether it has a token.
    pub(super) fn is_left(&mut self) -> bool {
        let now = time::now();
        self.earn(now.saturating_duration_since(self.at).as_secs_f64() * PER_SECOND);
        self.at = now;
        self.left >= 0.0
    }

    /// Takes the tokens for a frame of the client.
    pub(super) fn received(&mut self, frame: FrameHead) {
        let is_body = frame.is_data() && frame.length >= LEAST_DATA && !frame.is_padded();
        if !is_body {
            self.left -= 1.0;
        }
    }

    /// Adds the tokens for a frame of the server.
    pub(super) fn sent(&mut self, frame: FrameHead) {
        if frame.is_headers() {
            self.earn(ANSWER);
        } else if frame.is_data() && frame.length > 0 {
            self.earn(PART);
        }
    }

    fn earn(&mut self, count: f64) {
        self.left = (self.left + count).min(MOST);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::frames::Frames;
    use super::*;

    fn frame(kind: u8, flags: u8, length: u8) -> FrameHead {
        let mut found = None;
        Frames::new().walk(&[0, 0, length, kind, flags, 0, 0, 0, 1], |frame| found = Some(frame));
        found.expect("a whole head")
    }

    /// How many of these frames a client may send at once.
    fn allowed(frame: FrameHead) -> usize {
        let mut patience = Patience::new();
        let sent = (0..100_000).take_while(|_| {
            patience.received(frame);
            patience.is_left()
        });
        sent.count()
    }

    #[tokio::test(start_paused = true)]
    async fn frames_that_ask_for_nothing_have_an_end_and_bodies_have_not() {
        // Headers without an answer, priorities, resets, settings, pings, window updates, continuations, and an
        // unknown kind.
        for kind in [1, 2, 3, 4, 6, 8, 9, 77] {
            assert_eq!(allowed(frame(kind, 0, 8)), MOST as usize, "{kind}");
        }
        assert_eq!(allowed(frame(0, 0, 0)), MOST as usize);
        assert_eq!(allowed(frame(0, 8, 200)), MOST as usize, "padding is no body");
        assert_eq!(allowed(frame(0, 0, 200)), 100_000);
    }

    #[tokio::test(start_paused = true)]
    async fn answers_and_time_earn_more_of_them() {
        let mut patience = Patience::new();
        let requests = |patience: &mut Patience, answered: bool| {
            let mut sent = 0;
            while sent < 10_000 && patience.is_left() {
                // Its head, the end of its body, a window update for the stream and one for the connection.
                [1, 0, 8, 8].into_iter().for_each(|kind| patience.received(frame(kind, 0, 4)));
                if answered {
                    patience.sent(frame(1, 0, 40));
                    patience.sent(frame(0, 0, 40));
                }
                sent += 1;
            }
            sent
        };
        assert_eq!(requests(&mut patience, true), 10_000);
        assert!(requests(&mut patience, false) < 1_000);
        assert!(!patience.is_left());
        tokio::time::advance(Duration::from_secs(10)).await;
        assert!(patience.is_left());
        let resets = (0..10_000).take_while(|_| {
            [1, 3].into_iter().for_each(|kind| patience.received(frame(kind, 0, 4)));
            patience.is_left()
        });
        assert!(resets.count() <= 100, "requests that are taken back earn nothing");
    }
}
