//! Calls whose upstream requires input of people or a model before it answers (waiting.md 3.2).

use super::call::judge_again;
use super::input_progress::{InputProgress, ResendCause};
use super::runtime::Aggregator;
use super::view::View;
use futures_util::FutureExt as _;
use ptc_base::time;
use ptc_base::visible::visible;
use ptc_engine::questions::{Action, Answer, Form, Level, Mode, Question, QuestionKind, Unanswered};
use ptc_engine::{Desk, RunContext, SavedCall};
use ptc_mcp::json::from_str;
use ptc_mcp::text::clip;
use ptc_secret::digest::sha256_of_parts;
use ptc_upstreams::upstream::{
    AcceptedQuestions, AskedSampling, Call, CallFault, CallLimits, CallQuestion, CallReply, Caller,
    Elicitation, ElicitationMode, InputRequest, InputRequired, NotAskable, QuestionSink, ResendMembers,
    SamplingFault, Unfinished, Upstream,
};
use ptc_vm::machine::UpstreamCall;
use std::fmt::Write as _;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Times that one call is sent again because its upstream asks for input.
const MOST_ROUNDS: u32 = 10;
/// Times that one call is sent again because pages had to be visited.
const MOST_VISITS: u32 = 3;
/// How long an upstream is left alone that asks for nothing and yet wants the call to be sent again.
const NOTHING_ASKED: Duration = Duration::from_millis(250);
/// Longest text of a question, in characters.
const MAX_MESSAGE: usize = 2000;
/// The result of a question that was not asked or not answered.
const CANCELLED: &str = r#"{"action":"cancel"}"#;

/// One call of a program, with the means to ask on its upstream's behalf.
pub(super) struct Exchange<'a> {
    pub(super) aggregator: &'a Aggregator,
    pub(super) run: &'a Rc<RunContext>,
    pub(super) desk: &'a Desk,
    pub(super) upstream: &'a Arc<dyn Upstream>,
    /// The program's request, which another process repeats after a resume.
    pub(super) request: &'a UpstreamCall,
    /// The call as it is sent for the first time.
    pub(super) call: Call<'a>,
    /// By which it was judged.
    pub(super) view: &'a View<'a>,
}

