//! The identity for which a program calls upstreams.

use super::configured_upstream::ConfiguredUpstream;
use super::view::View;
use ptc_engine::RunContext;
use ptc_upstreams::upstream::Caller;

/// The principal of a program, whose sign-in it uses at an upstream, and who listens. `view` is that of the program.
pub(super) fn caller_of<'a>(view: &View<'a>, run: &'a RunContext, member: &ConfiguredUpstream) -> Caller<'a> {
    Caller {
        principal: run.principal.as_ref(),
        account: view.account(member),
        audience: run.audience.as_ref(),
        trace: run.trace.as_ref().map(|trace| &trace.context),
        ..Caller::default()
    }
}
