//! Upstream calls of programs, some of which the model's own calls have answered already (agent.md 8.9).

use super::shared::RunScope;
use super::tools::{kept, report};
use crate::tool::{JsonMap, Layer};
use bytes::Bytes;
use futures_util::future::LocalBoxFuture;
use ptc_base::json::Value as Json;
use ptc_base::time;
use ptc_engine::{Desk, HostCalls, RunContext};
use ptc_vm::machine::{HostRequest, Payload, Reply, UpstreamCall};
use std::rc::Rc;
use std::sync::Arc;

/// The run's upstreams, behind the kept results that the model was promised.
pub(super) struct SharedCalls {
    pub(super) run: Arc<RunScope>,
    pub(super) inner: Arc<dyn HostCalls>,
}

impl HostCalls for SharedCalls {
    fn max_request_bytes(&self) -> usize {
        self.inner.max_request_bytes()
    }

    fn answer(
        self: Arc<Self>,
        context: Rc<RunContext>,
        request: HostRequest,
        desk: Desk,
    ) -> LocalBoxFuture<'static, Reply> {
        if let HostRequest::Upstream(call) = &request
            && let Some(payload) = self.kept(call)
        {
            return Box::pin(std::future::ready(Reply::success(payload)));
        }
        self.inner.clone().answer(context, request, desk)
    }

    fn refused(&self, run: &RunContext, request: &HostRequest) {
        self.inner.refused(run, request);
    }
}

impl SharedCalls {
    /// The kept result of a call.
    #[expect(clippy::disallowed_methods, reason = "entry point: SharedCalls.kept")]
    fn kept(&self, call: &UpstreamCall) -> Option<Payload> {
        let started = time::now();
        let (Ok(server), Ok(tool), Ok(arguments)) = (&call.server, &call.tool, &call.arguments) else {
            return None;
        };
        let run = &self.run;
        let (name, spec) = run.config.tool_of_upstream(server, tool)?;
        let arguments = serde_json::from_slice::<JsonMap>(&arguments.json).ok()?;
        let got = kept(run, name, spec, &arguments)?;
        report(run, name, Layer::PtcLisp, started, Some(&got), false);
        Some(payload(got.json))
    }
}

/// A kept result as `tool/call` returns it: a text becomes a text again.
#[expect(clippy::disallowed_methods, reason = "entry point: payload()")]
fn payload(json: Bytes) -> Payload {
    if json.first() == Some(&b'"')
        && let Ok(Json::String(text)) = serde_json::from_slice(&json)
    {
        return Payload::Text(text.into());
    }
    Payload::Json(json)
}
