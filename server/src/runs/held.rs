//! A run whose lease this process holds.

use ptc_host::sync::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use ptc_host::questions::{Answer, PendingQuestion, QuestionId};
use ptc_host::state::Key;
use ptc_host::time::{self, Instant, timeout_at};
use tokio::sync::{Notify, oneshot, watch};

use super::lawful::CallCount;
use super::look::{Seen, WaitingRun};
use super::prints::PrintLog;
use super::record::{RunRecord, Status, Wait};
use super::seed::Pinned;
use crate::protocol::tool::ToolReply;
use crate::timestamp;

/// The progress of a running program, as its client sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) run_id: Arc<str>,
    /// The time since its call arrived.
    pub(crate) elapsed: Duration,
    /// The upstream calls that it has made.
    pub(crate) calls: u32,
    /// The output printed since the last reply.
    pub(crate) prints: Vec<String>,
    /// Prints since then that were dropped.
    pub(crate) omitted: u64,
}

/// An instruction to a running program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    GoOn,
    Cancel,
    /// The process shuts down.
    Interrupt,
}

/// The phase of a run that this process holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    /// It waits for people in this process, and no other process can resume it.
    Waiting,
    Ended,
    /// Its program is suspended in the store, where its state is to be read.
    Left,
}

/// A run that this process drives, or drove until a moment ago.
pub(super) struct Held {
    pub(super) key: Key,
    pub(super) tool: String,
    pub(super) began: Instant,
    pub(super) began_ms: i64,
    pub(super) calls: CallCount,
    pub(super) prints: Mutex<PrintLog>,
    /// How many prints have been reported to its clients.
    told: Mutex<u64>,
    pub(super) orders: watch::Sender<Order>,
    /// Notified when its inbox may have a message.
    pub(super) wake: Notify,
    phase: watch::Sender<Phase>,
    /// When the phase last changed or an answer came, in milliseconds since 1970.
    updated_ms: AtomicI64,
    /// The time until which its client was promised that it is kept, in milliseconds since 1970; 0 without such a
    /// promise.
    until_ms: AtomicI64,
    pub(super) end: Mutex<Option<(Status, ToolReply)>>,
    /// The questions of a resident program, while it waits.
    pinned: Mutex<Option<PinnedWait>>,
    /// The number of the last question that it has asked.
    asked: Mutex<u32>,
}

/// A resident program that waits.
struct PinnedWait {
    wait: Wait,
    answered: oneshot::Sender<Vec<(QuestionId, Answer)>>,
}

/// A resident program that can resume, and its answers.
pub(super) struct Released {
    answered: oneshot::Sender<Vec<(QuestionId, Answer)>>,
    answers: Vec<(QuestionId, Answer)>,
}

impl Released {
    /// Resumes it.
    pub(super) fn go_on(self) {
        // It may have ended in the meantime.
        let _ = self.answered.send(self.answers);
    }
}

impl Held {
    pub(super) fn new(
        key: Key,
        tool: String,
        (began, began_ms): (Instant, i64),
        calls: CallCount,
        (prints, asked): (PrintLog, u32),
    ) -> Held {
        Held {
            key,
            tool,
            began,
            began_ms,
            calls,
            prints: Mutex::new(prints),
            told: Mutex::new(0),
            orders: watch::Sender::new(Order::GoOn),
            wake: Notify::new(),
            phase: watch::Sender::new(Phase::Running),
            updated_ms: AtomicI64::new(timestamp::shared_now_ms()),
            until_ms: AtomicI64::new(0),
            end: Mutex::new(None),
            pinned: Mutex::new(None),
            asked: Mutex::new(asked),
        }
    }

    /// Its current record.
    pub(super) fn record(&self) -> RunRecord {
        let is_open =
            |pinned: &&PinnedWait| pinned.wait.questions.iter().any(|question| question.answer.is_none());
        let wait = self.pinned.lock().as_ref().filter(is_open).map(|pinned| pinned.wait.clone());
        RunRecord {
            status: if wait.is_some() { Status::Waiting } else { Status::Running },
            principal: self.key.owner().name().clone(),
            tool: self.tool.clone(),
            began_ms: self.began_ms,
            calls: self.calls.made(),
            prints: self.prints.lock().clone(),
            outcome: None,
            call: None,
            wait,
            asked: *self.asked.lock(),
            updated_ms: self.updated_ms.load(Ordering::Relaxed),
            until_ms: self.until_ms.load(Ordering::Relaxed),
            snapshot: Bytes::new(),
        }
    }

    /// Notes that its client was promised that it is kept until then.
    pub(super) fn promise(&self, until_ms: i64) {
        self.until_ms.fetch_max(until_ms, Ordering::Relaxed);
    }

    fn changes_to(&self, phase: Phase) {
        self.updated_ms.store(timestamp::shared_now_ms(), Ordering::Relaxed);
        self.phase.send_replace(phase);
    }

