use ptc_host::sync::Mutex;
use std::rc::Rc;

use bytes::Bytes;
use futures_util::future::LocalBoxFuture;
use ptc_agent::llm::{Llm, LlmError, LlmErrorKind, LlmRequest, LlmResponse, Message, ScriptedLlm, Usage};
use ptc_host::credentials::{Redactor, Secret};
use ptc_host::engine::{
    CallRecord, CallStatus, Desk, Engine, EngineOptions, EvalId, HostCalls, Limits, ResultOverview,
    RunContext,
};
use ptc_host::policy::{CurrentPolicy, Policy};
use ptc_mcp::Revision;
use ptc_mcp::json::{Value, json};
use ptc_mcp::message::id::RequestId;
use ptc_vm::machine::{HostRequest, Payload as CallPayload, Reply};

use super::*;
use crate::lisp_eval::ArgumentCaps;
use ptc_host::catalog::Catalog;
use ptc_protocol::principal::Principal;
use ptc_protocol::settings::Profile;
use std::time::Duration;

/// Upstreams of one server `fs`: `read` reads, `write` may do anything, `slow` never answers.
struct Fs(Mutex<Vec<String>>);

impl HostCalls for Fs {
    fn answer(
        self: Arc<Self>,
        run: Rc<RunContext>,
        request: HostRequest,
        _: Desk,
    ) -> LocalBoxFuture<'static, Reply> {
        let HostRequest::Upstream(call) = request else { return Box::pin(std::future::pending()) };
        let tool = call.tool.unwrap_or_default();
        self.0.lock().push(tool.clone());
        Box::pin(async move {
            if tool == "slow" {
                return std::future::pending().await;
            }
            let fails = tool == "fails";
            run.log.push(CallRecord {
                server: "fs".into(),
                tool,
                args: None,
                status: if fails { CallStatus::Error } else { CallStatus::Ok },
                offset_ms: 0,
                duration_ms: 3,
                reason: fails.then(|| "tool_error".into()),
                error: fails.then(|| "no such file".into()),
                result_bytes: (!fails).then_some(9120),
                oversize: false,
                auth: None,
                sent: None,
                http_status: None,
                overview: (!fails).then(|| ResultOverview {
                    value_kind: "text",
                    shape: "string bytes=9120".into(),
                    preview: "# Title".into(),
                }),
                looked_at: false,
                blocks: None,
                argument_note: None,
                answer_note: None,
                sample: None,
                beginning: None,
                seen_shape: None,
                page: None,
            });
            match fails {
                true => Reply::fault("tool_error", "no such file"),
                false => Reply::success(CallPayload::Json(Bytes::from_static(b"\"# Title\""))),
            }
        })
    }
}

/// The catalog that the stub represents, read by the reader of entries.
fn catalog() -> Catalog {
    let text = r#"{"upstreams": {"fs": {"transport": "mcp_stdio", "command": "true"}}}"#;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("u.json");
    std::fs::write(&path, text).unwrap();
    let env = ptc_host::config::ProcessEnv::default();
    let location = ptc_host::config::locate(Some(&path), None, &env).unwrap();
    let options = ptc_host::config::LoadOptions { env: &env, base_dir: None, own_exe: None };
    let config = ptc_host::config::UpstreamsConfig::load(&location, &options).unwrap().unwrap();
    let tools = vec![
        json!({"name": "read", "annotations": {"readOnlyHint": true}, "outputSchema": {"type": "object"}}),
        json!({"name": "write", "annotations": {"destructiveHint": true}}),
        json!({"name": "fails", "annotations": {"readOnlyHint": true}}),
        json!({"name": "odd"}),
    ];
    let entry = ptc_host::catalog::ServerEntry::loaded(&config.upstreams[0], tools, &Redactor::new());
    Catalog::new([entry])
}

fn known(summary: &str) -> SharedTaskCatalog {
    let (snapshot, summary) = ("SNAPSHOT".into(), summary.into());
    SharedTaskCatalog::new(TaskCatalog { catalog: catalog(), snapshot, summary })
}

