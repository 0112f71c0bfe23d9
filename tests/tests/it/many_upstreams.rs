//! Many upstreams at once, with the default limits: all are started together, and one program calls them all.

use std::collections::BTreeSet;

use ptc_host::aggregator::{Aggregator, AggregatorOptions, SnapshotMode};
use ptc_host::config::{LoadOptions, ProcessEnv, UpstreamsConfig};
use ptc_host::engine::{Engine, EngineOptions, EvalRequest, Limits};
use ptc_mcp::json::{Map, Value, json};

const SERVERS: usize = 24;

/// A start, and one program that calls each of them once.
async fn all_of_them(mode: SnapshotMode) {
    let names: BTreeSet<String> = (0..SERVERS).map(|n| format!("s{n:02}")).collect();
    let entry = json!({"transport": "mcp_stdio", "command": env!("CARGO_BIN_EXE_fake-upstream")});
    let entries: Map = names.iter().map(|name| (name.clone(), entry.clone())).collect();
    let env = ProcessEnv::current();
    let load = LoadOptions { env: &env, base_dir: None, own_exe: None };
    let config = UpstreamsConfig::from_value(&json!({"upstreams": entries}), &load).expect("a right file");
    let aggregator = Aggregator::start(config, AggregatorOptions::new(mode)).await.expect("all start");
    if mode == SnapshotMode::Frozen {
        let catalog = aggregator.unfiltered().catalog();
        let up =
            names.iter().filter(|name| catalog.server(name).is_some_and(|server| !server.tools().is_empty()));
        assert_eq!(up.count(), SERVERS);
    }
    let engine = Engine::start(EngineOptions { threads: 2, ..EngineOptions::default() }).expect("threads");
    let servers = Value::from(names.iter().cloned().collect::<Vec<_>>());
    let mut request = EvalRequest::new(format!(
        "(frequencies (map (fn [[server call]] (if (:ok call) (= server (:who (:value call))) (:message call)))
           (pmap (fn [s] [s (tool/call {{:server s :tool \"echo\" :args {{:who s}}}})]) {servers})))"
    ));
    request.limits = Limits::aggregator();
    // The time is the program's, and of a start in live mode: a machine that does much else is slow to start 24 programs.
    request.limits.timeout = std::time::Duration::from_secs(60);
    request.upstreams = Some(aggregator.clone());
    let outcome = engine.eval(request).await;
    let text = outcome.result.map_or_else(|failure| failure.full_message(), |answer| answer.text);
    assert_eq!(text, format!("{{true {SERVERS}}}"));
    aggregator.shutdown().await;
}

#[tokio::test]
async fn twenty_four_servers_start_at_once() {
    all_of_them(SnapshotMode::Frozen).await;
}

#[tokio::test]
async fn twenty_four_servers_start_at_their_first_calls() {
    all_of_them(SnapshotMode::Live).await;
}
