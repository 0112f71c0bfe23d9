//! What the server answers to fixed requests, byte for byte but for ids, versions and times: a change of the code that is to change
//! no answer leaves the transcripts as they are. `UPDATE_GOLDEN=1` writes them anew.

use std::path::PathBuf;
use std::sync::LazyLock;

use ptc_host::credentials::Redactor;
use ptc_mcp::json::{Value, json};
use ptc_test_support::in_process::{Pipe, fake_upstream, service, settings};
use regex::Regex;

/// What differs from run to run, and what stands for it.
static MASKS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    [
        (r#""eval_id":"ev_[0-9a-f]+""#, r#""eval_id":"EVAL""#),
        (r#""version":"[^"]*""#, r#""version":"VERSION""#),
        (r#""package_version":"[^"]*""#, r#""package_version":"VERSION""#),
        (r#""git_commit":"[^"]*""#, r#""git_commit":"COMMIT""#),
        (r#""git_dirty":(true|false)"#, r#""git_dirty":DIRTY"#),
        (r"ptcs_[A-Za-z0-9_-]+", "SESSION"),
        (r"\d{4}-\d\d-\d\dT[0-9:.]+Z", "TIME"),
        // In structured content, and in the text that mirrors it.
        (r#"(\\?"[a-z_]*(?:duration|latency|elapsed|age|remaining)[a-z_]*\\?":)[0-9.]+"#, "${1}MS"),
        (r#"(\\?"[a-z_]*_(?:ms|at)\\?":)[0-9.]{2,}"#, "${1}MS"),
    ]
    .map(|(pattern, mask)| (Regex::new(pattern).expect("a pattern"), mask))
    .into()
});

fn masked(line: &str) -> String {
    MASKS.iter().fold(line.to_owned(), |line, (pattern, mask)| pattern.replace_all(&line, *mask).into_owned())
}

/// A call of a tool.
fn call(tool: &str, arguments: Value) -> (&'static str, Value) {
    ("tools/call", json!({"name": tool, "arguments": arguments}))
}

fn eval(program: &str) -> (&'static str, Value) {
    call("lisp_eval", json!({"program": program}))
}

/// Requests that are answered alike whatever the profile is.
fn conversation() -> Vec<(&'static str, Value)> {
    let client = json!({"name": "golden", "version": "1"});
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    vec![
        ("initialize", hello),
        ("ping", json!({})),
        ("tools/list", json!({})),
        eval("(+ 1 2)"),
        eval("(do (println \"one\") (println {:a 1}) {:b [1 2.5 nil \"x\"]})"),
        eval("(map inc (range 2000))"),
        eval("(+ 1"),
        eval("(nope 1)"),
        eval("(let [m {}]\n  (+ 1 (:a m)))"),
        eval("(fail {:why \"no\"})"),
        eval("(loop [] (recur))"),
        eval("(tool/call {:server \"fake\" :tool \"echo\" :args {:n 1}})"),
        eval("(tool/call! {:server \"fake\" :tool \"refuse\" :args {:n 1}})"),
        eval(
            "(map :ok (mapv (fn [n] (tool/call {:server \"fake\" :tool (if (even? n) \"echo\" \"refuse\") :args {:n n}})) (range 4)))",
        ),
        eval("(tool/call! {:server \"fake\" :tool \"absent\" :args {}})"),
        eval("(tool/call! {:server \"absent\" :tool \"echo\" :args {}})"),
        eval("(println (doc \"fake\"))"),
        call("lisp_eval", json!({"program": "{:n data/n}", "context": {"n": 7}})),
        call("lisp_eval", json!({"program": "{:n \"a\"}", "signature": "{n :int}"})),
        call("lisp_eval", json!({"program": 1})),
        call("lisp_eval", json!({})),
        call("lisp_nothing", json!({})),
        ("tools/nothing", json!({})),
    ]
}

/// A session from its start to its end.
fn session() -> Vec<(&'static str, Value)> {
    let of = |tool: &str, mut arguments: Value| {
        arguments["session_id"] = json!("SESSION");
        call(tool, arguments)
    };
    vec![
        call("lisp_session_start", json!({"title": "golden"})),
        of("lisp_session_eval", json!({"program": "(def x 41)\n(defn f [m]\n  (+ x (:a m)))"})),
        of("lisp_session_eval", json!({"program": "(f {:a 1})"})),
        of("lisp_session_eval", json!({"program": "(f {})"})),
        of("lisp_session_eval", json!({"program": "*1"})),
        of("lisp_session_inspect", json!({})),
        of("lisp_session_forget", json!({"names": ["x"]})),
        call("lisp_session_list", json!({})),
        of("lisp_session_close", json!({})),
        of("lisp_session_eval", json!({"program": "1"})),
    ]
}

/// Requests of 2026-07-28, each for itself.
fn modern() -> Vec<(&'static str, Value)> {
    let with_meta = |mut params: Value| {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "golden", "version": "1"},
        });
        params
    };
    let calls = [
        ("server/discover", json!({})),
        eval("(+ 1 2)"),
        eval("(nope 1)"),
        call("lisp_nothing", json!({})),
        ("tools/nothing", json!({})),
    ];
    calls.map(|(method, params)| (method, with_meta(params))).into()
}

/// Sends requests one after the other. The id of the first session stands for `SESSION`.
async fn transcript(pipe: &mut Pipe, requests: Vec<(&'static str, Value)>) -> String {
    let id = Regex::new(r"ptcs_[A-Za-z0-9_-]+").expect("a pattern");
    let mut session = String::new();
    let mut lines = String::new();
    for (number, (method, params)) in (1..).zip(requests) {
        let shown = json!({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).to_string();
        let request: Value = serde_json::from_str(&shown.replace("SESSION", &session)).expect("JSON");
        pipe.send(&request).await;
        let answer = loop {
            let line = pipe.line().await;
            // Notifications come when they do.
            if line.contains(&format!("\"id\":{number}")) {
                break line;
            }
        };
        if let Some(found) = id.find(&answer).filter(|_| session.is_empty()) {
            session = found.as_str().to_owned();
        }
        lines.push_str(&format!("> {shown}\n< {}\n", masked(&answer)));
    }
    lines
}

/// Compares with the transcript of this name, or writes it.
fn hold(name: &str, transcript: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/it/golden/{name}.txt"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        return std::fs::write(path, transcript).expect("written");
    }
    let expected = std::fs::read_to_string(&path).expect("UPDATE_GOLDEN=1 writes it");
    for (number, (expected, found)) in (1..).zip(expected.lines().zip(transcript.lines())) {
        assert_eq!(found, expected, "{name}.txt:{number}");
    }
    assert_eq!(transcript.lines().count(), expected.lines().count(), "{name}.txt");
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_of_each_profile_are_as_they_were() {
    for profile in ["slim", "structured", "debug"] {
        let redactor = Redactor::new();
        let upstreams = fake_upstream(&redactor).await;
        let settings = settings(&["--response-profile", profile, "--program-step-limit", "1000000"]);
        let (service, _engine) = service(&settings, Some(&upstreams), &redactor);
        let mut pipe = Pipe::open(service);
        hold(profile, &transcript(&mut pipe, conversation()).await);
        upstreams.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_of_sessions_are_as_they_were() {
    let mut pipe = Pipe::to(&["--sessions"]);
    let mut requests = conversation();
    requests.truncate(1);
    requests.extend(session());
    hold("session", &transcript(&mut pipe, requests).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_of_2026_07_28_are_as_they_were() {
    let mut pipe = Pipe::to(&[]);
    hold("modern", &transcript(&mut pipe, modern()).await);
}
