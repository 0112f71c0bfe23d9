//! The order of a start: the address first, then the first answers, then the upstreams.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use ptc_mcp::json::{Value, json};

use ptc_test_support::process::{Answer, family};
use ptc_test_support::wait_until;

use super::neighbours::modern_request;
use super::process::{HOME, on_http, on_pipes};

/// `ptc start --http` on this port, over one upstream that runs `script` and never says a word.
fn start(folder: &Path, port: u16, script: &str) -> Child {
    let file = folder.join("upstreams.json");
    let upstream = json!({"transport": "mcp_stdio", "command": "sh", "args": ["-c", script]});
    std::fs::write(&file, json!({"upstreams": {"slow": upstream}}).to_string()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_ptc"));
    command.args([
        "start",
        "--http",
        "--http-disable-auth",
        "--http-port",
        &port.to_string(),
        "--upstreams-config",
    ]);
    command.arg(file).env_clear().env("HOME", folder).env("PATH", "/usr/bin:/bin");
    command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the binary starts")
}

#[test]
fn an_address_that_is_taken_is_told_before_an_upstream_starts() {
    let folder = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let started = folder.path().join("started");
    let script = format!("touch {}; sleep 600", started.display());
    let mut child = start(folder.path(), taken.local_addr().unwrap().port(), &script);
    let mut told = String::new();
    child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert!(told.contains("cannot listen on 127.0.0.1:") && !started.exists(), "{told}");
}

#[test]
fn a_client_that_comes_while_the_upstreams_start_is_not_refused() {
    let folder = tempfile::tempdir().unwrap();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let started = folder.path().join("started");
    let script = format!("touch {}; sleep 600", started.display());
    let mut child = start(folder.path(), free.port(), &script);
    wait_until("the upstream starts", || started.exists());
    let connected = TcpStream::connect(free).is_ok();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(connected);
}

/// An upstreams file whose one upstream waits for the file `gate`, and then runs `then`.
fn gated(folder: &Path, then: &str) -> (String, PathBuf) {
    let gate = folder.join("gate");
    let script = format!("until [ -e {} ]; do sleep 0.02; done; {then}", gate.display());
    let upstream = json!({"transport": "mcp_stdio", "command": "/bin/sh", "args": ["-c", script]});
    let file = folder.join("upstreams.json");
    std::fs::write(&file, json!({"upstreams": {"late": upstream}}).to_string()).unwrap();
    (file.to_str().unwrap().to_owned(), gate)
}

const INITIALIZE: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
const LIST: &[u8] = br#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;

#[test]
fn a_client_is_answered_whatever_the_upstreams_do_and_programs_wait() {
    let folder = tempfile::tempdir().unwrap();
    let own = env!("CARGO_BIN_EXE_ptc");
    let (file, gate) = gated(folder.path(), &format!("exec {own} demo-upstream store"));
    let mut pipes = on_pipes(&["--upstreams-config", &file]);
    pipes.send_line(INITIALIZE);
    assert_eq!(pipes.receive()["result"]["capabilities"]["tools"], json!({"listChanged": true}));
    pipes.send_line(LIST);
    let described = |answer: &Value| answer["result"]["tools"][0]["description"].as_str().unwrap().to_owned();
    let before = described(&pipes.receive());
    assert!(before.contains("- late"), "{before}");
    // A program that needs no upstream waits for none, and one that does waits for it.
    let program = |id: u32, text: &str| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "lisp_eval", "arguments": {"program": text}}});
    let answer = pipes.request(&program(3, "(+ 1 2)"));
    assert_eq!((&answer["id"], &answer["result"]["content"][0]["text"]), (&json!(3), &json!("user=> 3")));
    let call = r#"(:name (tool/call! {:server "late" :tool "get" :args {:id 101}}))"#;
    pipes.send_line(program(4, call).to_string().as_bytes());
    assert_eq!(pipes.ask(br#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#).unwrap()["id"], 5);

    std::fs::write(gate, "").unwrap();
    let mut told = [pipes.receive(), pipes.receive()];
    told.sort_by_key(|message| message.get("id").is_some());
    assert_eq!(told[0]["method"], "notifications/tools/list_changed");
    assert_eq!(
        (&told[1]["id"], &told[1]["result"]["content"][0]["text"]),
        (&json!(4), &json!("user=> \"anvil\""))
    );
    pipes.send_line(LIST);
    let after = described(&pipes.receive());
    assert!(after.contains("get") && after != before, "{after}");
    assert!(pipes.finish().is_empty());
}

#[test]
fn a_required_upstream_that_fails_late_still_ends_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let (file, gate) = gated(folder.path(), "exit 3");
    let mut child = Command::new(env!("CARGO_BIN_EXE_ptc"))
        .args(["start", "--upstreams-config", &file])
        .env_clear()
        .env("HOME", folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Until it answers, it has not begun to serve.
    let mut input = child.stdin.take().unwrap();
    input.write_all(&[INITIALIZE, b"\n"].concat()).unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut String::new()).unwrap();
    std::fs::write(gate, "").unwrap();
    let mut told = String::new();
    child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1), "{told}");
    assert!(told.contains("upstream late cannot be started: "), "{told}");
}