impl Exchange<'_> {
    /// The answer to the call. `before`: the progress that it had made when its program left another process.
    pub(super) async fn answer(&self, before: Option<InputProgress>) -> Result<CallReply, CallFault> {
        let first = match before {
            // In a box, as most calls are answered at once.
            Some(progress) => Box::pin(self.go_on(progress)).await,
            None => self.send(ResendMembers::default()).await,
        };
        match first {
            Err(fault)
                if fault.unfinished.is_some()
                    && (self.may_ask() || self.sampler().is_some() || self.aggregator.tasks) =>
            {
                Box::pin(self.ask_and_send(fault)).await
            }
            other => other,
        }
    }

    /// Whether people are asked for upstreams here.
    fn may_ask(&self) -> bool {
        self.aggregator.questions && self.desk.has_asker()
    }

    /// Sends the call. Questions that the upstream asks meanwhile are forwarded while the connection is held open.
    async fn send(&self, again: ResendMembers<'_>) -> Result<CallReply, CallFault> {
        let limits = CallLimits { deadline: self.run.deadline(), ..self.call.limits };
        let caller = Caller { follows_tasks: self.aggregator.tasks, ..self.call.caller };
        let call = Call { again, limits, caller, ..self.call };
        let takes = AcceptedQuestions { questions: self.may_ask(), sampling: self.sampler().is_some() };
        if !takes.questions && !takes.sampling {
            return self.upstream.call(call).await;
        }
        // All calls of a run share its context.
        let (asking, mut asked, mut samplings) = QuestionSink::taking(Rc::as_ptr(self.run).addr(), takes);
        let asking = Arc::new(asking);
        let queued = asking.clone();
        let _queued = self.desk.may_queue(move || queued.is_stuck());
        let caller = Caller { asking: Some(&asking), ..call.caller };
        let mut calling = std::pin::pin!(self.upstream.call(Call { caller, ..call }));
        loop {
            // One after the other: a call has one desk, and while a person is waited for nothing else is done for it.
            let answering = tokio::select! {
                biased;
                reply = &mut calling => return reply,
                Some(question) = asked.recv() => self.ask_held(question).left_future(),
                Some(sampling) = samplings.recv() => Box::pin(self.sample_held(sampling)).right_future(),
            };
            tokio::select! {
                biased;
                reply = &mut calling => return reply,
                () = answering => {}
            }
        }
    }

    /// Has the model answer while the upstream holds a connection open.
    async fn sample_held(&self, AskedSampling { request, mut answer }: AskedSampling) {
        let answered = tokio::select! {
            biased;
            // The upstream does not want to know any more.
            () = answer.closed() => return,
            answered = self.sampled(&request) => answered,
        };
        let _ = answer.send(answered);
    }

    /// Asks while the upstream holds a connection open.
    async fn ask_held(&self, CallQuestion { elicitation, mut answer }: CallQuestion) {
        let question = match self.question(&elicitation, "", 0) {
            Ok(question) => question,
            Err(why) => return self.dismissed(&why),
        };
        // It is told at once that somebody goes there, and may wait for that before it lets them.
        self.sends_to(&elicitation, &question, false);
        let answered = tokio::select! {
            biased;
            // The upstream does not want to know any more.
            () = answer.closed() => return,
            mut answered = self.desk.ask(vec![question.clone()], None) => answered.pop(),
        };
        let _ = answer.send(self.result(&question, answered.and_then(Result::ok).as_ref()));
    }

    /// Obtains the input that the upstream requires, in as many rounds as allowed, and sends the call again.
    async fn ask_and_send(&self, mut fault: CallFault) -> Result<CallReply, CallFault> {
        let (mut rounds, mut visits) = (0, 0);
        loop {
            let progress = match fault.unfinished.take().map(|unfinished| *unfinished) {
                Some(Unfinished::Task(task)) if self.aggregator.tasks => {
                    return self.followed(task, None).await;
                }
                Some(Unfinished::Pages(_)) if !self.may_ask() => return Err(fault),
                Some(Unfinished::Input(_)) if !self.may_ask() && self.sampler().is_none() => {
                    return Err(fault);
                }
                Some(Unfinished::Input(input)) => {
                    rounds += 1;
                    InputProgress { rounds, visits, wanted: ResendCause::Input(self.askable(input)?) }
                }
                Some(Unfinished::Pages(pages)) => {
                    visits += 1;
                    match pages.into_iter().collect::<Result<Vec<_>, NotAskable>>() {
                        Ok(pages) if visits <= MOST_VISITS => {
                            InputProgress { rounds, visits, wanted: ResendCause::Pages(pages) }
                        }
                        Ok(_) => return Err(fault),
                        Err(why) => {
                            self.dismissed(&why.to_string());
                            return Err(fault);
                        }
                    }
                }
                Some(Unfinished::Task(_)) | None => return Err(fault),
            };
            (rounds, visits) = (progress.rounds, progress.visits);
            fault = match self.go_on(progress).await {
                Err(fault) if fault.unfinished.is_some() => fault,
                other => return other,
            };
        }
    }

    /// The required input, if people and models can answer all of it.
    pub(super) fn askable(&self, input: InputRequired) -> Result<InputRequired, CallFault> {
        for (_, request) in &input.requests {
            let method = match request {
                InputRequest::Other(method) => method,
                InputRequest::Sample(_) if self.sampler().is_none() => "sampling/createMessage",
                InputRequest::Elicit(_) if !self.aggregator.questions => "elicitation/create",
                // Before anybody is asked anything, since the call fails by it.
                InputRequest::Sample(Err(why)) => return Err(not_sampled(why)),
                InputRequest::Sample(Ok(_)) | InputRequest::Elicit(_) | InputRequest::Refused(_) => continue,
            };
            let text = format!("the upstream asks for {}, which was not offered", visible(method));
            return Err(CallFault::upstream_error(text));
        }
        Ok(input)
    }

    /// Obtains the required input, and sends the call again with the answers.
    async fn go_on(&self, progress: InputProgress) -> Result<CallReply, CallFault> {
        if progress.rounds > MOST_ROUNDS {
            let text = format!("the upstream asked for input more than {MOST_ROUNDS} times");
            return Err(CallFault::upstream_error(text));
        }
        match &progress.wanted {
            ResendCause::Input(input) if input.requests.is_empty() => {
                time::sleep(NOTHING_ASKED).await;
                let state = input.state.as_ref().map(|state| state.get());
                self.send(ResendMembers { responses: None, state }).await
            }
            ResendCause::Input(input) => {
                let responses = self.responses(&progress, input).await?;
                let state = input.state.as_ref().map(|state| state.get());
                self.judged_again().await?;
                self.send(ResendMembers { responses: Some(&responses), state }).await
            }
            ResendCause::Pages(pages) => {
                self.visited(&progress, pages).await?;
                self.judged_again().await?;
                self.send(ResendMembers::default()).await
            }
            ResendCause::Task(task, input) => self.followed(task.clone(), Some(input.clone())).await,
        }
    }

    /// Judges the call anew before it is sent again: its program has waited for people.
    async fn judged_again(&self) -> Result<(), CallFault> {
        let judged = judge_again(self.aggregator, self.run, self.request, self.view);
        judged.await.map(drop).map_err(CallFault::upstream_error)
    }

    /// The answers by the upstream's keys: the text of a JSON object.
    pub(super) async fn responses(
        &self,
        progress: &InputProgress,
        input: &InputRequired,
    ) -> Result<String, CallFault> {
        let mut questions = Vec::new();
        let mut keys = Vec::new();
        for (key, request) in &input.requests {
            let question = match request {
                InputRequest::Sample(_) => continue,
                InputRequest::Elicit(elicitation) => self.question(elicitation, key, progress.rounds),
                InputRequest::Refused(why) => Err(why.to_string()),
                InputRequest::Other(method) => Err(format!("{method} was not offered")),
            };
            let place = match question {
                Ok(question) => {
                    questions.push(question);
                    Some(questions.len() - 1)
                }
                Err(why) => {
                    self.dismissed(&why);
                    None
                }
            };
            keys.push((key, place));
        }
        let answers = self.asked(&questions, progress).await?;
        let mut responses = String::from("{");
        for (key, place) in keys {
            if responses.len() > 1 {
                responses.push(',');
            }
            let result = match place.and_then(|at| questions.get(at).zip(answers.get(at))) {
                Some((question, answer)) => self.result(question, Some(answer)),
                None => CANCELLED.to_owned(),
            };
            let key = ptc_mcp::json::Value::from(&**key);
            let _ = write!(responses, "{key}:{result}");
        }
        // Last, so that a program that waits for people and goes on elsewhere has not had the model answer in vain.
        for (key, request) in &input.requests {
            let InputRequest::Sample(request) = request else { continue };
            let sampled = match request {
                Ok(request) => Box::pin(self.sampled(request)).await,
                Err(why) => Err(why.clone()),
            };
            let result = sampled.map_err(|why| not_sampled(&why))?;
            if responses.len() > 1 {
                responses.push(',');
            }
            let key = ptc_mcp::json::Value::from(&**key);
            let _ = write!(responses, "{key}:{result}");
        }
        responses.push('}');
        Ok(responses)
    }

    /// Has pages visited.
    ///
    /// # Errors
    /// A person declined, or there is no way to ask.
    async fn visited(&self, progress: &InputProgress, pages: &[Elicitation]) -> Result<(), CallFault> {
        let questions = pages.iter().map(|page| self.question(page, "", progress.visits));
        let questions = questions.collect::<Result<Vec<_>, String>>().map_err(CallFault::upstream_error)?;
        pages.iter().zip(&questions).for_each(|(page, question)| self.sends_to(page, question, true));
        for answer in self.asked(&questions, progress).await? {
            if let Some(why) = Unanswered::of(answer.action) {
                return Err(CallFault::unanswered(why));
            }
        }
        Ok(())
    }

    /// Notes that a question sends a person to a page, if the upstream announces when that is done. `is_awaited`: the channel
    /// that accepts waits for it.
    fn sends_to(&self, asked: &Elicitation, question: &Question, is_awaited: bool) {
        let Some(id) = asked.page_id() else { return };
        if let Some(visits) = self.upstream.visits(self.run.principal.as_deref()) {
            visits.begin(&id, question.binding, is_awaited);
        }
    }

    /// Asks several questions at once, in a way that lets another process resume the call.
    async fn asked(
        &self,
        questions: &[Question],
        progress: &InputProgress,
    ) -> Result<Vec<Answer>, CallFault> {
        let saved = SavedCall::upstream(self.request, Some(progress.to_bytes()));
        let answered = self.desk.ask(questions.to_vec(), Some(saved)).await;
        answered.into_iter().map(|answered| answered.map_err(CallFault::unanswered)).collect()
    }

    /// The question to a person that presents a request of the upstream.
    ///
    /// # Errors
    /// Why the question cannot be asked.
    fn question(&self, asked: &Elicitation, key: &str, round: u32) -> Result<Question, String> {
        let mode = match &asked.mode {
            ElicitationMode::Form(schema) => {
                Mode::Form(Form::parse(schema.get()).map_err(|fault| fault.to_string())?)
            }
            ElicitationMode::Url(url) => Mode::Url(url.clone()),
        };
        let name = self.upstream.name();
        let redactor = self.aggregator.redactor.for_principal(self.run.principal.as_deref());
        let message = redactor.scrub(&asked.message);
        let message = format!("{} asks: {}", visible(name), visible(&message));
        Ok(Question {
            kind: QuestionKind::Upstream,
            // The cut is a character of its own.
            message: clip(&message, MAX_MESSAGE - 1),
            mode,
            level: Level::Model,
            upstream: Some(name.into()),
            calls: Vec::new(),
            policy_revision: String::new(),
            binding: self.binding(asked, key, round),
        })
    }

    /// The digest that binds an answer to its question, the upstream, the call and the round.
    fn binding(&self, asked: &Elicitation, key: &str, round: u32) -> [u8; 32] {
        let principal = self.run.principal.as_deref().unwrap_or_default();
        sha256_of_parts(&[
            b"upstream question",
            principal.as_bytes(),
            self.upstream.name().as_bytes(),
            self.call.tool.as_bytes(),
            self.call.arguments,
            key.as_bytes(),
            &round.to_be_bytes(),
            asked.params().as_bytes(),
        ])
    }

    /// The result of `elicitation/create`. An answer that does not fit the form never reaches the upstream.
    #[expect(clippy::disallowed_methods, reason = "entry point: Exchange.result")]
    fn result(&self, question: &Question, answer: Option<&Answer>) -> String {
        let Some(answer) = answer else { return CANCELLED.to_owned() };
        let action = answer.action.as_str();
        let form = match (&question.mode, answer.action) {
            (Mode::Form(form), Action::Accept) => form,
            _ => return format!(r#"{{"action":"{action}"}}"#),
        };
        let content = answer.content.as_deref().map_or("{}", |content| content.get());
        let fits = from_str(content).map_err(|error| error.to_string()).and_then(|read| form.check(&read));
        match fits {
            Ok(()) => format!(r#"{{"action":"accept","content":{content}}}"#),
            Err(why) => {
                self.dismissed(&format!("its answer does not fit: {why}"));
                CANCELLED.to_owned()
            }
        }
    }

    fn dismissed(&self, why: &str) {
        let upstream = self.upstream.name();
        tracing::warn!(event = "upstream_question_dismissed", upstream, why = %visible(why));
    }
}

/// The fault of a call whose upstream needs a model's answer when there is none. The modern era has no way to report that to
/// the upstream.
fn not_sampled(why: &SamplingFault) -> CallFault {
    CallFault::upstream_error(format!("the upstream gets no answer of a model: {}", visible(&why.message)))
}
