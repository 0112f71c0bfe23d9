//! Runs every example of `docs/guide/language.md` and of the specification. A `clojure` block is a session; in it, lines of
//! program up to a `;=>` line are one example. `;=> !reason` expects an error, with its message if one follows; `;>>` lines
//! expect prints.

use ptc_host::engine::{Desk, Engine, EngineOptions, EvalRequest, HostCalls, RunContext};
use ptc_vm::machine::{HostRequest, Payload, Reply};
use std::fmt::Write as _;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

/// The server of the page: `store/get` knows the items with ids from 0 on.
struct Store;

impl HostCalls for Store {
    fn answer(
        self: Arc<Self>,
        _: Rc<RunContext>,
        request: HostRequest,
        _: Desk,
    ) -> Pin<Box<dyn Future<Output = Reply>>> {
        let call = match request {
            HostRequest::Upstream(call) => call,
            // Nothing is found but what the machine knows by itself.
            HostRequest::Discovery { arguments, .. } => {
                let arguments: ptc_mcp::json::Value = serde_json::from_slice(&arguments).expect("JSON");
                let local = arguments[2].to_string();
                return Box::pin(std::future::ready(Reply::Value(Payload::Json(local.into()))));
            }
            HostRequest::Tool { .. }
            | HostRequest::Feature(_)
            | HostRequest::Ask { .. }
            | HostRequest::Sleep { .. } => {
                unreachable!("no program calls one")
            }
        };
        let arguments = call.arguments.expect("a map with JSON values");
        let arguments: ptc_mcp::json::Value = serde_json::from_slice(&arguments.json).expect("JSON");
        let id = arguments["id"].as_i64().expect("an id");
        Box::pin(std::future::ready(if id < 0 {
            Reply::fault("tool_error", format!("no item {id}"))
        } else {
            let item = ptc_mcp::json::json!({"id": id, "name": format!("item {id}"), "price": id * 10});
            Reply::success(Payload::Json(item.to_string().into()))
        }))
    }
}

/// A program of the page and what the page says of it.
#[derive(Default)]
struct Example {
    line: usize,
    program: String,
    prints: Vec<String>,
    value: String,
}

/// The blocks of a page in one language: each its first line's number and its lines.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<Vec<(usize, &'a str)>> {
    let fence = format!("```{language}");
    let mut found: Vec<Vec<(usize, &str)>> = Vec::new();
    let mut inside = false;
    for (at, line) in page.lines().enumerate() {
        if line == fence {
            inside = true;
            found.push(Vec::new());
        } else if line.starts_with("```") {
            inside = false;
        } else if inside {
            found.last_mut().expect("opened").push((at + 1, line));
        }
    }
    found
}

fn examples(block: &[(usize, &str)]) -> Vec<Example> {
    let mut found = Vec::new();
    let mut now = Example::default();
    for (at, line) in block {
        if let Some(value) = line.strip_prefix(";=> ") {
            now.value = value.to_owned();
            found.push(std::mem::take(&mut now));
        } else if let Some(print) = line.strip_prefix(";>> ") {
            now.prints.push(print.to_owned());
        } else {
            if now.program.is_empty() {
                now.line = *at;
            }
            now.program.push_str(line);
            now.program.push('\n');
        }
    }
    assert!(now.program.is_empty(), "line {}: a program without its value", now.line);
    found
}

/// Runs a page's examples; how many there were, and what is wrong.
async fn run(engine: &Engine, name: &str, page: &str, context: Option<Arc<str>>) -> (usize, String) {
    let (mut count, mut faults) = (0, String::new());
    for (number, block) in blocks(page, "clojure").iter().enumerate() {
        for example in examples(block) {
            count += 1;
            let mut request = EvalRequest::new(example.program.as_str());
            request.session = Some(format!("{name}-{number}").into());
            request.context = context.clone();
            request.upstreams = Some(Arc::new(Store));
            request.limits.timeout = std::time::Duration::from_secs(60);
            request.limits.steps = 2_000_000;
            let outcome = engine.eval(request).await;
            let found = match outcome.result {
                Ok(answer) => answer.text,
                Err(failure) if example.value == format!("!{}", failure.reason.as_str()) => {
                    example.value.clone()
                }
                Err(failure) => format!("!{} {}", failure.reason.as_str(), failure.message),
            };
            if found != example.value || outcome.prints != example.prints {
                let program = example.program.trim_end();
                let _ = writeln!(
                    faults,
                    "docs/{name}:{}: {program}\n  gives {found}\n  not   {}",
                    example.line, example.value
                );
                let _ = writeln!(faults, "  prints {:?}, expected {:?}", outcome.prints, example.prints);
            }
        }
    }
    (count, faults)
}

#[tokio::test]
async fn every_example_of_the_language_page_is_true() {
    let page = include_str!("../../../docs/guide/language.md");
    let context: String = blocks(page, "json")[0].iter().map(|(_, line)| *line).collect();
    let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).expect("threads");
    let (count, faults) = run(&engine, "language.md", page, Some(context.into())).await;
    assert!(faults.is_empty(), "\n{faults}");
    assert!(count > 100, "only {count} examples");
}

/// The examples of a page of the specification: `` `program => value` `` in its text and tables, and the lines
/// `program ⇒ value` of its test vectors. What needs tools or granted data is left out, unless it shall fail.
fn spec_examples(page: &str) -> Vec<(usize, String, String)> {
    let mut found = Vec::new();
    for (at, line) in page.lines().enumerate() {
        let spans = line.split('`').skip(1).step_by(2).filter_map(|code| code.split_once(" => "));
        let vector = line.rsplit_once(" ⇒ ").filter(|_| !line.contains('`') || line.starts_with('('));
        for (program, value) in spans.chain(vector) {
            let [program, value] = [program, value].map(|text| text.replace("\\|", "|"));
            let alone = !program.contains("tool/") && !program.contains("data/") || value.starts_with('!');
            if alone && program != "expr" {
                found.push((at + 1, program, value));
            }
        }
    }
    found
}

#[tokio::test]
async fn every_example_of_the_specification_is_true() {
    let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).expect("threads");
    let mut faults = String::new();
    for (name, page, least) in [
        ("language.md", include_str!("../../../docs/spec/language.md"), 120),
        ("functions.md", include_str!("../../../docs/spec/functions.md"), 450),
    ] {
        let examples = spec_examples(page);
        assert!(examples.len() > least, "docs/spec/{name}: only {} examples", examples.len());
        for (line, program, value) in examples {
            let found = match engine.eval(EvalRequest::new(program.as_str())).await.result {
                Ok(answer) => answer.text,
                Err(failure) if value == format!("!{}", failure.reason.as_str()) => value.clone(),
                Err(failure) => format!("!{} {}", failure.reason.as_str(), failure.message),
            };
            if found != value {
                let _ =
                    writeln!(faults, "docs/spec/{name}:{line}: {program}\n  gives {found}\n  not   {value}");
            }
        }
    }
    assert!(faults.is_empty(), "\n{faults}");
}
