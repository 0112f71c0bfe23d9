//! Files and folders that only their owner may touch: opened without following links, looked at once they are open.

use std::fs::{Metadata, OpenOptions};
use std::io;
use std::path::Path;

/// The same options, which refuse to open a link. A file that is made is its owner's alone.
#[cfg(unix)]
pub fn no_link(options: &mut OpenOptions) -> &mut OpenOptions {
    use std::os::unix::fs::OpenOptionsExt as _;
    // A pipe in its place does not make us wait.
    let flags = nix::fcntl::OFlag::O_NOFOLLOW | nix::fcntl::OFlag::O_NONBLOCK;
    options.mode(0o600).custom_flags(flags.bits())
}

#[cfg(not(unix))]
pub fn no_link(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// Whether a file is a regular one of this user that no other user can read or change.
pub fn is_private(metadata: &Metadata) -> bool {
    metadata.is_file() && is_ours_alone(metadata)
}

#[cfg(unix)]
fn is_ours_alone(metadata: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    metadata.uid() == nix::unistd::geteuid().as_raw() && metadata.mode() & 0o077 == 0
}

/// Whether a file that the operator names is guarded: a regular one of this user or of the administrator, which others can neither read
/// nor change and a group can at most read. Clusters mount secrets so.
#[cfg(unix)]
pub fn is_guarded(metadata: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let of_us = metadata.uid() == nix::unistd::geteuid().as_raw() || metadata.uid() == 0;
    metadata.is_file() && of_us && metadata.mode() & 0o037 == 0
}

/// Whether a file that the operator names is guarded.
#[cfg(not(unix))]
pub fn is_guarded(metadata: &Metadata) -> bool {
    metadata.is_file()
}

#[cfg(not(unix))]
fn is_ours_alone(_metadata: &Metadata) -> bool {
    true
}

/// Makes the folder if it is not there. Whether it is ours alone.
pub fn make_private_folder(folder: &Path) -> io::Result<bool> {
    make(folder)?;
    let metadata = std::fs::symlink_metadata(folder)?;
    Ok(metadata.is_dir() && is_ours_alone(&metadata))
}

#[cfg(unix)]
fn make(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn make(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)
}

/// Has the names in a folder survive the loss of power.
#[cfg(unix)]
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    std::fs::File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
pub fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}
