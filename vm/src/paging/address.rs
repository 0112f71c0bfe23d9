//! The address of a next page, whose query is read back into arguments.

/// Longest address that is read, and most parts of its query.
const LONGEST: usize = 8192;
const MOST_PARTS: usize = 64;

/// Whether a text looks like an address: absolute, a path, or a query.
pub(super) fn is_address(text: &str) -> bool {
    text.len() <= LONGEST
        && !text.contains(char::is_whitespace)
        && (text.contains("://")
            || text.starts_with('/') && text.len() > 1 && !text.ends_with('=')
            || text.starts_with('?')
            || text.split_once('?').is_some_and(|(_, query)| query.contains('=')))
}

/// The names and values of an address's query, decoded.
pub(super) fn query(address: &str) -> Vec<(String, String)> {
    let Some((_, query)) = address.split_once('?') else { return Vec::new() };
    let query = query.split('#').next().unwrap_or_default();
    let parts = query.split('&').filter(|part| !part.is_empty()).take(MOST_PARTS);
    parts
        .map(|part| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            (decoded(name), decoded(value))
        })
        .collect()
}

/// A part of a query without its escapes; invalid escapes stay.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match (bytes[at], digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                at += 3;
                continue;
            }
            (b'+', ..) => out.push(b' '),
            (byte, ..) => out.push(byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The address that a header `Link` names as the next one: `<https://h/x?page=2>; rel="next", …`.
pub(super) fn linked(header: &str) -> Option<&str> {
    header.split(',').find_map(|link| {
        let (address, rest) = link.trim().strip_prefix('<')?.split_once('>')?;
        let is_next = rest.split(';').any(|part| {
            let relation = part.trim().strip_prefix("rel=");
            relation.is_some_and(|relation| relation.trim_matches('"') == "next")
        });
        is_next.then_some(address)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_from_cursors() {
        for address in [
            "https://h/x?page=2",
            "/v2/items?cursor=abc",
            "?page=3",
            "items?offset=10",
            "/services/query/01g-2000",
        ] {
            assert!(is_address(address), "{address}");
        }
        for cursor in ["abc", "Y3Vyc29yOjE=", "/9j=", "2", "", "/", "see https://h/x", "what?"] {
            assert!(!is_address(cursor), "{cursor}");
        }
    }

    #[test]
    fn queries_are_decoded() {
        let got = query("https://h/x?page%5Bafter%5D=a%2Bb&q=two+words&flag&bad=%zz%4#part");
        let want = [("page[after]", "a+b"), ("q", "two words"), ("flag", ""), ("bad", "%zz%4")];
        assert_eq!(got, want.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(query("https://h/x"), []);
        assert_eq!(query(&format!("?{}", "a=1&".repeat(1000))).len(), MOST_PARTS);
    }

    #[test]
    fn the_next_link_of_a_header_is_found() {
        let header = r#"<https://h/x?page=1>; rel="prev", <https://h/x?page=3>; rel="next", <https://h/x?page=9>; rel="last""#;
        assert_eq!(linked(header), Some("https://h/x?page=3"));
        assert_eq!(linked(r#"<https://h/x?page=1>; rel="prev""#), None);
        assert_eq!(linked("plain"), None);
    }
}
