//! Requests that come too slowly, by the clock of a server that the test sets ahead.

use std::io::{BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use ptc_test_support::process::{Answer, Http, Launch};
use ptc_test_support::wait_until;

/// How long the server waits for bytes of a request.
const LIMIT: Duration = Duration::from_secs(3600);
const BODY: &str =
    "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ";

fn server() -> Http {
    let limit = LIMIT.as_millis().to_string();
    Launch::new(&["--http-metrics", "--http-request-timeout-ms", &limit]).stepped().on_http()
}

/// A connection that has sent these bytes, all of which the server has read that make a difference: it is in `state`.
fn begin(server: &Http, bytes: &str, state: &str) -> TcpStream {
    let mut stream = server.connect();
    stream.write_all(bytes.as_bytes()).expect("it reads");
    wait_until(state, || {
        // What has just come counts as the server's own work for a moment.
        server.server.advance(Duration::from_secs(1));
        server.metric(&format!("ptc_http_connections_open{{state=\"{state}\"}}")) >= 1.0
    });
    stream
}

#[test]
fn half_a_body_is_answered() {
    let server = server();
    let stream = begin(&server, &format!("{BODY}9\r\n\r\n{{"), "receiving");
    stream.set_nonblocking(true).expect("a socket");
    // The time for a body begins somewhat later than its connection counts as receiving one.
    wait_until("it is answered", || {
        server.server.advance(LIMIT);
        stream.peek(&mut [0]).is_ok()
    });
    stream.set_nonblocking(false).expect("a socket");
    assert_eq!(Answer::read_one(&mut BufReader::new(stream)).status, 408);
}

#[test]
fn a_byte_now_and_then_is_no_body() {
    let server = server();
    let mut slow = begin(&server, &format!("{BODY}1000\r\n\r\n{{"), "receiving");
    slow.set_nonblocking(true).expect("a socket");
    let mut sent = 0;
    // Each byte comes well within the time for one.
    wait_until("it is answered", || {
        let _ = slow.write_all(b" ");
        sent += 1;
        server.server.advance(LIMIT / 10);
        sent > 500 || slow.peek(&mut [0]).is_ok()
    });
    assert!(sent < 500);
    slow.set_nonblocking(false).expect("a socket");
    let mut answer = Vec::new();
    // Bytes that it did not read end the connection with an error.
    let _ = slow.read_to_end(&mut answer);
    assert!(answer.starts_with(b"HTTP/1.1 408 "), "{}", String::from_utf8_lossy(&answer));
}
