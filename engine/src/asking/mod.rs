//! Programs that wait for people (waiting.md 2 and 3).
//!
//! Calls ask at their [`Desk`]. Once every call of the program is blocked on an answer, the engine hands all open questions to
//! the request's [`Asker`]: it obtains answers while the program stays resident, or returns [`Verdict::Leave`]. The program is
//! serialized then (the module `record`), its eval ends with [`Suspended`](super::Suspended), and another eval of the same
//! request resumes it, in this process or another one.

mod ask;
mod board;
mod desk;
#[cfg(feature = "saved-sessions")]
mod record;

pub(super) use ask::ask;
pub(super) use board::Board;
pub use board::SavedCall;
pub use desk::Desk;
#[cfg(feature = "saved-sessions")]
pub use record::travelling_text;
#[cfg(feature = "saved-sessions")]
pub(super) use record::{NotRestored, ResumedProgram, leave, restore};

use super::outcome::Failure;
use crate::questions::{Answer, PendingQuestion, Question, QuestionId};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use std::sync::Arc;

/// Most questions that are open at a time (waiting.md 3.6).
pub const MOST_OPEN: usize = 16;
/// Questions that a program may ask unless the operator says something else (`--max-questions-per-program`).
pub const MOST_QUESTIONS: u32 = 32;

/// Has the questions of one program answered.
pub trait Asker: Send + Sync {
    /// Whether such a question can be answered. Otherwise the call that asks fails at once.
    fn can_ask(&self, question: &Question) -> bool {
        let _ = question;
        true
    }

    /// Asks the open questions, at most [`MOST_OPEN`]; the program is blocked until then. The time until the verdict does not
    /// count as the program's. Questions without an answer stay open.
    fn ask(&self, open: Vec<PendingQuestion>) -> BoxFuture<'static, Verdict>;

    /// Asks as well, after [`Verdict::Leave`] was said of a program that cannot leave its process; `why` says the reason. Ends
    /// with answers.
    fn hold(&self, open: Vec<PendingQuestion>, why: String) -> BoxFuture<'static, Vec<(QuestionId, Answer)>>;

    /// The call that asked has taken an answer of [`Resume::answers`]: called once for each call that the question was about.
    fn came(&self, id: QuestionId, question: &Question, answer: &Answer) {
        let _ = (id, question, answer);
    }

    /// Questions that the program may ask in all.
    fn most_questions(&self) -> u32 {
        MOST_QUESTIONS
    }
}

/// The asker's verdict on a program with open questions.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// It continues where it is.
    Answered(Vec<(QuestionId, Answer)>),
    /// It is written, and its eval ends.
    Leave,
}

/// How an eval resumes a suspended program.
#[derive(Clone)]
pub struct Resume {
    /// The snapshot of [`Suspended`](super::Suspended): untrusted bytes.
    pub snapshot: Bytes,
    /// Answers by question. Questions without one are asked again.
    pub answers: Vec<(QuestionId, Answer)>,
    /// Asked once the program has been read and before anything of it runs.
    pub gate: Option<Arc<dyn Gate>>,
}

/// Admits the resume of a suspended program, which may happen only once.
pub trait Gate: Send + Sync {
    /// Admits the resume. Its time does not count as the program's.
    ///
    /// # Errors
    /// Why it does not.
    fn pass(&self) -> BoxFuture<'static, Result<(), Failure>>;
}
