//! A real `redis-server` on this machine.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::guarded::Guarded;

/// A server that ends with this value, or with this process.
pub struct RedisServer {
    /// Where it listens, on the loopback address.
    pub port: u16,
    child: Guarded,
    folder: PathBuf,
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
        if !is_there() {
            return None;
        }
        // It tells of its folder by the name that the system has for it.
        let folder = folder.canonicalize().expect("a folder");
        // Another process may take the port first; then the server ends, and another port is tried.
        for _ in 0..20 {
            let free = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
            let port = free.expect("a port").port();
            if let Some(child) = run(port, &folder) {
                return Some(RedisServer { port, child, folder, _made: None });
            }
        }
        panic!("no redis-server takes connections");
    }

    /// Kills it. What it has acknowledged is on the disk.
    pub fn kill(&mut self) {
        self.child.kill();
    }

    /// Runs it again on the same port and with what it had.
    ///
    /// # Panics
    /// If somebody else took its port.
    pub fn run_again(&mut self) {
        self.child = run(self.port, &self.folder).expect("its port is free");
    }
}

/// A server that takes connections; `None` if it ends, because somebody else has the port.
fn run(port: u16, folder: &Path) -> Option<Guarded> {
    let mut command = Command::new(program().expect("a redis-server"));
    command
        // What was handed to the system outlives `kill -9`; a disk that is busy with other things would only make it slow.
        .args(["--save", "", "--appendonly", "yes", "--appendfsync", "no", "--bind", "127.0.0.1"])
        .args(["--port", &port.to_string()])
        .arg("--dir")
        .arg(folder);
    let mut child = Guarded::run(&command, None);
    while child.ended().is_none() {
        if lies_in(port, folder).unwrap_or(false) {
            return Some(child);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    None
}

/// Whether the server at that port is the one of this folder, and has read what lies there.
fn lies_in(port: u16, folder: &Path) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    stream.write_all(b"PING\r\nCONFIG GET dir\r\nQUIT\r\n")?;
    let mut told = String::new();
    stream.read_to_string(&mut told)?;
    Ok(told.starts_with("+PONG") && told.contains(&*folder.to_string_lossy()))
}
