//! `kill -9` at every step of a sign-in and of a renewal: at each request to the servers, before and after it is carried out, at each
//! operation of the store, and in the middle of a file. Whoever comes next goes on, loses one rotation at most, and finds no half of
//! a file. The children are this binary, run for one test.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use nix::sys::signal::{Signal, raise};
use ptc_host::credentials::Redactor;
use ptc_host::sign_in::PROCESS;
use ptc_host::sign_in::store::FileStore;
use ptc_mcp::json::{Value, json};

use ptc_test_support::authorization_server::{Rotation, Script, Trouble};
use ptc_test_support::child_process::own_test_name;
use ptc_test_support::wait_until_async;

use super::interrupted_store::{InterruptedStore, Moment};
use super::world::{World, ahead, call, config, fault, mcp_entry, open, sign_in_at, site_of};

const URL: &str = "PTC_TEST_KILLED_URL";
const STATE: &str = "PTC_TEST_KILLED_STATE";
/// What the child does: `sign-in`, or `call` at the end of a token's life.
const TASK: &str = "PTC_TEST_KILLED_TASK";
/// The operation of the store at which it is killed, such as `before 3`.
const STEP: &str = "PTC_TEST_KILLED_STEP";
/// Far more than either task has.
const MOST_STEPS: usize = 60;
/// How long a token lives.
const LIFE: u64 = 3600;

/// Plays a child, if it is one.
#[tokio::test]
async fn child() {
    let given = |name| std::env::var(name).ok();
    let (Some(url), Some(state), Some(task)) = (given(URL), given(STATE), given(TASK)) else { return };
    let step = given(STEP);
    let interrupt = move |number: usize, moment: Moment, _: &str| {
        let word = if moment == Moment::Before { "before" } else { "after" };
        if step.as_deref() == Some(format!("{word} {number}").as_str()) {
            raise(Signal::SIGKILL).unwrap();
        }
    };
    let store = InterruptedStore::new(FileStore::new(Path::new(&state), None), interrupt);
    let config = config(&mcp_entry(&url, &json!({"type": "oauth"})));
    match task.as_str() {
        "sign-in" => {
            let site = site_of(&config, store, &ahead(0), &Redactor::new());
            sign_in_at(&site).await.unwrap();
        }
        _ => {
            let process = open(config, store, ahead(LIFE), Redactor::new()).await;
            call(&process, "whoami").await.unwrap();
        }
    }
}

/// A command that is a child with this task; `wrapper` is a shell's words before it.
fn command(world: &World, task: &str, wrapper: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    let own = std::env::current_exe().unwrap();
    command.args(["-c", &format!("{wrapper}exec \"$0\" \"$@\"")]).arg(own);
    command.args(["--exact", &own_test_name(module_path!(), "child")]);
    command.env(URL, world.server.mcp()).env(STATE, world.state.path()).env(TASK, task);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

async fn ended(mut child: Child) -> ExitStatus {
    tokio::task::spawn_blocking(move || child.wait().unwrap()).await.unwrap()
}

fn new_world() -> World {
    World::new(Script { rotation: Rotation::ReuseEndsFamily, ..Script::default() })
}

/// Each record file is one whole record, and belongs to its owner alone.
fn assert_whole_files(world: &World) {
    let Ok(entries) = std::fs::read_dir(world.state.path().join("auth")) else { return };
    for path in entries.map(|entry| entry.unwrap().path()) {
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "{path:?}");
        if path.extension().is_some_and(|extension| extension == "json") {
            let text = std::fs::read_to_string(&path).unwrap();
            let record: Value =
                serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path:?}: {error}: {text}"));
            assert!(record["record"].is_object(), "{text}");
        }
    }
}

