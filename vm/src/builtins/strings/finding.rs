//! Where a text occurs in a text.
//!
//! A long text is searched in windows, between which others may have the thread. Each window reaches beyond its end by as much
//! as an occurrence needs that begins right before it, so that every occurrence lies in one. A needle longer than a window is
//! searched for by [`rolling`].

use super::rolling::{self, SearchEnd, same};
use crate::error::Result;
use crate::meter;

/// Bytes in which occurrences may begin that are looked for in one go.
const WINDOW: usize = 64 << 10;
/// Searched bytes that count as one unit of work.
const BYTES_PER_UNIT: usize = 16;

/// The byte where `wanted` first occurs.
pub(crate) fn find(text: &str, wanted: &str) -> Option<usize> {
    if wanted.len() >= text.len() {
        return same(text.as_bytes(), wanted.as_bytes()).then_some(0);
    }
    if text.len() <= WINDOW {
        return text.find(wanted);
    }
    let mut found = None;
    // Nothing in it fails.
    let _ = each(text, wanted, |at| {
        found = Some(at);
        Ok(false)
    });
    found
}

/// The byte where `wanted` last occurs.
pub(crate) fn find_last(text: &str, wanted: &str) -> Option<usize> {
    if wanted.len() >= text.len() {
        return same(text.as_bytes(), wanted.as_bytes()).then_some(0);
    }
    if wanted.len() > WINDOW {
        return rolling::find(text, wanted, SearchEnd::End);
    }
    let mut end = text.len();
    loop {
        let start = text.floor_char_boundary(end.saturating_sub(WINDOW + wanted.len()));
        if let Some(at) = text[start..end].rfind(wanted) {
            return Some(start + at);
        }
        if start == 0 {
            return None;
        }
        meter::uncharged((end - start) / BYTES_PER_UNIT);
        // An occurrence that ends behind the next end begins in the window that has been searched.
        end = text.ceil_char_boundary(start + wanted.len());
    }
}

/// Tells `visit` the bytes where `wanted`, which is not empty, occurs, from the first occurrence on, each after the end of the
/// one before, as long as it says `true`.
pub(crate) fn each(text: &str, wanted: &str, mut visit: impl FnMut(usize) -> Result<bool>) -> Result<()> {
    if text.len() <= WINDOW {
        for (at, _) in text.match_indices(wanted) {
            if !visit(at)? {
                break;
            }
        }
        return Ok(());
    }
    let mut start = 0;
    if wanted.len() > WINDOW {
        while let Some(at) = rolling::find(&text[start..], wanted, SearchEnd::Start) {
            if !visit(start + at)? {
                break;
            }
            start += at + wanted.len();
        }
        return Ok(());
    }
    while start < text.len() {
        let behind = text.floor_char_boundary(start + WINDOW);
        let end = text.ceil_char_boundary(behind + wanted.len());
        let mut next = behind;
        for (at, _) in text[start..end].match_indices(wanted) {
            if !visit(start + at)? {
                return Ok(());
            }
            next = next.max(start + at + wanted.len());
        }
        meter::uncharged((end - start) / BYTES_PER_UNIT);
        start = next;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str, wanted: &str) -> Vec<usize> {
        let mut found = Vec::new();
        each(text, wanted, |at| {
            found.push(at);
            Ok(true)
        })
        .unwrap();
        found
    }

    #[test]
    fn windows_find_what_one_search_finds() {
        for filling in ["x", "é", "\u{1F600}", "ab", "aab"] {
            let base = filling.repeat(3 * WINDOW / filling.len());
            let ends = [WINDOW - 2, WINDOW - 1, WINDOW, WINDOW + 1, 2 * WINDOW, base.len()];
            for wanted in
                ["q", "é", "aa", "aaa", "abab", "xé", &"aab".repeat(500), &"ab".repeat(WINDOW / 2 + 1)]
            {
                for at in ends {
                    let at = base.floor_char_boundary(at);
                    let text = [&base[..at], wanted, &base[at..]].concat();
                    for text in [&text, &base] {
                        assert_eq!(find(text, wanted), text.find(wanted));
                        assert_eq!(find_last(text, wanted), text.rfind(wanted));
                        let expected: Vec<usize> = text.match_indices(wanted).map(|(at, _)| at).collect();
                        assert!(all(text, wanted) == expected, "{filling} {} {at}", wanted.len());
                    }
                }
            }
        }
        assert_eq!((find("", "a"), find_last("", "a"), find("abcabc", "c")), (None, None, Some(2)));
    }
}
