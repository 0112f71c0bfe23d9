//! A small MCP client over a pair of pipes, served like any other client.

use ptc_mcp::json::Value;
use ptc_mcp::message::id::number_of_id;
use ptc_mcp::message::lenient::parse;
use ptc_mcp::{ClientInfo, encode};
use ptc_transport::stdio::frames::{Frame, FrameReader};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

/// Longest line that the server may send, in bytes.
const MAX_LINE: usize = 64 << 20;

/// A connection to an MCP server.
pub(super) struct DemoClient<R, W> {
    input: FrameReader<R>,
    output: W,
    next_id: u64,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> DemoClient<R, W> {
    /// Shakes hands.
    pub(super) async fn connect(reader: R, writer: W) -> Result<DemoClient<R, W>, String> {
        let mut client = DemoClient { input: FrameReader::new(reader, MAX_LINE), output: writer, next_id: 1 };
        let info = ClientInfo { name: "ptc-demo", version: env!("CARGO_PKG_VERSION") };
        client.ask("initialize", &info.initialize_params()).await?;
        client.send(encode::notification("notifications/initialized", b"{}")).await?;
        Ok(client)
    }

    async fn send(&mut self, mut line: Vec<u8>) -> Result<(), String> {
        line.push(b'\n');
        self.output.write_all(&line).await.map_err(|e| format!("the server's input is closed: {e}"))
    }

    /// Sends a request and waits for its answer.
    pub(super) async fn request(&mut self, method: &str, params: Value) -> Result<Value, String> {
        self.ask(method, params.to_string().as_bytes()).await
    }

    #[expect(clippy::disallowed_methods, reason = "entry point: DemoClient.ask")]
    async fn ask(&mut self, method: &str, params: &[u8]) -> Result<Value, String> {
        let id = self.next_id;
        self.next_id += 1;
        self.send(encode::request(id, method, params)).await?;
        loop {
            let line = match self.input.next().await.map_err(|e| e.to_string())? {
                Frame::Line(line) => line,
                Frame::TooLong(_) => {
                    return Err(format!("the server sent a line of more than {MAX_LINE} bytes"));
                }
                Frame::End => return Err("the server closed its output".into()),
            };
            let wrong = |e: serde_json::Error| format!("not JSON ({e}): {}", String::from_utf8_lossy(&line));
            let messages = parse(&line, 1).map_err(wrong)?;
            let ours = messages.iter().find(|message| message.id.and_then(number_of_id) == Some(id));
            if let Some(message) = ours {
                return match (message.error, message.result) {
                    (Some(error), _) => Err(format!("{method} failed: {error}")),
                    (None, result) => serde_json::from_str(result.unwrap_or("null")).map_err(wrong),
                };
            }
        }
    }
}
