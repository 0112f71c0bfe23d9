//! What sessions cost that nobody uses: counted by the allocator, for ten thousand of them in one process. The only test here: an engine
//! frees on its own threads, also after the test that had it, and the allocator counts for all threads.

use ptc_host::credentials::Redactor;
use ptc_host::engine::{Engine, EngineOptions, EvalId, Limits};
use ptc_mcp::Revision;
use ptc_mcp::json::Raw;
use ptc_mcp::json::{Value, json};
use ptc_mcp::message::id::RequestId;
use ptc_server::principal::{Owner, Principal};
use ptc_server::protocol::tool::{CallContext, Preparation, Tool, ToolReply};
use ptc_server::settings::{Profile, Sessions};
use ptc_server::tools::lisp_eval::{ArgumentCaps, EvalOptions};
use ptc_server::tools::sessions::{Directory, system_clock, tools};
use ptc_server::tools::shaping::Shaper;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const SESSIONS: usize = 10_000;

/// Most bytes that an idle session with five small bindings may cost, all bookkeeping included.
const MOST_BYTES: usize = 4 * 1024;

/// Five small bindings of different kinds.
const PROGRAM: &str =
    "(do (def user \"ada\") (def total 42) (def ids [1 2 3]) (def by-id {1 :a 2 :b}) (def done? true))";

struct Tools {
    all: Vec<Box<dyn Tool>>,
    context: CallContext,
}

impl Tools {
    async fn call(&self, name: &str, arguments: Value) -> Value {
        let tool = self.all.iter().find(|tool| tool.definition().name == name).expect("it is listed");
        let reply: ToolReply =
            match tool.prepare(Some(Raw::parse(&arguments.to_string()).expect("JSON")), &self.context) {
                Preparation::Done(reply) => reply,
                Preparation::Gated(work) | Preparation::Free(work) => work.await,
                Preparation::Full(full) => panic!("not let in: {full}"),
                Preparation::After(_) => panic!("nobody is asked here"),
            };
        assert!(!reply.is_error, "{:?}", reply.text);
        serde_json::from_str(reply.structured.as_deref().expect("structured")).expect("JSON")
    }
}

fn settings() -> Sessions {
    Sessions {
        enabled: true,
        max: SESSIONS + 1,
        max_per_owner: SESSIONS + 1,
        ttl: Duration::from_secs(3600),
        idle: Duration::from_secs(3600),
        memory_bytes: 1 << 20,
        binding_bytes: 256 << 10,
        bindings: 200,
        history_entry_bytes: 64 << 10,
        print_entries: 50,
        print_bytes: 64 << 10,
        source_bytes: 256 << 10,
        tool_call_entries: 50,
        tool_call_bytes: 128 << 10,
        upstream_call_entries: 50,
        upstream_call_bytes: 128 << 10,
    }
}

fn server() -> Tools {
    let engine = Engine::start(EngineOptions { threads: 2, ..EngineOptions::default() }).expect("threads");
    let directory = Directory::new(None, engine, settings(), Redactor::new(), system_clock());
    let options = EvalOptions {
        limits: Limits { timeout: Duration::from_secs(60), ..Limits::plain() },
        caps: ArgumentCaps { max_program_bytes: 65_536, max_context_bytes: 4 << 20 },
        shaper: Shaper::new(Profile::Structured, 32 << 10),
        max_attached_bytes: 0,
        fits_client: false,
        upstreams: None,
        programs: None,
        card: None,
        read_only: false,
        redactor: Redactor::new(),
        reports: false,
        asks: None,
        tells_of_ask: false,
        runs: None,
        recent: None,
    };
    let context = CallContext {
        origin: None,
        trace: None,
        owner: Owner::of(Principal::process()),
        request_id: RequestId::from_raw(Raw::parse("1").expect("JSON")).expect("an id"),
        revision: Revision::LATEST_HANDSHAKE,
        eval_id: EvalId::new(),
        result_room: None,
        progress: None,
        audience: None,
        asked: Default::default(),
        permit: Default::default(),
    };
    Tools { all: tools(&directory, options), context }
}

async fn fill(tools: &Tools) -> Value {
    let started = tools.call("lisp_session_start", json!({})).await;
    let id = started["session_id"].clone();
    let stored = tools.call("lisp_session_eval", json!({"session_id":id,"program":PROGRAM})).await;
    assert_eq!(stored["session"]["binding_count"], 5);
    id
}

#[tokio::test]
async fn ten_thousand_idle_sessions_cost_less_than_4_kib_each() {
    let tools = server();
    // What the first one sets up for all is not counted.
    let first = fill(&tools).await;
    let region = Region::new(ALLOCATOR);
    let mut last = Value::Null;
    for _ in 0..SESSIONS {
        last = fill(&tools).await;
    }
    let stats = region.change();
    let each = (stats.bytes_allocated - stats.bytes_deallocated) / SESSIONS;
    println!("{each} bytes for each idle session");
    assert!(each < MOST_BYTES, "{each} bytes for each idle session");
    for id in [first, last] {
        let answer = tools
            .call(
                "lisp_session_eval",
                json!({"session_id":id,"program":"[user total (count ids) (get by-id 2)]"}),
            )
            .await;
        assert_eq!(answer["result"], "user=> [\"ada\" 42 3 :b]");
    }
    let listed = tools.call("lisp_session_list", json!({})).await;
    assert_eq!((&listed["count"], &listed["truncated"]), (&json!(SESSIONS + 1), &json!(true)));
}
