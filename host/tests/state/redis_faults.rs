//! Servers that die, are full, slow, take no writes, or refuse the password; and what lies in them.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use libtest_mimic::Trial;
use ptc_host::state::{
    Claim, Claimed, Commit, Key, Kind, Owner, RedisOptions, RedisState, SealedState, Secret, StateError,
    StateStore, Write,
};
use ptc_host::time::Clock;
use ptc_test_support::{wait_until, wait_until_async};

use crate::redis::{Server, Shape, cluster};

/// All of them.
pub(crate) fn trials() -> impl Iterator<Item = Trial> {
    let all: [(&str, fn()); 8] = [
        ("a_killed_server_is_told_and_comes_back", a_killed_server_is_told_and_comes_back),
        ("a_full_server_refuses_and_reads_go_on", a_full_server_refuses_and_reads_go_on),
        ("a_slow_server_has_a_deadline", a_slow_server_has_a_deadline),
        ("a_server_that_takes_no_writes_is_told", a_server_that_takes_no_writes_is_told),
        ("a_wrong_password_is_told_and_not_shown", a_wrong_password_is_told_and_not_shown),
        ("a_certificate_of_somebody_else_is_refused", a_certificate_of_somebody_else_is_refused),
        (
            "what_lies_in_the_server_cannot_be_read_forged_or_swapped",
            what_lies_in_the_server_cannot_be_read_forged_or_swapped,
        ),
        ("a_slot_that_moves_is_followed", a_slot_that_moves_is_followed),
    ];
    all.into_iter().map(|(name, test)| {
        Trial::test(format!("redis::{name}"), move || {
            let _entered = Clock::stepped().enter();
            test();
            Ok(())
        })
    })
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn key() -> Key {
    Key::new(&Owner::principal("alice"), Kind::Session, "ses_1").unwrap()
}

fn put(version: u64, blob: &[u8]) -> Commit {
    Commit::one(Write::put(key(), version, blob.to_vec()))
}

fn claim() -> Claim {
    Claim { holder: "one".into(), lease: Duration::from_secs(60), rest: None, known: 0, creates: false }
}

fn is_unavailable<T>(answer: &Result<T, StateError>) -> bool {
    matches!(answer, Err(StateError::Unavailable(_)))
}

fn a_killed_server_is_told_and_comes_back() {
    let runtime = runtime();
    let mut server = Server::start(Shape::Alone, &["--appendonly", "yes", "--appendfsync", "always"]);
    let store = RedisState::new(&server.options(Shape::Alone)).unwrap();
    runtime.block_on(store.commit(put(0, b"kept"))).unwrap();
    server.kill();
    for _ in 0..4 {
        assert!(is_unavailable(&runtime.block_on(store.read(&key()))));
        assert!(is_unavailable(&runtime.block_on(store.commit(put(1, b"lost")))));
        assert!(is_unavailable(&runtime.block_on(store.claim(&key(), claim()))));
        assert!(is_unavailable(&runtime.block_on(store.spend(
            &Owner::principal("a"),
            &[1; 16],
            Duration::from_secs(9)
        ))));
    }
    server.run_again();
    wait_until("the server is found again", || runtime.block_on(store.read(&key())).is_ok());
    let found = runtime.block_on(store.read(&key())).unwrap().unwrap();
    assert_eq!((found.version, found.blob.as_deref()), (1, Some(&b"kept"[..])));
    runtime.block_on(store.commit(put(1, b"goes on"))).unwrap();
    // A store that was never there at the start comes by itself too.
    server.kill();
    let late = RedisState::new(&server.options(Shape::Alone)).unwrap();
    assert!(is_unavailable(&runtime.block_on(late.read(&key()))));
    server.run_again();
    wait_until("the server is found at last", || runtime.block_on(late.read(&key())).is_ok());
}

fn a_full_server_refuses_and_reads_go_on() {
    let runtime = runtime();
    let server = Server::start(Shape::Alone, &["--maxmemory-policy", "noeviction"]);
    let store = RedisState::new(&server.options(Shape::Alone)).unwrap();
    runtime.block_on(store.commit(put(0, b"kept"))).unwrap();
    assert!(server.ask(&["CONFIG", "SET", "maxmemory", "1mb"]).starts_with("+OK"));
    let refused = runtime.block_on(store.commit(put(1, &vec![7; 1 << 20])));
    let Err(StateError::Unavailable(said)) = refused else { panic!("{refused:?}") };
    assert!(said.contains("OOM"), "{said}");
    let found = runtime.block_on(store.read(&key()));
    assert_eq!(found.map(|found| found.map(|found| found.version)), Ok(Some(1)));
    assert!(server.ask(&["CONFIG", "SET", "maxmemory", "0"]).starts_with("+OK"));
    runtime.block_on(store.commit(put(1, b"goes on"))).unwrap();
}

/// A wire to a server that can hold back what goes through it.
struct SlowWire {
    port: u16,
    state: Arc<(Mutex<WireState>, Condvar)>,
}

#[derive(Default)]
struct WireState {
    holds: bool,
    /// Pieces that were ever held back.
    held: usize,
}

impl SlowWire {
    fn to(port: u16) -> SlowWire {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let own = listener.local_addr().unwrap().port();
        let state = Arc::<(Mutex<WireState>, Condvar)>::default();
        let of_wire = state.clone();
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (Ok(client), Ok(server)) = (client, TcpStream::connect(("127.0.0.1", port))) else {
                    return;
                };
                let ways = [(client.try_clone().unwrap(), server.try_clone().unwrap()), (server, client)];
                for (mut from, mut to) in ways {
                    let of_wire = of_wire.clone();
                    std::thread::spawn(move || {
                        let mut bytes = [0; 65536];
                        while let Ok(length @ 1..) = from.read(&mut bytes) {
                            let (state, changed) = &*of_wire;
                            let mut state = state.lock().unwrap();
                            state.held += usize::from(state.holds);
                            drop(changed.wait_while(state, |state| state.holds).unwrap());
                            if to.write_all(&bytes[..length]).is_err() {
                                return;
                            }
                        }
                        let _ = to.shutdown(std::net::Shutdown::Both);
                    });
                }
            }
        });
        SlowWire { port: own, state }
    }

    fn hold(&self, holds: bool) {
        self.state.0.lock().unwrap().holds = holds;
        self.state.1.notify_all();
    }

    fn held(&self) -> usize {
        self.state.0.lock().unwrap().held
    }
}

