//! Paths in arguments, in the one form in which they are compared.
//!
//! Servers disagree on what a path means. Some decode percent signs, some twice, some only those of letters and dots; some take
//! `\` for a separator, cut a path at `?`, `#` or `;`, drop dots and blanks at the end of a name, or read characters by their
//! looks. A path passes only if it lies under the permitted folder in every one of these readings, and what could be read in yet
//! another way is refused. Symbolic links of the server's file system cannot be seen from here.

use std::borrow::Cow;

use ptc_base::visible::has_hidden;

/// Most times that a path is decoded; one that has not settled by then is refused.
const MOST_DECODINGS: usize = 4;

/// Characters that compatibility forms of Unicode, or code pages with a best fit, turn into dots, separators,
/// tildes and percent signs.
const LOOK_ALIKES: [char; 22] = [
    '\u{a5}', '\u{2024}', '\u{2025}', '\u{2026}', '\u{2044}', '\u{20a9}', '\u{2100}', '\u{2101}', '\u{2105}',
    '\u{2106}', '\u{2215}', '\u{2216}', '\u{fe19}', '\u{fe30}', '\u{fe52}', '\u{fe68}', '\u{fe6a}',
    '\u{ff05}', '\u{ff0e}', '\u{ff0f}', '\u{ff3c}', '\u{ff5e}',
];

/// Characters at which some server ends a segment of a URI, or a value in its query.
const BEHIND_SEGMENTS: [char; 7] = ['/', '?', '#', ';', '=', '&', ':'];

/// A folder, with how the server behind it compares names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    is_absolute: bool,
    segments: Box<[Box<str>]>,
    text: Box<str>,
    /// Whether names that differ in the case of ASCII letters only are the same to the server.
    ignores_case: bool,
    /// Whether a percent sign is a character like others to the server.
    has_literal_percent: bool,
}

impl Folder {
    /// The folder of that path; `None` if it does not normalise, or has one of `%`, `?`, `#` and `;` where the server may take
    /// that for more than a character.
    pub fn new(text: &str, ignores_case: bool, has_literal_percent: bool) -> Option<Folder> {
        if !has_literal_percent && text.contains(['%', '?', '#', ';']) {
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
            // Systems do not agree on the case of other letters.
            true => own.eq_ignore_ascii_case(theirs),
            false => own == theirs,
        };
        is_absolute == self.is_absolute
            && segments.len() >= self.segments.len()
            && self.segments.iter().zip(segments).all(|(own, theirs)| same(own, theirs))
    }
}

/// Whether a path is absolute, and its segments without `.` and `..`; `None` for what can be read in several ways: a parent of
/// the root or of the start, backslashes and what looks like one, hidden characters, a drive or scheme, a home, a variable, a
/// network share, segments that some systems take for others, and parents of what some systems cut off.
fn normalized(path: &str) -> Option<(bool, Vec<&str>)> {
    let is_absolute = path.starts_with('/');
    let is_odd = |c: char| c == '\\' || LOOK_ALIKES.contains(&c);
    if path.is_empty()
        || path.starts_with("//")
        || path.starts_with(char::is_whitespace)
        || path.contains(is_odd)
        || has_hidden(path)
    {
        return None;
    }
    let expands = |segment: &str| segment.starts_with(['~', '$']) || segment.contains(':');
    let mut segments: Vec<&str> = Vec::new();
    let mut is_doubled = false;
    for (at, segment) in path.split('/').enumerate() {
        if at == 0 && expands(segment) {
            return None;
        }
        match segment {
            "" => is_doubled |= at > 0,
            "." => {}
            // What is empty is a segment with a parent in URLs, and none in file systems.
            ".." if is_doubled => return None,
            ".." => {
                // To a server that cuts the path there, what comes behind is no part of it.
                segments.pop().filter(|parent| !parent.contains(['?', '#']))?;
            }
            _ if may_be_dots(segment) => return None,
            _ => segments.push(segment),
        }
    }
    let begins_well = is_absolute || !segments.first().is_some_and(|first| expands(first));
    begins_well.then_some((is_absolute, segments))
}

/// Whether some system drops the end of a segment: dots and blanks, or what follows `;`, `?` or `#` if dots or nothing is left.
fn may_be_dots(segment: &str) -> bool {
    let stem = segment.split([';', '?', '#']).next().unwrap_or(segment);
    segment.ends_with(is_trimmed) || stem.trim_matches(|c| is_trimmed(c) || c == '+').is_empty()
}

/// Whether some system drops the character at the end of a segment: a dot, or a blank of whatever width.
fn is_trimmed(c: char) -> bool {
    c == '.' || c.is_whitespace()
}

/// Whether every server reads a URI as the same resource, below whatever its text begins with: it has no dot segment, in its path
/// or behind it, no encoded dot or separator, no backslash nor what looks like one, and no hidden character, as it is and decoded.
pub fn is_plain_uri(uri: &str) -> bool {
    let is_odd = |c: char| c == '\\' || LOOK_ALIKES.contains(&c);
    let is_dots =
        |piece: &str| !piece.is_empty() && piece.trim_matches(|c| is_trimmed(c) || c == '+').is_empty();
    let mut uri = Cow::Borrowed(uri);
    for _ in 0..MOST_DECODINGS {
        if uri.contains(is_odd) || has_hidden(&uri) || uri.split(BEHIND_SEGMENTS).any(is_dots) {
            return false;
        }
        if !uri.contains('%') {
            return true;
        }
        let Some(decoded) = decode(&uri) else { return false };
        uri = Cow::Owned(decoded);
    }
    false
}

