//! A greedy client and its neighbours: whatever one principal takes, another one is served.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use ptc_mcp::json::{Value, json};
use tempfile::NamedTempFile;

use ptc_test_support::process::{Answer, Http};

use super::process::on_http;

/// A server with several principals, whose tokens are their names, lengthened.
pub(crate) struct Town {
    pub(crate) server: Http,
    _tokens: NamedTempFile,
}

fn token(name: &str) -> String {
    format!("{name:x<32}")
}

/// A header line.
pub(crate) fn authorization(name: &str) -> String {
    format!("Authorization: Bearer {}\r\n", token(name))
}

impl Town {
    /// With the principals `greedy` and `other`.
    pub(crate) fn start(flags: &[&str]) -> Town {
        Self::with(&["greedy", "other"], flags)
    }

    pub(crate) fn with(names: &[&str], flags: &[&str]) -> Town {
        let mut tokens = NamedTempFile::new().expect("a file");
        for name in names {
            writeln!(tokens, "{name}:{}", token(name)).expect("written");
        }
        let path = tokens.path().to_str().expect("UTF-8").to_owned();
        let server = on_http(&[&["--http-auth-token-file", &path], flags].concat());
        Town { server, _tokens: tokens }
    }

    fn modern(&self, name: &str, method: &str, params: &Value) -> BufReader<TcpStream> {
        let mut stream = self.server.connect();
        stream.write_all(&modern_request(name, method, params)).expect("it reads");
        BufReader::new(stream)
    }

    /// A call of `lisp_eval`, whose answer is not read yet.
    fn eval(&self, name: &str, program: &str) -> BufReader<TcpStream> {
        let params = json!({"name": "lisp_eval", "arguments": {"program": program}});
        self.modern(name, "tools/call", &params)
    }

    /// The text that a program gives.
    pub(crate) fn value(&self, name: &str, program: &str) -> String {
        let answer = Answer::read_one(&mut self.eval(name, program));
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["result"]["content"][0]["text"].as_str().expect("a text").to_owned()
    }
}

/// A request of the modern era.
pub(crate) fn modern_request(name: &str, method: &str, params: &Value) -> Vec<u8> {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let mut params = params.clone();
    params["_meta"] = meta;
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let tool = params["name"].as_str().map(|name| format!("Mcp-Name: {name}\r\n")).unwrap_or_default();
    format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{}\
         MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{tool}Content-Length: {}\r\n\r\n{body}",
        authorization(name),
        body.len()
    )
    .into_bytes()
}

const ENDLESS: &str = "(loop [] (recur))";

/// Whether bytes of an answer have come.
fn has_answer(eval: &BufReader<TcpStream>) -> bool {
    let socket = eval.get_ref();
    socket.set_nonblocking(true).expect("a socket");
    let found = socket.peek(&mut [0]).is_ok();
    socket.set_nonblocking(false).expect("a socket");
    found
}

#[test]
fn calls_of_one_principal_leave_room_for_another() {
    let town = Town::start(&[
        "--max-concurrent-calls",
        "8",
        "--program-timeout-ms",
        "600000",
        "--program-step-limit",
        "100000000000",
    ]);
    let mut held: Vec<_> = (0..2).map(|_| town.eval("greedy", ENDLESS)).collect();
    let refused = loop {
        // A program that runs gives no answer: one that was refused beside the short program below is sent again.
        for eval in held.iter_mut().filter(|eval| has_answer(eval)) {
            *eval = town.eval("greedy", ENDLESS);
        }
        let answer = Answer::read_one(&mut town.eval("greedy", "1"));
        if answer.status == 503 {
            break answer;
        }
    };
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(
        refused.json()["error"]["message"],
        "server saturated: 2 calls of this caller run (--max-concurrent-calls-per-owner)"
    );
    assert_eq!(town.value("other", "(+ 1 2)"), "user=> 3");
}

#[test]
fn sleeping_programs_leave_their_permits_to_others() {
    let town = Town::start(&["--max-concurrent-calls", "1", "--program-timeout-ms", "600000"]);
    let sleeper = || town.eval("greedy", "(dotimes [_ 6] (sleep-ms 10000))");
    // Until it sleeps it has the permit, and one that comes while another program runs is refused and sent again.
    let (mut asleep, mut ran) = (sleeper(), 0);
    while ran < 20 {
        match Answer::read_one(&mut town.eval("other", "(+ 1 2)")).status {
            503 => ran = 0,
            status => {
                assert_eq!(status, 200);
                ran += 1;
            }
        }
        if has_answer(&asleep) {
            let answer = Answer::read_one(&mut asleep);
            assert_eq!(answer.status, 503, "only a program that was refused ends before the others");
            (asleep, ran) = (sleeper(), 0);
        }
    }
}

fn listen(town: &Town, name: &str) -> BufReader<TcpStream> {
    town.modern(name, "subscriptions/listen", &json!({"notifications": {}}))
}

/// Reads until the channel says that it is open.
fn is_open(channel: &mut BufReader<TcpStream>) -> bool {
    let mut line = String::new();
    while channel.read_line(&mut line).is_ok_and(|count| count > 0) {
        if line.contains("notifications/subscriptions/acknowledged") {
            return true;
        }
        line.clear();
    }
    false
}

