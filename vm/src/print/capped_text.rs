//! The readable form cut to a number of bytes, for hosts that show results (ruling 20).
//!
//! The cut falls between elements: of the outermost collection when that leaves at least half of the room used, else of the one
//! inside it, and so on. If one long string does not fit, the string itself is cut between graphemes and its quote closed.
//! Omitted parts are counted, not built, as far as the budget allows.

use super::level::is_collection;
use super::{MAX_DEPTH, PathText, PrintLevel, number, scalar, text};
use crate::meter;
use crate::value::{Str, Value};
use std::fmt;

/// How much of a value a rendering may walk, since a small value can be an enormous tree by sharing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Values visited, each occurrence counted.
    pub nodes: u64,
    /// Bytes of text, written or counted.
    pub bytes: u64,
}

impl Default for Budget {
    /// A million values and 64 MiB: some 10 ms.
    fn default() -> Budget {
        Budget { nodes: 1_000_000, bytes: 64 * 1024 * 1024 }
    }
}

/// A readable form, and the omitted parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderedValue {
    /// The text, brackets and quotes closed.
    pub text: String,
    /// The omitted parts, if any.
    pub truncated: Option<Cut>,
    /// If the value is a string: how many bytes from its beginning the text shows.
    pub string_bytes: Option<usize>,
}

/// The shown part of the whole in a cut text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The unit of `shown` and `total`.
    pub unit: CutUnit,
    /// How many are shown of the collection or string in which the cut fell.
    pub shown: usize,
    /// How many there are.
    pub total: usize,
    /// Where that collection or string is, such as `rows[0].text`; empty for the value itself.
    pub path: String,
    /// Bytes of the whole text, or of as much of it as the budget allowed to count.
    pub full_bytes: u64,
    /// Whether there is more than `full_bytes`.
    pub at_least: bool,
}

/// The unit of a [`Cut`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutUnit {
    /// Elements or entries.
    Items,
    /// Graphemes, as `count` counts them and `subs` cuts.
    Characters,
    /// Digits or other bytes of a single value that is no string.
    Bytes,
}

impl fmt::Display for Cut {
    /// The note of ruling 20: how many of how many, the full size, and how to ask for the rest.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, advice) = match self.unit {
            CutUnit::Items => {
                ("items", "return part of it with take, drop, filter or select-keys, or a summary")
            }
            CutUnit::Characters => ("characters", "return part of it with subs, or search it in the program"),
            CutUnit::Bytes => ("bytes", "return less of it"),
        };
        write!(f, ";; cut: {} of {} {unit}", self.shown, self.total)?;
        if !self.path.is_empty() {
            write!(f, " of {}", self.path)?;
        }
        let at_least = if self.at_least { "at least " } else { "" };
        write!(f, " shown, {at_least}{} bytes in all; {advice}", self.full_bytes)
    }
}

/// Marks omitted elements of a collection.
const MARKER: &str = "...";
/// A string is only cut inside when at least this many bytes of it can be shown.
const LEAST_STRING: usize = 16;

/// The readable form in at most `max_bytes` bytes (a few more where even an empty collection would not fit).
/// Charges nothing; `budget` bounds the work, which may pause.
pub fn render_capped(value: &Value, max_bytes: usize, budget: Budget) -> RenderedValue {
    let mut capped =
        CappedText { text: String::new(), max: max_bytes, levels: Vec::new(), marks: Vec::new(), budget };
    match capped.write(value) {
        Ok(()) => {
            let string_bytes =
                if let Value::Str(string) = value { Some(string.as_str().len()) } else { None };
            RenderedValue { text: capped.text, truncated: None, string_bytes }
        }
        Err(stop) => capped.cut(value, stop),
    }
}

/// Why the text ends.
enum PrintStop {
    /// This value does not fit.
    Full(Value),
    /// The budget is used up.
    Spent,
}

/// A text in the making.
struct CappedText {
    text: String,
    max: usize,
    levels: Vec<PrintLevel>,
    /// Where the text can be cut: a place for each open level, outermost first, as long as one fits. They may be
    /// of levels that have been closed since.
    marks: Vec<Mark>,
    budget: Budget,
}

/// A place after the last complete element of a level.
struct Mark {
    /// Bytes of text up to there.
    len: usize,
    shown: usize,
    total: usize,
    closing: char,
    /// Where the level is in the one around it.
    step: PathStep,
}

