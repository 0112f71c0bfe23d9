//! The client of the official conformance suite in its authorization scenarios (auth.md 18.1): one upstream at the given URL
//! with a state folder of its own. It lists the tools and calls `test-tool`; where that wants a sign-in, it signs in and repeats.
//! The suite's authorization servers consent by themselves, and with `PTC_OAUTH_BROWSER=http` this program is the browser.
//! Usage: `ptc-conformance-client URL`; exit status 1 with a text if it is not let in.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method};
use ptc_host::aggregator::{Aggregator, AggregatorLimits, AggregatorOptions, SnapshotMode};
use ptc_host::config::{LoadOptions, ProcessEnv, UpstreamsConfig};
use ptc_host::http::{Client, Limits, Request, Target};
use ptc_host::sign_in::PROCESS;
use ptc_host::sign_in::callback::Callback;
use ptc_host::sign_in::store::FileStore;
use ptc_host::upstream::{Call, CallFault, CallLimits, Caller, FaultReason, ResendMembers};
use ptc_mcp::json::{Value, json};
use tokio::time::Instant;
use url::Url;

/// A client that is asked to sign in again and again gives up: the product does so before.
const MOST_SIGN_INS: usize = 6;
const REDIRECT: &str = "http://127.0.0.1:33418/callback";

