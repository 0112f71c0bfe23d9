//! One rule of the file.

use ptc_base::name_pattern::NamePattern;

use super::argument::ToolArguments;
use super::caller::Caller;
use super::identity::Identity;
use super::limits::Limits;

/// A rule: whom it is about, and what it grants.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Rule {
    /// What explanations call it.
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

    /// The rule that matches every caller and allows what these patterns of upstreams and names fit.
    pub(super) fn of_patterns(
        tools: &[(NamePattern, NamePattern)],
        resources: &[(NamePattern, NamePattern)],
        prompts: &[(NamePattern, NamePattern)],
    ) -> Rule {
        let about = |upstreams: &NamePattern| UpstreamRule {
            upstreams: upstreams.clone(),
            allow: Vec::new(),
            deny: Vec::new(),
            list: Vec::new(),
            resources: Vec::new(),
            prompts: Vec::new(),
            arguments: Vec::new(),
            identity: None,
        };
        let allowed = tools.iter().map(|(of, name)| UpstreamRule { allow: vec![name.clone()], ..about(of) });
        let read =
            resources.iter().map(|(of, uri)| UpstreamRule { resources: vec![uri.clone()], ..about(of) });
        let got = prompts.iter().map(|(of, name)| UpstreamRule { prompts: vec![name.clone()], ..about(of) });
        Rule { upstreams: allowed.chain(read).chain(got).collect(), ..Rule::default() }
    }

    /// Whether it matches a caller; `None` if that depends on what is not known of it.
    pub(super) fn matches(&self, caller: &Caller) -> Option<bool> {
        let mut held = Some(true);
        for condition in &self.conditions {
            match condition.holds(caller) {
                Some(false) => return Some(false),
                Some(true) => {}
                None => held = None,
            }
        }
        held
    }

    /// What holds of it for callers whom it may match or not: what takes rights away.
    pub(super) fn narrowing(&self) -> Rule {
        let narrowing = |entry: &UpstreamRule| UpstreamRule {
            upstreams: entry.upstreams.clone(),
            allow: Vec::new(),
            deny: entry.deny.clone(),
            list: Vec::new(),
            resources: Vec::new(),
            prompts: Vec::new(),
            arguments: Vec::new(),
            identity: entry.identity.filter(|identity| *identity == Identity::PerPrincipal),
        };
        Rule { upstreams: self.upstreams.iter().map(narrowing).collect(), ..Rule::default() }
    }

    /// What it says about an upstream.
    pub(super) fn about<'r>(&'r self, upstream: &str) -> impl Iterator<Item = &'r UpstreamRule> {
        self.upstreams.iter().filter(move |rule| rule.upstreams.matches(upstream))
    }

    /// Whether one of its entries about the upstream allows the tool.
    pub(super) fn allows(&self, upstream: &str, tool: &str) -> bool {
        self.about(upstream).any(|rule| fits(&rule.allow, tool))
    }

    /// What its entries about the upstream say of the arguments of a tool, whichever of them allows it: all of it must hold.
    pub(super) fn arguments_of<'r>(
        &'r self,
        upstream: &str,
        tool: &str,
    ) -> impl Iterator<Item = (&'r UpstreamRule, &'r ToolArguments)> {
        let about = self.about(upstream);
        let rules = about.flat_map(|entry| entry.arguments.iter().map(move |rules| (entry, rules)));
        rules.filter(move |(_, rules)| rules.tools.matches(tool))
    }
}

impl Condition {
    /// Whether it holds of a caller; `None` if that is not known.
    pub(super) fn holds(&self, caller: &Caller) -> Option<bool> {
        let is = |known: Option<&str>, wanted: &str| Some(known == Some(wanted));
        match self {
            Condition::Principal(name) => is(Some(&caller.principal), name),
            Condition::Issuer(issuer) => is(caller.issuer.as_deref(), issuer),
            Condition::Subject(subject) => is(caller.subject.as_deref(), subject),
            Condition::Scope(any) => caller.has_scope(any),
            Condition::Claim(name, value) => caller.has_claim(name, value),
        }
    }
}

/// Whether one of the patterns fits.
pub(super) fn fits(patterns: &[NamePattern], name: &str) -> bool {
    patterns.iter().any(|pattern| pattern.matches(name))
}
