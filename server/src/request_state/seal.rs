//! Seals and opens states (waiting.md 5.1, 5.2 and 5.3).

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ptc_host::pace::apart;
use ptc_host::state::{NotOpened, Seals, Secret, StoreClock};

use super::content::{Carried, Content};
use super::refusal::Refusal;

/// What a state begins with.
const PREFIX: &str = "ptc1.";
/// Bytes of the time at which a state ends, in front of its content.
const UNTIL: usize = 8;

/// Bounds of states.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StateRules {
    /// How long one is good (`--request-state-ttl-ms`).
    pub(crate) ttl: Duration,
    /// Characters of one that is given out, at most (`--max-request-state-bytes`).
    pub(crate) max_bytes: usize,
}

/// Makes and opens states. Clones are cheap.
#[derive(Debug, Clone)]
pub(crate) struct RequestStates {
    seals: Seals,
    /// The URI of the server as its clients know it.
    audience: Arc<str>,
    rules: StateRules,
    clock: StoreClock,
}

/// The request that a state belongs to. Nothing of it is in the state, and another one does not open it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bound<'a> {
    /// Whose request it is.
    pub(crate) principal: &'a str,
    /// Its method.
    pub(crate) method: &'a str,
    /// The tool that it calls.
    pub(crate) tool: &'a str,
    /// SHA-256 of the canonical form of its arguments.
    pub(crate) arguments: &'a [u8; 32],
}

/// A state that was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Opened {
    /// What is in it.
    pub(crate) content: Content,
    /// When it ends, in milliseconds since 1970. One that is issued again for missing answers ends then too: otherwise it could be
    /// used after it was forgotten that its suspension is over.
    pub(crate) until: u64,
    /// How long that is from now.
    pub(crate) left: Duration,
}

/// Why no state is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotSealed {
    /// It would be longer than a state may be.
    TooLarge,
    /// The system has no random numbers.
    NoEntropy,
}

impl RequestStates {
    /// States of this server: of every process that has the secret and is known by the same URI.
    pub(crate) fn new(secret: &Secret, audience: impl Into<Arc<str>>, rules: StateRules) -> Self {
        let seals = Seals::new(secret, Seals::REQUEST_STATE);
        RequestStates { seals, audience: audience.into(), rules, clock: StoreClock::start() }
    }

    /// When a state that is made now ends, in milliseconds since 1970.
    pub(crate) fn until(&self) -> u64 {
        let ttl = u64::try_from(self.rules.ttl.as_millis()).unwrap_or(u64::MAX);
        self.clock.now().saturating_add(ttl)
    }

    /// The state with this content for this request, good until then.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) fn seal(&self, bound: Bound<'_>, content: &Content, until: u64) -> Result<String, NotSealed> {
        let mut plain = until.to_be_bytes().to_vec();
        plain.extend_from_slice(&content.write());
        // Four characters for three bytes.
        if PREFIX.len() + (plain.len() + Seals::OVERHEAD).div_ceil(3) * 4 > self.rules.max_bytes {
            return Err(NotSealed::TooLarge);
        }
        let sealed = self.seals.seal(&plain, &self.associated(bound)).ok_or(NotSealed::NoEntropy)?;
        let mut text = String::from(PREFIX);
        URL_SAFE_NO_PAD.encode_string(sealed, &mut text);
        Ok(text)
    }

    /// As [`seal`](Self::seal). A large program is packed and sealed on a thread of its own; the content comes back.
    ///
    /// # Errors
    /// As [`seal`](Self::seal).
    pub(crate) async fn seal_large(
        &self,
        bound: Bound<'_>,
        content: Content,
        until: u64,
    ) -> (Result<String, NotSealed>, Content) {
        let bytes = match &content.carried {
            Carried::Snapshot(snapshot) => snapshot.len(),
            Carried::Kept(_) | Carried::Blob(_) => 0,
        };
        let (states, principal, arguments) = (self.clone(), bound.principal.to_owned(), *bound.arguments);
        let (method, tool) = (bound.method.to_owned(), bound.tool.to_owned());
        let sealed = apart(bytes, move || {
            let bound = Bound { principal: &principal, method: &method, tool: &tool, arguments: &arguments };
            (states.seal(bound, &content, until), content)
        });
        sealed.await
    }

    /// What a state of this request has.
    ///
    /// # Errors
    /// The first of the checks that fails.
    pub(crate) fn open(&self, text: &str, bound: Bound<'_>) -> Result<Opened, Refusal> {
        let encoded = text.strip_prefix(PREFIX).filter(|_| text.len() <= self.rules.max_bytes * 2);
        let sealed = encoded.and_then(|encoded| URL_SAFE_NO_PAD.decode(encoded).ok());
        let sealed = sealed.ok_or(Refusal::Malformed)?;
        let plain = self.seals.open(&sealed, &self.associated(bound)).map_err(|not| match not {
            NotOpened::Malformed => Refusal::Malformed,
            NotOpened::OtherSecret => Refusal::Key,
            NotOpened::Broken => Refusal::Seal,
        })?;
        // What is sealed is ours, but perhaps another build's.
        let (until, content) = plain.split_at_checked(UNTIL).ok_or(Refusal::Build)?;
        let until = u64::from_be_bytes(until.try_into().unwrap_or_default());
        let left = until.saturating_sub(self.clock.now());
        if left == 0 {
            return Err(Refusal::Expired);
        }
        let content = Content::read(content).map_err(|_| Refusal::Build)?;
        Ok(Opened { content, until, left: Duration::from_millis(left) })
    }

    fn associated(&self, bound: Bound<'_>) -> Vec<u8> {
        let parts: [&[u8]; 5] = [
            bound.principal.as_bytes(),
            bound.method.as_bytes(),
            bound.tool.as_bytes(),
            bound.arguments,
            self.audience.as_bytes(),
        ];
        let mut associated = Vec::with_capacity(160);
        for part in parts {
            associated.extend_from_slice(&(part.len() as u64).to_be_bytes());
            associated.extend_from_slice(part);
        }
        associated
    }
}
