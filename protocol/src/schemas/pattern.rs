//! Regular expressions that the validators of all clients can compile.

/// Whether JavaScript, with its flag `u`, and Python take a pattern, and Python fits no less by it. What only one of them has, or has
/// another meaning there, is none: names of groups, properties of characters, flags, references back, lookbehind, blanks, and
/// borders of words. Python's digits, words, `.` and `$` fit more, and are none where something is denied.
pub(super) fn is_portable(pattern: &str) -> bool {
    let mut reader = PatternReader { rest: pattern, depth: 0, denials: 0 };
    reader.alternatives().is_some() && reader.rest.is_empty()
}

/// Deepest nesting of groups.
const MOST_GROUPS: usize = 64;
/// The most repetitions that a pattern may name.
const MOST_REPETITIONS: u32 = 65_535;

struct PatternReader<'p> {
    rest: &'p str,
    depth: usize,
    /// Negative lookaheads around the rest.
    denials: usize,
}

impl PatternReader<'_> {
    fn takes(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let c = chars.next()?;
        self.rest = chars.as_str();
        Some(c)
    }

    /// Up to the end, or to the parenthesis that closes the group. Nothing if it cannot be read, as everywhere here.
    fn alternatives(&mut self) -> Option<()> {
        while !self.rest.is_empty() && !self.rest.starts_with(')') {
            if self.takes("|") {
                continue;
            }
            if self.term()? {
                self.quantifier()?;
            }
        }
        Some(())
    }

    /// Whether a quantifier may follow.
    fn term(&mut self) -> Option<bool> {
        if self.takes("^") {
            return Some(false);
        }
        if self.takes("$") {
            return (self.denials == 0).then_some(false);
        }
        if self.takes("(") {
            let is_denial = self.takes("?!");
            let is_assertion = is_denial || self.takes("?=");
            let is_group = is_assertion || self.takes("?:") || !self.rest.starts_with('?');
            self.depth += 1;
            if !is_group || self.depth > MOST_GROUPS {
                return None;
            }
            self.denials += usize::from(is_denial);
            self.alternatives()?;
            self.denials -= usize::from(is_denial);
            self.depth -= 1;
            return self.takes(")").then_some(!is_assertion);
        }
        match self.next()? {
            '[' => self.class()?,
            '\\' => drop(self.escape(false)?),
            '.' if self.denials > 0 => return None,
            '*' | '+' | '?' | '{' | '}' | ']' => return None,
            _ => {}
        }
        Some(true)
    }

    fn quantifier(&mut self) -> Option<()> {
        if self.takes("{") {
            let (bounds, rest) = self.rest.split_once('}')?;
            self.rest = rest;
            let (least, most) = bounds.split_once(',').unwrap_or((bounds, bounds));
            let number =
                |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse::<u32>().ok())?;
            let least = number(least)?;
            let most = if most.is_empty() { least } else { number(most)? };
            if most < least || most > MOST_REPETITIONS {
                return None;
            }
        } else if !(self.takes("*") || self.takes("+") || self.takes("?")) {
            return Some(());
        }
        self.takes("?");
        Some(())
    }

    /// Behind `[`.
    fn class(&mut self) -> Option<()> {
        let is_denial = self.takes("^");
        // An empty one is none in Python.
        if self.rest.starts_with(']') {
            return None;
        }
        while !self.takes("]") {
            let first = self.member(is_denial)?;
            if self.rest.starts_with('-') && !self.rest.starts_with("-]") {
                self.takes("-");
                let (Some(first), Some(last)) = (first, self.member(is_denial)?) else { return None };
                if last < first {
                    return None;
                }
            }
        }
        Some(())
    }

    /// A member of a class: its character, if it is one.
    fn member(&mut self, is_denied: bool) -> Option<Option<char>> {
        if self.takes("\\b") {
            return Some(Some('\u{8}'));
        }
        if self.takes("\\-") {
            return Some(Some('-'));
        }
        match self.next()? {
            '\\' => self.escape(is_denied),
            c => Some(Some(c)),
        }
    }

    /// Behind a backslash: the character that is meant, if it is one.
    fn escape(&mut self, is_denied: bool) -> Option<Option<char>> {
        let c = match self.next()? {
            'd' | 'w' if !is_denied && self.denials == 0 => return Some(None),
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            '0' if !self.rest.starts_with(|c: char| c.is_ascii_digit()) => '\0',
            'x' => self.digits(2)?,
            'u' => self.digits(4)?,
            c if "^$\\.*+?()[]{}|/".contains(c) => c,
            _ => return None,
        };
        Some(Some(c))
    }

    /// The character of so many hexadecimal digits. Halves of a pair are two characters in Python.
    fn digits(&mut self, count: usize) -> Option<char> {
        let (digits, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        is_hex.then(|| u32::from_str_radix(digits, 16).ok())?.and_then(char::from_u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_javascript_and_python_are_told_from_others() {
        for pattern in [
            "",
            "^[a-z0-9-]+$",
            r"^\d{4}-\d{2}-\d{2}$",
            "a|",
            "(?:x|y){2,}?",
            r"[\w.-]+@[\w-]+\.\w{2,}",
            "^(?!-)[^/]*$",
            r"\/\u00e9\x41\0",
            "[\\]\\\\^]",
            "(a(b)?)*",
            "é{1,3}",
            r"[\b\-]",
            "a{0,65535}",
            r"(?=\d)(?:.|$)",
        ] {
            assert!(is_portable(pattern), "{pattern}");
        }
        for pattern in [
            "(",
            ")",
            "[",
            "[]",
            "a**",
            "*a",
            "(?i)a",
            r"\p{L}",
            "(?P<a>b)",
            "(?<a>b)",
            "(?<=a)b",
            r"\1",
            r"[\w-a]",
            "[z-a]",
            "a{2,1}",
            "a{,2}",
            "{",
            "}",
            "]",
            r"\A",
            r"\-",
            r"\u12",
            r"\u{41}",
            r"\ud83d\ude00",
            "a{x}",
            "^*",
            "(?=a)*",
            "a++",
            r"\",
            r"\01",
            "a{99999999999}",
            "a{1,65536}",
            r"\D",
            r"\W",
            r"\s",
            r"[\S]",
            r"[^\d]",
            r"[^a\w]",
            r"\ba",
            r"(?!\d)",
            "(?!(?:a$))",
            "(?!.*x)",
        ] {
            assert!(!is_portable(pattern), "{pattern}");
        }
        assert!(!is_portable(&"(".repeat(100_000)));
    }
}
