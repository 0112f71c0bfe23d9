//! Path templates: `/traces/{id}/steps`, with values escaped so that they cannot leave their segment.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Everything but RFC 3986 *unreserved* is encoded in a value: above all `/`, `%`, `?` and `#`.
const VALUE: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Characters that a written path may not hold unescaped; `%` stays, since documents write encoded paths.
const LITERAL: AsciiSet = percent_encoding::CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'`')
    .add(b'{')
    .add(b'}')
    .add(b'^')
    .add(b'|');

/// A parsed path template without its leading slashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PathTemplate(Vec<PathPiece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum PathPiece {
    /// Goes into the URL as it is.
    Literal(String),
    /// The name of a path parameter.
    Parameter(String),
}

/// Why values do not make a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PathError {
    /// The path would have a `.` or `..` segment, and so lead elsewhere.
    DotSegment,
}

impl PathTemplate {
    /// Parses a path of the document; `None` if it is no path (`?`, `#`, `\`, unbalanced braces, dot segments).
    pub(super) fn parse(path: &str) -> Option<Self> {
        let mut rest = path.trim_start_matches('/');
        if rest.contains(['?', '#', '\\']) {
            return None;
        }
        let mut pieces = Vec::new();
        while let Some((literal, after)) = rest.split_once('{') {
            let (name, behind) = after.split_once('}')?;
            if name.is_empty() || name.contains(['{', '/']) || literal.contains('}') {
                return None;
            }
            pieces.push(PathPiece::Literal(encode_literal(literal)));
            pieces.push(PathPiece::Parameter(name.to_owned()));
            rest = behind;
        }
        if rest.contains('}') {
            return None;
        }
        pieces.push(PathPiece::Literal(encode_literal(rest)));
        pieces.retain(|piece| *piece != PathPiece::Literal(String::new()));
        let template = Self(pieces);
        // With harmless values, so that only what the document itself writes is judged.
        let harmless = ["x".to_owned()];
        template.fill(|_| &harmless).ok().map(|_| template)
    }

    /// The parameters in the path.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            PathPiece::Parameter(name) => Some(name.as_str()),
            PathPiece::Literal(_) => None,
        })
    }

    /// The path with the values put in, those of one parameter parted by commas, without a leading slash.
    pub(super) fn fill<'v>(&self, values: impl Fn(&str) -> &'v [String]) -> Result<String, PathError> {
        let mut path = String::new();
        for piece in &self.0 {
            match piece {
                PathPiece::Literal(text) => path.push_str(text),
                PathPiece::Parameter(name) => {
                    for (index, value) in values(name).iter().enumerate() {
                        if index > 0 {
                            path.push(',');
                        }
                        path.extend(utf8_percent_encode(value, &VALUE));
                    }
                }
            }
        }
        // An encoded dot is a dot to URL parsers and to servers. Values cannot bring one in, their % is encoded.
        let is_dots =
            |segment: &str| matches!(segment.to_ascii_lowercase().replace("%2e", ".").as_str(), "." | "..");
        if path.split('/').any(is_dots) { Err(PathError::DotSegment) } else { Ok(path) }
    }
}

fn encode_literal(text: &str) -> String {
    utf8_percent_encode(text, &LITERAL).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(path: &str, value: &str) -> Result<String, PathError> {
        let values = [value.to_owned()];
        PathTemplate::parse(path).unwrap().fill(|_| &values)
    }

    #[test]
    fn values_stay_in_their_segment() {
        assert_eq!(fill("/api/v1/traces/{id}/steps", "org/42").unwrap(), "api/v1/traces/org%2F42/steps");
        assert_eq!(fill("/x/{id}", "a b?c#d%2e&é~-._").unwrap(), "x/a%20b%3Fc%23d%252e%26%C3%A9~-._");
        assert_eq!(fill("/x/{id}", "..%2f..").unwrap(), "x/..%252f..");
        assert_eq!(fill("/x/{id}", "..\\..").unwrap(), "x/..%5C..");
        assert_eq!(fill("/{a}.json", "x").unwrap(), "x.json");
    }

    #[test]
    fn dot_segments_are_refused_however_they_arise() {
        assert_eq!(fill("/x/{id}", "..").unwrap_err(), PathError::DotSegment);
        assert_eq!(fill("/x/{id}/y", ".").unwrap_err(), PathError::DotSegment);
        assert_eq!(fill("/x/{a}{b}", ".").unwrap_err(), PathError::DotSegment);
        assert_eq!(fill("/x/.{a}", ".").unwrap_err(), PathError::DotSegment);
        assert_eq!(fill("/x/{a}", "...").unwrap(), "x/...");
    }

    #[test]
    fn unusable_paths_are_found_at_compile_time() {
        for bad in [
            "/a/../b",
            "/a/./b",
            "/a/%2E%2e/b",
            "/a?b",
            "/a#b",
            "/a\\b",
            "/{a",
            "/a}",
            "/{}",
            "/{a/b}",
            "/{{a}}",
        ] {
            assert_eq!(PathTemplate::parse(bad), None, "{bad}");
        }
        let template = PathTemplate::parse("//a/{x}-{y}").unwrap();
        assert_eq!(template.names().collect::<Vec<_>>(), ["x", "y"]);
        assert_eq!(fill("/a b/\"c\"", "").unwrap(), "a%20b/%22c%22");
        assert_eq!(fill("/", "").unwrap(), "");
    }
}
