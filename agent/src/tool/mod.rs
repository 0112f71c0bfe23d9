//! The tools that a host offers to an agent: handlers, descriptions for models, and permitted callers.

mod extensions;
mod grep;
mod invoke;
mod spec;
#[cfg(feature = "typed")]
mod typed;

use futures_util::future::BoxFuture;
use ptc_base::json::{Map, Value as Json};
use ptc_base::time::Instant;
use std::any::Any;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub use extensions::Extensions;
pub(crate) use grep::grep_tools;
pub(crate) use invoke::{fitted, invoke, panic_text};
pub use spec::{Expose, NativeResult, PreviewFn, ToolSpec};
#[cfg(feature = "typed")]
pub use typed::TypedHandler;

/// The name of the native tool that runs programs.
pub(crate) const LISP_EVAL: &str = "lisp_eval";

/// A JSON object: the arguments of a tool.
pub type JsonMap = Map;

/// The origin of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// The provider's tool calling.
    Native,
    /// `(tool/NAME …)` in a program.
    PtcLisp,
}

impl Layer {
    /// The word in telemetry.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Layer::Native => "native",
            Layer::PtcLisp => "ptc_lisp",
        }
    }
}

/// The caller of a tool, and the deadline of the answer.
#[derive(Clone)]
pub struct ToolContext {
    /// The run's agent: 8 hex digits.
    pub agent_id: String,
    /// The agent's name, if it has one.
    pub agent_name: Option<String>,
    /// The turn of the run, from 1.
    pub turn: u32,
    /// The origin of the call.
    pub layer: Layer,
    /// When the future is dropped: the tool's time limit, or the run's if that is sooner.
    pub deadline: Option<Instant>,
    /// Values of the host, of the agent and of the run.
    pub(crate) extensions: Arc<Extensions>,
    /// Whether the result may stand for later calls.
    pub(crate) keeps: Arc<AtomicBool>,
    /// The run around the call, for tools that are agents.
    pub(crate) run: Option<Arc<dyn Any + Send + Sync>>,
}

impl ToolContext {
    /// A context outside of any run, for tests of handlers.
    #[must_use]
    pub fn detached(layer: Layer) -> ToolContext {
        ToolContext {
            agent_id: String::new(),
            agent_name: None,
            turn: 0,
            layer,
            deadline: None,
            extensions: Arc::default(),
            keeps: Arc::new(AtomicBool::new(true)),
            run: None,
        }
    }

    /// The host's value of this type, from the run's options ([`RunOptions::extension`](crate::run::RunOptions::extension))
    /// or the agent's ([`AgentBuilder::extension`](crate::agent::AgentBuilder::extension)).
    #[must_use]
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.extensions.get()
    }

    /// Adds a value of the host, for tests of handlers.
    #[must_use]
    pub fn with<T: Send + Sync + 'static>(mut self, value: T) -> ToolContext {
        Arc::make_mut(&mut self.extensions).insert(value);
        self
    }

    /// Excludes the result of this call from the cache: a program that makes the same call runs the tool again. For results of
    /// an upstream tool that differ from what a program would get.
    pub fn do_not_keep(&self) {
        self.keeps.store(false, Ordering::Relaxed);
    }
}

impl fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolContext")
            .field("agent_id", &self.agent_id)
            .field("agent_name", &self.agent_name)
            .field("turn", &self.turn)
            .field("layer", &self.layer)
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}

/// Why a tool has no value: the text that models read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolError(pub String);

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ToolError {}

/// The handler of a tool. Async closures `Fn(JsonMap) -> Result<Json, impl Display>` are handlers.
///
/// Each call is a separate task on the runtime that the run was started on. A panic is a failure of the call, and a call that
/// is no longer awaited is cancelled by dropping its future. A handler that blocks its thread cannot be cancelled: the call
/// fails at its time limit, provided that the runtime has another thread.
pub trait ToolHandler: Send + Sync + 'static {
    /// Runs the tool.
    fn call(&self, arguments: JsonMap, context: ToolContext) -> BoxFuture<'static, Result<Json, ToolError>>;
}

impl<F, Fut, E> ToolHandler for F
where
    F: Fn(JsonMap) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Json, E>> + Send + 'static,
    E: fmt::Display,
{
    fn call(&self, arguments: JsonMap, _: ToolContext) -> BoxFuture<'static, Result<Json, ToolError>> {
        let running = self(arguments);
        Box::pin(async move { running.await.map_err(|error| ToolError(error.to_string())) })
    }
}

#[cfg(test)]
mod tests;
