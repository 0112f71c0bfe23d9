//! Runs of two processes that share a store, and of one that does not.

use futures_util::FutureExt;
use ptc_host::engine::{EngineOptions, EvalRequest, Suspended};
use ptc_host::policy::{Claim as TokenClaim, Policy};
use ptc_host::questions::{AnsweredBy, Channel, Level, QuestionKind};
use ptc_host::state::{Claim, Claimed, Commit, StateStore, StoreLimits, WatchedState, Write};
use tokio::sync::oneshot;

use super::record::tests::question;
use super::record::{RunRecord, Status};
use super::*;
use ptc_protocol::concurrency_limiter::CallLimits;
use ptc_protocol::tool::{ReplyText, ToolReply};

fn settings() -> settings::Runs {
    settings::Runs {
        long: true,
        keeps: true,
        page_wait: Duration::from_millis(20),
        waiting_ttl: Duration::from_secs(3600),
        answer_within: None,
        timeout: Duration::from_secs(600),
        ttl: Duration::from_secs(600),
        max: 8,
        max_per_owner: 2,
        max_bytes_per_owner: 1 << 20,
    }
}

fn runs_of(state: &ServerState, settings: settings::Runs) -> Arc<Runs> {
    let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap();
    let limiter = ConcurrencyLimiter::new(CallLimits::shared(4));
    Runs::new(
        settings,
        Duration::from_millis(50),
        state,
        StoreLimits::default(),
        engine,
        limiter,
        Redactor::new(),
    )
}

fn alone() -> Arc<Runs> {
    runs_of(&ServerState::none(), settings())
}

/// One of several processes that share `store`.
fn replica(store: &MemoryState, name: &str) -> Arc<Runs> {
    let state = ServerState {
        store: Some(WatchedState::new(Arc::new(store.clone()))),
        is_shared: true,
        replica: name.into(),
        ..ServerState::none()
    };
    runs_of(&state, settings())
}

fn somebody() -> Principal {
    Principal::named("ada")
}

/// Work that ends with this text when it is signalled.
fn work(text: &'static str) -> (oneshot::Sender<()>, futures_util::future::BoxFuture<'static, ProgramEnd>) {
    let (end, ended) = oneshot::channel::<()>();
    let work = async move {
        let _ = ended.await;
        ProgramEnd::Replied(ToolReply::text(false, text))
    };
    (end, work.boxed())
}

fn run_of(attended: Attended) -> Box<RunView> {
    match attended {
        Attended::Run(run) => run,
        Attended::Replied(reply) => panic!("it has ended: {reply:?}"),
    }
}

/// A run whose client was given its id at once.
async fn kept(runs: &Arc<Runs>, work: futures_util::future::BoxFuture<'static, ProgramEnd>) -> Arc<str> {
    let mut request = EvalRequest::new("1");
    let call = runs.lengthen(Some(Duration::ZERO), &mut request).unwrap();
    request.print_sink.unwrap().print("hello");
    call.guard.note(3);
    let permit = runs.enter(&somebody()).unwrap();
    let run = run_of(call.attend(runs.clone(), somebody(), "lisp_eval", work, permit).await.unwrap());
    assert_eq!((run.status, run.calls), (Status::Running, 3), "{run:?}");
    run.run_id
}

fn text(run: &RunView) -> &str {
    let reply = run.reply.as_ref().unwrap_or_else(|| panic!("it has not ended: {run:?}"));
    match &reply.text {
        ReplyText::Plain(text) => text,
        ReplyText::Mirrored => reply.structured.as_deref().unwrap(),
    }
}

#[tokio::test]
async fn a_run_is_found_by_its_principal_and_tells_its_end_to_everybody_who_asks() {
    let runs = alone();
    let (end, work) = work("there");
    let id = kept(&runs, work).await;
    let stranger = runs.wait(&Principal::named("eve"), &id, Duration::ZERO).await;
    assert_eq!(stranger.unwrap_err(), RunError::NotFound);
    for unknown in ["run_unknown", "", "a b", "x}"] {
        assert_eq!(runs.wait(&somebody(), unknown, Duration::ZERO).await.unwrap_err(), RunError::NotFound);
    }
    let run = runs.wait(&somebody(), &id, Duration::ZERO).await.unwrap();
    assert_eq!(run.status, Status::Running);
    assert_eq!((run.calls, run.omitted), (3, 0));
    assert_eq!(runs.limiter.running(), 1, "a program that runs holds its permit");
    end.send(()).unwrap();
    for _ in 0..2 {
        let seen = runs.wait(&somebody(), &id, Duration::from_secs(30)).await.unwrap();
        assert_eq!(text(&seen), "there");
    }
    assert_eq!(runs.limiter.running(), 0);
    // A run that has ended cannot be cancelled.
    assert_eq!(text(&runs.cancel(&somebody(), &id).await.unwrap()), "there");
}

