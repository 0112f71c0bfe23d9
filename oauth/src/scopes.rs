//! Scopes: which are asked for, and how often more are (`auth.md` 5).

use std::collections::{HashMap, HashSet};
use std::fmt;

use serde::{Deserialize, Serialize};

/// The scope that keeps a session alive without a person.
const OFFLINE_ACCESS: &str = "offline_access";

/// Most authorizations for one resource and tool, the first included.
pub const MAX_AUTHORIZATIONS: u8 = 3;

/// Most scopes of one text or list; those beyond are none (`auth.md` 5).
pub const MAX_SCOPES: usize = 1_000;

/// Scopes, each once, in the order in which they came, at most [`MAX_SCOPES`]. Written and stored as OAuth does: with spaces
/// between.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Scopes(Vec<String>);

impl Scopes {
    /// The scopes of a text with spaces between.
    #[must_use]
    pub fn of_text(text: &str) -> Self {
        text.split_ascii_whitespace().map(str::to_owned).collect()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Whether one of them is `scope`.
    #[must_use]
    pub fn contains(&self, scope: &str) -> bool {
        self.iter().any(|other| other == scope)
    }

    /// These, and those of `others` that are not among them.
    #[must_use]
    pub fn union(&self, others: &Self) -> Self {
        self.iter().chain(others.iter()).map(str::to_owned).collect()
    }

    /// The value of the parameter `scope`; `None` means that none is sent.
    #[must_use]
    pub fn parameter(&self) -> Option<String> {
        (!self.is_empty()).then(|| self.to_string())
    }
}

impl FromIterator<String> for Scopes {
    fn from_iter<I: IntoIterator<Item = String>>(scopes: I) -> Self {
        let (mut found, mut known) = (Self::default(), HashSet::new());
        for text in scopes {
            // One element of a list may hold several.
            for scope in text.split_ascii_whitespace() {
                if found.0.len() == MAX_SCOPES {
                    return found;
                }
                if known.insert(scope.to_owned()) {
                    found.0.push(scope.to_owned());
                }
            }
        }
        found
    }
}

impl From<String> for Scopes {
    fn from(text: String) -> Self {
        Self::of_text(&text)
    }
}

impl From<Scopes> for String {
    fn from(scopes: Scopes) -> Self {
        scopes.to_string()
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(" "))
    }
}

/// The sources of the scopes of a sign-in.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sources<'a> {
    /// `auth.scopes`; an empty list means none.
    pub configured: Option<&'a [String]>,
    /// `scope` of the challenge.
    pub challenge: Option<&'a str>,
    /// `scopes_supported` of the resource.
    pub resource: Option<&'a [String]>,
    /// `scopes_supported` of the authorization server: looked at for `offline_access` alone.
    pub server: &'a [String],
    /// The scopes that an earlier sign-in lacked, with all that it had: `scope_wanted` of its record.
    pub wanted: Option<&'a Scopes>,
    /// Whether a person takes part in the grant.
    pub person: bool,
}

/// The scopes that are asked for.
#[must_use]
pub fn requested(sources: &Sources<'_>) -> Scopes {
    let of_list = |list: &[String]| list.iter().cloned().collect::<Scopes>();
    let first = match (sources.configured, sources.challenge, sources.resource) {
        (Some(configured), ..) => of_list(configured),
        (None, Some(challenge), _) => Scopes::of_text(challenge),
        (None, None, Some(resource)) => of_list(resource),
        (None, None, None) => Scopes::default(),
    };
    let mut scopes = match sources.wanted {
        Some(wanted) => first.union(wanted),
        None => first,
    };
    // An operator who asks for no scope at all gets none.
    let none = sources.configured.is_some_and(<[String]>::is_empty) && scopes.is_empty();
    if sources.person && !none && sources.server.iter().any(|scope| scope == OFFLINE_ACCESS) {
        scopes = scopes.union(&Scopes(vec![OFFLINE_ACCESS.to_owned()]));
    }
    scopes
}

/// The reaction to a call that lacks a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepUp {
    /// Ask for it: a new authorization, or in a grant without a person one new token.
    Ask,
    /// It was asked for [`MAX_AUTHORIZATIONS`] times.
    GiveUp,
}

/// How often each tool of one resource was refused for its scope, and with which sign-in last.
#[derive(Debug, Default)]
pub struct StepUps(HashMap<String, Refusals>);

#[derive(Debug)]
struct Refusals {
    /// Authorizations that did not do.
    authorizations: u8,
    /// The last of them.
    sign_in: u64,
}

