//! Servers with kept programs on one store, and each with a folder.

use std::fs;
use std::path::Path;

use futures_util::future::join_all;
use ptc_host::engine::EngineOptions;
use ptc_host::state::{Commit, Key, Kind, MemoryState, Owner, StateStore, StoreLimits, WatchedState, Write};
use ptc_programs::lock::{LOCK_FILE, ProgramsLock};
use ptc_programs::name::ProgramName;
use ptc_programs::program::KeptProgram;
use ptc_tools::kept::Approver;
use tempfile::TempDir;

use super::*;

const PRIVATE: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n-----END PRIVATE KEY-----\n";
const PUBLIC: &str = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PUBLIC KEY-----\n";

/// A store that servers share.
#[derive(Clone)]
struct Shared(Arc<MemoryState>);

/// A server on it, with its folder.
struct Replica {
    kept: KeptPrograms,
    folder: Arc<TempDir>,
}

fn text_of(body: &str) -> String {
    format!("{{:description \"x\"}}\n{body}")
}

fn program(name: &str, text: &str) -> Arc<KeptProgram> {
    Arc::new(KeptProgram::read(ProgramName::new(name).unwrap(), text).unwrap())
}

/// A folder whose lock of this revision approves all of its programs.
fn folder(revision: u64, programs: &[(&str, &str)]) -> Arc<TempDir> {
    let folder = Arc::new(tempfile::tempdir().unwrap());
    write(&folder, revision, programs);
    folder
}

fn write(folder: &TempDir, revision: u64, programs: &[(&str, &str)]) {
    for (name, body) in programs {
        fs::write(folder.path().join(format!("{name}.clj")), text_of(body)).unwrap();
    }
    let read = ProgramFolder::read(folder.path(), None).unwrap();
    let mut lock = ProgramsLock::default();
    for (name, _) in programs {
        let name = ProgramName::new(name).unwrap();
        let approval = read.approval(read.program(&name).unwrap(), [].into(), "ann", "then").unwrap();
        lock.approve(name, approval);
    }
    lock.revision = revision;
    fs::write(folder.path().join(LOCK_FILE), lock.text(None)).unwrap();
}

/// The programs of a lock, with its revision.
fn locked(folder: &TempDir) -> (u64, Vec<String>) {
    let lock = ProgramFolder::read(folder.path(), None).unwrap().lock.unwrap();
    (lock.revision, lock.programs.keys().map(ToString::to_string).collect())
}

/// Nothing can be written over the lock from now on, or it can again.
fn forbids_writing(folder: &Path, forbids: bool) {
    let beside = folder.join(format!("{LOCK_FILE}.{}.new", std::process::id()));
    if forbids { fs::create_dir(beside).unwrap() } else { fs::remove_dir(beside).unwrap() }
}

impl Shared {
    fn new() -> Shared {
        Shared(Arc::new(MemoryState::new(StoreLimits::default())))
    }

    /// As if the record had never been.
    async fn forgets(&self, id: &str) {
        let key = Key::new(&Owner::principal("\0programs"), Kind::Program, id).unwrap();
        self.0.commit(Commit::one(Write::remove(key))).await.unwrap();
    }

    async fn start(&self, folder: &Arc<TempDir>) -> Replica {
        self.start_with(folder, None).await
    }

    async fn start_with(&self, folder: &Arc<TempDir>, key: Option<&Path>) -> Replica {
        let state = ServerState { store: Some(WatchedState::new(self.0.clone())), ..ServerState::none() };
        let replica = Replica::start(folder, key, &state);
        replica.kept.0.settle(&mut *replica.kept.0.held.lock().await).await;
        replica
    }
}

impl Replica {
    fn start(folder: &Arc<TempDir>, key: Option<&Path>, state: &ServerState) -> Replica {
        let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap();
        let key = key.map(Path::to_owned);
        let settings = Programs { dir: folder.path().to_owned(), key, serves_stale: false, drafts: false };
        Replica { kept: KeptPrograms::open(&settings, &engine, None, state), folder: folder.clone() }
    }

