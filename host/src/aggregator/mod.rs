//! The aggregator: one runtime that owns all configured upstreams and answers what programs ask of them.
//!
//! [`Aggregator::start`] turns a checked configuration into running upstreams and a catalog. Programs reach it
//! through [`HostCalls`]: `tool/call` and the discovery forms. Expected trouble in the outside world comes back
//! as data, a defect of the program as an error (upstreams.md 1).

mod attempt;
mod call;
mod discovery;
mod overview;
mod runtime;
mod usage;

pub use runtime::{Aggregator, AggregatorLimits, AggregatorOptions, SnapshotMode, StartError};

use crate::engine::{HostCalls, RunContext};
use futures_util::future::LocalBoxFuture;
use ptc_vm::machine::{HostRequest, Reply};
use ptc_vm::{Error, Reason};
use std::rc::Rc;
use std::sync::Arc;

impl HostCalls for Arc<Aggregator> {
    fn answer(&self, run: Rc<RunContext>, request: HostRequest) -> LocalBoxFuture<'static, Reply> {
        let aggregator = self.clone();
        match request {
            HostRequest::Upstream(call) => Box::pin(call::answer(aggregator, run, call)),
            HostRequest::Discovery { form, arguments, shown } => {
                Box::pin(discovery::answer(aggregator, run, form, arguments, shown))
            }
            HostRequest::Tool { name, .. } => Box::pin(std::future::ready(Reply::Raise(Error::verbatim(
                Reason::UnknownTool,
                format!("Unknown tool: {name}. Available tools: call"),
            )))),
        }
    }
}

/// A programmer fault: the program ends with this text (upstreams.md 8.3).
fn raise(text: &str) -> Reply {
    Reply::Raise(Error::verbatim(Reason::RuntimeError, format!("runtime_error: {text}")))
}
