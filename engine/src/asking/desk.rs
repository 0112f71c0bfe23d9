//! Where one call of a program asks.

use super::board::SavedCall;
use crate::context::RunContext;
use crate::kept::{KeptCall, Refused};
use crate::questions::{Answer, Question, QuestionKind, Unanswered};
use ptc_vm::machine::{CallId, Reply, UpstreamCall};
use std::rc::Rc;

/// Where one call of a program asks people.
#[derive(Clone)]
pub struct Desk {
    run: Rc<RunContext>,
    call: CallId,
    /// The kept programs within which the call is made, if it is one of an upstream's tool.
    kept: Option<Rc<KeptCall>>,
}

impl Desk {
    /// The desk of one call.
    pub(crate) fn new(run: Rc<RunContext>, call: CallId, kept: Option<Rc<KeptCall>>) -> Desk {
        Desk { run, call, kept }
    }

    /// Has the kept programs judged anew within which this call is made, by what the upstreams list by now.
    ///
    /// # Errors
    /// The call may not be made: the end of its program.
    pub async fn look_again(&self, call: &UpstreamCall) -> Result<(), Reply> {
        match self.kept.as_ref().and_then(|kept| kept.looked_at(&self.run, call)) {
            Some(looked_at) => looked_at.await.map_err(Refused::reply),
            None => Ok(()),
        }
    }

    /// The progress that this call saved when its program was suspended.
    pub fn progress(&self) -> Option<Vec<u8>> {
        self.run.board.progress(self.call)
    }

    /// Reports the sign-ins that this call waited for when its program was suspended, and that were answered since. `question`:
    /// the request for a sign-in at its upstream.
    pub fn tell_sign_ins(&self, question: impl FnOnce() -> Option<Question>) {
        self.run.board.tell_sign_ins(self.call, question);
    }

    /// Whether people have answered whether this call may be made while its program was suspended, and nobody was told.
    pub fn has_unasked_approval(&self) -> bool {
        self.run.board.has_news(self.call, QuestionKind::Approval)
    }

    /// Reports these answers, for a call that is not asked about again. `question`: the question for it.
    pub fn tell_unasked_approval(&self, question: Question) {
        self.run.board.tell_unasked(self.call, QuestionKind::Approval, || Some(question));
    }

    /// Whether there is an asker.
    pub fn has_asker(&self) -> bool {
        self.run.board.asker().is_some()
    }

    /// Questions that the program may ask in all.
    pub fn most_questions(&self) -> u32 {
        self.run.board.most_questions()
    }

    /// Registers `is_stuck`, which says whether this call is blocked on others of its program, until the result is dropped.
    pub fn may_queue(&self, is_stuck: impl Fn() -> bool + 'static) -> MayQueue<'_> {
        self.run.board.may_queue(self.call, Box::new(is_stuck));
        MayQueue(self)
    }

    /// Asks, and waits until all is answered: one answer for each question, in their order. While it waits, the call counts as
    /// not under way. Dropped, it asks no longer. Without `saved` the program cannot leave its process meanwhile.
    pub async fn ask(
        &self,
        questions: Vec<Question>,
        saved: Option<SavedCall>,
    ) -> Vec<Result<Answer, Unanswered>> {
        let count = questions.len();
        if count == 0 {
            return Vec::new();
        }
        let told = match self.run.board.ask(self.call, questions, saved) {
            Ok(answered) => return answered,
            Err(told) => told,
        };
        let _withdrawn = Withdraw(self);
        self.run.has_waited.set(true);
        told.await.unwrap_or_else(|_| vec![Err(Unanswered::Unanswerable); count])
    }
}

/// A call that may have to wait for others.
pub struct MayQueue<'a>(&'a Desk);

impl Drop for MayQueue<'_> {
    fn drop(&mut self) {
        self.0.run.board.queues_no_more(self.0.call);
    }
}

/// Withdraws the questions of a call when dropped.
struct Withdraw<'a>(&'a Desk);

impl Drop for Withdraw<'_> {
    fn drop(&mut self) {
        self.0.run.board.withdraw(self.0.call);
    }
}
