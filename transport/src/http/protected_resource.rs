//! The metadata of this server as a protected resource (RFC 9728, auth.md 13.2). Everybody may read them, whatever page they are on.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, HeaderValue};
use http::{Method, StatusCode};
use ptc_mcp::json::{Value, json};
use url::Url;

use super::answer::{self, HttpResponse, is_read};
use ptc_protocol::settings::{InboundOAuth, PublicUrl};

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// The documents and their paths: one of the whole, at two, and one of each profile.
#[derive(Debug)]
pub(super) struct ProtectedResource {
    /// The URL of the document of the whole, for challenges. That of a profile has the name behind it.
    url: String,
    documents: Vec<(String, Bytes)>,
}

impl ProtectedResource {
    /// The metadata of the resource at `public` and of these profiles below it, with tokens as `oauth` says. Nothing in them comes
    /// from a request.
    pub(super) fn new(public: &PublicUrl, oauth: &InboundOAuth, profiles: &[Arc<str>]) -> Self {
        let path = Url::parse(public.as_str()).map(|url| url.path().trim_end_matches('/').to_owned());
        let path = format!("{WELL_KNOWN}{}", path.unwrap_or_default());
        let whole = document(public.as_str(), oauth);
        let of_profile =
            |name: &Arc<str>| (format!("{path}/{name}"), document(&public.of_profile(name), oauth));
        let mut documents: Vec<_> = profiles.iter().map(of_profile).collect();
        documents.push((WELL_KNOWN.to_owned(), whole.clone()));
        let url = format!("{}{path}", public.origin());
        documents.push((path, whole));
        Self { url, documents }
    }

    /// Where it is.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// The answer at `path`; `None` for any other than those of the documents.
    pub(super) fn answer(&self, method: &Method, path: &str) -> Option<HttpResponse> {
        let path = path.strip_suffix('/').unwrap_or(path);
        let (_, document) = self.documents.iter().find(|(known, _)| known == path)?;
        if !is_read(method) {
            return Some(answer::method_not_allowed("GET, HEAD"));
        }
        let mut answer = answer::json(StatusCode::OK, document.clone());
        let headers = answer.headers_mut();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("max-age=3600"));
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        Some(answer)
    }
}

/// The metadata of one resource.
fn document(resource: &str, oauth: &InboundOAuth) -> Bytes {
    let mut document = json!({
        "resource": resource,
        "authorization_servers": oauth.issuers,
        "bearer_methods_supported": ["header"],
        "resource_name": "ptc",
    });
    let scopes: Vec<&String> =
        oauth.required_scopes.iter().filter(|scope| *scope != "offline_access").collect();
    if let (false, Value::Object(members)) = (scopes.is_empty(), &mut document) {
        members.insert("scopes_supported".to_owned(), json!(scopes));
    }
    Bytes::from(document.to_string())
}
