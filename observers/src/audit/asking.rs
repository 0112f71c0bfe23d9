//! Records questions and answers between a program and the people who answer.

use ptc_host::sync::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use ptc_host::engine::{Asker, Verdict};
use ptc_host::questions::{Answer, PendingQuestion, Question, QuestionId};

use super::{AuditLog, Subject};

impl AuditLog {
    /// An asker for a program, whose questions and answers are recorded here.
    pub fn over(self: Arc<Self>, subject: Subject, asker: Arc<dyn Asker>) -> Arc<dyn Asker> {
        Arc::new(AuditedAsker { log: self, subject, inner: asker, told: Arc::default() })
    }
}

/// An asker whose questions and answers are recorded.
struct AuditedAsker {
    log: Arc<AuditLog>,
    subject: Subject,
    inner: Arc<dyn Asker>,
    /// The questions that are recorded already.
    told: Arc<QuestionLog>,
}

type QuestionLog = Mutex<BTreeMap<QuestionId, Question>>;

impl AuditedAsker {
    /// Records the questions that are new.
    fn asked(&self, open: &[PendingQuestion]) {
        let mut told = self.told.lock();
        for open in open {
            if told.insert(open.id, open.question.clone()).is_none() {
                self.log.asked(&self.subject, open);
            }
        }
    }

    /// Records the answers, wherever they come from.
    fn hears(&self) -> impl Fn(&[(QuestionId, Answer)]) + Send + use<> {
        let (log, told, subject) = (self.log.clone(), self.told.clone(), self.subject.clone());
        move |answers| {
            let told = told.lock();
            for (id, answer) in answers {
                if let Some(question) = told.get(id) {
                    log.answered(&subject, *id, question, answer);
                }
            }
        }
    }
}

impl Asker for AuditedAsker {
    fn can_ask(&self, question: &Question) -> bool {
        self.inner.can_ask(question)
    }

    fn ask(&self, open: Vec<PendingQuestion>) -> BoxFuture<'static, Verdict> {
        self.asked(&open);
        let (hears, verdict) = (self.hears(), self.inner.ask(open));
        Box::pin(async move {
            let verdict = verdict.await;
            if let Verdict::Answered(answers) = &verdict {
                hears(answers);
            }
            verdict
        })
    }

    fn hold(&self, open: Vec<PendingQuestion>, why: String) -> BoxFuture<'static, Vec<(QuestionId, Answer)>> {
        self.asked(&open);
        let (hears, answers) = (self.hears(), self.inner.hold(open, why));
        Box::pin(async move {
            let answers = answers.await;
            hears(&answers);
            answers
        })
    }

    fn came(&self, id: QuestionId, question: &Question, answer: &Answer) {
        self.log.answered(&self.subject, id, question, answer);
        self.inner.came(id, question, answer);
    }

    fn most_questions(&self) -> u32 {
        self.inner.most_questions()
    }
}
