//! Programs that call a real child process: many calls at once, faults as data, waiting at little cost.

use ptc_host::aggregator::{Aggregator, AggregatorLimits, AggregatorOptions, SnapshotMode, notes};
use ptc_host::config::{LoadOptions, ProcessEnv, UpstreamsConfig};
use ptc_host::engine::{CallStatus, Engine, EngineOptions, EvalOutcome, EvalRequest, Limits};
use ptc_host::time::Clock;
use ptc_host::upstream::Phase;
use ptc_mcp::json::json;
use ptc_test_support::wait_until_async;
use std::sync::Arc;
use std::time::Duration;

struct World {
    engine: Engine,
    aggregator: Arc<Aggregator>,
}

impl World {
    async fn new(limits: AggregatorLimits) -> World {
        World::with(AggregatorOptions { limits, ..AggregatorOptions::new(SnapshotMode::Frozen) }).await
    }

    async fn with(options: AggregatorOptions) -> World {
        let fake = env!("CARGO_BIN_EXE_fake-upstream");
        let config = json!({"upstreams": {"fake": {"transport": "mcp_stdio", "command": fake, "max_concurrency": 4096, "backoff_initial_ms": 60_000}}});
        let env = ProcessEnv::current();
        let load = LoadOptions { env: &env, base_dir: None, own_exe: None };
        let config = UpstreamsConfig::from_value(&config, &load).expect("a right file");
        let aggregator = Aggregator::start(config, options);
        World {
            engine: Engine::start(EngineOptions { threads: 2, ..EngineOptions::default() }).expect("threads"),
            aggregator: aggregator.await.expect("the fake starts"),
        }
    }

