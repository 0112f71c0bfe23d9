//! State shared by a program's calls.

use super::call_log::CallLog;
use super::outcome::CatalogOp;
use crate::audience::Audience;
use crate::memory::{ReplyCharge, ReplyMemory};
use std::any::Any;
use std::cell::{Cell, OnceCell, RefCell};
use std::sync::Arc;
use tokio::time::Instant;

/// What all calls of one program share (upstreams.md 1: the run context).
pub struct RunContext {
    /// When the program began.
    pub started: Instant,
    /// When the program's time is up.
    pub deadline: Instant,
    /// On whose behalf it runs.
    pub principal: Option<Arc<str>>,
    /// Who hears what upstreams say of its calls.
    pub(crate) audience: Option<Arc<Audience>>,
    /// Calls that the program has made, refused ones included.
    pub calls: Cell<u32>,
    /// Records of calls.
    pub log: CallLog,
    /// Records of discovery operations, in order of completion.
    pub catalog_ops: RefCell<Vec<CatalogOp>>,
    /// The memory of replies in flight.
    pub(crate) memory: Arc<ReplyMemory>,
    /// Charges of replies that are about to become values of the machine.
    pub(crate) arrived: RefCell<Vec<ReplyCharge>>,
    extension: OnceCell<Box<dyn Any>>,
}

impl RunContext {
    /// A fresh context for a program that began at `started`, must end at `deadline`, and whose replies are charged to
    /// `memory`.
    pub(super) fn new(started: Instant, deadline: Instant, memory: Arc<ReplyMemory>) -> RunContext {
        RunContext {
            started,
            deadline,
            principal: None,
            audience: None,
            calls: Cell::new(0),
            log: CallLog::default(),
            catalog_ops: RefCell::new(Vec::new()),
            memory,
            arrived: RefCell::default(),
            extension: OnceCell::new(),
        }
    }

    /// What the one that answers the calls remembers of this program, made at the first question. Its type is the
    /// answerer's own: the engine keeps it and looks at nothing in it.
    ///
    /// # Panics
    /// If another type was asked for before: a program has one answerer.
    pub(crate) fn extension<T: Default + 'static>(&self) -> &T {
        let extension = self.extension.get_or_init(|| Box::new(T::default()));
        extension.downcast_ref().expect("one answerer asks, for one type")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extension_lasts_as_long_as_its_run() {
        let now = Instant::now();
        let run = RunContext::new(now, now, ReplyMemory::new(0, None));
        run.extension::<Cell<u32>>().set(7);
        assert_eq!(run.extension::<Cell<u32>>().get(), 7);
    }
}
