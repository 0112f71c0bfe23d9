//! `lisp_resume`: the user's answers to a program that waits, delivered by the model (waiting.md 4.4).

use std::sync::Arc;

use futures_util::FutureExt;
use ptc_host::questions::{AnsweredBy, Channel, QuestionId, Receipt};
use ptc_host::time;
use ptc_mcp::json::{Kind, Raw};

use super::reply::{DEFAULT_WAIT, args_error, told};
use crate::lisp_eval::{EvalOptions, output_schema};
use crate::long::{run_id, wait_ms};
use ptc_protocol::tool::{Annotations, CallContext, Definition, Preparation, Tool};
use ptc_runs::Runs;

/// The tool.
pub(super) struct ResumeTool {
    pub(super) runs: Arc<Runs>,
    pub(super) options: EvalOptions,
}

const INPUT: &str = r#"{"type":"object","required":["run_id"],"properties":{"run_id":{"type":"string"},"answers":{"type":"object","description":"By question id.","additionalProperties":{"type":"object","required":["action"],"properties":{"action":{"enum":["accept","decline","cancel"]},"content":{"type":"object","description":"With accept: what the question's schema asks for."}}}},"wait_ms":{"type":"integer","minimum":0,"maximum":50000,"default":20000}}}"#;

impl Tool for ResumeTool {
    fn definition(&self) -> Definition {
        Definition {
            name: "lisp_resume".into(),
            title: Some("PTC-Lisp: answer a waiting program".into()),
            description: "Goes on with a program that was answered with `waiting`. Ask the user each question that lisp_resume answers, and \
                          bring their answers; never answer for them. Questions answered elsewhere need no answer here: call with the \
                          run_id alone once they are. The answer is the program's result, or `waiting` or `running` again."
                .into(),
            input_schema: INPUT.into(),
            output_schema: output_schema(
                self.options.shaper.profile,
                self.options.card.is_some(),
                self.options.runs.as_ref(),
            ),
            annotations: Some(Annotations { read_only: false, destructive: true, idempotent: true, open_world: true }.to_json()),
            meta: None,
            long: None,
        }
    }

    fn prepare(&self, arguments: Option<Raw<'_>>, context: &CallContext) -> Preparation {
        let asked = run_id(arguments, &["run_id", "answers", "wait_ms"])
            .and_then(|id| Ok((id, answers(arguments)?, wait_ms(arguments)?.unwrap_or(DEFAULT_WAIT))));
        let (id, answers, wait) = match asked {
            Ok(asked) => asked,
            Err(message) => return Preparation::Done(args_error(&message)),
        };
        let (runs, shaper) = (self.runs.clone(), self.options.shaper_for(context));
        let (principal, options) = (context.owner.principal.clone(), self.options.clone());
        let work = async move {
            let (mut notes, mut counted, mut wait) = (Vec::new(), Vec::new(), wait);
            if let Some(answers) = answers {
                let by = AnsweredBy { channel: Channel::Model, name: Some(principal.shared_name()) };
                let began = time::now();
                let page = wait.min(runs.settings().page_wait);
                let took = runs.answer_opened(&principal, &id, &answers, by, Some(page)).await;
                wait = wait.saturating_sub(time::since(began));
                match took {
                    Ok(took) => {
                        notes.extend(took.iter().filter_map(note));
                        counted.extend(
                            took.iter().filter_map(|(id, took)| (*took == Receipt::Counted).then_some(*id)),
                        );
                    }
                    Err(why) => return why.reply(),
                }
            }
            told(&options, &shaper, runs.wait_past(&counted, &principal, &id, wait).await, &notes)
        };
        Preparation::Free(work.boxed())
    }
}

/// Most answers of one call: more than any run has open questions.
const MAX_ANSWERS: usize = 1024;

/// `answers`, if there are any.
fn answers(arguments: Option<Raw<'_>>) -> Result<Option<String>, String> {
    let mut members = arguments.and_then(Raw::members).into_iter().flatten();
    let given = members.find(|(name, _)| name == "answers").map(|(_, value)| value);
    let Some(given) = given.filter(|given| given.kind() != Kind::Null) else { return Ok(None) };
    if given.kind() != Kind::Object {
        return Err(format!("argument `answers` must be an object, got {}", given.kind().name()));
    }
    for (count, (name, _)) in given.members().into_iter().flatten().enumerate() {
        if count == MAX_ANSWERS {
            return Err(format!("argument `answers` has more than {MAX_ANSWERS} answers"));
        }
        if QuestionId::parse(&name).is_none() {
            return Err("argument `answers` has a key that is no question id, such as q1".to_owned());
        }
    }
    Ok(Some(given.text().to_owned()))
}

/// The note about an answer that did not count.
fn note((id, took): &(QuestionId, Receipt)) -> Option<String> {
    Some(match took {
        Receipt::Counted => return None,
        Receipt::Misfit(fault) => format!("the answer to {id} does not fit: {fault}"),
        Receipt::NotHere => format!("{id} cannot be answered here"),
        Receipt::AlreadyAnswered => format!("{id} was already answered"),
        Receipt::NotOpen => format!("{id} is no question of this run"),
        Receipt::NoAnswer => {
            format!("the answer to {id} has no action (accept, decline or cancel), or a member twice")
        }
    })
}
