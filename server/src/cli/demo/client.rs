//! A small MCP client over a pair of pipes: enough to be served like any other.

use ptc_mcp::json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, Lines};

/// A connection to an MCP server.
pub(super) struct Client<R, W> {
    input: Lines<BufReader<R>>,
    output: W,
    next_id: u64,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Client<R, W> {
    /// Shakes hands.
    pub(super) async fn connect(reader: R, writer: W) -> Result<Client<R, W>, String> {
        let mut client = Client { input: BufReader::new(reader).lines(), output: writer, next_id: 1 };
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "ptc-demo", "version": env!("CARGO_PKG_VERSION")},
        });
        client.request("initialize", params).await?;
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await?;
        Ok(client)
    }

    async fn send(&mut self, message: &Value) -> Result<(), String> {
        let line = format!("{message}\n");
        self.output.write_all(line.as_bytes()).await.map_err(|e| format!("the server's input is closed: {e}"))
    }

    /// Sends a request and waits for its answer.
    pub(super) async fn request(&mut self, method: &str, params: Value) -> Result<Value, String> {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await?;
        loop {
            let line = self.input.next_line().await.map_err(|e| e.to_string())?;
            let line = line.ok_or("the server closed its output")?;
            let mut message: Value =
                serde_json::from_str(&line).map_err(|e| format!("not JSON ({e}): {line}"))?;
            if message["id"] == json!(id) {
                return match message.get("error") {
                    Some(error) => Err(format!("{method} failed: {error}")),
                    None => Ok(message["result"].take()),
                };
            }
        }
    }
}
