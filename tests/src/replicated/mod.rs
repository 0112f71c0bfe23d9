//! `ptc start --http` as two replicas: a program that takes the same arguments and runs two servers with them, on a store that both
//! share, behind a plain TCP balancer, one of them killed (`kill -9`) and started again every now and then. Whoever drives a
//! server over HTTP can be pointed at it; `tests/replicated` does that with the suites of this repository.
//!
//! Between its clients and the balancer there is a [`client`] that does what a client does behind one: it opens a connection for each
//! request, so that requests alternate, and sends again what a killed server has not begun to answer, if that may come twice.
//! Other requests have no answer then, which is right and which no suite expects: so no server is killed while one of them
//! is under way. `tests/tests/it/replicas` kills at any time, and its clients know what may have happened.
//!
//! Variables: `PTC_TEST_REPLICA`, the server's program (`ptc-under-test` beside this one); `PTC_TEST_KILL_MS`, the time between kills (10 000);
//! `PTC_TEST_KILL_LOG`, a file that gets a line for each; `PTC_TEST_KILL_ANYTIME`, if it is set, kills without regard to what is under way;
//! `PTC_TEST_KILL_MOST`, how many kills there are at most.

pub mod balancer;
mod client;
mod http;

use std::io::Write as _;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use nix::sys::signal::Signal;
use ptc_test_support::guarded::Guarded;
use ptc_test_support::redis_server::RedisServer;
use ptc_test_support::wait_until_async;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::RwLock;

use self::balancer::Balancer;
use self::client::{Behind, Kills};

/// What is meant for this program, and for no server.
const VARIABLES: [&str; 5] = [
    "PTC_TEST_REPLICA",
    "PTC_TEST_KILL_MS",
    "PTC_TEST_KILL_LOG",
    "PTC_TEST_KILL_ANYTIME",
    "PTC_TEST_KILL_MOST",
];
/// A secret that all replicas have.
const SECRET: &str = "a secret of at least 32 bytes, so long\n";
/// Longest wait for requests that must not come twice; a kill that cannot be is left out.
const LULL: Duration = Duration::from_secs(5);
/// How long a server that ends may take.
const ENDING: Duration = Duration::from_secs(60);

/// The program that is a replica.
fn program() -> PathBuf {
    match std::env::var_os("PTC_TEST_REPLICA") {
        Some(path) => path.into(),
        None => std::env::current_exe().expect("a program").with_file_name("ptc-under-test"),
    }
}

/// Writes a secret that every replica may have.
///
/// # Panics
/// If the file cannot be written.
pub fn write_secret(path: &Path) {
    std::fs::write(path, SECRET).expect("written");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).expect("ours");
}

/// Runs the program with these arguments, the first of which is a command of `ptc`.
pub fn main(mut arguments: Vec<String>) -> ExitCode {
    let port = arguments.iter().position(|argument| argument == "--http-port");
    let is_plain = arguments.first().is_none_or(|command| command != "start")
        || !arguments.iter().any(|argument| argument == "--http")
        || arguments.iter().any(|argument| argument.starts_with("--state-"));
    let (Some(at), false) = (port, is_plain) else {
        let error = Command::new(program()).args(&arguments).exec();
        eprintln!("{}: {error}", program().display());
        return ExitCode::FAILURE;
    };
    let port = arguments.drain(at..at + 2).nth(1).and_then(|port| port.parse().ok()).expect("a port");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("an event loop").block_on(run(port, arguments))
}

/// A store and how replicas on it are started.
struct Place {
    arguments: Vec<String>,
    /// Holds the folder until this process has ended, however that was.
    _folder: Guarded,
    _redis: RedisServer,
}

impl Place {
    fn new(arguments: Vec<String>) -> Place {
        let folder = tempfile::tempdir().expect("a folder").keep();
        let kept = Guarded::run(Command::new("sleep").arg("infinity"), Some(&folder));
        write_secret(&folder.join("secret"));
        let redis = RedisServer::start_in(&folder).expect("a redis-server");
        let mut arguments = arguments;
        let url = format!("redis://127.0.0.1:{}", redis.port);
        let secret = folder.join("secret").display().to_string();
        arguments.extend(["--state-url".into(), url, "--state-secret-file".into(), secret]);
        Place { arguments, _folder: kept, _redis: redis }
    }