fn a_slow_server_has_a_deadline() {
    let runtime = runtime();
    let server = Server::start(Shape::Alone, &[]);
    let wire = SlowWire::to(server.port);
    let options = RedisOptions::of(format!("redis://127.0.0.1:{}", wire.port));
    let store = RedisState::new(&options).unwrap();
    runtime.block_on(store.commit(put(0, b"kept"))).unwrap();
    wire.hold(true);
    let late = async {
        wait_until_async("the command is held back", async || wire.held() > 0).await;
        Clock::current().advance(Duration::from_secs(60));
    };
    let (refused, ()) = runtime.block_on(async { tokio::join!(store.commit(put(1, b"late")), late) });
    assert!(is_unavailable(&refused), "{refused:?}");
    wire.hold(false);
    wait_until("the wire is quick again", || runtime.block_on(store.read(&key())).is_ok());
    // Whether it was done is told by the version; it is never done twice.
    wait_until("the late command arrives, or never does", || {
        let version = runtime.block_on(store.read(&key())).unwrap().unwrap().version;
        let again = runtime.block_on(store.commit(put(1, b"again")));
        match version {
            1 => again.is_ok(),
            _ => again == Err(StateError::Conflict),
        }
    });
    let version = runtime.block_on(store.read(&key())).unwrap().unwrap().version;
    assert_eq!(version, 2);
}

