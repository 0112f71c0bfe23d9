//! What tests ask of a child process: its lines, its memory, its port; and where programs to run are.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use crate::guarded::Guarded;
use crate::wait_until;

/// A program of the package whose tests run, such as `fake-upstream`. Cargo names it to the tests themselves only.
///
/// # Panics
/// If it was not built.
#[must_use]
pub fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a program");
    // `target/debug/deps/it-0123`, and beside `deps` the programs.
    let folder = test.parent().and_then(|deps| deps.parent()).expect("the folder of a profile");
    let program = folder.join(name);
    assert!(
        program.is_file(),
        "{} is missing: cargo builds it with the tests of its package, or by `cargo build -p ptc-tests --bin {name}`",
        program.display()
    );
    program
}

/// The same as a text, for configurations.
///
/// # Panics
/// As [`program`] does.
#[must_use]
pub fn program_text(name: &str) -> String {
    program(name).to_str().expect("UTF-8").to_owned()
}

/// Copies a program. A test that wrote the copy itself could not start it for as long as any child has inherited the descriptor that is
/// open for writing, which those have that other tests begin to start meanwhile ("Text file busy"): so a child writes it.
///
/// # Panics
/// If it cannot be copied.
pub fn copy_program(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg(from).arg(to).status().expect("cp is there");
    assert!(copied.success(), "{} is not copied to {}", from.display(), to.display());
}

/// Writes a program that is a script; by a child, as [`copy_program`] does.
///
/// # Panics
/// If it cannot be written.
pub fn write_program(path: &Path, script: &str) {
    let mut child = Command::new("sh")
        .args(["-c", "cat > \"$0\" && chmod 700 \"$0\""])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .expect("sh is there");
    child.stdin.take().expect("piped").write_all(script.as_bytes()).expect("it reads");
    assert!(child.wait().expect("it ran").success(), "{} is not written", path.display());
}

/// This binary, to be run for the one test `name` of the module whose `module_path!()` is given.
///
/// # Panics
/// If the binary cannot be found.
#[must_use]
pub fn own_test(module_path: &str, name: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("a program"));
    command.args(["--exact", &own_test_name(module_path, name)]);
    command
}

/// The full name of the test `name` of that module.
#[must_use]
pub fn own_test_name(module_path: &str, name: &str) -> String {
    // The first part is the crate, which names of tests do not have.
    let inside = module_path.split_once("::").map_or("", |(_, inside)| inside);
    if inside.is_empty() { name.to_owned() } else { format!("{inside}::{name}") }
}

/// The lines of a child's output, read on a thread of their own so that the child never waits for the test.
pub fn lines(output: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines() {
            if sender.send(line.expect("UTF-8")).is_err() {
                return;
            }
        }
    });
    lines
}

/// Most memory that a process ever had, in bytes.
///
/// # Panics
/// If it does not run.
#[must_use]
pub fn peak_memory(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("a running process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
}

/// Whether a process listens on this port: somebody else may who was faster. Where the system tells of no sockets it is believed to.
#[must_use]
pub fn listens(process: u32, port: u16) -> bool {
    const LISTENING: &str = "0A";
    let Ok(sockets) = std::fs::read_to_string("/proc/net/tcp") else { return true };
    let end = format!(":{port:04X}");
    let listening = sockets.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let is_wanted = fields.len() > 9 && fields[1].ends_with(&end) && fields[3] == LISTENING;
        is_wanted.then(|| format!("socket:[{}]", fields[9]))
    });
    let listening: Vec<String> = listening.collect();
    let open = std::fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    let mut open = open.filter_map(|descriptor| std::fs::read_link(descriptor.path()).ok());
    open.any(|target| listening.iter().any(|socket| target.as_os_str() == socket.as_str()))
}

/// A process that may end by itself.
pub trait Process {
    /// Whether it has ended.
    fn has_ended(&mut self) -> bool;
}

impl Process for Child {
    fn has_ended(&mut self) -> bool {
        self.try_wait().expect("it ran").is_some()
    }
}

impl Process for Guarded {
    fn has_ended(&mut self) -> bool {
        self.ended().is_some()
    }
}

/// Starts a server on a free port of this machine and waits until it is ready; `None` if it ends instead, ten times over. Between finding
/// a free port and binding it somebody else may take it: then the next one is tried.
///
/// # Panics
/// If it neither ends nor becomes ready.
pub fn on_a_free_port<P: Process>(
    mut start: impl FnMut(SocketAddr) -> P,
    mut is_ready: impl FnMut(&P, SocketAddr) -> bool,
) -> Option<(P, SocketAddr)> {
    (0..10).find_map(|_| {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port");
        let mut process = start(free);
        let mut is_there = false;
        wait_until("it is ready or has ended", || {
            is_there = !process.has_ended() && is_ready(&process, free);
            is_there || process.has_ended()
        });
        is_there.then_some((process, free))
    })
}
