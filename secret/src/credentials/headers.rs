//! The request headers that an operator may set, and how (upstreams.md 4.2, 4.3; ruling 35).

use http::{HeaderName, HeaderValue};
use ptc_mcp::json::Value;

use ptc_base::config_error::ConfigError;

/// Longest value that an operator may set, in bytes: as a token may be (auth.md 15).
pub(super) const MAX_VALUE_BYTES: usize = 16 << 10;

/// Headers that only the transport sets: protocol, content negotiation, framing and hop-by-hop.
const TRANSPORT_OWNED: [&str; 17] = [
    "accept",
    "accept-encoding",
    "connection",
    "content-length",
    "content-type",
    "host",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "expect",
];

/// Headers that carry secrets: never literal in the file.
const SECRET_BEARING: [&str; 5] =
    ["authorization", "cookie", "proxy-authorization", "set-cookie", "x-api-key"];

/// Headers that have an emitter of their own, or none at all.
const NOT_CUSTOM: [&str; 2] = ["authorization", "proxy-authorization"];

fn transport_owned(name: &HeaderName) -> bool {
    TRANSPORT_OWNED.contains(&name.as_str()) || name.as_str().starts_with("mcp-param-")
}

/// Parses the `header` of a `custom_header` emitter of upstream `upstream`.
pub(super) fn custom_header_name(upstream: &str, name: &str) -> Result<HeaderName, ConfigError> {
    let Ok(parsed) = HeaderName::from_bytes(name.as_bytes()) else {
        return Err(ConfigError::upstream(upstream, format_args!("auth header {name:?} is invalid")));
    };
    if transport_owned(&parsed) || NOT_CUSTOM.contains(&parsed.as_str()) {
        return Err(ConfigError::upstream(upstream, format_args!("auth header {name:?} is reserved")));
    }
    Ok(parsed)
}

/// Parses `static_headers`: literal, non-secret headers, sorted by name. `None` means the key is absent.
pub(super) fn static_headers(
    upstream: &str,
    value: Option<&Value>,
) -> Result<Vec<(HeaderName, HeaderValue)>, ConfigError> {
    let fail = |detail: std::fmt::Arguments<'_>| Err(ConfigError::upstream(upstream, detail));
    let entries = match value {
        None => return Ok(Vec::new()),
        Some(Value::Object(entries)) => entries,
        Some(_) => return fail(format_args!("static_headers must be an object")),
    };
    let mut headers: Vec<(HeaderName, HeaderValue)> = Vec::with_capacity(entries.len());
    for (name, value) in entries {
        let Ok(parsed) = HeaderName::from_bytes(name.as_bytes()) else {
            return fail(format_args!("static_headers header {name:?} is invalid"));
        };
        if transport_owned(&parsed) || SECRET_BEARING.contains(&parsed.as_str()) {
            return fail(format_args!("static_headers header {name:?} is reserved"));
        }
        if headers.iter().any(|(other, _)| *other == parsed) {
            return fail(format_args!("static_headers duplicate header {:?}", parsed.as_str()));
        }
        let Value::String(text) = value else {
            return fail(format_args!("static_headers {name:?} value must be a string"));
        };
        if text.len() > MAX_VALUE_BYTES {
            return fail(format_args!("static_headers {name:?} value is over 16 KiB"));
        }
        let Ok(value) = HeaderValue::from_bytes(text.as_bytes()) else {
            return fail(format_args!(
                "static_headers {name:?} value has a line break or another control character"
            ));
        };
        headers.push((parsed, value));
    }
    headers.sort_by(|a, b| a.0.as_str().cmp(b.0.as_str()));
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use ptc_mcp::json::json;

    use super::*;

    fn error(value: Value) -> String {
        static_headers("x", Some(&value)).unwrap_err().to_string()
    }

    #[test]
    fn static_headers_are_lower_cased_sorted_and_verbatim() {
        let headers =
            static_headers("x", Some(&json!({"X-Tenant": "${NOT_RESOLVED}", "X-MCP-Readonly": "true"})))
                .unwrap();
        let shown: Vec<_> = headers.iter().map(|(n, v)| format!("{n}: {}", v.to_str().unwrap())).collect();
        assert_eq!(shown, ["x-mcp-readonly: true", "x-tenant: ${NOT_RESOLVED}"]);
    }

    #[test]
    fn refuses_bad_static_headers() {
        assert_eq!(error(json!([])), "upstream x static_headers must be an object");
        assert_eq!(error(json!({"X Foo": "1"})), r#"upstream x static_headers header "X Foo" is invalid"#);
        assert_eq!(error(json!({"": "1"})), r#"upstream x static_headers header "" is invalid"#);
        assert_eq!(error(json!({"X-Foo": 1})), r#"upstream x static_headers "X-Foo" value must be a string"#);
        assert_eq!(
            error(json!({"X-Foo": "1", "x-foo": "2"})),
            r#"upstream x static_headers duplicate header "x-foo""#
        );
        assert_eq!(
            error(json!({"X-Foo": "a\r\nb"})),
            r#"upstream x static_headers "X-Foo" value has a line break or another control character"#
        );
        assert_eq!(
            error(json!({"X-Foo": "a".repeat(MAX_VALUE_BYTES + 1)})),
            r#"upstream x static_headers "X-Foo" value is over 16 KiB"#
        );
        assert!(static_headers("x", Some(&json!({"X-Foo": "a".repeat(MAX_VALUE_BYTES)}))).is_ok());
    }

    #[test]
    fn refuses_reserved_static_headers_in_any_case() {
        for name in [
            "Authorization",
            "Proxy-Authorization",
            "Cookie",
            "Set-Cookie",
            "X-Api-Key",
            "MCP-Protocol-Version",
            "Mcp-Session-Id",
            "User-Agent",
            "Mcp-Method",
            "Mcp-Name",
            "Mcp-Param-Region",
            "Last-Event-ID",
            "Accept",
            "ACCEPT-ENCODING",
            "Content-Type",
            "Host",
            "Content-Length",
            "Transfer-Encoding",
            "Connection",
            "TE",
            "Upgrade",
            "Trailer",
        ] {
            assert_eq!(
                error(json!({name: "v"})),
                format!("upstream x static_headers header {name:?} is reserved")
            );
        }
    }

    #[test]
    fn custom_headers_may_carry_keys_but_not_protocol() {
        assert_eq!(custom_header_name("x", "X-Api-Key").unwrap().as_str(), "x-api-key");
        assert_eq!(custom_header_name("x", "Cookie").unwrap().as_str(), "cookie");
        for name in [
            "Authorization",
            "proxy-authorization",
            "MCP-Protocol-Version",
            "mcp-session-id",
            "USER-AGENT",
            "mcp-param-x",
            "host",
            "Content-Type",
        ] {
            assert_eq!(
                custom_header_name("x", name).unwrap_err().to_string(),
                format!("upstream x auth header {name:?} is reserved")
            );
        }
        assert_eq!(
            custom_header_name("x", "X Foo").unwrap_err().to_string(),
            r#"upstream x auth header "X Foo" is invalid"#
        );
    }
}
