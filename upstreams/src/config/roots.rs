//! The key `roots` of an entry: the folders that an MCP server gets when it asks.

use std::path::Path;
use std::sync::Arc;

use ptc_mcp::json::{Value, json};
use url::Url;

use super::fields::Fields;
use ptc_base::config_error::ConfigError;

/// The folders that an MCP server gets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RootsConfig {
    /// Nothing, not even that it could ask.
    #[default]
    NotOffered,
    /// These: the text of a JSON array of the protocol's roots.
    Listed(Arc<str>),
    /// Those of the client of this process, which has some on standard input and output only.
    Client,
}

impl RootsConfig {
    pub(super) fn parse(fields: &Fields<'_>) -> Result<Self, ConfigError> {
        let wrong = || {
            fields.error(
                "roots must be a list of absolute paths or file:// URIs, or \"client\" for those of the client",
            )
        };
        match fields.get("roots") {
            None => Ok(Self::NotOffered),
            Some(Value::String(word)) if word == "client" => Ok(Self::Client),
            Some(Value::Array(items)) => {
                let roots: Option<Vec<Value>> = items.iter().map(|item| root(item.as_str()?)).collect();
                Ok(Self::Listed(Value::Array(roots.ok_or_else(wrong)?).to_string().into()))
            }
            Some(_) => Err(wrong()),
        }
    }
}

/// One root as the protocol writes it, named by the last part of its path.
fn root(text: &str) -> Option<Value> {
    let uri = if text.starts_with("file://") {
        Url::parse(text).ok()?
    } else {
        Url::from_file_path(Path::new(text)).ok()?
    };
    let path = uri.to_file_path().ok()?;
    let name = path.file_name().map_or_else(|| "/".to_owned(), |name| name.to_string_lossy().into_owned());
    Some(json!({"uri": uri.as_str(), "name": name}))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(roots: Value) -> Result<RootsConfig, String> {
        let entry = json!({"roots": roots});
        let Value::Object(map) = &entry else { unreachable!("an object") };
        RootsConfig::parse(&Fields::new("s", map)).map_err(|error| error.to_string())
    }

    #[test]
    fn paths_become_uris_with_names() {
        let listed = parse(json!(["/srv/my docs", "file:///a/b%20c", "/"])).unwrap();
        let wanted = json!([
            {"uri": "file:///srv/my%20docs", "name": "my docs"},
            {"uri": "file:///a/b%20c", "name": "b c"},
            {"uri": "file:///", "name": "/"},
        ]);
        assert_eq!(listed, RootsConfig::Listed(wanted.to_string().into()));
        assert_eq!(parse(json!("client")).unwrap(), RootsConfig::Client);
        assert_eq!(parse(json!([])).unwrap(), RootsConfig::Listed("[]".into()));
        for wrong in
            [json!("all"), json!(["src"]), json!(["~/src"]), json!([1]), json!(true), json!(["http://x/"])]
        {
            let error = parse(wrong.clone()).unwrap_err();
            assert!(error.contains("roots must be a list of absolute paths"), "{wrong}: {error}");
        }
    }
}
