//! Stores the outcome of a state, for a client that returns it again with the same answers (waiting.md 5.4).

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ptc_host::codec;
use ptc_host::state::{Commit, End, Key, Kind, StateError, Write};
use ptc_host::time::timeout;
use tracing::debug;

use super::{Asks, Caller};
use ptc_protocol::request_state::Jti;
use ptc_protocol::tool::{Instead, ToolReply};
use ptc_runs::KeptReply;

/// Largest outcome that is stored, in bytes.
const MOST_BYTES: usize = 256 << 10;
/// How long a second call waits for the outcome of the first.
const PATIENCE: Duration = Duration::from_secs(15);

/// The version of the format.
const VERSION: u8 = 1;

impl Asks {
    /// Stores the reply to a call that resumed a program, for as long as its state is valid. `asked` is the digest of
    /// the state and the answers.
    pub(super) async fn keep_outcome(
        &self,
        caller: &Caller,
        jti: &Jti,
        asked: &[u8; 32],
        left: Duration,
        reply: &ToolReply,
    ) {
        let Some(blob) = written(asked, reply).filter(|blob| blob.len() <= MOST_BYTES) else { return };
        let Some(key) = key(caller, jti) else { return };
        let write = Write::put(key, 0, blob).ending(End::After(left));
        if let Err(error) = self.0.store.commit(Commit::one(write)).await {
            debug!(event = "outcome_not_kept", reason = %error);
        }
    }

    /// The outcome of the state's first use, if the answers are the same. Waits for it.
    ///
    /// # Errors
    /// The store is unavailable.
    pub(super) async fn outcome_of_first(
        &self,
        caller: &Caller,
        jti: &Jti,
        asked: &[u8; 32],
    ) -> Result<Option<ToolReply>, StateError> {
        let Some(key) = key(caller, jti) else { return Ok(None) };
        match timeout(PATIENCE, self.0.store.watch(&key, 0)).await {
            Ok(Ok(Some(kept))) => Ok(read(&kept.blob.unwrap_or_default(), asked)),
            Ok(Err(StateError::Unavailable(why))) => Err(StateError::Unavailable(why)),
            Ok(_) | Err(_) => Ok(None),
        }
    }
}

fn key(caller: &Caller, jti: &Jti) -> Option<Key> {
    let id = format!("o_{}", URL_SAFE_NO_PAD.encode(jti));
    Key::new(&caller.owner(), Kind::Blob, id).ok()
}

/// The reply, with the digest of what it answers. An error or a task is not kept.
fn written(asked: &[u8; 32], reply: &ToolReply) -> Option<Vec<u8>> {
    match reply.instead.as_deref() {
        Some(Instead::Refused(_) | Instead::Task(_)) => None,
        _ => Some(codec::encode(VERSION, &(asked, KeptReply::of(reply)), &[])),
    }
}

fn read(blob: &[u8], asked: &[u8; 32]) -> Option<ToolReply> {
    let (first, reply) = codec::decode_whole::<([u8; 32], KeptReply)>(VERSION, blob)?;
    (first == *asked).then(|| reply.reply())
}