fn main() -> ExitCode {
    let Some(url) = std::env::args().nth(1) else {
        eprintln!("usage: ptc-conformance-client URL");
        return ExitCode::from(2);
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    match runtime.map_err(|error| error.to_string()).and_then(|runtime| runtime.block_on(play(&url))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// What the suite tells about the scenario.
struct Scenario {
    name: String,
    modern: bool,
    context: Value,
}

impl Scenario {
    fn of_environment() -> Result<Scenario, String> {
        let text = |name| std::env::var(name).unwrap_or_default();
        let context = match text("MCP_CONFORMANCE_CONTEXT") {
            empty if empty.is_empty() => json!({}),
            context => {
                serde_json::from_str(&context).map_err(|error| format!("MCP_CONFORMANCE_CONTEXT: {error}"))?
            }
        };
        Ok(Scenario {
            name: text("MCP_CONFORMANCE_SCENARIO"),
            modern: text("MCP_CONFORMANCE_PROTOCOL_VERSION").as_str() >= "2026",
            context,
        })
    }

    /// The upstreams file for a server at `url`. Files that it names are written into `folder`.
    fn config(&self, url: &str, folder: &Path) -> Result<Value, String> {
        let given = |name: &str| self.context[name].as_str().unwrap_or_default();
        let literal = |name: &str| json!({"source": "literal", "value": given(name), "allow_short": true});
        let mut credentials = json!({});
        let mut auth = json!({"type": "oauth"});
        match self.name.trim_start_matches("auth/") {
            "basic-cimd" => {
                auth["client"] =
                    json!({"metadata_url": "https://conformance-test.local/client-metadata.json"});
            }
            "client-credentials-jwt" => {
                let key = folder.join("key.pem");
                std::fs::write(&key, given("private_key_pem")).map_err(|error| error.to_string())?;
                auth["client"] = json!({"id": given("client_id"), "key_file": key.to_string_lossy()});
                auth["grant"] = "client_credentials".into();
            }
            "enterprise-managed-authorization" => {
                credentials["secret"] = literal("client_secret");
                credentials["person"] = literal("idp_id_token");
                auth["client"] = json!({"id": given("client_id"), "secret": "secret"});
                auth["grant"] = "id_jag".into();
                auth["idp"] = json!({
                    "token_endpoint": given("idp_token_endpoint"), "client": {"id": given("idp_client_id")},
                    "subject_token": "person", "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
                });
            }
            _ if self.context["client_secret"].is_string() => {
                credentials["secret"] = literal("client_secret");
                auth["client"] = json!({"id": given("client_id"), "secret": "secret"});
                if self.name.ends_with("client-credentials-basic") {
                    auth["grant"] = "client_credentials".into();
                }
            }
            _ => {}
        }
        let protocol = if self.modern { "modern" } else { "handshake" };
        let upstream = json!({"transport": "mcp_http", "url": url, "protocol": protocol, "allow_insecure_http": true, "auth": auth});
        Ok(json!({"credentials": credentials, "upstreams": {"s": upstream}}))
    }
}

/// Calls the tool, and signs in as often as that is asked for.
async fn play(url: &str) -> Result<(), String> {
    let scenario = Scenario::of_environment()?;
    let folder = Folder::make()?;
    let config = scenario.config(url, &folder.0)?;
    let env = ProcessEnv::default();
    let options = LoadOptions { env: &env, base_dir: None, own_exe: None };
    let config = UpstreamsConfig::from_value(&config, &options).map_err(|error| error.to_string())?;
    let options = AggregatorOptions {
        auth_store: Arc::new(FileStore::new(&folder.0.join("state"), None)),
        ..AggregatorOptions::new(SnapshotMode::Live)
    };
    let aggregator = Aggregator::start(config, options).await.map_err(|error| error.to_string())?;
    let mut sign_ins = 0;
    let outcome = loop {
        match call(&aggregator).await {
            Ok(()) => break Ok(()),
            Err(fault)
                if fault.reason == FaultReason::AuthRequired && !fault.message.ends_with("giving up") =>
            {
                sign_ins += 1;
                if sign_ins > MOST_SIGN_INS {
                    break Err(format!("still refused after {MOST_SIGN_INS} sign-ins: {fault}"));
                }
                if let Err(why) = sign_in(&aggregator).await {
                    break Err(why);
                }
                // Calls look into the store once a second (auth.md 12.2).
                tokio::time::sleep(Duration::from_millis(1100)).await;
            }
            Err(fault) => break Err(fault.to_string()),
        }
    };
    aggregator.shutdown().await;
    outcome
}

/// Lists the tools and calls `test-tool`.
async fn call(aggregator: &Arc<Aggregator>) -> Result<(), CallFault> {
    aggregator.load("s").await?;
    let (_, upstream) = aggregator.unfiltered().upstreams().next().expect("there is one");
    let limits = AggregatorLimits::default();
    let deadline = Instant::now() + limits.call_timeout;
    let limits = CallLimits { deadline, ..limits.per_call() };
    let (tool, caller) = ("test-tool", Caller::default());
    upstream
        .call(Call {
            tool,
            arguments: b"{}",
            limits,
            again: ResendMembers::default(),
            arrivals: None,
            caller,
            may_wrap: false,
            judged_by: None,
        })
        .await?;
    Ok(())
}

/// Goes to the authorization server, which consents, and back.
async fn sign_in(aggregator: &Arc<Aggregator>) -> Result<(), String> {
    let site = aggregator.unfiltered().sites().next().ok_or("the upstream is not signed in to")?;
    let begun = site.begin(PROCESS, REDIRECT).await.map_err(|error| error.to_string())?;
    if std::env::var("PTC_OAUTH_BROWSER").as_deref() != Ok("http") {
        return Err("a person must sign in".to_owned());
    }
    let query = visit(begun.url.expose()).await?;
    let callback =
        Callback::read("GET", &format!("/callback?{query}"), "/callback").map_err(|bad| bad.to_string())?;
    match site.complete(callback).await {
        Ok(Some(_)) => Ok(()),
        Ok(None) => Err("the answer belongs to no sign-in".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// The browser: follows redirects until the one that leads back; gives its query.
async fn visit(link: &str) -> Result<String, String> {
    let client = Client::new();
    let mut url = Url::parse(link).map_err(|error| error.to_string())?;
    for _ in 0..10 {
        if let Some(query) = url.as_str().strip_prefix(REDIRECT).and_then(|rest| rest.strip_prefix('?')) {
            return Ok(query.to_owned());
        }
        let total = Duration::from_secs(10);
        let limits = Limits {
            connect: total,
            first_byte: None,
            total,
            deadline: Instant::now() + total,
            max_bytes: 1 << 20,
            allowance: 0,
        };
        let target = Target::new(&url).map_err(|error| error.to_string())?;
        let request = Request { method: Method::GET, target, headers: HeaderMap::new(), body: Bytes::new() };
        let answer = client.send(request, &limits).await.map_err(|error| format!("{url}: {error}"))?;
        let location = answer.headers.get("location").and_then(|value| value.to_str().ok());
        let Some(location) = location else {
            return Err(format!("{url}: {} and no redirect", answer.status));
        };
        url = url.join(location).map_err(|error| error.to_string())?;
    }
    Err("the redirects do not end".to_owned())
}

/// A folder of this run alone; gone with it.
struct Folder(PathBuf);

impl Folder {
    fn make() -> Result<Folder, String> {
        let path = std::env::temp_dir().join(format!("ptc-conformance-{}", std::process::id()));
        std::fs::create_dir(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is left to whoever cleans the machine's folder.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
