//! Programs whose upstreams answer page by page, or refuse for rate: whole calls through engine and aggregator (decision 184).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use libtest_mimic::Trial;
use ptc_host::aggregator::{Aggregator, AggregatorLimits, AggregatorOptions, SnapshotMode, notes};
use ptc_host::config::{LoadOptions, ProcessEnv, UpstreamsConfig};
use ptc_host::engine::{CallStatus, Engine, EngineOptions, EvalOutcome, EvalRequest, Limits};
use ptc_mcp::json::{Value, json};

use crate::asking_programs::text;
use crate::support::{AMPLE, HOUR, patient, run_out, run_out_of_all, trial};
use ptc_test_support::fake_http::{FakeHttp, Hit, Steps, reply, response};

pub(crate) fn trials() -> Vec<Trial> {
    Vec::from([
        trial("paged::pages_are_followed_by_what_the_tool_takes", pages_are_followed),
        trial("paged::answers_that_are_not_all_are_told", partial_answers_are_told),
        trial("paged::followed_pages_are_not_told", followed_pages_are_not_told),
        trial("rate::a_refusal_is_sent_again_after_the_wait_it_asks_for", a_refusal_is_sent_again),
        trial("rate::refusals_are_known_by_status_code_and_words", refusals_are_known),
        trial("rate::three_tries_and_no_more", three_tries),
        trial("rate::what_may_write_is_sent_once", what_may_write_is_sent_once),
        trial("rate::no_wait_goes_beyond_the_time_of_the_program", no_wait_beyond_the_time),
        trial("rate::a_wait_holds_no_permit", a_wait_holds_no_permit),
        trial("rate::tries_count_as_calls", tries_count_as_calls),
    ])
}

/// Tickets in all.
const ALL: usize = 412;

fn tools() -> Value {
    let tool = |name: &str, reads: bool, properties: Value| {
        json!({"name": name, "inputSchema": {"type": "object", "properties": properties},
            "annotations": {"readOnlyHint": reads}})
    };
    let limit = json!({"type": "integer", "default": 30, "maximum": 100});
    let size = json!({"type": "integer"});
    json!([
        tool("list_tickets", true, json!({"status": {"type": "string"}, "limit": limit, "offset": size})),
        tool("list_repos", true, json!({"page": {"type": "integer", "default": 1}, "per_page": limit})),
        tool("count_tickets", true, json!({"page": size})),
        tool("search", true, json!({"q": {"type": "string"}, "limit": size})),
        tool("get_order", true, json!({"id": {"type": "integer"}})),
        tool("limited", true, json!({})),
        tool("free", true, json!({})),
        tool("change", false, json!({})),
    ])
}

/// Tickets from a place on.
fn tickets(from: usize, most: usize) -> Value {
    (from..ALL.min(from + most)).map(|id| json!({"id": id})).collect()
}

fn list(hit: &Hit) -> Steps {
    let params = &hit.body["params"];
    let number =
        |name: &str| params["arguments"][name].as_u64().and_then(|number| usize::try_from(number).ok());
    let answer = match params["name"].as_str().unwrap_or_default() {
        "list_tickets" => {
            let (from, most) = (number("offset").unwrap_or(0), number("limit").unwrap_or(30).min(100));
            json!({"tickets": tickets(from, most), "total": ALL})
        }
        "count_tickets" => {
            json!({"tickets": tickets((number("page").unwrap_or(1) - 1) * 30, 30), "total": ALL})
        }
        "list_repos" => {
            let most = number("per_page").unwrap_or(30).min(100);
            json!({"result": tickets((number("page").unwrap_or(1) - 1) * most, most)})
        }
        "search" => json!({"hits": tickets(0, number("limit").unwrap_or(10)), "has_more": true}),
        _ => json!({"id": 7, "items": [{"sku": "a"}], "total": 412}),
    };
    reply(200, &hit.result(json!({"structuredContent": answer})))
}

struct World {
    server: FakeHttp,
    aggregator: Arc<Aggregator>,
}

impl World {
    async fn new(answer: impl Fn(&Hit) -> Steps + Send + Sync + 'static) -> World {
        World::with(answer, json!({}), AggregatorLimits::default()).await
    }

