//! Questions of an upstream of the handshake era to people and models in the middle of a call, and the time of the call, which
//! stands still meanwhile (waiting.md 3.2).

use ptc_base::sync::Mutex;
use std::fmt;
use std::sync::{Arc, MutexGuard};
use std::task::{Context, Waker};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use super::elicitation::Elicitation;
use super::sampling::{SamplingFault, SamplingRequest};
use ptc_base::time::{self, Instant};
use ptc_http::standstill::Standstill;

/// The result of `elicitation/create` if it is not answered.
pub(crate) const CANCELLED: &str = r#"{"action":"cancel"}"#;

/// Receives the questions of one call's upstream. They go to the caller, which answers them while it waits for the call's own
/// answer.
pub struct QuestionSink {
    /// Tells runs apart: the same for all calls of one.
    pub(crate) run: usize,
    /// Whether a person may be asked.
    pub(crate) takes_questions: bool,
    questions: mpsc::UnboundedSender<CallQuestion>,
    /// Where a model may be asked.
    samplings: Option<mpsc::UnboundedSender<AskedSampling>>,
    pub(crate) stopwatch: Stopwatch,
    /// The holders of the upstream's slots, while the call waits for one.
    queue: Mutex<Option<Arc<Holders>>>,
}

/// A call that waits for a slot.
pub(crate) struct QueuedCall<'a>(&'a QuestionSink);

impl Drop for QueuedCall<'_> {
    fn drop(&mut self) {
        self.0.queue.lock().take();
    }
}

/// The calls that hold slots and may ask.
#[derive(Debug)]
pub(crate) struct Holders {
    calls: Mutex<Vec<Arc<QuestionSink>>>,
    total: usize,
}

impl Holders {
    /// Of so many slots.
    pub(super) fn of(total: usize) -> Holders {
        Holders { calls: Mutex::default(), total }
    }

    pub(super) fn calls(&self) -> MutexGuard<'_, Vec<Arc<QuestionSink>>> {
        self.calls.lock()
    }

    /// Whether so many slots are held by calls that wait for people.
    pub(super) fn all_stand(&self, slots: usize) -> bool {
        self.calls().iter().filter(|call| call.stopwatch.is_stopped()).count() >= slots
    }

    /// Whether each slot is held by a call of this run that waits for people.
    fn all_ask(&self, run: usize) -> bool {
        let calls = self.calls();
        let asks = |call: &&Arc<QuestionSink>| call.run == run && call.stopwatch.is_stopped();
        calls.iter().filter(asks).count() >= self.total
    }
}

/// The kinds of questions that a call accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AcceptedQuestions {
    /// People.
    pub questions: bool,
    /// The operator's model.
    pub sampling: bool,
}

/// A question during a call.
#[derive(Debug)]
pub struct CallQuestion {
    /// The question.
    pub elicitation: Elicitation,
    /// Takes the result: the text of a JSON object. Closed when the upstream has withdrawn the question; dropped, the
    /// question counts as dismissed.
    pub answer: oneshot::Sender<String>,
}

/// A request for a model's answer during a call.
#[derive(Debug)]
pub struct AskedSampling {
    /// The request.
    pub request: SamplingRequest,
    /// Takes the result, the text of a JSON object, or why there is none. Closed when the upstream no longer wants it; dropped
    /// without a result because the call is over.
    pub answer: oneshot::Sender<Result<String, SamplingFault>>,
}

impl QuestionSink {
    /// The sink for questions to people from the upstream of this run's call, and their receiver.
    pub fn new(run: usize) -> (Self, mpsc::UnboundedReceiver<CallQuestion>) {
        let (asking, asked, _) = Self::taking(run, AcceptedQuestions { questions: true, sampling: false });
        (asking, asked)
    }

    /// The sink for these kinds of requests from the upstream of this run's call, and the receivers of its questions and of its
    /// requests for a model's answer.
    pub fn taking(
        run: usize,
        takes: AcceptedQuestions,
    ) -> (Self, mpsc::UnboundedReceiver<CallQuestion>, mpsc::UnboundedReceiver<AskedSampling>) {
        let (questions, asked) = mpsc::unbounded_channel();
        let (samplings, asked_samplings) = mpsc::unbounded_channel();
        let asking = Self {
            run,
            takes_questions: takes.questions,
            questions,
            samplings: takes.sampling.then_some(samplings),
            stopwatch: Stopwatch::default(),
            queue: Mutex::default(),
        };
        (asking, asked, asked_samplings)
    }

    /// Notes that the call waits for one of these slots, until the result is dropped.
    pub(crate) fn queued(&self, holders: &Arc<Holders>) -> QueuedCall<'_> {
        *self.queue.lock() = Some(holders.clone());
        QueuedCall(self)
    }

    /// Whether the call waits for a slot, and all of them are held by calls of its run that wait for people.
    pub fn is_stuck(&self) -> bool {
        let holders = self.queue.lock().clone();
        holders.is_some_and(|holders| holders.all_ask(self.run))
    }

    /// Whether a model may be asked.
    pub(crate) fn takes_samplings(&self) -> bool {
        self.samplings.is_some()
    }

    /// Whether questions are no longer accepted: the call is over.
    pub(crate) fn is_over(&self) -> bool {
        self.questions.is_closed()
    }

    /// Asks, and waits for the result. The call's time stands still until then. `None`: the call is over.
    pub(crate) async fn ask(&self, elicitation: Elicitation) -> Option<String> {
        let _stopped = self.stopwatch.stop();
        let (answer, answered) = oneshot::channel();
        self.questions.send(CallQuestion { elicitation, answer }).ok()?;
        match answered.await {
            Ok(answer) => Some(answer),
            Err(_) if self.is_over() => None,
            Err(_) => Some(CANCELLED.to_owned()),
        }
    }
}

