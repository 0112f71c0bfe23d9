//! A run whose lease this process holds.

use std::sync::Arc;
use std::time::Duration;

use ptc_host::questions::{Answer, PendingQuestion, QuestionId, Receipt};
use ptc_host::state::Key;
use ptc_host::time::{self, Instant, timeout_at};
use tokio::sync::{Notify, oneshot, watch};

use super::answering::{Sent, take_answers};
use super::lease::LeaseGuard;
use super::look::{Seen, WaitingRun};
use super::record::{RunRecord, Status, Wait};
use super::seed::Pinned;
use ptc_protocol::timestamp;
use ptc_protocol::tool::ToolReply;

/// The progress of a running program, as its client sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// The id of the run.
    pub run_id: Arc<str>,
    /// The time since its call arrived.
    pub elapsed: Duration,
    /// The upstream calls that it has made.
    pub calls: u32,
    /// The output printed since the last reply.
    pub prints: Vec<String>,
    /// Prints since then that were dropped.
    pub omitted: u64,
}

/// A run that this process drives, or drove until a moment ago.
pub(super) struct Held {
    pub(super) key: Key,
    began: Instant,
    pub(super) guard: Arc<LeaseGuard>,
    live: watch::Sender<Live>,
    /// The end that somebody orders: cancelled, or interrupted as the process shuts down.
    pub(super) orders: watch::Sender<Option<Status>>,
    /// Notified when its inbox may have a message, or it was answered.
    pub(super) wake: Notify,
}

/// The changing part of a run that this process holds.
struct Live {
    /// Its record, except for the number of its calls.
    record: RunRecord,
    /// Takes the answers of a resident program that waits, or waited until a moment ago.
    answered: Option<oneshot::Sender<Vec<(QuestionId, Answer)>>>,
    /// All answers, once they are there: its program resumes as soon as it has a permit.
    answers: Vec<(QuestionId, Answer)>,
    /// How many prints have been reported to its clients.
    told: u64,
    /// Its end.
    reply: Option<ToolReply>,
    /// True if its program is suspended in the store, where its state is to be read.
    has_left: bool,
}

impl Live {
    fn changes_to(&mut self, status: Status) {
        self.record.status = status;
        self.record.updated_ms = timestamp::shared_now_ms();
    }

    /// True if this process has nothing more to do for it.
    fn is_over(&self) -> bool {
        self.has_left || self.reply.is_some()
    }

    /// What a client sees, without progress; `None` if its program is in the store.
    fn seen(&self, id: &Arc<str>) -> Option<Seen<()>> {
        if self.has_left {
            return None;
        }
        Some(match (&self.reply, &self.record.wait) {
            (Some(reply), _) => Seen::Ended(self.record.status, Box::new(reply.clone())),
            (None, Some(_)) => Seen::Waiting(WaitingRun::of_record(id, &self.record)),
            (None, None) => Seen::Running(()),
        })
    }
}

impl Held {
    /// The run of this record.
    pub(super) fn new(key: Key, began: Instant, guard: Arc<LeaseGuard>, record: RunRecord) -> Held {
        let (answered, answers) = (None, Vec::new());
        let live = Live { record, answered, answers, told: 0, reply: None, has_left: false };
        Held {
            key,
            began,
            guard,
            live: watch::Sender::new(live),
            orders: watch::Sender::new(None),
            wake: Notify::new(),
        }
    }

    /// Changes it in a way that nobody waits for.
    fn note<T>(&self, change: impl FnOnce(&mut Live) -> T) -> T {
        let mut noted = None;
        self.live.send_if_modified(|live| {
            noted = Some(change(live));
            false
        });
        noted.expect("the change was made")
    }

    /// Its current record.
    pub(super) fn record(&self) -> RunRecord {
        RunRecord { calls: self.guard.calls(), ..self.live.borrow().record.clone() }
    }

    /// The tool that was called.
    pub(super) fn tool(&self) -> String {
        self.live.borrow().record.tool.clone()
    }

    /// Adds a print.
    pub(super) fn print(&self, text: &str) {
        self.note(|live| live.record.prints.push(text));
    }

    /// Notes that its client was promised that it is kept until then.
    pub(super) fn promise(&self, until_ms: i64) {
        self.note(|live| live.record.until_ms = live.record.until_ms.max(until_ms));
    }

    /// Its open questions, if it waits in this process.
    pub(super) fn waiting(&self) -> Option<WaitingRun> {
        let live = self.live.borrow();
        live.record.wait.as_ref().map(|_| WaitingRun::of_record(self.key.id(), &live.record))
    }

