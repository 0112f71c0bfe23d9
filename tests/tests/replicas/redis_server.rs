//! A real `redis-server` on this machine.

use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use super::process::wait_until;

/// A server that ends with this value.
pub(crate) struct RedisServer {
    pub(crate) port: u16,
    child: Child,
    folder: tempfile::TempDir,
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.kill();
    }
}

fn program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join("redis-server")).find(|program| program.is_file())
}

impl RedisServer {
    /// One that keeps what it acknowledges; `None` where there is no such program and none is required.
    pub(crate) fn start() -> Option<RedisServer> {
        if program().is_none() {
            let is_required = std::env::var("PTC_TEST_REDIS").is_ok_and(|word| word == "required");
            assert!(!is_required, "there is no redis-server");
            return None;
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let folder = tempfile::tempdir().unwrap();
        let child = run(port, &folder);
        Some(RedisServer { port, child, folder })
    }

    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    pub(crate) fn run_again(&mut self) {
        self.child = run(self.port, &self.folder);
    }
}

fn run(port: u16, folder: &tempfile::TempDir) -> Child {
    let child = Command::new(program().expect("a redis-server"))
        .args(["--save", "", "--appendonly", "yes", "--appendfsync", "always", "--bind", "127.0.0.1"])
        .args(["--port", &port.to_string()])
        .arg("--dir")
        .arg(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("the store listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    child
}
