//! Going through all matches of a text: `re-seq`, splitting, replacing.
//!
//! A scan runs to its end at once when that fits into the slice, and as a frame otherwise, or when it calls a
//! replacement function.

use crate::builtins::support::{Builder, TextBuilder, copied};
use crate::error::{Error, Result};
use crate::machine::{
    Args, CallNow, Ctx, Flow, Input, NativeFrame, PartReader, PartWriter, Portable, RestoreError,
    SnapshotError, portable,
};
use crate::meter;
use crate::regex::Groups;
use crate::value::{Plan, Regex, Str, Value, Vector};
use smallvec::smallvec;
use std::rc::Rc;

/// Bytes of a piece besides its text, for reservations.
const PIECE: usize = 64;
/// The replacement for a match.
pub(crate) enum Replacement {
    /// Text with references to groups.
    Template(Vec<TemplatePart>),
    /// A function of the match.
    Function(Value),
}

portable!(enum Replacement { 0: Template(parts), 1: Function(function) });

/// A part of a replacement text.
#[derive(Debug, PartialEq)]
pub(crate) enum TemplatePart {
    /// Text.
    Text(String),
    /// The match of a group.
    Group(usize),
}

portable!(enum TemplatePart { 0: Text(text), 1: Group(group) });

enum Sink {
    Matches(Builder),
    Split { pieces: Builder, last: usize, limit: Option<usize>, groups: bool, trim: bool },
    Replace { out: TextBuilder, last: usize, with: Replacement, first_only: bool },
}

portable!(enum Sink {
    0: Matches(found),
    1: Split { pieces, last, limit, groups, trim },
    2: Replace { out, last, with, first_only },
});

/// A walk over the matches of a pattern in a text.
pub(crate) struct Scan {
    regex: Rc<Regex>,
    text: Str,
    plan: Plan,
    /// Where the next search begins; `None` after the end.
    next: Option<usize>,
    /// The match whose replacement is being computed.
    pending: Option<(usize, usize)>,
    sink: Sink,
}

impl Portable for Scan {
    fn layout(out: &mut String) {
        out.push_str("Scan{regex,text,next,pending,");
        Sink::layout(out);
        out.push('}');
    }

    fn write(&self, to: &mut PartWriter<'_>) -> Result<(), SnapshotError> {
        self.regex.write(to)?;
        self.text.write(to)?;
        self.next.write(to)?;
        self.pending.write(to)?;
        self.sink.write(to)
    }

    fn read(from: &mut PartReader<'_>) -> Result<Scan, RestoreError> {
        let (regex, text) = (Rc::<Regex>::read(from)?, Str::read(from)?);
        let (next, pending, sink) = (Portable::read(from)?, Portable::read(from)?, Portable::read(from)?);
        let plan = regex.plan(text.as_str())?;
        let scan = Scan { regex, text, plan, next, pending, sink };
        from.check(scan.is_sound())?;
        Ok(scan)
    }
}

/// The value of a match: the matched text, or a vector of it and of the groups if the pattern has any; `nil` for a group that
/// took no part.
pub(super) fn match_value(text: &str, groups: &Groups) -> Value {
    let piece = |range: &Option<(usize, usize)>| match range {
        Some((start, end)) => copied(&text[*start..*end]),
        None => Value::Nil,
    };
    match groups.as_slice() {
        [whole] => piece(whole),
        groups => Value::Vector(groups.iter().map(piece).collect::<Vector>()),
    }
}

impl Scan {
    fn start(regex: Rc<Regex>, text: Str, sink: Sink, ctx: &mut Ctx<'_>) -> Result<Flow> {
        regex.charge(text.as_str().len())?;
        let plan = regex.plan(text.as_str())?;
        let calls = matches!(sink, Sink::Replace { with: Replacement::Function(_), .. });
        let mut scan = Scan { regex, text, plan, next: Some(0), pending: None, sink };
        if !calls && let Some(value) = scan.run(ctx)? {
            return Ok(Flow::Return(value));
        }
        Ok(Flow::Push(Box::new(scan)))
    }

