//! Characters and classes of characters: `\d`, `\x{e9}`, `\p{L}`, `[^a-z[:space:]]`.
//!
//! A class becomes text in the syntax of the linear engine, where every character that has a meaning there is
//! escaped: `[`, `&&`, `--` and `~~` are literal in the Perl dialect.

use super::parser::{Parser, PatternResult};

/// Horizontal white space.
const HORIZONTAL: &str = r"\t \xA0\x{1680}\x{180E}\x{2000}-\x{200A}\x{202F}\x{205F}\x{3000}";
/// Vertical white space.
const VERTICAL: &str = r"\n\x0B\f\r\x{85}\x{2028}\x{2029}";

/// The class that an escape stands for, as the inside of brackets; the parser stands after the backslash. `None` and no move
/// when the escape is a character.
pub(super) fn class_escape(parser: &mut Parser) -> PatternResult<Option<String>> {
    let text = match parser.peek() {
        Some(c @ ('d' | 'D' | 'w' | 'W' | 's' | 'S')) => format!("\\{c}"),
        Some('h') => HORIZONTAL.to_owned(),
        Some('H') => format!("[^{HORIZONTAL}]"),
        Some('v') => VERTICAL.to_owned(),
        Some('V') => format!("[^{VERTICAL}]"),
        Some('N') => "[^\\n]".to_owned(),
        Some('p' | 'P') => return property(parser).map(Some),
        _ => return Ok(None),
    };
    parser.at += 1;
    Ok(Some(text))
}

/// `\pL`, `\p{Lu}`, `\P{^Greek}`
fn property(parser: &mut Parser) -> PatternResult<String> {
    let mut negative = parser.peek() == Some('P');
    parser.at += 1;
    let name: String = if parser.accept("{") {
        negative ^= parser.accept("^");
        let start = parser.at;
        while parser.peek().is_some_and(|c| c != '}') {
            parser.at += 1;
        }
        let name = parser.text[start..parser.at].iter().collect();
        if !parser.accept("}") {
            return Err(parser.error("malformed \\P or \\p sequence"));
        }
        name
    } else {
        let Some(c) = parser.peek() else { return Err(parser.error("malformed \\P or \\p sequence")) };
        parser.at += 1;
        c.to_string()
    };
    let class = known_property(&name).unwrap_or_else(|| {
        // Java puts `Is` before scripts and binary properties.
        let plain = name.strip_prefix("Is").filter(|rest| !rest.is_empty()).unwrap_or(&name);
        format!("\\p{{{plain}}}")
    });
    let class = format!("[{}{class}]", if negative { "^" } else { "" });
    if regex_syntax::parse(&class).is_err() {
        return Err(parser.error("unknown property name after \\P or \\p"));
    }
    Ok(class)
}

/// Properties that the linear engine does not know, or knows by another name: those of Perl's library and the
/// ASCII classes of Java.
fn known_property(name: &str) -> Option<String> {
    let class = match name {
        "L&" | "LC" => "\\p{Lu}\\p{Ll}\\p{Lt}",
        "Xan" => "\\p{L}\\p{N}",
        "Xwd" => "\\p{L}\\p{N}_",
        "Xps" | "Xsp" => "\\s",
        "Lower" => "a-z",
        "Upper" => "A-Z",
        "Alpha" => "a-zA-Z",
        "Digit" => "0-9",
        "Alnum" => "a-zA-Z0-9",
        "Punct" => r"!-/:-@\[-`{-~",
        "Graph" => "!-~",
        "Print" => " -~",
        "Blank" => " \\t",
        "Cntrl" => r"\x00-\x1F\x7F",
        "XDigit" => "0-9a-fA-F",
        "Space" => r"\t\n\x0B\f\r ",
        "ASCII" => r"\x00-\x7F",
        "javaLowerCase" => "\\p{Lowercase}",
        "javaUpperCase" => "\\p{Uppercase}",
        "javaWhitespace" => "\\s",
        "javaLetter" => "\\p{L}",
        "javaDigit" => "\\d",
        "javaLetterOrDigit" => "\\p{L}\\d",
        _ => return None,
    };
    Some(class.to_owned())
}

/// The class of `[:name:]`; Unicode properties, as `\w` and `\d`.
fn posix_class(name: &str) -> Option<&'static str> {
    Some(match name {
        "alpha" => "\\p{L}",
        "lower" => "\\p{Ll}",
        "upper" => "\\p{Lu}",
        "alnum" => "\\p{L}\\p{N}",
        "digit" => "\\d",
        "space" => "\\s",
        "blank" => HORIZONTAL,
        "word" => "\\w",
        "cntrl" => "\\p{Cc}",
        "punct" => r"\p{P}$+<=>\^`|\~",
        "graph" => r"\p{L}\p{M}\p{N}\p{P}\p{S}",
        "print" => r"\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}",
        "xdigit" => "0-9a-fA-F",
        "ascii" => r"\x00-\x7F",
        _ => return None,
    })
}

