//! What MCP's two eras say at the start of a connection, and how a server's answer is read.
//!
//! The *handshake* era (2024-11-05 to 2025-11-25) negotiates once with `initialize`; the *modern* era (2026-07-28)
//! carries version, identity and capabilities in `_meta` of every request.

use ptc_mcp::json::json;

use ptc_mcp::message::clip;

/// The revision that we offer in `initialize`.
pub(crate) const HANDSHAKE_VERSION: &str = "2025-11-25";
/// The modern revision that we speak.
pub(crate) const MODERN_VERSION: &str = "2026-07-28";
/// Every published revision with a handshake.
pub(crate) const HANDSHAKE_VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// Who we say we are.
const CLIENT_NAME: &str = "ptc_runner";
/// Our version.
pub(crate) const CLIENT_VERSION: &str = env!("CARGO_PKG_VERSION");

/// JSON-RPC: the method is unknown.
pub(crate) const METHOD_NOT_FOUND: i64 = -32601;
/// Modern: headers and body disagree.
pub(crate) const HEADER_MISMATCH: i64 = -32020;
/// Modern: the request needs a capability that the client has not declared.
pub(crate) const MISSING_CAPABILITY: i64 = -32021;
/// Modern: the protocol version is not supported.
pub(crate) const UNSUPPORTED_VERSION: i64 = -32022;

/// The era that a connection speaks, found out once and remembered for the next connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    Handshake,
    Modern,
}

/// `params` of `initialize`.
pub(crate) fn initialize_params() -> Vec<u8> {
    json!({
        "protocolVersion": HANDSHAKE_VERSION,
        "capabilities": {},
        "clientInfo": {"name": CLIENT_NAME, "version": CLIENT_VERSION},
    })
    .to_string()
    .into_bytes()
}

/// `_meta` of every modern request.
pub(crate) fn modern_meta() -> Vec<u8> {
    json!({
        "io.modelcontextprotocol/protocolVersion": MODERN_VERSION,
        "io.modelcontextprotocol/clientInfo": {"name": CLIENT_NAME, "version": CLIENT_VERSION},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
    .to_string()
    .into_bytes()
}

/// `params` with nothing but what the era demands, and the cursor of a list.
pub(crate) fn params(era: Era, cursor: Option<&str>) -> Vec<u8> {
    let mut out = vec![b'{'];
    if let Some(cursor) = cursor {
        out.extend_from_slice(b"\"cursor\":");
        ptc_mcp::encode::push_string(&mut out, cursor);
    }
    if era == Era::Modern {
        if cursor.is_some() {
            out.push(b',');
        }
        out.extend_from_slice(b"\"_meta\":");
        out.extend_from_slice(&modern_meta());
    }
    out.push(b'}');
    out
}

/// `params` of a `subscriptions/listen` for changes of the tool list.
pub(crate) fn listen_params() -> Vec<u8> {
    let mut out = b"{\"notifications\":{\"toolsListChanged\":true},\"_meta\":".to_vec();
    out.extend_from_slice(&modern_meta());
    out.push(b'}');
    out
}

/// What a server said of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerHello {
    /// The revision to speak from now on.
    pub(crate) version: Box<str>,
    /// Whether it announces changes of its tool list.
    pub(crate) tools_change: bool,
}

#[derive(serde::Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct HelloMembers {
    protocol_version: ptc_mcp::json::Value,
    supported_versions: ptc_mcp::json::Value,
    capabilities: ptc_mcp::json::Value,
}

impl HelloMembers {
    fn read(result: &[u8]) -> Self {
        serde_json::from_slice(result).unwrap_or_default()
    }

    fn tools_change(&self) -> bool {
        self.capabilities["tools"]["listChanged"] == true
    }
}

/// Reads the result of `initialize`. `any_version` accepts revisions that we do not know.
///
/// # Errors
/// The sentence that says what the server answered instead.
pub(crate) fn read_initialize(result: &[u8], any_version: bool) -> Result<ServerHello, String> {
    let members = HelloMembers::read(result);
    let Some(version) = members.protocol_version.as_str() else {
        return Err(format!("initialize returned unexpected payload {}", render(result)));
    };
    if !any_version && !HANDSHAKE_VERSIONS.contains(&version) {
        let version = clip(version, 40);
        return Err(format!("protocol version mismatch: server={version} client={HANDSHAKE_VERSION}"));
    }
    Ok(ServerHello { version: version.into(), tools_change: members.tools_change() })
}

/// Reads the result of `server/discover`; `None` if it is no such result or offers no revision of ours.
pub(crate) fn read_discover(result: &[u8]) -> Option<ServerHello> {
    let members = HelloMembers::read(result);
    let versions = members.supported_versions.as_array()?;
    versions
        .iter()
        .any(|version| version == MODERN_VERSION)
        .then(|| ServerHello { version: MODERN_VERSION.into(), tools_change: members.tools_change() })
}

/// The revisions that an unsupported-version error offers.
pub(crate) fn supported_versions(error_data: Option<&str>) -> Vec<String> {
    #[derive(serde::Deserialize)]
    struct Data {
        supported: Vec<String>,
    }
    error_data.and_then(|data| serde_json::from_str::<Data>(data).ok()).map_or_else(Vec::new, |d| d.supported)
}

/// A short rendering of JSON for a message.
pub(crate) fn render(json: &[u8]) -> String {
    clip(&String::from_utf8_lossy(json), 120)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn params_are_json_in_both_eras() {
        assert_eq!(params(Era::Handshake, None), b"{}");
        assert_eq!(params(Era::Handshake, Some("a\"b")), br#"{"cursor":"a\"b"}"#);
        for cursor in [None, Some("x")] {
            let value: ptc_mcp::json::Value = serde_json::from_slice(&params(Era::Modern, cursor)).unwrap();
            assert_eq!(value["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
            assert_eq!(value["_meta"]["io.modelcontextprotocol/clientCapabilities"], json!({}));
            assert_eq!(value.get("cursor").and_then(|c| c.as_str()), cursor);
        }
        let listen: ptc_mcp::json::Value = serde_json::from_slice(&listen_params()).unwrap();
        assert_eq!(listen["notifications"]["toolsListChanged"], true);
    }

    #[test]
    fn initialize_takes_published_revisions_and_stdio_any() {
        let hello = |v: &str, any| read_initialize(json!({"protocolVersion": v}).to_string().as_bytes(), any);
        for version in HANDSHAKE_VERSIONS {
            assert_eq!(&*hello(version, false).unwrap().version, version);
        }
        assert_eq!(
            hello("1999-01-01", false).unwrap_err(),
            "protocol version mismatch: server=1999-01-01 client=2025-11-25"
        );
        assert_eq!(&*hello("1999-01-01", true).unwrap().version, "1999-01-01");
        assert_eq!(read_initialize(b"[1]", true).unwrap_err(), "initialize returned unexpected payload [1]");
    }

    #[test]
    fn discover_needs_a_revision_of_ours() {
        let discover = |v| read_discover(json!({"supportedVersions": v}).to_string().as_bytes());
        assert_eq!(&*discover(json!(["2025-11-25", "2026-07-28"])).unwrap().version, "2026-07-28");
        assert_eq!(discover(json!(["2099-01-01"])), None);
        assert_eq!(discover(json!("2026-07-28")), None);
        assert_eq!(read_discover(b"{}"), None);
        let change =
            json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {"listChanged": true}}});
        assert!(read_discover(change.to_string().as_bytes()).unwrap().tools_change);
    }
}
