//! The error tables of the specification over pipes, row by row (2.1, 2.2, 4.4, 5.1 and the rulings on eras and ids).

use ptc_mcp::json::{Value, json};

use super::process::on_pipes;

/// What is sent, and what comes back; `null` for nothing.
type Row = (&'static [u8], Value);

fn error(id: Value, code: i32, message: &str) -> Value {
    json!({"jsonrpc":"2.0","id":id,"error":{"code":code,"message":message}})
}

#[test]
fn lines_that_are_no_requests() {
    let parse = || error(Value::Null, -32700, "Parse error");
    let invalid = || error(Value::Null, -32600, "Invalid Request");
    let rows: Vec<Row> = vec![
        (b"{", parse()),
        (b"{bad json", parse()),
        (b"\xff\xfe", parse()),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", parse()),
        (br#"{"jsonrpc":"2.0","id":1,"method":"\ud800"}"#, parse()),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\x00b\"}", parse()),
        (b"\xef\xbb\xbf{}", parse()),
        (br#"{"jsonrpc":"2.0","id":01,"method":"ping"}"#, parse()),
        (br#"{"jsonrpc":"2.0","id":1,"method":"ping"} {}"#, parse()),
        (br#"{"jsonrpc":"2.0","id":1,"method":"ping",}"#, parse()),
        (br#"{'jsonrpc':'2.0'}"#, parse()),
        (b"NaN", parse()),
        (b"", Value::Null),
        (b" \t ", Value::Null),
        (b"\r", Value::Null),
        (b"42", invalid()),
        (b"\"text\"", invalid()),
        (b"null", invalid()),
        (b"true", invalid()),
        (b"{}", invalid()),
        (b"[]", invalid()),
        (br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, invalid()),
        (br#"{"jsonrpc":"2.0"}"#, invalid()),
        (br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, invalid()),
        (br#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, invalid()),
        (br#"{"jsonrpc":"2.0","id":1e3,"method":"ping"}"#, invalid()),
        (br#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, invalid()),
        (br#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#, invalid()),
        (br#"{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}"#, invalid()),
        (br#"{"jsonrpc":"2.0","id":7}"#, error(json!(7), -32600, "Invalid Request")),
        (br#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#, error(json!(7), -32600, "Invalid Request")),
        (br#"{"jsonrpc":2.0,"id":7,"method":"ping"}"#, error(json!(7), -32600, "Invalid Request")),
        (br#"{"id":"x","method":"ping"}"#, error(json!("x"), -32600, "Invalid Request")),
        (br#"{"jsonrpc":"2.0","id":7,"method":"a","method":"ping"}"#, error(json!(7), -32600, "Invalid Request")),
        (br#"{"jsonrpc":"2.0","id":7,"result":{}}"#, Value::Null),
        (br#"{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"m"}}"#, Value::Null),
        (br#"{"jsonrpc":"2.0","method":"notifications/nothing"}"#, Value::Null),
        (br#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#, Value::Null),
        (br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}"#, Value::Null),
        (br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":404}}"#, Value::Null),
        (br#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"lisp_eval","arguments":{"program":"1"}}}"#, Value::Null),
    ];
    let mut server = on_pipes(&[]);
    for (line, expected) in &rows {
        let answer = server.ask(line).unwrap_or(Value::Null);
        assert_eq!(answer, *expected, "{}", String::from_utf8_lossy(line));
    }
    assert!(server.finish().is_empty());
}

#[test]
fn an_error_without_id_has_none_from_2025_11_25_on() {
    let mut server = on_pipes(&[]);
    let initialize =
        br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;
    server.ask(initialize);
    let parse = json!({"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"}});
    assert_eq!(server.ask(b"{"), Some(parse));
}

#[test]
fn requests_with_unusable_methods_and_parameters() {
    let answers = |id: Value, code, message: &str| error(id, code, message);
    let deep =
        [&b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\",\"params\":"[..], &[b'['; 100_000]].concat();
    let rows: Vec<Row> = vec![
        (br#"{"jsonrpc":"2.0","id":7,"method":5}"#, answers(json!(7), -32601, "Method not found")),
        (br#"{"jsonrpc":"2.0","id":7,"method":null}"#, answers(json!(7), -32601, "Method not found")),
        (br#"{"jsonrpc":"2.0","id":7,"method":""}"#, answers(json!(7), -32601, "Method not found")),
        (
            br#"{"jsonrpc":"2.0","id":7,"method":"resources/read"}"#,
            answers(json!(7), -32601, "Method not found"),
        ),
        (br#"{"jsonrpc":"2.0","id":7,"method":"Ping"}"#, answers(json!(7), -32601, "Method not found")),
        (
            br#"{"jsonrpc":"2.0","id":7,"method":"notifications/initialized"}"#,
            answers(json!(7), -32600, "Invalid Request"),
        ),
        (br#"{"jsonrpc":"2.0","id":7,"method":"tools/call"}"#, answers(json!(7), -32602, "Invalid params")),
        (
            br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":[1]}"#,
            answers(json!(7), -32602, "Invalid params"),
        ),
        (
            br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":null}"#,
            answers(json!(7), -32602, "Invalid params"),
        ),
        (
            br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a","name":"b"}}"#,
            answers(json!(7), -32602, "Invalid params"),
        ),
        (
            br#"{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"cursor":""}}"#,
            answers(json!(7), -32602, "Invalid params: unknown cursor"),
        ),
        (
            br#"{"jsonrpc":"2.0","id":"a\u0062","method":"ping"}"#,
            json!({"jsonrpc":"2.0","id":"ab","result":{}}),
        ),
        (
            br#"{"jsonrpc":"2.0","id":-9223372036854775809,"method":"ping"}"#,
            serde_json::from_str(r#"{"jsonrpc":"2.0","id":-9223372036854775809,"result":{}}"#).unwrap(),
        ),
    ];
    let mut server = on_pipes(&[]);
    for (line, expected) in &rows {
        assert_eq!(server.ask(line).as_ref(), Some(expected), "{}", String::from_utf8_lossy(line));
    }
    let refused = server.ask(&deep).unwrap();
    assert_eq!(refused["error"]["message"], "Parse error: nested deeper than 192 levels");
}

#[test]
fn arguments_are_checked_in_order_with_the_texts_of_the_specification() {
    let mut server =
        on_pipes(&["--max-program-bytes", "100", "--max-context-bytes", "50", "--max-frame-bytes", "100000"]);
    let depth = |levels: usize| {
        format!(r#"{{"program":"1","context":{{"x":{}1{}}}}}"#, "[".repeat(levels), "]".repeat(levels))
    };
    let rows = [
        (r"{}", "argument `program` is required"),
        (r"[1]", "arguments must be an object, got array"),
        (r"null", "argument `program` is required"),
        (r#"{"program":null}"#, "argument `program` must be a string, got null"),
        (r#"{"program":5}"#, "argument `program` must be a string, got integer"),
        (r#"{"program":1.5}"#, "argument `program` must be a string, got number"),
        (r#"{"program":[]}"#, "argument `program` must be a string, got array"),
        (r#"{"program":{}}"#, "argument `program` must be a string, got object"),
        (r#"{"program":true,"context":[]}"#, "argument `program` must be a string, got boolean"),
        (r#"{"program":" \n\t "}"#, "argument `program` must be a non-empty string"),
        (r#"{"program":"1","program":"2"}"#, "argument `program` is given twice"),
        (r#"{"program":"1","context":"x"}"#, "argument `context` must be a JSON object, got string"),
        (r#"{"program":"1","context":{"":1}}"#, "argument `context` keys must be non-empty"),
        (
            r#"{"program":"1","context":{"a/b":1}}"#,
            "argument `context` keys may not contain `/` (would shadow PTC-Lisp namespace): \"a/b\"",
        ),
        (
            r#"{"program":"1","context":{"x":"0123456789012345678901234567890123456789012"}}"#,
            "argument `context` exceeds max_context_bytes (51 > 50)",
        ),
        (
            r#"{"program":"1","context":{"x":1e999}}"#,
            "argument `context` holds a number that no float can be: 1e999",
        ),
        (
            r#"{"program":"1","signature":"a"}"#,
            "argument `signature` is no longer supported; use `output_schema`",
        ),
        (
            r#"{"program":"1","output_schema":true}"#,
            "argument `output_schema` must be a JSON object, got boolean",
        ),
        (
            r#"{"program":"1","output_schema":"x"}"#,
            "argument `output_schema` must be a JSON object, got string",
        ),
        (
            r#"{"program":"1","output_schema":{"type":"text"}}"#,
            "argument `output_schema` is invalid: unsupported type: \"text\"",
        ),
        (
            r#"{"program":"1","output_schema":{"if":{}}}"#,
            "argument `output_schema` is invalid: unsupported JSON Schema key(s): if",
        ),
        (
            r#"{"program":"1","output_schema":{"$ref":"x"}}"#,
            "argument `output_schema` is invalid: \"$ref\" must lead into the schema itself (\"#/$defs/…\"), got \"x\"",
        ),
        (
            r#"{"program":"1","output_schema":{"type":"array","items":1}}"#,
            "argument `output_schema` is invalid: array \"items\" must be a JSON object",
        ),
    ];
    for (arguments, message) in rows {
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"lisp_eval","arguments":{arguments}}}}}"#
        );
        let answer = server.ask(line.as_bytes()).unwrap();
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert_eq!(
            (text, &answer["result"]["isError"]),
            (&*format!("args_error: {message}"), &json!(true)),
            "{arguments}"
        );
    }
    let long = format!(r#"{{"program":"{}"}}"#, "x".repeat(101));
    for (arguments, message) in [
        (long, "argument `program` exceeds max_program_bytes (101 > 100)"),
        (depth(20), ""),
        (depth(150), "argument `context` exceeds max_context_bytes (307 > 50)"),
    ] {
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"lisp_eval","arguments":{arguments}}}}}"#
        );
        server.send_line(line.as_bytes());
        let answer = server.receive();
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        if message.is_empty() {
            assert_eq!(text, "user=> 1");
        } else {
            assert_eq!(text, format!("args_error: {message}"));
        }
    }
}

#[test]
fn names_and_ids_of_any_length_are_answered_in_proportion() {
    let mut server = on_pipes(&[]);
    let name = "\u{1}".repeat(1 << 20);
    let unknown =
        server.request(&json!({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":name}}));
    assert_eq!(unknown["result"]["structuredContent"]["reason"], "unknown_tool");
    assert!(unknown.to_string().len() < 20_000);
    let id = "i".repeat(1 << 20);
    let answer = server.request(&json!({"jsonrpc":"2.0","id":id,"method":"ping"}));
    assert_eq!(answer["id"].as_str().map(str::len), Some(1 << 20));
    let modern = json!({"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}});
    let unknown = server.request(
        &json!({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":name,"_meta":modern}}),
    );
    assert!(unknown["error"]["message"].as_str().unwrap().starts_with("Unknown tool: \u{1}"));
    assert!(unknown.to_string().len() < 20_000);
}
