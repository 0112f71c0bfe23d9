//! The loss of power, a full disk, damage.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::future::join_all;
use redb::StorageBackend;

use super::super::{Commit, Key, Kind, Owner, Write};
use super::*;

/// A disk of a test's, which forgets what was not flushed when its power is lost.
#[derive(Clone, Debug, Default)]
struct Disk(Arc<Mutex<Platters>>);

#[derive(Clone, Debug, Default)]
struct Platters {
    /// What survives.
    flushed: Vec<u8>,
    /// What is read while there is power.
    seen: Vec<u8>,
    /// Writes since the last flush, in order; their place on the disk is not.
    waiting: Vec<(u64, Vec<u8>)>,
    /// Bytes that may be written before it is full.
    room: Option<u64>,
}

impl Disk {
    fn platters(&self) -> std::sync::MutexGuard<'_, Platters> {
        self.0.lock()
    }

    /// The disk after its power was lost: of what was not flushed, what `reached` says is there, some of it in part.
    fn after_loss(&self, mut reached: impl FnMut() -> u64) -> Disk {
        let old = self.platters().clone();
        let mut flushed = old.flushed;
        for (at, data) in old.waiting {
            let part = match reached() % 3 {
                0 => 0,
                // Sectors are written whole.
                1 => data.len() / 512 / 2 * 512,
                _ => data.len(),
            };
            let end = at as usize + part;
            if flushed.len() < end {
                flushed.resize(end, 0);
            }
            flushed[at as usize..end].copy_from_slice(&data[..part]);
        }
        // The length is part of what may not have reached it, but a file does not end in the middle of what was flushed.
        let length =
            if reached().is_multiple_of(2) { old.seen.len().max(flushed.len()) } else { flushed.len() };
        flushed.resize(length, 0);
        Disk(Arc::new(Mutex::new(Platters {
            seen: flushed.clone(),
            flushed,
            waiting: Vec::new(),
            room: None,
        })))
    }

    fn state(&self) -> Result<RedbState, RedbError> {
        let disk = self.clone();
        RedbState::over(Opener::of_storage(move || disk.clone()), StoreLimits::default())
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.platters().seen.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let platters = self.platters();
        let range = offset as usize..offset as usize + out.len();
        out.copy_from_slice(platters.seen.get(range).ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut platters = self.platters();
        if platters.room.is_some_and(|room| len > room) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        platters.seen.resize(len as usize, 0);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut platters = self.platters();
        platters.waiting.clear();
        platters.flushed = platters.seen.clone();
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut platters = self.platters();
        let range = offset as usize..offset as usize + data.len();
        if platters.room.is_some_and(|room| range.end as u64 > room) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        platters.seen.get_mut(range).ok_or(io::ErrorKind::UnexpectedEof)?.copy_from_slice(data);
        platters.waiting.push((offset, data.to_vec()));
        Ok(())
    }
}

/// Numbers that look random and are the same each time.
fn numbers(seed: u64) -> impl FnMut() -> u64 {
    let state = AtomicU64::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    move || {
        let mut x = state.load(Ordering::Relaxed);
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        state.store(x, Ordering::Relaxed);
        x >> 11
    }
}

