//! How the file is opened, the first time and after it could not be used.

use std::fs::File;
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use redb::{Database, DatabaseError, ReadableDatabase as _, StorageBackend};

use super::file::{Flushing, Storage};
use super::journal::{Journal, read_back};
use super::tables::{self, Entry, Tables};
use ptc_base::config_error::os_error_text;
use ptc_secret::private_file::{is_private, make_private_folder, no_link, sync_folder};
use ptc_secret::sealing::random;

/// The name of the file.
pub(super) const FILE: &str = "state.redb";
/// The name of the journal beside it.
const JOURNAL: &str = "state.journal";

/// The prefix of the name of an unfinished file.
const BEGUN: &str = ".state.redb.";

/// Memory for pages of the file that were read or are to be written.
const CACHE: usize = 32 << 20;

/// Why a file of state cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RedbError {
    /// Another process has it.
    #[error("the state directory {} is in use by another ptc process", .0.display())]
    InUse(PathBuf),
    /// Others can read or change it.
    #[error("{path} must belong to you and have mode {mode}", path = .path.display())]
    Exposed {
        /// The file or folder.
        path: PathBuf,
        /// The mode that it must have, for instance `0600`.
        mode: &'static str,
    },
    /// The operating system refuses.
    #[error("{error} ({path})", path = .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Its words.
        error: String,
    },
    /// It is no file of ours, or it is damaged.
    #[error(
        "the state file {path} cannot be opened: {error}; nothing of it was deleted: move it away to start with an empty one",
        path = .path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The error.
        error: String,
    },
    /// A later build made it.
    #[error("the state file {} is of another build of ptc, whose form {} is not known here", .path.display(), .form)]
    OtherForm {
        /// The file.
        path: PathBuf,
        /// Its form.
        form: u64,
    },
    /// The system refuses a thread.
    #[error("no thread for the state file: {0}")]
    NoThread(String),
}

/// Opens one file again and again.
pub(super) struct Opener {
    path: PathBuf,
    /// Where a journal may be, and whether one is kept.
    journal: Option<(PathBuf, bool)>,
    storage: Box<dyn Fn() -> Result<Storing, RedbError> + Send + Sync>,
}

type Opened = Result<Database, DatabaseError>;
/// Opens the database on a storage that is there.
type Storing = Box<dyn FnOnce() -> Opened + Send>;

impl Opener {
    /// The file in `folder`, which is made if it is not there.
    pub(super) fn of_folder(folder: &Path, flushing: Flushing) -> Result<Self, RedbError> {
        match make_private_folder(folder) {
            Ok(true) => {}
            Ok(false) => return Err(RedbError::Exposed { path: folder.to_owned(), mode: "0700" }),
            Err(error) => return Err(refused(folder, &error)),
        }
        let path = folder.join(FILE);
        let (at, folder) = (path.clone(), folder.to_owned());
        let storage = move || {
            let open = || no_link(File::options().read(true).write(true)).open(&at);
            let file = open().or_else(|error| match error.kind() {
                ErrorKind::NotFound => make(&folder).and_then(|()| open()),
                _ => Err(error),
            });
            let file = private(file, &at)?;
            Ok(Box::new(move || database(Storage::new(file, flushing)?)) as Storing)
        };
        let journal = Some((path.with_file_name(JOURNAL), flushing == Flushing::Process));
        Ok(Self { path, journal, storage: Box::new(storage) })
    }

    /// A storage of a test's.
    #[cfg(test)]
    pub(super) fn of_storage<S: StorageBackend>(storage: impl Fn() -> S + Send + Sync + 'static) -> Self {
        let storage = move || {
            let storage = storage();
            Ok(Box::new(move || database(storage)) as Storing)
        };
        Self { path: PathBuf::from(FILE), journal: None, storage: Box::new(storage) }
    }

    /// Brings the entries that a killed process has left in the journal into the tables. Returns a new journal, if one is kept.
    pub(super) fn journal(&self, database: &Database) -> Result<Option<Journal>, RedbError> {
        let Some((path, is_kept)) = &self.journal else { return Ok(None) };
        let io = |error: std::io::Error| refused(path, &error);
        let fails = |error: &dyn std::fmt::Display| RedbError::Io {
            path: self.path.clone(),
            error: error.to_string(),
        };
        let open =
            no_link(File::options().read(true).write(true).create(*is_kept).truncate(false)).open(path);
        if matches!(&open, Err(error) if error.kind() == ErrorKind::NotFound) && !is_kept {
            return Ok(None);
        }
        let mut file = private(open, path)?;
        let known = database
            .begin_read()
            .map_err(redb::Error::from)
            .and_then(|reading| tables::journal_number(&reading));
        let ahead = match known.map_err(|error| fails(&error))? {
            Some(number) => read_back(&mut file, number).map_err(io)?,
            None => Vec::new(),
        };
        // Nobody has used it before, so no other journal is taken for this one.
        let number =
            is_kept.then(random::<8>).transpose().map_err(|error| fails(&error))?.map(u64::from_le_bytes);
        settle(database, &ahead, number).map_err(|error| fails(&error))?;
        match number {
            Some(number) => Ok(Some(Journal::new(file, number).map_err(io)?)),
            None => {
                std::fs::remove_file(path).map_err(io)?;
                Ok(None)
            }
        }
    }

