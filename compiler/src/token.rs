//! The lexer: text to tokens.
//!
//! Each kind of token has one regular expression, and the longest match wins. Only strings, characters and Clojure's spellings
//! of numbers need a look beyond the first match. A token takes two bytes, because its text is read from its span.

use logos::{Lexer, Logos};
use ptc_vm::value::is_letter_beyond_ascii;

/// A lexical element. White space (space, tab, CR, LF, comma) is skipped. Comments are not: skipping an element costs the lexer
/// a nested call, unless the optimiser makes a jump of it, and a text may have a comment on each of ten thousand lines.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
#[logos(skip r"[ \t\r\n\x0C,]+")]
#[logos(error = LexError)]
pub enum Token {
    /// `(`
    #[token("(")]
    OpenList,
    /// `[`
    #[token("[")]
    OpenVector,
    /// `{`
    #[token("{")]
    OpenMap,
    /// `#{`
    #[token("#{")]
    OpenSet,
    /// `#:name{`
    #[regex(r"#:[a-zA-Z0-9+\-*<>=?!_.]+[ \t\r\n\x0C,]*\{")]
    OpenNamespacedMap,
    /// `#(`
    #[token("#(")]
    OpenShortFn,
    /// `)`
    #[token(")")]
    CloseList,
    /// `]`
    #[token("]")]
    CloseVector,
    /// `}`, for maps and sets
    #[token("}")]
    CloseMap,
    /// `'` before anything but a symbol
    #[token("'")]
    Quote,
    /// `'name`, all of it
    #[regex(r"'[a-zA-Z+\-*/<>=?!_%.&$|][a-zA-Z0-9+\-*/<>=?!_%.&$|']*", rest_of_name)]
    #[regex(r"'[^\x00-\x7f]", name_beyond_ascii)]
    QuotedName,
    /// `#'` without a symbol
    #[token("#'")]
    Var,
    /// `#'name`, all of it
    #[regex(r"#'[a-zA-Z+\-*/<>=?!_%.&$|][a-zA-Z0-9+\-*/<>=?!_%.&$|']*", rest_of_name)]
    #[regex(r"#'[^\x00-\x7f]", name_beyond_ascii)]
    VarName,
    /// `#_`, and `^`, whose form is metadata: the language has none
    #[token("#_")]
    #[token("^")]
    Discard,
    /// `##Inf`
    #[token("##Inf", end_of_word)]
    Infinity,
    /// `##-Inf`
    #[token("##-Inf", end_of_word)]
    NegativeInfinity,
    /// `##NaN`
    #[token("##NaN", end_of_word)]
    NaN,
    /// Digits, with `-`, fraction, exponent
    #[regex(r"-?[0-9]+", number)]
    #[regex(r"-?[0-9]+(\.[0-9]+([eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+)", float)]
    Number(NumberKind),
    /// `:name`, `:namespace/name`
    #[regex(r":[a-zA-Z0-9+\-*<>=?!_.|]+(/[a-zA-Z0-9+\-*<>=?!_.|]+)?", rest_of_keyword)]
    #[regex(r":[^\x00-\x7f]", keyword_beyond_ascii)]
    Keyword,
    /// A name; [`positive`] distinguishes `+5` from a name.
    #[regex(r"[a-zA-Z+*/<>=?!_%.&$|][a-zA-Z0-9+\-*/<>=?!_%.&$|']*", positive)]
    #[regex(r"-([a-zA-Z+\-*/<>=?!_%.&$|'][a-zA-Z0-9+\-*/<>=?!_%.&$|']*)?", negative)]
    #[regex(r"[^\x00-\x7f]", beyond_ascii)]
    Name(NameKind),
    /// `"…"`
    #[token("\"", string)]
    Str(Escapes),
    /// `#"…"`
    #[token("#\"", string)]
    Regex(Escapes),
    /// `\a`, `\newline`, `\u0041`
    #[token("\\", character)]
    Char,
    /// `;` and the rest of its line
    #[regex(r";[^\n]*", allow_greedy = true)]
    Comment,
}

/// How a number is spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberKind {
    /// Decimal digits.
    Integer,
    /// With a fraction or an exponent.
    Float,
    /// `0x1F`
    Hex,
    /// `36rZZ`
    Radix,
    /// `12N`
    Big,
    /// `1/2`
    Ratio,
    /// `1M`, `1.5M`
    Decimal,
}

/// Whether a word is a name or a number with a plus sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameKind {
    /// A name.
    Name,
    /// `+5`
    PlusInteger,
    /// `+5.0`
    PlusFloat,
}

/// Whether a string holds backslashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escapes {
    /// The text between the quotes is the value.
    None,
    /// Backslash pairs are to be decoded.
    Some,
}

