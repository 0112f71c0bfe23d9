//! The message to a webhook about an approval.

use ptc_host::questions::PendingQuestion;
use ptc_mcp::json::{object_text, write_array};

use crate::RunView;
use ptc_protocol::timestamp::of_millis;

/// The JSON of an approval that `run` waits for, with the URL for its answer. Arguments are those that will be sent,
/// in full.
pub(super) fn message(run: &RunView, asked: &PendingQuestion, answer_url: &str) -> String {
    let question = &asked.question;
    object_text(|object| {
        object.string("type", "question");
        object.string("run_id", &run.run_id);
        object.string("question_id", &asked.id.to_string());
        object.string("principal", &run.principal);
        object.string("upstream", question.upstream.as_deref().unwrap_or_default());
        write_array(object.key("calls"), &question.calls, |out, call| {
            let json = object_text(|object| {
                object.string("tool", &call.tool);
                object.raw("arguments", &call.arguments);
                object.string("arguments_digest", &call.digest.to_string());
            });
            out.extend_from_slice(json.as_bytes());
        });
        object.string("policy_revision", &question.policy_revision);
        match run.expires_at_ms.and_then(of_millis) {
            Some(at) => object.string("expires_at", &at),
            None => object.raw("expires_at", "null"),
        }
        object.string("answer_url", answer_url);
    })
}
