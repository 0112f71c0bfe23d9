//! Long inputs in pieces, between which others may have the thread.
//!
//! For work whose steps are charged before it begins, and which may not be charged again as it proceeds: a loop over pieces
//! yields where a loop over everything would hold its thread to the end. Short inputs come as one piece.

use super::uncharged;
use std::iter::from_fn;

/// Items of a piece: some microseconds of the simplest work.
const ITEMS: usize = 1_000;
/// Bytes of a piece of a text.
const BYTES: usize = 16 << 10;
/// Bytes of a text that count as one unit of work.
const BYTES_PER_UNIT: usize = 8;

/// Whether so many items are more than one piece.
#[inline]
pub(crate) fn is_long(items: usize) -> bool {
    items > ITEMS
}

/// The items in order, in pieces.
#[inline]
pub(crate) fn pieces<T>(items: &[T]) -> impl Iterator<Item = &[T]> {
    let long = is_long(items.len());
    items.chunks(ITEMS).inspect(move |piece| {
        if long {
            uncharged(piece.len());
        }
    })
}

/// As [`pieces`], for items that are taken or changed.
#[inline]
pub(crate) fn pieces_mut<T>(items: &mut [T]) -> impl Iterator<Item = &mut [T]> {
    let long = is_long(items.len());
    items.chunks_mut(ITEMS).inspect(move |piece| {
        if long {
            uncharged(piece.len());
        }
    })
}

/// As [`pieces`], each with the first item of the next one, so that every two neighbours are in one piece.
#[inline]
pub(crate) fn overlapping<T>(items: &[T]) -> impl Iterator<Item = &[T]> {
    let long = is_long(items.len());
    (0..items.len()).step_by(ITEMS).map(move |start| {
        if long {
            uncharged(ITEMS);
        }
        &items[start..items.len().min(start + ITEMS + 1)]
    })
}

/// Whether a text of so many bytes is more than one piece.
#[inline]
pub(crate) fn is_long_text(bytes: usize) -> bool {
    bytes > BYTES
}

/// The text in pieces, cut between characters.
pub(crate) fn text_pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    from_fn(move || {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(BYTES));
        let is_first = rest.len() == text.len();
        rest = after;
        counted(piece, is_first)
    })
}

/// As [`text_pieces`], the last piece first.
pub(crate) fn text_pieces_back(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    from_fn(move || {
        let (before, piece) = rest.split_at(rest.ceil_char_boundary(rest.len().saturating_sub(BYTES)));
        let is_first = rest.len() == text.len();
        rest = before;
        counted(piece, is_first)
    })
}

/// The piece, if there is one. Only pieces after the first one count: a search may end in the first pieces of a long rest.
fn counted(piece: &str, is_first: bool) -> Option<&str> {
    if piece.is_empty() {
        return None;
    }
    if !is_first {
        uncharged(BYTES / BYTES_PER_UNIT);
    }
    Some(piece)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::{PauseAnswer, Pauses, pausing};
    use std::cell::Cell;

    thread_local! {
        static PAUSED: Cell<u32> = const { Cell::new(0) };
    }

    const COUNTED: Pauses = Pauses {
        is_due: || true,
        pause: || {
            PAUSED.set(PAUSED.get() + 1);
            PauseAnswer::GoOn
        },
    };

    fn pauses_of(work: impl FnOnce()) -> u32 {
        PAUSED.set(0);
        pausing(COUNTED, work);
        PAUSED.get()
    }

    #[test]
    fn pieces_are_everything_in_order() {
        for count in [0, 1, ITEMS - 1, ITEMS, ITEMS + 1, 10 * ITEMS, 10 * ITEMS + 7] {
            let mut items: Vec<usize> = (0..count).collect();
            assert_eq!(pieces(&items).flatten().copied().collect::<Vec<_>>(), items);
            let pairs = overlapping(&items).flat_map(|piece| piece.windows(2));
            assert!(pairs.eq(items.windows(2)), "{count}");
            pieces_mut(&mut items).flatten().for_each(|item| *item += 1);
            assert!(items.iter().copied().eq(1..=count));
        }
        let odd = "aé\u{1F600}".repeat(BYTES);
        for text in ["", "x", &odd, &odd[..4 * BYTES / 7 * 7], &odd[1..]] {
            assert_eq!(text_pieces(text).collect::<String>(), text);
            let mut back: Vec<&str> = text_pieces_back(text).collect();
            back.reverse();
            assert_eq!(back.concat(), text);
        }
    }

    #[test]
    fn between_pieces_of_what_is_long_others_may_have_the_thread() {
        let items = vec![0u8; 100 * ITEMS];
        let text = "é".repeat(50 * BYTES);
        assert!(pauses_of(|| pieces(&items).for_each(drop)) >= 40);
        assert!(pauses_of(|| pieces_mut(&mut items.clone()).for_each(drop)) >= 40);
        assert!(pauses_of(|| overlapping(&items).for_each(drop)) >= 40);
        assert!(pauses_of(|| text_pieces(&text).for_each(drop)) >= 80);
        assert!(pauses_of(|| text_pieces_back(&text).for_each(drop)) >= 80);
        let short = pauses_of(|| {
            for _ in 0..10_000 {
                pieces(&items[..ITEMS]).for_each(drop);
                text_pieces("short").for_each(drop);
                assert!(text_pieces(&text).next().is_some());
            }
        });
        assert_eq!(short, 0, "what is short does not count, nor does the beginning of what is long");
    }
}