    async fn with(
        answer: impl Fn(&Hit) -> Steps + Send + Sync + 'static,
        further: Value,
        limits: AggregatorLimits,
    ) -> World {
        let server = FakeHttp::modern(tools(), answer);
        // A test that sets the time ahead means the wait of a program, and no call that its upstream is answering.
        let url = server.url.as_str();
        let mut entry = patient(json!({"transport": "mcp_http", "url": url, "allow_insecure_http": true}));
        for (key, value) in further.as_object().unwrap() {
            entry[key] = value.clone();
        }
        let env = ProcessEnv::current();
        let load = LoadOptions { env: &env, base_dir: None, own_exe: None };
        let config = UpstreamsConfig::from_value(&json!({"upstreams": {"up": entry}}), &load).unwrap();
        let limits = AggregatorLimits { call_timeout: AMPLE, ..limits };
        let options = AggregatorOptions { limits, ..AggregatorOptions::new(SnapshotMode::Frozen) };
        World { server, aggregator: Aggregator::start(config, options).await.unwrap() }
    }

    async fn eval_within(&self, timeout: Duration, program: &str) -> EvalOutcome {
        let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap();
        let mut request = EvalRequest::new(program);
        request.limits = Limits { timeout, ..Limits::aggregator() };
        request.upstreams = Some(self.aggregator.clone());
        engine.eval(request).await
    }

    async fn eval(&self, program: &str) -> EvalOutcome {
        self.eval_within(AMPLE, program).await
    }

    /// The names of the tools that were called, in this order.
    fn calls(&self) -> Vec<String> {
        let calls = self.server.hits().into_iter().filter(|hit| hit.rpc() == "tools/call");
        calls.map(|hit| hit.body["params"]["name"].as_str().unwrap_or_default().to_owned()).collect()
    }
}

fn call(tool: &str, args: &str) -> String {
    format!("(tool/call {{:server \"up\" :tool \"{tool}\" :args {args}}})")
}

async fn pages_are_followed() {
    let world = World::new(list).await;
    for (tool, args, pages) in [
        ("list_tickets", "{}", 14),
        ("list_tickets", "{:limit 500}", 5),
        ("list_tickets", "{\"limit\" 100 :offset 12}", 4),
        ("list_repos", "{}", 14),
        ("list_repos", "{:per-page 206}", 5),
    ] {
        let form = call(tool, args).replace("tool/call", "tool/pages");
        let outcome = world.eval(&format!("(count (distinct (map :id {form})))")).await;
        let all = if args.contains("offset") { ALL - 12 } else { ALL };
        assert_eq!((text(&outcome), outcome.upstream_calls.len()), (&*all.to_string(), pages), "{form}");
        assert_eq!(notes(&outcome), [] as [&str; 0], "{form}");
    }
    let outcome = world.eval(&call("search", "{:q \"x\"}").replace("tool/call", "tool/pages")).await;
    assert!(text(&outcome).contains("no argument of \"up.search\" is known to get it"), "{}", text(&outcome));
    world.aggregator.shutdown().await;
}

async fn partial_answers_are_told() {
    let world = World::new(list).await;
    for (tool, args, note) in [
        ("list_tickets", "{}", "up.list_tickets: 30 of 412 items; (tool/pages …) gets all"),
        (
            "list_tickets",
            "{:limit 500}",
            "up.list_tickets: 100 of 412 items, 500 asked for, and 100 is the most at a time; (tool/pages …) gets all",
        ),
        (
            "list_repos",
            "{}",
            "up.list_repos: 30 items, as many as it gives at a time: there may be more; (tool/pages …) gets all",
        ),
        (
            "list_repos",
            "{:per_page 500}",
            "up.list_repos: 100 items, 500 asked for, and 100 is the most at a time, as many as it gives at a time: there may be more; (tool/pages …) gets all",
        ),
        (
            "search",
            "{:q \"x\"}",
            "up.search: 10 items, and there is more (\"has_more\" says so); a greater \"limit\" may get all",
        ),
    ] {
        let outcome = world.eval(&format!("(:ok {})", call(tool, args))).await;
        assert_eq!((text(&outcome), notes(&outcome)), ("true", vec![note.to_owned()]), "{args}");
    }
    // The total of an order is no count of pages, and who asks for ten repositories knows it.
    for (tool, args) in
        [("get_order", "{:id 7}"), ("list_repos", "{:per_page 10}"), ("list_tickets", "{:offset 400}")]
    {
        let outcome = world.eval(&format!("(:ok {})", call(tool, args))).await;
        assert_eq!((text(&outcome), notes(&outcome)), ("true", vec![]), "{tool}");
    }
    world.aggregator.shutdown().await;
}

