//! A tool server for the whole-product tests: MCP over standard streams, with tools that answer late, together,
//! wrongly or not at all.
//!
//! | Tool | What it does |
//! |---|---|
//! | `echo` | gives its arguments back as JSON text |
//! | `gather` | answers only when `n` calls of it are waiting, the last one first |
//! | `hang` | never answers |
//! | `die` | ends the process |
//! | `bulk` | answers with `bytes` bytes of text |
//! | `until` | answers once there is a file at `path` |
//! | `refuse` | an error that says `refused` |
//! | `answer` | gives `result`, the text of a result object; each `DIGITS` in it becomes that many digits as `digits` says |
//! | `answer_record` | likewise; its `outputSchema` has the properties `result` and `total` |
//! | `announce` | says that the tool list has changed, and answers |
//! | `touch` | says that the resource at `uri` has changed, if somebody has subscribed to it; answers with all subscriptions |
//! | `relist` | says that resources and prompts have come or gone |
//! | `talk` | tells of its progress and logs, and answers with the level that was set |
//! | `roots` | asks for the roots, and answers with them |
//! | `waiting` | how many calls of `hang` and `until` are neither answered nor cancelled |
//!
//! Its resources are listed on two pages. `blob:N` has N bytes of binary content, `text:T` the text T, `several:` three
//! contents; `gone:` is listed, but not there. Its prompt `greet` has the argument `name`, for which it proposes names.
//!
//! With `--rows` as its first argument it has three tools more. `rows` gives `n` rows, each with the number of the call, and
//! says of itself that it only reads; `log` gives the same and says nothing; `picture` gives a text and a PNG.
//!
//! With `--notes` it has the tool `note` more, which adds the line `text` to the file at `path`.
//!
//! With `--samples` it has the tool `sum_up` more, which has a model sum up its `text`, and answers with what it was told.
//!
//! With `--pages` it has two tools more, which send people to a page; it is done there once there is a file at `path`, and then they are told so.
//! `pay` refuses until then, with the page in its error; `pay_held` asks while its call is open, and answers with what it was told.
//!
//! With `--pairs` it has, instead of all that, tools, resources, templates and prompts of which a policy shows some: each name
//! says what becomes of it. Every tool gives its arguments back.
//!
//! Once there is a file at the path of its first argument, it lists a tool `fresh` more, and `echo` requires `y`.
//!
//! With the path of a file as `HELD` in its environment, it answers nothing until there is that file.

use ptc_mcp::json::{Value, json};
use std::io::{BufRead, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

fn say(message: &Value) {
    say_line(&message.to_string());
}

fn say_line(message: &str) {
    let mut out = std::io::stdout().lock();
    // A reader that is gone is the end of the test.
    let _ = writeln!(out, "{message}").and_then(|()| out.flush());
}

fn text_result(id: &Value, text: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": text}]}})
}

/// The ids of calls that wait.
#[derive(Clone, Default)]
struct Waiting(Arc<Mutex<Vec<Value>>>);

impl Waiting {
    fn enter(&self, id: &Value) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(id.clone());
    }

    /// Whether it was still waiting.
    fn leave(&self, id: &Value) -> bool {
        let mut ids = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = ids.iter().position(|waiting| waiting == id);
        found.map(|at| ids.swap_remove(at)).is_some()
    }

    fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Answers `id` as soon as there is a file at `path`.
    fn answer_at(&self, path: String, id: Value) {
        let waiting = self.clone();
        std::thread::spawn(move || {
            while !std::path::Path::new(&path).exists() {
                std::thread::sleep(Duration::from_millis(5));
            }
            if waiting.leave(&id) {
                say(&text_result(&id, "there it is"));
            }
        });
    }
}

