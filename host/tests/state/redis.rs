//! The store in a real `redis-server`: alone, with a password, with TLS, as a cluster of three.

use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use ptc_host::state::{RedisOptions, RedisState, SealedState, Secret, StateStore, StoreLimits};
use ptc_test_support::redis_server::RedisServer;
use ptc_test_support::wait_until;

use crate::{BackEnd, Handles, Time};

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
    redis: RedisServer,
    /// The authority of its certificate, if it has one.
    pub(crate) ca: Option<Vec<u8>>,
    _folder: tempfile::TempDir,
}

impl Deref for Server {
    type Target = RedisServer;

    fn deref(&self) -> &RedisServer {
        &self.redis
    }
}

impl DerefMut for Server {
    fn deref_mut(&mut self) -> &mut RedisServer {
        &mut self.redis
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
        let folder = tempfile::tempdir().unwrap();
        let ca = (shape == Shape::Tls).then(|| certify(folder.path()));
        let at = |file: &str| folder.path().join(file).display().to_string();
        let redis = RedisServer::start_with(folder.path(), |port| {
            let port = port.to_string();
            let (cert, key, ca) = (at("cert.pem"), at("key.pem"), at("ca.pem"));
            let own: &[&str] = match shape {
                Shape::Alone => &["--port", &port],
                // On the command line of a test's own server only.
                Shape::Password => &["--port", &port, "--requirepass", PASSWORD],
                Shape::Tls => &[
                    "--port",
                    "0",
                    "--tls-port",
                    &port,
                    "--tls-cert-file",
                    &cert,
                    "--tls-key-file",
                    &key,
                    "--tls-ca-cert-file",
                    &ca,
                    "--tls-auth-clients",
                    "no",
                ],
                // Nodes talk ten thousand ports above; one that has no such port ends, and another is tried.
                Shape::Cluster => &[
                    "--port",
                    &port,
                    "--cluster-enabled",
                    "yes",
                    "--cluster-node-timeout",
                    "2000",
                    "--cluster-config-file",
                    "nodes.conf",
                ],
            };
            [&["--appendonly", "no"], own, more].concat().into_iter().map(str::to_owned).collect()
        });
        Server { redis: redis.expect("a redis-server"), ca, _folder: folder }
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
    wait_until("the cluster is whole", || {
        nodes.iter().all(|node| {
            let info = node.ask(&["CLUSTER", "INFO"]);
            info.contains("cluster_state:ok") && info.contains("cluster_known_nodes:3")
        })
    });
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
        Handles { one: handle(), other: handle(), time: Time::OfServer }
    }
}
