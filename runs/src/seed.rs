//! The parts of a call that become a run if the call outlasts its wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ptc_host::engine::Suspended;
use ptc_host::questions::{Answer, PendingQuestion, QuestionId};
use tokio::sync::{mpsc, oneshot};

use super::record::KeptCall;
use ptc_protocol::tool::ToolReply;

/// The run that a call may become, for the asker of its program.
#[derive(Clone)]
pub struct RunSeed {
    /// The id of that run.
    pub id: Arc<str>,
    pinned: mpsc::UnboundedSender<Pinned>,
    /// True once its client has been answered with the id.
    is_told: Arc<AtomicBool>,
}

/// Questions of a resident program.
pub(super) struct Pinned {
    pub(super) open: Vec<PendingQuestion>,
    pub(super) answered: oneshot::Sender<Vec<(QuestionId, Answer)>>,
}

/// The receiver of the questions, in the task that drives the run.
pub(super) type PinnedQuestions = mpsc::UnboundedReceiver<Pinned>;

/// How far a program ran.
#[derive(Debug)]
pub enum Ran {
    /// To its end, or to another reply for its client.
    Ended(ToolReply),
    /// To questions, for which its run is to be stored, with the call that resumes it.
    Waits(Box<Suspended>, KeptCall),
}

impl Ran {
    /// The answer of a call that does not become a run.
    pub fn alone(self) -> ToolReply {
        match self {
            Ran::Ended(reply) => reply,
            // Only a call with a seed suspends its program.
            Ran::Waits(..) => {
                ToolReply::failure("internal_error", "internal error", "Run the program again.")
            }
        }
    }
}

impl RunSeed {
    /// Makes a seed, and the receiver of the questions of a resident program. `None` if the system has no entropy.
    pub(super) fn new() -> Option<(RunSeed, PinnedQuestions)> {
        super::id::new().map(RunSeed::of)
    }

    /// The seed of a run that exists already.
    pub(super) fn of(id: Arc<str>) -> (RunSeed, PinnedQuestions) {
        let (pinned, questions) = mpsc::unbounded_channel();
        (RunSeed { id, pinned, is_told: Arc::default() }, questions)
    }

    /// Passes the questions of a resident program to the task that drives the run, and waits for the answers.
    pub async fn hold(self, open: Vec<PendingQuestion>) -> Vec<(QuestionId, Answer)> {
        let (answered, answers) = oneshot::channel();
        if self.pinned.send(Pinned { open, answered }).is_err() {
            return Vec::new();
        }
        answers.await.unwrap_or_default()
    }

    /// True if its client has been answered with the id.
    pub fn is_told(&self) -> bool {
        self.is_told.load(Ordering::Acquire)
    }

    /// Notes that its client has been answered with the id.
    pub(super) fn tell(&self) {
        self.is_told.store(true, Ordering::Release);
    }
}
