//! The final limit of a mirrored result: the result of any tool fits its profile (server.md 5.7, step 3).

use ptc_host::visible::visible_line;
use ptc_mcp::json::{Kind, Object, Raw, object_text};

use super::limits::{Shaper, caps};
use super::project::NO_ROOM;
use super::sections::{TRUNCATED, clip_json};
use ptc_protocol::tool::{ReplyText, ToolReply};

/// Leaves a result that fits unchanged. In one that does not, long texts are truncated, and long lists and objects are
/// emptied. The result is still JSON, flags the truncation, and keeps every member.
pub fn guard(shaper: &Shaper, reply: ToolReply) -> ToolReply {
    let limit = caps(shaper, 0).result_object;
    if reply.json_len() <= limit {
        return reply;
    }
    let members = reply.structured.as_deref().and_then(|json| Raw::parse(json).ok()).and_then(Raw::members);
    let Some(members) = members else {
        return ToolReply { text: ReplyText::Plain(NO_ROOM.to_owned()), structured: None, ..reply };
    };
    let most = (limit / 32).clamp(256, 4096);
    let (mut reason, mut message) = (String::new(), String::new());
    let structured = object_text(|object| {
        for (key, value) in members {
            match &*key {
                "truncated" | "output_truncated" => continue,
                "reason" => reason = cut(value, most),
                "message" => message = cut(value, most),
                _ => {}
            }
            write_member(object, &key, value, most);
        }
        object.boolean("truncated", true);
        object.boolean("output_truncated", true);
    });
    let text = match reply.is_error && !message.is_empty() {
        true => visible_line(&format!("{reason}: {message}")).into_owned() + TRUNCATED,
        false => NO_ROOM.to_owned(),
    };
    ToolReply { text: ReplyText::Plain(text), structured: Some(structured), ..reply }
}

fn write_member(object: &mut Object<'_>, key: &str, value: Raw<'_>, most: usize) {
    match value.kind() {
        Kind::String => object.string(key, &cut(value, most)),
        _ if value.text().len() <= most => object.raw(key, value.text()),
        Kind::Array => object.raw(key, "[]"),
        Kind::Object => object.raw(key, "{}"),
        _ => object.raw(key, "null"),
    }
}

fn cut(value: Raw<'_>, most: usize) -> String {
    let text = value.as_str().unwrap_or_default();
    let shown = clip_json(&text, most);
    if shown.len() < text.len() { format!("{shown}{TRUNCATED}") } else { text.into_owned() }
}

#[cfg(test)]
mod tests {
    use ptc_mcp::json::{Value, json};

    use super::*;
    use ptc_protocol::settings::Profile;

    #[test]
    fn what_does_not_fit_is_cut_and_says_so() {
        let shaper = Shaper::new(Profile::Slim, 1000);
        let small = ToolReply::mirrored(false, json!({"status":"ok"}).to_string());
        assert_eq!(guard(&shaper, small.clone()).structured, small.structured);
        let long = json!({"status":"ok","reason":"\u{1}é".repeat(40_000),"closed":true,"names":["x".repeat(40_000)],
                          "session":{"session_id":"s"},"truncated":false});
        let reply = guard(&shaper, ToolReply::mirrored(false, long.to_string()));
        assert!(reply.json_len() <= 32_768);
        assert_eq!(reply.text, ReplyText::Plain(NO_ROOM.into()));
        let structured: Value = serde_json::from_str(reply.structured.as_deref().unwrap()).unwrap();
        let expected = json!({"status":"ok","reason":structured["reason"],"closed":true,"names":[],
                              "session":{"session_id":"s"},"truncated":true,"output_truncated":true});
        assert_eq!(structured, expected);
        assert!(structured["reason"].as_str().unwrap().ends_with(TRUNCATED));
        let failure = guard(&shaper, ToolReply::failure("why", &"m".repeat(60_000), ""));
        assert!(
            matches!(&failure.text, ReplyText::Plain(text) if text.starts_with("why: mmm") && text.len() < 5000)
        );
    }
}
