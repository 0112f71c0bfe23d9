//! Floods: what comes without end takes no memory to speak of, and those behind it are served.

use std::io::{BufReader, Read, Write};
use std::net::TcpStream;

use ptc_mcp::json::json;

use super::process::{Answer, Listener, Pipes};

/// Most memory that any of these floods may make the process take, in bytes. A process at rest has about a quarter.
const BOUND: u64 = 96 << 20;

#[test]
fn a_frame_that_never_ends() {
    let mut server = Pipes::start(&["--max-frame-bytes", "1000000"]);
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..200 {
        server.send(&piece);
    }
    assert!(server.peak_memory() < BOUND, "{}", server.peak_memory());
    server.line(b"");
    assert_eq!(server.receive()["error"]["message"], "Parse error");
    assert_eq!(server.request(&json!({"jsonrpc":"2.0","id":1,"method":"ping"}))["id"], 1);
}

#[test]
fn a_million_small_frames_that_nobody_reads_the_answers_of() {
    let mut server = Pipes::start(&[]);
    let before = server.peak_memory();
    let lines = b"1\n".repeat(1000);
    // The pipe fills up long before the end unless somebody reads: the server must wait, not hoard.
    for _ in 0..1000 {
        server.send(&lines);
    }
    let answer = server.receive();
    assert_eq!(answer["error"]["code"], -32600);
    for _ in 1..1_000_000 {
        server.receive_line();
    }
    assert!(server.peak_memory() < BOUND, "{before} before, {} at most", server.peak_memory());
    assert_eq!(server.request(&json!({"jsonrpc":"2.0","id":1,"method":"ping"}))["id"], 1);
}

#[test]
fn more_calls_than_there_are_permits() {
    let mut server = Pipes::start(&[
        "--max-concurrent-calls",
        "4",
        "--program-timeout-ms",
        "600000",
        "--program-step-limit",
        "100000000000",
    ]);
    let call = |id: usize, program: &str| json!({"jsonrpc":"2.0","id":id,"method":"tools/call","params":{"name":"lisp_eval","arguments":{"program":program}}});
    for id in 0..4 {
        server.line(call(id, "(loop [] (recur))").to_string().as_bytes());
    }
    for id in 4..1000 {
        let answer = server.request(&call(id, "1"));
        assert_eq!(answer["id"], id);
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert_eq!(
            text,
            "busy: server busy: 4 concurrent calls in flight\nAll 4 call slots are taken (--max-concurrent-calls). Wait a moment and retry the same tools/call."
        );
    }
    for id in 0..4 {
        server.line(
            json!({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":id}})
                .to_string()
                .as_bytes(),
        );
    }
    assert_eq!(server.request(&call(2, "(+ 1 2)"))["result"]["content"][0]["text"], "user=> 3");
}

#[test]
fn bodies_and_heads_without_end() {
    let server = Listener::start(&["--http-max-body-bytes", "100000"]);
    let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    let mut endless = server.connect();
    endless.write_all(format!("{head}Transfer-Encoding: chunked\r\n\r\n").as_bytes()).unwrap();
    let chunk = [b"10000\r\n", &vec![b'x'; 0x10000][..], b"\r\n"].concat();
    // It stops reading as soon as there is too much.
    while endless.write_all(&chunk).is_ok() {}
    let mut endless = server.connect();
    endless.write_all(head.as_bytes()).unwrap();
    let header = [b"X-Long: ", &vec![b'x'; 0x4000][..], b"\r\n"].concat();
    while endless.write_all(&header).is_ok() {}
    assert!(server.peak_memory() < BOUND, "{}", server.peak_memory());
    assert_eq!(server.post("", br#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#).status, 200);
}

#[test]
fn silent_connections_beyond_the_cap() {
    let server = Listener::start(&["--http-max-connections", "100"]);
    let silent: Vec<TcpStream> = (0..600).map(|_| server.connect()).collect();
    let answer = server.post("", br#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#);
    assert_eq!(answer.status, 200);
    assert!(server.peak_memory() < BOUND, "{}", server.peak_memory());
    // All but those within the cap have been closed.
    let closed = silent.iter().filter(|stream| {
        stream.set_nonblocking(true).unwrap();
        (&**stream).read(&mut [0]).is_ok_and(|count| count == 0)
    });
    assert!(closed.count() >= 500);
}

#[test]
fn a_client_that_sends_requests_and_reads_nothing() {
    let server = Listener::start(&[]);
    let mut stream = server.connect();
    let body = br#"{"jsonrpc":"2.0","id":1,"method":"nothing"}"#;
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let piece = [request.as_bytes(), body].concat().repeat(100);
    stream.set_nonblocking(true).unwrap();
    let mut sent = 0;
    // Until nothing more is taken: the answers fill the way back, and then the server reads no further.
    for _ in 0..100_000 {
        match stream.write(&piece[sent % piece.len()..]) {
            Ok(count) => sent += count,
            Err(full) if full.kind() == std::io::ErrorKind::WouldBlock => std::thread::yield_now(),
            Err(_) => break,
        }
    }
    assert!(sent > 0 && server.peak_memory() < BOUND, "{sent} sent, {}", server.peak_memory());
    stream.set_nonblocking(false).unwrap();
    assert_eq!(Answer::read(&mut BufReader::new(stream)).status, 400);
    assert_eq!(server.post("", br#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#).status, 200);
}
