//! The tools over an evaluator whose programs end on command.

use ptc_host::sync::Mutex;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use ptc_host::credentials::Redactor;
use ptc_host::engine::{Engine, EngineOptions, EvalFuture, EvalId, EvalRequest, Limits};
use ptc_host::state::StoreLimits;
use ptc_mcp::Revision;
use ptc_mcp::json::{Raw, Value, json};
use ptc_mcp::message::id::RequestId;
use tokio::sync::oneshot;

use crate::lisp_eval::{ArgumentCaps, EvalOptions, Evaluator, LispEval};
use crate::shaping::Shaper;
use crate::task_desk;
use crate::testing::assert_fits;
use ptc_protocol::Elicitation;
use ptc_protocol::concurrency_limiter::{CallLimits, ConcurrencyLimiter};
use ptc_protocol::principal::{Owner, Principal};
use ptc_protocol::server_state::ServerState;
use ptc_protocol::settings::{self, Profile};
use ptc_protocol::tasks::{TaskAnswerError, TaskClient, TaskDesk, TaskError};
use ptc_protocol::tool::{
    CallContext, ClientReach, Instead, Preparation, ReplyText, Task, TaskState, Tool, ToolReply,
};
use ptc_runs::Runs;

/// Runs each program when it is released.
struct Late {
    engine: Engine,
    waiting: Mutex<Vec<oneshot::Sender<()>>>,
    timeout: Mutex<Option<Duration>>,
}

impl Evaluator for Late {
    fn eval(&self, request: EvalRequest) -> EvalFuture {
        let (go_on, told) = oneshot::channel();
        self.waiting.lock().push(go_on);
        *self.timeout.lock() = Some(request.limits.timeout);
        let engine = self.engine.clone();
        Box::pin(async move {
            told.await.expect("somebody tells it");
            engine.eval(request).await
        })
    }
}

struct Bench {
    late: Arc<Late>,
    tools: Vec<Box<dyn Tool>>,
    desk: Arc<dyn TaskDesk>,
}

fn bench(profile: Profile, calls: usize, answer_within: Option<Duration>) -> Bench {
    let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap();
    let limiter = ConcurrencyLimiter::new(CallLimits::shared(calls));
    let settings = settings::Runs {
        long: true,
        keeps: false,
        page_wait: Duration::from_millis(20),
        waiting_ttl: Duration::from_secs(3600),
        answer_within,
        timeout: Duration::from_secs(77),
        ttl: Duration::from_secs(600),
        max: 8,
        max_per_owner: 8,
        max_bytes_per_owner: 1 << 20,
    };
    let (state, ordinary) = (ServerState::none(), Duration::from_secs(1));
    let runs = Runs::new(
        settings,
        ordinary,
        &state,
        StoreLimits::default(),
        engine.clone(),
        limiter,
        Redactor::new(),
    );
    let options = EvalOptions {
        limits: Limits::plain(),
        caps: ArgumentCaps { max_program_bytes: 1000, max_context_bytes: 1000 },
        shaper: Shaper::new(profile, 1000),
        upstreams: None,
        max_attached_bytes: 0,
        fits_client: false,
        programs: None,
        card: None,
        read_only: false,
        redactor: Redactor::new(),
        reports: false,
        tells_of_ask: false,
        asks: None,
        runs: Some(runs),
        recent: None,
    };
    let late = Arc::new(Late { engine, waiting: Mutex::default(), timeout: Mutex::default() });
    let mut tools: Vec<Box<dyn Tool>> = vec![Box::new(LispEval::new(late.clone(), options.clone()))];
    tools.extend(super::tools(&options));
    Bench { late, tools, desk: task_desk(&options).unwrap() }
}

impl Bench {
    fn prepare(&self, tool: &str, arguments: &Value) -> Preparation {
        self.prepare_as(tool, arguments, ClientReach::default())
    }

    fn prepare_as(&self, tool: &str, arguments: &Value, asked: ClientReach) -> Preparation {
        let context = CallContext {
            origin: None,
            trace: None,
            owner: Owner::of(Principal::process()),
            request_id: RequestId::from_raw(Raw::parse("1").unwrap()).unwrap(),
            revision: Revision::LATEST_HANDSHAKE,
            eval_id: EvalId::new(),
            result_room: None,
            progress: None,
            audience: None,
            asked,
            permit: Default::default(),
        };
        self.tool(tool).prepare(Some(Raw::parse(&arguments.to_string()).unwrap()), &context)
    }

    fn tool(&self, name: &str) -> &dyn Tool {
        &**self.tools.iter().find(|tool| tool.definition().name == name).unwrap()
    }

