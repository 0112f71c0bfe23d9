//! Requests of servers of the handshake era to ask a person or a model (waiting.md 3.2).

use super::inbound_reply::InboundReply;
use super::open_questions::{ElicitError, Link, refusal};
use std::sync::Arc;

use ptc_mcp::encode;

use super::inbound::Inbound;
use crate::upstream::asking::CANCELLED;
use crate::upstream::{Elicitation, QuestionSink, SamplingFault, SamplingRequest};
use ptc_base::visible::visible;

/// Why further ones are.
const TOO_MANY: &str = "too many of its questions are open";

impl Inbound {
    /// Has a person asked on behalf of the call that the question belongs to. `None`: a question of that id is open already,
    /// and its answer is the answer to both.
    pub(super) fn elicit(self: &Arc<Self>, id: &str, params: &str, link: Link<'_>) -> Option<InboundReply> {
        let dismissed = |why: &str| {
            if self.take_place() {
                tracing::warn!(event = "upstream_question_dismissed", upstream = self.name(), why);
            }
            Some(InboundReply::Ready(encode::result(id, CANCELLED.as_bytes())))
        };
        let elicitation = match Elicitation::read(params) {
            Ok(elicitation) => elicitation,
            Err(why) => return dismissed(&why.0),
        };
        match link {
            Link::Call(Some(asking), questions) if asking.takes_questions => {
                let open = match questions.open(id) {
                    Ok(open) => open,
                    Err(ElicitError::AskedAlready) => return None,
                    Err(ElicitError::TooMany) => return dismissed(TOO_MANY),
                };
                let asking = asking.clone();
                let asked = async move { Ok(asking.ask(elicitation).await.unwrap_or_else(dismissal)) };
                Some(InboundReply::Waiting(Box::pin(open.answered(asked))))
            }
            Link::Call(..) => dismissed(NOBODY),
            Link::Session => {
                let (run, principal) = match self.only_run(|asking| asking.takes_questions, NOBODY) {
                    Ok(run) => run,
                    Err(why) => return dismissed(why),
                };
                let open = match self.of_session().open(id) {
                    Ok(open) => open,
                    Err(ElicitError::AskedAlready) => return None,
                    Err(ElicitError::TooMany) => return dismissed(TOO_MANY),
                };
                let (inbound, whose) = (self.clone(), self.open_for().begin(principal));
                let asked = async move {
                    let _open = whose;
                    // A call that ends was not the one that asks: another one of the run is.
                    while let Some(asking) = inbound.call_of_run(run) {
                        if let Some(result) = asking.ask(elicitation.clone()).await {
                            return Ok(result);
                        }
                    }
                    Ok(dismissal())
                };
                Some(InboundReply::Waiting(Box::pin(open.answered(asked))))
            }
        }
    }

    /// Has the operator's model answer on behalf of the call that the request belongs to. `None`: a request of that id is open
    /// already, and its answer is the answer to both.
    pub(super) fn sample(self: &Arc<Self>, id: &str, params: &str, link: Link<'_>) -> Option<InboundReply> {
        let refused = |fault: SamplingFault| {
            if self.take_place() {
                let why = visible(&fault.message);
                tracing::warn!(event = "upstream_sampling_refused", upstream = self.name(), %why);
            }
            Some(InboundReply::Ready(refusal(id, &fault)))
        };
        let request = match SamplingRequest::read(params) {
            Ok(request) => request,
            Err(fault) => return refused(fault),
        };
        match link {
            Link::Call(Some(asking), requests) if asking.takes_samplings() => {
                let open = match requests.open(id) {
                    Ok(open) => open,
                    Err(ElicitError::AskedAlready) => return None,
                    Err(ElicitError::TooMany) => return refused(SamplingFault::refused(TOO_MANY)),
                };
                let asking = asking.clone();
                let sampled =
                    async move { asking.sample(request).await.unwrap_or_else(|| Err(SamplingFault::over())) };
                Some(InboundReply::Waiting(Box::pin(open.answered(sampled))))
            }
            Link::Call(..) => refused(SamplingFault::refused(NO_MODEL)),
            Link::Session => {
                let (run, principal) = match self.only_run(QuestionSink::takes_samplings, NO_MODEL) {
                    Ok(run) => run,
                    Err(why) => return refused(SamplingFault::refused(why)),
                };
                let open = match self.of_session().open(id) {
                    Ok(open) => open,
                    Err(ElicitError::AskedAlready) => return None,
                    Err(ElicitError::TooMany) => return refused(SamplingFault::refused(TOO_MANY)),
                };
                let (inbound, whose) = (self.clone(), self.open_for().begin(principal));
                let sampled = async move {
                    let _open = whose;
                    // As with questions: a call that ends was not the one that asks.
                    while let Some(asking) = inbound.call_of_run(run) {
                        if let Some(answer) = asking.sample(request.clone()).await {
                            return answer;
                        }
                    }
                    Err(SamplingFault::over())
                };
                Some(InboundReply::Waiting(Box::pin(open.answered(sampled))))
            }
        }
    }