/// What is promised after a sign-in that was killed: nobody is stuck, and nobody has a half of it.
async fn assert_signs_in(world: &World, what: &str) {
    assert_whole_files(world);
    let statuses = world.site().statuses(PROCESS).await.unwrap_or_else(|error| panic!("{what}: {error}"));
    let process = world.process().await;
    let called = call(&process, "whoami").await;
    // Either the sign-in had been kept, or there is none.
    match called {
        Ok(_) => assert!(statuses[0].signed_in, "{what}"),
        Err(fault) => {
            assert!(!statuses[0].signed_in, "{what}");
            let never = "not signed in to upstream 'linear'; a person must run: ptc login linear";
            assert_eq!((fault.reason.as_str(), fault.message.as_str()), ("auth_required", never), "{what}");
        }
    }
    world.log_in().await.unwrap_or_else(|error| panic!("{what}: {error}"));
    world.advance(2);
    call(&process, "whoami").await.unwrap_or_else(|fault| panic!("{what}: {fault:?}"));
    assert_whole_files(world);
}

/// What is promised after a renewal that was killed: the sign-in goes on, or has ended and says so; no token is tried twice.
async fn assert_goes_on(world: &World, what: &str) {
    assert_whole_files(world);
    let process = world.process().await;
    let called = call(&process, "whoami").await;
    let asked = world.server.grants("refresh_token").len();
    assert!(asked <= 2, "{what}: {asked} refreshes");
    if let Err(fault) = called {
        let over =
            "the sign-in to upstream 'linear' has ended (invalid_grant); a person must run: ptc login linear";
        assert_eq!((fault.reason.as_str(), fault.message.as_str()), ("auth_required", over), "{what}");
        assert!(world.server.rotations() == 1, "{what}: more than one rotation was lost");
        for _ in 0..3 {
            world.advance(2);
            assert_eq!(self::fault(&process, "whoami").await.0, "auth_required", "{what}");
        }
        assert_eq!(world.server.grants("refresh_token").len(), asked, "{what}: it is asked again and again");
        world.log_in().await.unwrap_or_else(|error| panic!("{what}: {error}"));
        world.advance(2);
        call(&process, "whoami").await.unwrap_or_else(|fault| panic!("{what}: {fault:?}"));
    } else {
        assert!(world.server.is_signed_in(), "{what}");
    }
    assert_whole_files(world);
}

/// Kills a child at each operation of the store in turn, until none is left; gives how many there were.
async fn at_each_operation(task: &str) -> usize {
    for number in 0..MOST_STEPS {
        for moment in ["before", "after"] {
            let world = new_world();
            if task == "call" {
                world.log_in().await.unwrap();
                world.advance(LIFE);
            }
            let step = format!("{moment} {number}");
            let status = ended(command(&world, task, "").env(STEP, &step).spawn().unwrap()).await;
            if status.success() {
                return number;
            }
            assert!(is_killed(status, Signal::SIGKILL), "{task}, {step}: {status}");
            match task {
                "call" => assert_goes_on(&world, &step).await,
                _ => assert_signs_in(&world, &step).await,
            }
        }
    }
    panic!("more than {MOST_STEPS} operations");
}

fn is_killed(status: ExitStatus, signal: Signal) -> bool {
    // A shell may stand between, and says it in its own way.
    status.signal() == Some(signal as i32) || status.code() == Some(128 + signal as i32)
}

#[tokio::test]
async fn a_sign_in_is_killed_at_each_operation_of_the_store() {
    let operations = at_each_operation("sign-in").await;
    // Registration, what was begun, tokens, and which of them are used.
    assert!(operations >= 12, "{operations}");
}

#[tokio::test]
async fn a_renewal_is_killed_at_each_operation_of_the_store() {
    let operations = at_each_operation("call").await;
    assert!(operations >= 5, "{operations}");
}