/// The answer to `resources/read`.
fn read(id: &Value, uri: &str) -> Value {
    let content = match uri.split_once(':').unwrap_or_default() {
        ("text" | "secret", text) => json!([{"uri": uri, "text": text}]),
        ("markdown", text) => json!([{"uri": uri, "mimeType": "text/markdown", "text": text}]),
        ("blob", bytes) => {
            let bytes: usize = bytes.parse().unwrap_or(0);
            let mut base64 = "A".repeat(bytes.div_ceil(3) * 4);
            base64.replace_range(base64.len() - (3 - bytes % 3) % 3.., &"=".repeat((3 - bytes % 3) % 3));
            json!([{"uri": uri, "mimeType": "image/png", "blob": base64}])
        }
        ("several", _) => json!([
            {"uri": "a", "blob": "AAAA"}, {"uri": "b", "text": "x"}, {"uri": "c", "blob": "no base64!"}
        ]),
        _ => {
            let error = json!({"code": -32002, "message": "Resource not found"});
            return json!({"jsonrpc": "2.0", "id": id, "error": error});
        }
    };
    json!({"jsonrpc": "2.0", "id": id, "result": {"contents": content}})
}

/// Whether its tools have changed.
fn grown() -> bool {
    std::env::args().nth(1).is_some_and(|path| std::path::Path::new(&path).exists())
}

/// Whether it has everything but tools.
fn with_rows() -> bool {
    std::env::args().nth(1).is_some_and(|word| word == "--rows")
}

/// Whether it asks a model.
fn samples() -> bool {
    std::env::args().nth(1).is_some_and(|word| word == "--samples")
}

/// Whether it writes files.
fn notes() -> bool {
    std::env::args().nth(1).is_some_and(|word| word == "--notes")
}

/// Adds a line to a file.
fn note(path: &str, line: &str) -> std::io::Result<()> {
    let mut file = std::fs::File::options().create(true).append(true).open(path)?;
    file.write_all(format!("{line}\n").as_bytes())
}

/// Whether it sends people to pages.
fn with_pages() -> bool {
    std::env::args().nth(1).is_some_and(|word| word == "--pages")
}

/// What sends somebody to a page. It is told once that the page is done, behind one that nobody knows.
fn page(path: &str) -> Value {
    let file = path.to_owned();
    std::thread::spawn(move || {
        while !std::path::Path::new(&file).exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        for page in ["a page that nobody knows", &file] {
            let params = json!({"elicitationId": page});
            say(&json!({"jsonrpc": "2.0", "method": "notifications/elicitation/complete", "params": params}));
        }
    });
    json!({"mode": "url", "elicitationId": path, "url": "https://pay.example/", "message": "Please pay."})
}

/// Whether it has what a policy shows in part.
fn in_pairs() -> bool {
    std::env::args().nth(1).is_some_and(|word| word == "--pairs")
}

/// The names of what it has in pairs.
const PAIRS: [&str; 3] = ["zq7visible", "zq7hidden", "zq7listed"];

/// The answer to a request for something in pairs; `None` if it is another one.
fn of_pairs(method: &str, params: &Value) -> Option<Value> {
    let (uri, name) = (&params["uri"], &params["name"]);
    let schema =
        json!({"type": "object", "properties": {"path": {"type": "string"}, "zq7_of": {"type": "string"}}});
    let schema =
        |tool: &str| json!({"type": "object", "description": tool, "properties": schema["properties"]});
    let list = |member: &str, of: &dyn Fn(&str) -> Value| json!({member: PAIRS.iter().map(|name| of(name)).collect::<Vec<Value>>()});
    Some(match method {
        "tools/list" => list(
            "tools",
            &|tool| json!({"name": tool, "description": format!("Does what {tool} does."), "inputSchema": schema(tool)}),
        ),
        "tools/call" => json!({"content": [{"type": "text", "text": params["arguments"].to_string()}]}),
        "resources/list" => list("resources", &|name| json!({"uri": format!("zq7:{name}"), "name": name})),
        "resources/templates/list" => list(
            "resourceTemplates",
            &|name| json!({"uriTemplate": format!("zq7:{name}/{{x}}"), "name": name}),
        ),
        "resources/read" => json!({"contents": [{"uri": uri, "text": "read"}]}),
        "prompts/list" => {
            list("prompts", &|name| json!({"name": name, "description": format!("About {name}.")}))
        }
        "prompts/get" => {
            json!({"messages": [{"role": "user", "content": {"type": "text", "text": format!("Use {name}.")}}]})
        }
        "completion/complete" => json!({"completion": {"values": ["one"]}}),
        _ => return None,
    })
}

