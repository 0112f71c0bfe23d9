//! Options of `lisp_task`.

use super::config::PlannerConfig;
use crate::callable_programs::CallablePrograms;
use crate::lisp_eval::ArgumentCaps;
use ptc_agent::llm::Llm;
use ptc_host::catalog::Catalog;
use ptc_host::credentials::Redactor;
use ptc_host::engine::{Engine, HostCalls, Limits};
use ptc_host::policy::Authority;
use ptc_host::sync::RwLock;
use ptc_protocol::principal::Principal;
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

/// What is told of all upstreams, which may be exchanged while the server runs.
#[derive(Clone, Debug)]
pub struct SharedTaskCatalog(Arc<RwLock<Arc<TaskCatalog>>>);

impl SharedTaskCatalog {
    /// This catalog.
    pub fn new(catalog: TaskCatalog) -> Self {
        SharedTaskCatalog(Arc::new(RwLock::new(Arc::new(catalog))))
    }

    /// The catalog of tasks that begin now.
    pub fn get(&self) -> Arc<TaskCatalog> {
        self.0.read().clone()
    }

    /// Tells tasks that begin later of another one.
    pub fn set(&self, catalog: TaskCatalog) {
        *self.0.write() = Arc::new(catalog);
    }
}

/// Makes the catalog of callers with an authority, or with the lists that the one of a name has of its own; `None` if that is
/// what is told of all upstreams.
pub type CatalogOfCaller =
    dyn Fn(Option<&Arc<Authority>>, Option<&Arc<str>>) -> Option<TaskCatalog> + Send + Sync;

impl TaskOptions {
    /// What a planner is told of the upstreams for this caller.
    pub(super) fn catalog_of(&self, principal: &Principal) -> Arc<TaskCatalog> {
        self.catalog(principal.authority(), Some(principal.known_name()))
    }

    /// What callers of this authority are told of the upstreams; with what one of them has of its own, if it is named.
    pub(super) fn catalog(
        &self,
        authority: Option<&Arc<Authority>>,
        principal: Option<&Arc<str>>,
    ) -> Arc<TaskCatalog> {
        let known_to = self.known_to.as_ref();
        match known_to.and_then(|known_to| known_to(authority, principal)) {
            Some(known) => Arc::new(known),
            None => self.known.get(),
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
    /// The kept programs, which programs may call; `None` if none are served.
    pub programs: Option<Arc<dyn CallablePrograms>>,
    /// What is told of all upstreams.
    pub known: SharedTaskCatalog,
    /// Makes what the planner of one caller is told, whom the policy may not show all upstreams, or who has lists of its own.
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
