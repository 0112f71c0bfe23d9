//! Which rule, pattern and argument rule decided about a call, for the person who wrote the file.
//!
//! What decides is [`Grant`]; here is told why. Places are those of the file, as in its errors:
//! `rules[1].upstreams.github.allow[0]`.

use std::fmt;

use ptc_mcp::json::Raw;

use super::argument::ArgumentRefusal;
use super::caller::Caller;
use super::grant::{Access, Grant};
use super::identity::Identity;
use super::policy::Policy;
use super::rule::{Condition, Rule, UpstreamRule, fits};

/// What becomes of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is made.
    Allowed,
    /// An argument is not permitted.
    Refused(ArgumentRefusal),
    /// The caller sees the tool, and may not call it.
    Listed,
    /// For the caller there is no such tool.
    Hidden,
}

impl Verdict {
    /// The words of all verdicts, as tests of a policy expect them.
    pub const WORDS: [&'static str; 4] = ["allowed", "refused", "listed", "hidden"];

    /// The verdict in a word.
    pub fn as_str(&self) -> &'static str {
        match self {
            Verdict::Allowed => "allowed",
            Verdict::Refused(_) => "refused",
            Verdict::Listed => "listed",
            Verdict::Hidden => "hidden",
        }
    }
}

/// Why a call is allowed or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// What becomes of the call. Without arguments, these are taken for permitted.
    pub verdict: Verdict,
    /// Every rule of the file, in order.
    pub rules: Vec<RuleMatch>,
    /// The patterns of matching rules that fit the tool, in order.
    pub patterns: Vec<PatternMatch>,
    /// What the rules that allow the tool say of the arguments, if there are some to judge.
    pub arguments: Vec<ArgumentMatch>,
    /// What matching rules say of the sign-in at the upstream, in order.
    pub identities: Vec<IdentityMatch>,
    /// Whose sign-in calls of the upstream use, if a rule says so; otherwise the entry of the upstream does.
    pub identity: Option<Identity>,
    /// What holds for a caller that no rule matches, if the caller is such a one: whether everything is allowed.
    pub by_default: Option<bool>,
}

/// A rule, and whether it matches the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleMatch {
    /// `rules[1]`
    pub place: Box<str>,
    /// Its name, if it has one.
    pub name: Option<Box<str>>,
    /// The first condition that the caller does not meet; `None` if the rule matches.
    pub unmet: Option<Box<str>>,
}

/// A pattern that fits the tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternMatch {
    /// `rules[1].upstreams.github.allow[0]`
    pub place: Box<str>,
    /// `allow`, `deny` or `list`.
    pub list: &'static str,
    /// The pattern.
    pub pattern: Box<str>,
}

/// What a rule says of the sign-in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityMatch {
    /// `rules[1].upstreams.github.identity`
    pub place: Box<str>,
    /// Whose sign-in it wants.
    pub identity: Identity,
}

/// What a rule that allows the tool says of the arguments, in all its entries about the upstream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentMatch {
    /// `rules[1].upstreams.github.args.create_issue.repo` of the argument that is refused, else the entry that allows the tool.
    pub place: Box<str>,
    /// What is wrong; `None` if all are permitted.
    pub refusal: Option<Box<str>>,
}

impl Policy {
    /// Says what becomes of a call of `upstream`'s `tool` by `caller`, and why. `arguments` is the text of an object; `None` asks
    /// about the tool alone.
    pub fn explain(
        &self,
        caller: &Caller,
        upstream: &str,
        tool: &str,
        arguments: Option<&str>,
    ) -> Explanation {
        let grant = self.grant(caller);
        let rules: Vec<RuleMatch> =
            self.rules.iter().enumerate().map(|(at, rule)| RuleMatch::of(at, rule, caller)).collect();
        let matching = || self.rules.iter().zip(&rules).filter(|(_, found)| found.unmet.is_none());
        let about = || {
            matching().flat_map(move |(rule, found)| {
                let about = rule.about(upstream);
                about
                    .map(move |rule| (format!("{}.upstreams.{}", found.place, rule.upstreams.as_str()), rule))
            })
        };
        let patterns = about().flat_map(|(place, rule)| fitting(&place, rule, tool)).collect();
        let judged = arguments.map(Raw::parse).map(Result::ok).into_iter();
        let arguments_judged = judged.flat_map(|arguments| {
            let allowing = matching().filter(|(rule, _)| rule.allows(upstream, tool));
            allowing
                .map(move |(rule, found)| ArgumentMatch::of(&found.place, rule, upstream, tool, arguments))
        });
        let identities = about().filter_map(|(place, rule)| {
            Some(IdentityMatch { place: format!("{place}.identity").into(), identity: rule.identity? })
        });
        Explanation {
            identities: identities.collect(),
            identity: grant.identity(upstream),
            verdict: verdict(&grant, upstream, tool, arguments),
            patterns,
            arguments: arguments_judged.collect(),
            by_default: rules.iter().all(|rule| rule.unmet.is_some()).then_some(self.default_allows),
            rules,
        }
    }
}

