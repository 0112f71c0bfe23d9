//! Flags that every sub-command which runs programs has: limits and upstreams.

use clap::Args;
use ptc_host::engine::{EvalRequest, Limits};
use std::path::PathBuf;
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
    /// The limits that these flags ask for.
    pub fn limits(&self) -> Limits {
        let mut limits = if self.upstreams_config.is_some() { Limits::aggregator() } else { Limits::plain() };
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

    /// A request with these limits and, if they are configured, the upstreams.
    ///
    /// # Errors
    /// A sentence for the operator when the upstreams cannot be configured.
    pub async fn request(&self) -> Result<EvalRequest, String> {
        let mut request = EvalRequest::new("");
        request.limits = self.limits();
        Ok(request)
    }
}