#[test]
fn an_upstream_whose_token_is_not_set_is_left_out_if_one_can_go_without_it() {
    let folder = tempfile::tempdir().unwrap();
    let own = env!("CARGO_BIN_EXE_ptc");
    let file = |required: bool| {
        let path = folder.path().join(format!("{required}.json"));
        let store = json!({"transport": "mcp_stdio", "command": "/bin/sh", "args": ["-c", format!("exec {own} demo-upstream store")]});
        let remote = json!({"transport": "mcp_http", "url": "https://remote.example/mcp", "required": required,
            "auth": [{"scheme": "bearer", "binding": "token"}]});
        let file = json!({"credentials": {"token": {"source": "env", "var": "NOT_SET_HERE"}}, "upstreams": {"remote": remote, "store": store}});
        std::fs::write(&path, file.to_string()).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let sentence = "credential token env NOT_SET_HERE is not set";
    for mode in ["frozen", "background", "live"] {
        let mut pipes = on_pipes(&["--upstreams-config", &file(false), "--catalog-snapshot-mode", mode]);
        pipes.send_line(INITIALIZE);
        pipes.receive();
        let program = r#"[(:name (tool/call! {:server "store" :tool "get" :args {:id 101}}))
            (select-keys (tool/call {:server "remote" :tool "any"}) [:reason :message])]"#;
        let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "lisp_eval", "arguments": {"program": program}}});
        let mut answer = pipes.request(&call);
        // On a slow machine the list of tools changes meanwhile.
        while answer["id"] != 2 {
            answer = pipes.receive();
        }
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("\"anvil\"") && text.contains(":upstream_unavailable"), "{mode}: {text}");
        assert!(text.contains(sentence), "{mode}: {text}");
        drop(pipes.finish());
    }
    let refused = Command::new(own)
        .args(["start", "--upstreams-config", &file(true)])
        .env_clear()
        .env("HOME", folder.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(1) && told.contains(sentence), "{told}");
    // The check goes on as well, and says which one it was.
    let checked = Command::new(own)
        .args(["check", "--upstreams-config", &file(false)])
        .env_clear()
        .env("HOME", folder.path())
        .output()
        .unwrap();
    let (table, told) = (String::from_utf8_lossy(&checked.stdout), String::from_utf8_lossy(&checked.stderr));
    assert!(table.contains("(not required)") && table.contains(sentence), "{table}");
    assert!(told.contains("upstream remote is not required and is left out"), "{told}");
}

