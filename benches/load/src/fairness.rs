//! What a greedy principal does to another one: A asks for `(+ 1 2)` at a steady rate, alone, beside a hundred ordinary
//! programs of B's, and beside a hundred that do the worst that is legal. `benches/fairness` runs it. The server has the first processor
//! for itself, and so one worker; both who ask have the others. Where they share, it is B's client that A waits for: the system
//! interrupts a worker for some milliseconds whenever that client has its slice.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio::process::{Child, Command};

use crate::PROGRAM;
use crate::http::{Client, at_fixed_rate, body, contains};
use crate::process::{Server, cpu_seconds};
use crate::round::percentiles;

const TOKEN_A: &str = "a-token-of-the-modest-principal-0001";
const TOKEN_B: &str = "a-token-of-the-greedy-principal-0002";
/// B's programs at a time.
const GREEDY: usize = 100;
/// A's connections: enough that each worker has some.
const CONNECTIONS: usize = 4;
/// Between two requests of one of them: 1 000 a second in all.
const PAUSE: Duration = Duration::from_millis(4);
/// Rounds of each kind, in turns.
const ROUNDS: usize = 3;

/// B's programs, and by how many milliseconds they may move A's 99th percentile.
struct Kind {
    name: &'static str,
    may_move_ms: f64,
    programs: &'static [&'static str],
}

const KINDS: [Kind; 3] = [
    Kind { name: "alone", may_move_ms: 0.0, programs: &[] },
    Kind { name: "beside 100 ordinary programs", may_move_ms: 2.0, programs: ORDINARY },
    Kind { name: "beside 100 of the worst", may_move_ms: 10.0, programs: WORST },
];

