//! The event loop that a command waits on.

use std::fs::File;
use std::io;

use tokio::runtime::{Builder, Runtime};

/// Descriptors of an event loop: those of its poll, and the pipe for signals.
const DESCRIPTORS: usize = 8;

/// An event loop on this thread.
///
/// # Errors
/// The system has no descriptors for it. This is checked first, because tokio panics without one for the pipe.
pub(crate) fn event_loop() -> io::Result<Runtime> {
    let asked: io::Result<Vec<File>> = (0..DESCRIPTORS).map(|_| File::open("/dev/null")).collect();
    drop(asked?);
    Builder::new_current_thread().enable_all().build()
}
