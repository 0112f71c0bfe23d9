//! A REST service as an [`Upstream`].

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::StatusCode;
use http::header::{ACCEPT, HeaderName, HeaderValue, USER_AGENT};
use ptc_oauth::challenge::Bearer;
use serde_json::value::RawValue;
use tokio::runtime::Handle;
use tokio::sync::broadcast;
use url::Url;

use super::compile::Operation;
use super::{Document, compile, decode, too_large};
use crate::config::{OpenApiConfig, SchemaSource, UpstreamConfig};
use crate::sign_in::SignIn;
use crate::upstream::http_refusal::{RetryAfter, explain, explain_redirect};
use crate::upstream::lifecycle::{ConnectionEnd, Lifecycle, StartedConnection, TransportConnection, closed};
use crate::upstream::request_token::RequestToken;
use crate::upstream::slots::Slots;
use crate::upstream::trace_headers::trace_headers;
use crate::upstream::{
    Arrivals, Call, CallFault, CallReply, FaultReason, Health, Introduction, ToolInfo, Upstream,
    UpstreamEvent,
};
use ptc_base::pace::apart;
use ptc_base::time::{self, Instant};
use ptc_secret::credentials::CredentialStore;

/// The HTTP requests of an OpenAPI upstream: one GET, never redirected, never retried.
pub trait HttpGet: Send + Sync + 'static {
    /// Sends the request and collects the answer, of any status.
    fn get<'a>(&'a self, request: GetRequest<'a>) -> BoxFuture<'a, Result<HttpAnswer, GetFault>>;

    /// Lets so many connections to the origin of `url` wait for their next request.
    fn make_room(&self, url: &Url, connections: usize) {
        let _ = (url, connections);
    }

    /// Closes the idle connections to the origin of `url`.
    fn close_idle(&self, url: &Url) {
        let _ = url;
    }
}

/// One GET request.
#[derive(Debug)]
pub struct GetRequest<'a> {
    /// Where to.
    pub url: &'a Url,
    /// All headers but those of the connection; secret values are marked sensitive.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Bound on TCP and TLS.
    pub connect_timeout: Duration,
    /// Bound on the wait for the head of the answer, from the first byte written.
    pub first_byte_timeout: Option<Duration>,
    /// Longest wait for the whole answer, from the first byte written.
    pub timeout: Duration,
    /// The end of everything, connecting included.
    pub deadline: Instant,
    /// Largest body in bytes, counted as it arrives and after any decompression.
    pub max_bytes: usize,
    /// The account of the body's bytes, if there is one.
    pub arrivals: Option<&'a dyn Arrivals>,
}

/// An answer of any status.
#[derive(Clone, Debug)]
pub struct HttpAnswer {
    /// The status.
    pub status: u16,
    /// Its `Retry-After`.
    pub(crate) retry_after: Option<RetryAfter>,
    /// Where a redirect points, which is not followed: it could carry credentials away.
    pub moved_to: Option<String>,
    /// Its challenge, if it has to do with a token.
    pub challenge: Option<Bearer>,
    /// The whole body.
    pub body: Bytes,
}

/// Why there is no answer.
#[derive(Clone, Debug)]
pub enum GetFault {
    /// The body passes the cap; so many bytes had arrived.
    TooLarge {
        /// Bytes of the body that had arrived.
        received: u64,
    },
    /// The network, or time.
    Failed(CallFault),
}

/// A REST service whose document has been compiled into tools.
pub struct OpenApiUpstream<H> {
    name: Arc<str>,
    service: Arc<Service<H>>,
    slots: Slots,
    lifecycle: Arc<Lifecycle<Api>>,
    /// Compiled at construction where the document is a file: a bad one is a fault of the configuration.
    from_file: Option<Arc<Api>>,
}

struct Service<H> {
    entry: Arc<OpenApiConfig>,
    credentials: Arc<CredentialStore>,
    /// Whose tokens requests carry, if they need one.
    sign_in: Option<Arc<SignIn>>,
    http: H,
}

/// The compiled operations by tool name, and their tool objects. Once there it stays.
struct Api {
    operations: HashMap<String, Operation>,
    tools: Arc<[ToolInfo]>,
}

impl TransportConnection for Api {
    fn ended(&self) -> Option<ConnectionEnd> {
        None
    }

    fn abandon(&self) {}
}

