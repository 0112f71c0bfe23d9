//! Upstream tools as tools of our own clients (server.md 4.8): which ones, and under which names.

use ptc_base::name_pattern::NamePattern;
use ptc_secret::digest::hex_digest;

use super::{Catalog, ToolEntry};

/// Longest name of a tool that all clients take.
const MAX_EXPOSED_NAME: usize = 64;
/// Digits of the digest in a name that is not made of the other names alone.
const DIGITS: usize = 8;
/// What stands between the names of server and tool.
const BETWEEN: &str = "__";
/// The most bytes of a schema that is passed on to clients, which send all of them to their models.
const MAX_SCHEMA: usize = 64 << 10;

/// The tools that are exposed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exposure {
    /// `None`: all.
    patterns: Option<Vec<NamePattern>>,
}

impl Exposure {
    /// All tools.
    pub fn all() -> Exposure {
        Exposure::default()
    }

    /// The tools that one of these patterns fits, of `SERVER/TOOL` or of the exposed name.
    pub fn of(patterns: Vec<NamePattern>) -> Exposure {
        Exposure { patterns: Some(patterns) }
    }

    /// The patterns that fit no tool, once every upstream that they may be about has listed its tools.
    pub fn idle<'e>(&'e self, catalog: &Catalog) -> Vec<&'e str> {
        let is_idle = |pattern: &NamePattern| {
            let beginnings = |server: &str| {
                [format!("{server}/*"), format!("{}*", sanitized(&format!("{server}{BETWEEN}")))]
            };
            let is_about = |server: &str| {
                let beginnings = beginnings(server).into_iter().filter_map(NamePattern::new);
                beginnings.into_iter().any(|beginning| pattern.overlaps(&beginning))
            };
            let mut about = catalog.servers().filter(|server| is_about(&server.name));
            about.all(|server| {
                server.loaded && !server.all_names().any(|tool| fits(pattern, &server.name, tool))
            })
        };
        let patterns = self.patterns.iter().flatten().filter(|pattern| is_idle(pattern));
        patterns.map(NamePattern::as_str).collect()
    }

    /// Whether a tool is exposed.
    pub fn exposes(&self, server: &str, tool: &str) -> bool {
        let Some(patterns) = &self.patterns else { return true };
        patterns.iter().any(|pattern| fits(pattern, server, tool))
    }
}

/// Whether a pattern fits one of the spellings of a tool.
fn fits(pattern: &NamePattern, server: &str, tool: &str) -> bool {
    pattern.matches(&format!("{server}/{tool}")) || pattern.matches(&exposed_name(server, tool))
}

/// The beginning of a name that gets a digest.
fn sanitized(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    name.chars().map(plain).take(MAX_EXPOSED_NAME - DIGITS - 1).collect()
}

/// The name of an upstream's tool as a tool of our own: `SERVER__TOOL`. A name that is too long, that has characters which clients
/// do not take, of which it is not clear where the tool begins, or which ends as those with a digest do, is cut and gets a digest of
/// both names. So a name without one is of one tool.
pub fn exposed_name(server: &str, tool: &str) -> String {
    let is_plain =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    let is_split = !server.contains(BETWEEN) && !server.ends_with('_');
    let name = format!("{server}{BETWEEN}{tool}");
    if is_split && is_plain(&name) && name.len() <= MAX_EXPOSED_NAME && !has_digest(&name) {
        return name;
    }
    format!("{}_{}", sanitized(&name), hex_digest(&format!("{server}\0{tool}"), DIGITS))
}

/// The server of an exposed name that has no digest, and the name of its tool.
pub fn split_exposed_name(name: &str) -> Option<(&str, &str)> {
    name.split_once(BETWEEN).filter(|_| !has_digest(name))
}

