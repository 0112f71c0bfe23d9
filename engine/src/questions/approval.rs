//! Approvals: the question before calls of a tool that needs one, the meaning of its answer, and its binding (waiting.md 3.3).
//!
//! Which tools need one is the upstream's configuration.

use ring::digest::{Context, SHA256};
use serde_json::value::RawValue;

use ptc_base::text::with_dots;
use ptc_base::visible::visible_line;
use ptc_mcp::json::repeated_key;
use ptc_secret::canonical_json::NotCanonical;

use super::arguments_digest::ArgumentsDigest;
use super::question::{AskedCall, MAX_SHOWN, allow};

/// The schema of the form.
pub const SCHEMA: &str = r#"{"type":"object","properties":{"decision":{"type":"string","enum":["allow","refuse"]}},"required":["decision"]}"#;

/// Bytes of a key that a refusal shows.
const MAX_KEY: usize = 64;

/// A person's decision on an approval.
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

    /// The decision in the content of an accepted form; `None` if there is none: the question is then asked again.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "entry point: Decision.of_content")]
    pub fn of_content(content: Option<&RawValue>) -> Option<Self> {
        /// The derived reader refuses a repeated member, because its meaning is ambiguous.
        #[derive(serde::Deserialize)]
        struct DecisionForm<'c> {
            #[serde(borrow)]
            decision: std::borrow::Cow<'c, str>,
        }
        let form: DecisionForm<'_> = serde_json::from_str(content?.get()).ok()?;
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

/// A call of `tool` with these arguments, which have this digest, as an approval is asked for it.
///
/// # Errors
/// Ambiguous arguments cannot be approved: bytes that are no text, and an object that has a key twice.
pub fn asked_call(tool: &str, arguments: &[u8], digest: ArgumentsDigest) -> Result<AskedCall, NotCanonical> {
    let text = std::str::from_utf8(arguments).map_err(|_| NotCanonical::NotJson)?;
    match repeated_key(text) {
        Some(key) => Err(NotCanonical::RepeatedKey(with_dots(&key, MAX_KEY))),
        None => Ok(AskedCall { tool: tool.into(), arguments: text.into(), digest }),
    }
}

/// The visible part of arguments: all of them, or their beginning and their end, with the size between and the digest of the
/// whole.
fn shown(call: &AskedCall) -> String {
    if !call.is_long() {
        return visible_line(&call.arguments).into_owned();
    }
    let characters = call.arguments.chars().count();
    let place = |character: usize| {
        call.arguments.char_indices().nth(character).map_or(call.arguments.len(), |(at, _)| at)
    };
    let (beginning, end) = (place(MAX_SHOWN / 2), place(characters - MAX_SHOWN / 2));
    format!(
        "{}\n… {} of {characters} characters are not shown; all arguments have the SHA-256 {} …\n{}",
        visible_line(&call.arguments[..beginning]),
        characters - MAX_SHOWN,
        call.digest,
        visible_line(&call.arguments[end..]),
    )
}

/// The question's text about one call: who would do what, and the call whole. Invisible characters are escaped, so that no
/// argument looks like another one. The engine puts questions about several calls of a tool together.
#[must_use]
pub fn message(upstream: &str, call: &AskedCall) -> String {
    allow(upstream, &call.tool, std::iter::once(shown(call)))
}

/// The binding of an approval: this caller, upstream, tool, arguments and policy. Its expiry is counted from the answer.
#[must_use]
pub fn binding(
    principal: &str,
    upstream: &str,
    tool: &str,
    policy_revision: &str,
    arguments: &ArgumentsDigest,
) -> [u8; 32] {
    let mut bound = Context::new(&SHA256);
    for part in ["ptc approval v2", principal, upstream, tool, policy_revision] {
        // With its length, so that no two lists of parts read alike.
        bound.update(&(part.len() as u64).to_be_bytes());
        bound.update(part.as_bytes());
    }
    bound.update(arguments.bytes());
    let mut binding = [0; 32];
    binding.copy_from_slice(bound.finish().as_ref());
    binding
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptc_secret::digest::sha256;

    fn call(tool: &str, arguments: &str) -> AskedCall {
        let digest = ArgumentsDigest::new(sha256(arguments.as_bytes()));
        asked_call(tool, arguments.as_bytes(), digest).unwrap()
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
    fn long_arguments_are_shown_by_beginning_end_and_digest() {
        let long = call("write", &format!(r#"{{"text":"{}"}}"#, "é".repeat(MAX_SHOWN)));
        let short = call("write", &format!(r#"{{"text":"{}"}}"#, "é".repeat(MAX_SHOWN - 11)));
        assert!(long.is_long() && !short.is_long());
        assert_eq!(short.arguments.chars().count(), MAX_SHOWN);
        let digest = long.digest;
        assert_eq!(
            message("fs", &long),
            format!(
                "Allow 1 call(s) of write at fs?\n{{\"text\":\"{}\n… 11 of 2011 characters are not shown; all arguments have the SHA-256 {digest} …\n{}\"}}",
                "é".repeat(991),
                "é".repeat(998),
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
        let (one, two) = (ArgumentsDigest::new([1; 32]), ArgumentsDigest::new([2; 32]));
        let whole = binding("p", "u", "t", "r", &one);
        assert_eq!(whole, binding("p", "u", "t", "r", &one));
        for other in [
            binding("q", "u", "t", "r", &one),
            binding("p", "v", "t", "r", &one),
            binding("p", "u", "s", "r", &one),
            binding("p", "u", "t", "q", &one),
            binding("p", "u", "t", "r", &two),
            binding("pu", "", "t", "r", &one),
        ] {
            assert_ne!(whole, other);
        }
    }

    #[test]
    fn what_is_read_in_two_ways_is_not_asked_about() {
        let digest = ArgumentsDigest::new([1; 32]);
        assert!(asked_call("t", br#"{"a":{"b":1,"b":2}}"#, digest).is_err());
        assert!(asked_call("t", b"{\"a\":\"\xff\"}", digest).is_err());
        assert!(asked_call("t", br#"{"a":{"b":1},"b":2}"#, digest).is_ok());
    }
}
