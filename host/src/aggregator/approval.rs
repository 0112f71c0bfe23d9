//! The approval that a call needs before it is sent (waiting.md 3.3).

use std::borrow::Cow;
use std::sync::Arc;

use ptc_oauth::timestamp::Timestamp;
use ptc_vm::machine::UpstreamCall;

use super::runtime::Aggregator;
use crate::catalog::{ToolEntry, check_large_call};
use ptc_base::visible::visible_line;
use ptc_engine::questions::approval::{Decision, SCHEMA, asked_call, binding, message};
use ptc_engine::questions::{
    Action, Answer, AnsweredBy, ArgumentsDigest, Form, Level, Mode, PendingQuestion, Question, QuestionId,
    QuestionKind, Unanswered,
};
use ptc_engine::{Asker, Desk, SavedCall, Verdict};
use ptc_mcp::json::Value;
use ptc_secret::credentials::Redactor;
use ptc_state::time_of_day_by;
use ptc_upstreams::config::UpstreamConfig;
use ptc_upstreams::upstream::{CallFault, FaultReason};

/// How often one call is asked for, if answers say neither yes nor no or come to nothing because they are too old.
const MOST_TIMES: u32 = 3;

/// Longest arguments in which the place of a secret is reported.
const MAX_PLACED_BYTES: usize = 256 << 10;

/// The level of approval that a call of this tool needs; `None` if it is sent at once. A tool without a description is treated
/// as one without any reassuring hint.
pub(super) fn needed(config: &UpstreamConfig, name: &str, tool: Option<&ToolEntry>) -> Option<Level> {
    if config.approval.is_never() {
        return None;
    }
    config.approval.needs(name, tool.and_then(|tool| tool.annotations.as_ref()))
}

/// A call that waits for its approval.
pub(super) struct WantedCall<'a> {
    pub(super) config: &'a UpstreamConfig,
    /// On whose behalf it is made.
    pub(super) principal: Option<&'a str>,
    /// The tool's name as its upstream knows it.
    pub(super) name: &'a str,
    pub(super) tool: Option<&'a ToolEntry>,
    /// The arguments as they will be sent.
    pub(super) arguments: &'a [u8],
    /// The digest of its arguments.
    pub(super) digest: ArgumentsDigest,
    pub(super) level: Level,
}

/// The approval of a call: by whom and when.
pub(super) struct Allowed {
    pub(super) by: AnsweredBy,
    at: Timestamp,
}

impl Allowed {
    /// Whether it is not older than approvals may be. One that seems to come from the future is as new as can be.
    pub(super) fn is_fresh(&self, aggregator: &Aggregator) -> bool {
        Timestamp::from_millis(time_of_day_by(&aggregator.clock)).since(self.at) <= aggregator.approval_ttl
    }
}

/// A call that is not made, and who refused it.
pub(super) type RefusedCall = (CallFault, Option<AnsweredBy>);

/// Obtains the approval for a call. `ask` asks for the given time; its answer is `None` if the asker had none.
///
/// # Errors
/// It was refused, the question was dismissed, or there is no way to ask: `ask` is `None`, or says so. Nothing was sent.
pub(super) async fn allowed<F: Future<Output = Result<Option<Answer>, Unanswered>>>(
    aggregator: &Aggregator,
    wanted: &WantedCall<'_>,
    ask: Option<impl Fn(u32, Question) -> F>,
) -> Result<Allowed, RefusedCall> {
    // Before anything is made that costs.
    let ask = ask.ok_or_else(|| (unanswered(Unanswered::Unanswerable), None))?;
    let question = question(aggregator, wanted).await?;
    for number in 1..=MOST_TIMES {
        let answer = ask(number, question.clone()).await.map_err(|why| (unanswered(why), None))?;
        if let Some(judged) = answer.and_then(|answer| judged(aggregator, answer)) {
            return judged;
        }
    }
    Err((unanswered(Unanswered::Dismissed), None))
}

/// Asks whoever answers the program's questions. Another process repeats `request` after a resume.
///
/// # Errors
/// Why it cannot be asked.
pub(super) async fn ask_at(
    desk: &Desk,
    request: &UpstreamCall,
    question: Question,
) -> Result<Option<Answer>, Unanswered> {
    let answered = desk.ask(vec![question], Some(SavedCall::upstream(request, None))).await.pop();
    answered.unwrap_or(Err(Unanswered::Unanswerable)).map(Some)
}