/// Why no token could be made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LexError {
    /// No token starts like this.
    #[default]
    Unexpected,
    /// The end of the text, or a backslash before CR, LF or the end, inside a string. The byte where reading stopped.
    UnclosedString(u32),
    /// A backslash at the end of the text, or `\uD800`.
    InvalidChar(u32),
}

/// Whether `byte` may stand inside a symbol.
pub(crate) fn is_name_byte(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'+' | b'-' | b'*' | b'/' | b'<' | b'>' | b'=' | b'?' | b'!'
        | b'_' | b'%' | b'.' | b'&' | b'$' | b'|' | b'\'')
}

/// Takes the rest of a name that continues with letters beyond ASCII.
#[inline]
fn rest_of_name(lex: &mut Lexer<'_, Token>) {
    if !lex.remainder().as_bytes().first().is_some_and(u8::is_ascii) {
        take_letters(lex, is_name_byte);
    }
}

/// Whether a character belongs to a name: a letter beyond ASCII, or a byte that may stand there.
fn belongs(c: char, may_stand: fn(u8) -> bool) -> bool {
    match u8::try_from(c) {
        Ok(byte) if byte.is_ascii() => may_stand(byte),
        _ => is_letter_beyond_ascii(c),
    }
}

/// Takes the characters that belong to a name.
fn take_letters(lex: &mut Lexer<'_, Token>, may_stand: fn(u8) -> bool) {
    let rest = lex.remainder();
    lex.bump(rest.find(|c| !belongs(c, may_stand)).unwrap_or(rest.len()));
}

fn name_beyond_ascii(lex: &mut Lexer<'_, Token>) -> Result<(), LexError> {
    if !lex.slice().ends_with(|c: char| is_letter_beyond_ascii(c) && c.is_alphabetic()) {
        return Err(LexError::Unexpected);
    }
    take_letters(lex, is_name_byte);
    Ok(())
}

fn beyond_ascii(lex: &mut Lexer<'_, Token>) -> Result<NameKind, LexError> {
    name_beyond_ascii(lex).map(|()| NameKind::Name)
}

/// Whether `byte` may stand inside a keyword, besides the slash.
fn is_keyword_byte(byte: u8) -> bool {
    is_name_byte(byte) && !matches!(byte, b'/' | b'%' | b'&' | b'$' | b'\'')
}

/// Takes the rest of a keyword that continues with letters beyond ASCII, up to its second slash.
#[inline]
fn rest_of_keyword(lex: &mut Lexer<'_, Token>) {
    if !lex.remainder().as_bytes().first().is_some_and(|&byte| byte.is_ascii() && byte != b'/') {
        take_keyword(lex);
    }
}

fn take_keyword(lex: &mut Lexer<'_, Token>) {
    take_letters(lex, is_keyword_byte);
    let mut behind = lex.remainder().chars();
    if lex.slice().contains('/') || behind.next() != Some('/') {
        return;
    }
    if behind.next().is_some_and(|c| belongs(c, is_keyword_byte)) {
        lex.bump(1);
        take_letters(lex, is_keyword_byte);
    }
}

fn keyword_beyond_ascii(lex: &mut Lexer<'_, Token>) -> Result<(), LexError> {
    if !lex.slice().ends_with(is_letter_beyond_ascii) {
        return Err(LexError::Unexpected);
    }
    take_keyword(lex);
    Ok(())
}

fn ends_here(lex: &Lexer<'_, Token>) -> bool {
    !lex.remainder().bytes().next().is_some_and(is_name_byte)
}

fn end_of_word(lex: &mut Lexer<'_, Token>) -> Result<(), LexError> {
    if ends_here(lex) { Ok(()) } else { Err(LexError::Unexpected) }
}

/// The spellings `0x1F`, `36rZZ`, `12N`, `12M` and `1/2` of Clojure, if the whole word is one. Anything else splits after the
/// digits.
fn number(lex: &mut Lexer<'_, Token>) -> NumberKind {
    let digits = lex.slice();
    let rest = lex.remainder().as_bytes();
    if !matches!(rest.first(), Some(b'N' | b'M' | b'/' | b'x' | b'X' | b'r' | b'R')) {
        return NumberKind::Integer;
    }
    let word = rest.iter().take_while(|&&b| is_name_byte(b)).count();
    let (kind, valid) = match rest.first() {
        Some(b'N') => (NumberKind::Big, word == 1),
        Some(b'M') => (NumberKind::Decimal, word == 1),
        Some(b'/') => (NumberKind::Ratio, word > 1 && rest[1..word].iter().all(u8::is_ascii_digit)),
        Some(b'x' | b'X') => {
            let zero = matches!(digits, "0" | "-0");
            (NumberKind::Hex, zero && word > 1 && rest[1..word].iter().all(u8::is_ascii_hexdigit))
        }
        Some(b'r' | b'R') => {
            let radix = digits.trim_start_matches('-').parse::<u32>().unwrap_or(0);
            let valid = (2..=36).contains(&radix)
                && word > 1
                && rest[1..word].iter().all(|&b| char::from(b).is_digit(radix));
            (NumberKind::Radix, valid)
        }
        _ => return NumberKind::Integer,
    };
    if !valid {
        return NumberKind::Integer;
    }
    lex.bump(word);
    kind
}

