//! `ptc agent` as a process, against a provider and an upstream of our own.

mod kept;
pub(crate) mod model;
mod sampling;

use model::{Provider, answer, calls, cut, says};
use ptc_mcp::json::{Value, json};
use ptc_test_support::steps::{self, Steps};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

const KEY: &str = "sk-a-very-secret-key";

/// What a run left.
struct Ran {
    ok: bool,
    status: Option<i32>,
    out: String,
    err: String,
}

/// Runs `ptc agent` with these arguments and this standard input.
fn ptc(arguments: &[&str], input: &str) -> Ran {
    let home = tempfile::tempdir().expect("a folder");
    at_home(home.path(), arguments, input)
}

/// As [`ptc`], for a person whose home this is.
fn at_home(home: &std::path::Path, arguments: &[&str], input: &str) -> Ran {
    ends(begin(home, arguments, input, &[]))
}

/// Starts it, with these variables.
fn begin(home: &std::path::Path, arguments: &[&str], input: &str, variables: &[(&str, PathBuf)]) -> Child {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ptc-under-test"))
        .arg("agent")
        .args(arguments)
        .env_clear()
        .env("HOME", home)
        .env("OPENAI_COMPAT_API_KEY", KEY)
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("it reads or has ended");
    child
}

/// Waits for its end.
fn ends(child: Child) -> Ran {
    let Output { status, stdout, stderr } = child.wait_with_output().expect("it ends");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    let ran = Ran { ok: status.success(), status: status.code(), out: text(stdout), err: text(stderr) };
    assert!(!ran.out.contains(KEY) && !ran.err.contains(KEY), "the key shows: {}{}", ran.out, ran.err);
    ran
}

/// Asks `provider` with these arguments.
fn ask(provider: &Provider, arguments: &[&str]) -> Ran {
    let model = format!("openai-compat:{}|m", provider.base);
    ptc(&[&["--model", &model], arguments].concat(), "")
}

/// An upstreams file with the fake upstream.
fn upstreams() -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let config = json!({"upstreams": {"fake": {"transport": "mcp_stdio",
        "command": env!("CARGO_BIN_EXE_fake-upstream"), "description": "Echoes"}}});
    std::fs::write(file.path(), config.to_string()).expect("written");
    file
}

/// The tool messages of a request.
fn results(body: &Value) -> Vec<Value> {
    let messages = body["messages"].as_array().expect("messages");
    let contents = messages.iter().filter(|message| message["role"] == "tool");
    contents.map(|message| serde_json::from_str(message["content"].as_str().unwrap()).unwrap()).collect()
}

#[test]
fn a_prompt_gets_its_answer_and_nothing_else_on_standard_output() {
    let provider = Provider::start(vec![says("Four.")]);
    let ran = ask(&provider, &["how much", "is 2 + 2?"]);
    assert_eq!((ran.ok, ran.out.as_str(), ran.err.as_str()), (true, "Four.\n", ""));
    let asked = provider.asked();
    assert!(asked[0].head.contains(&format!("authorization: bearer {KEY}")), "{}", asked[0].head);
    let messages = asked[0].body["messages"].as_array().unwrap();
    let last = messages.last().unwrap()["content"].as_str().unwrap();
    assert!(last.contains("how much is 2 + 2?"), "{last}");
    assert_eq!(asked[0].body["tools"][0]["function"]["name"], "lisp_eval");
}

#[test]
fn a_prompt_comes_from_standard_input() {
    let provider = Provider::start(vec![says("Read.")]);
    let model = format!("openai-compat:{}|m", provider.base);
    for dash in [&[][..], &["-"]] {
        let ran = ptc(&[&["--model", &model], dash].concat(), "from a pipe {{with}} braces\n");
        assert_eq!((ran.ok, ran.out.as_str()), (true, "Read.\n"), "{}", ran.err);
    }
    let body = provider.asked()[1].body.to_string();
    assert!(body.contains("from a pipe {{with}} braces"), "{body}");
    let ran = ptc(&["--model", &model], " \n");
    assert!(!ran.ok && ran.err.starts_with("ptc: there is nothing to ask"), "{}", ran.err);
}