fn a_server_that_takes_no_writes_is_told() {
    let runtime = runtime();
    let main = Server::start(Shape::Alone, &[]);
    let server = Server::start(Shape::Alone, &[]);
    let store = RedisState::new(&server.options(Shape::Alone)).unwrap();
    runtime.block_on(store.commit(put(0, b"kept"))).unwrap();
    assert!(server.ask(&["REPLICAOF", "127.0.0.1", &main.port.to_string()]).starts_with("+OK"));
    let refused = runtime.block_on(store.commit(put(1, b"lost")));
    assert!(is_unavailable(&refused), "{refused:?}");
    assert!(server.ask(&["REPLICAOF", "NO", "ONE"]).starts_with("+OK"));
    wait_until("the server takes writes again", || {
        runtime.block_on(store.spend(&Owner::principal("a"), &[1; 16], Duration::from_secs(60))).is_ok()
    });
}

fn a_wrong_password_is_told_and_not_shown() {
    let runtime = runtime();
    let server = Server::start(Shape::Password, &[]);
    for password in [None, Some("wrong, but secret")] {
        let mut options = server.options(Shape::Password);
        options.password = password.map(|password| password.to_owned().into());
        let store = RedisState::new(&options).unwrap();
        let Err(StateError::Unavailable(said)) = runtime.block_on(store.read(&key())) else { panic!() };
        assert!(!said.contains("secret"), "{said}");
    }
}

fn a_certificate_of_somebody_else_is_refused() {
    let runtime = runtime();
    let (server, other) = (Server::start(Shape::Tls, &[]), Server::start(Shape::Tls, &[]));
    for ca in [None, other.ca.clone()] {
        let mut options = server.options(Shape::Tls);
        options.ca = ca;
        let store = RedisState::new(&options).unwrap();
        assert!(is_unavailable(&runtime.block_on(store.read(&key()))));
    }
    let store = RedisState::new(&server.options(Shape::Tls)).unwrap();
    runtime.block_on(store.commit(put(0, b"kept"))).unwrap();
}

fn what_lies_in_the_server_cannot_be_read_forged_or_swapped() {
    let runtime = runtime();
    let server = Server::start(Shape::Alone, &[]);
    let store = |secret: &[&[u8]]| {
        let store = RedisState::new(&server.options(Shape::Alone)).unwrap();
        SealedState::new(Arc::new(store), &Secret::of(secret).unwrap())
    };
    let (old, new): (&[u8], &[u8]) =
        (b"an old secret of at least 32 bytes", b"a newer secret of at least 32 bytes");
    let sealed = store(&[old]);
    let text = b"nobody else reads this";
    for (principal, id) in [("alice", "ses_1"), ("alice", "ses_2"), ("bob", "ses_1")] {
        let key = Key::new(&Owner::principal(principal), Kind::Session, id).unwrap();
        runtime.block_on(sealed.commit(Commit::one(Write::put(key, 0, text.to_vec())))).unwrap();
    }
    // Whoever has the server finds neither names nor content.
    let keys = server.ask(&["KEYS", "*"]);
    assert!(!keys.contains("alice") && !keys.contains("bob"), "{keys}");
    let names: Vec<String> =
        keys.split("\r\n").filter(|key| key.contains(":s:")).map(str::to_owned).collect();
    assert_eq!(names.len(), 3);
    for name in &names {
        assert!(!server.ask(&["HGETALL", name]).contains("nobody"));
    }
    // Records that were swapped or given another version are none.
    let copy = |from: &str, to: &str| {
        let script = "redis.call('HSET', KEYS[2], 'b', redis.call('HGET', KEYS[1], 'b')) return 1";
        assert!(server.ask(&["EVAL", script, "2", from, to]).starts_with(":1"));
    };
    let read = |store: &SealedState| runtime.block_on(store.read(&key())).map(|found| found.is_some());
    let mine = names.iter().find(|name| is_alices(name, "ses_1")).expect("a record of alice").clone();
    assert_eq!(read(&sealed), Ok(true));
    let kept = names.iter().find(|name| **name != mine).unwrap();
    server.ask(&["COPY", &mine, "kept"]);
    copy(kept, &mine);
    assert_eq!(read(&sealed), Err(StateError::Corrupt));
    assert!(matches!(runtime.block_on(sealed.claim(&key(), claim())), Err(StateError::Corrupt)));
    server.ask(&["COPY", "kept", &mine, "REPLACE"]);
    assert_eq!(read(&sealed), Ok(true));
    server.ask(&["HSET", &mine, "v", "2"]);
    assert_eq!(read(&sealed), Err(StateError::Corrupt));
    server.ask(&["HSET", &mine, "v", "1"]);
    // Whoever could not open it has not kept others out.
    assert!(matches!(runtime.block_on(sealed.claim(&key(), claim())), Ok(Claimed::Taken(_))));
    // A secret is rotated: both read, and what is written with the new one is read with the old one no more.
    let (both, only_new) = (store(&[new, old]), store(&[new]));
    assert_eq!((read(&both), read(&only_new)), (Ok(true), Err(StateError::Corrupt)));
    runtime.block_on(both.commit(put(1, text))).unwrap();
    assert_eq!((read(&only_new), read(&sealed)), (Ok(true), Err(StateError::Corrupt)));
}

