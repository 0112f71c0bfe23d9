//! Hosts of URLs.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

/// A host: a name, or an address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Host {
    Domain(String),
    Ipv4(Ipv4Addr),
    Ipv6(Ipv6Addr),
}

/// As URLs write it.
impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Domain(name) => f.write_str(name),
            Host::Ipv4(address) => address.fmt(f),
            Host::Ipv6(address) => write!(f, "[{address}]"),
        }
    }
}

impl Host {
    /// The host that a URI writes so.
    pub(super) fn read(text: &str) -> Option<Host> {
        if let Some(inner) = text.strip_prefix('[') {
            return inner.strip_suffix(']')?.parse().ok().map(Host::Ipv6);
        }
        if text.is_empty() {
            return None;
        }
        Some(text.parse().map_or_else(|_| Host::Domain(text.to_ascii_lowercase()), Host::Ipv4))
    }
}

#[cfg(feature = "upstreams")]
impl From<url::Host<&str>> for Host {
    fn from(host: url::Host<&str>) -> Host {
        match host {
            url::Host::Domain(name) => Host::Domain(name.to_owned()),
            url::Host::Ipv4(address) => Host::Ipv4(address),
            url::Host::Ipv6(address) => Host::Ipv6(address),
        }
    }
}