    async fn call(&self, tool: &str, arguments: Value) -> ToolReply {
        let reply = match self.prepare(tool, &arguments) {
            Preparation::Done(reply) => reply,
            Preparation::Gated(work) | Preparation::Free(work) => work.await,
            Preparation::Full(full) => panic!("not let in: {full}"),
            Preparation::After(_) => panic!("nobody is asked here"),
        };
        assert_fits(&self.tool(tool).definition(), &reply);
        reply
    }

    /// The task that a program becomes.
    async fn task(&self, program: &str) -> Task {
        let asked = ClientReach { takes_tasks: true, ..ClientReach::default() };
        let arguments = json!({"program": program, "wait_ms": 0});
        let Preparation::Free(work) = self.prepare_as("lisp_eval", &arguments, asked) else {
            panic!("another")
        };
        match work.await.instead.as_deref() {
            Some(Instead::Task(task)) => task.clone(),
            other => panic!("no task: {other:?}"),
        }
    }

    async fn seen(&self, principal: Principal, id: &str) -> Result<Task, TaskError> {
        self.desk.get(asking(principal), id.to_owned()).await
    }

    /// The task once its program does not run any more.
    async fn ended(&self, id: &str) -> Task {
        loop {
            let task = self.seen(Principal::process(), id).await.unwrap();
            if !matches!(task.state, TaskState::Working) {
                return task;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    fn go_on(&self) {
        self.late.waiting.lock().drain(..).for_each(|told| {
            // It may have been cancelled.
            let _ = told.send(());
        });
    }
}

fn asking(principal: Principal) -> TaskClient {
    TaskClient { principal, modes: Elicitation::NONE }
}

fn structured(reply: &ToolReply) -> Value {
    serde_json::from_str(reply.structured.as_deref().unwrap()).unwrap()
}

#[tokio::test]
async fn a_program_that_takes_longer_is_waited_for_under_its_id() {
    for profile in [Profile::Structured, Profile::Debug] {
        let bench = bench(profile, 4, None);
        let program = json!({"program": "(+ 1 2)", "wait_ms": 0});
        let running = structured(&bench.call("lisp_eval", program).await);
        assert_eq!((&running["status"], &running["upstream_calls"]), (&json!("running"), &json!(0)));
        assert_eq!(*bench.late.timeout.lock(), Some(Duration::from_secs(77)));
        let run = json!({"run_id": running["run_id"], "wait_ms": 0});
        assert_eq!(structured(&bench.call("lisp_wait", run.clone()).await)["status"], "running");
        bench.go_on();
        let waited = json!({"run_id": running["run_id"]});
        let reply = structured(&bench.call("lisp_wait", waited.clone()).await);
        assert_eq!((&reply["status"], &reply["result"]), (&json!("ok"), &json!("user=> 3")));
        // The end is reported again, and the run cannot be cancelled any more.
        assert_eq!(structured(&bench.call("lisp_wait", run).await), reply);
        assert_eq!(structured(&bench.call("lisp_cancel", waited).await), reply);
    }
}

#[tokio::test]
async fn the_operator_says_how_long_a_client_waits_that_does_not() {
    let bench = bench(Profile::Slim, 4, Some(Duration::from_millis(1)));
    let reply = bench.call("lisp_eval", json!({"program": "1"})).await;
    let ReplyText::Plain(text) = &reply.text else { panic!("mirrored") };
    assert!(text.starts_with("running: run_") && text.contains(" s, 0 upstream calls made\n"), "{text}");
}

#[tokio::test]
async fn a_program_that_is_fast_enough_is_a_call_like_any_other() {
    let bench = bench(Profile::Structured, 4, None);
    let arguments = json!({"program": "(+ 1 2)", "wait_ms": 50_000});
    let Preparation::Free(work) = bench.prepare("lisp_eval", &arguments) else { panic!("another") };
    bench.go_on();
    assert_eq!(structured(&work.await)["result"], "user=> 3");
    let Preparation::Gated(_) = bench.prepare("lisp_eval", &json!({"program": "1"})) else {
        panic!("a call without a time is none of ours")
    };
    assert_eq!(*bench.late.timeout.lock(), Some(Limits::plain().timeout));
}

#[tokio::test]
async fn a_run_is_stopped() {
    let bench = bench(Profile::Structured, 4, None);
    let running = structured(&bench.call("lisp_eval", json!({"program": "1", "wait_ms": 0})).await);
    let run = json!({"run_id": running["run_id"]});
    let stopped = bench.call("lisp_cancel", run.clone()).await;
    assert!(!stopped.is_error);
    assert_eq!(structured(&stopped), json!({"status": "cancelled", "run_id": running["run_id"]}));
    let late = bench.call("lisp_wait", run).await;
    assert!(late.is_error && structured(&late)["reason"] == "cancelled", "{late:?}");
}

#[tokio::test]
async fn wrong_arguments_are_told() {
    let bench = bench(Profile::Structured, 4, None);
    let wrong = bench.call("lisp_eval", json!({"program": "1", "wait_ms": 60_000})).await;
    let wanted = "argument `wait_ms` must be an integer from 0 to 50000";
    assert_eq!(
        (&structured(&wrong)["reason"], &structured(&wrong)["message"]),
        (&json!("args_error"), &json!(wanted))
    );
    for tool in ["lisp_wait", "lisp_cancel"] {
        let missing = structured(&bench.call(tool, json!({})).await);
        assert_eq!(missing["message"], "argument `run_id` is required");
        let unknown = structured(&bench.call(tool, json!({"run_id": "run_x"})).await);
        assert_eq!(
            (&unknown["reason"], &unknown["message"]),
            (&json!("run_not_found"), &json!("run not found"))
        );
    }
}

#[tokio::test]
async fn a_program_that_runs_on_holds_its_permit() {
    let bench = bench(Profile::Structured, 1, None);
    let running = structured(&bench.call("lisp_eval", json!({"program": "1", "wait_ms": 0})).await);
    let second = json!({"program": "1", "wait_ms": 0});
    assert!(matches!(bench.prepare("lisp_eval", &second), Preparation::Full(_)));
    bench.go_on();
    bench.call("lisp_wait", json!({"run_id": running["run_id"]})).await;
    assert!(matches!(bench.prepare("lisp_eval", &second), Preparation::Free(_)));
}

#[tokio::test]
async fn a_task_is_nobodys_but_its_callers() {
    let bench = bench(Profile::Structured, 4, None);
    let id = bench.task("1").await.id;
    let (other, name) = (Principal::named("other"), || id.to_string());
    assert_eq!(bench.seen(other.clone(), &id).await.unwrap_err(), TaskError::Unknown);
    assert_eq!(bench.desk.cancel(asking(other.clone()), name()).await, Err(TaskError::Unknown));
    let update = bench.desk.update(asking(other.clone()), name(), "{}".to_owned());
    assert_eq!(update.await, Err(TaskAnswerError::Task(TaskError::Unknown)));
    let (own, _) = bench.desk.listen(asking(other), vec![name()]).await;
    assert!(own.is_empty(), "{own:?}");
    let (own, _) = bench.desk.listen(asking(Principal::process()), vec![name(), "run_x".to_owned()]).await;
    assert_eq!(own, [name()]);
    assert!(matches!(bench.seen(Principal::process(), &id).await.unwrap().state, TaskState::Working));
}

#[tokio::test]
async fn a_task_is_told_to_be_kept_as_long_as_its_program_may_run_and_its_end_is_kept() {
    let bench = bench(Profile::Structured, 4, None);
    let task = bench.task("(+ 1 2)").await;
    assert_eq!(task.ttl_ms, 677_000);
    bench.go_on();
    let ended = bench.ended(&task.id).await;
    let TaskState::Completed(reply) = &ended.state else { panic!("{ended:?}") };
    assert_eq!(structured(reply)["result"], "user=> 3");
    assert_eq!((ended.ttl_ms, ended.created_ms), (677_000, task.created_ms));
    // A client that waits for the run is answered as before.
    let waited = bench.call("lisp_wait", json!({"run_id": &*task.id})).await;
    assert_eq!(structured(&waited), structured(reply));
}

#[tokio::test]
async fn a_program_that_brings_its_server_down_is_a_failed_task() {
    let bench = bench(Profile::Structured, 4, None);
    let task = bench.task("1").await;
    // No one releases it any more.
    bench.late.waiting.lock().clear();
    let ended = bench.ended(&task.id).await;
    let TaskState::Failed(error) = &ended.state else { panic!("{ended:?}") };
    assert_eq!((error.code, ended.message.as_deref()), (-32603, Some("Internal error")));
}

#[tokio::test]
async fn a_channel_tells_what_a_task_is_and_what_becomes_of_it() {
    let bench = bench(Profile::Structured, 4, None);
    let (stopped, done) = (bench.task("1").await.id, bench.task("(+ 1 2)").await.id);
    let ids = vec![stopped.to_string(), done.to_string()];
    let (own, mut news) = bench.desk.listen(asking(Principal::process()), ids.clone()).await;
    assert_eq!(own, ids);
    for id in &ids {
        let task = news.next().await.unwrap();
        assert!(*task.id == **id && matches!(task.state, TaskState::Working), "{task:?}");
    }
    bench.desk.cancel(asking(Principal::process()), stopped.to_string()).await.unwrap();
    let task = news.next().await.unwrap();
    assert!(task.id == stopped && matches!(task.state, TaskState::Cancelled), "{task:?}");
    bench.go_on();
    let task = news.next().await.unwrap();
    assert!(task.id == done && matches!(task.state, TaskState::Completed(_)), "{task:?}");
    assert!(news.next().await.is_none(), "all have ended");
}
