//! Retries.

use super::{EventSink, Llm, LlmError, LlmErrorKind, LlmRequest, LlmResponse};
use futures_util::future::BoxFuture;
use ptc_base::time::{self, Instant};
use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The value for "for ever": pauses are added to a clock.
const LONGEST: Duration = Duration::from_secs(365 * 86_400);

/// How the pause grows from attempt to attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Backoff {
    /// Once, twice, four times the base …
    #[default]
    Exponential,
    /// Once, twice, three times the base …
    Linear,
    /// Always the base.
    Constant,
}

/// When a failed request is repeated, and after which pause (agent.md 11).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Requests in all, the first one included; 1.
    pub max_attempts: u32,
    /// How the pause grows.
    pub backoff: Backoff,
    /// The first pause; 1 s. Up to half of each pause is cut off at random, so that clients that failed together
    /// do not retry together.
    pub base_delay: Duration,
    /// The longest pause, also if the endpoint asks for a longer one: the failure is then handed on at once; 60 s.
    pub max_delay: Duration,
    /// The kinds of failures after which it is worth asking again: rate limits, time-outs and failures of the server. Broken
    /// connections are not among them by default, for the provider may have done, and charged, the work.
    pub retryable: Vec<LlmErrorKind>,
}

impl Default for RetryPolicy {
    fn default() -> RetryPolicy {
        RetryPolicy {
            max_attempts: 1,
            backoff: Backoff::default(),
            base_delay: Duration::from_secs(1),
            max_delay: Duration::from_secs(60),
            retryable: vec![LlmErrorKind::RateLimit, LlmErrorKind::Timeout, LlmErrorKind::Server],
        }
    }
}

impl RetryPolicy {
    /// The default policy with so many attempts.
    #[must_use]
    pub fn attempts(max_attempts: u32) -> RetryPolicy {
        RetryPolicy { max_attempts, ..RetryPolicy::default() }
    }

    /// The pause after the failed attempt `attempt` (from 1), with `random` from 0 to 1; `None` if it is not worth asking
    /// again.
    #[must_use]
    pub fn pause(&self, attempt: u32, error: &LlmError, random: f64) -> Option<Duration> {
        if attempt >= self.max_attempts || !self.retryable.contains(&error.kind) {
            return None;
        }
        let times = match self.backoff {
            Backoff::Exponential => 1_u32.checked_shl(attempt - 1).unwrap_or(u32::MAX),
            Backoff::Linear => attempt,
            Backoff::Constant => 1,
        };
        let full = self.base_delay.saturating_mul(times).min(self.max_delay).min(LONGEST);
        let own = full.mul_f64(1.0 - random.clamp(0.0, 1.0) / 2.0);
        match error.retry_after {
            Some(asked) if asked > self.max_delay.min(LONGEST) => None,
            Some(asked) => Some(own.max(asked)),
            None => Some(own),
        }
    }
}

/// Numbers from 0 to 1.
type Random = Arc<dyn Fn() -> f64 + Send + Sync>;

/// Receives a failure that is followed by a retry, and the pause before the retry.
pub type OnRetry = Arc<dyn Fn(&LlmError, Duration) + Send + Sync>;

/// A model that repeats failed requests.
///
/// A streamed request is repeated only before any part of an answer has been forwarded. No pause goes beyond a request's
/// deadline. Time is tokio's, so that tests can pause it.
pub struct Retrying<L> {
    inner: L,
    policy: RetryPolicy,
    random: Random,
    on_retry: Option<OnRetry>,
}

impl<L: fmt::Debug> fmt::Debug for Retrying<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retrying")
            .field("inner", &self.inner)
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

impl<L: Llm> Retrying<L> {
    /// Asks `inner` again as the policy says.
    pub fn new(inner: L, policy: RetryPolicy) -> Retrying<L> {
        // Each `RandomState` has keys of its own, seeded by the system: random enough to spread pauses.
        let random = || (RandomState::new().build_hasher().finish() >> 11) as f64 / (1_u64 << 53) as f64;
        Retrying { inner, policy, random: Arc::new(random), on_retry: None }
    }

    /// Reports each retry before its pause.
    #[must_use]
    pub fn on_retry(mut self, told: Option<OnRetry>) -> Retrying<L> {
        self.on_retry = told;
        self
    }

