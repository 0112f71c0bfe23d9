use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use ptc_host::credentials::{Redactor, Secret};
use ptc_host::engine::{Engine, EngineOptions, Limits};
use ptc_host::state::{StateStore, StoreLimits};
use ptc_mcp::Revision;
use ptc_mcp::json::Raw;
use ptc_mcp::json::{Value, json};
use ptc_mcp::message::id::RequestId;

use super::back_ends::{Back, Shared};
use super::directory::Place;
use super::environment::SessionTime;
use super::over_http::OverHttp;
use super::refusal::Refusal;
use super::resident::Resident;
use super::start::MAX_TITLE_BYTES;
use super::*;
use crate::lisp_eval::ArgumentCaps;
use crate::shaping::Shaper;
use crate::testing::assert_fits;
use ptc_protocol::principal::{Owner, Principal};
use ptc_protocol::settings::{Profile, Sessions};
use ptc_protocol::tool::{CallContext, Definition, Preparation, ReplyText};

/// The six tools over a real engine, and a clock that a test sets.
pub(super) struct Bench {
    pub(super) tools: Vec<Box<dyn Tool>>,
    /// The definitions of the tools.
    definitions: Vec<Definition>,
    pub(super) directory: Arc<Directory>,
    seconds: Arc<AtomicI64>,
    /// Answers calls instead of the tools, if it is there.
    over_http: Option<OverHttp>,
}

/// Must not appear in any answer. It is a token too, so that a server knows it.
pub(super) const SECRET: &str = "hunter2-hunter2-hunter2-hunter2-hunter2";

/// Runs each test with its sessions in each place.
macro_rules! wherever_sessions_are {
    ($(async fn $name:ident($back:ident: Back) $body:block)*) => {$(
        mod $name {
            use super::*;

            async fn on($back: Back) $body

            #[tokio::test]
            async fn in_the_process() {
                on(Back::Here).await;
            }

            #[tokio::test]
            async fn in_memory() {
                on(Back::Memory).await;
            }

            #[tokio::test]
            async fn in_a_file() {
                on(Back::File).await;
            }

            #[tokio::test]
            async fn in_a_server() {
                on(Back::Server).await;
            }

            #[tokio::test]
            async fn in_a_named_server() {
                on(Back::Named).await;
            }
        }
    )*};
}

pub(super) fn limits() -> Sessions {
    Sessions {
        enabled: true,
        max: 3,
        max_per_owner: 2,
        ttl: Duration::from_secs(1000),
        idle: Duration::from_secs(100),
        memory_bytes: 20_000,
        binding_bytes: 5000,
        bindings: 5,
        history_entry_bytes: 1000,
        print_entries: 3,
        print_bytes: 100,
        source_bytes: 10_000,
        tool_call_entries: 50,
        tool_call_bytes: 1000,
        upstream_call_entries: 50,
        upstream_call_bytes: 1000,
    }
}

fn bench(profile: Profile, settings: Sessions) -> Bench {
    bench_over(profile, settings, None)
}

/// `None` if there is no such store.
fn bench_on(back: Back, profile: Profile, settings: Sessions) -> Option<(Bench, Option<Shared>)> {
    if back == Back::Here {
        return Some((bench(profile, settings), None));
    }
    if back == Back::Named {
        let over_http = Some(OverHttp::start(profile, &settings)?);
        return Some((Bench { over_http, ..bench(profile, settings) }, None));
    }
    let shared = back.store(StoreLimits::default())?;
    Some((bench_over(profile, settings, Some(keeping(shared.handle()))), Some(shared)))
}

/// A process over a store.
pub(super) fn keeping(store: Arc<dyn StateStore>) -> Keeping {
    static REPLICAS: AtomicI64 = AtomicI64::new(0);
    let number = REPLICAS.fetch_add(1, Ordering::Relaxed);
    Keeping { store, replica: format!("replica-{number}").into() }
}

