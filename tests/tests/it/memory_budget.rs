//! The memory that all programs of a process share (ruling 25).

use ptc_host::aggregator::{Aggregator, AggregatorLimits, AggregatorOptions, SnapshotMode};
use ptc_host::config::{LoadOptions, ProcessEnv, UpstreamsConfig};
use ptc_host::engine::{
    AppTools, Engine, EngineOptions, EvalOutcome, EvalRequest, Limits, MemoryBudget, SessionLimits,
    SessionReport, SessionRules,
};
use ptc_mcp::json::json;
use ptc_test_support::wait_until_async;
use ptc_vm::machine::{Payload, Reply};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

const BUDGET: u64 = 4 << 20;

fn engine() -> (Engine, MemoryBudget) {
    let memory = MemoryBudget::new(BUDGET);
    let options = EngineOptions { threads: 2, memory: Some(memory.clone()), ..EngineOptions::default() };
    (Engine::start(options).expect("threads"), memory)
}

fn request(program: &str) -> EvalRequest {
    let mut request = EvalRequest::new(program);
    request.limits = Limits { timeout: Duration::from_secs(60), ..Limits::aggregator() };
    request
}

fn text(outcome: &EvalOutcome) -> &str {
    match &outcome.result {
        Ok(answer) => &answer.text,
        Err(failure) => &failure.message,
    }
}

const EXHAUSTED: &str = "the server's memory budget is exhausted";

/// Bytes that are taken, besides what programs have left in the caches.
fn held(engine: &Engine, memory: &MemoryBudget) -> u64 {
    let cached = engine.cached();
    memory.used().saturating_sub(cached.program_bytes + cached.pattern_bytes)
}

/// Waits until all that was reserved has been released but for `left` bytes, and what programs leave in the caches.
async fn settles(engine: &Engine, memory: &MemoryBudget, left: u64) {
    wait_until_async("nothing else is taken", async || held(engine, memory) == left).await;
}

#[tokio::test]
async fn a_program_that_grows_beyond_the_budget_fails_and_gives_back() {
    let (engine, memory) = engine();
    // Its own limit is 100 MiB; a vector of a million integers needs 16 MB.
    for program in [
        "(count (vec (map inc (range 1000000))))",
        "(count (clojure.string/join (repeat 1000000 \"abcdefgh\")))",
    ] {
        assert_eq!(text(&engine.eval(request(program)).await), EXHAUSTED, "{program}");
        settles(&engine, &memory, 0).await;
    }
    let branches = "(pmap (fn [n] (count (vec (map inc (range 1000000))))) [1 2])";
    assert_eq!(text(&engine.eval(request(branches)).await), EXHAUSTED);
    assert_eq!(text(&engine.eval(request("(count (vec (map inc (range 1000))))")).await), "1000");
    settles(&engine, &memory, 0).await;
}

