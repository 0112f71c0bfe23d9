//! The answer of a call: the upstream's result as it came, or the text of a fault.

use std::borrow::Cow;

use ptc_host::credentials::Redactor;
use ptc_host::engine::{EvalId, EvalOutcome, ReplySlot, WholeReply};
use ptc_mcp::RpcError;
use ptc_mcp::json::{Kind, Raw, write_string};

use super::tool::PROGRAM;
use crate::text_tool::scrubbed;
use ptc_protocol::report::{CallReport, CallUsage, Ending, Payload};
use ptc_protocol::tool::ToolReply;

/// Members of a result that are between the upstream and us, or that we write ourselves.
const OURS: [&str; 5] = ["_meta", "resultType", "isError", "ttlMs", "cacheScope"];

/// Makes the reply of a call from the outcome of its program, and from what `slot` holds.
pub(super) fn answer(
    outcome: EvalOutcome,
    id: EvalId,
    slot: &ReplySlot,
    redactor: &Redactor,
    reports: bool,
) -> ToolReply {
    let whole = slot.take();
    let (reply, reason) = match (&outcome.result, whole) {
        (Ok(_), Some(WholeReply::Result { json, is_error })) => {
            let text = scrubbed(&json, redactor);
            let members = members(&text, is_error);
            (ToolReply::written(is_error, members), is_error.then_some("tool_error"))
        }
        (Ok(_), Some(WholeReply::Body(json))) => (body(&scrubbed(&json, redactor)), None),
        (Ok(_), Some(WholeReply::Fault { reason, message, is_quota: true })) => {
            (ToolReply::refused(RpcError::new(RpcError::REFUSED, message)), Some(reason))
        }
        (Ok(_), Some(WholeReply::Fault { reason, message, is_quota: false })) => {
            (ToolReply::text(true, format!("{reason}: {message}")), Some(reason))
        }
        (Ok(_), None) => {
            (ToolReply::text(true, "upstream_error: the call has no answer"), Some("upstream_error"))
        }
        (Err(failure), _) => {
            let message = redactor.scrub(without_program(&failure.message)).into_owned();
            (ToolReply::text(true, message), None)
        }
    };
    let report = reports.then(|| {
        let usage = CallUsage::of(&outcome);
        let mut payload = Payload::of(outcome, PROGRAM);
        payload.scrub(redactor);
        if let Ending::Ok { result, .. } = &mut payload.ending {
            *result = None;
        }
        CallReport { reason: reason.map(Cow::Borrowed), ..CallReport::of_tool(payload, usage) }
    });
    ToolReply { eval_id: Some(id), ..reply }.reporting(report)
}

/// The text of a programmer fault without its last sentence, if that names a program to look with: who calls a tool may have nothing
/// that runs it.
fn without_program(message: &str) -> &str {
    match message.rfind("Look at (") {
        Some(at) if message.ends_with(").") && !message[at..].contains('\n') => message[..at].trim_end(),
        _ => message,
    }
}

/// The members of the result that a client gets for this one of an upstream. `content` is read as programs read it: a text is a
/// block, and what is no list has none. Clients take nothing but a list there, and an object as structured content.
fn members(result: &str, is_error: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(result.len() + 64);
    out.extend_from_slice(if is_error { b"\"isError\":true" } else { b"\"isError\":false" });
    let (mut content, mut structured) = (None, None);
    for (key, value) in Raw::parse(result).ok().and_then(Raw::members).into_iter().flatten() {
        match &*key {
            "content" => content = content.or(Some(value)),
            "structuredContent" => structured = structured.or(Some(value)),
            key if OURS.contains(&key) => {}
            key => write_member(&mut out, key, value.text()),
        }
    }
    let structured = structured.filter(|value| value.kind() != Kind::Null);
    if let Some(object) = structured.filter(|value| value.kind() == Kind::Object) {
        write_member(&mut out, "structuredContent", object.text());
    }
    out.extend_from_slice(b",\"content\":");
    match content.filter(|content| matches!(content.kind(), Kind::Array | Kind::String)) {
        Some(content) if content.kind() == Kind::Array => out.extend_from_slice(content.text().as_bytes()),
        Some(text) => write_text_block(&mut out, |out| out.extend_from_slice(text.text().as_bytes())),
        None => match structured {
            Some(value) => write_text_block(&mut out, |out| write_string(out, value.text())),
            None => out.extend_from_slice(b"[]"),
        },
    }
    out
}

fn write_member(out: &mut Vec<u8>, key: &str, value: &str) {
    out.push(b',');
    write_string(out, key);
    out.push(b':');
    out.extend_from_slice(value.as_bytes());
}

