//! The graphemes of a text, one after the other, in a walk that yields regularly.

use crate::meter;
use unicode_segmentation::{GraphemeCursor, GraphemeIncomplete};

/// Bytes that are looked at in one go: a grapheme may be as long as the text, a letter under a million accents.
const CHUNK: usize = 8 << 10;

/// Iterates the extended grapheme clusters of a text with the offset of each.
pub(crate) struct Graphemes<'a> {
    text: &'a str,
    /// Where the next one begins.
    next: usize,
    cursor: GraphemeCursor,
    /// Where the part ends that the cursor is shown, from the beginning of the text on.
    shown: usize,
}

impl<'a> Graphemes<'a> {
    /// Those of `text`.
    pub(crate) fn new(text: &'a str) -> Graphemes<'a> {
        let cursor = GraphemeCursor::new(0, text.len(), true);
        Graphemes { text, next: 0, cursor, shown: 0 }
    }

    /// Where the grapheme ends that begins at `start`.
    fn end_of(&mut self, start: usize) -> usize {
        match self.text.as_bytes()[start..] {
            [_] => return start + 1,
            [first, second, ..] if first.is_ascii() && second.is_ascii() && first != b'\r' => {
                return start + 1;
            }
            _ => {}
        }
        if self.cursor.cur_cursor() != start {
            self.cursor.set_cursor(start);
        }
        if self.shown <= start {
            self.show_more(start);
        }
        loop {
            match self.cursor.next_boundary(&self.text[..self.shown], 0) {
                Ok(end) => return end.unwrap_or(self.text.len()),
                Err(GraphemeIncomplete::NextChunk) => {
                    meter::uncharged(CHUNK / 8);
                    self.show_more(start);
                }
                Err(error) => unreachable!("all that comes before is shown: {error:?}"),
            }
        }
    }

    fn show_more(&mut self, start: usize) {
        let mut end = self.text.len().min(self.shown.max(start) + CHUNK);
        while !self.text.is_char_boundary(end) {
            end += 1;
        }
        self.shown = end;
    }
}

impl<'a> Iterator for Graphemes<'a> {
    type Item = (usize, &'a str);

    fn next(&mut self) -> Option<(usize, &'a str)> {
        let start = self.next;
        if start >= self.text.len() {
            return None;
        }
        meter::uncharged(1);
        self.next = self.end_of(start);
        Some((start, &self.text[start..self.next]))
    }
}

/// The last grapheme of `text`, found from its end: charged by its length, and in parts.
pub(crate) fn last(text: &str) -> Option<&str> {
    let part_before = |end: usize| text.floor_char_boundary(end.saturating_sub(CHUNK));
    let mut cursor = GraphemeCursor::new(text.len(), text.len(), true);
    let mut shown = part_before(text.len());
    loop {
        match cursor.prev_boundary(&text[shown..], shown) {
            Ok(start) => return start.map(|start| &text[start..]),
            Err(GraphemeIncomplete::PrevChunk) => shown = part_before(shown),
            Err(GraphemeIncomplete::PreContext(end)) => {
                let start = part_before(end);
                cursor.provide_context(&text[start..end], start);
            }
            Err(error) => unreachable!("all that comes behind is shown: {error:?}"),
        }
        meter::work(CHUNK as u64 / 4);
        if meter::exhausted() {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use unicode_segmentation::UnicodeSegmentation;

    fn agrees(text: &str) -> bool {
        let is_last = last(text) == text.graphemes(true).next_back();
        is_last && Graphemes::new(text).eq(text.grapheme_indices(true))
    }

    #[test]
    fn a_grapheme_may_be_longer_than_what_is_looked_at() {
        let accents = "\u{301}".repeat(3 * CHUNK);
        let family = "👩\u{200D}".repeat(CHUNK);
        let flags = "🇩🇪".repeat(CHUNK);
        let conjunct = "\u{915}\u{94D}".repeat(CHUNK);
        for text in [
            format!("a{accents}b"),
            format!("x{family}👩y"),
            format!("a{flags}🇩"),
            format!("{flags}a{flags}"),
            format!("{conjunct}\u{915}{accents}👩{accents}\u{200D}👩"),
            "\r\n".repeat(CHUNK),
            "\u{1100}\u{1161}\u{11A8}".repeat(CHUNK),
        ] {
            assert!(agrees(&text));
            assert!(agrees(&format!("é{text}")));
        }
    }

    proptest! {
        #[test]
        fn graphemes_are_those_of_the_standard(
            parts in prop::collection::vec(prop::sample::select(&[
                "a", "é", "\r", "\n", "\u{301}", "\u{200D}", "👩", "🇩", "\u{915}", "\u{94D}", "\u{1100}", "\u{1161}", "\u{600}", "한",
            ]), 0..40),
            before in 0..3_usize,
        ) {
            let text = parts.concat();
            // Across the end of what is looked at in one go, too.
            prop_assert!(agrees(&text));
            let shifted = format!("{}{text}", "x".repeat((CHUNK * before).saturating_sub(text.len() / 2)));
            prop_assert!(agrees(&shifted));
            let shifted = format!("é{}{text}", "\u{301}".repeat((CHUNK / 2 * before).saturating_sub(text.len() / 4)));
            prop_assert!(agrees(&shifted));
        }
    }
}
