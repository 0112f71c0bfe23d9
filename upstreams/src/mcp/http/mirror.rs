//! Arguments mirrored into headers: the modern era's `x-mcp-header` annotations.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use http::{HeaderName, HeaderValue};
use ptc_mcp::headers;
use ptc_mcp::json::{Map, Value};

use crate::upstream::ToolInfo;
use ptc_base::text::clip;

/// The annotation.
const ANNOTATION: &str = "x-mcp-header";
/// Most arguments of one tool that go into headers.
const MAX_MIRRORS: usize = 64;
/// Longest path to one of them, in bytes of its names.
const MAX_PATH_BYTES: usize = 4096;
/// Keywords whose values are data, not schemas.
const DATA_KEYWORDS: [&str; 4] = ["default", "const", "enum", "examples"];

/// One argument that goes into a header as well.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mirror {
    header: HeaderName,
    /// The names of properties that lead to it.
    path: Vec<String>,
}

/// Which arguments of which tools go into headers.
#[derive(Debug, Clone, Default)]
pub(super) struct Mirrors(HashMap<Box<str>, Vec<Mirror>>);

impl Mirrors {
    /// The annotations of a list of tools; tools whose annotations break the rules have none.
    pub(super) fn of(tools: &Arc<[ToolInfo]>) -> Self {
        let annotated = tools.iter().filter_map(|tool| {
            let mirrors = annotations(tool).ok().filter(|m| !m.is_empty())?;
            Some((tool.name.clone(), mirrors))
        });
        Self(annotated.collect())
    }

    /// The headers for one call.
    #[expect(clippy::disallowed_methods, reason = "entry point: Mirrors.headers")]
    pub(super) fn headers(&self, tool: &str, arguments: &[u8]) -> Vec<(HeaderName, HeaderValue)> {
        let Some(mirrors) = self.0.get(tool) else { return Vec::new() };
        let Ok(arguments) = serde_json::from_slice::<Value>(arguments) else { return Vec::new() };
        let header = |mirror: &Mirror| {
            let value = mirror.path.iter().try_fold(&arguments, |value, name| value.get(name))?;
            Some((mirror.header.clone(), header_value(&text_of(value)?)))
        };
        mirrors.iter().filter_map(header).collect()
    }
}

/// Whether a tool's annotations keep the rules; a client must not offer a tool that breaks them.
///
/// # Errors
/// The fault of the tool.
pub(super) fn admit(tool: &ToolInfo) -> Result<(), String> {
    annotations(tool).map(drop)
}

