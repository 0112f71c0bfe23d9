//! A model of the operator's answers what an upstream asks of one (waiting.md 3.7), for the commands that run programs.

use super::model::{Provider, answer, says};
use super::{KEY, Ran, ptc};
use ptc_mcp::json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Output, Stdio};

const PROGRAM: &str = r#"(:value (tool/call {:server "fake" :tool "sum_up" :args {:text "a long text"}}))"#;

/// An upstreams file whose server asks a model, and the command's environment.
fn world(sampling: bool) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let config = json!({"upstreams": {"fake": {"transport": "mcp_stdio", "sampling": sampling,
        "command": env!("CARGO_BIN_EXE_fake-upstream"), "args": ["--samples"]}}});
    std::fs::write(file.path(), config.to_string()).expect("written");
    file
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ptc-under-test"));
    command.args(arguments).env_clear().env("OPENAI_COMPAT_API_KEY", KEY);
    command
}

fn eval(arguments: &[&str], file: &tempfile::NamedTempFile) -> Ran {
    let config = file.path().to_str().expect("text");
    let output =
        command(&[&["eval", "-e", PROGRAM, "--upstreams-config", config], arguments].concat()).output();
    let Output { status, stdout, stderr } = output.expect("it ends");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    let ran = Ran { ok: status.success(), status: status.code(), out: text(stdout), err: text(stderr) };
    assert!(!ran.out.contains(KEY) && !ran.err.contains(KEY), "the key shows: {}{}", ran.out, ran.err);
    ran
}

fn model(provider: &Provider) -> String {
    format!("openai-compat:{}|m-1", provider.base)
}

#[test]
fn an_upstream_gets_the_models_answer() {
    let provider = Provider::start(vec![says("Short.### And more.")]);
    let ran = eval(&["--sampling-model", &model(&provider), "--sampling-max-tokens", "77"], &world(true));
    assert_eq!(
        (ran.out.as_str(), ran.err.as_str()),
        (
            "{\"content\" {\"text\" \"Short.\" \"type\" \"text\"} \"model\" \"m-1\" \"role\" \"assistant\" \"stopReason\" \"stopSequence\"}\n",
            ""
        )
    );
    let asked = &provider.asked()[0];
    assert!(asked.head.contains(&format!("authorization: bearer {KEY}")));
    assert_eq!(
        asked.body["messages"],
        json!([{"role": "system", "content": "Sum up."}, {"role": "user", "content": "a long text"}])
    );
    assert!(asked.body["tools"].is_null(), "{}", asked.body);
    assert!(asked.body.to_string().contains("77"), "{}", asked.body);
}

#[test]
fn one_half_of_the_permission_is_none_and_is_told() {
    let provider = Provider::start(vec![says("x")]);
    let refused = "{\"code\" -32601 \"message\" \"Method not found\"}\n";
    let ran = eval(&[], &world(true));
    assert_eq!(ran.out, refused);
    assert_eq!(
        ran.err,
        "ptc: upstream fake has \"sampling\": true, but no model answers it: name one with --sampling-model\n"
    );
    let ran = eval(&["--sampling-model", &model(&provider)], &world(false));
    assert_eq!(ran.out, refused);
    assert_eq!(ran.err, "ptc: --sampling-model answers nobody: no upstream has \"sampling\": true\n");
    assert!(provider.asked().is_empty());
    let ran = eval(&["--sampling-model", "nonsense"], &world(true));
    assert!(!ran.ok && ran.err.starts_with("ptc: --sampling-model: unknown model 'nonsense'"), "{}", ran.err);
    let ran = eval(&["--sampling-model", "anthropic:x"], &world(true));
    assert!(ran.err.contains("--sampling-model: ANTHROPIC_API_KEY is required"), "{}", ran.err);
    let file = world(true);
    let checked =
        command(&["check", "--upstreams-config", file.path().to_str().unwrap(), "--json"]).output().unwrap();
    let found: Value = serde_json::from_slice(&checked.stdout).unwrap();
    let remark = found["upstreams"][0]["remarks"][0].as_str().unwrap();
    assert!(remark.starts_with("upstream fake: a model answers what it asks"), "{remark}");
}

