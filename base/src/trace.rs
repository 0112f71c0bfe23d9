//! The trace of a request: what goes on to others, and the spans that are recorded of it.
//!
//! A request has a [`Trace`] if its client sent one or if spans are exported. Without a [`SpanSink`] it is only passed on, and
//! names the trace in log lines.

use std::fmt::Debug;
use std::sync::Arc;

use ptc_mcp::trace_context::{SpanId, TraceContext, TraceId};

use crate::time::{self, Instant};

/// The trace of one request.
#[derive(Debug, Clone)]
pub struct Trace {
    /// What others get that are called now: the parent of their spans.
    pub context: TraceContext,
    /// Where spans go, if the trace is recorded.
    recorder: Option<Recorder>,
}

#[derive(Debug, Clone)]
struct Recorder {
    sink: Arc<dyn SpanSink>,
    /// The span of the client, if it sent one.
    parent: Option<SpanId>,
}

/// Receives spans as they end.
pub trait SpanSink: Debug + Send + Sync {
    /// An id that no span of this process has.
    fn new_span_id(&self) -> SpanId;

    /// Takes a span that ends now. It must not block.
    fn take(&self, span: Span<'_>);
}

/// A span that ends now.
#[derive(Debug, Clone, Copy)]
pub struct Span<'a> {
    /// Its own id, in its trace.
    pub context: &'a TraceContext,
    /// Its parent.
    pub parent: Option<SpanId>,
    /// When it began.
    pub started: Instant,
    /// What it is about.
    pub work: SpanWork<'a>,
}

/// The work that a span is about.
#[derive(Debug, Clone, Copy)]
pub enum SpanWork<'a> {
    /// A request of a client that calls no tool, from its receipt to its answer.
    Request {
        /// The method of MCP.
        method: &'static str,
        /// The prompt, if it got one.
        prompt: Option<&'a str>,
        /// Its JSON-RPC id as text.
        request_id: &'a str,
        /// The protocol revision.
        revision: &'static str,
        /// The id of the transport's own request; `None` on a pipe.
        http_request: Option<&'a str>,
        /// Whose it is, as a hash.
        owner: &'a str,
        /// Why it failed: the code of its error, or a word of a closed set.
        error: Option<&'a str>,
    },
    /// The compilation of a program that was not known.
    Compile {
        /// Why it failed, a word of a closed set.
        failure: Option<&'a str>,
    },
    /// The run of a program, or the part between two suspensions.
    Run {
        /// Why it failed, a word of a closed set.
        failure: Option<&'a str>,
    },
    /// One attempt of a request of a program to an upstream.
    Call {
        /// The upstream's configured name.
        upstream: &'a str,
        /// Its transport, as the configuration spells it.
        transport: &'static str,
        /// The method of MCP that it is, or would be.
        method: &'static str,
        /// The tool, if it calls one.
        tool: Option<&'a str>,
        /// Why it failed, a word of a closed set.
        fault: Option<&'static str>,
        /// The code of the JSON-RPC error that was the answer.
        rpc_code: Option<i64>,
        /// The HTTP status that caused the fault.
        http_status: Option<u16>,
    },
}

impl Trace {
    /// A trace that is only passed on.
    pub fn passing(context: TraceContext) -> Trace {
        Trace { context, recorder: None }
    }

    /// A recorded trace: `context` names the span of the request itself, `parent` that of its client.
    pub fn recorded(context: TraceContext, parent: Option<SpanId>, sink: Arc<dyn SpanSink>) -> Trace {
        Trace { context, recorder: Some(Recorder { sink, parent }) }
    }

    /// The id that log lines show.
    pub fn id(&self) -> TraceId {
        self.context.trace_id
    }

    /// Whether spans are recorded.
    pub fn is_recorded(&self) -> bool {
        self.recorder.is_some()
    }

    /// The span of the client, if the trace is recorded and it sent one.
    pub fn parent(&self) -> Option<SpanId> {
        self.recorder.as_ref()?.parent
    }

