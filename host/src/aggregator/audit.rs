//! The record of calls for an operator.

use ptc_engine::EvalId;
use ptc_engine::questions::{AnsweredBy, ArgumentsDigest};
use ptc_upstreams::upstream::FaultReason;

/// Receives each call of an upstream that a program or a client made or tried to make.
pub trait CallAudit: Send + Sync {
    /// A call has ended, or its caller is gone.
    fn called(&self, call: &AuditedCall<'_>);

    /// A request of an upstream for a model's answer has ended. By default it is not written down.
    fn sampled(&self, sampling: &AuditedSampling<'_>) {
        let _ = sampling;
    }
}

/// A request of an upstream for a model's answer that has ended.
#[derive(Clone, Copy, Debug)]
pub struct AuditedSampling<'a> {
    /// The principal of the program whose call caused it.
    pub principal: Option<&'a str>,
    /// The evaluation that it belongs to.
    pub eval: EvalId,
    /// The run that it is part of, if the caller gave one.
    pub run_id: Option<&'a str>,
    /// The upstream.
    pub upstream: &'a str,
    /// The tool whose call caused it.
    pub tool: &'a str,
    /// The digest of the request's `params`.
    pub request: ArgumentsDigest,
    /// The model that answered.
    pub model: Option<&'a str>,
    /// Tokens of the prompt and of the answer, where they are reported.
    pub tokens: Option<(u64, u64)>,
    /// `ok`, `invalid`, `refused`, `failed` or `cancelled`.
    pub outcome: &'static str,
    /// How long it took.
    pub duration_ms: u64,
}

/// A call of an upstream that has ended.
#[derive(Clone, Copy, Debug)]
pub struct AuditedCall<'a> {
    /// The principal for whom it was made.
    pub principal: Option<&'a str>,
    /// The evaluation that it belongs to; `None` if no program made it.
    pub eval: Option<EvalId>,
    /// The run that it is part of, if the caller gave one.
    pub run_id: Option<&'a str>,
    /// The upstream.
    pub upstream: &'a str,
    /// The tool, or the method of a request that is not a tool call.
    pub tool: &'a str,
    /// The digest of the arguments, or of the `params`.
    pub arguments: ArgumentsDigest,
    /// Why it failed; `None` if it did not.
    pub fault: Option<FaultReason>,
    /// How long it took; 0 if nothing was sent.
    pub duration_ms: u64,
    /// Who answered the question whether it may be made, if that was asked.
    pub approved: Option<&'a AnsweredBy>,
}
