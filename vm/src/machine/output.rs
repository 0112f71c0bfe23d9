//! What a program gives out besides its value: prints and attachments.

use crate::error::{Error, Reason, Result};
use crate::value::{Blob, Str};
use std::rc::Rc;

/// Most attachments of one program: each costs its reader more than its bytes.
const MAX_ATTACHED: usize = 64;

/// The output of one fiber. That of a branch is added to its parent's when the branch is joined, in branch order, so
/// that no output depends on the order of replies.
#[derive(Default)]
pub(super) struct Output {
    pub(super) prints: Vec<Str>,
    attached: Option<Box<Attached>>,
}

#[derive(Default)]
struct Attached {
    blobs: Vec<Rc<Blob>>,
    bytes: u64,
}

impl Output {
    /// Adds the output of a branch, or of what came later.
    pub(super) fn append(&mut self, mut later: Output) {
        self.prints.append(&mut later.prints);
        if let Some(mut later) = later.attached {
            let attached = self.attached.get_or_insert_default();
            attached.blobs.append(&mut later.blobs);
            attached.bytes += later.bytes;
        }
    }

    /// Adds an attachment to those of this fiber.
    pub(super) fn attach(&mut self, blob: Rc<Blob>) {
        let attached = self.attached.get_or_insert_default();
        attached.bytes += blob.content().len();
        attached.blobs.push(blob);
    }

    /// Whether what is attached passes `limit` bytes.
    pub(super) fn check_attached(&self, limit: u64) -> Result<()> {
        let Some(attached) = &self.attached else { return Ok(()) };
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

    /// The attachments in their order.
    pub(super) fn into_parts(self) -> (Vec<Str>, Vec<Rc<Blob>>) {
        (self.prints, self.attached.map(|attached| attached.blobs).unwrap_or_default())
    }
}
