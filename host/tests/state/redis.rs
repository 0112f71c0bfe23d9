//! The store in a real `redis-server`: alone, with a password, with TLS, as a cluster of three.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use ptc_host::state::{RedisOptions, RedisState, SealedState, Secret, StateStore, StoreLimits};

use crate::{BackEnd, Handles};

/// The program, if it is there.
pub(crate) fn program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join("redis-server")).find(|program| program.is_file())
}

/// Which server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Alone,
    Password,
    Tls,
    Cluster,
}

/// The password of servers that have one.
pub(crate) const PASSWORD: &str = "of the test, and long";

/// A server that ends with this value.
pub(crate) struct Server {
    pub(crate) port: u16,
    child: Option<Child>,
    folder: tempfile::TempDir,
    arguments: Vec<String>,
    /// The authority of its certificate, if it has one.
    pub(crate) ca: Option<Vec<u8>>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A port that nobody has now, also not ten thousand above, where nodes of a cluster talk.
fn free_port() -> u16 {
    loop {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        if port < 55_000 && TcpListener::bind(("127.0.0.1", port + 10_000)).is_ok() {
            return port;
        }
    }
}

/// Certificate, key and authority as PEM files in `folder`.
fn certify(folder: &Path) -> Vec<u8> {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
    let ca_key = KeyPair::generate().unwrap();
    let mut ca = CertificateParams::new(Vec::new()).unwrap();
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca_certificate = ca.self_signed(&ca_key).unwrap();
    let key = KeyPair::generate().unwrap();
    let own = CertificateParams::new(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    let certificate = own.signed_by(&key, &Issuer::new(ca, ca_key)).unwrap();
    std::fs::write(folder.join("cert.pem"), certificate.pem()).unwrap();
    std::fs::write(folder.join("key.pem"), key.serialize_pem()).unwrap();
    std::fs::write(folder.join("ca.pem"), ca_certificate.pem()).unwrap();
    ca_certificate.pem().into_bytes()
}

impl Server {
    /// A server of that shape, which takes connections.
    pub(crate) fn start(shape: Shape, more: &[&str]) -> Server {
        // Another process may take the port first; then the server ends, and another port is tried.
        let mut tries = (0..20).map(|_| Server::on_a_free_port(shape, more));
        tries.find_map(|mut server| server.starts().then_some(server)).expect("it takes connections")
    }

    /// One that does not run yet.
    fn on_a_free_port(shape: Shape, more: &[&str]) -> Server {
        let folder = tempfile::tempdir().unwrap();
        let port = free_port();
        let at = |file: &str| folder.path().join(file).display().to_string();
        let mut arguments: Vec<String> =
            ["--save", "", "--appendonly", "no", "--bind", "127.0.0.1", "--daemonize", "no"]
                .map(str::to_owned)
                .to_vec();
        arguments.extend(["--dir".to_owned(), folder.path().display().to_string()]);
        let mut ca = None;
        match shape {
            Shape::Tls => {
                ca = Some(certify(folder.path()));
                let tls = [
                    ("--port", "0".to_owned()),
                    ("--tls-port", port.to_string()),
                    ("--tls-cert-file", at("cert.pem")),
                    ("--tls-key-file", at("key.pem")),
                    ("--tls-ca-cert-file", at("ca.pem")),
                    ("--tls-auth-clients", "no".to_owned()),
                ];
                arguments.extend(tls.into_iter().flat_map(|(name, value)| [name.to_owned(), value]));
            }
            _ => arguments.extend(["--port".to_owned(), port.to_string()]),
        }
        if shape == Shape::Password {
            // On the command line of a test's own server only.
            arguments.extend(["--requirepass".to_owned(), PASSWORD.to_owned()]);
        }
        if shape == Shape::Cluster {
            let cluster = [
                "--cluster-enabled",
                "yes",
                "--cluster-node-timeout",
                "2000",
                "--cluster-config-file",
                "nodes.conf",
            ];
            arguments.extend(cluster.map(str::to_owned));
        }
        arguments.extend(more.iter().map(|&argument| argument.to_owned()));
        Server { port, child: None, folder, arguments, ca }
    }

    /// Starts it again.
    pub(crate) fn run(&mut self) {
        assert!(self.starts(), "somebody else has its port");
    }

    /// Starts it. `false` if somebody else has its port.
    fn starts(&mut self) -> bool {
        let path = self.folder.path().join("log");
        let log = std::fs::File::create(&path).unwrap();
        let child = Command::new(program().expect("a redis-server"))
            .args(&self.arguments)
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let child = self.child.insert(child);
        let end = Instant::now() + Duration::from_secs(30);
        // Whoever takes connections at that port may be somebody else: it says so itself.
        loop {
            let log = std::fs::read_to_string(&path).unwrap_or_default();
            if log.contains("Ready to accept connections") {
                return true;
            }
            if child.try_wait().unwrap().is_some() {
                return false;
            }
            assert!(Instant::now() < end, "{log}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Kills it.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Sends a command in the clear and gives the answer as it came. `-` and `:` begin short ones.
    pub(crate) fn ask(&self, command: &[&str]) -> String {
        let mut connection = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        connection.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut text = format!("*{}\r\n", command.len());
        for part in command {
            text += &format!("${}\r\n{part}\r\n", part.len());
        }
        connection.write_all(text.as_bytes()).unwrap();
        let mut answer = [0; 4096];
        let length = connection.read(&mut answer).unwrap();
        String::from_utf8_lossy(&answer[..length]).into_owned()
    }

    /// How a store reaches it.
    pub(crate) fn options(&self, shape: Shape) -> RedisOptions {
        let scheme = if shape == Shape::Tls { "rediss" } else { "redis" };
        let mut options = RedisOptions::of(format!("{scheme}://localhost:{}", self.port));
        if shape == Shape::Cluster {
            options.url = format!("redis://127.0.0.1:{}", self.port);
        }
        options.cluster = shape == Shape::Cluster;
        options.ca = self.ca.clone();
        options.password = (shape == Shape::Password).then(|| PASSWORD.to_owned().into());
        options
    }
}

/// Three nodes that share all slots.
pub(crate) fn cluster() -> Vec<Server> {
    let nodes: Vec<_> = (0..3).map(|_| Server::start(Shape::Cluster, &[])).collect();
    for (at, node) in nodes.iter().enumerate() {
        let slots = [0, 5461, 10923, 16384];
        let (from, to) = (slots[at].to_string(), (slots[at + 1] - 1).to_string());
        let answer = node.ask(&["CLUSTER", "ADDSLOTSRANGE", &from, &to]);
        assert!(answer.starts_with("+OK"), "{answer}");
        let answer = node.ask(&["CLUSTER", "SET-CONFIG-EPOCH", &(at + 1).to_string()]);
        assert!(answer.starts_with("+OK"), "{answer}");
    }
    for node in &nodes[1..] {
        let answer = node.ask(&["CLUSTER", "MEET", "127.0.0.1", &nodes[0].port.to_string()]);
        assert!(answer.starts_with("+OK"), "{answer}");
    }
    let end = Instant::now() + Duration::from_secs(60);
    let is_whole = |node: &Server| {
        let info = node.ask(&["CLUSTER", "INFO"]);
        info.contains("cluster_state:ok") && info.contains("cluster_known_nodes:3")
    };
    while !nodes.iter().all(is_whole) {
        assert!(Instant::now() < end, "{}", nodes[0].ask(&["CLUSTER", "INFO"]));
        std::thread::sleep(Duration::from_millis(20));
    }
    nodes
}

/// A store of one of these servers: each has a namespace of its own.
pub(crate) struct Redis {
    shape: Shape,
    /// Started at the first test that needs them.
    servers: OnceLock<Vec<Server>>,
    stores: AtomicU32,
}

impl Redis {
    pub(crate) fn of(shape: Shape) -> Redis {
        Redis { shape, servers: OnceLock::new(), stores: AtomicU32::new(0) }
    }

    fn servers(&self) -> &[Server] {
        self.servers.get_or_init(|| match self.shape {
            Shape::Cluster => cluster(),
            _ => vec![Server::start(self.shape, &[])],
        })
    }
}

impl BackEnd for Redis {
    fn name(&self) -> &'static str {
        match self.shape {
            Shape::Alone => "redis",
            Shape::Password => "redis_password",
            Shape::Tls => "redis_tls",
            Shape::Cluster => "redis_cluster",
        }
    }

    fn open(&self, limits: StoreLimits) -> Handles {
        let mut options = self.servers()[0].options(self.shape);
        options.namespace = format!("test-{}", self.stores.fetch_add(1, Ordering::Relaxed));
        options.limits = limits;
        // As two processes: each has its own connection. With TLS they seal, as a server does.
        let handle = || -> Arc<dyn StateStore> {
            let store = Arc::new(RedisState::new(&options).unwrap());
            if self.shape != Shape::Tls {
                return store;
            }
            let secret = Secret::of(&[b"a secret of at least 32 bytes, so long"]).unwrap();
            Arc::new(SealedState::new(store, &secret))
        };
        Handles { one: handle(), other: handle() }
    }
}
