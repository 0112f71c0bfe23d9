//! The part of a format specifier between `%` and its conversion.

use crate::error::{Error, Result};

/// Which argument a specifier prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArgumentIndex {
    /// The next one.
    Next,
    /// The one of the specifier before (`%<s`).
    Same,
    /// This one, from 0.
    Number(usize),
}

/// A specifier that has been read.
#[derive(Debug)]
pub(super) struct Specifier {
    pub(super) index: ArgumentIndex,
    /// `-`
    pub(super) left: bool,
    /// `+`
    pub(super) plus: bool,
    /// A space.
    pub(super) space: bool,
    /// `0`
    pub(super) zeros: bool,
    /// `,`
    pub(super) group: bool,
    /// `(`
    pub(super) parentheses: bool,
    /// `#`
    pub(super) alternate: bool,
    pub(super) width: usize,
    pub(super) precision: Option<usize>,
    /// The conversion in lower case.
    pub(super) conversion: char,
    /// Whether the conversion was written in upper case.
    pub(super) upper: bool,
}

/// The error of a specifier that does not exist; `whole` is the format string from its `%` on.
#[cold]
pub(super) fn unsupported(whole: &str) -> Error {
    Error::runtime(format!("unsupported format specifier in: {whole}"))
}

impl Specifier {
    /// Reads a specifier after its `%`, and returns the rest of the text.
    pub(super) fn parse<'t>(text: &'t str, whole: &str) -> Result<(Specifier, &'t str)> {
        let mut specifier = Specifier {
            index: ArgumentIndex::Next,
            left: false,
            plus: false,
            space: false,
            zeros: false,
            group: false,
            parentheses: false,
            alternate: false,
            width: 0,
            precision: None,
            conversion: '%',
            upper: false,
        };
        let mut rest = text;
        if let (Some(index), after) = number(rest)
            && let Some(after) = after.strip_prefix('$')
        {
            specifier.index = ArgumentIndex::Number(index.checked_sub(1).ok_or_else(|| unsupported(whole))?);
            rest = after;
        }
        loop {
            let flag = match rest.bytes().next() {
                Some(b'-') => &mut specifier.left,
                Some(b'+') => &mut specifier.plus,
                Some(b' ') => &mut specifier.space,
                Some(b'0') => &mut specifier.zeros,
                Some(b',') => &mut specifier.group,
                Some(b'(') => &mut specifier.parentheses,
                Some(b'#') => &mut specifier.alternate,
                Some(b'<') => {
                    specifier.index = ArgumentIndex::Same;
                    rest = &rest[1..];
                    continue;
                }
                _ => break,
            };
            *flag = true;
            rest = &rest[1..];
        }
        if let (Some(width), after) = number(rest) {
            specifier.width = width;
            rest = after;
        }
        if let Some(after) = rest.strip_prefix('.') {
            let (precision, after) = number(after);
            specifier.precision = Some(
                precision.ok_or_else(|| Error::runtime("expected digits after '.' in format specifier"))?,
            );
            rest = after;
        }
        let conversion = rest.chars().next().ok_or_else(|| unsupported(whole))?;
        specifier.upper = matches!(conversion, 'S' | 'B' | 'C' | 'X' | 'E' | 'G');
        specifier.conversion = if specifier.upper { conversion.to_ascii_lowercase() } else { conversion };
        Ok((specifier, &rest[conversion.len_utf8()..]))
    }

    /// Whether it prints an argument.
    pub(super) fn takes_argument(&self) -> bool {
        !matches!(self.conversion, '%' | 'n')
    }
}

/// The number at the start of `text`, one too large for memory as such, and the rest.
fn number(text: &str) -> (Option<usize>, &str) {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = &text[..text.len() - rest.len()];
    if digits.is_empty() { (None, text) } else { (Some(digits.parse().unwrap_or(usize::MAX)), rest) }
}
