//! URL rules: HTTPS, unless two explicit opt-ins are set.

use std::fmt;

use url::Url;

use super::fields::Fields;
use ptc_base::config_error::ConfigError;

/// Parses the URL under `field` (`url`, `base_url`, `schema_url`). Plain `http://` needs `allow_insecure_http`.
pub(super) fn parse_url(
    fields: &Fields<'_>,
    field: &str,
    text: &str,
    allow_insecure_http: bool,
) -> Result<Url, ConfigError> {
    let shown = MaskedUrl(text);
    let malformed = || fields.error(format_args!("has malformed {field} {shown}"));
    if let Some(path) = text.strip_prefix("unix:").map(|path| path.trim_start_matches("//")) {
        return Err(fields.error(format_args!(
            "{field} {shown} is a socket; write \"{field}\": \"http://localhost/mcp\" with the path that the server listens on, \
             and \"unix_socket\": {path:?}"
        )));
    }
    // The WHATWG parser repairs input (white space, missing slashes); a configuration should say what it means.
    let (_, authority) = text.split_once("://").ok_or_else(|| {
        let is_host = !text.starts_with(['/', '.']) && !text.is_empty();
        let advice = if is_host { "; write https:// before the host" } else { "" };
        fields.error(format_args!("has malformed {field} {shown}{advice}"))
    })?;
    if authority.starts_with(['/', '?', '#', '\\'])
        || text.contains(|c: char| c.is_whitespace() || c.is_control())
    {
        return Err(malformed());
    }
    let url = Url::parse(text).map_err(|_| malformed())?;
    if url.host_str().is_none_or(str::is_empty) {
        return Err(malformed());
    }
    match url.scheme() {
        "https" => {}
        "http" if allow_insecure_http => {}
        "http" => {
            return Err(
                fields.error(format_args!(
                    "{field} {shown} uses http:// without allow_insecure_http; write https://, or \"allow_insecure_http\": true \
                     if nobody else can read along"
                ))
            );
        }
        scheme => {
            return Err(fields.error(format_args!("{field} {shown} has unsupported URL scheme {scheme:?}")));
        }
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(fields.error(format_args!(
            "{field} {shown} carries a user or a password; use auth with a credential binding instead"
        )));
    }
    Ok(url)
}

/// Refuses credentials over plain HTTP unless `allow_insecure_auth` is set. `urls` are all those that get them.
pub(super) fn check_insecure_auth<'u>(
    fields: &Fields<'_>,
    mut urls: impl Iterator<Item = &'u Url>,
    has_auth: bool,
    allow_insecure_auth: bool,
) -> Result<(), ConfigError> {
    if has_auth && !allow_insecure_auth && urls.any(|url| url.scheme() == "http") {
        return Err(fields.error("uses http:// with auth but allow_insecure_auth is not true"));
    }
    Ok(())
}

/// A URL as an error shows it: quoted, with user info and query masked, because both are places for secrets.
struct MaskedUrl<'a>(&'a str);

impl fmt::Display for MaskedUrl<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (text, masked) = match self.0.find(['?', '#']) {
            Some(end) => (&self.0[..end], "?…"),
            None => (self.0, ""),
        };
        let authority = text.find("://").map_or(0, |i| i + 3);
        let host_end = text[authority..].find('/').map_or(text.len(), |i| authority + i);
        let shown = match text[authority..host_end].rfind('@') {
            Some(at) => format!("{}…{}{masked}", &text[..authority], &text[authority + at..]),
            None => format!("{text}{masked}"),
        };
        write!(f, "{shown:?}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, insecure: bool) -> Result<String, String> {
        let map = ptc_mcp::json::Map::new();
        parse_url(&Fields::new("x", &map), "url", text, insecure)
            .map(|u| u.to_string())
            .map_err(|e| e.to_string())
    }

    #[test]
    fn https_is_the_default() {
        assert_eq!(parse("https://h/mcp", false).unwrap(), "https://h/mcp");
        assert_eq!(
            parse("http://127.0.0.1:1/mcp", false).unwrap_err(),
            r#"upstream x url "http://127.0.0.1:1/mcp" uses http:// without allow_insecure_http; write https://, or "allow_insecure_http": true if nobody else can read along"#
        );
        assert!(parse("unix:///run/x.sock", false).unwrap_err().ends_with(r#""unix_socket": "/run/x.sock""#));
        assert_eq!(parse("HTTP://h/", true).unwrap(), "http://h/");
        assert_eq!(
            parse("ftp://h/", true).unwrap_err(),
            r#"upstream x url "ftp://h/" has unsupported URL scheme "ftp""#
        );
    }

    #[test]
    fn malformed_urls_are_not_repaired() {
        for bad in [
            "",
            "mcp",
            "h:80/x",
            "localhost:8080",
            "https://",
            "https:///x",
            "https:/h",
            "https://?q",
            " https://h",
            "https://h/a b",
            "https://h/\n",
            "https://[::1",
            "://h",
        ] {
            assert!(parse(bad, true).unwrap_err().starts_with("upstream x has malformed url \""), "{bad:?}");
        }
    }

    #[test]
    fn places_for_secrets_are_refused_or_masked() {
        assert_eq!(
            parse("https://user:sekrit@h/p", false).unwrap_err(),
            r#"upstream x url "https://…@h/p" carries a user or a password; use auth with a credential binding instead"#
        );
        assert_eq!(
            parse("http://h/p?key=sekrit", false).unwrap_err(),
            r#"upstream x url "http://h/p?…" uses http:// without allow_insecure_http; write https://, or "allow_insecure_http": true if nobody else can read along"#
        );
        assert_eq!(parse("https://h/p?key=v", false).unwrap(), "https://h/p?key=v");
    }
}