/// What models write over the rows and the text that come with the request.
const ORDINARY: &[&str] = &[
    r#"(->> data/rows (filter #(= "paid" (get % "state"))) (group-by #(get % "region"))
        (map (fn [[k rows]] [k (sum-by #(get % "total") rows)])) (sort-by second >) vec)"#,
    r#"(->> data/rows (sort-by #(get % "total")) (take-last 10) (mapv #(get % "id")))"#,
    r#"(frequencies (map #(get % "region") data/rows))"#,
    r#"(->> (split-lines data/log) (keep #(re-find #"ERROR (\w+): (\d+) ms" %)) (map second) frequencies)"#,
    r#"(count (re-seq #"\d+ ms" data/log))"#,
    r#"(-> data/rows json/generate-string json/parse-string count)"#,
    r#"(reduce (fn [m row] (update m (get row "region") (fnil + 0) (get row "total"))) {} data/rows)"#,
    r#"(join "\n" (map #(str (get % "id") ": " (get % "total")) (take 500 data/rows)))"#,
];

/// What takes long in one call, or much at a time.
const WORST: &[&str] = &[
    "(let [t (mapv (fn [_] (reduce (fn [a _] [a a]) [1] (range 60))) [1 2])] (= (first t) (last t)))",
    "(hash (mapv (fn [_] (mapv vector (range 20000))) [1 2]))",
    "(count (str (reduce (fn [a _] [a a]) [1] (range 60))))",
    "(json/generate-string (reduce (fn [a _] {\"a\" a \"b\" a}) {} (range 60)))",
    "(count (flatten (reduce (fn [a _] [a a]) [1] (range 60))))",
    "(loop [] (do (sort (map #(mod (* 7919 %) 20011) (range 50000))) (recur)))",
    "(loop [b (bit-shift-left 1 1000000)] (do (str b) (recur b)))",
    "(loop [b (bit-shift-left 1 1000000)] (do (*' b b) (recur b)))",
    r#"(re-find #"(?:a?){900}a*b" (apply str (repeat 100000 "a")))"#,
    r#"(re-matches #"(?:(?:\w|\p{L})+)+N" (apply str (repeat 200000 "é")))"#,
    r#"(count (map #(re-find (re-pattern (str "(?:\\w\\p{L}){8}" %)) "abc") (range 100000)))"#,
    r#"(count (seq (apply str (repeat 100000 "👩‍👩‍👧"))))"#,
    r#"(loop [t (apply str (repeat 200000 "aΣ"))] (do (lower-case t) (upper-case t) (recur t)))"#,
    r#"(parse-double (apply str (repeat 1000000 "1")))"#,
    r#"(json/parse-string (str "[" (apply str (repeat 500000 "{},")) "1]"))"#,
    "(vec (repeat 600000 {}))",
    "(dotimes [i 1000000] (println i))",
    r#"(apropos (apply str (repeat 1000000 "a")))"#,
    "(loop [] (do (group-by identity (mapv #(vector % [%]) (range 20000))) (recur)))",
    r#"(replace (apply str (repeat 300000 "ab")) #"a" (fn [m] (str m m)))"#,
    "(loop [m {}] (recur (assoc m (count m) (vec (range 100)))))",
    "(loop [i 0] (recur (inc i)))",
];

/// Prints how long A waits, and says what does not hold.
pub(crate) async fn measure(ptc: &str, time: Duration) {
    let tokens = std::env::temp_dir().join(format!("ptc-fairness-{}", std::process::id()));
    std::fs::write(&tokens, format!("a:{TOKEN_A}\nb:{TOKEN_B}\n")).expect("a file");
    let flags = ["--http-auth-token-file", tokens.to_str().expect("UTF-8")];
    println!(
        "\n| A's requests, 1 000 a second | p50 µs | p99 µs | p99.9 µs | longest µs | B's programs | CPU s |"
    );
    println!("|---|---|---|---|---|---|---|");
    let mut p99: [Vec<f64>; KINDS.len()] = Default::default();
    for _ in 0..ROUNDS {
        for (kind, p99) in KINDS.iter().zip(&mut p99) {
            let server = Server::ptc_http_apart(ptc, &flags).await;
            p99.push(round(&server, kind, time).await);
        }
    }
    let _ = std::fs::remove_file(tokens);
    let median = |all: &mut Vec<f64>| {
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    let [alone, others @ ..] = p99.each_mut();
    let alone = median(alone);
    for (kind, p99) in KINDS.iter().skip(1).zip(others) {
        let moved = (median(p99) - alone) / 1_000.0;
        let verdict = if moved <= kind.may_move_ms { "holds" } else { "DOES NOT HOLD" };
        println!("\n{}: p99 moves by {moved:.2} ms, at most {} ms: {verdict}", kind.name, kind.may_move_ms);
    }
}

async fn round(server: &Server, kind: &Kind, time: Duration) -> f64 {
    let mut greedy = (!kind.programs.is_empty()).then(|| Greedy::start(server.port, kind));
    // All of them run, and the caches know them.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let cpu = cpu_seconds(server.id());
    let port = server.port;
    let latencies = tokio::task::spawn_blocking(move || modest(port, time)).await.expect("A lives");
    let cpu = cpu_seconds(server.id()) - cpu;
    let programs = match &mut greedy {
        Some(greedy) => greedy.end().await,
        None => 0,
    };
    let longest = latencies.iter().copied().max().unwrap_or(0);
    let [p50, p99, p999] = percentiles(latencies);
    println!("| {} | {p50:.0} | {p99:.0} | {p999:.0} | {longest} | {programs} | {cpu:.2} |", kind.name);
    p99
}

/// Those who play B: a process of its own that has what A leaves of its processors. So A waits for the server and not for the work of
/// making B's requests.
struct Greedy(Child);

impl Greedy {
    fn start(port: u16, kind: &Kind) -> Greedy {
        let own = std::env::current_exe().expect("it runs");
        let mut command = Command::new("nice");
        command.args(["-n", "39"]).arg(own).args(["greedy", &port.to_string(), kind.name]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        Greedy(command.spawn().expect("it starts"))
    }

    /// Ends it, and tells how many programs it has had answered.
    async fn end(&mut self) -> usize {
        drop(self.0.stdin.take());
        let mut told = String::new();
        let mut output = self.0.stdout.take().expect("a pipe");
        output.read_to_string(&mut told).await.expect("it tells");
        told.trim().parse().expect("a number")
    }
}

/// Plays B until standard input ends, and prints how many programs were answered.
pub(crate) async fn greedy(port: u16, kind: &str) {
    let ended = Arc::new(AtomicUsize::new(0));
    let kind = KINDS.iter().find(|known| known.name == kind).expect("a kind");
    let bodies: Arc<[Bytes]> = kind.programs.iter().map(|program| request(program)).collect();
    for at in 0..GREEDY {
        let (ended, bodies) = (ended.clone(), bodies.clone());
        tokio::spawn(async move {
            let mut client = Client::with_token(port, TOKEN_B).await;
            for at in at.. {
                client.post("lisp_eval", bodies[at % bodies.len()].clone()).await;
                ended.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    let ended_input = || std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
    let _ = tokio::task::spawn_blocking(ended_input).await;
    println!("{}", ended.load(Ordering::Relaxed));
    // The programs on their way are nobody's business any more.
    std::process::exit(0);
}

/// A's latencies in microseconds.
fn modest(port: u16, time: Duration) -> Vec<u32> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let begin = Instant::now();
    let small = move |at: usize| {
        let start = begin + PAUSE * at as u32 / CONNECTIONS as u32;
        at_fixed_rate(port, Some(TOKEN_A), start, PAUSE, begin + time, |client, _| async move {
            let mut client = client;
            let answer = client.eval(PROGRAM).await;
            assert!(contains(&answer, b"user=> 3\""), "{answer:?}");
            client
        })
    };
    runtime.block_on(async {
        let all: Vec<_> = (0..CONNECTIONS).map(|at| tokio::spawn(small(at))).collect();
        let mut latencies = Vec::new();
        for one in all {
            latencies.extend(one.await.expect("A's requests are answered"));
        }
        latencies
    })
}

/// A request with two thousand rows and as many lines of a log, if the program wants them.
fn request(program: &str) -> Bytes {
    if !program.contains("data/") {
        return body("lisp_eval", &json!({"program": program}).to_string());
    }
    let rows: Vec<_> = (0..2_000_u32)
        .map(|n| {
            let (region, state) = (["eu", "us", "ap"][n as usize % 3], ["paid", "open"][n as usize / 7 % 2]);
            json!({"id": n, "region": region, "state": state, "total": n.wrapping_mul(7_919) % 997})
        })
        .collect();
    let log: String = (0..2_000)
        .map(|n| {
            let level = if n % 5 == 0 { "ERROR" } else { "INFO" };
            format!("2026-01-31T00:00:{:02} {level} worker{}: {} ms\n", n % 60, n % 8, n * 31 % 1_009)
        })
        .collect();
    let context = if program.contains("data/rows") { json!({"rows": rows}) } else { json!({"log": log}) };
    body("lisp_eval", &json!({"program": program, "context": context}).to_string())
}