    /// The revision of what is served, and the last lines of those programs.
    fn serves(&self) -> (u64, Vec<String>) {
        let set = self.kept.current().current();
        let last = |text: &str| text.lines().last().unwrap_or_default().to_owned();
        let programs = set.programs();
        let programs =
            programs.map(|served| format!("{} {}", served.program.name, last(&served.program.text)));
        (set.revision, programs.collect())
    }

    async fn looks(&self) {
        self.kept.0.look(&mut self.kept.0.held.lock().await).await;
    }

    async fn reloads(&self) -> Option<String> {
        let next = self.kept.next().await;
        let change = next.change(self.kept.current());
        self.kept.apply(next);
        change
    }

    async fn approves(&self, name: &str, text: &str) -> Result<(u64, String), String> {
        let approved = self.kept.approve(program(name, text), "bob").await?;
        Ok((approved.revision, approved.place))
    }
}

#[tokio::test]
async fn the_lock_with_the_higher_revision_holds_everywhere() {
    let shared = Shared::new();
    let newer = shared.start(&folder(2, &[("a", "1"), ("b", "1")])).await;
    let older = shared.start(&folder(1, &[("a", "0"), ("c", "1")])).await;
    let expected = (2, vec!["a 1".to_owned(), "b 1".to_owned()]);
    assert_eq!((newer.serves(), older.serves()), (expected.clone(), expected));
    // A reload takes up a newer folder, and others take it up by themselves.
    write(&older.folder, 3, &[("a", "3")]);
    assert_eq!(older.reloads().await.as_deref(), Some("0 added, 1 changed, 1 removed"));
    older.looks().await;
    newer.looks().await;
    let expected = (3, vec!["a 3".to_owned()]);
    assert_eq!((newer.serves(), older.serves()), (expected.clone(), expected.clone()));
    // One that is started later, or again, or with nothing, serves the same.
    for late in [folder(0, &[]), folder(2, &[("b", "1")]), newer.folder.clone()] {
        assert_eq!(shared.start(&late).await.serves(), expected);
    }
    let told = "stay as the store has them: its lock has revision 3, and that of the folder 2 (ptc program approve --above 3)";
    assert_eq!((newer.reloads().await.as_deref(), older.reloads().await), (Some(told), None));
    assert_eq!(newer.serves(), expected);
}

#[tokio::test]
async fn of_two_locks_of_one_revision_that_of_the_store_stays() {
    let shared = Shared::new();
    let first = shared.start(&folder(1, &[("a", "1")])).await;
    let second = shared.start(&folder(1, &[("b", "1")])).await;
    assert_eq!(second.serves(), (1, vec!["a 1".to_owned()]));
    second.looks().await;
    second.reloads().await;
    assert_eq!(second.serves(), first.serves());
    // The same lock is no other one, and what changed in the folder is not served from there.
    let third = shared.start(&first.folder).await;
    fs::write(third.folder.path().join("a.clj"), text_of("changed")).unwrap();
    third.reloads().await;
    assert_eq!(third.serves(), (1, vec![]));
    third.looks().await;
    first.looks().await;
    assert_eq!((third.serves(), first.serves()), ((1, vec![]), (1, vec!["a 1".to_owned()])));
}

