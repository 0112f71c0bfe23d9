//! The model that upstreams may ask.

use futures_util::future::BoxFuture;
use ptc_base::time::Instant;
use ptc_upstreams::upstream::{Sampled, SamplingFault, SamplingFaultKind, SamplingRequest};
use std::sync::atomic::{AtomicU64, Ordering};

/// A model that answers upstreams' sampling requests (`sampling/createMessage`).
///
/// It sees the request of the upstream and nothing else: no data of programs, of other upstreams or of this server, and no
/// tools.
pub trait Sampler: Send + Sync {
    /// Answers one request, by `deadline`: the program that waits for it ends then. Dropping the future cancels the request.
    ///
    /// The request is the word of an upstream. Its texts are free of this server's secrets, and it asks for no more tokens than
    /// the operator allows.
    ///
    /// # Errors
    /// Why there is no answer, for the upstream and the program: a text without secrets.
    fn sample(
        &self,
        request: SamplingRequest,
        deadline: Instant,
    ) -> BoxFuture<'_, Result<Sampled, SamplingFault>>;
}

/// Outcome counts of an upstream's requests for a model's answer.
#[derive(Debug, Default)]
pub struct SamplingCounts {
    outcomes: [AtomicU64; 5],
    tokens: [AtomicU64; 2],
}

impl SamplingCounts {
    /// Requests by outcome.
    pub fn requests(&self) -> impl Iterator<Item = (&'static str, u64)> {
        OUTCOMES.iter().zip(&self.outcomes).map(|(word, count)| (*word, count.load(Ordering::Relaxed)))
    }

    /// Tokens of prompts and of answers, as far as models report them.
    pub fn tokens(&self) -> [(&'static str, u64); 2] {
        let [input, output] = &self.tokens;
        [("input", input), ("output", output)].map(|(word, count)| (word, count.load(Ordering::Relaxed)))
    }

    pub(super) fn note(&self, outcome: &str, tokens: Option<(u64, u64)>) {
        if let Some(at) = OUTCOMES.iter().position(|word| *word == outcome) {
            self.outcomes[at].fetch_add(1, Ordering::Relaxed);
        }
        if let Some((input, output)) = tokens {
            self.tokens[0].fetch_add(input, Ordering::Relaxed);
            self.tokens[1].fetch_add(output, Ordering::Relaxed);
        }
    }
}

/// The words of the outcomes: answers, those of [`SamplingFaultKind`], and abandoned requests.
pub(super) const OUTCOMES: [&str; 5] = [
    "ok",
    SamplingFaultKind::Request.as_str(),
    SamplingFaultKind::Refused.as_str(),
    SamplingFaultKind::Model.as_str(),
    "cancelled",
];
