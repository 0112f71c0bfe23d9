//! The file under the database, and the meaning of flushing it.

use std::fs::File;
use std::io;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use redb::backends::FileBackend;
use redb::{BackendError, StorageBackend};
use tracing::warn;

/// The durability of a commit when it is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flushing {
    /// It is written and flushed to the disk: neither `kill -9` nor the loss of power loses it.
    #[default]
    Disk,
    /// It is written to the operating system, which flushes it each second: `kill -9` loses nothing, but after the loss of
    /// power the file may be lost as a whole.
    Process,
}

/// How often written data is flushed after the answers.
const BEHIND: Duration = Duration::from_secs(1);

/// A file of a database.
#[derive(Debug)]
pub(super) struct Storage {
    file: FileBackend,
    /// Whether something waits to be flushed; `None` where flushing is not put off.
    put_off: Option<Arc<AtomicBool>>,
}

impl Storage {
    /// The storage in `file`. The database locks it.
    pub(super) fn new(file: File, flushing: Flushing) -> Result<Self, redb::DatabaseError> {
        let put_off = match flushing {
            Flushing::Disk => None,
            Flushing::Process => Some(flush_behind(file.try_clone().map_err(redb::StorageError::Io)?)),
        };
        Ok(Self { file: FileBackend::new(file)?, put_off })
    }
}

/// Flushes `file` each second for as long as the returned value is in use.
fn flush_behind(file: File) -> Arc<AtomicBool> {
    let put_off = Arc::new(AtomicBool::new(false));
    let waits = Arc::downgrade(&put_off);
    #[expect(
        clippy::disallowed_methods,
        reason = "what is at risk in a power cut is what was written in a real second"
    )]
    let flush = move || {
        loop {
            std::thread::sleep(BEHIND);
            let Some(waits) = waits.upgrade() else { return };
            if waits.swap(false, Ordering::AcqRel)
                && let Err(error) = file.sync_data()
            {
                warn!(event = "state_flush_failed", reason = %error);
            }
        }
    };
    if let Err(error) = std::thread::Builder::new().name("state-flush".to_owned()).spawn(flush) {
        warn!(event = "state_flush_failed", reason = %error);
    }
    put_off
}

impl StorageBackend for Storage {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        match &self.put_off {
            None => self.file.sync_data(),
            Some(waits) => {
                waits.store(true, Ordering::Release);
                Ok(())
            }
        }
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.file.write(offset, data)
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.try_lock_range(start, end)
    }

    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.query_lock_range(start, end)
    }

    fn close(&self) -> io::Result<()> {
        if self.put_off.is_some() {
            self.file.sync_data()?;
        }
        self.file.close()
    }
}