#[tokio::test]
async fn a_folder_with_the_approvals_of_the_store_is_what_holds_again() {
    let shared = Shared::new();
    let first = shared.start(&folder(2, &[("a", "1"), ("b", "1")])).await;
    let lock = first.folder.path().join(LOCK_FILE);
    let original = fs::read_to_string(&lock).unwrap();
    // The store has it, so that an older one of the folder is not served.
    fs::write(&lock, original.replace("\"revision\": 2", "\"revision\": 1")).unwrap();
    let told = first.reloads().await.unwrap();
    assert!(told.contains("its lock has revision 2, and that of the folder 1"), "{told}");
    // Other approvals of the same revision are not what is served, and the answer says so.
    write(&first.folder, 2, &[("a", "1")]);
    let told = first.reloads().await.unwrap();
    let disagrees = "stay as the store has them: the lock of the folder has other approvals, and the same revision 2 (ptc program approve --above 2)";
    assert_eq!((told.as_str(), first.kept.0.held.lock().await.disagrees()), (disagrees, true));
    first.looks().await;
    assert_eq!(first.serves(), (2, vec!["a 1".to_owned(), "b 1".to_owned()]));
    fs::write(&lock, &original).unwrap();
    assert_eq!(first.reloads().await, None);
    assert!(!first.kept.0.held.lock().await.disagrees());
    // It is the folder's again: a file that has changed is not served from there.
    fs::write(first.folder.path().join("b.clj"), text_of("2")).unwrap();
    assert_eq!(first.reloads().await.as_deref(), Some("0 added, 0 changed, 1 removed"));
}

#[tokio::test]
async fn a_running_server_takes_no_older_lock() {
    let folder = folder(3, &[("a", "1"), ("b", "1")]);
    let alone = Replica::start(&folder, None, &ServerState::none());
    let expected = (3, vec!["a 1".to_owned(), "b 1".to_owned()]);
    let lock = folder.path().join(LOCK_FILE);
    let told = |what: &str| {
        format!(
            "stay as they were: {} {what}, and the one that is served has revision 3. `ptc program approve --withdraw NAME` takes a \
             program out of service, and `ptc program approve --above 3` lets this folder hold",
            lock.display()
        )
    };
    for (older, what) in [(Some(2), "has revision 2"), (None, "is gone")] {
        match older {
            Some(revision) => write(&folder, revision, &[("a", "1")]),
            None => fs::remove_file(&lock).unwrap(),
        }
        assert_eq!(alone.reloads().await, Some(told(what)));
        let refused = alone.approves("c", &text_of("1")).await.unwrap_err();
        assert!(refused.contains(what), "{refused}");
        assert_eq!(alone.serves(), expected);
    }
    // What is withdrawn on purpose has a higher revision.
    write(&folder, 4, &[("a", "1")]);
    assert_eq!(alone.reloads().await.as_deref(), Some("0 added, 0 changed, 1 removed"));
    // A start takes what is there.
    write(&folder, 1, &[("b", "1")]);
    let again = Replica::start(&folder, None, &ServerState::none());
    assert_eq!(again.serves(), (1, vec!["b 1".to_owned()]));
}

#[tokio::test]
async fn an_older_signed_lock_is_not_taken_either() {
    let keys = tempfile::tempdir().unwrap();
    let private = keys.path().join("private");
    fs::write(&private, PRIVATE).unwrap();
    let signing = ProgramsKey::read(&private).unwrap();
    let folder = folder(2, &[("a", "1")]);
    let sign = |revision: u64| {
        let mut lock = ProgramFolder::read(folder.path(), None).unwrap().lock.unwrap();
        lock.revision = revision;
        fs::write(folder.path().join(LOCK_FILE), lock.text(signing.signing())).unwrap();
    };
    sign(2);
    let alone = Replica::start(&folder, Some(&private), &ServerState::none());
    assert_eq!(alone.serves(), (2, vec!["a 1".to_owned()]));
    sign(1);
    let told = alone.reloads().await.unwrap();
    assert!(told.starts_with("stay as they were: ") && told.contains("has revision 1"), "{told}");
    assert_eq!(alone.serves().0, 2);
    sign(3);
    assert_eq!((alone.reloads().await, alone.serves().0), (None, 2), "nothing else is served");
}

