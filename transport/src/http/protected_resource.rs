//! The metadata of this server as a protected resource (RFC 9728, auth.md 13.2). Everybody may read them, whatever page they are on.

use bytes::Bytes;
use http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, HeaderValue};
use http::{Method, StatusCode};
use ptc_mcp::json::{Value, json};
use url::Url;

use super::answer::{self, HttpResponse, is_read};
use ptc_protocol::settings::{InboundOAuth, PublicUrl};

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// The document and its two paths.
#[derive(Debug)]
pub(super) struct ProtectedResource {
    /// The well-known path with that of the public URL behind it.
    path: String,
    /// The document's URL, for challenges.
    url: String,
    document: Bytes,
}

impl ProtectedResource {
    /// The metadata of the resource at `public`, with tokens as `oauth` says. Nothing in them comes from a request.
    pub(super) fn new(public: &PublicUrl, oauth: &InboundOAuth) -> Self {
        let path = Url::parse(public.as_str()).map(|url| url.path().trim_end_matches('/').to_owned());
        let path = format!("{WELL_KNOWN}{}", path.unwrap_or_default());
        let mut document = json!({
            "resource": public.as_str(),
            "authorization_servers": oauth.issuers,
            "bearer_methods_supported": ["header"],
            "resource_name": "ptc",
        });
        let scopes: Vec<&String> =
            oauth.required_scopes.iter().filter(|scope| *scope != "offline_access").collect();
        if let (false, Value::Object(members)) = (scopes.is_empty(), &mut document) {
            members.insert("scopes_supported".to_owned(), json!(scopes));
        }
        Self { url: format!("{}{path}", public.origin()), path, document: Bytes::from(document.to_string()) }
    }

    /// Where it is.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// The answer at `path`; `None` for any other than its two.
    pub(super) fn answer(&self, method: &Method, path: &str) -> Option<HttpResponse> {
        let path = path.strip_suffix('/').unwrap_or(path);
        if path != self.path && path != WELL_KNOWN {
            return None;
        }
        if !is_read(method) {
            return Some(answer::method_not_allowed("GET, HEAD"));
        }
        let mut answer = answer::json(StatusCode::OK, self.document.clone());
        let headers = answer.headers_mut();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("max-age=3600"));
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        Some(answer)
    }
}
