//! What can be wrong with an HTTP request, each with its answer.

use ptc_mcp::json::json;

use super::process::on_http;

const INITIALIZE: &[u8] =
    br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#;

#[test]
fn heads_that_are_no_requests() {
    let server = on_http(&[]);
    let many: String = (0..200).map(|n| format!("X-{n}: v\r\n")).collect();
    let rows = [
        ("\x01\x02garbage\r\n\r\n".to_owned(), 400),
        ("GET /mcp\r\n\r\n".to_owned(), 400),
        (format!("GET /health HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "a".repeat(100_000)), 431),
        (format!("GET /health HTTP/1.1\r\nHost: localhost\r\n{many}\r\n"), 431),
        (format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "a".repeat(100_000)), 431),
        ("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: -4\r\n\r\n".to_owned(), 400),
        ("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\n".to_owned(), 400),
        ("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n".to_owned(), 400),
        ("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000000000000\r\n\r\n".to_owned(), 413),
        ("POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n".to_owned(), 400),
        ("POST /mcp HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n".to_owned(), 403),
        ("POST /mcp HTTP/1.1\r\n\r\n".to_owned(), 403),
        ("POST /mcp HTTP/1.1\r\nHost: evil.example\r\n\r\n".to_owned(), 403),
        ("POST http://evil.example/mcp HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(), 403),
        ("POST /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\n\r\n".to_owned(), 403),
        ("POST /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: null\r\n\r\n".to_owned(), 403),
        ("TRACE /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(), 405),
        ("OPTIONS /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(), 405),
        ("GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n".to_owned(), 405),
        ("CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(), 404),
        ("POST /mcp// HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(), 404),
        ("POST /MCP HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(), 404),
        ("POST /health HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(), 404),
        ("GET /../mcp HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(), 404),
    ];
    for (bytes, status) in rows {
        let answer = server.exchange(bytes.as_bytes());
        let shown: String = bytes.chars().take(200).collect();
        assert_eq!(answer.status, status, "{shown}\n{answer:?}");
        if status == 405 {
            assert_eq!(answer.header("allow"), Some("POST, DELETE"));
        }
    }
}

#[test]
fn half_a_head_has_no_answer() {
    let server = on_http(&["--http-request-timeout-ms", "300"]);
    for bytes in ["POST /mcp HTTP/1.1\r\nHost: loc", ""] {
        assert_eq!(server.exchange(bytes.as_bytes()).status, 0, "{bytes}");
    }
}

const GONE: &str = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Session not found: it has ended, or never began here; send initialize again without MCP-Session-Id"}}"#;

#[test]
fn bodies_that_are_no_messages() {
    let server = on_http(&["--sessions", "--http-max-body-bytes", "1000000"]);
    let parse = json!({"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}});
    let invalid = json!({"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}});
    for body in
        [&b"{"[..], b"\xff", b"\x1f\x8b\x08", b"\xef\xbb\xbf{}", b"{} {}", br#"{"a":"\ud800"}"#, b"nul"]
    {
        let answer = server.post("", body);
        assert_eq!((answer.status, answer.json()), (400, parse.clone()), "{body:?}");
    }
    for body in [&b"42"[..], b"[]", b"{}", b"null", br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#] {
        let answer = server.post("", body);
        assert_eq!((answer.status, answer.json()), (400, invalid.clone()), "{body:?}");
    }
    let deep = server.post("", &[b'['; 500_000]);
    assert_eq!(
        (deep.status, &deep.json()["error"]["message"]),
        (400, &json!("Parse error: nested deeper than 192 levels"))
    );
    for (headers, body, status, text) in [
        (
            "",
            &b""[..],
            400,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: the body is empty"}}"#,
        ),
        ("", &[b'x'; 1_000_001], 413, "payload too large"),
        ("Accept: text/html\r\n", INITIALIZE, 406, "not acceptable: answers are application/json"),
        ("MCP-Session-Id: x\r\n", INITIALIZE, 400, "initialize must not include MCP-Session-Id"),
        ("", br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, 400, "missing MCP-Session-Id"),
        (
            "MCP-Session-Id: \r\n",
            br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
            400,
            "missing MCP-Session-Id",
        ),
        ("MCP-Session-Id: mcp_nobody\r\n", br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, 404, GONE),
        ("MCP-Session-Id: \u{e9}\r\n", br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, 404, GONE),
    ] {
        let answer = server.post(headers, body);
        assert_eq!((answer.status, &*answer.body), (status, text), "{headers}");
        assert!(answer.header("x-request-id").is_some_and(|id| id.len() == 16));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
    }
    let plain =
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}";
    assert_eq!(server.exchange(plain.as_bytes()).body, "unsupported media type");
}

#[test]
fn a_session_belongs_to_its_token() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(
        file.path(),
        "alice:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\nbob:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\n",
    )
    .unwrap();
    let server = on_http(&["--sessions", "--http-auth-token-file", file.path().to_str().unwrap()]);
    let alice = "Authorization: Bearer aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n";
    let bob = "Authorization: Bearer bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\r\n";
    assert_eq!(server.post("", INITIALIZE).header("www-authenticate"), Some("Bearer"));
    let wrong = server.post("Authorization: Bearer made-up\r\n", INITIALIZE);
    assert_eq!(
        (wrong.status, wrong.header("www-authenticate")),
        (401, Some("Bearer error=\"invalid_token\""))
    );
    let opened = server.post(alice, INITIALIZE);
    let session = format!("MCP-Session-Id: {}\r\n", opened.header("mcp-session-id").unwrap());
    let call = |name: &str, arguments: ptc_mcp::json::Value| {
        json!({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":name,"arguments":arguments}})
            .to_string()
    };
    let start = call("lisp_session_start", json!({}));
    assert_eq!(server.post(&format!("{bob}{session}"), start.as_bytes()).status, 404);
    let started = server.post(&format!("{alice}{session}"), start.as_bytes()).json();
    let id = started["result"]["structuredContent"]["session_id"].as_str().unwrap().to_owned();
    // Neither another principal nor another HTTP session of the same one sees it, whatever they claim to be.
    let inspect = call("lisp_session_inspect", json!({"session_id":id,"owner":"alice"}));
    for token in [bob, alice] {
        let other = server.post(token, INITIALIZE);
        let session = format!("MCP-Session-Id: {}\r\n", other.header("mcp-session-id").unwrap());
        let refused = server.post(&format!("{token}{session}"), inspect.as_bytes()).json();
        assert_eq!(refused["result"]["structuredContent"]["reason"], "session_not_found");
    }
    let seen = server.post(&format!("{alice}{session}"), inspect.as_bytes()).json();
    assert_eq!(seen["result"]["structuredContent"]["status"], "ok");
}
