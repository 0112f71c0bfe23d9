//! Metadata documents: protected resources (RFC 9728) and authorization servers (RFC 8414, OpenID Connect Discovery).

use serde_json::{Map, Value};
use url::{Origin, Url};

use crate::fetch_address::is_loopback_host;
use crate::json;

/// Metadata of a protected resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceMetadata {
    /// The resource, byte for byte as received: `resource` is sent as this.
    pub resource: String,
    /// Issuers, at least one, as they came.
    pub authorization_servers: Vec<String>,
    /// The scopes that may be requested.
    pub scopes_supported: Option<Vec<String>>,
}

impl ResourceMetadata {
    /// Reads a document.
    ///
    /// # Errors
    /// The missing member.
    pub fn read(document: &Map<String, Value>) -> Result<Self, &'static str> {
        let resource = json::text(document, "resource").ok_or("no resource")?.to_owned();
        let servers = document.get("authorization_servers").ok_or("no authorization_servers")?;
        let authorization_servers: Option<Vec<String>> =
            servers.as_array().and_then(|list| list.iter().map(|s| s.as_str().map(str::to_owned)).collect());
        let authorization_servers = authorization_servers
            .filter(|list| !list.is_empty())
            .ok_or("authorization_servers is no list of issuers")?;
        Ok(Self {
            resource,
            authorization_servers,
            scopes_supported: json::texts(document, "scopes_supported"),
        })
    }

    /// Whether they are those of the upstream at `url`: the same, or a prefix of the same origin that ends between path
    /// segments. For this check alone, scheme and host are compared without case, and one trailing slash is ignored (`auth.md`
    /// 2.2).
    #[must_use]
    pub fn is_of(&self, url: &str) -> bool {
        let (Some(ours), Some(theirs)) = (UrlParts::of(url), UrlParts::of(&self.resource)) else {
            return false;
        };
        if ours.origin != theirs.origin {
            return false;
        }
        let (ours, theirs) = (without_slash(ours.rest), without_slash(theirs.rest));
        let Some(rest) = ours.strip_prefix(theirs) else { return false };
        // A query belongs to the last segment, so nothing but a path may follow a prefix, and a query may follow a whole path.
        rest.is_empty() || rest.starts_with('/') && !theirs.contains('?') || rest.starts_with('?')
    }
}

/// An absolute URL of two parts: its origin, and the text after that without the fragment, `/mcp?q`.
struct UrlParts<'a> {
    origin: Origin,
    rest: &'a str,
}

impl<'a> UrlParts<'a> {
    fn of(url: &'a str) -> Option<Self> {
        let url = url.split('#').next().unwrap_or(url);
        let start = url.find("://")? + 3;
        let end = url[start..].find(['/', '?']).map_or(url.len(), |at| start + at);
        let origin = Url::parse(&url[..end]).ok().filter(|origin| origin.username().is_empty())?.origin();
        Some(Self { origin, rest: &url[end..] })
    }
}

/// Whether two issuers are one: byte for byte, but for the slash that may stand after an issuer without a path (Google, Auth0:
/// decision 167).
#[must_use]
pub fn is_same_issuer(one: &str, other: &str) -> bool {
    let root = |issuer: &str| {
        let rest = issuer.strip_suffix('/').unwrap_or(issuer);
        let has_path = rest.split_once("://").is_none_or(|(_, host)| host.contains(['/', '?', '#']));
        if has_path { issuer.len() } else { rest.len() }
    };
    one[..root(one)] == other[..root(other)]
}

fn without_slash(path: &str) -> &str {
    path.strip_suffix('/').unwrap_or(path)
}

/// Metadata of an authorization server, checked as `auth.md` 2.4 has it but for the issuer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerMetadata {
    /// The issuer, byte for byte: `iss` is compared with it, and credentials are kept for it.
    pub issuer: String,
    /// Where a person consents.
    pub authorization_endpoint: Option<Url>,
    /// Where tokens come from.
    pub token_endpoint: Url,
    /// Where clients register.
    pub registration_endpoint: Option<Url>,
    /// Where a device begins (RFC 8628).
    pub device_authorization_endpoint: Option<Url>,
    /// Where tokens are revoked (RFC 7009).
    pub revocation_endpoint: Option<Url>,
    /// All scopes there are. Never asked for as they stand; only `offline_access` is looked up here.
    pub scopes_supported: Vec<String>,
    /// How clients may authenticate; `None` if the list is absent.
    pub token_endpoint_auth_methods_supported: Option<Vec<String>>,
    /// Algorithms for signing assertions; `None` if the list is absent.
    pub token_endpoint_auth_signing_alg_values_supported: Option<Vec<String>>,
    /// Methods of PKCE; `None` if the list is absent.
    pub code_challenge_methods_supported: Option<Vec<String>>,
    /// Whether `iss` of a callback is advertised (RFC 9207).
    pub iss_parameter_supported: bool,
    /// Whether client ID metadata documents are taken.
    pub client_id_metadata_document_supported: bool,
}