    /// Its progress. Marks the prints as reported.
    pub(super) fn progress(&self) -> Progress {
        let (prints, omitted) = self.note(|live| {
            let new = live.record.prints.after(live.told);
            live.told = live.record.prints.count();
            new
        });
        let (elapsed, calls) = (time::since(self.began), self.guard.calls());
        Progress { run_id: self.key.id().clone(), elapsed, calls, prints, omitted }
    }

    /// Notes that its program waits in this process, until then.
    pub(super) fn waits(&self, pinned: Pinned, expires_at_ms: i64) {
        let Pinned { open: questions, answered } = pinned;
        self.live.send_modify(|live| {
            live.record.has_asked(&questions);
            live.record.wait = Some(Wait { questions, expires_at_ms, is_pinned: true, tail_ms: 0 });
            live.answered = Some(answered);
            live.changes_to(Status::Waiting);
        });
    }

    /// Takes answers for the questions that are open here; `None` if its program is in the store. Wakes the task that drives
    /// the run.
    pub(super) fn answer(&self, sent: &Sent<'_>) -> Option<Vec<(QuestionId, Receipt)>> {
        let mut receipts = None;
        self.live.send_if_modified(|live| {
            if live.has_left {
                return false;
            }
            let asked = live.record.asked;
            let Some(wait) = &mut live.record.wait else {
                receipts = Some(take_answers(&mut [], asked, sent));
                return false;
            };
            receipts = Some(take_answers(&mut wait.questions, asked, sent));
            if wait.questions.iter().any(PendingQuestion::is_open) {
                live.changes_to(Status::Waiting);
            } else {
                let questions = std::mem::take(&mut wait.questions);
                live.answers =
                    questions.into_iter().filter_map(|asked| Some((asked.id, asked.answer?))).collect();
                live.record.wait = None;
                live.changes_to(Status::Running);
            }
            true
        });
        self.wake.notify_one();
        receipts
    }

    /// True if its resident program has all of its answers, and needs a permit to resume.
    pub(super) fn is_released(&self) -> bool {
        let live = self.live.borrow();
        live.answered.is_some() && live.record.wait.is_none()
    }

    /// Resumes its resident program.
    pub(super) fn go_on(&self) {
        self.note(|live| {
            let answers = std::mem::take(&mut live.answers);
            // It may have ended in the meantime.
            let _ = live.answered.take().map(|answered| answered.send(answers));
        });
    }

    /// Notes how it has ended.
    pub(super) fn ends(&self, status: Status, reply: ToolReply) {
        self.live.send_modify(|live| {
            live.record.wait = None;
            live.answered = None;
            live.reply = Some(reply);
            live.changes_to(status);
        });
    }

    /// Notes that its program is now suspended in the store.
    pub(super) fn leaves(&self) {
        self.live.send_modify(|live| {
            live.record.status = Status::Waiting;
            live.has_left = true;
        });
    }

    /// True if this process has nothing more to do for it.
    pub(super) fn has_ended(&self) -> bool {
        self.live.borrow().is_over()
    }

    /// True if its program is now suspended in the store.
    pub(super) fn has_left(&self) -> bool {
        self.live.borrow().has_left
    }

    /// Its status.
    pub(super) fn status(&self) -> Status {
        self.live.borrow().record.status
    }

    /// Waits until this process has nothing more to do for it.
    pub(super) async fn ended(&self) {
        // The sender is here.
        let _ = self.live.subscribe().wait_for(Live::is_over).await;
    }

    /// Waits for its end, a question or `until`, and returns what a client sees then. The first caller that sees the
    /// end gets the report for observers. Returns `None` if the program is in the store.
    pub(super) async fn seen(&self, until: Instant) -> Option<Seen> {
        let is_news = |live: &Live| live.is_over() || live.record.status == Status::Waiting;
        let _ = timeout_at(until, self.live.subscribe().wait_for(is_news)).await;
        let seen = self.note(|live| {
            let seen = live.seen(self.key.id());
            live.reply.iter_mut().for_each(|reply| reply.report = None);
            seen
        });
        Some(match seen? {
            Seen::Running(()) => Seen::Running(self.progress()),
            Seen::Waiting(run) => Seen::Waiting(run),
            Seen::Ended(status, reply) => Seen::Ended(status, reply),
        })
    }

    /// What a client sees now, without progress; `None` if its program is in the store.
    pub(super) fn standing(&self) -> Option<Seen<()>> {
        self.live.borrow().seen(self.key.id())
    }
}