#[tokio::test]
async fn an_early_answer_resumes_a_resident_program() {
    for _ in 0..10 {
        let runs = alone();
        let call = runs.lengthen(None, &mut EvalRequest::new("1")).unwrap();
        let (handle, permit) = (call.handle().clone(), runs.enter(&somebody()).unwrap());
        let work = async move {
            let answers = handle.hold(vec![question(1, QuestionKind::Ask, Level::Model)]).await;
            ProgramEnd::Replied(ToolReply::text(false, answers[0].0.to_string()))
        };
        let attended = call.attend(runs.clone(), somebody(), "lisp_eval", work.boxed(), permit).await;
        let run = run_of(attended.unwrap());
        assert_eq!(run.status, Status::Waiting, "{run:?}");
        let by = AnsweredBy { channel: Channel::Model, name: None };
        // The driver may not have begun.
        runs.answer(&somebody(), &run.run_id, r#"{"q1":{"action":"decline"}}"#, by).await.unwrap();
        let seen = runs.wait(&somebody(), &run.run_id, Duration::from_secs(30)).await.unwrap();
        assert_eq!(text(&seen), "q1");
    }
}

#[tokio::test]
async fn a_run_that_is_cancelled_drops_its_work() {
    let runs = alone();
    let (mut end, work) = work("never");
    let id = kept(&runs, work).await;
    let seen = runs.cancel(&somebody(), &id).await.unwrap();
    assert!(seen.is_cancelled(), "{seen:?}");
    end.closed().await;
    assert_eq!(runs.limiter.running(), 0);
    assert!(text(&runs.wait(&somebody(), &id, Duration::ZERO).await.unwrap()).contains("\"cancelled\""));
}

#[tokio::test]
async fn a_run_is_seen_and_cancelled_through_another_process() {
    let store = MemoryState::default();
    let (one, other) = (replica(&store, "one"), replica(&store, "other"));
    let (end, work_of_one) = work("there");
    let id = kept(&one, work_of_one).await;
    let run = other.wait(&somebody(), &id, Duration::ZERO).await.unwrap();
    assert_eq!(run.status, Status::Running);
    assert_eq!((run.calls, &*run.run_id), (3, &*id));
    end.send(()).unwrap();
    assert_eq!(text(&other.wait(&somebody(), &id, Duration::from_secs(30)).await.unwrap()), "there");
    let (mut end, work) = work("never");
    let id = kept(&one, work).await;
    let seen = other.cancel(&somebody(), &id).await.unwrap();
    assert!(seen.is_cancelled(), "{seen:?}");
    end.closed().await;
    assert!(one.wait(&somebody(), &id, Duration::from_secs(30)).await.unwrap().is_cancelled());
}

#[tokio::test]
async fn what_nobody_holds_was_interrupted() {
    let store = MemoryState::default();
    let key = key(&somebody(), "run_left").unwrap();
    let record = RunRecord {
        principal: "ada".into(),
        updated_ms: 1,
        tool: "lisp_eval".to_owned(),
        calls: 12,
        ..RunRecord::default()
    };
    let lease = Duration::from_secs(3600);
    let claim = Claim { holder: "dead".into(), lease, rest: None, known: 0, creates: true };
    let Claimed::Taken(taken) = store.claim(&key, claim).await.unwrap() else { panic!("not taken") };
    let write = Write::put(key.clone(), 0, record.to_bytes()).under(taken.fence).keeping_lease();
    store.commit(Commit::one(write)).await.unwrap();
    let runs = replica(&store, "other");
    let held = runs.wait(&somebody(), "run_left", Duration::ZERO).await.unwrap();
    assert!(held.status == Status::Running, "its lease has not run out: {held:?}");
    store.renew(&key, taken.fence, Duration::ZERO).await.unwrap();
    let seen = runs.wait(&somebody(), "run_left", Duration::from_secs(30)).await.unwrap();
    let sentence = "the server stopped while this program ran; upstream calls up to #12 are known to have been made, later ones \
                    may have been. It was not run again.";
    assert!(text(&seen).contains(sentence) && text(&seen).contains("\"interrupted\""), "{seen:?}");
    let read = store.read(&key).await.unwrap().unwrap();
    let record = RunRecord::from_bytes(&read.blob.unwrap()).unwrap();
    assert_eq!(record.status, Status::Interrupted);
}

#[tokio::test]
async fn whoever_was_overtaken_drops_its_program() {
    let store = MemoryState::default();
    let one = replica(&store, "one");
    let (mut end, work) = work("never");
    let id = kept(&one, work).await;
    // As if the process had been paused until another one recorded the end.
    let key = key(&somebody(), &id).unwrap();
    let read = store.read(&key).await.unwrap().unwrap();
    let record = RunRecord::from_bytes(&read.blob.unwrap()).unwrap();
    let ended = record.clone().ended(Status::Interrupted, &record.interruption());
    store.commit(Commit::one(Write::put(key, read.version, ended.to_bytes()))).await.unwrap();
    // The process notices when it has something to write.
    one.active().values().for_each(|run| run.print("more"));
    end.closed().await;
    let seen = one.wait(&somebody(), &id, Duration::from_secs(30)).await.unwrap();
    assert!(text(&seen).contains("\"interrupted\""), "{seen:?}");
}

#[tokio::test]
async fn there_are_as_many_as_may_be() {
    let runs = alone();
    let mut ends = Vec::new();
    for _ in 0..2 {
        let (end, work) = work("x");
        ends.push(end);
        kept(&runs, work).await;
    }
    assert!(!runs.has_room(&somebody()) && runs.has_room(&Principal::named("bob")));
    let few = runs_of(&ServerState::none(), settings::Runs { max: 1, ..settings() });
    let (end, work_of_few) = work("x");
    ends.push(end);
    kept(&few, work_of_few).await;
    assert!(!few.has_room(&Principal::named("bob")));
    // A run that began before the limit was reached has the ordinary time limit.
    let attend = |work| {
        let call = runs.lengthen(Some(Duration::ZERO), &mut EvalRequest::new("1")).unwrap();
        call.attend(runs.clone(), somebody(), "lisp_eval", work, runs.enter(&somebody()).unwrap())
    };
    let (_end, long) = work("never");
    assert!(matches!(attend(long).await, Err(RunError::TooMany)));
    let (end, short) = work("in time");
    end.send(()).unwrap();
    assert!(matches!(attend(short).await, Ok(Attended::Replied(_))));
}

#[tokio::test]
async fn they_take_as_much_of_the_store_as_they_may() {
    let runs = runs_of(&ServerState::none(), settings::Runs { max_bytes_per_owner: 1, ..settings() });
    let (_end, first) = work("never");
    kept(&runs, first).await;
    let (_end, second) = work("never");
    let call = runs.lengthen(Some(Duration::ZERO), &mut EvalRequest::new("1")).unwrap();
    let permit = runs.enter(&somebody()).unwrap();
    let attended = call.attend(runs.clone(), somebody(), "lisp_eval", second, permit).await;
    assert!(matches!(attended, Err(RunError::TooMany)));
}

#[tokio::test]
async fn what_has_ended_is_told_for_a_while() {
    let ttl = Duration::from_secs(1);
    let runs = runs_of(&ServerState::none(), settings::Runs { ttl, ..settings() });
    let (end, work) = work("there");
    let id = kept(&runs, work).await;
    end.send(()).unwrap();
    let seen = runs.wait(&somebody(), &id, Duration::from_secs(30)).await.unwrap();
    assert_eq!(text(&seen), "there");
    let gone = async {
        while runs.wait(&somebody(), &id, Duration::ZERO).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), gone).await.unwrap();
    assert!(runs.active().is_empty());
}

