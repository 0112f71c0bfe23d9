//! Finds the tokens of typed text, for colours, indentation and completion. Text that is being typed is often
//! unfinished: a rest that begins no token is a token of its own kind, up to the end of the text.

use logos::Logos;
use ptc_compiler::reader::is_unfinished;
use ptc_compiler::token::Token;

/// The kind of a token in the editor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SyntaxKind {
    /// `(`, `[`, `{`, `#{`, `#(`, `#:name{`
    Opener,
    /// `)`, `]`, `}`
    Closer,
    /// A name, quoted or not.
    Name,
    /// `:name`
    Keyword,
    /// A string or a regex, with its quotes; also an unfinished one.
    Text,
    /// A number or a character.
    Literal,
    /// `;` and the rest of the line.
    Comment,
    /// `'`, `#'`, `#_`, or anything unreadable.
    Other,
}

/// A token and its place in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lexeme<'t> {
    pub(super) kind: SyntaxKind,
    /// The byte at which it begins.
    pub(super) start: usize,
    pub(super) text: &'t str,
}

impl Lexeme<'_> {
    /// The byte after its last one.
    pub(super) fn end(&self) -> usize {
        self.start + self.text.len()
    }

    /// True if it is a string or a regex at the end of `text` that is not closed yet.
    pub(super) fn is_open(&self, text: &str) -> bool {
        self.kind == SyntaxKind::Text && self.end() == text.len() && is_unfinished(self.text)
    }
}

/// The tokens of `text`, in order, without white space.
pub(super) fn lexemes(text: &str) -> Vec<Lexeme<'_>> {
    let mut lexer = Token::lexer(text);
    let mut found = Vec::new();
    while let Some(token) = lexer.next() {
        let start = lexer.span().start;
        let kind = token.map_or(SyntaxKind::Other, kind);
        if kind == SyntaxKind::Other && text[start..].trim_start_matches('#').starts_with('"') {
            // A string that is not closed yet.
            found.push(Lexeme { kind: SyntaxKind::Text, start, text: &text[start..] });
            break;
        }
        found.push(Lexeme { kind, start, text: lexer.slice() });
    }
    found
}

fn kind(token: Token) -> SyntaxKind {
    match token {
        Token::OpenList
        | Token::OpenVector
        | Token::OpenMap
        | Token::OpenSet
        | Token::OpenNamespacedMap
        | Token::OpenShortFn => SyntaxKind::Opener,
        Token::CloseList | Token::CloseVector | Token::CloseMap => SyntaxKind::Closer,
        Token::QuotedName | Token::VarName | Token::Name(_) => SyntaxKind::Name,
        Token::Keyword => SyntaxKind::Keyword,
        Token::Str(_) | Token::Regex(_) => SyntaxKind::Text,
        Token::Infinity | Token::NegativeInfinity | Token::NaN | Token::Number(_) | Token::Char => {
            SyntaxKind::Literal
        }
        Token::Comment => SyntaxKind::Comment,
        Token::Quote | Token::Var | Token::Discard => SyntaxKind::Other,
    }
}

/// The unclosed openers in `lexemes`, by index, the outermost first.
pub(super) fn open_brackets(lexemes: &[Lexeme<'_>]) -> Vec<usize> {
    let mut open = Vec::new();
    for (index, lexeme) in lexemes.iter().enumerate() {
        match lexeme.kind {
            SyntaxKind::Opener => open.push(index),
            SyntaxKind::Closer => drop(open.pop()),
            _ => {}
        }
    }
    open
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unfinished_strings_are_texts_up_to_the_end() {
        let shown: Vec<_> = lexemes("(str \"a ) b").iter().map(|lexeme| (lexeme.kind, lexeme.text)).collect();
        assert_eq!(
            shown,
            [(SyntaxKind::Opener, "("), (SyntaxKind::Name, "str"), (SyntaxKind::Text, "\"a ) b")]
        );
        assert_eq!(lexemes("#\"a(").last().map(|lexeme| lexeme.kind), Some(SyntaxKind::Text));
        let odd: Vec<_> = lexemes("~ a").iter().map(|lexeme| lexeme.kind).collect();
        assert_eq!(odd, [SyntaxKind::Other, SyntaxKind::Name], "the unreadable hides nothing behind it");
    }

    #[test]
    fn brackets_stay_open_until_they_are_closed() {
        let texts = |text: &'static str| {
            let all = lexemes(text);
            open_brackets(&all).into_iter().map(|index| all[index].start).collect::<Vec<_>>()
        };
        assert_eq!(texts("(let [x 1] {:a (f"), [0, 11, 15]);
        assert!(texts(") (a)").is_empty());
    }
}
