//! Flags shared by all sub-commands that run programs: limits and upstreams. The table of options defines them and
//! their defaults.

use super::sampling::SamplingArgs;
use super::upstreams::{self, UNCONFIGURED};
use crate::options::flags::find;
use clap::Args;
use ptc_host::aggregator::{Aggregator, AggregatorLimits, SnapshotMode};
use ptc_host::config::{ConfigLocation, NamedBy, ProcessEnv, REPL_VARIABLE, locate};
use ptc_host::engine::{ChosenLimits, EvalRequest, Failure, HostCalls, Limits};
use ptc_vm::Reason;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// What programs may use up, and the servers that they reach.
#[derive(Args, Debug, Default)]
pub(crate) struct LimitArgs {
    /// Upstreams file, whose servers programs can call [default: as `ptc start` finds it]
    #[arg(long, value_name = "FILE")]
    pub(super) upstreams_config: Option<PathBuf>,

    /// Reach no upstreams
    #[arg(long, conflicts_with = "upstreams_config")]
    no_upstreams: bool,

    #[arg(long, help = find("ca-file").described(), value_name = "FILE")]
    pub(super) ca_file: Option<PathBuf>,

    #[arg(long, help = find("program-timeout-ms").described(), value_name = "MS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) program_timeout_ms: Option<u64>,

    #[arg(long, help = find("program-memory-limit-bytes").described(), value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) program_memory_limit_bytes: Option<u64>,

    #[arg(long, help = find("program-step-limit").described(), value_name = "STEPS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) program_step_limit: Option<u64>,

    #[arg(long, help = find("max-upstream-calls-per-program").described(), value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) max_tool_calls: Option<u32>,

    #[arg(long, help = find("max-catalog-ops-per-program").described(), value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) max_catalog_ops: Option<u32>,

    #[arg(long, help = find("upstream-call-timeout-ms").described(), value_name = "MS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) upstream_call_timeout_ms: Option<u64>,

    #[arg(long, help = find("max-upstream-response-bytes").described(), value_name = "BYTES")]
    pub(super) max_upstream_response_bytes: Option<usize>,

    #[arg(long, help = find("max-upstream-request-bytes").described(), value_name = "BYTES")]
    pub(super) max_upstream_request_bytes: Option<usize>,

    #[command(flatten)]
    pub(super) sampling: SamplingArgs,
}

impl LimitArgs {
    /// The upstreams file: the flag, else the variable, else the default file (upstreams.md 2.2).
    pub(super) fn location(&self, env: &ProcessEnv) -> Option<ConfigLocation> {
        if self.no_upstreams {
            return None;
        }
        locate(self.upstreams_config.as_deref(), Some(REPL_VARIABLE), env)
    }

    fn limits(&self, upstreams: bool) -> Limits {
        let chosen = ChosenLimits {
            timeout: self.program_timeout_ms.map(Duration::from_millis),
            memory_bytes: self.program_memory_limit_bytes,
            steps: self.program_step_limit,
            program_bytes: None,
        };
        Limits::with(chosen, upstreams)
    }

    /// The limits on programs' use of upstreams.
    pub(super) fn aggregator_limits(&self) -> AggregatorLimits {
        let defaults = AggregatorLimits::default();
        AggregatorLimits {
            call_timeout: self.upstream_call_timeout_ms.map_or(defaults.call_timeout, Duration::from_millis),
            max_response_bytes: self.max_upstream_response_bytes.unwrap_or(defaults.max_response_bytes),
            max_request_bytes: self.max_upstream_request_bytes.unwrap_or(defaults.max_request_bytes),
            max_calls: self.max_tool_calls.unwrap_or(defaults.max_calls),
            max_discoveries: self.max_catalog_ops.unwrap_or(defaults.max_discoveries),
            ..self.sampling.limit(defaults)
        }
    }

    /// A request with these limits and, if configured, the upstreams, started according to `mode`; `with_default`
    /// says whether the default upstreams file counts. The aggregator must be shut down at the end.
    ///
    /// # Errors
    /// A sentence for the operator when the upstreams cannot be configured.
    pub(crate) async fn request(
        &self,
        mode: SnapshotMode,
        with_default: bool,
    ) -> Result<(EvalRequest, Option<Arc<Aggregator>>), String> {
        let env = ProcessEnv::current();
        let may = |found: &ConfigLocation| {
            found.named_by != NamedBy::Default || (with_default && upstreams::can_use(found, &env))
        };
        let location = self.location(&env).filter(may);
        self.request_with(location, mode, &env).await
    }

    /// As [`LimitArgs::request`], with the upstreams file at `location` and values from `env`.
    ///
    /// # Errors
    /// A sentence for the operator when the upstreams or `--ca-file` cannot be used.
    pub(crate) async fn request_with(
        &self,
        location: Option<ConfigLocation>,
        mode: SnapshotMode,
        env: &ProcessEnv,
    ) -> Result<(EvalRequest, Option<Arc<Aggregator>>), String> {
        let http = upstreams::http(self.ca_file.as_deref(), env)?;
        let aggregator =
            upstreams::open(location, mode, self.aggregator_limits(), env, http, Some(&self.sampling))
                .await?;
        let mut request = EvalRequest::new("");
        request.limits = self.limits(aggregator.is_some());
        // As the MCP server does: a misspelt context key is an error, not nil.
        request.strict_data = true;
        request.max_attached_bytes = self.aggregator_limits().max_binary_bytes;
        request.upstreams = aggregator.clone().map(|aggregator| aggregator as Arc<dyn HostCalls>);
        Ok((request, aggregator))
    }
}

/// Adds to a failure that the program needs upstreams, if that is the cause: on the command line only upstreams
/// provide tools.
pub(super) fn explain(failure: &mut Failure, has_upstreams: bool) {
    let asks_for_tools = matches!(failure.reason, Reason::UnknownTool | Reason::InvalidToolArgs)
        || failure.message.ends_with("when a discovery backend is configured");
    if asks_for_tools && !has_upstreams {
        failure.message = UNCONFIGURED.to_owned();
        failure.hint = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_without_upstreams_is_told_so() {
        let shown = |reason, message: &str, has_upstreams| {
            let mut failure = Failure::new(reason, message);
            failure.hint = Some(" Try this.".to_owned());
            explain(&mut failure, has_upstreams);
            failure.full_message()
        };
        let discovery =
            "runtime_error: REPL discovery forms are only available when a discovery backend is configured";
        for (reason, message) in [
            (Reason::UnknownTool, "Unknown tool: call. No tools available."),
            (Reason::InvalidToolArgs, "Tool calls require named arguments."),
            (Reason::RuntimeError, discovery),
        ] {
            assert_eq!(shown(reason, message, false), UNCONFIGURED);
            assert_eq!(shown(reason, message, true), format!("{message} Try this."));
        }
        assert_eq!(shown(Reason::RuntimeError, "x", false), "x Try this.");
    }
}
