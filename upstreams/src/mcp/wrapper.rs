//! Payloads that a server wraps, and payloads that it sends twice (ruling 50).

use bytes::Bytes;
use ptc_mcp::json::{Kind, Raw, Scanner};

/// The content of a wrapper.
#[derive(Clone, Copy)]
pub(super) struct WrappedContent<'a> {
    /// The value as written.
    pub(super) json: &'a str,
    /// Whether it is a text that the text blocks repeat.
    pub(super) is_text: bool,
}

/// The domain payload inside structured content, if that is a wrapper: an object of the one key `result`, where nothing is
/// known against that, or of one key with the text of the text blocks. `only` is the value of its only member, and whether that
/// is named `result`.
pub(super) fn inner<'a>(
    only: Option<(Raw<'a>, bool)>,
    may_wrap: bool,
    texts: &[Bytes],
) -> Option<WrappedContent<'a>> {
    let (value, is_result) = only?;
    if value.kind() == Kind::String && !texts.is_empty() {
        let text = value.as_str()?;
        let equal = |separator: &str| joined_equal(text.as_bytes(), texts, separator.as_bytes());
        if ["", "\n", "\n\n"].into_iter().any(equal) {
            return Some(WrappedContent { json: value.text(), is_text: true });
        }
    }
    (may_wrap && is_result).then_some(WrappedContent { json: value.text(), is_text: false })
}

/// Whether the text blocks say the same as the structured content, whole or without its wrapper: all of it in one block,
/// or an element a block.
pub(super) fn repeats(structured: &str, inner: Option<WrappedContent<'_>>, texts: &[Bytes]) -> bool {
    if inner.is_some_and(|inner| inner.is_text) {
        return true;
    }
    let wholes = [Some(structured), inner.map(|inner| inner.json)];
    wholes.into_iter().flatten().any(|json| match texts {
        [] => false,
        [text] if says(text, json) => true,
        texts => {
            let mut elements = Vec::new();
            flatten(json, texts.len(), &mut elements);
            elements.len() == texts.len() && texts.iter().zip(elements).all(|(text, json)| says(text, json))
        }
    })
}

/// The value of the member of an object that has no other, and whether that is named `result`.
pub(super) fn only_member(json: &str) -> Option<(Raw<'_>, bool)> {
    let mut scanner = Scanner::new(json);
    let mut first = true;
    scanner.enter_object().ok()?;
    if !scanner.next_member(&mut first).ok()? {
        return None;
    }
    let key = scanner.key().ok()?;
    let value = scanner.value().ok()?;
    (!scanner.next_member(&mut first).ok()?).then_some((value, key == "result"))
}

/// The elements of a list, those of lists within it in their places; at most one more than `most`.
fn flatten<'a>(json: &'a str, most: usize, elements: &mut Vec<&'a str>) {
    let mut open = vec![Scanner::new(json)];
    if open[0].enter_array().is_err() {
        return;
    }
    let mut firsts = vec![true];
    while let (Some(scanner), Some(first)) = (open.last_mut(), firsts.last_mut()) {
        if elements.len() > most {
            return;
        }
        match scanner.next_element(first) {
            Ok(true) => {}
            _ => {
                open.pop();
                firsts.pop();
                continue;
            }
        }
        let Ok(element) = scanner.value() else { return };
        if element.kind() == Kind::Array && open.len() < 64 {
            let mut inside = Scanner::new(element.text());
            if inside.enter_array().is_ok() {
                open.push(inside);
                firsts.push(true);
            }
        } else {
            elements.push(element.text());
        }
    }
}

/// Whether `text` is this JSON, with other spaces at most, or the string that the JSON is.
fn says(text: &[u8], json: &str) -> bool {
    if json.starts_with('"') {
        let string = Raw::parse(json).ok().and_then(Raw::as_str);
        if string.is_some_and(|string| string.as_bytes() == text) {
            return true;
        }
    }
    same_tokens(text, json.as_bytes())
}

