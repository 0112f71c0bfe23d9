//! Upstreams whose tools change while the catalog is frozen (ruling 59): calls are checked against what they list by now,
//! and `doc` says what has changed.

use ptc_host::aggregator::{Aggregator, AggregatorOptions, SnapshotMode};
use ptc_host::config::{LoadOptions, ProcessEnv, UpstreamsConfig};
use ptc_host::engine::{Engine, EngineOptions, EvalRequest, Limits};
use ptc_host::time::Clock;
use ptc_host::upstream::Phase;
use ptc_mcp::json::json;
use ptc_test_support::wait_until_async;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How long an upstream that died rests.
const BACKOFF: Duration = Duration::from_secs(60);

struct World {
    engine: Engine,
    aggregator: Arc<Aggregator>,
    /// The fake has grown once this is there.
    grown: PathBuf,
    _folder: tempfile::TempDir,
}

impl World {
    async fn new(mode: SnapshotMode) -> World {
        let folder = tempfile::tempdir().expect("a folder");
        let grown = folder.path().join("grown");
        let fake = env!("CARGO_BIN_EXE_fake-upstream");
        let entry = json!({"transport": "mcp_stdio", "command": fake, "args": [grown.to_str()],
                           "backoff_initial_ms": BACKOFF.as_millis() as u64, "backoff_max_ms": BACKOFF.as_millis() as u64});
        let env = ProcessEnv::current();
        let load = LoadOptions { env: &env, base_dir: None, own_exe: None };
        let config = UpstreamsConfig::from_value(&json!({"upstreams": {"fake": entry}}), &load);
        let started = Aggregator::start(config.expect("a right file"), AggregatorOptions::new(mode)).await;
        let aggregator = started.expect("the fake starts");
        let engine =
            Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).expect("threads");
        World { engine, aggregator, grown, _folder: folder }
    }

    fn grow(&self) {
        std::fs::write(&self.grown, "").expect("a file");
    }

    async fn eval(&self, program: &str) -> String {
        let mut request = EvalRequest::new(program);
        request.limits = Limits { timeout: Duration::from_secs(60), ..Limits::aggregator() };
        request.upstreams = Some(self.aggregator.clone());
        match self.engine.eval(request).await.result {
            Ok(answer) => answer.text.to_string(),
            Err(failure) => failure.message.to_string(),
        }
    }

    /// What the grown fake must allow and refuse.
    async fn is_grown(&self, how: &str) {
        let fresh = self.eval(r#"(:ok (tool/call {:server "fake" :tool "fresh"}))"#).await;
        assert_eq!(fresh, "true", "{how}: a tool that the snapshot lacks");
        let refused = self.eval(r#"(tool/call {:server "fake" :tool "echo" :args {:x 1}})"#).await;
        assert!(refused.contains("rejected args: missing required args y"), "{how}: {refused}");
        let right = self.eval(r#"(:value (tool/call {:server "fake" :tool "echo" :args {:y "1"}}))"#).await;
        assert_eq!(right, r#"{"y" "1"}"#, "{how}");
    }
}

const ANNOUNCE: &str = r#"(tool/call {:server "fake" :tool "announce"})"#;

#[tokio::test]
async fn an_announced_change_counts_for_calls_in_every_mode() {
    for mode in [SnapshotMode::Frozen, SnapshotMode::Live] {
        let world = World::new(mode).await;
        assert_eq!(
            world.eval(r#"(:ok (tool/call {:server "fake" :tool "echo" :args {:x 1}}))"#).await,
            "true"
        );
        world.grow();
        // The very program that hears of the change may use it.
        let program = format!(r#"(do {ANNOUNCE} (:ok (tool/call {{:server "fake" :tool "fresh"}})))"#);
        assert_eq!(world.eval(&program).await, "true", "{mode:?}");
        world.is_grown(&format!("{mode:?}")).await;
        world.aggregator.shutdown().await;
    }
}

#[tokio::test]
async fn a_restart_with_another_list_counts_for_calls() {
    let clock = Clock::stepped();
    let _entered = clock.enter();
    let world = World::new(SnapshotMode::Frozen).await;
    world.grow();
    // Nobody has been told: the snapshot stands, and what the upstream makes of the call is its own affair.
    assert!(world.eval(r#"(tool/call {:server "fake" :tool "fresh"})"#).await.contains("no tool 'fresh'"));
    let died = world.eval(r#"(:reason (tool/call {:server "fake" :tool "die"}))"#).await;
    assert_eq!(died, ":upstream_unavailable");
    let (_, upstream) = world.aggregator.unfiltered().upstreams().next().expect("the fake");
    wait_until_async("it has died", async || upstream.health().phase != Phase::Started).await;
    clock.advance(BACKOFF);
    world.is_grown("restarted").await;
    world.aggregator.shutdown().await;
}

#[tokio::test]
async fn doc_says_what_changed_and_lists_stay_as_they_were() {
    let world = World::new(SnapshotMode::Frozen).await;
    let frozen = world.eval(r#"(doc "fake/echo")"#).await;
    assert!(!frozen.contains("changed since start"), "{frozen}");
    let listed = world.eval(r#"(dir "fake")"#).await;
    world.grow();
    world.eval(ANNOUNCE).await;
    let doc = world.eval(r#"(doc "fake/echo")"#).await;
    assert!(doc.contains("Args: "), "{doc}");
    assert!(doc.ends_with(r#"\nchanged since start: echo {y}""#), "{doc}");
    let doc = world.eval(r#"(doc "fake/fresh")"#).await;
    assert!(doc.contains("changed since start: the upstream lists this tool now"), "{doc}");
    assert_eq!(world.eval(r#"(dir "fake")"#).await, listed, "the snapshot is frozen");
    let unchanged = world.eval(r#"(doc "fake/gather")"#).await;
    assert!(!unchanged.contains("changed since start"), "{unchanged}");
    std::fs::remove_file(&world.grown).expect("a file");
    world.eval(ANNOUNCE).await;
    let back = world.eval(r#"(doc "fake/echo")"#).await;
    assert!(!back.contains("changed since start"), "it is again what it was: {back}");
    world.aggregator.shutdown().await;
}
