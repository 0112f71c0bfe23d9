//! The open questions of one program's calls, assembled for the asker.

use super::{Asker, Keep, MOST_OPEN};
use crate::questions::{Answer, MAX_CALLS, PendingQuestion, Question, QuestionId, QuestionKind, Unanswered};
use ptc_vm::machine::CallId;
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
    asking: RefCell<BTreeMap<CallId, Asking>>,
    /// State that calls of a restored program carry from before.
    brought: RefCell<BTreeMap<CallId, Brought>>,
    /// Calls that may have to wait for others, and whether those wait for people now.
    queued: RefCell<BTreeMap<CallId, IsStuck>>,
    /// Answers about sign-ins. The same one is never requested twice.
    signed: RefCell<Vec<Note>>,
}

/// A call that waits for answers.
#[cfg_attr(not(feature = "saved-sessions"), expect(dead_code, reason = "read where programs are written"))]
pub(super) struct Asking {
    pub(super) questions: Vec<Asked>,
    /// How another process resumes it.
    pub(super) keep: Keep,
    tell: oneshot::Sender<Answers>,
}

/// A question of a call.
pub(super) struct Asked {
    question: Question,
    pub(super) note: Note,
}

/// The properties of a question besides its text.
#[derive(Clone)]
pub(super) struct Note {
    pub(super) kind: QuestionKind,
    pub(super) binding: [u8; 32],
    /// Its number, once it has been asked. Approvals that are shown together have the same.
    pub(super) id: Option<QuestionId>,
    pub(super) answer: Option<Answer>,
    /// Whether the answer came while the program was away.
    pub(super) is_news: bool,
}

/// The state that a call of a restored program has from before.
pub(super) struct Brought {
    pub(super) progress: Option<Vec<u8>>,
    pub(super) notes: Vec<Note>,
}

/// Approvals of one tool, or calls that wait for one sign-in, which are shown together.
type Group<'a> = (QuestionId, Vec<&'a Question>);

