//! An authorization server, a store, and processes' views of both.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use ptc_host::aggregator::{Aggregator, AggregatorOptions, SnapshotMode};
use ptc_host::config::{LoadOptions, ProcessEnv, UpstreamsConfig};
use ptc_host::credentials::Redactor;
use ptc_host::http::Client;
use ptc_host::sign_in::callback::Callback;
use ptc_host::sign_in::store::{AuthStore, FileStore};
use ptc_host::sign_in::{PROCESS, SignInContext, SignInError, SignedIn, Site};
use ptc_host::time::Clock;
use ptc_host::upstream::{Call, CallFault, CallLimits, CallReply, Caller, ResendMembers, Upstream};
use ptc_mcp::json::{Value, json};
use tokio::runtime::Handle;

use ptc_test_support::authorization_server::{AuthorizationServer, Script, browse};

/// Where browsers come back to; nobody listens.
pub(crate) const REDIRECT: &str = "http://127.0.0.1:33418/callback";

pub(crate) struct World {
    pub(crate) server: AuthorizationServer,
    pub(crate) state: tempfile::TempDir,
    pub(crate) clock: Clock,
    pub(crate) redactor: Redactor,
    entry: Value,
}

impl World {
    pub(crate) fn new(script: Script) -> Self {
        Self::with_auth(script, json!({"type": "oauth"}))
    }

    pub(crate) fn with_auth(script: Script, auth: Value) -> Self {
        let server = AuthorizationServer::start(script);
        let entry = mcp_entry(&server.mcp(), &auth);
        Self::of(server, entry)
    }

    /// With the protected server of REST as the upstream.
    pub(crate) fn of_rest(script: Script, auth: Value) -> Self {
        let server = AuthorizationServer::start(script);
        let origin = server.origin();
        let schema = format!("{origin}/openapi.json");
        let entry = json!({"transport": "openapi", "base_url": origin, "schema_url": schema, "include_operations": ["items", "write"], "auth": auth, "allow_insecure_http": true});
        Self::of(server, entry)
    }

    fn of(server: AuthorizationServer, entry: Value) -> Self {
        Self {
            server,
            state: tempfile::tempdir().unwrap(),
            clock: Clock::stepped(),
            redactor: Redactor::new(),
            entry,
        }
    }

    /// The same with another `auth`.
    pub(crate) fn authorized_by(mut self, auth: Value) -> Self {
        self.entry["auth"] = auth;
        self
    }

    /// The same with an upstream that one can go without.
    pub(crate) fn optional(mut self) -> Self {
        self.entry["required"] = false.into();
        self
    }

    pub(crate) fn store(&self) -> Arc<dyn AuthStore> {
        Arc::new(FileStore::new(self.state.path(), None))
    }

    /// Both clocks.
    pub(crate) fn advance(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
        self.server.advance(seconds);
    }

    pub(crate) fn config(&self) -> UpstreamsConfig {
        config(&self.entry)
    }

    /// What a command has that is run beside the server.
    pub(crate) fn site(&self) -> Arc<Site> {
        self.site_on(self.store())
    }

    fn site_on(&self, store: Arc<dyn AuthStore>) -> Arc<Site> {
        site_of(&self.config(), store, &self.clock, &self.redactor)
    }

    /// What a server has whose callers sign in on its page.
    pub(crate) fn site_with_page(&self, origin: &str) -> Arc<Site> {
        self.site_with_login(origin, false)
    }

    /// The same, where the bearers of access tokens can show who they are, or cannot.
    pub(crate) fn site_with_login(&self, origin: &str, page_has_login: bool) -> Arc<Site> {
        let page = Some(origin.into());
        let context =
            SignInContext { page, page_has_login, ..context(self.store(), &self.clock, &self.redactor) };
        let config = self.config();
        Site::new(&config.upstreams[0], &Arc::new(config.credentials.clone()), &context).unwrap()
    }

    /// A person signs in.
    pub(crate) async fn log_in(&self) -> Result<SignedIn, SignInError> {
        self.log_in_with(self.store()).await
    }

    pub(crate) async fn log_in_with(&self, store: Arc<dyn AuthStore>) -> Result<SignedIn, SignInError> {
        sign_in_at(&self.site_on(store)).await
    }

    /// A process of its own, as far as tokens are concerned.
    pub(crate) async fn process(&self) -> Arc<Aggregator> {
        open(self.config(), self.store(), self.clock.clone(), self.redactor.clone()).await
    }
}

