//! The OpenAPI document: decoding it, and following references inside it.

use std::path::Path;

use ptc_mcp::json::{Map, Value};
use ptc_mcp::text::clip;

use crate::upstream::{CallFault, FaultReason};
use ptc_base::ordinary_file::{self, FileFault};
use ptc_schema::json_schema;

/// References followed into each other before a raw `$ref` is left in place.
const MAX_REF_DEPTH: usize = 16;
/// JSON nodes that the references of one tool's schemas may bring in.
const MAX_INLINED_NODES: usize = 20_000;
/// JSON nodes of one tool's schemas, inlined references included.
pub(super) const MAX_SCHEMA_NODES: usize = 100_000;

/// A decoded OpenAPI 3 document.
#[derive(Debug)]
pub struct Document(Value);

impl Document {
    /// Reads the document of a `schema_file`.
    ///
    /// # Errors
    /// `upstream_unavailable` with the texts of upstreams.md 7.3.
    #[expect(clippy::disallowed_methods, reason = "entry point: Document.read")]
    pub(crate) fn read(path: &Path, max_bytes: usize) -> Result<Self, CallFault> {
        match ordinary_file::read(path, max_bytes as u64) {
            Ok(bytes) => Self::decode(&bytes),
            Err(FileFault::TooLarge(_)) => {
                let hint = format!("{} is larger than schema_max_bytes, {max_bytes}.", path.display());
                Err(CallFault::unavailable("schema_file: schema exceeds byte cap").with_hint(&hint))
            }
            Err(fault) => Err(CallFault::unavailable(format!("schema_file: {fault} ({})", path.display()))),
        }
    }

    /// Takes the answer to the request for a `schema_url`.
    ///
    /// # Errors
    /// As [`read`](Self::read). A redirect is an answer like any other: it is not followed.
    pub(crate) fn fetched(status: u16, body: &[u8]) -> Result<Self, CallFault> {
        if !(200..300).contains(&status) {
            return Err(
                CallFault::unavailable(format!("schema_url returned http {status}")).with_status(status)
            );
        }
        Self::decode(body)
    }

    /// The fault for a `schema_url` whose answer passes the cap.
    pub(crate) fn too_large(max_bytes: usize) -> CallFault {
        CallFault::new(FaultReason::ResponseTooLarge, format!("schema response exceeded {max_bytes} bytes"))
    }

    /// Decodes the JSON text of a document.
    ///
    /// # Errors
    /// The text is not JSON, or no OpenAPI document of a supported version.
    #[expect(clippy::disallowed_methods, reason = "entry point: Document.decode")]
    pub fn decode(bytes: &[u8]) -> Result<Self, CallFault> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let document: Value = ptc_mcp::json::from_slice(bytes).map_err(|e| {
            let fault = CallFault::unavailable(format!("schema JSON decode failed: {e}"));
            let yaml =
                bytes.starts_with(b"openapi:") || bytes.starts_with(b"swagger:") || bytes.starts_with(b"---");
            fault.with_hint(if yaml { "This looks like YAML; convert the document to JSON." } else { "" })
        })?;
        let Value::Object(map) = &document else {
            return Err(CallFault::unavailable("OpenAPI schema must be a JSON object"));
        };
        if let (Some(version), None) = (map.get("swagger"), map.get("openapi")) {
            let version = clip(&version.to_string(), 16);
            return Err(CallFault::unavailable(format!(
                "OpenAPI schema must be of version 3, but says swagger {version}; convert it, for instance with \
                 swagger2openapi"
            )));
        }
        Ok(Self(document))
    }

    /// The path items by path template, in document order.
    pub(super) fn paths(&self) -> impl Iterator<Item = (&str, &Map)> {
        let paths = self.0.get("paths").and_then(Value::as_object);
        paths.into_iter().flatten().filter(|(path, _)| !path.starts_with("x-")).filter_map(|(path, item)| {
            let item = self.resolve(item)?.as_object()?;
            Some((path.as_str(), item))
        })
    }

    /// `value` with references followed. `None` if they lead nowhere or out of the document.
    pub(super) fn resolve<'d>(&'d self, value: &'d Value) -> Option<&'d Value> {
        json_schema::resolve(&self.0, value)
    }

    /// A schema with the references inside it replaced by their targets. Circles and excess are left as raw `$ref`s.
    pub(super) fn inline(&self, schema: &Value, budget: &mut InlineBudget) -> Value {
        self.inline_at(schema, 0, budget)
    }

    fn inline_at(&self, value: &Value, depth: usize, budget: &mut InlineBudget) -> Value {
        if !budget.takes_node() {
            return Value::Null;
        }
        match value {
            Value::Array(items) => items.iter().map(|item| self.inline_at(item, depth, budget)).collect(),
            Value::Object(map) => {
                let target = match map.get("$ref") {
                    Some(Value::String(_)) if depth < MAX_REF_DEPTH => self.resolve(value),
                    _ => None,
                };
                let Some(target) = target.filter(|target| budget.takes_target(target)) else {
                    return map.iter().map(|(k, v)| (k.clone(), self.inline_at(v, depth, budget))).collect();
                };
                let mut inlined = self.inline_at(target, depth + 1, budget);
                // OpenAPI 3.1 lets a description and the like stand beside the reference.
                if let Value::Object(inlined) = &mut inlined {
                    for (key, beside) in map.iter().filter(|(key, _)| *key != "$ref") {
                        inlined.insert(key.clone(), self.inline_at(beside, depth + 1, budget));
                    }
                }
                inlined
            }
            scalar => scalar.clone(),
        }
    }
}