fn options(model: Result<Arc<dyn Llm>, String>) -> TaskOptions {
    let redactor = Redactor::new();
    redactor.register([&Secret::new("hunter2-hunter2")]).unwrap();
    TaskOptions {
        programs: None,
        engine: Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap(),
        model,
        model_name: "openrouter:mock".into(),
        upstreams: Arc::new(Fs(Mutex::default())),
        known: known("- fs: read->:map"),
        known_to: None,
        planner: PlannerConfig { max_turns: 1, retry_turns: 0, prefix: None, suffix: None },
        limits: Limits::aggregator(),
        caps: ArgumentCaps { max_program_bytes: 65_536, max_context_bytes: 1000 },
        task_timeout: Duration::from_secs(45),
        planner_timeout: Duration::from_secs(15),
        max_output_tokens: 1200,
        max_result_bytes: 4096,
        include_program: true,
        read_only: true,
        allow_writes: false,
        profile: Profile::Slim,
        redactor,
        reports: true,
        traced: false,
        trace_prompts: false,
    }
}

fn program(source: &str) -> LlmResponse {
    let usage = Usage { input: 1184, output: 96, ..Usage::default() };
    LlmResponse { usage: Some(usage), ..LlmResponse::text(format!("```clojure\n{source}\n```")) }
}

async fn call(options: TaskOptions, arguments: Value) -> (Value, ToolReply) {
    call_as(Principal::process(), options, arguments).await
}

async fn call_as(caller: Principal, options: TaskOptions, arguments: Value) -> (Value, ToolReply) {
    let tool = LispTask::new(options);
    let schema: Value = serde_json::from_str(&tool.definition().output_schema.unwrap()).unwrap();
    let text = arguments.to_string();
    let context = CallContext {
        origin: None,
        trace: None,
        owner: ptc_protocol::principal::Owner::of(caller),
        request_id: RequestId::from_raw(Raw::parse("1").unwrap()).unwrap(),
        revision: Revision::LATEST_HANDSHAKE,
        eval_id: EvalId::new(),
        result_room: None,
        progress: None,
        audience: None,
        asked: Default::default(),
        permit: Default::default(),
    };
    let reply = match tool.prepare(Raw::parse(&text).ok(), &context) {
        Preparation::Done(reply) => reply,
        Preparation::Gated(work) | Preparation::Free(work) => work.await,
        Preparation::Full(full) => panic!("not let in: {full}"),
        Preparation::After(_) => panic!("nobody is asked here"),
    };
    let body: Value = serde_json::from_str(reply.structured.as_deref().unwrap()).unwrap();
    let validator = jsonschema::validator_for(&serde_json::to_value(&schema).unwrap()).unwrap();
    assert!(validator.is_valid(&serde_json::to_value(&body).unwrap()), "{body}");
    (body, reply)
}

async fn task(change: impl FnOnce(&mut TaskOptions), answers: Vec<LlmResponse>) -> (Value, Vec<LlmRequest>) {
    let llm = Arc::new(ScriptedLlm::new(answers));
    let mut options = options(Ok(llm.clone()));
    change(&mut options);
    let (body, _) = call(options, json!({"task": "Count the sections.", "context": {"path": "/r"}})).await;
    (body, llm.requests())
}

const READ: &str = "(def r (tool/call {:server \"fs\" :tool \"read\" :args {:path data/path}}))";

/// Notes for whom programs call.
#[derive(Default)]
struct Callers(Mutex<Vec<Option<Arc<str>>>>);

impl HostCalls for Callers {
    fn answer(
        self: Arc<Self>,
        run: Rc<RunContext>,
        _: HostRequest,
        _: Desk,
    ) -> LocalBoxFuture<'static, Reply> {
        self.0.lock().push(run.authority.as_ref().map(|authority| authority.caller.principal.clone()));
        Box::pin(async { Reply::success(CallPayload::Json(Bytes::from_static(b"1"))) })
    }
}