    /// A replica that takes requests; the status of one that ends instead.
    async fn replica(&self) -> Result<Replica, ExitCode> {
        // Between finding a free port and binding it somebody else may take it: then the next one is tried.
        let mut status = None;
        for _ in 0..3 {
            let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
            let address = free.expect("a port");
            let mut command = Command::new(program());
            command.args(&self.arguments).args(["--http-port", &address.port().to_string()]);
            for name in VARIABLES {
                command.env_remove(name);
            }
            let mut replica = Replica { process: Guarded::run(&command, None), address };
            let mut is_ready = false;
            wait_until_async("a replica is ready or has ended", async || {
                is_ready = is_healthy(address).await.unwrap_or(false);
                is_ready || replica.process.ended().is_some()
            })
            .await;
            if is_ready {
                return Ok(replica);
            }
            status = replica.process.ended().and_then(|status| status.code());
        }
        Err(status.and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
    }
}

struct Replica {
    process: Guarded,
    address: SocketAddr,
}

async fn is_healthy(address: SocketAddr) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer.starts_with("HTTP/1.1 200"))
}

async fn run(port: u16, arguments: Vec<String>) -> ExitCode {
    let Ok(listener) = TcpListener::bind(("127.0.0.1", port)).await else { return ExitCode::FAILURE };
    let (mut terminate, mut interrupt) =
        match (signal(SignalKind::terminate()), signal(SignalKind::interrupt())) {
            (Ok(terminate), Ok(interrupt)) => (terminate, interrupt),
            _ => return ExitCode::FAILURE,
        };
    let place = Place::new(arguments);
    let replicas = match tokio::join!(place.replica(), place.replica()) {
        (Ok(one), Ok(other)) => [one, other],
        (Err(code), _) | (_, Err(code)) => return code,
    };
    let addresses = replicas.each_ref().map(|replica| replica.address.to_string());
    let balancer = Balancer::over(&addresses.each_ref().map(String::as_str));
    let behind = Arc::new(Behind {
        balancer: balancer.address.clone(),
        kills: Kills::default(),
        resent: AtomicU64::new(0),
        unrepeatable: RwLock::new(()),
    });
    let pair = tokio::sync::Mutex::new(replicas);
    let ended = async {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    let carried = async {
        loop {
            if let Ok((client, _)) = listener.accept().await {
                let _ = client.set_nodelay(true);
                tokio::spawn(client::serve(client, behind.clone()));
            }
        }
    };
    tokio::select! {
        () = ended => {}
        () = carried => {}
        code = killing(&place, &pair, &balancer, &behind) => return code,
    }
    let mut replicas = pair.into_inner();
    for replica in &replicas {
        replica.process.signal(Signal::SIGTERM);
    }
    let over = tokio::time::Instant::now() + ENDING;
    loop {
        let ended = replicas.each_mut().map(|replica| replica.process.ended());
        if let [Some(one), Some(other)] = ended {
            return if one.success() && other.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
        }
        if over < tokio::time::Instant::now() {
            return ExitCode::FAILURE;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Kills one replica after the other and starts it again, until one ends by itself.
async fn killing(
    place: &Place,
    pair: &tokio::sync::Mutex<[Replica; 2]>,
    balancer: &Balancer,
    behind: &Behind,
) -> ExitCode {
    let number = |name: &str| std::env::var(name).ok().and_then(|number| number.parse().ok());
    let pause = number("PTC_TEST_KILL_MS").unwrap_or(10_000);
    let most = number("PTC_TEST_KILL_MOST").unwrap_or(u64::MAX);
    let mut killed = 0;
    let anytime = std::env::var_os("PTC_TEST_KILL_ANYTIME").is_some();
    let mut next = 0;
    loop {
        if killed >= most {
            return std::future::pending().await;
        }
        tokio::time::sleep(Duration::from_millis(pause)).await;
        let lull = if anytime {
            None
        } else {
            let Ok(lull) = tokio::time::timeout(LULL, behind.unrepeatable.write()).await else { continue };
            Some(lull)
        };
        {
            let replica = &mut pair.lock().await[next];
            if replica.process.ended().is_some() {
                return ExitCode::FAILURE;
            }
            behind.kills.count(|| replica.process.kill());
        }
        drop(lull);
        match place.replica().await {
            Ok(replica) => {
                balancer.replace(next, &replica.address.to_string());
                pair.lock().await[next] = replica;
            }
            Err(code) => return code,
        }
        note(&format!("killed {next}, {} requests sent again so far", behind.resent.load(Ordering::Relaxed)));
        next = 1 - next;
        killed += 1;
    }
}

/// Writes a line for whoever wants to know that servers were killed.
fn note(line: &str) {
    let Some(path) = std::env::var_os("PTC_TEST_KILL_LOG") else { return };
    let file = std::fs::File::options().create(true).append(true).open(path);
    let _ = file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
}
