//! A scriptable authorization server, and the protected server behind it, on one loopback port. It consents by itself.

mod issuer;
mod request;
mod resource;
mod script;
mod server;
mod state;
mod tokens;

pub use issuer::INTROSPECTION_CLIENT;
pub use request::Hit;
pub use script::{Iss, Registration, Rotation, Script, Trouble};

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};

use crate::fake_http::FakeHttp;
use state::Shared;

/// The server. It ends when it is dropped.
pub struct AuthorizationServer {
    http: FakeHttp,
    shared: Arc<Shared>,
}

impl AuthorizationServer {
    /// Starts it.
    pub fn start(script: Script) -> Self {
        let shared = Arc::new(Shared::new(script));
        let serving = shared.clone();
        let http = FakeHttp::start(move |hit| serving.serve(Hit::of(hit)));
        shared.origin.set(http.url.origin().ascii_serialization()).expect("it has just begun");
        Self { http, shared }
    }

    /// Where all of it is.
    pub fn origin(&self) -> String {
        self.http.url.origin().ascii_serialization()
    }

    /// The issuer.
    pub fn issuer(&self) -> String {
        format!("{}{}", self.origin(), self.script().issuer_path)
    }

    /// The URL of the MCP server.
    pub fn mcp(&self) -> String {
        format!("{}{}", self.origin(), self.script().path)
    }

    /// How it behaves, to be read or changed.
    pub fn script(&self) -> MutexGuard<'_, Script> {
        self.shared.script.lock().unwrap()
    }

    /// The next request to `path` meets this.
    pub fn trouble(&self, path: &'static str, trouble: Trouble) {
        self.script().trouble.entry(path).or_default().push_back(trouble);
    }

    /// All requests to `path` so far.
    pub fn hits(&self, path: &str) -> Vec<Hit> {
        self.all_hits().into_iter().filter(|hit| hit.path == path).collect()
    }

    /// All requests so far.
    pub fn all_hits(&self) -> Vec<Hit> {
        self.shared.state().hits.clone()
    }

    /// Token requests of this grant so far.
    pub fn grants(&self, grant: &str) -> Vec<Hit> {
        let asked = |hit: &Hit| hit.path.ends_with("/token") && hit.get("grant_type") == Some(grant);
        self.all_hits().into_iter().filter(asked).collect()
    }

    /// Sets its clock ahead.
    pub fn advance(&self, seconds: u64) {
        self.shared.ahead.fetch_add(seconds, Ordering::SeqCst);
    }

    /// Ends all access tokens, as a server does that has lost its memory; refresh tokens stay.
    pub fn forget_access(&self) {
        self.shared.state().access.clear();
    }

    /// Forgets all clients that were registered: their persons see an error page.
    pub fn forget_clients(&self) {
        let mut state = self.shared.state();
        let forgotten: Vec<String> = state.clients.drain().map(|(id, _)| id).collect();
        state.forgotten.extend(forgotten);
    }

    /// Ends all families.
    pub fn end_families(&self) {
        let mut state = self.shared.state();
        state.families.iter_mut().for_each(|family| family.over = true);
        state.access.clear();
    }

    /// How many refresh tokens have been spent.
    pub fn rotations(&self) -> usize {
        self.shared.state().families.iter().map(|family| family.spent.len()).sum()
    }

    /// Whether any family lives.
    pub fn is_signed_in(&self) -> bool {
        self.shared.state().families.iter().any(|family| !family.over)
    }

    /// Every secret that it has given out, or was told.
    pub fn secrets(&self) -> Vec<String> {
        let state = self.shared.state();
        let told = ["state", "code_verifier", "code", "device_code", "access_token", "refresh_token"];
        let of_hit = |hit: &Hit| told.map(|name| hit.get(name).map(str::to_owned));
        let mut secrets: Vec<String> = state.hits.iter().flat_map(of_hit).flatten().collect();
        secrets.extend(state.issued.iter().cloned());
        secrets.sort();
        secrets.dedup();
        secrets
    }
}

/// What a browser does with an authorization URL: goes there, and yields where it is sent.
pub fn browse(url: &str) -> String {
    let (origin, path) = url.trim_start_matches("http://").split_once('/').unwrap();
    let mut stream = TcpStream::connect(origin).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nhost: {origin}\r\nconnection: close\r\n\r\n").unwrap();
    // The head alone: the connection may stay open.
    let head: Vec<String> =
        BufReader::new(stream).lines().map(Result::unwrap).take_while(|line| !line.is_empty()).collect();
    let location = head.iter().find_map(|line| line.strip_prefix("location: "));
    location.unwrap_or_else(|| panic!("no redirect: {head:?}")).to_owned()
}
