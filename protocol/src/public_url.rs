//! `--public-url`: the public address of the MCP endpoint (auth.md 10.2).

use std::net::{Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

/// A full URL of the MCP endpoint as clients write it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicUrl {
    written: String,
    origin: String,
}

impl PublicUrl {
    /// Parses `text`; `None` unless it is an https URL, or an http URL of a loopback host, without user information,
    /// query and fragment.
    pub fn parse(text: &str) -> Option<PublicUrl> {
        let url = Url::parse(text).ok()?;
        let loopback = match url.host()? {
            Host::Domain(name) => name.eq_ignore_ascii_case("localhost"),
            Host::Ipv4(address) => Ipv4Addr::is_loopback(&address),
            Host::Ipv6(address) => Ipv6Addr::is_loopback(&address),
        };
        let plain = url.username().is_empty() && url.password().is_none();
        let bare = url.query().is_none() && url.fragment().is_none();
        let secure = url.scheme() == "https" || (url.scheme() == "http" && loopback);
        (plain && bare && secure)
            .then(|| PublicUrl { written: text.to_owned(), origin: url.origin().ascii_serialization() })
    }

    /// As the operator wrote it.
    pub fn as_str(&self) -> &str {
        &self.written
    }

    /// The URL of a profile below it.
    pub fn of_profile(&self, name: &str) -> String {
        format!("{}/{name}", self.written.trim_end_matches('/'))
    }

    /// Its scheme, host and port, as a browser writes them in `Origin`.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// True if `authority`, as a client writes it in `Host`, is its host and port.
    pub fn has_authority(&self, authority: &str) -> bool {
        let Some((scheme, own)) = self.origin.split_once("://") else { return false };
        let default_port = if scheme == "https" { ":443" } else { ":80" };
        authority.eq_ignore_ascii_case(own)
            || authority.strip_suffix(default_port).is_some_and(|host| host.eq_ignore_ascii_case(own))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_url_is_secure_or_of_this_machine() {
        for (text, origin, authority) in [
            ("https://ptc.example/mcp", "https://ptc.example", "ptc.example"),
            ("https://PTC.example:8443", "https://ptc.example:8443", "ptc.example:8443"),
            ("https://ptc.example:443/mcp/", "https://ptc.example", "ptc.example"),
            ("http://127.0.0.1:7332/mcp", "http://127.0.0.1:7332", "127.0.0.1:7332"),
            ("http://[::1]:7332/mcp", "http://[::1]:7332", "[::1]:7332"),
            ("http://localhost/mcp", "http://localhost", "localhost"),
        ] {
            let url = PublicUrl::parse(text).unwrap();
            assert_eq!((url.as_str(), url.origin()), (text, origin));
            assert!(url.has_authority(authority) && url.has_authority(&authority.to_uppercase()));
            assert!(!url.has_authority("evil.example") && !url.has_authority(&format!("{authority}1")));
        }
        assert!(PublicUrl::parse("https://ptc.example/mcp").unwrap().has_authority("ptc.example:443"));
        for text in [
            "",
            "ptc.example",
            "http://ptc.example/mcp",
            "http://10.0.0.1/mcp",
            "ftp://localhost/",
            "https://user@ptc.example/mcp",
            "https://ptc.example/mcp?a",
            "https://ptc.example/mcp#a",
            "/mcp",
        ] {
            assert_eq!(PublicUrl::parse(text), None, "{text}");
        }
    }
}