enum PathStep {
    Root,
    Index(usize),
    Key(Value),
}

impl PathStep {
    fn of(level: Option<&PrintLevel>) -> PathStep {
        match level {
            None => PathStep::Root,
            Some(level) => match level.key() {
                Some(key) => PathStep::Key(key.clone()),
                None => PathStep::Index(level.given().saturating_sub(1)),
            },
        }
    }
}

impl CappedText {
    fn write(&mut self, value: &Value) -> Result<(), PrintStop> {
        self.write_one(value)?;
        self.mark();
        while let Some(level) = self.levels.last_mut() {
            let separate = level.started();
            match level.next() {
                None => {
                    self.text.push(level.closing());
                    self.levels.pop();
                }
                Some(item) => {
                    if separate {
                        self.text.push(' ');
                    }
                    self.write_one(&item)?;
                }
            }
            self.mark();
        }
        Ok(())
    }

    /// Notes that the text can be cut here: after an element, not between a key and its value.
    fn mark(&mut self) {
        let Some(level) = self.levels.last() else { return };
        // Every open level may need a marker of its own besides its bracket.
        if level.at_key() || self.text.len() + self.levels.len() * (MARKER.len() + 2) > self.max {
            return;
        }
        let depth = self.levels.len();
        let (len, shown, total) = (self.text.len(), level.given(), level.total());
        if level.started() {
            self.marks.truncate(depth);
            if let Some(mark) = self.marks.get_mut(depth - 1) {
                (mark.len, mark.shown) = (len, shown);
            }
        } else if self.marks.len() >= depth - 1 {
            self.marks.truncate(depth - 1);
            let step = PathStep::of(self.levels.iter().nth_back(1));
            self.marks.push(Mark { len, shown, total, closing: level.closing(), step });
        }
    }

    fn write_one(&mut self, value: &Value) -> Result<(), PrintStop> {
        meter::uncharged(1);
        self.budget.nodes = self.budget.nodes.checked_sub(cost(value)).ok_or(PrintStop::Spent)?;
        let before = self.text.len();
        let at_once = match value {
            Value::Str(s) | Value::Symbol(s) => s.as_str().len(),
            Value::Keyword(k) => k.name().len(),
            Value::BigInt(n) => (n.get().bits() / 4) as usize,
            _ => 0,
        };
        if before + at_once + self.levels.len() <= self.max {
            let levels = self.levels.len();
            match PrintLevel::of(value) {
                Some(level) if levels < MAX_DEPTH => {
                    self.text.push_str(level.opening());
                    self.levels.push(level);
                }
                _ => scalar::push(value, &mut self.text),
            }
            if self.text.len() + self.levels.len() <= self.max {
                return Ok(());
            }
            self.text.truncate(before);
            self.levels.truncate(levels);
        }
        Err(PrintStop::Full(value.clone()))
    }

    /// Ends a text that does not hold all.
    fn cut(mut self, value: &Value, stop: PrintStop) -> RenderedValue {
        let mut string_bytes = None;
        let (text, unit, shown, total, path) = match &stop {
            PrintStop::Full(Value::Str(s)) if self.is_string_cut() => {
                let prefix = text::fitting_prefix(s.as_str(), self.string_room());
                string_bytes = self.levels.is_empty().then_some(prefix.len());
                self.cut_string(s, prefix)
            }
            _ if is_collection(value) => self.cut_collection(value),
            _ => self.cut_scalar(value),
        };
        let (counted, at_least) = self.count_rest(stop);
        let full_bytes = self.text.len() as u64 + counted;
        RenderedValue {
            text,
            truncated: Some(Cut { unit, shown, total, path, full_bytes, at_least }),
            string_bytes,
        }
    }

    /// The mark to cut at.
    fn best_mark(&self) -> Option<usize> {
        let enough = self.marks.iter().position(|mark| mark.len.saturating_mul(2) >= self.max);
        enough.or(self.marks.len().checked_sub(1))
    }

    /// Bytes that a string has here, without its quotes.
    fn string_room(&self) -> usize {
        self.max.saturating_sub(self.text.len() + self.levels.len() * (MARKER.len() + 2) + 2)
    }

