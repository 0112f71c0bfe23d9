//! The tests at the head of a file.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use ptc_compiler::Position;
use ptc_compiler::datum::{Datum, DatumContent};
use ptc_mcp::json::{Value as Json, json};

use ptc_host::engine::kept::{Fields, ProgramFault, json_of};
use ptc_host::upstream::FaultReason;

/// Most replies of a test.
const MAX_REPLIES: usize = 1000;

/// A run with given replies, and what is to come of it.
#[derive(Clone, Debug, PartialEq)]
pub struct TestCase {
    /// `:name`, for reports.
    pub name: Option<String>,
    /// Where it stands.
    pub position: Position,
    /// `:input`: the arguments, an object.
    pub input: Json,
    /// `:now`: the program's instant.
    pub now: Option<SystemTime>,
    /// `:replies`, each for one call unless it says otherwise.
    pub replies: Vec<TestReply>,
    /// `:answers` to the questions of `ask`, in their order.
    pub answers: Vec<TestAnswer>,
    /// `:value` or `:error`.
    pub expected: ExpectedEnd,
}

/// The reply to calls of one tool.
#[derive(Clone, Debug, PartialEq)]
pub struct TestReply {
    /// Where it stands.
    pub position: Position,
    /// The upstream.
    pub upstream: String,
    /// The tool.
    pub tool: String,
    /// The arguments of the calls; `None`: any.
    pub arguments: Option<Json>,
    /// `:times`: how many calls it answers.
    pub times: u32,
    /// What they get.
    pub outcome: TestOutcome,
}

/// What a call gets.
#[derive(Clone, Debug, PartialEq)]
pub enum TestOutcome {
    /// `:value`, as JSON.
    Value(Json),
    /// `:fault`: a world fault.
    Fault {
        /// `:reason`
        reason: FaultReason,
        /// `:message`
        message: String,
    },
}

/// What a person answers.
#[derive(Clone, Debug, PartialEq)]
pub enum TestAnswer {
    /// Yes, or the form that was filled in.
    Accept(Option<Json>),
    /// No.
    Decline,
    /// The question is dismissed.
    Cancel,
}

/// What is to come of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum ExpectedEnd {
    /// This value, as JSON.
    Value(Json),
    /// An error whose message has this text in it.
    Error(String),
}

impl TestCase {
    pub(crate) fn read(source: &str, datum: &Datum) -> Result<TestCase, ProgramFault> {
        let keys = ["name", "input", "now", "replies", "answers", "value", "error"];
        let fields = Fields::of(source, datum, "a test", &keys)?;
        let expected = match (fields.given("value"), fields.text("error")?) {
            (Some(value), None) => ExpectedEnd::Value(json_of(value, source)?),
            (None, Some(error)) if error.trim().is_empty() => {
                return Err(
                    fields.lacks("every error has an empty :error in it; write a part of the message")
                );
            }
            (None, Some(error)) => ExpectedEnd::Error(error.to_owned()),
            _ => return Err(fields.lacks("a test has either :value or :error, what the program ends with")),
        };
        let replies = fields.items("replies")?;
        if let Some(beyond) = replies.get(MAX_REPLIES) {
            return Err(fields.fault(beyond, format!("a test has at most {MAX_REPLIES} replies")));
        }
        let answer = |answer: &Datum| read_answer(source, &fields, answer);
        Ok(TestCase {
            name: fields.text("name")?.map(str::to_owned),
            position: datum.position(source),
            input: fields.object("input")?.unwrap_or_else(|| json!({})),
            now: fields.get("now").map(|now| read_moment(&fields, now)).transpose()?,
            replies: replies.iter().map(|reply| TestReply::read(source, reply)).collect::<Result<_, _>>()?,
            answers: fields.items("answers")?.iter().map(answer).collect::<Result<_, _>>()?,
            expected,
        })
    }

    /// How reports call it: by its name, else by its place.
    #[must_use]
    pub fn title(&self) -> String {
        match &self.name {
            Some(name) => name.clone(),
            None => format!("line {}", self.position.line),
        }
    }
}

impl TestReply {
    fn read(source: &str, datum: &Datum) -> Result<TestReply, ProgramFault> {
        let fields = Fields::of(source, datum, "a reply", &["tool", "args", "times", "value", "fault"])?;
        let named = fields.text("tool")?.and_then(|tool| tool.split_once('/'));
        let Some((upstream, tool)) =
            named.filter(|(upstream, tool)| !upstream.is_empty() && !tool.is_empty())
        else {
            return Err(fields.lacks("a reply has a :tool such as \"upstream/name\""));
        };
        let outcome = match (fields.given("value"), fields.get("fault")) {
            (Some(value), None) => TestOutcome::Value(json_of(value, source)?),
            (None, Some(fault)) => {
                let fault = Fields::of(source, fault, ":fault", &["reason", "message"])?;
                TestOutcome::Fault {
                    reason: read_reason(&fault)?,
                    message: fault.text("message")?.unwrap_or_default().to_owned(),
                }
            }
            _ => return Err(fields.lacks("a reply has either :value or :fault")),
        };
        Ok(TestReply {
            position: datum.position(source),
            upstream: upstream.to_owned(),
            tool: tool.to_owned(),
            arguments: fields.object("args")?,
            times: fields.count("times")?.map_or(1, |times| u32::try_from(times).unwrap_or(u32::MAX)),
            outcome,
        })
    }
}

fn read_reason(fault: &Fields<'_>) -> Result<FaultReason, ProgramFault> {
    let Some((at, name)) = fault.get("reason").and_then(|reason| Some((reason, reason.name()?))) else {
        return Err(fault.lacks(":fault has a :reason, such as :timeout or :upstream-error"));
    };
    let wanted = name.replace('-', "_");
    FaultReason::ALL.into_iter().find(|reason| reason.as_str() == wanted).ok_or_else(|| {
        let known = FaultReason::ALL.map(|reason| format!(":{}", reason.as_str().replace('_', "-")));
        fault.fault(at, format!("no call fails with the reason :{name}; there are {}", known.join(", ")))
    })
}

fn read_answer(source: &str, fields: &Fields<'_>, answer: &Datum) -> Result<TestAnswer, ProgramFault> {
    match (&answer.content, answer.name()) {
        (DatumContent::Bool(true), _) => Ok(TestAnswer::Accept(None)),
        (DatumContent::Bool(false), _) | (_, Some("decline")) => Ok(TestAnswer::Decline),
        (_, Some("cancel")) => Ok(TestAnswer::Cancel),
        (DatumContent::Map(_), _) => json_of(answer, source).map(|form| TestAnswer::Accept(Some(form))),
        _ => Err(fields
            .fault(answer, "an answer is true, false, :decline, :cancel, or the map of a filled-in form")),
    }
}

fn read_moment(fields: &Fields<'_>, now: &Datum) -> Result<SystemTime, ProgramFault> {
    let text = match &now.content {
        DatumContent::Text(text) => text.parse::<Timestamp>().ok(),
        _ => None,
    };
    let millis = text.and_then(|moment| u64::try_from(moment.as_millisecond()).ok());
    let millis =
        millis.ok_or_else(|| fields.fault(now, ":now must be a moment such as \"2026-01-31T12:00:00Z\""))?;
    Ok(UNIX_EPOCH + Duration::from_millis(millis))
}
