//! What one set of rules permits.

use std::sync::Arc;

use ptc_base::name_pattern::NamePattern;
use ptc_mcp::json::Raw;

use super::argument::ArgumentRefusal;
use super::identity::Identity;
use super::limits::Limits;
use super::path::is_plain_uri;
use super::rule::{Rule, UpstreamRule, fits};

/// Whether a caller sees a tool, and may call it; the less it may, the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// It may call it, with arguments that [`Grant::check_arguments`] permits.
    Allowed,
    /// It sees it, and may not call it.
    Listed,
    /// For this caller there is no such tool.
    Hidden,
}

/// The sum of the rules that match a caller: what one of them allows is allowed, unless one of them denies it. Callers whom
/// the same rules match share one.
#[derive(Debug)]
pub struct Grant {
    rules: Vec<Arc<Rule>>,
    limits: Limits,
    /// The part of it that a profile or a program shows.
    within: Option<Arc<Grant>>,
}

impl Grant {
    /// The grant of these rules, in the order of the file.
    pub(super) fn of(rules: Vec<Arc<Rule>>) -> Grant {
        let limits = rules.iter().fold(Limits::default(), |limits, rule| limits.or(&rule.limits));
        Grant::limited(rules, limits)
    }

    /// The grant of these rules, with limits of its own.
    pub(super) fn limited(rules: Vec<Arc<Rule>>, limits: Limits) -> Grant {
        Grant { rules, limits, within: None }
    }

    /// The grant of those who may do everything.
    pub fn everything() -> Grant {
        Grant::of(vec![Arc::new(Rule::everything())])
    }

    /// The grant of these tools, resources and prompts, each with a pattern of upstreams and one of names.
    pub fn of_patterns(
        tools: &[(NamePattern, NamePattern)],
        resources: &[(NamePattern, NamePattern)],
        prompts: &[(NamePattern, NamePattern)],
    ) -> Grant {
        Grant::of(vec![Arc::new(Rule::of_patterns(tools, resources, prompts))])
    }

    /// What callers may do who see a part alone, a profile or what a program names: what both this grant and the part allow. Limits
    /// are those of this grant.
    #[must_use]
    pub fn within(&self, part: &Arc<Grant>) -> Grant {
        let (rules, limits) = (self.rules.clone(), self.limits.clone());
        let part = match &self.within {
            None => part.clone(),
            Some(former) => Arc::new(part.within(former)),
        };
        Grant { rules, limits, within: Some(part) }
    }

    /// Whether the caller sees a tool, and may call it.
    pub fn tool(&self, upstream: &str, tool: &str) -> Access {
        let any =
            |patterns: fn(&UpstreamRule) -> &[_]| self.about(upstream).any(|rule| fits(patterns(rule), tool));
        let own = match (any(|rule| &rule.allow) && !any(|rule| &rule.deny), any(|rule| &rule.list)) {
            (true, _) => Access::Allowed,
            (false, true) => Access::Listed,
            (false, false) => Access::Hidden,
        };
        self.within.as_ref().map_or(own, |profile| own.max(profile.tool(upstream, tool)))
    }

    /// Whether the caller sees the upstream at all: a rule that matches it is about it and grants something.
    pub fn upstream(&self, upstream: &str) -> bool {
        self.everywhere(upstream, |rule| {
            [&rule.allow, &rule.list, &rule.resources, &rule.prompts]
                .iter()
                .any(|patterns| !patterns.is_empty())
        })
    }

    /// Whether the caller may read a resource, by its URI or the text of its template. Servers resolve dots and decode percent signs
    /// of a URI: one that could so be another resource fits `*`, which means every resource, and the pattern that is its very text.
    pub fn resource(&self, upstream: &str, uri: &str) -> bool {
        let fits = |pattern: &NamePattern| match pattern.as_str() {
            "*" => true,
            text => text == uri || (pattern.matches(uri) && is_plain_uri(uri)),
        };
        self.everywhere(upstream, |rule| rule.resources.iter().any(fits))
    }

