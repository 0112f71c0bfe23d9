//! The answer of a webhook to an approval.

use std::sync::Arc;

use ptc_host::questions::approval::Decision;
use ptc_host::text::clip;
use ptc_host::visible::visible_line;
use ptc_mcp::json::repeated_key;
use serde::Deserialize;

/// Longest name of the person who decided, in bytes.
const MAX_NAME: usize = 256;

/// A decision and its author.
#[derive(Debug)]
pub(super) struct HookReply {
    pub(super) decision: Decision,
    /// The author's name in the webhook's own system.
    pub(super) by: Arc<str>,
    run_id: Option<String>,
    question_id: Option<String>,
}

/// The message as sent. A repeated member is refused as ambiguous.
#[derive(Deserialize)]
struct SentReply {
    decision: String,
    by: String,
    run_id: Option<String>,
    question_id: Option<String>,
}

impl HookReply {
    /// Reads a body.
    ///
    /// # Errors
    /// The fault of the body.
    #[expect(clippy::disallowed_methods, reason = "entry point: HookReply.read")]
    pub(super) fn read(body: &[u8]) -> Result<HookReply, String> {
        let text = std::str::from_utf8(body).unwrap_or_default();
        if let Some(name) = repeated_key(text) {
            return Err(format!("`{}` stands twice", visible_line(clip(&name, MAX_NAME))));
        }
        let sent: SentReply = serde_json::from_slice(body)
            .map_err(|error| format!(r#"not {{"decision":"allow"|"refuse","by":"…"}}: {error}"#))?;
        let Some(decision) = Decision::from_word(&sent.decision) else {
            return Err("`decision` must be \"allow\" or \"refuse\"".to_owned());
        };
        let by = visible_line(sent.by.trim());
        if by.is_empty() {
            return Err("`by` must name who decided".to_owned());
        }
        let by = clip(&by, MAX_NAME).into();
        Ok(HookReply { decision, by, run_id: sent.run_id, question_id: sent.question_id })
    }

    /// True if it answers this question of this run; `None` if it does not name a question.
    pub(super) fn names(&self, run_id: &str, question: &str) -> Option<bool> {
        match (&self.run_id, &self.question_id) {
            (None, None) => None,
            (run, asked) => Some(run.as_deref() == Some(run_id) && asked.as_deref() == Some(question)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_has_a_name() {
        let said = HookReply::read(br#"{"decision":"refuse","by":" ada\u202e ","more":[1]}"#).unwrap();
        assert_eq!((said.decision, &*said.by), (Decision::Refuse, "ada\\u202e"));
        assert_eq!(said.names("run_a", "q1"), None);
        let long = format!(r#"{{"decision":"allow","by":"{}"}}"#, "é".repeat(1000));
        assert!(HookReply::read(long.as_bytes()).unwrap().by.len() <= MAX_NAME + "…".len());
    }

    #[test]
    fn what_is_no_decision_is_told() {
        for (body, told) in [
            ("", "not {"),
            ("[]", "not {"),
            (r#"{"decision":"allow"}"#, "not {"),
            (r#"{"by":"ada"}"#, "not {"),
            (r#"{"decision":true,"by":"ada"}"#, "not {"),
            (r#"{"decision":"refuse","decision":"allow","by":"ada"}"#, "`decision` stands twice"),
            (r#"{"decision":"allow","by":"ada","more":{"a":1,"a":2}}"#, "`a` stands twice"),
            (r#"{"decision":"Allow","by":"ada"}"#, "`decision` must be"),
            (r#"{"decision":"always","by":"ada"}"#, "`decision` must be"),
            (r#"{"decision":"allow","by":" "}"#, "`by` must name"),
        ] {
            let why = HookReply::read(body.as_bytes()).unwrap_err();
            assert!(why.starts_with(told), "{body}: {why}");
        }
    }

    #[test]
    fn an_answer_may_say_to_what() {
        let named = |rest: &str| {
            HookReply::read(format!(r#"{{"decision":"allow","by":"a"{rest}}}"#).as_bytes()).unwrap()
        };
        assert_eq!(named(r#","run_id":"run_a","question_id":"q1""#).names("run_a", "q1"), Some(true));
        for other in [
            r#","run_id":"run_b","question_id":"q1""#,
            r#","run_id":"run_a","question_id":"q2""#,
            r#","run_id":"run_a""#,
            r#","question_id":"q1""#,
        ] {
            assert_eq!(named(other).names("run_a", "q1"), Some(false), "{other}");
        }
    }
}
