//! Processes that share one sign-in, a store, a provider with rotation and reuse detection, and a clock: all of them simulated,
//! and all events chosen by bytes. The promises of `auth.md` 18.3 are checked along the way:
//!
//! * every call ends, with at most [`MOST_REQUESTS`] requests to the provider for its sake;
//! * the provider never sees a refresh token that it has replaced, unless an answer was lost on the way to the store;
//! * as long as nothing is lost and every party is honest, a sign-in that the provider knows works, in every process.
//!
//! The tests of `ptc-oauth` and the fuzz target `token_machine` share it.

mod provider;

use std::time::Duration;

use provider::Provider;
use ptc_oauth::grants::GrantError;
use ptc_oauth::scopes::Scopes;
use ptc_oauth::timestamp::Timestamp;
use ptc_oauth::tokens::{
    AfterRefusal, Attempts, Decision, Errand, ErrandStep, Purpose, Renewal, Token, TokenRecord, TokenState,
};

/// Most requests to the provider for the sake of one call.
pub const MOST_REQUESTS: u32 = 4;
/// Most decisions of one call on the state of its process: a look, two waits and their ends, with room for waits behind errands
/// of others.
const MOST_DECISIONS: u32 = 16;
/// Processes on one store.
const PROCESSES: usize = 3;

/// The bytes that decide.
pub struct Choices<'a>(std::slice::Iter<'a, u8>);

impl<'a> Choices<'a> {
    /// The events are a function of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes.iter())
    }

    fn next(&mut self) -> Option<u8> {
        self.0.next().copied()
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::from(self.next().unwrap_or_default()) % bound
    }

    /// True once in `n` times; false when nothing is left.
    fn one_in(&mut self, n: u8) -> bool {
        self.next().is_some_and(|byte| byte % n == n - 1)
    }
}

/// The result of a run.
#[derive(Debug, Default)]
pub struct Report {
    /// Calls that the resource answered.
    pub succeeded: u32,
    /// Calls that ended since a person must sign in.
    pub sign_in: u32,
    /// Calls that ended since the provider was away.
    pub unavailable: u32,
    /// Requests to the provider for new tokens.
    pub requests: u32,
    /// Whether an answer was lost between provider and store.
    pub lost: bool,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Success,
    SignIn,
    Unavailable,
}

struct Call {
    attempts: Attempts,
    phase: Phase,
    decisions: u32,
    requests: u32,
    end: Option<End>,
}

enum Phase {
    Deciding,
    Waiting,
    Sending(Token),
}

/// A task that carries out an errand.
struct Task {
    errand: Errand,
    /// The call that it was begun for.
    caller: Option<usize>,
    holds_lock: bool,
}

struct Process {
    state: TokenState,
    task: Option<Task>,
    calls: Vec<Call>,
}

struct World<'a> {
    choices: Choices<'a>,
    now: Timestamp,
    renewal: Renewal,
    provider: Provider,
    stored: Option<TokenRecord>,
    locked: bool,
    processes: Vec<Process>,
    /// Whether the resource has refused a token that was good.
    lied: bool,
    report: Report,
}

/// Runs the events that `bytes` choose, and then continues until all is quiet.
///
/// # Panics
/// If a promise is broken.
pub fn run(bytes: &[u8]) -> Report {
    let mut choices = Choices::new(bytes);
    let renewal = match choices.below(4) {
        0 => Renewal::Grant,
        1 => Renewal::Refresh { dynamic_client: false },
        _ => Renewal::Refresh { dynamic_client: true },
    };
    let life = [None, Some(0), Some(1), Some(20), Some(3600)][choices.below(5)];
    let provider = Provider::new(!choices.one_in(4), life);
    let process = || Process { state: TokenState::new(renewal), task: None, calls: Vec::new() };
    let mut world = World {
        choices,
        now: Timestamp::from_seconds(1_700_000_000),
        renewal,
        provider,
        stored: None,
        locked: false,
        processes: (0..PROCESSES).map(|_| process()).collect(),
        lied: false,
        report: Report::default(),
    };
    while let Some(choice) = world.choices.next() {
        world.happen(choice);
    }
    world.come_to_rest();
    world.report
}

