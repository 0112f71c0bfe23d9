//! Building the URL of a call.

use ptc_mcp::json::{Map, Value};
use url::Url;

use super::compile::Operation;
use super::style::{Style, scalar};
use super::template::PathError;
use crate::upstream::CallFault;

impl Operation {
    /// The URL of a call with these arguments (the text of one JSON object). It keeps the origin and the path prefix of
    /// `base_url` for any arguments (ruling 35).
    ///
    /// # Errors
    /// `upstream_error`: a path argument is missing, or a value cannot be put into a URL.
    #[expect(clippy::disallowed_methods, reason = "entry point: Operation.url")]
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
        let mut values: Vec<(&str, Vec<String>)> = Vec::new();
        for name in self.template.names() {
            let texts: Option<Vec<String>> = match given.get(name) {
                None | Some(Value::Null) => Some(Vec::new()),
                Some(Value::Array(items)) => items.iter().map(scalar).collect(),
                Some(value) => scalar(value).map(|text| vec![text]),
            };
            let texts = texts.ok_or_else(|| unsupported("path", name))?;
            // An empty segment would be another path.
            if texts.iter().all(String::is_empty) {
                missing.push(name);
            }
            values.push((name, texts));
        }
        if !missing.is_empty() {
            return Err(CallFault::upstream_error(format!("missing path args: {}", missing.join(", "))));
        }
        let texts = |name: &str| {
            values.iter().find(|(known, _)| *known == name).map_or(&[][..], |(_, texts)| texts.as_slice())
        };
        self.template.fill(texts).map_err(|PathError::DotSegment| {
            CallFault::upstream_error("path args must not make . or .. segments of the path")
        })
    }

    /// `a=1&b=x+y`, sorted by name; the items of a list stay in their order. Nulls are left out. Names that the
    /// operation does not know have been refused.
    fn query(&self, given: &Map) -> Result<String, CallFault> {
        let mut known: Vec<&(String, Style)> = self.query.iter().collect();
        known.sort_by_key(|(name, _)| name);
        let mut members = Vec::new();
        for (name, style) in known {
            let value = given.get(name).unwrap_or(&Value::Null);
            members.extend(style.query(name, value).ok_or_else(|| unsupported("query", name))?);
        }
        Ok(members.join("&"))
    }
}

fn unsupported(place: &str, name: &str) -> CallFault {
    CallFault::upstream_error(format!(
        "unsupported {place} arg '{name}': the URL of this operation has no way to write such a value"
    ))
}
