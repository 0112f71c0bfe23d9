//! What it costs that a program waits for people (waiting.md 11): it is written, sealed for its client, opened and read again. By the
//! functions of the host and of the server that calls use, on the thread of a worker.

use criterion::{Criterion, criterion_group, criterion_main};
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, LocalBoxFuture};
use ptc_host::engine::measuring::AskingProgram;
use ptc_host::engine::{
    Asker, Desk, Engine, EngineOptions, EvalRequest, HostCalls, Limits, MemoryBudget, Resume, RunContext,
    SavedCall, Verdict,
};
use ptc_host::questions::{Answer, Form, Level, Mode, PendingQuestion, Question, QuestionId, QuestionKind};
use ptc_server::tools::channels::measuring::Travel;
use ptc_vm::graph::WireWriter;
use ptc_vm::machine::{HostRequest, Payload, Reply};
use serde_json::json;
use std::hint::black_box;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// As the command allocates.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// One call in a `map` asks.
const SMALL: &str = r#"(map (fn [region] (:value (tool/call {:server "shop" :tool "close" :args {:region region}}))) ["eu"])"#;
/// The same with rows of an upstream in the heap, which the program has looked into.
const ROWS: &str = r#"
(let [rows (:value (tool/call {:server "shop" :tool "rows" :args {}}))
      paid (filter (fn [row] (= "paid" (get row "status"))) rows)
      closed (map (fn [region] (:value (tool/call {:server "shop" :tool "close" :args {:region region}}))) ["eu"])]
  [(count rows) (count paid) closed])"#;
/// Bytes of these rows.
const ROW_BYTES: usize = 1 << 20;
/// Characters of a sealed state of the small program, at most (waiting.md 11).
const MOST_SEALED: usize = 4 << 10;
/// The person's answer.
const RESPONSES: &str = r#"{"q1":{"action":"accept","content":{"decision":"allow"}}}"#;

/// Upstreams of which one tool asks before it is called, and another one has rows.
struct Shop {
    rows: Vec<u8>,
}

impl HostCalls for Shop {
    fn answer(
        self: Arc<Self>,
        _: Rc<RunContext>,
        request: HostRequest,
        desk: Desk,
    ) -> LocalBoxFuture<'static, Reply> {
        let mut kept = WireWriter::new();
        request.write(&mut kept);
        let HostRequest::Upstream(call) = request else { panic!("a call of a tool: {request:?}") };
        if call.tool.as_deref() == Ok("rows") {
            let rows = self.rows.clone();
            return async move { Reply::success(Payload::Json(rows.into())) }.boxed_local();
        }
        let form = r#"{"type":"object","properties":{"decision":{"type":"string","enum":["allow","refuse"]}},"required":["decision"]}"#;
        let question = Question {
            kind: QuestionKind::Approval,
            message: "Allow 1 call(s) of close at shop? {\"region\":\"eu\"}".to_owned(),
            mode: Mode::Form(Form::parse(form).expect("a form")),
            level: Level::Client,
            upstream: Some("shop".into()),
            calls: Vec::new(),
            policy_revision: "0".repeat(64),
            binding: [7; 32],
        };
        async move {
            let keep = Some(SavedCall { request: kept.into_bytes(), progress: None });
            match desk.ask(vec![question], keep).await.pop() {
                Some(Ok(_)) => Reply::success(Payload::Json(b"\"closed\"".to_vec().into())),
                other => panic!("it is answered: {other:?}"),
            }
        }
        .boxed_local()
    }
}

/// Has programs leave.
struct Away;

impl Asker for Away {
    fn ask(&self, _: Vec<PendingQuestion>) -> BoxFuture<'static, Verdict> {
        std::future::ready(Verdict::Leave).boxed()
    }

    fn hold(&self, _: Vec<PendingQuestion>, why: String) -> BoxFuture<'static, Vec<(QuestionId, Answer)>> {
        panic!("it can leave: {why}")
    }
}

/// Programs of which some wait.
#[derive(Clone)]
struct World {
    runtime: Rc<tokio::runtime::Runtime>,
    engine: Engine,
    travel: Arc<Travel>,
    shop: Arc<Shop>,
}

impl World {
    fn new() -> World {
        let row = |number: usize| {
            let status = ["paid", "open", "sent"][number % 3];
            json!({"id": number, "customer": format!("customer {}", number * 7919 % 1000), "status": status,
                   "total": (number * 31 % 9973) as f64 / 100.0, "items": [number % 5, number % 11]})
            .to_string()
        };
        let mut rows = String::from("[");
        for number in 0.. {
            rows.push_str(&row(number));
            if rows.len() >= ROW_BYTES {
                break;
            }
            rows.push(',');
        }
        rows.push(']');
        let memory = Some(MemoryBudget::new(1 << 32));
        World {
            runtime: Rc::new(tokio::runtime::Builder::new_current_thread().build().expect("a runtime")),
            engine: Engine::start(EngineOptions { threads: 1, memory, ..EngineOptions::default() })
                .expect("a thread"),
            travel: Arc::new(Travel::new(16 << 20).expect("a secret")),
            shop: Arc::new(Shop { rows: rows.into_bytes() }),
        }
    }

