//! One process at a time changes what several keep in a folder: it holds the folder while it reads, changes and writes, as the lock
//! of kept programs and that of pinned tools are.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use crate::private_folder::{self, PrivateFault};

/// How long another process is waited for. Who holds a folder reads and writes files and does nothing else.
const PATIENCE: Duration = Duration::from_secs(10);

/// A folder that no other process changes, as long as this is there.
#[derive(Debug)]
pub struct FolderHold {
    _folder: Option<File>,
}

impl FolderHold {
    /// Waits for this folder. Nothing is written for it: the folder itself is locked. Where it cannot be, since the file system has no
    /// locks, it is used without.
    ///
    /// # Errors
    /// Another process holds it for too long: a sentence.
    pub async fn wait_for(folder: &Path) -> Result<FolderHold, String> {
        let Ok(opened) = File::open(folder) else { return Ok(FolderHold { _folder: None }) };
        match private_folder::hold(&opened, folder, PATIENCE).await {
            Ok(()) => Ok(FolderHold { _folder: Some(opened) }),
            Err(PrivateFault::Busy { path }) => Err(format!(
                "{path}: another process changes its files for more than {} seconds",
                PATIENCE.as_secs()
            )),
            Err(_) => Ok(FolderHold { _folder: None }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_folder_is_held_by_one_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let first = FolderHold::wait_for(folder.path()).await.unwrap();
        let told = FolderHold::wait_for(folder.path()).await.unwrap_err();
        assert!(told.ends_with(": another process changes its files for more than 10 seconds"), "{told}");
        drop(first);
        assert!(FolderHold::wait_for(folder.path()).await.unwrap()._folder.is_some());
        assert!(FolderHold::wait_for(&folder.path().join("none")).await.unwrap()._folder.is_none());
    }
}
