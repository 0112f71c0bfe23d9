//! Flags of the model that answers sampling requests, shared by all sub-commands whose programs may call upstreams.

use crate::options::flags::find;
use crate::sampling;
use clap::Args;
use ptc_host::aggregator::{AggregatorLimits, Sampler};
use ptc_host::config::ProcessEnv;
use ptc_host::credentials::Redactor;
use ptc_host::http::Client;
use std::sync::Arc;

/// Which model answers upstreams, and how much.
#[derive(Args, Debug, Default)]
pub(super) struct SamplingArgs {
    #[arg(long, help = find("sampling-model").described(), value_name = "NAME")]
    sampling_model: Option<String>,

    #[arg(long, help = find("sampling-max-tokens").described(), value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(1..))]
    sampling_max_tokens: Option<u32>,

    #[arg(long, help = find("max-samplings-per-program").described(), value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    max_samplings_per_program: Option<u32>,
}

impl SamplingArgs {
    /// These limits, changed by the flags.
    pub(super) fn limit(&self, limits: AggregatorLimits) -> AggregatorLimits {
        AggregatorLimits {
            max_samplings: self.max_samplings_per_program.unwrap_or(limits.max_samplings),
            max_sampling_tokens: self.sampling_max_tokens.unwrap_or(limits.max_sampling_tokens),
            ..limits
        }
    }

    /// The model, if one is named.
    ///
    /// # Errors
    /// One sentence for the operator.
    pub(super) fn open(
        &self,
        env: &ProcessEnv,
        http: &Client,
        redactor: &Redactor,
    ) -> Result<Option<Arc<dyn Sampler>>, String> {
        let model = self.sampling_model.as_deref();
        let opened = model.map(|name| sampling::open(name, env, http.clone(), redactor));
        opened.transpose().map_err(|error| format!("--sampling-model: {error}"))
    }
}
