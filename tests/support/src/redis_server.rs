//! A real `redis-server` on this machine.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::child_process::on_a_free_port;
use crate::guarded::Guarded;
use crate::{PATIENCE, wait_until};

/// What it says once it has read what lies in its folder and has its port.
const READY: &str = "Ready to accept connections";

/// A server that ends with this value, or with this process.
pub struct RedisServer {
    /// Where it listens, on the loopback address.
    pub port: u16,
    child: Guarded,
    folder: PathBuf,
    arguments: Vec<String>,
    /// Deletes the folder, if it was made for this server.
    _made: Option<tempfile::TempDir>,
}

fn program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join("redis-server")).find(|program| program.is_file())
}

/// Whether there is such a program on this machine.
///
/// # Panics
/// If there is none and `PTC_TEST_REDIS` is `required`.
pub fn is_there() -> bool {
    let is_required = std::env::var("PTC_TEST_REDIS").is_ok_and(|word| word == "required");
    let is_there = program().is_some();
    assert!(is_there || !is_required, "there is no redis-server");
    is_there
}

impl RedisServer {
    /// One that keeps what it acknowledges; `None` where there is no such program and `PTC_TEST_REDIS` is not `required`.
    ///
    /// # Panics
    /// If one is required and there is none, or none takes connections.
    pub fn start() -> Option<RedisServer> {
        let made = tempfile::tempdir().expect("a folder");
        let server = RedisServer::start_in(made.path())?;
        Some(RedisServer { _made: Some(made), ..server })
    }

    /// The same in a folder that is there.
    ///
    /// # Panics
    /// As [`RedisServer::start`] does.
    pub fn start_in(folder: &Path) -> Option<RedisServer> {
        // What was handed to the system outlives `kill -9`; a disk that is busy with other things would only make it slow.
        let durable = ["--appendonly", "yes", "--appendfsync", "no"].map(str::to_owned);
        RedisServer::start_with(folder, |port| {
            [vec!["--port".to_owned(), port.to_string()], durable.to_vec()].concat()
        })
    }

    /// One with the arguments that are made of its port, such as `--port`, in a folder that is there.
    ///
    /// # Panics
    /// As [`RedisServer::start`] does.
    pub fn start_with(folder: &Path, arguments: impl Fn(u16) -> Vec<String>) -> Option<RedisServer> {
        if !is_there() {
            return None;
        }
        let started = on_a_free_port(|free| spawn(folder, &arguments(free.port())), |_, _| is_ready(folder));
        let (child, address) = started.expect("a redis-server takes connections");
        let (port, folder) = (address.port(), folder.to_owned());
        Some(RedisServer { port, child, folder, arguments: arguments(port), _made: None })
    }

    /// Kills it. What it has acknowledged and keeps is on the disk.
    pub fn kill(&mut self) {
        self.child.kill();
    }

    /// Runs it again on the same port and with what it had.
    ///
    /// # Panics
    /// If somebody else took its port.
    pub fn run_again(&mut self) {
        self.child = spawn(&self.folder, &self.arguments);
        wait_until("it takes connections", || {
            assert!(self.child.ended().is_none(), "its port is taken");
            is_ready(&self.folder)
        });
    }

    /// Sends a command in the clear and gives the answer as it came. `-` and `:` begin short ones.
    ///
    /// # Panics
    /// If there is no answer.
    pub fn ask(&self, command: &[&str]) -> String {
        let mut connection = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        connection.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let mut text = format!("*{}\r\n", command.len());
        for part in command {
            text += &format!("${}\r\n{part}\r\n", part.len());
        }
        connection.write_all(text.as_bytes()).expect("it reads");
        let mut answer = [0; 4096];
        let length = connection.read(&mut answer).expect("an answer");
        String::from_utf8_lossy(&answer[..length]).into_owned()
    }
}

fn log(folder: &Path) -> PathBuf {
    folder.join("log")
}

fn spawn(folder: &Path, arguments: &[String]) -> Guarded {
    // That of an earlier one would say that this one is ready.
    let _ = std::fs::remove_file(log(folder));
    let mut command = Command::new(program().expect("a redis-server"));
    command.args(["--save", "", "--bind", "127.0.0.1", "--daemonize", "no", "--dir"]).arg(folder);
    command.arg("--logfile").arg(log(folder)).args(arguments);
    Guarded::run(&command, None)
}

/// Whoever takes connections at its port may be somebody else: it says so itself.
fn is_ready(folder: &Path) -> bool {
    std::fs::read_to_string(log(folder)).is_ok_and(|log| log.contains(READY))
}
