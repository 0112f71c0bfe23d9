//! `lisp_task`: a task in plain language. A model writes the programs, the caller gets the answer (server.md 9).
//!
//! The loop is `ptc-agent` with programs in text and explicit completion. This module adds the arguments, the prompt's
//! sections, a ledger of every upstream call and its effect, the planner's account, and the form of the answer.

mod arguments;
mod config;
mod definition;
mod journal;
mod ledger;
mod planner;
mod prompt;
mod render;
mod reply;
mod run;
mod summary;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use ptc_agent::llm::Llm;
use ptc_host::catalog::Catalog;
use ptc_host::credentials::Redactor;
use ptc_host::engine::{Engine, HostCalls, Limits};

use super::lisp_eval::ArgumentCaps;
use ptc_protocol::report::CallReport;
use ptc_protocol::report::ErrorReason;
use ptc_protocol::report::Payload;
use ptc_protocol::settings::Profile;
use ptc_protocol::tool::{CallContext, Definition, Preparation, Tool, ToolReply};

pub use config::PlannerConfig;
use ptc_mcp::json::Raw;
pub use summary::capability_summary;

/// The name of the tool.
pub const NAME: &str = "lisp_task";

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
    /// The tools of the upstreams, with their hints about effects.
    pub catalog: Catalog,
    /// The catalog in the planner's form.
    pub snapshot: String,
    /// The summary of the upstreams for callers.
    pub summary: String,
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

/// The tool.
pub struct LispTask {
    options: Arc<TaskOptions>,
}

impl LispTask {
    /// The tool over these options.
    pub fn new(options: TaskOptions) -> Self {
        LispTask { options: Arc::new(options) }
    }
}

impl Tool for LispTask {
    fn definition(&self) -> Definition {
        definition::definition(&self.options)
    }

    fn prepare(&self, given: Option<Raw<'_>>, context: &CallContext) -> Preparation {
        let options = self.options.clone();
        let task = match arguments::read(given, &options.caps) {
            Ok(task) => task,
            Err(message) => {
                let report = options.reports.then(|| {
                    let payload = Payload::refused(ErrorReason::ArgsError, message.clone(), None);
                    CallReport::refused(payload, false)
                });
                return Preparation::Done(reply::refused("args_error", &message).reporting(report));
            }
        };
        let (eval_id, request_id) = (context.eval_id, context.request_id.to_string());
        let principal = context.owner.principal.shared_name();
        Preparation::Gated(
            async move {
                let reply = run::run(&options, task, principal, eval_id, request_id).await;
                ToolReply { eval_id: Some(eval_id), ..reply }
            }
            .boxed(),
        )
    }
}