    fn request(&self, program: &str) -> EvalRequest {
        let mut request = EvalRequest::new(program);
        request.limits = Limits { timeout: Duration::from_secs(3600), ..Limits::aggregator() };
        request.upstreams = Some(self.shop.clone());
        request.asker = Some(Arc::new(Away));
        request
    }

    /// Has `work` done with `program` where it waits.
    fn with<R: Send + 'static>(
        &self,
        program: &str,
        work: impl FnOnce(&AskingProgram) -> R + Send + 'static,
    ) -> R {
        match self.runtime.block_on(self.engine.with_waiting(self.request(program), work)) {
            Ok(done) => done,
            Err(outcome) => panic!("{program} waits: {:?}", outcome.map(|outcome| outcome.result)),
        }
    }

    /// What the program that comes back answers.
    fn value(&self, program: &str, resume: Resume) -> String {
        let request = EvalRequest { resume: Some(Arc::new(resume)), ..self.request(program) };
        self.runtime.block_on(self.engine.eval(request)).result.expect("a value").text
    }
}

/// The arguments of the call, as its client sends them both times.
fn arguments(program: &str) -> String {
    json!({"program": program}).to_string()
}

/// The time of `work`, so many times over.
fn timed(times: u64, mut work: impl FnMut()) -> Duration {
    let began = Instant::now();
    (0..times).for_each(|_| work());
    began.elapsed()
}

fn round(waiting: &AskingProgram, travel: &Travel, arguments: &str) {
    let suspended = waiting.leave().expect("it leaves");
    let state = travel.send_off(arguments, &suspended).expect("it travels");
    let resume = travel.bring_back(arguments, &state, RESPONSES).expect("it comes back");
    black_box(waiting.restore(&resume).expect("it is read"));
}

fn waiting(c: &mut Criterion) {
    let world = World::new();
    let mut group = c.benchmark_group("waiting");
    for (name, program, wanted) in [
        ("small", SMALL, r#"["closed"]"#.to_owned()),
        ("rows", ROWS, format!("[{} {} [\"closed\"]]", rows_of(&world), rows_of(&world).div_ceil(3))),
    ] {
        let arguments: Arc<str> = arguments(program).into();
        let suspended = world.with(program, |waiting| waiting.leave().expect("it leaves"));
        let state = world.travel.send_off(&arguments, &suspended).expect("it travels");
        println!("waiting/{name}: {} bytes of snapshot, {} sealed", suspended.snapshot.len(), state.len());
        assert!(name != "small" || state.len() <= MOST_SEALED, "{} characters sealed", state.len());
        let resume = world.travel.bring_back(&arguments, &state, RESPONSES).expect("it comes back");
        assert_eq!(world.value(program, resume.clone()), wanted, "it goes on");
        let (suspended, state, resume) = (Arc::new(suspended), Arc::<str>::from(state), Arc::new(resume));
        group.bench_function(format!("{name}/round"), |b| {
            b.iter_custom(|times| {
                let (travel, arguments) = (world.travel.clone(), arguments.clone());
                world.with(program, move |waiting| timed(times, || round(waiting, &travel, &arguments)))
            });
        });
        group.bench_function(format!("{name}/snapshot"), |b| {
            b.iter_custom(|times| {
                world.with(program, move |waiting| timed(times, || drop(black_box(waiting.leave()))))
            });
        });
        group.bench_function(format!("{name}/seal"), |b| {
            b.iter(|| world.travel.send_off(&arguments, &suspended));
        });
        group.bench_function(format!("{name}/open"), |b| {
            b.iter(|| world.travel.bring_back(&arguments, &state, RESPONSES));
        });
        let restored = |forgets: bool, times| {
            let resume = resume.clone();
            world.with(program, move |waiting| {
                timed(times, || {
                    if forgets {
                        waiting.forget_programs();
                    }
                    black_box(waiting.restore(&resume).expect("it is read"));
                })
            })
        };
        group.bench_function(format!("{name}/restore"), |b| {
            b.iter_custom(|times| restored(false, times));
        });
        group.bench_function(format!("{name}/restore_compiled_again"), |b| {
            b.iter_custom(|times| restored(true, times));
        });
    }
    group.finish();
}

/// How many rows there are.
fn rows_of(world: &World) -> usize {
    world.shop.rows.split(|byte| *byte == b'{').count() - 1
}

criterion_group!(benches, waiting);
criterion_main!(benches);
