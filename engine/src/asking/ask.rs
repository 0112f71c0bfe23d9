//! `(ask {…})`: a program's own question to a person (waiting.md 3.4).

use super::board::SavedCall;
use super::desk::Desk;
use crate::questions::{Action, Answer, Form, Level, Mode, Question, QuestionKind, Unanswered};
use ptc_base::text::clip;
use ptc_base::visible::visible_line;
use ptc_mcp::json::{MAX_NESTING, Map, Value, parse_within};
use ptc_vm::machine::{HostRequest, Payload, Reply};
use ptc_vm::{Error, Reason};

/// How often a question is asked again because its answer does not fit.
const MOST_REPEATS: u8 = 3;
/// Most bytes of a message about an answer that does not fit.
const MAX_FAULT: usize = 1_000;

/// Asks `message` with a form for `schema`, and returns the reply to the program.
pub(crate) async fn ask(desk: Desk, message: String, schema: Option<Vec<u8>>) -> Reply {
    let form = match &schema {
        None => Form::yes_or_no(),
        Some(schema) => match Form::of_program(&String::from_utf8_lossy(schema)) {
            Ok(form) => form,
            Err(fault) => return programmer_fault(&fault.to_string()),
        },
    };
    let asks = format!("A program asks: {}", visible_line(&message));
    let saved = SavedCall::of(&HostRequest::Ask { message, schema }, None);
    let mut misfit = desk.progress().and_then(|progress| Misfit::read(&progress));
    loop {
        let message = match &misfit {
            None => asks.clone(),
            Some(misfit) => format!("The answer does not fit: {}.\n{asks}", misfit.fault),
        };
        let question = Question {
            kind: QuestionKind::Ask,
            binding: binding(&message, &form),
            message,
            mode: Mode::Form(form.clone()),
            level: Level::Model,
            upstream: None,
            calls: Vec::new(),
            policy_revision: String::new(),
        };
        let progress = misfit.as_ref().map(Misfit::write);
        let saved = SavedCall { progress, ..saved.clone() };
        let fault = match desk.ask(vec![question], Some(saved)).await.pop() {
            None => return unanswered(Unanswered::Unanswerable),
            // A question that is asked again is no fault of the program.
            Some(Err(Unanswered::TooMany)) => match misfit {
                None => {
                    return programmer_fault(&format!("more than {} questions", desk.most_questions()));
                }
                Some(misfit) => return dismissed(Some(&misfit.fault)),
            },
            Some(Err(why)) => return unanswered(why),
            Some(Ok(answer)) => match answer.action {
                Action::Decline => return unanswered(Unanswered::Declined),
                Action::Cancel => return dismissed(None),
                Action::Accept => match content(&answer, &form) {
                    Ok(content) => return Reply::success(Payload::Json(content.into())),
                    Err(fault) => fault,
                },
            },
        };
        let repeats = misfit.map_or(1, |misfit| misfit.repeats + 1);
        let fault = visible_line(clip(&fault, MAX_FAULT)).into_owned();
        if repeats > MOST_REPEATS {
            return dismissed(Some(&fault));
        }
        misfit = Some(Misfit { repeats, fault });
    }
}

/// A question whose last answer does not fit.
struct Misfit {
    /// How often it has been asked again, this time included.
    repeats: u8,
    /// The fault in the answer.
    fault: String,
}

impl Misfit {
    fn write(&self) -> Vec<u8> {
        let mut bytes = vec![self.repeats];
        bytes.extend_from_slice(self.fault.as_bytes());
        bytes
    }

    /// Reads untrusted bytes.
    fn read(bytes: &[u8]) -> Option<Misfit> {
        let (repeats, fault) = bytes.split_first()?;
        let fault = visible_line(clip(std::str::from_utf8(fault).ok()?, MAX_FAULT)).into_owned();
        (1..=MOST_REPEATS).contains(repeats).then_some(Misfit { repeats: *repeats, fault })
    }
}

/// The content of an accepted answer, or why it does not fit.
#[expect(clippy::disallowed_methods, reason = "entry point: content()")]
fn content(answer: &Answer, form: &Form) -> Result<String, String> {
    let Some(content) = &answer.content else {
        return form.check(&Value::Object(Map::new())).map(|()| "{}".to_owned());
    };
    let text = content.get();
    if let Some(name) = ptc_mcp::json::repeated_key(text) {
        return Err(format!("the field {} stands twice", Value::from(name)));
    }
    let value = parse_within(text, MAX_NESTING).map_err(|_| "it nests too deeply".to_owned())?;
    form.check(&value).map(|()| text.to_owned())
}

fn unanswered(why: Unanswered) -> Reply {
    Reply::fault(why.reason(), why.text())
}

fn dismissed(fault: Option<&str>) -> Reply {
    let mut message = Unanswered::Dismissed.text().to_owned();
    if let Some(fault) = fault {
        message.push_str("\nno answer fitted: ");
        message.push_str(fault);
    }
    Reply::fault(Unanswered::Dismissed.reason(), message)
}

fn programmer_fault(text: &str) -> Reply {
    Reply::Raise(Error::verbatim(Reason::RuntimeError, format!("runtime_error: ask: {text}")))
}

/// The digest that binds the answer to everything shown.
#[cfg(feature = "saved-sessions")]
fn binding(message: &str, form: &Form) -> [u8; 32] {
    let mut digest = ring::digest::Context::new(&ring::digest::SHA256);
    let form = form.to_json(crate::questions::FormDialect::Current);
    for part in [QuestionKind::Ask.as_str(), message, &form] {
        digest.update(&(part.len() as u64).to_le_bytes());
        digest.update(part.as_bytes());
    }
    let mut binding = [0; 32];
    binding.copy_from_slice(digest.finish().as_ref());
    binding
}

/// Bindings are compared with those of programs that were written, and none is written here.
#[cfg(not(feature = "saved-sessions"))]
fn binding(_: &str, _: &Form) -> [u8; 32] {
    [0; 32]
}