#[tokio::test]
async fn the_end_of_the_process_is_recorded() {
    let store = MemoryState::default();
    let runs = replica(&store, "one");
    let (_end, long) = work("never");
    let id = kept(&runs, long).await;
    let (end, short) = work("in time");
    let ending = kept(&runs, short).await;
    let patience = tokio::spawn({
        let runs = runs.clone();
        async move { runs.shut_down(Duration::from_secs(2)).await }
    });
    end.send(()).unwrap();
    patience.await.unwrap();
    let other = replica(&store, "other");
    let seen = other.wait(&somebody(), &id, Duration::ZERO).await.unwrap();
    assert!(text(&seen).contains("upstream calls up to #3 are known"), "{seen:?}");
    assert_eq!(text(&other.wait(&somebody(), &ending, Duration::ZERO).await.unwrap()), "in time");
}

#[tokio::test]
async fn calls_are_held_back_until_the_lease_is_certain() {
    let guard = super::lease::LeaseGuard::new(None);
    assert!(!guard.is_overdue(), "before there is a lease");
    let now = ptc_host::time::now();
    // A machine that has just booted has no such instant.
    if let Some(long_ago) = now.checked_sub(Duration::from_secs(25)) {
        guard.acknowledge(long_ago);
        assert!(guard.is_overdue());
    }
    guard.acknowledge(now);
    assert!(!guard.is_overdue());
}

