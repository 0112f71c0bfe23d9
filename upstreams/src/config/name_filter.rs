//! `allow_tools` and `deny_tools`, and the same for resources and prompts: the part of an upstream that programs can see.

use std::fmt;

use super::fields::Fields;
use ptc_base::config_error::ConfigError;
use ptc_base::name_pattern::NamePattern;
use ptc_base::similar::most_similar;

/// A sentence if `pattern` fits none of `names`, which are those of all tools of `upstream`.
pub(super) fn idle(pattern: &NamePattern, upstream: &str, key: &str, names: &[&str]) -> Option<String> {
    if names.iter().any(|name| pattern.matches(name)) {
        return None;
    }
    let near = most_similar(pattern.as_str().trim_matches('*'), names.iter().copied());
    let near = near.map(|name| format!("; did you mean {name:?}?")).unwrap_or_default();
    let text = pattern.as_str();
    Some(format!("upstream {upstream} {key} {text:?} fits none of its {} tools{near}", names.len()))
}

/// The patterns of a list under `key`, if there is one.
///
/// # Errors
/// One of them is empty, as `error` puts it.
pub(super) fn patterns(
    key: &'static str,
    names: Option<Vec<String>>,
    error: impl Fn(fmt::Arguments<'_>) -> ConfigError,
) -> Result<Option<Vec<NamePattern>>, ConfigError> {
    let Some(names) = names else { return Ok(None) };
    if names.iter().any(String::is_empty) {
        return Err(error(format_args!("{key} has an empty name")));
    }
    Ok(Some(names.into_iter().filter_map(NamePattern::new).collect()))
}

/// A filter of one upstream. A tool exists if it is allowed and not denied; a hidden tool is in no catalog and a
/// call to it is a call to an unknown tool. Resources are filtered by URI, templates by the text of theirs, prompts by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameFilter {
    /// `None` allows everything, an empty list nothing.
    pub allow: Option<Vec<NamePattern>>,
    /// Takes precedence over `allow`.
    pub deny: Vec<NamePattern>,
}

impl NameFilter {
    /// Whether this name is visible to programs.
    pub fn admits(&self, name: &str) -> bool {
        let fits = |patterns: &[NamePattern]| patterns.iter().any(|pattern| pattern.matches(name));
        self.allow.as_deref().is_none_or(fits) && !fits(&self.deny)
    }

    /// A sentence for each pattern that fits none of `names`, which are those of all the upstream's tools: a mistyped one
    /// hides, or admits, the wrong tools.
    pub fn idle(&self, upstream: &str, names: &[&str]) -> Vec<String> {
        let allow = self.allow.iter().flatten().map(|pattern| ("allow_tools", pattern));
        let deny = self.deny.iter().map(|pattern| ("deny_tools", pattern));
        allow.chain(deny).filter_map(|(key, pattern)| idle(pattern, upstream, key, names)).collect()
    }

    /// Reads the two keys, for instance `["allow_tools", "deny_tools"]`.
    pub(super) fn parse(fields: &Fields<'_>, [allow, deny]: [&'static str; 2]) -> Result<Self, ConfigError> {
        let patterns = |key| patterns(key, fields.strings(key)?, |detail| fields.error(detail));
        Ok(Self { allow: patterns(allow)?, deny: patterns(deny)?.unwrap_or_default() })
    }
}

#[cfg(test)]
mod tests {
    use ptc_mcp::json::json;

    use super::*;

    fn filter(entry: ptc_mcp::json::Value) -> Result<NameFilter, String> {
        let ptc_mcp::json::Value::Object(map) = entry else { panic!("an object") };
        NameFilter::parse(&Fields::new("x", &map), ["allow_tools", "deny_tools"]).map_err(|e| e.to_string())
    }

    #[test]
    fn deny_wins_over_allow() {
        assert!(filter(json!({})).unwrap().admits("anything"));
        assert!(!filter(json!({"allow_tools": []})).unwrap().admits("anything"));
        let both = filter(json!({"allow_tools": ["get_*", "list"], "deny_tools": ["get_secret*"]})).unwrap();
        assert!(both.admits("get_pr") && both.admits("list"));
        assert!(!both.admits("get_secret_key") && !both.admits("delete"));
    }

    #[test]
    fn patterns_that_fit_nothing_are_told() {
        let both =
            filter(json!({"allow_tools": ["raed_file", "list*", "*"], "deny_tools": ["zzz"]})).unwrap();
        assert_eq!(
            both.idle("x", &["read_file", "list"]),
            [
                "upstream x allow_tools \"raed_file\" fits none of its 2 tools; did you mean \"read_file\"?",
                "upstream x deny_tools \"zzz\" fits none of its 2 tools"
            ]
        );
    }

    #[test]
    fn refuses_malformed_lists() {
        assert_eq!(
            filter(json!({"allow_tools": "x"})).unwrap_err(),
            "upstream x allow_tools must be a list of strings"
        );
        assert_eq!(
            filter(json!({"deny_tools": [""]})).unwrap_err(),
            "upstream x deny_tools has an empty name"
        );
    }
}
