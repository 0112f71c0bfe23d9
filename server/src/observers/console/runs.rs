//! The runs that are kept, as the page shows them and as whoever asks the route reads them.

use ptc_host::digest::hex;
use ptc_host::questions::approval::Decision;
use ptc_host::questions::{Answer, FormDialect, Mode, QuestionId, QuestionKind};
use ptc_host::visible::visible_line;
use ptc_mcp::json::{Object, Raw, object_text, write_array};

use super::Console;
use crate::observers::recording::payloads;
use crate::runs::{KeptQuestion, RunView, Seen, Took};
use crate::timestamp::{self, instant, of_millis};

/// Who looks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunsFacts<'f> {
    /// The principal's name.
    pub(crate) caller: &'f str,
    /// Whether it sees everybody's.
    pub(crate) operator: bool,
}

/// The JSON of these runs.
pub(crate) fn runs(console: &Console, facts: &RunsFacts<'_>, views: &[RunView]) -> String {
    object_text(|object| {
        object.string("now", &instant(timestamp::now()));
        object.string("caller", facts.caller);
        object.boolean("operator", facts.operator);
        write_array(object.key("runs"), views, |out, view| {
            out.extend_from_slice(run(console, view).as_bytes())
        });
    })
}

fn run(console: &Console, view: &RunView) -> String {
    object_text(|object| {
        object.string("run_id", &view.run_id);
        object.string("principal", &view.principal);
        object.string("status", view.status.as_str());
        object.string("tool", &view.tool);
        time(object, "began_at", Some(view.began_ms));
        object.integer("upstream_calls", view.calls.into());
        time(object, "expires_at", view.expires_at_ms);
        match &view.program {
            Some(program) => object.raw(
                "program",
                &payloads::program(&console.recording.for_principal(&view.principal), program),
            ),
            None => object.raw("program", "null"),
        }
        write_array(object.key("questions"), &view.questions, |out, asked| {
            out.extend_from_slice(question(asked).as_bytes());
        });
    })
}

fn time(object: &mut Object<'_>, key: &str, at_ms: Option<i64>) {
    match at_ms.and_then(of_millis) {
        Some(at) => object.string(key, &at),
        None => object.raw(key, "null"),
    }
}

/// A question. A person decides by what is shown here, so that it is whole, as it will be sent, and nothing in it is hidden.
fn question(asked: &KeptQuestion) -> String {
    let question = &asked.question;
    object_text(|object| {
        object.string("id", &asked.id.to_string());
        object.string("kind", question.kind.as_str());
        object.string("level", question.level.as_str());
        object.string("message", &question.message);
        match &question.upstream {
            Some(upstream) => object.string("upstream", upstream),
            None => object.raw("upstream", "null"),
        }
        match &question.mode {
            Mode::Form(form) => object.raw("schema", &form.to_json(FormDialect::Current)),
            Mode::Url(url) => object.string("url", url),
        }
        if question.kind == QuestionKind::Approval {
            object.string("policy_revision", &question.policy_revision);
            write_array(object.key("calls"), &question.calls, |out, call| {
                let json = object_text(|object| {
                    object.string("tool", &call.tool);
                    object.raw("arguments", &call.arguments);
                    // Readers of JSON round numbers.
                    object.string("arguments_text", &visible_line(&call.arguments));
                    object.string("arguments_digest", &hex(&call.digest));
                });
                out.extend_from_slice(json.as_bytes());
            });
        }
        match &asked.fault {
            Some(fault) => object.string("fault", fault),
            None => object.raw("fault", "null"),
        }
        match &asked.answer {
            Some(given) => object.raw("answer", &answer(question.kind, given)),
            None => object.raw("answer", "null"),
        }
    })
}

/// Who has answered, and what was decided; what was filled in is between them and the program.
fn answer(kind: QuestionKind, answer: &Answer) -> String {
    object_text(|object| {
        object.string("action", answer.action.as_str());
        if kind == QuestionKind::Approval
            && let Some(decision) = Decision::of_content(answer.content.as_deref())
        {
            object.string("decision", decision.as_str());
        }
        object.string("channel", answer.by.channel.as_str());
        if let Some(name) = &answer.by.name {
            object.string("name", name);
        }
    })
}

/// What became of each answer in `sent`, the text of an object.
pub(crate) fn taken(run_id: &str, sent: &str, took: &[(QuestionId, Took)]) -> String {
    let members = Raw::parse(sent).ok().and_then(Raw::members);
    object_text(|object| {
        object.string("run_id", run_id);
        let mut answers = Object::new(object.key("answers"));
        // What is no id of a question stays in the answer: whoever mistyped it learns of it.
        for (name, _) in members.into_iter().flatten() {
            if QuestionId::parse(&name).is_none() {
                answers.raw(&name, &outcome(&Took::NotOpen));
            }
        }
        for (id, took) in took {
            answers.raw(&id.to_string(), &outcome(took));
        }
        answers.end();
    })
}

fn outcome(took: &Took) -> String {
    object_text(|object| {
        let word = match took {
            Took::Counted => "counted",
            Took::Misfit(_) => "misfit",
            Took::NotHere => "not_here",
            Took::AlreadyAnswered => "already_answered",
            Took::NotOpen => "not_open",
            Took::NoAnswer => "no_answer",
        };
        object.string("outcome", word);
        if let Took::Misfit(fault) = took {
            object.string("fault", fault);
        }
    })
}

/// What became of a run that was to be stopped.
pub(crate) fn cancelled(run_id: &str, seen: &Seen) -> String {
    let status = match seen {
        Seen::Running(_) => "running",
        Seen::Waiting(_) => "waiting",
        Seen::Ended(status, _) => status.as_str(),
    };
    object_text(|object| {
        object.string("run_id", run_id);
        object.string("status", status);
    })
}