#[tokio::test]
async fn programs_that_call_another_one_by_now_are_named() {
    let folder = folder(1, &[("base", "1"), ("caller", "(program/base {})"), ("other", "1")]);
    let alone = Replica::start(&folder, None, &ServerState::none());
    let approved = alone.kept.approve(program("base", &text_of("2")), "bob").await.unwrap();
    assert_eq!(approved.no_longer_approved, ["caller, which calls base"]);
    let (_, serves) = alone.serves();
    assert_eq!(serves, ["base 2", "other 1"]);
    let approved = alone.kept.approve(program("other", &text_of("2")), "bob").await.unwrap();
    assert_eq!(approved.no_longer_approved, [""; 0]);
    // By a reload, too.
    let other = Replica::start(
        &self::folder(1, &[("base", "1"), ("caller", "(program/base {})")]),
        None,
        &ServerState::none(),
    );
    fs::write(other.folder.path().join("base.clj"), text_of("3")).unwrap();
    let told = other.reloads().await;
    assert_eq!(
        told.as_deref(),
        Some("0 added, 0 changed, 2 removed; no longer approved: caller, which calls base")
    );
}

#[tokio::test]
async fn a_tool_that_there_is_not_is_not_approved() {
    let alone = Replica::start(&folder(1, &[]), None, &ServerState::none());
    let text = "{:description \"x\" :tools [\"billing/list\" \"billing/*\"]}\n1";
    let told = alone.approves("a", text).await.unwrap_err();
    assert!(
        told.starts_with("a is not approved: billing has no tool list, which its :tools name; "),
        "{told}"
    );
    assert_eq!(alone.approves("a", &text.replace("\"billing/list\"", "")).await.unwrap().0, 2);
}

#[tokio::test]
async fn what_was_approved_is_served_without_a_folder_that_can_be_used() {
    let shared = Shared::new();
    let expected = (2, vec!["a 1".to_owned()]);
    let first = shared.start(&folder(2, &[("a", "1")])).await;
    for lock in ["{", "{\"version\": 9}", ""] {
        let broken = folder(5, &[("b", "1")]);
        fs::write(broken.path().join(LOCK_FILE), lock).unwrap();
        assert_eq!(shared.start(&broken).await.serves(), expected, "{lock}");
    }
    let gone = folder(3, &[]);
    fs::remove_dir_all(gone.path()).unwrap();
    assert_eq!(shared.start(&gone).await.serves(), expected);
    // While it runs, what there was stays, with a store and without.
    let alone = Replica::start(&first.folder, None, &ServerState::none());
    fs::remove_dir_all(first.folder.path()).unwrap();
    for replica in [&first, &alone] {
        let told = replica.reloads().await.unwrap();
        assert!(told.starts_with("stay as they were: ") && told.contains("no such file"), "{told}");
        replica.looks().await;
        assert_eq!(replica.serves(), expected);
    }
}

#[tokio::test]
async fn files_that_the_store_lost_are_written_again_or_left_out() {
    let shared = Shared::new();
    let first = shared.start(&folder(1, &[("a", "1"), ("b", "2"), ("c", "(program/b {})")])).await;
    let lost = program("b", &text_of("2")).digest.clone();
    let listed = shared.0.list(None, Kind::Program).await.unwrap();
    let lost = listed.iter().find(|listed| *listed.id == *lost).unwrap();
    assert!(shared.0.erase(lost).await.unwrap());
    let other = shared.start(&folder(0, &[])).await;
    assert_eq!(other.serves(), (1, vec!["a 1".to_owned()]));
    shared.forgets(&lost.id).await;
    first.reloads().await;
    first.looks().await;
    let third = shared.start(&folder(0, &[])).await;
    assert_eq!(third.serves(), first.serves());
}

