//! `lisp_debug`

use ptc_host::credentials::{Redactor, Secret};
use ptc_mcp::Era;
use ptc_mcp::json::{Value, json};
use ptc_mcp::message::strict::{self, Incoming};
use ptc_server::principal::Principal;
use ptc_server::protocol::{Connection, HandlerOutcome, MessageContext, Service};
use std::sync::Arc;

use ptc_test_support::in_process::{Pipe, assert_has, fake_upstream, service, settings};

/// Checks an answer against the schema that the tool advertises.
async fn assert_advertised(pipe: &mut Pipe, answers: &[Value]) {
    pipe.send(&json!({"jsonrpc": "2.0", "id": 0, "method": "tools/list"})).await;
    let list: Value = serde_json::from_str(&pipe.line().await).unwrap();
    let tools = list["result"]["tools"].as_array().unwrap();
    let tool = tools.iter().find(|tool| tool["name"] == "lisp_debug").unwrap();
    let schema = jsonschema::validator_for(&serde_json::to_value(&tool["outputSchema"]).unwrap()).unwrap();
    for answer in answers {
        assert!(schema.is_valid(&serde_json::to_value(answer).unwrap()), "{answer}");
    }
}

#[tokio::test]
async fn every_outcome_is_remembered_as_it_was_inside() {
    // Slim answers hold no reasons; the records do.
    let mut pipe = Pipe::to(&["--debug-tool", "--response-profile", "slim"]);
    pipe.eval(1, "(println \"p\") (+ 1 2)").await;
    pipe.eval("text-id", "(/ 1 0)").await;
    pipe.eval(3, "(foo").await;
    pipe.eval(4, "  ").await;
    let arguments = json!({"program": "data/n", "context": {"n": 5, "rows": [1, 2], "text": "abc"},
                           "output_schema": {"type": "integer"}});
    pipe.call(5, "lisp_eval", arguments).await;
    pipe.call(6, "nope", json!({})).await;

    let recent = pipe.debug(json!({"op": "recent"})).await;
    assert_has(
        &recent,
        &json!({"op": "recent", "payload_policy": "summary", "redaction_applied": true, "count": 5}),
    );
    let calls = recent["calls"].as_array().unwrap();
    let ids: Vec<_> = calls.iter().map(|call| call["request_id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["5", "4", "3", "text-id", "1"]);
    assert_has(
        &calls[0],
        &json!({"tool": "lisp_eval", "status": "ok", "reason": null, "output_schema_present": true,
                "context": {"n": {"type": "number", "count": null}, "rows": {"type": "array", "count": 2},
                            "text": {"type": "string", "count": null}},
                "result_bytes": 8, "prints_count": 0, "upstream_calls": 0, "protocol_version": "2025-11-25"}),
    );
    assert_has(
        &calls[1],
        &json!({"reason": "args_error", "program": null, "context": null, "duration_ms": 0,
                                  "result_bytes": null, "prints_count": null}),
    );
    assert!(calls[1].get("eval_id").is_none());
    assert_has(&calls[2], &json!({"status": "error", "reason": "parse_error"}));
    assert_has(&calls[3], &json!({"status": "error", "reason": "runtime_error", "result_bytes": null}));
    assert_has(
        &calls[4],
        &json!({"result_bytes": 8, "prints_count": 1, "context": null, "output_schema_present": false,
                "program": {"preview": "(println \"p\") (+ 1 2)", "bytes": 21}}),
    );
    assert_eq!(calls[4]["program"]["sha256"].as_str().unwrap().len(), 64);
    for key in ["agentic", "ptc_metrics"] {
        assert!(calls[4].get(key).is_none());
    }

    let errors = pipe.debug(json!({"op": "recent", "errors_only": true, "limit": 2})).await;
    let ids: Vec<_> = errors["calls"].as_array().unwrap().iter().map(|call| &call["request_id"]).collect();
    assert_eq!(ids, ["4", "3"]);

    let stats = pipe.debug(json!({"op": "stats"})).await;
    assert_has(
        &stats,
        &json!({"debug_source": "ring_buffer", "ring_size": 500, "ring_count": 5, "trace_dir_enabled": false,
                "window": {"calls": 5, "from": calls[4]["ts"], "to": calls[0]["ts"]},
                "by_tool": {"lisp_eval": {"calls": 5, "ok": 2, "error": 3, "error_rate": 0.6}},
                "errors": {"by_reason": {"args_error": 1, "parse_error": 1, "runtime_error": 1}}}),
    );
    for key in ["upstream_calls", "agentic", "payload_reduction", "truncated"] {
        assert!(stats.get(key).is_none(), "{key}");
    }

    let get = pipe.debug(json!({"op": "get", "request_id": "text-id"})).await;
    assert_has(
        &get,
        &json!({"found": true, "source": "ring_buffer", "request_id": "text-id",
                             "record": {"request_id": "text-id", "upstream_calls": []}}),
    );
    let eval_id = get["record"]["eval_id"].clone();
    let same = pipe.debug(json!({"op": "get", "request_id": eval_id})).await;
    assert_eq!(same["record"], get["record"]);
    let miss = pipe.debug(json!({"op": "get", "request_id": "none"})).await;
    assert_has(&miss, &json!({"found": false, "source": "ring_buffer"}));
    assert!(miss.get("record").is_none());
    let failure = pipe.debug(json!({})).await;
    assert_advertised(&mut pipe, &[recent, stats, get, miss, failure]).await;
}

#[tokio::test]
async fn arguments_have_their_texts() {
    let mut pipe = Pipe::to(&["--debug-tool"]);
    for (arguments, message) in [
        (json!({}), "argument `op` is required (one of: stats, recent, get)"),
        (json!({"op": null}), "argument `op` is required (one of: stats, recent, get)"),
        (json!({"op": "zzz"}), "argument `op` must be one of stats, recent, get (got: \"zzz\")"),
        (json!({"op": 5}), "argument `op` must be one of stats, recent, get (got: 5)"),
        (json!({"op": "recent", "limit": 0}), "argument `limit` must be between 1 and 200 (got: 0)"),
        (json!({"op": "recent", "limit": 201}), "argument `limit` must be between 1 and 200 (got: 201)"),
        (json!({"op": "recent", "limit": "x"}), "argument `limit` must be an integer (got: \"x\")"),
        (json!({"op": "recent", "limit": 2.5}), "argument `limit` must be an integer (got: 2.5)"),
        (
            json!({"op": "stats", "since_seconds": 0}),
            "argument `since_seconds` must be between 1 and 86400 (got: 0)",
        ),
        (
            json!({"op": "recent", "errors_only": "x"}),
            "argument `errors_only` must be a boolean (got: \"x\")",
        ),
        (json!({"op": "get"}), "argument `request_id` is required for op=get"),
        (json!({"op": "get", "request_id": ""}), "argument `request_id` is required for op=get"),
        (json!({"op": "get", "request_id": 7}), "argument `request_id` must be a string (got: 7)"),
        (json!({"op": "get", "request_id": "x".repeat(257)}), "argument `request_id` exceeds 256 bytes"),
    ] {
        let failure = pipe.debug(arguments).await;
        let expected =
            json!({"status": "error", "reason": "args_error", "message": message, "feedback": message});
        assert_eq!(failure, expected);
    }
    // A huge wrong value does not come back whole.
    let failure = pipe.debug(json!({"op": "y".repeat(100_000)})).await;
    assert!(failure["message"].as_str().unwrap().len() < 200);
    assert_eq!(
        pipe.debug(json!({"op": "stats"})).await["window"],
        json!({"from": null, "to": null, "calls": 0})
    );
}

#[tokio::test]
async fn payload_reduction_adds_up_and_top_reducers_come_first() {
    let redactor = Redactor::new();
    let aggregator = fake_upstream(&redactor).await;
    let (service, _engine) = service(&settings(&["--debug-tool"]), Some(&aggregator), &redactor);
    let mut pipe = Pipe::open(service);
    let bulk = |bytes: u32| {
        format!("(count (:value (tool/call {{:server \"fake\" :tool \"bulk\" :args {{:bytes {bytes}}}}})))")
    };
    let small = pipe.eval(1, &bulk(100)).await["structuredContent"]["ptc_metrics"].clone();
    let large = pipe.eval(2, &bulk(5000)).await["structuredContent"]["ptc_metrics"].clone();
    pipe.eval(3, "(:reason (tool/call {:server \"fake\" :tool \"die\"}))").await;
    pipe.eval(4, "(+ 1 2)").await;

    let get = pipe.debug(json!({"op": "get", "request_id": "2"})).await;
    assert_eq!(get["record"]["ptc_metrics"], large);
    assert_has(
        &get["record"]["upstream_calls"][0],
        &json!({"server": "fake", "tool": "bulk", "status": "ok", "oversize": false,
                "result_bytes": large["upstream_result_bytes"]}),
    );
    let stats = pipe.debug(json!({"op": "stats"})).await;
    assert_has(
        &stats["upstream_calls"],
        &json!({"total": 3, "ok": 2, "by_reason": {"upstream_unavailable": 1},
                "by_server": {"fake": {"total": 3, "ok": 2, "by_reason": {"upstream_unavailable": 1}}}}),
    );
    let sum = |key: &str| small[key].as_u64().unwrap() + large[key].as_u64().unwrap();
    let returned = sum("final_result_bytes") + "user=> :upstream_unavailable".len() as u64;
    let fetched = sum("upstream_result_bytes");
    let weighted = (fetched as f64 / returned as f64 * 100.0).round() / 100.0;
    assert_has(
        &stats["payload_reduction"],
        &json!({"schema_version": 1, "calls_with_metrics": 3, "total_final_result_bytes": returned,
                "total_upstream_result_bytes": fetched, "total_upstream_calls": 3,
                "reduction_ratio": {"p50": small["payload_reduction_ratio"], "p95": large["payload_reduction_ratio"],
                                    "max": large["payload_reduction_ratio"], "weighted": weighted},
                "estimated_tokens": {"final_result": returned.div_ceil(4), "upstream_result": fetched.div_ceil(4),
                                     "method": "utf8_bytes_div_4"}}),
    );
    let top = stats["payload_reduction"]["top_reducers"].as_array().unwrap();
    assert_eq!(top.iter().map(|entry| &entry["request_id"]).collect::<Vec<_>>(), ["2", "1"]);
    assert_has(&top[0], &json!({"tool": "lisp_eval", "ratio": large["payload_reduction_ratio"]}));
    assert_advertised(&mut pipe, &[stats, get]).await;
    aggregator.shutdown().await;
}

#[tokio::test]
async fn answers_keep_within_their_cap() {
    let mut pipe = Pipe::to(&["--debug-tool", "--max-debug-response-bytes", "4096"]);
    for id in 0..40 {
        pipe.eval(format!("\"quoted\" {id}"), "(println \"\\\"\") (str \"\\\\\" \"é\")").await;
    }
    let long_id = Value::from("i".repeat(300));
    for (op, arguments) in [
        ("recent", json!({"op": "recent", "limit": 40})),
        ("stats", json!({"op": "stats"})),
        ("get", json!({"op": "get", "request_id": "\"quoted\" 39"})),
    ] {
        let response = pipe.response(long_id.clone(), "lisp_debug", arguments).await;
        assert!(response.len() <= 4096, "{op}: {}", response.len());
        let answer = serde_json::from_str::<Value>(&response).unwrap()["result"]["structuredContent"].take();
        if op == "recent" {
            let calls = answer["calls"].as_array().unwrap();
            assert_eq!(answer["truncated"], true);
            assert_eq!(answer["count"], calls.len());
            assert_eq!(calls[0]["request_id"], "\"quoted\" 39", "the newest stay");
            // One call more would not have fitted.
            assert!(response.len() + 2 * calls[0].to_string().len() > 4096 - 200);
        }
    }
    let many = pipe.debug(json!({"op": "recent", "limit": 2})).await;
    assert!(many.get("truncated").is_none());
}

#[tokio::test]
async fn the_ring_forgets_the_oldest() {
    let mut pipe = Pipe::to(&["--debug-tool", "--debug-ring-size", "10"]);
    for id in 0..15 {
        pipe.eval(id, "1").await;
    }
    let stats = pipe.debug(json!({"op": "stats"})).await;
    assert_has(&stats, &json!({"ring_size": 10, "ring_count": 10}));
    assert_eq!(pipe.debug(json!({"op": "get", "request_id": "4"})).await["found"], false);
    assert_eq!(pipe.debug(json!({"op": "get", "request_id": "5"})).await["found"], true);
}

#[tokio::test]
async fn policies_decide_what_is_kept_and_secrets_never_are() {
    let redactor = Redactor::new();
    redactor.register([&Secret::new("hunter2-hunter2")]).unwrap();
    let arguments = json!({"program": "(println data/key) \"hunter2-hunter2\"", "context": {"key": "hunter2-hunter2", "n": 1.50}});
    for (policy, program, context) in [
        ("none", None, json!({"<bytes>": arguments["context"].to_string().len()})),
        (
            "summary",
            None,
            json!({"key": {"type": "string", "count": null}, "n": {"type": "number", "count": null}}),
        ),
        ("full", Some("(println data/key) \"[REDACTED]\""), json!({"key": "[REDACTED]", "n": 1.5})),
    ] {
        let flags = ["--debug-tool", "--trace-payloads", policy];
        let mut pipe = Pipe::open(service(&settings(&flags), None, &redactor).0);
        pipe.call("hunter2-hunter2", "lisp_eval", arguments.clone()).await;
        let response = pipe.response(json!(2), "lisp_debug", json!({"op": "recent"})).await;
        assert!(!response.contains("hunter2"), "{response}");
        let answer = serde_json::from_str::<Value>(&response).unwrap()["result"]["structuredContent"].take();
        let call = &answer["calls"][0];
        assert_eq!(answer["payload_policy"], policy);
        assert_eq!(call["context"], context);
        match program {
            Some(program) => assert_eq!(call["program"], program),
            None => assert_eq!(call["program"].get("preview").is_some(), policy == "summary"),
        }
    }
}

#[tokio::test]
async fn session_tools_are_remembered_with_their_reasons() {
    let mut pipe = Pipe::to(&["--debug-tool", "--sessions"]);
    let started = pipe.call(1, "lisp_session_start", json!({})).await;
    let session = started["structuredContent"]["session_id"].clone();
    pipe.call(2, "lisp_session_eval", json!({"session_id": session, "program": "(def x 1)"})).await;
    pipe.call(3, "lisp_session_inspect", json!({"session_id": "ptcs_nobody"})).await;
    pipe.call(4, "lisp_session_list", json!({"x": 1})).await;
    let stats = pipe.debug(json!({"op": "stats"})).await;
    assert_has(
        &stats,
        &json!({"ring_count": 4, "by_tool": {"lisp_session_start": {"calls": 1, "ok": 1},
                "lisp_session_eval": {"ok": 1}, "lisp_session_inspect": {"error": 1, "error_rate": 1.0}},
                "errors": {"by_reason": {"session_not_found": 1, "session_args_error": 1}}}),
    );
    let recent = pipe.debug(json!({"op": "recent"})).await;
    assert_has(&recent["calls"][2], &json!({"request_id": "2", "program": {"bytes": 9}, "prints_count": 0}));
    assert!(recent["calls"][2]["eval_id"].is_string());
}

/// Sends one request of a caller of that name.
async fn ask(service: &Arc<Service>, principal: &str, tool: &str, arguments: Value) -> Value {
    let (connection, caller) = (Connection::over_pipe(8), Principal::named(principal));
    let text = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
        .to_string();
    let Ok(Incoming::Single(message)) = strict::read(text.as_bytes()) else { panic!("a message") };
    let body = match service.handle(MessageContext::new(&connection, Era::Handshake, &caller), &message) {
        HandlerOutcome::Reply(reply) => reply.body,
        HandlerOutcome::Call(call) => call.run(|_| {}).await.into_reply().expect("an answer"),
        _ => panic!("an answer"),
    };
    serde_json::from_slice::<Value>(&body).unwrap()["result"]["structuredContent"].take()
}

#[tokio::test]
async fn callers_see_their_own_calls_only() {
    let (service, _engine) = service(&settings(&["--debug-tool"]), None, &Redactor::new());
    ask(&service, "alice", "lisp_eval", json!({"program": "1"})).await;
    let theirs = ask(&service, "alice", "lisp_debug", json!({"op": "stats"})).await;
    assert_has(&theirs, &json!({"ring_count": 1, "window": {"calls": 1}}));
    let others = ask(&service, "bob", "lisp_debug", json!({"op": "stats"})).await;
    assert_has(
        &others,
        &json!({"ring_count": 0, "window": {"calls": 0}, "by_tool": {}, "errors": {"by_reason": {}}}),
    );
    assert_eq!(ask(&service, "bob", "lisp_debug", json!({"op": "recent"})).await["calls"], json!([]));
    assert_eq!(
        ask(&service, "bob", "lisp_debug", json!({"op": "get", "request_id": "1"})).await["found"],
        false
    );
}
