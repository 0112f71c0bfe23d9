//! Which tools of an upstream need a person's approval (waiting.md 3.3).

use std::fmt;

use ptc_mcp::json::{Map, Value, json};

use super::fields::Fields;
use super::name_filter::{idle, patterns};
use ptc_base::config_error::ConfigError;
use ptc_base::name_pattern::NamePattern;
use ptc_base::similar::most_similar;
use ptc_engine::questions::Level;
use ptc_secret::canonical_json::canonical_value;
use ptc_secret::digest::hex_digest;

/// Which tools need an approval by their annotations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ByHints {
    #[default]
    Never,
    /// Those that may destroy something: not read-only, and not said to be harmless.
    Destructive,
    /// All but those that are read-only.
    Writes,
}

/// The value of this annotation of a tool, if it is true or false.
pub fn hint(annotations: Option<&Value>, name: &str) -> Option<bool> {
    annotations?.get(name)?.as_bool()
}

impl ByHints {
    const ALL: [ByHints; 3] = [Self::Never, Self::Destructive, Self::Writes];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Destructive => "destructive",
            Self::Writes => "writes",
        }
    }

    /// Whether a tool of these annotations needs one. Operations of a REST service say that they are read-only.
    fn asks(self, annotations: Option<&Value>) -> bool {
        let hint = |name| hint(annotations, name);
        let reads = hint("readOnlyHint") == Some(true);
        match self {
            Self::Never => false,
            Self::Destructive => !reads && hint("destructiveHint") != Some(false),
            Self::Writes => !reads,
        }
    }
}

/// The approvals that an upstream's tools need: the keys `approve`, `approve_tools` and `approve_level` of its entry, with the
/// file's `approval` for those that it does not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApprovalPolicy {
    by_hints: ByHints,
    tools: Vec<NamePattern>,
    level: Level,
    /// Whether the entry itself names tools. Patterns of the whole file need not fit something everywhere.
    own_tools: bool,
}

impl ApprovalPolicy {
    /// Whether no tool can need an approval.
    pub fn is_never(&self) -> bool {
        self.by_hints == ByHints::Never && self.tools.is_empty()
    }

    /// The level of approval before this tool is called; `None` if it needs none.
    pub fn needs(&self, tool: &str, annotations: Option<&Value>) -> Option<Level> {
        let named = || self.tools.iter().any(|pattern| pattern.matches(tool));
        (self.by_hints.asks(annotations) || named()).then_some(self.level)
    }

    /// SHA-256 in hex digits of these keys and of the tool's description: a change of any of them ends an approval.
    pub fn revision(&self, tool: &str, schema: &Value, annotations: Option<&Value>) -> String {
        let tools: Vec<&str> = self.tools.iter().map(NamePattern::as_str).collect();
        let all = json!({
            "approve": self.by_hints.as_str(),
            "approve_tools": tools,
            "approve_level": self.level.as_str(),
            "name": tool,
            "inputSchema": schema.clone(),
            "annotations": annotations.cloned(),
        });
        // A schema with a number that nobody can read counts by its text.
        let text = canonical_value(&all).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        hex_digest(&text.unwrap_or_else(|| all.to_string()), 64)
    }

    /// A sentence for each pattern of the entry that fits none of `names`, those of all the upstream's tools: a mistyped one
    /// lets a tool through that was to be asked for.
    pub fn idle(&self, upstream: &str, names: &[&str]) -> Vec<String> {
        let own = self.tools.iter().filter(|_| self.own_tools);
        own.filter_map(|pattern| idle(pattern, upstream, "approve_tools", names)).collect()
    }

