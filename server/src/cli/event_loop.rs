//! The event loop that a command waits on.

use std::fs::File;
use std::io;

use tokio::runtime::{Builder, Runtime};

/// Descriptors that an event loop takes: those of its poll, and the pipe on which it hears of signals.
const DESCRIPTORS: usize = 8;

/// An event loop on this thread.
///
/// # Errors
/// The system has no descriptors for it. They are asked for before, because tokio panics where there is none for the pipe.
pub(crate) fn event_loop() -> io::Result<Runtime> {
    let asked: io::Result<Vec<File>> = (0..DESCRIPTORS).map(|_| File::open("/dev/null")).collect();
    drop(asked?);
    Builder::new_current_thread().enable_all().build()
}
