//! Rules on the arguments of a call.

use std::fmt;

use ptc_base::name_pattern::NamePattern;
use ptc_base::visible::visible_line;
use ptc_mcp::json::{Kind, Raw, Value};

use super::path::Folder;

/// Longest part of a value that a refusal shows, in characters.
const SHOWN: usize = 60;

/// What one argument must be: everything that is set must hold. The argument must be there, and be a text, a number or a
/// boolean.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArgumentRule {
    /// One of these values.
    pub one_of: Option<Box<[Value]>>,
    /// A text that begins so.
    pub prefix: Option<Box<str>>,
    /// A path in this folder.
    pub under: Option<Folder>,
    /// A number that is not less.
    pub min: Option<Box<str>>,
    /// A number that is not greater.
    pub max: Option<Box<str>>,
}

/// Rules on the arguments of the tools that a pattern fits.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ToolArguments {
    pub(super) tools: NamePattern,
    /// By name.
    pub(super) rules: Vec<(Box<str>, ArgumentRule)>,
}

/// Why an argument is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("argument '{argument}' of '{upstream}.{tool}' is not allowed for this caller: {reason}")]
pub struct ArgumentRefusal {
    /// The upstream.
    pub upstream: Box<str>,
    /// Its tool.
    pub tool: Box<str>,
    /// The argument that a rule is about.
    pub argument: Box<str>,
    /// What is wrong with it, and what would be right.
    pub reason: Box<str>,
}

impl ToolArguments {
    /// Judges the arguments of a call, an object.
    ///
    /// # Errors
    /// The first argument that breaks its rule, and how.
    pub(super) fn check(&self, arguments: Option<Raw<'_>>) -> Result<(), (&str, Box<str>)> {
        self.rules.iter().try_for_each(|(name, rule)| {
            let value = only(arguments, name).and_then(|value| rule.check(value));
            value.map_err(|reason| (&**name, reason.into_boxed_str()))
        })
    }
}

/// The one value of an argument. One whose name is spelt otherwise is refused, as servers differ in what they take for it.
fn only<'a>(arguments: Option<Raw<'a>>, name: &str) -> Result<Raw<'a>, String> {
    let mut found = None;
    for (key, value) in arguments.and_then(Raw::members).into_iter().flatten() {
        if key == name {
            if found.replace(value).is_some() {
                return Err("it is given twice".to_owned());
            }
        } else if is_alike(&key, name) {
            return Err(format!("it is spelt \"{}\"", shown(&key)));
        }
    }
    found.ok_or_else(|| "it is missing".to_owned())
}

/// Whether two names differ in case, `_` and `-` only.
pub(super) fn is_alike(one: &str, other: &str) -> bool {
    fn folded(name: &str) -> impl Iterator<Item = char> {
        name.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase)
    }
    folded(one).eq(folded(other))
}

impl ArgumentRule {
    /// Why no value is permitted, if that can be seen.
    pub(super) fn contradiction(&self) -> Option<String> {
        let has_bounds = self.min.is_some() || self.max.is_some();
        if has_bounds && (self.prefix.is_some() || self.under.is_some()) {
            return Some("min and max want a number, prefix and under a string".to_owned());
        }
        if let (Some(min), Some(max)) = (&self.min, &self.max)
            && !is_at_most(min, max)
        {
            return Some(format!("min is {min}, and max {max}"));
        }
        let rest = ArgumentRule { one_of: None, ..self.clone() };
        let fits = |value: &Value| {
            let text = value.to_string();
            Raw::parse(&text).is_ok_and(|value| rest.check(value).is_ok())
        };
        let values = self.one_of.as_ref()?;
        (!values.iter().any(fits)).then(|| "none of its values fits what else it says".to_owned())
    }

    /// Whether what its paths begin with lies beside its folder.
    pub(super) fn prefix_is_outside(&self) -> bool {
        let (Some(prefix), Some(folder)) = (&self.prefix, &self.under) else { return false };
        !prefix.starts_with(folder.as_str()) && !folder.as_str().starts_with(&**prefix)
    }

