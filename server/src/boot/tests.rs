use clap::Command;
use ptc_host::config::ProcessEnv;
use ptc_mcp::json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use super::*;
use crate::options::command::arguments;
use crate::options::flags::ALL;
use ptc_protocol::LongText;
use ptc_tools::sessions;

/// Runs programs through a whole server, engine included, and returns the text of each answer.
async fn answers(flags: &[&str], programs: &[&str]) -> Vec<String> {
    let given = std::iter::once("start").chain(flags.iter().copied());
    let matches = Command::new("start").args(arguments(&ALL)).get_matches_from(given);
    let settings = crate::options::resolve(&matches, ProcessEnv::default()).unwrap();
    let memory = MemoryBudget::new(settings.limits.max_total_memory_bytes);
    let engine =
        Engine::start(EngineOptions { threads: 1, memory: Some(memory), ..EngineOptions::default() })
            .unwrap();
    let service = assemble(&settings, &engine, None, &Redactor::new()).unwrap().service;
    let (near, far) = tokio::io::duplex(1 << 20);
    let (reader, writer) = tokio::io::split(far);
    let options = StdioOptions { max_frame_bytes: settings.limits.max_frame_bytes };
    let server = tokio::spawn(run_stdio(service, options, reader, writer, std::future::pending()));
    let (reader, mut writer) = tokio::io::split(near);
    let mut lines = BufReader::new(reader).lines();
    let mut texts = Vec::new();
    for program in programs {
        let request = json!({"jsonrpc":"2.0","id":1,"method":"tools/call",
                             "params":{"name":"lisp_eval","arguments":{"program":program}}});
        writer.write_all(format!("{request}\n").as_bytes()).await.unwrap();
        let reply: Value = serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
        let text = reply["result"]["content"][0]["text"].as_str().unwrap().to_owned();
        assert!(reply["result"]["_meta"]["eval_id"].is_string() || text.starts_with("busy"), "{reply}");
        texts.push(text);
    }
    writer.shutdown().await.unwrap();
    server.await.unwrap();
    texts
}

#[tokio::test]
async fn programs_run_and_their_limits_hold() {
    let programs = ["(+ 1 2)", "nil", "(/ 1 0)", "(loop [] (recur))", "(fail {:why \"x\"})"];
    let texts = answers(&["--program-timeout-ms=60000", "--program-step-limit=10000"], &programs).await;
    assert_eq!(
        texts[..3],
        ["user=> 3", "user=> nil", "runtime_error: arithmetic_error: division by zero\nat line 1, column 1"]
    );
    assert!(texts[3].starts_with("step_limit: ") && texts[3].contains("10000"), "{}", texts[3]);
    assert_eq!(texts[4], "fail: {:why \"x\"}");
}

#[tokio::test]
async fn all_programs_share_the_memory_of_the_process() {
    let programs = ["(count (vec (map inc (range 200000))))", "(count (vec (map inc (range 1000))))"];
    let texts = answers(&["--max-total-memory-bytes=1000000"], &programs).await;
    assert_eq!(
        texts,
        ["memory_limit: the server's memory budget is exhausted\nat line 1, column 13", "user=> 1000"]
    );
    let texts = answers(&["--max-total-memory-bytes=1000"], &["1"]).await;
    assert!(texts[0].contains("server busy: the memory budget is exhausted"), "{}", texts[0]);
}

#[tokio::test]
async fn nothing_is_left_from_one_program_to_the_next() {
    let texts = answers(&[], &["(def x 1)", "x"]).await;
    assert_eq!(texts[0], "user=> #'x");
    assert!(texts[1].starts_with("runtime_error: "), "{}", texts[1]);
}

#[tokio::test]
async fn session_tools_are_known_even_where_they_are_off() {
    let matches = Command::new("start").args(arguments(&ALL)).get_matches_from(["start"]);
    let settings = crate::options::resolve(&matches, ProcessEnv::default()).unwrap();
    let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap();
    let service = assemble(&settings, &engine, None, &Redactor::new()).unwrap().service;
    for name in sessions::NAMES {
        assert!(service.tools.get(name).is_none());
        let refusal = service.tools.refusal(name).unwrap().1.structured.clone().unwrap();
        let told: Value = serde_json::from_str(&refusal).unwrap();
        let message = "stateful PTC-Lisp sessions are disabled; start the server with --sessions or \
                       PTC_SESSIONS=true";
        assert_eq!((&told["reason"], &told["message"]), (&json!("sessions_disabled"), &json!(message)));
    }
}