#[tokio::test]
async fn a_planner_knows_what_its_caller_sees_and_its_programs_have_the_callers_authority() {
    let file = r#"{"rules": [{"match": {"principal": "ann"}, "upstreams": {"fs": {"allow": ["read"]}}}]}"#;
    let policy = CurrentPolicy::new(Policy::parse(file).unwrap());
    let ann = Principal::named("ann").with_authority(Some(policy.of_name("ann")));
    let (llm, callers) =
        (Arc::new(ScriptedLlm::new(vec![program(&format!("{READ} (return 1)"))])), Arc::<Callers>::default());
    let mut options = options(Ok(llm.clone()));
    options.upstreams = callers.clone();
    options.known_to = Some(Arc::new(|authority, own| {
        let caller = &authority?.caller.principal;
        Some(TaskCatalog {
            snapshot: format!("SNAPSHOT of {caller}, own lists of {own:?}"),
            summary: format!("SUMMARY of {caller}, own lists of {own:?}"),
            ..TaskCatalog::default()
        })
    }));
    let tool = LispTask::new(options.clone());
    assert!(tool.definition().description.contains("- fs: read->:map"));
    let listed = tool.definition_for(ann.authority().unwrap()).description;
    assert!(listed.contains("SUMMARY of ann, own lists of None") && !listed.contains("fs: read"), "{listed}");
    let arguments = json!({"task": "Count.", "context": {"path": "/r"}});
    let (body, _) = call_as(ann, options, arguments).await;
    assert_eq!(body["status"], "ok", "{body}");
    let system = &llm.requests()[0].system;
    assert!(system.contains("SNAPSHOT of ann, own lists of Some(\"ann\")"), "{system}");
    assert_eq!(*callers.0.lock(), [Some("ann".into())]);
}

#[tokio::test]
async fn a_task_is_planned_run_and_answered() {
    let source = format!("{READ}\n(return (str (:ok r) \" hunter2-hunter2\"))");
    let (body, requests) = task(|_| {}, vec![program(&source)]).await;
    assert_eq!((&body["status"], &body["answer"]), (&json!("ok"), &json!("true [REDACTED]")));
    assert_eq!(body["structured_result"], body["answer"]);
    let call = &body["upstream_calls"][0];
    assert_eq!(call["args_hash"].as_str().unwrap().len(), 64);
    let mut shown = call.clone();
    shown.as_object_mut().unwrap().shift_remove("args_hash");
    assert_eq!(
        shown,
        json!({"server": "fs", "tool": "read", "status": "ok", "duration_ms": 3, "effect": "read", "turn": 1,
            "result_bytes": 9120, "oversize": false})
    );
    assert_eq!(body["upstream_results"][0]["shape"], "string bytes=9120");
    let planner = &body["planner"];
    assert_eq!((&planner["model"], &planner["calls"]), (&json!("openrouter:mock"), &json!(1)));
    assert_eq!(planner["tokens"], json!({"input": 1184, "output": 96}));
    let metrics = &body["ptc_metrics"];
    let final_bytes =
        json!({"answer": body["answer"], "structured_result": body["structured_result"]}).to_string().len();
    assert_eq!(metrics["final_result_bytes"], final_bytes);
    assert_eq!((&metrics["prints_bytes"], &metrics["upstream_result_bytes"]), (&json!(0), &json!(9120)));
    assert_eq!(metrics["server_side_llm"]["total_tokens"], 1280);
    assert_eq!(metrics["server_side_llm"]["prompt_bytes"], planner["prompt_bytes"]);
    assert_eq!(body["execution"]["turn_count"], 1);
    assert!(body["program"].as_str().unwrap().contains("[REDACTED]") && body["trace_id"].is_null());
    assert_eq!(requests[0].max_tokens, Some(1200));
    let user = requests[0].messages.iter().map(|message| match message {
        Message::User { content, .. } => content.as_str(),
        _ => "",
    });
    let user: String = user.collect();
    assert!(
        user.contains(
            "Task:\nCount the sections.\n\nContext JSON:\n{\"path\":\"/r\"}\n\nConstraints JSON:\n{}"
        )
    );
    assert!(user.contains("- path = \"/r\""), "{user}");
}

