//! The questions of one suspension and their answers so far: the content of a state besides the program.

use ptc_host::questions::{
    Action, Answer, AnsweredBy, AskedPage, Channel, Form, FormDialect, Mode, OpenQuestion, QuestionId,
};
use ptc_mcp::json::object_text;
use ptc_vm::graph::{Reader, Unread, Writer};
use serde_json::value::RawValue;

use super::shown::Screen;
use crate::principal::Principal;
use crate::protocol::answers;
use crate::protocol::tool::Visited;
use crate::runs::{Judged, MOST_FAULTS, NOT_SIGNED_IN, judged};

const FORM: u8 = 0;
const URL: u8 = 1;

/// The questions of one suspension.
#[derive(Debug)]
pub(super) struct Round(Vec<Asked>);

/// One question.
#[derive(Debug)]
struct Asked {
    id: QuestionId,
    message: String,
    mode: Mode,
    /// The task on its page, if we can learn of its result.
    page: Option<AskedPage>,
    /// How many answers did not fit, and why the last one did not.
    faults: u8,
    fault: Option<String>,
    answer: Option<Answer>,
}

impl Round {
    /// A round without answers.
    pub(super) fn new(open: &[OpenQuestion]) -> Round {
        let asked = |open: &OpenQuestion| Asked {
            id: open.id,
            message: open.question.message.clone(),
            mode: open.question.mode.clone(),
            page: open.question.page(),
            faults: 0,
            fault: None,
            answer: None,
        };
        Round(open.iter().map(asked).collect())
    }

    /// The pages of open questions.
    pub(super) fn pages(&self) -> impl Iterator<Item = (QuestionId, AskedPage)> {
        let open = self.0.iter().filter(|asked| asked.answer.is_none());
        open.filter_map(|asked| Some((asked.id, asked.page.clone()?)))
    }

    /// Takes the client's answers: `inputResponses` as sent, and the results of pages. Answers to unknown or answered
    /// questions are ignored. A page that was only opened does not answer its question, unless that happens too
    /// often.
    pub(super) fn take(
        &mut self,
        (responses, visited): (Option<&str>, &Visited),
        (by, by_page): (&AnsweredBy, &AnsweredBy),
        at_ms: u64,
    ) {
        for (key, sent) in responses.map(answers).into_iter().flatten() {
            let Some(sent) = sent else { continue };
            let id = QuestionId::parse(&key);
            let asked = self.0.iter_mut().find(|asked| Some(asked.id) == id && asked.answer.is_none());
            let Some(asked) = asked else { continue };
            if visited.undone.contains(&asked.id) && asked.faults < MOST_FAULTS {
                asked.faults += 1;
                asked.fault = Some(NOT_SIGNED_IN.to_owned());
                continue;
            }
            match judged(sent, &asked.mode, asked.faults, by, at_ms) {
                Judged::Answer(answer) => asked.answer = Some(answer),
                Judged::Fault(fault) => {
                    asked.faults += 1;
                    asked.fault = Some(fault);
                }
                Judged::NoAnswer => {}
            }
        }
        for asked in self.0.iter_mut().filter(|asked| asked.answer.is_none()) {
            if visited.done.contains(&asked.id) {
                let (action, by) = (Action::Accept, by_page.clone());
                asked.answer = Some(Answer { action, content: None, by, at_ms });
            }
        }
    }

    /// True if all questions are answered.
    pub(super) fn is_answered(&self) -> bool {
        self.0.iter().all(|asked| asked.answer.is_some())
    }

    /// The answers.
    pub(super) fn answers(self) -> Vec<(QuestionId, Answer)> {
        self.0.into_iter().filter_map(|asked| Some((asked.id, asked.answer?))).collect()
    }

    /// The open questions, as `inputRequests`: a JSON object.
    pub(super) fn requests(&self, screen: Screen) -> String {
        object_text(|requests| {
            for asked in self.0.iter().filter(|asked| asked.answer.is_none()) {
                let params = screen.params((&asked.message, &asked.mode), asked.fault.as_deref(), None);
                let request = object_text(|request| {
                    request.string("method", "elicitation/create");
                    request.raw("params", &params);
                });
                requests.raw(&asked.id.to_string(), &request);
            }
        })
    }

    /// Encodes the round.
    pub(super) fn write(&self) -> Vec<u8> {
        let mut to = Writer::new();
        to.count(self.0.len());
        for asked in &self.0 {
            to.unsigned(u64::from(asked.id.number()));
            to.text(&asked.message);
            match &asked.mode {
                Mode::Form(form) => {
                    to.byte(FORM);
                    to.text(&form.to_json(FormDialect::Current));
                }
                Mode::Url(url) => {
                    to.byte(URL);
                    to.text(url);
                }
            }
            to.option(asked.page.as_ref(), |page, to| {
                to.text(&page.upstream);
                to.raw(&page.binding);
                to.byte(u8::from(page.is_sign_in));
            });
            to.byte(asked.faults);
            to.option(asked.fault.as_ref(), |fault, to| to.text(fault));
            to.option(asked.answer.as_ref(), |answer, to| {
                to.text(answer.action.as_str());
                to.option(answer.content.as_deref(), |content, to| to.text(content.get()));
                to.byte(u8::from(answer.by.channel == Channel::Page));
                to.unsigned(answer.at_ms);
            });
        }
        to.into_bytes()
    }

    /// Reads the encoding of [`write`](Self::write). The answers are those of `principal`, to whom the state belongs.
    pub(super) fn read(bytes: &[u8], principal: &Principal) -> Result<Round, Unread> {
        let mut from = Reader::new(bytes);
        let count = from.count()?;
        let round = (0..count).map(|_| read_asked(&mut from, principal)).collect::<Result<_, _>>()?;
        from.finish("end")?;
        Ok(Round(round))
    }
}

fn read_asked(from: &mut Reader<'_>, principal: &Principal) -> Result<Asked, Unread> {
    let id = QuestionId::new(from.unsigned_32()?);
    let message = from.text()?.to_owned();
    let mode = match (from.byte()?, from.text()?) {
        (FORM, schema) => Mode::Form(Form::parse(schema).map_err(|_| Unread::Invalid("form"))?),
        (URL, url) => Mode::Url(url.into()),
        _ => return Err(Unread::Invalid("mode")),
    };
    let page = if from.flag()? { Some(read_page(from)?) } else { None };
    let faults = from.byte()?;
    let fault = if from.flag()? { Some(from.text()?.to_owned()) } else { None };
    let answer = if from.flag()? { Some(read_answer(from, principal)?) } else { None };
    Ok(Asked { id, message, mode, page, faults, fault, answer })
}

fn read_page(from: &mut Reader<'_>) -> Result<AskedPage, Unread> {
    let upstream = from.text()?.into();
    let mut binding = [0; 32];
    binding.copy_from_slice(from.raw(32)?);
    Ok(AskedPage { upstream, binding, is_sign_in: from.flag()? })
}

fn read_answer(from: &mut Reader<'_>, principal: &Principal) -> Result<Answer, Unread> {
    let invalid = || Unread::Invalid("answer");
    let action = Action::from_name(from.text()?).ok_or_else(invalid)?;
    let content = match from.flag()? {
        true => Some(RawValue::from_string(from.text()?.to_owned()).map_err(|_| invalid())?),
        false => None,
    };
    let channel = if from.flag()? { Channel::Page } else { Channel::Client };
    let by = AnsweredBy { channel, name: Some(principal.shared_name()) };
    Ok(Answer { action, content, by, at_ms: from.unsigned()? })
}
