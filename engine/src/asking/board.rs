//! The open questions of one program's calls, assembled for the asker.

use super::{Asker, MOST_OPEN};
use crate::questions::{Answer, MAX_CALLS, PendingQuestion, Question, QuestionId, QuestionKind, Unanswered};
use ptc_vm::graph::WireWriter;
use ptc_vm::machine::{CallId, FeatureRequest, HostRequest, UpstreamCall};
use serde::{Deserialize, Serialize};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::oneshot;

/// What became of the questions of one call, in their order.
type Answers = Vec<Result<Answer, Unanswered>>;

/// Whether a call is blocked until other calls are answered.
type IsStuck = Box<dyn Fn() -> bool>;

/// The open questions of a program.
pub(crate) struct Board {
    asker: Option<Arc<dyn Asker>>,
    /// Number of the last question.
    last: Cell<u32>,
    asking: RefCell<BTreeMap<CallId, BlockedCall>>,
    /// Calls of a restored program, with what they asked before.
    restored: RefCell<BTreeMap<CallId, BlockedCall>>,
    /// Calls that may have to wait for others, and whether those wait for people now.
    queued: RefCell<BTreeMap<CallId, IsStuck>>,
    /// Answers about sign-ins. The same one is never requested twice.
    signed: RefCell<Vec<CallQuestion>>,
}

/// A call that waits for answers.
pub(super) struct BlockedCall {
    pub(super) questions: Vec<CallQuestion>,
    /// How another process resumes it, if it can.
    pub(super) saved: Option<SavedCall>,
    /// Takes the answers; `None` until a restored call asks again.
    pub(super) tell: Option<oneshot::Sender<Answers>>,
}

/// How a waiting call continues once its program has left this process: its request is answered again from the start, with the
/// same answers at hand. Each question of the same binding has its answer at once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedCall {
    /// The request, as [`HostRequest::write`](ptc_vm::machine::HostRequest::write) writes it.
    pub request: Vec<u8>,
    /// The progress that the answering code saves; [`Desk::progress`](super::Desk::progress) returns it.
    pub progress: Option<Vec<u8>>,
}

impl SavedCall {
    /// Of a call of an upstream's tool, with the progress that the answering code saves.
    pub fn upstream(call: &UpstreamCall, progress: Option<Vec<u8>>) -> SavedCall {
        SavedCall::of(&HostRequest::Upstream(call.clone()), progress)
    }

    /// Of a request for something that an upstream has besides tools.
    pub fn feature(request: &FeatureRequest) -> SavedCall {
        SavedCall::of(&HostRequest::Feature(request.clone()), None)
    }

    /// Of any request.
    pub fn of(request: &HostRequest, progress: Option<Vec<u8>>) -> SavedCall {
        let mut written = WireWriter::new();
        request.write(&mut written);
        SavedCall { request: written.into_bytes(), progress }
    }
}

/// One question of a call. Snapshots have it without its text: a restored call asks again.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct CallQuestion {
    pub(super) kind: QuestionKind,
    binding: [u8; 32],
    /// Its number, once it has been asked. Approvals that are shown together have the same.
    pub(super) id: Option<QuestionId>,
    pub(super) answer: Option<Answer>,
    /// The question itself.
    #[serde(skip)]
    question: Option<Question>,
    /// Whether the answer came while the program was away.
    #[serde(skip)]
    is_news: bool,
}

impl CallQuestion {
    /// Its number, while it waits for an answer.
    fn open_id(&self) -> Option<QuestionId> {
        self.id.filter(|_| self.answer.is_none())
    }
}

impl Board {
    /// A board without questions; without an asker no question can be answered.
    pub(crate) fn new(asker: Option<Arc<dyn Asker>>) -> Board {
        Board {
            asker,
            last: Cell::new(0),
            asking: RefCell::default(),
            restored: RefCell::default(),
            queued: RefCell::default(),
            signed: RefCell::default(),
        }
    }

    /// The asker, which obtains answers.
    pub(crate) fn asker(&self) -> Option<&Arc<dyn Asker>> {
        self.asker.as_ref()
    }

    /// Questions that the program may ask in all.
    pub(super) fn most_questions(&self) -> u32 {
        self.asker.as_ref().map_or(0, |asker| asker.most_questions())
    }

