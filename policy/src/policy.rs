//! The file of rules, and the grants of callers.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Weak};

use ptc_base::sync::Mutex;

use super::authority::Authority;
use super::caller::Caller;
use super::grant::Grant;
use super::identity::Identity;
use super::profile::Profiles;
use super::rule::{Condition, Rule};

/// Largest file, in bytes.
pub const MAX_FILE_BYTES: u64 = 1 << 20;

/// Which callers may do what. Grants are made once for each set of rules that match somebody.
#[derive(Debug)]
pub struct Policy {
    pub(super) rules: Vec<Arc<Rule>>,
    pub(super) default_allows: bool,
    profiles: Profiles,
    grants: Mutex<HashMap<GrantKey, Weak<Grant>>>,
}

/// What a grant depends on: the places of the rules that match, and the profile.
#[derive(Debug, PartialEq, Eq, Hash)]
struct GrantKey {
    rules: Box<[u16]>,
    profile: Option<Arc<str>>,
}

/// The file is at fault: a sentence that begins with `policy: ` and names the key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("policy: {0}")]
pub struct PolicyError(pub(super) String);

impl PolicyError {
    pub(super) fn new(text: impl fmt::Display) -> PolicyError {
        PolicyError(text.to_string())
    }
}

impl Policy {
    pub(super) fn of(rules: Vec<Rule>, default_allows: bool) -> Policy {
        Policy {
            rules: rules.into_iter().map(Arc::new).collect(),
            default_allows,
            profiles: Profiles::default(),
            grants: Mutex::default(),
        }
    }

    /// The policy of a server without one: everybody may do everything.
    pub fn open() -> Policy {
        Policy::of(Vec::new(), true)
    }

    /// The same policy on a server with these profiles.
    #[must_use]
    pub fn with_profiles(self, profiles: Profiles) -> Policy {
        Policy { profiles, ..self }
    }

    /// The profiles of the server.
    pub fn profiles(&self) -> &Profiles {
        &self.profiles
    }

    /// What a caller may do.
    pub fn authority(&self, caller: Caller) -> Authority {
        Authority { grant: self.grant(&caller), caller, quotas: None, generation: 0 }
    }

    /// The grant of a caller: within its profile, or nothing if there is no such profile any more.
    pub fn grant(&self, caller: &Caller) -> Arc<Grant> {
        let matching = self.rules.iter().enumerate().filter(|(_, rule)| rule.matches(caller));
        let (places, rules): (Vec<u16>, Vec<_>) =
            matching.filter_map(|(at, rule)| Some((u16::try_from(at).ok()?, rule.clone()))).unzip();
        let key = GrantKey { rules: places.into(), profile: caller.profile.clone() };
        let mut grants = self.grants.lock();
        if let Some(grant) = grants.get(&key).and_then(Weak::upgrade) {
            return grant;
        }
        let is_open = rules.is_empty() && self.default_allows;
        let whole = if is_open { Grant::everything() } else { Grant::of(rules) };
        let grant = Arc::new(match caller.profile.as_deref().map(|name| self.profiles.named(name)) {
            None => whole,
            Some(Some(profile)) => whole.within(profile),
            Some(None) => Grant::of(Vec::new()),
        });
        grants.retain(|_, grant| grant.strong_count() > 0);
        grants.insert(key, Arc::downgrade(&grant));
        grant
    }

    /// The claims of tokens that rules ask for.
    pub fn claims(&self) -> Vec<&str> {
        let conditions = self.rules.iter().flat_map(|rule| &rule.conditions);
        let mut claims: Vec<&str> = conditions
            .filter_map(|condition| match condition {
                Condition::Claim(name, _) => Some(&**name),
                _ => None,
            })
            .collect();
        claims.sort_unstable();
        claims.dedup();
        claims
    }

    /// The patterns for upstreams that fit none of these names, in the order of the file.
    pub fn idle(&self, names: &[&str]) -> Vec<&str> {
        let patterns = self.rules.iter().flat_map(|rule| &rule.upstreams).map(|rule| &rule.upstreams);
        let mut idle = Vec::new();
        for pattern in patterns.filter(|pattern| !names.iter().any(|name| pattern.matches(name))) {
            // One that fits everything says nothing about names.
            if pattern.as_str() != "*" && !idle.contains(&pattern.as_str()) {
                idle.push(pattern.as_str());
            }
        }
        idle
    }

    /// The pattern of a rule that wants the caller's own sign-in at an upstream where people have none. `most`: the sign-in that
    /// the upstream can have; `None`: none.
    pub fn impossible_identity(&self, upstream: &str, most: Option<Identity>) -> Option<&str> {
        let about = self.rules.iter().flat_map(|rule| rule.about(upstream));
        let wanted = about.filter(|rule| rule.identity == Some(Identity::PerPrincipal));
        let mut patterns = wanted.map(|rule| rule.upstreams.as_str());
        match most {
            Some(Identity::PerPrincipal) => None,
            Some(Identity::Shared) => patterns.next(),
            // A pattern for many is about those that are signed in to.
            None => patterns.find(|pattern| !pattern.contains('*')),
        }
    }

    /// Whether callers whom no rule matches may do everything.
    pub fn default_allows(&self) -> bool {
        self.default_allows
    }

    /// What is no fault, and perhaps not meant, in a sentence each with its place.
    pub fn remarks(&self) -> Vec<String> {
        let sees_nothing = |rule: &Rule| {
            rule.upstreams.iter().all(|upstream| upstream.allow.is_empty() && upstream.list.is_empty())
        };
        let hiding =
            self.rules.iter().enumerate().filter(|(_, rule)| self.default_allows && sees_nothing(rule));
        let text = |(at, _): (usize, &Arc<Rule>)| {
            format!(
                "rules[{at}] allows no tool: those whom it matches see none unless another rule allows some, since default is for those whom no rule matches"
            )
        };
        hiding.map(text).collect()
    }

    /// How many rules there are.
    pub fn rules(&self) -> usize {
        self.rules.len()
    }
}
