//! Paths in arguments, in the one form in which they are compared.
//!
//! Servers disagree on what a path means: some decode percent signs, some twice, some take `\` for a separator. A path passes
//! only if it lies under the permitted folder in every one of these readings, and what could be read in yet another way is
//! refused.

use std::borrow::Cow;

/// Most times that a path is decoded; one that has not settled by then is refused.
const MOST_DECODINGS: usize = 4;

/// A folder, with how the server behind it compares names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    is_absolute: bool,
    segments: Box<[Box<str>]>,
    text: Box<str>,
    /// Whether names that differ in case only are the same to the server.
    ignores_case: bool,
    /// Whether a percent sign is a character like others to the server.
    has_literal_percent: bool,
}

impl Folder {
    /// The folder of that path; `None` if it does not normalise, or has a percent sign where these are decoded.
    pub fn new(text: &str, ignores_case: bool, has_literal_percent: bool) -> Option<Folder> {
        if text.is_empty() || (!has_literal_percent && text.contains('%')) {
            return None;
        }
        let (is_absolute, segments) = normalized(text)?;
        let segments = segments.into_iter().map(Box::from).collect();
        Some(Folder { is_absolute, segments, text: text.into(), ignores_case, has_literal_percent })
    }

    /// The folder as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether `path` is the folder or lies in it, in each reading.
    pub fn holds(&self, path: &str) -> bool {
        if self.has_literal_percent {
            return self.holds_as_written(path);
        }
        let mut path = Cow::Borrowed(path);
        for _ in 0..MOST_DECODINGS {
            if !self.holds_as_written(&path) {
                return false;
            }
            if !path.contains('%') {
                return true;
            }
            let Some(decoded) = decode(&path) else { return false };
            path = Cow::Owned(decoded);
        }
        false
    }

    fn holds_as_written(&self, path: &str) -> bool {
        let Some((is_absolute, segments)) = normalized(path) else { return false };
        let same = |own: &str, theirs: &str| match self.ignores_case {
            true => own == theirs || own.to_lowercase() == theirs.to_lowercase(),
            false => own == theirs,
        };
        is_absolute == self.is_absolute
            && segments.len() >= self.segments.len()
            && self.segments.iter().zip(segments).all(|(own, theirs)| same(own, theirs))
    }
}

/// Whether a path is absolute, and its segments without `.` and `..`; `None` for what can be read in several ways: a parent of
/// the root or of the start, backslashes, control characters, a drive or scheme, a home, a network share, and segments of
/// dots and blanks that some systems take for others.
fn normalized(path: &str) -> Option<(bool, Vec<&str>)> {
    let is_absolute = path.starts_with('/');
    if path.is_empty() || path.starts_with("//") || path.contains(|c: char| c == '\\' || c.is_control()) {
        return None;
    }
    let mut segments: Vec<&str> = Vec::new();
    for (at, segment) in path.split('/').enumerate() {
        if at == 0 && (segment.contains(':') || segment.starts_with('~')) {
            return None;
        }
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop()?;
            }
            _ if segment.trim_end_matches([' ', '.']) != segment => return None,
            _ => segments.push(segment),
        }
    }
    Some((is_absolute, segments))
}

/// The path with its percent signs decoded; `None` if one of them encodes nothing, or the bytes are no text.
fn decode(path: &str) -> Option<String> {
    let bytes = path.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if byte == b'%' {
            let digit = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
            decoded.push(u8::try_from(digit(at + 1)? * 16 + digit(at + 2)?).ok()?);
            at += 3;
        } else {
            decoded.push(byte);
            at += 1;
        }
    }
    String::from_utf8(decoded).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_lies_under_a_folder_in_every_reading_or_not_at_all() {
        let reports = Folder::new("/reports", false, false).unwrap();
        for path in [
            "/reports",
            "/reports/",
            "/reports/a.txt",
            "/reports/./a",
            "/x/../reports/a",
            "/reports//a",
            "/reports/%61",
            "/reports/a b",
        ] {
            assert!(reports.holds(path), "{path}");
        }
        for path in [
            "",
            "/",
            "reports/a",
            "/reports2/a",
            "/Reports/a",
            "/reports/../etc",
            "/reports/%2e%2e/etc",
            "/reports/%252e%252e/etc",
            "/reports/..%2fetc",
            "/reports\\..\\etc",
            "//reports/a",
            "/../reports/a",
            "/reports/\u{0}",
            "/reports/%00",
            "/reports/%",
            "/reports/%zz",
            "/reports/%c0%ae%c0%ae/etc",
            "/reports/.. /etc",
            "/reports/.../etc",
            "~/reports",
            "file:///reports/a",
            "C:/reports",
            "/reports/%25252525252e",
            "/%72eports/../../etc",
        ] {
            assert!(!reports.holds(path), "{path}");
        }
    }

    #[test]
    fn the_operator_says_what_case_and_percent_signs_mean() {
        let folded = Folder::new("/Reports", true, false).unwrap();
        assert!(folded.holds("/rEPORTS/a") && !folded.holds("/report/a"));
        let literal = Folder::new("/100%", false, true).unwrap();
        assert!(literal.holds("/100%/a%2fb") && !literal.holds("/100%/../a"));
        assert_eq!(Folder::new("/100%", false, false), None);
        assert_eq!(Folder::new("/a/../..", false, false), None);
    }

    #[test]
    fn a_relative_folder_holds_relative_paths() {
        let docs = Folder::new("docs", false, false).unwrap();
        assert!(docs.holds("docs/a") && docs.holds("./docs/a"));
        assert!(!docs.holds("/docs/a") && !docs.holds("../docs/a"));
        let start = Folder::new(".", false, false).unwrap();
        assert!(start.holds("a/b") && !start.holds("../a") && !start.holds("/a"));
    }
}