#[test]
fn a_server_on_http_is_not_ready_while_upstreams_start() {
    let folder = tempfile::tempdir().unwrap();
    let own = env!("CARGO_BIN_EXE_ptc");
    let (file, gate) = gated(folder.path(), &format!("exec {own} demo-upstream store"));
    let listener = on_http(&["--http-disable-auth", "--upstreams-config", &file]);
    let ready = || listener.exchange(b"GET /ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert_eq!((ready().status, ready().json()["status"].clone()), (503, json!("starting")));
    let answer = listener.post("", INITIALIZE);
    assert_eq!(answer.json()["result"]["capabilities"]["tools"], json!({"listChanged": false}));
    std::fs::write(gate, "").unwrap();
    wait_until("it becomes ready", || ready().status == 200);
}

#[test]
fn a_catalog_that_is_not_frozen_follows_the_upstreams_and_starts_no_process_in_vain() {
    let folder = tempfile::tempdir().unwrap();
    let own = env!("CARGO_BIN_EXE_ptc");
    let described = |answer: &Value| answer["result"]["tools"][0]["description"].as_str().unwrap().to_owned();
    let call = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "lisp_eval", "arguments":
        {"program": r#"(:name (tool/call! {:server "late" :tool "get" :args {:id 101}}))"#}}});
    let idle = json!({"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "lisp_eval", "arguments":
        {"program": "(+ 1 2)"}}});
    for mode in ["live", "background"] {
        let gone = folder.path().join("gate");
        let _ = std::fs::remove_file(&gone);
        let (file, gate) = gated(
            folder.path(),
            &format!("touch {}/began; exec {own} demo-upstream store", folder.path().display()),
        );
        let mut pipes = on_pipes(&["--upstreams-config", &file, "--catalog-snapshot-mode", mode]);
        pipes.send_line(INITIALIZE);
        assert_eq!(
            pipes.receive()["result"]["capabilities"]["tools"],
            json!({"listChanged": true}),
            "{mode}"
        );
        pipes.send_line(LIST);
        let before = described(&pipes.receive());
        std::fs::write(gate, "").unwrap();
        if mode == "live" {
            // Nothing is started that nobody asks for, before or beside what is answered.
            assert_eq!(pipes.request(&idle)["result"]["content"][0]["text"], "user=> 3");
            let children = family(pipes.server.pid());
            assert!(children.iter().all(|(_, name)| name != "sh"), "{children:?}");
            assert!(!folder.path().join("began").exists());
            pipes.send_line(call.to_string().as_bytes());
            let mut told = [pipes.receive(), pipes.receive()];
            told.sort_by_key(|message| message.get("id").is_some());
            assert_eq!(told[0]["method"], "notifications/tools/list_changed", "{mode}");
            assert_eq!(told[1]["result"]["content"][0]["text"], "user=> \"anvil\"");
        } else {
            assert_eq!(pipes.receive()["method"], "notifications/tools/list_changed", "{mode}");
        }
        pipes.send_line(LIST);
        let after = described(&pipes.receive());
        assert!(after.contains("get") && after != before, "{mode}: {after}");
        assert!(pipes.finish().is_empty());
    }
}

#[test]
fn in_the_background_an_upstream_that_fails_ends_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (file, gate) = gated(folder.path(), "exit 3");
    std::fs::write(gate, "").unwrap();
    let mut pipes = on_pipes(&["--upstreams-config", &file, "--catalog-snapshot-mode", "background"]);
    pipes.send_line(INITIALIZE);
    pipes.receive();
    let call = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "lisp_eval", "arguments":
        {"program": r#"(:reason (tool/call {:server "late" :tool "get" :args {:id 101}}))"#}}});
    for _ in 0..2 {
        pipes.send_line(call.to_string().as_bytes());
        let answer = pipes.receive();
        let text = answer["result"]["content"][0]["text"].as_str().unwrap().to_owned();
        assert!(text.starts_with("user=> :upstream_unavailable"), "{text}");
    }
    assert_eq!(pipes.ask(br#"{"jsonrpc":"2.0","id":4,"method":"ping"}"#).unwrap()["id"], 4);
    assert!(pipes.finish().is_empty());
}

/// Whether a file of the cache holds this text.
fn is_cached(text: &str) -> bool {
    let folder = Path::new(HOME).join(".cache/ptc");
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|file| std::fs::read_to_string(file.path()).ok()).any(|file| file.contains(text))
}

#[test]
fn until_upstreams_are_up_their_lists_are_those_of_the_last_start() {
    let folder = tempfile::tempdir().unwrap();
    let own = env!("CARGO_BIN_EXE_ptc");
    let (file, gate) = gated(folder.path(), &format!("exec {own} demo-upstream store"));
    // A name that no other test has, nor an earlier run.
    let unique = folder.path().file_name().unwrap().to_string_lossy().replace('.', "");
    let config = std::fs::read_to_string(&file).unwrap().replace("\"late\"", &format!("\"{unique}\""));
    std::fs::write(&file, config).unwrap();
    let listed = |flags: &[&str]| {
        let mut pipes = on_pipes(&[&["--upstreams-config", &file], flags].concat());
        pipes.send_line(INITIALIZE);
        pipes.receive();
        pipes.send_line(LIST);
        let answer = pipes.receive();
        (answer["result"]["tools"][0]["description"].as_str().unwrap().to_owned(), pipes)
    };
    let (first, _pipes) = listed(&[]);
    assert!(first.contains(&unique) && !first.contains("order_lines"), "{first}");
    std::fs::write(&gate, "").unwrap();
    wait_until("the lists are kept", || is_cached(&unique));
    std::fs::remove_file(&gate).unwrap();
    let (without, _pipes) = listed(&["--no-list-cache"]);
    assert_eq!(without, first);
    let (second, mut pipes) = listed(&[]);
    assert_ne!(second, first);
    // Programs still wait for the upstream, and there is nothing new to tell when it is up.
    let call = format!(r#"(:name (tool/call! {{:server "{unique}" :tool "get" :args {{:id 101}}}}))"#);
    let program = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "lisp_eval", "arguments": {"program": call}}});
    pipes.send_line(program.to_string().as_bytes());
    std::fs::write(&gate, "").unwrap();
    let answer = pipes.receive();
    assert_eq!(
        (&answer["id"], &answer["result"]["content"][0]["text"]),
        (&json!(3), &json!("user=> \"anvil\""))
    );
    pipes.send_line(LIST);
    assert_eq!(pipes.receive()["result"]["tools"][0]["description"].as_str(), Some(&*second));
    assert!(pipes.finish().is_empty());
}

