//! What a client of the handshake era says at one replica holds at the others (state.md 5.2): replies to what it was asked, calls that it
//! gives up, and which log messages it wants.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;

use ptc_mcp::json::{Value, json};

use super::client::{Client, send};
use super::runs::Tools as _;
use super::shared::Place;
use ptc_test_support::process::{Http, call, tool, waiting};
use ptc_test_support::{PATIENCE, wait_until};

/// The answer to a call, as the events that it is made of.
struct Events(BufReader<TcpStream>);

impl Events {
    fn of(client: &Client, message: &Value) -> Events {
        let body = message.to_string();
        let mut stream = TcpStream::connect(&client.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMcp-Session-Id: {}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            client.session,
            body.len()
        )
        .unwrap();
        Events(BufReader::new(stream))
    }

    /// The next message; `None` once the answer has ended.
    fn next(&mut self) -> Option<Value> {
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            // An answer of one message may be plain JSON.
            if let Some(data) = line.strip_prefix("data:").or(line.starts_with('{').then_some(&*line)) {
                return Some(serde_json::from_str(data).unwrap());
            }
        }
    }
}

/// A client that can be asked.
fn asked(address: &str) -> Client {
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "test", "version": "1"}});
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let answer = send(address, "POST", None, &message.to_string()).unwrap();
    assert_eq!(answer.status, 200, "{answer:?}");
    Client { address: address.to_owned(), session: answer.session().unwrap() }
}

fn reply(client: &Client, id: &Value, region: &str) {
    let result = json!({"action": "accept", "content": {"region": region}});
    let reply = json!({"jsonrpc": "2.0", "id": id, "result": result});
    let answer = send(&client.address, "POST", Some(&client.session), &reply.to_string()).unwrap();
    assert_eq!(answer.status, 202, "{answer:?}");
}

/// Asks for a region.
fn ask() -> Value {
    call(
        7,
        r#"(:value (ask {:message "Which region?" :schema {:type "object" :properties {"region" {:type "string"}} :required ["region"]}}))"#,
    )
}

fn servers(place: &Place) -> [Http; 2] {
    [(); 2].map(|()| place.launch(&[]).with_upstream().on_http())
}

#[test]
fn a_reply_that_comes_to_another_replica_counts_once() {
    let Some(place) = Place::new() else { return };
    let [one, other] = servers(&place);
    let client = asked(&one.address);
    let mut stranger = asked(&other.address);
    for round in 0..3 {
        let mut call = Events::of(&client, &ask());
        let question = call.next().unwrap();
        assert_eq!(question["method"], "elicitation/create", "{question}");
        let id = &question["id"];
        // Neither another conversation answers it, nor a name that nobody has made.
        stranger.address.clone_from(&other.address);
        reply(&stranger, id, "foreign");
        reply(&client.at(&other.address), &json!("q_AAAAAAAAAAAAAAAAAAAAAAAA"), "made up");
        reply(&client.at(&other.address), id, &format!("region {round}"));
        reply(&client.at(&other.address), id, "too late");
        let answer = call.next().unwrap();
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
        assert!(text.contains(&format!("region {round}")), "{answer}");
        assert_eq!(call.next(), None);
    }
    // Where it was asked it is answered at once, as ever.
    let mut call = Events::of(&client, &ask());
    let question = call.next().unwrap();
    reply(&client, &question["id"], "here");
    assert!(call.next().unwrap().to_string().contains("here"));
}

