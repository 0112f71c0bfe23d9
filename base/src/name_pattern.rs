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

    /// Whether some name fits both. Of two whose lengths multiply to more than a million, it is assumed.
    pub fn overlaps(&self, other: &NamePattern) -> bool {
        const MOST: usize = 1 << 20;
        let (own, other) = (self.0.as_bytes(), other.0.as_bytes());
        if own.len().saturating_mul(other.len()) > MOST {
            return true;
        }
        // Whether beginnings of both, the own one up to here, and the other one up to each place, fit beginnings of one name.
        let mut reached = vec![false; other.len() + 1];
        reached[0] = true;
        for at in 0..=own.len() {
            let here = own.get(at).copied();
            let mut next = vec![false; other.len() + 1];
            for place in 0..=other.len() {
                if !reached[place] {
                    continue;
                }
                let there = other.get(place).copied();
                // A star is left, or takes one more byte of the other name.
                if here == Some(b'*') {
                    next[place] = true;
                }
                if place < other.len() && (there == Some(b'*') || here == Some(b'*')) {
                    reached[place + 1] = true;
                }
                match (here, there) {
                    (Some(b'*'), _) | (None, _) | (_, None) => {}
                    (Some(_), Some(b'*')) => next[place] = true,
                    (Some(own), Some(other)) if own == other => next[place + 1] = true,
                    (Some(_), Some(_)) => {}
                }
            }
            if at == own.len() {
                return reached[other.len()];
            }
            reached = next;
        }
        false
    }

    /// Whether every name that fits `other` fits this one, as far as the texts say.
    pub fn covers(&self, other: &NamePattern) -> bool {
        // What a star of the other one stands for is within a run of this one.
        self.matches(&other.0)
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
    fn two_patterns_overlap_if_a_name_fits_both() {
        let pattern = |text: &str| NamePattern::new(text).unwrap();
        for (one, other, overlap) in [
            ("a", "a", true),
            ("a", "b", false),
            ("a*", "*b", true),
            ("get_*", "*_issue", true),
            ("create_*", "creat_*", false),
            ("create_issue", "creat_*", false),
            ("*", "x", true),
            ("a*b*c", "abc", true),
            ("a*b*c", "acb", false),
            ("*a", "*b", false),
            ("a*", "ab*c", true),
            ("x*y", "x", false),
            ("**", "*", true),
            ("ab", "a*b*", true),
            ("abc", "ab", false),
        ] {
            assert_eq!(pattern(one).overlaps(&pattern(other)), overlap, "{one} {other}");
            assert_eq!(pattern(other).overlaps(&pattern(one)), overlap, "{other} {one}");
        }
        let long = "ab".repeat(1000);
        assert!(pattern(&long).overlaps(&pattern(&format!("{long}c"))), "too long to look");
        for (wide, narrow, covers) in [
            ("*", "get_*", true),
            ("get_*", "get_a*", true),
            ("get_a", "get_*", false),
            ("*_a", "*_b", false),
        ] {
            assert_eq!(pattern(wide).covers(&pattern(narrow)), covers, "{wide} {narrow}");
        }
    }

    #[test]
    fn no_pattern_is_empty() {
        assert_eq!(NamePattern::new(""), None);
    }
}
