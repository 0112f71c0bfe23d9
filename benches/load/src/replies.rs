//! Large replies: a program that asks an upstream for many rows and returns one figure of them. CPU is what `ptc` takes for a program,
//! everything included: receiving the reply, reading it, and the program. Beside it stands, on the same bytes, what others take to read
//! them twice, the message and then its text: in this process serde_json and sonic-rs into values and simd-json into its tape, and Node's
//! `JSON.parse` where Node is installed. These receive nothing.

use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::{Value, json};

use crate::ROUNDS;
use crate::http::{Client, contains};
use crate::json_readers::JSON_READERS;
use crate::process::{Server, cpu_seconds, peak_mib, resident_mib};

const REGIONS: [&str; 4] = ["emea", "apac", "americas", "nordics"];
const STATES: [&str; 3] = ["open", "paid", "refunded"];

/// A program over the rows, what its answer must say, and the same in JavaScript.
struct Task {
    name: &'static str,
    program: &'static str,
    says: fn(usize) -> String,
    javascript: &'static str,
}

impl Task {
    /// The program over the rows that a call gives.
    fn over(&self, Wanted { rows, wide, structured }: Wanted) -> String {
        let call = format!(
            r#"(:value (tool/call {{:server "bench" :tool "rows" :args {{:rows {rows} :wide {wide} :structured {structured}}}}}))"#
        );
        let rows = if structured { format!("(get {call} \"rows\")") } else { call };
        self.program.replace("ROWS", &rows)
    }
}

const TASKS: [Task; 2] = [
    Task {
        name: "count",
        program: "(count ROWS)",
        says: |rows| format!("user=> {rows}\""),
        javascript: "rows => rows.length",
    },
    Task {
        name: "filter, group, sum",
        program: r#"(->> ROWS (filter #(= "paid" (get % "state"))) (group-by #(get % "region"))
            (map (fn [[_ rows]] (sum-by #(get % "total") rows))) (reduce +))"#,
        says: |rows| format!("user=> {}\"", paid(rows)),
        javascript: r#"rows => {
            const sums = {};
            for (const row of rows) if (row.state === "paid") sums[row.region] = (sums[row.region] ?? 0) + row.total;
            return Object.values(sums).reduce((a, b) => a + b, 0);
        }"#,
    },
];

fn row(id: usize) -> Value {
    json!({
        "id": id, "customer": format!("Customer {:05}", id * 7_919 % 100_003), "region": REGIONS[id % 4], "state": state(id),
        "total": total(id), "currency": "EUR", "created_at": format!("2026-{:02}-{:02}T08:{:02}:00Z", id % 12 + 1, id % 28 + 1, id % 60),
        "note": format!("order \"{id}\" by phone, \u{fc}bliche Lieferung, no invoice sent so far")
    })
}

fn state(id: usize) -> &'static str {
    STATES[id / 7 % 3]
}

fn total(id: usize) -> usize {
    id * 31 % 9_973
}

fn paid(rows: usize) -> usize {
    (0..rows).filter(|id| state(*id) == "paid").map(total).sum()
}

/// What a call asks for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Wanted {
    rows: usize,
    /// Rows of eight columns; else of one, the id.
    wide: bool,
    /// As structured content, else as text.
    structured: bool,
}

/// The result of a call.
fn result(Wanted { rows, wide, structured }: Wanted) -> Value {
    let rows: Vec<Value> = (0..rows).map(|id| if wide { row(id) } else { json!({ "id": id }) }).collect();
    if structured {
        json!({"resultType": "complete", "isError": false, "structuredContent": {"rows": rows},
            "content": [{"type": "text", "text": "see the structured content"}]})
    } else {
        let text = Value::from(rows).to_string();
        json!({"resultType": "complete", "isError": false, "content": [{"type": "text", "text": text}]})
    }
}

/// An upstream with rows, and what a server needs to ask it for very many.
struct Setup {
    _upstream: Server,
    config: PathBuf,
    flags: Vec<String>,
}