#[tokio::test]
async fn a_lock_that_the_store_forgot_is_written_again_by_whoever_knows_it() {
    let shared = Shared::new();
    let first = shared.start(&folder(1, &[("a", "1")])).await;
    let second = shared.start(&folder(0, &[])).await;
    assert_eq!(second.approves("b", &text_of("2")).await, Ok((2, "the store".to_owned())));
    let expected = (2, vec!["a 1".to_owned(), "b 2".to_owned()]);
    // As after a fail-over to a server that was behind, or an empty one.
    for record in shared.0.list(None, Kind::Program).await.unwrap() {
        shared.forgets(&record.id).await;
    }
    first.looks().await;
    assert_eq!(first.serves().0, 1, "it has not heard of the approval");
    second.looks().await;
    first.looks().await;
    assert_eq!((first.serves(), second.serves()), (expected.clone(), expected.clone()));
    assert_eq!(shared.start(&first.folder).await.serves(), expected);
}

#[tokio::test]
async fn an_approval_is_written_into_the_folder_and_served_everywhere() {
    let shared = Shared::new();
    let first = shared.start(&folder(1, &[("a", "1")])).await;
    let other = shared.start(&folder(0, &[])).await;
    let place = format!("the folder {}", first.folder.path().display());
    assert_eq!(first.approves("new", &text_of("2")).await, Ok((2, place.clone())));
    assert_eq!(locked(&first.folder), (2, vec!["a".to_owned(), "new".to_owned()]));
    assert_eq!(fs::read_to_string(first.folder.path().join("new.clj")).unwrap(), text_of("2"));
    // Nothing is approved twice.
    assert_eq!(first.approves("new", &text_of("2")).await, Ok((2, place.clone())));
    assert_eq!(first.approves("new", &text_of("3")).await, Ok((3, place)));
    other.looks().await;
    let expected = (3, vec!["a 1".to_owned(), "new 3".to_owned()]);
    assert_eq!((first.serves(), other.serves()), (expected.clone(), expected.clone()));
    assert_eq!(shared.start(&first.folder).await.serves(), expected);
    // Where the folder is behind the store, it stays as it is.
    assert_eq!(other.approves("last", &text_of("(program/new {})")).await, Ok((4, "the store".to_owned())));
    assert_eq!(locked(&other.folder), (0, vec![]));
    first.looks().await;
    assert_eq!((first.serves().0, first.serves()), (4, other.serves()));
    assert_eq!(shared.start(&first.folder).await.serves(), other.serves());
}

#[tokio::test]
async fn an_approval_is_in_the_store_where_the_folder_cannot_be_written() {
    let shared = Shared::new();
    let first = shared.start(&folder(1, &[("a", "1")])).await;
    forbids_writing(first.folder.path(), true);
    assert_eq!(first.approves("a", &text_of("2")).await, Ok((2, "the store".to_owned())));
    let expected = (2, vec!["a 2".to_owned()]);
    let as_before = || fs::read_to_string(first.folder.path().join("a.clj")).unwrap() == text_of("1");
    assert!(first.serves() == expected && as_before());
    // It outlives a restart and a reload.
    first.reloads().await;
    assert_eq!((first.serves(), shared.start(&first.folder).await.serves()), (expected.clone(), expected));
    let alone = Replica::start(&first.folder, None, &ServerState::none());
    let told = alone.approves("a", &text_of("3")).await.unwrap_err();
    assert!(
        told.contains(LOCK_FILE)
            && told.ends_with("there is no store that could have the approval (--state-url)"),
        "{told}"
    );
    assert!(alone.serves() == (1, vec!["a 1".to_owned()]) && as_before());
    forbids_writing(first.folder.path(), false);
    assert_eq!(alone.approves("a", &text_of("3")).await.unwrap().0, 2);
}

