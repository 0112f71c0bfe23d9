//! Options of `lisp_task`.

use super::config::PlannerConfig;
use crate::lisp_eval::ArgumentCaps;
use ptc_agent::llm::Llm;
use ptc_host::catalog::Catalog;
use ptc_host::credentials::Redactor;
use ptc_host::engine::{Engine, HostCalls, Limits};
use ptc_host::policy::Authority;
use ptc_protocol::settings::Profile;
use std::sync::Arc;
use std::time::Duration;

/// The name of the tool.
pub const NAME: &str = "lisp_task";

/// What a planner and a caller are told of the upstreams.
#[derive(Clone, Debug, Default)]
pub struct TaskCatalog {
    /// The tools of the upstreams, with their hints about effects.
    pub catalog: Catalog,
    /// The catalog in the planner's form.
    pub snapshot: String,
    /// The summary of the upstreams for callers.
    pub summary: String,
}

/// Makes the catalog of one caller.
pub type CatalogOfCaller = dyn Fn(&Arc<Authority>) -> TaskCatalog + Send + Sync;

impl TaskOptions {
    /// What the caller of this authority and its planner are told of the upstreams.
    pub(super) fn catalog(&self, authority: Option<&Arc<Authority>>) -> Arc<TaskCatalog> {
        match (authority, &self.known_to) {
            (Some(authority), Some(known_to)) => Arc::new(known_to(authority)),
            _ => self.known.clone(),
        }
    }
}

/// The dependencies and settings of `lisp_task`.
#[derive(Clone)]
pub struct TaskOptions {
    /// Runs the programs.
    pub engine: Engine,
    /// The model, or the reason why there is none.
    pub model: Result<Arc<dyn Llm>, String>,
    /// The model's name in answers.
    pub model_name: String,
    /// Answers `tool/call` and discovery.
    pub upstreams: Arc<dyn HostCalls>,
    /// What is told of all upstreams.
    pub known: Arc<TaskCatalog>,
    /// Makes what the planner of one caller is told, whom the policy may not show all upstreams.
    pub known_to: Option<Arc<CatalogOfCaller>>,
    /// Turns and the operator's texts.
    pub planner: PlannerConfig,
    /// Limits of one program.
    pub limits: Limits,
    /// Bounds of arguments.
    pub caps: ArgumentCaps,
    /// Time of one task.
    pub task_timeout: Duration,
    /// Time of one call of the model.
    pub planner_timeout: Duration,
    /// Longest reply of the model, in tokens.
    pub max_output_tokens: u32,
    /// Longest answer, in bytes.
    pub max_result_bytes: usize,
    /// True if answers show the last program.
    pub include_program: bool,
    /// True if the operator declares the upstreams read-only.
    pub read_only: bool,
    /// True if a task may make changes.
    pub allow_writes: bool,
    /// The response profile: its guard bounds the whole result.
    pub profile: Profile,
    /// Scrubs everything that leaves the process.
    pub redactor: Redactor,
    /// True if replies carry a report for observers.
    pub reports: bool,
    /// True if calls are traced.
    pub traced: bool,
    /// True if traces may hold prompts and the model's answers.
    pub trace_prompts: bool,
}