    /// Whether there is any resource of the upstream that the caller may read.
    pub fn any_resource(&self, upstream: &str) -> bool {
        self.everywhere(upstream, |rule| !rule.resources.is_empty())
    }

    /// Whether there is any prompt of the upstream that the caller may use.
    pub fn any_prompt(&self, upstream: &str) -> bool {
        self.everywhere(upstream, |rule| !rule.prompts.is_empty())
    }

    /// Whether the caller may use a prompt.
    pub fn prompt(&self, upstream: &str, name: &str) -> bool {
        self.everywhere(upstream, |rule| fits(&rule.prompts, name))
    }

    /// Judges the arguments of a call of a tool that is allowed: one of the rules that allow it must permit them all, in whatever it
    /// says of the upstream.
    /// `arguments` is the text of an object, or empty.
    ///
    /// # Errors
    /// No rule permits them: what the first one says of them.
    pub fn check_arguments(
        &self,
        upstream: &str,
        tool: &str,
        arguments: &str,
    ) -> Result<(), ArgumentRefusal> {
        let mut refused = None;
        let mut read = None;
        for rule in self.rules.iter().filter(|rule| rule.allows(upstream, tool)) {
            let mut about = rule.arguments_of(upstream, tool).peekable();
            if about.peek().is_none() {
                return Ok(());
            }
            let arguments = *read.get_or_insert_with(|| Raw::parse(arguments).ok());
            match about.try_for_each(|(_, rules)| rules.check(arguments)) {
                Ok(()) => return Ok(()),
                Err(why) => {
                    refused.get_or_insert(why);
                }
            }
        }
        let Some((argument, reason)) = refused else { return Ok(()) };
        let (upstream, tool, argument) = (upstream.into(), tool.into(), argument.into());
        Err(ArgumentRefusal { upstream, tool, argument, reason })
    }

    /// Whether [`check_arguments`](Self::check_arguments) may refuse a call of a tool that is allowed: every rule that allows it
    /// has rules on its arguments.
    pub fn judges(&self, upstream: &str, tool: &str) -> bool {
        let mut allowing = self.rules.iter().filter(|rule| rule.allows(upstream, tool)).peekable();
        allowing.peek().is_some() && allowing.all(|rule| rule.arguments_of(upstream, tool).next().is_some())
    }

    /// Whose sign-in the caller's calls of an upstream use, if one of the rules says so: its own, if one of several wants that.
    pub fn identity(&self, upstream: &str) -> Option<Identity> {
        let chosen = self.about(upstream).filter_map(|rule| rule.identity);
        chosen.reduce(|one, other| if one == Identity::Shared { other } else { one })
    }

    /// The first pattern of upstreams in its rules that fits none of these names.
    pub(super) fn idle(&self, names: &[&str]) -> Option<&str> {
        let entries = self.rules.iter().flat_map(|rule| &rule.upstreams).map(|entry| &entry.upstreams);
        let mut idle = entries.filter(|pattern| !names.iter().any(|name| pattern.matches(name)));
        idle.find(|pattern| pattern.as_str() != "*").map(NamePattern::as_str)
    }

    /// How much the caller may use: of each limit what the first rule says that sets it.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Whether the caller sees, and answers for, the runs of all callers.
    pub fn is_operator(&self) -> bool {
        self.rules.iter().any(|rule| rule.is_operator)
    }

    /// Whether something holds of one of the rules about an upstream, and of one of each part's.
    fn everywhere(&self, upstream: &str, holds: impl Fn(&UpstreamRule) -> bool) -> bool {
        let mut grants = std::iter::successors(Some(self), |grant| grant.within.as_deref());
        grants.all(|grant| grant.about(upstream).any(&holds))
    }

    fn about<'g>(&'g self, upstream: &'g str) -> impl Iterator<Item = &'g UpstreamRule> {
        self.rules.iter().flat_map(move |rule| rule.about(upstream))
    }
}