    /// Opens it.
    pub(super) fn open(&self) -> Result<Database, RedbError> {
        let open = (self.storage)()?;
        let damaged = |error: String| RedbError::Damaged { path: self.path.clone(), error };
        // What the library finds where it cannot be may be a panic.
        let opened = catch_unwind(AssertUnwindSafe(open))
            .map_err(|_| damaged("its parts do not fit together".to_owned()))?;
        let file = opened.map_err(|error| match error {
            DatabaseError::DatabaseAlreadyOpen => {
                RedbError::InUse(self.path.parent().unwrap_or(&self.path).to_owned())
            }
            DatabaseError::Storage(redb::StorageError::Io(error))
                if error.kind() != ErrorKind::InvalidData && error.kind() != ErrorKind::UnexpectedEof =>
            {
                RedbError::Io { path: self.path.clone(), error: os_error_text(&error) }
            }
            error => damaged(error.to_string()),
        })?;
        match form(&file).map_err(|error| damaged(error.to_string()))? {
            None | Some(tables::FORM) => {
                self.path.parent().into_iter().for_each(remove_begun);
                Ok(file)
            }
            Some(form) => Err(RedbError::OtherForm { path: self.path.clone(), form }),
        }
    }
}

/// An error of the operating system about a file or folder.
fn refused(path: &Path, error: &std::io::Error) -> RedbError {
    RedbError::Io { path: path.to_owned(), error: os_error_text(error) }
}

/// The opened file, if no other user can read or change it.
fn private(opened: std::io::Result<File>, path: &Path) -> Result<File, RedbError> {
    let file = opened.map_err(|error| refused(path, &error))?;
    match is_private(&file.metadata().map_err(|error| refused(path, &error))?) {
        true => Ok(file),
        false => Err(RedbError::Exposed { path: path.to_owned(), mode: "0600" }),
    }
}

/// Brings records into the tables, and has the journal begin anew.
fn settle(database: &Database, ahead: &[Entry], number: Option<u64>) -> Result<(), redb::Error> {
    let writing = database.begin_write()?;
    {
        let mut tables = Tables::of(&writing);
        tables.say_form()?;
        tables.catch_up(ahead)?;
        tables.number_journal(number)?;
    }
    Ok(writing.commit()?)
}

/// Makes an empty file in `folder`. It has its name only once it is whole, so that none is met that a killed process has begun.
fn make(folder: &Path) -> std::io::Result<()> {
    let name = format!("{BEGUN}{}", std::process::id());
    let begun = folder.join(name);
    let _ = std::fs::remove_file(&begun);
    let made = (|| {
        let file = no_link(File::options().read(true).write(true).create_new(true)).open(&begun)?;
        let storage = Storage::new(file, Flushing::Disk).map_err(std::io::Error::other)?;
        drop(database(storage).map_err(std::io::Error::other)?);
        // Another process may have made one meanwhile, which is as good.
        match std::fs::hard_link(&begun, folder.join(FILE)) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
            _ => sync_folder(folder),
        }
    })();
    let _ = std::fs::remove_file(&begun);
    made
}

/// Removes files that killed processes have begun. The file itself is open, so they are no longer needed.
fn remove_begun(folder: &Path) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    for begun in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(BEGUN)) {
        let _ = std::fs::remove_file(begun.path());
    }
}

fn database(storage: impl StorageBackend) -> Opened {
    let mut builder = Database::builder();
    // A damaged file is told at the start, not met by somebody's session later.
    builder.set_cache_size(CACHE).set_check_integrity_on_open(true);
    builder.create_with_backend(storage)
}

/// The form of the tables in the file; a new one says nothing yet.
fn form(file: &Database) -> Result<Option<u64>, redb::Error> {
    let reading = file.begin_read()?;
    match reading.open_table(tables::ABOUT) {
        Ok(about) => Ok(redb::ReadableTable::get(&about, tables::FORM_NAME)?.map(|form| form.value())),
        Err(redb::TableError::TableDoesNotExist(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