async fn followed_pages_are_not_told() {
    let world = World::new(list).await;
    let by_hand = |most: usize| {
        format!(
            "(count (mapcat (fn [at] (:tickets (:value {}))) (range 0 {most} 100)))",
            call("list_tickets", "{:limit 100 :offset at}")
        )
    };
    let outcome = world.eval(&by_hand(412)).await;
    assert_eq!((text(&outcome), notes(&outcome)), ("412", vec![]));
    let by_number = |pages: usize| {
        format!(
            "(count (mapcat (fn [page] (:tickets (:value {}))) (range 1 {})))",
            call("count_tickets", "{:page page}"),
            pages + 1
        )
    };
    let outcome = world.eval(&by_number(14)).await;
    assert_eq!((text(&outcome), notes(&outcome)), ("412", vec![]));
    let outcome = world.eval(&by_number(2)).await;
    let note = "up.count_tickets: 60 of 412 items; (tool/pages …) gets all".to_owned();
    assert_eq!((text(&outcome), notes(&outcome)), ("60", vec![note]));
    let outcome = world.eval(&by_hand(300)).await;
    let note = "up.list_tickets: 300 of 412 items; (tool/pages …) gets all".to_owned();
    assert_eq!((text(&outcome), notes(&outcome)), ("300", vec![note]));
    let both = format!(
        "[(:ok {}) (count {})]",
        call("list_tickets", "{:status \"open\"}"),
        call("list_tickets", "{:status \"open\" :limit 100}").replace("tool/call", "tool/pages")
    );
    let outcome = world.eval(&both).await;
    assert_eq!((text(&outcome), notes(&outcome)), ("[true 412]", vec![]));
    // One note for a tool.
    let many = format!("(count (pmap (fn [s] {}) (range 5)))", call("list_tickets", "{:status (str s)}"));
    let outcome = world.eval(&many).await;
    let note =
        "up.list_tickets: 30 of 412 items; (tool/pages …) gets all (and 4 more of its answers)".to_owned();
    assert_eq!((text(&outcome), notes(&outcome)), ("5", vec![note]));
    world.aggregator.shutdown().await;
}

fn done(hit: &Hit) -> Steps {
    reply(200, &hit.result(json!({"structuredContent": {"done": true}})))
}

fn refusal(_: &Hit) -> Steps {
    response(429, &[("retry-after", "7")], b"")
}

/// Refuses the first `most` calls but those of `free`.
fn refusing(most: usize, refuse: fn(&Hit) -> Steps) -> impl Fn(&Hit) -> Steps + Send + Sync + 'static {
    let refused = AtomicUsize::new(0);
    move |hit| {
        let is_free = hit.body["params"]["name"] == "free";
        if !is_free && refused.fetch_add(1, Ordering::SeqCst) < most { refuse(hit) } else { done(hit) }
    }
}

async fn a_refusal_is_sent_again() {
    let world = World::new(refusing(2, refusal)).await;
    let program = call("limited", "{}");
    let outcome = run_out_of_all(world.eval(&program), Duration::from_millis(500)).await;
    assert!(text(&outcome).contains("{\"done\" true}"), "{}", text(&outcome));
    let records = &outcome.upstream_calls;
    let reasons: Vec<_> = records.iter().map(|record| record.reason.as_deref()).collect();
    assert_eq!(reasons, [Some("rate_limited"), Some("rate_limited"), None]);
    assert!(records.windows(2).all(|pair| pair[1].offset_ms >= pair[0].offset_ms + 7000), "{records:?}");
    assert_eq!(notes(&outcome), [] as [&str; 0]);
    world.aggregator.shutdown().await;
}