/// Whether an exposed name has a digest.
pub(super) fn has_digest(name: &str) -> bool {
    let digits = name.rsplit_once('_').map(|(_, digits)| digits);
    digits.is_some_and(|digits| digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Whose name an exposed tool would have as well: nobody could tell the two apart, so neither is exposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameTwin {
    /// A tool of the same upstream.
    OfTheUpstream,
    /// A tool of another one.
    OfAnother,
}

impl NameTwin {
    /// Why the tool is none for clients.
    pub(super) fn why(self, name: &str) -> String {
        match self {
            Self::OfTheUpstream => format!("another tool of this upstream would have its name, {name}"),
            Self::OfAnother => format!("a tool of another upstream would have its name, {name}"),
        }
    }
}

/// Why a tool cannot be one of our own; `None` if it can: clients refuse its schema, and some of them the whole list with it.
pub fn unexposable(tool: &ToolEntry) -> Option<&'static str> {
    let schema = &tool.input_schema;
    let Some(object) = schema.as_object() else { return Some("its input schema is no object") };
    if object.get("type").is_some_and(|kind| kind != "object") {
        return Some("its input schema is not that of an object");
    }
    if tool.schemas_exceed(MAX_SCHEMA) {
        return Some("its schemas have more than 64 KiB");
    }
    has_endless_reference(schema).then_some("a $ref of its input schema leads to itself")
}

/// Whether a chain of references, each of which is all that a schema says, comes back to where it was.
fn has_endless_reference(schema: &ptc_mcp::json::Value) -> bool {
    let mut waiting = vec![schema];
    while let Some(part) = waiting.pop() {
        let (mut at, mut steps) = (part, 0);
        while let Some(reference) = at.get("$ref").and_then(|reference| reference.as_str()) {
            let Some(next) = reference.strip_prefix('#').and_then(|pointer| schema.pointer(pointer)) else {
                break;
            };
            // As many references as there are one after the other in no schema that a person wrote.
            steps += 1;
            if std::ptr::eq(next, part) || steps > 64 {
                return true;
            }
            at = next;
        }
        match part {
            ptc_mcp::json::Value::Object(members) => waiting.extend(members.values()),
            ptc_mcp::json::Value::Array(items) => waiting.extend(items),
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::super::{ServerEntry, fixtures};
    use super::*;
    use ptc_mcp::json::{Value, json};
    use ptc_secret::credentials::Redactor;

    #[test]
    fn names_are_those_that_clients_take_and_no_two_tools_share_one() {
        assert_eq!(exposed_name("files", "read_file"), "files__read_file");
        assert_eq!(exposed_name("a", "_x"), "a___x");
        let long = "t".repeat(100);
        let odd = [
            ("s", "x.y"),
            ("s", "x_y."),
            ("s", "x y"),
            ("s", "é"),
            ("a_", "b"),
            ("a__b", "c"),
            ("s", &*long),
        ];
        let mut seen: Vec<String> =
            vec![exposed_name("a", "_b"), exposed_name("a", "b__c"), exposed_name("s", "x_y")];
        for (server, tool) in odd {
            let name = exposed_name(server, tool);
            assert!(name.len() <= MAX_EXPOSED_NAME, "{name}");
            assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)), "{name}");
            assert!(!seen.contains(&name), "{name}");
            seen.push(name);
        }
        assert_eq!(split_exposed_name("files__read__all"), Some(("files", "read__all")));
        assert_eq!(split_exposed_name("lisp_eval"), None);
        // A tool cannot be named as what another one's name becomes.
        let cut = exposed_name("s", "x.y");
        let forged = exposed_name("s", cut.strip_prefix("s__").unwrap());
        assert!(forged != cut && forged.starts_with(&cut) && has_digest(&forged), "{forged}");
        assert_eq!((split_exposed_name(&cut), split_exposed_name("s__at_20240101")), (None, None));
        assert_eq!(split_exposed_name("s__at_2024010"), Some(("s", "at_2024010")));
    }

    #[test]
    fn patterns_fit_both_spellings() {
        let pattern = |text: &str| NamePattern::new(text).unwrap();
        let exposure = Exposure::of(vec![pattern("a/*"), pattern("b__get_*")]);
        for (server, tool, exposed) in
            [("a", "x", true), ("b", "get_x", true), ("b", "set_x", false), ("ab", "x", false)]
        {
            assert_eq!(exposure.exposes(server, tool), exposed, "{server}/{tool}");
        }
        assert!(Exposure::all().exposes("a", "b"));
    }

    #[test]
    fn patterns_that_fit_no_tool_are_told_once_it_is_known() {
        let tools = || vec![json!({"name": "get"}), json!({"name": "x.y"})];
        let (a, b) = (fixtures::server("a", tools()), fixtures::upstream("b", json!({})));
        let idle = |patterns: &[&str], catalog: &Catalog| -> Vec<String> {
            let patterns = patterns.iter().map(|text| NamePattern::new(*text).unwrap()).collect();
            Exposure::of(patterns).idle(catalog).into_iter().map(str::to_owned).collect()
        };
        let all = ["a/get", "a__x_y_*", "a/set", "b/*", "c/*", "c__x", "*/put", "a__set", "*"];
        let half = Catalog::new([a.clone(), ServerEntry::unloaded(&b)]);
        assert_eq!(idle(&all, &half), ["a/set", "c/*", "c__x", "a__set"]);
        let whole = Catalog::new([a, ServerEntry::loaded(&b, Vec::new(), &Redactor::new())]);
        assert_eq!(idle(&all, &whole), ["a/set", "b/*", "c/*", "c__x", "*/put", "a__set"]);
        assert!(Exposure::all().idle(&whole).is_empty());
    }

    #[test]
    fn schemas_that_no_client_takes_are_told() {
        let why = |schema: Value| {
            let server = fixtures::server("s", vec![json!({"name": "t", "inputSchema": schema})]);
            unexposable(server.tool("t").unwrap())
        };
        for fine in [
            json!({}),
            json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/node"}},
                "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}}}),
            json!({"type": "object", "properties": {"a": {"$ref": "https://example.com/x"}}}),
        ] {
            assert_eq!(why(fine.clone()), None, "{fine}");
        }
        assert_eq!(why(json!([1])), Some("its input schema is no object"));
        assert_eq!(why(json!({"type": "array"})), Some("its input schema is not that of an object"));
        let endless =
            json!({"type": "object", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}});
        assert_eq!(why(endless), Some("a $ref of its input schema leads to itself"));
        assert_eq!(
            why(json!({"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}})),
            Some("a $ref of its input schema leads to itself")
        );
        let large = json!({"type": "object", "description": "x".repeat(MAX_SCHEMA)});
        assert_eq!(why(large), Some("its schemas have more than 64 KiB"));
    }
}
