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
    /// The claims that rules ask for; one that its token does not have has no values.
    pub claims: Box<[Claim]>,
    /// The profile whose address it uses.
    pub profile: Option<Arc<str>>,
    /// How much of its token these facts are.
    #[serde(skip)]
    pub knowledge: Knowledge,
}

/// How much is known of the access token of a caller. The callers of static tokens and of pipes have no other facts than their names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Knowledge {
    /// All that rules ask for.
    #[default]
    Whole,
    /// What the rules of another policy asked for: claims that are not among those of the caller may have any values.
    FormerClaims,
    /// Its issuer and subject, which its name says; its scopes and claims may be any.
    Name,
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

    /// A caller whose access token has been forgotten, if it had one: then its name is `ISSUER|SUBJECT`, and no other name has a `|`.
    pub fn forgotten(principal: impl Into<Arc<str>>) -> Caller {
        let caller = Caller::named(principal);
        let Some((issuer, subject)) = caller.principal.split_once('|') else { return caller };
        let (issuer, subject) = (Some(issuer.into()), Some(subject.into()));
        Caller { issuer, subject, knowledge: Knowledge::Name, ..caller }
    }

    /// The same, for a policy that may ask for other claims than the one for which its facts were collected.
    #[must_use]
    pub fn recalled(self) -> Caller {
        let knowledge = match self.knowledge {
            Knowledge::Whole if self.issuer.is_some() => Knowledge::FormerClaims,
            known => known,
        };
        Caller { knowledge, ..self }
    }

    /// Whether it has a scope out of `any`; `None` if that is not known.
    pub(super) fn has_scope(&self, any: &[Box<str>]) -> Option<bool> {
        (self.knowledge != Knowledge::Name).then(|| self.scopes.iter().any(|scope| any.contains(scope)))
    }

    /// Whether a claim has that text or a list with it; `None` if that is not known.
    pub(super) fn has_claim(&self, name: &str, value: &str) -> Option<bool> {
        match self.claims.iter().find(|claim| *claim.name == *name) {
            Some(claim) => Some(claim.values.iter().any(|known| **known == *value)),
            None => (self.knowledge == Knowledge::Whole).then_some(false),
        }
    }
}