#[tokio::test]
async fn a_traced_task_names_its_trace_and_keeps_prompts_only_where_they_are_wanted() {
    for prompts in [false, true] {
        let llm: Arc<dyn Llm> =
            Arc::new(ScriptedLlm::new([program("(println \"hunter2-hunter2\") (return 5)")]));
        let options = TaskOptions { traced: true, trace_prompts: prompts, ..options(Ok(llm)) };
        let (body, reply) = call(options, json!({"task": "Count hunter2-hunter2."})).await;
        assert_eq!(body["trace_id"].as_str().map(str::len), Some(32));
        let report = reply.report.unwrap();
        let events = &report.events;
        let names: Vec<&str> = events.iter().map(|event| event.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "ptc_lisp.agentic_task.start",
                "ptc_runner.sub_agent.run.start",
                "ptc_runner.sub_agent.turn.start",
                "ptc_lisp.agentic_planner.start",
                "ptc_lisp.agentic_planner.stop",
                "ptc_runner.sub_agent.tool.start",
                "ptc_runner.sub_agent.tool.stop",
                "ptc_runner.sub_agent.turn.stop",
                "ptc_runner.sub_agent.run.stop",
                "ptc_lisp.agentic_task.stop",
            ]
        );
        let asked = &events[3];
        assert_eq!(asked.metadata["prompt_sha256"].as_str().map(str::len), Some(64));
        assert_eq!(asked.metadata["prompt_bytes"], body["planner"]["prompt_bytes"]);
        assert_eq!((&events[4].metadata["status"], events[4].duration_ms.is_some()), (&json!("ok"), true));
        let whole = format!("{events:?}");
        assert!(!whole.contains("hunter2-hunter2"), "{whole}");
        assert_eq!(asked.data.is_some(), prompts);
        assert_eq!(whole.contains("Count [REDACTED]"), prompts, "{whole}");
        assert_eq!(whole.contains("(return 5)"), prompts, "{whole}");
        assert_eq!(events[7].metadata["prints"], json!({"count": 1}));
    }
}

#[tokio::test]
async fn the_prompt_has_its_sections_in_order() {
    let change = |options: &mut TaskOptions| {
        options.planner = PlannerConfig {
            max_turns: 2,
            retry_turns: 0,
            prefix: Some("PREFIX".into()),
            suffix: Some("SUFFIX".into()),
        };
        options.allow_writes = true;
        options.known = known("- fs: odd->:unknown_content");
    };
    let (_, requests) = task(change, vec![program("(return 1)")]).await;
    let system = &requests[0].system;
    let marks = [
        "Answer with one PTC-Lisp program and nothing else.",
        "You write PTC-Lisp programs",
        "You may look first",
        "Some tools change things",
        "PREFIX",
        "subset of Clojure",
        "needs all three keys",
        ":unknown_content",
        "Upstream discovery:\nSNAPSHOT",
        "SUFFIX",
        "untrusted data",
    ];
    let places: Vec<usize> =
        marks.iter().map(|mark| system.find(mark).unwrap_or_else(|| panic!("{mark}"))).collect();
    assert!(places.is_sorted(), "{places:?}");
}

#[tokio::test]
async fn retries_read_why_and_what_the_calls_brought() {
    let retry = |options: &mut TaskOptions| options.planner.retry_turns = 1;
    let broken = format!("{READ}\n(return (inc (:value r)))");
    let (body, requests) = task(retry, vec![program(&broken), program("(return *1)")]).await;
    assert_eq!((&body["status"], &body["planner"]["calls"]), (&json!("ok"), &json!(2)));
    let Some(Message::User { content, .. }) = requests[1].messages.last() else { panic!("no feedback") };
    assert!(
        content.contains("runtime_error: arithmetic_error: ")
            && content.contains("- fs.read ok; string bytes=9120"),
        "{content}"
    );
    let (body, _) = task(retry, vec![program("(oops"), program("(oops")]).await;
    assert_eq!(body["reason"], "ptc_budget_exhausted");
    let (body, _) = task(|_| {}, vec![program("(oops")]).await;
    assert_eq!(body["reason"], "ptc_max_turns_exceeded");
    let message = body["message"].as_str().unwrap();
    assert!(
        message.starts_with("Exceeded max_turns limit of 1. The last program failed: parse_error: "),
        "{message}"
    );
    let (body, _) = task(|_| {}, vec![program("(+ 1 2)")]).await;
    assert_eq!(
        (&body["reason"], &body["message"]),
        (&json!("ptc_must_return_missing"), &json!("Final turn must call (return value) or (fail reason)"))
    );
}

