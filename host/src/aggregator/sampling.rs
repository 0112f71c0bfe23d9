//! Requests of upstreams that the operator's model answers (waiting.md 3.2).

use super::audit::AuditedSampling;
use super::input::Exchange;
use super::runtime::Aggregator;
use super::sampler::Sampler;
use ptc_base::time::{self, Instant};
use ptc_base::visible::visible;
use ptc_engine::questions::ArgumentsDigest;
use ptc_engine::{RunContext, whole_millis};
use ptc_upstreams::upstream::{Sampled, SamplingFault, SamplingRequest};
use std::sync::Arc;

/// Longest answer of a model that an upstream is given, in bytes.
const MAX_ANSWER_BYTES: usize = 1 << 20;

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