impl ServerMetadata {
    /// Reads a document; `issuer` is who it is taken for if it does not say.
    ///
    /// # Errors
    /// The missing member.
    pub fn read(document: &Map<String, Value>, issuer: &str) -> Result<Self, &'static str> {
        let endpoint = |name| json::text(document, name).and_then(secure);
        let texts = |name| json::texts(document, name);
        let token_endpoint = json::text(document, "token_endpoint").ok_or("no token_endpoint")?;
        let token_endpoint = secure(token_endpoint).ok_or("token_endpoint is no https URL")?;
        if json::text(document, "authorization_endpoint").is_some_and(|url| secure(url).is_none()) {
            return Err("authorization_endpoint is no https URL");
        }
        Ok(Self {
            issuer: json::text(document, "issuer").unwrap_or(issuer).to_owned(),
            authorization_endpoint: endpoint("authorization_endpoint"),
            token_endpoint,
            registration_endpoint: endpoint("registration_endpoint"),
            device_authorization_endpoint: endpoint("device_authorization_endpoint"),
            revocation_endpoint: endpoint("revocation_endpoint"),
            scopes_supported: texts("scopes_supported").unwrap_or_default(),
            token_endpoint_auth_methods_supported: texts("token_endpoint_auth_methods_supported"),
            token_endpoint_auth_signing_alg_values_supported: texts(
                "token_endpoint_auth_signing_alg_values_supported",
            ),
            code_challenge_methods_supported: texts("code_challenge_methods_supported"),
            iss_parameter_supported: json::flag(document, "authorization_response_iss_parameter_supported"),
            client_id_metadata_document_supported: json::flag(
                document,
                "client_id_metadata_document_supported",
            ),
        })
    }

    /// The endpoints of a server of revision 2025-03-26 without metadata, at the origin of its MCP endpoint.
    pub(crate) fn at_origin(origin: &Url) -> Option<Self> {
        let at = |path| origin.join(path).ok();
        Some(Self {
            issuer: origin.origin().ascii_serialization(),
            authorization_endpoint: at("/authorize"),
            token_endpoint: at("/token")?,
            registration_endpoint: at("/register"),
            device_authorization_endpoint: None,
            revocation_endpoint: None,
            scopes_supported: Vec::new(),
            token_endpoint_auth_methods_supported: None,
            token_endpoint_auth_signing_alg_values_supported: None,
            code_challenge_methods_supported: None,
            iss_parameter_supported: false,
            client_id_metadata_document_supported: false,
        })
    }

    /// Whether PKCE with S256 is offered.
    #[must_use]
    pub fn offers_s256(&self) -> bool {
        self.code_challenge_methods_supported
            .as_ref()
            .is_some_and(|methods| methods.iter().any(|m| m == "S256"))
    }
}