    /// Judges a value.
    fn check(&self, value: Raw<'_>) -> Result<(), String> {
        let kind = value.kind();
        if matches!(kind, Kind::Object | Kind::Array | Kind::Null) {
            return Err(format!("it is {}", with_article(kind)));
        }
        if let Some(values) = &self.one_of
            && !values.iter().any(|one| is_same(value, one))
        {
            return Err(format!("{} is {}", shown_value(value), Choice(values)));
        }
        if let Some(prefix) = &self.prefix {
            let text = text_of(value)?;
            if !text.starts_with(&**prefix) {
                return Err(format!("\"{}\" does not begin with {}", shown(&text), Value::from(&**prefix)));
            }
        }
        if let Some(folder) = &self.under {
            let text = text_of(value)?;
            if !folder.holds(&text) {
                return Err(format!(
                    "\"{}\" is no path under {}",
                    shown(&text),
                    Value::from(folder.as_str())
                ));
            }
        }
        let has_bounds = self.min.is_some() || self.max.is_some();
        if has_bounds && !matches!(kind, Kind::Integer | Kind::Number) {
            return Err(format!("it is {}, and must be a number", with_article(kind)));
        }
        if let Some(min) = &self.min
            && !is_at_most(min, value.text())
        {
            return Err(format!("{} is less than {min}", shown(value.text())));
        }
        if let Some(max) = &self.max
            && !is_at_most(value.text(), max)
        {
            return Err(format!("{} is more than {max}", shown(value.text())));
        }
        Ok(())
    }
}

fn text_of(value: Raw<'_>) -> Result<std::borrow::Cow<'_, str>, String> {
    value.as_str().ok_or_else(|| format!("it is {}, and must be a string", with_article(value.kind())))
}

/// Whether a value of a call is that of a rule: of one type, and equal.
fn is_same(value: Raw<'_>, wanted: &Value) -> bool {
    match wanted {
        Value::String(text) => value.as_str().is_some_and(|value| value == text.as_str()),
        Value::Bool(flag) => value.as_bool() == Some(*flag),
        Value::Number(number) => is_same_number(value, number.as_str()),
        _ => false,
    }
}

/// Whether two numbers are the same integer, or the same double: `1` is not `1.0`, since servers may tell them apart.
fn is_same_number(value: Raw<'_>, wanted: &str) -> bool {
    let double = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
    match value.kind() {
        Kind::Number if wanted.contains(['.', 'e', 'E']) => {
            double(value.text()).is_some_and(|number| double(wanted) == Some(number))
        }
        _ => value.text() == wanted,
    }
}

/// Whether one number, as it is written, is at most another. Integers are compared exactly; others as the nearest doubles,
/// which tell them apart up to 2⁵³: if both are beyond that, none passes.
fn is_at_most(one: &str, other: &str) -> bool {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if let (Ok(one), Ok(other)) = (one.parse::<i128>(), other.parse::<i128>()) {
        return one <= other;
    }
    let (Ok(one), Ok(other)) = (one.parse::<f64>(), other.parse::<f64>()) else { return false };
    one.abs().min(other.abs()) < EXACT && one <= other
}

fn with_article(kind: Kind) -> String {
    match kind {
        Kind::Null => "null".to_owned(),
        Kind::Integer => "an integer".to_owned(),
        Kind::Object => "an object".to_owned(),
        Kind::Array => "a list".to_owned(),
        kind => format!("a {}", kind.name()),
    }
}

fn shown(text: &str) -> String {
    let clipped: String = text.chars().take(SHOWN).collect();
    let rest = if clipped.len() < text.len() { "…" } else { "" };
    format!("{}{rest}", visible_line(&clipped))
}

fn shown_value(value: Raw<'_>) -> String {
    value.as_str().map_or_else(|| shown(value.text()), |text| format!("\"{}\"", shown(&text)))
}

/// The values that a rule permits, in a sentence.
struct Choice<'a>(&'a [Value]);

