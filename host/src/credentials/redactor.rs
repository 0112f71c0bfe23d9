//! The second line of defence: replaces registered secrets in text that leaves the process.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use ptc_mcp::json::Value;
use zeroize::Zeroizing;

use super::{REDACTED, Secret};
use crate::time::{self, Instant};

/// Secrets shorter than this many bytes are never replaced: they would mangle ordinary text, which would reveal them
/// (ruling 34).
pub(crate) const MIN_SECRET_BYTES: usize = 8;

/// How long a secret that was replaced by another is still scrubbed.
const AFTERLIFE: Duration = Duration::from_secs(3600);

/// Most secrets that are replaced by others. Those that were replaced longest ago go first: a caller who begins ever new sign-ins makes
/// looking for them no dearer than this.
const MAX_PASSING: usize = 2048;

/// Replaces every registered secret by [`REDACTED`] in strings, and in the keys and strings of JSON values. A cheap
/// handle: clones share one set of secrets. Before anything is registered it changes nothing.
///
/// It works on strings that users or upstreams control, before they are serialised; the structural isolation of
/// [`Secret`] is what keeps secrets out of everything else.
#[derive(Clone, Default)]
pub struct Redactor(Arc<Shared>);

#[derive(Default)]
struct Shared {
    /// Whether any secret is registered: spares those who have none the lock, which all threads share.
    any: AtomicBool,
    state: RwLock<Patterns>,
}

#[derive(Default)]
struct Patterns {
    /// Sorted and without repeats.
    patterns: Vec<Zeroizing<String>>,
    automaton: Option<AhoCorasick>,
    /// The forms of secrets that stay for good.
    lasting: Vec<Zeroizing<String>>,
    /// Secrets that are replaced by others from time to time.
    passing: Vec<Passing>,
}

/// A secret that is replaced by another one some day.
struct Passing {
    owner: Box<str>,
    secret: Secret,
    /// Until when it is scrubbed, once it has been replaced.
    until: Option<Instant>,
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Redactor({} patterns)",
            self.0.state.read().unwrap_or_else(PoisonError::into_inner).patterns.len()
        )
    }
}