#[test]
fn shapes_that_a_former_start_has_seen_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!("exec {} demo-upstream store", env!("CARGO_BIN_EXE_ptc"));
    let file = folder.path().join("upstreams.json");
    let path = file.to_str().unwrap();
    let upstream = json!({"transport": "mcp_stdio", "command": "/bin/sh", "args": ["-c", script]});
    let description =
        |listed: &Value| listed["result"]["tools"][0]["description"].as_str().unwrap().to_owned();
    let shape = "\n    {id int} → {\"id\" int";
    for http in [false, true] {
        // A name that no other test has, nor an earlier run.
        let unique =
            format!("{}{http}", folder.path().file_name().unwrap().to_string_lossy().replace('.', ""));
        std::fs::write(&file, json!({"upstreams": {&unique: upstream}}).to_string()).unwrap();
        let program = format!(r#"(:ok (tool/call {{:server "{unique}" :tool "get" :args {{:id 101}}}}))"#);
        let eval = json!({"name": "lisp_eval", "arguments": {"program": program}});
        // Another thread of the server writes it behind the answer: the server is not ended before.
        let is_kept = || wait_until("the shape is kept", || is_cached(&format!("\"{unique}\",\"get\"")));
        for is_known in [false, true] {
            let (listed, answer) = if http {
                let served = on_http(&["--http-disable-auth", "--upstreams-config", path]);
                let ask = |method: &str, params: &Value| {
                    let mut stream = served.connect();
                    stream.write_all(&modern_request("nobody", method, params)).unwrap();
                    Answer::read_one(&mut BufReader::new(stream)).json()
                };
                let answers = (ask("tools/list", &json!({})), ask("tools/call", &eval));
                is_kept();
                answers
            } else {
                let mut pipes = on_pipes(&["--upstreams-config", path]);
                pipes.send_line(INITIALIZE);
                pipes.receive();
                let call = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": eval});
                let mut ask = |request: &[u8]| {
                    pipes.send_line(request);
                    pipes.receive()
                };
                let answers = (ask(LIST), ask(call.to_string().as_bytes()));
                is_kept();
                answers
            };
            assert_eq!(answer["result"]["content"][0]["text"], "user=> true");
            let text = description(&listed);
            assert_eq!(text.contains(shape), is_known, "over HTTP: {http}: {text}");
        }
    }
}

#[test]
fn a_check_names_every_fault_of_a_file_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("upstreams.json");
    std::fs::write(&path, "{\n  \"upstreams\": {\n    \"a\": {\"transport\": \"mcp_stdio\"},\n    \"b\": {\"transport\": \"mcp_stdio\", \"command\": \"c\", \"args\": 5, \"description\": 6}\n  }\n}\n").unwrap();
    let check = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ptc"));
        command.args(["check", "--upstreams-config", path.to_str().unwrap()]).args(more);
        command.env_clear().env("HOME", folder.path()).output().unwrap()
    };
    let checked = check(&[]);
    let told = String::from_utf8_lossy(&checked.stderr);
    let file = path.display();
    assert_eq!(
        told.lines().collect::<Vec<_>>(),
        [
            format!("ptc: {file}:3:5 upstream a requires command"),
            format!("ptc: {file}:4:53 upstream b args must be a list of strings"),
            format!("ptc: {file}:4:79 upstreams.b.description must be a string, got a number"),
        ]
    );
    assert_eq!(checked.status.code(), Some(1));
    let listed = check(&["--json"]);
    let found: Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!((&found["ok"], found["faults"].as_array().unwrap().len()), (&json!(false), 3));
    assert_eq!((&found["faults"][2]["line"], &found["faults"][2]["column"]), (&json!(4), &json!(79)));
}
