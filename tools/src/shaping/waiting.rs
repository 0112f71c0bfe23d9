//! The reply about a program that waits for people (waiting.md 4.4).

use jiff::Timestamp;
use ptc_host::questions::{Channel, FormDialect, Mode, PendingQuestion};
use ptc_host::visible::visible_line;
use ptc_mcp::json::{object_text, write_array};

use super::Shaper;
use super::feedback::block;
use super::guard::guard;
use super::sections::Sections;
use ptc_protocol::settings::Profile;
use ptc_protocol::tool::{ToolReply, Unfinished};
use ptc_runs::RunView;

/// The answer about a program that waits. `console` is the page where people answer; `notes` are about answers that
/// did not count.
pub(in super::super) fn waiting(
    shaper: &Shaper,
    run: &RunView,
    console: Option<&str>,
    notes: &[String],
) -> ToolReply {
    let page = console.map(|console| format!("{console}#q={}", run.run_id));
    let structured = || structured(run, page.as_deref(), notes);
    let reply = match shaper.unfinished() {
        Profile::Slim => ToolReply::text(false, text(run, page.as_deref(), notes)),
        Profile::Structured => ToolReply::structured(false, text(run, page.as_deref(), notes), structured()),
        Profile::Debug => ToolReply::mirrored(false, structured()),
    };
    guard(shaper, reply.still(Unfinished::Waiting))
}

/// True if the model may deliver the user's answer.
fn by_model(kept: &PendingQuestion) -> bool {
    kept.question.accepts(Channel::Model)
}

fn structured(run: &RunView, page: Option<&str>, notes: &[String]) -> String {
    object_text(|object| {
        object.string("status", "waiting");
        object.string("run_id", &run.run_id);
        object.string("expires_at", &expires_at(run));
        write_array(object.key("questions"), run.open(), |out, kept| {
            let json = object_text(|object| {
                object.string("id", &kept.id.to_string());
                object.string("kind", kept.question.kind.as_str());
                object.string("message", &message(kept));
                match &kept.question.mode {
                    Mode::Form(form) => object.raw("schema", &form.to_json(FormDialect::Current)),
                    Mode::Url(url) => object.string("open", url),
                }
                match (by_model(kept), page) {
                    (true, _) => object.string("answer", "lisp_resume"),
                    (false, Some(page)) => {
                        object.string("answer", "console");
                        object.string("url", page);
                    }
                    (false, None) => object.string("answer", "operator"),
                }
            });
            out.extend_from_slice(json.as_bytes());
        });
        if !notes.is_empty() {
            object.strings("notes", notes.iter().map(String::as_str));
        }
    })
}

fn expires_at(run: &RunView) -> String {
    let at = Timestamp::from_millisecond(run.expires_at_ms.unwrap_or(run.began_ms)).unwrap_or_default();
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The question, preceded by the fault of the last answer.
fn message(kept: &PendingQuestion) -> String {
    match &kept.fault {
        Some(fault) => format!("{fault}. {}", kept.question.message),
        None => kept.question.message.clone(),
    }
}

fn text(run: &RunView, page: Option<&str>, notes: &[String]) -> String {
    let (id, count) = (&run.run_id, run.open().count());
    let (plural, verb) = if count == 1 { ("", "is") } else { ("s", "are") };
    let mut text = Sections::default();
    text.ours(&format!("waiting: {count} answer{plural} {verb} needed before {id} goes on"));
    text.ours(&format!("It ends at {} if nobody answers.", expires_at(run)));
    notes.iter().for_each(|note| text.line(&format!("note: {note}")));
    let shown: Vec<String> = run.open().map(shown).collect();
    text.ours(&block("question", &shown.join("\n")));
    let (model, others): (Vec<_>, Vec<_>) = run.open().partition(|kept| by_model(kept));
    if !model.is_empty() {
        let answers = model.iter().map(|kept| {
            let content = match &kept.question.mode {
                Mode::Form(form) if !form.fields().is_empty() => ",\"content\":{…}",
                _ => "",
            };
            format!("\"{}\":{{\"action\":\"accept\"{content}}}", kept.id)
        });
        let answers = answers.collect::<Vec<_>>().join(",");
        text.ours(&format!(
            "Ask the user, then call lisp_resume {{\"run_id\":\"{id}\",\"answers\":{{{answers}}}}}. Do not answer for the user."
        ));
    }
    for kept in &others {
        let by = if page.is_some() { "on the console" } else { "by the operator of this server" };
        text.ours(&format!("{} is answered {by}; then call lisp_resume with the run_id alone.", kept.id));
    }
    if let (Some(page), false) = (page, others.is_empty()) {
        text.line(&format!("console: {page}"));
    }
    text.into_text()
}

/// A question for a model, each line marked as foreign text.
fn shown(kept: &PendingQuestion) -> String {
    let mut lines: Vec<String> = message(kept).lines().map(|line| visible_line(line).into_owned()).collect();
    match &kept.question.mode {
        Mode::Form(form) if !form.fields().is_empty() => {
            lines.push(format!("content: {}", form.to_json(FormDialect::Current)));
        }
        Mode::Form(_) => {}
        Mode::Url(url) => lines.push(format!("page: {}", visible_line(url))),
    }
    format!("{} ({}): {}", kept.id, kept.question.kind.as_str(), lines.join("\n  "))
}
