//! State of a run, its programs and its tools.

use super::fail::{Fail, FailReason};
use super::state::ProgramState;
use super::step::{RunOptions, Step};
use super::stream::{RunEvent, Watch};
use crate::llm::{Llm, LlmRegistry, RetryPolicy, Retrying, ScriptedLlm};
use crate::settings::Config;
use crate::telemetry::Emitter;
use crate::tool::{Extensions, JsonMap};
use ptc_base::json::{Value as Json, json};
use ptc_base::sync::Mutex;
use ptc_base::time::{self, Instant};
use ptc_engine::kept::ServedPrograms;
use ptc_engine::{Asker, Authority, HostCalls};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::runtime::Handle;

/// The data that a nested run inherits from the outer run.
#[derive(Clone)]
pub(crate) struct InheritedState {
    /// Runs around this one.
    pub(crate) depth: u32,
    /// Responses of models that are left.
    pub(crate) budget: Arc<AtomicU32>,
    pub(crate) deadline: Option<Instant>,
    /// Trace and span.
    pub(crate) outer: (String, String),
}

/// A run's things that outlive single turns.
pub(crate) struct RunScope {
    pub(crate) config: Arc<Config>,
    pub(crate) kept: Arc<ProgramState>,
    /// The model as the host gave it, for runs within this one.
    pub(crate) llm: Arc<dyn Llm>,
    pub(crate) registry: LlmRegistry,
    pub(crate) retry: Option<RetryPolicy>,
    /// The model with its retries.
    pub(crate) asked: Arc<dyn Llm>,
    /// Why there is no model.
    pub(crate) no_model: Option<Fail>,
    /// On whose behalf its programs run.
    pub(crate) principal: Option<Arc<str>>,
    pub(crate) authority: Option<Arc<Authority>>,
    pub(crate) max_heap: u64,
    pub(crate) upstreams: Option<Arc<dyn HostCalls>>,
    pub(crate) programs: Option<Arc<dyn ServedPrograms>>,
    pub(crate) asker: Option<Arc<dyn Asker>>,
    pub(crate) context: JsonMap,
    /// Values of the host for the tools' handlers.
    pub(crate) extensions: Arc<Extensions>,
    pub(crate) runtime: Handle,
    pub(crate) emitter: Emitter,
    pub(crate) started: Instant,
    pub(crate) deadline: Option<Instant>,
    pub(crate) depth: u32,
    pub(crate) budget: Arc<AtomicU32>,
    /// The results of nested runs.
    pub(crate) children: Mutex<Vec<Step>>,
    /// Listener for the run's events.
    watch: Option<Watch>,
}

impl RunScope {
    /// Must be called on a tokio runtime: tools run on it.
    pub(crate) fn new(
        config: Arc<Config>,
        options: &mut RunOptions,
        inherited: Option<InheritedState>,
        watch: Option<Watch>,
    ) -> RunScope {
        let started = time::now();
        let kept = match &options.state {
            Some(state) => state.0.clone(),
            None => Arc::new(ProgramState::new(options.engine.take())),
        };
        let own = config.mission_timeout.map(|time| started + time);
        let (depth, budget, outer, around) = match inherited {
            Some(inherited) => (inherited.depth, inherited.budget, Some(inherited.outer), inherited.deadline),
            None => (0, Arc::new(AtomicU32::new(config.turn_budget)), None, None),
        };
        let mut registry = config.llm_registry.clone();
        registry.extend(std::mem::take(&mut options.llm_registry));
        let (llm, no_model) = match options.llm.take().or_else(|| config.llm.clone()) {
            None => (nobody(), Some(Fail::new(FailReason::LlmRequired, "llm option is required"))),
            Some(llm) => match llm.resolve(&registry) {
                Ok(llm) => (llm, None),
                Err(text) => (nobody(), Some(Fail::new(FailReason::LlmNotFound, text))),
            },
        };
        let retry = options.llm_retry.take().or_else(|| config.llm_retry.clone());
        let asked = match &retry {
            Some(policy) => Arc::new(Retrying::new(llm.clone(), policy.clone())),
            None => llm.clone(),
        };
        RunScope {
            kept,
            llm,
            registry,
            retry,
            asked,
            no_model,
            principal: options.principal.take(),
            authority: options.authority.take(),
            max_heap: options.max_heap.unwrap_or(config.max_heap),
            children: Mutex::default(),
            watch,
            upstreams: options.upstreams.clone(),
            programs: options.programs.clone(),
            asker: options.asker.clone(),
            context: std::mem::take(&mut options.context),
            extensions: Arc::new(config.extensions.with(&options.extensions)),
            runtime: Handle::current(),
            emitter: Emitter::new(
                config.name.clone(),
                options.observer.clone(),
                options.trace_id.take(),
                outer,
            ),
            started,
            deadline: own.into_iter().chain(around).min(),
            depth,
            budget,
            config,
        }
    }

    /// Sends an event to the run's listener.
    pub(crate) fn watch(&self, event: impl FnOnce() -> RunEvent) {
        if let Some(watch) = &self.watch {
            watch.tell(event());
        }
    }

    /// Time until the mission's deadline.
    pub(crate) fn left(&self) -> Duration {
        // A year stands for none: timers cannot wait for ever.
        let never = Duration::from_secs(365 * 86_400);
        self.deadline.map_or(never, |deadline| deadline.saturating_duration_since(time::now()))
    }

    /// Takes one response of a model from the budget; `false` if none is left.
    pub(crate) fn take_turn(&self) -> bool {
        self.budget.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }

    /// Keeps the result of a nested run.
    pub(crate) fn note_child(&self, step: Step) {
        self.children.lock().push(step);
    }

    /// The data that a nested run inherits.
    pub(crate) fn inheritance(&self) -> InheritedState {
        InheritedState {
            depth: self.depth + 1,
            budget: self.budget.clone(),
            deadline: self.deadline,
            outer: self.emitter.outer(),
        }
    }
}

/// A model that no request reaches.
fn nobody() -> Arc<dyn Llm> {
    Arc::new(ScriptedLlm::default())
}

/// An error of the protocol between model and loop.
pub(crate) fn fault(reason: &str, message: &str) -> Json {
    json!({"status": "error", "reason": reason, "message": message})
}
