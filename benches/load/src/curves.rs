//! What one more session and one more connection cost, from few to very many: a curve that rises faster than their number
//! is a defect.
//!
//! Small requests come at a fixed rate, so that what is compared from row to row is the same work beside more that is kept.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::http::{Client, at_fixed_rate, contains};
use crate::process::{Server, cpu_seconds, resident_mib};
use crate::round::percentiles;

/// Sessions open at once.
const SESSIONS: [usize; 6] = [1, 10, 100, 1_000, 10_000, 100_000];
/// Connections open at once. Each takes a descriptor in both processes, of which systems allow some 20 000.
const CONNECTIONS: [usize; 5] = [1, 10, 100, 1_000, 10_000];
/// What each session holds: five small bindings.
const BINDINGS: &str = "(def a 1) (def b [1 2 3]) (def c {:name \\\"n\\\"}) (def d \\\"text\\\") (def e 2.5)";
/// Connections that carry the requests.
const CLIENTS: usize = 8;
/// Between two requests of a client: 2 000 a second in all, fewer where there are not as many sessions as clients.
const PAUSE: Duration = Duration::from_millis(4);

/// Opens more and more sessions and evaluates in them.
pub(crate) async fn sessions(ptc: &str, time: Duration) {
    println!(
        "\n| sessions | CPU µs to open one and bind five names | KiB each | p50 µs of an eval in any | p99 µs | CPU µs |"
    );
    println!("|---|---|---|---|---|---|");
    for count in SESSIONS {
        let most = count.to_string();
        let server = Server::ptc_http(ptc, &["--sessions", "--max-sessions", &most]).await;
        let (rest, cpu) = (resident_mib(server.id()), cpu_seconds(server.id()));
        let ids = open(server.port, count).await;
        let opening = (cpu_seconds(server.id()) - cpu) * 1e6 / count as f64;
        let each = (resident_mib(server.id()) - rest) * 1024.0 / count as f64;
        let (ids, clients) = (Arc::new(ids), CLIENTS.min(count));
        let [p50, p99, cpu] = paced(&server, clients, time, move |connection, client, turn| {
            // Each client has sessions of its own: a session runs one program at a time.
            let own = ids.len() / clients;
            let id = ids[client * own + turn.wrapping_mul(7919) % own].clone();
            async move {
                let mut connection = connection;
                let arguments = format!(r#"{{"session_id":"{id}","program":"(+ a (count b))"}}"#);
                let answer = connection.call("lisp_session_eval", &arguments).await;
                assert!(contains(&answer, b"user=> 4\""), "{answer:?}");
                connection
            }
        })
        .await;
        println!("| {count} | {opening:.0} | {each:.2} | {p50:.0} | {p99:.0} | {cpu:.0} |");
    }
}

/// Opens more and more connections, each of which has had an answer, and lets a few of them work.
pub(crate) async fn connections(ptc: &str, time: Duration) {
    println!(
        "\n| connections | CPU µs to open one and answer once | KiB each | p50 µs of an eval beside | p99 µs | CPU µs |"
    );
    println!("|---|---|---|---|---|---|");
    for count in CONNECTIONS {
        let most = (count + 2 * CLIENTS).to_string();
        let flags = ["--http-max-connections", &most, "--http-idle-timeout-ms", "600000"];
        let server = Server::ptc_http(ptc, &flags).await;
        let (rest, cpu) = (resident_mib(server.id()), cpu_seconds(server.id()));
        let mut kept = Vec::with_capacity(count);
        for _ in 0..count {
            let mut client = Client::connect(server.port).await;
            client.eval(crate::PROGRAM).await;
            kept.push(client);
        }
        let opening = (cpu_seconds(server.id()) - cpu) * 1e6 / count as f64;
        let each = (resident_mib(server.id()) - rest) * 1024.0 / count as f64;
        let [p50, p99, cpu] = paced(&server, CLIENTS, time, |client, _, _| async move {
            let mut client = client;
            let answer = client.eval(crate::PROGRAM).await;
            assert!(contains(&answer, b"user=> 3\""), "{answer:?}");
            client
        })
        .await;
        println!("| {count} | {opening:.0} | {each:.2} | {p50:.0} | {p99:.0} | {cpu:.0} |");
    }
}

/// Opens sessions on a few connections.
pub(crate) async fn open(port: u16, count: usize) -> Vec<String> {
    let work = move |from: usize| async move {
        let mut client = Client::connect(port).await;
        let mut ids = Vec::new();
        for _ in (from..count).step_by(CLIENTS) {
            let answer = client.call("lisp_session_start", "{}").await;
            let id = session_id(&answer);
            let arguments = format!(r#"{{"session_id":"{id}","program":"{BINDINGS}"}}"#);
            let bound = client.call("lisp_session_eval", &arguments).await;
            assert!(contains(&bound, b"user=> "), "{bound:?}");
            ids.push(id);
        }
        ids
    };
    let workers: Vec<_> = (0..CLIENTS).map(|from| tokio::spawn(work(from))).collect();
    let mut ids = Vec::with_capacity(count);
    for worker in workers {
        ids.extend(worker.await.expect("a worker that ends"));
    }
    ids
}

/// The id in an answer of `lisp_session_start`.
fn session_id(answer: &[u8]) -> String {
    let answer: serde_json::Value = serde_json::from_slice(answer).expect("JSON");
    let id = answer["result"]["structuredContent"]["session_id"].as_str();
    id.unwrap_or_else(|| panic!("no session: {answer}")).to_owned()
}

/// Median and 99th percentile of latency, and CPU time of one request, all in microseconds, at the fixed rate. The task gets
/// a connection, the number of its client and how many requests that has made.
async fn paced<F: Future<Output = Client> + Send + 'static>(
    server: &Server,
    clients: usize,
    time: Duration,
    task: impl Fn(Client, usize, usize) -> F + Send + Clone + 'static,
) -> [f64; 3] {
    let port = server.port;
    let (cpu, end) = (cpu_seconds(server.id()), Instant::now() + time);
    let work = move |at: usize| {
        let task = task.clone();
        let start = Instant::now() + PAUSE * at as u32 / clients as u32;
        at_fixed_rate(port, None, start, PAUSE, end, move |client, turn| task(client, at, turn))
    };
    let workers: Vec<_> = (0..clients).map(|at| tokio::spawn(work.clone()(at))).collect();
    let mut latencies = Vec::new();
    for worker in workers {
        latencies.extend(worker.await.expect("a worker that ends"));
    }
    let cpu = (cpu_seconds(server.id()) - cpu) * 1e6 / latencies.len() as f64;
    let [p50, p99, _] = percentiles(latencies);
    [p50, p99, cpu]
}