#[test]
fn a_provider_of_a_private_authority_is_trusted_where_it_is_named() {
    let (provider, authority) = Provider::start_tls(vec![says("Four.")]);
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), authority).expect("written");
    let ran = ask(&provider, &["--ca-file", file.path().to_str().unwrap(), "2 + 2?"]);
    assert_eq!((ran.ok, ran.out.as_str()), (true, "Four.\n"), "{}", ran.err);
    let ran = ask(&provider, &["--attempts", "1", "2 + 2?"]);
    assert!(!ran.ok && ran.err.contains("llm_error: LLM call failed: "), "{}", ran.err);
    assert_eq!(provider.asked().len(), 1);
    let ran = ask(&provider, &["--ca-file", "/no/such/file", "2 + 2?"]);
    assert!(ran.err.starts_with("ptc: --ca-file: ca file /no/such/file: "), "{}", ran.err);
}

#[test]
fn programs_reach_the_upstreams_and_show() {
    let upstreams = upstreams();
    let program =
        "(def r (tool/call {:server \"fake\" :tool \"echo\" :args {:n 20}}))\n(+ 1 (get (:value r) \"n\"))";
    let provider = Provider::start(vec![calls("lisp_eval", &json!({"program": program})), says("It is 21.")]);
    let ran = ask(&provider, &["--upstreams-config", upstreams.path().to_str().unwrap(), "go"]);
    assert_eq!((ran.ok, ran.out.as_str()), (true, "It is 21.\n"), "{}", ran.err);
    for part in ["λ  (def r", "→  fake/echo {\"n\":20}", "←  fake/echo ok, 8 bytes", "=  21"] {
        assert!(ran.err.contains(part), "{part} is not in {}", ran.err);
    }
    let asked = provider.asked();
    let system = asked[0].body["messages"][0]["content"].as_str().unwrap();
    assert!(system.contains("fake") && system.contains("Echoes") && system.contains("tool/call"), "{system}");
    assert_eq!(results(&asked[1].body)[0]["result"], "user=> 21");
    let quiet = Provider::start(vec![calls("lisp_eval", &json!({"program": program})), says("It is 21.")]);
    let ran = ask(&quiet, &["--quiet", "--upstreams-config", upstreams.path().to_str().unwrap(), "go"]);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("It is 21.\n", ""));
}

#[test]
fn native_tools_are_offered_where_asked() {
    let upstreams = upstreams();
    let file = upstreams.path().to_str().unwrap();
    let provider = Provider::start(vec![
        calls("fake__echo", &json!({"a": [1, 2]})),
        calls("fake__bulk", &json!({"bytes": 40_000})),
        says("Done."),
    ]);
    let ran = ask(&provider, &["--upstreams-config", file, "--native", "fake/echo,fake/bulk", "go"]);
    assert_eq!((ran.ok, ran.out.as_str()), (true, "Done.\n"), "{}", ran.err);
    let asked = provider.asked();
    let names: Vec<_> =
        asked[0].body["tools"].as_array().unwrap().iter().map(|tool| &tool["function"]["name"]).collect();
    assert_eq!(names, ["fake__bulk", "fake__echo", "lisp_eval"]);
    assert_eq!(results(&asked[1].body), [json!({"a": [1, 2]})]);
    let large = results(&asked[2].body)[1]["error"].as_str().unwrap().to_owned();
    assert!(large.contains("bytes, more than the 32768 that fit") && large.contains("tool/call"), "{large}");
    let ran = ask(&provider, &["--upstreams-config", file, "--native", "fake/nothing", "go"]);
    assert_eq!(ran.err, "ptc: --native fake/nothing fits no tool: see `ptc tools`\n");
    let ran = ask(&provider, &["--native", "all", "go"]);
    assert!(!ran.ok && ran.err.contains("--native needs upstreams"), "{}", ran.err);
}