impl Api {
    fn compile(document: &Document, entry: &OpenApiConfig) -> Result<Self, CallFault> {
        let operations = compile(document, entry)?;
        let tool = |operation: &Operation| {
            let json = RawValue::from_string(operation.tool.to_string()).map_err(|e| {
                CallFault::unavailable(format!("OpenAPI operation {} makes no tool: {e}", operation.id))
            })?;
            Ok(ToolInfo { name: operation.name.as_str().into(), json })
        };
        let tools = operations.iter().map(tool).collect::<Result<Vec<_>, CallFault>>()?;
        let operations =
            operations.into_iter().map(|operation| (operation.name.clone(), operation)).collect();
        Ok(Self { operations, tools: tools.into() })
    }
}

impl<H: HttpGet> OpenApiUpstream<H> {
    /// An upstream for `entry`. A `schema_file` is read and compiled here; a `schema_url` is fetched by the first
    /// start, on the runtime `owner`.
    ///
    /// # Errors
    /// The document in the file cannot be read or compiled: the configuration is at fault, and `"required": false`
    /// does not forgive it.
    pub fn new(
        config: &UpstreamConfig,
        entry: &OpenApiConfig,
        credentials: Arc<CredentialStore>,
        sign_in: Option<Arc<SignIn>>,
        http: H,
        owner: Handle,
    ) -> Result<Self, CallFault> {
        let from_file = match &entry.schema {
            SchemaSource::File(path) => {
                let document = Document::read(path, entry.schema_max_bytes)?;
                Some(Arc::new(Api::compile(&document, entry)?))
            }
            SchemaSource::Url(_) => None,
        };
        http.make_room(&entry.base_url, config.max_concurrency);
        Ok(Self {
            name: config.name.as_str().into(),
            service: Arc::new(Service { entry: Arc::new(entry.clone()), credentials, sign_in, http }),
            slots: Slots::new(config.max_concurrency),
            lifecycle: Arc::new(Lifecycle::new(owner, config.backoff)),
            from_file,
        })
    }

    async fn api(&self, patience: Option<Duration>) -> Result<Arc<Api>, CallFault> {
        if let Some(api) = self.lifecycle.current() {
            return Ok(api);
        }
        let (service, from_file, lifecycle) =
            (self.service.clone(), self.from_file.clone(), self.lifecycle.clone());
        let start = || async move {
            let api = match from_file {
                Some(api) => api,
                None => tokio::select! {
                    api = service.fetch() => Arc::new(api?),
                    () = lifecycle.closing() => return Err(closed()),
                },
            };
            Ok(StartedConnection {
                tools: api.tools.clone(),
                connection: api,
                protocol_version: Box::default(),
                introduction: Introduction::default(),
            })
        };
        self.lifecycle.connect(patience, start).await
    }

    async fn call_now(&self, call: Call<'_>) -> Result<CallReply, CallFault> {
        let current = || self.lifecycle.current();
        let (api, slot) =
            self.slots.enter(&call.limits, None, "openapi", current, |patience| self.api(patience)).await?;
        let Some(operation) = api.operations.get(call.tool) else {
            return Err(CallFault::upstream_error(format!("unknown tool {}", call.tool)));
        };
        let reply = tokio::select! {
            biased;
            reply = self.service.call(operation, call) => reply,
            () = self.lifecycle.closing() => Err(closed()),
        };
        slot.note(&reply);
        reply
    }
}

