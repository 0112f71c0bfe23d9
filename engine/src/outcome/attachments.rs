//! A program's attachments to its reply.

use ptc_base::memory::HeldMemory;
use ptc_vm::value::BlobContent;
use std::sync::Arc;

/// Binary content that is sent with a program's value, in the order in which it was attached. Clones share it; it counts in the
/// memory of all programs until the last of them is dropped.
#[derive(Clone, Debug, Default)]
pub struct Attachments {
    contents: Arc<[BlobContent]>,
    _held: Option<Arc<HeldMemory>>,
}

impl Attachments {
    /// These contents, for which memory is held.
    pub(in super::super) fn new(contents: Vec<BlobContent>, held: Option<HeldMemory>) -> Attachments {
        Attachments { contents: contents.into(), _held: held.map(Arc::new) }
    }

    /// These contents, which are not held in a program's memory.
    pub fn of(contents: Vec<BlobContent>) -> Attachments {
        Attachments::new(contents, None)
    }

    /// The contents.
    pub fn contents(&self) -> &[BlobContent] {
        &self.contents
    }
}
