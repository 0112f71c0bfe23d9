//! A client of 2026-07-28 over HTTP: each request states what it can do, and has a connection of its own.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;

use ptc_mcp::json::{Value, json};

use crate::PATIENCE;
use crate::process::Answer;

/// A client.
pub struct Modern {
    /// Where the server listens.
    pub address: String,
    /// What its requests declare.
    pub capabilities: Value,
    /// The header with its token, if it has one.
    authorization: String,
}

/// What is declared by a client that takes tasks and shows forms.
pub fn takes_tasks() -> Value {
    json!({"elicitation": {"form": {}}, "extensions": {"io.modelcontextprotocol/tasks": {}}})
}

impl Modern {
    /// A client that declares these capabilities.
    pub fn new(address: &str, capabilities: Value) -> Modern {
        Modern { address: address.to_owned(), capabilities, authorization: String::new() }
    }

    /// The same with this bearer token.
    #[must_use]
    pub fn with_token(self, token: &str) -> Modern {
        Modern { authorization: format!("Authorization: Bearer {token}\r\n"), ..self }
    }

    fn send(&self, method: &str, params: &Value, name: Option<&str>) -> TcpStream {
        let mut params = params.clone();
        params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": self.capabilities});
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).to_string();
        let name = name.map(|name| format!("Mcp-Name: {name}\r\n")).unwrap_or_default();
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
             Mcp-Method: {method}\r\n{name}{}Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
            self.authorization,
            body.len()
        )
        .unwrap();
        stream
    }

    /// The answer to a request with this `Mcp-Name`: its status, and the message.
    pub fn answer(&self, method: &str, params: &Value, name: Option<&str>) -> (u16, Value) {
        self.try_answer(method, params, name).unwrap()
    }

    /// The same of a server that may be killed before it answers.
    pub fn try_answer(
        &self,
        method: &str,
        params: &Value,
        name: Option<&str>,
    ) -> std::io::Result<(u16, Value)> {
        let answer = Answer::read(self.send(method, params, name))?;
        let message = serde_json::from_str(&answer.body).unwrap_or_else(|_| panic!("no JSON: {answer:?}"));
        Ok((answer.status, message))
    }

    /// The result of a request whose headers are as they should be.
    pub fn request(&self, method: &str, params: &Value) -> Value {
        let name = ["name", "taskId"].into_iter().find_map(|key| params[key].as_str());
        let (_, mut message) = self.answer(method, params, name);
        assert!(message.get("error").is_none(), "{method} {params}: {message}");
        message["result"].take()
    }

    /// The error of such a request.
    pub fn error(&self, method: &str, params: &Value) -> (u16, Value) {
        let name = ["name", "taskId"].into_iter().find_map(|key| params[key].as_str());
        let (status, mut message) = self.answer(method, params, name);
        assert!(message.get("result").is_none(), "{method} {params}: {message}");
        (status, message["error"].take())
    }

    /// The result of a call of a tool.
    pub fn tool(&self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    /// A channel that tells of `notifications`.
    pub fn listen(&self, notifications: Value) -> Channel {
        let params = json!({"notifications": notifications});
        Channel(BufReader::new(self.send("subscriptions/listen", &params, None)))
    }
}

/// An open channel.
pub struct Channel(BufReader<TcpStream>);

impl Channel {
    /// The next message; `None` once the channel has ended.
    pub fn told(&mut self) -> Option<Value> {
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