impl Setup {
    async fn new(max_response_bytes: usize) -> Setup {
        let upstream = Server::upstream().await;
        let config = std::env::temp_dir().join(format!("ptc-load-replies-{}.json", std::process::id()));
        let url = format!("http://127.0.0.1:{}/mcp", upstream.port);
        let text = json!({"upstreams": {"bench": {"transport": "mcp_http", "url": url, "allow_insecure_http": true,
            "max_response_bytes": max_response_bytes}}});
        std::fs::write(&config, text.to_string()).expect("a temporary folder");
        let flags = [
            ("--upstreams-config", config.to_str().expect("UTF-8").to_owned()),
            ("--max-upstream-response-bytes", max_response_bytes.to_string()),
            ("--program-memory-limit-bytes", (max_response_bytes * 10).to_string()),
            ("--max-total-memory-bytes", (max_response_bytes * 50).to_string()),
            ("--program-timeout-ms", "60000".to_owned()),
            ("--program-step-limit", "10000000000".to_owned()),
        ];
        let flags = flags.into_iter().flat_map(|(name, value)| [name.to_owned(), value]);
        let flags = std::iter::once("--http-disable-auth".to_owned()).chain(flags).collect();
        Setup { _upstream: upstream, config, flags }
    }

    async fn server(&self, ptc: &str) -> Server {
        Server::ptc_http(ptc, &self.flags.iter().map(String::as_str).collect::<Vec<_>>()).await
    }
}

impl Drop for Setup {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.config);
    }
}

/// Prints what a program over a large reply costs.
pub(crate) async fn measure(ptc: &str, time: Duration) {
    let setup = Setup::new(20_000_000).await;
    println!("\n| large replies | reply | CPU ms | MB/s | peak MiB above rest |");
    println!("|---|---|---|---|---|");
    for rows in [10_000, 40_000] {
        for structured in [false, true] {
            let wanted = Wanted { rows, wide: true, structured };
            let message = json!({"jsonrpc": "2.0", "id": 1, "result": result(wanted)}).to_string();
            let shape = if structured { "structured content" } else { "text" };
            let name = format!("{rows} rows as {shape}");
            for task in &TASKS {
                let (cost, peak) = program(ptc, &setup, wanted, task, time).await;
                line(&format!("{name}, {}, ptc", task.name), message.len(), cost, &format!("{peak:.1}"));
            }
            others(&name, &message, structured);
            TASKS.iter().for_each(|task| node(&name, &message, structured, task));
        }
    }
}

/// What counting costs for ever larger replies, of wide rows and of narrow ones: a curve that rises faster than the reply is a defect.
pub(crate) async fn curves(ptc: &str, time: Duration) {
    let setup = Setup::new(120_000_000).await;
    println!("\n| replies of | reply | CPU ms | MB/s | peak MiB above rest |");
    println!("|---|---|---|---|---|");
    for wide in [true, false] {
        let counts = if wide {
            [4, 40, 400, 4_000, 40_000, 400_000]
        } else {
            [10, 100, 1_000, 10_000, 100_000, 1_000_000]
        };
        for rows in counts {
            for structured in [false, true] {
                let wanted = Wanted { rows, wide, structured };
                let bytes = result(wanted).to_string().len();
                let (cost, peak) = program(ptc, &setup, wanted, &TASKS[0], time).await;
                let shape = if structured { "structured content" } else { "text" };
                let columns = if wide { "eight columns" } else { "one column" };
                line(&format!("{rows} rows of {columns} as {shape}"), bytes, cost, &format!("{peak:.1}"));
            }
        }
    }
}

