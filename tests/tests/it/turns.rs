//! Programs in the middle of a builtin leave the thread to others: on an engine with one worker, programs that come later are
//! answered while one that never ends works. Nothing here looks at a clock: were the worker held, nobody would be answered
//! before the endless program has ended.

use ptc_host::engine::{AppTools, Engine, EngineOptions, EvalOutcome, EvalRequest, Limits, MemoryBudget};
use ptc_test_support::wait_until_async;
use ptc_vm::machine::{Payload, Reply};
use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// Long, and given up at the end of the test.
fn endless(program: String, reached: &Arc<Reached>) -> EvalRequest {
    let limits = Limits {
        timeout: Duration::from_secs(600),
        steps: u64::MAX >> 1,
        memory_bytes: 64 << 20,
        ..Limits::plain()
    };
    EvalRequest { limits, tools: Some(reached.clone()), ..EvalRequest::new(program) }
}

/// The tool `tool/here`, by which a program tells how far it has come.
#[derive(Default)]
struct Reached(Notify);

impl AppTools for Reached {
    fn names(&self) -> Vec<String> {
        vec!["here".to_owned()]
    }

    fn call(&self, _: &str, _: Vec<u8>) -> Pin<Box<dyn Future<Output = Reply> + Send>> {
        self.0.notify_one();
        Box::pin(async { Reply::Value(Payload::None) })
    }
}

