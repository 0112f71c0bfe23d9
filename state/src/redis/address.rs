//! The address of the server, and the checks before anything is sent to it.

use std::net::IpAddr;

use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo as _, RedisConnectionInfo, TlsCertificates};
use url::{Host, Url};
use zeroize::Zeroizing;

use super::super::StoreLimits;

/// Longest namespace.
const MAX_NAMESPACE: usize = 32;

/// A server, and how it is used.
#[derive(Clone)]
pub struct RedisOptions {
    /// `redis://[USER@]HOST[:PORT][/DATABASE]`, `rediss://` for TLS; `valkey` is an alias of `redis`. For a cluster any node,
    /// or several separated by commas.
    pub url: String,
    /// The password, unless the URL has it.
    pub password: Option<Zeroizing<String>>,
    /// PEM text of the certificate authorities that are trusted instead of the system's.
    pub ca: Option<Vec<u8>>,
    /// Whether the server is a cluster.
    pub cluster: bool,
    /// The prefix of all keys: 1 to 32 of `[A-Za-z0-9_-]`.
    pub namespace: String,
    /// Whether a server beyond this machine may be talked to without TLS.
    pub allow_insecure: bool,
    /// Bounds of the store.
    pub limits: StoreLimits,
}

/// The URL may hold a password.
impl std::fmt::Debug for RedisOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RedisOptions").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}

/// The fault in [`RedisOptions`]. The texts hold no password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RedisAddressError {
    /// It is no such URL.
    #[error("it must be redis://HOST:PORT or rediss://HOST:PORT")]
    Url,
    /// A password would travel in the clear.
    #[error(
        "{0} is not this machine, and redis:// sends everything in the clear: use rediss://, or allow it with --state-allow-insecure"
    )]
    Insecure(String),
    /// Both the URL and the options have a password.
    #[error("there are two passwords, one in the URL and one in a file")]
    TwoPasswords,
    /// The namespace is none.
    #[error("the namespace must be 1 to 32 of A-Z, a-z, 0-9, _ and -")]
    Namespace,
    /// A cluster has no numbered databases.
    #[error("a cluster has no database {0}")]
    Database(i64),
    /// The options do not fit together; the library's words.
    #[error("{0}")]
    Other(String),
}

impl RedisOptions {
    /// The server of that URL, by itself and with the defaults of the command line.
    pub fn of(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            password: None,
            ca: None,
            cluster: false,
            namespace: "ptc".to_owned(),
            allow_insecure: false,
            limits: StoreLimits::default(),
        }
    }

    /// Whether the URL holds a password.
    #[must_use]
    pub fn has_password_in_url(&self) -> bool {
        self.urls().any(|url| url.is_ok_and(|url| url.password().is_some()))
    }

    fn urls(&self) -> impl Iterator<Item = Result<Url, RedisAddressError>> + '_ {
        self.url.split(',').map(|url| {
            let url = Url::parse(url.trim()).map_err(|_| RedisAddressError::Url)?;
            let is_known = matches!(url.scheme(), "redis" | "rediss" | "valkey" | "valkeys");
            if is_known && url.host().is_some() { Ok(url) } else { Err(RedisAddressError::Url) }
        })
    }

    /// The nodes to connect to.
    pub(super) fn nodes(&self) -> Result<Vec<ConnectionInfo>, RedisAddressError> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if !(1..=MAX_NAMESPACE).contains(&self.namespace.len()) || !self.namespace.bytes().all(fits) {
            return Err(RedisAddressError::Namespace);
        }
        let nodes: Vec<_> = self.urls().map(|url| self.node(&url?)).collect::<Result<_, _>>()?;
        if nodes.len() > 1 && !self.cluster {
            return Err(RedisAddressError::Url);
        }
        Ok(nodes)
    }

    fn node(&self, url: &Url) -> Result<ConnectionInfo, RedisAddressError> {
        let is_plain = matches!(url.scheme(), "redis" | "valkey");
        if is_plain && !self.allow_insecure && !is_this_machine(url) {
            return Err(RedisAddressError::Insecure(url.host_str().unwrap_or_default().to_owned()));
        }
        if url.password().is_some() && self.password.is_some() {
            return Err(RedisAddressError::TwoPasswords);
        }
        let info = url.clone().into_connection_info().map_err(|_| RedisAddressError::Url)?;
        let settings = match &self.password {
            Some(password) => info.redis_settings().clone().set_password(password.as_str()),
            None => info.redis_settings().clone(),
        };
        let database = settings.db();
        if self.cluster && database != 0 {
            return Err(RedisAddressError::Database(database));
        }
        Ok(info.set_redis_settings(named(settings)))
    }

    /// The authorities that are trusted instead of the system's.
    pub(super) fn certificates(&self) -> Option<TlsCertificates> {
        let ca = self.ca.clone()?;
        Some(TlsCertificates { client_tls: None, root_cert: Some(ca) })
    }
}

