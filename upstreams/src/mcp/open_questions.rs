//! The questions of a server that are open.

use crate::upstream::{QuestionSink, SamplingFault};
use ptc_base::sync::Mutex;
use ptc_mcp::encode;
use serde_json::value::RawValue;
use std::sync::Arc;
use tokio::sync::oneshot;

/// How a request of a server relates to a call of ours.
#[derive(Clone, Copy)]
pub(super) enum Link<'a> {
    /// It came on the call's own stream: where that call's questions are asked, if anywhere, and those already open there.
    Call(Option<&'a Arc<QuestionSink>>, &'a Arc<OpenQuestions>),
    /// It came on the one pipe of all calls, or on a stream that no call opened.
    Session,
}

/// Open questions of one stream, by the server's ids, each with the sender for its withdrawal.
#[derive(Debug, Default)]
pub(super) struct OpenQuestions(Mutex<Vec<(Box<str>, oneshot::Sender<()>)>>);

impl OpenQuestions {
    /// Opens a question, until the result is dropped.
    pub(super) fn open(self: &Arc<Self>, id: &str) -> Result<OpenQuestion, ElicitError> {
        self.with(|open| {
            if open.iter().any(|(known, _)| **known == *id) {
                return Err(ElicitError::AskedAlready);
            }
            if open.len() >= MOST_OPEN {
                return Err(ElicitError::TooMany);
            }
            let (withdraw, withdrawn) = oneshot::channel();
            open.push((id.into(), withdraw));
            Ok(OpenQuestion { questions: self.clone(), id: id.into(), withdrawn })
        })
    }

    /// The server does not want to know any more: `params` of its `notifications/cancelled`.
    #[expect(clippy::disallowed_methods, reason = "entry point: OpenQuestions.withdraw")]
    pub(super) fn withdraw(&self, params: &str) {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct CancelledParams<'a> {
            #[serde(borrow)]
            request_id: &'a RawValue,
        }
        let Ok(CancelledParams { request_id }) = serde_json::from_str(params) else { return };
        self.with(|open| {
            if let Some(at) = open.iter().position(|(id, _)| **id == *request_id.get()) {
                let _ = open.swap_remove(at).1.send(());
            }
        });
    }

    pub(super) fn with<T>(&self, change: impl FnOnce(&mut Vec<(Box<str>, oneshot::Sender<()>)>) -> T) -> T {
        change(&mut self.0.lock())
    }
}

/// A question that is open.
pub(super) struct OpenQuestion {
    questions: Arc<OpenQuestions>,
    id: Box<str>,
    withdrawn: oneshot::Receiver<()>,
}

impl OpenQuestion {
    /// The reply with the result or the fault that `asking` comes to; `None` if the server withdraws the question before.
    pub(super) async fn answered(
        mut self,
        asking: impl Future<Output = Result<String, SamplingFault>>,
    ) -> Option<Vec<u8>> {
        let answer = tokio::select! {
            biased;
            _ = &mut self.withdrawn => return None,
            answer = asking => answer,
        };
        Some(match answer {
            Ok(result) => encode::result(&self.id, result.as_bytes()),
            Err(fault) => refusal(&self.id, &fault),
        })
    }
}

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        self.questions.with(|open| open.retain(|(id, _)| *id != self.id));
    }
}

/// Why a question is not opened.
pub(super) enum ElicitError {
    /// One of its id is open, and its answer is the answer to both.
    AskedAlready,
    /// Too many are open.
    TooMany,
}

/// Most questions that are open on one stream; a server that asks more has these refused.
pub(super) const MOST_OPEN: usize = 64;

/// The reply to a request for a model's answer that there is none.
pub(super) fn refusal(id: &str, fault: &SamplingFault) -> Vec<u8> {
    encode::error(id, fault.kind.code(), &fault.message)
}
