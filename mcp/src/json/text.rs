//! Functions on JSON text that build no tree: decoding a string, computing the compact length.

use std::borrow::Cow;

use memchr::{memchr, memchr2};

/// The string that the JSON `text` is, borrowed when it has no escapes; `None` for any other value.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "entry point: string_of()")]
pub(crate) fn string_of(text: &str) -> Option<Cow<'_, str>> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    if memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    serde_json::from_str::<String>(text).ok().map(Cow::Owned)
}

/// The length of valid JSON text without the white space between its tokens.
#[must_use]
pub fn compact_len(json: &[u8]) -> u64 {
    let mut length = 0;
    let mut rest = json;
    loop {
        let quote = memchr(b'"', rest);
        let outside = &rest[..quote.unwrap_or(rest.len())];
        length += outside.iter().filter(|b| !matches!(b, b' ' | b'\n' | b'\r' | b'\t')).count();
        let Some(quote) = quote else { return length as u64 };
        let string = &rest[quote..];
        let mut end = 1;
        while let Some(at) = memchr2(b'"', b'\\', &string[end.min(string.len())..]) {
            let escape = string[end + at] == b'\\';
            end += at + 1 + usize::from(escape);
            if !escape {
                break;
            }
        }
        let end = end.min(string.len());
        length += end;
        rest = &string[end..];
    }
}