    /// Whether it goes forwards, from one place between characters to the next.
    fn is_sound(&self) -> bool {
        let last = match &self.sink {
            Sink::Matches(_) => 0,
            Sink::Split { last, .. } | Sink::Replace { last, .. } => *last,
        };
        let (start, end) = self.pending.unwrap_or((last, last));
        let next = self.next.unwrap_or(self.text.as_str().len());
        let places = [last, start, end, next];
        let groups = match &self.sink {
            Sink::Replace { with: Replacement::Template(parts), .. } => parts.as_slice(),
            _ => &[],
        };
        places.is_sorted()
            && places.iter().all(|place| self.text.as_str().is_char_boundary(*place))
            && groups
                .iter()
                .all(|part| !matches!(part, TemplatePart::Group(group) if *group > self.regex.groups()))
    }

    /// All matches (`re-seq`).
    pub(super) fn matches(regex: Rc<Regex>, text: Str, ctx: &mut Ctx<'_>) -> Result<Flow> {
        Scan::start(regex, text, Sink::Matches(Builder::new()), ctx)
    }

    /// The pieces between the matches, with the groups' matches between them (`re-split`).
    pub(super) fn split_with_groups(regex: Rc<Regex>, text: Str, ctx: &mut Ctx<'_>) -> Result<Flow> {
        let sink = Sink::Split { pieces: Builder::new(), last: 0, limit: None, groups: true, trim: false };
        Scan::start(regex, text, sink, ctx)
    }

    /// The pieces as Java gives them: without groups, at most `limit` if that is positive, without trailing empty
    /// ones if it is 0.
    pub(crate) fn split_as_java(regex: Rc<Regex>, text: Str, limit: i64, ctx: &mut Ctx<'_>) -> Result<Flow> {
        let most = usize::try_from(limit).ok().filter(|limit| *limit > 0);
        // A text without a match stands for itself, also the empty one.
        let trim = limit == 0 && !text.as_str().is_empty();
        let sink = Sink::Split { pieces: Builder::new(), last: 0, limit: most, groups: false, trim };
        Scan::start(regex, text, sink, ctx)
    }

    /// The text with its matches, or the first one, replaced.
    pub(crate) fn replace(
        regex: Rc<Regex>,
        text: Str,
        with: Replacement,
        first_only: bool,
        ctx: &mut Ctx<'_>,
    ) -> Result<Flow> {
        Scan::start(regex, text, Sink::Replace { out: TextBuilder::new(), last: 0, with, first_only }, ctx)
    }

    /// The next match. After an empty one the search continues one character further.
    fn search(&mut self) -> Result<Option<Groups>> {
        let text = self.text.as_str();
        let Some(from) = self.next else { return Ok(None) };
        self.regex.charge(0)?;
        let found = self.regex.find_next(text, from, &self.plan)?;
        self.next = match found.as_ref().and_then(|groups| groups[0]) {
            None => None,
            Some((start, end)) if start == end => text[end..].chars().next().map(|c| end + c.len_utf8()),
            // `\K` may put the start behind where the search began.
            Some((_, end)) => Some(end.max(from)),
        };
        Ok(found)
    }

    /// Runs until the end, or until the slice is used up. Never comes to a function.
    fn run(&mut self, ctx: &mut Ctx<'_>) -> Result<Option<Value>> {
        loop {
            let Some(groups) = self.search()? else { return self.finish().map(Some) };
            self.take(&groups)?;
            if ctx.should_yield() {
                return Ok(None);
            }
        }
    }

