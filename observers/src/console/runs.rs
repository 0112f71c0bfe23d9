//! The runs, as JSON for the page and for other clients of the route.

use std::cmp::Reverse;

use ptc_host::questions::approval::Decision;
use ptc_host::questions::{
    Answer, FormDialect, Mode, PendingQuestion, QuestionId, QuestionKind, Receipt, argument_rows,
};
use ptc_host::visible::visible_line;
use ptc_mcp::json::{Object, Raw, object_text, write_array};

use super::Console;
use crate::recording::payloads;
use ptc_protocol::timestamp::{self, instant, of_millis};
use ptc_runs::RunView;

/// The viewer.
#[derive(Debug, Clone, Copy)]
pub struct RunsFacts<'f> {
    /// The principal's name.
    pub caller: &'f str,
    /// True if it sees the runs of all principals.
    pub operator: bool,
}

/// Bytes of runs on one page. A longer run has a page of its own.
const MAX_PAGE_BYTES: usize = 1 << 20;

/// The JSON of a page of these runs, which are sorted by their places; those after `after`, if it is given.
pub fn runs(console: &Console, facts: &RunsFacts<'_>, views: &[RunView], after: Option<&str>) -> String {
    let after = after.and_then(read_place);
    let is_behind = |view: &RunView| after.is_none_or(|after| view.place() > after);
    let mut bytes = 0;
    let mut page: Vec<String> = Vec::new();
    let (mut last, mut is_cut) = (None, false);
    for view in views.iter().filter(|view| is_behind(view)) {
        let run = run(console, view);
        bytes += run.len();
        if bytes > MAX_PAGE_BYTES && !page.is_empty() {
            is_cut = true;
            break;
        }
        page.push(run);
        last = Some(view);
    }
    object_text(|object| {
        object.string("now", &instant(timestamp::now()));
        object.string("caller", facts.caller);
        object.boolean("operator", facts.operator);
        write_array(object.key("runs"), &page, |out, run| out.extend_from_slice(run.as_bytes()));
        match last.filter(|_| is_cut) {
            Some(last) => object.string("next", &place(last)),
            None => object.raw("next", "null"),
        }
    })
}

/// A place in the form in which the next page is requested.
fn place(view: &RunView) -> String {
    let (is_quiet, Reverse(began_ms), run_id) = view.place();
    format!("{}.{began_ms}.{run_id}", u8::from(is_quiet))
}

fn read_place(text: &str) -> Option<(bool, Reverse<i64>, &str)> {
    let (is_quiet, rest) = text.split_once('.')?;
    let (began_ms, run_id) = rest.split_once('.')?;
    Some((is_quiet == "1", Reverse(began_ms.parse().ok()?), run_id))
}

/// The JSON of one question of a run, with all arguments of its calls; `None` if the run does not ask it.
pub fn whole_question(view: &RunView, id: QuestionId) -> Option<String> {
    let asked = view.questions.iter().find(|asked| asked.id == id)?;
    Some(question(asked, true))
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
            out.extend_from_slice(question(asked, false).as_bytes());
        });
    })
}

fn time(object: &mut Object<'_>, key: &str, at_ms: Option<i64>) {
    match at_ms.and_then(of_millis) {
        Some(at) => object.string(key, &at),
        None => object.raw(key, "null"),
    }
}