/// Servers list the connections of their clients by name.
fn named(settings: RedisConnectionInfo) -> RedisConnectionInfo {
    settings.set_lib_name("ptc", env!("CARGO_PKG_VERSION"))
}

fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => {
            name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Whether a connection is encrypted.
pub(super) fn is_encrypted(info: &ConnectionInfo) -> bool {
    matches!(info.addr(), ConnectionAddr::TcpTls { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(url: &str, change: impl FnOnce(&mut RedisOptions)) -> Result<usize, RedisAddressError> {
        let mut options = RedisOptions::of(url);
        change(&mut options);
        options.nodes().map(|nodes| nodes.len())
    }

    #[test]
    fn what_would_travel_in_the_clear_is_refused() {
        for url in [
            "redis://localhost",
            "redis://127.0.0.1:7000/2",
            "redis://[::1]",
            "rediss://store.example",
            "valkeys://x",
        ] {
            assert_eq!(nodes(url, |_| {}), Ok(1), "{url}");
        }
        for (url, host) in
            [("redis://store.example:6379", "store.example"), ("redis://192.0.2.1", "192.0.2.1")]
        {
            assert_eq!(nodes(url, |_| {}), Err(RedisAddressError::Insecure(host.into())));
            assert_eq!(nodes(url, |options| options.allow_insecure = true), Ok(1));
        }
    }

    #[test]
    fn options_that_do_not_fit_together_are_told() {
        for url in ["", "store", "http://localhost", "redis://", "redis://a,redis://b"] {
            assert_eq!(
                nodes(url, |options| options.allow_insecure = true),
                Err(RedisAddressError::Url),
                "{url}"
            );
        }
        let cluster = |options: &mut RedisOptions| options.cluster = true;
        assert_eq!(nodes("redis://127.0.0.1:1,redis://127.0.0.1:2", cluster), Ok(2));
        assert_eq!(nodes("redis://127.0.0.1:1/3", cluster), Err(RedisAddressError::Database(3)));
        let password = |options: &mut RedisOptions| options.password = Some("secret".to_owned().into());
        assert_eq!(nodes("redis://u:p@127.0.0.1", password), Err(RedisAddressError::TwoPasswords));
        assert!(RedisOptions::of("redis://:p@127.0.0.1").has_password_in_url());
        assert!(!RedisOptions::of("redis://u@127.0.0.1").has_password_in_url());
        for namespace in ["", "a b", "a*", "a:b", "{a}", &"x".repeat(33)] {
            let named = |options: &mut RedisOptions| options.namespace = namespace.to_owned();
            assert_eq!(nodes("redis://127.0.0.1", named), Err(RedisAddressError::Namespace), "{namespace}");
        }
        assert!(!format!("{:?}", RedisOptions::of("redis://:secret@127.0.0.1")).contains("secret"));
    }
}
