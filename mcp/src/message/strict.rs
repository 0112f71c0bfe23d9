//! A server's reading of a frame or body: one message, a batch, or neither.
//!
//! A repeated known member makes a message ambiguous. An ambiguous message is refused, because a proxy in front might
//! read it in another way.

use super::id::{IdMember, RequestId};
use super::params::ParamsMember;
use super::{Envelope, read_envelope};
use crate::json::{JsonError, Scanner};

/// Most messages in one batch.
pub const MAX_BATCH: usize = 64;

/// One message as a server reads it.
pub type StrictMessage<'a> = Envelope<'a, IdMember, ParamsMember<'a>>;

impl StrictMessage<'_> {
    /// Whether the message carries the revision of a modern request.
    pub fn is_modern(&self) -> bool {
        self.params.object().is_some_and(|params| params.meta.version.is_some())
    }

    /// Whether it is an `initialize` of the handshake era, regardless of other revisions that it names.
    pub fn negotiates(&self) -> bool {
        let names_revision = || self.params.object().is_some_and(|params| params.protocol_version.is_some());
        self.method.as_ref().and_then(Option::as_deref) == Some("initialize")
            && (!self.is_modern() || names_revision())
    }

    /// The id to answer with, where the message has a usable one.
    pub fn answer_id(&self) -> Option<&RequestId> {
        match &self.id {
            IdMember::Valid(id) => Some(id),
            _ => None,
        }
    }
}

/// The content of one frame or body.
#[expect(
    clippy::large_enum_variant,
    reason = "a message lives on the stack while it is handled; a box would be an allocation for each"
)]
#[derive(Debug)]
pub enum Incoming<'a> {
    /// One message.
    Single(StrictMessage<'a>),
    /// An array of messages; `None` for an element that is no object. Holds at most [`MAX_BATCH`].
    Batch(Vec<Option<StrictMessage<'a>>>),
    /// An array of more than [`MAX_BATCH`] elements, or an empty one.
    BatchRefused,
    /// A JSON value that is neither.
    NotAMessage,
}

/// Reads a frame or body. Fails only if the bytes are no acceptable JSON.
pub fn read(bytes: &[u8]) -> Result<Incoming<'_>, JsonError> {
    let text = std::str::from_utf8(bytes).map_err(|error| JsonError::Syntax(error.valid_up_to()))?;
    let mut scanner = Scanner::new(text);
    let incoming = match scanner.peek() {
        Some(b'{') => Incoming::Single(read_envelope(&mut scanner)?),
        Some(b'[') => read_batch(&mut scanner)?,
        _ => {
            scanner.value()?;
            Incoming::NotAMessage
        }
    };
    scanner.end()?;
    Ok(incoming)
}

fn read_batch<'a>(scanner: &mut Scanner<'a>) -> Result<Incoming<'a>, JsonError> {
    scanner.enter_array()?;
    let mut messages = Vec::new();
    let mut first = true;
    let mut count = 0usize;
    while scanner.next_element(&mut first)? {
        count += 1;
        if count > MAX_BATCH {
            scanner.value()?;
        } else if scanner.peek() == Some(b'{') {
            messages.push(Some(read_envelope(scanner)?));
        } else {
            scanner.value()?;
            messages.push(None);
        }
    }
    Ok(if count == 0 || count > MAX_BATCH { Incoming::BatchRefused } else { Incoming::Batch(messages) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn single(text: &str) -> StrictMessage<'_> {
        match read(text.as_bytes()) {
            Ok(Incoming::Single(message)) => message,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn reads_a_call() {
        let text = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","arguments":{"a":[1]},
            "_meta":{"progressToken":"p","io.modelcontextprotocol/protocolVersion":"2026-07-28","x":1}},"extra":{}}"#;
        let message = single(text);
        assert!(message.well_formed && message.is_modern() && !message.is_response());
        assert_eq!(message.answer_id().unwrap().json(), "7");
        assert_eq!(message.method.as_ref().unwrap().as_deref(), Some("tools/call"));
        let params = message.params.object().unwrap();
        assert_eq!(params.arguments.unwrap().text(), r#"{"a":[1]}"#);
        assert_eq!(params.meta.progress_token.unwrap().text(), "\"p\"");
    }

    #[test]
    fn ids_are_strings_or_integers() {
        let id = |text: &str| single(&format!(r#"{{"jsonrpc":"2.0","id":{text},"method":"m"}}"#)).id;
        assert!(matches!(id("1"), IdMember::Valid(id) if id.json() == "1"));
        assert!(matches!(id("-9007199254740993"), IdMember::Valid(id) if id.json() == "-9007199254740993"));
        assert_eq!(id(r#""\u0061""#), id(r#""a""#));
        assert_ne!(id("\"1\""), id("1"));
        for text in ["null", "1.5", "true", "[1]", "{\"a\":1}", "1e3"] {
            assert_eq!(id(text), IdMember::Invalid, "{text}");
        }
        assert_eq!(single(r#"{"jsonrpc":"2.0","method":"m"}"#).id, IdMember::Absent);
    }

    #[test]
    fn a_member_given_twice_is_ambiguous() {
        for text in [
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"a","\u006dethod":"b"}"#,
        ] {
            assert!(!single(text).well_formed, "{text}");
        }
        for params in
            [r#"{"name":"a","name":"b"}"#, r#"{"_meta":{"progressToken":1,"progressToken":2}}"#, "[1]"]
        {
            let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{params}}}"#);
            assert!(matches!(single(&text).params, ParamsMember::Invalid), "{params}");
        }
    }

    #[test]
    fn batches_are_bounded() {
        let one = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        let batch = |n: usize| format!("[{}]", vec![one; n].join(","));
        assert!(matches!(read(batch(64).as_bytes()), Ok(Incoming::Batch(messages)) if messages.len() == 64));
        assert!(matches!(read(batch(65).as_bytes()), Ok(Incoming::BatchRefused)));
        assert!(matches!(read(b"[]"), Ok(Incoming::BatchRefused)));
        assert!(matches!(read(b"[1]"), Ok(Incoming::Batch(messages)) if messages[0].is_none()));
        assert!(matches!(read(b"42"), Ok(Incoming::NotAMessage)));
        assert!(read(b"{\"a\":1} x").is_err() && read(b"\xff{}").is_err() && read(b"").is_err());
    }
}