/// The path with its percent signs decoded; `None` if one of them encodes nothing, the bytes are no text, or one is a dot or a
/// separator: servers that decode some characters and leave others see other segments than those that decode all or none.
fn decode(path: &str) -> Option<String> {
    let bytes = path.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if byte == b'%' {
            let digit = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
            let byte = u8::try_from(digit(at + 1)? * 16 + digit(at + 2)?).ok()?;
            decoded.push(Some(byte).filter(|byte| !matches!(byte, b'.' | b'/' | b'\\'))?);
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
            "/reports/a?b",
            "/reports/a;v=1/b#c",
            "/reports/.hidden",
            "/reports/a..b",
            "/reports/\u{e4}",
            "/reports/%c3%a4",
            "/reports/%2541",
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
            "/reports/a%2fb/%2e%2e/%2e%2e",
            "/reports/a%2eb",
            "/etc?/../reports/a",
            "/etc#x/../reports/a",
            "/etc//../reports/a",
            "/reports/;/..",
            "/reports/#",
            "/reports/..;/etc",
            "/reports/..?",
            "/reports/..#/a",
            "/reports/..+",
            "/reports/a.",
            "/reports/\u{ff0e}\u{ff0e}/etc",
            "/reports/..\u{2215}etc",
            "/reports/.\u{200d}./etc",
            "/reports/%ef%bc%8e%ef%bc%8e/etc",
            " /reports/a",
            "/%20/../reports/a",
        ] {
            assert!(!reports.holds(path), "{path}");
        }
    }

    #[test]
    fn blanks_of_all_widths_end_a_segment() {
        let reports = Folder::new("/reports", false, false).unwrap();
        for blank in ['\u{a0}', '\u{1680}', '\u{2003}', '\u{202f}', '\u{205f}', '\u{3000}'] {
            for path in
                [format!("/reports/..{blank}"), format!("/reports/{blank}../a"), format!("/reports/a{blank}")]
            {
                assert!(!reports.holds(&path), "{path:?}");
            }
            assert!(reports.holds(&format!("/reports/a{blank}b")), "{blank:?}");
        }
    }

    #[test]
    fn a_uri_that_could_be_another_one_is_not_plain() {
        for uri in [
            "res://files/item/3",
            "res://files/item/",
            "file:///reports/2026/a..b.txt",
            "repo://acme/web/contents/.github/x",
            "res://files/item/{id}",
            "res://files/{+path}{?query*}",
            "res://files/a%20b?q=%C3%A4&n=1.5#end",
            "urn:isbn:0",
            "\u{e4}://\u{6f22}/x",
        ] {
            assert!(is_plain_uri(uri), "{uri}");
        }
        for uri in [
            "res://files/item/../secret",
            "res://files/item/./../secret",
            "res://files/item/.",
            "res://files/item/%2e%2e/secret",
            "res://files/item/%252e%252e/secret",
            "res://files/item/%25252525252e/secret",
            "res://files/item/a%2fb",
            "res://files/item/..%5csecret",
            "res://files/item/..\\secret",
            "res://files/item/..;/secret",
            "res://files/item/..?x",
            "res://files/item/?path=../secret",
            "res://files/item/.. /secret",
            "res://files/item/..\u{a0}/secret",
            "res://files/item/%20../secret",
            "res://files/item/\u{ff0e}\u{ff0e}/secret",
            "res://files/item/%00",
            "res://files/item/a\u{7}",
            "res://files/item/%c0%ae",
            "res://files/item/100%",
        ] {
            assert!(!is_plain_uri(uri), "{uri}");
        }
    }

    #[test]
    fn the_operator_says_what_case_and_percent_signs_mean() {
        let folded = Folder::new("/Reports", true, false).unwrap();
        assert!(folded.holds("/rEPORTS/a") && !folded.holds("/report/a"));
        // KELVIN SIGN, whose small letter is that of K.
        assert!(!Folder::new("/k", true, false).unwrap().holds("/\u{212a}/a"));
        let literal = Folder::new("/100%", false, true).unwrap();
        assert!(literal.holds("/100%/a%2fb") && !literal.holds("/100%/../a"));
        assert!(Folder::new("/c#", false, true).unwrap().holds("/c#/a"));
        for text in ["", "/100%", "/c#", "/a?b", "/a;b", "/a/../..", "~", "$HOME", "C:/a", "//a"] {
            assert_eq!(Folder::new(text, false, false), None, "{text}");
        }
    }

    #[test]
    fn a_relative_folder_holds_relative_paths() {
        let docs = Folder::new("docs", false, false).unwrap();
        assert!(docs.holds("docs/a") && docs.holds("./docs/a"));
        assert!(!docs.holds("/docs/a") && !docs.holds("../docs/a"));
        let start = Folder::new(".", false, false).unwrap();
        assert!(start.holds("a/b") && !start.holds("../a") && !start.holds("/a"));
        for path in ["./~/a", "a/../~root/a", "$HOME/a", "x/../C:/a", "./file:a"] {
            assert!(!start.holds(path), "{path}");
        }
    }
}
