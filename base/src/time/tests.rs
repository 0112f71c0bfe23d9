//! Clocks that are set ahead.

use std::future::pending;

use super::*;

const HOUR: Duration = Duration::from_secs(3600);
/// What a machine that does much else may need, and no test waits for.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn a_stepped_clock_moves_both_times_by_each_step() {
    let clock = Clock::stepped();
    let (began, day) = (clock.now(), clock.time_of_day());
    assert!(clock.since(began) < HOUR);
    clock.advance(HOUR);
    clock.clone().advance(HOUR);
    assert!(clock.since(began) >= 2 * HOUR);
    assert!(clock.time_of_day().duration_since(day).unwrap() >= 2 * HOUR - PATIENCE);
    assert!(clock.now() >= Clock::default().now() + 2 * HOUR - PATIENCE, "it runs on with the system's");
}

#[test]
#[should_panic(expected = "a stepped clock")]
fn the_systems_clock_cannot_be_set() {
    Clock::default().advance(HOUR);
}

#[test]
fn the_clock_of_a_thread_is_the_one_entered_last() {
    let (outer, inner) = (Clock::stepped(), Clock::stepped());
    inner.advance(HOUR);
    let began = now();
    let entered = outer.enter();
    let within = inner.enter();
    assert!(since(began) >= HOUR);
    let other = std::thread::spawn(now).join().unwrap();
    assert!(other < began + HOUR, "other threads go by the system's");
    drop(within);
    assert!(since(began) < HOUR);
    outer.advance(HOUR);
    assert!(since(began) >= HOUR);
    drop(entered);
    assert!(since(began) < HOUR);
}

#[tokio::test]
async fn a_step_ends_the_waits_that_are_due_and_no_others() {
    let clock = Clock::stepped();
    let _entered = clock.enter();
    let began = now();
    let wait = |time| tokio::spawn(async move { sleep(time).await });
    let (short, until, long) = (wait(HOUR), tokio::spawn(sleep_until(began + 2 * HOUR)), wait(4 * HOUR));
    let late = tokio::spawn(timeout(HOUR, pending::<()>()));
    let in_time = timeout_at(began + HOUR, std::future::ready(7));
    tokio::task::yield_now().await;
    clock.advance(3 * HOUR);
    short.await.unwrap();
    until.await.unwrap();
    assert_eq!(late.await.unwrap().unwrap_err().to_string(), "deadline has elapsed");
    assert_eq!(in_time.await, Ok(7), "what is ready is given however late it is");
    assert!(!long.is_finished());
    clock.advance(HOUR);
    long.await.unwrap();
}

#[tokio::test]
async fn a_wait_keeps_the_clock_under_which_it_was_made() {
    let clock = Clock::stepped();
    let (stepped, system) = {
        let system = sleep(HOUR);
        let _entered = clock.enter();
        (sleep(HOUR), system)
    };
    let stepped = tokio::spawn(stepped);
    let system = tokio::spawn(system);
    tokio::task::yield_now().await;
    clock.advance(HOUR);
    stepped.await.unwrap();
    assert!(!system.is_finished());
    system.abort();
}

#[tokio::test]
async fn a_step_before_the_first_poll_counts_and_a_reset_wait_begins_anew() {
    let clock = Clock::stepped();
    let mut wait = Box::pin(clock.sleep(HOUR));
    clock.advance(HOUR);
    wait.as_mut().await;
    wait.as_mut().reset(clock.now() + HOUR);
    assert!(wait.deadline() > clock.now());
    let mut waiting = tokio::spawn(wait);
    assert!(tokio::time::timeout(Duration::from_millis(5), &mut waiting).await.is_err());
    clock.advance(HOUR);
    waiting.await.unwrap();
}

#[tokio::test]
async fn time_passes_without_steps_as_well() {
    let clock = Clock::stepped();
    clock.advance(HOUR);
    let began = clock.now();
    clock.sleep(Duration::from_millis(20)).await;
    assert!(clock.since(began) >= Duration::from_millis(20));
    assert!(clock.timeout(Duration::from_millis(5), pending::<()>()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn paused_runtimes_pass_over_waits_of_every_clock() {
    let began = now();
    sleep(HOUR).await;
    assert_eq!(since(began), HOUR);
    let clock = Clock::stepped();
    let _entered = clock.enter();
    clock.advance(HOUR);
    sleep(HOUR).await;
    assert_eq!(since(began), 3 * HOUR);
}

#[tokio::test]
async fn a_future_that_uses_up_its_budget_is_timed_out_all_the_same() {
    let greedy = poll_always();
    assert!(timeout(Duration::from_millis(5), greedy).await.is_err());
}

/// Takes all of the task's budget at each poll.
async fn poll_always() {
    loop {
        tokio::task::consume_budget().await;
    }
}

#[test]
fn blocked_threads_and_blocking_tasks_have_the_clock_of_whoever_began_them() {
    let clock = Clock::stepped();
    let theirs = clock.clone();
    let thread = std::thread::spawn(move || {
        let _entered = theirs.enter();
        block(HOUR);
    });
    while !thread.is_finished() {
        clock.advance(HOUR);
        std::thread::yield_now();
    }
    thread.join().unwrap();

    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let _entered = clock.enter();
    let theirs = runtime.block_on(async { spawn_blocking(now).await.unwrap() });
    assert!(theirs > Clock::default().now());
}