    /// The server does not want an answer any more: `params` of its `notifications/cancelled`.
    pub(super) fn withdrawn(&self, params: Option<&str>, link: Link<'_>) {
        let params = params.unwrap_or_default();
        match link {
            Link::Call(_, questions) => questions.withdraw(params),
            Link::Session => self.of_session().withdraw(params),
        }
    }
}

/// Why a person is not asked during a call.
const NOBODY: &str = "nobody can be asked during this call";
/// Why a model is not asked during a call.
const NO_MODEL: &str = "no model answers during this call";

fn dismissal() -> String {
    CANCELLED.to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::inbound::tests::inbound_that_asks;
    use super::*;
    use crate::mcp::open_questions::{MOST_OPEN, OpenQuestions};
    use crate::upstream::{AcceptedQuestions, CallQuestion, Caller};
    use futures_util::FutureExt as _;
    use futures_util::future::BoxFuture;
    use tokio::sync::mpsc;

    const FORM: &str = r#"{"message":"Which?","requestedSchema":{"type":"object","properties":{}}}"#;

    fn asking(run: usize) -> (Arc<QuestionSink>, mpsc::UnboundedReceiver<CallQuestion>) {
        let (asking, asked) = QuestionSink::new(run);
        (Arc::new(asking), asked)
    }

    fn caller(asking: &Arc<QuestionSink>) -> Caller<'_> {
        Caller { asking: Some(asking), ..Caller::default() }
    }

    fn waiting(answer: Option<InboundReply>) -> BoxFuture<'static, Option<Vec<u8>>> {
        match answer {
            Some(InboundReply::Waiting(answer)) => answer,
            Some(InboundReply::Ready(answer)) => panic!("{}", String::from_utf8_lossy(&answer)),
            None => panic!("it is open already"),
        }
    }

    fn is_dismissed(answer: Option<InboundReply>) -> bool {
        match answer {
            Some(InboundReply::Ready(answer)) => {
                answer == br#"{"jsonrpc":"2.0","id":1,"result":{"action":"cancel"}}"#
            }
            _ => false,
        }
    }

    #[tokio::test]
    async fn a_question_on_the_pipe_belongs_to_the_only_run() {
        let inbound = inbound_that_asks();
        let ask = |id: &str| inbound.elicit(id, FORM, Link::Session);
        assert!(is_dismissed(ask("1")), "no call is in flight");
        let (mine, mut asked) = asking(1);
        let call = inbound.enter(caller(&mine), "t");
        let (second, mut second_asked) = asking(1);
        let other_call = inbound.enter(caller(&second), "t");
        let mut first = waiting(ask("7"));
        assert!((&mut first).now_or_never().is_none());
        let mut next = waiting(ask("8"));
        assert!((&mut next).now_or_never().is_none());
        let question = asked.try_recv().unwrap();
        question.answer.send(r#"{"action":"decline"}"#.to_owned()).unwrap();
        assert_eq!(first.await.unwrap(), br#"{"jsonrpc":"2.0","id":7,"result":{"action":"decline"}}"#);
        let moved = second_asked.try_recv().unwrap();
        // The call that was taken for the one that asks has ended.
        drop((moved, second_asked, other_call));
        assert!((&mut next).now_or_never().is_none());
        asked.try_recv().unwrap().answer.send("{}".to_owned()).unwrap();
        assert_eq!(next.await.unwrap(), br#"{"jsonrpc":"2.0","id":8,"result":{}}"#);
        let (theirs, _kept) = asking(2);
        let foreign = inbound.enter(caller(&theirs), "t");
        assert!(is_dismissed(ask("1")), "two runs");
        drop(foreign);
        let unasked = inbound.enter(Caller::default(), "t");
        assert!(is_dismissed(ask("1")), "a call of nobody knows which run");
        drop(unasked);
        let last = waiting(ask("9"));
        drop((asked, call));
        assert_eq!(last.await.unwrap(), br#"{"jsonrpc":"2.0","id":9,"result":{"action":"cancel"}}"#);
    }

    #[tokio::test]
    async fn a_question_is_asked_once_and_can_be_withdrawn() {
        let inbound = inbound_that_asks();
        let (mine, mut asked) = asking(1);
        let open = Arc::new(OpenQuestions::default());
        let link = Link::Call(Some(&mine), &open);
        let mut answer = waiting(inbound.elicit("\"a\"", FORM, link));
        assert!((&mut answer).now_or_never().is_none());
        assert!(inbound.elicit("\"a\"", FORM, link).is_none(), "the same id again");
        let question = asked.try_recv().unwrap();
        for (params, gone) in [("7", false), (r#"{"requestId":"b"}"#, false), (r#"{"requestId":"a"}"#, true)]
        {
            inbound.withdrawn(Some(params), link);
            assert_eq!((&mut answer).now_or_never(), gone.then_some(None), "{params}");
        }
        drop(answer);
        assert!(question.answer.is_closed());
        drop(waiting(inbound.elicit("\"a\"", FORM, link)));
        assert!(is_dismissed(inbound.elicit("1", FORM, Link::Call(None, &open))));
        assert!(is_dismissed(inbound.elicit(
            "1",
            r#"{"mode":"url","message":"","url":"javascript:x"}"#,
            link
        )));
    }

    #[tokio::test]
    async fn a_request_for_a_model_belongs_to_the_only_run_too() {
        let inbound = inbound_that_asks();
        let params = r#"{"messages":[{"role":"user","content":{"type":"text","text":"x"}}],"maxTokens":1}"#;
        let refused = |answer: Option<InboundReply>| match answer {
            Some(InboundReply::Ready(answer)) => String::from_utf8(answer).unwrap(),
            _ => panic!("it waits"),
        };
        let none = refused(inbound.sample("1", params, Link::Session));
        assert_eq!(none, r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no call is in flight"}}"#);
        let (mine, _asked, mut samplings) =
            QuestionSink::taking(1, AcceptedQuestions { questions: false, sampling: true });
        let mine = Arc::new(mine);
        let call = inbound.enter(caller(&mine), "t");
        assert!(is_dismissed(inbound.elicit("1", FORM, Link::Session)), "nobody is there");
        let mut answer = waiting(inbound.sample("7", params, Link::Session));
        assert!((&mut answer).now_or_never().is_none() && mine.stopwatch.is_stopped());
        samplings.try_recv().unwrap().answer.send(Err(SamplingFault::model("busy"))).unwrap();
        let told = answer.await.unwrap();
        assert_eq!(told, br#"{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"busy"}}"#);
        let many: Vec<_> = (0..MOST_OPEN)
            .map(|id| waiting(inbound.sample(&id.to_string(), params, Link::Session)))
            .collect();
        assert!(refused(inbound.sample("99", params, Link::Session)).contains(TOO_MANY));
        assert!(inbound.sample("3", params, Link::Session).is_none(), "it is open");
        drop(many);
        drop(waiting(inbound.sample("99", params, Link::Session)));
        let (people, _asked) = asking(1);
        drop(call);
        let _call = inbound.enter(caller(&people), "t");
        assert!(refused(inbound.sample("1", params, Link::Session)).contains(NO_MODEL));
    }
}
