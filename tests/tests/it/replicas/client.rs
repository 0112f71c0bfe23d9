//! A client of the handshake era that opens a connection for each request.

use std::io::Write as _;
use std::net::TcpStream;

use ptc_mcp::json::{Value, json};

use ptc_test_support::PATIENCE;
use ptc_test_support::process::{Answer, call};

/// A conversation.
pub(crate) struct Client {
    pub(crate) address: String,
    pub(crate) session: String,
}

/// Sends a request of a conversation; an error if the server went away in the middle of it.
pub(crate) fn send(
    address: &str,
    method: &str,
    session: Option<&str>,
    body: &str,
) -> std::io::Result<Answer> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let session = session.map(|id| format!("Mcp-Session-Id: {id}\r\n")).unwrap_or_default();
    write!(
        stream,
        "{method} /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{session}\
         Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )?;
    Answer::read(stream)
}

impl Client {
    /// A conversation that begins.
    pub(crate) fn begin(address: &str) -> Client {
        let params = json!({"protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}});
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
        let answer = send(address, "POST", None, &message.to_string()).unwrap();
        assert_eq!(answer.status, 200, "{answer:?}");
        let session = answer.session().unwrap_or_else(|| panic!("no session in {answer:?}"));
        Client { address: address.to_owned(), session }
    }

    /// Evaluates a program; an error if the server went away in the middle of it.
    pub(crate) fn eval(&self, program: &str) -> std::io::Result<Answer> {
        let message: Value = call(7, program);
        send(&self.address, "POST", Some(&self.session), &message.to_string())
    }

    /// Ends the conversation.
    pub(crate) fn end(&self) -> Answer {
        send(&self.address, "DELETE", Some(&self.session), "").unwrap()
    }

    /// The same conversation through another door.
    pub(crate) fn at(&self, address: &str) -> Client {
        Client { address: address.to_owned(), session: self.session.clone() }
    }
}
