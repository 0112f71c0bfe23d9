//! A run whose lease this process holds.

use std::sync::Arc;

use ptc_host::questions::{Answer, PendingQuestion, QuestionId, Receipt};
use ptc_host::state::Key;
use ptc_host::time::{self, Instant, timeout_at};
use tokio::sync::{Notify, oneshot, watch};

use super::answering::{SentAnswers, take_answers};
use super::driver::ResidentQuestions;
use super::lease::LeaseGuard;
use super::record::{RunRecord, Status, Wait};
use super::view::RunView;
use ptc_protocol::timestamp;
use ptc_protocol::tool::ToolReply;

/// A run that this process drives, or drove until a moment ago.
pub(super) struct ActiveRun {
    pub(super) key: Key,
    began: Instant,
    pub(super) guard: Arc<LeaseGuard>,
    live: watch::Sender<LiveState>,
    /// The end that somebody orders: cancelled, or interrupted as the process shuts down.
    pub(super) orders: watch::Sender<Option<Status>>,
    /// Notified when its inbox may have a message, or it was answered.
    pub(super) wake: Notify,
}

/// The changing part of a run that this process holds.
struct LiveState {
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

impl LiveState {
    fn changes_to(&mut self, status: Status) {
        self.record.status = status;
        self.record.updated_ms = timestamp::shared_now_ms();
    }

    /// True if this process has nothing more to do for it.
    fn is_over(&self) -> bool {
        self.has_left || self.reply.is_some()
    }
}

impl ActiveRun {
    /// The run of this record.
    pub(super) fn new(key: Key, began: Instant, guard: Arc<LeaseGuard>, record: RunRecord) -> ActiveRun {
        let (answered, answers) = (None, Vec::new());
        let live = LiveState { record, answered, answers, told: 0, reply: None, has_left: false };
        ActiveRun {
            key,
            began,
            guard,
            live: watch::Sender::new(live),
            orders: watch::Sender::new(None),
            wake: Notify::new(),
        }
    }

    /// Changes it in a way that nobody waits for.
    fn note<T>(&self, change: impl FnOnce(&mut LiveState) -> T) -> T {
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

    /// True if its program waits for answers in this process.
    pub(super) fn is_waiting(&self) -> bool {
        self.live.borrow().record.wait.is_some()
    }

    /// True if its resident program waits, or has its answers and needs a permit to take them.
    pub(super) fn is_paused(&self) -> bool {
        self.live.borrow().answered.is_some()
    }

    /// The run as it is now; `None` if its program is in the store.
    pub(super) fn peek(&self) -> Option<RunView> {
        let live = self.live.borrow();
        let view = RunView::of(self.key.id(), &live.record).replying(live.reply.clone());
        (!live.has_left).then(|| RunView {
            calls: self.guard.calls(),
            elapsed: time::since(self.began),
            ..view
        })
    }

    /// The run as its client sees it now, which is told of the new prints of one that runs, and of the report of an end; `None`
    /// if its program is in the store.
    pub(super) fn view(&self) -> Option<RunView> {
        let view = self.peek()?;
        self.note(|live| {
            live.reply.iter_mut().for_each(|reply| reply.report = None);
            if view.status != Status::Running {
                return Some(view);
            }
            let (prints, omitted) = live.record.prints.after(live.told);
            live.told = live.record.prints.count();
            Some(RunView { prints, omitted, ..view })
        })
    }

    /// Notes that its program waits in this process, until then.
    pub(super) fn waits(&self, asked: ResidentQuestions, expires_at_ms: i64) {
        let ResidentQuestions { open: questions, answered } = asked;
        self.live.send_modify(|live| {
            live.record.has_asked(&questions);
            live.record.wait = Some(Wait { questions, expires_at_ms, is_pinned: true, tail_ms: 0 });
            live.answered = Some(answered);
            live.changes_to(Status::Waiting);
        });
    }

    /// Takes answers for the questions that are open here; `None` if its program is in the store. Wakes the task that drives
    /// the run.
    pub(super) fn answer(&self, sent: &SentAnswers<'_>) -> Option<Vec<(QuestionId, Receipt)>> {
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

    /// Resumes its program, if it is resident and waited.
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
        let _ = self.live.subscribe().wait_for(LiveState::is_over).await;
    }

    /// Waits for its end, a question or `until`, and returns what a client sees then. The first caller that sees the
    /// end gets the report for observers. Returns `None` if the program is in the store.
    pub(super) async fn watch(&self, until: Instant) -> Option<RunView> {
        let is_news = |live: &LiveState| live.is_over() || live.record.status == Status::Waiting;
        let _ = timeout_at(until, self.live.subscribe().wait_for(is_news)).await;
        self.view()
    }
}
