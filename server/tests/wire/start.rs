//! The order of a start: the address first, then the upstreams.

use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ptc_mcp::json::json;

use crate::process::PATIENCE;

/// `ptc start --http` on this port, over one upstream that runs `script` and never says a word.
fn start(folder: &Path, port: u16, script: &str) -> Child {
    let file = folder.join("upstreams.json");
    let upstream = json!({"transport": "mcp_stdio", "command": "sh", "args": ["-c", script]});
    std::fs::write(&file, json!({"upstreams": {"slow": upstream}}).to_string()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_ptc"));
    command.args([
        "start",
        "--http",
        "--http-disable-auth",
        "--http-port",
        &port.to_string(),
        "--upstreams-config",
    ]);
    command.arg(file).env_clear().env("HOME", folder).env("PATH", "/usr/bin:/bin");
    command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the binary starts")
}

#[test]
fn an_address_that_is_taken_is_told_before_an_upstream_starts() {
    let folder = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let started = folder.path().join("started");
    let script = format!("touch {}; sleep 600", started.display());
    let mut child = start(folder.path(), taken.local_addr().unwrap().port(), &script);
    let mut told = String::new();
    child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert!(told.contains("cannot listen on 127.0.0.1:") && !started.exists(), "{told}");
}

#[test]
fn a_client_that_comes_while_the_upstreams_start_is_not_refused() {
    let folder = tempfile::tempdir().unwrap();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let started = folder.path().join("started");
    let script = format!("touch {}; sleep 600", started.display());
    let mut child = start(folder.path(), free.port(), &script);
    let patience = Instant::now() + PATIENCE;
    while !started.exists() {
        assert!(Instant::now() < patience, "the upstream starts");
        std::thread::sleep(Duration::from_millis(5));
    }
    let connected = TcpStream::connect(free).is_ok();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(connected);
}