    fn request(&self, program: &str) -> EvalRequest {
        let mut request = EvalRequest::new(program);
        request.limits = Limits { timeout: Duration::from_secs(60), ..Limits::aggregator() };
        request.upstreams = Some(self.aggregator.clone());
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
async fn pmap_has_all_its_calls_in_flight_on_one_child() {
    let world = World::new(AggregatorLimits::default()).await;
    // The fake answers only once ten calls wait, and answers the last one first.
    let outcome = world
        .eval("(map (fn [r] (get (:value r) \"i\")) (pmap (fn [i] (tool/call {:server \"fake\" :tool \"gather\" :args {:n 10 :i i}})) (range 10)))")
        .await;
    assert_eq!(text(&outcome), "[0 1 2 3 4 5 6 7 8 9]");
    assert_eq!(outcome.upstream_calls.len(), 10);
    assert!(outcome.upstream_calls.iter().all(|call| call.status == CallStatus::Ok));
    world.aggregator.shutdown().await;
}

#[tokio::test]
async fn calls_suspend_in_the_middle_of_any_function() {
    let world = World::new(AggregatorLimits::default()).await;
    let call = "(fn [x] (get (:value (tool/call {:server \"fake\" :tool \"echo\" :args {:x x}})) \"x\"))";
    for (program, answer) in [
        ("(map f [3 1 2])", "[3 1 2]"),
        ("(reduce (fn [a x] (+ a (f x))) 0 [3 1 2])", "6"),
        ("(sort-by f [3 1 2])", "[1 2 3]"),
        ("(filter (fn [x] (odd? (f x))) [3 1 2])", "[3 1]"),
        ("(group-by f [3 1 3])", "{1 [1] 3 [3 3]}"),
        ("(update {:a 5} :a f)", "{:a 5}"),
        ("(some (fn [x] (when (= 1 (f x)) x)) [3 1 2])", "1"),
        ("(for [x [3 1] y [(f 7)]] [(f x) y])", "[[3 7] [1 7]]"),
        ("(map (fn [x] (pmap f [x x])) [1 2])", "[[1 1] [2 2]]"),
        ("(reduce (fn [acc x] (assoc acc x (pmap f [x]))) {} [1 2])", "{1 [1] 2 [2]}"),
    ] {
        let outcome = world.eval(&format!("(def f {call}) {program}")).await;
        assert_eq!(text(&outcome), answer, "{program}");
    }
    world.aggregator.shutdown().await;
}

#[tokio::test]
async fn faults_of_the_world_are_data_and_faults_of_the_program_end_it() {
    let limits = AggregatorLimits { max_calls: 3, max_response_bytes: 1000, ..AggregatorLimits::default() };
    let world = World::new(limits).await;
    let outcome = world
        .eval("(map :reason (map tool/call [{:server \"fake\" :tool \"bulk\" :args {:bytes 5000}} {:server \"fake\" :tool \"echo\"} {:server \"fake\" :tool \"echo\"} {:server \"fake\" :tool \"echo\"}]))")
        .await;
    assert_eq!(text(&outcome), "[:response_too_large nil nil :cap_exhausted]");
    let outcome = world.eval("(tool/call {:server \"nobody\" :tool \"echo\"})").await;
    assert!(
        text(&outcome).starts_with("runtime_error: no upstream 'nobody' configured"),
        "{}",
        text(&outcome)
    );
    let outcome = world.eval("(tool/call {:server \"fake\" :tool \"absent\"})").await;
    assert!(
        text(&outcome).starts_with("runtime_error: no tool 'absent' in upstream 'fake'"),
        "{}",
        text(&outcome)
    );
    let outcome = world.eval("(:reason (tool/call {:server \"fake\" :tool \"die\"}))").await;
    assert_eq!(text(&outcome), ":upstream_unavailable");
    world.aggregator.shutdown().await;
}

#[tokio::test]
async fn seen_shapes_show_unless_the_operator_hides_them() {
    for (seen_shapes, shown) in [(true, true), (false, false)] {
        let options = AggregatorOptions { seen_shapes, ..AggregatorOptions::new(SnapshotMode::Frozen) };
        let world = World::with(options).await;
        let outcome = world.eval("(tool/call {:server \"fake\" :tool \"echo\" :args {:x 1}})").await;
        assert!(outcome.result.is_ok(), "{}", text(&outcome));
        let outcome = world.eval("(doc \"fake/echo\")").await;
        assert!(text(&outcome).contains("fake/echo"), "{}", text(&outcome));
        assert_eq!(text(&outcome).contains("Seen in its first answer: "), shown, "{}", text(&outcome));
        world.aggregator.shutdown().await;
    }
}

#[tokio::test]
async fn a_tool_is_missing_only_where_its_upstream_says_so() {
    let clock = Clock::stepped();
    let _entered = clock.enter();
    let world = World::new(AggregatorLimits::default()).await;
    let call = |tool: &str| format!("(tool/call {{:server \"fake\" :tool \"{tool}\"}})");
    let outcome = world.eval(&format!("(:reason {})", call("die"))).await;
    assert_eq!(text(&outcome), ":upstream_unavailable");
    let (_, upstream) = world.aggregator.unfiltered().upstreams().next().expect("the fake");
    wait_until_async("the state is reached", async || upstream.health().phase != Phase::Started).await;
    let outcome = world.eval(&format!("(select-keys {} [:reason :message])", call("absent"))).await;
    assert!(text(&outcome).contains(":reason :upstream_unavailable"), "{}", text(&outcome));
    assert!(text(&outcome).contains(":message \"in recovery"), "{}", text(&outcome));
    assert_eq!(outcome.upstream_calls.len(), 1, "it is an attempt like any other");
    // Once it runs again, its list proves that there is no such tool.
    clock.advance(Duration::from_secs(60));
    wait_until_async("it runs again", async || {
        let outcome = world.eval(&call("absent")).await;
        text(&outcome).starts_with("runtime_error: no tool 'absent' in upstream 'fake'")
    })
    .await;
    world.aggregator.shutdown().await;
}

#[tokio::test]
async fn faults_say_whether_their_call_was_sent() {
    let clock = Clock::stepped();
    let _entered = clock.enter();
    let world = World::new(AggregatorLimits { max_calls: 2, ..AggregatorLimits::default() }).await;
    let call = |tool: &str| format!("(tool/call {{:server \"fake\" :tool \"{tool}\"}})");
    let outcome = world.eval(&format!("(map :sent [{} {}])", call("echo"), call("die"))).await;
    assert_eq!(text(&outcome), "[nil true]", "its answer was lost");
    let sent: Vec<_> = outcome.upstream_calls.iter().map(|call| call.sent).collect();
    assert_eq!(sent, [None, Some(true)]);
    let (_, upstream) = world.aggregator.unfiltered().upstreams().next().expect("the fake");
    wait_until_async("the state is reached", async || upstream.health().phase != Phase::Started).await;
    let three = [call("echo"), call("echo"), call("echo")].join(" ");
    let outcome = world.eval(&format!("(map (juxt :reason :sent) [{three}])")).await;
    assert_eq!(
        text(&outcome),
        "[[:upstream_unavailable false] [:upstream_unavailable false] [:cap_exhausted false]]",
        "it is in recovery, and then the cap is used up"
    );
    assert!(outcome.upstream_calls.iter().all(|call| call.sent == Some(false)));
    world.aggregator.shutdown().await;
}

#[tokio::test]
async fn a_timeout_names_its_limit_the_value_and_the_flag() {
    let clock = Clock::stepped();
    let _entered = clock.enter();
    let limits =
        AggregatorLimits { call_timeout: Duration::from_millis(1200), ..AggregatorLimits::default() };
    let world = World::new(limits).await;
    let (_, upstream) = world.aggregator.unfiltered().upstreams().next().expect("the fake");
    // It answers when so many calls have come.
    let call = "(:message (tool/call {:server \"fake\" :tool \"gather\" :args {:n 2 :i 0}}))";
    let step = async {
        wait_until_async("the call is in flight", async || upstream.health().in_flight == 1).await;
        // When its first byte was written cannot be seen.
        wait_until_async("it has timed out", async || {
            clock.advance(Duration::from_millis(100));
            upstream.health().in_flight == 0
        })
        .await;
    };
    let (outcome, ()) = tokio::join!(world.eval(call), step);
    let told = "The limit of a call is 1200 ms (flag `--upstream-call-timeout-ms`).";
    assert!(text(&outcome).contains(told), "{}", text(&outcome));
    world.aggregator.shutdown().await;
}

#[tokio::test]
async fn what_was_fetched_is_shown_where_a_later_call_is_misspelt() {
    let world = World::new(AggregatorLimits::default()).await;
    let outcome = world
        .eval("(mapv (fn [i] (tool/call {:server \"fake\" :tool (if (= i 9) \"nope\" \"echo\") :args {:id (+ 7000 i)}})) (range 10))")
        .await;
    assert!(
        text(&outcome).starts_with("runtime_error: no tool 'nope' in upstream 'fake'"),
        "{}",
        text(&outcome)
    );
    let beginnings: Vec<_> =
        outcome.upstream_calls.iter().filter_map(|call| call.beginning.as_deref()).collect();
    assert_eq!(beginnings.len(), 9);
    assert!(beginnings.iter().zip(7000..).all(|(text, id)| text.contains(&id.to_string())), "{beginnings:?}");
    world.aggregator.shutdown().await;
}

#[tokio::test]
async fn an_outcome_has_a_record_of_each_question_to_the_catalog() {
    let limits = AggregatorLimits { max_discoveries: 3, ..AggregatorLimits::default() };
    let world = World::new(limits).await;
    let outcome = world.eval("[(tool/servers) (apropos \"echo\") (dir \"fake\") (dir \"fake\")]").await;
    let ops: Vec<_> = outcome
        .catalog_ops
        .iter()
        .map(|op| (op.operation, op.args.to_string(), op.outcome(), op.reason))
        .collect();
    let expected = [
        ("servers", json!({}), "ok", None),
        ("apropos", json!({"query": "echo", "opts": {"limit": 8, "load": false}}), "ok", None),
        ("dir", json!({"server": "fake"}), "ok", None),
        ("dir", json!({"server": "fake"}), "nil_world_fault", Some("catalog_cap_exhausted")),
    ];
    assert_eq!(
        ops,
        expected.map(|(operation, args, outcome, reason)| (operation, args.to_string(), outcome, reason))
    );
    world.aggregator.shutdown().await;
}

#[tokio::test]
async fn what_is_missing_is_told_beside_the_answer() {
    let world = World::new(AggregatorLimits::default()).await;
    let outcome = world.eval("(count (dir \"fake\" {:limit 1}))").await;
    assert_eq!(text(&outcome), "1");
    let told = notes(&outcome);
    let [note] = &told[..] else { panic!("one note, not {told:?}") };
    assert!(note.starts_with("dir \"fake\": 1 of "), "{note}");
    assert!(note.ends_with(" tools shown; (dir \"fake\" {:offset 1}) goes on"), "{note}");
    let outcome = world.eval("(count (dir \"fake\"))").await;
    assert_eq!(notes(&outcome), Vec::<String>::new());
    let outcome = world.eval("(map :ref (apropos \"group-by\" {:load true}))").await;
    assert_eq!(text(&outcome), "[]", "a search that loads lists tools only");
    let outcome = world.eval("(let [reply {:a 1}]\n  (* 2 (:price reply)))").await;
    let failure = outcome.result.expect_err("nil is no number");
    assert_eq!(failure.message, "type_error: *: invalid argument types: number, nil");
    assert_eq!(failure.hint.as_deref(), Some(". The nil is the value of (:price reply) at 2:8"));
    world.aggregator.shutdown().await;
}

#[tokio::test]
async fn dropping_an_eval_cancels_its_calls() {
    let world = World::new(AggregatorLimits::default()).await;
    let (_, handle) = world.aggregator.unfiltered().upstreams().next().expect("one upstream");
    let eval =
        tokio::spawn(world.engine.eval(world.request("(tool/call {:server \"fake\" :tool \"hang\"})")));
    wait_until_async("the state is reached", async || handle.health().in_flight == 1).await;
    eval.abort();
    wait_until_async("the state is reached", async || handle.health().in_flight == 0).await;
    assert_eq!(text(&world.eval("(+ 1 2)").await), "3");
    world.aggregator.shutdown().await;
}
