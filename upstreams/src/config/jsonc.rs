//! Comments and trailing commas of a JSON text, made blank. People and editors write both into configuration files.

use std::borrow::Cow;

use jsonc_parser::Scanner;
use jsonc_parser::tokens::Token;

/// `text` with spaces in the place of comments and of commas before a closing bracket: everything else keeps its place, so that
/// lines and columns in errors are those of the file. A text without such tokens is returned unchanged.
pub fn without_comments(text: &str) -> Cow<'_, str> {
    let mut scanner = Scanner::new(text);
    let mut blanks = Vec::new();
    let mut comma = None;
    let mut is_value = false;
    while let Ok(Some(token)) = scanner.scan() {
        let range = scanner.token_start()..scanner.token_end();
        match token {
            Token::CommentLine(_) | Token::CommentBlock(_) => {
                blanks.push(range);
                continue;
            }
            Token::CloseBrace | Token::CloseBracket => blanks.extend(comma.take()),
            _ => {}
        }
        comma = (is_value && matches!(token, Token::Comma)).then_some(range);
        is_value = !matches!(token, Token::Comma | Token::Colon | Token::OpenBrace | Token::OpenBracket);
    }
    if blanks.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut bytes = text.as_bytes().to_vec();
    for range in blanks {
        bytes[range].iter_mut().filter(|byte| !byte.is_ascii_whitespace()).for_each(|byte| *byte = b' ');
    }
    // Whole tokens were replaced, so that no character was cut.
    String::from_utf8(bytes).map_or(Cow::Borrowed(text), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_trailing_commas_become_blanks_of_the_same_length() {
        let text = "{ // é\n \"a\": [1, /* x\n */ 2, ], \"b\": \"// no\", }";
        let plain = without_comments(text);
        assert_eq!(plain.len(), text.len());
        assert_eq!(plain.lines().count(), text.lines().count());
        let value: serde_json::Value = serde_json::from_str(&plain).unwrap();
        assert_eq!(value, serde_json::json!({"a": [1, 2], "b": "// no"}));
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        for text in ["{\"a\": [1, 2]}", "{'a': 1}", "{\"a\": \"", "[,]", "", "{,,}", "/", "[1,,]"] {
            let plain = without_comments(text);
            assert_eq!(
                serde_json::from_str::<serde_json::Value>(&plain).is_ok(),
                serde_json::from_str::<serde_json::Value>(text).is_ok(),
                "{text}"
            );
        }
    }
}