#[test]
fn listeners_of_one_principal_leave_room_for_another() {
    let town = Town::start(&["--http-max-listeners", "8"]);
    let mut held: Vec<_> = (0..2).map(|_| listen(&town, "greedy")).collect();
    assert!(held.iter_mut().all(is_open));
    let refused = Answer::read_one(&mut listen(&town, "greedy"));
    assert_eq!(refused.status, 503);
    assert_eq!(
        refused.json()["error"]["message"],
        "server saturated: 2 subscriptions of this caller are open (--http-max-listeners-per-owner)"
    );
    assert!(is_open(&mut listen(&town, "other")));
}

#[test]
fn the_oldest_listener_of_the_greediest_ends_when_there_is_no_room() {
    let town = Town::start(&["--http-max-listeners", "3", "--http-max-listeners-per-owner", "3"]);
    let mut held: Vec<_> = (0..3)
        .map(|_| {
            let mut channel = listen(&town, "greedy");
            assert!(is_open(&mut channel));
            channel
        })
        .collect();
    assert!(is_open(&mut listen(&town, "other")));
    // It ends with its result, not with a broken connection.
    let mut line = String::new();
    while !line.contains("subscriptionId") {
        line.clear();
        assert!(held[0].read_line(&mut line).expect("more") > 0);
    }
    let last: Value = serde_json::from_str(line.trim_start_matches("data: ")).expect("JSON");
    assert_eq!(last["id"], 1);
    held[1].get_ref().set_read_timeout(Some(Duration::from_millis(50))).expect("a timeout");
    assert!(!is_open(&mut held[1]), "the others have heard nothing");
}

/// A request whose body stops after its first byte.
fn slow_body(server: &Http, headers: &str) -> TcpStream {
    let mut stream = server.connect();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n{headers}\r\n{{"
    );
    // It may be closed at once.
    let _ = stream.write_all(head.as_bytes());
    stream
}

const HEALTH: &[u8] = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

#[test]
fn slow_bodies_on_all_places_keep_nobody_out() {
    let server = on_http(&["--http-max-connections", "64"]);
    let mut slow = Vec::new();
    for _ in 0..5 {
        slow.extend((0..64).map(|_| slow_body(&server, "")));
        assert_eq!(server.exchange(HEALTH).status, 200);
        let answer = server.post("", br#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#);
        assert_eq!(answer.status, 200);
    }
}

#[test]
fn slow_bodies_of_one_principal_take_places_from_that_principal() {
    let town = Town::start(&["--http-max-connections", "64"]);
    let own = authorization("greedy");
    // Of the other principal, a body that takes its time as well.
    let mut patient = slow_body(&town.server, &authorization("other"));
    let mut slow = Vec::new();
    for _ in 0..5 {
        slow.extend((0..64).map(|_| slow_body(&town.server, &own)));
        assert_eq!(town.server.exchange(HEALTH).status, 200);
        assert_eq!(town.value("other", "(+ 1 2)"), "user=> 3");
    }
    patient.write_all(&[b'x'; 999]).expect("still open");
    assert_eq!(Answer::read_one(&mut BufReader::new(patient)).status, 400, "read to its end");
    let refused = loop {
        // Those that still wait for their bodies have no answer.
        let answered = slow.drain(..).map(BufReader::new).filter(has_answer);
        let mut answers = answered.map(|mut stream| Answer::read_one(&mut stream));
        if let Some(refused) = answers.find(|answer| answer.status == 429) {
            break refused;
        }
        // Where they come slowly, each takes the place of one that is no longer spared.
        drop(answers);
        slow.extend((0..64).map(|_| slow_body(&town.server, &own)));
    };
    assert_eq!(
        refused.body,
        "too many connections: all 16 that one caller may have are at work (--http-max-connections-per-owner)"
    );
}

#[test]
fn listeners_on_all_places_keep_nobody_out() {
    let server = on_http(&["--http-max-connections", "32"]);
    let request = modern_request("nobody", "subscriptions/listen", &json!({"notifications": {}}));
    let mut held = Vec::new();
    for _ in 0..3 {
        for _ in 0..32 {
            let mut stream = server.connect();
            stream.write_all(&request).expect("it reads");
            held.push(stream);
        }
        assert_eq!(server.exchange(HEALTH).status, 200);
    }
}

#[test]
fn bodies_of_one_principal_are_bounded_together() {
    let town = Town::start(&["--http-max-body-bytes", "1000000", "--http-max-buffered-bytes", "4000000"]);
    let own = authorization("greedy");
    let unfinished = |name: &str, bytes: usize| {
        let mut stream = town.server.connect();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n{}\r\n",
            authorization(name)
        );
        let _ = stream.write_all(&[head.as_bytes(), &vec![b' '; bytes]].concat());
        stream
    };
    // Whichever of the two comes second is refused, and the other one stays for as long as it is not refused itself.
    let (refused, _held) = loop {
        let held = unfinished("greedy", 900_000);
        let answer = Answer::read_one(&mut BufReader::new(unfinished("greedy", 1_000_000)));
        if answer.status == 429 {
            break (answer, held);
        }
    };
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("1")));
    assert_eq!(
        refused.body,
        "server busy: request bodies and unread answers of this caller may hold 1000000 bytes \
         (--http-max-buffered-bytes-per-owner)"
    );
    assert_eq!(town.value("other", "(+ 1 2)"), "user=> 3");
    // What is small still fits.
    let ping = town.server.post(&own, br#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#);
    assert_eq!(ping.status, 200);
}