    /// Whether the string that did not fit is to be cut, rather than left out.
    fn is_string_cut(&self) -> bool {
        let Some(level) = self.levels.last() else { return true };
        let shown = self.best_mark().map_or(0, |mark| self.marks[mark].len);
        !level.at_key() && self.string_room() >= LEAST_STRING && shown.saturating_mul(2) < self.max
    }

    fn cut_string(&self, string: &Str, prefix: &str) -> (String, CutUnit, usize, usize, String) {
        let mut out = self.text.clone();
        text::push_quoted(prefix, &mut out);
        for level in self.levels.iter().rev() {
            if level.given() < level.total() {
                out.push(' ');
                out.push_str(MARKER);
            }
            out.push(level.closing());
        }
        let shown = Str::new(prefix).len();
        (out, CutUnit::Characters, shown, string.len(), PathText::of(&self.levels).into_text())
    }

    fn cut_collection(&self, value: &Value) -> (String, CutUnit, usize, usize, String) {
        let Some(best) = self.best_mark() else {
            let level = PrintLevel::of(value);
            let (opening, closing, total) =
                level.map_or(("", ' ', 0), |level| (level.opening(), level.closing(), level.total()));
            return (format!("{opening}{MARKER}{closing}"), CutUnit::Items, 0, total, String::new());
        };
        let mark = &self.marks[best];
        let mut out = self.text[..mark.len].to_owned();
        if mark.shown > 0 {
            out.push(' ');
        }
        out.push_str(MARKER);
        out.push(mark.closing);
        for outer in self.marks[..best].iter().rev() {
            // The element that holds the cut comes after the ones shown whole.
            if outer.shown + 1 < outer.total {
                out.push(' ');
                out.push_str(MARKER);
            }
            out.push(outer.closing);
        }
        let mut path = PathText::default();
        for mark in &self.marks[..=best] {
            match &mark.step {
                PathStep::Root => {}
                PathStep::Index(index) => path.push_index(*index),
                PathStep::Key(key) => path.push_key(key),
            }
        }
        (out, CutUnit::Items, mark.shown, mark.total, path.into_text())
    }

    /// A number or a name that is too long by itself.
    fn cut_scalar(&self, value: &Value) -> (String, CutUnit, usize, usize, String) {
        let mut out = String::new();
        scalar::push(value, &mut out);
        let total = out.len();
        let mut shown = self.max.saturating_sub(MARKER.len()).min(total);
        while !out.is_char_boundary(shown) {
            shown -= 1;
        }
        out.truncate(shown);
        out.push_str(MARKER);
        (out, CutUnit::Bytes, shown, total, String::new())
    }

    /// Bytes from the value that did not fit to the end, and whether the budget ended first.
    fn count_rest(&mut self, stop: PrintStop) -> (u64, bool) {
        let PrintStop::Full(first) = stop else { return (0, true) };
        let mut counted = 0;
        let mut scratch = String::new();
        let mut next = Some(first);
        loop {
            if let Some(value) = next.take() {
                meter::uncharged(1);
                let Some(left) = self.budget.nodes.checked_sub(cost(&value)) else { return (counted, true) };
                self.budget.nodes = left;
                match PrintLevel::of(&value) {
                    Some(level) if self.levels.len() < MAX_DEPTH => {
                        counted += level.opening().len() as u64;
                        self.levels.push(level);
                    }
                    _ => counted += scalar_len(&value, &mut scratch),
                }
            }
            if counted + self.text.len() as u64 > self.budget.bytes {
                return (counted, true);
            }
            let Some(level) = self.levels.last_mut() else { return (counted, false) };
            let separate = level.started();
            next = level.next();
            if next.is_none() {
                self.levels.pop();
                counted += 1;
            } else {
                counted += u64::from(separate);
            }
        }
    }
}

/// Bytes of the readable form of anything but a collection.
fn scalar_len(value: &Value, scratch: &mut String) -> u64 {
    if let Value::Str(s) = value {
        return text::quoted_len(s.as_str()) as u64;
    }
    scratch.clear();
    scalar::push(value, scratch);
    scratch.len() as u64
}

/// The cost of showing this one value, in the budget's nodes.
fn cost(value: &Value) -> u64 {
    match value {
        Value::BigInt(n) => 1 + number::big_cost(n.get().bits()) / 16,
        _ => 1,
    }
}