pub(super) fn bench_over(profile: Profile, settings: Sessions, store: Option<Keeping>) -> Bench {
    let engine = Engine::start(EngineOptions { threads: 2, ..EngineOptions::default() }).unwrap();
    let seconds = Arc::new(AtomicI64::new(1_000_000));
    let time = seconds.clone();
    let clock: SessionTime = Arc::new(move || Timestamp::from_second(time.load(Ordering::Relaxed)).unwrap());
    let redactor = Redactor::new();
    redactor.register([&Secret::new(SECRET)]).unwrap();
    let directory = Directory::new(store, engine, settings, redactor.clone(), clock);
    let options = EvalOptions {
        // An endless program must be ended by the test, on a busy machine too.
        limits: Limits { timeout: Duration::from_secs(600), steps: u64::MAX >> 1, ..Limits::plain() },
        caps: ArgumentCaps { max_program_bytes: 2000, max_context_bytes: 200 },
        shaper: Shaper::new(profile, 16_384),
        upstreams: None,
        max_attached_bytes: 5 << 20,
        fits_client: true,
        programs: None,
        card: None,
        read_only: false,
        redactor,
        reports: false,
        tells_of_ask: false,
        asks: None,
        runs: None,
        recent: None,
    };
    let tools = tools(&directory, options);
    let definitions = tools.iter().map(|tool| tool.definition()).collect();
    Bench { tools, definitions, directory, seconds, over_http: None }
}

pub(super) fn owner(name: &str) -> Owner {
    Owner::of(Principal::named(name))
}

impl Bench {
    pub(super) fn prepare(&self, owner: &Owner, tool: &str, arguments: &Value) -> Preparation {
        let place = self.definitions.iter().position(|known| known.name == tool).unwrap();
        let context = CallContext {
            origin: None,
            trace: None,
            owner: owner.clone(),
            request_id: RequestId::from_raw(Raw::parse("1").unwrap()).unwrap(),
            revision: Revision::LATEST_HANDSHAKE,
            eval_id: ptc_host::engine::EvalId::new(),
            result_room: None,
            progress: None,
            audience: None,
            asked: Default::default(),
            permit: Default::default(),
        };
        self.tools[place].prepare(Some(Raw::parse(&arguments.to_string()).unwrap()), &context)
    }

    /// The sessions in the process.
    fn resident(&self) -> &Arc<Resident> {
        match &self.directory.place {
            Place::Process(resident) => resident,
            Place::Store(_) => panic!("they are in a store"),
        }
    }

    /// Ends the conversation of a caller.
    fn gone(&self, by: &str) {
        match &self.over_http {
            Some(server) => server.end(by),
            None => self.tools[0].owner_gone(&owner(by)),
        }
    }

    pub(super) async fn call(&self, by: &str, tool: &str, arguments: Value) -> (Value, String) {
        if let Some(server) = &self.over_http {
            return server.call(by, tool, &arguments);
        }
        let reply = match self.prepare(&owner(by), tool, &arguments) {
            Preparation::Done(reply) => reply,
            Preparation::Gated(work) | Preparation::Free(work) => work.await,
            Preparation::Full(full) => panic!("not let in: {full}"),
            Preparation::After(_) => panic!("nobody is asked here"),
        };
        assert_fits(self.definitions.iter().find(|known| known.name == tool).unwrap(), &reply);
        let structured: Value =
            reply.structured.as_deref().map_or(Value::Null, |text| serde_json::from_str(text).unwrap());
        let text = match reply.text {
            ReplyText::Plain(text) => text,
            ReplyText::Mirrored => reply.structured.unwrap(),
        };
        (structured, text)
    }

    pub(super) async fn start(&self, by: &str) -> String {
        let (started, _) = self.call(by, "lisp_session_start", json!({})).await;
        started["session_id"].as_str().unwrap_or_else(|| panic!("{started}")).to_owned()
    }

    pub(super) async fn eval(&self, id: &str, program: &str) -> (Value, String) {
        self.call("me", "lisp_session_eval", json!({"session_id": id, "program": program})).await
    }

    pub(super) async fn inspect(&self, id: &str, view: &str) -> Value {
        self.call("me", "lisp_session_inspect", json!({"session_id": id, "view": view})).await.0
    }
}

