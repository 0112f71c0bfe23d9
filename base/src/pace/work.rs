//! What the paces of a thread were told of, for tests of readers: the product has no such count.

use std::cell::Cell;

thread_local! {
    static WORK: Cell<Work> = const { Cell::new(Work { most: 0, all: 0 }) };
}

/// The work reported to a thread's paces, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Work {
    /// The most between two pauses.
    pub most: usize,
    /// Together.
    pub all: usize,
}

pub(super) fn note(bytes: usize, since_pause: usize) {
    let Work { most, all } = WORK.get();
    WORK.set(Work { most: most.max(since_pause), all: all + bytes });
}

/// The work of this thread since it was asked last.
pub fn take_work() -> Work {
    WORK.take()
}
