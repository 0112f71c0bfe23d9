//! Formats runs for a person at a terminal.

use std::fmt::Write as _;

use jiff::Timestamp;
use ptc_host::questions::ArgumentRow;
use ptc_host::visible::visible;
use ptc_mcp::json::Value;

/// A run on one line, and one for each of its questions.
pub(super) fn brief(run: &Value, told: &Value) -> String {
    let mut text = head(run, told);
    for asked in questions(run) {
        let message = text_of(&asked["message"]);
        let first = message.lines().next().unwrap_or_default();
        let _ = write!(text, "\n  {} {}: {}", text_of(&asked["id"]), text_of(&asked["kind"]), visible(first));
        if let Some(said) = answer(asked) {
            let _ = write!(text, " ({said})");
        }
    }
    text
}

/// Lines of a long argument that are shown by default.
pub(super) const FOLDED: usize = 8;

/// A run with all of its questions: whole calls, and forms. Of long arguments `fold` lines are shown.
pub(super) fn whole(run: &Value, told: &Value, fold: usize) -> String {
    let mut text = head(run, told);
    let _ = write!(text, "\n  began {}", text_of(&run["began_at"]));
    if let Some(at) = run["expires_at"].as_str() {
        let _ = write!(text, "\n  ends unless somebody answers by {at}");
    }
    let program = &run["program"];
    if let Some(program) = program.as_str().or_else(|| program["preview"].as_str()) {
        let _ = write!(text, "\n  program: {}", visible(program));
    }
    for asked in questions(run) {
        let _ = write!(text, "\n\n{} {}", text_of(&asked["id"]), text_of(&asked["kind"]));
        if let Some(said) = answer(asked) {
            let _ = write!(text, ", {said}");
        }
        let message = text_of(&asked["message"]);
        match asked["calls"].as_array() {
            Some(calls) => {
                let _ = write!(text, "\n  {}", visible(message.lines().next().unwrap_or_default()));
                for call in calls {
                    let rows = call["rows"].as_array().into_iter().flatten().map(row);
                    let before = text.len();
                    rows.for_each(|row| row.write(&mut text, "    ", fold));
                    if text.len() == before {
                        let _ = write!(text, "\n    {}", text_of(&call["arguments_text"]));
                    }
                    let _ = write!(text, "\n      SHA-256 {}", text_of(&call["arguments_digest"]));
                }
            }
            None => {
                let _ = write!(text, "\n  {}", visible(message));
            }
        }
        if let Some(url) = asked["url"].as_str() {
            let _ = write!(text, "\n  {}", visible(url));
        }
        if let Some(fields) = asked["schema"]["properties"].as_object().filter(|fields| !fields.is_empty()) {
            for (name, field) in fields.iter() {
                let _ = write!(text, "\n  {name}: {field}");
            }
        }
        if let Some(fault) = asked["fault"].as_str() {
            let _ = write!(text, "\n  the last answer did not fit: {}", visible(fault));
        }
    }
    text
}

/// An argument as the server sent it.
fn row(told: &Value) -> ArgumentRow {
    ArgumentRow {
        key: visible(text_of(&told["key"])).into_owned(),
        text: visible(text_of(&told["text"])).into_owned(),
        is_long: told["long"].as_bool().unwrap_or(true),
    }
}

/// Id, state, tool, principal, and the remaining time.
fn head(run: &Value, told: &Value) -> String {
    let [id, status, tool, principal] =
        ["run_id", "status", "tool", "principal"].map(|member| text_of(&run[member]));
    let mut text = format!("{id}  {status}  {tool}, {} upstream calls", run["upstream_calls"]);
    if told["caller"].as_str() != Some(principal) {
        let _ = write!(text, ", of {}", visible(principal));
    }
    if let Some(left) = left(run, told) {
        let _ = write!(text, ", {left}");
    }
    text
}

