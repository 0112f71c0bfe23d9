//! Calls that a person has to allow (waiting.md 3.3).

use std::sync::Arc;
use std::time::Duration;

use ptc_host::aggregator::{Aggregator, AggregatorLimits, AggregatorOptions, SnapshotMode};
use ptc_host::config::{LoadOptions, ProcessEnv, UpstreamsConfig};
use ptc_host::engine::{CallStatus, Engine, EngineOptions, EvalOutcome, EvalRequest, HostCalls, Limits};
use ptc_mcp::json::{Value, json};

struct World {
    engine: Engine,
    aggregator: Arc<Aggregator>,
}

impl World {
    /// The fake tool server with these keys in its entry.
    async fn new(keys: Value) -> World {
        let mut entry = json!({"transport": "mcp_stdio", "command": env!("CARGO_BIN_EXE_fake-upstream")});
        for (key, value) in keys.as_object().expect("keys") {
            entry[key.as_str()] = value.clone();
        }
        let env = ProcessEnv::current();
        let load = LoadOptions { env: &env, base_dir: None, own_exe: None };
        let config =
            UpstreamsConfig::from_value(&json!({"upstreams": {"fake": entry}}), &load).expect("a right file");
        let limits = AggregatorLimits { max_calls: 3, ..AggregatorLimits::default() };
        let options = AggregatorOptions { limits, ..AggregatorOptions::new(SnapshotMode::Live) };
        World {
            engine: Engine::start(EngineOptions { threads: 2, memory: None }).expect("threads"),
            aggregator: Aggregator::start(config, options).await.expect("the fake starts"),
        }
    }

    fn request(&self, program: &str) -> EvalRequest {
        let mut request = EvalRequest::new(program);
        request.limits = Limits { timeout: Duration::from_secs(60), ..Limits::aggregator() };
        request.upstreams = Some(Arc::new(self.aggregator.clone()) as Arc<dyn HostCalls>);
        request
    }

    async fn eval(&self, program: &str) -> EvalOutcome {
        self.engine.eval(self.request(program)).await
    }
}

fn text(outcome: &EvalOutcome) -> &str {
    match &outcome.result {
        Ok(answer) => &answer.text,
        Err(failure) => &failure.message,
    }
}

#[tokio::test]
async fn where_nobody_can_be_asked_no_call_that_needs_an_approval_is_sent() {
    // Live: the first call is made before the tools of the server are known.
    let world = World::new(json!({"approve": "writes"})).await;
    let call = |tool: &str| format!("(tool/call {{:server \"fake\" :tool \"{tool}\" :args {{}}}})");
    // `hang` would never answer, `die` would end the server.
    let (hang, die) = (call("hang"), call("die"));
    let program = format!(
        "[(map :reason [{hang} {die}]) (map :reason (pmap (fn [_] {hang}) (range 6))) (:message {die})]"
    );
    let outcome = world.eval(&program).await;
    assert_eq!(
        text(&outcome),
        "[[:unanswerable :unanswerable] [:unanswerable :unanswerable :unanswerable :unanswerable :unanswerable :unanswerable] \
         \"nobody can be asked here\"]",
        "and none of the nine took a number of the cap of three"
    );
    assert_eq!(outcome.upstream_calls.len(), 9);
    for call in &outcome.upstream_calls {
        assert_eq!(
            (call.status, call.reason.as_deref(), call.duration_ms),
            (CallStatus::Error, Some("unanswerable"), 0)
        );
    }
}

#[tokio::test]
async fn named_tools_alone_are_asked_for() {
    let world = World::new(json!({"approve_tools": ["ha*"]})).await;
    let outcome = world
        .eval(
            "[(:reason (tool/call {:server \"fake\" :tool \"hang\" :args {}})) \
              (:ok (tool/call {:server \"fake\" :tool \"echo\" :args {:y \"a\"}}))]",
        )
        .await;
    assert_eq!(text(&outcome), "[:unanswerable true]");
}