    /// How many calls wait for answers.
    pub(crate) fn waiting(&self) -> usize {
        self.asking.borrow().len()
    }

    /// Whether each of `calls` calls is blocked on an answer: it asks, or waits for one that does.
    pub(crate) fn is_quiescent(&self, calls: usize) -> bool {
        let asking = self.asking.borrow();
        if asking.is_empty() || asking.len() == calls {
            return !asking.is_empty();
        }
        let queued = self.queued.borrow();
        let stuck = queued.iter().filter(|(call, is_stuck)| !asking.contains_key(*call) && is_stuck());
        asking.len() + stuck.count() == calls
    }

    /// Registers `is_stuck`, which says whether `call` is blocked.
    pub(super) fn may_queue(&self, call: CallId, is_stuck: IsStuck) {
        self.queued.borrow_mut().insert(call, is_stuck);
    }

    /// Forgets that.
    pub(super) fn queues_no_more(&self, call: CallId) {
        let removed = self.queued.borrow_mut().remove(&call);
        drop(removed);
    }

    /// The open questions, numbered now if they were not: at most [`MOST_OPEN`]. Calls that exceed the program's limit fail.
    pub(crate) fn open(&self) -> Vec<PendingQuestion> {
        let most = self.most_questions();
        let mut asking = self.asking.borrow_mut();
        let too_many = self.number(&mut asking, most);
        for call in too_many {
            if let Some(asking) = asking.remove(&call) {
                let all = asking.questions.iter().map(|_| Err(Unanswered::TooMany)).collect();
                let _ = asking.tell.map(|tell| tell.send(all));
            }
        }
        let mut groups: BTreeMap<QuestionId, Vec<&Question>> = BTreeMap::new();
        for asked in asking.values().flat_map(|asking| &asking.questions) {
            if let (Some(id), Some(question)) = (asked.open_id(), &asked.question) {
                groups.entry(id).or_default().push(question);
            }
        }
        groups
            .into_iter()
            .map(|(id, questions)| PendingQuestion::new(id, Question::together(&questions)))
            .collect()
    }

    /// Numbers questions in the order of their calls while fewer than [`MOST_OPEN`] are open. The result: calls with a question
    /// that is one too many.
    fn number(&self, asking: &mut BTreeMap<CallId, BlockedCall>, most: u32) -> Vec<CallId> {
        let all = || asking.values().flat_map(|asking| &asking.questions);
        let mut ids: Vec<QuestionId> = all().filter_map(CallQuestion::open_id).collect();
        ids.sort_unstable();
        ids.dedup();
        let mut room = MOST_OPEN.saturating_sub(ids.len());
        // One more call that waits for a sign-in changes nothing of what is shown.
        let sign_ins: Vec<([u8; 32], QuestionId)> = all()
            .filter(|asked| asked.kind == QuestionKind::SignIn)
            .filter_map(|asked| Some((asked.binding, asked.open_id()?)))
            .collect();
        // Those that somebody has been shown already stay as they are.
        let mut fresh: Vec<(QuestionId, Question, usize)> = Vec::new();
        let mut too_many = Vec::new();
        for (call, asking) in asking.iter_mut() {
            for asked in asking.questions.iter_mut().filter(|asked| asked.id.is_none()) {
                let Some(question) = &asked.question else { continue };
                let is_sign_in = asked.kind == QuestionKind::SignIn;
                let known = sign_ins.iter().find(|(binding, _)| is_sign_in && *binding == asked.binding);
                if let Some((_, id)) = known {
                    asked.id = Some(*id);
                    continue;
                }
                let together = fresh.iter_mut().find(|(_, first, calls)| {
                    (is_sign_in || *calls + question.calls.len() <= MAX_CALLS) && goes_with(first, question)
                });
                if let Some((id, _, calls)) = together {
                    asked.id = Some(*id);
                    *calls += question.calls.len();
                    continue;
                }
                if room == 0 {
                    continue;
                }
                if self.last.get() >= most {
                    too_many.push(*call);
                    break;
                }
                room -= 1;
                self.last.set(self.last.get() + 1);
                let id = QuestionId::new(self.last.get());
                asked.id = Some(id);
                fresh.push((id, question.clone(), question.calls.len()));
            }
        }
        too_many
    }

