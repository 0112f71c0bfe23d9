//! How a connection reaches an origin: directly, through an HTTP proxy, or over a Unix socket.

use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use http::HeaderValue;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::HttpError;
use super::host::Host;

/// Largest head of a proxy's answer to `CONNECT`.
const MAX_HEAD: usize = 16 * 1024;

/// How an origin is reached. Connections are shared by those that reach it in the same way.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub enum Route {
    /// By its name or address.
    #[default]
    Direct,
    /// To one of these addresses, regardless of the name's current ones: these have been checked.
    Addresses(Arc<[SocketAddr]>),
    /// Through a proxy: `https` by `CONNECT`, with TLS from end to end; `http` by whole URLs.
    Proxy(Proxy),
    /// Over the socket at this path; the URL's host only stands in the `host` header.
    UnixSocket(Arc<Path>),
}

/// An HTTP proxy.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Proxy {
    pub(super) host: Host,
    pub(super) port: u16,
    authorization: Option<HeaderValue>,
}

/// As messages name it: host and port.
impl fmt::Display for Proxy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.host, self.port)
    }
}

impl Proxy {
    /// The proxy at the host and port of `url`, whose scheme is `http`. `authorization`: the value of
    /// `proxy-authorization`.
    ///
    /// # Errors
    /// Why it cannot be one.
    #[cfg(feature = "upstreams")]
    pub fn new(url: &url::Url, authorization: Option<HeaderValue>) -> Result<Self, &'static str> {
        if url.scheme() != "http" {
            return Err("only HTTP proxies are supported, with http://");
        }
        if !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some() {
            return Err("a proxy is a host and a port, without a path");
        }
        let host = Host::from(url.host().ok_or("it has no host")?);
        let authorization = authorization.map(|mut value| {
            value.set_sensitive(true);
            value
        });
        Ok(Self { host, port: url.port_or_known_default().unwrap_or(80), authorization })
    }

    pub(super) fn authorization(&self) -> Option<&HeaderValue> {
        self.authorization.as_ref()
    }

    /// An exchange with it that failed.
    pub(super) fn failed(&self, detail: impl fmt::Display) -> HttpError {
        HttpError::Proxy(format!("{self}: {detail}"))
    }

    /// The meaning of a refusal with this status.
    pub(super) fn refused(&self, status: u16) -> HttpError {
        match (status, &self.authorization) {
            (407, None) => self.failed("it wants credentials (http 407): name a binding in proxy_auth"),
            (407, Some(_)) => self.failed("it did not accept the credentials (http 407)"),
            (403, _) => self.failed("it does not let us reach this host (http 403)"),
            (502..=504, _) => self.failed(format_args!("it cannot reach the host (http {status})")),
            _ => self.failed(format_args!("it refused CONNECT with http {status}")),
        }
    }

    /// Has the proxy connect `stream` to `port` of `host`. Nothing that is sent from there later is read.
    pub(super) async fn tunnel<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: &mut S,
        host: &Host,
        port: u16,
    ) -> Result<(), HttpError> {
        let place = format!("{host}:{port}");
        let mut request = format!("CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n").into_bytes();
        if let Some(authorization) = &self.authorization {
            request.extend_from_slice(b"Proxy-Authorization: ");
            request.extend_from_slice(authorization.as_bytes());
            request.extend_from_slice(b"\r\n");
        }
        request.extend_from_slice(b"\r\n");
        let broke = |error: std::io::Error| self.failed(HttpError::of_io(&error));
        stream.write_all(&request).await.map_err(broke)?;
        let mut head = Vec::with_capacity(256);
        // Byte by byte, once for each connection: what comes after the head belongs to TLS.
        while !head.ends_with(b"\r\n\r\n") && !head.ends_with(b"\n\n") {
            if head.len() >= MAX_HEAD {
                return Err(self.failed("its answer to CONNECT has no end"));
            }
            head.push(stream.read_u8().await.map_err(broke)?);
        }
        match status(&head) {
            Some(200..=299) => Ok(()),
            Some(status) => Err(self.refused(status)),
            None => Err(self.failed("it does not speak HTTP")),
        }
    }
}

