//! The `Host` and `Origin` rules. They keep web pages from reaching a local server by DNS rebinding.

use std::net::{Ipv4Addr, Ipv6Addr};

/// True if the authority `host[:port]` names this machine.
pub(super) fn is_loopback_authority(authority: &str) -> bool {
    let host = match authority.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((host, port)) if port.is_empty() || port.starts_with(':') => host,
            _ => return false,
        },
        // More than one colon without brackets is a bare IPv6 address.
        None => match authority.bytes().position(|byte| byte == b':') {
            Some(at) if authority[at + 1..].contains(':') => authority,
            Some(at) => &authority[..at],
            None => authority,
        },
    };
    is_loopback_host(host)
}

fn is_loopback_host(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
        || host.parse::<Ipv6Addr>().is_ok_and(|address| address.is_loopback())
}

/// A normalised origin.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Origin {
    scheme: &'static str,
    host: String,
    port: u16,
}

impl Origin {
    /// Reads an `Origin` header or an entry of the allow-list. Paths are ignored, `null` is no origin.
    pub(super) fn parse(text: &str) -> Option<Origin> {
        let (scheme, rest) = text.trim().split_once("://")?;
        let (scheme, default_port) = match scheme.to_ascii_lowercase().as_str() {
            "http" => ("http", 80),
            "https" => ("https", 443),
            _ => return None,
        };
        let authority = rest.split(['/', '?', '#']).next()?;
        if authority.is_empty() || authority.contains('@') {
            return None;
        }
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, port.parse().ok()?),
            _ => (authority, default_port),
        };
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        if bare.is_empty() {
            return None;
        }
        Some(Origin { scheme, host: bare.to_ascii_lowercase(), port })
    }
}

/// The origins that may connect.
#[derive(Debug)]
pub(super) struct OriginRule {
    allowed: Vec<Origin>,
    /// The origin of our own pages.
    own: Option<Origin>,
    loopback_bind: bool,
}

impl OriginRule {
    /// The rule for these allow-list entries; entries that are no origins allow nothing. `own` is the origin of
    /// `--public-url`, whose pages are ours.
    pub(super) fn new(entries: &[String], own: Option<&str>, loopback_bind: bool) -> Self {
        OriginRule {
            allowed: entries.iter().filter_map(|entry| Origin::parse(entry)).collect(),
            own: own.and_then(Origin::parse),
            loopback_bind,
        }
    }

    /// True for the origin of our own pages.
    pub(super) fn is_own(&self, header: &str) -> bool {
        self.own.is_some() && Origin::parse(header) == self.own
    }

    /// True if a request with this `Origin` header may proceed. `Err` stands for a header that is not text.
    pub(super) fn admits(&self, header: Option<Result<&str, ()>>) -> bool {
        let Some(header) = header else { return true };
        let Some(origin) = header.ok().and_then(Origin::parse) else { return false };
        if self.own.as_ref() == Some(&origin) {
            return true;
        }
        if self.allowed.is_empty() {
            self.loopback_bind && is_loopback_host(&origin.host)
        } else {
            self.allowed.contains(&origin)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_authorities() {
        for yes in ["localhost", "LocalHost:80", "127.0.0.1", "127.9.9.9:7332", "[::1]", "[::1]:80", "::1"] {
            assert!(is_loopback_authority(yes), "{yes}");
        }
        for no in [
            "",
            "evil.example.com",
            "127.0.0.1.evil.com",
            "localhost.evil",
            "10.0.0.1",
            "[::1",
            "[::1]x",
            "[::2]",
            ":80",
        ] {
            assert!(!is_loopback_authority(no), "{no}");
        }
    }

    #[test]
    fn without_a_list_only_local_pages_reach_a_local_server() {
        let local = OriginRule::new(&[], None, true);
        let public = OriginRule::new(&[], None, false);
        assert!(local.admits(None) && public.admits(None));
        for yes in ["http://localhost:3000", "https://127.0.0.1", "http://[::1]:8080/path"] {
            assert!(local.admits(Some(Ok(yes))) && !public.admits(Some(Ok(yes))), "{yes}");
        }
        for no in [
            "null",
            "",
            "http://evil.example.com",
            "file://localhost",
            "localhost",
            "http://user@localhost",
            "http://",
        ] {
            assert!(!local.admits(Some(Ok(no))), "{no}");
        }
        assert!(!local.admits(Some(Err(()))));
    }

    #[test]
    fn with_a_list_nothing_else_is_admitted() {
        let rule = OriginRule::new(&["https://App.example".into(), "http://[::1]:80/x".into()], None, true);
        for yes in ["https://app.example", "HTTPS://APP.EXAMPLE:443", "http://[::1]"] {
            assert!(rule.admits(Some(Ok(yes))), "{yes}");
        }
        for no in ["http://app.example", "https://app.example:444", "http://localhost"] {
            assert!(!rule.admits(Some(Ok(no))), "{no}");
        }
    }

    #[test]
    fn the_pages_of_the_public_url_are_ours() {
        for entries in [&[][..], &["https://app.example".to_owned()]] {
            let rule = OriginRule::new(entries, Some("https://ptc.example"), true);
            assert!(rule.admits(Some(Ok("https://ptc.example"))));
            for no in ["http://ptc.example", "https://ptc.example:8443", "https://evil.example"] {
                assert!(!rule.admits(Some(Ok(no))), "{no}");
            }
        }
    }
}