#[tokio::test]
async fn nothing_goes_on_after_a_side_effect() {
    let two = |options: &mut TaskOptions| options.planner.max_turns = 2;
    for tool in ["write", "odd"] {
        let look = format!("(tool/call {{:server \"fs\" :tool \"{tool}\" :args {{}}}}) nil");
        let (body, requests) = task(two, vec![program(&look), program("(return 1)")]).await;
        assert_eq!(
            (&body["reason"], &body["message"]),
            (
                &json!("partial_side_effects"),
                &json!("Continuation blocked after write or unknown upstream side effects")
            )
        );
        assert_eq!(requests.len(), 1);
        assert_ne!(body["upstream_calls"][0]["effect"], "read");
    }
    let failing = "(tool/call {:server \"fs\" :tool \"write\" :args {}}) (fail \"half done\")";
    let (body, _) = task(|_| {}, vec![program(failing)]).await;
    assert_eq!(
        (&body["reason"], &body["message"]),
        (&json!("partial_side_effects"), &json!("\"half done\""))
    );
}

#[tokio::test]
async fn an_answer_in_spite_of_failed_calls_names_them() {
    let unseen = "(tool/call {:server \"fs\" :tool \"fails\" :args {}}) (return 5)";
    let (body, _) = task(|_| {}, vec![program(unseen)]).await;
    assert_eq!((&body["status"], &body["answer"]), (&json!("ok"), &json!("5")));
    assert_eq!(body["notes"], json!(["1 of 1 upstream call failed: fs.fails tool_error (1)"]));
}

#[tokio::test]
async fn failures_have_their_reasons() {
    let failing = "(let [r (tool/call {:server \"fs\" :tool \"fails\" :args {}})] (fail (:message r)))";
    let (body, _) = task(|_| {}, vec![program(failing)]).await;
    assert_eq!((&body["reason"], &body["message"]), (&json!("agent_failed"), &json!("\"no such file\"")));
    assert!(body["feedback"].as_str().unwrap().contains("- fs.fails error: tool_error no such file"));
    assert_eq!(body["upstream_calls"][0]["status"], "error");
    assert_eq!(body["ptc_metrics"]["payload_reduction_ratio"], Value::Null);

    let (body, _) = task(|_| {}, vec![LlmResponse::text(" ")]).await;
    assert_eq!(
        (&body["reason"], &body["message"]),
        (&json!("planner_error"), &json!("the planner returned no text"))
    );
    assert_eq!(body["ptc_metrics"]["server_side_llm"]["provider_reported"], false);

    let refuses = |_: LlmRequest| async {
        Err::<LlmResponse, _>(LlmError::new(LlmErrorKind::Auth, "status 401: bad key hunter2-hunter2"))
    };
    let (body, _) = call(options(Ok(Arc::new(refuses))), json!({"task": "t"})).await;
    assert_eq!(
        (&body["reason"], &body["message"]),
        (&json!("planner_error"), &json!("status 401: bad key [REDACTED]"))
    );

    let none = Err("OPENROUTER_API_KEY is required for OpenRouter planner models".to_owned());
    let (body, _) = call(options(none), json!({"task": "t"})).await;
    assert_eq!(body["reason"], "agentic_config_error");
    let (body, reply) = call(options(Err(String::new())), json!({"task": 1})).await;
    assert_eq!(body["message"], "argument `task` must be a string, got integer");
    assert_eq!((reply.is_error, reply.reason().as_deref()), (true, Some("args_error")));
}