impl Redactor {
    /// A redactor that knows no secret yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds secrets, each with the forms that common encodings give it ([`forms`]), because an upstream may echo any of
    /// them and each would hide the secret from a search. Secrets under [`MIN_SECRET_BYTES`] are left out.
    pub fn register<'a>(&self, secrets: impl IntoIterator<Item = &'a Secret>) {
        let mut state = self.0.state.write().unwrap_or_else(PoisonError::into_inner);
        let before = state.lasting.len();
        for secret in secrets.into_iter().map(Secret::open).filter(|s| s.len() >= MIN_SECRET_BYTES) {
            state.lasting.extend(forms(secret));
        }
        if state.lasting.len() > before {
            self.rebuild(&mut state);
        }
    }

    /// The secrets of `owner` are these from now on, and those that it had before go on being scrubbed for an hour: answers
    /// with them may still be on their way.
    pub fn replace(&self, owner: &str, secrets: &[Secret]) {
        let mut state = self.0.state.write().unwrap_or_else(PoisonError::into_inner);
        let now = time::now();
        let is_same = |passing: &Passing, secret: &Secret| {
            *passing.owner == *owner && passing.secret.matches(secret.open().as_bytes())
        };
        for passing in state.passing.iter_mut().filter(|passing| *passing.owner == *owner) {
            let stays = secrets.iter().any(|secret| is_same(passing, secret));
            passing.until = if stays { None } else { passing.until.or(Some(now + AFTERLIFE)) };
        }
        let known = state.passing.len();
        for secret in secrets.iter().filter(|secret| secret.len() >= MIN_SECRET_BYTES) {
            if !state.passing.iter().any(|passing| is_same(passing, secret)) {
                state.passing.push(Passing { owner: owner.into(), secret: secret.clone(), until: None });
            }
        }
        let with_new = state.passing.len();
        state.passing.retain(|passing| passing.until.is_none_or(|until| now < until));
        while state.passing.len() > MAX_PASSING {
            let replaced =
                state.passing.iter().enumerate().filter_map(|(at, passing)| Some((passing.until?, at)));
            let Some((_, oldest)) = replaced.min() else { break };
            state.passing.remove(oldest);
        }
        // Most tokens are looked at again and again, and are known.
        if known != with_new || with_new != state.passing.len() {
            self.rebuild(&mut state);
        }
    }

    fn rebuild(&self, state: &mut Patterns) {
        let passing = state.passing.iter().flat_map(|passing| forms(passing.secret.open()));
        state.patterns = state.lasting.iter().cloned().chain(passing).collect();
        state.patterns.sort_by(|a, b| a.as_str().cmp(b.as_str()));
        state.patterns.dedup_by(|a, b| a.as_str() == b.as_str());
        // Standard semantics, so that *overlapping* matches can be found: see `scrub`.
        state.automaton = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .build(state.patterns.iter().map(|p| p.as_bytes()))
            .ok();
        self.0.any.store(true, Ordering::Release);
    }

    /// `text` with every secret replaced; borrowed when there is none, which is the common and fast case.
    ///
    /// Secrets that overlap in the text are replaced as one stretch, so that neither leaves a piece of itself behind.
    pub fn scrub<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if !self.0.any.load(Ordering::Acquire) {
            return Cow::Borrowed(text);
        }
        let state = self.0.state.read().unwrap_or_else(PoisonError::into_inner);
        let Some(automaton) = &state.automaton else { return Cow::Borrowed(text) };
        if text.len() < MIN_SECRET_BYTES || !automaton.is_match(text) {
            return Cow::Borrowed(text);
        }
        // Matches arrive ordered by their end, not by their start: sort before merging.
        let mut found: Vec<(usize, usize)> =
            automaton.find_overlapping_iter(text).map(|m| (m.start(), m.end())).collect();
        found.sort_unstable();
        let mut out = String::with_capacity(text.len());
        let (mut copied, mut matches) = (0, found.into_iter().peekable());
        while let Some((start, mut end)) = matches.next() {
            while let Some((_, further)) = matches.next_if(|next| next.0 < end) {
                end = end.max(further);
            }
            out.push_str(&text[copied..start]);
            out.push_str(REDACTED);
            copied = end;
        }
        out.push_str(&text[copied..]);
        Cow::Owned(out)
    }

    /// How many bytes at the end of `text` may be the beginning of a secret: what is shown as it comes holds them back
    /// until more has come.
    pub fn unfinished(&self, text: &str) -> usize {
        let state = self.0.state.read().unwrap_or_else(PoisonError::into_inner);
        let of = |pattern: &Zeroizing<String>| {
            let longest = text.len().min(pattern.len().saturating_sub(1));
            (1..=longest).rev().find(|&size| text.as_bytes().ends_with(&pattern.as_bytes()[..size]))
        };
        state.patterns.iter().filter_map(of).max().unwrap_or(0)
    }

    /// As [`scrub`](Self::scrub), for text that is owned already: no copy when nothing is found.
    pub fn scrub_string(&self, text: String) -> String {
        match self.scrub(&text) {
            Cow::Owned(clean) => clean,
            Cow::Borrowed(_) => text,
        }
    }

    /// Scrubs every string and every object key inside a JSON value, whatever its depth. Two keys that become equal
    /// by scrubbing keep the last value. Numbers are looked at too: a credential of digits may be echoed as one.
    pub fn scrub_json(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(clean) = self.scrub(text) {
                    *text = clean;
                }
            }
            Value::Number(number) => {
                if let Cow::Owned(clean) = self.scrub(&number.to_string()) {
                    *value = Value::String(clean);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.scrub_json(item)),
            Value::Object(map) => {
                if map.keys().any(|key| matches!(self.scrub(key), Cow::Owned(_))) {
                    *map = std::mem::take(map).into_iter().map(|(k, v)| (self.scrub_string(k), v)).collect();
                }
                map.values_mut().for_each(|item| self.scrub_json(item));
            }
            Value::Null | Value::Bool(_) => {}
        }
    }
}

