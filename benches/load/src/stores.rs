//! What sessions cost where they are kept: in the process, in a file, in a Redis that is installed. Each eval commits a definition.
//! Round trips are what Redis itself counts. Two replicas on one Redis serve the same sessions by turns, and each sessions of its own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::process::Command;

use crate::curves::open;
use crate::http::{Client, contains};
use crate::process::{Server, cpu_seconds};
use crate::round::percentiles;

/// Clients at once, each with a session of its own.
const CLIENTS: usize = 8;
/// The same where their requests come so close that neither server has to wait for the next one.
const MANY_CLIENTS: usize = 64;
/// Between two requests of each of few clients, where they come as they do from people: 4 000 a second in all. What a server does between them is the
/// same then, whether it is alone or not.
const PAUSE: Duration = Duration::from_millis(2);
/// Sessions that are kept in Redis at once.
const KEPT: usize = 100_000;
/// An eval that changes the session.
const COMMIT: &str = "(def a (inc a))";

/// Prints the tables.
pub(crate) async fn measure(ptc: &str, time: Duration) {
    let folder = std::env::temp_dir().join(format!("ptc-load-stores-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let path = |name: &str| folder.join(name).to_str().expect("UTF-8").to_owned();
    let secret = path("secret");
    std::fs::write(&secret, "a secret of a benchmark that guards nothing").expect("a temporary folder");
    restrict(&secret);

    println!(
        "\n| sessions kept in | evals/s | p50 µs | p99 µs | CPU µs of an eval | scripts of Redis for each |"
    );
    println!("|---|---|---|---|---|---|");
    let few = Load { clients: CLIENTS, by_turns: true, pause: None, time };
    let memory = Server::ptc_http(ptc, &["--sessions"]).await;
    let cost = row("memory", &[&memory], None, few).await;
    drop(memory);
    for sync in ["process", "disk"] {
        let kept = path(sync);
        let server = Server::ptc_http(ptc, &["--sessions", "--state-dir", &kept, "--state-sync", sync]).await;
        let each = row(&format!("a file, flushed for `{sync}`"), &[&server], None, few).await;
        println!("\nThe file {:.2} times memory.\n", each / cost);
    }
    let Some(redis) = Server::redis(&folder).await else {
        return println!("| Redis: not installed | | | | | |");
    };
    let url = format!("redis://127.0.0.1:{}", redis.port);
    let most = (KEPT + 1000).to_string();
    let flags = ["--sessions", "--state-url", &url, "--state-secret-file", &secret, "--max-sessions", &most];
    let (first, second) = (Server::ptc_http(ptc, &flags).await, Server::ptc_http(ptc, &flags).await);
    let pair = [&first, &second];
    for (clients, pause) in [(CLIENTS, None), (MANY_CLIENTS, None), (CLIENTS, Some(PAUSE))] {
        let paced = if pause.is_some() { " that pause" } else { "" };
        let name = |of: &str| format!("Redis, {clients} clients{paced}{of}");
        let of = |by_turns| Load { clients, by_turns, pause, time };
        let alone = row(&name(""), &[&first], Some(&redis), of(true)).await;
        let both = row(&name(", two replicas by turns"), &pair, Some(&redis), of(true)).await;
        let apart =
            row(&name(", two replicas, each with its own sessions"), &pair, Some(&redis), of(false)).await;
        println!(
            "\nRedis {:.2} times memory; two replicas by turns {:.2} times one, with sessions of their own {:.2} times.\n",
            alone / cost,
            both / alone,
            apart / alone
        );
    }

    let (before, begun) = (figure(&redis, "used_memory").await, Instant::now());
    open(first.port, KEPT).await;
    let each = (figure(&redis, "used_memory").await - before) / KEPT as f64;
    println!(
        "{KEPT} sessions of five small bindings: {each:.0} bytes each in Redis, opened in {:.1} s.",
        begun.elapsed().as_secs_f64()
    );
    drop((first, second, redis));
    let _ = std::fs::remove_dir_all(folder);
}

/// What is asked of servers.
#[derive(Clone, Copy)]
struct Load {
    clients: usize,
    /// Whether each client goes to the servers by turns; else each stays with one of them.
    by_turns: bool,
    /// Between two requests of a client, if they do not follow the answers.
    pause: Option<Duration>,
    time: Duration,
}

/// Evals in sessions: prints a row, and gives CPU seconds of all servers for an eval.
async fn row(name: &str, servers: &[&Server], redis: Option<&Server>, load: Load) -> f64 {
    let Load { clients, by_turns, pause, time } = load;
    let ports: Arc<[u16]> = servers.iter().map(|server| server.port).collect();
    let sessions = open(ports[0], clients).await;
    let cpu = || servers.iter().map(|server| cpu_seconds(server.id())).sum::<f64>();
    let commands = match redis {
        Some(redis) => figure(redis, "cmdstat_evalsha:calls").await,
        None => 0.0,
    };
    let (before, end) = (cpu(), Instant::now() + time);
    let workers: Vec<_> = sessions
        .into_iter()
        .enumerate()
        .map(|(at, id)| {
            let ports = if by_turns { ports.clone() } else { [ports[at % ports.len()]].into() };
            tokio::spawn(evals(ports, id, pause, end))
        })
        .collect();
    let mut latencies = Vec::new();
    for worker in workers {
        latencies.extend(worker.await.expect("a worker that ends"));
    }
    let count = latencies.len() as f64;
    let each = (cpu() - before) / count;
    let commands = match redis {
        Some(redis) => format!("{:.2}", (figure(redis, "cmdstat_evalsha:calls").await - commands) / count),
        None => String::new(),
    };
    let [p50, p99, _] = percentiles(latencies);
    let rate = count / time.as_secs_f64();
    println!("| {name} | {rate:.0} | {p50:.0} | {p99:.0} | {:.0} | {commands} |", each * 1e6);
    each
}

async fn evals(ports: Arc<[u16]>, id: String, pause: Option<Duration>, end: Instant) -> Vec<u32> {
    let mut clients = Vec::new();
    for port in &*ports {
        clients.push(Client::connect(*port).await);
    }
    let arguments = format!(r#"{{"session_id":"{id}","program":"{COMMIT}"}}"#);
    let (mut latencies, mut turn) = (Vec::new(), 0);
    let mut pause = pause.map(tokio::time::interval);
    loop {
        if let Some(pause) = &mut pause {
            pause.tick().await;
        }
        let sent = Instant::now();
        if sent >= end {
            return latencies;
        }
        let answer = clients[turn % ports.len()].call("lisp_session_eval", &arguments).await;
        assert!(contains(&answer, b"stored"), "{answer:?}");
        latencies.push(u32::try_from(sent.elapsed().as_micros()).unwrap_or(u32::MAX));
        turn += 1;
    }
}

/// A figure of `INFO`.
async fn figure(redis: &Server, name: &str) -> f64 {
    let port = redis.port.to_string();
    let output = Command::new("redis-cli")
        .args(["-p", &port, "info", "all"])
        .output()
        .await
        .expect("it comes with Redis");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix([':', '=']));
    let value = value.map(|value| value.split(',').next().unwrap_or_default());
    value.and_then(|value| value.trim().parse().ok()).unwrap_or_else(|| panic!("no {name} in {text}"))
}

fn restrict(path: &str) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).expect("it is ours");
}