wherever_sessions_are! {
    async fn definitions_and_results_stay_and_failures_change_nothing(back: Back) {
        let Some((bench, _shared)) = bench_on(back, Profile::Slim, limits()) else { return };
        let id = bench.start("me").await;
        assert!(id.starts_with("ptcs_") && id.len() == 29);
        for (program, text) in [
            (
                "(do (println \"hi\") (def x 41) (def y 2) (+ x y))",
                "user=> 43\nprints (1 line):\n| hi\n[stored: x, y]",
            ),
            ("(def x 41)", "user=> #'x"),
            ("[*1 *2 *3]", "user=> [#'x 43 nil]"),
            (
                "(def x 9) (/ 1 0)",
                "runtime_error: arithmetic_error: division by zero\nat line 1, column 11\n[rolled back]",
            ),
            ("(def q 1) (fail \"no\")", "fail: \"no\"\n[rolled back]"),
            ("(return x)", "user=> 41"),
            ("(def x 42) (return (inc x))", "user=> 43\n[stored: x]"),
            ("nil", "user=> nil"),
            ("[*1 *2]", "user=> [nil 43]"),
        ] {
            assert_eq!(bench.eval(&id, program).await.1, text, "{program}");
        }
        let seen = bench.inspect(&id, "memory").await;
        assert_eq!(seen["stored_keys"], json!(["x", "y"]));
        assert_eq!(seen["session"]["turn"], 7);
        assert_eq!(seen["usage"]["memory_bytes"], 22);
    }
}

wherever_sessions_are! {
    async fn structured_and_debug_answers_tell_what_was_stored(back: Back) {
        let program = "(do (println \"hi\") (def x 41) (def y 2) (+ x y))";
        let Some((bench_structured, _shared)) = bench_on(back, Profile::Structured, limits()) else { return };
        let id = bench_structured.start("me").await;
        let (structured, text) = bench_structured.eval(&id, program).await;
        assert_eq!(text, "user=> 43\nprints (1 line):\n| hi\n[stored: x, y]");
        let session = json!({"session_id": id, "turn": 1, "memory_bytes": 22, "binding_count": 2});
        let memory = json!({"changed_keys": ["x", "y"], "stored_keys": ["x", "y"]});
        let wanted = json!({"status": "ok", "result": "user=> 43", "prints": ["hi"], "session": session, "memory": memory});
        assert_eq!(structured, wanted);
        let (failed, text) = bench_structured.eval(&id, "nope").await;
        assert!(text.ends_with("\n[rolled back]"), "{text}");
        assert_eq!(failed["session"]["eval_status"], "idle");
        // A server has a clock of its own.
        if back != Back::Named {
            assert_eq!(failed["session"]["created_at"], "1970-01-12T13:46:40.000000Z");
        }

        let Some((bench_debug, _shared)) = bench_on(back, Profile::Debug, limits()) else { return };
        let id = bench_debug.start("me").await;
        let (full, _) = bench_debug.eval(&id, program).await;
        assert_eq!(full["memory"]["changed"], json!({"x": "41", "y": "2"}));
        assert_eq!((&full["history_notices"], &full["truncated"]), (&json!([]), &json!(false)));
        assert!(full["feedback"].as_str().unwrap().contains(";; x = 41\n;; y = 2"));
        assert_eq!(bench_debug.eval(&id, "nope").await.0["detail"]["kind"], "unbound_var");
    }
}

wherever_sessions_are! {
    async fn what_breaks_a_limit_is_not_stored_and_an_oversized_result_becomes_a_preview(back: Back) {
        let Some((bench, _shared)) = bench_on(back, Profile::Debug, limits()) else { return };
        let id = bench.start("me").await;
        bench.eval(&id, "(def kept 1)").await;
        let grow = |name: &str, times: u32| {
            format!("(do (def {name} (reduce (fn [a i] (str a a)) \"x\" (range {times}))) 1)")
        };
        let (over, _) = bench.eval(&id, &grow("kept", 13)).await;
        assert_eq!(over["reason"], "session_limit_exceeded");
        assert_eq!(
            over["detail"],
            json!({"field": "binding_bytes", "limit": "max_binding_bytes", "actual": 8198, "max": 5000, "name": "kept"})
        );
        let many = "(def a 1) (def b 2) (def c 3) (def d 4) (def e 5)";
        assert_eq!(bench.eval(&id, many).await.0["detail"]["field"], "bindings");
        assert_eq!(bench.eval(&id, "kept").await.0["result"], "user=> 1");
        let (big, _) = bench.eval(&id, "(reduce (fn [a i] (str a a)) \"h\" (range 11))").await;
        assert_eq!(big["history_notices"][0]["bytes"], 2054);
        let (marker, _) = bench.eval(&id, "[(:lisp_session_preview *1) (:bytes *1) (:reason *1)]").await;
        assert_eq!(marker["result"], "user=> [true 2054 :max_history_entry_bytes]");
    }
}

