//! What a run writes to the log at INFO, where previews withhold rows from the model.
//!
//! In a process of its own, which is this binary run for the one test: programs call tools on the engine's threads, so that only a
//! subscriber of the whole process sees everything.

use ptc_agent::agent::{Agent, Output, Transport};
use ptc_agent::llm::{LlmResponse, ScriptedLlm, ToolCall};
use ptc_agent::run::RunOptions;
use ptc_agent::tool::{Expose, JsonMap, NativeResult, ToolSpec};
use ptc_host::engine::{Engine, EngineOptions};
use ptc_host::json::{Value as Json, json};
use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// Writes every event of this crate down, with its level.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<(Level, String)>>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = write!(self.0, "{field}={value:?} ");
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("ptc_runner")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        self.0.lock().unwrap().push((*event.metadata().level(), line.0));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Tells the test that it is in its own process.
const ALONE: &str = "PTC_TEST_QUIET_LOGS";

#[test]
fn rows_are_logged_at_debug_only() {
    if std::env::var_os(ALONE).is_some() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        return runtime.block_on(check());
    }
    let mut own = std::process::Command::new(std::env::current_exe().unwrap());
    let child =
        own.args(["--exact", "quiet_logs::rows_are_logged_at_debug_only"]).env(ALONE, "1").output().unwrap();
    let told = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && told.contains("1 passed"), "{told}");
}

async fn check() {
    let log = Log::default();
    tracing::subscriber::set_global_default(log.clone()).unwrap();
    let rows = ToolSpec::new(|args: JsonMap| async move {
        match args.contains_key("fail") {
            true => Err("no row for ROW-SECRET".to_owned()),
            false => Ok(json!([{"name": "ROW-SECRET"}])),
        }
    });
    let save = ToolSpec::new(|_: JsonMap| async { Ok::<_, String>(Json::Null) });
    let broken = ToolSpec::new(|_: JsonMap| async { Ok::<_, String>(json!([1])) })
        .expose(Expose::Both)
        .cache(true)
        .native_result(NativeResult::Custom(Arc::new(|_: &Json| Ok(json!([])))));
    let agent = Agent::builder("p")
        .output(Output::Text)
        .transport(Transport::ToolCall)
        .tool("broken", broken)
        .tool("rows", rows.expose(Expose::Both).cache(true))
        .tool("save", save.expose(Expose::PtcLisp))
        .max_turns(9)
        .build()
        .unwrap();
    let call = |id: &str, name: &str, arguments: Json| {
        LlmResponse::calls(vec![ToolCall::from_text(Some(id.into()), name, &arguments.to_string())])
    };
    let program = "(def rows (tool/rows {})) (println rows) (tool/save {:rows rows}) rows";
    let llm = Arc::new(ScriptedLlm::new([
        call("a", "rows", json!({})),
        call("b", "lisp_eval", json!({"program": program})),
        call("c", "lisp_eval", json!({"program": "(+ 1 (get (first (tool/rows {})) \"name\"))"})),
        call("d", "rows", json!({"fail": 1})),
        call("e", "broken", json!({})),
        LlmResponse::text("The first is ROW-SECRET."),
    ]));
    let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap();
    agent.run(RunOptions::new(llm).with_engine(engine)).await.unwrap();
    let log = log.0.lock().unwrap();
    let told = |level: Level| log.iter().filter(move |(at, _)| *at == level).map(|(_, line)| line.as_str());
    for line in told(Level::INFO) {
        assert!(!line.contains("ROW-SECRET"), "{line}");
    }
    let warned: Vec<&str> = told(Level::WARN).collect();
    assert!(
        matches!(warned.as_slice(), [one] if one.contains(
            "[ptc_runner] custom native_result preview for tool \"broken\" fell back to metadata: category=non_map"
        )),
        "{warned:?}"
    );
    // What is left at INFO still says what happened, and the rest is there for who asks.
    let info: Vec<&str> = told(Level::INFO).collect();
    assert!(
        info.iter().any(|line| line.contains("tool.stop") && line.contains("\"result_bytes\":23")),
        "{info:?}"
    );
    assert!(
        info.iter().any(|line| line.contains("tool.call") && line.contains("exposure_layer=\"ptc_lisp\""))
    );
    assert!(told(Level::DEBUG).any(|line| line.contains("tool.stop") && line.contains("ROW-SECRET")));
}