    /// Takes random numbers from 0 to 1 from elsewhere, for tests.
    #[must_use]
    pub fn random(mut self, random: impl Fn() -> f64 + Send + Sync + 'static) -> Retrying<L> {
        self.random = Arc::new(random);
        self
    }

    /// Waits until the next attempt is due; hands the error back if there is none.
    async fn wait(&self, attempt: u32, deadline: Option<Instant>, error: LlmError) -> Result<(), LlmError> {
        let Some(pause) = self.policy.pause(attempt, &error, (self.random)()) else { return Err(error) };
        let due = time::now() + pause;
        if deadline.is_some_and(|deadline| due >= deadline) {
            return Err(error);
        }
        tracing::warn!(target: "ptc_runner.llm", event = "llm.retry", attempt, kind = error.kind.as_str(),
            status = error.status, pause_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX), %error);
        if let Some(told) = &self.on_retry {
            told(&error, pause);
        }
        time::sleep_until(due).await;
        Ok(())
    }
}

impl<L: Llm> Llm for Retrying<L> {
    fn complete(&self, request: LlmRequest) -> BoxFuture<'_, Result<LlmResponse, LlmError>> {
        Box::pin(async move {
            let mut attempt = 1;
            loop {
                match self.inner.complete(request.clone()).await {
                    Ok(response) => return Ok(response),
                    Err(error) => self.wait(attempt, request.deadline, error).await?,
                }
                attempt += 1;
            }
        })
    }

    fn stream(&self, request: LlmRequest, sink: EventSink) -> BoxFuture<'_, Result<LlmResponse, LlmError>> {
        Box::pin(async move {
            let begun = Arc::new(AtomicBool::new(false));
            let mut attempt = 1;
            loop {
                let (seen, onward) = (begun.clone(), sink.clone());
                let sink: EventSink = Arc::new(move |event| {
                    seen.store(true, Ordering::Relaxed);
                    onward(event);
                });
                match self.inner.stream(request.clone(), sink).await {
                    Ok(response) => return Ok(response),
                    Err(error) if begun.load(Ordering::Relaxed) => return Err(error),
                    Err(error) => self.wait(attempt, request.deadline, error).await?,
                }
                attempt += 1;
            }
        })
    }

    fn model(&self) -> Option<&str> {
        self.inner.model()
    }

    fn sees_images(&self) -> bool {
        self.inner.sees_images()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::ScriptedLlm;
    use ptc_base::sync::Mutex;

    fn error(kind: LlmErrorKind, seconds: Option<u64>) -> LlmError {
        LlmError { retry_after: seconds.map(Duration::from_secs), ..LlmError::new(kind, "no") }
    }

    fn pauses(policy: &RetryPolicy, random: f64) -> Vec<Option<u128>> {
        let error = error(LlmErrorKind::Server, None);
        (1..=4).map(|attempt| policy.pause(attempt, &error, random).map(|p| p.as_millis())).collect()
    }

    #[test]
    fn pauses_grow_as_the_policy_says() {
        let policy = RetryPolicy::attempts(4);
        assert_eq!(pauses(&policy, 0.0), [Some(1000), Some(2000), Some(4000), None]);
        assert_eq!(pauses(&policy, 1.0), [Some(500), Some(1000), Some(2000), None]);
        let linear = RetryPolicy { backoff: Backoff::Linear, ..policy.clone() };
        assert_eq!(pauses(&linear, 0.0), [Some(1000), Some(2000), Some(3000), None]);
        let constant = RetryPolicy { backoff: Backoff::Constant, ..policy.clone() };
        assert_eq!(pauses(&constant, 0.0), [Some(1000), Some(1000), Some(1000), None]);
        let capped = RetryPolicy { max_delay: Duration::from_millis(1500), ..policy.clone() };
        assert_eq!(pauses(&capped, 0.0), [Some(1000), Some(1500), Some(1500), None]);
        let endless = RetryPolicy { base_delay: Duration::MAX, max_delay: Duration::MAX, ..policy.clone() };
        assert_eq!(pauses(&endless, 0.0)[0], Some(LONGEST.as_millis()));
        let many = RetryPolicy::attempts(u32::MAX);
        let late = many.pause(4_000_000, &error(LlmErrorKind::Server, None), 0.0);
        assert_eq!(late, Some(Duration::from_secs(60)));
    }

    #[test]
    fn the_endpoint_has_a_say_within_limits() {
        let policy = RetryPolicy::attempts(2);
        let pause = |kind, seconds| policy.pause(1, &error(kind, seconds), 0.0).map(|pause| pause.as_secs());
        assert_eq!(pause(LlmErrorKind::RateLimit, Some(7)), Some(7));
        assert_eq!(pause(LlmErrorKind::RateLimit, Some(0)), Some(1));
        assert_eq!(pause(LlmErrorKind::RateLimit, Some(61)), None, "longer than anybody shall wait");
        for kind in [LlmErrorKind::Auth, LlmErrorKind::InvalidRequest, LlmErrorKind::Malformed] {
            assert_eq!(pause(kind, None), None, "{kind:?}");
        }
        assert_eq!(RetryPolicy::default().pause(1, &error(LlmErrorKind::Server, None), 0.0), None);
    }

    #[tokio::test(start_paused = true)]
    async fn requests_are_repeated_until_one_works() {
        let script = [
            Err(error(LlmErrorKind::RateLimit, Some(5))),
            Err(error(LlmErrorKind::Server, None)),
            Ok(LlmResponse::text("here")),
        ];
        let told = Arc::new(Mutex::new(Vec::new()));
        let log = told.clone();
        let on_retry: OnRetry =
            Arc::new(move |error, pause| log.lock().push((error.kind, pause.as_millis())));
        let model = Retrying::new(ScriptedLlm::with_results(script), RetryPolicy::attempts(3))
            .random(|| 0.5)
            .on_retry(Some(on_retry));
        let started = Instant::now();
        let response = model.complete(LlmRequest::default()).await.unwrap();
        assert_eq!(response.content.as_deref(), Some("here"));
        assert_eq!(started.elapsed().as_millis(), 5000 + 1500);
        assert_eq!(model.inner.requests().len(), 3);
        let told = told.lock().clone();
        assert_eq!(told, [(LlmErrorKind::RateLimit, 5000), (LlmErrorKind::Server, 1500)]);
    }

    #[tokio::test(start_paused = true)]
    async fn no_pause_goes_beyond_the_deadline() {
        let script = [Err(error(LlmErrorKind::RateLimit, Some(5))), Ok(LlmResponse::text("late"))];
        let model = Retrying::new(ScriptedLlm::with_results(script), RetryPolicy::attempts(3));
        let started = Instant::now();
        let deadline = Some(started + Duration::from_secs(5));
        let failed = model.complete(LlmRequest { deadline, ..LlmRequest::default() }).await;
        assert_eq!(failed.unwrap_err().kind, LlmErrorKind::RateLimit);
        assert!(started.elapsed().is_zero());
    }

    /// Streams a piece and fails, or fails at once.
    struct Breaks {
        pieces: usize,
        asked: Mutex<u32>,
    }

    impl Llm for Breaks {
        fn complete(&self, _: LlmRequest) -> BoxFuture<'_, Result<LlmResponse, LlmError>> {
            unreachable!("only streams are asked for")
        }

        fn stream(&self, _: LlmRequest, sink: EventSink) -> BoxFuture<'_, Result<LlmResponse, LlmError>> {
            *self.asked.lock() += 1;
            for _ in 0..self.pieces {
                sink(super::super::LlmEvent::Text("piece"));
            }
            Box::pin(std::future::ready(Err(error(LlmErrorKind::Server, None))))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn streams_are_repeated_only_before_their_first_piece() {
        for (pieces, asked) in [(0, 3), (1, 1)] {
            let breaks = Breaks { pieces, asked: Mutex::new(0) };
            let model = Retrying::new(breaks, RetryPolicy::attempts(3));
            let seen = Arc::new(Mutex::new(0));
            let count = seen.clone();
            let sink: EventSink = Arc::new(move |_| *count.lock() += 1);
            assert!(model.stream(LlmRequest::default(), sink).await.is_err());
            assert_eq!((*model.inner.asked.lock(), *seen.lock()), (asked, pieces));
        }
    }

    #[test]
    fn random_numbers_are_from_zero_to_one_and_differ() {
        let model = Retrying::new(ScriptedLlm::new([]), RetryPolicy::default());
        let numbers: Vec<f64> = (0..100).map(|_| (model.random)()).collect();
        assert!(numbers.iter().all(|number| (0.0..1.0).contains(number)));
        assert!(numbers.iter().any(|number| *number != numbers[0]));
    }
}