/// `1.5M` if that is the whole word.
fn float(lex: &mut Lexer<'_, Token>) -> NumberKind {
    match lex.remainder().as_bytes() {
        [b'M', rest @ ..] if !rest.first().is_some_and(|&byte| is_name_byte(byte)) => {
            lex.bump(1);
            NumberKind::Decimal
        }
        _ => NumberKind::Float,
    }
}

/// `+5` is a number where a word begins (`1+5` is not such a place), and only if all of the word is one.
fn positive(lex: &mut Lexer<'_, Token>) -> NameKind {
    rest_of_name(lex);
    let Some(digits) = lex.slice().strip_prefix('+') else { return NameKind::Name };
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return NameKind::Name;
    }
    let start = lex.span().start;
    if start > 0 && is_name_byte(lex.source().as_bytes()[start - 1]) {
        return NameKind::Name;
    }
    if digits.bytes().all(|b| b.is_ascii_digit()) {
        return NameKind::PlusInteger;
    }
    let well_formed = digits.bytes().all(|b| b.is_ascii_digit() || b"eE.+-".contains(&b))
        && digits.ends_with(|c: char| c.is_ascii_digit())
        && !digits.contains(".e")
        && digits.parse::<f64>().is_ok();
    if well_formed { NameKind::PlusFloat } else { NameKind::Name }
}

fn negative(lex: &mut Lexer<'_, Token>) -> NameKind {
    rest_of_name(lex);
    NameKind::Name
}

fn string(lex: &mut Lexer<'_, Token>) -> Result<Escapes, LexError> {
    let rest = lex.remainder().as_bytes();
    let mut escapes = Escapes::None;
    let mut at = 0;
    loop {
        match rest.get(at) {
            None => break,
            Some(b'"') => {
                lex.bump(at + 1);
                return Ok(escapes);
            }
            Some(b'\\') => {
                escapes = Escapes::Some;
                match rest.get(at + 1) {
                    None | Some(b'\n' | b'\r') => break,
                    // The second byte of a pair may begin a character of several bytes: its tail is neither quote nor backslash.
                    Some(_) => at += 2,
                }
            }
            Some(_) => at += 1,
        }
    }
    let stopped = lex.span().end + at;
    // The rest of the text belongs to no token; `failure` looks at it once more.
    lex.bump(rest.len());
    Err(LexError::UnclosedString(stopped as u32))
}

/// The names of characters.
pub(crate) const CHARACTER_NAMES: [(&str, &str); 6] = [
    ("newline", "\n"),
    ("space", " "),
    ("tab", "\t"),
    ("return", "\r"),
    ("backspace", "\u{8}"),
    ("formfeed", "\u{c}"),
];

