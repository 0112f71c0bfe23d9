//! Characters and classes of characters: `\d`, `\x{e9}`, `\p{L}`, `[^a-z[:space:]]`.
//!
//! A class becomes text in the syntax of the linear engine, where every character that has a meaning there is
//! escaped: `[`, `&&`, `--` and `~~` are literal in the Perl dialect.

use super::cursor::{Cursor, PatternResult};

/// Horizontal white space.
const HORIZONTAL: &str = r"\t \xA0\x{1680}\x{180E}\x{2000}-\x{200A}\x{202F}\x{205F}\x{3000}";
/// Vertical white space.
const VERTICAL: &str = r"\n\x0B\f\r\x{85}\x{2028}\x{2029}";

/// The class that an escape stands for, as the inside of brackets; the parser stands after the backslash. `None` and no move
/// when the escape is a character.
pub(super) fn class_escape(cursor: &mut Cursor) -> PatternResult<Option<String>> {
    let text = match cursor.peek() {
        Some(c @ ('d' | 'D' | 'w' | 'W' | 's' | 'S')) => format!("\\{c}"),
        Some('h') => HORIZONTAL.to_owned(),
        Some('H') => format!("[^{HORIZONTAL}]"),
        Some('v') => VERTICAL.to_owned(),
        Some('V') => format!("[^{VERTICAL}]"),
        Some('N') => "[^\\n]".to_owned(),
        Some('p' | 'P') => return property(cursor).map(Some),
        _ => return Ok(None),
    };
    cursor.at += 1;
    Ok(Some(text))
}

