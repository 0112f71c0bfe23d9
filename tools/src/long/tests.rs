use std::time::Duration;

use ptc_host::credentials::Redactor;
use ptc_host::engine::{Engine, EngineOptions, Suspended};
use ptc_host::state::StoreLimits;

use super::*;
use ptc_protocol::concurrency_limiter::{CallLimits, ConcurrencyLimiter};
use ptc_protocol::server_state::ServerState;
use ptc_protocol::settings::{self, Profile};
use ptc_protocol::tool::{Instead, TaskState};
use ptc_runs::StoredCall;

fn runs() -> Arc<Runs> {
    let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap();
    let settings = settings::Runs {
        long: true,
        keeps: true,
        page_wait: Duration::ZERO,
        waiting_ttl: Duration::from_secs(3600),
        answer_within: None,
        timeout: Duration::from_secs(600),
        ttl: Duration::from_secs(600),
        max: 8,
        max_per_owner: 8,
        max_bytes_per_owner: 1 << 20,
    };
    let limiter = ConcurrencyLimiter::new(CallLimits::shared(4));
    let (state, ordinary) = (ServerState::none(), Duration::from_secs(1));
    Runs::new(settings, ordinary, &state, StoreLimits::default(), engine, limiter, Redactor::new())
}

fn suspension() -> ProgramEnd {
    let call = StoredCall {
        arguments: None,
        revision: "2026-07-28".to_owned(),
        result_room: None,
        eval: 1,
        round: 1,
        is_long: true,
        task_modes: Some(1),
    };
    let suspended = Suspended { snapshot: bytes::Bytes::from_static(b"a program"), questions: Vec::new() };
    ProgramEnd::Suspended(Box::new(suspended), call)
}

#[tokio::test]
async fn a_program_that_leaves_while_its_client_is_told_of_it_is_a_task() {
    let (runs, ada) = (runs(), Principal::named("ada"));
    let call = runs.lengthen(None, &mut EvalRequest::new("1")).unwrap().told_as_task(true);
    let work = async { suspension() }.boxed();
    let permit = runs.enter(&ada).unwrap();
    // As if it had asked between the end of its client's wait and the answer.
    let attended = call.attend(runs.clone(), ada.clone(), "lisp_eval", work, permit).await.unwrap();
    let Attended::Run(run) = attended else { panic!("no run: {attended:?}") };
    assert_eq!(run.status, Status::Waiting);
    let told = told_as_task(&runs, &ada, &run, &Shaper::new(Profile::Slim, 1000)).await;
    let Some(Instead::Task(task)) = told.instead.as_deref() else { panic!("no task: {told:?}") };
    assert_eq!(task.id, run.run_id);
    assert!(matches!(task.state, TaskState::Input(_)), "{task:?}");
}
