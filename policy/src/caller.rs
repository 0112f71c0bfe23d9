//! The facts about a caller that rules match on.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The facts about a caller. Of the claims of a token it has those that a rule asks for and no others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caller {
    /// Its name: that of its static token, `ISSUER|SUBJECT` of its access token, or `process` on a pipe.
    pub principal: Arc<str>,
    /// The issuer of its access token.
    pub issuer: Option<Arc<str>>,
    /// The subject of its access token.
    pub subject: Option<Arc<str>>,
    /// The scopes that the token grants.
    pub scopes: Box<[Box<str>]>,
    /// The claims that rules ask for.
    pub claims: Box<[Claim]>,
    /// The profile whose address it uses.
    pub profile: Option<Arc<str>>,
}

/// A claim of a token.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Its name.
    pub name: Box<str>,
    /// Its text, or the texts of its list.
    pub values: Box<[Box<str>]>,
}

impl Caller {
    /// A caller of which nothing but the name is known.
    pub fn named(principal: impl Into<Arc<str>>) -> Caller {
        Caller { principal: principal.into(), ..Caller::default() }
    }

    /// The texts of a claim.
    pub(super) fn claim(&self, name: &str) -> &[Box<str>] {
        self.claims.iter().find(|claim| *claim.name == *name).map_or(&[], |claim| &claim.values)
    }
}
