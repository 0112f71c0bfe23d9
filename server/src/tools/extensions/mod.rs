//! Tools and prompts of a program that embeds the server: PTC-Lisp programs, run as `lisp_eval` runs those of models. Their questions
//! are put to the client of the call, their calls may become tasks, and any replica goes on with them.
//!
//! They are handed in at boot: [`cli::main_with`](crate::cli::main_with). The `ptc` command hands in none. The conformance suite's
//! own tools are an example (`tests/src/bin/ptc-with-fixtures`).

mod asker;
mod prepares;
mod tool;

use std::sync::Arc;
use std::time::Duration;

use ptc_host::engine::HostCalls;

use self::prepares::WithExtensions;
use self::tool::{ExtensionTool, Parts};
use super::evaluator::Evaluator;
use super::lisp_eval::EvalOptions;
use crate::protocol::tool::{CallExtras, Definition, QuestionDialect, Tool, ToolReply};
use crate::runs::Prepares;

/// What is handed in.
#[derive(Clone, Default)]
pub struct Extensions {
    /// Tools, listed behind those of the server.
    pub tools: Vec<Arc<dyn ProgramTool>>,
    /// Prompts, each as the tool that makes the result of `prompts/get` (2026-07-28). They are not listed.
    pub prompts: Vec<Arc<dyn ProgramTool>>,
}

/// A tool, or a prompt, whose work is a program.
pub trait ProgramTool: Send + Sync {
    /// How it is listed.
    fn definition(&self) -> Definition;

    /// The program of a call. `arguments` is the JSON that the client sent, if it sent any; a program that goes on after it has
    /// waited is made again of the same arguments.
    fn program(&self, arguments: Option<&str>, call: &CallExtras) -> Program;

    /// The reply of a program that has ended, of what `lisp_eval` would reply.
    fn reply(&self, reply: ToolReply) -> ToolReply {
        reply
    }

    /// Whether its calls must become tasks: a client that takes none is refused.
    fn needs_task(&self) -> bool {
        false
    }

    /// How its questions look to clients, if they look otherwise than those of the product.
    fn dialect(&self) -> Option<&dyn QuestionDialect> {
        None
    }
}

/// A program, and what it runs with besides the limits that the operator sets for all.
pub struct Program {
    /// Its text.
    pub text: Arc<str>,
    /// What it reads as `data/…`: the text of a JSON object.
    pub data: Arc<str>,
    /// Answers its upstream calls. The operator's upstreams are not reached.
    pub upstreams: Option<Arc<dyn HostCalls>>,
    /// How long its call is waited for before it becomes a task, where its client takes tasks; `None` for as long as it takes.
    pub wait: Option<Duration>,
}

/// These tools or prompts, over this evaluator.
pub(crate) fn tools(
    extensions: &[Arc<dyn ProgramTool>],
    evaluator: &Arc<dyn Evaluator>,
    options: &EvalOptions,
) -> Vec<Box<dyn Tool>> {
    let parts = Parts { evaluator: evaluator.clone(), options: options.clone() };
    let tool = |tool: &Arc<dyn ProgramTool>| ExtensionTool::new(tool.clone(), parts.clone());
    extensions.iter().map(|extension| Box::new(tool(extension)) as Box<dyn Tool>).collect()
}

/// Prepares the programs of these tools for going on, and others as `others` does.
pub(crate) fn prepares(
    extensions: &[Arc<dyn ProgramTool>],
    others: Arc<dyn Prepares>,
    evaluator: &Arc<dyn Evaluator>,
    options: &EvalOptions,
) -> Arc<dyn Prepares> {
    if extensions.is_empty() {
        return others;
    }
    let parts = Parts { evaluator: evaluator.clone(), options: options.clone() };
    let tools = extensions.iter().map(|tool| ExtensionTool::new(tool.clone(), parts.clone())).collect();
    Arc::new(WithExtensions { tools, others })
}
