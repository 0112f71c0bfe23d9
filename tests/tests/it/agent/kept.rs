//! Results of upstream tools that the model called natively, and programs that use them.

use super::model::{Provider, calls, says};
use super::{ask, results};
use ptc_mcp::json::{Value, json};

/// An upstreams file with the fake upstream and its tools of rows.
fn upstreams() -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let config = json!({"upstreams": {"fake": {"transport": "mcp_stdio",
        "command": env!("CARGO_BIN_EXE_fake-upstream"), "args": ["--rows"], "description": "Rows"}}});
    std::fs::write(file.path(), config.to_string()).expect("written");
    file
}

/// A program that counts the rows of a call and says which call they are of.
fn counting(tool: &str, arguments: &str) -> String {
    let program = format!(
        "(let [rows (:value (tool/call {{:server \"fake\" :tool \"{tool}\" :args {arguments}}}))] \
         [(count rows) (get (first rows) \"call\")])"
    );
    calls("lisp_eval", &json!({"program": program}))
}

/// Runs a script; gives the results that the model read.
fn run(script: Vec<String>, extra: &[&str]) -> (Vec<Value>, Vec<String>, String) {
    let upstreams = upstreams();
    let provider = Provider::start(script);
    let file = upstreams.path().to_str().expect("text");
    let ran = ask(&provider, &[&["--upstreams-config", file, "--native", "fake"], extra, &["go"]].concat());
    assert!(ran.ok, "{}", ran.err);
    let asked = provider.asked();
    let last = &asked.last().expect("asked").body;
    let texts = last["messages"].as_array().expect("messages").iter();
    let texts = texts.filter(|message| message["role"] == "tool");
    let texts = texts.map(|message| message["content"].as_str().expect("text").to_owned()).collect();
    (results(last), texts, ran.err)
}

#[test]
fn a_large_result_is_previewed_and_a_program_gets_it_without_a_second_call() {
    let (read, texts, err) = run(
        vec![
            calls("fake__rows", &json!({"n": 300})),
            // The same arguments in another spelling.
            counting("rows", "{:n 300.0}"),
            counting("rows", "{:n 200}"),
            calls("fake__rows", &json!({"n": 300})),
            counting("rows", "{:n 300}"),
            says("Done."),
        ],
        &[],
    );
    let preview = &read[0];
    assert_eq!((&preview["result_count"], &preview["full_result_cached"]), (&json!(300), &json!(true)));
    assert_eq!(preview["sample_keys"], json!(["call", "id", "text"]));
    assert_eq!(
        preview["cache_hint"],
        "Call lisp_eval and then call (:value (tool/call {:server \"fake\" :tool \"rows\" :args {:n 300}})) to process the full \
         cached result."
    );
    assert!(texts[0].len() < 600 && !texts[0].contains("one of many"), "{}", texts[0]);
    assert_eq!(read[1]["result"], "user=> [300 1]", "the kept rows are those of the first call");
    assert_eq!(read[2]["result"], "user=> [200 2]", "other arguments are another call");
    assert_eq!(read[4]["result"], "user=> [300 3]", "the model's own call asks anew");
    assert_eq!(err.matches("→  fake/rows").count(), 3, "{err}");
}

#[test]
fn a_small_result_is_read_whole_and_asked_for_anew() {
    let script = || vec![calls("fake__rows", &json!({"n": 2})), counting("rows", "{:n 2}"), says("Done.")];
    let (read, _, _) = run(script(), &[]);
    assert_eq!(read[0].as_array().map(Vec::len), Some(2));
    assert_eq!(read[1]["result"], "user=> [2 2]");
    // Without programs there is nothing to keep anything for.
    let (read, _, _) = run(vec![calls("fake__rows", &json!({"n": 300})), says("Done.")], &["--mode", "text"]);
    assert_eq!(read[0].as_array().map(Vec::len), Some(300));
}

#[test]
fn tools_that_say_nothing_are_kept_where_asked() {
    let script = || vec![calls("fake__log", &json!({"n": 300})), counting("log", "{:n 300}"), says("Done.")];
    let (read, _, _) = run(script(), &[]);
    assert_eq!(read[0].as_array().map(Vec::len), Some(300));
    assert_eq!(read[1]["result"], "user=> [300 2]");
    let (read, _, _) = run(script(), &["--cache-tool", "fake/log"]);
    assert_eq!(read[0]["result_count"], json!(300));
    assert_eq!(read[1]["result"], "user=> [300 1]");
    let provider = Provider::start(vec![says("Done.")]);
    let upstreams = upstreams();
    let file = upstreams.path().to_str().expect("text");
    let all = ["--upstreams-config", file, "--native", "fake/rows", "--cache-tool", "fake/log", "go"];
    let ran = ask(&provider, &all);
    assert_eq!(ran.err, "ptc: --cache-tool fake/log fits no tool that --native offers\n");
    let ran = ask(&provider, &["--mode", "text", "--cache-tool", "fake/log", "go"]);
    assert!(!ran.ok && ran.err.contains("--cache-tool needs --mode combined"), "{}", ran.err);
}

#[test]
fn an_image_of_an_upstream_reaches_the_model() {
    let upstreams = upstreams();
    let provider = Provider::start(vec![calls("fake__picture", &json!({})), says("A chart.")]);
    let file = upstreams.path().to_str().expect("text");
    let ran = ask(&provider, &["--upstreams-config", file, "--native", "fake", "go"]);
    assert_eq!((ran.ok, ran.out.as_str()), (true, "A chart.\n"), "{}", ran.err);
    let asked = provider.asked();
    let messages = asked[1].body["messages"].as_array().expect("messages");
    assert_eq!(
        results(&asked[1].body)[0],
        json!([{"type": "text", "text": "A chart"}, "[image 1: image/png, 12 bytes]"])
    );
    let shown = &messages.last().expect("messages")["content"][1]["image_url"]["url"];
    assert_eq!(shown, "data:image/png;base64,iVBORw0KGgouLi4u");
}
