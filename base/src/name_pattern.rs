//! Names with `*` for any run of characters.

/// A name, or a URI, with `*` for any run of characters. There are no other wild cards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamePattern(Box<str>);

impl NamePattern {
    /// The pattern of that text; `None` if it is empty.
    pub fn new(text: impl Into<Box<str>>) -> Option<NamePattern> {
        Some(NamePattern(text.into())).filter(|pattern| !pattern.0.is_empty())
    }

    /// Whether `name` fits. Linear in the length of the name for each literal piece: a pattern cannot blow up.
    pub fn matches(&self, name: &str) -> bool {
        let Some((first, rest)) = self.0.split_once('*') else { return *self.0 == *name };
        let Some(mut name) = name.strip_prefix(first) else { return false };
        let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
        for piece in middle.split('*') {
            // Leftmost is right for every piece but the last: it leaves most room for those that follow.
            let Some(at) = name.find(piece) else { return false };
            name = &name[at + piece.len()..];
        }
        name.ends_with(last)
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, name: &str) -> bool {
        NamePattern::new(pattern).unwrap().matches(name)
    }

    #[test]
    fn stars_stand_for_any_run() {
        for (pattern, yes, no) in [
            ("read", &["read"][..], &["read_file", "Read", ""][..]),
            ("*", &["", "x", "a/b.c"], &[]),
            ("read_*", &["read_", "read_file"], &["read", "xread_file"]),
            ("*_file", &["read_file", "_file"], &["read_files", "file"]),
            ("a*b*c", &["abc", "aXbYc", "abbcc"], &["acb", "ab", "abcd"]),
            ("a**b", &["ab", "axb"], &["a", "b"]),
            ("*x*x*", &["xx", "axbxc"], &["x"]),
            ("aa*aa", &["aaaa", "aaXaa"], &["aaa"]),
        ] {
            yes.iter().for_each(|name| assert!(matches(pattern, name), "{pattern} should match {name:?}"));
            no.iter()
                .for_each(|name| assert!(!matches(pattern, name), "{pattern} should not match {name:?}"));
        }
    }

    #[test]
    fn no_pattern_is_empty() {
        assert_eq!(NamePattern::new(""), None);
    }
}
