//! Flags that every sub-command which runs programs has: limits and upstreams.

use super::upstreams;
use clap::Args;
use ptc_host::aggregator::{Aggregator, AggregatorLimits, SnapshotMode};
use ptc_host::config::{ConfigLocation, NamedBy, REPL_VARIABLE};
use ptc_host::engine::{EvalRequest, HostCalls, Limits};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// What programs may use up, and the servers that they reach.
#[derive(Args, Debug, Default)]
pub struct LimitArgs {
    /// Upstream servers that programs can call
    #[arg(long, value_name = "FILE")]
    pub upstreams_config: Option<PathBuf>,

    /// Wall clock of one program [default: 1000; 10000 with upstreams]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..))]
    pub program_timeout_ms: Option<u64>,

    /// Memory of one program [default: 10485760; 104857600 with upstreams]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..))]
    pub program_memory_limit_bytes: Option<u64>,

    /// Steps of one program [default: 25000000 for each second of its time]
    #[arg(long, value_name = "STEPS", value_parser = clap::value_parser!(u64).range(1..))]
    pub program_step_limit: Option<u64>,
}

impl LimitArgs {
    /// The upstreams file: the flag, else the variable of one-shot evaluation and the REPL (upstreams.md 2.2).
    fn location(&self) -> Option<ConfigLocation> {
        if let Some(path) = &self.upstreams_config {
            return Some(ConfigLocation { path: path.clone(), named_by: NamedBy::Flag });
        }
        let path = std::env::var_os(REPL_VARIABLE).filter(|path| !path.is_empty())?;
        Some(ConfigLocation { path: path.into(), named_by: NamedBy::Variable(REPL_VARIABLE) })
    }

    fn limits(&self, upstreams: bool) -> Limits {
        let mut limits = if upstreams { Limits::aggregator() } else { Limits::plain() };
        if let Some(ms) = self.program_timeout_ms {
            limits.timeout = Duration::from_millis(ms);
            limits.steps = Limits::steps_for(limits.timeout);
        }
        if let Some(bytes) = self.program_memory_limit_bytes {
            limits.memory_bytes = bytes;
        }
        if let Some(steps) = self.program_step_limit {
            limits.steps = steps;
        }
        limits
    }

    /// A request with these limits and, if they are configured, the upstreams, started at their first use. The
    /// aggregator is to be shut down at the end.
    ///
    /// # Errors
    /// A sentence for the operator when the upstreams cannot be configured.
    pub async fn request(&self) -> Result<(EvalRequest, Option<Arc<Aggregator>>), String> {
        let aggregator =
            upstreams::open(self.location(), SnapshotMode::Live, AggregatorLimits::default()).await?;
        let mut request = EvalRequest::new("");
        request.limits = self.limits(aggregator.is_some());
        // As the MCP server does: a misspelt context key is an error, not nil.
        request.strict_data = true;
        request.upstreams = aggregator.clone().map(|aggregator| Arc::new(aggregator) as Arc<dyn HostCalls>);
        Ok((request, aggregator))
    }
}
