//! An authorization server, a store, and processes' views of both.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ptc_host::aggregator::{Aggregator, AggregatorOptions, SnapshotMode};
use ptc_host::config::{LoadOptions, ProcessEnv, UpstreamsConfig};
use ptc_host::credentials::Redactor;
use ptc_host::http::Client;
use ptc_host::sign_in::callback::Callback;
use ptc_host::sign_in::store::{AuthStore, FileStore};
use ptc_host::sign_in::{Clock, PROCESS, SignInContext, SignInError, SignedIn, Site};
use ptc_host::upstream::{Call, CallFault, CallLimits, CallReply, Caller, Upstream};
use ptc_mcp::json::{Value, json};
use tokio::runtime::Handle;

use crate::authorization_server::{AuthorizationServer, Script, browse};

/// Where browsers come back to; nobody listens.
pub(crate) const REDIRECT: &str = "http://127.0.0.1:33418/callback";

pub(crate) struct World {
    pub(crate) server: AuthorizationServer,
    pub(crate) state: tempfile::TempDir,
    pub(crate) clock: Clock,
    pub(crate) redactor: Redactor,
    auth: Value,
}

impl World {
    pub(crate) fn new(script: Script) -> Self {
        Self::with_auth(script, json!({"type": "oauth"}))
    }

    pub(crate) fn with_auth(script: Script, auth: Value) -> Self {
        Self {
            server: AuthorizationServer::start(script),
            state: tempfile::tempdir().unwrap(),
            clock: Clock::default(),
            redactor: Redactor::new(),
            auth,
        }
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
        config(&self.server.mcp(), &self.auth)
    }

    fn context(&self, store: Arc<dyn AuthStore>) -> SignInContext {
        SignInContext {
            store,
            clock: self.clock.clone(),
            redactor: self.redactor.clone(),
            http: Client::new(),
            owner: Handle::current(),
            page: None,
        }
    }

    /// What a command has that is run beside the server.
    pub(crate) fn site(&self) -> Arc<Site> {
        self.site_on(self.store())
    }

    fn site_on(&self, store: Arc<dyn AuthStore>) -> Arc<Site> {
        let config = self.config();
        let context = self.context(store);
        Site::new(&config.upstreams[0], &Arc::new(config.credentials.clone()), &context).unwrap()
    }

    /// A person signs in.
    pub(crate) async fn log_in(&self) -> Result<SignedIn, SignInError> {
        self.log_in_with(self.store()).await
    }

    pub(crate) async fn log_in_with(&self, store: Arc<dyn AuthStore>) -> Result<SignedIn, SignInError> {
        let site = self.site_on(store);
        let begun = site.begin(PROCESS, REDIRECT).await?;
        let url = begun.url.expose().to_owned();
        let back = tokio::task::spawn_blocking(move || browse(&url)).await.unwrap();
        let callback = Callback::of_pasted(&back, REDIRECT, None).unwrap();
        Ok(site.complete(callback).await?.expect("it is the sign-in that was begun"))
    }

    /// A process of its own, as far as tokens are concerned.
    pub(crate) async fn process(&self) -> Arc<Aggregator> {
        open(self.config(), self.state.path(), self.clock.clone(), self.redactor.clone()).await
    }
}

pub(crate) fn config(url: &str, auth: &Value) -> UpstreamsConfig {
    let file = json!({
        "credentials": {"secret": {"source": "literal", "value": "a-client-secret/of+32-characters"}},
        "upstreams": {"linear": {"transport": "mcp_http", "url": url, "protocol": "handshake", "auth": auth, "allow_insecure_http": true}}
    });
    let env = ProcessEnv::from_iter([("HOME", "/home/u")]);
    UpstreamsConfig::from_value(&file, &LoadOptions { env: &env, base_dir: None, own_exe: None }).unwrap()
}

pub(crate) async fn open(
    config: UpstreamsConfig,
    state: &Path,
    clock: Clock,
    redactor: Redactor,
) -> Arc<Aggregator> {
    let options = AggregatorOptions {
        auth_store: Arc::new(FileStore::new(state, None)),
        clock,
        redactor,
        ..AggregatorOptions::new(SnapshotMode::Frozen)
    };
    Aggregator::start(config, options).await.expect("a missing sign-in ends no start")
}

pub(crate) fn linear(process: &Arc<Aggregator>) -> Arc<dyn Upstream> {
    process.upstreams().next().unwrap().1.clone()
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
        arrivals: None,
        caller: Caller { principal, audience: None },
        may_wrap: true,
    };
    linear(process).call(call).await
}

/// Reason and text of the fault of a call.
pub(crate) async fn fault(process: &Arc<Aggregator>, tool: &str) -> (&'static str, String) {
    let fault = call(process, tool).await.expect_err("the call should have a fault");
    (fault.reason.as_str(), fault.message)
}
