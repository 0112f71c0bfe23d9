//! What a program costs that waits for an upstream: counted by the allocator, for a thousand of them in one process. The only test here:
//! an engine frees on its own threads, also after the test that had it, and the allocator counts for all threads.

use ptc_host::aggregator::{Aggregator, AggregatorOptions, SnapshotMode};
use ptc_host::config::{LoadOptions, ProcessEnv, UpstreamsConfig};
use ptc_host::engine::{Engine, EngineOptions, EvalRequest, Limits};
use ptc_mcp::json::json;
use ptc_test_support::wait_until_async;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const PROGRAMS: usize = 1000;

/// Most bytes that a waiting program may cost, its call's bookkeeping included.
const MOST_BYTES: usize = 20 * 1024;

#[tokio::test]
async fn a_thousand_waiting_programs_cost_less_than_20_kib_each() {
    let config = json!({"upstreams": {"fake": {"transport": "mcp_stdio", "max_concurrency": 4096,
        "command": env!("CARGO_BIN_EXE_fake-upstream")}}});
    let options = LoadOptions { env: &ProcessEnv::current(), base_dir: None, own_exe: None };
    let config = UpstreamsConfig::from_value(&config, &options).expect("a right file");
    let aggregator = Aggregator::start(config, AggregatorOptions::new(SnapshotMode::Frozen));
    let aggregator = aggregator.await.expect("the fake starts");
    let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).expect("threads");
    let mut request = EvalRequest::new("(let [r (tool/call {:server \"fake\" :tool \"hang\"})] (:value r))");
    request.limits = Limits { timeout: Duration::from_secs(300), ..Limits::aggregator() };
    request.upstreams = Some(aggregator.clone());
    let (_, handle) = aggregator.unfiltered().upstreams().next().expect("one upstream");

    let region = Region::new(ALLOCATOR);
    let evals: Vec<_> = (0..PROGRAMS).map(|_| tokio::spawn(engine.eval(request.clone()))).collect();
    wait_until_async("all calls are in flight", async || handle.health().in_flight >= PROGRAMS).await;
    let stats = region.change();
    let each = (stats.bytes_allocated - stats.bytes_deallocated) / PROGRAMS;
    println!("{each} bytes for each waiting program");
    assert!(each < MOST_BYTES, "{each} bytes for each waiting program");
    for eval in evals {
        eval.abort();
    }
    aggregator.shutdown().await;
}
