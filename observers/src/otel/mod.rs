//! Spans and metrics for an OpenTelemetry collector (`--otlp-endpoint`), by OTLP over HTTP.
//!
//! A span is made when it ends and waits in a bounded queue; one thread sends what waits. No call waits for the collector: one
//! that is dead costs spans, which are counted, and a warning. Spans hold names, ids and outcomes, never programs, arguments or
//! results. Metrics are the families of `/metrics`.

mod attribute;
mod exporter;
mod figures;
mod ids;
mod queue;
mod sampler;
mod spans;
mod writer;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use ptc_host::http::Client;
use ptc_host::sync::Mutex;
use ptc_host::time::Clock;
use ptc_host::trace::{SpanSink, Trace};
use ptc_mcp::trace_context::TraceContext;
use ptc_protocol::observer::{CallEnd, CallObserver, ObservedCall, Tracer};
use ptc_protocol::settings::{BootError, Otlp, Sampler};
use tokio::sync::watch;

pub use exporter::MetricSource;

use crate::metrics::Exposition;
use exporter::Exporter;
use ids::Ids;
use queue::SpanQueue;

/// The export to a collector.
pub struct Otel {
    queue: Arc<SpanQueue>,
    sampler: Sampler,
    /// True if spans are exported.
    traces: bool,
    /// Writes the metrics, once it is known.
    source: Arc<Mutex<Option<MetricSource>>>,
    /// Tells the thread to send what is left and to end.
    closing: watch::Sender<bool>,
    /// Closed when it has.
    ended: Mutex<Receiver<()>>,
}

impl Otel {
    /// Starts the thread that sends.
    ///
    /// # Errors
    /// If a URL cannot be requested, or there is no thread or no randomness.
    pub fn start(options: &Otlp, client: Client) -> Result<Arc<Otel>, BootError> {
        let cannot = |error: &dyn std::fmt::Display| BootError::new(format!("--otlp-endpoint: {error}"));
        let ids = Ids::new().map_err(|error| cannot(&error))?;
        let queue = Arc::new(SpanQueue::new(options.queue, options.batch, ids));
        let exporter = Exporter::new(options, client, queue.clone()).map_err(|error| cannot(&error))?;
        let (closing, told) = watch::channel(false);
        let (done, ended) = channel();
        let (source, clock) = (Arc::<Mutex<Option<MetricSource>>>::default(), Clock::current());
        let theirs = source.clone();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| cannot(&error))?;
        let work = move || {
            let _entered = clock.enter();
            runtime.block_on(exporter.run(theirs, told));
            drop(done);
        };
        std::thread::Builder::new().name("ptc-otlp".into()).spawn(work).map_err(|error| cannot(&error))?;
        Ok(Arc::new(Otel {
            queue,
            sampler: options.sampler,
            traces: options.traces.is_some(),
            source,
            closing,
            ended: Mutex::new(ended),
        }))
    }

    /// True if it exports spans.
    pub fn exports_spans(&self) -> bool {
        self.traces
    }

    /// Exports the metrics that `source` writes, from now on until the end.
    pub fn export_metrics(&self, source: MetricSource) {
        *self.source.lock() = Some(source);
    }

    /// Sends what waits, for at most `limit`, and ends.
    pub fn close(&self, limit: Duration) {
        self.closing.send_replace(true);
        // Nothing is ever sent: the channel closes.
        let _ = self.ended.lock().recv_timeout(limit);
    }

    /// Writes the metric family of the export itself.
    pub(crate) fn write_metrics(&self, to: &mut Exposition) {
        if self.traces {
            self.queue.write_metrics(to);
        }
    }
}

impl Tracer for Otel {
    fn begin(&self, client: Option<TraceContext>) -> Trace {
        let trace_id = client.as_ref().map_or_else(|| self.queue.new_trace_id(), |client| client.trace_id);
        let decision = client.as_ref().map(|client| client.is_sampled);
        let is_sampled = sampler::records(self.sampler, decision, trace_id);
        let (parent, state) = client.map(|client| (client.span_id, client.state)).unzip();
        if !is_sampled {
            let span_id = parent.unwrap_or_else(|| self.queue.new_span_id());
            return Trace::passing(TraceContext { trace_id, span_id, is_sampled, state: state.flatten() });
        }
        let span_id = self.queue.new_span_id();
        let context = TraceContext { trace_id, span_id, is_sampled, state: state.flatten() };
        Trace::recorded(context, parent, self.queue.clone())
    }
}

impl CallObserver for Otel {
    fn ended(&self, call: &ObservedCall, end: &CallEnd) {
        if let Some(span) = spans::of_call(call, end) {
            self.queue.push(span);
        }
    }

    fn unknown_tool(&self, call: &ObservedCall, _is_denied: bool) {
        if let Some(span) = spans::of_unknown_tool(call) {
            self.queue.push(span);
        }
    }
}
