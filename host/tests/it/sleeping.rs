//! `(sleep-ms n)`: programs that wait by the engine's clock (language.md 5.10).

use futures_util::FutureExt as _;
use ptc_host::engine::{Engine, EngineOptions, EvalOutcome, EvalRequest, Limits, RunPermit};
use ptc_host::time::Clock;
use ptc_test_support::wait_until_async;
use ptc_vm::Reason;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Counts how often the permit was lent and taken back.
#[derive(Default)]
struct Counted {
    lent: AtomicUsize,
    taken_back: AtomicUsize,
}

impl Counted {
    fn times(&self) -> (usize, usize) {
        (self.lent.load(Ordering::SeqCst), self.taken_back.load(Ordering::SeqCst))
    }
}

impl RunPermit for Counted {
    fn lend(&self) {
        self.lent.fetch_add(1, Ordering::SeqCst);
    }

    fn take_back(&self) {
        self.taken_back.fetch_add(1, Ordering::SeqCst);
    }
}

const HOUR: Duration = Duration::from_secs(3600);
/// The longest wait.
const NAP: Duration = Duration::from_secs(10);

fn request(program: &str, permit: &Arc<Counted>) -> EvalRequest {
    let limits = Limits { timeout: HOUR, ..Limits::plain() };
    EvalRequest { limits, permit: Some(permit.clone()), ..EvalRequest::new(program) }
}

fn engine() -> Engine {
    Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap()
}

fn text(outcome: &EvalOutcome) -> &str {
    &outcome.result.as_ref().unwrap_or_else(|failure| panic!("{failure:?}")).text
}

/// Runs a program and sets the clock ahead by `steps`, each once the program does nothing but sleep.
async fn run(clock: &Clock, request: EvalRequest, permit: &Counted, steps: &[Duration]) -> EvalOutcome {
    let engine = engine();
    let (outcome, ()) = tokio::join!(engine.eval(request), async {
        for (count, step) in steps.iter().enumerate() {
            wait_until_async("the program sleeps", async || permit.times().0 > count).await;
            clock.advance(*step);
        }
    });
    outcome
}

#[tokio::test]
async fn a_program_sleeps_by_the_engines_clock_and_sees_no_time_pass() {
    let clock = Clock::stepped();
    let _entered = clock.enter();
    let permit = Arc::<Counted>::default();
    let program = "(let [before (currentTimeMillis)] [(sleep-ms 10000) (- (currentTimeMillis) before)])";
    let outcome = run(&clock, request(program, &permit), &permit, &[NAP]).await;
    assert_eq!(text(&outcome), "[nil 0]");
    assert!(outcome.duration >= NAP, "{:?}", outcome.duration);
    assert_eq!(permit.times(), (1, 1), "the permit is lent while it sleeps");
}

#[tokio::test]
async fn sleeps_end_when_their_time_has_come_and_not_before() {
    let clock = Clock::stepped();
    let _entered = clock.enter();
    let permit = Arc::<Counted>::default();
    let engine = engine();
    let mut eval = engine.eval(request("(sleep-ms 10000)", &permit)).boxed();
    let slept = async || permit.times().0 == 1;
    tokio::select! {
        _ = &mut eval => panic!("it sleeps"),
        () = wait_until_async("the program sleeps", slept) => {}
    }
    clock.advance(NAP / 2);
    for _ in 0..50 {
        tokio::task::yield_now().await;
        assert!((&mut eval).now_or_never().is_none());
    }
    assert_eq!(permit.times(), (1, 0));
    clock.advance(NAP / 2);
    assert_eq!(text(&eval.await), "nil");
}

#[tokio::test]
async fn branches_sleep_side_by_side() {
    let clock = Clock::stepped();
    let _entered = clock.enter();
    let permit = Arc::<Counted>::default();
    let program = "(pmap (fn [n] (sleep-ms 10000) n) [1 2 3])";
    let outcome = run(&clock, request(program, &permit), &permit, &[NAP]).await;
    assert_eq!(text(&outcome), "[1 2 3]");
    assert!(outcome.duration < 2 * NAP, "{:?}", outcome.duration);
}

#[tokio::test]
async fn sleeping_counts_against_the_time_of_the_program() {
    let clock = Clock::stepped();
    let _entered = clock.enter();
    let permit = Arc::<Counted>::default();
    let limits = Limits { timeout: NAP / 2, ..Limits::plain() };
    let request = EvalRequest { limits, ..request("(sleep-ms 10000)", &permit) };
    let outcome = run(&clock, request, &permit, &[NAP / 2]).await;
    let failure = outcome.result.unwrap_err();
    assert_eq!((failure.reason, &*failure.message), (Reason::Timeout, "execution exceeded 5000ms limit"));
    assert_eq!(permit.times(), (1, 1));
}

#[tokio::test]
async fn a_program_sleeps_a_minute_in_all() {
    const ALL: &str = "sleep-ms waits at most 60000 milliseconds in all of a program";
    let clock = Clock::stepped();
    let _entered = clock.enter();
    let permit = Arc::<Counted>::default();
    let minute = "(dotimes [_ 6] (sleep-ms 10000))";
    let steps = [NAP; 6];
    let outcome = run(&clock, request(minute, &permit), &permit, &steps).await;
    assert_eq!(text(&outcome), "nil");
    let permit = Arc::<Counted>::default();
    let more = format!("{minute} (sleep-ms 1)");
    let outcome = run(&clock, request(&more, &permit), &permit, &steps).await;
    assert_eq!(outcome.result.unwrap_err().message, format!("runtime_error: {ALL}"));
    // What branches ask for is added up, although they sleep side by side.
    let outcome = engine().eval(request("(pmap sleep-ms (repeat 7 10000))", &permit)).await;
    assert_eq!(outcome.result.unwrap_err().message, format!("pmap_error: {ALL}"));
}

#[tokio::test]
async fn a_program_that_is_given_up_sleeps_no_longer() {
    let permit = Arc::<Counted>::default();
    let engine = engine();
    let mut eval = engine.eval(request("(sleep-ms 10000)", &permit)).boxed();
    let slept = async || permit.times().0 == 1;
    tokio::select! {
        _ = &mut eval => panic!("it sleeps"),
        () = wait_until_async("the program sleeps", slept) => {}
    }
    drop(eval);
    wait_until_async("the wait has ended", async || permit.times() == (1, 1)).await;
}
