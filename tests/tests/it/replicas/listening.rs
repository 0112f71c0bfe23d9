//! Channels for events, which belong to the replica that carries them (state.md 5.2).

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;

use nix::sys::signal::Signal;
use ptc_mcp::json::{Value, json};
use ptc_tests::replicated::balancer::Balancer;

use super::shared::Place;
use ptc_test_support::PATIENCE;
use ptc_test_support::process::tool;

/// An open channel.
struct Channel(BufReader<TcpStream>);

impl Channel {
    /// Asks to be told of one resource of the upstream, and waits until that is acknowledged.
    fn open(address: &str) -> Channel {
        let wanted = json!({"resourceSubscriptions": ["ptc://fake/text:1"]});
        let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {}});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen",
            "params": {"notifications": wanted, "_meta": meta}})
        .to_string();
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
             Mcp-Method: subscriptions/listen\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut channel = Channel(BufReader::new(stream));
        let acknowledged = channel.told().expect("an answer");
        assert_eq!(acknowledged["params"]["notifications"], wanted, "{acknowledged}");
        channel
    }

    /// The next message; `None` once the channel has ended.
    fn told(&mut self) -> Option<Value> {
        loop {
            let mut line = String::new();
            // A server that is killed may end it either way.
            if self.0.read_line(&mut line).unwrap_or(0) == 0 {
                return None;
            }
            if let Some(data) = line.strip_prefix("data:") {
                return Some(serde_json::from_str(data).unwrap());
            }
        }
    }
}

#[test]
fn who_listens_hears_the_replica_that_it_met_and_listens_again_at_another_one() {
    let Some(place) = Place::new() else { return };
    let exposing = || place.launch(&["--expose", "resources"]).with_upstream().on_http();
    let (one, other) = (exposing(), exposing());
    let balancer = Balancer::over(&[&one.address, &other.address]);
    let touch = format!("(:value {})", tool("touch", "{:uri \"text:1\"}"));
    let mut channel = Channel::open(&balancer.address);
    assert!(one.eval(&touch).contains("text:1"), "its upstream has subscribers");
    assert_eq!(channel.told().expect("an event")["params"]["uri"], "ptc://fake/text:1");
    // The other one has a process of its own of this upstream, in which nobody has subscribed to anything.
    assert!(!other.eval(&touch).contains("text:1"));
    one.server.signal(Signal::SIGKILL);
    assert_eq!(channel.told(), None);
    let mut channel = Channel::open(&balancer.address);
    assert!(other.eval(&touch).contains("text:1"));
    assert_eq!(channel.told().expect("an event")["params"]["uri"], "ptc://fake/text:1");
}