/// Bytes that no percent-encoding touches: the unreserved characters of RFC 3986.
const UNRESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A secret as it is; inside a JSON string, and inside a JSON text that is itself in a JSON string; percent-encoded with
/// digits of either case, and as form data; and in base64 of both alphabets, without the padding, which gives nothing
/// away.
fn forms(secret: &str) -> Vec<Zeroizing<String>> {
    let escaped = |text: &str| {
        let quoted = Zeroizing::new(Value::from(text).to_string());
        Zeroizing::new(quoted[1..quoted.len() - 1].to_owned())
    };
    let json = escaped(secret);
    let json_in_json = escaped(&json);
    let percent = Zeroizing::new(utf8_percent_encode(secret, &UNRESERVED).to_string());
    let mut small = Zeroizing::new(percent.to_string());
    // Each `%` is followed by two digits, and no other capital stands where they do.
    for at in percent.match_indices('%').map(|(at, _)| at) {
        small.replace_range(at..at + 3, &percent[at..at + 3].to_ascii_lowercase());
    }
    let form = Zeroizing::new(percent.replace("%20", "+"));
    let base64 = Zeroizing::new(STANDARD_NO_PAD.encode(secret));
    let url_safe = Zeroizing::new(URL_SAFE_NO_PAD.encode(secret));
    vec![Zeroizing::new(secret.to_owned()), json, json_in_json, percent, small, form, base64, url_safe]
}

#[cfg(test)]
mod tests {
    use ptc_mcp::json::json;

    use super::*;

    fn redactor(secrets: &[&str]) -> Redactor {
        let redactor = Redactor::new();
        redactor.register(&secrets.iter().map(|s| Secret::new(*s)).collect::<Vec<_>>());
        redactor
    }

    #[test]
    fn is_the_identity_before_registration_and_for_clean_text() {
        assert!(matches!(Redactor::new().scrub("some ordinary text"), Cow::Borrowed("some ordinary text")));
        assert!(matches!(redactor(&["secret-one"]).scrub("some ordinary text"), Cow::Borrowed(_)));
    }

    #[test]
    fn common_encodings_hide_nothing() {
        let r = redactor(&["p/a+s\"s? w>rd"]);
        for text in [
            "p/a+s\"s? w>rd",
            r#"p/a+s\"s? w>rd"#,
            r#"p/a+s\\\"s? w>rd"#,
            "p%2Fa%2Bs%22s%3F%20w%3Erd",
            "p%2fa%2bs%22s%3f%20w%3erd",
            "p%2Fa%2Bs%22s%3F+w%3Erd",
            &STANDARD_NO_PAD.encode("p/a+s\"s? w>rd"),
            &URL_SAFE_NO_PAD.encode("p/a+s\"s? w>rd"),
        ] {
            assert_eq!(r.scrub(&format!("<{text}>")), "<[REDACTED]>");
        }
    }

    #[test]
    fn replaces_every_occurrence() {
        let r = redactor(&["secret-one", "secret-two"]);
        assert_eq!(
            r.scrub("a secret-one b secret-two c secret-one"),
            "a [REDACTED] b [REDACTED] c [REDACTED]"
        );
        assert_eq!(r.scrub("secret-onesecret-one"), "[REDACTED][REDACTED]");
    }

    #[test]
    fn a_secret_inside_or_across_another_leaves_nothing_behind() {
        let r = redactor(&["abcdefgh", "xxabcdefghyy"]);
        assert_eq!(r.scrub("-xxabcdefghyy-abcdefgh-"), "-[REDACTED]-[REDACTED]-");
        let r = redactor(&["12345678ab", "78abcdefghijkl"]);
        assert_eq!(r.scrub("<12345678abcdefghijkl>"), "<[REDACTED]>");
        let r = redactor(&["abababab"]);
        assert_eq!(r.scrub("ababababab"), "[REDACTED]");
    }