/// An endpoint: https, or http on a loopback host; no fragment, no user.
pub(crate) fn secure(url: &str) -> Option<Url> {
    let url = Url::parse(url).ok()?;
    let plain = url.scheme() == "http" && url.host_str().is_some_and(is_loopback_host);
    let plain_or_tls = plain || url.scheme() == "https" && url.has_host();
    (plain_or_tls && url.fragment().is_none() && url.username().is_empty() && url.password().is_none())
        .then_some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(text: &str) -> Map<String, Value> {
        serde_json::from_str(text).unwrap()
    }

    fn resource(resource: &str) -> ResourceMetadata {
        ResourceMetadata {
            resource: resource.to_owned(),
            authorization_servers: vec!["https://a".to_owned()],
            scopes_supported: None,
        }
    }

    #[test]
    fn an_issuer_without_a_path_may_end_in_a_slash() {
        for (one, other) in [
            ("https://a", "https://a/"),
            ("https://a:8443/", "https://a:8443"),
            ("https://a/b", "https://a/b"),
        ] {
            assert!(is_same_issuer(one, other) && is_same_issuer(other, one), "{one} {other}");
        }
        for (one, other) in [
            ("https://a/b", "https://a/b/"),
            ("https://a", "https://a//"),
            ("https://a", "https://A"),
            ("https://a", "http://a/"),
            ("https://a", "https://a:443"),
            ("https://a", "https://a.evil"),
            ("https://a/?", "https://a/"),
            ("a", "a/"),
        ] {
            assert!(!is_same_issuer(one, other) && !is_same_issuer(other, one), "{one} {other}");
        }
    }

    #[test]
    fn resource_metadata_must_have_resource_and_servers() {
        let read = |text| ResourceMetadata::read(&document(text));
        let whole = read(
            r#"{"resource":"https://h/","authorization_servers":["https://a/"],"scopes_supported":["x",1]}"#,
        );
        let expected = ResourceMetadata {
            resource: "https://h/".to_owned(),
            authorization_servers: vec!["https://a/".to_owned()],
            scopes_supported: Some(vec!["x".to_owned()]),
        };
        assert_eq!(whole, Ok(expected));
        let lacking = [
            (r#"{"authorization_servers":["https://a"]}"#, "no resource"),
            (r#"{"resource":1,"authorization_servers":["https://a"]}"#, "no resource"),
            (r#"{"resource":"https://h"}"#, "no authorization_servers"),
            (
                r#"{"resource":"https://h","authorization_servers":[]}"#,
                "authorization_servers is no list of issuers",
            ),
            (
                r#"{"resource":"https://h","authorization_servers":[1]}"#,
                "authorization_servers is no list of issuers",
            ),
            (
                r#"{"resource":"https://h","authorization_servers":"https://a"}"#,
                "authorization_servers is no list of issuers",
            ),
        ];
        for (text, reason) in lacking {
            assert_eq!(read(text), Err(reason), "{text}");
        }
    }

    #[test]
    fn a_resource_is_the_url_or_a_prefix_between_segments() {
        let rows = [
            ("https://h.example/mcp", "https://h.example/mcp", true),
            ("https://h.example/mcp/", "https://h.example/mcp", true),
            ("https://h.example/mcp", "https://h.example/mcp/", true),
            ("https://h.example", "https://h.example/mcp", true),
            ("https://h.example/", "https://h.example/mcp", true),
            ("HTTPS://H.Example/mcp", "https://h.example/mcp", true),
            ("https://h.example:443/mcp", "https://h.example/mcp", true),
            ("https://h.example/a", "https://h.example/a/b/mcp", true),
            ("https://h.example/mcp", "https://h.example/mcp?x=1", true),
            ("https://h.example/mcp?x=1", "https://h.example/mcp?x=1", true),
            ("https://h.example/mcp", "https://h.example/mcp#f", true),
            ("https://h.example/mc", "https://h.example/mcp", false),
            ("https://h.example/mcp/x", "https://h.example/mcp", false),
            ("https://h.example/MCP", "https://h.example/mcp", false),
            ("https://h.example:8443/mcp", "https://h.example/mcp", false),
            ("http://h.example/mcp", "https://h.example/mcp", false),
            ("https://h.example.evil/mcp", "https://h.example/mcp", false),
            ("https://h.exampl", "https://h.example/mcp", false),
            ("https://other.example/mcp", "https://h.example/mcp", false),
            ("https://h.example//", "https://h.example/mcp", false),
            ("https://u@h.example", "https://h.example/mcp", false),
            ("https://", "https://h.example/mcp", false),
            ("urn:x", "https://h.example/mcp", false),
            ("https://h.example/mcp?x=1", "https://h.example/mcp", false),
            ("https://h.example/?x=1", "https://h.example/?x=1/y", false),
        ];
        for (theirs, url, expected) in rows {
            assert_eq!(resource(theirs).is_of(url), expected, "{theirs} {url}");
        }
    }

    #[test]
    fn endpoints_are_https_or_on_a_loopback_host() {
        for url in [
            "https://a/t",
            "http://localhost:1/t",
            "http://127.0.0.9/t",
            "http://[::1]:5/t",
            "https://a/t?x=1",
        ] {
            assert!(secure(url).is_some(), "{url}");
        }
        for url in [
            "http://a/t",
            "http://localhost.evil/t",
            "ftp://a/t",
            "javascript:alert(1)",
            "/t",
            "",
            "https://u:p@a/t",
            "https://a/t#f",
            "file:///t",
        ] {
            assert!(secure(url).is_none(), "{url}");
        }
    }

    #[test]
    fn server_metadata_needs_a_token_endpoint() {
        let read = |text| ServerMetadata::read(&document(text), "https://asked");
        let whole = read(
            r#"{"issuer":"https://a/","token_endpoint":"https://a/t","authorization_endpoint":"https://a/o","code_challenge_methods_supported":["S256"],
                "authorization_response_iss_parameter_supported":true,"registration_endpoint":"http://a/r"}"#,
        )
        .unwrap();
        assert_eq!((whole.issuer.as_str(), whole.token_endpoint.as_str()), ("https://a/", "https://a/t"));
        assert!(
            whole.offers_s256() && whole.iss_parameter_supported && whole.registration_endpoint.is_none()
        );
        assert_eq!(whole.token_endpoint_auth_methods_supported, None);
        let lacking = [
            (r#"{"issuer":"https://a"}"#, "no token_endpoint"),
            (r#"{"token_endpoint":"http://a/t"}"#, "token_endpoint is no https URL"),
            (
                r#"{"token_endpoint":"https://a/t","authorization_endpoint":"javascript:x"}"#,
                "authorization_endpoint is no https URL",
            ),
        ];
        for (text, reason) in lacking {
            assert_eq!(read(text), Err(reason), "{text}");
        }
        assert_eq!(read(r#"{"token_endpoint":"https://a/t"}"#).unwrap().issuer, "https://asked");
    }

    #[test]
    fn s256_must_be_listed_by_name() {
        for (methods, expected) in [
            (r#"["plain","S256"]"#, true),
            (r#"["plain"]"#, false),
            (r#"["s256"]"#, false),
            ("\"S256\"", false),
        ] {
            let text =
                format!(r#"{{"token_endpoint":"https://a/t","code_challenge_methods_supported":{methods}}}"#);
            assert_eq!(
                ServerMetadata::read(&document(&text), "").unwrap().offers_s256(),
                expected,
                "{methods}"
            );
        }
    }
}
