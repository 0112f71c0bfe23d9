//! What all parts of the server share.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use ptc_mcp::json::Value;

use super::issuer::SigningKey;
use super::request::Hit;
use super::script::Script;

/// A family of tokens: what came of one consent.
#[derive(Debug)]
pub(super) struct Family {
    pub(super) client: String,
    pub(super) scope: String,
    pub(super) refresh: String,
    pub(super) spent: Vec<String>,
    pub(super) over: bool,
}

#[derive(Debug)]
pub(super) struct Access {
    pub(super) family: usize,
    pub(super) scope: String,
    pub(super) until: Option<u64>,
}

/// A code that was given out.
pub(super) struct Code {
    pub(super) client: String,
    pub(super) redirect_uri: String,
    pub(super) challenge: String,
    pub(super) scope: String,
    pub(super) nonce: String,
}

/// A client that was registered here.
pub(super) struct Registered {
    pub(super) secret: Option<String>,
    pub(super) grants: Vec<String>,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) hits: Vec<Hit>,
    pub(super) families: Vec<Family>,
    pub(super) access: HashMap<String, Access>,
    pub(super) codes: HashMap<String, Code>,
    /// Client, scope and what is left of the patience of each device.
    pub(super) devices: HashMap<String, (String, String, u32)>,
    pub(super) clients: HashMap<String, Registered>,
    /// Those that were registered, and are not known any more.
    pub(super) forgotten: Vec<String>,
    /// What is said of opaque tokens for resources elsewhere.
    pub(super) opaque: HashMap<String, Value>,
    /// Every secret that was given out.
    pub(super) issued: Vec<String>,
    count: u64,
}

impl State {
    /// A number that no other has.
    pub(super) fn next(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    /// Notes a secret that is given out.
    pub(super) fn issue(&mut self, secret: String) -> String {
        self.issued.push(secret.clone());
        secret
    }
}

pub(super) struct Shared {
    pub(super) origin: OnceLock<String>,
    pub(super) script: Mutex<Script>,
    state: Mutex<State>,
    /// Signs the tokens for resources elsewhere.
    pub(super) signing: SigningKey,
    /// Seconds by which its clock is ahead.
    pub(super) ahead: AtomicU64,
}

impl Shared {
    pub(super) fn new(script: Script) -> Self {
        Self {
            origin: OnceLock::new(),
            script: Mutex::new(script),
            state: Mutex::default(),
            signing: SigningKey::default(),
            ahead: AtomicU64::new(0),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub(super) fn now(&self) -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() + self.ahead.load(Ordering::SeqCst)
    }

    pub(super) fn origin(&self) -> &str {
        self.origin.wait()
    }
}
