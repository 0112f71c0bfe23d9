//! Renderings with at most so many items and characters (language.md 6.3), and the short forms that messages quote.

use super::level::is_collection;
use super::{Budget, Cut, CutUnit, PrintLevel, render_capped, scalar, text};
use crate::meter;
use crate::value::Value;
use std::fmt::Write as _;
use unicode_segmentation::UnicodeSegmentation;

/// How much of a value a [`preview`] shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preview {
    /// Items shown of each collection.
    pub items: usize,
    /// Graphemes shown of each string; also narrows the maps around it. `None` shows strings whole.
    pub characters: Option<usize>,
    /// Whether a cut shows its counts: `[1 2 ...] (2/9)`.
    pub counts: bool,
}

/// Bytes after which a preview shows nothing more, for any limits.
const MOST_BYTES: usize = 128 * 1024;
/// Deepest level that a preview opens.
const MOST_LEVELS: usize = 1_000;
/// Values that a preview visits.
const MOST_NODES: usize = 50_000;

/// The readable form with at most `limit` items shown of each collection: `[1 2 3 ...] (3/10)`.
pub fn bounded(value: &Value, limit: usize) -> String {
    preview(value, Preview { items: limit, characters: None, counts: true })
}

/// A value as messages quote it: strings to 40 characters, collections to 3 items.
pub fn literal(value: &Value) -> String {
    preview(value, Preview { items: 3, characters: Some(40), counts: false })
}

/// The readable form for messages and debugging, cut short on large or deep values instead of failing.
pub fn readable_lossy(value: &Value) -> String {
    let rendered = render_capped(value, 200, Budget { nodes: 1_000, bytes: 100_000 });
    let mut text = rendered.text;
    if let Some(Cut { unit: CutUnit::Characters, path, .. }) = &rendered.truncated
        && path.is_empty()
        && matches!(value, Value::Str(_))
    {
        text.pop();
        text.push_str("...\"");
    }
    text
}

/// A collection of which the first items are shown.
struct PreviewLevel {
    level: PrintLevel,
    /// Items to show.
    show: usize,
    /// Graphemes for strings in it.
    characters: Option<usize>,
}

/// The readable form with limits; see [`Preview`].
pub fn preview(value: &Value, limits: Preview) -> String {
    let mut out = String::new();
    let mut levels: Vec<PreviewLevel> = Vec::new();
    let mut nodes = 0;
    let mut next = Some((value.clone(), limits.characters));
    loop {
        let spent = out.len() > MOST_BYTES || nodes > MOST_NODES;
        if let Some((value, characters)) = next.take() {
            nodes += 1;
            meter::uncharged(1);
            match PrintLevel::of(&value) {
                Some(level) if levels.len() < MOST_LEVELS && !spent => {
                    out.push_str(level.opening());
                    levels.push(PreviewLevel::new(level, limits.items, characters));
                }
                _ => push_scalar(&value, characters, limits.counts, &mut out),
            }
        }
        let Some(open) = levels.last_mut() else { return out };
        let separate = open.level.started();
        if open.level.at_key() || (open.level.given() < open.show && !spent) {
            let in_key = open.level.is_map() && !open.level.at_key();
            if let Some(item) = open.level.next() {
                if separate {
                    out.push(' ');
                }
                let characters = if in_key { limits.characters } else { open.characters };
                next = Some((item, characters));
                continue;
            }
        }
        let (shown, total) = (open.level.given(), open.level.total());
        if shown < total {
            out.push_str(if separate { " ..." } else { "..." });
        }
        out.push(open.level.closing());
        if shown < total && limits.counts {
            let _ = write!(out, " ({shown}/{total})");
        }
        levels.pop();
    }
}

impl PreviewLevel {
    fn new(level: PrintLevel, items: usize, characters: Option<usize>) -> PreviewLevel {
        let (show, characters) = match characters {
            Some(limit) if level.is_map() => {
                let show = items.min((limit / 30).max(1)).min(level.total());
                let each = limit.saturating_sub(10 * show).checked_div(show).unwrap_or(0);
                (show, Some(each.max(10)))
            }
            other => (items, other),
        };
        PreviewLevel { level, show, characters }
    }
}

fn push_scalar(value: &Value, characters: Option<usize>, counts: bool, out: &mut String) {
    match (value, characters) {
        (Value::Str(s), limit) => {
            let whole = s.as_str();
            let room = MOST_BYTES.saturating_sub(out.len()).max(64);
            let end = limit.and_then(|limit| whole.grapheme_indices(true).nth(limit));
            let shown = text::fitting_prefix(&whole[..end.map_or(whole.len(), |(end, _)| end)], room);
            out.push('"');
            text::push_escaped(shown, out);
            if shown.len() < whole.len() {
                out.push_str("...");
            }
            out.push('"');
            if shown.len() < whole.len() && counts {
                let _ = write!(out, " ({}/{} chars)", shown.graphemes(true).count(), s.len());
            }
        }
        (Value::BigInt(n), Some(_)) if n.get().bits() > 1_000 => {
            let _ = write!(out, "an integer of {} bits", n.get().bits());
        }
        (other, _) if is_collection(other) => out.push_str("..."),
        (other, _) => scalar::push(other, out),
    }
}
