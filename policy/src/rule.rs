//! One rule of the file.

use ptc_base::name_pattern::NamePattern;

use super::argument::ToolArguments;
use super::caller::Caller;
use super::identity::Identity;
use super::limits::Limits;

/// A rule: whom it is about, and what it grants.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Rule {
    /// How logs and traces call those whom it matches.
    pub(super) name: Option<Box<str>>,
    pub(super) conditions: Vec<Condition>,
    pub(super) upstreams: Vec<UpstreamRule>,
    pub(super) limits: Limits,
    /// Whether those whom it matches see, and answer for, the runs of all callers.
    pub(super) is_operator: bool,
}

/// What must hold of a caller.
#[derive(Debug, PartialEq)]
pub(super) enum Condition {
    Principal(Box<str>),
    Issuer(Box<str>),
    Subject(Box<str>),
    /// A scope that the token has, or that one of its scopes implies: any of these.
    Scope(Vec<Box<str>>),
    /// A claim, and its text or a member of its list.
    Claim(Box<str>, Box<str>),
}

/// What a rule grants at the upstreams that a pattern fits.
#[derive(Debug, PartialEq)]
pub(super) struct UpstreamRule {
    pub(super) upstreams: NamePattern,
    pub(super) allow: Vec<NamePattern>,
    pub(super) deny: Vec<NamePattern>,
    /// Tools that are shown although they cannot be called.
    pub(super) list: Vec<NamePattern>,
    pub(super) resources: Vec<NamePattern>,
    pub(super) prompts: Vec<NamePattern>,
    pub(super) arguments: Vec<ToolArguments>,
    pub(super) identity: Option<Identity>,
}

impl Rule {
    /// The rule that matches every caller and allows everything.
    pub(super) fn everything() -> Rule {
        let all = || NamePattern::new("*");
        let upstreams = all().map(|upstreams| UpstreamRule {
            upstreams,
            allow: all().into_iter().collect(),
            deny: Vec::new(),
            list: Vec::new(),
            resources: all().into_iter().collect(),
            prompts: all().into_iter().collect(),
            arguments: Vec::new(),
            identity: None,
        });
        Rule { upstreams: upstreams.into_iter().collect(), ..Rule::default() }
    }

    pub(super) fn matches(&self, caller: &Caller) -> bool {
        self.conditions.iter().all(|condition| condition.holds(caller))
    }

    /// What it says about an upstream.
    pub(super) fn about<'r>(&'r self, upstream: &str) -> impl Iterator<Item = &'r UpstreamRule> {
        self.upstreams.iter().filter(move |rule| rule.upstreams.matches(upstream))
    }
}

impl Condition {
    /// Whether it holds of a caller.
    pub(super) fn holds(&self, caller: &Caller) -> bool {
        let is = |known: Option<&str>, wanted: &str| known == Some(wanted);
        match self {
            Condition::Principal(name) => *caller.principal == **name,
            Condition::Issuer(issuer) => is(caller.issuer.as_deref(), issuer),
            Condition::Subject(subject) => is(caller.subject.as_deref(), subject),
            Condition::Scope(any) => caller.scopes.iter().any(|scope| any.contains(scope)),
            Condition::Claim(name, value) => caller.claim(name).contains(value),
        }
    }
}

/// Whether one of the patterns fits.
pub(super) fn fits(patterns: &[NamePattern], name: &str) -> bool {
    patterns.iter().any(|pattern| pattern.matches(name))
}
