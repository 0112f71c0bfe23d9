//! What a call has of the run that it may become.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ptc_host::engine::Suspended;
use ptc_host::questions::{Answer, OpenQuestion, QuestionId};
use tokio::sync::{mpsc, oneshot};

use super::record::KeptCall;
use crate::protocol::tool::ToolReply;

/// The run that a call may become, for whoever asks on behalf of its program.
#[derive(Clone)]
pub(crate) struct RunSeed {
    /// Its id, if it becomes one.
    pub(crate) id: Arc<str>,
    pinned: mpsc::UnboundedSender<Pinned>,
    /// Whether its client knows the id, and has been answered.
    is_told: Arc<AtomicBool>,
}

/// Questions of a program that cannot leave its process.
pub(super) struct Pinned {
    pub(super) open: Vec<OpenQuestion>,
    pub(super) answered: oneshot::Sender<Vec<(QuestionId, Answer)>>,
}

/// The questions, where the run is driven.
pub(super) type PinnedQuestions = mpsc::UnboundedReceiver<Pinned>;

/// How far a program has come.
#[derive(Debug)]
pub(crate) enum Ran {
    /// To its end, or to something else that its client is answered with.
    Ended(ToolReply),
    /// To questions, and its run is to be kept.
    Waits(Box<Suspension>),
}

impl Ran {
    /// The answer of a call that becomes no run.
    pub(crate) fn alone(self) -> ToolReply {
        match self {
            Ran::Ended(reply) => reply,
            // Only a call with a seed is told to keep its run.
            Ran::Waits(_) => ToolReply::failure("internal_error", "internal error", "Run the program again."),
        }
    }
}

/// A program that has left the machine.
#[derive(Debug)]
pub(crate) struct Suspension {
    /// It, and what it asks.
    pub(crate) suspended: Suspended,
    /// The call that it goes on with.
    pub(crate) call: KeptCall,
}

impl RunSeed {
    /// A seed, and the questions of a program that is pinned. `None` if the system has no entropy.
    pub(super) fn new() -> Option<(RunSeed, PinnedQuestions)> {
        super::id::new().map(RunSeed::of)
    }

    /// The seed of a run that is there already.
    pub(super) fn of(id: Arc<str>) -> (RunSeed, PinnedQuestions) {
        let (pinned, questions) = mpsc::unbounded_channel();
        (RunSeed { id, pinned, is_told: Arc::default() }, questions)
    }

    /// Has the questions of a program that cannot leave answered where it is.
    pub(crate) async fn hold(self, open: Vec<OpenQuestion>) -> Vec<(QuestionId, Answer)> {
        let (answered, answers) = oneshot::channel();
        if self.pinned.send(Pinned { open, answered }).is_err() {
            return Vec::new();
        }
        answers.await.unwrap_or_default()
    }

    /// Whether its client has been answered with the id.
    pub(crate) fn is_told(&self) -> bool {
        self.is_told.load(Ordering::Acquire)
    }

    /// Notes that.
    pub(super) fn tell(&self) {
        self.is_told.store(true, Ordering::Release);
    }
}