#[test]
fn the_level_of_log_messages_holds_at_every_replica() {
    let Some(place) = Place::new() else { return };
    let [one, other] = servers(&place);
    let client = asked(&one.address);
    let told = |client: &Client| {
        let mut events = Events::of(client, &call(8, &tool("talk", "{:say \"hi\"}")));
        let first = events.next().unwrap();
        first["method"] == "notifications/message"
    };
    // The conversation is known at both.
    assert!(!told(&client) && !told(&client.at(&other.address)));
    let set = |level: &str| {
        let message =
            json!({"jsonrpc": "2.0", "id": 2, "method": "logging/setLevel", "params": {"level": level}});
        let answer = send(&client.address, "POST", Some(&client.session), &message.to_string()).unwrap();
        assert_eq!((answer.status, answer.body.contains("result")), (200, true), "{answer:?}");
    };
    set("debug");
    assert!(told(&client), "where it was set it holds at once");
    wait_until("the other replica has heard of it", || told(&client.at(&other.address)));
    // One that starts later has heard of it too.
    let third = place.launch(&[]).with_upstream().on_http();
    wait_until("a new replica knows the level", || told(&client.at(&third.address)));
    set("emergency");
    assert!(!told(&client), "where it was set it holds at once");
    for server in [&other, &third] {
        wait_until("the others have heard of it", || !told(&client.at(&server.address)));
    }
}

/// Gives up a call. The answer comes when the store has what is handed on.
fn cancel(client: &Client, id: impl Into<Value>) {
    let params = json!({"requestId": id.into(), "reason": "the user has left"});
    let message = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
    let answer = send(&client.address, "POST", Some(&client.session), &message.to_string()).unwrap();
    assert_eq!((answer.status, &*answer.body), (202, ""), "{answer:?}");
}

/// How many calls wait at the upstream of a server.
fn hanging(server: &Http) -> String {
    server.eval(&waiting())
}

#[test]
fn a_call_is_given_up_through_another_replica() {
    let Some(place) = Place::new() else { return };
    let [one, other] = servers(&place);
    let client = asked(&one.address);
    let there = client.at(&other.address);
    let hang = |id: &str| Events::of(&client, &call(id, &tool("hang", "{}")));
    let (mut kept, mut given_up) = (hang("kept"), hang("7"));
    wait_until("both wait", || hanging(&one) == "user=> 2");
    // Neither another conversation ends them, nor another id.
    cancel(&asked(&other.address), "kept");
    cancel(&there, 7);
    cancel(&there, "no call");
    cancel(&there, "7");
    assert_eq!(given_up.next(), None, "nobody waits for its answer any more");
    wait_until("one waits", || hanging(&one) == "user=> 1");
    cancel(&there, "kept");
    assert_eq!(kept.next(), None);
    wait_until("the upstream has heard of it", || hanging(&one) == "user=> 0");
    // One that waits for a person is over, and nobody is asked any more.
    let mut asks = Events::of(&client, &ask());
    let question = asks.next().unwrap();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    cancel(&there, 7);
    assert_eq!(asks.next(), None);
    // An id is free again.
    assert!(client.eval("(+ 1 2)").unwrap().text().contains("user=> 3"));
}

#[test]
fn a_program_whose_id_is_known_is_not_ended_by_the_cancellation_of_the_call_that_began_it() {
    let Some(place) = Place::new() else { return };
    let dir = tempfile::tempdir().unwrap();
    let flags = ["--long-runs", "--response-profile", "structured"];
    let [one, other] = [(); 2].map(|()| place.launch(&flags).with_upstream().on_http());
    let mut client = asked(&one.address);
    let there = client.at(&other.address);
    let file = dir.path().join("file");
    let id = client.begin_run(&file);
    let mut behind = Events::of(&client, &call("behind", &tool("hang", "{}")));
    let waiting = json!({"program": waiting()});
    wait_until("both wait", || client.tool("lisp_eval", &waiting)["result"] == "user=> 2");
    // Every call of this client but the one behind has had the id of the call that began it.
    cancel(&client, 7);
    cancel(&there, 7);
    // What is announced is heard in its order.
    cancel(&there, "behind");
    assert_eq!(behind.next(), None);
    std::fs::write(&file, "").unwrap();
    assert_eq!(client.outcome(&id)["result"], "user=> \"r: there it is\"");
}