wherever_sessions_are! {
    async fn functions_find_their_definitions_after_a_refused_program_and_after_forgetting(back: Back) {
        let Some((bench, _shared)) = bench_on(back, Profile::Slim, limits()) else { return };
        let id = bench.start("me").await;
        bench.eval(&id, "(def late 1) (def early 2) (defn both [] [early late])").await;
        let over = "(def a 1) (def b 2) (def c 3) (def d 4) (def e 5)";
        assert!(bench.eval(&id, over).await.1.contains("eval was not committed"));
        assert_eq!(bench.eval(&id, "(both)").await.1, "user=> [2 1]");
        assert_eq!(bench.eval(&id, "both").await.1, "user=> #fn[]");
        let order = json!({"session_id": id, "clear": ["memory"]});
        bench.call("me", "lisp_session_forget", order).await;
        let (_, told) = bench.eval(&id, "(*1)").await;
        assert!(told.contains("early") && told.ends_with("[rolled back]"), "{told}");
        bench.eval(&id, "(def z 0) (def early 5) (def late 6)").await;
        assert_eq!(bench.eval(&id, "(*2)").await.1, "user=> [5 6]");
    }
}

wherever_sessions_are! {
    async fn sessions_belong_to_their_owner_and_are_counted(back: Back) {
        let Some((bench, _shared)) = bench_on(back, Profile::Slim, limits()) else { return };
        let id = bench.start("me").await;
        bench.start("me").await;
        let refused = |reply: &Value| reply["message"].as_str().unwrap().to_owned();
        let third = bench.call("me", "lisp_session_start", json!({})).await.0;
        assert_eq!(refused(&third), "maximum number of sessions for this owner reached");
        bench.start("you").await;
        if back == Back::Here {
            let full = bench.call("you", "lisp_session_start", json!({})).await.0;
            assert_eq!(refused(&full), "maximum number of sessions reached");
        }
        for tool in ["eval", "inspect", "forget", "close"] {
            let arguments = json!({"session_id": id, "program": "1"});
            let (foreign, _) = bench.call("you", &format!("lisp_session_{tool}"), arguments).await;
            assert_eq!(foreign["reason"], "session_not_found", "{tool}");
        }
        let closed = bench.call("me", "lisp_session_close", json!({"session_id": id})).await.0;
        assert_eq!(closed, json!({"status": "ok", "session_id": id, "closed": true, "reason": "closed"}));
        assert_eq!(bench.eval(&id, "1").await.0["reason"], "session_closed");
        assert_eq!(
            bench.call("you", "lisp_session_close", json!({"session_id": id})).await.0["reason"],
            "session_not_found"
        );
        bench.start("me").await;
        bench.gone("me");
        let left = |by: &'static str| async {
            bench.call(by, "lisp_session_list", json!({})).await.0["count"].clone()
        };
        while left("me").await != 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(left("you").await, 1);
    }
}

#[tokio::test]
async fn a_principal_has_one_account_for_all_its_conversations() {
    let bench = bench(Profile::Slim, limits());
    let conversation = |id: &str| Owner { principal: Principal::named("me"), http_session: Some(id.into()) };
    assert!(bench.directory.open(&conversation("a"), None, None).await.is_ok());
    assert!(bench.directory.open(&conversation("b"), None, None).await.is_ok());
    assert!(bench.directory.open(&conversation("c"), None, None).await.is_err());
    assert!(bench.directory.open(&Owner::of(Principal::named("you")), None, None).await.is_ok());
}