/// The allowed further growth of the schemas of one tool, in JSON nodes.
pub(super) struct InlineBudget {
    /// Nodes that references may still bring in.
    inlined: usize,
    /// Of all nodes together; `None` once a node found no room.
    nodes: Option<usize>,
}

impl Default for InlineBudget {
    fn default() -> Self {
        Self { inlined: MAX_INLINED_NODES, nodes: Some(MAX_SCHEMA_NODES) }
    }
}

impl InlineBudget {
    /// True if the schemas have more than [`MAX_SCHEMA_NODES`]: the inlined result lacks some of them.
    pub(super) fn is_overdrawn(&self) -> bool {
        self.nodes.is_none()
    }

    fn takes_node(&mut self) -> bool {
        self.nodes = self.nodes.and_then(|left| left.checked_sub(1));
        self.nodes.is_some()
    }

    /// Takes the target of a reference, whole or not at all. The first target that does not fit ends all inlining: a count that
    /// begins again at each of many references would take longer than the size that it bounds.
    fn takes_target(&mut self, target: &Value) -> bool {
        let fits = counts_down(target, &mut self.inlined);
        if !fits {
            self.inlined = 0;
        }
        fits
    }
}

/// Takes the nodes of `value` from `left`; false as soon as there are more.
fn counts_down(value: &Value, left: &mut usize) -> bool {
    let Some(rest) = left.checked_sub(1) else { return false };
    *left = rest;
    match value {
        Value::Array(items) => items.iter().all(|item| counts_down(item, left)),
        Value::Object(map) => map.values().all(|item| counts_down(item, left)),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use ptc_mcp::json::json;

    use super::*;

    fn decode_error(text: &str) -> String {
        Document::decode(text.as_bytes()).unwrap_err().message
    }

    #[test]
    fn refuses_what_is_not_a_document() {
        assert_eq!(decode_error("[]"), "OpenAPI schema must be a JSON object");
        assert!(decode_error("{").starts_with("schema JSON decode failed: EOF"));
        assert!(
            decode_error("openapi: 3.0.0").ends_with("\nThis looks like YAML; convert the document to JSON.")
        );
        assert!(decode_error(r#"{"swagger":"2.0"}"#).starts_with("OpenAPI schema must be of version 3"));
        assert!(decode_error(&"[".repeat(100_000)).starts_with("schema JSON decode failed: recursion limit"));
    }

    #[test]
    fn files_have_a_cap() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "{}     ").unwrap();
        assert!(Document::read(file.path(), 7).is_ok());
        let fault = Document::read(file.path(), 6).unwrap_err();
        assert_eq!(fault.message.lines().next(), Some("schema_file: schema exceeds byte cap"));
        let fault = Document::read(Path::new("/nonexistent/s.json"), 6).unwrap_err();
        assert_eq!(fault.message, "schema_file: no such file or directory (/nonexistent/s.json)");
        assert_eq!(fault.reason, FaultReason::UpstreamUnavailable);
    }

    #[test]
    fn fetched_documents_need_a_good_status() {
        assert!(Document::fetched(200, b"{}").is_ok());
        for status in [301, 302, 401, 404, 500] {
            let fault = Document::fetched(status, b"{}").unwrap_err();
            assert_eq!(fault.message, format!("schema_url returned http {status}"));
        }
        assert_eq!(
            Document::too_large(10).to_string(),
            "response_too_large: schema response exceeded 10 bytes"
        );
    }

    #[test]
    fn references_bring_in_a_bounded_number_of_nodes() {
        let huge: Vec<Value> = (0..MAX_INLINED_NODES).map(Value::from).collect();
        let document = Document(json!({"huge": {"enum": huge}, "small": {"type": "string"}}));
        let inline = |schema: &Value| {
            let mut budget = InlineBudget::default();
            let inlined = document.inline(schema, &mut budget);
            (inlined, budget.is_overdrawn())
        };
        let [huge, small] = ["#/huge", "#/small"].map(|to| json!({"$ref": to}));
        assert_eq!(inline(&huge), (huge.clone(), false), "it does not fit, and stays a reference");
        let (inlined, _) = inline(&json!([small, huge, small]));
        assert_eq!(inlined, json!([{"type": "string"}, huge, small]));
        let own: Value = (0..MAX_SCHEMA_NODES).map(Value::from).collect();
        assert!(inline(&own).1);
    }

    #[test]
    fn references_are_inlined_and_circles_stop() {
        let document = Document(json!({"components": {"schemas": {
            "Leaf": {"type": "string"},
            "Node": {"properties": {"next": {"$ref": "#/components/schemas/Node"}}},
            "Wide": {"allOf": [{"$ref": "#/components/schemas/Wide2"}, {"$ref": "#/components/schemas/Wide2"}]},
            "Wide2": {"allOf": [{"$ref": "#/components/schemas/Wide"}, {"$ref": "#/components/schemas/Wide"}]}
        }}}));
        let inline = |name: &str| {
            document.inline(
                &json!({"$ref": format!("#/components/schemas/{name}")}),
                &mut InlineBudget::default(),
            )
        };
        assert_eq!(inline("Leaf"), json!({"type": "string"}));
        assert_eq!(
            document.inline(
                &json!({"items": {"$ref": "#/components/schemas/Leaf", "description": "d"}}),
                &mut InlineBudget::default()
            ),
            json!({"items": {"type": "string", "description": "d"}})
        );
        assert_eq!(inline("Node").to_string().matches("\"next\"").count(), MAX_REF_DEPTH);
        assert!(inline("Node").to_string().contains("\"$ref\""));
        assert!(
            inline("Wide").to_string().len() < 100 * MAX_INLINED_NODES,
            "a bounded answer for 2^16 references"
        );
        assert_eq!(inline("None"), json!({"$ref": "#/components/schemas/None"}));
    }
}