/// A value in the form that a header may carry.
pub(super) fn header_value(text: &str) -> HeaderValue {
    HeaderValue::try_from(&*headers::encoded(text)).unwrap_or_else(|_| HeaderValue::from_static(""))
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[expect(clippy::disallowed_methods, reason = "entry point: annotations()")]
fn annotations(tool: &ToolInfo) -> Result<Vec<Mirror>, String> {
    // Most tools have none, and most schemas are larger than this look at their text is long.
    if memchr::memmem::find(tool.json.get().as_bytes(), ANNOTATION.as_bytes()).is_none() {
        return Ok(Vec::new());
    }
    #[derive(serde::Deserialize)]
    struct ToolSchema {
        #[serde(rename = "inputSchema", default)]
        schema: Value,
    }
    let tool: ToolSchema = ptc_mcp::json::from_str(tool.json.get()).map_err(|e| e.to_string())?;
    let mut walk = SchemaWalk { found: Vec::new(), names: HashSet::new() };
    walk.schema(&tool.schema, Some(&mut Vec::new()))?;
    Ok(walk.found)
}

struct SchemaWalk {
    found: Vec<Mirror>,
    names: HashSet<String>,
}

impl SchemaWalk {
    /// Looks through a schema. `path` leads to it through `properties` alone; `None` where another keyword came between.
    fn schema(&mut self, schema: &Value, mut path: Option<&mut Vec<String>>) -> Result<(), String> {
        match schema {
            Value::Object(members) => {
                if let Some(name) = members.get(ANNOTATION) {
                    self.annotation(name, members, path.as_deref())?;
                }
                for (keyword, value) in members {
                    match (keyword.as_str(), value) {
                        ("properties", Value::Object(properties)) => {
                            for (name, property) in properties {
                                match &mut path {
                                    Some(path) => {
                                        path.push(name.clone());
                                        self.schema(property, Some(path))?;
                                        path.pop();
                                    }
                                    None => self.schema(property, None)?,
                                }
                            }
                        }
                        (data, _) if DATA_KEYWORDS.contains(&data) => {}
                        _ => self.schema(value, None)?,
                    }
                }
                Ok(())
            }
            Value::Array(items) => items.iter().try_for_each(|item| self.schema(item, None)),
            _ => Ok(()),
        }
    }

    fn annotation(&mut self, name: &Value, schema: &Map, path: Option<&Vec<String>>) -> Result<(), String> {
        let Some(name) = name.as_str() else { return Err(format!("{ANNOTATION} is not a string")) };
        let shown = clip(name, 64);
        let Some(path) = path.filter(|path| !path.is_empty()) else {
            return Err(format!("{ANNOTATION} {shown:?} stands where no argument can be read"));
        };
        if self.found.len() == MAX_MIRRORS {
            return Err(format!("{ANNOTATION} is on more than {MAX_MIRRORS} arguments"));
        }
        if path.iter().map(String::len).sum::<usize>() > MAX_PATH_BYTES {
            return Err(format!(
                "{ANNOTATION} {shown:?} is on an argument whose path is longer than {MAX_PATH_BYTES} bytes"
            ));
        }
        if !is_mirrorable(schema.get("type")) {
            return Err(format!(
                "{ANNOTATION} {shown:?} is on an argument that is no string, integer or boolean"
            ));
        }
        let header = (!name.is_empty())
            .then(|| HeaderName::try_from(format!("{}{name}", headers::PARAM_PREFIX)).ok())
            .flatten()
            .ok_or_else(|| format!("{ANNOTATION} {shown:?} is no header name"))?;
        if !self.names.insert(name.to_ascii_lowercase()) {
            return Err(format!("{ANNOTATION} {shown:?} is used twice"));
        }
        self.found.push(Mirror { header, path: path.clone() });
        Ok(())
    }
}

/// `string`, `integer` or `boolean`, possibly nullable.
fn is_mirrorable(kind: Option<&Value>) -> bool {
    let primitive = |kind: &Value| matches!(kind.as_str(), Some("string" | "integer" | "boolean"));
    match kind {
        Some(Value::Array(kinds)) => {
            let others: Vec<&Value> = kinds.iter().filter(|kind| *kind != "null").collect();
            others.len() == 1 && primitive(others[0])
        }
        Some(kind) => primitive(kind),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use ptc_mcp::json::json;

    use super::*;

    fn tool(schema: Value) -> ToolInfo {
        let json = json!({"name": "t", "inputSchema": schema}).to_string();
        ToolInfo { name: "t".into(), json: serde_json::value::RawValue::from_string(json).unwrap() }
    }

    fn headers(schema: Value, arguments: Value) -> Vec<String> {
        let tools: Arc<[ToolInfo]> = Arc::new([tool(schema)]);
        let headers = Mirrors::of(&tools).headers("t", arguments.to_string().as_bytes());
        headers.iter().map(|(n, v)| format!("{n}: {}", v.to_str().unwrap())).collect()
    }

    #[test]
    fn mirrored_arguments_are_few_and_their_paths_short() {
        let mirrored = |count: usize, above: &str| {
            let below: Map = (0..count)
                .map(|i| (format!("a{i}"), json!({"type": "string", "x-mcp-header": format!("H{i}")})))
                .collect();
            admit(&tool(json!({"properties": {above: {"properties": below}}})))
        };
        assert_eq!(mirrored(MAX_MIRRORS, "o"), Ok(()));
        assert_eq!(mirrored(MAX_MIRRORS + 1, "o").unwrap_err(), "x-mcp-header is on more than 64 arguments");
        // Each path would be kept whole.
        assert!(mirrored(20_000, &"o".repeat(1_000_000)).unwrap_err().ends_with("longer than 4096 bytes"));
    }

    #[test]
    fn annotated_arguments_become_headers() {
        let schema = || {
            json!({"properties": {
                "region": {"type": "string", "x-mcp-header": "Region"},
                "dry": {"type": "boolean", "x-mcp-header": "Dry"},
                "options": {"type": "object", "properties": {"limit": {"type": ["integer", "null"], "x-mcp-header": "Limit"}}},
                "query": {"type": "string", "default": {"x-mcp-header": "data, not a schema"}},
                "x-mcp-header": {"type": "string"},
            }})
        };
        let arguments = json!({"region": "us-west1", "dry": true, "options": {"limit": 42}, "query": "q"});
        assert_eq!(
            headers(schema(), arguments),
            ["mcp-param-region: us-west1", "mcp-param-dry: true", "mcp-param-limit: 42"]
        );
        assert_eq!(headers(schema(), json!({"region": null, "options": 7})), [""; 0]);
    }

    #[test]
    fn values_that_headers_cannot_carry_are_encoded() {
        for (value, sent) in [
            ("us-west1", "us-west1"),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
            ("a\tb c", "a\tb c"),
            ("", ""),
        ] {
            assert_eq!(header_value(value).to_str().unwrap(), sent);
        }
    }

    #[test]
    fn tools_that_break_the_rules_are_refused() {
        let string = |name: &str| json!({"type": "string", "x-mcp-header": name});
        for bad in [
            json!({"properties": {"a": {"type": "number", "x-mcp-header": "A"}}}),
            json!({"properties": {"a": {"x-mcp-header": "A"}}}),
            json!({"properties": {"a": {"type": "string", "x-mcp-header": 7}}}),
            json!({"properties": {"a": string("")}}),
            json!({"properties": {"a": string("a b")}}),
            json!({"properties": {"a": string("a\r\nb")}}),
            json!({"properties": {"a": string("Same"), "b": string("sAME")}}),
            json!({"properties": {"a": {"type": "array", "items": string("A")}}}),
            json!({"oneOf": [{"properties": {"a": string("A")}}]}),
            json!({"$defs": {"x": string("A")}, "properties": {"a": {"$ref": "#/$defs/x"}}}),
            json!({"type": "string", "x-mcp-header": "Root"}),
        ] {
            assert!(admit(&tool(bad.clone())).is_err(), "{bad}");
        }
        admit(&tool(json!({"properties": {"a": string("A")}}))).unwrap();
        admit(&tool(json!({}))).unwrap();
    }
}