/// Kills a child when `path` has been asked for the `nth` time; gives whether it came so far.
async fn at_request(world: &World, task: &str, path: &'static str, trouble: Trouble) -> bool {
    let before = world.server.hits(path).len();
    world.server.trouble(path, trouble);
    let mut child = command(world, task, "").spawn().unwrap();
    let mut has_asked = false;
    wait_until_async("it asks or ends", async || {
        has_asked = world.server.hits(path).len() > before;
        has_asked || child.try_wait().unwrap().is_some()
    })
    .await;
    if has_asked {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    has_asked
}

#[tokio::test]
async fn a_sign_in_is_killed_at_each_request() {
    let of_resource = "/.well-known/oauth-protected-resource/mcp";
    let of_server = "/.well-known/oauth-authorization-server";
    for path in ["/mcp", of_resource, of_server, "/register", "/token"] {
        for trouble in [Trouble::Ignored, Trouble::Withheld] {
            let world = new_world();
            let what = format!("{path}, {trouble:?}");
            assert!(at_request(&world, "sign-in", path, trouble).await, "{what} is never asked for");
            assert_signs_in(&world, &what).await;
        }
    }
}

#[tokio::test]
async fn a_renewal_is_killed_at_each_request() {
    for path in ["/.well-known/oauth-authorization-server", "/token", "/mcp"] {
        for trouble in [Trouble::Ignored, Trouble::Withheld] {
            let world = new_world();
            world.log_in().await.unwrap();
            world.advance(LIFE);
            let what = format!("{path}, {trouble:?}");
            assert!(at_request(&world, "call", path, trouble.clone()).await, "{what} is never asked for");
            assert_goes_on(&world, &what).await;
            // Only an answer that never came is a rotation lost.
            let lost = path == "/token" && matches!(trouble, Trouble::Withheld);
            // A sign-in with a client of before asks there itself first.
            assert_eq!(world.server.hits("/authorize").len(), if lost { 3 } else { 1 }, "{what}");
        }
    }
}

#[tokio::test]
async fn a_process_killed_in_the_middle_of_a_file_leaves_the_file_of_before() {
    for (task, records) in [("sign-in", 0), ("call", 3)] {
        // Tokens that are longer than what is written of them.
        let script = Script { rotation: Rotation::ReuseEndsFamily, padding: 1000, ..Script::default() };
        let world = World::new(script);
        if task == "call" {
            world.log_in().await.unwrap();
            world.advance(LIFE);
        }
        let before = files(&world, ".json");
        assert_eq!(before.len(), records);
        // The system kills whoever writes more than one block of 512 bytes into one file.
        let status = ended(command(&world, task, "ulimit -c 0; ulimit -f 1; ").spawn().unwrap()).await;
        assert!(is_killed(status, Signal::SIGXFSZ), "{task}: {status}");
        let halves = files(&world, ".new");
        assert!(halves.len() == 1 && halves.values().all(|half| half.len() == 512), "{halves:?}");
        let after = files(&world, ".json");
        assert!(before.iter().all(|(name, text)| after.get(name) == Some(text)), "{task}");
        match task {
            "call" => assert_goes_on(&world, task).await,
            _ => assert_signs_in(&world, task).await,
        }
    }
}

/// The files of the store whose names end so, by name.
fn files(world: &World, end: &str) -> BTreeMap<String, Vec<u8>> {
    let Ok(entries) = std::fs::read_dir(world.state.path().join("auth")) else { return BTreeMap::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    let named = paths.map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), path));
    let wanted = named.filter(|(name, _)| name.ends_with(end));
    wanted.map(|(name, path)| (name, std::fs::read(path).unwrap())).collect()
}

#[tokio::test]
async fn half_of_a_file_is_in_nobodys_way() {
    // What a process leaves that is killed between the first byte and the last one.
    let world = new_world();
    world.log_in().await.unwrap();
    let folder = world.state.path().join("auth");
    let records = files(&world, ".json");
    for (name, whole) in &records {
        let path = folder.join(format!(".{name}.new"));
        std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    assert_eq!(world.site().statuses(PROCESS).await.unwrap().len(), 1);
    world.advance(LIFE);
    call(&world.process().await, "whoami").await.unwrap();
    world.log_in().await.unwrap();
    assert_whole_files(&world);
    // Tokens and binding were written again; the registration had no need to be.
    let left: Vec<String> = files(&world, ".new").into_keys().collect();
    assert!(left.len() == 1 && left[0].starts_with(".client-"), "{left:?}");
}
