//! Colours typed text, highlights the bracket that matches the one at the cursor, and draws the prompt of
//! continuation lines.
//!
//! The editor can only show characters of its text. The indentation of a continuation line is part of the text, and
//! at least as wide as the prompt, so the continuation prompt is drawn over it.

use super::syntax::{Lexeme, SyntaxKind, lexemes};
use std::collections::BTreeSet;

const PLAIN: &str = "\x1b[0m";
const DIM: &str = "\x1b[2m";
const BOLD: &str = "\x1b[1m";

/// The style of typed text.
#[derive(Clone, Debug)]
pub(super) struct Style {
    /// True if there are colours.
    pub(super) colours: bool,
    /// The prompt of continuation lines, as wide as that of the first line.
    pub(super) continuation: &'static str,
    /// Names that are shown as part of the language's syntax.
    pub(super) special_forms: BTreeSet<&'static str>,
}

impl Style {
    /// Styles `text`. With `cursor`, a byte of the text, the brackets there are bold. The width stays the same.
    pub(super) fn paint(&self, text: &str, cursor: Option<usize>) -> String {
        let lexemes = lexemes(text);
        let pair = cursor.and_then(|cursor| bracket_pair(&lexemes, cursor));
        let mut shown = String::with_capacity(text.len() * 2);
        let mut end = 0;
        for (index, lexeme) in lexemes.iter().enumerate() {
            self.gap(&text[end..lexeme.start], &mut shown);
            end = lexeme.end();
            let colour = match pair {
                Some((one, other)) if index == one || index == other => BOLD,
                _ => self.colour(lexeme),
            };
            if self.colours && !colour.is_empty() {
                shown.extend([colour, lexeme.text, PLAIN]);
            } else {
                shown.push_str(lexeme.text);
            }
        }
        self.gap(&text[end..], &mut shown);
        shown
    }

    fn colour(&self, lexeme: &Lexeme<'_>) -> &'static str {
        match lexeme.kind {
            SyntaxKind::Text => "\x1b[32m",
            SyntaxKind::Keyword => "\x1b[36m",
            SyntaxKind::Literal => "\x1b[33m",
            SyntaxKind::Comment => DIM,
            SyntaxKind::Name if self.special_forms.contains(lexeme.text) => "\x1b[35m",
            SyntaxKind::Name | SyntaxKind::Opener | SyntaxKind::Closer | SyntaxKind::Other => "",
        }
    }

    /// White space between tokens. Each line in it begins with the continuation prompt, if its indentation is wide
    /// enough.
    fn gap(&self, space: &str, shown: &mut String) {
        for (index, part) in space.split('\n').enumerate() {
            if index > 0 {
                shown.push('\n');
            }
            let width = self.continuation.len();
            match part.get(..width) {
                Some(indentation) if index > 0 && indentation.bytes().all(|byte| byte == b' ') => {
                    let (dim, plain) = if self.colours { (DIM, PLAIN) } else { ("", "") };
                    shown.extend([dim, self.continuation, plain, &part[width..]]);
                }
                _ => shown.push_str(part),
            }
        }
    }
}

/// The bracket at `cursor`, or just before it, and the matching one, by index.
fn bracket_pair(lexemes: &[Lexeme<'_>], cursor: usize) -> Option<(usize, usize)> {
    let is_bracket = |lexeme: &Lexeme<'_>| matches!(lexeme.kind, SyntaxKind::Opener | SyntaxKind::Closer);
    let at = |place: usize| {
        let mut all = lexemes.iter().enumerate();
        all.find(|(_, one)| is_bracket(one) && (one.start..one.end()).contains(&place))
    };
    let (index, lexeme) = at(cursor).or_else(|| at(cursor.checked_sub(1)?))?;
    let mut depth = 0_usize;
    let mut closes = |&other: &usize| {
        let kind = lexemes[other].kind;
        if kind == lexeme.kind {
            depth += 1;
        } else if is_bracket(&lexemes[other]) {
            depth -= 1;
        }
        depth == 0
    };
    let other = match lexeme.kind {
        SyntaxKind::Opener => (index..lexemes.len()).find(&mut closes),
        _ => (0..=index).rev().find(&mut closes),
    };
    Some((index, other?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn style(colours: bool) -> Style {
        Style { colours, continuation: "  #_=> ", special_forms: BTreeSet::from(["let"]) }
    }

    #[test]
    fn kinds_of_tokens_have_their_colours() {
        let shown = style(true).paint("(let [x :a] (f \"b\" 1)) ; c", None);
        let expected = "(\x1b[35mlet\x1b[0m [x \x1b[36m:a\x1b[0m] (f \x1b[32m\"b\"\x1b[0m \x1b[33m1\x1b[0m)) \x1b[2m; c\x1b[0m";
        assert_eq!(shown, expected);
        assert_eq!(style(false).paint("(let [x :a] \"b", None), "(let [x :a] \"b");
    }

    #[test]
    fn the_brackets_at_the_cursor_are_bold() {
        let bold = |text: &str, cursor| {
            let shown = style(true).paint(text, Some(cursor));
            let places = shown.match_indices(BOLD).map(|(at, _)| shown[at + BOLD.len()..].chars().next());
            places.flatten().collect::<String>()
        };
        assert_eq!(bold("(a [b] c)", 0), "()");
        assert_eq!(bold("(a [b] c)", 9), "()", "just behind");
        assert_eq!(bold("(a [b] c)", 3), "[]");
        assert_eq!(bold("(a [b", 3), "", "nothing belongs to it yet");
        assert_eq!(bold(")", 0), "");
        assert_eq!(bold("(a \"(\" b)", 4), "", "in a string");
    }

    #[test]
    fn continuation_lines_have_a_prompt_over_their_indentation() {
        let shown = |text: &str| style(false).paint(text, None);
        assert_eq!(shown("(f\n         1\n       2)"), "(f\n  #_=>   1\n  #_=> 2)");
        assert_eq!(shown("(f\n  1)"), "(f\n  1)", "pasted text stays as it is");
        assert_eq!(shown("\"a\n         b\""), "\"a\n         b\"", "and so do strings");
        assert_eq!(shown("(f\n         "), "(f\n  #_=>   ");
    }
}