/// CPU seconds of a program, the median of the rounds, and the peak in MiB of the first one above what is there at rest.
async fn program(ptc: &str, setup: &Setup, wanted: Wanted, task: &Task, time: Duration) -> (f64, f64) {
    let program = task.over(wanted);
    // What a first call needs of the server, whatever it answers, is there at rest.
    let first = task.over(Wanted { rows: 4, ..wanted });
    let says = (task.says)(wanted.rows);
    let mut costs = Vec::new();
    let mut peak = 0.0_f64;
    for _ in 0..ROUNDS {
        let server = setup.server(ptc).await;
        let mut client = Client::connect(server.port).await;
        let ask = async |client: &mut Client| {
            let answer = client.eval(&program).await;
            assert!(contains(&answer, says.as_bytes()), "{says} in {answer:?}");
        };
        client.eval(&first).await;
        let rest = resident_mib(server.id());
        ask(&mut client).await;
        peak = peak.max(peak_mib(server.id()) - rest);
        for _ in 0..4 {
            ask(&mut client).await;
        }
        let (before, begun, mut count) = (cpu_seconds(server.id()), Instant::now(), 0.0);
        while begun.elapsed() < time {
            ask(&mut client).await;
            count += 1.0;
        }
        costs.push((cpu_seconds(server.id()) - before) / count);
    }
    (median(costs), peak)
}

/// What others take for the same bytes, in this process.
fn others(name: &str, message: &str, structured: bool) {
    for (reader, read) in JSON_READERS {
        let costs = (0..15).map(|_| {
            let begun = Instant::now();
            read(message.as_bytes(), !structured);
            begun.elapsed().as_secs_f64()
        });
        line(&format!("{name}, {reader}"), message.len(), median(costs.collect()), "");
    }
}

/// What Node takes for the same in JavaScript, if it is installed.
fn node(name: &str, message: &str, structured: bool, task: &Task) {
    let rows = if structured {
        "message.result.structuredContent.rows"
    } else {
        "JSON.parse(message.result.content[0].text)"
    };
    let script = format!(
        r#"const text = require("fs").readFileSync(0);
        const task = {task};
        const costs = [];
        for (let round = 0; round < 40; round++) {{
            const before = process.cpuUsage();
            const message = JSON.parse(text.toString());
            task({rows});
            const {{user, system}} = process.cpuUsage(before);
            if (round >= 10) costs.push((user + system) / 1e6);
        }}
        costs.sort((a, b) => a - b);
        console.log(costs[costs.length >> 1]);"#,
        task = task.javascript
    );
    let child = std::process::Command::new("node")
        .args(["-e", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        return println!("| {name}, {}, Node: not installed | | | | |", task.name);
    };
    child.stdin.take().expect("a pipe").write_all(message.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    let cost = String::from_utf8_lossy(&output.stdout).trim().parse().expect("seconds");
    line(&format!("{name}, {}, Node", task.name), message.len(), cost, "");
}

fn median(mut costs: Vec<f64>) -> f64 {
    costs.sort_by(f64::total_cmp);
    costs[costs.len() / 2]
}

fn line(name: &str, bytes: usize, seconds: f64, peak: &str) {
    let megabytes = bytes as f64 / 1e6;
    println!("| {name} | {megabytes:.2} MB | {:.2} | {:.0} | {peak} |", seconds * 1e3, megabytes / seconds);
}

/// Replies as they are sent, made once for each size.
#[derive(Default)]
pub(crate) struct Made(std::sync::Mutex<std::collections::HashMap<Wanted, Bytes>>);

impl Made {
    /// The result that `arguments` ask for, as JSON.
    pub(crate) fn get(&self, arguments: &Value) -> Bytes {
        let rows = arguments["rows"].as_u64().and_then(|rows| usize::try_from(rows).ok()).unwrap_or_default();
        let is = |name: &str| arguments[name].as_bool().unwrap_or_default();
        let wanted = Wanted { rows, wide: is("wide"), structured: is("structured") };
        let mut made = self.0.lock().expect("nobody panics with it");
        made.entry(wanted).or_insert_with(|| result(wanted).to_string().into()).clone()
    }
}