fn key(id: u64) -> Key {
    Key::new(&Owner::principal("alice"), Kind::Session, format!("ses_{id}")).unwrap()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// After each flush the power is lost at some later moment: whatever was answered by then is there.
#[test]
fn the_loss_of_power_loses_nothing_that_was_answered() {
    let runtime = runtime();
    for seed in 0..40 {
        let mut random = numbers(seed + 1);
        let disk = Disk::default();
        let state = disk.state().unwrap();
        let mut answered: BTreeMap<u64, u64> = BTreeMap::new();
        for _ in 0..20 {
            // Some at once, as they come.
            let ids: std::collections::BTreeSet<u64> = (0..=random() % 5).map(|_| random() % 12).collect();
            let commits = ids.iter().map(|id| {
                let version = answered.get(id).copied().unwrap_or(0);
                let blob = vec![*id as u8; (version as usize * 611 + *id as usize * 97) % 9000];
                state.commit(Commit::one(Write::put(key(*id), version, blob)))
            });
            for (id, written) in ids.iter().zip(runtime.block_on(join_all(commits))) {
                written.unwrap();
                *answered.entry(*id).or_default() += 1;
            }
        }
        // A commit that nobody has the answer of may be there or not.
        let unanswered = state.commit(Commit::one(Write::put(key(100), 0, &b"late"[..])));
        let lost = disk.after_loss(&mut random);
        drop(unanswered);
        let after = lost.state().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        for (id, version) in &answered {
            let found = runtime.block_on(after.read(&key(*id))).unwrap().unwrap();
            let blob = found.blob.unwrap();
            assert_eq!((seed, id, found.version), (seed, id, *version));
            assert_eq!(blob.len(), ((version - 1) as usize * 611 + *id as usize * 97) % 9000);
            assert!(blob.iter().all(|byte| *byte == *id as u8));
        }
        runtime.block_on(after.commit(Commit::one(Write::put(key(200), 0, &b"goes on"[..])))).unwrap();
    }
}

/// A disk that never flushes keeps the promise for nobody: the test above would see it.
#[test]
fn a_disk_that_does_not_flush_loses_what_was_answered() {
    let runtime = runtime();
    let disk = Disk::default();
    let state = disk.state().unwrap();
    runtime.block_on(state.commit(Commit::one(Write::put(key(1), 0, &b"a"[..])))).unwrap();
    let flushed = disk.platters().flushed.clone();
    runtime.block_on(state.commit(Commit::one(Write::put(key(1), 1, &b"b"[..])))).unwrap();
    assert_ne!(disk.platters().flushed, flushed, "an answer comes after a flush");
    let before =
        Disk(Arc::new(Mutex::new(Platters { seen: flushed.clone(), flushed, ..Default::default() })));
    let found = runtime.block_on(before.state().unwrap().read(&key(1))).unwrap().unwrap();
    assert_eq!(found.version, 1);
}

#[test]
fn a_full_disk_refuses_and_what_was_there_stays() {
    let runtime = runtime();
    let disk = Disk::default();
    let state = disk.state().unwrap();
    runtime.block_on(state.commit(Commit::one(Write::put(key(1), 0, &b"kept"[..])))).unwrap();
    let full = disk.platters().seen.len() as u64;
    disk.platters().room = Some(full);
    let large = vec![7; full as usize * 2];
    let refused = runtime.block_on(state.commit(Commit::one(Write::put(key(2), 0, large.clone()))));
    assert!(matches!(refused, Err(StateError::Unavailable(_))), "{refused:?}");
    disk.platters().room = None;
    // The writer opens the file again by itself.
    let end = std::time::Instant::now() + Duration::from_secs(30);
    let found = loop {
        match runtime.block_on(state.read(&key(1))) {
            Ok(found) => break found.unwrap(),
            Err(error) => assert!(std::time::Instant::now() < end, "{error}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!((found.version, found.blob.as_deref()), (1, Some(&b"kept"[..])));
    runtime.block_on(state.commit(Commit::one(Write::put(key(2), 0, large)))).unwrap();
}

#[test]
fn a_second_process_is_told_and_a_damaged_file_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("state");
    let options = |flushing| RedbOptions { folder: folder.clone(), flushing, limits: StoreLimits::default() };
    let state = RedbState::open(options(Flushing::Disk)).unwrap();
    let second = RedbState::open(options(Flushing::Process)).unwrap_err();
    assert_eq!(
        second.to_string(),
        format!("the state directory {} is in use by another ptc process", folder.display())
    );
    runtime().block_on(state.commit(Commit::one(Write::put(key(1), 0, vec![7; 20_000])))).unwrap();
    drop(state);
    let path = RedbState::path(&folder);
    let good = std::fs::read(&path).unwrap();
    let damages: [(&str, Vec<u8>); 4] = [
        ("no file of ours", b"not a database at all, but some text".to_vec()),
        ("cut", good[..good.len() / 2].to_vec()),
        ("changed", good.iter().enumerate().map(|(at, byte)| byte ^ u8::from(at % 997 == 400)).collect()),
        ("empty pages", good.iter().enumerate().map(|(at, byte)| if at < 512 { *byte } else { 0 }).collect()),
    ];
    for (what, bytes) in damages {
        std::fs::write(&path, &bytes).unwrap();
        let refused = RedbState::open(options(Flushing::Disk)).map(drop).unwrap_err();
        assert!(matches!(refused, RedbError::Damaged { .. }), "{what}: {refused:?}");
        let said = refused.to_string();
        assert!(said.starts_with(&format!("the state file {} cannot be opened: ", path.display())), "{said}");
        assert!(path.exists());
    }
    std::fs::write(&path, &good).unwrap();
    let state = RedbState::open(options(Flushing::Process)).unwrap();
    assert!(runtime().block_on(state.read(&key(1))).unwrap().is_some());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(&path)), (0o700, 0o600));
        drop(state);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        let refused = RedbState::open(options(Flushing::Disk)).map(drop).unwrap_err();
        assert_eq!(refused.to_string(), format!("{} must belong to you and have mode 0600", path.display()));
    }
}