/// A program of `by` that asks a question, says that it goes on, and ends when it is told to.
struct Asking {
    id: Arc<str>,
    goes_on: oneshot::Receiver<()>,
    end: oneshot::Sender<()>,
}

async fn asking(runs: &Arc<Runs>, by: &Principal, permit: Permit) -> Asking {
    let call = runs.lengthen(None, &mut EvalRequest::new("1")).unwrap();
    let handle = call.handle().clone();
    let ((says, goes_on), (end, ended)) = (oneshot::channel(), oneshot::channel());
    let work = async move {
        handle.hold(vec![question(1, QuestionKind::Ask, Level::Model)]).await;
        let _ = says.send(());
        let _ = ended.await;
        ProgramEnd::Replied(ToolReply::text(false, "done"))
    };
    let attended = call.attend(runs.clone(), by.clone(), "lisp_eval", work.boxed(), permit).await;
    Asking { id: run_of(attended.unwrap()).run_id, goes_on, end }
}

async fn declines(runs: &Arc<Runs>, by: &Principal, id: &str) {
    let author = AnsweredBy { channel: Channel::Console, name: None };
    runs.answer(by, id, r#"{"q1":{"action":"decline"}}"#, author).await.unwrap();
}

/// Waits until a program that nobody limits has gone on and ended: the one worker has looked at those that were answered before it.
async fn another_goes_on(runs: &Arc<Runs>) {
    let eve = Principal::named("eve");
    let Asking { id, goes_on, end } = asking(runs, &eve, runs.enter(&eve).unwrap()).await;
    declines(runs, &eve, &id).await;
    goes_on.await.unwrap();
    end.send(()).unwrap();
    assert_eq!(text(&runs.wait(&eve, &id, Duration::from_secs(30)).await.unwrap()), "done");
}

/// Runs under a policy that lets each caller run one program at a time, and what such a caller is.
fn one_at_a_time(runs: &Arc<Runs>) -> impl Fn(&str) -> Principal + use<> {
    let rule = r#"{"match": {"principal": "ada"}, "upstreams": {}, "limits": {"concurrent_programs": 1}}"#;
    let current = Arc::new(CurrentPolicy::new(Policy::parse(&format!(r#"{{"rules": [{rule}]}}"#)).unwrap()));
    runs.follow_policy(current.clone());
    move |name| Principal::named(name).with_authority(Some(current.authority(Caller::named(name))))
}

#[tokio::test]
async fn a_program_that_goes_on_counts_among_those_that_run_at_a_time() {
    let runs = alone();
    let ada = one_at_a_time(&runs)("ada");
    let mut first = asking(&runs, &ada, runs.enter(&ada).unwrap()).await;
    // One that waits does not count.
    let second = loop {
        // The driver gives the permit back once it runs.
        match runs.enter(&ada) {
            Ok(permit) => break permit,
            Err(_) => tokio::task::yield_now().await,
        }
    };
    declines(&runs, &ada, &first.id).await;
    another_goes_on(&runs).await;
    assert!(first.goes_on.try_recv().is_err(), "it waits for its place");
    drop(second);
    first.goes_on.await.unwrap();
    assert!(matches!(runs.enter(&ada), Err(CapacityError::Quota(_))), "it runs");
    first.end.send(()).unwrap();
    assert_eq!(text(&runs.wait(&ada, &first.id, Duration::from_secs(30)).await.unwrap()), "done");
    assert!(runs.enter(&ada).is_ok(), "it has ended");
}

#[tokio::test]
async fn a_call_that_is_no_program_goes_on_beside_one_that_runs() {
    let runs = alone();
    let ada = one_at_a_time(&runs)("ada");
    let call = asking(&runs, &ada, runs.enter_call(&ada).unwrap()).await;
    let _runs = runs.enter(&ada).unwrap();
    declines(&runs, &ada, &call.id).await;
    call.goes_on.await.unwrap();
}

/// Makes programs that count, of which this build cannot go on with any.
struct Counted;

impl ProgramSource for Counted {
    fn prepare_again(
        &self,
        _tool: &str,
        _call: &StoredCall,
        _principal: &Principal,
        _handle: &RunHandle,
    ) -> Option<ResumableProgram> {
        let shaped = Box::new(|_| ToolReply::text(false, "done"));
        Some(ResumableProgram { request: EvalRequest::new("1"), asker: None, shaped, is_program: true })
    }
}

#[tokio::test]
async fn a_stored_program_waits_for_its_place_among_those_that_run_at_a_time() {
    let runs = alone();
    let ada = one_at_a_time(&runs)("ada");
    runs.resume_from(Arc::new(Counted));
    suspend(&runs, "run_1", &ada).await;
    let other = runs.enter(&ada).unwrap();
    // An operator has no more than the name.
    declines(&runs, &runs.principal("ada"), "run_1").await;
    another_goes_on(&runs).await;
    let seen = runs.wait(&ada, "run_1", Duration::ZERO).await.unwrap();
    assert_eq!(seen.status, Status::Running, "{seen:?}");
    drop(other);
    let seen = runs.wait(&ada, "run_1", Duration::from_secs(30)).await.unwrap();
    assert_eq!(seen.status, Status::Done, "{seen:?}");
}

/// Notes in which groups the callers are whose programs it is to make again; it makes none.
#[derive(Default)]
struct Callers(Mutex<Vec<String>>);

impl ProgramSource for Callers {
    fn prepare_again(
        &self,
        _tool: &str,
        call: &StoredCall,
        principal: &Principal,
        _handle: &RunHandle,
    ) -> Option<ResumableProgram> {
        let context = call.context(principal).unwrap();
        let authority = context.owner.principal.authority().cloned();
        self.0.lock().push(authority.map_or_else(
            || "none".to_owned(),
            |authority| {
                let groups: Vec<_> = authority.caller.claims.iter().flat_map(|claim| &claim.values).collect();
                format!("{groups:?} {:?}", authority.grant.tool("files", "write"))
            },
        ));
        None
    }
}

/// Stores a run of `by` that waits for an answer to its one question.
async fn suspend(runs: &Arc<Runs>, id: &str, by: &Principal) {
    let record = RunRecord::begun(by, "lisp_eval", 0, prints::PrintLog::default());
    let waits = Suspended {
        snapshot: bytes::Bytes::from_static(b"program"),
        questions: vec![question(1, QuestionKind::Ask, Level::Model)],
    };
    let call = StoredCall { revision: "2025-11-25".to_owned(), ..StoredCall::default() };
    runs.store_suspended(by, id, record, waits, call).await.unwrap();
}

#[tokio::test]
async fn a_resumed_program_has_the_authority_of_its_caller_under_the_policy_that_holds() {
    let policy = |allowed: &str| {
        let rule = |group: &str, allow: &str| {
            let upstreams = format!(r#"{{"files": {{"allow": ["{allow}"]}}}}"#);
            format!(r#"{{"match": {{"claim": {{"groups": "{group}"}}}}, "upstreams": {upstreams}}}"#)
        };
        let rules = [rule("dev", allowed), rule("ops", "*")].join(",");
        Policy::parse(&format!(r#"{{"rules": [{rules}]}}"#)).unwrap()
    };
    let current = Arc::new(CurrentPolicy::new(policy("write")));
    let ada = |group: &str| {
        let claims = [TokenClaim { name: "groups".into(), values: [group.into()].into() }].into();
        let caller = Caller { claims, ..Caller::named("ada") };
        somebody().with_authority(Some(current.authority(caller)))
    };
    let runs = runs_of(&ServerState::none(), settings::Runs { max_per_owner: 8, ..settings() });
    let callers = Arc::<Callers>::default();
    runs.resume_from(callers.clone());
    runs.follow_policy(current.clone());
    let suspended = async |id: &str, by: &Principal| suspend(&runs, id, by).await;
    let answered = async |id: &str, by: &Principal| {
        let author = AnsweredBy { channel: Channel::Console, name: None };
        runs.answer(by, id, r#"{"q1":{"action":"decline"}}"#, author).await.unwrap();
    };
    // An operator has no more than its name.
    suspended("run_1", &ada("dev")).await;
    answered("run_1", &runs.principal("ada")).await;
    // She herself is in another group by now.
    suspended("run_2", &ada("dev")).await;
    answered("run_2", &ada("ops")).await;
    // The policy has changed meanwhile.
    suspended("run_3", &ada("dev")).await;
    current.replace(policy("read"));
    answered("run_3", &somebody()).await;
    // It began before there was a policy.
    suspended("run_4", &somebody()).await;
    answered("run_4", &somebody()).await;
    let seen = std::mem::take(&mut *callers.0.lock());
    assert_eq!(seen, [r#"["dev"] Allowed"#, r#"["ops"] Allowed"#, r#"["dev"] Hidden"#, "[] Hidden"]);
}

#[tokio::test]
async fn a_denial_by_a_claim_holds_for_a_run_that_began_when_no_rule_asked_for_it() {
    let policy = |rules: &str| {
        let all = r#"{"match": {}, "upstreams": {"*": {"allow": ["*"]}}}"#;
        Policy::parse(&format!(r#"{{"rules": [{all}{rules}]}}"#)).unwrap()
    };
    let current = Arc::new(CurrentPolicy::new(policy("")));
    let bearer = |claims: Box<[TokenClaim]>| Caller {
        issuer: Some("https://i".into()),
        subject: Some("ada".into()),
        claims,
        ..Caller::named("https://i|ada")
    };
    let level = |values: &[&str]| {
        let values = values.iter().map(|value| Box::from(*value)).collect();
        [TokenClaim { name: "level".into(), values }].into()
    };
    let name = || Principal::named("https://i|ada");
    let ada = |claims| name().with_authority(Some(current.authority(bearer(claims))));
    let runs = runs_of(&ServerState::none(), settings::Runs { max_per_owner: 8, ..settings() });
    let callers = Arc::<Callers>::default();
    runs.resume_from(callers.clone());
    runs.follow_policy(current.clone());
    let suspended = async |id: &str, by: &Principal| suspend(&runs, id, by).await;
    let answers = async |by: &Principal, id: &str, answers: &str| {
        let author = AnsweredBy { channel: Channel::Console, name: None };
        runs.answer(by, id, answers, author).await.unwrap();
    };
    let declined = r#"{"q1":{"action":"decline"}}"#;
    for id in ["run_1", "run_2", "run_3"] {
        suspended(id, &ada([].into())).await;
    }
    suspended("run_4", &name()).await;
    current.replace(policy(
        r#",{"match": {"claim": {"level": "low"}}, "upstreams": {"files": {"deny": ["write"]}}}"#,
    ));
    // An operator answers: nobody has asked her token for its level.
    answers(&name(), "run_1", declined).await;
    // She has looked at it meanwhile, or tried to resume it, with a token that says it.
    runs.wait(&ada(level(&["high"])), "run_2", Duration::ZERO).await.unwrap();
    answers(&name(), "run_2", declined).await;
    answers(&ada(level(&[])), "run_3", "{}").await;
    answers(&name(), "run_3", declined).await;
    // It began before there was a policy: no token is known.
    answers(&name(), "run_4", declined).await;
    let seen = std::mem::take(&mut *callers.0.lock());
    assert_eq!(seen, ["[] Hidden", r#"["high"] Allowed"#, "[] Allowed", "[] Hidden"]);
}
