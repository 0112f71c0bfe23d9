//! `lisp_task`: a task in plain language. A model writes the programs, the caller gets the answer (server.md 9).
//!
//! The loop is `ptc-agent` with programs in text and explicit completion. This module adds the arguments, the prompt's
//! sections, a ledger of every upstream call and its effect, the planner's account, and the form of the answer.

mod arguments;
mod config;
mod definition;
mod journal;
mod ledger;
mod options;
mod planner;
mod prompt;
mod render;
mod reply;
mod run;
mod summary;

#[cfg(test)]
mod tests;

pub use options::{CatalogOfCaller, NAME, SharedTaskCatalog, TaskCatalog, TaskOptions};
use std::sync::Arc;

use futures_util::FutureExt;
use ptc_host::policy::Authority;

use ptc_protocol::report::CallReport;
use ptc_protocol::report::ErrorReason;
use ptc_protocol::report::Payload;
use ptc_protocol::tool::{CallContext, Definition, Preparation, Tool, ToolReply};

pub use config::PlannerConfig;
use ptc_mcp::json::Raw;
pub use summary::capability_summary;

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
        definition::definition(&self.options, &self.options.known.get().summary)
    }

    fn definition_for(&self, authority: &Arc<Authority>) -> Definition {
        definition::definition(&self.options, &self.options.catalog(Some(authority), None).summary)
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
        let principal = context.owner.principal.clone();
        Preparation::Gated(
            async move {
                let reply = run::run(&options, task, principal, eval_id, request_id).await;
                ToolReply { eval_id: Some(eval_id), ..reply }
            }
            .boxed(),
        )
    }
}
