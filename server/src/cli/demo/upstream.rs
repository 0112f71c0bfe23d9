//! The demo's upstream servers: three small MCP servers over standard streams. Each runs in its own process and is
//! reached through the same transport as any upstream.

use clap::ValueEnum;
use ptc_host::sync::Mutex;
use ptc_host::time;
use ptc_mcp::json::{Value, json};
use std::io::{BufRead, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// Which of the servers.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum DemoServer {
    /// A small file server.
    Fs,
    /// A code host with pull requests.
    Github,
    /// An item store that takes its time.
    Store,
}

/// How long the item store takes for one item: long enough to see that ten at once take as long as one.
const STORE_LATENCY: Duration = Duration::from_millis(60);

const NOTES: &str = "# Release notes, draft\n\n* The importer reads gzip files directly.\n* Fewer round trips: one program \
                     instead of ten tool calls.\n* `store.get` answers unknown ids with an error.\n";

const WATCHED: &str = "src/billing/invoice.rs\nsrc/billing/tax.rs\ndeploy/production.yaml\n";

impl DemoServer {
    /// Its name in programs.
    pub fn name(self) -> &'static str {
        match self {
            DemoServer::Fs => "fs",
            DemoServer::Github => "github",
            DemoServer::Store => "store",
        }
    }

    fn tools(self) -> Value {
        let tool = |name: &str, description: &str, properties: Value, required: Value| {
            json!({"name": name, "description": description,
                "inputSchema": {"type": "object", "properties": properties, "required": required}})
        };
        match self {
            DemoServer::Fs => json!([tool(
                "read_text_file",
                "Read the contents of a UTF-8 text file",
                json!({"path": {"type": "string"}}),
                json!(["path"])
            )]),
            DemoServer::Github => json!([tool(
                "list_prs",
                "List pull requests with the files they touch",
                json!({"state": {"type": "string", "enum": ["open", "closed"]}, "limit": {"type": "integer"}}),
                json!(["state"])
            )]),
            DemoServer::Store => json!([tool(
                "get",
                "Get one item by its id",
                json!({"id": {"type": "integer"}}),
                json!(["id"])
            )]),
        }
    }

    /// The result of a call: a text and whether it is an error.
    fn call(self, arguments: &Value) -> (String, bool) {
        match self {
            DemoServer::Fs => match arguments["path"].as_str() {
                Some("/tmp/sandbox/notes.md") => (NOTES.to_owned(), false),
                Some("/etc/watched-paths.txt") => (WATCHED.to_owned(), false),
                other => (format!("no such file: {}", other.unwrap_or("(no path)")), true),
            },
            DemoServer::Github => {
                let limit = arguments["limit"].as_u64().unwrap_or(30);
                let prs: Vec<Value> = (0..limit.min(50)).map(pull_request).collect();
                (Value::Array(prs).to_string(), false)
            }
            DemoServer::Store => {
                time::block(STORE_LATENCY);
                match arguments["id"].as_i64() {
                    Some(id @ (101..=106 | 108..=110)) => (item(id).to_string(), false),
                    id => (format!("no item {}", id.unwrap_or_default()), true),
                }
            }
        }
    }
}

/// Pull request `n` of the code host: a realistic record of some 600 bytes.
fn pull_request(n: u64) -> Value {
    let files = match n % 16 {
        3 => json!(["src/billing/tax.rs", "tests/tax.rs"]),
        11 => json!(["deploy/production.yaml"]),
        _ => json!([format!("src/module_{n}.rs"), format!("docs/page_{n}.md")]),
    };
    json!({
        "number": 400 + n,
        "title": format!("Change number {n} to the service"),
        "state": "open",
        "user": {"login": format!("dev{}", n % 7), "id": 9000 + n, "type": "User"},
        "labels": [{"name": "needs-review", "color": "ededed"}],
        "body": "This change was made after a longer discussion in the linked issue. It keeps the public interface as it \
                 is, adds tests for the new path, and removes a workaround that is no longer needed since the last \
                 release. Reviewers may want to start with the tests.",
        "files": files,
        "additions": 10 + n * 3,
        "deletions": n,
        "created_at": format!("2026-03-{:02}T09:00:00Z", n % 28 + 1),
    })
}

fn item(id: i64) -> Value {
    const NAMES: [&str; 10] =
        ["anvil", "bellows", "chisel", "drill", "easel", "file", "gouge", "hammer", "iron", "jig"];
    json!({
        "id": id,
        "name": NAMES[usize::try_from(id - 101).unwrap_or_default() % NAMES.len()],
        "price_cents": id * 37,
        "stock": {"warehouse_a": id % 9, "warehouse_b": id % 5},
        "description": "A well made tool for the workshop, tested by hand and delivered with a certificate.",
    })
}

/// Speaks MCP on standard input and output until the input ends.
#[expect(clippy::disallowed_methods, reason = "entry point: serve()")]
pub fn serve(server: DemoServer) -> ExitCode {
    let output = Arc::new(Mutex::new(std::io::stdout()));
    let answer = move |output: &Mutex<std::io::Stdout>, id: &Value, outcome: Result<Value, Value>| {
        let message = match outcome {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
        };
        let mut output = output.lock();
        // A client that has left needs no answer.
        let _ = writeln!(output, "{message}").and_then(|()| output.flush());
    };
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        let Some(id) = message.get("id").cloned() else { continue };
        match message["method"].as_str().unwrap_or_default() {
            "initialize" => {
                let result = json!({
                    "protocolVersion": message["params"]["protocolVersion"],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": format!("ptc-demo-{}", server.name()), "version": "1"},
                });
                answer(&output, &id, Ok(result));
            }
            "ping" => answer(&output, &id, Ok(json!({}))),
            "tools/list" => answer(&output, &id, Ok(json!({"tools": server.tools()}))),
            "tools/call" => {
                let output = output.clone();
                let arguments = message["params"]["arguments"].clone();
                // Each call runs on a thread of its own: many may be in progress on one pipe.
                std::thread::spawn(move || {
                    let (text, is_error) = server.call(&arguments);
                    let result = json!({"content": [{"type": "text", "text": text}], "isError": is_error});
                    answer(&output, &id, Ok(result));
                });
            }
            _ => answer(&output, &id, Err(json!({"code": -32601, "message": "method not found"}))),
        }
    }
    ExitCode::SUCCESS
}