#[tokio::test]
async fn descriptions_tell_of_ask_where_questions_are_configured() {
    for (flags, tells) in [
        (&["start", "--sessions"][..], false),
        (&["start", "--sessions", "--questions=off"], false),
        (&["start", "--sessions", "--questions=client"], true),
        (&["start", "--sessions", "--questions=auto"], true),
    ] {
        let matches = Command::new("start").args(arguments(&ALL)).get_matches_from(flags);
        let settings = crate::options::resolve(&matches, ProcessEnv::default()).unwrap();
        let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap();
        let service = assemble(&settings, &engine, None, &Redactor::new()).unwrap().service;
        for name in ["lisp_eval", "lisp_session_eval"] {
            let description = service.tools.get(name).unwrap().definition().description;
            assert_eq!(description.contains("(ask {:message"), tells, "{flags:?} {name}");
        }
    }
}

#[tokio::test]
async fn sessions_add_their_tools_behind_the_first() {
    let matches = Command::new("start").args(arguments(&ALL)).get_matches_from(["start", "--sessions"]);
    let settings = crate::options::resolve(&matches, ProcessEnv::default()).unwrap();
    let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap();
    let service = assemble(&settings, &engine, None, &Redactor::new()).unwrap().service;
    let listing: Vec<Value> =
        serde_json::from_slice(&service.tools.listing(LongText::Nowhere, None)).unwrap();
    let names: Vec<_> = listing.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let wanted = [
        "eval",
        "session_start",
        "session_list",
        "session_eval",
        "session_inspect",
        "session_forget",
        "session_close",
    ];
    assert_eq!(names, wanted.map(|name| format!("lisp_{name}")));
    assert!(listing[1..].iter().all(|tool| tool["inputSchema"]["type"] == "object"));
}

/// The parts of a schema that some provider of models refuses, with their places.
fn refused(schema: &Value, place: &str, found: &mut Vec<String>) {
    let mut refuse = |what: &str| found.push(format!("{place}: {what}"));
    for key in ["oneOf", "allOf", "not", "$ref", "$defs", "patternProperties", "if"] {
        if !schema[key].is_null() {
            refuse(key);
        }
    }
    if schema["type"] == "array" && schema["items"].is_null() {
        refuse("an array without items");
    }
    if schema["enum"].as_array().is_some_and(|values| !values.iter().all(Value::is_string)) {
        refuse("an enum that is not of strings");
    }
    if schema["exclusiveMinimum"].is_boolean() || schema["exclusiveMaximum"].is_boolean() {
        refuse("a bound of draft 4");
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        refused(property, &format!("{place}.{name}"), found);
    }
    if schema["items"].is_object() {
        refused(&schema["items"], &format!("{place}[]"), found);
    }
}

#[tokio::test]
async fn every_provider_takes_the_names_and_schemas_of_our_tools() {
    let flags = ["start", "--sessions", "--debug-tool", "--questions=auto"];
    let matches = Command::new("start").args(arguments(&ALL)).get_matches_from(flags);
    let settings = crate::options::resolve(&matches, ProcessEnv::default()).unwrap();
    let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap();
    let service = assemble(&settings, &engine, None, &Redactor::new()).unwrap().service;
    let listing: Vec<Value> =
        serde_json::from_slice(&service.tools.listing(LongText::Nowhere, None)).unwrap();
    assert!(listing.len() > 7);
    let mut found = Vec::new();
    for tool in &listing {
        let name = tool["name"].as_str().unwrap();
        assert!(
            name.len() <= 40 && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'),
            "{name}"
        );
        let schema = &tool["inputSchema"];
        assert_eq!((&schema["type"], &schema["anyOf"]), (&json!("object"), &Value::Null), "{name}");
        refused(schema, name, &mut found);
    }
    assert_eq!(found, [""; 0]);
}
