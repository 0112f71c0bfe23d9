//! A program's output besides its value: prints, attachments, notes of builtins on parts that they left out, and of the
//! compiler on numbers that it reads as others.

use super::portable;
use crate::error::{Error, Reason, Result};
use crate::value::{Blob, Str};
use std::rc::Rc;

/// Most attachments of one program: each costs its reader more than its bytes.
const MAX_ATTACHED: usize = 64;
/// Most notes of one program.
const MAX_NOTES: usize = 3;

/// The output of one fiber. That of a branch is added to its parent's when the branch is joined, in branch order, so
/// that no output depends on the order of replies.
#[derive(Default)]
pub(super) struct Output {
    pub(super) prints: Vec<Str>,
    /// Few programs have any of it.
    more: Option<Box<RareOutput>>,
}

#[derive(Default)]
struct RareOutput {
    blobs: Vec<Rc<Blob>>,
    bytes: u64,
    notes: Vec<Str>,
    /// The output captured inside `with-out-str`, while there is one around.
    captured: Option<Vec<Str>>,
}

/// A `with-out-str` under way.
pub(crate) struct Capture {
    /// How much the ones around it had captured when it began.
    from: usize,
    is_outermost: bool,
}

portable!(Capture { from, is_outermost });
portable!(Output { prints, more });
portable!(RareOutput { blobs, bytes, notes, captured }
    if |more: &RareOutput| more.bytes == more.blobs.iter().map(|blob| blob.content().len()).sum::<u64>());

impl Output {
    /// Appends the output of a branch, or later output.
    pub(super) fn append(&mut self, mut later: Output) {
        self.prints.append(&mut later.prints);
        if let Some(mut later) = later.more {
            later.notes.drain(..).for_each(|note| self.note(note));
            let more = self.more.get_or_insert_default();
            more.blobs.append(&mut later.blobs);
            more.bytes += later.bytes;
            if let (Some(captured), Some(mut later)) = (&mut more.captured, later.captured) {
                captured.append(&mut later);
            }
        }
    }

    /// Whether printed text becomes a text of the program.
    pub(super) fn is_captured(&self) -> bool {
        self.more.as_ref().is_some_and(|more| more.captured.is_some())
    }

    /// Captures printed text from here on.
    pub(super) fn begin_capture(&mut self) -> Capture {
        let captured = &mut self.more.get_or_insert_default().captured;
        let is_outermost = captured.is_none();
        Capture { from: captured.get_or_insert_default().len(), is_outermost }
    }

    /// Adds an entry, or a piece to the capture.
    pub(super) fn print(&mut self, text: Str) {
        match self.more.as_mut().and_then(|more| more.captured.as_mut()) {
            Some(captured) => captured.push(text),
            None => self.prints.push(text),
        }
    }

    /// The output captured since `capture` began.
    pub(super) fn end_capture(&mut self, capture: Capture) -> Vec<Str> {
        let Some(more) = &mut self.more else { return Vec::new() };
        if capture.is_outermost {
            return more.captured.take().unwrap_or_default();
        }
        let Some(captured) = &mut more.captured else { return Vec::new() };
        captured.split_off(capture.from.min(captured.len()))
    }

    /// Adds a sentence for the reader of the value, once, and the first few only.
    pub(super) fn note(&mut self, note: Str) {
        let notes = &mut self.more.get_or_insert_default().notes;
        if notes.len() < MAX_NOTES && notes.iter().all(|told| told.as_str() != note.as_str()) {
            notes.push(note);
        }
    }

    /// Adds an attachment to those of this fiber.
    pub(super) fn attach(&mut self, blob: Rc<Blob>) {
        let more = self.more.get_or_insert_default();
        more.bytes += blob.content().len();
        more.blobs.push(blob);
    }

    /// Whether the attachments exceed `limit` bytes.
    pub(super) fn check_attached(&self, limit: u64) -> Result<()> {
        let Some(attached) = self.more.as_ref().filter(|more| !more.blobs.is_empty()) else { return Ok(()) };
        let text = if limit == 0 {
            "attach: nothing can be attached to the reply of this program".to_owned()
        } else if attached.bytes > limit {
            format!(
                "attach: {} bytes are attached in all, a reply may carry {limit} (flag `--max-attached-bytes`)",
                attached.bytes
            )
        } else if attached.blobs.len() > MAX_ATTACHED {
            format!("attach: a reply may carry {MAX_ATTACHED} attachments, got {}", attached.blobs.len())
        } else {
            return Ok(());
        };
        Err(Error::verbatim(Reason::RuntimeError, format!("runtime_error: {text}")))
    }

    /// Prints, attachments and notes, each in their order.
    pub(super) fn into_parts(self) -> (Vec<Str>, Vec<Rc<Blob>>, Vec<Str>) {
        let more = self.more.map(|more| *more).unwrap_or_default();
        (self.prints, more.blobs, more.notes)
    }
}