impl World<'_> {
    fn happen(&mut self, choice: u8) {
        let process = usize::from(choice / 16) % PROCESSES;
        match choice % 16 {
            0..=4 => self.step_task(process),
            5..=8 => self.step_call(process),
            9 => self.begin_call(process),
            10 => {
                let pauses = [1, 500, 1000, 15_000, 59_000, 61_000, 3_540_000, 4_000_000];
                self.now = self.now + Duration::from_millis(pauses[self.choices.below(pauses.len())]);
            }
            11 => self.sign_in(),
            12 => match self.choices.below(8) {
                0 => self.sign_out(),
                1 => self.provider.forget_client(),
                2 => self.provider.revoke(self.stored.as_ref()),
                3 => self.kill(process),
                4 => self.abandon(process),
                _ => self.provider.away = false,
            },
            13 => self.provider.away = !self.provider.away,
            14 => self.begin_errand(process),
            _ => {
                // A caller that does not wait any longer: what it has begun goes on.
                let calls = &mut self.processes[process].calls;
                if let Some(call) = calls.last_mut().filter(|call| call.end.is_none()) {
                    call.end = Some(End::Unavailable);
                }
            }
        }
    }

    fn begin_call(&mut self, process: usize) {
        let call = Call {
            attempts: Attempts::default(),
            phase: Phase::Deciding,
            decisions: 0,
            requests: 0,
            end: None,
        };
        self.processes[process].calls.push(call);
    }

    fn begin_errand(&mut self, process: usize) {
        let unwritten = self.processes[process].state.is_unwritten();
        let purpose = if unwritten { Purpose::WriteAgain } else { Purpose::Want(Scopes::of_text("more")) };
        if let Some(errand) = self.processes[process].state.begin(purpose) {
            assert!(self.processes[process].task.is_none(), "two errands at once");
            self.processes[process].task = Some(Task { errand, caller: None, holds_lock: false });
        }
    }

    /// A person signs in by a separate command, if the lock is free.
    fn sign_in(&mut self) {
        if self.locked || self.renewal == Renewal::Grant {
            return;
        }
        let answer = self.provider.sign_in(self.now);
        self.stored = Some(TokenRecord::signed_in(answer, self.stored.as_ref(), Scopes::default(), false));
    }

    fn sign_out(&mut self) {
        if !self.locked && self.choices.one_in(2) {
            self.provider.revoke(self.stored.as_ref());
            self.stored = self.stored.as_ref().map(|record| record.without_tokens(None));
        }
    }

    /// The process dies and another one takes its place.
    fn kill(&mut self, process: usize) {
        self.end_task(process);
        self.report.lost |= self.processes[process].state.is_unwritten();
        self.processes[process] =
            Process { state: TokenState::new(self.renewal), task: None, calls: Vec::new() };
    }

    /// The task of an errand dies, and its process notices.
    fn abandon(&mut self, process: usize) {
        if self.end_task(process) {
            self.processes[process].state.abandoned(self.now);
        }
    }

    fn end_task(&mut self, process: usize) -> bool {
        let Some(task) = self.processes[process].task.take() else { return false };
        // What was answered and is not written is lost.
        self.report.lost |= matches!(task.errand.step(), ErrandStep::Write(_));
        self.locked &= !task.holds_lock;
        true
    }

    fn step_task(&mut self, process: usize) {
        let Some(mut task) = self.processes[process].task.take() else { return };
        match task.errand.step().clone() {
            ErrandStep::Lock if self.locked => {
                if self.choices.one_in(8) {
                    task.errand.locked(false);
                }
            }
            ErrandStep::Lock => {
                (self.locked, task.holds_lock) = (true, true);
                task.errand.locked(true);
            }
            ErrandStep::Read => {
                let unreadable = self.choices.one_in(32);
                let stored =
                    if unreadable { Err("cannot be read".to_owned()) } else { Ok(self.stored.clone()) };
                // An answer may have come before: a refusal that nobody notes does no harm.
                task.errand.read(self.now, stored);
            }
            ErrandStep::Ask(record) => {
                self.report.requests += 1;
                if let Some(call) = task.caller.and_then(|at| self.processes[process].calls.get_mut(at)) {
                    call.requests += 1;
                    assert!(call.requests <= MOST_REQUESTS, "{} requests for one call", call.requests);
                }
                let answer = self.provider.ask(record.as_deref(), self.renewal, self.now);
                let lost = self.choices.one_in(32) && !self.provider.away;
                let answer = if lost {
                    self.report.lost |= answer.is_ok();
                    Err(GrantError::Unavailable { reason: "broken off".to_owned(), retry_after: None })
                } else {
                    answer
                };
                task.errand.answered(self.now, answer);
            }
            ErrandStep::Write(record) => {
                let written = !self.choices.one_in(16);
                if written {
                    self.stored = Some(*record);
                } else {
                    self.report.lost = true;
                }
                task.errand.written(written);
            }
            ErrandStep::DropClient => {
                task.errand.dropped();
            }
            ErrandStep::Done(outcome) => {
                self.locked &= !task.holds_lock;
                self.processes[process].state.finished(self.now, outcome);
                return;
            }
        }
        self.processes[process].task = Some(task);
        assert!(self.report.lost || !self.provider.reuse_detected, "a replaced refresh token was used");
    }

    /// One step of the first call of a process that has not ended.
    fn step_call(&mut self, process: usize) {
        let Some(at) = self.processes[process].calls.iter().position(|call| call.end.is_none()) else {
            return;
        };
        let Process { state, task, calls } = &mut self.processes[process];
        let call = &mut calls[at];
        match std::mem::replace(&mut call.phase, Phase::Deciding) {
            Phase::Waiting if task.is_some() => call.phase = Phase::Waiting,
            Phase::Waiting | Phase::Deciding => {
                call.decisions += 1;
                assert!(call.decisions <= MOST_DECISIONS, "a call goes round in circles");
                match state.decide(self.now, &mut call.attempts) {
                    Decision::Use(token) => call.phase = Phase::Sending(token),
                    Decision::Look => state.looked(self.now, Ok(self.stored.clone())),
                    Decision::Begin(errand) => {
                        assert!(task.is_none(), "two errands at once");
                        *task = Some(Task { errand: *errand, caller: Some(at), holds_lock: false });
                        call.phase = Phase::Waiting;
                    }
                    Decision::Wait => {
                        assert!(task.is_some(), "it waits for nothing");
                        call.phase = Phase::Waiting;
                    }
                    Decision::SignIn(_) => call.end = Some(End::SignIn),
                    Decision::Unavailable { until, .. } => {
                        assert!(
                            until.since(self.now) <= Duration::from_secs(60),
                            "a pause is a minute at most"
                        );
                        call.end = Some(End::Unavailable);
                    }
                }
            }
            Phase::Sending(token) => {
                let lie = self.choices.one_in(32);
                let is_good = self.provider.is_good(token.secret.expose(), self.now);
                self.lied |= lie && is_good;
                if is_good && !lie {
                    call.end = Some(End::Success);
                } else if call.attempts.refused(token.serial) == AfterRefusal::End {
                    call.end = Some(End::SignIn);
                    if let Some(errand) = state.rejected(self.now, token.serial) {
                        *task = Some(Task { errand, caller: None, holds_lock: false });
                    }
                }
            }
        }
        match self.processes[process].calls[at].end {
            Some(End::Success) => self.report.succeeded += 1,
            Some(End::SignIn) => self.report.sign_in += 1,
            Some(End::Unavailable) => self.report.unavailable += 1,
            None => {}
        }
    }

    /// Everything that is under way ends.
    fn settle(&mut self) {
        for _ in 0..10_000 {
            let is_quiet = |process: &Process| {
                process.task.is_none() && process.calls.iter().all(|call| call.end.is_some())
            };
            if self.processes.iter().all(is_quiet) {
                return;
            }
            for process in 0..PROCESSES {
                self.step_task(process);
                self.step_call(process);
            }
        }
        panic!("it does not come to rest");
    }

    /// The provider is there again, and each process makes a last call.
    fn come_to_rest(&mut self) {
        self.provider.away = false;
        self.settle();
        for process in 0..PROCESSES {
            // Any pause is over, and so is the time between two looks.
            self.now = self.now + Duration::from_secs(61);
            // What could not be written is written at the next use.
            if self.processes[process].state.is_unwritten() {
                self.begin_errand(process);
                self.settle();
            }
            self.begin_call(process);
            self.settle();
            let end = self.processes[process].calls.last().and_then(|call| call.end);
            assert_ne!(end, Some(End::Unavailable), "the provider is there");
            // A process may live on with a sign-in that another one has replaced, as long as the provider lets it.
            let known = self.renewal == Renewal::Grant || self.provider.knows(self.stored.as_ref(), self.now);
            if known && !self.report.lost && !self.lied && self.provider.can_satisfy() {
                assert_eq!(end, Some(End::Success), "process {process}: {:?}", self.stored);
            }
        }
    }
}
