//! The file of rules, and the grants of callers.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Weak};

use ptc_base::name_pattern::NamePattern;
use ptc_base::sync::Mutex;
use ptc_base::visible::visible_line;

use super::authority::Authority;
use super::caller::Caller;
use super::grant::Grant;
use super::identity::Identity;
use super::limits::Limits;
use super::profile::Profiles;
use super::rule::{Condition, Rule};

/// Largest file, in bytes.
pub const MAX_FILE_BYTES: u64 = 1 << 20;

/// Which callers may do what. Grants are made once for each set of rules that match somebody.
#[derive(Debug)]
pub struct Policy {
    pub(super) rules: Vec<Arc<Rule>>,
    pub(super) default_allows: bool,
    /// Whether somebody wrote it, if without any rule.
    is_written: bool,
    profiles: Profiles,
    grants: Mutex<HashMap<GrantKey, Weak<Grant>>>,
}

/// What a grant depends on: the places of the rules that match, those of the rules that may match, and the profile.
#[derive(Debug, PartialEq, Eq, Hash)]
struct GrantKey {
    rules: Box<[u16]>,
    narrowing: Box<[u16]>,
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
            is_written: true,
            profiles: Profiles::default(),
            grants: Mutex::default(),
        }
    }

    /// The policy of a server without one: everybody may do everything.
    pub fn open() -> Policy {
        Policy { is_written: false, ..Policy::of(Vec::new(), true) }
    }

    /// Whether somebody wrote it: false of a server without one that has profiles.
    pub fn is_written(&self) -> bool {
        self.is_written
    }

    /// What it is in a line, for an operator: `2 rules, default deny; 1 profile`.
    pub fn summary(&self) -> String {
        let many = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        let default = if self.default_allows { "allow" } else { "deny" };
        let rules = match self.is_written {
            true => format!("{}, default {default}", many(self.rules.len(), "rule")),
            false => "none".to_owned(),
        };
        match self.profiles.names().count() {
            0 => rules,
            profiles => format!("{rules}; {}", many(profiles, "profile")),
        }
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

    /// The grant of a caller: within its profile, or nothing if there is no such profile any more. Of a rule of which it is not known
    /// whether it matches, what denies and narrows holds, and what allows does not.
    pub fn grant(&self, caller: &Caller) -> Arc<Grant> {
        let (mut places, mut rules, mut narrowing) = (Vec::new(), Vec::new(), Vec::new());
        for (at, rule) in self.rules.iter().enumerate() {
            let Ok(place) = u16::try_from(at) else { break };
            match rule.matches(caller) {
                Some(true) => {
                    places.push(place);
                    rules.push(rule.clone());
                }
                Some(false) => {}
                None => narrowing.push(place),
            }
        }
        let profile = caller.profile.clone();
        let key = GrantKey { rules: places.into(), narrowing: narrowing.into(), profile };
        let mut grants = self.grants.lock();
        if let Some(grant) = grants.get(&key).and_then(Weak::upgrade) {
            return grant;
        }
        // The default is for callers whom no rule matches for certain.
        let is_open = rules.is_empty() && key.narrowing.is_empty() && self.default_allows;
        let whole = if is_open { Grant::everything() } else { self.whole(&key, rules) };
        let grant = Arc::new(match caller.profile.as_deref().map(|name| self.profiles.named(name)) {
            None => whole,
            Some(Some(profile)) => whole.within(profile),
            Some(None) => Grant::of(Vec::new()),
        });
        grants.retain(|_, grant| grant.strong_count() > 0);
        grants.insert(key, Arc::downgrade(&grant));
        grant
    }

    /// The grant of these rules, which match, and of what narrows it in those that may.
    fn whole(&self, key: &GrantKey, matching: Vec<Arc<Rule>>) -> Grant {
        if key.narrowing.is_empty() {
            return Grant::of(matching);
        }
        let at = |place: &u16| self.rules.get(usize::from(*place));
        let limits = Limits::least(self.rules.iter().enumerate().filter_map(|(at, rule)| {
            let is = |places: &[u16]| places.iter().any(|place| usize::from(*place) == at);
            match is(&key.rules) {
                true => Some((true, &rule.limits)),
                false => is(&key.narrowing).then_some((false, &rule.limits)),
            }
        }));
        let narrowing = key.narrowing.iter().filter_map(at).map(|rule| Arc::new(rule.narrowing()));
        Grant::limited(matching.into_iter().chain(narrowing).collect(), limits)
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

    /// The patterns of upstreams and tools of the rules on arguments for which `is_idle` says that they fit no tool, in the order of the
    /// file.
    pub fn idle_arguments(&self, is_idle: impl Fn(&NamePattern, &NamePattern) -> bool) -> Vec<(&str, &str)> {
        let rules = self.rules.iter().flat_map(|rule| &rule.upstreams);
        let all =
            rules.flat_map(|rule| rule.arguments.iter().map(|arguments| (&rule.upstreams, &arguments.tools)));
        let mut idle = Vec::new();
        for (upstreams, tools) in all.filter(|(upstreams, tools)| is_idle(upstreams, tools)) {
            let named = (upstreams.as_str(), tools.as_str());
            if !idle.contains(&named) {
                idle.push(named);
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
        hiding.map(text).chain(self.entry_remarks()).collect()
    }

    /// What entries of rules say in vain.
    fn entry_remarks(&self) -> impl Iterator<Item = String> {
        let rules = self.rules.iter().enumerate();
        let entries = rules.flat_map(|(at, rule)| {
            rule.upstreams
                .iter()
                .map(move |entry| (format!("rules[{at}].upstreams.{}", entry.upstreams.as_str()), entry))
        });
        entries.flat_map(|(place, entry)| {
            let is_denied = |allowed: &NamePattern| entry.deny.iter().any(|denied| denied.covers(allowed));
            let denied = (!entry.allow.is_empty() && entry.allow.iter().all(is_denied))
                .then(|| format!("{place} allows nothing: deny has all that allow has"));
            let mut rules = entry.arguments.iter().flat_map(|tools| {
                tools.rules.iter().map(move |(name, rule)| (tools.tools.as_str(), name, rule))
            });
            let apart = rules.find(|(_, _, rule)| rule.prefix_is_outside()).map(|(tools, name, _)| {
                format!("{place}.args.{tools}.{name} wants a path under one folder that begins with another: only one with .. can be both")
            });
            denied.into_iter().chain(apart).map(|remark| visible_line(&remark).into_owned()).collect::<Vec<_>>()
        })
    }

    /// How many rules there are.
    pub fn rules(&self) -> usize {
        self.rules.len()
    }
}
