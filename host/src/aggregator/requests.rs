//! Dispatch of programs' requests by kind.

use super::audit::DenialReason;
use super::runtime::Aggregator;
use super::{call, discovery, features};
use futures_util::future::LocalBoxFuture;
use ptc_base::trace;
use ptc_engine::questions::Unanswered;
use ptc_engine::{Desk, HostCalls, RunContext};
use ptc_vm::machine::{HostRequest, Payload, Reply};
use ptc_vm::{Error, Reason};
use std::rc::Rc;
use std::sync::Arc;

impl HostCalls for Aggregator {
    fn max_request_bytes(&self) -> usize {
        self.limits.max_request_bytes
    }

    fn answer(
        self: Arc<Self>,
        run: Rc<RunContext>,
        request: HostRequest,
        desk: Desk,
    ) -> LocalBoxFuture<'static, Reply> {
        let trace = run.trace.clone();
        let answer = answered(self, run, request, desk);
        // Log lines about the request name its trace.
        match trace {
            Some(trace) => Box::pin(trace::within(trace, answer)),
            None => answer,
        }
    }

    fn refused(&self, run: &RunContext, request: &HostRequest) {
        let (upstream, tool) = match request {
            HostRequest::Upstream(call) => match (&call.server, &call.tool) {
                (Ok(server), Ok(tool)) => (server, tool.as_str()),
                // It names no tool.
                _ => return,
            },
            HostRequest::Feature(request) => (&request.server, features::asked_method(request.feature)),
            _ => return,
        };
        call::record_denial(self, run, upstream, tool, Some(DenialReason::ProgramHead));
    }
}

fn answered(
    aggregator: Arc<Aggregator>,
    run: Rc<RunContext>,
    request: HostRequest,
    desk: Desk,
) -> LocalBoxFuture<'static, Reply> {
    match request {
        HostRequest::Upstream(call) => Box::pin(call::answer(aggregator, run, call, desk, 0)),
        HostRequest::Discovery { form, arguments, shown } => {
            Box::pin(discovery::answer(aggregator, run, form, arguments, shown))
        }
        HostRequest::Feature(request) => Box::pin(features::answer(aggregator, run, request, desk)),
        // The engine asks, whoever answers the other calls.
        HostRequest::Ask { .. } => {
            let why = Unanswered::Unanswerable;
            Box::pin(std::future::ready(Reply::fault(why.reason(), why.text())))
        }
        // The engine waits.
        HostRequest::Sleep { .. } => Box::pin(std::future::ready(Reply::Value(Payload::None))),
        HostRequest::Tool { name, .. } => Box::pin(std::future::ready(Reply::Raise(Error::verbatim(
            Reason::UnknownTool,
            format!("Unknown tool: {name}. Available tools: call"),
        )))),
    }
}