    #[test]
    fn the_beginning_of_a_secret_is_held_back() {
        let r = redactor(&["secret-one", "sécrété-2"]);
        for (text, held) in [("", 0), ("a", 0), ("as", 1), ("a secret-on", 9), ("a secret-one", 0), ("sé", 3)]
        {
            assert_eq!(r.unfinished(text), held, "{text}");
        }
        assert_eq!(Redactor::new().unfinished("s"), 0);
    }

    #[test]
    fn a_secret_that_was_replaced_is_scrubbed_for_a_while() {
        let r = redactor(&["lasting-secret"]);
        let secrets = |texts: &[&str]| texts.iter().map(|text| Secret::new(*text)).collect::<Vec<_>>();
        r.replace("a", &secrets(&["first-token", "refresh-token"]));
        r.replace("b", &secrets(&["other-token"]));
        r.replace("a", &secrets(&["second-token", "refresh-token", "short"]));
        let text = "first-token second-token refresh-token other-token lasting-secret short";
        assert_eq!(r.scrub(text), "[REDACTED] [REDACTED] [REDACTED] [REDACTED] [REDACTED] short");
        // As if the hour were over.
        for passing in &mut r.0.state.write().unwrap().passing {
            passing.until = passing.until.map(|_| Instant::now());
        }
        r.replace("b", &[]);
        assert_eq!(r.scrub(text), "first-token [REDACTED] [REDACTED] [REDACTED] [REDACTED] short");
    }

    #[test]
    fn secrets_that_are_replaced_over_and_over_are_bounded_and_those_in_use_stay() {
        let r = redactor(&[]);
        r.replace("a", &[Secret::new("token-in-use")]);
        let number = |n: usize| Secret::new(format!("begun-and-left-{n:05}"));
        for n in 0..MAX_PASSING + 50 {
            r.0.state.write().unwrap().passing.push(Passing {
                owner: "pending".into(),
                secret: number(n),
                until: Some(Instant::now() + AFTERLIFE),
            });
        }
        r.replace("pending", &[Secret::new("begun-just-now")]);
        assert_eq!(r.0.state.read().unwrap().passing.len(), MAX_PASSING);
        let text =
            format!("token-in-use begun-just-now {} {}", number(0).open(), number(MAX_PASSING + 49).open());
        assert_eq!(r.scrub(&text), "[REDACTED] [REDACTED] begun-and-left-00000 [REDACTED]");
        // What is known already changes nothing.
        let before = r.0.state.read().unwrap().patterns.as_ptr();
        r.replace("a", &[Secret::new("token-in-use")]);
        assert_eq!(r.0.state.read().unwrap().patterns.as_ptr(), before);
    }

    #[test]
    fn short_secrets_are_not_replaced() {
        assert_eq!(redactor(&["1234567", ""]).scrub("1234567"), "1234567");
    }

    #[test]
    fn finds_json_escaped_forms() {
        let r = redactor(&["pa\"ss\\word"]);
        let serialised = json!({"k": "pa\"ss\\word"}).to_string();
        assert_eq!(r.scrub(&serialised), r#"{"k":"[REDACTED]"}"#);
    }

    #[test]
    fn walks_json_keys_values_and_numbers() {
        let r = redactor(&["topsecret", "1234567890"]);
        let mut value = json!({"topsecret": ["x topsecret y", {"n": 1234567890}], "n": 7});
        r.scrub_json(&mut value);
        assert_eq!(value, json!({"[REDACTED]": ["x [REDACTED] y", {"n": "[REDACTED]"}], "n": 7}));
    }

    #[test]
    fn clones_share_registrations() {
        let first = Redactor::new();
        let second = first.clone();
        first.register([&Secret::new("late-secret")]);
        assert_eq!(second.scrub("late-secret"), "[REDACTED]");
        assert_eq!(format!("{second:?}"), "Redactor(2 patterns)");
    }

    proptest::proptest! {
        #[test]
        fn no_secret_survives(parts in proptest::collection::vec("[ab]{8,10}", 1..4), text in "[ab]{0,60}") {
            let r = redactor(&parts.iter().map(String::as_str).collect::<Vec<_>>());
            let clean = r.scrub(&text);
            for part in &parts {
                proptest::prop_assert!(!clean.contains(part.as_str()));
            }
        }
    }
}