    /// Its open questions, if it waits in this process.
    pub(super) fn waiting(&self) -> Option<WaitingRun> {
        let record = self.record();
        record.wait.as_ref().map(|_| WaitingRun::of_record(self.key.id(), &record))
    }

    /// Its progress. Marks the prints as reported.
    pub(super) fn progress(&self) -> Progress {
        let mut told = self.told.lock();
        let prints = self.prints.lock();
        let (new, omitted) = prints.after(*told);
        *told = prints.count();
        Progress {
            run_id: self.key.id().clone(),
            elapsed: time::since(self.began),
            calls: self.calls.made(),
            prints: new,
            omitted,
        }
    }

    /// Notes that its program waits in this process, until then.
    pub(super) fn waits(&self, pinned: Pinned, expires_at_ms: i64) {
        self.has_asked(&pinned.open);
        let wait = Wait { questions: pinned.open, expires_at_ms, is_pinned: true, tail_ms: 0 };
        *self.pinned.lock() = Some(PinnedWait { wait, answered: pinned.answered });
        self.changes_to(Phase::Waiting);
    }

    /// Notes the number of the last question.
    pub(super) fn has_asked(&self, questions: &[PendingQuestion]) {
        let mut asked = self.asked.lock();
        let last = questions.iter().map(|question| question.id.number()).max();
        *asked = (*asked).max(last.unwrap_or(0));
    }

    /// The number of the last question.
    pub(super) fn asked(&self) -> u32 {
        *self.asked.lock()
    }

    /// Changes the questions that are open here; `None` if there are none. Wakes the task that drives the run.
    pub(super) fn answer<T>(&self, take: impl FnOnce(&mut Vec<PendingQuestion>) -> T) -> Option<T> {
        let mut pinned = self.pinned.lock();
        let questions = &mut pinned.as_mut()?.wait.questions;
        let taken = take(questions);
        if questions.iter().all(|question| question.answer.is_some()) {
            // It resumes as soon as it has a permit.
            self.changes_to(Phase::Running);
        }
        self.updated_ms.store(timestamp::shared_now_ms(), Ordering::Relaxed);
        self.wake.notify_one();
        Some(taken)
    }

    /// The program with its answers, once all questions are answered. From then on it counts as running.
    pub(super) fn released(&self) -> Option<Released> {
        let mut pinned = self.pinned.lock();
        let waits = |wait: &Wait| wait.questions.iter().any(|question| question.answer.is_none());
        if pinned.as_ref().is_none_or(|pinned| waits(&pinned.wait)) {
            return None;
        }
        let PinnedWait { wait, answered } = pinned.take()?;
        let answers = wait.questions.into_iter().filter_map(|question| Some((question.id, question.answer?)));
        Some(Released { answered, answers: answers.collect() })
    }

    /// Notes how it has ended.
    pub(super) fn ends(&self, status: Status, reply: ToolReply) {
        *self.end.lock() = Some((status, reply));
        self.pinned.lock().take();
        self.changes_to(Phase::Ended);
    }

    /// Notes that its program is now suspended in the store.
    pub(super) fn leaves(&self) {
        self.phase.send_replace(Phase::Left);
    }

    /// True if this process has nothing more to do for it.
    pub(super) fn has_ended(&self) -> bool {
        matches!(*self.phase.borrow(), Phase::Ended | Phase::Left)
    }

    /// True if its program is now suspended in the store.
    pub(super) fn has_left(&self) -> bool {
        *self.phase.borrow() == Phase::Left
    }

    /// The word for its status.
    pub(super) fn status(&self) -> &'static str {
        match &*self.end.lock() {
            Some((status, _)) => status.as_str(),
            None if self.has_left() => Status::Waiting.as_str(),
            None => Status::Running.as_str(),
        }
    }

    /// Waits until this process has nothing more to do for it.
    pub(super) async fn ended(&self) {
        // The sender is here.
        let _ = self.phase.subscribe().wait_for(|phase| matches!(phase, Phase::Ended | Phase::Left)).await;
    }

    /// Waits for its end, a question or `until`, and returns what a client sees then. The first caller that sees the
    /// end gets the report for observers. Returns `None` if the program is in the store.
    pub(super) async fn seen(&self, until: Instant) -> Option<Seen> {
        let mut phase = self.phase.subscribe();
        let _ = timeout_at(until, phase.wait_for(|phase| *phase != Phase::Running)).await;
        if *self.phase.borrow() == Phase::Left {
            return None;
        }
        if let Some((status, reply)) = &mut *self.end.lock() {
            let seen = reply.clone();
            reply.report = None;
            return Some(Seen::Ended(*status, Box::new(seen)));
        }
        Some(match self.waiting() {
            Some(waiting) => Seen::Waiting(waiting),
            None => Seen::Running(self.progress()),
        })
    }
}