#[tokio::test]
async fn a_waiting_program_keeps_its_share_until_it_is_dropped() {
    let (engine, memory) = engine();
    let fake = env!("CARGO_BIN_EXE_fake-upstream");
    let config = json!({"upstreams": {"fake": {"transport": "mcp_stdio", "command": fake}}});
    let env = ProcessEnv::current();
    let config =
        UpstreamsConfig::from_value(&config, &LoadOptions { env: &env, base_dir: None, own_exe: None });
    let limits = AggregatorLimits { call_timeout: Duration::from_secs(60), ..AggregatorLimits::default() };
    let options = AggregatorOptions { limits, ..AggregatorOptions::new(SnapshotMode::Frozen) };
    let aggregator =
        Aggregator::start(config.expect("a right file"), options).await.expect("the fake starts");
    let with_upstreams = |program: &str| {
        let mut request = request(program);
        request.upstreams = Some(aggregator.clone());
        request
    };
    let waiting = "(let [v (vec (map inc (range 150000)))]
                     (tool/here) (tool/call {:server \"fake\" :tool \"hang\"}) (count v))";
    let here = Arc::new(Here::default());
    let waiting = EvalRequest { tools: Some(here.clone()), ..with_upstreams(waiting) };
    let waiting = tokio::spawn(engine.eval(waiting));
    // What making the vector needed besides has been given back.
    here.0.notified().await;
    assert!(memory.used() >= 2_400_000, "only {} bytes are taken", memory.used());
    let same = "(count (vec (map inc (range 150000))))";
    assert_eq!(text(&engine.eval(request(same)).await), EXHAUSTED, "the other one holds more than half");
    // A reply that there is no room for ends the program that asked for it, and no other.
    let bulk = "(:reason (tool/call {:server \"fake\" :tool \"bulk\" :args {:bytes 1900000}}))";
    assert_eq!(text(&engine.eval(with_upstreams(bulk)).await), EXHAUSTED);
    assert!(!waiting.is_finished());
    waiting.abort();
    settles(&engine, &memory, 0).await;
    assert_eq!(text(&engine.eval(request(same)).await), "150000");
    let bulk = "(count (:value (tool/call {:server \"fake\" :tool \"bulk\" :args {:bytes 1500000}})))";
    assert_eq!(text(&engine.eval(with_upstreams(bulk)).await), "1500000");
    settles(&engine, &memory, 0).await;
    aggregator.shutdown().await;
}

/// The tool `tool/here`, by which a program tells how far it has come.
#[derive(Default)]
struct Here(Notify);

impl AppTools for Here {
    fn names(&self) -> Vec<String> {
        vec!["here".to_owned()]
    }

    fn call(&self, _: &str, _: Vec<u8>) -> Pin<Box<dyn Future<Output = Reply> + Send>> {
        self.0.notify_one();
        Box::pin(async { Reply::Value(Payload::None) })
    }
}

#[tokio::test]
async fn what_a_program_is_given_counts() {
    let (engine, memory) = engine();
    let given = |rows: usize| {
        let mut request = request("(count (:rows data/in))");
        let rows: Vec<_> = (0..rows).map(|n| json!({"id": n, "name": "somebody"})).collect();
        request.context = Some(json!({"in": {"rows": rows}}).to_string().into());
        request
    };
    assert_eq!(text(&engine.eval(given(1000)).await), "1000");
    settles(&engine, &memory, 0).await;
    // A megabyte of text becomes values that need several times as much.
    assert_eq!(text(&engine.eval(given(60_000)).await), EXHAUSTED);
    settles(&engine, &memory, 0).await;
}

struct Rules;

impl SessionRules for Rules {
    fn limits(&self) -> SessionLimits {
        SessionLimits {
            bindings: 100,
            memory_bytes: 10 << 20,
            binding_bytes: 10 << 20,
            history_entry_bytes: 1 << 20,
        }
    }

    fn commit(&self, _: &SessionReport, _: &[String], _: &[ptc_host::engine::CallRecord]) -> bool {
        true
    }
}

struct Journaling;

impl SessionRules for Journaling {
    fn limits(&self) -> SessionLimits {
        Rules.limits()
    }

    fn commit(&self, _: &SessionReport, _: &[String], _: &[ptc_host::engine::CallRecord]) -> bool {
        true
    }

    fn keeps_journal(&self) -> bool {
        true
    }
}

#[tokio::test]
async fn what_tasks_store_counts() {
    let (engine, memory) = engine();
    let run = |program: &str| {
        let mut request = request(program);
        request.session = Some(Arc::from("a"));
        request.session_rules = Some(Arc::new(Journaling));
        engine.eval(request)
    };
    let store =
        |id: &str| format!("(count (task \"{id}\" (clojure.string/join (repeat 150000 \"abcdefgh\"))))");
    for tasks in [1, 2] {
        assert_eq!(text(&run(&store(&tasks.to_string())).await), "1200000");
        let kept = held(&engine, &memory);
        assert!((tasks * 1_200_000..tasks * 1_200_000 + 1000).contains(&kept), "{kept} of {tasks}");
    }
    assert_eq!(text(&run(&store("3")).await), EXHAUSTED);
    // Stored values are there still, and what is reset comes back.
    assert_eq!(text(&run("(count (task \"2\" \"another\"))").await), "1200000");
    run("(task-reset \"1\")").await.result.expect("nothing is needed for that");
    assert!((1_200_000..1_201_000).contains(&held(&engine, &memory)), "{}", held(&engine, &memory));
    engine.with_sessions("a", |sessions| sessions.close("a")).await;
    settles(&engine, &memory, 0).await;
}

#[tokio::test]
async fn what_sessions_keep_counts() {
    let (engine, memory) = engine();
    let in_session = |key: &str, program: &str| {
        let mut request = request(program);
        request.session = Some(Arc::from(key));
        request.session_rules = Some(Arc::new(Rules));
        request
    };
    let keep = "(def text (clojure.string/join (repeat 150000 \"abcdefgh\")))";
    engine.eval(in_session("a", keep)).await.result.expect("there is room");
    let kept = held(&engine, &memory);
    assert!((1_200_000..1_300_000).contains(&kept), "{kept}");
    engine.eval(in_session("b", keep)).await.result.expect("there is room for a second one");
    let refused = engine.eval(in_session("c", keep)).await;
    assert_eq!(text(&refused), EXHAUSTED);
    settles(&engine, &memory, 2 * kept).await;
    assert_eq!(
        text(&engine.eval(in_session("a", "(count text)")).await),
        "1200000",
        "others are not touched"
    );
    engine.with_sessions("a", |sessions| sessions.close("a")).await;
    settles(&engine, &memory, kept).await;
    let forget = engine.with_sessions("b", |sessions| {
        let place = sessions.get("b").expect("a session");
        place.borrow_mut().state_mut().is_some_and(|state| state.forget("text"))
    });
    assert_eq!(forget.await, Some(true));
    assert!(held(&engine, &memory) < 100, "what is left of an empty session");
    engine.with_sessions("b", |sessions| sessions.close("b")).await;
    settles(&engine, &memory, 0).await;

    // Results are remembered, the last three of them, until they are pushed out.
    let large = "(clojure.string/join (repeat 40000 \"abcdefgh\"))";
    for results in [1, 2, 3, 3] {
        engine.eval(in_session("d", large)).await.result.expect("there is room");
        let kept = held(&engine, &memory);
        assert!((results * 320_000..results * 320_000 + 100).contains(&kept), "{kept} of {results}");
    }
    assert_eq!(text(&engine.eval(in_session("d", "(fail (count *3))")).await), "320000");
    assert!(held(&engine, &memory) >= 960_000, "a failed program leaves them");
    for _ in 0..3 {
        engine.eval(in_session("d", "1")).await.result.expect("there is room");
    }
    assert!(held(&engine, &memory) < 100, "{} bytes for three small results", held(&engine, &memory));
    engine.with_sessions("d", |sessions| sessions.close("d")).await;
    settles(&engine, &memory, 0).await;
}
