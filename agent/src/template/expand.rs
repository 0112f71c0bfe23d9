//! Template expansion.

use super::{Template, TemplateNode, tag};
use crate::tool::JsonMap;
use ptc_base::json::Value as Json;

/// Largest text that a template grows to, in bytes: lists within lists multiply.
const MAX_BYTES: usize = 4 << 20;
/// Most places of an expanded template that are looked at for missing values, for the same reason.
const MAX_PLACES: usize = 1 << 20;

impl Template {
    /// The text with the values of `context`, in one pass: inserted values are not expanded again.
    pub(crate) fn expand(&self, context: &JsonMap) -> String {
        let mut out = String::new();
        expand(&self.parts, &[], context, &mut out);
        out
    }
}

/// `scopes` are the items of the sections around, innermost last.
fn expand(parts: &[TemplateNode], scopes: &[&Json], context: &JsonMap, out: &mut String) {
    for part in parts {
        if out.len() > MAX_BYTES {
            return;
        }
        match part {
            TemplateNode::Text(text) => out.push_str(text),
            TemplateNode::Item { .. } => match scopes.last() {
                Some(value) => push(value, out),
                None => out.push_str("{{.}}"),
            },
            TemplateNode::Value { path, .. } => match find(path, scopes, context) {
                Some(value) => push(value, out),
                // A field that an item of a list does not have.
                None if !scopes.is_empty() => {}
                None => out.push_str(&tag("", path)),
            },
            TemplateNode::Section { name, inverted, parts, .. } => {
                let value = find(name, scopes, context).unwrap_or(&Json::Null);
                for item in items(value, *inverted) {
                    let scopes: Vec<&Json> = scopes.iter().copied().chain([item]).collect();
                    expand(parts, &scopes, context, out);
                }
            }
        }
    }
}

impl Template {
    /// The first placeholder without a value. `allowed` gets a path and whether it is within a section, and says whether its
    /// value may be missing.
    pub(crate) fn missing(&self, context: &JsonMap, allowed: &dyn Fn(&str, bool) -> bool) -> Option<&str> {
        missing(&self.parts, &[], &mut MissingValueSearch { context, allowed, left: MAX_PLACES })
    }
}

/// The state of a search for missing values.
struct MissingValueSearch<'s> {
    context: &'s JsonMap,
    allowed: &'s dyn Fn(&str, bool) -> bool,
    /// Places that are still looked at.
    left: usize,
}

fn missing<'t>(
    parts: &'t [TemplateNode],
    scopes: &[&Json],
    search: &mut MissingValueSearch<'_>,
) -> Option<&'t str> {
    for part in parts {
        search.left = search.left.checked_sub(1)?;
        let found = match part {
            TemplateNode::Text(_) | TemplateNode::Item { .. } => None,
            TemplateNode::Value { path, .. } => {
                let known = find(path, scopes, search.context).is_some();
                (!known && !(search.allowed)(path, !scopes.is_empty())).then_some(path.as_str())
            }
            TemplateNode::Section { name, inverted, parts, .. } => {
                let value = find(name, scopes, search.context).unwrap_or(&Json::Null);
                items(value, *inverted).into_iter().find_map(|item| {
                    let scopes: Vec<&Json> = scopes.iter().copied().chain([item]).collect();
                    missing(parts, &scopes, search)
                })
            }
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

/// The values for which a section is repeated: each item of a list, else the value itself; empty where the section does not
/// show.
fn items(value: &Json, inverted: bool) -> Vec<&Json> {
    let empty = match value {
        Json::Null | Json::Bool(false) => true,
        Json::Array(items) => items.is_empty(),
        _ => false,
    };
    match value {
        _ if empty != inverted => Vec::new(),
        Json::Array(items) if !items.is_empty() => items.iter().collect(),
        value => vec![value],
    }
}

/// The value of a dotted path: in the nearest item that has its first name, else in the context.
fn find<'a>(path: &str, scopes: &[&'a Json], context: &'a JsonMap) -> Option<&'a Json> {
    let mut names = path.split('.');
    let first = names.next()?;
    let start = scopes.iter().rev().find_map(|scope| scope.get(first)).or_else(|| context.get(first))?;
    names.try_fold(start, |value, name| value.get(name))
}

fn push(value: &Json, out: &mut String) {
    match value {
        Json::String(text) => out.push_str(text),
        Json::Null => {}
        value => out.push_str(&value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptc_base::json::json;

    fn filled(template: &str) -> String {
        let context = json!({"a": "{{b}}", "b": 1, "deep": {"x": [2]}, "none": [], "no": false,
            "rows": [{"n": "p", "tags": ["u", "v"]}, {"n": "q", "tags": []}]});
        Template::parse(template).unwrap().expand(context.as_object().unwrap())
    }

    #[test]
    fn values_stand_for_names() {
        assert_eq!(filled("{{a}} {{ b }} {{c}} {{deep.x}} {{"), "{{b}} 1 {{c}} [2] {{");
        assert_eq!(filled("{{\"json\": 1}} {{.}}"), "{{\"json\": 1}} {{.}}");
    }

    #[test]
    fn sections_go_through_lists() {
        assert_eq!(
            filled("{{#rows}}{{n}}:{{#tags}}{{.}}{{b}} {{/tags}}{{^tags}}-{{/tags}};{{/rows}}"),
            "p:u1 v1 ;q:-;"
        );
        assert_eq!(
            filled("{{#none}}x{{/none}}{{^none}}y{{/none}}{{#no}}z{{/no}}{{#deep}}{{x}}{{/deep}}"),
            "y[2]"
        );
    }

    #[test]
    fn broken_sections_are_refused() {
        let error = |text| Template::parse(text).unwrap_err();
        assert_eq!(error("a\n{{#x}}"), "section {{#x}} at line 2 is not closed");
        assert_eq!(error("{{/x}}"), "{{/x}} at line 1 closes no section");
        assert_eq!(error("{{#x}}{{#y}}{{/x}}"), "{{/x}} at line 1 stands where {{/y}} is expected");
        assert!(error(&"{{#x}}".repeat(100)).contains("nested deeper"));
    }
}