/// Whether two JSON texts are the same but for white space between their tokens.
fn same_tokens(a: &[u8], b: &[u8]) -> bool {
    if a == b {
        return true;
    }
    let (mut at, mut other, mut in_string) = (0, 0, false);
    loop {
        if !in_string {
            at += space(&a[at..]);
            other += space(&b[other..]);
        }
        match (a.get(at), b.get(other)) {
            (None, None) => return true,
            (Some(x), Some(y)) if x == y => {
                match x {
                    b'\\' if in_string => {
                        if a.get(at + 1) != b.get(other + 1) {
                            return false;
                        }
                        (at, other) = (at + 1, other + 1);
                    }
                    b'"' => in_string = !in_string,
                    _ => {}
                }
                (at, other) = ((at + 1).min(a.len()), (other + 1).min(b.len()));
            }
            _ => return false,
        }
    }
}

fn space(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t')).count()
}

/// Whether `text` is `texts` with `separator` between them.
fn joined_equal(text: &[u8], texts: &[Bytes], separator: &[u8]) -> bool {
    let mut rest = text;
    for (index, part) in texts.iter().enumerate() {
        if index > 0 {
            match rest.strip_prefix(separator) {
                Some(behind) => rest = behind,
                None => return false,
            }
        }
        match rest.strip_prefix(&part[..]) {
            Some(behind) => rest = behind,
            None => return false,
        }
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(texts: &[&str]) -> Vec<Bytes> {
        texts.iter().map(|text| Bytes::from((*text).to_owned())).collect()
    }

    fn inside(structured: &str, may_wrap: bool, of: &[&str]) -> Option<(String, bool)> {
        inner(only_member(structured), may_wrap, &texts(of))
            .map(|inner| (inner.json.to_owned(), inner.is_text))
    }

    #[test]
    fn one_key_is_a_wrapper_if_it_is_result_or_has_the_text() {
        assert_eq!(inside(r#"{"result":[1,2]}"#, true, &[]), Some(("[1,2]".into(), false)));
        assert_eq!(inside(r#" { "result" : null } "#, true, &["x"]), Some(("null".into(), false)));
        assert_eq!(inside(r#"{"result":[1,2]}"#, false, &[]), None);
        assert_eq!(inside(r#"{"result":[1],"n":1}"#, true, &[]), None);
        assert_eq!(inside(r#"{"content":"a\nb"}"#, false, &["a\nb"]), Some((r#""a\nb""#.into(), true)));
        assert_eq!(inside(r#"{"content":"a\nb"}"#, false, &["a", "b"]), Some((r#""a\nb""#.into(), true)));
        assert_eq!(inside(r#"{"content":"ab"}"#, true, &["a", "b"]), Some((r#""ab""#.into(), true)));
        for other in [r#"{"content":"a"}"#, r#"{"content":["a"]}"#, "{}", "[1]", "\"a\"", "{"] {
            assert_eq!(inside(other, true, &["b"]), None, "{other}");
        }
    }

    #[test]
    fn the_same_payload_twice_is_seen() {
        let repeat = |structured: &str, of: &[&str]| {
            let texts = texts(of);
            repeats(structured, inner(only_member(structured), true, &texts), &texts)
        };
        assert!(repeat(r#"{"a":[1,"x y"],"b":null}"#, &["{\n \"a\": [ 1, \"x y\" ], \"b\": null }\n"]));
        assert!(repeat(r#"{"result":[{"a":1},"two",[3]]}"#, &["{\"a\": 1}", "two", "3"]));
        assert!(repeat(r#"{"result":"text"}"#, &["text"]));
        assert!(repeat(r#"{"result":5}"#, &["5"]));
        assert!(repeat(r#"{"a":"\\\" "}"#, &[r#"{"a": "\\\" "}"#]));
        for (structured, other) in [
            (r#"{"a":1}"#, vec!["{\"a\":2}"]),
            (r#"{"a":"x y"}"#, vec!["{\"a\":\"xy\"}"]),
            (r#"{"a":1}"#, vec!["one row"]),
            (r#"{"result":[1,2]}"#, vec!["1", "2", "3"]),
            (r#"{"a":1}"#, vec![]),
            (r#"{"a":1}"#, vec!["{\"a\":1"]),
        ] {
            assert!(!repeat(structured, &other), "{structured} {other:?}");
        }
    }
}