    /// Reads the file's `approval`.
    ///
    /// # Errors
    /// It is no object of the three keys, or one of them has another value.
    pub(super) fn parse_defaults(value: Option<&Value>) -> Result<Self, ConfigError> {
        const KEYS: [&str; 3] = ["approve", "approve_tools", "approve_level"];
        let error = |detail: fmt::Arguments<'_>| ConfigError::file(format_args!("approval {detail}"));
        let map = match value {
            None => return Ok(Self::default()),
            Some(Value::Object(map)) => map,
            Some(_) => return Err(ConfigError::file("approval must be an object")),
        };
        if let Some(unknown) = map.keys().find(|key| !KEYS.contains(&key.as_str()) && !key.starts_with('$')) {
            let near = most_similar(unknown, KEYS.into_iter());
            let near = near.map(|key| format!("; did you mean {key}?")).unwrap_or_default();
            return Err(error(format_args!("has unknown key {unknown:?}{near}")));
        }
        let strings = |map: &Map| -> Result<Option<Vec<String>>, ConfigError> {
            let wrong = || error(format_args!("approve_tools must be a list of strings"));
            let Some(value) = map.get("approve_tools") else { return Ok(None) };
            let items = value.as_array().ok_or_else(wrong)?;
            items
                .iter()
                .map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong))
                .collect::<Result<_, _>>()
                .map(Some)
        };
        Self::default().changed(|key| map.get(key), patterns("approve_tools", strings(map)?, error)?, error)
    }

    /// Reads the keys of an entry.
    ///
    /// # Errors
    /// One of them has another value than it may have.
    pub(super) fn parse(fields: &Fields<'_>, defaults: &Self) -> Result<Self, ConfigError> {
        let error = |detail: fmt::Arguments<'_>| fields.error(detail);
        let tools = patterns("approve_tools", fields.strings("approve_tools")?, error)?;
        let own_tools = tools.is_some();
        let policy = defaults.clone().changed(|key| fields.get(key), tools, error)?;
        Ok(Self { own_tools, ..policy })
    }

    fn changed<'v>(
        self,
        get: impl Fn(&'static str) -> Option<&'v Value>,
        tools: Option<Vec<NamePattern>>,
        error: impl Fn(fmt::Arguments<'_>) -> ConfigError,
    ) -> Result<Self, ConfigError> {
        let word = |key: &'static str| get(key).map(|value| (value.as_str().unwrap_or_default(), value));
        let by_hints = match word("approve") {
            None => self.by_hints,
            Some((word, value)) => {
                ByHints::ALL.into_iter().find(|known| known.as_str() == word).ok_or_else(|| {
                    error(format_args!(
                        "approve must be \"never\", \"destructive\" or \"writes\", got {value}"
                    ))
                })?
            }
        };
        let level = match word("approve_level") {
            None => self.level,
            Some((word, value)) => Level::from_word(word).ok_or_else(|| {
                error(format_args!(
                    "approve_level must be \"model\", \"client\" or \"out_of_band\", got {value}"
                ))
            })?,
        };
        Ok(Self { by_hints, level, tools: tools.unwrap_or(self.tools), own_tools: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(defaults: Value, entry: Value) -> Result<ApprovalPolicy, String> {
        let defaults = ApprovalPolicy::parse_defaults(Some(&defaults)).map_err(|e| e.to_string())?;
        let Value::Object(map) = entry else { panic!("an object") };
        ApprovalPolicy::parse(&Fields::new("x", &map), &defaults).map_err(|e| e.to_string())
    }

    #[test]
    fn hints_and_names_say_what_needs_one() {
        let tools = [
            ("plain", None),
            ("reads", Some(json!({"readOnlyHint": true}))),
            ("harmless", Some(json!({"destructiveHint": false}))),
            ("destroys", Some(json!({"readOnlyHint": false, "destructiveHint": true}))),
            ("odd", Some(json!({"readOnlyHint": "true", "destructiveHint": 0}))),
            ("both", Some(json!({"readOnlyHint": true, "destructiveHint": true}))),
        ];
        let asked = |entry: Value| {
            let policy = policy(json!({}), entry).unwrap();
            let needing = tools.iter().filter(|(name, hints)| policy.needs(name, hints.as_ref()).is_some());
            needing.map(|(name, _)| *name).collect::<Vec<_>>()
        };
        assert_eq!(asked(json!({})), [""; 0]);
        assert_eq!(asked(json!({"approve": "never"})), [""; 0]);
        assert_eq!(asked(json!({"approve": "destructive"})), ["plain", "destroys", "odd"]);
        assert_eq!(asked(json!({"approve": "writes"})), ["plain", "harmless", "destroys", "odd"]);
        assert_eq!(asked(json!({"approve_tools": ["re*", "both"]})), ["reads", "both"]);
        assert_eq!(asked(json!({"approve": "destructive", "approve_tools": ["*"]})).len(), 6);
    }

    #[test]
    fn an_entry_replaces_the_files_keys_one_by_one() {
        let defaults = json!({"approve": "writes", "approve_tools": ["a*"], "approve_level": "out_of_band"});
        let inherited = policy(defaults.clone(), json!({})).unwrap();
        assert_eq!(inherited.needs("b", None), Some(Level::OutOfBand));
        let own = policy(defaults.clone(), json!({"approve": "never", "approve_level": "model"})).unwrap();
        assert_eq!(own.needs("b", None), None);
        assert_eq!(own.needs("ab", None), Some(Level::Model));
        assert!(policy(defaults, json!({"approve": "never", "approve_tools": []})).unwrap().is_never());
        assert_eq!(
            policy(json!({"approve": "writes"}), json!({})).unwrap().needs("b", None),
            Some(Level::Client)
        );
    }

    #[test]
    fn wrong_values_are_told() {
        for (key, value, text) in [
            (
                "approve",
                json!("always"),
                r#"approve must be "never", "destructive" or "writes", got "always""#,
            ),
            ("approve", json!(true), r#"approve must be "never", "destructive" or "writes", got true"#),
            ("approve_tools", json!("x"), "approve_tools must be a list of strings"),
            ("approve_tools", json!([1]), "approve_tools must be a list of strings"),
            ("approve_tools", json!([""]), "approve_tools has an empty name"),
            (
                "approve_level",
                json!("Client"),
                r#"approve_level must be "model", "client" or "out_of_band", got "Client""#,
            ),
            (
                "approve_level",
                json!(null),
                r#"approve_level must be "model", "client" or "out_of_band", got null"#,
            ),
        ] {
            assert_eq!(
                policy(json!({}), json!({key: value.clone()})).unwrap_err(),
                format!("upstream x {text}")
            );
            assert_eq!(policy(json!({key: value}), json!({})).unwrap_err(), format!("approval {text}"));
        }
        assert_eq!(policy(json!(5), json!({})).unwrap_err(), "approval must be an object");
        assert_eq!(
            policy(json!({"aprove": "writes"}), json!({})).unwrap_err(),
            "approval has unknown key \"aprove\"; did you mean approve?"
        );
    }

    #[test]
    fn the_revision_changes_with_policy_and_tool() {
        let policy = |entry| policy(json!({}), entry).unwrap();
        let base = policy(json!({"approve": "writes"}));
        let schema = json!({"type": "object", "properties": {"a": {}, "b": {}}});
        let revision = base.revision("t", &schema, None);
        assert_eq!(revision.len(), 64);
        let reordered = json!({"properties": {"b": {}, "a": {}}, "type": "object"});
        assert_eq!(base.revision("t", &reordered, None), revision);
        for other in [
            base.revision("u", &schema, None),
            base.revision("t", &json!({"type": "object"}), None),
            base.revision("t", &schema, Some(&json!({"readOnlyHint": false}))),
            policy(json!({"approve": "destructive"})).revision("t", &schema, None),
            policy(json!({"approve": "writes", "approve_tools": ["t"]})).revision("t", &schema, None),
            policy(json!({"approve": "writes", "approve_level": "model"})).revision("t", &schema, None),
        ] {
            assert_ne!(other, revision);
        }
    }

    #[test]
    fn own_patterns_that_fit_nothing_are_told() {
        let names = ["delete_repo", "list"];
        let own = policy(json!({"approve_tools": ["zzz"]}), json!({"approve_tools": ["delte_repo", "l*"]}))
            .unwrap();
        assert_eq!(
            own.idle("x", &names),
            [
                "upstream x approve_tools \"delte_repo\" fits none of its 2 tools; did you mean \"delete_repo\"?"
            ]
        );
        let inherited = policy(json!({"approve_tools": ["zzz"]}), json!({})).unwrap();
        assert_eq!(inherited.idle("x", &names), [""; 0]);
    }
}