    /// Uses a match.
    fn take(&mut self, groups: &Groups) -> Result<()> {
        let Some((start, end)) = groups[0] else { return Ok(()) };
        let text = self.text.as_str();
        match &mut self.sink {
            Sink::Matches(found) => {
                meter::reserve(end - start + PIECE)?;
                found.push(match_value(text, groups))?;
            }
            Sink::Split { pieces, last, limit, groups: with_groups, .. } => {
                // Nothing is cut off before an empty match at the start of the text, and with groups of a piece.
                let is_empty_piece = start == end && end == *last && (*with_groups || end == 0);
                if is_empty_piece || limit.is_some_and(|limit| pieces.len() + 1 >= limit) {
                    return Ok(());
                }
                meter::reserve(end - *last + PIECE)?;
                pieces.push(copied(&text[*last..start]))?;
                if *with_groups {
                    for group in &groups[1..] {
                        pieces.push(copied(group.map_or("", |(start, end)| &text[start..end])))?;
                    }
                }
                *last = end;
            }
            Sink::Replace { out, last, with: Replacement::Template(parts), first_only } => {
                out.push_str(&text[*last..start])?;
                for part in parts {
                    match part {
                        TemplatePart::Text(text) => out.push_str(text)?,
                        TemplatePart::Group(group) => {
                            if let Some((start, end)) = groups[*group] {
                                out.push_str(&text[start..end])?;
                            }
                        }
                    }
                }
                *last = end;
                if *first_only {
                    self.next = None;
                }
            }
            Sink::Replace { .. } => {}
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<Value> {
        let text = self.text.as_str();
        Ok(match &mut self.sink {
            // As `seq` does.
            Sink::Matches(found) if found.is_empty() => Value::Nil,
            Sink::Matches(found) => found.take(),
            Sink::Split { pieces, last, trim, .. } => {
                meter::reserve(text.len() - *last + PIECE)?;
                pieces.push(copied(&text[*last..]))?;
                let mut pieces = pieces.take_vector();
                while *trim
                    && matches!(pieces.iter().next_back(), Some(Value::Str(piece)) if piece.as_str().is_empty())
                {
                    pieces.pop();
                }
                Value::Vector(pieces)
            }
            Sink::Replace { last: 0, out, .. } if out.is_empty() => Value::Str(self.text.clone()),
            Sink::Replace { out, last, .. } => {
                out.push_str(&text[*last..])?;
                out.take()
            }
        })
    }

    /// Puts the result of the function in place of the pending match.
    fn take_result(&mut self, result: &Value) -> Result<()> {
        let Sink::Replace { out, last, first_only, .. } = &mut self.sink else { return Ok(()) };
        let (Some((start, end)), Value::Str(result)) = (self.pending.take(), result) else {
            return Err(Error::type_error(format!(
                "replace: the replacement function must return a string, got {}",
                result.kind_label()
            )));
        };
        out.push_str(&self.text.as_str()[*last..start])?;
        out.push_str(result.as_str())?;
        *last = end;
        if *first_only {
            self.next = None;
        }
        Ok(())
    }
}

impl NativeFrame for Scan {
    fn resume(&mut self, ctx: &mut Ctx<'_>, input: Input) -> Result<Flow> {
        if let Input::Value(result) = input {
            self.take_result(&result)?;
        }
        let Sink::Replace { with: Replacement::Function(function), .. } = &self.sink else {
            return Ok(match self.run(ctx)? {
                Some(value) => Flow::Return(value),
                None => Flow::Yield,
            });
        };
        let function = function.clone();
        loop {
            let Some(groups) = self.search()? else { return self.finish().map(Flow::Return) };
            self.pending = groups[0];
            let args: Args = smallvec![match_value(self.text.as_str(), &groups)];
            match ctx.call_now(&function, args)? {
                CallNow::Done(result) => self.take_result(&result)?,
                CallNow::NeedsFrame(args) => return Ok(Flow::Call(function, args)),
            }
            if ctx.should_yield() {
                return Ok(Flow::Yield);
            }
        }
    }
}