/// The remaining time until it expires, by the server's clock.
fn left(run: &Value, told: &Value) -> Option<String> {
    let at = |text: &Value| text.as_str()?.parse::<Timestamp>().ok();
    let seconds = at(&run["expires_at"])?.as_second() - at(&told["now"])?.as_second();
    Some(match seconds {
        ..=0 => "its time is over".to_owned(),
        1..120 => format!("ends in {seconds} s"),
        120..7200 => format!("ends in {} min", seconds / 60),
        _ => format!("ends in {} h", seconds / 3600),
    })
}

/// The answer and its author.
fn answer(asked: &Value) -> Option<String> {
    let answer = asked["answer"].as_object()?;
    let member = |name: &str| answer.get(name).and_then(Value::as_str);
    let said = member("decision").or_else(|| member("action"))?;
    let by = member("name").map(|name| format!(" by {}", visible(name))).unwrap_or_default();
    Some(format!("{said}{by}, {}", member("channel").unwrap_or_default()))
}

fn questions(run: &Value) -> &[Value] {
    run["questions"].as_array().map_or(&[], Vec::as_slice)
}

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use ptc_mcp::json::json;

    use super::*;

    fn told() -> Value {
        json!({"now": "2026-01-01T00:00:00.000000Z", "caller": "ada", "runs": [{
        "run_id": "run_a", "principal": "bob", "status": "waiting", "tool": "lisp_eval", "upstream_calls": 2,
        "began_at": "2025-12-31T23:59:00.000000Z", "expires_at": "2026-01-01T00:58:30.000000Z",
        "program": {"preview": "(pmap …)"},
        "questions": [
            {"id": "q1", "kind": "approval", "message": "Allow 1 call(s) of move at fs?\n{}", "fault": null,
             "calls": [{"tool": "move", "arguments_text": "{\"a\":1}", "arguments_digest": "00ff",
                        "rows": [{"key": "a", "text": "1", "long": false}, {"key": "b", "text": "x\ny\nz", "long": true}]}], "answer": null},
            {"id": "q2", "kind": "ask", "message": "Which\u{202e}?", "schema": {"type": "object", "properties": {"x": {"type": "string"}}},
             "fault": "x: too long", "answer": {"action": "decline", "channel": "console", "name": "eve"}}
        ]}]})
    }

    #[test]
    fn a_list_says_until_when_what_is_asked() {
        let told = told();
        assert_eq!(
            brief(&told["runs"][0], &told),
            "run_a  waiting  lisp_eval, 2 upstream calls, of bob, ends in 58 min\n  q1 approval: Allow 1 call(s) of move at fs?\n  \
             q2 ask: Which\\u202e? (decline by eve, console)"
        );
    }

    #[test]
    fn one_run_is_shown_whole() {
        let told = told();
        assert_eq!(
            whole(&told["runs"][0], &told, 1),
            "run_a  waiting  lisp_eval, 2 upstream calls, of bob, ends in 58 min\n  began 2025-12-31T23:59:00.000000Z\n  \
             ends unless somebody answers by 2026-01-01T00:58:30.000000Z\n  program: (pmap …)\n\nq1 approval\n  \
             Allow 1 call(s) of move at fs?\n    a: 1\n    b: (5 characters)\n      | x\n      … 2 more lines\n      SHA-256 00ff\n\nq2 ask, decline by eve, console\n  \
             Which\\u202e?\n  x: {\"type\":\"string\"}\n  the last answer did not fit: x: too long"
        );
    }

    #[test]
    fn the_time_that_is_left_is_the_servers() {
        let mut told = told();
        for (now, shown) in [
            ("2026-01-01T00:58:29Z", "ends in 1 s"),
            ("2026-01-01T00:58:30Z", "its time is over"),
            ("2025-12-31T22:00:00Z", "ends in 2 h"),
        ] {
            told["now"] = now.into();
            assert_eq!(left(&told["runs"][0], &told).as_deref(), Some(shown));
        }
        told["runs"][0]["expires_at"] = Value::Null;
        assert_eq!(left(&told["runs"][0], &told), None);
    }
}
