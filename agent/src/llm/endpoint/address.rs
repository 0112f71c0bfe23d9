//! The address of an endpoint: a URI of `http` or `https`, and the few changes that clients make to it.

use http::Uri;
use std::fmt::Write as _;

/// An address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::llm) struct Address {
    scheme: String,
    /// As the URI writes it: an address of IPv6 in brackets.
    host: String,
    /// The port, unless it is the scheme's own.
    port: Option<u16>,
    /// From the first slash on, percent-encoded.
    path: String,
    query: Option<String>,
}

impl Address {
    /// Reads an address. User info is left out.
    ///
    /// # Errors
    /// The fault, as the rest of a sentence whose subject is the address.
    pub(in crate::llm) fn parse(text: &str) -> Result<Address, String> {
        let text = text.trim();
        let uri: Uri = text.parse().map_err(|error| format!("cannot be read: {error}"))?;
        let scheme = uri.scheme_str().unwrap_or_default().to_ascii_lowercase();
        let host = uri.host().unwrap_or_default().to_ascii_lowercase();
        if !matches!(scheme.as_str(), "http" | "https") || host.is_empty() {
            return Err("must begin with http:// or https://".into());
        }
        let default = default_port(&scheme);
        let authority = uri.authority();
        let port = authority.and_then(|authority| authority.port_u16()).filter(|port| *port != default);
        let path = uri.path().to_owned();
        Ok(Address { scheme, host, port, path, query: uri.query().map(str::to_owned) })
    }

    pub(in crate::llm) fn host(&self) -> &str {
        &self.host
    }

    /// The value of `host`: with the port unless it is the scheme's own.
    pub(in crate::llm) fn authority(&self) -> String {
        match self.port {
            Some(port) => format!("{}:{port}", self.host),
            None => self.host.clone(),
        }
    }

    /// Host and port, for messages.
    pub(in crate::llm) fn place(&self) -> String {
        format!("{}:{}", self.host, self.port.unwrap_or(default_port(&self.scheme)))
    }

    pub(in crate::llm) fn path(&self) -> &str {
        &self.path
    }

    /// Another host, and the port if there is none.
    pub(in crate::llm) fn moved(mut self, host: Option<&str>, port: Option<u16>) -> Address {
        self.host = host.map_or(self.host, str::to_owned);
        self.port = self.port.or(port).filter(|port| *port != default_port(&self.scheme));
        self
    }

    /// Without its query.
    pub(in crate::llm) fn bare(self) -> Address {
        Address { query: None, ..self }
    }

    /// With further segments of the path, in the place of a last slash.
    pub(in crate::llm) fn with_segments<'s>(
        mut self,
        segments: impl IntoIterator<Item = &'s str>,
    ) -> Address {
        self.path.truncate(self.path.trim_end_matches('/').len());
        for segment in segments {
            self.path.push('/');
            self.path.push_str(&encoded(segment));
        }
        if self.path.is_empty() {
            self.path.push('/');
        }
        self
    }

    /// With a further pair of the query, which needs no escapes.
    pub(in crate::llm) fn with_pair(mut self, pair: &str) -> Address {
        self.query = Some(match self.query {
            Some(query) => format!("{query}&{pair}"),
            None => pair.to_owned(),
        });
        self
    }

    /// As HTTP clients take it.
    ///
    /// # Errors
    /// It cannot be written as a URI.
    pub(in crate::llm) fn uri(&self) -> Result<Uri, String> {
        self.to_string().parse().map_err(|error| format!("cannot be used: {error}"))
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}://{}{}", self.scheme, self.authority(), self.path)?;
        self.query.iter().try_for_each(|query| write!(f, "?{query}"))
    }
}

fn default_port(scheme: &str) -> u16 {
    if scheme == "https" { 443 } else { 80 }
}

/// A segment of a path: characters that would end it, or that no path may hold, as `%XX`.
fn encoded(segment: &str) -> String {
    segment.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:@".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_written() {
        let read = |text: &str| Address::parse(text).map(|address| address.to_string());
        for (text, written) in [
            ("HTTP://Me:pw@Host:80/v1/?a=b#c", "http://host/v1/?a=b"),
            (" https://h ", "https://h/"),
            ("https://h:8443/a%2Fb", "https://h:8443/a%2Fb"),
            ("http://[::1]:8080", "http://[::1]:8080/"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(written));
        }
        for text in ["", "h", "ftp://h", "data:x", "/v1", "http://"] {
            assert!(read(text).is_err(), "{text}");
        }
        let grown = Address::parse("http://h/v1/")
            .unwrap()
            .with_segments(["models", "a b/c:go"])
            .with_pair("alt=sse");
        assert_eq!(grown.to_string(), "http://h/v1/models/a%20b%2Fc:go?alt=sse");
        assert_eq!(Address::parse("https://h").unwrap().place(), "h:443");
        assert_eq!(
            Address::parse("http://0.0.0.0").unwrap().moved(Some("127.0.0.1"), Some(11434)).authority(),
            "127.0.0.1:11434"
        );
    }
}