/// Whether it has tools and nothing else.
fn has_only_tools() -> bool {
    std::env::args().nth(1).is_some_and(|word| word == "--only-tools")
}

fn toolless() -> bool {
    std::env::args().nth(1).is_some_and(|word| word == "--no-tools")
}

/// Waits until it may answer.
fn wait_while_held() {
    let Some(path) = std::env::var_os("HELD") else { return };
    while !std::path::Path::new(&path).exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn main() {
    wait_while_held();
    let mut gathered: Vec<(Value, Value)> = Vec::new();
    let waiting = Waiting::default();
    let (mut level, mut asking) = (Value::Null, None);
    let mut subscribed: Vec<String> = Vec::new();
    let mut rows_calls = 0;
    for line in std::io::stdin().lock().lines() {
        let Ok(message) =
            line.map_err(drop).and_then(|line| serde_json::from_str::<Value>(&line).map_err(drop))
        else {
            continue;
        };
        let Some(id) = message.get("id") else {
            if message["method"] == "notifications/cancelled" {
                waiting.leave(&message["params"]["requestId"]);
            }
            continue;
        };
        if message["id"] == "roots" {
            let answer = message["result"]["roots"].to_string();
            asking.take().iter().for_each(|id| say(&text_result(id, &answer)));
            continue;
        }
        if message["id"] == "model" {
            let told = if message["error"].is_null() { &message["result"] } else { &message["error"] };
            asking.take().iter().for_each(|id| say(&text_result(id, &told.to_string())));
            continue;
        }
        if message["id"] == "page" {
            let told = message["result"].to_string();
            asking.take().iter().for_each(|id| say(&text_result(id, &told)));
            continue;
        }
        let params = &message["params"];
        let method = message["method"].as_str().unwrap_or_default();
        if in_pairs()
            && let Some(result) = of_pairs(method, params)
        {
            say(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
            continue;
        }
        match method {
            "initialize" => {
                let mut capabilities = json!({"tools": {}, "resources": {"subscribe": true, "listChanged": true},
                    "prompts": {"listChanged": true}, "completions": {}, "logging": {}});
                if has_only_tools() {
                    capabilities = json!({"tools": {}});
                }
                if toolless() {
                    capabilities.as_object_mut().map(|all| all.remove("tools"));
                }
                say(
                    &json!({"jsonrpc": "2.0", "id": id, "result": {"protocolVersion": params["protocolVersion"],
                    "capabilities": capabilities, "serverInfo": {"name": "fake", "version": "1"},
                    "instructions": if in_pairs() { "Use zq7hidden first." } else { "" }}}),
                );
            }
            "tools/list" | "tools/call" if toolless() => {
                let error = json!({"code": -32601, "message": "Method not found"});
                say(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
            }
            "tools/list" => {
                let mut tools: Vec<Value> = [
                    "echo", "gather", "hang", "die", "bulk", "until", "refuse", "waiting", "answer",
                    "announce", "talk", "roots", "touch", "relist",
                ]
                .iter()
                .map(|name| json!({"name": name, "inputSchema": {"type": "object"}}))
                .collect();
                let record = json!({"type": "object", "properties": {"result": {}, "total": {}}});
                tools.push(json!({"name": "answer_record", "inputSchema": {"type": "object"}, "outputSchema": record}));
                if with_rows() {
                    let reads = json!({"readOnlyHint": true});
                    tools.push(
                        json!({"name": "rows", "inputSchema": {"type": "object"}, "annotations": reads}),
                    );
                    tools.push(json!({"name": "log", "inputSchema": {"type": "object"}}));
                    tools.push(json!({"name": "picture", "inputSchema": {"type": "object"}}));
                }
                if notes() {
                    tools.push(json!({"name": "note", "inputSchema": {"type": "object"}}));
                }
                if with_pages() {
                    tools.extend(
                        ["pay", "pay_held"]
                            .map(|name| json!({"name": name, "inputSchema": {"type": "object"}})),
                    );
                }
                if samples() {
                    tools.push(json!({"name": "sum_up", "inputSchema": {"type": "object"}}));
                }
                if grown() {
                    tools[0]["inputSchema"] =
                        json!({"type": "object", "properties": {"y": {"type": "string"}}, "required": ["y"]});
                    tools.push(json!({"name": "fresh", "inputSchema": {"type": "object"}}));
                }
                say(&json!({"jsonrpc": "2.0", "id": id, "result": {"tools": tools}}));
            }
            "tools/call" => {
                let arguments = &params["arguments"];
                match params["name"].as_str().unwrap_or_default() {
                    "sum_up" => {
                        asking = Some(id.clone());
                        let text = json!({"type": "text", "text": arguments["text"]});
                        let asked = json!({"messages": [{"role": "user", "content": text}], "systemPrompt": "Sum up.",
                            "maxTokens": 1_000_000, "stopSequences": ["###"]});
                        say(
                            &json!({"jsonrpc": "2.0", "id": "model", "method": "sampling/createMessage", "params": asked}),
                        );
                    }
                    "pay" => {
                        let path = arguments["path"].as_str().unwrap_or_default();
                        if std::path::Path::new(path).exists() {
                            say(&text_result(id, "paid"));
                        } else {
                            let pages = json!({"elicitations": [page(path)]});
                            let error = json!({"code": -32042, "message": "pay first", "data": pages});
                            say(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
                        }
                    }
                    "pay_held" => {
                        asking = Some(id.clone());
                        let asked = page(arguments["path"].as_str().unwrap_or_default());
                        say(
                            &json!({"jsonrpc": "2.0", "id": "page", "method": "elicitation/create", "params": asked}),
                        );
                    }
                    "announce" => {
                        say(&json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
                        say(&text_result(id, "said"));
                    }
                    "touch" => {
                        let uri = arguments["uri"].as_str().unwrap_or_default();
                        if subscribed.iter().any(|known| known == uri) {
                            let params = json!({"uri": uri});
                            say(
                                &json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": params}),
                            );
                        }
                        say(&text_result(id, &json!(subscribed).to_string()));
                    }
                    "relist" => {
                        for list in ["resources", "prompts"] {
                            let method = format!("notifications/{list}/list_changed");
                            say(&json!({"jsonrpc": "2.0", "method": method}));
                        }
                        say(&text_result(id, "said"));
                    }
                    "talk" => {
                        let token = &params["_meta"]["progressToken"];
                        if !token.is_null() {
                            let told = json!({"progressToken": token, "progress": 2, "total": 5, "message": "two of\tfive"});
                            say(
                                &json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": told}),
                            );
                        }
                        for (level, data) in
                            [("debug", json!("detail")), ("warning", json!({"said": arguments["say"]}))]
                        {
                            let told = json!({"level": level, "logger": "work", "data": data});
                            say(
                                &json!({"jsonrpc": "2.0", "method": "notifications/message", "params": told}),
                            );
                        }
                        // A report of progress comes a tenth of a second after the last.
                        std::thread::sleep(Duration::from_millis(arguments["ms"].as_u64().unwrap_or(0)));
                        say(&text_result(id, &level.to_string()));
                    }
                    "roots" => {
                        asking = Some(id.clone());
                        say(&json!({"jsonrpc": "2.0", "id": "roots", "method": "roots/list"}));
                    }
                    "echo" | "fresh" => say(&text_result(id, &arguments.to_string())),
                    "answer" | "answer_record" => {
                        let digits = arguments["digits"].as_u64().unwrap_or(0) as usize;
                        let result = arguments["result"].as_str().unwrap_or("{}");
                        let result = result.replace('\n', " ").replace("DIGITS", &"7".repeat(digits));
                        say_line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#));
                    }
                    "gather" => {
                        gathered.push((id.clone(), arguments.clone()));
                        if gathered.len() as u64 >= arguments["n"].as_u64().unwrap_or(1) {
                            for (id, arguments) in gathered.drain(..).rev() {
                                say(&text_result(&id, &arguments.to_string()));
                            }
                        }
                    }
                    "rows" | "log" => {
                        rows_calls += 1;
                        let row = |id: u64| json!({"id": id, "call": rows_calls, "text": "one of many rows"});
                        let rows: Vec<Value> = (0..arguments["n"].as_u64().unwrap_or(0)).map(row).collect();
                        say(&text_result(id, &json!(rows).to_string()));
                    }
                    "picture" => say(&json!({"jsonrpc": "2.0", "id": id, "result": {"content": [
                        {"type": "text", "text": "A chart"},
                        {"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgouLi4u"}]}})),
                    "die" => std::process::exit(3),
                    "bulk" => {
                        let bytes = arguments["bytes"].as_u64().unwrap_or(0) as usize;
                        say(&text_result(id, &"x".repeat(bytes)));
                    }
                    "until" => {
                        waiting.enter(id);
                        waiting
                            .answer_at(arguments["path"].as_str().unwrap_or_default().to_owned(), id.clone());
                    }
                    "note" => {
                        let [path, text] =
                            ["path", "text"].map(|key| arguments[key].as_str().unwrap_or_default());
                        let said =
                            note(path, text).map_or_else(|error| error.to_string(), |()| "noted".to_owned());
                        say(&text_result(id, &said));
                    }
                    "refuse" => say(&json!({"jsonrpc": "2.0", "id": id, "result": {
                        "content": [{"type": "text", "text": "refused"}], "isError": true}})),
                    "waiting" => say(&text_result(id, &waiting.count().to_string())),
                    _ => waiting.enter(id),
                }
            }
            "logging/setLevel" => {
                level = params["level"].clone();
                say(&json!({"jsonrpc": "2.0", "id": id, "result": {}}));
            }
            "resources/subscribe" => {
                subscribed.extend(params["uri"].as_str().map(str::to_owned));
                say(&json!({"jsonrpc": "2.0", "id": id, "result": {}}));
            }
            "resources/unsubscribe" => {
                subscribed.retain(|known| Some(known.as_str()) != params["uri"].as_str());
                say(&json!({"jsonrpc": "2.0", "id": id, "result": {}}));
            }
            "resources/list" => {
                let one =
                    |uri: &str| json!({"uri": uri, "name": uri, "mimeType": "text/plain", "_meta": {"x": 1}});
                let page = match params["cursor"].as_str() {
                    None => json!({"resources": [one("text:[1]"), one("gone:")], "nextCursor": "2"}),
                    Some(_) => json!({"resources": [one("secret:key"), one("blob:3")]}),
                };
                say(&json!({"jsonrpc": "2.0", "id": id, "result": page}));
            }
            "resources/templates/list" => {
                let template = json!({"uriTemplate": "text:{text}", "name": "any"});
                say(&json!({"jsonrpc": "2.0", "id": id, "result": {"resourceTemplates": [template]}}));
            }
            "resources/read" => say(&read(id, params["uri"].as_str().unwrap_or_default())),
            "prompts/list" => {
                let greet = json!({"name": "greet", "arguments": [{"name": "name", "required": true}]});
                say(&json!({"jsonrpc": "2.0", "id": id, "result": {"prompts": [greet]}}));
            }
            "prompts/get" => {
                let hello = format!("Greet {}.", params["arguments"]["name"]);
                let image = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
                let messages = json!([
                    {"role": "user", "content": {"type": "text", "text": hello}},
                    {"role": "assistant", "content": image}
                ]);
                let prompt = json!({"description": "Greets.", "messages": messages});
                say(&json!({"jsonrpc": "2.0", "id": id, "result": prompt}));
            }
            "completion/complete" => {
                let typed = params["argument"]["value"].as_str().unwrap_or_default();
                let known = params["context"]["arguments"]["town"].as_str().unwrap_or("nowhere");
                let values: Vec<String> = ["Ada", "Alan"]
                    .iter()
                    .filter(|name| name.starts_with(typed))
                    .map(|name| format!("{name} of {known}"))
                    .collect();
                let completion = json!({"values": values, "total": 9});
                say(&json!({"jsonrpc": "2.0", "id": id, "result": {"completion": completion}}));
            }
            _ => say(
                &json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "method not found"}}),
            ),
        }
    }
}