    /// Records answers, and wakes the calls that have all of theirs. Answers to questions that are not open are ignored.
    /// Returns whether any was accepted.
    pub(crate) fn answer(&self, answers: Vec<(QuestionId, Answer)>) -> bool {
        let mut asking = self.asking.borrow_mut();
        let mut any = false;
        for (id, answer) in answers {
            let all = asking.values_mut().flat_map(|asking| &mut asking.questions);
            for asked in all.filter(|asked| asked.open_id() == Some(id)) {
                asked.answer = Some(answer.clone());
                any = true;
                self.remember(asked);
            }
        }
        let is_answered = |asking: &BlockedCall| asking.questions.iter().all(|asked| asked.answer.is_some());
        let calls: Vec<CallId> =
            asking.iter().filter(|(_, asking)| is_answered(asking)).map(|(call, _)| *call).collect();
        for call in calls {
            if let Some(BlockedCall { questions, tell, .. }) = asking.remove(&call) {
                let all = questions.into_iter().filter_map(|asked| asked.answer.map(Ok)).collect();
                let _ = tell.map(|tell| tell.send(all));
            }
        }
        any
    }

    /// Remembers an answer about a sign-in.
    fn remember(&self, asked: &CallQuestion) {
        let mut signed = self.signed.borrow_mut();
        if asked.kind == QuestionKind::SignIn && !signed.iter().any(|known| known.binding == asked.binding) {
            signed.push(CallQuestion { is_news: false, question: None, ..asked.clone() });
        }
    }

    /// Reports the sign-ins that `call` waited for when its program was suspended, and that were answered since: it may never
    /// ask again. `question`: the request for a sign-in at its upstream.
    pub(super) fn tell_sign_ins(&self, call: CallId, question: impl FnOnce() -> Option<Question>) {
        self.tell_unasked(call, QuestionKind::SignIn, question);
    }

    /// Whether people have answered questions of a kind for `call` while its program was away, of which nobody was told.
    pub(super) fn has_news(&self, call: CallId, kind: QuestionKind) -> bool {
        let is_news = |asked: &CallQuestion| asked.kind == kind && asked.is_news;
        self.restored.borrow().get(&call).is_some_and(|call| call.questions.iter().any(is_news))
    }

    /// Reports the answers to the questions of a kind that `call` had when its program was suspended, which it does not ask again.
    /// `question`: such a question.
    pub(super) fn tell_unasked(
        &self,
        call: CallId,
        kind: QuestionKind,
        question: impl FnOnce() -> Option<Question>,
    ) {
        let is_news = |asked: &&mut CallQuestion| asked.kind == kind && asked.is_news;
        let mut restored = self.restored.borrow_mut();
        let questions = restored.get_mut(&call).into_iter().flat_map(|call| &mut call.questions);
        let news: Vec<&mut CallQuestion> = questions.filter(is_news).collect();
        if news.is_empty() {
            return;
        }
        let Some(question) = question() else { return };
        for asked in news {
            self.tell(&Question { binding: asked.binding, ..question.clone() }, asked);
            asked.is_news = false;
        }
    }

