//! All telemetry of a process, for the transports that show it.

use std::sync::Arc;
use std::time::Duration;

use super::audit::AuditLog;
use super::console::{self, CallQuery, CallsFacts, Console, Facts, RunsFacts};
use super::metrics::{Exposition, Metrics, write_process};
use super::recent::{Recorder, Ring};
use super::recording::Recording;
use super::sources::Sources;
use super::trace::Traces;
use ptc_host::catalog::exposed_name;
use ptc_protocol::observer::{CallObserver, Observers};
use ptc_protocol::principal::Principal;
use ptc_runs::RunView;

/// The enabled observers of a process, and its other sources of telemetry.
#[derive(Default)]
pub struct Telemetry {
    /// Counts calls.
    pub metrics: Option<Arc<Metrics>>,
    /// Stores the latest calls.
    pub recent: Option<Arc<Ring>>,
    /// Feeds the operators' page, which shows the latest calls as well.
    pub console: Option<Arc<Console>>,
    /// Writes a file for each call.
    pub traces: Option<Arc<Traces>>,
    /// Writes the audit log.
    pub audit: Option<Arc<AuditLog>>,
    /// Exports spans and metrics to an OpenTelemetry collector.
    #[cfg(feature = "otel")]
    pub otel: Option<Arc<super::otel::Otel>>,
    /// The state of the server besides its calls.
    pub sources: Sources,
}

impl Telemetry {
    /// The observers to inform of calls; `None` if there are none.
    pub fn observers(&self, recording: &Recording) -> Option<Arc<Observers>> {
        let mut all: Vec<Arc<dyn CallObserver>> = Vec::new();
        if let Some(metrics) = &self.metrics {
            all.push(metrics.clone());
        }
        if let Some(ring) = &self.recent {
            all.push(Arc::new(Recorder::new(ring.clone(), recording.clone())));
        }
        if let Some(console) = &self.console {
            all.push(console.clone());
        }
        if let Some(traces) = &self.traces {
            all.push(traces.clone());
        }
        if let Some(audit) = &self.audit {
            all.push(audit.clone());
        }
        #[cfg(feature = "otel")]
        if let Some(otel) = self.otel.as_ref().filter(|otel| otel.exports_spans()) {
            all.push(otel.clone());
        }
        Observers::new(all)
    }

    /// True if every call is refused because the audit log cannot be written.
    pub fn is_audit_lost(&self) -> bool {
        self.audit.as_ref().is_some_and(|audit| audit.refuses_calls())
    }

    /// The data of the operators' page for `principal`; `None` if there is no page.
    pub fn console_state(&self, facts: &Facts<'_>, principal: &Principal) -> Option<String> {
        let console = self.console.as_ref()?;
        Some(console::state(console, &self.sources, facts, principal))
    }

    /// The running and the latest calls that fit `query`, for the operators' page; `None` if there is no page.
    pub async fn console_calls(&self, facts: CallsFacts<'_>, query: &CallQuery) -> Option<String> {
        let (console, ring) = (self.console.as_ref()?, self.recent.as_ref()?);
        Some(console::calls(console, ring, facts, query).await)
    }

    /// The tools that `principal` sees, for the operators' page.
    pub fn console_catalog(&self, principal: &Principal) -> String {
        console::catalog(&self.sources, principal)
    }

    /// Whether a tool that `principal` sees says that it only reads; `None` for one that it does not see.
    pub fn console_tool_only_reads(&self, principal: &Principal, upstream: &str, tool: &str) -> Option<bool> {
        console::tool_only_reads(&self.sources, principal, upstream, tool)
    }

    /// Records that `principal` has named a tool on the operators' page that it does not see.
    pub fn console_tool_not_found(&self, principal: &Principal, upstream: &str, tool: &str) {
        let Some(audit) = &self.audit else { return };
        let is_denied = self.sources.upstreams.as_ref().is_some_and(|upstreams| {
            let upstreams = upstreams.current();
            upstreams.view(principal.authority()).of(principal.known_name()).records_denial(upstream, tool)
        });
        if !is_denied {
            audit.named_no_tool(principal.name(), true, &exposed_name(upstream, tool));
        }
    }

    /// Runs, for the operators' page.
    pub fn console_runs(&self, facts: &RunsFacts<'_>, views: &[RunView], after: Option<&str>) -> String {
        self.console.as_ref().map(|console| console::runs(console, facts, views, after)).unwrap_or_default()
    }

    /// The sign-ins of `principal`, for the operators' page.
    pub fn console_sign_ins(&self, principal: &Principal) -> impl Future<Output = String> + use<> {
        console::sign_ins(
            self.sources.upstreams.as_ref().map(|upstreams| upstreams.current()),
            principal.clone(),
        )
    }

    /// Waits until pending traces and audit lines are written, at most for `limit` each.
    pub fn flush(&self, limit: Duration) {
        if let Some(traces) = &self.traces {
            traces.flush(limit);
        }
        if let Some(audit) = &self.audit {
            audit.flush(limit);
        }
    }

    /// The same at the end of the process: the audit log gets its last line.
    pub fn close(&self, limit: Duration) {
        #[cfg(feature = "otel")]
        if let Some(otel) = &self.otel {
            otel.close(limit);
        }
        if let Some(traces) = &self.traces {
            traces.flush(limit);
        }
        if let Some(audit) = &self.audit {
            audit.close(limit);
        }
    }

    /// Writes the metric families of calls, sessions, upstreams and the process.
    pub fn write_metrics(&self, to: &mut Exposition) {
        if let Some(metrics) = &self.metrics {
            metrics.write(to);
        }
        if let Some(traces) = &self.traces {
            traces.write_metrics(to);
        }
        if let Some(audit) = &self.audit {
            audit.write_metrics(to);
        }
        #[cfg(feature = "otel")]
        if let Some(otel) = &self.otel {
            otel.write_metrics(to);
        }
        self.sources.write_metrics(to);
        write_process(to);
    }
}