/// Reports what people said of a call, for which its program waited, although it may not be made any more: they have answered.
pub(super) async fn tell_unasked(
    aggregator: &Aggregator,
    desk: &Desk,
    upstream: &str,
    tool: &str,
    call: &UpstreamCall,
) {
    // Its caller may not even see the upstream by now; they were asked about the arguments as the tool would have got them.
    let all = aggregator.unfiltered();
    let catalog = all.present();
    let arguments = match (check_large_call(&catalog, call).await, &call.arguments) {
        (Ok(checked), _) => checked.arguments,
        (Err(_), Ok(arguments)) => Cow::Borrowed(&*arguments.json),
        (Err(_), Err(_)) => Cow::Borrowed(&b"{}"[..]),
    };
    let digest = ArgumentsDigest::of_sent(&arguments).await;
    let (Ok(call), Ok(form)) = (asked_call(tool, &arguments, digest), Form::parse(SCHEMA)) else { return };
    let level = all.member(upstream).and_then(|member| needed(&member.config, tool, None));
    desk.tell_unasked_approval(Question {
        kind: QuestionKind::Approval,
        message: message(upstream, &call),
        mode: Mode::Form(form),
        level: level.unwrap_or(Level::Client),
        upstream: Some(upstream.into()),
        calls: vec![call],
        policy_revision: String::new(),
        // That of the question as it was asked takes its place.
        binding: [0; 32],
    });
}

/// Asks about a call that no program makes, for the `number`-th time.
///
/// # Errors
/// Why it cannot be asked.
pub(super) async fn ask_outside(
    asker: Arc<dyn Asker>,
    number: u32,
    question: Question,
) -> Result<Option<Answer>, Unanswered> {
    if !asker.can_ask(&question) {
        return Err(Unanswered::Unanswerable);
    }
    let id = QuestionId::new(number);
    match asker.ask(vec![PendingQuestion::new(id, question)]).await {
        Verdict::Answered(answers) => {
            Ok(answers.into_iter().find_map(|(asked, answer)| (asked == id).then_some(answer)))
        }
        Verdict::Leave => Err(Unanswered::Unanswerable),
    }
}

/// The meaning of the answer; `None` if it says neither yes nor no, or has expired: the question is then asked again.
fn judged(aggregator: &Aggregator, answer: Answer) -> Option<Result<Allowed, RefusedCall>> {
    let allowed = Allowed { by: answer.by.clone(), at: Timestamp::from_millis(answer.at_ms) };
    match (answer.action, Decision::of_content(answer.content.as_deref())) {
        (Action::Accept, Some(Decision::Allow)) if allowed.is_fresh(aggregator) => Some(Ok(allowed)),
        (Action::Accept, Some(Decision::Refuse)) | (Action::Decline, _) => {
            Some(Err((unanswered(Unanswered::Declined), Some(answer.by))))
        }
        (Action::Cancel, _) => Some(Err((unanswered(Unanswered::Dismissed), Some(answer.by)))),
        (Action::Accept, _) => None,
    }
}

fn unanswered(why: Unanswered) -> CallFault {
    CallFault::unanswered(why).before_sending()
}

/// The question.
///
/// # Errors
/// The arguments have no digest, or hold a secret of the operator's or of this caller's, which must not be shown: an approval
/// would be meaningless.
async fn question(aggregator: &Aggregator, wanted: &WantedCall<'_>) -> Result<Question, RefusedCall> {
    let unclear = |why: &dyn std::fmt::Display| {
        let text = format!("the arguments cannot be approved: {why}");
        (CallFault::new(FaultReason::Unanswerable, text).before_sending(), None)
    };
    let upstream = wanted.config.name.as_str();
    let redactor = aggregator.redactor.for_principal(wanted.principal);
    if let Some(place) = secret_in(&redactor, wanted.arguments).await {
        let text = format!(
            "the arguments hold a secret at {place}, which cannot be shown to whoever allows the call: leave it out; nothing was sent"
        );
        return Err((CallFault::new(FaultReason::Unanswerable, text).before_sending(), None));
    }
    let call = asked_call(wanted.name, wanted.arguments, wanted.digest).map_err(|why| unclear(&why))?;
    let (schema, annotations) =
        wanted.tool.map_or((&Value::Null, None), |tool| (&tool.input_schema, tool.annotations.as_ref()));
    let policy_revision = wanted.config.approval.revision(wanted.name, schema, annotations);
    let binding =
        binding(wanted.principal.unwrap_or_default(), upstream, wanted.name, &policy_revision, &call.digest);
    Ok(Question {
        kind: QuestionKind::Approval,
        message: message(upstream, &call),
        mode: Mode::Form(Form::parse(SCHEMA).map_err(|why| unclear(&why))?),
        level: wanted.level,
        upstream: Some(upstream.into()),
        calls: vec![call],
        policy_revision,
        binding,
    })
}

/// Where in the arguments a secret is. Yields to other tasks of this thread while it scans a long text.
#[expect(clippy::disallowed_methods, reason = "entry point: secret_in()")]
async fn secret_in(redactor: &Redactor, arguments: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(arguments);
    if !matches!(redactor.scrub_in_pieces(&text).await, Cow::Owned(_)) {
        return None;
    }
    let read = (arguments.len() <= MAX_PLACED_BYTES).then(|| serde_json::from_slice::<Value>(arguments).ok());
    let place = read.flatten().and_then(|value| redactor.place_in(&value));
    Some(
        place
            .filter(|place| !place.is_empty())
            .map_or_else(|| "some place".to_owned(), |place| visible_line(&place).into_owned()),
    )
}