#[test]
fn beginning_sessions_in_a_loop_locks_nobody_out() {
    let begin = |town: &Town, name: &str| {
        let body =
            br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#;
        town.server.post(&authorization(name), body)
    };
    let ping = |town: &Town, name: &str, session: &str| {
        let headers = format!("{}MCP-Session-Id: {session}\r\n", authorization(name));
        town.server.post(&headers, br#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#).status
    };
    let ready = b"GET /ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    for names in [&["greedy", "other"][..], &["greedy"]] {
        let town = Town::with(names, &["--sessions"]);
        let other = names.last().expect("one");
        let first = begin(&town, other).header("mcp-session-id").expect("an id").to_owned();
        for _ in 0..300 {
            begin(&town, "greedy");
        }
        assert_eq!(town.server.exchange(ready).status, 200);
        let session = begin(&town, other);
        assert_eq!(session.status, 200);
        assert_eq!(ping(&town, other, session.header("mcp-session-id").expect("an id")), 200);
        // Another principal's session is not touched by it.
        assert_eq!(ping(&town, other, &first), if names.len() > 1 { 200 } else { 404 });
    }
}

/// Opens a session of `name` and gives its id, or why there is none.
fn session(town: &Town, name: &str) -> String {
    let params = json!({"name": "lisp_session_start", "arguments": {}});
    let answer = Answer::read_one(&mut town.modern(name, "tools/call", &params)).json();
    let content = &answer["result"]["structuredContent"];
    content["session_id"].as_str().or(content["reason"].as_str()).expect("an id or a reason").to_owned()
}

/// What a program in a session gives, as text.
fn eval_in(town: &Town, name: &str, session: &str, program: &str) -> String {
    let arguments = json!({"session_id": session, "program": program});
    let params = json!({"name": "lisp_session_eval", "arguments": arguments});
    Answer::read_one(&mut town.modern(name, "tools/call", &params)).json().to_string()
}

#[test]
fn the_memory_that_one_principal_may_hold_leaves_room_for_another() {
    let total: u64 = 32 << 20;
    let town = Town::start(&[
        "--sessions",
        "--http-metrics",
        "--http-metrics-owners",
        "--max-total-memory-bytes",
        &total.to_string(),
        "--max-session-memory-bytes",
        &total.to_string(),
        "--max-session-binding-bytes",
        &total.to_string(),
    ]);
    // A quarter of it, in the values of as many sessions as it takes.
    let refused = (0..16).find_map(|_| {
        let id = session(&town, "greedy");
        let text = eval_in(&town, "greedy", &id, "(do (def held (vec (range 150000))) 1)");
        (!text.contains("user=> 1")).then_some(text)
    });
    let refused = refused.expect("the account of one principal has an end");
    assert!(refused.contains("--max-total-memory-bytes-per-owner"), "{refused}");
    assert!(refused.contains(&(total / 4).to_string()), "{refused}");
    // Others have their own quarter, all of which is there.
    assert_eq!(town.value("other", "(count (vec (range 200000)))"), "user=> 200000");
    let question = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let figures = town.server.exchange(question).body;
    let bytes = |family: &str| -> Vec<u64> {
        let lines = figures.lines().filter(|line| line.starts_with(family));
        lines.map(|line| line.rsplit(' ').next().expect("a figure").parse().expect("a number")).collect()
    };
    assert_eq!(bytes("ptc_memory_owner_limit_bytes "), [total / 4]);
    let held = bytes("ptc_memory_owner_bytes{");
    assert!(held.len() == 2 && held.iter().all(|bytes| *bytes <= total / 4), "{held:?}");
    assert!(held.iter().sum::<u64>() > total / 32, "{held:?}");
}

#[test]
fn sessions_of_principals_with_many_make_room_for_one_with_none() {
    let town = Town::with(&["a", "b", "c", "d", "e"], &["--sessions", "--max-sessions", "8"]);
    let full: Vec<String> = ["a", "b", "c", "d"]
        .into_iter()
        .flat_map(|name| [session(&town, name), session(&town, name)])
        .collect();
    assert!(full.iter().all(|id| id.starts_with("ptcs_")), "{full:?}");
    assert_eq!(
        session(&town, "a"),
        "session_limit_exceeded",
        "whoever has a share takes nothing from others"
    );
    let new = session(&town, "e");
    assert!(eval_in(&town, "e", &new, "(+ 1 2)").contains("user=> 3"), "{new}");
    // The one that was used last goes last.
    assert!(eval_in(&town, "a", &full[0], "1").contains("session_closed"));
    assert!(eval_in(&town, "b", &full[2], "1").contains("user=> 1"));
}