async fn refusals_are_known() {
    let refusals: [fn(&Hit) -> Steps; 4] = [
        |_| response(503, &[("retry-after", "1")], b""),
        |hit| reply(200, &hit.error(-32029, "no")),
        |hit| {
            let content = json!([{"type": "text", "text": "Too many requests, slow down"}]);
            reply(200, &hit.result(json!({"isError": true, "content": content})))
        },
        |hit| {
            let content = json!([{"type": "text", "text": "Quota exceeded. Retry after 3 seconds."}]);
            reply(200, &hit.result(json!({"isError": true, "content": content})))
        },
    ];
    for (number, refuse) in refusals.into_iter().enumerate() {
        let world = World::new(refusing(1, refuse)).await;
        let program = format!("(:ok {})", call("limited", "{}"));
        let outcome = run_out_of_all(world.eval(&program), Duration::from_secs(1)).await;
        assert_eq!((text(&outcome), world.calls().len()), ("true", 2), "{number}");
        world.aggregator.shutdown().await;
    }
    // Other failures are the program's.
    let refuse: fn(&Hit) -> Steps = |hit| {
        let content = json!([{"type": "text", "text": "issue 429 is closed"}]);
        reply(200, &hit.result(json!({"isError": true, "content": content})))
    };
    let world = World::new(refusing(1, refuse)).await;
    let outcome = world.eval(&format!("(:reason {})", call("limited", "{}"))).await;
    assert_eq!((text(&outcome), world.calls().len()), (":tool_error", 1));
    world.aggregator.shutdown().await;
}

async fn three_tries() {
    let world = World::new(refusing(usize::MAX, |_| response(429, &[], b""))).await;
    let program = format!("(:reason {})", call("limited", "{}"));
    let outcome = run_out_of_all(world.eval(&program), Duration::from_secs(1)).await;
    assert_eq!((text(&outcome), world.calls().len()), (":rate_limited", 4));
    let offsets: Vec<u64> = outcome.upstream_calls.iter().map(|record| record.offset_ms).collect();
    let waits = [1000, 2000, 4000];
    assert!(offsets.windows(2).zip(waits).all(|(pair, wait)| pair[1] >= pair[0] + wait), "{offsets:?}");
    world.aggregator.shutdown().await;
}

async fn what_may_write_is_sent_once() {
    let world = World::new(refusing(usize::MAX, refusal)).await;
    let outcome = world.eval(&format!("(:reason {})", call("change", "{}"))).await;
    assert_eq!((text(&outcome), world.calls().len()), (":rate_limited", 1));
    world.aggregator.shutdown().await;
}

async fn no_wait_beyond_the_time() {
    let world = World::new(refusing(usize::MAX, |_| response(429, &[("retry-after", "7200")], b""))).await;
    let program = format!("(:reason {})", call("limited", "{}"));
    let outcome = world.eval_within(HOUR, &program).await;
    assert_eq!((text(&outcome), world.calls().len()), (":rate_limited", 1));
    world.aggregator.shutdown().await;
}

async fn a_wait_holds_no_permit() {
    let refuse: fn(&Hit) -> Steps = |_| response(429, &[("retry-after", "60")], b"");
    let world =
        World::with(refusing(1, refuse), json!({"max_concurrency": 1}), AggregatorLimits::default()).await;
    let program = format!("(mapv :ok (pcalls #(do {}) #(do {})))", call("limited", "{}"), call("free", "{}"));
    let is_done = async || world.calls().iter().any(|name| name == "free");
    let outcome = run_out(world.eval(&program), is_done).await;
    assert_eq!(text(&outcome), "[true true]");
    assert_eq!(world.calls(), ["limited", "free", "limited"]);
    world.aggregator.shutdown().await;
}

async fn tries_count_as_calls() {
    let limits = AggregatorLimits { max_calls: 3, ..AggregatorLimits::default() };
    let world = World::with(refusing(usize::MAX, refusal), json!({}), limits).await;
    let program = format!("(count (filter :ok (mapv (fn [_] {}) [1 2])))", call("limited", "{}"));
    let outcome = run_out_of_all(world.eval(&program), Duration::from_secs(1)).await;
    assert_eq!((text(&outcome), world.calls().len()), ("0", 3));
    let beyond =
        outcome.upstream_calls.iter().filter(|record| record.reason.as_deref() == Some("cap_exhausted"));
    assert_eq!(beyond.count(), 1);
    assert!(outcome.upstream_calls.iter().all(|record| record.status == CallStatus::Error));
    let note = "1 of 4 upstream calls failed: up.limited cap_exhausted (1); this program may make 3 upstream calls (flag \
                `--max-upstream-calls-per-program`)";
    assert_eq!(notes(&outcome), [note]);
    world.aggregator.shutdown().await;
}
