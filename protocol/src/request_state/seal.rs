//! Seals and opens states (waiting.md 5.1, 5.2 and 5.3).

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use ptc_host::pace::apart;
use ptc_host::state::{NotOpened, Seals, Secret, StoreClock};

use super::refusal::StateRefusal;

/// The prefix of a state.
const PREFIX: &str = "ptc1.";
/// Bytes of the expiry time before the content.
const UNTIL: usize = 8;

/// Limits on states.
#[derive(Debug, Clone, Copy)]
pub struct StateRules {
    /// How long a state is valid (`--request-state-ttl-ms`).
    pub ttl: Duration,
    /// Most characters of a state (`--max-request-state-bytes`).
    pub max_bytes: usize,
}

/// Seals and opens states. Clones are cheap.
#[derive(Debug, Clone)]
pub struct RequestStates {
    seals: Seals,
    /// The URI of the server for its clients.
    audience: Arc<str>,
    rules: StateRules,
    clock: StoreClock,
}

/// The request to which a state is bound. The state contains none of it, and cannot be opened for another request.
#[derive(Debug, Clone, Copy)]
pub struct StateBinding<'a> {
    /// The principal.
    pub principal: &'a str,
    /// Its method.
    pub method: &'a str,
    /// The tool that it calls.
    pub tool: &'a str,
    /// SHA-256 of the canonical form of its arguments.
    pub arguments: &'a [u8; 32],
}

/// A state that was opened.
#[derive(Debug, Clone, PartialEq)]
pub struct Opened {
    /// Its content: bytes of this product, but perhaps of another build.
    pub content: Bytes,
    /// When it expires, in milliseconds since 1970. A state that is issued again for missing answers keeps this time:
    /// otherwise it could be used after the record that its suspension is over was deleted.
    pub until: u64,
    /// The time until it expires.
    pub left: Duration,
}

/// Why no state can be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotSealed {
    /// It would exceed the limit on states.
    TooLarge,
    /// The system has no entropy.
    NoEntropy,
}

impl RequestStates {
    /// The states of this server: of every process that has the secret and the same URI.
    pub fn new(secret: &Secret, audience: impl Into<Arc<str>>, rules: StateRules) -> Self {
        let seals = Seals::new(secret, Seals::REQUEST_STATE);
        RequestStates { seals, audience: audience.into(), rules, clock: StoreClock::start() }
    }

    /// When a state that is made now expires, in milliseconds since 1970.
    pub fn until(&self) -> u64 {
        let ttl = u64::try_from(self.rules.ttl.as_millis()).unwrap_or(u64::MAX);
        self.clock.now().saturating_add(ttl)
    }

    /// Seals this content for this request, valid until then.
    ///
    /// # Errors
    /// The reason why there is none.
    pub fn seal(&self, bound: StateBinding<'_>, content: &[u8], until: u64) -> Result<String, NotSealed> {
        // Four characters for three bytes.
        if PREFIX.len() + (UNTIL + content.len() + Seals::OVERHEAD).div_ceil(3) * 4 > self.rules.max_bytes {
            return Err(NotSealed::TooLarge);
        }
        let plain = [&until.to_be_bytes(), content].concat();
        let sealed = self.seals.seal(&plain, &self.associated(bound)).ok_or(NotSealed::NoEntropy)?;
        let mut text = String::from(PREFIX);
        URL_SAFE_NO_PAD.encode_string(sealed, &mut text);
        Ok(text)
    }

    /// Like [`seal`](Self::seal). A large content is sealed on a thread of its own.
    ///
    /// # Errors
    /// As [`seal`](Self::seal).
    pub async fn seal_large(
        &self,
        bound: StateBinding<'_>,
        content: Bytes,
        until: u64,
    ) -> Result<String, NotSealed> {
        let (states, principal, arguments) = (self.clone(), bound.principal.to_owned(), *bound.arguments);
        let (method, tool) = (bound.method.to_owned(), bound.tool.to_owned());
        let sealed = apart(content.len(), move || {
            let bound =
                StateBinding { principal: &principal, method: &method, tool: &tool, arguments: &arguments };
            states.seal(bound, &content, until)
        });
        sealed.await
    }

    /// Opens a state of this request.
    ///
    /// # Errors
    /// The first of the checks that fails.
    pub fn open(&self, text: &str, bound: StateBinding<'_>) -> Result<Opened, StateRefusal> {
        let encoded = text.strip_prefix(PREFIX).filter(|_| text.len() <= self.rules.max_bytes * 2);
        let sealed = encoded.and_then(|encoded| URL_SAFE_NO_PAD.decode(encoded).ok());
        let sealed = sealed.ok_or(StateRefusal::Malformed)?;
        let plain = self.seals.open(&sealed, &self.associated(bound)).map_err(|not| match not {
            NotOpened::Malformed => StateRefusal::Malformed,
            NotOpened::OtherSecret => StateRefusal::Key,
            NotOpened::Broken => StateRefusal::Seal,
        })?;
        let (until, _) = plain.split_first_chunk().ok_or(StateRefusal::Build)?;
        let until = u64::from_be_bytes(*until);
        let left = until.saturating_sub(self.clock.now());
        if left == 0 {
            return Err(StateRefusal::Expired);
        }
        let content = Bytes::from(plain).slice(UNTIL..);
        Ok(Opened { content, until, left: Duration::from_millis(left) })
    }

    fn associated(&self, bound: StateBinding<'_>) -> Vec<u8> {
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