#[test]
fn expired_records_are_removed_by_and_by() {
    let runtime = runtime();
    let disk = Disk::default();
    let state = disk.state().unwrap();
    for id in 0..5 {
        let write = Write::put(key(id), 0, vec![1; 100]).resting(Duration::from_millis(1));
        runtime.block_on(state.commit(Commit::one(write))).unwrap();
    }
    runtime.block_on(state.commit(Commit::one(Write::put(key(9), 0, vec![1; 100])))).unwrap();
    let held =
        |state: &RedbState| runtime.block_on(state.write(|batch| Ok(Ok(batch.held_by("alice"))))).unwrap();
    assert_eq!(held(&state), 600);
    std::thread::sleep(Duration::from_millis(5));
    let swept = state.write(|batch| {
        batch.sweep_all()?;
        Ok(Ok(()))
    });
    runtime.block_on(swept).unwrap();
    assert_eq!(held(&state), 100);
    assert!(runtime.block_on(state.read(&key(9))).unwrap().is_some());
}

fn in_folder(folder: &Path, flushing: Flushing, limits: StoreLimits) -> RedbState {
    RedbState::open(RedbOptions { folder: folder.to_owned(), flushing, limits }).unwrap()
}

/// Ids of the sessions that are listed, with their versions.
fn listed(runtime: &tokio::runtime::Runtime, state: &RedbState) -> BTreeMap<String, u64> {
    let listed = runtime.block_on(state.list(None, Kind::Session)).unwrap();
    listed.into_iter().map(|listed| (listed.id.to_string(), listed.version)).collect()
}

#[test]
fn however_far_commits_are_ahead_of_the_tables_everybody_sees_them() {
    const SESSIONS: u64 = 1500;
    let runtime = runtime();
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("state");
    let state = in_folder(&folder, Flushing::Process, StoreLimits::default());
    let put = |id, version| Commit::one(Write::put(key(id), version, vec![version as u8; 200]));
    for round in 0..3 {
        for id in 0..SESSIONS {
            runtime.block_on(state.commit(put(id, round))).unwrap();
        }
        let conflict = runtime.block_on(state.commit(put(7, round)));
        assert_eq!(conflict, Err(StateError::Conflict));
        let found = runtime.block_on(state.read(&key(SESSIONS - 1))).unwrap().unwrap();
        assert_eq!((found.version, found.blob.as_deref()), (round + 1, Some(&[round as u8; 200][..])));
    }
    runtime.block_on(state.commit(Commit::one(Write::remove(key(1))))).unwrap();
    runtime.block_on(state.commit(Commit::one(Write::bury(key(2), Duration::from_secs(60))))).unwrap();
    assert_eq!(runtime.block_on(state.read(&key(1))), Ok(None));
    assert_eq!(runtime.block_on(state.read(&key(2))), Err(StateError::Gone));
    runtime.block_on(state.commit(put(1, 0))).unwrap();
    let all = listed(&runtime, &state);
    assert_eq!((all.len() as u64, all["ses_1"], all["ses_0"]), (SESSIONS - 1, 1, 3));
    let held = runtime.block_on(state.write(|batch| Ok(Ok(batch.held_by("alice"))))).unwrap();
    assert_eq!(held, 200 * (SESSIONS - 1));
    drop(state);
    for flushing in [Flushing::Disk, Flushing::Process] {
        let state = in_folder(&folder, flushing, StoreLimits::default());
        assert_eq!(listed(&runtime, &state), all);
        // What is flushed before each answer needs no journal.
        assert_eq!(folder.join("state.journal").exists(), flushing == Flushing::Process);
    }
}