    /// Takes the questions of `call`. They are resolved at once if all the answers are there, or if there is no asker.
    pub(super) fn ask(
        &self,
        call: CallId,
        questions: Vec<Question>,
        saved: Option<SavedCall>,
    ) -> Result<Answers, oneshot::Receiver<Answers>> {
        let mut restored = self.restored.borrow_mut();
        let mut before =
            restored.get_mut(&call).map(|call| std::mem::take(&mut call.questions)).unwrap_or_default();
        let questions: Vec<CallQuestion> = questions
            .into_iter()
            .map(|question| {
                // Each of them is good for one question.
                let known = before.iter().position(|asked| asked.binding == question.binding);
                let known = known.map(|at| before.remove(at));
                if let Some(known) = &known {
                    self.tell(&question, known);
                }
                let (kind, binding) = (question.kind, question.binding);
                let known = known.or_else(|| self.known(&question));
                let fresh =
                    CallQuestion { kind, binding, id: None, answer: None, question: None, is_news: false };
                CallQuestion { question: Some(question), ..known.unwrap_or(fresh) }
            })
            .collect();
        // What is answered needs nobody any more.
        let askable = |question: &Question| self.asker.as_ref().is_some_and(|asker| asker.can_ask(question));
        let waits = |asked: &CallQuestion| asked.answer.is_none();
        let is_lost = |asked: &CallQuestion| waits(asked) && !asked.question.as_ref().is_some_and(askable);
        if !questions.iter().any(waits) || questions.iter().any(is_lost) {
            let answered = |asked: CallQuestion| asked.answer.ok_or(Unanswered::Unanswerable);
            return Ok(questions.into_iter().map(answered).collect());
        }
        let most = (self.most_questions() as usize).saturating_mul(MAX_CALLS);
        let is_sign_in = |asked: &CallQuestion| asked.kind == QuestionKind::SignIn;
        // All calls that wait for a sign-in are one question.
        if self.waiting() >= most && !questions.iter().all(is_sign_in) {
            return Ok(questions.iter().map(|_| Err(Unanswered::TooMany)).collect());
        }
        let (tell, told) = oneshot::channel();
        self.asking.borrow_mut().insert(call, BlockedCall { questions, saved, tell: Some(tell) });
        Err(told)
    }

    /// A sign-in that was requested before.
    fn known(&self, question: &Question) -> Option<CallQuestion> {
        let signed = self.signed.borrow();
        signed.iter().find(|asked| question.kind == asked.kind && question.binding == asked.binding).cloned()
    }

    /// Tells of an answer that came while the program was away.
    fn tell(&self, question: &Question, asked: &CallQuestion) {
        if let (Some(asker), Some(id), Some(answer), true) =
            (&self.asker, asked.id, &asked.answer, asked.is_news)
        {
            asker.came(id, question, answer);
        }
    }

    /// Removes the questions of a call that no longer needs the answers.
    pub(super) fn withdraw(&self, call: CallId) {
        drop(self.asking.borrow_mut().remove(&call));
    }

    /// The saved progress of a restored call.
    pub(super) fn progress(&self, call: CallId) -> Option<Vec<u8>> {
        self.restored.borrow().get(&call)?.saved.as_ref()?.progress.clone()
    }

    /// The calls that ask, the number of the last question, and answers about sign-ins.
    #[cfg(feature = "saved-sessions")]
    pub(super) fn look<R>(
        &self,
        look: impl FnOnce(&BTreeMap<CallId, BlockedCall>, u32, &[CallQuestion]) -> R,
    ) -> R {
        look(&self.asking.borrow(), self.last.get(), &self.signed.borrow())
    }

    /// Restores the calls of a suspended program, with the answers that have arrived since.
    #[cfg(feature = "saved-sessions")]
    pub(super) fn put_back(
        &self,
        last: u32,
        signed: Vec<CallQuestion>,
        mut calls: BTreeMap<CallId, BlockedCall>,
        answers: &[(QuestionId, Answer)],
    ) {
        for asked in calls.values_mut().flat_map(|call| &mut call.questions) {
            let open = asked.open_id();
            if let Some((_, answer)) = answers.iter().find(|(id, _)| open == Some(*id)) {
                (asked.answer, asked.is_news) = (Some(answer.clone()), true);
            }
        }
        self.signed.replace(signed);
        // What was answered is good for all calls of that upstream.
        let all = calls.values().flat_map(|call| &call.questions);
        all.filter(|asked| asked.answer.is_some()).for_each(|asked| self.remember(asked));
        self.last.set(last);
        self.restored.replace(calls);
    }
}

/// Whether one answer is the answer for two calls.
fn goes_with(first: &Question, other: &Question) -> bool {
    if first.kind == QuestionKind::SignIn {
        return (first.kind, first.binding) == (other.kind, other.binding);
    }
    let subject = |question: &Question| question.calls.first().map(|call| call.tool.clone());
    first.kind == QuestionKind::Approval
        && (first.kind, first.level, &first.upstream, &first.policy_revision)
            == (other.kind, other.level, &other.upstream, &other.policy_revision)
        && subject(first) == subject(other)
        && first.is_shown_whole()
        && other.is_shown_whole()
}
