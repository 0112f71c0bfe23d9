//! Delivers a message: at once, with three retries.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use ptc_host::digest::short_hash;
use ptc_host::http::{Limits, Request};
use ptc_host::questions::QuestionId;
use ptc_host::time::{self, sleep};
use tracing::{info, warn};

use super::{HEADER, Webhook, signature};

/// Bytes of an answer that are read: its content does not matter.
const MAX_ANSWER: usize = 64 << 10;

/// Why an attempt failed.
#[derive(Debug)]
struct Failed {
    why: String,
    /// True if a retry may succeed.
    may_pass: bool,
}

impl Webhook {
    /// Delivers a message about this question of this run.
    pub(super) async fn deliver(self: Arc<Self>, body: Bytes, run_id: &str, question: QuestionId) {
        let hash = short_hash(run_id.as_bytes());
        let run_hash = &hash[..8];
        let mut pauses = self.pauses.iter();
        for attempt in 1.. {
            let failed = match self.attempt(body.clone()).await {
                Ok(()) => {
                    info!(event = "approval_webhook_told", run_hash, question = %question, attempt);
                    return;
                }
                Err(failed) => failed,
            };
            match pauses.next().filter(|_| failed.may_pass) {
                Some(pause) => sleep(*pause).await,
                None => {
                    let reason = failed.why;
                    warn!(event = "approval_webhook_failed", run_hash, question = %question, attempt, reason);
                    return;
                }
            }
        }
    }

    /// Makes one attempt, signed now. Redirects are answers like any other that is no success: a message signed for
    /// one place is not sent to another.
    #[expect(clippy::disallowed_methods, reason = "entry point: Webhook.attempt")]
    async fn attempt(&self, body: Bytes) -> Result<(), Failed> {
        let failed = |why: &dyn std::fmt::Display, may_pass| Failed { why: why.to_string(), may_pass };
        // The semaphore is never closed.
        let _place = self.at_once.acquire().await;
        let request = Request {
            method: Method::POST,
            target: self.target.clone(),
            headers: self.headers(&body).map_err(|error| failed(&error, false))?,
            body,
        };
        let limits = Limits {
            connect: self.patience,
            first_byte: None,
            total: self.patience,
            deadline: time::now() + self.patience,
            max_bytes: MAX_ANSWER,
            allowance: 0,
        };
        let response = self.client.send(request, &limits).await.map_err(|error| failed(&error, true))?;
        let status = response.status;
        // Read to its end, so that the connection can be used again.
        let _ = response.body.collect().await;
        match status.is_success() {
            true => Ok(()),
            false => Err(failed(&status, may_pass(status))),
        }
    }

    fn headers(&self, body: &[u8]) -> Result<HeaderMap, http::header::InvalidHeaderValue> {
        let signed = signature::signed(&self.secret, signature::now_s(), body);
        let mut headers = HeaderMap::new();
        headers.insert(USER_AGENT, HeaderValue::from_static(concat!("ptc/", env!("CARGO_PKG_VERSION"))));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(HEADER, HeaderValue::try_from(signed)?);
        Ok(headers)
    }
}

/// True if a retry may have another result.
fn may_pass(status: StatusCode) -> bool {
    let passing = [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_EARLY, StatusCode::TOO_MANY_REQUESTS];
    status.is_server_error() || passing.contains(&status)
}
