//! The places where tests keep their sessions.

use std::any::Any;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use ptc_host::state::{
    Flushing, MemoryState, RedbOptions, RedbState, RedisOptions, RedisState, SealedState, Secret, StateStore,
    StoreLimits,
};

/// The place of sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Back {
    /// In the process.
    Here,
    /// In a store in memory.
    Memory,
    /// In a store in a file.
    File,
    /// In a store in a server, sealed.
    Server,
    /// In the server that `PTC_TEST_SERVER` names, over HTTP.
    Named,
}

/// A store that several processes share; its dependencies live as long as this.
pub(super) struct Shared {
    open: Box<dyn Fn() -> Arc<dyn StateStore> + Send + Sync>,
    _kept: Box<dyn Any + Send + Sync>,
}

impl Shared {
    /// The store for one more process.
    pub(super) fn handle(&self) -> Arc<dyn StateStore> {
        (self.open)()
    }
}

impl Back {
    /// An empty store of this kind. `None` for sessions in the process, and if there is no `redis-server`, unless
    /// `PTC_TEST_REDIS=required`.
    pub(super) fn store(self, limits: StoreLimits) -> Option<Shared> {
        match self {
            Back::Here | Back::Named => None,
            Back::Memory => {
                let store = MemoryState::new(limits);
                Some(Shared { open: Box::new(move || Arc::new(store.clone())), _kept: Box::new(()) })
            }
            Back::File => {
                let folder = tempfile::tempdir().expect("a folder");
                let options =
                    RedbOptions { folder: folder.path().join("state"), flushing: Flushing::Process, limits };
                let store = RedbState::open(options).expect("a new file");
                Some(Shared { open: Box::new(move || Arc::new(store.clone())), _kept: Box::new(folder) })
            }
            Back::Server => {
                let server = RedisServer::start()?;
                let options =
                    RedisOptions { limits, ..RedisOptions::of(format!("redis://127.0.0.1:{}", server.port)) };
                let secret = Secret::random().expect("random bytes");
                let open = move || -> Arc<dyn StateStore> {
                    let store = RedisState::new(&options).expect("an address");
                    Arc::new(SealedState::new(Arc::new(store), &secret))
                };
                Some(Shared { open: Box::new(open), _kept: Box::new(server) })
            }
        }
    }
}

/// A `redis-server` of the system, which is stopped with this value.
struct RedisServer {
    port: u16,
    child: Child,
    _folder: tempfile::TempDir,
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl RedisServer {
    fn start() -> Option<RedisServer> {
        let folder = tempfile::tempdir().expect("a folder");
        // Another process may take the port first; then the server ends, and another port is tried.
        for _ in 0..20 {
            let port =
                TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port").port();
            let started = Command::new("redis-server")
                .args([
                    "--save",
                    "",
                    "--appendonly",
                    "no",
                    "--bind",
                    "127.0.0.1",
                    "--port",
                    &port.to_string(),
                    "--dir",
                ])
                .arg(folder.path())
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn();
            let mut child = match started {
                Ok(child) => child,
                Err(_) if std::env::var("PTC_TEST_REDIS").is_ok_and(|wanted| wanted == "required") => {
                    panic!("there is no redis-server")
                }
                Err(_) => {
                    println!("left out: there is no redis-server");
                    return None;
                }
            };
            while child.try_wait().expect("a child").is_none() {
                if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                    return Some(RedisServer { port, child, _folder: folder });
                }
                std::thread::yield_now();
            }
        }
        panic!("no redis-server takes connections");
    }
}