#[tokio::test(start_paused = true)]
async fn time_is_kept_by_the_task_and_by_each_call_of_the_planner() {
    let mute = || -> Arc<dyn Llm> {
        Arc::new(|_: LlmRequest| std::future::pending::<Result<LlmResponse, LlmError>>())
    };
    let (body, _) = call(options(Ok(mute())), json!({"task": "t"})).await;
    assert_eq!(
        (&body["reason"], &body["message"]),
        (&json!("planner_timeout"), &json!("planner exceeded 15000ms timeout"))
    );
    let short = TaskOptions { task_timeout: Duration::from_secs(5), ..options(Ok(mute())) };
    let (body, _) = call(short, json!({"task": "t"})).await;
    assert_eq!(
        (&body["reason"], &body["message"]),
        (&json!("budget_exceeded"), &json!("agentic task budget exceeded"))
    );
    assert_eq!(body["planner"]["calls"], 1);
    // A client that keeps the task's deadline, as those of real endpoints do, and one that has a limit of its own.
    let keeps = |request: LlmRequest| async move {
        tokio::time::sleep_until(request.deadline.unwrap()).await;
        Err::<LlmResponse, _>(LlmError::new(LlmErrorKind::Timeout, "the deadline passed"))
    };
    let short = TaskOptions { task_timeout: Duration::from_millis(303), ..options(Ok(Arc::new(keeps))) };
    let (body, _) = call(short, json!({"task": "t"})).await;
    assert_eq!(
        (&body["reason"], &body["message"]),
        (&json!("budget_exceeded"), &json!("agentic task budget exceeded"))
    );
    let strict = |_: LlmRequest| async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        Err::<LlmResponse, _>(LlmError::new(LlmErrorKind::Timeout, "no answer within 1000 ms"))
    };
    let (body, _) = call(options(Ok(Arc::new(strict))), json!({"task": "t"})).await;
    assert_eq!(
        (&body["reason"], &body["message"]),
        (&json!("planner_timeout"), &json!("no answer within 1000 ms"))
    );
}

#[tokio::test]
async fn an_interrupted_call_stays_on_the_ledger() {
    let slow = "(tool/call {:server \"fs\" :tool \"slow\" :args {:a 1}})";
    let interrupted = async |timeout_ms: u64| {
        let timeout = Duration::from_millis(timeout_ms);
        let limits = Limits { timeout, ..Limits::aggregator() };
        task(|options| options.limits = limits, vec![program(slow)]).await.0
    };
    let mut timeout_ms = 50;
    let mut body = interrupted(timeout_ms).await;
    // On a busy machine the time may be over before the program has made its call.
    while body["upstream_calls"] == json!([]) && timeout_ms < 60_000 {
        timeout_ms *= 4;
        body = interrupted(timeout_ms).await;
    }
    // The effect of the call is unknown, so it may have changed something.
    assert_eq!(body["reason"], "partial_side_effects", "{body}");
    let sentence = format!("execution exceeded {timeout_ms}ms limit");
    assert!(body["message"].as_str().unwrap().contains(&sentence), "{body}");
    let call = &body["upstream_calls"][0];
    assert_eq!((&call["status"], &call["effect"]), (&json!("attempted"), &json!("unknown")));
}

#[tokio::test]
async fn constraints_and_caps_shape_the_answer() {
    let llm: Arc<dyn Llm> =
        Arc::new(ScriptedLlm::new([program("(return (map (fn [n] {:id n :x n}) (range 500)))")]));
    let options = TaskOptions { max_result_bytes: 60, include_program: false, ..options(Ok(llm)) };
    let arguments =
        json!({"task": "t", "constraints": {"max_items": 400, "preferred_fields": ["id"], "tone": "kind"}});
    let (body, reply) = call(options, arguments).await;
    assert!(body["answer"].as_str().unwrap().starts_with("[{\"id\":0},{\"id\":1}"));
    assert_eq!(body["answer"].as_str().unwrap().len(), 60);
    assert_eq!(body["structured_result"], body["answer"]);
    assert_eq!(
        body["warnings"],
        json!([{"code": "unsupported_constraint", "detail": "tone"}, {"code": "max_result_bytes", "detail": 60}])
    );
    assert_eq!(body["execution"]["truncated"], true);
    assert!(body.get("program").is_none());
    let report = reply.report.unwrap();
    assert_eq!(report.planner.map(|planner| (planner.calls, planner.turns)), Some((1, 1)));
    assert!(report.reason().is_none());
}