#[tokio::test]
async fn approvals_at_once_are_all_made() {
    let shared = Shared::new();
    for folders in [[folder(1, &[]), folder(1, &[])].to_vec(), vec![folder(1, &[]); 2]] {
        let shared = Shared::new();
        let replicas = join_all(folders.iter().map(|folder| shared.start(folder))).await;
        let approvals = (0..8).map(|number| {
            let replica = &replicas[number % 2];
            async move { replica.approves(&format!("p{number}"), &text_of("1")).await.unwrap().0 }
        });
        let mut revisions = join_all(approvals).await;
        revisions.sort_unstable();
        assert_eq!(revisions, (2..10).collect::<Vec<u64>>());
        for replica in &replicas {
            replica.looks().await;
            assert_eq!((replica.serves().0, replica.serves().1.len()), (9, 8));
        }
    }
    // In one process without a store, too.
    let alone = Replica::start(&folder(1, &[]), None, &ServerState::none());
    let names: Vec<String> = (0..8).map(|number| format!("p{number}")).collect();
    let text = text_of("1");
    join_all(names.iter().map(|name| alone.approves(name, &text))).await;
    assert_eq!((locked(&alone.folder).0, locked(&alone.folder).1), (9, names));
    drop(shared);
}

#[tokio::test]
async fn what_cannot_be_approved_changes_nothing() {
    let shared = Shared::new();
    let first = shared.start(&folder(1, &[("a", "1"), ("b", "(program/a {})")])).await;
    fs::write(first.folder.path().join("drafted.clj"), text_of("7")).unwrap();
    let failing = "{:description \"x\" :tests [{:name \"two\" :value 2} {:name \"one\" :value 1}]}\n2";
    for (name, text, told) in [
        ("new", failing, "new is not approved: its test \"one\" fails: expected 1, got 2"),
        (
            "new",
            "{:description \"x\"}\n(program/none {})",
            "new is not approved: new calls none, which is not in the folder",
        ),
        (
            "a",
            "{:description \"x\"}\n(program/b {})",
            "a is not approved: programs call each other in a circle: a → b → a",
        ),
        (
            "drafted",
            "{:description \"x\"}\n1",
            "drafted is not approved: the folder has another drafted.clj that nobody has approved; approve that with \
             `ptc program approve`, or remove it",
        ),
    ] {
        assert_eq!(first.approves(name, text).await, Err(told.to_owned()));
    }
    assert_eq!((locked(&first.folder).0, first.serves().0), (1, 1));
    assert!(!first.folder.path().join("new.clj").exists());
    assert_eq!(
        first.approves("drafted", &text_of("7")).await.unwrap().0,
        2,
        "its own text is none of another's"
    );
}

#[tokio::test]
async fn signed_locks_are_of_the_key_wherever_they_lie() {
    let shared = Shared::new();
    let keys = tempfile::tempdir().unwrap();
    let (private, public) = (keys.path().join("private"), keys.path().join("public"));
    fs::write(&private, PRIVATE).unwrap();
    fs::write(&public, PUBLIC).unwrap();
    let empty = || Arc::new(tempfile::tempdir().unwrap());
    let signing = {
        let signed = empty();
        let key = ProgramsKey::read(&private).unwrap();
        fs::write(signed.path().join(LOCK_FILE), ProgramsLock::default().text(key.signing())).unwrap();
        shared.start_with(&signed, Some(&private)).await
    };
    assert_eq!(signing.approves("a", &text_of("1")).await.unwrap().0, 1);
    let checking = shared.start_with(&empty(), Some(&public)).await;
    assert_eq!(checking.serves(), (1, vec!["a 1".to_owned()]));
    let told = checking.approves("b", &text_of("1")).await.unwrap_err();
    assert!(told.contains("names a public key"), "{told}");
    // One without a key would take the signature away.
    let unsigned = shared.start(&empty()).await;
    let told = unsigned.approves("b", &text_of("1")).await.unwrap_err();
    assert_eq!(told, "b is not approved: the lock is signed: name the private key with --programs-key");
    for replica in [&signing, &checking] {
        replica.looks().await;
        assert_eq!(replica.serves(), (1, vec!["a 1".to_owned()]));
    }
    let told = signing.approves("c", &text_of("1")).await.unwrap();
    assert_eq!(told, (2, format!("the folder {}", signing.folder.path().display())));
    unsigned.looks().await;
    assert_eq!(unsigned.serves().0, 2);
}
