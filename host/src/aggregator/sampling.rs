//! Requests of upstreams that the operator's model answers (waiting.md 3.2).

use super::audit::AuditedSampling;
use super::input::Exchange;
use super::runtime::Aggregator;
use futures_util::future::BoxFuture;
use ptc_base::time::{self, Instant};
use ptc_base::visible::visible;
use ptc_engine::questions::ArgumentsDigest;
use ptc_engine::{RunContext, whole_millis};
use ptc_upstreams::upstream::{Sampled, SamplingFault, SamplingFaultKind, SamplingRequest};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Longest answer of a model that an upstream is given, in bytes.
const MAX_ANSWER_BYTES: usize = 1 << 20;

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

/// The words of the outcomes: answers, those of [`SamplingFaultKind`], and abandoned requests.
const OUTCOMES: [&str; 5] = [
    "ok",
    SamplingFaultKind::Request.as_str(),
    SamplingFaultKind::Refused.as_str(),
    SamplingFaultKind::Model.as_str(),
    "cancelled",
];

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

    fn note(&self, outcome: &str, tokens: Option<(u64, u64)>) {
        if let Some(at) = OUTCOMES.iter().position(|word| *word == outcome) {
            self.outcomes[at].fetch_add(1, Ordering::Relaxed);
        }
        if let Some((input, output)) = tokens {
            self.tokens[0].fetch_add(input, Ordering::Relaxed);
            self.tokens[1].fetch_add(output, Ordering::Relaxed);
        }
    }
}

impl Exchange<'_> {
    /// The model that may answer this upstream.
    pub(super) fn sampler(&self) -> Option<&Arc<dyn Sampler>> {
        let sampler = self.aggregator.sampler.as_ref()?;
        self.aggregator.members.get(self.upstream.name()).filter(|member| member.config.offered.sampling)?;
        Some(sampler)
    }

    /// Has the model answer: the result of `sampling/createMessage`. It is the program's time that passes.
    ///
    /// # Errors
    /// Why there is no answer.
    pub(super) async fn sampled(&self, request: &SamplingRequest) -> Result<String, SamplingFault> {
        let digest = ArgumentsDigest::of_sent(request.params().as_bytes()).await;
        let mut ending = Ending::new(self, digest);
        let answer = self.sampled_now(request).await;
        match &answer {
            Ok(sampled) => ending.ended("ok", Some(sampled)),
            Err(fault) => {
                let (upstream, why) = (self.upstream.name(), visible(&fault.message));
                tracing::warn!(event = "upstream_sampling_failed", upstream, %why);
                ending.ended(fault.kind.as_str(), None);
            }
        }
        answer.map(|sampled| sampled.result())
    }

    async fn sampled_now(&self, request: &SamplingRequest) -> Result<Sampled, SamplingFault> {
        let Some(sampler) = self.sampler() else {
            return Err(SamplingFault::refused("sampling was not offered"));
        };
        let (limits, taken) = (&self.aggregator.limits, self.run.samplings.get());
        if taken >= limits.max_samplings {
            let most = limits.max_samplings;
            return Err(SamplingFault::refused(format!(
                "this program may have a model answer {most} times (flag `--max-samplings-per-program`)"
            )));
        }
        self.run.samplings.set(taken + 1);
        let redactor = self.aggregator.redactor.for_principal(self.run.principal.as_deref());
        let mut request = request.clone();
        request.max_tokens = request.max_tokens.min(limits.max_sampling_tokens);
        for text in request.texts_mut() {
            *text = redactor.scrub_string(std::mem::take(text));
        }
        let answered = sampler.sample(request, self.run.deadline()).await;
        let sampled = answered.map_err(|fault| {
            let message = redactor.scrub_string(fault.message);
            SamplingFault { message, ..fault }
        })?;
        let bytes = sampled.text.len();
        if bytes > MAX_ANSWER_BYTES {
            return Err(SamplingFault::model(format!(
                "the model's answer has {bytes} bytes, more than {MAX_ANSWER_BYTES}"
            )));
        }
        Ok(Sampled { text: redactor.scrub_string(sampled.text), ..sampled })
    }
}

/// A request that the model is at. However it ends, it is written down.
struct Ending<'a> {
    aggregator: &'a Aggregator,
    run: &'a RunContext,
    upstream: &'a str,
    tool: &'a str,
    request: ArgumentsDigest,
    began: Instant,
    is_over: bool,
}

impl<'a> Ending<'a> {
    fn new(exchange: &'a Exchange<'_>, request: ArgumentsDigest) -> Self {
        Self {
            aggregator: exchange.aggregator,
            run: exchange.run,
            upstream: exchange.upstream.name(),
            tool: exchange.call.tool,
            request,
            began: time::now(),
            is_over: false,
        }
    }

    fn ended(&mut self, outcome: &'static str, sampled: Option<&Sampled>) {
        self.is_over = true;
        let tokens = sampled.and_then(|sampled| sampled.tokens);
        if let Some(member) = self.aggregator.members.get(self.upstream) {
            member.samplings.note(outcome, tokens);
        }
        let Some(audit) = &self.aggregator.audit else { return };
        audit.sampled(&AuditedSampling {
            principal: self.run.principal.as_deref(),
            eval: self.run.eval,
            run_id: self.run.run_id.as_deref(),
            upstream: self.upstream,
            tool: self.tool,
            request: self.request,
            model: sampled.map(|sampled| sampled.model.as_str()),
            tokens,
            outcome,
            duration_ms: whole_millis(time::since(self.began)),
        });
    }
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.ended("cancelled", None);
        }
    }
}
