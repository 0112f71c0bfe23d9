//! Floods: what comes without end takes no memory to speak of, and those behind it are served.

use std::io::{BufReader, Read, Write};
use std::net::TcpStream;

use ptc_mcp::json::json;

use ptc_test_support::process::Answer;

use super::process::{on_http, on_pipes};

/// Most memory that any of these floods may make the process take, in bytes. A process at rest has about a quarter.
const BOUND: u64 = 96 << 20;

#[test]
fn a_frame_that_never_ends() {
    let mut server = on_pipes(&["--max-frame-bytes", "1000000"]);
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..200 {
        server.send(&piece);
    }
    assert!(server.server.peak_memory() < BOUND, "{}", server.server.peak_memory());
    server.send_line(b"");
    assert_eq!(server.receive()["error"]["message"], "Parse error");
    assert_eq!(server.request(&json!({"jsonrpc":"2.0","id":1,"method":"ping"}))["id"], 1);
}

#[test]
fn a_million_small_frames_that_nobody_reads_the_answers_of() {
    let mut server = on_pipes(&[]);
    let before = server.server.peak_memory();
    let lines = b"1\n".repeat(1000);
    // The pipe fills up long before the end unless somebody reads: the server must wait, not hoard.
    for _ in 0..1000 {
        server.send(&lines);
    }
    let answer = server.receive();
    assert_eq!(answer["error"]["code"], -32600);
    for _ in 1..1_000_000 {
        server.line();
    }
    assert!(server.server.peak_memory() < BOUND, "{before} before, {} at most", server.server.peak_memory());
    assert_eq!(server.request(&json!({"jsonrpc":"2.0","id":1,"method":"ping"}))["id"], 1);
}