#[tokio::test]
async fn idle_sessions_make_room_first_and_then_the_oldest_of_the_greediest() {
    let settings = Sessions { max: 6, max_per_owner: 3, ..limits() };
    let bench = bench(Profile::Slim, settings);
    let pass = |seconds| bench.seconds.fetch_add(seconds, Ordering::Relaxed);
    let closed = |by: &'static str, id: &str| {
        let refused = bench.resident().with(id, &owner(by), |_, _| ()).err();
        refused == Some(Refusal::Closed)
    };
    let mut opened = Vec::new();
    for by in ["two", "two", "three", "three", "three", "one"] {
        opened.push(bench.start(by).await);
        pass(1);
    }
    let (two, three, one) = (&opened[..2], &opened[2..5], &opened[5]);
    pass(5);
    // No session has been idle for long: the principal with the most sessions loses the one that has been idle
    // longest.
    let running = bench.resident().reserve(&three[0], &owner("three")).unwrap();
    let new = bench.start("new").await;
    assert!(closed("three", &three[1]) && !closed("three", &three[0]) && !closed("two", &two[0]));
    // Now two have two each: no principal has two more than a caller with one.
    let (refused, _) = bench.call("new", "lisp_session_start", json!({})).await;
    assert_eq!(refused["reason"], "session_limit_exceeded");
    drop(running);
    // After a minute, one more is enough, and the session that has been idle longest is evicted.
    pass(55);
    bench.call("three", "lisp_session_eval", json!({"session_id": three[0], "program": "1"})).await;
    let newer = bench.start("new").await;
    assert!(closed("two", &two[0]) && !closed("two", &two[1]), "the longest at rest");
    assert!(!closed("one", one) && !closed("new", &new) && !closed("new", &newer));
    // No principal has more than the caller.
    let (refused, _) = bench.call("new", "lisp_session_start", json!({})).await;
    assert_eq!(refused["reason"], "session_limit_exceeded");
    assert_eq!(bench.resident().count().0, 6);
}

#[tokio::test]
async fn sessions_end_by_age_and_by_rest() {
    let bench = bench(Profile::Slim, limits());
    let id = bench.start("me").await;
    let pass = |seconds| bench.seconds.fetch_add(seconds, Ordering::Relaxed);
    for _ in 0..10 {
        pass(99);
        assert_eq!(bench.eval(&id, "1").await.1, "user=> 1");
    }
    pass(99);
    assert_eq!(bench.eval(&id, "1").await.0["reason"], "session_closed");
    let id = bench.start("me").await;
    pass(60);
    bench.call("me", "lisp_session_list", json!({})).await;
    pass(60);
    assert_eq!(bench.call("me", "lisp_session_list", json!({})).await.0["count"], 0);
    assert_eq!(bench.eval(&id, "1").await.0["reason"], "session_closed");
}

#[tokio::test]
async fn one_program_at_a_time_and_closing_ends_it() {
    let bench = bench(Profile::Slim, limits());
    let id = bench.start("me").await;
    bench.eval(&id, "(def x 1)").await;
    let arguments = json!({"session_id": id, "program": "(do (def x 2) (loop [] (recur)))"});
    let Preparation::Gated(work) = bench.prepare(&owner("me"), "lisp_session_eval", &arguments) else {
        panic!("not run");
    };
    let (busy, _) = bench.eval(&id, "x").await;
    assert_eq!((&busy["reason"], &busy["session_id"]), (&json!("session_busy"), &json!(id)));
    let clear = json!({"session_id": id, "clear": ["memory"]});
    assert_eq!(bench.call("me", "lisp_session_forget", clear).await.0["reason"], "session_busy");
    drop(work);
    assert_eq!(bench.eval(&id, "x").await.1, "user=> 1");
    let Preparation::Gated(work) = bench.prepare(&owner("me"), "lisp_session_eval", &arguments) else {
        panic!("not run");
    };
    bench.call("me", "lisp_session_close", json!({"session_id": id})).await;
    let ToolReply { structured, is_error, .. } = work.await;
    assert!(is_error && structured.unwrap().contains("session_closed"));
}

wherever_sessions_are! {
    async fn a_revoked_owner_loses_its_sessions_once_their_programs_have_finished(back: Back) {
        let Some((bench, _shared)) = bench_on(back, Profile::Slim, limits()) else { return };
        // Tokens of a named server do not change.
        if bench.over_http.is_some() {
            return;
        }
        let (resting, busy, of_another) = (bench.start("me").await, bench.start("me").await, bench.start("you").await);
        let program = "(loop [n 2000000] (if (pos? n) (recur (dec n)) :done))";
        let arguments = json!({"session_id": busy, "program": program});
        let Preparation::Gated(work) = bench.prepare(&owner("me"), "lisp_session_eval", &arguments) else {
            panic!("not run");
        };
        let work = tokio::spawn(work);
        let states = async || -> Vec<Value> {
            let (listed, _) = bench.call("me", "lisp_session_list", json!({})).await;
            let sessions = listed["sessions"].as_array().unwrap();
            sessions.iter().map(|session| session["eval_status"].clone()).collect()
        };
        while !work.is_finished() && !states().await.contains(&json!("running")) {
            tokio::task::yield_now().await;
        }
        bench.tools[0].owner_revoked(&owner("me"));
        let ToolReply { structured, text, is_error, .. } = work.await.unwrap();
        assert!(!is_error && matches!(&text, ReplyText::Plain(text) if text.contains(":done")), "{structured:?}");
        while !states().await.is_empty() {
            tokio::task::yield_now().await;
        }
        for id in [&resting, &busy] {
            let reason = bench.eval(id, "1").await.0["reason"].clone();
            assert!(["session_closed", "session_not_found"].iter().any(|gone| reason == *gone), "{reason}");
        }
        let arguments = json!({"session_id": of_another, "program": "(+ 1 2)"});
        assert_eq!(bench.call("you", "lisp_session_eval", arguments).await.1, "user=> 3");
    }
}