impl Board {
    /// A board without questions; without an asker no question can be answered.
    pub(crate) fn new(asker: Option<Arc<dyn Asker>>) -> Board {
        Board {
            asker,
            last: Cell::new(0),
            asking: RefCell::default(),
            brought: RefCell::default(),
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
                let _ = asking.tell.send(all);
            }
        }
        let mut groups: BTreeMap<QuestionId, Vec<&Question>> = BTreeMap::new();
        for asked in asking.values().flat_map(|asking| &asking.questions) {
            if let (Some(id), None) = (asked.note.id, &asked.note.answer) {
                groups.entry(id).or_default().push(&asked.question);
            }
        }
        groups.into_iter().map(|group| shown(&group)).collect()
    }

    /// Numbers questions in the order of their calls while fewer than [`MOST_OPEN`] are open. The result: calls with a question
    /// that is one too many.
    fn number(&self, asking: &mut BTreeMap<CallId, Asking>, most: u32) -> Vec<CallId> {
        let open = |asked: &Asked| asked.note.id.filter(|_| asked.note.answer.is_none());
        let mut ids: Vec<QuestionId> =
            asking.values().flat_map(|asking| &asking.questions).filter_map(open).collect();
        ids.sort_unstable();
        ids.dedup();
        let mut room = MOST_OPEN.saturating_sub(ids.len());
        // One more call that waits for a sign-in changes nothing of what is shown.
        let sign_ins: Vec<([u8; 32], QuestionId)> = asking
            .values()
            .flat_map(|asking| &asking.questions)
            .filter(|asked| asked.question.kind == QuestionKind::SignIn)
            .filter_map(|asked| Some((asked.note.binding, open(asked)?)))
            .collect();
        // Those that somebody has been shown already stay as they are.
        let mut fresh: Vec<(QuestionId, Question, usize)> = Vec::new();
        let mut too_many = Vec::new();
        for (call, asking) in asking.iter_mut() {
            for asked in asking.questions.iter_mut().filter(|asked| asked.note.id.is_none()) {
                let is_sign_in = asked.question.kind == QuestionKind::SignIn;
                let known = sign_ins.iter().find(|(binding, _)| is_sign_in && *binding == asked.note.binding);
                if let Some((_, id)) = known {
                    asked.note.id = Some(*id);
                    continue;
                }
                let together = fresh.iter_mut().find(|(_, first, calls)| {
                    (is_sign_in || *calls + asked.question.calls.len() <= MAX_CALLS)
                        && goes_with(first, &asked.question)
                });
                if let Some((id, _, calls)) = together {
                    asked.note.id = Some(*id);
                    *calls += asked.question.calls.len();
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
                asked.note.id = Some(id);
                fresh.push((id, asked.question.clone(), asked.question.calls.len()));
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
            for asked in all.filter(|asked| asked.note.id == Some(id) && asked.note.answer.is_none()) {
                asked.note.answer = Some(answer.clone());
                any = true;
                self.remember(&asked.note);
            }
        }
        let is_answered = |asking: &Asking| asking.questions.iter().all(|asked| asked.note.answer.is_some());
        let calls: Vec<CallId> =
            asking.iter().filter(|(_, asking)| is_answered(asking)).map(|(call, _)| *call).collect();
        for call in calls {
            if let Some(Asking { questions, tell, .. }) = asking.remove(&call) {
                let all = questions.into_iter().filter_map(|asked| asked.note.answer.map(Ok));
                let _ = tell.send(all.collect());
            }
        }
        any
    }

    /// Remembers an answer about a sign-in.
    fn remember(&self, note: &Note) {
        let mut signed = self.signed.borrow_mut();
        if note.kind == QuestionKind::SignIn && !signed.iter().any(|known| known.binding == note.binding) {
            signed.push(Note { is_news: false, ..note.clone() });
        }
    }

    /// Reports the sign-ins that `call` waited for when its program was suspended, and that were answered since: it may never
    /// ask again. `question`: the request for a sign-in at its upstream.
    pub(super) fn tell_sign_ins(&self, call: CallId, question: impl FnOnce() -> Option<Question>) {
        let is_news = |note: &&mut Note| note.kind == QuestionKind::SignIn && note.is_news;
        let mut brought = self.brought.borrow_mut();
        let notes = brought.get_mut(&call).into_iter().flat_map(|brought| &mut brought.notes);
        let news: Vec<&mut Note> = notes.filter(is_news).collect();
        if news.is_empty() {
            return;
        }
        let Some(question) = question() else { return };
        for note in news {
            self.tell(&Question { binding: note.binding, ..question.clone() }, note);
            note.is_news = false;
        }
    }

    /// Takes the questions of `call`. They are resolved at once if all the answers are there, or if there is no asker.
    pub(super) fn ask(
        &self,
        call: CallId,
        questions: Vec<Question>,
        keep: Keep,
    ) -> Result<Answers, oneshot::Receiver<Answers>> {
        let mut brought = self.brought.borrow_mut();
        let mut notes =
            brought.get_mut(&call).map(|brought| std::mem::take(&mut brought.notes)).unwrap_or_default();
        let questions: Vec<Asked> = questions
            .into_iter()
            .map(|question| {
                // Each of them is good for one question.
                let known = notes.iter().position(|note| note.binding == question.binding);
                let note = known.map(|at| notes.remove(at));
                if let Some(note) = &note {
                    self.tell(&question, note);
                }
                let note = note.or_else(|| self.known(&question)).unwrap_or(Note {
                    kind: question.kind,
                    binding: question.binding,
                    id: None,
                    answer: None,
                    is_news: false,
                });
                Asked { question, note }
            })
            .collect();
        // What is answered needs nobody any more.
        let askable = |question: &Question| self.asker.as_ref().is_some_and(|asker| asker.can_ask(question));
        let waits = |asked: &Asked| asked.note.answer.is_none();
        let is_lost = |asked: &Asked| waits(asked) && !askable(&asked.question);
        if !questions.iter().any(waits) || questions.iter().any(is_lost) {
            let answered = |asked: Asked| asked.note.answer.ok_or(Unanswered::Unanswerable);
            return Ok(questions.into_iter().map(answered).collect());
        }
        let most = (self.most_questions() as usize).saturating_mul(MAX_CALLS);
        let is_sign_in = |asked: &Asked| asked.question.kind == QuestionKind::SignIn;
        // All calls that wait for a sign-in are one question.
        if self.waiting() >= most && !questions.iter().all(is_sign_in) {
            return Ok(questions.iter().map(|_| Err(Unanswered::TooMany)).collect());
        }
        let (tell, told) = oneshot::channel();
        self.asking.borrow_mut().insert(call, Asking { questions, keep, tell });
        Err(told)
    }

    /// The note on a sign-in that was requested before.
    fn known(&self, question: &Question) -> Option<Note> {
        let signed = self.signed.borrow();
        signed.iter().find(|note| question.kind == note.kind && question.binding == note.binding).cloned()
    }

    /// Tells of an answer that came while the program was away.
    fn tell(&self, question: &Question, note: &Note) {
        if let (Some(asker), Some(id), Some(answer), true) =
            (&self.asker, note.id, &note.answer, note.is_news)
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
        self.brought.borrow().get(&call)?.progress.clone()
    }

    /// The calls that ask, the number of the last question, and answers about sign-ins.
    #[cfg(feature = "saved-sessions")]
    pub(super) fn look<R>(&self, look: impl FnOnce(&BTreeMap<CallId, Asking>, u32, &[Note]) -> R) -> R {
        look(&self.asking.borrow(), self.last.get(), &self.signed.borrow())
    }

    /// Restores the questions of a suspended program, with the answers that have arrived since.
    #[cfg(feature = "saved-sessions")]
    pub(super) fn put_back(
        &self,
        last: u32,
        signed: Vec<Note>,
        mut brought: BTreeMap<CallId, Brought>,
        answers: &[(QuestionId, Answer)],
    ) {
        for note in brought.values_mut().flat_map(|brought| &mut brought.notes) {
            let answer = answers.iter().find(|(id, _)| note.answer.is_none() && note.id == Some(*id));
            if let Some((_, answer)) = answer {
                (note.answer, note.is_news) = (Some(answer.clone()), true);
            }
        }
        self.signed.replace(signed);
        // What was answered is good for all calls of that upstream.
        brought
            .values()
            .flat_map(|brought| &brought.notes)
            .filter(|note| note.answer.is_some())
            .for_each(|note| self.remember(note));
        self.last.set(last);
        self.brought.replace(brought);
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

/// The question shown for a group.
fn shown((id, questions): &Group<'_>) -> PendingQuestion {
    let question = match questions.as_slice() {
        [one] => (*one).clone(),
        several => Question::together(several),
    };
    PendingQuestion::new(*id, question)
}