fn verdict(grant: &Grant, upstream: &str, tool: &str, arguments: Option<&str>) -> Verdict {
    let judged = |arguments| grant.check_arguments(upstream, tool, arguments);
    match grant.tool(upstream, tool) {
        Access::Hidden => Verdict::Hidden,
        Access::Listed => Verdict::Listed,
        Access::Allowed => match arguments.map_or(Ok(()), judged) {
            Ok(()) => Verdict::Allowed,
            Err(refusal) => Verdict::Refused(refusal),
        },
    }
}

fn fitting(place: &str, rule: &UpstreamRule, tool: &str) -> Vec<PatternMatch> {
    let lists = [("allow", &rule.allow), ("deny", &rule.deny), ("list", &rule.list)];
    let patterns = lists.into_iter().flat_map(|(list, patterns)| {
        let fitting = patterns.iter().enumerate().filter(|(_, pattern)| pattern.matches(tool));
        fitting.map(move |(at, pattern)| PatternMatch {
            place: format!("{place}.{list}[{at}]").into(),
            list,
            pattern: pattern.as_str().into(),
        })
    });
    patterns.collect()
}

impl RuleMatch {
    fn of(at: usize, rule: &Rule, caller: &Caller) -> RuleMatch {
        let unmet = rule.conditions.iter().find(|condition| condition.holds(caller) != Some(true));
        let unmet = unmet.map(|condition| condition.to_string().into());
        RuleMatch { place: format!("rules[{at}]").into(), name: rule.name.clone(), unmet }
    }
}

impl ArgumentMatch {
    /// `place`: of the rule.
    fn of(place: &str, rule: &Rule, upstream: &str, tool: &str, arguments: Option<Raw<'_>>) -> ArgumentMatch {
        let of_entry = |entry: &UpstreamRule| format!("{place}.upstreams.{}", entry.upstreams.as_str());
        let refused = rule.arguments_of(upstream, tool).find_map(|(entry, rules)| {
            let (argument, reason) = rules.check(arguments).err()?;
            Some((format!("{}.args.{}.{argument}", of_entry(entry), rules.tools.as_str()), reason))
        });
        let (place, refusal) = match refused {
            Some((place, reason)) => (place, Some(reason)),
            None => {
                let mut about = rule.about(upstream);
                let allowing = about.find(|entry| fits(&entry.allow, tool));
                (allowing.map_or_else(|| place.to_owned(), of_entry), None)
            }
        };
        ArgumentMatch { place: place.into(), refusal }
    }
}

/// `match.principal is "ci"`
impl fmt::Display for Condition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Condition::Principal(name) => write!(out, "match.principal is {name:?}"),
            Condition::Issuer(issuer) => write!(out, "match.issuer is {issuer:?}"),
            Condition::Subject(subject) => write!(out, "match.subject is {subject:?}"),
            Condition::Scope(any) => {
                let implied = any.iter().skip(1).map(|scope| format!(" or {scope:?}, which implies it"));
                let wanted = any.first().map_or("", |scope| &**scope);
                write!(out, "match.scope is {wanted:?}{}", implied.collect::<String>())
            }
            Condition::Claim(name, value) => write!(out, "match.claim.{name} is {value:?}"),
        }
    }
}