wherever_sessions_are! {
    async fn forgetting_and_inspecting(back: Back) {
        let Some((bench, _shared)) = bench_on(back, Profile::Slim, limits()) else { return };
        let id = bench.start("me").await;
        let empty = bench.inspect(&id, "overview").await;
        assert_eq!(empty["text"], ";; No tool calls made\n\n;; History:\n;   *1 nil\n;   *2 nil\n;   *3 nil");
        assert_eq!((&empty["usage"]["memory_bytes"], &empty["usage"]["history_bytes"]), (&json!(6), &json!(2)));
        bench.eval(&id, "(defn double \"Twice.\" [n] (* 2 n)) (def total 42) [1 2]").await;
        let seen = bench.inspect(&id, "memory").await;
        let text = seen["text"].as_str().unwrap_or_else(|| panic!("{seen}"));
        assert!(
            text.starts_with(";; === user/ (your prelude) ===\n(double [n])                  ; \"Twice.\"\n"),
            "{text}"
        );
        assert!(text.contains("\ntotal                         ; = integer, sample: 42\n"), "{text}");
        for line in ["a", "b", "c", "d"] {
            bench.eval(&id, &format!("(println \"{line}\")")).await;
        }
        assert_eq!(bench.inspect(&id, "prints").await["prints"], json!(["b", "c", "d"]));
        assert_eq!(bench.inspect(&id, "limits").await["top_bindings"][1], json!({"name": "total", "bytes": 3}));
        let order = json!({"session_id": id, "bindings": ["total", "none"], "clear": ["prints", "history"]});
        let (left, _) = bench.call("me", "lisp_session_forget", order).await;
        assert_eq!((&left["removed_bindings"], &left["stored_keys"]), (&json!(["total"]), &json!(["double"])));
        assert_eq!((&left["usage"]["print_entries"], &left["usage"]["history_count"]), (&json!(0), &json!(0)));
        for (arguments, message) in [
            (json!({"session_id": id, "clear": ["zzz"]}), "invalid clear target"),
            (json!({"session_id": id, "bindings": "x"}), "bindings must be an array of strings"),
            (json!({"session_id": 1}), "session_id must be a non-empty string"),
            (
                json!({"session_id": id, "binding": ["total"]}),
                "argument `binding` is not known; did you mean `bindings`?",
            ),
        ] {
            let (wrong, _) = bench.call("me", "lisp_session_forget", arguments).await;
            assert_eq!((&wrong["reason"], &wrong["message"]), (&json!("session_args_error"), &json!(message)));
        }
    }
}

#[tokio::test]
async fn ten_thousand_sessions_live_side_by_side() {
    let bench = bench(Profile::Slim, Sessions { max: 10_000, max_per_owner: 10_000, ..limits() });
    let mut ids = Vec::new();
    for _ in 0..10_000 {
        ids.push(bench.start("me").await);
    }
    for (n, id) in ids.iter().enumerate().step_by(1000) {
        assert_eq!(bench.eval(id, &format!("(def n {n}) n")).await.1, format!("user=> {n}\n[stored: n]"));
    }
    for (n, id) in ids.iter().enumerate().step_by(1000) {
        assert_eq!(bench.eval(id, "n").await.1, format!("user=> {n}"));
    }
    bench.resident().sweep();
    assert_eq!(bench.resident().count().0, 10_000);
}

