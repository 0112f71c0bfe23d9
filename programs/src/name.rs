//! Names of programs.

use std::fmt;
use std::sync::Arc;

/// Longest name, in bytes.
const MAX_NAME: usize = 48;
/// How the names of our own tools begin.
const OURS: &str = "lisp-";

/// The name of a kept program: a letter from `a` to `z`, then up to 47 letters, digits and hyphens. It does not begin with `lisp-`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProgramName(Arc<str>);

/// Why a text is no name of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameFault {
    /// It has other characters, or too many.
    #[error(
        "a name has a letter from a to z and then up to 47 letters, digits and hyphens, all of them small"
    )]
    Spelling,
    /// It begins as the names of our own tools do.
    #[error("names that begin with lisp- are those of ptc's own tools")]
    Ours,
}

impl ProgramName {
    /// The name of this text.
    ///
    /// # Errors
    /// It is none.
    pub fn new(text: &str) -> Result<ProgramName, NameFault> {
        let is_letter = |byte: u8| byte.is_ascii_lowercase();
        let is_inside = |byte: u8| is_letter(byte) || byte.is_ascii_digit() || byte == b'-';
        if text.len() > MAX_NAME
            || !text.bytes().next().is_some_and(is_letter)
            || !text.bytes().all(is_inside)
        {
            return Err(NameFault::Spelling);
        }
        if text.starts_with(OURS) {
            return Err(NameFault::Ours);
        }
        Ok(ProgramName(text.into()))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text, without a copy of it.
    #[must_use]
    pub fn shared(&self) -> Arc<str> {
        self.0.clone()
    }

    /// The name of the tool that clients see: with `_` for `-`.
    #[must_use]
    pub fn tool_name(&self) -> Arc<str> {
        if self.0.contains('-') { self.0.replace('-', "_").into() } else { self.shared() }
    }

    /// The name of its file.
    #[must_use]
    pub fn file_name(&self) -> String {
        format!("{self}.clj")
    }
}

impl fmt::Display for ProgramName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_small_letters_digits_and_hyphens() {
        for text in ["a", "billing-report", "x9-", &"a".repeat(48)] {
            assert_eq!(ProgramName::new(text).unwrap().as_str(), text);
        }
        for text in ["", "-a", "9a", "A", "a_b", "a.b", "a/b", "é", "a\u{200b}", &"a".repeat(49)] {
            assert_eq!(ProgramName::new(text), Err(NameFault::Spelling), "{text}");
        }
        assert_eq!(ProgramName::new("lisp-eval"), Err(NameFault::Ours));
        assert_eq!(&*ProgramName::new("lisp").unwrap().tool_name(), "lisp");
        assert_eq!(&*ProgramName::new("a-b-c").unwrap().tool_name(), "a_b_c");
    }
}