impl fmt::Display for Choice<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MOST: usize = 10;
        match self.0 {
            [only] => write!(out, "not {only}"),
            values => {
                write!(out, "none of ")?;
                for (at, value) in values.iter().take(MOST).enumerate() {
                    write!(out, "{}{value}", if at == 0 { "" } else { ", " })?;
                }
                if values.len() > MOST { write!(out, " and {} more", values.len() - MOST) } else { Ok(()) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptc_mcp::json::json;

    fn check(rule: ArgumentRule, arguments: &str) -> Result<(), String> {
        let tools = NamePattern::new("*").unwrap();
        let arguments = Some(arguments).filter(|text| !text.is_empty()).map(|text| Raw::parse(text).unwrap());
        let rules = ToolArguments { tools, rules: vec![("a".into(), rule)] };
        rules.check(arguments).map_err(|(name, reason)| format!("{name}: {reason}"))
    }

    #[test]
    fn an_argument_is_there_once_flat_and_of_its_type() {
        let rule =
            || ArgumentRule { one_of: Some([json!("web"), json!("app")].into()), ..ArgumentRule::default() };
        assert_eq!(check(rule(), r#"{"b": [1], "a": "w\u0065b"}"#), Ok(()));
        for (arguments, reason) in [
            ("", "a: it is missing"),
            ("{}", "a: it is missing"),
            (r#"{"a": null}"#, "a: it is null"),
            (r#"{"a": ["web"]}"#, "a: it is a list"),
            (r#"{"a": {"a": "web"}}"#, "a: it is an object"),
            (r#"{"a": 1}"#, r#"a: 1 is none of "web", "app""#),
            (r#"{"a": "Web"}"#, r#"a: "Web" is none of "web", "app""#),
            (r#"{"a": "web", "a": "evil"}"#, "a: it is given twice"),
            (r#"{"a": "web", "A": "evil"}"#, "a: it is spelt \"A\""),
        ] {
            assert_eq!(check(rule(), arguments), Err(reason.to_owned()), "{arguments}");
        }
    }

    #[test]
    fn numbers_are_compared_as_they_are_written() {
        let rule = |max: &str| ArgumentRule { max: Some(max.into()), ..ArgumentRule::default() };
        assert_eq!(check(rule("9007199254740992"), r#"{"a": 9007199254740992}"#), Ok(()));
        assert_eq!(check(rule("100"), r#"{"a": 99.5}"#), Ok(()));
        for (max, arguments) in [
            ("9007199254740992", r#"{"a": 9007199254740993}"#),
            ("100", r#"{"a": 1e3}"#),
            ("100", r#"{"a": "5"}"#),
            ("1e300", r#"{"a": 1e200}"#),
        ] {
            check(rule(max), arguments).expect_err(arguments);
        }
        let from_to =
            || ArgumentRule { min: Some("0".into()), max: Some("10".into()), ..ArgumentRule::default() };
        for number in ["0", "10", "0.0", "1e1"] {
            assert_eq!(check(from_to(), &format!(r#"{{"a": {number}}}"#)), Ok(()), "{number}");
        }
        for (number, reason) in [
            ("-1", "a: -1 is less than 0"),
            ("-1e300", "a: -1e300 is less than 0"),
            ("11", "a: 11 is more than 10"),
            ("true", "a: it is a boolean, and must be a number"),
        ] {
            assert_eq!(check(from_to(), &format!(r#"{{"a": {number}}}"#)), Err(reason.to_owned()));
        }
    }

    #[test]
    fn equal_numbers_are_of_one_type() {
        let rule = |value: Value| ArgumentRule { one_of: Some([value].into()), ..ArgumentRule::default() };
        for (value, arguments) in
            [(json!(1), "1"), (json!(1.5), "15e-1"), (json!(true), "true"), (json!(1e9), "1e9")]
        {
            assert_eq!(check(rule(value), &format!(r#"{{"a": {arguments}}}"#)), Ok(()), "{arguments}");
        }
        for (value, arguments) in [
            (json!(1), "1.0"),
            (json!(1.5), "2"),
            (json!(true), "false"),
            (json!("1"), "1"),
            (json!(1), "\"1\""),
        ] {
            check(rule(value), &format!(r#"{{"a": {arguments}}}"#)).expect_err(arguments);
        }
    }

    #[test]
    fn prefixes_and_folders_are_told() {
        let prefix = ArgumentRule { prefix: Some("acme/".into()), ..ArgumentRule::default() };
        assert_eq!(check(prefix.clone(), r#"{"a": "acme/x"}"#), Ok(()));
        assert_eq!(
            check(prefix, r#"{"a": "evil"}"#),
            Err(r#"a: "evil" does not begin with "acme/""#.to_owned())
        );
        let under = ArgumentRule { under: Folder::new("/reports", false, false), ..ArgumentRule::default() };
        assert_eq!(
            check(under, r#"{"a": "/reports/../etc"}"#),
            Err(r#"a: "/reports/../etc" is no path under "/reports""#.to_owned())
        );
    }
}