#[test]
fn a_model_that_fails_is_an_error_of_the_request_without_its_words() {
    let busy =
        answer("429 Too Many Requests\r\nretry-after: 600", r#"{"error":{"message":"quota of org-17"}}"#);
    let provider = Provider::start(vec![busy]);
    let ran = eval(&["--sampling-model", &model(&provider)], &world(true));
    assert_eq!(
        ran.out, "{\"code\" -32603 \"message\" \"the model gave no answer: rate_limit (http 429)\"}\n",
        "{}",
        ran.err
    );
    let empty = Provider::start(vec![says("")]);
    let ran = eval(&["--sampling-model", &model(&empty)], &world(true));
    assert_eq!(ran.out, "{\"code\" -32603 \"message\" \"the model answered nothing\"}\n");
}

#[test]
fn the_agents_own_model_answers_no_upstream_unless_it_is_named() {
    let provider =
        Provider::start(vec![super::calls("lisp_eval", &json!({"program": PROGRAM})), says("Done.")]);
    let file = world(true);
    let config = file.path().to_str().unwrap();
    let ran = ptc(&["--model", &model(&provider), "--upstreams-config", config, "go"], "");
    assert_eq!((ran.ok, ran.out.as_str()), (true, "Done.\n"), "{}", ran.err);
    assert_eq!(provider.asked().len(), 2);
    assert!(provider.asked()[1].body.to_string().contains("-32601"), "{}", provider.asked()[1].body);
}

#[test]
fn the_server_writes_each_request_down() {
    let provider = Provider::start(vec![says("Short.")]);
    let (file, folder) = (world(true), tempfile::tempdir().unwrap());
    let audit = folder.path().join("audit.jsonl");
    let mut server = command(&[
        "start",
        "--upstreams-config",
        file.path().to_str().unwrap(),
        "--audit-log",
        audit.to_str().unwrap(),
        "--sampling-model",
        &model(&provider),
        "--max-samplings-per-program",
        "2",
    ])
    .stdin(Stdio::piped())
    .stdout(Stdio::piped())
    .stderr(Stdio::null())
    .spawn()
    .unwrap();
    let mut input = server.stdin.take().unwrap();
    let mut output = BufReader::new(server.stdout.take().unwrap());
    let mut ask = |message: Value| {
        writeln!(input, "{message}").unwrap();
        let mut line = String::new();
        while output.read_line(&mut line).unwrap() > 0 {
            let answer: Value = serde_json::from_str(&line).unwrap();
            if answer["id"] == message["id"] {
                return answer;
            }
            line.clear();
        }
        panic!("it has ended");
    };
    let client = json!({"name": "t", "version": "1"});
    ask(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize",
               "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}}));
    let program = format!("(map (fn [_] (get {PROGRAM} \"code\")) [1 2 3])");
    let answer = ask(json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
                            "params": {"name": "lisp_eval", "arguments": {"program": program}}}));
    assert!(answer.to_string().contains("[nil nil -1]"), "{answer}");
    drop(input);
    assert!(server.wait().unwrap().success());
    let text = std::fs::read_to_string(&audit).unwrap();
    assert!(!text.contains("a long text") && !text.contains("Short."), "{text}");
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let samplings: Vec<Value> = lines.filter(|line| line["kind"] == "sampling").collect();
    let shown: Vec<String> = samplings
        .iter()
        .map(|line| {
            format!("{} {} {} {}", line["upstream"], line["model"], line["output_tokens"], line["outcome"])
        })
        .collect();
    assert_eq!(shown, [r#""fake" "m-1" 5 "ok""#, r#""fake" "m-1" 5 "ok""#, r#""fake" null null "refused""#]);
    assert_eq!(samplings[0]["request_digest"], samplings[1]["request_digest"]);
}
