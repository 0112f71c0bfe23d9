//! The asker of a program that has a dialect.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use ptc_host::engine::{Asker, Verdict};
use ptc_host::questions::{Answer, PendingQuestion, Question, QuestionId};

use super::ProgramTool;
use ptc_protocol::tool::CallExtras;

/// Asks only the questions for which the client of the call declares a way.
pub(super) struct DialectAsker {
    pub(super) asker: Arc<dyn Asker>,
    pub(super) extension: Arc<dyn ProgramTool>,
    pub(super) extras: Arc<CallExtras>,
    /// True if its client shows forms of the product.
    pub(super) shows_forms: bool,
}

impl Asker for DialectAsker {
    fn can_ask(&self, question: &Question) -> bool {
        let dialect = self.extension.dialect();
        let otherwise = dialect.and_then(|dialect| dialect.can_ask(question, &self.extras));
        otherwise.unwrap_or(self.shows_forms) && self.asker.can_ask(question)
    }

    fn ask(&self, open: Vec<PendingQuestion>) -> BoxFuture<'static, Verdict> {
        self.asker.ask(open)
    }

    fn hold(&self, open: Vec<PendingQuestion>, why: String) -> BoxFuture<'static, Vec<(QuestionId, Answer)>> {
        self.asker.hold(open, why)
    }

    fn came(&self, id: QuestionId, question: &Question, answer: &Answer) {
        self.asker.came(id, question, answer);
    }

    fn most_questions(&self) -> u32 {
        self.asker.most_questions()
    }
}