/// The character that an escape stands for; the parser stands after the backslash, which is at `start`.
pub(super) fn escaped_char(parser: &mut Parser, start: usize) -> PatternResult<char> {
    let Some(c) = parser.peek() else { return Err(parser.error("\\ at end of pattern")) };
    parser.at += 1;
    Ok(match c {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'f' => '\x0C',
        'a' => '\x07',
        'e' => '\x1B',
        'c' => {
            let Some(c) = parser.peek().filter(char::is_ascii) else {
                return Err(parser.error("\\c at end of pattern"));
            };
            parser.at += 1;
            char::from(c.to_ascii_uppercase() as u8 ^ 64)
        }
        'x' if parser.accept("{") => {
            let code = digits(parser, 16, usize::MAX);
            if !parser.accept("}") {
                return Err(parser.error("character code point value in \\x{} is malformed"));
            }
            code_point(parser, code)?
        }
        'x' => {
            let code = digits_or_zero(parser, 16, 2);
            code_point(parser, code)?
        }
        'u' => {
            let code = digits(parser, 16, 4);
            if parser.at != start + 6 {
                return Err(parser.error("\\u takes four hexadecimal digits"));
            }
            code_point(parser, code)?
        }
        'o' if parser.accept("{") => {
            let code = digits(parser, 8, usize::MAX);
            if !parser.accept("}") {
                return Err(parser.error("non-octal character in \\o{}"));
            }
            code_point(parser, code)?
        }
        '0'..='7' => {
            parser.at -= 1;
            let code = digits_or_zero(parser, 8, 3);
            code_point(parser, code)?
        }
        c => c,
    })
}

fn digits_or_zero(parser: &mut Parser, radix: u32, most: usize) -> Option<u32> {
    Some(digits(parser, radix, most).unwrap_or(0))
}

/// The number that at most `most` digits spell; `None` without digits or beyond 32 bits.
fn digits(parser: &mut Parser, radix: u32, most: usize) -> Option<u32> {
    let (mut value, mut count) = (Some(0u32), 0);
    while count < most {
        let Some(digit) = parser.peek().and_then(|c| c.to_digit(radix)) else { break };
        value = value.and_then(|v| v.checked_mul(radix)?.checked_add(digit));
        parser.at += 1;
        count += 1;
    }
    if count == 0 { None } else { value }
}

fn code_point(parser: &Parser, code: Option<u32>) -> PatternResult<char> {
    code.and_then(char::from_u32)
        .ok_or_else(|| parser.error("character value in \\x{} or \\o{} is not a character"))
}

/// A class in brackets, as text for the linear engine.
pub(super) fn parse_class(parser: &mut Parser) -> PatternResult<String> {
    parser.at += 1;
    let mut text = String::from("[");
    if parser.accept("^") {
        text.push('^');
    }
    let mut first = true;
    loop {
        match parser.peek() {
            None => return Err(parser.error("missing terminating ] for character class")),
            Some(']') if !first => {
                parser.at += 1;
                text.push(']');
                return Ok(text);
            }
            Some(_) => {}
        }
        first = false;
        if posix(parser, &mut text)? || parser.accept("\\E") {
            continue;
        }
        if parser.accept("\\Q") {
            while parser.peek().is_some() && !parser.accept("\\E") {
                push_char(&mut text, parser.text[parser.at]);
                parser.at += 1;
            }
            continue;
        }
        let Some(low) = member(parser, &mut text)? else { continue };
        let range = parser.looking_at("-") && parser.text.get(parser.at + 1).is_some_and(|c| *c != ']');
        if !range {
            push_char(&mut text, low);
            continue;
        }
        parser.at += 1;
        let last = parser.at;
        let mut class = String::new();
        match member(parser, &mut class)? {
            Some(high) if high < low => {
                parser.at = last.max(parser.at - 1);
                return Err(parser.error("range out of order in character class"));
            }
            Some(high) => {
                push_char(&mut text, low);
                text.push('-');
                push_char(&mut text, high);
            }
            // `[a-\d]`: the hyphen is itself.
            None => {
                push_char(&mut text, low);
                push_char(&mut text, '-');
                text.push_str(&class);
            }
        }
    }
}

/// One member of a class: a character, or `None` when a class of its own was appended to `text`.
fn member(parser: &mut Parser, text: &mut String) -> PatternResult<Option<char>> {
    let start = parser.at;
    let Some(c) = parser.peek() else {
        return Err(parser.error("missing terminating ] for character class"));
    };
    parser.at += 1;
    if c != '\\' {
        return Ok(Some(c));
    }
    if parser.peek() == Some('b') {
        parser.at += 1;
        return Ok(Some('\x08'));
    }
    if parser.peek() == Some('N') || parser.peek() == Some('R') || parser.peek() == Some('X') {
        return Err(parser.error(format!("\\{} is not supported in a class", parser.text[parser.at])));
    }
    if let Some(class) = class_escape(parser)? {
        text.push_str(&class);
        return Ok(None);
    }
    escaped_char(parser, start).map(Some)
}

/// `[:alpha:]`, `[:^alpha:]`
fn posix(parser: &mut Parser, text: &mut String) -> PatternResult<bool> {
    if !parser.looking_at("[:") {
        return Ok(false);
    }
    let rest = &parser.text[parser.at + 2..];
    let Some(end) = rest.windows(2).position(|pair| pair == [':', ']']) else { return Ok(false) };
    let name: String = rest[..end].iter().collect();
    let plain = name.strip_prefix('^').unwrap_or(&name);
    if !plain.chars().all(|c| c.is_ascii_lowercase()) {
        return Ok(false);
    }
    let Some(class) = posix_class(plain) else {
        return Err(parser.error("unknown POSIX class name"));
    };
    text.push_str(if name.starts_with('^') { "[^" } else { "[" });
    text.push_str(class);
    text.push(']');
    parser.at += end + 4;
    Ok(true)
}

/// Appends a character so that it means itself, inside and outside brackets.
pub(super) fn push_char(text: &mut String, c: char) {
    match c {
        '\\' | '.' | '+' | '*' | '?' | '(' | ')' | '|' | '[' | ']' | '{' | '}' | '^' | '$' | '#' | '&'
        | '-' | '~' => {
            text.push('\\');
            text.push(c);
        }
        c if c.is_ascii_control() => text.push_str(&format!("\\x{:02X}", c as u32)),
        c => text.push(c),
    }
}