impl StepUps {
    /// Notes that `tool` was refused for its scope with the tokens of `sign_in`, a number that changes with each authorization
    /// ([`signed_in_at`](crate::tokens::TokenRecord::signed_in_at), or the serial of a token that no person gave).
    pub fn refused(&mut self, tool: &str, sign_in: u64) -> StepUp {
        let refusals = self.0.entry(tool.to_owned()).or_insert(Refusals { authorizations: 0, sign_in });
        if refusals.authorizations == 0 || refusals.sign_in != sign_in {
            // A person who signs in after it was given up begins again.
            refusals.authorizations = refusals.authorizations % MAX_AUTHORIZATIONS + 1;
            refusals.sign_in = sign_in;
        }
        if refusals.authorizations < MAX_AUTHORIZATIONS { StepUp::Ask } else { StepUp::GiveUp }
    }

    /// Notes that a call of `tool` was not refused.
    pub fn succeeded(&mut self, tool: &str) {
        self.0.remove(tool);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(scopes: &str) -> Vec<String> {
        scopes.split(' ').filter(|s| !s.is_empty()).map(str::to_owned).collect()
    }

    #[test]
    fn the_first_source_that_says_something_counts() {
        let (configured, resource, server) = (list("c"), list("p q"), list("all of them"));
        let all = Sources {
            configured: Some(&configured),
            challenge: Some("x  y x"),
            resource: Some(&resource),
            server: &server,
            wanted: None,
            person: true,
        };
        assert_eq!(requested(&all).to_string(), "c");
        let challenged = Sources { configured: None, ..all };
        assert_eq!(requested(&challenged).to_string(), "x y");
        let published = Sources { challenge: None, ..challenged };
        assert_eq!(requested(&published).to_string(), "p q");
        // Failure 8 of auth.md 18.5: never what the server lists.
        let silent = Sources { resource: None, ..published };
        assert_eq!(requested(&silent).parameter(), None);
    }

    #[test]
    fn an_empty_list_means_no_scope() {
        let server = list("offline_access");
        let none = Sources {
            configured: Some(&[]),
            challenge: Some("x"),
            server: &server,
            person: true,
            ..Sources::default()
        };
        assert_eq!(requested(&none).parameter(), None);
    }

    #[test]
    fn offline_access_is_for_people_where_the_server_has_it() {
        let server = list("read offline_access");
        let with = Sources { challenge: Some("x"), server: &server, person: true, ..Sources::default() };
        assert_eq!(requested(&with).to_string(), "x offline_access");
        assert_eq!(requested(&Sources { challenge: None, ..with }).to_string(), "offline_access");
        assert_eq!(
            requested(&Sources { challenge: Some("offline_access x"), ..with }).to_string(),
            "offline_access x"
        );
        assert_eq!(requested(&Sources { person: false, ..with }).to_string(), "x");
        assert_eq!(requested(&Sources { server: &[], ..with }).to_string(), "x");
    }

    #[test]
    fn what_was_wanted_is_asked_for_beside_the_first() {
        let wanted = Scopes::of_text("read write");
        let sources = Sources { challenge: Some("read admin"), wanted: Some(&wanted), ..Sources::default() };
        assert_eq!(requested(&sources).to_string(), "read admin write");
    }

    #[test]
    fn scopes_are_stored_as_a_text() {
        let scopes = Scopes::of_text("a b");
        assert_eq!(serde_json::to_string(&scopes).unwrap(), r#""a b""#);
        assert_eq!(serde_json::from_str::<Scopes>(r#""a b a""#).unwrap(), scopes);
    }

    #[test]
    fn scopes_beyond_the_limit_are_none() {
        let names: Vec<String> = (0..300_000).map(|i| format!("s{i}")).collect();
        let scopes = Scopes::of_text(&names.join(" "));
        assert_eq!((scopes.iter().count(), scopes.iter().last()), (MAX_SCOPES, Some("s999")));
        assert_eq!(Scopes::of_text(&"a b ".repeat(100_000)).to_string(), "a b");
    }

    #[test]
    fn a_tool_is_authorized_three_times_at_most() {
        let mut step_ups = StepUps::default();
        assert_eq!(step_ups.refused("t", 10), StepUp::Ask);
        // Other calls with the same sign-in ask for nothing new.
        assert_eq!(step_ups.refused("t", 10), StepUp::Ask);
        assert_eq!(step_ups.refused("t", 20), StepUp::Ask);
        assert_eq!(step_ups.refused("t", 30), StepUp::GiveUp);
        assert_eq!(step_ups.refused("t", 30), StepUp::GiveUp);
        assert_eq!(step_ups.refused("other", 30), StepUp::Ask);
        assert_eq!(step_ups.refused("t", 40), StepUp::Ask);
        step_ups.succeeded("t");
        assert_eq!(
            [50, 60, 70].map(|sign_in| step_ups.refused("t", sign_in)),
            [StepUp::Ask, StepUp::Ask, StepUp::GiveUp]
        );
    }
}
