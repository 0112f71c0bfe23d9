//! Calls of programs while these run, for whoever looks at them.

use ptc_base::time::Instant;
use ptc_engine::EvalId;

/// Is told of the calls of programs as they are sent and as they end.
pub trait CallWatch: Send + Sync {
    /// A call has been sent.
    fn sent(&self, call: &SentCall<'_>);

    /// The call of this number has ended, with this fault (a word of a closed set) if it failed.
    fn ended(&self, eval: EvalId, number: u32, fault: Option<&'static str>);
}

/// A call that has been sent.
#[derive(Clone, Copy, Debug)]
pub struct SentCall<'a> {
    /// The evaluation that made it.
    pub eval: EvalId,
    /// Its number among the calls of its program that were sent, in their order; one that is sent again has another.
    pub number: u32,
    /// The upstream.
    pub upstream: &'a str,
    /// The tool, or the method of a request that is not a tool call.
    pub tool: &'a str,
    /// When it was sent.
    pub began: Instant,
    /// Milliseconds since the first step of its program.
    pub offset_ms: u64,
}