impl<H: HttpGet> Service<H> {
    fn request<'a>(&self, url: &'a Url, max_bytes: usize) -> Result<GetRequest<'a>, CallFault> {
        let mut headers = vec![
            (ACCEPT, HeaderValue::from_static("application/json")),
            (USER_AGENT, HeaderValue::from_static(concat!("ptc-runner-mcp/", env!("CARGO_PKG_VERSION")))),
        ];
        let auth = self.entry.auth.headers(&self.credentials);
        headers.extend(auth.map_err(|e| CallFault::new(FaultReason::AuthFailed, e.to_string()))?);
        let timeout = self.entry.request_timeout;
        Ok(GetRequest {
            url,
            headers,
            connect_timeout: self.entry.connect_timeout,
            first_byte_timeout: self.entry.first_byte_timeout,
            timeout,
            deadline: time::now() + self.entry.connect_timeout.saturating_add(timeout),
            max_bytes,
            arrivals: None,
        })
    }

    /// Sends a request, with the token of the sign-in if there is one and the request goes to the origin of `base_url`.
    async fn get(&self, request: GetRequest<'_>, tool: Option<&str>) -> Result<HttpAnswer, GetFault> {
        let is_own = request.url.origin() == self.entry.base_url.origin();
        match self.sign_in.as_ref().filter(|_| is_own) {
            Some(sign_in) => Box::pin(self.get_signed(sign_in, request, tool)).await,
            None => self.http.get(request).await,
        }
    }

    async fn get_signed(
        &self,
        sign_in: &Arc<SignIn>,
        request: GetRequest<'_>,
        tool: Option<&str>,
    ) -> Result<HttpAnswer, GetFault> {
        let mut signed = RequestToken::begin(sign_in, request.deadline).await.map_err(GetFault::Failed)?;
        loop {
            let mut headers = request.headers.clone();
            headers.push(signed.header());
            let answer = self.http.get(GetRequest { headers, ..request }).await?;
            let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            let again = signed.again(status, answer.challenge.as_ref(), tool).await;
            if !again.map_err(GetFault::Failed)? {
                return Ok(answer);
            }
        }
    }

    /// Fetches and compiles the document of a `schema_url`.
    async fn fetch(&self) -> Result<Api, CallFault> {
        let SchemaSource::Url(url) = &self.entry.schema else {
            return Err(CallFault::unavailable("the OpenAPI document is a file that was not read"));
        };
        let cap = self.entry.schema_max_bytes;
        let request = self.request(url, cap).map_err(|fault| {
            let bindings: Vec<&str> = self.entry.auth.emitters.iter().map(|e| e.binding.as_str()).collect();
            CallFault::unavailable(format!("schema auth resolution_failed: {}", bindings.join(", ")))
                .with_hint(&fault.message)
        })?;
        let answer = self.get(request, None).await.map_err(|fault| match fault {
            GetFault::TooLarge { received } => Document::too_large(cap).with_bytes(received),
            GetFault::Failed(fault) => fault,
        })?;
        let (entry, moved) = (self.entry.clone(), answer.moved_to.clone());
        let compiled = apart(answer.body.len(), move || {
            Api::compile(&Document::fetched(answer.status, &answer.body)?, &entry)
        });
        let remedy = |place: &str| format!("if the document is there, write \"schema_url\": \"{place}\"");
        compiled.await.map_err(|fault| explain_moved(fault, url, moved.as_deref(), remedy))
    }

    async fn call(&self, operation: &Operation, call: Call<'_>) -> Result<CallReply, CallFault> {
        let url = operation.url(&self.entry.base_url, call.arguments)?;
        let cap = call.limits.max_bytes.min(self.entry.max_response_bytes);
        let mut request = self.request(&url, cap)?;
        request.timeout = request.timeout.min(call.limits.timeout);
        request.deadline = call.limits.deadline;
        request.arrivals = call.arrivals;
        request.headers.extend(trace_headers(call.caller.trace));
        match self.get(request, Some(call.tool)).await {
            Ok(answer) => decode(answer.status, answer.body).map_err(|fault| {
                let fault = explain(fault, &url, &self.entry.auth, answer.retry_after.as_ref());
                let remedy = |_: &str| "if the service has moved there, change its base_url".to_owned();
                explain_moved(fault, &url, answer.moved_to.as_deref(), remedy)
            }),
            Err(GetFault::TooLarge { received }) => Err(too_large(cap).with_bytes(received)),
            Err(GetFault::Failed(fault)) => Err(fault),
        }
    }
}

/// The fault of a redirect, with where it points.
fn explain_moved(
    fault: CallFault,
    url: &Url,
    moved: Option<&str>,
    remedy: impl FnOnce(&str) -> String,
) -> CallFault {
    match moved {
        Some(place) => {
            explain_redirect(fault, url, place, remedy, "Redirects of a REST service are not followed.")
        }
        None => fault,
    }
}

impl<H: HttpGet> Upstream for OpenApiUpstream<H> {
    fn name(&self) -> &str {
        &self.name
    }