    /// The trace with a new span below the present one, if it is recorded; the same one otherwise.
    #[must_use]
    pub fn below(&self) -> Trace {
        let Some(Recorder { sink, .. }) = &self.recorder else { return self.clone() };
        let context = self.context.below(sink.new_span_id());
        Trace::recorded(context, Some(self.context.span_id), sink.clone())
    }

    /// Records the end of its span, if it is recorded.
    pub fn end(&self, started: Instant, work: SpanWork<'_>) {
        if let Some(Recorder { sink, parent }) = &self.recorder {
            sink.take(Span { context: &self.context, parent: *parent, started, work });
        }
    }
}

/// The trace whose span has begun and is still to end.
#[derive(Debug)]
pub struct OpenSpan {
    trace: Trace,
    started: Instant,
}

impl OpenSpan {
    /// Begins a span below that of `trace`; `None` if it is not recorded.
    pub fn below(trace: Option<&Arc<Trace>>) -> Option<OpenSpan> {
        let trace = trace.filter(|trace| trace.is_recorded())?;
        Some(OpenSpan { trace: trace.below(), started: time::now() })
    }

    /// Its trace, for what happens within it.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Records its end.
    pub fn end(self, work: SpanWork<'_>) {
        self.trace.end(self.started, work);
    }
}

tokio::task_local! {
    static CURRENT: Arc<Trace>;
}

/// Runs a future within a trace, which log lines then name.
pub async fn within<F: Future>(trace: Arc<Trace>, future: F) -> F::Output {
    CURRENT.scope(trace, future).await
}

/// The same of a function.
pub fn within_sync<T>(trace: Arc<Trace>, function: impl FnOnce() -> T) -> T {
    CURRENT.sync_scope(trace, function)
}

/// The trace within which the caller runs.
pub fn current() -> Option<Arc<Trace>> {
    CURRENT.try_with(Arc::clone).ok()
}

/// Its id.
pub fn current_id() -> Option<TraceId> {
    CURRENT.try_with(|trace| trace.id()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[derive(Debug, Default)]
    struct Counting(AtomicU64, crate::sync::Mutex<Vec<(String, Option<SpanId>)>>);

    impl SpanSink for Counting {
        fn new_span_id(&self) -> SpanId {
            SpanId((self.0.fetch_add(1, Ordering::Relaxed) + 1).to_be_bytes())
        }

        fn take(&self, span: Span<'_>) {
            self.1.lock().push((span.context.parent(), span.parent));
        }
    }

    #[test]
    fn a_span_names_its_parent_and_what_is_only_passed_on_has_none() {
        let context = TraceContext::parse(PARENT, None).unwrap();
        let sink = Arc::new(Counting::default());
        let passing = Arc::new(Trace::passing(context.clone()));
        assert!(OpenSpan::below(Some(&passing)).is_none());
        assert_eq!(passing.below().context, context);
        let recorded = Arc::new(Trace::recorded(context.clone(), None, sink.clone()));
        let span = OpenSpan::below(Some(&recorded)).unwrap();
        let inner = span.trace().below();
        assert_eq!((inner.parent(), inner.id()), (Some(SpanId(1u64.to_be_bytes())), context.trace_id));
        inner.end(time::now(), SpanWork::Compile { failure: None });
        span.end(SpanWork::Run { failure: None });
        let ended = sink.1.lock();
        assert_eq!(ended.len(), 2);
        assert!(ended[0].0.contains("-0000000000000002-"), "{ended:?}");
        assert_eq!(ended[1].1, Some(context.span_id));
    }

    #[tokio::test]
    async fn a_future_knows_its_trace_and_nobody_else_does() {
        let trace = Arc::new(Trace::passing(TraceContext::parse(PARENT, None).unwrap()));
        assert_eq!(current_id(), None);
        let inside = within(trace.clone(), async {
            tokio::task::yield_now().await;
            current_id()
        });
        assert_eq!(inside.await, Some(trace.id()));
        assert_eq!(within_sync(trace.clone(), || current().unwrap().id()), trace.id());
        assert!(current().is_none());
    }
}
