//! Approvals: what is asked before calls of a tool that needs one, what its answer says, and what it is bound to
//! (waiting.md 3.3).
//!
//! Which tools need one is the upstream's configuration.

use ring::digest::{Context, SHA256};
use serde_json::value::RawValue;

use crate::canonical_json::{NotCanonical, digest};
use crate::digest::hex;
use crate::visible::visible_line;

use super::question::{AskedCall, allow};

/// The schema of the form.
pub const SCHEMA: &str = r#"{"type":"object","properties":{"decision":{"type":"string","enum":["allow","refuse"]}},"required":["decision"]}"#;

/// What a person says to an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The calls are made.
    Allow,
    /// They are not.
    Refuse,
}

impl Decision {
    /// The word in forms, records and messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Refuse => "refuse",
        }
    }

    /// The decision of that word, which is exact.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Allow, Self::Refuse].into_iter().find(|decision| decision.as_str() == word)
    }

    /// The decision in the content of an accepted form; `None` if there is none, which asks again.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "entry point: Decision.of_content")]
    pub fn of_content(content: Option<&RawValue>) -> Option<Self> {
        /// A member that stands twice is refused by the derived reader: nobody knows which one was meant.
        #[derive(serde::Deserialize)]
        struct Form<'c> {
            #[serde(borrow)]
            decision: std::borrow::Cow<'c, str>,
        }
        let form: Form<'_> = serde_json::from_str(content?.get()).ok()?;
        Self::from_word(&form.decision)
    }

    /// The form's content that says so.
    #[must_use]
    pub const fn content(self) -> &'static str {
        match self {
            Self::Allow => r#"{"decision":"allow"}"#,
            Self::Refuse => r#"{"decision":"refuse"}"#,
        }
    }
}

/// A call of `tool` with these arguments, as an approval is asked for it.
///
/// # Errors
/// What has no canonical form cannot be approved.
pub fn asked_call(tool: &str, arguments: &[u8]) -> Result<AskedCall, NotCanonical> {
    let digest = digest(arguments)?;
    // What has a canonical form is UTF-8.
    Ok(AskedCall { tool: tool.into(), arguments: String::from_utf8_lossy(arguments).into(), digest })
}

/// The question's text about one call: who would do what, and the call whole. Whatever a reader does not see is escaped, so that no
/// argument looks like another one. The engine puts questions about several calls of a tool together.
#[must_use]
pub fn message(upstream: &str, call: &AskedCall) -> String {
    let shown = if call.is_long() {
        let length = call.arguments.chars().count();
        format!("arguments of {length} characters with the SHA-256 {}", hex(&call.digest))
    } else {
        visible_line(&call.arguments).into_owned()
    };
    allow(upstream, &call.tool, std::iter::once(shown))
}

/// What an approval is bound to: this caller, upstream, tool, arguments and policy. Its expiry is counted from the answer.
#[must_use]
pub fn binding(
    principal: &str,
    upstream: &str,
    tool: &str,
    policy_revision: &str,
    arguments: &[u8; 32],
) -> [u8; 32] {
    let mut bound = Context::new(&SHA256);
    for part in ["ptc approval v1", principal, upstream, tool, policy_revision] {
        // With its length, so that no two lists of parts read alike.
        bound.update(&(part.len() as u64).to_be_bytes());
        bound.update(part.as_bytes());
    }
    bound.update(arguments);
    let mut binding = [0; 32];
    binding.copy_from_slice(bound.finish().as_ref());
    binding
}

#[cfg(test)]
mod tests {
    use super::super::MAX_SHOWN;
    use super::*;

    fn call(tool: &str, arguments: &str) -> AskedCall {
        asked_call(tool, arguments.as_bytes()).unwrap()
    }

    #[test]
    fn what_a_reader_does_not_see_is_escaped() {
        let hidden = call("del\u{1b}[2J", "{\"path\":\"/tmp/\u{202e}gpj.exe\",\n\"b\":\"\u{200b}\"}");
        assert_eq!(
            message("fs", &hidden),
            "Allow 1 call(s) of del\\u001b[2J at fs?\n{\"path\":\"/tmp/\\u202egpj.exe\",\\n\"b\":\"\\u200b\"}"
        );
    }

    #[test]
    fn long_arguments_are_shown_by_their_digest() {
        let long = call("write", &format!(r#"{{"text":"{}"}}"#, "é".repeat(MAX_SHOWN)));
        let short = call("write", &format!(r#"{{"text":"{}"}}"#, "é".repeat(MAX_SHOWN - 11)));
        assert!(long.is_long() && !short.is_long());
        assert_eq!(short.arguments.chars().count(), MAX_SHOWN);
        let digest = hex(&long.digest);
        assert_eq!(
            message("fs", &long),
            format!(
                "Allow 1 call(s) of write at fs?\narguments of 2011 characters with the SHA-256 {digest}"
            )
        );
    }

    #[test]
    fn only_the_word_allow_allows() {
        let decision = |content: &str| {
            let content: Box<RawValue> = serde_json::from_str(content).unwrap();
            Decision::of_content(Some(&content))
        };
        assert_eq!(decision(Decision::Allow.content()), Some(Decision::Allow));
        assert_eq!(decision(Decision::Refuse.content()), Some(Decision::Refuse));
        assert_eq!(decision(r#"{"d\u0065cision":"\u0061llow","more":1}"#), Some(Decision::Allow));
        for neither in [
            "{}",
            r#"{"decision":"Allow"}"#,
            r#"{"decision":"always"}"#,
            r#"{"decision":true}"#,
            r#"{"decision":null}"#,
            r#"{"decision":["allow"]}"#,
            r#"{"decision":"refuse","decision":"allow"}"#,
            r#""allow""#,
            "[]",
        ] {
            assert_eq!(decision(neither), None, "{neither}");
        }
        assert_eq!(Decision::of_content(None), None);
        let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
        let form = jsonschema::validator_for(&schema).unwrap();
        for decision in [Decision::Allow, Decision::Refuse] {
            assert!(form.is_valid(&serde_json::from_str(decision.content()).unwrap()));
        }
        assert!(!form.is_valid(&serde_json::json!({})));
    }

    #[test]
    fn each_part_of_a_binding_counts() {
        let whole = binding("p", "u", "t", "r", &[1; 32]);
        assert_eq!(whole, binding("p", "u", "t", "r", &[1; 32]));
        for other in [
            binding("q", "u", "t", "r", &[1; 32]),
            binding("p", "v", "t", "r", &[1; 32]),
            binding("p", "u", "s", "r", &[1; 32]),
            binding("p", "u", "t", "q", &[1; 32]),
            binding("p", "u", "t", "r", &[2; 32]),
            binding("pu", "", "t", "r", &[1; 32]),
        ] {
            assert_ne!(whole, other);
        }
    }

    #[test]
    fn the_digest_is_that_of_the_value_and_not_of_its_spelling() {
        assert_eq!(
            call("t", r#"{"a":1,"b":"é"}"#).digest,
            call("t", "{ \"b\" : \"\\u00e9\", \"a\" : 1.0 }").digest
        );
        assert_ne!(call("t", r#"{"a":1}"#).digest, call("t", r#"{"a":"1"}"#).digest);
        assert!(asked_call("t", br#"{"a":1,"a":2}"#).is_err());
    }
}
