//! `ptc reload` and the control socket.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use nix::sys::signal::Signal;
use ptc_mcp::json::{Value, json};
use ptc_test_support::process::{Http, Launch, Pipes, family};
use ptc_test_support::wait_until;

use super::{PROGRAM, entry, fault, reload, told};

/// The state folder of a server, in its home.
fn state(home: &Path) -> PathBuf {
    home.join(".local/state/ptc")
}

/// The control sockets in a home.
fn sockets(home: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(state(home)).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "sock"))
        .collect()
}

/// A server on pipes, once it can be controlled.
fn on_pipes(launch: Launch) -> Pipes {
    let server = launch.on_pipes();
    wait_until("it can be controlled", || !sockets(&server.server.launch.path("")).is_empty());
    server
}

/// A server over HTTP whose upstreams file is in its home.
fn on_http(flags: &[&str]) -> Http {
    let server = Launch::new(flags).with_upstream().on_http();
    wait_until("it can be controlled", || !sockets(&server.server.launch.path("")).is_empty());
    server
}

fn lines(stream: &UnixStream, request: &str) -> Value {
    let mut stream = stream;
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).expect("an answer");
    serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON: {line:?}"))
}

#[test]
fn a_reload_says_what_has_changed_and_a_check_changes_nothing() {
    let server = on_http(&["--log-level", "info"]);
    let home = server.server.launch.path("");
    let pid = server.server.pid();
    let text = told(&reload(&home, &[]));
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(
        text.starts_with("nothing has changed: ptc ")
            && text.contains(&format!("process {pid}, on http://127"))
    );
    let more = json!({"upstreams": {"fake": entry(""), "more": entry("")}});
    let before = fs::read_to_string(home.join("upstreams.json")).expect("text");
    fs::write(home.join("upstreams.json"), more.to_string()).expect("written");
    let checked = told(&reload(&home, &["--check"]));
    assert!(checked.starts_with("would change: ") && checked.contains("upstreams added: more"), "{checked}");
    assert_eq!(server.eval("(count (tool/servers))"), "user=> 1");
    fs::write(home.join("upstreams.json"), r#"{"upstreams": {"fake": {"transport": "pigeon"}}}"#)
        .expect("written");
    for arguments in [&["--check"][..], &[]] {
        let refused = fault(&reload(&home, arguments));
        assert!(refused.contains("nothing has changed") && refused.contains("pigeon"), "{refused}");
    }
    assert_eq!(server.eval("(count (tool/servers))"), "user=> 1");
    fs::write(home.join("upstreams.json"), more.to_string()).expect("written");
    assert!(told(&reload(&home, &[])).contains("upstreams added: more"));
    assert_eq!(server.eval("(count (tool/servers))"), "user=> 2");
    // The same by the signal.
    fs::write(home.join("upstreams.json"), before).expect("written");
    server.server.signal(Signal::SIGHUP);
    wait_until("it is reloaded", || server.eval("(count (tool/servers))") == "user=> 1");
    server.server.launch.logged("upstreams removed: more");
    server.server.launch.logged("reload_refused");
}

#[test]
fn a_server_on_a_pipe_is_reloaded_and_several_are_told_apart() {
    let launch = Launch::new(&[]);
    let home = launch.path("");
    let mut server = on_pipes(launch.with_upstream());
    let other = Launch::of(PROGRAM, &[]).with_variable("HOME", &home).on_pipes();
    wait_until("both can be controlled", || sockets(&home).len() == 2);
    let (one, two) = (server.server.pid(), other.server.pid());
    let several = fault(&reload(&home, &[]));
    assert!(
        several.contains(&format!("--pid {one}: ptc ")) && several.contains(&format!("--pid {two}: ptc "))
    );
    let more = json!({"upstreams": {"fake": entry(""), "more": entry("")}});
    fs::write(server.server.launch.path("upstreams.json"), more.to_string()).expect("written");
    let text = told(&reload(&home, &["--pid", &one.to_string()]));
    assert!(text.contains("on a pipe") && text.contains("upstreams added: more"), "{text}");
    assert_eq!(server.eval("(count (tool/servers))"), "user=> 2");
    assert!(told(&reload(&home, &["--pid", &two.to_string()])).starts_with("nothing has changed"));
    for socket in sockets(&home) {
        assert_eq!(fs::metadata(&socket).expect("there").permissions().mode() & 0o777, 0o600);
        assert!(
            told(&reload(&home, &["--socket", socket.to_str().expect("UTF-8")])).starts_with("nothing has")
        );
    }
    other.finish();
    assert_eq!(sockets(&home).len(), 1, "the file goes with the server");
    assert!(fault(&reload(&home, &["--pid", &two.to_string()])).contains("does not listen in"));
    server.finish();
    assert!(sockets(&home).is_empty());
    assert!(fault(&reload(&home, &[])).contains("--state-dir"));
}

#[test]
fn sockets_of_the_dead_are_removed_and_those_of_the_living_stay() {
    let launch = Launch::new(&[]);
    let home = launch.path("");
    fs::create_dir_all(state(&home)).expect("a folder");
    let (stale, living) =
        (state(&home).join("control-1-dead.sock"), state(&home).join("control-1-lives.sock"));
    drop(UnixListener::bind(&stale).expect("bound"));
    let _listener = UnixListener::bind(&living).expect("bound");
    let other = state(&home).join("sign-ins");
    fs::write(&other, "not ours").expect("written");
    let server = launch.on_pipes();
    wait_until("it can be controlled", || sockets(&home).len() == 2 && !stale.exists());
    assert!(living.exists() && other.exists());
    server.finish();
}

#[test]
fn a_socket_refuses_what_it_does_not_know_and_goes_on() {
    let launch = Launch::new(&[]);
    let home = launch.path("");
    let server = on_pipes(launch);
    let socket = sockets(&home).remove(0);
    let stream = UnixStream::connect(&socket).expect("it listens");
    assert!(lines(&stream, "{\"method\":\"stop\"}\n")["error"].as_str().is_some());
    assert!(lines(&stream, "no JSON\n")["error"].as_str().is_some());
    assert_eq!(lines(&stream, "{\"method\":\"describe\"}\n")["pid"], server.server.pid());
    let long = format!("{}\n", "x".repeat(8192));
    let flood = UnixStream::connect(&socket).expect("it listens");
    assert_eq!(lines(&flood, &long), json!({"error": "the request is too long"}));
    // Commands that say nothing keep nobody away for long, and one that leaves stops nothing.
    let _silent: Vec<UnixStream> =
        (0..8).map(|_| UnixStream::connect(&socket).expect("it listens")).collect();
    (&stream).write_all(b"{\"method\":\"reload\"}\n").expect("it reads");
    drop(stream);
    server.server.launch.logged("reload_done");
    server.finish();
}

/// The outcome of a reload that another thread waits for.
fn in_background(home: &Path) -> std::thread::JoinHandle<std::process::Output> {
    let home = home.to_owned();
    std::thread::spawn(move || reload(&home, &[]))
}

#[test]
fn a_reload_that_waits_for_an_upstream_keeps_no_check_and_no_later_reload_waiting() {
    let server = on_http(&["--log-level", "info"]);
    let home = server.server.launch.path("");
    let before = fs::read_to_string(home.join("upstreams.json")).expect("text");
    let hangs =
        json!({"transport": "mcp_stdio", "command": "/bin/sleep", "args": ["1000"], "required": true});
    let both = json!({"upstreams": {"fake": entry(""), "hangs": hangs}}).to_string();
    fs::write(home.join("upstreams.json"), &both).expect("written");
    let first = in_background(&home);
    server.server.launch.logged("reload_begun");
    let hung = || -> Vec<u32> {
        let all = family(server.server.pid()).into_iter();
        all.filter(|(_, name)| name == "sleep").map(|(process, _)| process).collect()
    };
    wait_until("the upstream hangs", || !hung().is_empty());
    let of_first = hung();
    // More than there were places for commands once.
    for _ in 0..5 {
        let checked = told(&reload(&home, &["--check"]));
        assert!(checked.contains("upstreams added: hangs"), "{checked}");
    }
    let second = in_background(&home);
    let told_first = fault(&first.join().expect("it ends"));
    assert!(told_first.contains("a later reload has taken the place of this one"), "{told_first}");
    wait_until("that of the second hangs", || hung().iter().any(|process| !of_first.contains(process)));
    fs::write(home.join("upstreams.json"), before).expect("written");
    server.server.signal(Signal::SIGHUP);
    assert!(fault(&second.join().expect("it ends")).contains("a later reload"));
    server.server.launch.logged("reload_done");
    wait_until("nothing of the others is left", || hung().is_empty());
    assert_eq!(server.eval("(count (tool/servers))"), "user=> 1");
}

#[test]
fn a_server_that_has_no_place_for_a_command_says_so() {
    let server = on_http(&[]);
    let home = server.server.launch.path("");
    let socket = sockets(&home).remove(0);
    let _taken: Vec<UnixStream> =
        (0..32).map(|_| UnixStream::connect(&socket).expect("it listens")).collect();
    let busy = fault(&reload(&home, &[]));
    assert!(busy.contains("gives no answer: the server is busy"), "{busy}");
}

#[test]
fn a_state_folder_whose_path_is_too_long_is_told_by_server_and_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let long = folder.path().join("x".repeat(100));
    fs::create_dir(&long).expect("made");
    fs::set_permissions(&long, fs::Permissions::from_mode(0o700)).expect("set");
    let text = long.to_str().expect("UTF-8");
    let server = Launch::new(&["--state-dir", text, "--log-level", "warn"]).on_pipes();
    assert!(server.server.launch.logged("control_unavailable").contains("kill -HUP"));
    let refused = fault(&reload(folder.path(), &["--state-dir", text]));
    assert!(refused.contains("name a shorter folder with --state-dir"), "{refused}");
    server.finish();
}