impl Standstill for QuestionSink {
    fn stands(&self, cx: &Context<'_>) -> bool {
        self.stopwatch.stands(cx)
    }

    fn stood(&self) -> Duration {
        self.stopwatch.stood()
    }
}

impl QuestionSink {
    /// Has a model answer, and waits for the result. The call's time stands still until then. `None`: the call is over.
    pub(crate) async fn sample(&self, request: SamplingRequest) -> Option<Result<String, SamplingFault>> {
        let _stopped = self.stopwatch.stop();
        let (answer, answered) = oneshot::channel();
        self.samplings.as_ref()?.send(AskedSampling { request, answer }).ok()?;
        answered.await.ok()
    }
}

impl fmt::Debug for QuestionSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QuestionSink").field("run", &self.run).finish_non_exhaustive()
    }
}

/// How long questions have been open for a call.
#[derive(Debug, Default)]
pub struct Stopwatch(Mutex<StopwatchState>);

#[derive(Debug, Default)]
struct StopwatchState {
    /// Questions that are open, since when there are some.
    open: u32,
    since: Option<Instant>,
    /// How long some were, before that.
    before: Duration,
    /// Woken when the call's time resumes.
    waker: Option<Waker>,
}

impl Stopwatch {
    /// One question more is open, until the result is dropped.
    pub(crate) fn stop(&self) -> StopwatchPause<'_> {
        let mut stood = self.lock();
        stood.open += 1;
        stood.since.get_or_insert_with(time::now);
        StopwatchPause(self)
    }

    /// Whether the call's time stands still.
    pub(crate) fn is_stopped(&self) -> bool {
        self.lock().open > 0
    }

    /// Whether the call's time stands still. If so, `cx` is woken when it resumes.
    pub(crate) fn stands(&self, cx: &Context<'_>) -> bool {
        let mut stood = self.lock();
        let stands = stood.open > 0;
        if stands {
            match &mut stood.waker {
                Some(waker) => waker.clone_from(cx.waker()),
                none => *none = Some(cx.waker().clone()),
            }
        }
        stands
    }

    /// How long the call's time has stood still in all.
    pub(crate) fn stood(&self) -> Duration {
        let stood = self.lock();
        stood.before + stood.since.map_or(Duration::ZERO, time::since)
    }

    fn lock(&self) -> MutexGuard<'_, StopwatchState> {
        self.0.lock()
    }
}

/// Pauses the stopwatch while a question is open.
pub(crate) struct StopwatchPause<'a>(&'a Stopwatch);

impl Drop for StopwatchPause<'_> {
    fn drop(&mut self) {
        let mut stood = self.0.lock();
        stood.open -= 1;
        if stood.open > 0 {
            return;
        }
        if let Some(since) = stood.since.take() {
            stood.before += time::since(since);
        }
        let waker = stood.waker.take();
        drop(stood);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;
    use std::task::Waker;

    fn question() -> Elicitation {
        Elicitation::read(r#"{"message":"m","requestedSchema":{}}"#).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_of_a_call_stands_still_while_any_question_is_open() {
        let watch = Stopwatch::default();
        let cx = Context::from_waker(Waker::noop());
        let second = Duration::from_secs(1);
        let first = watch.stop();
        tokio::time::sleep(second).await;
        let other = watch.stop();
        drop(first);
        tokio::time::sleep(second).await;
        assert!(watch.stands(&cx));
        drop(other);
        tokio::time::sleep(second).await;
        assert!(!watch.stands(&cx));
        assert_eq!(watch.stood(), 2 * second);
    }

    #[tokio::test]
    async fn a_question_is_answered_dismissed_or_outlives_its_call() {
        let (asking, mut asked) = QuestionSink::new(1);
        let (answered, ()) = tokio::join!(asking.ask(question()), async {
            let question = asked.recv().await.unwrap();
            assert_eq!(question.elicitation.message, "m");
            question.answer.send("{}".to_owned()).unwrap();
        });
        assert_eq!(answered.as_deref(), Some("{}"));
        let (dismissed, ()) = tokio::join!(asking.ask(question()), async { drop(asked.recv().await) });
        assert_eq!(dismissed.as_deref(), Some(CANCELLED));
        let (over, ()) = tokio::join!(asking.ask(question()), async { drop(asked) });
        assert_eq!(over, None);
        assert_eq!(asking.ask(question()).now_or_never(), Some(None), "after the call");
    }

    #[tokio::test]
    async fn a_request_for_a_model_is_answered_or_outlives_its_call() {
        let request = || {
            let params =
                r#"{"messages":[{"role":"user","content":{"type":"text","text":"x"}}],"maxTokens":1}"#;
            SamplingRequest::read(params).unwrap()
        };
        let (asking, _asked, mut samplings) =
            QuestionSink::taking(1, AcceptedQuestions { questions: false, sampling: true });
        assert!(!asking.takes_questions && asking.takes_samplings());
        let (answered, ()) = tokio::join!(asking.sample(request()), async {
            let wanted = samplings.recv().await.unwrap();
            assert!(asking.stopwatch.is_stopped());
            wanted.answer.send(Ok("{}".to_owned())).unwrap();
        });
        assert_eq!(answered, Some(Ok("{}".to_owned())));
        let (over, ()) = tokio::join!(asking.sample(request()), async { drop(samplings) });
        assert_eq!(over, None);
        assert_eq!(asking.sample(request()).now_or_never(), Some(None), "after the call");
        let (people, _asked) = QuestionSink::new(1);
        assert!(people.takes_questions && !people.takes_samplings());
        assert_eq!(people.sample(request()).now_or_never(), Some(None), "no model");
    }
}