/// The status of a response.
fn status(head: &[u8]) -> Option<u16> {
    let line = std::str::from_utf8(head.split(|byte| *byte == b'\n').next()?).ok()?;
    let mut words = line.trim_end().splitn(3, ' ');
    words.next().filter(|version| version.starts_with("HTTP/1."))?;
    words.next()?.parse().ok().filter(|status| (100..600).contains(status))
}

#[cfg(all(test, feature = "upstreams"))]
mod tests {
    use super::*;
    use url::Url;

    fn proxy(authorization: Option<&'static str>) -> Proxy {
        let url = Url::parse("http://proxy.example:3128").unwrap();
        Proxy::new(&url, authorization.map(HeaderValue::from_static)).unwrap()
    }

    async fn tunnel(proxy: &Proxy, answer: &str) -> (String, Result<(), HttpError>) {
        let (mut ours, mut theirs) = tokio::io::duplex(64 * 1024);
        theirs.write_all(answer.as_bytes()).await.unwrap();
        let host = Host::Domain("h.example".to_owned());
        let result = proxy.tunnel(&mut ours, &host, 443).await;
        drop(ours);
        let mut said = String::new();
        theirs.read_to_string(&mut said).await.unwrap();
        (said, result)
    }

    #[tokio::test]
    async fn a_tunnel_is_asked_for_by_host_and_port() {
        let (said, result) =
            tunnel(&proxy(Some("Basic c2VrcmV0")), "HTTP/1.1 200 OK\r\nVia: x\r\n\r\n").await;
        assert_eq!(
            said,
            "CONNECT h.example:443 HTTP/1.1\r\nHost: h.example:443\r\nProxy-Authorization: Basic c2VrcmV0\r\n\r\n"
        );
        assert_eq!(result, Ok(()));
    }

    #[tokio::test]
    async fn refusals_name_the_proxy_and_what_to_do() {
        let text = async |proxy: Proxy, answer: &str| tunnel(&proxy, answer).await.1.unwrap_err().to_string();
        let answer = |status: u16| format!("HTTP/1.1 {status} No\r\n\r\n");
        let at = "proxy proxy.example:3128: ";
        assert_eq!(
            text(proxy(None), &answer(407)).await,
            format!("{at}it wants credentials (http 407): name a binding in proxy_auth")
        );
        assert_eq!(
            text(proxy(Some("Basic x")), &answer(407)).await,
            format!("{at}it did not accept the credentials (http 407)")
        );
        assert_eq!(
            text(proxy(None), &answer(403)).await,
            format!("{at}it does not let us reach this host (http 403)")
        );
        assert_eq!(text(proxy(None), &answer(503)).await, format!("{at}it cannot reach the host (http 503)"));
        assert_eq!(text(proxy(None), &answer(500)).await, format!("{at}it refused CONNECT with http 500"));
        assert_eq!(text(proxy(None), "SSH-2.0-x\r\n\r\n").await, format!("{at}it does not speak HTTP"));
        let endless = format!("HTTP/1.1 200 OK\r\n{}", "x: y\r\n".repeat(4000));
        assert_eq!(text(proxy(None), &endless).await, format!("{at}its answer to CONNECT has no end"));
    }

    #[test]
    fn proxies_are_hosts_with_ports_and_keep_their_secret() {
        let new = |url: &str| Proxy::new(&Url::parse(url).unwrap(), None);
        assert_eq!(new("http://p").unwrap().port, 80);
        assert!(new("https://p:1").is_err() && new("socks5://p:1").is_err() && new("http://p/x").is_err());
        assert!(!format!("{:?}", proxy(Some("Basic c2VrcmV0"))).contains("c2VrcmV0"));
    }
}
