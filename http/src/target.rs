//! The request target.

use std::sync::Arc;

use http::header::{ACCEPT_ENCODING, HOST};
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, Uri};

use super::HttpError;
use super::host::Host;
use super::route::{Proxy, Route};

/// The accepted content encoding: none.
pub(super) const IDENTITY: HeaderValue = HeaderValue::from_static("identity");

/// Scheme, host, port and route: connections are shared by these.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Origin {
    pub(super) tls: bool,
    pub(super) host: Host,
    pub(super) port: u16,
    pub(super) route: Route,
}

impl Origin {
    /// The proxy that whole requests go to. With TLS it sees nothing of them.
    pub(super) fn forwarding_proxy(&self) -> Option<&Proxy> {
        match &self.route {
            Route::Proxy(proxy) if !self.tls => Some(proxy),
            Route::Proxy(_) | Route::Direct | Route::Addresses(_) | Route::UnixSocket(_) => None,
        }
    }
}

/// The destination of a request: an origin and a path with its query. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Target {
    pub(super) origin: Arc<Origin>,
    authority: HeaderValue,
    path: PathAndQuery,
}

impl Target {
    /// The target that a URI means, in ASCII. User info is not sent.
    ///
    /// # Errors
    /// [`HttpError::BadTarget`] for other schemes than `http` and `https`, and without a host.
    pub fn of(uri: &Uri) -> Result<Self, HttpError> {
        let shown =
            || format!("{}://{}", uri.scheme_str().unwrap_or_default(), uri.host().unwrap_or_default());
        let bad = |what: &str| HttpError::BadTarget(format!("{what} in {}", shown()));
        let tls = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(bad("unsupported scheme")),
        };
        let host = uri.host().and_then(Host::read).ok_or_else(|| bad("no host"))?;
        let default = if tls { 443 } else { 80 };
        let port = match uri.authority().and_then(|authority| authority.port()) {
            Some(port) => port.as_u16(),
            None => default,
        };
        let authority = if port == default { host.to_string() } else { format!("{host}:{port}") };
        let path = uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
        Ok(Self {
            origin: Arc::new(Origin { tls, host, port, route: Route::Direct }),
            authority: HeaderValue::try_from(authority).map_err(|_| bad("unusable host"))?,
            path,
        })
    }

    /// The target that a URL means. User info and fragment are not sent.
    ///
    /// # Errors
    /// [`HttpError::BadTarget`] for other schemes than `http` and `https`, and without a host.
    #[cfg(feature = "upstreams")]
    pub fn new(url: &url::Url) -> Result<Self, HttpError> {
        let bad = |what: &str| HttpError::BadTarget(format!("{what} in {}", without_secrets(url)));
        let tls = match url.scheme() {
            "https" => true,
            "http" => false,
            _ => return Err(bad("unsupported scheme")),
        };
        let host = Host::from(url.host().ok_or_else(|| bad("no host"))?);
        let port = url.port_or_known_default().ok_or_else(|| bad("no port"))?;
        let authority = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_string(),
        };
        let path = match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        };
        Ok(Self {
            origin: Arc::new(Origin { tls, host, port, route: Route::Direct }),
            authority: HeaderValue::try_from(authority).map_err(|_| bad("unusable host"))?,
            path: PathAndQuery::try_from(path).map_err(|_| bad("unusable path"))?,
        })
    }

    /// The same, reached by this route.
    #[must_use]
    pub fn via(self, route: Route) -> Self {
        if route == self.origin.route {
            return self;
        }
        Self { origin: Arc::new(Origin { route, ..(*self.origin).clone() }), ..self }
    }

    /// The proxy that answers in place of an `http` origin that it cannot reach: host and port.
    pub fn answering_proxy(&self) -> Option<String> {
        self.origin.forwarding_proxy().map(Proxy::to_string)
    }

    /// `common` with the headers that the client adds to each request to this target: headers shared by many requests are then
    /// copied once for each and never added to.
    #[must_use]
    pub fn common_headers(&self, mut common: HeaderMap) -> HeaderMap {
        common.insert(ACCEPT_ENCODING, IDENTITY);
        common.insert(HOST, self.authority.clone());
        common
    }

    /// The value of `host`.
    pub(super) fn authority(&self) -> &HeaderValue {
        &self.authority
    }

    /// The request line of HTTP/1.1.
    pub(super) fn path_uri(&self) -> Uri {
        Uri::from(self.path.clone())
    }

    /// The pseudo-headers of HTTP/2.
    pub(super) fn full_uri(&self) -> Option<Uri> {
        let authority = self.authority.to_str().ok()?;
        let scheme = if self.origin.tls { "https" } else { "http" };
        Uri::builder().scheme(scheme).authority(authority).path_and_query(self.path.clone()).build().ok()
    }
}

/// A URL as a message may show it.
#[cfg(feature = "upstreams")]
fn without_secrets(url: &url::Url) -> String {
    format!("{}://{}", url.scheme(), url.host_str().unwrap_or_default())
}

#[cfg(all(test, feature = "upstreams"))]
mod tests {
    use super::*;
    use url::Url;

    fn target(url: &str) -> Result<Target, HttpError> {
        Target::new(&Url::parse(url).unwrap())
    }

    #[test]
    fn urls_become_origin_and_path() {
        let t = target("https://user:pw@Example.COM/a%2Fb?c=d#e").unwrap();
        assert_eq!((t.origin.tls, t.origin.port), (true, 443));
        assert_eq!(t.authority(), "example.com");
        assert_eq!(t.path_uri(), "/a%2Fb?c=d");
        assert_eq!(t.full_uri().unwrap(), "https://example.com/a%2Fb?c=d");
        let t = target("http://[::1]:8080").unwrap();
        assert_eq!(t.authority(), "[::1]:8080");
        assert_eq!(t.path_uri(), "/");
    }

    #[test]
    fn uris_mean_what_urls_mean() {
        for text in [
            "https://Example.COM/a%2Fb?c=d",
            "http://me:pw@h:80/v1",
            "http://[::1]:8080",
            "https://127.0.0.1:8443/?x",
            "http://h?q=1",
        ] {
            let (uri, url) = (Target::of(&text.parse().unwrap()).unwrap(), target(text).unwrap());
            assert_eq!(uri.origin, url.origin, "{text}");
            assert_eq!((uri.authority(), uri.path_uri()), (url.authority(), url.path_uri()), "{text}");
        }
        for text in ["/path", "ftp://h/", "h"] {
            assert!(Target::of(&text.parse().unwrap()).is_err(), "{text}");
        }
    }

    #[test]
    fn other_urls_are_refused_without_showing_secrets() {
        let error = target("ftp://user:sekrit@example.com/x").unwrap_err().to_string();
        assert!(!error.contains("sekrit"), "{error}");
        assert!(target("data:text/plain,x").is_err());
    }
}