fn write_text_block(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(b"[{\"type\":\"text\",\"text\":");
    write(out);
    out.extend_from_slice(b"}]");
}

/// The reply for the body of a REST service.
fn body(json: &str) -> ToolReply {
    match Raw::parse(json).map(Raw::kind) {
        Ok(Kind::Object) => ToolReply::structured(false, json, json.to_owned()),
        Ok(Kind::String) => {
            let text = Raw::parse(json).ok().and_then(Raw::as_str).map(Cow::into_owned);
            ToolReply::text(false, text.unwrap_or_default())
        }
        Ok(Kind::Null) => ToolReply::text(false, ""),
        _ => ToolReply::text(false, json),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptc_host::credentials::Secret;
    use ptc_mcp::json::{Value, json};

    fn passed(result: &str, is_error: bool) -> Value {
        let members = String::from_utf8(members(result, is_error)).unwrap();
        serde_json::from_str(&format!("{{{members}}}")).unwrap()
    }

    #[test]
    fn results_pass_as_they_came() {
        let blocks = json!([
            {"type": "text", "text": "a\u{202e}b"},
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
            {"type": "resource_link", "uri": "file:///x", "name": "x"},
            {"type": "resource", "resource": {"uri": "a:b", "text": "t"}},
        ]);
        let result = json!({"content": blocks, "structuredContent": {"n": 1}, "_meta": {"x": 1}, "resultType": "complete"});
        let expected = json!({"isError": false, "content": blocks, "structuredContent": {"n": 1}});
        assert_eq!(passed(&result.to_string(), false), expected);
        assert_eq!(passed(r#"{"isError":true,"content":[]}"#, true), json!({"isError": true, "content": []}));
    }

    #[test]
    fn faults_name_no_programs_to_look_with() {
        for (text, told) in [
            ("missing :a.\nLook at (doc \"s/t\").", "missing :a."),
            ("It takes :a. Look at (doc \"s/t (x).\").", "It takes :a."),
            ("Known tools: a\nLook at (dir \"s\" {:limit 20}).", "Known tools: a"),
            ("Look at (it).\nIt is a line of the upstream.", "Look at (it).\nIt is a line of the upstream."),
            ("tool 's.t' is not accepted", "tool 's.t' is not accepted"),
        ] {
            assert_eq!(without_program(text), told);
        }
    }

    #[test]
    fn results_that_lack_something_are_made_whole() {
        assert_eq!(passed("{}", false), json!({"isError": false, "content": []}));
        let text = json!({"isError": false, "content": [{"type": "text", "text": "x"}]});
        assert_eq!(passed(r#"{"content":"x"}"#, false), text);
        assert_eq!(passed(r#"{"content":"x","content":[1]}"#, false), text);
        for content in [r#""content":null,"#, r#""content":{"type":"text"},"#, r#""content":7,"#, ""] {
            let empty = json!({"isError": true, "content": []});
            assert_eq!(
                passed(&format!(r#"{{{content}"structuredContent":null}}"#), true),
                empty,
                "{content}"
            );
            let told = json!({"isError": false, "structuredContent": {"a": "b"}, "content": [{"type": "text", "text": r#"{"a":"b"}"#}]});
            assert_eq!(
                passed(&format!(r#"{{{content}"structuredContent":{{"a":"b"}}}}"#), false),
                told,
                "{content}"
            );
            let list = json!({"isError": false, "content": [{"type": "text", "text": "[1]"}]});
            assert_eq!(passed(&format!(r#"{{{content}"structuredContent":[1]}}"#), false), list, "{content}");
        }
        let both = json!({"isError": false, "structuredContent": {}, "content": []});
        assert_eq!(passed(r#"{"structuredContent":{},"content":[]}"#, false), both);
    }

    #[test]
    fn secrets_and_line_breaks_stay_here() {
        let redactor = Redactor::new();
        redactor.register([&Secret::new("s3cret-s3cret")]).unwrap();
        let clean = scrubbed(b"{\n \"a\":\r\n \"s3cret-s3cret\"}", &redactor);
        assert!(!clean.contains(['\n', '\r']) && !clean.contains("s3cret-s3cret"), "{clean}");
        assert_eq!(scrubbed(b"{\"n\":1.10}", &redactor), "{\"n\":1.10}", "numbers stay as they are written");
    }

    #[test]
    fn bodies_of_rest_services_are_text_and_data() {
        let object = body(r#"{"a":1}"#);
        assert_eq!(object.structured.as_deref(), Some(r#"{"a":1}"#));
        assert_eq!(body("[1]").structured, None);
        assert_eq!(body("\"x\"").text, ptc_protocol::tool::ReplyText::Plain("x".into()));
    }
}