/// `\pL`, `\p{Lu}`, `\P{^Greek}`
fn property(cursor: &mut Cursor) -> PatternResult<String> {
    let mut negative = cursor.peek() == Some('P');
    cursor.at += 1;
    let name: String = if cursor.accept("{") {
        negative ^= cursor.accept("^");
        let start = cursor.at;
        while cursor.peek().is_some_and(|c| c != '}') {
            cursor.at += 1;
        }
        let name = cursor.text[start..cursor.at].iter().collect();
        if !cursor.accept("}") {
            return Err(cursor.error("malformed \\P or \\p sequence"));
        }
        name
    } else {
        let Some(c) = cursor.peek() else { return Err(cursor.error("malformed \\P or \\p sequence")) };
        cursor.at += 1;
        c.to_string()
    };
    let class = known_property(&name).unwrap_or_else(|| {
        // Java puts `Is` before scripts and binary properties.
        let plain = name.strip_prefix("Is").filter(|rest| !rest.is_empty()).unwrap_or(&name);
        format!("\\p{{{plain}}}")
    });
    let class = format!("[{}{class}]", if negative { "^" } else { "" });
    if regex_syntax::parse(&class).is_err() {
        return Err(cursor.error("unknown property name after \\P or \\p"));
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
pub(super) fn escaped_char(cursor: &mut Cursor, start: usize) -> PatternResult<char> {
    let Some(c) = cursor.peek() else { return Err(cursor.error("\\ at end of pattern")) };
    cursor.at += 1;
    Ok(match c {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'f' => '\x0C',
        'a' => '\x07',
        'e' => '\x1B',
        'c' => {
            let Some(c) = cursor.peek().filter(char::is_ascii) else {
                return Err(cursor.error("\\c at end of pattern"));
            };
            cursor.at += 1;
            char::from(c.to_ascii_uppercase() as u8 ^ 64)
        }
        'x' if cursor.accept("{") => {
            let code = digits(cursor, 16, usize::MAX);
            if !cursor.accept("}") {
                return Err(cursor.error("character code point value in \\x{} is malformed"));
            }
            code_point(cursor, code)?
        }
        'x' => {
            let code = digits_or_zero(cursor, 16, 2);
            code_point(cursor, code)?
        }
        'u' => {
            let code = digits(cursor, 16, 4);
            if cursor.at != start + 6 {
                return Err(cursor.error("\\u takes four hexadecimal digits"));
            }
            code_point(cursor, code)?
        }
        'o' if cursor.accept("{") => {
            let code = digits(cursor, 8, usize::MAX);
            if !cursor.accept("}") {
                return Err(cursor.error("non-octal character in \\o{}"));
            }
            code_point(cursor, code)?
        }
        '0'..='7' => {
            cursor.at -= 1;
            let code = digits_or_zero(cursor, 8, 3);
            code_point(cursor, code)?
        }
        c => c,
    })
}

fn digits_or_zero(cursor: &mut Cursor, radix: u32, most: usize) -> Option<u32> {
    Some(digits(cursor, radix, most).unwrap_or(0))
}

/// The number that at most `most` digits spell; `None` without digits or beyond 32 bits.
fn digits(cursor: &mut Cursor, radix: u32, most: usize) -> Option<u32> {
    let (mut value, mut count) = (Some(0u32), 0);
    while count < most {
        let Some(digit) = cursor.peek().and_then(|c| c.to_digit(radix)) else { break };
        value = value.and_then(|v| v.checked_mul(radix)?.checked_add(digit));
        cursor.at += 1;
        count += 1;
    }
    if count == 0 { None } else { value }
}

fn code_point(cursor: &Cursor, code: Option<u32>) -> PatternResult<char> {
    code.and_then(char::from_u32)
        .ok_or_else(|| cursor.error("character value in \\x{} or \\o{} is not a character"))
}

/// A class in brackets, as text for the linear engine.
pub(super) fn parse_class(cursor: &mut Cursor) -> PatternResult<String> {
    cursor.at += 1;
    let mut text = String::from("[");
    if cursor.accept("^") {
        text.push('^');
    }
    let mut first = true;
    loop {
        match cursor.peek() {
            None => return Err(cursor.error("missing terminating ] for character class")),
            Some(']') if !first => {
                cursor.at += 1;
                text.push(']');
                return Ok(text);
            }
            Some(_) => {}
        }
        first = false;
        if posix(cursor, &mut text)? || cursor.accept("\\E") {
            continue;
        }
        if cursor.accept("\\Q") {
            while cursor.peek().is_some() && !cursor.accept("\\E") {
                push_char(&mut text, cursor.text[cursor.at]);
                cursor.at += 1;
            }
            continue;
        }
        let Some(low) = member(cursor, &mut text)? else { continue };
        let range = cursor.looking_at("-") && cursor.text.get(cursor.at + 1).is_some_and(|c| *c != ']');
        if !range {
            push_char(&mut text, low);
            continue;
        }
        cursor.at += 1;
        let last = cursor.at;
        let mut class = String::new();
        match member(cursor, &mut class)? {
            Some(high) if high < low => {
                cursor.at = last.max(cursor.at - 1);
                return Err(cursor.error("range out of order in character class"));
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
fn member(cursor: &mut Cursor, text: &mut String) -> PatternResult<Option<char>> {
    let start = cursor.at;
    let Some(c) = cursor.peek() else {
        return Err(cursor.error("missing terminating ] for character class"));
    };
    cursor.at += 1;
    if c != '\\' {
        return Ok(Some(c));
    }
    if cursor.peek() == Some('b') {
        cursor.at += 1;
        return Ok(Some('\x08'));
    }
    if cursor.peek() == Some('N') || cursor.peek() == Some('R') || cursor.peek() == Some('X') {
        return Err(cursor.error(format!("\\{} is not supported in a class", cursor.text[cursor.at])));
    }
    if let Some(class) = class_escape(cursor)? {
        text.push_str(&class);
        return Ok(None);
    }
    escaped_char(cursor, start).map(Some)
}

/// `[:alpha:]`, `[:^alpha:]`
fn posix(cursor: &mut Cursor, text: &mut String) -> PatternResult<bool> {
    if !cursor.looking_at("[:") {
        return Ok(false);
    }
    let rest = &cursor.text[cursor.at + 2..];
    let Some(end) = rest.windows(2).position(|pair| pair == [':', ']']) else { return Ok(false) };
    let name: String = rest[..end].iter().collect();
    let plain = name.strip_prefix('^').unwrap_or(&name);
    if !plain.chars().all(|c| c.is_ascii_lowercase()) {
        return Ok(false);
    }
    let Some(class) = posix_class(plain) else {
        return Err(cursor.error("unknown POSIX class name"));
    };
    text.push_str(if name.starts_with('^') { "[^" } else { "[" });
    text.push_str(class);
    text.push(']');
    cursor.at += end + 4;
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