#[test]
fn failures_say_why_and_passing_ones_are_survived() {
    let refuse = |status: &str| answer(status, &format!("{{\"error\":{{\"message\":\"no, {KEY}\"}}}}"));
    let provider = Provider::start(vec![refuse("429 Too Many\r\nretry-after: 0"), says("At last.")]);
    let ran = ask(&provider, &["go"]);
    assert_eq!((ran.ok, ran.out.as_str(), provider.asked().len()), (true, "At last.\n", 2), "{}", ran.err);
    assert!(ran.err.starts_with("status 429: no, [REDACTED]; asking again in "), "{}", ran.err);
    let provider = Provider::start(vec![refuse("401 Unauthorized")]);
    let ran = ask(&provider, &["go"]);
    assert_eq!((ran.ok, ran.out.as_str()), (false, ""));
    assert_eq!(ran.err, "ptc: llm_error: LLM call failed: status 401: no, [REDACTED]\n");
    let runaway =
        Provider::start(vec![calls("lisp_eval", &json!({"program": "(loop [] (recur))"})), says("Stopped.")]);
    let ran = ask(&runaway, &["--program-step-limit", "1000", "go"]);
    assert!(ran.ok && ran.err.contains("1000"), "{}", ran.err);
    let endless = Provider::start(vec![calls("lisp_eval", &json!({"program": "1"}))]);
    let ran = ask(&endless, &["--quiet", "--max-turns", "2", "go"]);
    assert_eq!(ran.err, "ptc: max_turns_exceeded: Exceeded max_turns limit of 2\n");
    assert_eq!(endless.asked().len(), 2);
}