    fn transport(&self) -> &'static str {
        "openapi"
    }

    fn ensure_started(&self) -> BoxFuture<'_, Result<(), CallFault>> {
        self.api(None).map(|api| api.map(drop)).boxed()
    }

    fn list_tools(&self) -> BoxFuture<'_, Result<Arc<[ToolInfo]>, CallFault>> {
        self.api(None).map(|api| api.map(|api| api.tools.clone())).boxed()
    }

    /// The list never changes while the process lives.
    fn refresh_tools(&self) -> BoxFuture<'_, Result<Arc<[ToolInfo]>, CallFault>> {
        self.list_tools()
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<CallReply, CallFault>> {
        self.call_now(call).boxed()
    }

    fn health(&self) -> Health {
        Health { protocol_version: None, ..self.slots.health(self.lifecycle.health()) }
    }

    fn events(&self) -> broadcast::Receiver<UpstreamEvent> {
        self.lifecycle.events()
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        async {
            self.slots.close();
            self.lifecycle.close().await;
            let Service { entry, http, .. } = &*self.service;
            http.close_idle(&entry.base_url);
            if let SchemaSource::Url(url) = &entry.schema {
                http.close_idle(url);
            }
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use ptc_mcp::json::{Value, json};

    use super::*;
    use crate::config::{LoadOptions, ProcessEnv, Transport, UpstreamsConfig};
    use crate::upstream::Caller;
    use crate::upstream::{CallLimits, Payload, Phase, ResendMembers};
    use ptc_base::sync::Mutex;

    /// Answers each URL from a list and records the requests.
    #[derive(Clone, Default)]
    struct Fake(Arc<Mutex<FakeState>>);

    #[derive(Default)]
    struct FakeState {
        answers: Vec<(&'static str, u16, String)>,
        asked: Vec<String>,
    }

    impl Fake {
        fn answering(answers: &[(&'static str, u16, &str)]) -> Self {
            let fake = Self::default();
            fake.0.lock().answers = answers.iter().map(|(u, s, b)| (*u, *s, (*b).to_owned())).collect();
            fake
        }

        fn asked(&self) -> Vec<String> {
            std::mem::take(&mut self.0.lock().asked)
        }
    }

    impl HttpGet for Fake {
        fn get<'a>(&'a self, request: GetRequest<'a>) -> BoxFuture<'a, Result<HttpAnswer, GetFault>> {
            let mut state = self.0.lock();
            let headers: Vec<String> = request
                .headers
                .iter()
                .filter(|(n, _)| n != USER_AGENT)
                .map(|(n, v)| format!("{n}: {}", v.to_str().unwrap()))
                .collect();
            state.asked.push(format!("{} [{}]", request.url, headers.join(", ")));
            let answer = state.answers.iter().find(|(url, ..)| *url == request.url.as_str());
            let result = match answer {
                None => Err(GetFault::Failed(CallFault::unavailable("connection refused"))),
                Some((_, _, body)) if body.len() > request.max_bytes => {
                    Err(GetFault::TooLarge { received: request.max_bytes as u64 + 1 })
                }
                Some((_, status, body)) => Ok(HttpAnswer {
                    status: *status,
                    retry_after: None,
                    moved_to: None,
                    challenge: None,
                    body: body.clone().into(),
                }),
            };
            std::future::ready(result).boxed()
        }
    }

    const DOCUMENT: &str = r#"{"openapi": "3.1.0", "paths": {"/things/{id}": {"get": {"operationId": "getThing",
        "parameters": [{"name": "id", "in": "path"}], "responses": {"200": {"content": {"application/json": {}}}}}}}}"#;

    fn upstream(keys: Value, http: Fake) -> Result<OpenApiUpstream<Fake>, CallFault> {
        let mut entry = json!({"transport": "openapi", "base_url": "https://h.example/v1", "include_operations": ["getThing"],
            "auth": [{"scheme": "bearer", "binding": "tok"}], "static_headers": {"X-Tenant": "t"}});
        for (key, value) in keys.as_object().unwrap() {
            entry[key] = value.clone();
        }
        let file = json!({"credentials": {"tok": {"source": "literal", "value": "sekrit-sekrit"}}, "upstreams": {"api": entry}});
        let options = LoadOptions { env: &ProcessEnv::default(), base_dir: None, own_exe: None };
        let config = UpstreamsConfig::from_value(&file, &options).unwrap();
        let Transport::OpenApi(entry) = &config.upstreams[0].transport else { panic!("openapi") };
        let credentials = Arc::new(config.credentials.clone());
        OpenApiUpstream::new(&config.upstreams[0], entry, credentials, None, http, Handle::current())
    }

    async fn call(
        upstream: &OpenApiUpstream<Fake>,
        arguments: &str,
        max_bytes: usize,
    ) -> Result<CallReply, CallFault> {
        let limits = CallLimits::within(Duration::from_secs(5), max_bytes);
        let arguments = arguments.as_bytes();
        upstream
            .call(Call {
                tool: "getThing",
                arguments,
                again: ResendMembers::default(),
                limits,
                arrivals: None,
                caller: Caller::default(),
                may_wrap: true,
                judged_by: None,
            })
            .await
    }

    #[tokio::test]
    async fn a_fetched_document_and_its_calls_carry_the_same_headers() {
        let http = Fake::answering(&[
            ("https://h.example/openapi.json", 200, DOCUMENT),
            ("https://h.example/v1/things/a%2Fb", 200, r#"{"n": 1}"#),
            ("https://h.example/v1/things/gone", 404, "no such thing"),
        ]);
        let api = upstream(json!({"schema_url": "https://h.example/openapi.json"}), http.clone()).unwrap();
        assert_eq!(api.health().phase, Phase::Stopped);
        let tools = api.list_tools().await.unwrap();
        assert_eq!(tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>(), ["getThing"]);
        assert!(tools[0].json.get().contains(r#""operationId":"getThing""#));
        let headers = "[accept: application/json, x-tenant: t, authorization: Bearer sekrit-sekrit]";
        assert_eq!(http.asked(), [format!("https://h.example/openapi.json {headers}")]);

        let reply = call(&api, r#"{"id":"a/b"}"#, 100).await.unwrap();
        assert_eq!(
            (reply.payload, reply.result_bytes),
            (Payload::Json(Bytes::from_static(br#"{"n": 1}"#)), 7)
        );
        assert_eq!(http.asked(), [format!("https://h.example/v1/things/a%2Fb {headers}")]);
        let fault = call(&api, r#"{"id":"gone"}"#, 100).await.unwrap_err();
        assert_eq!((fault.reason, fault.message.as_str()), (FaultReason::ToolError, "no such thing"));
        let fault = call(&api, r#"{"id":"a/b"}"#, 3).await.unwrap_err();
        assert_eq!(fault.message, "response exceeded 3 bytes");
        let fault = call(&api, r#"{"id":"down"}"#, 100).await.unwrap_err();
        assert_eq!(fault.message, "connection refused");
        let health = api.health();
        assert_eq!(
            (health.phase, health.tools, health.in_flight, health.protocol_version),
            (Phase::Started, 1, 0, None)
        );
    }

    #[tokio::test]
    async fn a_failed_fetch_is_tried_again() {
        let http = Fake::default();
        let api = upstream(json!({"schema_url": "https://h.example/s"}), http.clone()).unwrap();
        assert_eq!(api.ensure_started().await.unwrap_err().message, "connection refused");
        http.0.lock().answers = vec![("https://h.example/s", 302, String::new())];
        assert_eq!(api.ensure_started().await.unwrap_err().message, "schema_url returned http 302");
        http.0.lock().answers = vec![("https://h.example/s", 200, DOCUMENT.to_owned())];
        api.ensure_started().await.unwrap();
        let small =
            upstream(json!({"schema_url": "https://h.example/s", "schema_max_bytes": 10}), http).unwrap();
        assert_eq!(
            small.ensure_started().await.unwrap_err().to_string(),
            "response_too_large: schema response exceeded 10 bytes"
        );
    }

    #[tokio::test]
    async fn a_file_is_compiled_before_anything_starts() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), DOCUMENT).unwrap();
        let http = Fake::answering(&[("https://h.example/v1/things/1", 204, "")]);
        let api = upstream(json!({"schema_file": file.path()}), http.clone()).unwrap();
        assert_eq!(call(&api, r#"{"id":1}"#, 100).await.unwrap().payload, Payload::JsonNull);
        assert_eq!(http.asked().len(), 1, "nothing but the call itself");
        let fault = upstream(json!({"schema_file": file.path(), "include_operations": ["nope"]}), http)
            .err()
            .unwrap();
        assert_eq!(fault.message, "OpenAPI include_operations not found: nope");
    }

    #[tokio::test]
    async fn after_shutdown_calls_fail_at_once() {
        let http = Fake::answering(&[("https://h.example/s", 200, DOCUMENT)]);
        let api = upstream(json!({"schema_url": "https://h.example/s"}), http).unwrap();
        api.ensure_started().await.unwrap();
        api.shutdown().await;
        let fault = call(&api, r#"{"id":1}"#, 100).await.unwrap_err();
        assert_eq!(fault.reason, FaultReason::UpstreamUnavailable);
        assert_eq!(api.health().phase, Phase::Closed);
    }
}
