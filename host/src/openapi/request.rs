//! Building the URL of a call.

use ptc_mcp::json::{Map, Value};
use url::Url;
use url::form_urlencoded::byte_serialize;

use super::compile::Operation;
use super::template::PathFault;
use crate::upstream::CallFault;

impl Operation {
    /// The URL of a call with these arguments (the text of one JSON object). It keeps the origin and the path prefix
    /// of `base_url`, whatever the arguments are (ruling 35).
    ///
    /// # Errors
    /// `upstream_error`: a path argument is missing, or a value cannot be put into a URL.
    pub fn url(&self, base_url: &Url, arguments: &[u8]) -> Result<Url, CallFault> {
        let mut given = self.default_args.clone();
        let arguments: Map = ptc_mcp::json::from_slice(arguments).map_err(|e| {
            CallFault::upstream_error(format!("openapi call raised: unreadable arguments: {e}"))
        })?;
        given.extend(arguments);

        let path = self.path(&given)?;
        let query = self.query(&given)?;
        let prefix = base_url.path().trim_end_matches('/');
        let mut text = format!("{}{prefix}/{path}", base_url.origin().ascii_serialization());
        let path_end = text.len();
        if !query.is_empty() {
            text.push('?');
            text.push_str(&query);
        }
        // Nothing above can lead elsewhere; this is what must hold even if something above is wrong.
        let expected_path = &text[base_url.origin().ascii_serialization().len()..path_end];
        match Url::parse(&text) {
            Ok(url) if url.origin() == base_url.origin() && url.path() == expected_path => Ok(url),
            _ => Err(CallFault::upstream_error("openapi call raised: the URL would leave base_url")),
        }
    }

    fn path(&self, given: &Map) -> Result<String, CallFault> {
        let mut missing = Vec::new();
        let mut values: Vec<(&str, String)> = Vec::new();
        for name in self.template.names() {
            match given.get(name) {
                None | Some(Value::Null) => missing.push(name),
                // An empty segment would be another path.
                Some(Value::String(text)) if text.is_empty() => missing.push(name),
                Some(value) => values.push((name, scalar(value).ok_or_else(|| unsupported("path", name))?)),
            }
        }
        if !missing.is_empty() {
            return Err(CallFault::upstream_error(format!("missing path args: {}", missing.join(", "))));
        }
        let value = |name: &str| {
            values.iter().find(|(known, _)| *known == name).map_or("", |(_, text)| text.as_str())
        };
        self.template.fill(value).map_err(|PathFault::DotSegment| {
            CallFault::upstream_error("path args must not make . or .. segments of the path")
        })
    }

    /// `a=1&b=x+y`, sorted by name. Arguments that the operation does not know, and nulls, are left out.
    fn query(&self, given: &Map) -> Result<String, CallFault> {
        let mut pairs: Vec<(&str, String)> = Vec::new();
        for name in &self.query {
            match given.get(name) {
                None | Some(Value::Null) => {}
                Some(value) => pairs.push((name, scalar(value).ok_or_else(|| unsupported("query", name))?)),
            }
        }
        pairs.sort();
        let encode = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
        Ok(pairs
            .iter()
            .map(|(name, value)| format!("{}={}", encode(name), encode(value)))
            .collect::<Vec<_>>()
            .join("&"))
    }
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

fn unsupported(place: &str, name: &str) -> CallFault {
    CallFault::upstream_error(format!(
        "unsupported {place} arg '{name}': OpenAPI v1 supports scalar {place} values only"
    ))
}