/// Whether a key of the server is that of this record of alice's: her digest is in it.
fn is_alices(name: &str, id: &str) -> bool {
    // SHA-256 of "alice".
    name == format!("ptc:{{2bd806c97f0e00af1a1fc3328fa763a9}}:s:{id}")
}

fn a_slot_that_moves_is_followed() {
    let runtime = runtime();
    let nodes = cluster();
    let mut options = nodes[0].options(Shape::Cluster);
    options.namespace = "moving".to_owned();
    let store = RedisState::new(&options).unwrap();
    runtime.block_on(store.commit(put(0, b"kept"))).unwrap();
    let listed = runtime.block_on(store.list(Some(&Owner::principal("alice")), Kind::Session)).unwrap();
    assert_eq!(listed.len(), 1);
    // The node that has the slot gives it to another one.
    let tag = format!("moving:{{{}}}:u", listed[0].owner);
    let slot = nodes[0].ask(&["CLUSTER", "KEYSLOT", &tag]).trim_start_matches(':').trim_end().to_owned();
    let number: usize = slot.parse().unwrap();
    let from = usize::from(number >= 5461) + usize::from(number >= 10923);
    let to = (from + 1) % 3;
    let id = |node: &Server| {
        let answer = node.ask(&["CLUSTER", "MYID"]);
        answer.lines().nth(1).unwrap().trim().to_owned()
    };
    let (from_id, to_id) = (id(&nodes[from]), id(&nodes[to]));
    nodes[to].ask(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &from_id]);
    nodes[from].ask(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &to_id]);
    let keys = nodes[from].ask(&["CLUSTER", "GETKEYSINSLOT", &slot, "100"]);
    for key in keys.lines().filter(|line| line.starts_with("moving:")) {
        let port = nodes[to].port.to_string();
        let moved = nodes[from].ask(&["MIGRATE", "127.0.0.1", &port, key.trim(), "0", "5000"]);
        assert!(moved.starts_with("+OK"), "{moved}");
    }
    for node in [&nodes[to], &nodes[from]] {
        assert!(node.ask(&["CLUSTER", "SETSLOT", &slot, "NODE", &to_id]).starts_with("+OK"));
    }
    wait_until("the slot is found at its new place", || {
        runtime.block_on(store.read(&key())).is_ok_and(|found| found.is_some_and(|found| found.version == 1))
    });
    runtime.block_on(store.commit(put(1, b"goes on"))).unwrap();
}
