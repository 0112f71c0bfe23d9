//! One server on a folder.

use std::process::Command;

use nix::sys::signal::Signal;
use ptc_mcp::json::json;

use super::client::Client;
use ptc_test_support::process::Launch;

#[test]
fn a_folder_belongs_to_one_process_and_outlives_it() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("state");
    let folder = folder.to_str().unwrap();
    let flags = ["--sessions", "--state-dir", folder];
    let mut server = Launch::new(&flags).on_http();
    let client = Client::begin(&server.address);
    let ended = Client::begin(&server.address);
    assert_eq!(client.eval("(+ 1 2)").unwrap().status, 200);
    let mut second = Launch::new(&flags).on_pipes();
    assert_eq!(second.server.ended().code(), Some(1));
    let sentence = format!("the state directory {folder} is in use by another ptc process");
    let log = second.server.launch.log();
    assert!(log.lines().any(|line| line.contains(&sentence) && line.contains("boot_failed")), "{log}");
    // The commands of the operator say the same while it runs.
    let list = || {
        let list = Command::new(env!("CARGO_BIN_EXE_ptc-under-test"))
            .args(["state", "ls", "--state-dir", folder])
            .env_clear()
            .output()
            .unwrap();
        (list.status.code(), String::from_utf8(list.stderr).unwrap())
    };
    assert_eq!(list().0, Some(1));
    assert!(list().1.contains(&sentence), "{}", list().1);
    assert_eq!(ended.end().status, 200);
    server.server.signal(Signal::SIGTERM);
    server.server.ended();
    assert_eq!(list().0, Some(0));
    // The next process goes on with what the first one began, and not with what has ended.
    let next = Launch::new(&flags).on_http();
    assert_eq!(client.at(&next.address).eval("(+ 1 2)").unwrap().status, 200);
    ptc_test_support::wait_until("what has ended stays so", || {
        ended.at(&next.address).eval("1").unwrap().status == 404
    });
    // The commands look, and make nothing: no folder, and no secret beside the file of another one.
    let elsewhere = dir.path().join("elsewhere");
    let of_other = |folder: &std::path::Path| {
        let mut list = Command::new(env!("CARGO_BIN_EXE_ptc-under-test"));
        let list = list.args(["state", "ls", "--state-dir"]).arg(folder).env_clear().output().unwrap();
        (list.status.code(), String::from_utf8(list.stderr).unwrap())
    };
    assert!(of_other(&elsewhere).1.contains("nothing is kept in"));
    assert!(!elsewhere.exists());
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::copy(std::path::Path::new(folder).join("state.redb"), elsewhere.join("state.redb")).unwrap();
    let (code, said) = of_other(&elsewhere);
    assert!(code == Some(1) && said.contains("--state-secret-file"), "{said}");
    assert!(!elsewhere.join("secret").exists());
    for (name, mode) in [("", 0o700), ("state.redb", 0o600), ("secret", 0o600)] {
        use std::os::unix::fs::PermissionsExt as _;
        let found = std::fs::metadata(std::path::Path::new(folder).join(name)).unwrap().permissions().mode();
        assert_eq!(found & 0o777, mode, "{name}");
    }
}

#[test]
fn a_damaged_file_ends_the_start_and_stays() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("state");
    let flags = ["--sessions", "--state-dir", folder.to_str().unwrap()];
    let mut server = Launch::new(&flags).on_http();
    server.server.signal(Signal::SIGTERM);
    server.server.ended();
    let file = folder.join("state.redb");
    std::fs::write(&file, b"something else").unwrap();
    let mut refused = Launch::new(&flags).on_pipes();
    assert_eq!(refused.server.ended().code(), Some(1));
    let log = refused.server.launch.log();
    assert!(log.contains("cannot be opened: ") && log.contains("nothing of it was deleted"), "{log}");
    assert_eq!(std::fs::read(&file).unwrap(), b"something else");
}

#[test]
fn a_full_disk_is_told_and_takes_nothing_that_was_answered() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("state");
    let flags = [
        "--sessions",
        "--state-dir",
        folder.to_str().unwrap(),
        "--max-sessions",
        "1000",
        "--max-sessions-per-owner",
        "1000",
    ];
    // Files may have 8 or 16 MiB; the unit is the shell's affair.
    let mut server = Launch::new(&flags).after("ulimit -f 16384").on_http();
    let client = Client::begin(&server.address);
    let kept = client.start();
    assert!(client.eval_in(&kept, "(def kept 42) kept").unwrap().text().starts_with("user=> 42"));
    let told = (0..1000).find_map(|_| {
        let started = client.call("lisp_session_start", json!({})).unwrap().text();
        // A session takes room as its values do.
        let Some(session) = started.split('"').find(|part| part.starts_with("ptcs_")) else {
            return Some(started);
        };
        let large = "(def large (apply str (range 40000))) (count large)";
        let told = client.eval_in(session, large).unwrap().text();
        (!told.starts_with("user=> ")).then_some(told)
    });
    let told = told.expect("the disk is full at last");
    let sentences = [
        "the session store is unavailable; nothing was changed",
        "the program ran, and its definitions may not have been kept",
    ];
    assert!(sentences.iter().any(|sentence| told.contains(sentence)), "{told}");
    // What needs no room goes on, and what was answered is there when there is room again.
    assert_eq!(server.eval("(+ 1 2)"), "user=> 3");
    server.server.signal(Signal::SIGTERM);
    server.server.ended();
    let next = Launch::new(&flags).on_http();
    let client = client.at(&next.address);
    assert!(client.eval_in(&kept, "(def kept (inc kept)) kept").unwrap().text().starts_with("user=> 43"));
}
