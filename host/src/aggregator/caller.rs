//! The identity for which a program calls upstreams.

use ptc_engine::RunContext;
use ptc_upstreams::upstream::Caller;

/// The principal of a program, and who listens.
pub(super) fn caller_of(run: &RunContext) -> Caller<'_> {
    Caller { principal: run.principal.as_ref(), audience: run.audience.as_ref(), ..Caller::default() }
}
