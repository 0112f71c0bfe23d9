//! The record of calls for an operator.

use ptc_engine::EvalId;
use ptc_engine::questions::{AnsweredBy, ArgumentsDigest};
use ptc_upstreams::upstream::FaultReason;

/// Receives each call of an upstream that a program or a client made or tried to make.
pub trait CallAudit: Send + Sync {
    /// A call has ended, or its caller is gone.
    fn called(&self, call: &AuditedCall<'_>);

    /// Why no call may be made now, for its caller; `None` if one may. By default one always may.
    fn stop(&self) -> Option<String> {
        None
    }

    /// The policy has denied a call or a request. By default it is not written down.
    fn denied(&self, denial: &AuditedDenial<'_>) {
        let _ = denial;
    }

    /// A principal has signed in at an upstream, or failed to. By default it is not written down.
    fn signed_in(&self, sign_in: &AuditedSignIn<'_>) {
        let _ = sign_in;
    }

    /// A request of an upstream for a model's answer has ended. By default it is not written down.
    fn sampled(&self, sampling: &AuditedSampling<'_>) {
        let _ = sampling;
    }
}

/// Why something is denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DenialReason {
    /// The caller does not see the upstream.
    UpstreamHidden,
    /// The caller does not see a tool of this name.
    ToolHidden,
    /// The caller sees the tool, and may not call it.
    ToolNotAllowed,
    /// Nobody has accepted the tool as it is, and its upstream is held to its pins.
    ToolNotAccepted,
    /// The rules on arguments refuse the call.
    Argument,
    /// The caller has used what its limits give it.
    Quota,
    /// The caller does not see the resource.
    ResourceHidden,
    /// The caller does not see the prompt.
    PromptHidden,
    /// The head of a kept program does not let it make the call.
    ProgramHead,
}

impl DenialReason {
    /// Its name in the audit log.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UpstreamHidden => "upstream_hidden",
            Self::ToolHidden => "tool_hidden",
            Self::ToolNotAllowed => "tool_not_allowed",
            Self::ToolNotAccepted => "tool_not_accepted",
            Self::Argument => "argument",
            Self::Quota => "quota",
            Self::ResourceHidden => "resource_hidden",
            Self::PromptHidden => "prompt_hidden",
            Self::ProgramHead => "program_head",
        }
    }
}

/// A call or request that the policy denies.
#[derive(Clone, Copy, Debug)]
pub struct AuditedDenial<'a> {
    /// The principal for whom it would have been made.
    pub principal: Option<&'a str>,
    /// The evaluation that it belongs to; `None` if no program made it.
    pub eval: Option<EvalId>,
    /// The run that it is part of, if the caller gave one.
    pub run_id: Option<&'a str>,
    /// The upstream.
    pub upstream: &'a str,
    /// The tool, or the method of a request that is not a tool call.
    pub tool: &'a str,
    /// Why.
    pub reason: DenialReason,
}

/// A sign-in at an upstream that has ended.
#[derive(Clone, Copy, Debug)]
pub struct AuditedSignIn<'a> {
    /// Who signed in; `*` if it is for all callers.
    pub principal: &'a str,
    /// The upstream.
    pub upstream: &'a str,
    /// The code of the fault; `None` if it succeeded.
    pub fault: Option<&'a str>,
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