#[test]
fn mistakes_on_the_command_line_are_found_before_anything_is_asked() {
    for (arguments, text) in [
        (&["--model", "gpt-99", "go"][..], "unknown model 'gpt-99'"),
        (&["--model", "haiku", "go"], "OPENROUTER_API_KEY is required for OpenRouter models"),
        (&["--model", "openai-compat:nowhere|m", "go"], "the base URL must begin with http"),
        (&["--model", "ollama:m", "--signature", "oops", "go"], "invalid signature"),
        (&["--model", "ollama:m", "--upstreams-config", "/no/such/file", "go"], "/no/such/file"),
        (&["--model", "ollama:m", "--native", "all", "go"], "--native needs upstreams"),
        (&["--model", "ollama:m", "--env-file", "/no/such/file", "go"], "/no/such/file"),
        (&["--model", "ollama:m", "--continue", "go"], "--continue: there is no conversation in "),
        (&["--model", "ollama:m"], "there is nothing to ask"),
    ] {
        let ran = ptc(arguments, "");
        assert_eq!((ran.status, ran.out.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(ran.err.starts_with("ptc: ") && ran.err.contains(text), "{} instead of {text}", ran.err);
        assert_eq!(ran.err.trim_end().lines().count(), 1, "{}", ran.err);
    }
}

#[test]
fn a_typed_answer_is_json() {
    let provider = Provider::start(vec![says("No idea"), says("Here: {\"total\": 3}")]);
    let ran = ask(&provider, &["--signature", "{total :int}", "go"]);
    assert_eq!((ran.ok, ran.out.as_str()), (true, "{\"total\":3}\n"), "{}", ran.err);
    assert_eq!(provider.asked().len(), 2);
}

#[test]
fn the_settings_reach_the_provider() {
    let provider = Provider::start(vec![says("Yes.")]);
    let ran = ptc(
        &[
            "--base-url",
            &provider.base,
            "--model",
            "local:7b",
            "--system",
            "You are terse.",
            "--max-tokens",
            "77",
            "--temperature",
            "0.5",
            "--context",
            "{\"rows\":[1,2]}",
            "go",
        ],
        "",
    );
    assert_eq!(ran.out, "Yes.\n", "{}", ran.err);
    let body = &provider.asked()[0].body;
    assert_eq!((&body["model"], &body["max_tokens"]), (&json!("local:7b"), &json!(77)));
    assert_eq!(body["temperature"].as_f64(), Some(0.5));
    let system = body["messages"][0]["content"].as_str().unwrap();
    assert!(system.starts_with("You are terse."), "{system}");
    assert!(body["messages"][1]["content"].as_str().unwrap().contains("rows = [1"), "{body}");
}

#[test]
fn a_recorded_conversation_is_replayed_without_the_provider() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("talk.jsonl");
    let file = path.to_str().unwrap();
    let script = vec![calls("lisp_eval", &json!({"program": "(* 6 7)"})), says("It is 42.")];
    let ran = ask(&Provider::start(script), &["--record", file, "what is it?"]);
    assert_eq!(ran.out, "It is 42.\n", "{}", ran.err);
    let text = std::fs::read_to_string(&path).expect("recorded");
    assert!(text.lines().count() == 2 && !text.contains(KEY), "{text}");
    let ran = ptc(&["--replay", file, "what is it?"], "");
    assert_eq!((ran.ok, ran.out.as_str()), (true, "It is 42.\n"), "{}", ran.err);
    let ran = ptc(&["--replay", file, "what else?"], "");
    assert!(
        !ran.ok && ran.err.contains("the request is not the recorded one of line 1: at /messages/0"),
        "{}",
        ran.err
    );
}

#[test]
fn images_go_to_the_model_and_come_from_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
    std::fs::write(path("cat.png"), b"\x89PNG\r\n\x1a\n....").expect("written");
    std::fs::write(path("cat.svg"), "<svg/>").expect("written");
    let url = "data:image/png;base64,iVBORw0KGgouLi4u";
    let made = json!({"role": "assistant", "content": "A cat.", "images": [{"type": "image_url", "image_url": {"url": url}}]});
    let body = json!({"choices": [{"index": 0, "finish_reason": "stop", "message": made}]});
    let provider = Provider::start(vec![answer("200 OK", &body.to_string())]);
    let ran = ask(&provider, &["--image", &path("cat.png"), "--image-dir", &path(""), "draw", "that"]);
    assert_eq!((ran.ok, ran.out.as_str()), (true, "A cat.\n"), "{}", ran.err);
    let shown = &provider.asked()[0].body["messages"][1]["content"];
    assert_eq!(shown[0], json!({"type": "image_url", "image_url": {"url": url}}));
    assert!(shown[1]["text"].as_str().unwrap().contains("draw that"), "{shown}");
    assert_eq!(std::fs::read(path("image-1.png")).expect("kept"), b"\x89PNG\r\n\x1a\n....");
    assert!(ran.err.contains("the model made an image (image/png, 12 bytes): "), "{}", ran.err);
    let ran = ask(&provider, &["--image", &path("cat.svg"), "what is it?"]);
    assert!(
        !ran.ok && ran.err.contains("cat.svg: the image is neither PNG, JPEG, GIF nor WebP"),
        "{}",
        ran.err
    );
    let ran = ask(&provider, &["--image", &path("none.png"), "what is it?"]);
    assert!(!ran.ok && ran.err.contains("none.png: No such file"), "{}", ran.err);
}

#[test]
fn an_agent_of_programs_answers_with_a_value() {
    let program = "```clojure\n(return {:total (+ 40 2)})\n```";
    let provider = Provider::start(vec![says(program)]);
    let ran = ask(&provider, &["--mode", "lisp", "how many?"]);
    assert_eq!((ran.ok, ran.out.as_str()), (true, "{\"total\":42}\n"), "{}", ran.err);
    assert!(ran.err.contains("λ  (return {:total (+ 40 2)})"), "{}", ran.err);
    let provider = Provider::start(vec![calls("lisp_eval", &json!({"program": "(return [1 2])"}))]);
    let ran = ask(&provider, &["--mode", "lisp-tool", "how many?"]);
    assert_eq!((ran.ok, ran.out.as_str()), (true, "[1,2]\n"), "{}", ran.err);
    assert_eq!(ran.err, "λ  (return [1 2])\n=  [1 2]\n");
    let ran = ask(&provider, &["--mode", "lisp", "--native", "all", "go"]);
    assert!(!ran.ok && ran.err.contains("--native needs --mode combined or --mode text"), "{}", ran.err);
}

