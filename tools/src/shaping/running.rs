//! The reply about a program that still runs (waiting.md 6.4).

use ptc_mcp::json::object_text;

use super::Shaper;
use super::guard::guard;
use super::limits::caps;
use super::sections::Sections;
use ptc_protocol::settings::Profile;
use ptc_protocol::tool::{ToolReply, Unfinished};
use ptc_runs::RunView;

/// The answer of a program that runs.
pub(in super::super) fn running(shaper: &Shaper, run: &RunView) -> ToolReply {
    let shown = latest(shaper, &run.prints);
    let omitted = run.omitted + (run.prints.len() - shown.len()) as u64;
    let structured = || {
        object_text(|object| {
            object.string("status", "running");
            object.string("run_id", &run.run_id);
            object.integer("elapsed_ms", u64::try_from(run.elapsed.as_millis()).unwrap_or(u64::MAX));
            object.integer("upstream_calls", u64::from(run.calls));
            object.strings("prints", shown.iter().map(String::as_str));
            object.integer("prints_omitted", omitted);
        })
    };
    let reply = match shaper.unfinished() {
        Profile::Slim => ToolReply::text(false, text(run, shown, omitted)),
        Profile::Structured => ToolReply::structured(false, text(run, shown, omitted), structured()),
        Profile::Debug => ToolReply::mirrored(false, structured()),
    };
    guard(shaper, reply.still(Unfinished::Running))
}

/// The answer about a run that was cancelled.
pub(in super::super) fn cancelled(shaper: &Shaper, run_id: &str) -> ToolReply {
    let structured = object_text(|object| {
        object.string("status", "cancelled");
        object.string("run_id", run_id);
    });
    match shaper.profile {
        Profile::Slim => ToolReply::text(false, format!("cancelled: {run_id}")),
        Profile::Structured => ToolReply::structured(false, format!("cancelled: {run_id}"), structured),
        Profile::Debug => ToolReply::mirrored(false, structured),
    }
}

fn text(run: &RunView, shown: &[String], omitted: u64) -> String {
    let id = &run.run_id;
    let (tenths, calls) = (run.elapsed.as_millis() / 100, run.calls);
    let seconds = format!("{}.{}", tenths / 10, tenths % 10);
    let plural = if calls == 1 { "" } else { "s" };
    let mut text = Sections::default();
    text.ours(&format!("running: {id} for {seconds} s, {calls} upstream call{plural} made"));
    text.prints(shown, shown);
    if omitted > 0 {
        text.ours(&format!("note: {omitted} earlier prints are left out"));
    }
    text.ours(&format!(
        "Call lisp_wait {{\"run_id\":\"{id}\"}} for the result; lisp_cancel {{\"run_id\":\"{id}\"}} stops it."
    ));
    text.into_text()
}

/// The latest prints, as many as an answer shows.
fn latest<'p>(shaper: &Shaper, prints: &'p [String]) -> &'p [String] {
    let caps = caps(shaper, 0);
    let mut bytes = 0;
    let fitting = prints.iter().rev().take(caps.print_lines).take_while(|print| {
        bytes += print.len() + 3;
        bytes <= caps.print_bytes
    });
    let count = fitting.count();
    &prints[prints.len() - count..]
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use ptc_protocol::tool::ReplyText;

    fn progress(prints: &[&str]) -> RunView {
        RunView {
            elapsed: Duration::from_millis(20_004),
            calls: 12,
            prints: prints.iter().map(|print| (*print).to_owned()).collect(),
            ..RunView::running("run_abc".into())
        }
    }

    #[test]
    fn a_program_that_runs_says_how_to_go_on() {
        let slim = running(&Shaper::new(Profile::Slim, 1000), &progress(&["page 3\nCall lisp_wait"]));
        assert_eq!(
            slim.text,
            ReplyText::Plain(
                "running: run_abc for 20.0 s, 12 upstream calls made\nprints (2 lines):\n| page 3\n| Call lisp_wait\n\
                 Call lisp_wait {\"run_id\":\"run_abc\"} for the result; lisp_cancel {\"run_id\":\"run_abc\"} stops it."
                    .to_owned()
            )
        );
        assert!(slim.structured.is_none() && !slim.is_error);
        let structured = running(&Shaper::new(Profile::Structured, 1000), &progress(&["page 3"]));
        assert_eq!(
            structured.structured.as_deref(),
            Some(
                r#"{"status":"running","run_id":"run_abc","elapsed_ms":20004,"upstream_calls":12,"prints":["page 3"],"prints_omitted":0}"#
            )
        );
    }

    #[test]
    fn the_latest_prints_are_shown() {
        let many: Vec<String> = (0..230).map(|n| format!("line {n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let reply = running(&Shaper::new(Profile::Slim, 1000), &progress(&many));
        let ReplyText::Plain(text) = reply.text else { panic!("mirrored") };
        assert!(text.contains("| line 229\n") && !text.contains("| line 29\n"), "{text}");
        assert!(text.contains("note: 30 earlier prints are left out"), "{text}");
    }
}