fn character(lex: &mut Lexer<'_, Token>) -> Result<(), LexError> {
    let rest = lex.remainder();
    let Some(first) = rest.chars().next() else { return Err(LexError::InvalidChar(lex.span().end as u32)) };
    let length = if let Some((name, _)) = CHARACTER_NAMES.iter().find(|(name, _)| rest.starts_with(name)) {
        name.len()
    } else if first == 'u' && rest.len() >= 5 && rest.as_bytes()[1..5].iter().all(u8::is_ascii_hexdigit) {
        5
    } else {
        first.len_utf8()
    };
    lex.bump(length);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        Token::lexer(text).spanned().map(|(_, span)| &text[span]).collect()
    }

    #[test]
    fn nothing_but_the_rules_separates_tokens() {
        assert_eq!(words("[:a:b]"), ["[", ":a", ":b", "]"]);
        assert_eq!(
            words(":my.app/id :a/b/c :a/ :a/:b"),
            [":my.app/id", ":a/b", "/c", ":a", "/", ":a", "/", ":b"]
        );
        assert_eq!(words("#:a{:b 1} #:a ,{}"), ["#:a{", ":b", "1", "}", "#:a ,{", "}"]);
        assert_eq!(words("(str:a)"), ["(", "str", ":a", ")"]);
        assert_eq!(words(r#""a""b""#), ["\"a\"", "\"b\""]);
        assert_eq!(words("12abc"), ["12", "abc"]);
        assert_eq!(words("-1abc --1 -x -"), ["-1", "abc", "--1", "-x", "-"]);
        assert_eq!(words("1. .5 1e 1e5 1.5e-3x"), ["1", ".", ".5", "1", "e", "1e5", "1.5e-3", "x"]);
        assert_eq!(words("1/2 a/b/c 1'a"), ["1/2", "a/b/c", "1", "'a"]);
        assert_eq!(
            words("1/x 1/2x 1/2/3 1/ 1Mx 1.5Mx"),
            ["1", "/x", "1", "/2x", "1", "/2/3", "1", "/", "1", "Mx", "1.5", "Mx"]
        );
        assert_eq!(words("'-1 '- '-> '-' #'x"), ["'-1", "'-", "'->", "'-'", "#'x"]);
        assert_eq!(words("\\newlinex \\ab \\( \\  \\,"), ["\\newline", "x", "\\a", "b", "\\(", "\\ ", "\\,"]);
        assert_eq!(words("a ; (b\n c"), ["a", "; (b", "c"]);
        assert_eq!(words("$ $a a$b -$ '$x"), ["$", "$a", "a$b", "-$", "'$x"]);
        assert_eq!(words("^String s ^:private f"), ["^", "String", "s", "^", ":private", "f"]);
    }

    #[test]
    fn spellings_of_numbers() {
        let kinds = |text| Token::lexer(text).map(|t| t.expect("a token")).collect::<Vec<_>>();
        use {NameKind::*, NumberKind::*};
        assert_eq!(kinds("0x1F"), [Token::Number(Hex)]);
        assert_eq!(kinds("-36rZZ"), [Token::Number(Radix)]);
        assert_eq!(kinds("12N"), [Token::Number(Big)]);
        assert_eq!(kinds("1/2 -4/2"), [Token::Number(Ratio); 2]);
        assert_eq!(kinds("12M -1.5M 1e3M"), [Token::Number(Decimal); 3]);
        assert_eq!(kinds("0xZZ"), [Token::Number(Integer), Token::Name(Name)]);
        assert_eq!(kinds("1x10"), [Token::Number(Integer), Token::Name(Name)]);
        assert_eq!(kinds("12Nx"), [Token::Number(Integer), Token::Name(Name)]);
        assert_eq!(kinds("+5"), [Token::Name(PlusInteger)]);
        assert_eq!(kinds("+5.5e3"), [Token::Name(PlusFloat)]);
        assert_eq!(kinds("+5x"), [Token::Name(Name)]);
        assert_eq!(kinds("1+5"), [Token::Number(Integer), Token::Name(Name)]);
        assert_eq!(kinds("2rx"), [Token::Number(Integer), Token::Name(Name)]);
    }

    #[test]
    fn strings_end_at_their_quote_or_report_where_they_stop() {
        let one = |text| Token::lexer(text).next();
        assert_eq!(one(r#""a\"b""#), Some(Ok(Token::Str(Escapes::Some))));
        assert_eq!(one("\"a\nb\""), Some(Ok(Token::Str(Escapes::None))));
        assert_eq!(one("\"abc\\"), Some(Err(LexError::UnclosedString(4))));
        assert_eq!(one("\"a\\\nb\""), Some(Err(LexError::UnclosedString(2))));
        assert_eq!(one("#\"abc"), Some(Err(LexError::UnclosedString(5))));
        assert_eq!(one("\"é\\é\""), Some(Ok(Token::Str(Escapes::Some))));
    }

    #[test]
    fn white_space_is_ascii() {
        for text in
            ["\u{b}", "\u{a0}", "\u{feff}", "\u{200b}", "\0", "~", "`", "@", "\u{3164}", "→", "'\u{200b}"]
        {
            assert_eq!(Token::lexer(text).next(), Some(Err(LexError::Unexpected)), "{text:?}");
        }
    }

    #[test]
    fn names_hold_letters_of_any_script() {
        assert_eq!(words("(привет x-é λ1 -λ)"), ["(", "привет", "x-é", "λ1", "-λ", ")"]);
        assert_eq!(words("'אַ #'Δ :ключ/имя :a/é :é/b/c"), ["'אַ", "#'Δ", ":ключ/имя", ":a/é", ":é/b", "/c"]);
        assert_eq!(words("12é a|b || :a|b"), ["12", "é", "a|b", "||", ":a|b"]);
        assert_eq!(Token::lexer("a\u{200b}").nth(1), Some(Err(LexError::Unexpected)));
    }

    #[test]
    fn comments_without_end_take_no_stack() {
        let text = ";\n".repeat(200_000);
        assert_eq!(words(&text).len(), 200_000);
    }

    #[test]
    fn a_token_is_two_bytes() {
        assert_eq!(size_of::<Token>(), 2);
    }
}
