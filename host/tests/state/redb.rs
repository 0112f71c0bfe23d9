//! The store in a file, with what it holds sealed and open; and a process that is killed while it writes.

use std::io::{BufRead as _, BufReader, Write as _};
use std::ops::Range;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use libtest_mimic::{Failed, Trial};
use ptc_host::state::{
    Commit, Flushing, Key, Kind, Owner, RedbOptions, RedbState, SealedState, Secret, StateStore, StoreLimits,
    Write,
};
use ptc_host::time::Clock;

use crate::{BackEnd, Handles, Time};

pub(crate) struct Redb {
    pub(crate) flushing: Flushing,
    pub(crate) seals: bool,
    pub(crate) folders: tempfile::TempDir,
}

impl BackEnd for Redb {
    fn name(&self) -> &'static str {
        match (self.flushing, self.seals) {
            (Flushing::Disk, _) => "redb",
            (Flushing::Process, false) => "redb_process",
            (Flushing::Process, true) => "redb_sealed",
        }
    }

    fn open(&self, limits: StoreLimits) -> Handles {
        let folder = tempfile::tempdir_in(self.folders.path()).unwrap().keep().join("state");
        let store = RedbState::open(RedbOptions { folder, flushing: self.flushing, limits }).unwrap();
        let handle = || -> Arc<dyn StateStore> {
            let store = Arc::new(store.clone());
            if !self.seals {
                return store;
            }
            let secret = Secret::of(&[b"a secret of at least 32 bytes, so long"]).unwrap();
            Arc::new(SealedState::new(store, &secret))
        };
        Handles { one: handle(), other: handle(), time: Time::Stepped(Clock::current()) }
    }
}

/// The variable that makes this test the process that is killed: its folder.
const CHILD: &str = "PTC_TEST_STATE_WRITER";
/// How it flushes.
const CHILD_FLUSHING: &str = "PTC_TEST_STATE_FLUSHING";
/// Times that it is killed, in each mode.
const KILLS: u32 = 500;
/// Stores that are written side by side, as most of the time goes by while a disk flushes.
const STORES: u32 = 5;

fn key() -> Key {
    Key::new(&Owner::principal("alice"), Kind::Session, "ses_1").unwrap()
}

fn open(folder: &Path, flushing: Flushing) -> RedbState {
    let options = RedbOptions { folder: folder.to_owned(), flushing, limits: StoreLimits::default() };
    RedbState::open(options).unwrap_or_else(|error| panic!("{error}"))
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// The content of a version, by which it is known.
fn content(version: u64) -> Vec<u8> {
    let length = (version * 769 % 5000) as usize;
    version.to_le_bytes().into_iter().cycle().take(8 + length).collect()
}

/// Whether this process is the one that is killed. It writes version after version, and says so of each that was answered.
pub(crate) fn is_child() -> bool {
    let Some(folder) = std::env::var_os(CHILD) else { return false };
    let flushing = match std::env::var(CHILD_FLUSHING).as_deref() {
        Ok("process") => Flushing::Process,
        _ => Flushing::Disk,
    };
    let state = open(folder.as_ref(), flushing);
    let runtime = runtime();
    let mut version = runtime.block_on(state.read(&key())).unwrap().map_or(0, |found| found.version);
    let mut out = std::io::stdout();
    loop {
        let write = Write::put(key(), version, content(version + 1));
        runtime.block_on(state.commit(Commit::one(write))).unwrap();
        version += 1;
        // What only the tables have is written between commits, which may be ahead of them.
        if version.is_multiple_of(5) {
            let id = u128::from(version).to_le_bytes();
            let is_first = runtime.block_on(state.spend(key().owner(), &id, Duration::from_secs(600)));
            assert_eq!(is_first, Ok(true), "{version} is committed once");
        }
        // Whoever listens may be gone.
        if writeln!(out, "{version}").and_then(|()| out.flush()).is_err() {
            return true;
        }
    }
}

pub(crate) fn kills() -> impl Iterator<Item = Trial> {
    [("disk", Flushing::Disk), ("process", Flushing::Process)].into_iter().map(|(name, flushing)| {
        Trial::test(format!("redb::kill_9_loses_nothing_answered_{name}"), move || killed(name, flushing))
    })
}

/// Kills processes that write, at many moments.
fn killed(name: &'static str, flushing: Flushing) -> Result<(), Failed> {
    let each = KILLS / STORES;
    let killing =
        |store: u32| std::thread::spawn(move || killed_at(name, flushing, store * each..(store + 1) * each));
    let all: Vec<_> = (0..STORES).map(killing).collect();
    all.into_iter().try_for_each(|killed| Ok(killed.join().map_err(|_| "it panics")??))
}

/// Kills a process that writes: the last answered version is there, or the one behind it, whole.
fn killed_at(name: &str, flushing: Flushing, kills: Range<u32>) -> Result<(), String> {
    let text = |error: std::io::Error| error.to_string();
    let dir = tempfile::tempdir().map_err(text)?;
    let folder = dir.path().join("state");
    let (mut seen, lives) = (0, u64::from(kills.end - kills.start));
    for kill in kills {
        let mut child = Command::new(std::env::current_exe().map_err(text)?)
            .env(CHILD, &folder)
            .env(CHILD_FLUSHING, name)
            .stdout(Stdio::piped())
            .spawn()
            .map_err(text)?;
        let mut lines = BufReader::new(child.stdout.take().ok_or("no output")?).lines();
        // Some are killed while they open the file, others after some commits and a moment of the next one.
        let commits = u64::from(kill * 7 % 11);
        let mut answered = seen;
        for line in lines.by_ref().take(commits as usize) {
            answered = line.map_err(text)?.parse().map_err(|_| "no number")?;
        }
        std::thread::sleep(Duration::from_micros(u64::from(kill * 7919 % 2311)));
        child.kill().and_then(|()| child.wait()).map_err(text)?;
        // What it said before it died.
        for line in lines.map_while(Result::ok).filter(|line| !line.is_empty()) {
            answered = line.parse().unwrap_or(answered);
        }
        // Whoever opens it next may flush otherwise.
        let other = if flushing == Flushing::Disk { Flushing::Process } else { Flushing::Disk };
        let state = open(&folder, if kill % 3 == 0 { other } else { flushing });
        let found = runtime().block_on(state.read(&key())).map_err(|error| error.to_string())?;
        let version = found.as_ref().map_or(0, |found| found.version);
        if version != answered && version != answered + 1 {
            return Err(format!("kill {kill}: {answered} was answered, {version} is there"));
        }
        if found.and_then(|found| found.blob).is_some_and(|blob| *blob != content(version)) {
            return Err(format!("kill {kill}: version {version} has another content"));
        }
        seen = version;
    }
    if seen < lives {
        return Err(format!("only {seen} commits in {lives} lives"));
    }
    Ok(())
}
