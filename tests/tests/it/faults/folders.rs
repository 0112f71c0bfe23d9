//! Places to write to that are full, not writable, or gone: they cost what would be written, and nothing else.

use std::fs::File;

use ptc_test_support::process::{Http, Launch};
use ptc_test_support::wait_until;

fn traces(server: &Http, outcome: &str) -> f64 {
    server.metric(&format!("ptc_traces_total{{outcome=\"{outcome}\"}}"))
}

fn works(server: &Http, times: usize) {
    for _ in 0..times {
        assert_eq!(server.eval("(+ 1 2)"), "user=> 3");
    }
}

/// Holds that an event was told, and once. A line is written by a thread of its own, behind what it tells of.
fn is_told_once(server: &Http, event: &str) {
    let log = || server.server.launch.log();
    let told = || log().matches(&format!("\"event\":\"{event}\"")).count();
    wait_until(event, || told() > 0);
    assert_eq!(told(), 1, "{event}: {}", log());
}

#[test]
fn trace_folders_that_cannot_be_used_are_refused_at_the_start() {
    // A device that is always full, and a place where nobody may make a folder, not even the superuser.
    for folder in ["/dev/full", "/proc/ptc/traces"] {
        let mut pipes = Launch::new(&["--trace-dir", folder]).on_pipes();
        assert_eq!(pipes.server.ended().code(), Some(1));
        let log = pipes.server.launch.log();
        let told = log.contains(&format!("--trace-dir {folder}: "))
            && log.contains("name a folder that can be written to");
        assert!(told, "{log}");
    }
}

#[test]
fn a_trace_folder_that_disappears_is_made_again() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("deep/traces");
    let flags = ["--http-metrics", "--trace-dir", folder.to_str().unwrap()];
    let server = Launch::new(&flags).on_http();
    works(&server, 3);
    wait_until("they are written", || traces(&server, "written") == 3.0);
    std::fs::remove_dir_all(place.path().join("deep")).unwrap();
    works(&server, 3);
    wait_until("they are written", || traces(&server, "written") == 6.0);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 3);
    // Something else in its place is a fault, for as long as it is there.
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::write(&folder, "in the way").unwrap();
    works(&server, 3);
    wait_until("they are counted", || traces(&server, "failed") == 3.0);
    is_told_once(&server, "trace_open_failed");
    std::fs::remove_file(&folder).unwrap();
    works(&server, 3);
    wait_until("they are written", || traces(&server, "written") == 9.0);
    is_told_once(&server, "trace_open_failed");
}

#[test]
fn a_log_that_cannot_be_written_costs_the_log() {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let server = Launch::new(&["--log-level", "debug"]).logging_to(full).on_http();
    works(&server, 20);
}

#[test]
fn an_output_that_cannot_be_written_ends_the_conversation() {
    let script = "exec \"$0\" start 0<\"$1\" 1>/dev/full 2>\"$2\"";
    let folder = tempfile::tempdir().unwrap();
    let (input, log) = (folder.path().join("input"), folder.path().join("log"));
    std::fs::write(&input, format!("{}\n", ptc_test_support::process::call(1, "(+ 1 2)"))).unwrap();
    let status = std::process::Command::new("/bin/sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_ptc-under-test")])
        .args([&input, &log])
        .env_clear()
        .env("HOME", folder.path())
        .status();
    assert!(status.unwrap().success());
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains("\"event\":\"stdout_write_error\""), "{log}");
}