wherever_sessions_are! {
    async fn a_mistyped_argument_is_refused_and_one_that_a_client_adds_is_ignored(back: Back) {
        let Some((bench, _shared)) = bench_on(back, Profile::Slim, limits()) else { return };
        let id = bench.start("me").await;
        for (tool, typed, meant) in [
            ("lisp_session_start", "titel", "title"),
            ("lisp_session_eval", "contxt", "context"),
            ("lisp_session_inspect", "veiw", "view"),
            ("lisp_session_forget", "bindngs", "bindings"),
            ("lisp_session_close", "reasn", "reason"),
        ] {
            let (told, _) = bench.call("me", tool, json!({"session_id": id, "program": "1", typed: 1})).await;
            let message = format!("argument `{typed}` is not known; did you mean `{meant}`?");
            assert_eq!(
                (&told["reason"], &told["message"]),
                (&json!("session_args_error"), &json!(message)),
                "{tool}"
            );
            if tool != "lisp_session_start" && tool != "lisp_session_close" {
                let given = json!({"session_id": id, "program": "1", "wait_for_previous": true});
                let (told, text) = bench.call("me", tool, given).await;
                assert!(told["status"] == "ok" || text.starts_with("user=> 1"), "{tool}: {text}");
            }
        }
    }
}

wherever_sessions_are! {
    async fn arguments_that_are_no_object_are_refused_before_anything_else(back: Back) {
        let Some((bench, _shared)) = bench_on(back, Profile::Slim, limits()) else { return };
        for tool in NAMES.iter().filter(|name| **name != "lisp_session_eval") {
            let others =
                [(json!([1]), "array"), (json!("x"), "string"), (json!(7), "integer"), (Value::Null, "null")];
            for (arguments, kind) in others {
                // For a server that is a call without arguments, as some clients send it.
                if back == Back::Named && arguments.is_null() {
                    continue;
                }
                let (structured, _) = bench.call("me", tool, arguments.clone()).await;
                let message = format!("arguments must be an object, got {kind}");
                let told = json!({"status":"error","reason":"session_args_error",
                                  "message":message,"feedback":message});
                assert_eq!(structured, told, "{tool} {arguments}");
            }
        }
        let (structured, _) = bench.call("me", "lisp_session_eval", json!([1])).await;
        assert_eq!(structured["message"], "session_id must be a non-empty string");
    }
}

wherever_sessions_are! {
    async fn secrets_in_titles_reasons_and_names_are_not_shown(back: Back) {
        let Some((bench, _shared)) = bench_on(back, Profile::Debug, limits()) else { return };
        let (started, _) = bench.call("me", "lisp_session_start", json!({"title":format!("of {SECRET}")})).await;
        let id = started["session_id"].as_str().unwrap().to_owned();
        let mut told = vec![bench.eval(&id, &format!("(def {SECRET} {{:a 1}})")).await.1];
        for view in ["overview", "memory", "prints", "tool_calls", "history", "limits"] {
            told.push(bench.inspect(&id, view).await.to_string());
        }
        told.push(bench.call("me", "lisp_session_list", json!({})).await.1);
        let named = json!({"session_id":id,"bindings":[SECRET]});
        let (forgotten, _) = bench.call("me", "lisp_session_forget", named).await;
        assert_eq!(forgotten["removed_bindings"], json!(["[REDACTED]"]));
        let closing = json!({"session_id":id,"reason":SECRET});
        told.push(bench.call("me", "lisp_session_close", closing).await.1);
        for text in told {
            assert!(!text.contains("hunter2"), "{text}");
        }
    }
}

wherever_sessions_are! {
    async fn a_thousand_long_titles_do_not_make_a_long_list(back: Back) {
        // Stores use real time: a busy machine takes a while to begin so many sessions.
        let hour = Duration::from_secs(3600);
        let settings = Sessions { max: 1000, max_per_owner: 1000, ttl: hour, idle: hour, ..limits() };
        let Some((bench, _shared)) = bench_on(back, Profile::Slim, settings) else { return };
        for _ in 0..1000 {
            bench.call("me", "lisp_session_start", json!({"title":"\u{1}".repeat(MAX_TITLE_BYTES + 1)})).await;
        }
        let (listed, text) = bench.call("me", "lisp_session_list", json!({})).await;
        assert_eq!((&listed["count"], &listed["truncated"]), (&json!(1000), &json!(true)));
        assert!(!listed["sessions"].as_array().unwrap().is_empty() && text.len() < 32_768);
    }
}
