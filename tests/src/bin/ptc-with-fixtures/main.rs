//! The `ptc` command with the tools and the prompt that scenarios of the official conformance suite call (waiting.md 11), for
//! `tests/interop/conformance/run`: PTC-Lisp programs that ask, handed to the server as extensions, so that what is tested is the
//! product: states that are sealed and used once, answers that are missing, what a client declares.
//!
//! * `programs` — the fixtures.
//! * `wire` — between their questions and the names and kinds that the suite expects: only here may a question be sampling or roots.
//! * `tasks` — those whose calls become tasks.
//! * `tool` — a fixture as a tool, and as a prompt.

mod programs;
mod tasks;
mod tool;
mod wire;

use std::sync::Arc;

use ptc_mcp::json::Value;
use ptc_server::protocol::tool::{Annotations, Definition};
use ptc_server::tools::extensions::{Extensions, ProgramTool};

use self::programs::FIXTURES;
use self::tool::FixtureTool;

fn main() -> std::process::ExitCode {
    ptc_host::child::guard::init();
    let mut tools = fixtures(false);
    tools.extend(tasks::tools());
    ptc_server::cli::main_with(Extensions { tools, prompts: fixtures(true) })
}

fn fixtures(prompts: bool) -> Vec<Arc<dyn ProgramTool>> {
    let fixtures = FIXTURES.iter().filter(|fixture| fixture.is_prompt == prompts);
    fixtures.map(|fixture| Arc::new(FixtureTool(fixture)) as Arc<dyn ProgramTool>).collect()
}

/// How a fixture with these arguments is listed.
fn definition(name: &'static str, input_schema: &Value) -> Definition {
    Definition {
        name: name.into(),
        title: Some(name.into()),
        description: "A fixture of the official conformance suite.".to_owned(),
        input_schema: input_schema.to_string(),
        output_schema: None,
        annotations: Some(
            Annotations { read_only: true, destructive: false, idempotent: true, open_world: false }
                .to_json(),
        ),
        meta: None,
        long: None,
    }
}
