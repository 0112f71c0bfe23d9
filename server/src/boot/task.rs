//! Builds `lisp_task` for a server: the model, the prompt texts, the limits.

use std::sync::Arc;

use ptc_agent::llm::{Connect, Llm, ModelError, ModelRef};
use ptc_host::aggregator::CurrentUpstreams;
use ptc_host::catalog::snapshot;
use ptc_host::config::ProcessEnv;
use ptc_host::engine::Engine;
use tracing::warn;

use super::upstreams::client;
use ptc_protocol::settings::{BootError, PayloadPolicy, Settings};
use ptc_tools::kept::KeptDirectory;
use ptc_tools::lisp_eval::EvalOptions;
use ptc_tools::lisp_task::{
    CatalogOfCaller, LispTask, PlannerConfig, SharedTaskCatalog, TaskCatalog, TaskOptions, capability_summary,
};

/// `lisp_task` over these upstreams.
///
/// # Errors
/// If a file of the operator cannot be used. A model that cannot be used is reported to callers instead: everything
/// else works without it.
pub(super) fn task(
    settings: &Settings,
    engine: &Engine,
    upstreams: &Arc<CurrentUpstreams>,
    kept: Option<&Arc<KeptDirectory>>,
    known: &SharedTaskCatalog,
    options: &EvalOptions,
) -> Result<LispTask, BootError> {
    let planner = &settings.planner;
    let mode = settings.aggregator.catalog_mode;
    let reference = ModelRef::parse(&planner.model, None, &settings.env);
    let model_name = reference.as_ref().map_or_else(|_| planner.model.clone(), ToString::to_string);
    let (http, redactor) = (client(settings)?, options.redactor.clone());
    let model = model(reference, &settings.env, &Connect { http, redactor, ..Connect::default() });
    if let Err(why) = &model {
        warn!(event = "agentic_config_error", model = %model_name, "{why}");
    }
    let catalog_bytes = settings.aggregator.catalog_bytes;
    // The operator's own summary is told to all.
    let is_told = planner.capability_summary.is_some();
    let told = known.get().summary.clone();
    let planned = PlannerConfig::load(planner, &told)?;
    let (current, known_by, kept) = (Arc::downgrade(upstreams), planner.clone(), kept.cloned());
    let known_to: Arc<CatalogOfCaller> = Arc::new(move |authority, principal| {
        let upstreams = current.upgrade()?.current();
        let own = principal.filter(|principal| upstreams.has_own_lists(principal));
        let view = match (authority, own) {
            // Kept programs change by themselves.
            (None, None) if kept.is_none() => return None,
            (_, None) => upstreams.view(authority),
            (_, Some(principal)) => upstreams.view(authority).of(principal),
        };
        let programs = kept.as_ref().map(|kept| kept.described(Some(&view))).unwrap_or_default();
        let catalog = view.advertised();
        let summary = match is_told {
            true => told.clone(),
            // A generated one cannot fail.
            false => capability_summary(&known_by, &catalog, mode).unwrap_or_default(),
        };
        Some(TaskCatalog { snapshot: snapshot(&catalog, &programs, mode, catalog_bytes), catalog, summary })
    });
    Ok(LispTask::new(TaskOptions {
        engine: engine.clone(),
        model,
        model_name,
        upstreams: upstreams.clone(),
        programs: options.programs.clone(),
        planner: planned,
        known: known.clone(),
        known_to: Some(known_to),
        limits: options.limits,
        caps: options.caps,
        task_timeout: planner.task_timeout,
        planner_timeout: planner.planner_timeout,
        max_output_tokens: u32::try_from(planner.max_output_tokens).unwrap_or(u32::MAX),
        max_result_bytes: planner.max_result_bytes,
        include_program: planner.include_program,
        read_only: settings.aggregator.read_only,
        allow_writes: planner.allow_writes,
        profile: settings.profile,
        redactor: options.redactor.clone(),
        reports: options.reports,
        traced: settings.diagnostics.trace_dir.is_some(),
        trace_prompts: planner.trace_prompts && settings.diagnostics.payloads == PayloadPolicy::Full,
    }))
}

/// The planner's model, or the reason why there is none.
fn model(
    reference: Result<ModelRef, ModelError>,
    env: &ProcessEnv,
    connect: &Connect,
) -> Result<Arc<dyn Llm>, String> {
    reference.and_then(|model| model.connect(env, connect)).map_err(|error| match error {
        ModelError::NoKey { provider } => {
            format!("{} is required for {} planner models", provider.keys().join(" or "), provider.title())
        }
        other => other.to_string(),
    })
}