/// A question. A person decides by the content of a `whole` one: it has the calls as they will be sent, with hidden
/// characters shown. A list has calls without their arguments.
fn question(asked: &PendingQuestion, whole: bool) -> String {
    let question = &asked.question;
    object_text(|object| {
        object.string("id", &asked.id.to_string());
        object.string("kind", question.kind.as_str());
        object.string("level", question.level.as_str());
        let message = match question.kind {
            // The calls follow after the first line.
            QuestionKind::Approval if !whole => question.message.lines().next().unwrap_or_default(),
            _ => &question.message,
        };
        object.string("message", message);
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
                    if whole {
                        object.raw("arguments", &call.arguments);
                        // Many readers of JSON round numbers.
                        object.string("arguments_text", &visible_line(&call.arguments));
                        write_array(object.key("rows"), &argument_rows(&call.arguments), |out, row| {
                            let json = object_text(|object| {
                                object.string("key", &row.key);
                                object.string("text", &row.text);
                                object.boolean("long", row.is_long);
                            });
                            out.extend_from_slice(json.as_bytes());
                        });
                    }
                    object.string("arguments_digest", &call.digest.to_string());
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

/// The author of an answer and the decision. The content of a form is not shown: it is for the program only.
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

/// The result of each answer in `sent`, the text of an object.
pub fn taken(run_id: &str, sent: &str, took: &[(QuestionId, Receipt)]) -> String {
    let members = Raw::parse(sent).ok().and_then(Raw::members);
    object_text(|object| {
        object.string("run_id", run_id);
        let mut answers = Object::new(object.key("answers"));
        // Ids in a wrong form are reported, so that the sender learns of a typing error.
        for (name, _) in members.into_iter().flatten() {
            if QuestionId::parse(&name).is_none() {
                answers.raw(&name, &outcome(&Receipt::NotOpen));
            }
        }
        for (id, took) in took {
            answers.raw(&id.to_string(), &outcome(took));
        }
        answers.end();
    })
}

fn outcome(took: &Receipt) -> String {
    object_text(|object| {
        let word = match took {
            Receipt::Counted => "counted",
            Receipt::Misfit(_) => "misfit",
            Receipt::NotHere => "not_here",
            Receipt::AlreadyAnswered => "already_answered",
            Receipt::NotOpen => "not_open",
            Receipt::NoAnswer => "no_answer",
        };
        object.string("outcome", word);
        if let Receipt::Misfit(fault) = took {
            object.string("fault", fault);
        }
    })
}

/// The status of a run after a request to cancel it.
pub fn cancelled(run: &RunView) -> String {
    object_text(|object| {
        object.string("run_id", &run.run_id);
        object.string("status", run.status.as_str());
    })
}

#[cfg(test)]
mod tests {
    use ptc_host::credentials::Redactor;
    use ptc_mcp::json::{Value, from_str};

    use super::*;
    use crate::recording::Recording;
    use ptc_protocol::settings::PayloadPolicy;

    fn view(number: i64) -> RunView {
        RunView {
            principal: "ada".into(),
            tool: "x".repeat(100_000),
            began_ms: number,
            ..RunView::running(format!("run_{number:024}").into())
        }
    }

    #[test]
    fn pages_have_at_most_so_many_bytes_and_all_of_them_are_all_runs() {
        let recording = Recording { policy: PayloadPolicy::None, redactor: Redactor::new() };
        let console = Console::new(recording);
        let facts = RunsFacts { caller: "ada", operator: true };
        let mut views: Vec<RunView> = (0..25).map(view).collect();
        views.push(RunView { tool: "y".repeat(2 << 20), ..view(25) });
        views.sort_by(|a, b| a.place().cmp(&b.place()));
        let (mut seen, mut next, mut pages) = (Vec::new(), None, 0);
        loop {
            let page = runs(&console, &facts, &views, next.as_deref());
            let page: Value = from_str(&page).unwrap();
            let listed = page["runs"].as_array().unwrap();
            assert!(page.to_string().len() <= MAX_PAGE_BYTES + 1000 || listed.len() == 1);
            seen.extend(listed.iter().map(|run| run["run_id"].as_str().unwrap().to_owned()));
            pages += 1;
            match page["next"].as_str() {
                Some(place) => next = Some(place.to_owned()),
                None => break,
            }
        }
        let all: Vec<String> = views.iter().map(|view| view.run_id.to_string()).collect();
        assert_eq!((seen, pages), (all, 4), "the long one has a page of its own");
        assert_eq!(read_place("no place"), None);
    }
}
