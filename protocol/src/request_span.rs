//! The traces of requests, and the spans of those that call no tool: the spans of tools' calls are made by their observers.

use std::sync::Arc;

use ptc_host::time::{self, Instant};
use ptc_host::trace::{SpanWork, Trace};
use ptc_mcp::json::Raw;
use ptc_mcp::message::id::RequestId;
use ptc_mcp::message::params::{Params, ParamsMember};
use ptc_mcp::trace_context::TraceContext;

use crate::reply;
use crate::service::{MessageContext, Service};

/// The methods whose requests have a span, which is all but those of two: `tools/call`, and `subscriptions/listen`, which opens a
/// channel that lasts.
const METHODS: [&str; 16] = [
    "initialize",
    "ping",
    "server/discover",
    "tools/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "logging/setLevel",
    "tasks/get",
    "tasks/update",
    "tasks/cancel",
];
/// The method whose requests are named by what they are about, if there is such a thing.
const PROMPTS_GET: &str = "prompts/get";
/// The method of which each call begins a span of its own.
pub(crate) const TOOLS_CALL: &str = "tools/call";

/// The trace of a request: below that of its client, as `_meta` or else the transport's request names it; `None` if it has none
/// and no spans are exported. A method that has no span begins none.
pub(crate) fn trace_of(
    service: &Service,
    from: MessageContext<'_>,
    method: Option<&str>,
    params: Option<&Params<'_>>,
) -> Option<Arc<Trace>> {
    let meta = params.map(|params| params.meta);
    let client = match meta.and_then(|meta| meta.trace_parent) {
        None => None,
        Some(parent) => {
            let state = meta.and_then(|meta| meta.trace_state).and_then(Raw::as_str);
            parent.as_str().and_then(|parent| TraceContext::parse(&parent, state.as_deref()))
        }
    };
    let client = client.or_else(|| from.trace.cloned());
    let has_span = method.is_some_and(|method| method == TOOLS_CALL || METHODS.contains(&method));
    let trace = match service.tracer.as_ref().filter(|_| has_span) {
        Some(tracer) => tracer.begin(client),
        None => Trace::passing(client?),
    };
    let trace = Arc::new(trace);
    if let Some(traced) = from.traced {
        // The first message of a batch names its request.
        let _ = traced.set(trace.clone());
    }
    Some(trace)
}

/// The span of a request that calls no tool, from its receipt to its answer. Dropping it records that the request was cancelled.
pub(crate) struct RequestSpan {
    trace: Arc<Trace>,
    started: Instant,
    method: &'static str,
    /// What a `prompts/get` asks for.
    prompt: Option<Box<str>>,
    id: RequestId,
    revision: &'static str,
    http_request: Option<Box<str>>,
    owner: Box<str>,
    is_over: bool,
}

impl RequestSpan {
    /// Begins the span of a request; `None` if its trace is not recorded or its method has none.
    pub(crate) fn begin(
        trace: &Arc<Trace>,
        from: MessageContext<'_>,
        id: &RequestId,
        method: Option<&str>,
        params: &ParamsMember<'_>,
    ) -> Option<Box<RequestSpan>> {
        let method = METHODS.into_iter().find(|known| method == Some(*known))?;
        if !trace.is_recorded() {
            return None;
        }
        let name = params.object().and_then(|params| params.name).filter(|_| method == PROMPTS_GET);
        Some(Box::new(RequestSpan {
            trace: trace.clone(),
            started: time::now(),
            method,
            prompt: name.and_then(Raw::as_str).map(Box::from),
            id: id.clone(),
            revision: from.revision().name(),
            http_request: from.origin.map(Box::from),
            owner: from.caller.hash().into(),
            is_over: false,
        }))
    }

    /// The request was answered with this body.
    pub(crate) fn answered(mut self, body: &[u8]) {
        let error = reply::error_code(body, &self.id);
        self.end(error.as_deref());
    }

    fn end(&mut self, error: Option<&str>) {
        self.is_over = true;
        // Names of prompts that there are not are any number of names.
        let prompt = self.prompt.as_deref().filter(|_| error.is_none());
        let id = self.id.to_string();
        self.trace.end(
            self.started,
            SpanWork::Request {
                method: self.method,
                prompt,
                request_id: &id,
                revision: self.revision,
                http_request: self.http_request.as_deref(),
                owner: &self.owner,
                error,
            },
        );
    }
}

impl Drop for RequestSpan {
    fn drop(&mut self) {
        if !self.is_over {
            self.end(Some("cancelled"));
        }
    }
}
