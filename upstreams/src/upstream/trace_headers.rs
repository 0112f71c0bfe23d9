//! The trace of a request in its HTTP headers.

use http::{HeaderName, HeaderValue};
use ptc_mcp::meta::{TRACE_PARENT, TRACE_STATE};
use ptc_mcp::trace_context::TraceContext;

/// `traceparent` and `tracestate` of a request. `baggage` is none of them: it is the client's, and may name people.
pub(crate) fn trace_headers(
    trace: Option<&TraceContext>,
) -> impl Iterator<Item = (HeaderName, HeaderValue)> + use<> {
    let parent = trace.map(|trace| (TRACE_PARENT, trace.parent()));
    let state = trace.and_then(|trace| trace.state.as_deref()).map(|state| (TRACE_STATE, state.to_owned()));
    let headers = parent.into_iter().chain(state);
    // Both consist of visible ASCII.
    headers
        .filter_map(|(name, value)| Some((HeaderName::from_static(name), HeaderValue::try_from(value).ok()?)))
}