#[test]
fn the_bytes_of_a_principal_are_bounded_ahead_of_the_tables_too() {
    let runtime = runtime();
    let dir = tempfile::tempdir().unwrap();
    let limits = StoreLimits { owner_bytes: 1000 };
    let state = in_folder(&dir.path().join("state"), Flushing::Process, limits);
    let put = |id, version, bytes| Commit::one(Write::put(key(id), version, vec![1; bytes]));
    runtime.block_on(state.commit(put(1, 0, 400))).unwrap();
    runtime.block_on(state.commit(put(2, 0, 400))).unwrap();
    runtime.block_on(state.commit(put(1, 1, 600))).unwrap();
    assert_eq!(runtime.block_on(state.commit(put(2, 1, 401))), Err(StateError::Full));
    runtime.block_on(state.commit(put(1, 2, 500))).unwrap();
    runtime.block_on(state.commit(put(2, 1, 500))).unwrap();
    assert_eq!(runtime.block_on(state.commit(put(2, 2, 501))), Err(StateError::Full));
}

#[test]
fn a_journal_that_takes_nothing_leaves_commits_to_the_writer() {
    let runtime = runtime();
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("state");
    let state = in_folder(&folder, Flushing::Process, StoreLimits::default());
    let put = |version| Commit::one(Write::put(key(1), version, vec![version as u8; 100]));
    runtime.block_on(state.commit(put(0))).unwrap();
    let gate = state.0.core.gate.as_ref().unwrap();
    // Nothing can be written through a handle that only reads.
    let broken = std::fs::File::open(folder.join("state.journal")).unwrap();
    let whole = gate.close().journal.replace_file(broken);
    for version in 1..4 {
        runtime.block_on(state.commit(put(version))).unwrap();
    }
    gate.close().journal.replace_file(whole);
    for version in 4..8 {
        runtime.block_on(state.commit(put(version))).unwrap();
    }
    assert_eq!(runtime.block_on(state.read(&key(1))).unwrap().unwrap().version, 8);
    drop(state);
    let state = in_folder(&folder, Flushing::Process, StoreLimits::default());
    assert_eq!(runtime.block_on(state.read(&key(1))).unwrap().unwrap().version, 8);
}

/// A process that is killed has settled nothing: a copy of its files is what it leaves.
#[test]
fn what_a_killed_process_left_in_the_journal_is_there_at_the_next_start() {
    let runtime = runtime();
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("state");
    let state = in_folder(&folder, Flushing::Process, StoreLimits::default());
    for version in 0..20 {
        let write = Write::put(key(1), version, vec![version as u8; 100]);
        runtime.block_on(state.commit(Commit::one(write))).unwrap();
    }
    let left = |name: &str, cut: usize| {
        let copy = dir.path().join(name);
        ptc_secret::private_file::make_private_folder(&copy).unwrap();
        // The journal first: the writer may settle it at any time.
        let mut journal = std::fs::read(folder.join("state.journal")).unwrap();
        journal.truncate(journal.len() - cut);
        for (name, bytes) in
            [("state.journal", journal), ("state.redb", std::fs::read(folder.join("state.redb")).unwrap())]
        {
            let mut options = std::fs::File::options();
            let mut file = ptc_secret::private_file::no_link(options.write(true).create_new(true))
                .open(copy.join(name))
                .unwrap();
            std::io::Write::write_all(&mut file, &bytes).unwrap();
        }
        copy
    };
    for (name, cut, expected) in [("whole", 0, 20), ("cut", 1, 19)] {
        let copy = left(name, cut);
        for flushing in [Flushing::Disk, Flushing::Process] {
            let found = runtime.block_on(in_folder(&copy, flushing, StoreLimits::default()).read(&key(1)));
            let found = found.unwrap().unwrap();
            assert!(found.version >= expected, "{name}: {}", found.version);
            assert_eq!(found.blob.unwrap()[0], (found.version - 1) as u8);
        }
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let copy = left("exposed", 0);
        let journal = copy.join("state.journal");
        std::fs::set_permissions(&journal, std::fs::Permissions::from_mode(0o644)).unwrap();
        let options = RedbOptions { folder: copy, flushing: Flushing::Disk, limits: StoreLimits::default() };
        let refused = RedbState::open(options).map(drop).unwrap_err();
        assert_eq!(
            refused.to_string(),
            format!("{} must belong to you and have mode 0600", journal.display())
        );
    }
}