/// Each works for many seconds on little memory, in one call of one builtin.
const ENDLESS_BUILTINS: &[(&str, &str)] = &[
    ("sort", r#"(sort (vec (take 200000 (cycle [(str s "a") (str s "b")]))))"#),
    ("upper-case", "(mapv (fn [_] (count (str/upper-case s))) (range 1000000))"),
    ("distinct", r#"(distinct (map (fn [n] [s n]) (range 100000)))"#),
    ("frequencies", r#"(frequencies (mapv (fn [n] [s (mod n 7)]) (range 100000)))"#),
    ("group-by", r#"(group-by identity (mapv (fn [n] [s (mod n 7)]) (range 100000)))"#),
    ("compare", r#"(sort-by identity compare (vec (take 200000 (cycle [(str s "a") (str s "b")]))))"#),
    ("str of shared trees", "(mapv (fn [_] (count (str small))) (range 1000000))"),
    ("json of shared trees", "(mapv (fn [_] (count (json/generate-string small))) (range 1000000))"),
    ("re-find", r#"(mapv (fn [_] (re-find #"(?=(a|aa)+c)b" "aaaaaaaaaaaaaaaaaa")) (range 1000000))"#),
    ("a set of one large integer", "(set (vec (repeat 1000000 (bit-shift-left 1 1000000))))"),
    ("last of one grapheme", r#"(mapv (fn [_] (last accents)) (range 1000000))"#),
    ("into a set", r#"(into #{} (mapv (fn [n] [s (mod n 7)]) (range 100000)))"#),
];

/// Makes the text that most of them need.
const TEXT: &str = r#"(def s (apply str (repeat 5000 "0123456789")))"#;
/// Makes what the others need, which takes longer.
const OTHERS: &str = r#"(def accents (str "e" (apply str (repeat 100000 "\u0301"))))
  (def small (reduce (fn [inner _] [inner inner]) 1 (range 15)))"#;

fn engine() -> Engine {
    Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).expect("a worker thread")
}

fn text(outcome: EvalOutcome) -> String {
    outcome.result.expect("a value").text
}

/// Starts an endless program and waits until it has come to `(tool/here {})`.
async fn start(engine: &Engine, request: EvalRequest, reached: &Reached) -> JoinHandle<EvalOutcome> {
    let long = tokio::spawn(engine.eval(request));
    reached.0.notified().await;
    long
}

/// Evaluates some short programs for `principal`, one after the other.
async fn short_ones(engine: &Engine, principal: &str, name: &str) {
    for n in 0..50 {
        let request =
            EvalRequest { principal: Some(principal.into()), ..EvalRequest::new(format!("(+ {n} 1)")) };
        assert_eq!(text(engine.eval(request).await), (n + 1).to_string(), "{name}");
    }
}

#[tokio::test]
async fn programs_are_answered_while_a_builtin_works() {
    let engine = engine();
    for (name, call) in ENDLESS_BUILTINS {
        let reached = Arc::new(Reached::default());
        let long = endless(format!("{TEXT} {OTHERS} (tool/here {{}}) {call}"), &reached);
        let long = start(&engine, long, &reached).await;
        short_ones(&engine, "another", name).await;
        if long.is_finished() {
            panic!("{name} has ended: {:?}", long.await.map(|outcome| outcome.result));
        }
        long.abort();
    }
}

#[tokio::test]
async fn more_endless_programs_than_there_are_stacks_hold_nobody() {
    let engine = engine();
    let mut all = Vec::new();
    for n in 0..40 {
        let reached = Arc::new(Reached::default());
        // They need nothing but the text, and each makes it beside all before it.
        let (_, call) = ENDLESS_BUILTINS[n % 2];
        let long = endless(format!("{TEXT} (tool/here {{}}) {call}"), &reached);
        all.push(start(&engine, EvalRequest { principal: Some("greedy".into()), ..long }, &reached).await);
    }
    short_ones(&engine, "another", "beside forty").await;
    // Those of the same principal wait for their turns, and have them.
    short_ones(&engine, "greedy", "of the same principal").await;
    assert!(all.iter().all(|long| !long.is_finished()));
    all.iter().for_each(JoinHandle::abort);
    short_ones(&engine, "another", "after forty").await;
}

#[tokio::test]
async fn a_program_given_up_in_a_builtin_leaves_its_session_as_it_was() {
    let engine = engine();
    let within = |request: EvalRequest| EvalRequest { session: Some("s".into()), ..request };
    let _ = engine.eval(within(EvalRequest::new("(def kept 1)"))).await;
    for (name, call) in ENDLESS_BUILTINS {
        let reached = Arc::new(Reached::default());
        let program = format!("(def kept 2) {TEXT} {OTHERS} (tool/here {{}}) {call}");
        let long = start(&engine, within(endless(program, &reached)), &reached).await;
        short_ones(&engine, "another", name).await;
        long.abort();
        let _ = long.await;
        // Until it is told, the program goes on.
        let seen = loop {
            let outcome = engine.eval(within(EvalRequest::new("kept"))).await;
            match outcome.result {
                Ok(answer) => break answer.text,
                Err(failure) => assert!(failure.message.contains("already running"), "{failure:?}"),
            }
        };
        assert_eq!(seen, "1", "{name}");
    }
}

#[tokio::test]
async fn an_engine_that_ends_ends_what_has_paused() {
    let memory = MemoryBudget::new(1 << 30);
    let engine =
        Engine::start(EngineOptions { threads: 1, memory: Some(memory.clone()), ..EngineOptions::default() })
            .expect("a worker thread");
    let mut all = Vec::new();
    for (_, call) in ENDLESS_BUILTINS {
        let reached = Arc::new(Reached::default());
        let long = endless(format!("{TEXT} {OTHERS} (tool/here {{}}) {call}"), &reached);
        all.push(start(&engine, long, &reached).await);
    }
    assert!(memory.used() > 0);
    drop(engine);
    all.iter().for_each(JoinHandle::abort);
    wait_until_async("all memory is given back", async || memory.used() == 0).await;
}

#[tokio::test]
async fn work_outside_programs_takes_one_turn_between_two_looks_at_the_sockets() {
    const GREEDY: usize = 100;
    let engine = engine();
    let (tell, told) = tokio::sync::oneshot::channel();
    let here = engine.clone();
    engine.spawn_on(0, move || async move {
        let done = Rc::new(RefCell::new(Vec::new()));
        let looks = Rc::new(Cell::new(0));
        let counted = looks.clone();
        let counter = tokio::task::spawn_local(async move {
            loop {
                // Whoever yields goes on when the worker has looked at its sockets.
                tokio::task::yield_now().await;
                counted.set(counted.get() + 1);
            }
        });
        let work = |principal: &'static str| {
            let (engine, done, looks) = (here.clone(), done.clone(), looks.clone());
            tokio::task::spawn_local(async move {
                let turn = engine.turn(Some(principal.into())).await;
                assert!(turn.is_some(), "the thread is a worker's");
                done.borrow_mut().push((principal, looks.get()));
            })
        };
        let mut all: Vec<_> = (0..GREEDY).map(|_| work("greedy")).collect();
        tokio::task::yield_now().await;
        all.push(work("another"));
        for one in all {
            one.await.expect("it has its turn");
        }
        counter.abort();
        let _ = tell.send(done.take());
    });
    let done = told.await.expect("the worker lives");
    let before = done.iter().position(|(principal, _)| *principal == "another").expect("it had a turn");
    assert!(before <= 3, "{before} turns of the greedy one came first");
    // In one look all could have had theirs.
    assert_eq!(done.len(), GREEDY + 1);
    let most = done.chunk_by(|one, next| one.1 == next.1).map(<[_]>::len).max();
    assert!(most <= Some(2), "{most:?} turns between two looks: {done:?}");
}

#[tokio::test]
async fn tasks_of_a_worker_take_their_steps_in_turns_of_their_principals() {
    const GREEDY: usize = 200;
    const ARRIVALS: usize = 300;
    // So many steps take longer than work may be done at once.
    const STEP: Duration = Duration::from_micros(50);
    let engine = engine();
    let (tell, told) = tokio::sync::oneshot::channel();
    let here = engine.clone();
    engine.spawn_on(0, move || async move {
        let steps = Rc::new(Cell::new(0_usize));
        let greedy: Vec<_> = (0..GREEDY)
            .map(|_| {
                let (engine, steps) = (here.clone(), steps.clone());
                tokio::task::spawn_local(async move {
                    let task = std::future::poll_fn(|context| {
                        let began = Instant::now();
                        while began.elapsed() < STEP {
                            std::hint::spin_loop();
                        }
                        steps.set(steps.get() + 1);
                        context.waker().wake_by_ref();
                        Poll::<()>::Pending
                    });
                    engine.serve_in_turns(|| Some("greedy".into()), task).await;
                })
            })
            .collect();
        let (send, mut arrive) = tokio::sync::mpsc::unbounded_channel();
        let (engine, counted) = (here.clone(), steps.clone());
        let modest = tokio::task::spawn_local(async move {
            let task = async {
                let mut waits = Vec::new();
                while let Some(then) = arrive.recv().await {
                    // Steps of the greedy one between the arrival and this one.
                    waits.push(counted.get() - then);
                }
                waits
            };
            engine.serve_in_turns(|| Some("modest".into()), task).await
        });
        for _ in 0..ARRIVALS {
            // Whoever yields goes on when the worker has looked at its sockets.
            tokio::task::yield_now().await;
            let _ = send.send(steps.get());
        }
        drop(send);
        let waits = modest.await.expect("it ends");
        greedy.iter().for_each(JoinHandle::abort);
        let _ = tell.send(waits);
    });
    let mut waits = told.await.expect("the worker lives");
    waits.sort_unstable();
    assert_eq!(waits.len(), ARRIVALS);
    let [usual, longest] = [waits[ARRIVALS / 2], waits[ARRIVALS - 1]];
    assert!(usual <= 20 && longest <= 60, "{usual} steps of the greedy one came first, once {longest}");
}

#[tokio::test]
async fn work_that_is_given_up_before_its_turn_takes_none() {
    let engine = engine();
    let (tell, told) = tokio::sync::oneshot::channel();
    let here = engine.clone();
    engine.spawn_on(0, move || async move {
        let begun = Rc::new(Cell::new(0));
        let wait = || {
            let (turn, begun) = (here.turn(Some("gone".into())), begun.clone());
            tokio::task::spawn_local(async move {
                let _turn = turn.await;
                begun.set(begun.get() + 1);
            })
        };
        let waiting: Vec<_> = (0..100).map(|_| wait()).collect();
        tokio::task::yield_now().await;
        waiting.iter().for_each(JoinHandle::abort);
        for one in waiting {
            let _ = one.await;
        }
        assert!(begun.get() <= 2, "{} had a turn", begun.get());
        let turn = here.turn(Some("another".into())).await;
        let _ = tell.send(turn.is_some());
    });
    assert!(told.await.expect("the worker lives"));
    short_ones(&engine, "gone", "after it").await;
    assert!(engine.turn(Some("elsewhere".into())).await.is_none(), "no worker's thread, no turn");
}
