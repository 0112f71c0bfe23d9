//! Tools and prompts of a program that embeds the server: PTC-Lisp programs, run like those of models in `lisp_eval`.
//! Their questions are put to the client of the call, their calls may become tasks, and any replica can resume them.
//!
//! They are passed in at boot: `ptc_server::cli::main_with`. The `ptc` command passes none. The
//! conformance suite's own tools are an example (`tests/src/bin/ptc-with-fixtures`).

mod asker;
mod prepares;
mod tool;

pub use prepares::prepares;
pub use tool::tools;

use std::sync::Arc;
use std::time::Duration;

use ptc_host::engine::HostCalls;

use ptc_protocol::tool::{CallExtras, Definition, QuestionDialect, ToolReply};

/// The extensions of an embedding program.
#[derive(Clone, Default)]
pub struct Extensions {
    /// Tools, listed after those of the server.
    pub tools: Vec<Arc<dyn ProgramTool>>,
    /// Prompts, each as the tool that makes the result of `prompts/get` (2026-07-28). They are not listed.
    pub prompts: Vec<Arc<dyn ProgramTool>>,
}

/// A tool, or a prompt, whose work is a program.
pub trait ProgramTool: Send + Sync {
    /// How it is listed.
    fn definition(&self) -> Definition;

    /// The program of a call. `arguments` is the JSON that the client sent, if it sent any. A program that resumes is
    /// made again from the same arguments.
    fn program(&self, arguments: Option<&str>, call: &CallExtras) -> ExtensionProgram;

    /// Converts the reply of a program that has ended from the form of `lisp_eval`.
    fn reply(&self, reply: ToolReply) -> ToolReply {
        reply
    }

    /// True if its calls must become tasks: a client without tasks is refused.
    fn needs_task(&self) -> bool {
        false
    }

    /// How its questions look to clients, if they differ from those of the product.
    fn dialect(&self) -> Option<&dyn QuestionDialect> {
        None
    }
}

/// A program, and its environment besides the limits that the operator sets for all.
pub struct ExtensionProgram {
    /// Its text.
    pub text: Arc<str>,
    /// The content of `data/…`: the text of a JSON object.
    pub data: Arc<str>,
    /// Answers its upstream calls. The operator's upstreams are not reachable.
    pub upstreams: Option<Arc<dyn HostCalls>>,
    /// How long its call waits before it becomes a task, if its client takes tasks; `None` for no limit.
    pub wait: Option<Duration>,
}