#[test]
fn a_text_agent_has_its_answer_held_to_the_schema() {
    let provider = Provider::start(vec![says("{\"total\": 3}")]);
    let ran = ask(&provider, &["--mode", "text", "--signature", "{total :int}", "go"]);
    assert_eq!((ran.ok, ran.out.as_str()), (true, "{\"total\":3}\n"), "{}", ran.err);
    let body = &provider.asked()[0].body;
    assert_eq!(body["response_format"]["type"], "json_schema");
    assert_eq!(body.get("tools"), None);
}

#[test]
fn a_deadline_is_the_questions_own() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let model = format!("openai-compat:http://{}|m", listener.local_addr().expect("an address"));
    let home = tempfile::tempdir().expect("a folder");
    let steps = Steps::new();
    let arguments = ["--model", &model, "--timeout-ms", "3600000", "go"];
    let child = begin(home.path(), &arguments, "", &[(steps::VARIABLE, steps.socket())]);
    // Somebody listens, and never answers.
    let _connection = listener.accept().expect("it asks");
    steps.advance(Duration::from_secs(3600));
    let ran = ends(child);
    assert_eq!(ran.err, "ptc: mission_timeout: Mission timeout exceeded\n");
    assert_eq!((ran.status, ran.out.as_str()), (Some(1), ""));
}

#[test]
fn an_answer_that_was_cut_is_shown_and_told() {
    let provider = Provider::start(vec![cut("It is becau")]);
    let ran = ask(&provider, &["--max-tokens", "9", "why?"]);
    assert_eq!((ran.status, ran.out.as_str()), (Some(1), "It is becau\n"));
    let told =
        "ptc: answer_cut: The answer was cut at its longest length (9 tokens); --max-tokens allows more\n";
    assert_eq!(ran.err, told);
    // Of a value there is no beginning.
    let provider = Provider::start(vec![cut("12")]);
    let ran = ask(&provider, &["--signature", ":int", "--max-turns", "1", "how many?"]);
    assert_eq!((ran.status, ran.out.as_str()), (Some(1), ""));
    assert!(ran.err.starts_with("ptc: answer_cut: "), "{}", ran.err);
}

#[test]
fn a_conversation_is_taken_up_again_and_forgotten() {
    let provider = Provider::start(vec![
        calls("lisp_eval", &json!({"program": format!("(str \"{KEY}\" 1)")})),
        says("Ann."),
        says("You said Ann."),
        says("Once more."),
    ]);
    let home = tempfile::tempdir().expect("a folder");
    let model = format!("openai-compat:{}|m", provider.base);
    let ask =
        |arguments: &[&str]| at_home(home.path(), &[&["--quiet", "--model", &model], arguments].concat(), "");
    let file = home.path().join(".local/state/ptc/conversation.json");
    assert_eq!(ask(&["who am I?"]).out, "Ann.\n");
    let kept = std::fs::read_to_string(&file).expect("kept");
    assert!(kept.contains("who am I?") && kept.contains("[REDACTED]") && !kept.contains(KEY), "{kept}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&file).expect("kept").permissions().mode() & 0o777, 0o600);
    }
    let ran = ask(&["--continue", "what did I say?"]);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("You said Ann.\n", ""));
    let asked = provider.asked();
    let body = asked[2].body.to_string();
    assert!(
        body.contains("who am I?") && body.contains("Ann.") && body.contains("what did I say?"),
        "{body}"
    );
    assert!(body.contains("what earlier programs defined is gone"), "{body}");
    let ran = ask(&["--continue", "--mode", "lisp", "go"]);
    assert!(ran.err.contains("the conversation was held with --mode combined"), "{}", ran.err);
    assert_eq!(ran.status, Some(2));
    assert_eq!(ask(&["-c", "and?"]).out, "Once more.\n");
    assert!(std::fs::read_to_string(&file).expect("kept").contains("and?"));
    assert_eq!(ask(&["--forget"]).status, Some(0));
    assert!(!file.exists());
    assert_eq!(ask(&["--forget", "again"]).status, Some(0));
    assert!(!file.exists());
    std::fs::write(&file, "{oops").expect("written");
    let ran = ask(&["--continue", "go"]);
    assert!(ran.status == Some(2) && ran.err.contains("`ptc agent --forget` removes it"), "{}", ran.err);
}
