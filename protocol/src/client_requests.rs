//! Our requests to a client, which it answers while one of its calls runs, or later (waiting.md 4.3).
//!
//! They are sent with the notifications of the call: on a pipe, or on the event stream that answers its POST. The
//! reply arrives as a message of its own, and is matched by its id, once.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ptc_mcp::json::object_text;
use ptc_mcp::message::id::IdMember;
use ptc_mcp::message::strict::StrictMessage;
use tokio::sync::{mpsc, oneshot};

use super::connection::Connection;
use super::open_requests::{MAX_OPEN, MAX_REPLY};

pub use super::open_requests::ClientReply;

/// The prefix of the ids of our requests; 24 characters of base64url follow.
const PREFIX: &str = "q_";
const RANDOM: usize = 18;

/// Forwards a reply to the replica that has sent its request, if there may be one.
pub(super) fn hand_on(connection: &Connection, message: &StrictMessage<'_>) {
    let (Some(elsewhere), IdMember::Valid(id)) = (connection.elsewhere(), &message.id) else { return };
    let name = id.json().trim_matches('"');
    let length = message.result.or(message.error).map_or(0, str::len);
    if !name.starts_with(PREFIX) || length > MAX_REPLY {
        return;
    }
    let text = object_text(|out| {
        out.string("jsonrpc", "2.0");
        out.raw("id", id.json());
        if let Some(result) = message.result {
            out.raw("result", result);
        }
        if let Some(error) = message.error {
            out.raw("error", error);
        }
    });
    elsewhere.reply_came(name, text);
}

/// The messages to the client of a call.
pub(super) type Outgoing = mpsc::UnboundedReceiver<Vec<u8>>;

/// A line to the client of a call, open for as long as the call runs.
#[derive(Debug, Clone)]
pub struct ClientLine {
    connection: Arc<Connection>,
    out: mpsc::UnboundedSender<Vec<u8>>,
}

/// The client cannot be asked: the call has no stream to it, too many requests are open, or the system has no
/// entropy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientLineError;

impl ClientLine {
    /// Opens a line for a call of this conversation. Returns it with the receiver of its messages.
    pub(super) fn open(connection: &Arc<Connection>) -> (ClientLine, Outgoing) {
        let (out, outgoing) = mpsc::unbounded_channel();
        (ClientLine { connection: connection.clone(), out }, outgoing)
    }

    /// True if the call still runs and its transport accepts messages.
    pub fn is_open(&self) -> bool {
        !self.out.is_closed()
    }

    /// Sends a request. `params` is the text of a JSON object.
    ///
    /// # Errors
    /// It cannot be sent.
    pub fn request(&self, method: &str, params: &str) -> Result<Pending, ClientLineError> {
        let name = match self.connection.elsewhere() {
            Some(elsewhere) => elsewhere.request_name(),
            None => random_name(),
        };
        let id: Arc<str> = format!("{PREFIX}{}", name.ok_or(ClientLineError)?).into();
        let (reply, replied) = oneshot::channel();
        {
            let mut open = self.connection.client_requests().open();
            if open.len() >= MAX_OPEN {
                return Err(ClientLineError);
            }
            open.insert(id.clone(), reply);
        }
        let pending = Pending { connection: self.connection.clone(), id: id.clone(), replied };
        let message = object_text(|message| {
            message.string("jsonrpc", "2.0");
            message.string("id", &id);
            message.string("method", method);
            message.raw("params", params);
        });
        self.out.send(message.into_bytes()).map_err(|_| ClientLineError)?;
        Ok(pending)
    }

    /// Sends a notification, if the call still runs. `params` is the text of a JSON object.
    pub fn notify(&self, method: &str, params: &str) {
        let message = object_text(|message| {
            message.string("jsonrpc", "2.0");
            message.string("method", method);
            message.raw("params", params);
        });
        // The transport may have stopped listening.
        let _ = self.out.send(message.into_bytes());
    }
}

fn random_name() -> Option<String> {
    let mut random = [0; RANDOM];
    getrandom::fill(&mut random).ok()?;
    Some(URL_SAFE_NO_PAD.encode(random))
}

/// A request that waits for its reply. Dropping it gives up the reply.
#[derive(Debug)]
pub struct Pending {
    connection: Arc<Connection>,
    id: Arc<str>,
    replied: oneshot::Receiver<ClientReply>,
}

impl Pending {
    /// The id of the request.
    pub fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// The reply; `None` if the conversation has ended, so that no reply can come. May be dropped while it waits.
    pub async fn reply(&mut self) -> Option<ClientReply> {
        (&mut self.replied).await.ok()
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.connection.client_requests().open().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use ptc_mcp::json::{Value, json};
    use ptc_mcp::message::strict::{Incoming, read};

    use super::*;

    fn take(connection: &Arc<Connection>, message: Value) -> bool {
        let text = message.to_string();
        match read(text.as_bytes()).unwrap() {
            Incoming::Single(message) => connection.client_requests().take(&message),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_reply_is_taken_once_and_by_nobody_else() {
        let connection = Connection::over_pipe(4);
        let other = Connection::over_pipe(4);
        let (line, mut outgoing) = ClientLine::open(&connection);
        let mut asked = line.request("elicitation/create", r#"{"message":"?"}"#).unwrap();
        let sent: Value = serde_json::from_slice(&outgoing.try_recv().unwrap()).unwrap();
        assert_eq!(
            (&sent["method"], &sent["params"]["message"]),
            (&json!("elicitation/create"), &json!("?"))
        );
        let id = sent["id"].as_str().unwrap().to_owned();
        assert!(id.starts_with("q_") && id.len() == 26 && *id == **asked.id(), "{id}");
        let reply = json!({"jsonrpc":"2.0","id":id,"result":{"action":"accept"}});
        assert!(!take(&other, reply.clone()) && asked.reply().now_or_never().is_none());
        assert!(!take(&connection, json!({"jsonrpc":"2.0","id":"q_","result":{}})));
        assert!(take(&connection, reply.clone()) && !take(&connection, reply));
        let expected = ClientReply::Result(r#"{"action":"accept"}"#.into());
        assert_eq!(asked.reply().now_or_never(), Some(Some(expected)));
    }

    #[test]
    fn errors_and_ends_are_no_results() {
        let connection = Connection::over_pipe(4);
        let (line, mut outgoing) = ClientLine::open(&connection);
        let mut asked = line.request("elicitation/create", "{}").unwrap();
        let error = json!({"code":-1,"message":"the user is away"});
        assert!(take(&connection, json!({"jsonrpc":"2.0","id":&**asked.id(),"error":error})));
        let reply = asked.reply().now_or_never();
        assert!(
            matches!(reply, Some(Some(ClientReply::Error(error))) if error.message == "the user is away")
        );
        let mut asked = line.request("elicitation/create", "{}").unwrap();
        connection.cancel_all();
        assert_eq!(asked.reply().now_or_never(), Some(None));
        let kept: Vec<_> = (0..MAX_OPEN).map(|_| line.request("elicitation/create", "{}").unwrap()).collect();
        assert_eq!(line.request("elicitation/create", "{}").unwrap_err(), ClientLineError);
        drop(kept);
        outgoing.close();
        assert_eq!(line.request("elicitation/create", "{}").unwrap_err(), ClientLineError);
        assert!(connection.client_requests().open().is_empty(), "what was not sent waits for nothing");
    }
}