#[test]
fn more_calls_than_there_are_permits() {
    let mut server = on_pipes(&[
        "--max-concurrent-calls",
        "4",
        "--program-timeout-ms",
        "600000",
        "--program-step-limit",
        "100000000000",
    ]);
    let call = |id: usize, program: &str| json!({"jsonrpc":"2.0","id":id,"method":"tools/call","params":{"name":"lisp_eval","arguments":{"program":program}}});
    for id in 0..4 {
        server.send_line(call(id, "(loop [] (recur))").to_string().as_bytes());
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
        server.send_line(
            json!({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":id}})
                .to_string()
                .as_bytes(),
        );
    }
    assert_eq!(server.request(&call(2, "(+ 1 2)"))["result"]["content"][0]["text"], "user=> 3");
}

#[test]
fn bodies_and_heads_without_end() {
    let server = on_http(&["--http-max-body-bytes", "100000"]);
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
    assert!(server.server.peak_memory() < BOUND, "{}", server.server.peak_memory());
    assert_eq!(server.post("", br#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#).status, 200);
}

#[test]
fn silent_connections_beyond_the_cap() {
    let server = on_http(&["--http-max-connections", "100"]);
    let silent: Vec<TcpStream> = (0..600).map(|_| server.connect()).collect();
    let answer = server.post("", br#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#);
    assert_eq!(answer.status, 200);
    assert!(server.server.peak_memory() < BOUND, "{}", server.server.peak_memory());
    // All but those within the cap have been closed.
    let closed = silent.iter().filter(|stream| {
        stream.set_nonblocking(true).unwrap();
        (&**stream).read(&mut [0]).is_ok_and(|count| count == 0)
    });
    assert!(closed.count() >= 500);
}

#[test]
fn a_client_that_sends_requests_and_reads_nothing() {
    let server = on_http(&[]);
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
    assert!(sent > 0 && server.server.peak_memory() < BOUND, "{sent} sent, {}", server.server.peak_memory());
    stream.set_nonblocking(false).unwrap();
    assert_eq!(Answer::read_one(&mut BufReader::new(stream)).status, 200);
    assert_eq!(server.post("", br#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#).status, 200);
}

#[test]
fn heads_that_do_not_end_have_an_account_and_the_oldest_make_room() {
    // A quarter of it for heads: those of four connections.
    let server =
        on_http(&["--http-max-buffered-bytes", "1000000", "--http-max-body-bytes", "1000", "--http-metrics"]);
    let begin = format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Long: {}", "x".repeat(60_000));
    let slow: Vec<TcpStream> = (0..64)
        .map(|_| {
            let mut stream = server.connect();
            stream.write_all(begin.as_bytes()).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(20));
            stream
        })
        .collect();
    // A head that is long and complete finds room, once the others are no longer spared as if they were on their way.
    std::thread::sleep(std::time::Duration::from_millis(200));
    let long = format!("X-Long: {}\r\n", "y".repeat(20_000));
    let initialize = br#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#;
    assert_eq!(server.post(&long, initialize).status, 200);
    let figures =
        server.exchange(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").body;
    let held = figures.lines().find_map(|line| line.strip_prefix("ptc_http_head_bytes ")).expect("a figure");
    assert!(held.parse::<u64>().unwrap() <= 250_000, "{held}");
    let closed = slow.iter().filter(|stream| {
        stream.set_nonblocking(true).unwrap();
        !matches!((&**stream).read(&mut [0]), Err(error) if error.kind() == std::io::ErrorKind::WouldBlock)
    });
    assert!(closed.count() >= 16);
}

/// A frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// The head of a request, whose body does not end with it.
fn head(stream: u32, flags: u8) -> Vec<u8> {
    let fields = [
        &[0x83, 0x86, 0x44, 4][..],
        b"/mcp",
        &[0x41, 9],
        b"localhost",
        &[0x0f, 0x10, 16],
        b"application/json",
    ];
    frame(1, flags, stream, &fields.concat())
}

/// What a client without manners sends, by its name: what comes first, and then the `n`th piece.
type Flood = (&'static str, Vec<u8>, fn(u32) -> Vec<u8>);

const END_HEADERS: u8 = 4;

fn floods() -> Vec<Flood> {
    vec![
        ("SETTINGS", vec![], |_| frame(4, 0, 0, &[])),
        ("SETTINGS with values", vec![], |n| frame(4, 0, 0, &[0, 4, 0, 0, 0xff, n as u8])),
        ("PING", vec![], |n| frame(6, 0, 0, &u64::from(n).to_be_bytes())),
        ("PING that answers nothing", vec![], |_| frame(6, 1, 0, &[0; 8])),
        ("PRIORITY", vec![], |n| frame(2, 0, 2 * n + 1, &[0, 0, 0, 0, 16])),
        ("a type that nobody knows", vec![], |_| frame(0x77, 0, 0, &[])),
        ("WINDOW_UPDATE", head(1, END_HEADERS), |_| frame(8, 0, 0, &[0, 0, 0, 1])),
        ("DATA without data", head(1, END_HEADERS), |_| frame(0, 0, 1, &[])),
        ("DATA that is padding", head(1, END_HEADERS), |_| frame(0, 8, 1, &[&[199][..], &[0; 199]].concat())),
        ("CONTINUATION without end", head(1, 0), |_| frame(9, 0, 1, &[])),
        ("RST_STREAM", vec![], |n| {
            [head(2 * n + 1, END_HEADERS), frame(3, 0, 2 * n + 1, &[0, 0, 0, 8])].concat()
        }),
    ]
}

/// The code of the `GOAWAY` frame among these, if there is one.
fn goaway(mut bytes: &[u8]) -> Option<u8> {
    while let Some((head, rest)) = bytes.split_first_chunk::<9>() {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        if head[3] == 7 {
            return rest.get(7).copied();
        }
        bytes = rest.get(length..)?;
    }
    None
}

#[test]
fn frames_that_ask_for_nothing_end_their_connection_and_keep_nobody_waiting() {
    let server = on_http(&["--http-metrics"]);
    for (name, first, piece) in floods() {
        let mut stream = server.connect();
        let mut reading = stream.try_clone().unwrap();
        let reader = std::thread::spawn(move || {
            let mut all = Vec::new();
            // What comes before the end is kept, whichever end that is.
            let _ = reading.read_to_end(&mut all);
            all
        });
        let writer = std::thread::spawn(move || {
            let begin = [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &frame(4, 0, 0, &[]), &first].concat();
            let mut sent = stream.write_all(&begin).map(|()| 0);
            // Without a bound this would go on for a minute and more.
            for from in (0..40_000_000).step_by(100) {
                let pieces: Vec<u8> = (from..from + 100).flat_map(piece).collect();
                sent = sent.and_then(|sent| stream.write_all(&pieces).map(|()| sent + 100));
                if sent.is_err() {
                    return from;
                }
            }
            panic!("nobody stopped it")
        });
        let mut asked = 0;
        while !writer.is_finished() || asked < 3 {
            assert_eq!(
                server.post("", br#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#).status,
                200,
                "{name}"
            );
            asked += 1;
        }
        let sent = writer.join().expect(name);
        let said = goaway(&reader.join().unwrap());
        assert_eq!(said, Some(0xb), "{name}: GOAWAY says ENHANCE_YOUR_CALM; it was stopped after {sent}");
    }
    assert!(server.server.peak_memory() < BOUND, "{}", server.server.peak_memory());
}

#[test]
fn a_client_that_asks_much_and_acknowledges_all_is_no_flood() {
    let server = on_http(&[]);
    let mut stream = server.connect();
    stream.write_all(&[&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &frame(4, 0, 0, &[])].concat()).unwrap();
    let mut answers = BufReader::new(stream.try_clone().unwrap());
    for n in 0..3_000_u32 {
        let id = 2 * n + 1;
        let body = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        let window = [0, 0, 0, 40];
        let request = [
            head(id, END_HEADERS),
            frame(0, 0, id, body),
            frame(0, 1, id, &[]),
            frame(8, 0, 0, &window),
            frame(6, 0, 0, &[0; 8]),
        ];
        stream.write_all(&request.concat()).unwrap();
        loop {
            let mut head = [0; 9];
            answers.read_exact(&mut head).unwrap_or_else(|error| panic!("request {n}: {error}"));
            let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
            answers.read_exact(&mut payload).unwrap();
            assert_ne!(head[3], 7, "request {n} was answered with GOAWAY: {payload:?}");
            if head[3] == 0 && head[4] & 1 == 1 {
                break;
            }
        }
    }
}
