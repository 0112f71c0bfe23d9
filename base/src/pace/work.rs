//! What the paces of a thread were told of, for tests of readers: the product has no such count.

use std::cell::Cell;

thread_local! {
    static WORK: Cell<ReportedBytes> = const { Cell::new(ReportedBytes { most: 0, all: 0 }) };
}

/// The work reported to a thread's paces, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReportedBytes {
    /// The most between two pauses.
    pub most: usize,
    /// Together.
    pub all: usize,
}

pub(super) fn note(bytes: usize, since_pause: usize) {
    let ReportedBytes { most, all } = WORK.get();
    WORK.set(ReportedBytes { most: most.max(since_pause), all: all + bytes });
}

/// The work of this thread since it was asked last.
pub fn take_work() -> ReportedBytes {
    WORK.take()
}