/// The upstream of a file as a command has it.
pub(crate) fn site_of(
    config: &UpstreamsConfig,
    store: Arc<dyn AuthStore>,
    clock: &Clock,
    redactor: &Redactor,
) -> Arc<Site> {
    let context = context(store, clock, redactor);
    Site::new(&config.upstreams[0], &Arc::new(config.credentials.clone()), &context).unwrap()
}

fn context(store: Arc<dyn AuthStore>, clock: &Clock, redactor: &Redactor) -> SignInContext {
    SignInContext {
        store,
        clock: clock.clone(),
        redactor: redactor.clone(),
        http: Client::new(),
        owner: Handle::current(),
        page: None,
        page_has_login: false,
    }
}

/// The answer of the browser of a person who goes to this address.
pub(crate) async fn consent(url: &str) -> Callback {
    consent_at(url, REDIRECT).await
}

/// The same, where the browser comes back to `redirect`.
pub(crate) async fn consent_at(url: &str, redirect: &str) -> Callback {
    let url = url.to_owned();
    let back = tokio::task::spawn_blocking(move || browse(&url)).await.unwrap();
    Callback::of_pasted(&back, redirect, None).unwrap()
}

pub(crate) async fn sign_in_at(site: &Site) -> Result<SignedIn, SignInError> {
    let begun = site.begin(PROCESS, REDIRECT).await?;
    let callback = consent(begun.url.expose()).await;
    Ok(site.complete(callback).await?.expect("it is the sign-in that was begun"))
}

/// What percent-encoding touches.
const RESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A secret as it might hide in a text: raw, percent-encoded, in base64, escaped in JSON.
pub(crate) fn spellings(secret: &str) -> [String; 4] {
    let quoted = Value::from(secret).to_string();
    [
        secret.to_owned(),
        utf8_percent_encode(secret, &RESERVED).to_string(),
        STANDARD_NO_PAD.encode(secret),
        quoted[1..quoted.len() - 1].to_owned(),
    ]
}

/// The secret of clients that were registered beforehand.
pub(crate) const CLIENT_SECRET: &str = "a-client-secret/of+32-characters";

/// The entry of the MCP server at `url`.
pub(crate) fn mcp_entry(url: &str, auth: &Value) -> Value {
    json!({"transport": "mcp_http", "url": url, "protocol": "handshake", "auth": auth, "allow_insecure_http": true})
}

pub(crate) fn config(entry: &Value) -> UpstreamsConfig {
    let file = json!({
        "credentials": {"secret": {"source": "literal", "value": CLIENT_SECRET}},
        "upstreams": {"linear": entry}
    });
    let env = ProcessEnv::from_iter([("HOME", "/home/u")]);
    UpstreamsConfig::from_value(&file, &LoadOptions { env: &env, base_dir: None, own_exe: None }).unwrap()
}

pub(crate) async fn open(
    config: UpstreamsConfig,
    auth_store: Arc<dyn AuthStore>,
    clock: Clock,
    redactor: Redactor,
) -> Arc<Aggregator> {
    let options =
        AggregatorOptions { auth_store, clock, redactor, ..AggregatorOptions::new(SnapshotMode::Frozen) };
    Aggregator::start(config, options).await.expect("a missing sign-in ends no start")
}

/// A clock that is ahead.
pub(crate) fn ahead(seconds: u64) -> Clock {
    let clock = Clock::stepped();
    clock.advance(Duration::from_secs(seconds));
    clock
}

pub(crate) fn linear(process: &Arc<Aggregator>) -> Arc<dyn Upstream> {
    process.unfiltered().upstreams().next().unwrap().1.clone()
}

pub(crate) async fn call(process: &Arc<Aggregator>, tool: &str) -> Result<CallReply, CallFault> {
    call_as(process, tool, None).await
}

pub(crate) async fn call_as(
    process: &Arc<Aggregator>,
    tool: &str,
    principal: Option<&Arc<str>>,
) -> Result<CallReply, CallFault> {
    let call = Call {
        tool,
        arguments: b"{}",
        limits: CallLimits::within(Duration::from_secs(60), 1 << 20),
        again: ResendMembers::default(),
        arrivals: None,
        caller: Caller { principal, ..Caller::default() },
        may_wrap: true,
        judged_by: None,
    };
    linear(process).call(call).await
}

/// Reason and text of the fault of a call.
pub(crate) async fn fault(process: &Arc<Aggregator>, tool: &str) -> (&'static str, String) {
    let fault = call(process, tool).await.expect_err("the call should have a fault");
    (fault.reason.as_str(), fault.message)
}
