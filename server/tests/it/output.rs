//! Standard output that takes nothing: a full disk is told and fails the command, a reader that went away is no fault, and
//! no command panics.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use ptc_test_support::child_process::copy_program;

fn ptc(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ptc"));
    command.args(arguments).env_clear().env("HOME", env!("CARGO_TARGET_TMPDIR"));
    command
}

fn full() -> Stdio {
    std::fs::OpenOptions::new().write(true).open("/dev/full").expect("the device is there").into()
}

/// Runs a command with this input.
fn run(mut command: Command, input: &str) -> Output {
    let mut child = command.stdin(Stdio::piped()).spawn().expect("it starts");
    // A command that does not read its input may be gone.
    let _ = child.stdin.take().expect("piped").write_all(input.as_bytes());
    child.wait_with_output().expect("it ran")
}

/// An upstreams file with one of the demo's servers.
fn upstreams(folder: &Path) -> PathBuf {
    let path = folder.join("upstreams.json");
    let copy = folder.join("copy-of-ptc");
    // A server does not take its own executable for an upstream.
    copy_program(Path::new(env!("CARGO_BIN_EXE_ptc")), &copy);
    let config = ptc_mcp::json::json!({"upstreams": {"store": {"transport": "mcp_stdio",
        "command": copy.to_str().expect("UTF-8"), "args": ["demo-upstream", "store"]}}});
    std::fs::write(&path, config.to_string()).expect("written");
    path
}

/// Answers health checks on a port of its own.
fn healthy() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut lines = BufReader::new(&stream).lines();
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let _ =
                (&stream).write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
        }
    });
    port
}

#[test]
fn every_command_tells_that_its_output_cannot_be_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = upstreams(folder.path());
    let file = file.to_str().expect("UTF-8");
    let port = healthy().to_string();
    let jsonl = "{\"id\":1,\"program\":\"1\"}\n{\"id\":2,\"program\":\"2\"}\n";
    let commands: [(&[&str], &str); 19] = [
        (&["version"], ""),
        (&["--version"], ""),
        (&["--help"], ""),
        (&["start", "--help"], ""),
        (&["eval", "-e", "(+ 1 2)"], ""),
        (&["eval", "-e", "(println 1)"], ""),
        (&["eval", "-"], "(apply str (repeat 100000 \"x\"))"),
        (&["eval", "--json", "-e", "(+ 1 2)"], ""),
        (&["eval", "--jsonl"], jsonl),
        (&["completions", "zsh"], ""),
        (&["man"], ""),
        (&["repl"], "(+ 1 2)\n:help\n"),
        (&["tools", "--upstreams-config", file], ""),
        (&["tools", "--json", "--upstreams-config", file], ""),
        (&["check", "--upstreams-config", file], ""),
        (&["check", "--json", "--upstreams-config", file], ""),
        (&["call", "store", "get", "--args", "{\"id\":101}", "--upstreams-config", file], ""),
        (&["health", "--port", &port], ""),
        (&["demo"], ""),
    ];
    for (arguments, input) in commands {
        let mut command = ptc(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let well = run(command, input);
        let told = String::from_utf8_lossy(&well.stderr).into_owned();
        assert!(well.status.success() && !well.stdout.is_empty(), "{arguments:?}: {told}");

        let mut command = ptc(arguments);
        command.stdout(full()).stderr(Stdio::piped());
        let output = run(command, input);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {told}");
        assert!(
            told.ends_with("cannot write to standard output: No space left on device (os error 28)\n"),
            "{arguments:?}: {told}"
        );
        assert_eq!(told.matches("cannot write").count(), 1, "{arguments:?}: {told}");

        let mut command = ptc(arguments);
        command.stdout(full()).stderr(full());
        assert_eq!(run(command, input).status.code(), Some(1), "{arguments:?}");

        // A pipe that nobody reads.
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = ptc(arguments);
        command.stdout(writer).stderr(Stdio::piped());
        let output = run(command, input);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && told.is_empty(), "{arguments:?}: {told}");
    }
}

#[test]
fn a_fault_is_a_fault_where_it_cannot_be_told() {
    for arguments in
        [&["eval", "-e", "(/ 1 0)"][..], &["eval", "no-such-file"], &["check"], &["health", "--port", "1"]]
    {
        let mut command = ptc(arguments);
        command.stdout(full()).stderr(full());
        assert_eq!(run(command, "").status.code(), Some(1), "{arguments:?}");
    }
    let mut command = ptc(&["start", "--no-such-flag"]);
    command.stdout(full()).stderr(full());
    assert_eq!(run(command, "").status.code(), Some(2));
}
