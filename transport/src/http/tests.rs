//! The listener over real sockets, with a tool whose behaviour the tests choose.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use hyper_util::rt::{TokioExecutor, TokioIo};
use ptc_host::credentials::Secret;
use ptc_host::engine::{Engine, EngineOptions, MemoryBudget};
use ptc_mcp::json::{Value, json};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::endpoint::Endpoint;
use super::{BoundListener, HttpServer, Listening};
use ptc_host::issuers::{TokenRefusal, TokenVerifier, Verification, VerifiedToken};
use ptc_protocol::SessionNeed;
use ptc_protocol::settings::{Http, InboundOAuth, NamedToken, PublicUrl, RateLimit};
use ptc_protocol::testing::{Strings, mock_service};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

fn settings() -> Http {
    Http {
        host: [127, 0, 0, 1].into(),
        port: 0,
        path: "/mcp".into(),
        tokens: vec![],
        oauth: None,
        auth_disabled: true,
        allowed_origins: vec![],
        tls: None,
        request_timeout: Duration::from_secs(60),
        idle_timeout: Duration::from_secs(60),
        shutdown_grace: Duration::from_secs(30),
        max_body_bytes: 4096,
        max_buffered_bytes: 1 << 20,
        max_buffered_bytes_per_owner: 1 << 20,
        max_connections: 100,
        max_connections_per_owner: 100,
        session_ttl: Duration::from_secs(1000),
        session_idle: Duration::from_secs(1000),
        max_sessions: 3,
        max_sessions_per_owner: 2,
        max_listeners: 1024,
        max_listeners_per_owner: 1024,
        max_in_flight: 2,
        rate_limit: None,
        metrics: false,
        metrics_path: "/metrics".into(),
        metrics_owners: false,
        instance: "here".into(),
        console: false,
        public_url: None,
    }
}

struct Server {
    address: SocketAddr,
    endpoint: Arc<Endpoint>,
    strings: Strings,
    stop: Arc<Notify>,
    running: JoinHandle<()>,
}

impl Server {
    fn start(settings: &Http, max_concurrent_calls: usize) -> Server {
        Server::needing(SessionNeed::State, settings, max_concurrent_calls)
    }

    fn needing(need: SessionNeed, settings: &Http, max_concurrent_calls: usize) -> Server {
        Server::verifying(None, need, settings, max_concurrent_calls)
    }

    fn verifying(
        verifier: Option<Arc<dyn TokenVerifier>>,
        need: SessionNeed,
        settings: &Http,
        max_concurrent_calls: usize,
    ) -> Server {
        let (mut service, strings) = mock_service(max_concurrent_calls);
        service.session_need = need;
        let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap();
        let listening = Listening {
            call_budget: Duration::from_secs(30),
            memory: MemoryBudget::new(1 << 30),
            telemetry: Arc::default(),
            upstreams: None,
            verifier,
            login: None,
        };
        let server = HttpServer::new(
            settings,
            BoundListener::open(settings).unwrap(),
            listening,
            Arc::new(service),
            engine,
        );
        let address = server.address().unwrap();
        let endpoint = server.endpoint.clone();
        let stop = Arc::new(Notify::new());
        let stopped = stop.clone();
        let running = tokio::spawn(async move {
            server.run(|| stopped.notified()).await.unwrap();
        });
        Server { address, endpoint, strings, stop, running }
    }

    async fn connect(&self) -> Client {
        Client {
            stream: BufReader::new(TcpStream::connect(self.address).await.unwrap()),
            host: self.address.to_string(),
        }
    }

    async fn initialize(&self) -> (Client, String) {
        let mut client = self.connect().await;
        let reply = client.post(&[], initialize("2025-06-18")).await;
        assert_eq!(reply.status, 200);
        let session = reply.header("mcp-session-id").unwrap().to_owned();
        (client, session)
    }
}

struct Client {
    stream: BufReader<TcpStream>,
    host: String,
}

#[derive(Debug)]
struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

impl Reply {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{self:?}"))
    }

    fn code(&self) -> Value {
        self.json()["error"]["code"].clone()
    }
}

impl Client {
    async fn send(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) {
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        let has = |name: &str| headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
        if !has("host") {
            head.push_str(&format!("Host: {}\r\n", self.host));
        }
        if !body.is_empty() {
            if !has("content-type") {
                head.push_str("Content-Type: application/json\r\n");
            }
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let message = head + "\r\n" + body;
        self.stream.get_mut().write_all(message.as_bytes()).await.unwrap();
    }

    async fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).await.unwrap();
        line.trim_end().to_owned()
    }

    async fn head(&mut self) -> Reply {
        let status = self.line().await.split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = Vec::new();
        loop {
            let line = self.line().await;
            let Some((name, value)) = line.split_once(": ") else { break };
            headers.push((name.to_owned(), value.to_owned()));
        }
        Reply { status, headers, body: String::new() }
    }

    /// The next event of a stream.
    async fn event(&mut self) -> Value {
        loop {
            if let Some(data) = self.line().await.strip_prefix("data: ") {
                return serde_json::from_str(data).unwrap();
            }
        }
    }

    async fn receive(&mut self) -> Reply {
        let mut reply = self.head().await;
        let length = reply.header("content-length").map_or(0, |text| text.parse().unwrap());
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).await.unwrap();
        reply.body = String::from_utf8(body).unwrap();
        reply
    }

    async fn ask(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        self.send(method, path, headers, body).await;
        self.receive().await
    }

    async fn post(&mut self, headers: &[(&str, &str)], body: impl ToString) -> Reply {
        self.ask("POST", "/mcp", headers, &body.to_string()).await
    }

    /// Sends a modern request with the headers it needs.
    async fn modern(&mut self, id: u64, method: &str, params: Value) -> Reply {
        let name = params["name"].as_str().unwrap_or_default().to_owned();
        let body = modern(id, method, params).to_string();
        let mut headers = vec![("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)];
        if method == "tools/call" {
            headers.push(("Mcp-Name", &name));
        }
        self.ask("POST", "/mcp", &headers, &body).await
    }
}

fn initialize(revision: &str) -> Value {
    json!({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":revision}})
}

fn request(id: u64, method: &str) -> Value {
    json!({"jsonrpc":"2.0","id":id,"method":method})
}

fn call(id: impl Into<Value>, arguments: Value) -> Value {
    json!({"jsonrpc":"2.0","id":id.into(),"method":"tools/call","params":{"name":"mock_tool","arguments":arguments}})
}

fn modern(id: u64, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion":"2026-07-28",
                             "io.modelcontextprotocol/clientCapabilities":{}});
    json!({"jsonrpc":"2.0","id":id,"method":method,"params":params})
}

#[tokio::test]
async fn routes_and_fixed_headers() {
    let server = Server::start(&settings(), 4);
    let mut client = server.connect().await;
    let health =
        client.ask("GET", "/health", &[("Host", "evil.example.com"), ("X-Request-Id", "mine")], "").await;
    assert_eq!((health.status, health.body.as_str()), (200, r#"{"status":"ok"}"#));
    assert_eq!(health.header("content-type"), Some("application/json; charset=utf-8"));
    assert_eq!(health.header("x-request-id"), Some("mine"));
    assert_eq!(health.header("cache-control"), Some("max-age=0, private, must-revalidate"));
    let ready = client.ask("GET", "/ready", &[], "").await;
    assert_eq!(ready.json(), json!({"instance":"here","status":"ready"}));
    assert_eq!(ready.header("x-request-id").map(str::len), Some(16));
    for (method, path) in [
        ("POST", "/health"),
        ("GET", "/"),
        ("GET", "/metrics"),
        ("GET", "/sse"),
        ("POST", "/"),
        ("PUT", "/ready"),
    ] {
        let reply = client.ask(method, path, &[], "").await;
        let told = (404, "not found; MCP is at /mcp");
        assert_eq!((reply.status, reply.body.as_str()), told, "{method} {path}");
    }
    let reply = client.ask("POST", "/mcp/", &[], &initialize("2025-06-18").to_string()).await;
    assert_eq!((reply.status, reply.header("cache-control")), (200, Some("no-store")));
    for method in ["GET", "PUT", "OPTIONS"] {
        let reply = client.ask(method, "/mcp", &[], "").await;
        assert_eq!(
            (reply.status, reply.body.as_str(), reply.header("allow")),
            (405, "", Some("POST, DELETE"))
        );
        assert_eq!(reply.header("cache-control"), Some("no-store"));
    }
    for method in ["GET", "DELETE"] {
        let reply = client.ask(method, "/mcp", &[("MCP-Protocol-Version", "2026-07-28")], "").await;
        assert_eq!((reply.status, reply.header("allow")), (405, Some("POST")));
    }
}

#[tokio::test]
async fn host_and_origin_come_first() {
    let server = Server::start(&Http { tokens: vec![], ..settings() }, 4);
    let mut client = server.connect().await;
    for headers in [
        &[("Host", "evil.example.com")][..],
        &[("Host", "127.0.0.1.evil.com:80")],
        &[("Origin", "http://evil.example.com")],
        &[("Origin", "null")],
        &[("Origin", "http://localhost:5173"), ("Origin", "http://evil.example.com")],
        &[("Origin", "http://localhost:5173"), ("Origin", "http://localhost:5173")],
    ] {
        let reply = client.ask("GET", "/mcp", headers, "").await;
        assert_eq!((reply.status, reply.body.as_str()), (403, "forbidden"), "{headers:?}");
        assert_eq!(reply.header("content-type"), Some("text/plain; charset=utf-8"));
    }
    let reply = client.post(&[("Origin", "http://localhost:5173")], initialize("2025-06-18")).await;
    assert_eq!(reply.status, 200);
}

#[tokio::test]
async fn tokens_and_the_limiter() {
    let rate_limit =
        RateLimit { window: Duration::from_secs(60), max_failures: 2, block: Duration::from_secs(60) };
    let named = |name: &str, token: &str| NamedToken {
        name: name.into(),
        token: Secret::new(token),
        is_operator: false,
    };
    let tokens = vec![named("a", TOKEN), named("b", &TOKEN.replace('0', "x"))];
    let server =
        Server::start(&Http { tokens, auth_disabled: false, rate_limit: Some(rate_limit), ..settings() }, 4);
    let mut client = server.connect().await;
    let good = format!("Bearer {TOKEN}");
    let missing = client.post(&[], initialize("2025-06-18")).await;
    assert_eq!((missing.status, missing.header("www-authenticate")), (401, Some("Bearer")));
    let wrong = client.post(&[("Authorization", "Bearer nope")], initialize("2025-06-18")).await;
    assert_eq!(
        (wrong.status, wrong.header("www-authenticate")),
        (401, Some("Bearer error=\"invalid_token\""))
    );
    let blocked = client.ask("GET", "/mcp", &[("Authorization", "Bearer nope")], "").await;
    assert_eq!((blocked.status, blocked.header("www-authenticate")), (429, None));
    assert!(blocked.header("retry-after").unwrap().parse::<u64>().unwrap() > 50);
    // A valid token passes nevertheless.
    let reply = client.post(&[("Authorization", &good)], initialize("2025-06-18")).await;
    assert_eq!(reply.status, 200);
    // A session belongs to the token that opened it.
    let session = reply.header("mcp-session-id").unwrap().to_owned();
    let other = format!("Bearer {}", TOKEN.replace('0', "x"));
    let foreign =
        client.post(&[("Authorization", &other), ("MCP-Session-Id", &session)], request(2, "ping")).await;
    assert_eq!((foreign.status, &foreign.json()["error"]["code"]), (404, &json!(-32000)));
    let own =
        client.post(&[("Authorization", &good), ("MCP-Session-Id", &session)], request(2, "ping")).await;
    assert_eq!(own.json()["result"], json!({}));
    assert_eq!(client.ask("GET", "/health", &[], "").await.status, 200);
}

/// Knows tokens by what they are called.
#[derive(Debug)]
struct NamedVerdicts;

impl TokenVerifier for NamedVerdicts {
    fn verify<'a>(&'a self, token: &'a str) -> Verification<'a> {
        let good = |scopes: &[&str]| {
            Ok(VerifiedToken {
                issuer: "https://i.example".into(),
                subject: "ann".into(),
                scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
                claims: vec![],
                life: Duration::from_secs(60),
            })
        };
        let invalid = |description| Err(TokenRefusal::Invalid { description });
        let verdict = match token {
            "good" => good(&["mcp:read", "mcp:write", "more"]),
            "narrow" => good(&["mcp:read"]),
            "expired" => Err(TokenRefusal::Expired),
            "elsewhere" => invalid("the token is for another audience"),
            "foreign" => invalid("the token is from another issuer"),
            "away" => Err(TokenRefusal::Unavailable),
            _ => invalid("the token cannot be verified"),
        };
        Box::pin(std::future::ready(verdict))
    }

    fn is_asked_about(&self, _: &str) -> bool {
        false
    }
}

fn with_oauth(tokens: Vec<NamedToken>, rate_limit: Option<RateLimit>) -> Http {
    Http {
        tokens,
        auth_disabled: false,
        oauth: Some(InboundOAuth {
            issuers: vec!["https://i.example".into()],
            audiences: vec!["https://ptc.example/a/mcp".into()],
            required_scopes: vec!["mcp:read".into(), "mcp:write".into(), "offline_access".into()],
            any_type: false,
            introspection_client: None,
            login_client: None,
        }),
        public_url: PublicUrl::parse("https://ptc.example/a/mcp"),
        rate_limit,
        console: true,
        metrics: true,
        ..settings()
    }
}

/// The table of auth.md 13.3.
#[tokio::test]
async fn requests_without_a_good_access_token_have_the_answers_of_the_specification() {
    let rate_limit =
        RateLimit { window: Duration::from_secs(60), max_failures: 4, block: Duration::from_secs(60) };
    let fixed = NamedToken { name: "ci".into(), token: Secret::new(TOKEN), is_operator: false };
    let mut settings = with_oauth(vec![fixed], Some(rate_limit));
    settings.oauth.as_mut().unwrap().required_scopes.pop();
    let server = Server::verifying(Some(Arc::new(NamedVerdicts)), SessionNeed::State, &settings, 4);
    let mut client = server.connect().await;
    let metadata = r#"resource_metadata="https://ptc.example/.well-known/oauth-protected-resource/a/mcp""#;
    let scope = r#"scope="mcp:read mcp:write""#;
    let invalid = |description: &str| {
        format!(r#"Bearer error="invalid_token", error_description="{description}", {metadata}, {scope}"#)
    };
    let malformed = format!(r#"Bearer error="invalid_request", {metadata}"#);
    let narrow = format!(r#"Bearer error="insufficient_scope", {scope}, {metadata}"#);
    let long = format!("Bearer {}", "x".repeat(16 << 10));
    let authorization = |value: &'static str| vec![("Authorization", value)];
    // Those that are no guesses, as often as one likes.
    for _ in 0..3 {
        for (headers, status, challenge) in [
            (vec![], 401, Some(format!("Bearer {metadata}, {scope}"))),
            (authorization("Bearer expired"), 401, Some(invalid("the token has expired"))),
            (authorization("Bearer narrow"), 403, Some(narrow.clone())),
            (authorization("Bearer away"), 503, None),
        ] {
            let reply = client.post(&headers, initialize("2025-06-18")).await;
            assert_eq!(
                (reply.status, reply.header("www-authenticate")),
                (status, challenge.as_deref()),
                "{headers:?}"
            );
            let after = (status == 503).then_some("5");
            assert_eq!(reply.header("retry-after"), after, "{headers:?}");
        }
    }
    let good = async |client: &mut Client, path: &str| {
        let headers = [("Authorization", "Bearer good")];
        client.ask("POST", path, &headers, &initialize("2025-06-18").to_string()).await.status
    };
    let rows = vec![
        (authorization("Bearer elsewhere"), "/mcp", 401, invalid("the token is for another audience")),
        (authorization("Bearer foreign"), "/mcp", 401, invalid("the token is from another issuer")),
        (authorization("Bearer guess"), "/mcp", 401, invalid("the token cannot be verified")),
        (authorization("Basic Zm9vOmJhcg=="), "/mcp", 400, malformed.clone()),
        (
            [authorization("Bearer good"), authorization("Bearer good")].concat(),
            "/mcp",
            400,
            malformed.clone(),
        ),
        (vec![("Authorization", &*long)], "/mcp", 400, malformed.clone()),
        (vec![], "/mcp?access_token=good", 400, malformed.clone()),
        (authorization("Bearer good"), "/mcp?access_token=good", 400, malformed),
    ];
    for (headers, path, status, challenge) in rows {
        let reply = client.ask("POST", path, &headers, &initialize("2025-06-18").to_string()).await;
        assert_eq!(
            (reply.status, reply.header("www-authenticate")),
            (status, Some(&*challenge)),
            "{path} {status}"
        );
        // A good token passes, and the limiter forgets the failures before it.
        assert_eq!(good(&mut client, "/mcp?x=1").await, 200);
    }
    // Guesses are limited, and what is no guess is not.
    for _ in 0..4 {
        client.post(&[("Authorization", "Bearer guess")], initialize("2025-06-18")).await;
    }
    let blocked = client.post(&[("Authorization", "Bearer guess")], initialize("2025-06-18")).await;
    assert_eq!((blocked.status, blocked.header("www-authenticate")), (429, None));
    assert_eq!(client.post(&[], initialize("2025-06-18")).await.status, 401);
    let fixed = format!("Bearer {TOKEN}");
    assert_eq!(client.post(&[("Authorization", &fixed)], initialize("2025-06-18")).await.status, 200);
    // The same door stands before everything else that has one.
    for (method, path) in
        [("GET", "/console/api/state"), ("POST", "/oauth/start?upstream=x"), ("DELETE", "/mcp")]
    {
        let reply = client.ask(method, path, &[], "").await;
        let expected = format!("Bearer {metadata}, {scope}");
        assert_eq!((reply.status, reply.header("www-authenticate")), (401, Some(&*expected)), "{path}");
    }
}

#[tokio::test]
async fn malformed_credentials_are_no_wrong_tokens_without_oauth_either() {
    let tokens = vec![NamedToken { name: "a".into(), token: Secret::new(TOKEN), is_operator: false }];
    let server = Server::start(&Http { tokens, auth_disabled: false, ..settings() }, 4);
    let mut client = server.connect().await;
    let good = format!("Bearer {TOKEN}");
    for (headers, path) in [
        (vec![("Authorization", &*good), ("Authorization", &good)], "/mcp"),
        (vec![("Authorization", "Basic Zm9vOmJhcg==")], "/mcp"),
        (vec![], "/mcp?access_token=x"),
    ] {
        let reply = client.ask("POST", path, &headers, &initialize("2025-06-18").to_string()).await;
        let challenge = Some("Bearer error=\"invalid_request\"");
        assert_eq!((reply.status, reply.header("www-authenticate")), (400, challenge), "{path}");
    }
    // Without issuers there is nothing to discover.
    let reply = client.ask("GET", "/.well-known/oauth-protected-resource", &[], "").await;
    assert_eq!(reply.status, 404);
}

#[tokio::test]
async fn metadata_name_the_resource_and_its_issuers_whoever_asks() {
    let settings = with_oauth(vec![], None);
    let server = Server::verifying(Some(Arc::new(NamedVerdicts)), SessionNeed::State, &settings, 4);
    let mut client = server.connect().await;
    let expected = json!({
        "resource": "https://ptc.example/a/mcp",
        "authorization_servers": ["https://i.example"],
        "bearer_methods_supported": ["header"],
        "resource_name": "ptc",
        "scopes_supported": ["mcp:read", "mcp:write"],
    });
    for path in [
        "/.well-known/oauth-protected-resource/a/mcp",
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-protected-resource/a/mcp/",
    ] {
        for headers in [
            &[][..],
            &[("Host", "evil.example"), ("Origin", "https://evil.example")],
            &[("X-Forwarded-Host", "evil.example"), ("Forwarded", "host=evil.example;proto=http")],
            &[("Authorization", "Bearer guess")],
        ] {
            let reply = client.ask("GET", path, headers, "").await;
            assert_eq!((reply.status, reply.json()), (200, expected.clone()), "{path} {headers:?}");
            assert_eq!(reply.header("cache-control"), Some("max-age=3600"));
            assert_eq!(reply.header("access-control-allow-origin"), Some("*"));
        }
    }
    let reply = client.ask("POST", "/.well-known/oauth-protected-resource", &[], "{}").await;
    assert_eq!((reply.status, reply.header("allow")), (405, Some("GET, HEAD")));
    // It is no authorization server, and pretends to be none.
    for path in [
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-authorization-server",
        "/.well-known/oauth-authorization-server/a/mcp",
        "/.well-known/openid-configuration",
        "/authorize",
        "/token",
        "/register",
    ] {
        let reply = client.ask("GET", path, &[], "").await;
        assert_eq!((reply.status, reply.header("access-control-allow-origin")), (404, None), "{path}");
    }
    // There is no anonymous caller beside issuers.
    assert_eq!(client.post(&[], initialize("2025-06-18")).await.status, 401);
}

#[tokio::test]
async fn bodies_are_checked_in_order() {
    let server = Server::start(&settings(), 4);
    let mut client = server.connect().await;
    // A page can send a body without a type without a preflight; a program that sends no type sends no origin either.
    let page = ("Origin", "http://localhost:5173");
    for headers in [
        &[("Content-Type", "text/plain")][..],
        &[("Content-Type", "application/json"), ("Content-Type", "text/plain")],
        &[page, ("Content-Length", "0")],
    ] {
        let body = if headers[0] == page { "" } else { "{}" };
        let reply = client.ask("POST", "/mcp", headers, body).await;
        assert_eq!((reply.status, reply.body.as_str()), (415, "unsupported media type"), "{headers:?}");
    }
    assert_eq!(
        client
            .post(&[("Content-Type", "APPLICATION/JSON; charset=x")], initialize("2025-06-18"))
            .await
            .status,
        200
    );
    assert_eq!(client.post(&[("Content-Type", "application/x+json")], "{").await.status, 400);
    let reply = client.ask("POST", "/mcp", &[("Content-Length", "0")], "").await;
    assert_eq!((reply.status, &reply.json()["error"]["code"]), (400, &json!(-32600)));
    for accept in ["text/html", "text/event-stream", "image/*"] {
        assert_eq!(client.post(&[("Accept", accept)], request(1, "ping")).await.status, 406, "{accept}");
    }
    let parse = client.post(&[], "{bad").await;
    assert_eq!(
        (parse.status, parse.body.as_str()),
        (400, r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#)
    );
    let parse = client.post(&[("MCP-Protocol-Version", "2025-11-25")], "{bad").await;
    assert!(!parse.json().as_object().unwrap().contains_key("id"));
    for (body, id) in [
        ("42".to_owned(), Value::Null),
        ("[]".into(), Value::Null),
        ("{}".into(), Value::Null),
        (r#"{"jsonrpc":"1.0","id":7,"method":"initialize"}"#.into(), json!(7)),
        (r#"{"jsonrpc":"2.0","id":{},"method":"initialize"}"#.into(), Value::Null),
        (json!([request(1, "ping")]).to_string(), Value::Null),
    ] {
        let reply = client.post(&[], &body).await;
        assert_eq!((reply.status, reply.code(), &reply.json()["id"]), (400, json!(-32600), &id), "{body}");
    }
    let mut large = server.connect().await;
    let reply = large.post(&[], json!({"x": "y".repeat(5000)})).await;
    assert_eq!((reply.status, reply.body.as_str()), (413, "payload too large"));
    // Without a length, too.
    let mut chunked = server.connect().await;
    let chunk = format!("{:x}\r\n{}\r\n", 3000, " ".repeat(3000));
    let message = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}{chunk}0\r\n\r\n"
    );
    chunked.stream.get_mut().write_all(message.as_bytes()).await.unwrap();
    assert_eq!(chunked.receive().await.status, 413);
}

#[tokio::test]
async fn a_session_from_its_beginning_to_its_end() {
    let server = Server::start(&settings(), 4);
    let (mut client, session) = server.initialize().await;
    assert!(session.starts_with("mcp_") && session.len() == 36);
    let named = ("MCP-Session-Id", session.as_str());
    let reply = client.post(&[named], initialize("2025-06-18")).await;
    assert_eq!((reply.status, reply.body.as_str()), (400, "initialize must not include MCP-Session-Id"));
    for method in ["notifications/initialized", "notifications/unknown", "tools/call"] {
        let reply = client.post(&[named], json!({"jsonrpc":"2.0","method":method})).await;
        assert_eq!((reply.status, reply.body.as_str()), (202, ""), "{method}");
    }
    let reply = client.post(&[named], json!({"jsonrpc":"2.0","id":5,"result":{}})).await;
    assert_eq!(reply.status, 202);
    let reply =
        client.post(&[named, ("MCP-Protocol-Version", "2025-06-18")], call(3, json!({"say":"hi"}))).await;
    assert_eq!(reply.json()["result"]["content"][0]["text"], "hi");
    let reply = client.post(&[named, ("MCP-Protocol-Version", "1.0")], request(4, "ping")).await;
    assert_eq!((reply.status, reply.body.as_str()), (400, "bad MCP-Protocol-Version"));
    let reply =
        client.post(&[named], json!({"jsonrpc":"2.0","id":6,"method":"notifications/initialized"})).await;
    assert_eq!((reply.status, reply.code()), (400, json!(-32600)));
    let unknown = client
        .post(&[named], json!({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x"}}))
        .await;
    assert_eq!(unknown.json()["result"]["structuredContent"]["reason"], "unknown_tool");
    assert_eq!(client.post(&[named], request(8, "nope")).await.code(), json!(-32601));
    assert_eq!(client.post(&[named], json!([request(1, "ping")])).await.code(), json!(-32600));

    let reply = client.post(&[], request(2, "ping")).await;
    assert_eq!((reply.status, reply.body.as_str()), (400, "missing MCP-Session-Id"));
    assert_eq!(client.post(&[("MCP-Session-Id", "mcp_nope")], request(2, "ping")).await.status, 404);
    assert_eq!(client.ask("DELETE", "/mcp", &[], "").await.body, "missing MCP-Session-Id");
    assert_eq!(client.ask("DELETE", "/mcp", &[named], "").await.status, 200);
    let gone = client.ask("DELETE", "/mcp", &[named], "").await;
    assert_eq!((gone.status, &gone.json()["error"]["code"]), (404, &json!(-32000)));
    assert_eq!(client.post(&[named], request(2, "ping")).await.status, 404);
}

#[tokio::test]
async fn shutdown_and_exit_end_one_session_only() {
    let server = Server::start(&settings(), 4);
    let (mut client, first) = server.initialize().await;
    let (_, second) = server.initialize().await;
    let (first, second) = (("MCP-Session-Id", first.as_str()), ("MCP-Session-Id", second.as_str()));
    assert_eq!(client.post(&[first], request(2, "shutdown")).await.json()["result"], Value::Null);
    let refused = client.post(&[first], call(3, json!({"say":"x"}))).await;
    assert_eq!(refused.json()["result"]["structuredContent"]["reason"], "shutting_down");
    assert_eq!(client.post(&[first], json!({"jsonrpc":"2.0","method":"exit"})).await.status, 202);
    assert_eq!(client.post(&[first], request(4, "ping")).await.status, 404);
    assert_eq!(client.post(&[second], call(5, json!({"say":"y"}))).await.json()["result"]["isError"], false);
}

#[tokio::test]
async fn caps_of_sessions() {
    let server = Server::start(&settings(), 4);
    // Sessions in which a call runs keep their places.
    let work = async |server: &Server| {
        let (mut client, session) = server.initialize().await;
        let named = [("MCP-Session-Id", session.as_str())];
        client.send("POST", "/mcp", &named, &call(1, json!({"wait":true})).to_string()).await;
        let mut other = server.connect().await;
        while other.post(&named, call(1, json!({}))).await.json().get("error").is_none() {}
        client
    };
    let _working = [work(&server).await, work(&server).await];
    let mut client = server.connect().await;
    let reply = client.post(&[], initialize("2025-06-18")).await;
    assert_eq!((reply.status, reply.header("retry-after")), (429, Some("1")));
    let text = "session owner limit exceeded: all 2 sessions of this caller are in use (--http-max-sessions-per-owner)";
    assert_eq!(reply.json(), json!({"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":text}}));
    assert_eq!(client.ask("GET", "/ready", &[], "").await.status, 200, "one owner is not the process");
    let server = Server::start(&Http { max_sessions: 1, ..settings() }, 4);
    // Idle sessions are evicted for the next one.
    let (mut client, first) = server.initialize().await;
    server.initialize().await;
    assert_eq!(client.post(&[("MCP-Session-Id", &first)], request(2, "ping")).await.status, 404);
    let _working = work(&server).await;
    let mut client = server.connect().await;
    let reply = client.post(&[], initialize("2025-06-18")).await;
    let text = "server saturated: all 1 sessions are in use (--http-max-sessions)";
    assert_eq!((reply.status, &reply.json()["error"]["message"]), (503, &json!(text)));
    let body = client.ask("GET", "/ready", &[], "").await.body;
    assert!(body.contains(r#""status":"saturated","reason":"all HTTP sessions are in use"#), "{body}");
}

#[tokio::test]
async fn calls_at_the_same_time() {
    let server = Server::start(&settings(), 3);
    let (mut client, session) = server.initialize().await;
    let named = ("MCP-Session-Id", session.as_str());
    let (mut one, mut two) = (server.connect().await, server.connect().await);
    one.send("POST", "/mcp", &[named], &call(1, json!({"wait":true,"say":"1"})).to_string()).await;
    two.send("POST", "/mcp", &[named], &call(2, json!({"wait":true,"say":"2"})).to_string()).await;
    // Both are in flight once the third is refused.
    let busy = loop {
        let reply = client.post(&[named], call(3, json!({"say":"3"}))).await;
        if reply.json()["result"]["isError"] == true {
            break reply;
        }
    };
    assert_eq!(busy.status, 200);
    assert_eq!(
        busy.json()["result"]["structuredContent"]["message"],
        "server busy: 2 concurrent calls in flight"
    );
    let duplicate = client.post(&[named], call(1, json!({}))).await;
    assert_eq!((duplicate.status, duplicate.code()), (200, json!(-32600)));
    assert!(duplicate.body.contains("id 1 is already in flight"));
    // The limiter of the whole server has one permit left, for any caller.
    let mut third = server.connect().await;
    let waiting = modern(9, "tools/call", json!({"name":"mock_tool","arguments":{"wait":true}})).to_string();
    let headers =
        [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "mock_tool")];
    third.send("POST", "/mcp", &headers, &waiting).await;
    let saturated = loop {
        let reply =
            client.modern(10, "tools/call", json!({"name":"mock_tool","arguments":{"say":"m"}})).await;
        if reply.status != 200 {
            break reply;
        }
    };
    assert_eq!((saturated.status, saturated.header("retry-after")), (503, Some("1")));
    assert_eq!(saturated.json()["id"], 10);
    // A call that its client cancels is not answered; a call that ends with its session is.
    let cancel = json!({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}});
    assert_eq!(client.post(&[named], cancel).await.status, 202);
    let cancelled = one.receive().await;
    assert_eq!((cancelled.status, cancelled.body.as_str()), (202, ""));
    assert_eq!(client.ask("DELETE", "/mcp", &[named], "").await.status, 200);
    assert_eq!(two.receive().await.json()["result"]["structuredContent"]["reason"], "cancelled");
    server.strings.release.add_permits(1);
    assert_eq!(third.receive().await.json()["result"]["isError"], false);
}

#[tokio::test]
async fn a_client_that_leaves_cancels_its_call() {
    let server = Server::start(&settings(), 4);
    let (_, session) = server.initialize().await;
    for progress in [false, true] {
        let mut client = server.connect().await;
        let mut body = call(1, json!({"wait":true}));
        if progress {
            body["params"]["_meta"] = json!({"progressToken":1});
        }
        let headers =
            [("MCP-Session-Id", session.as_str()), ("Accept", "application/json, text/event-stream")];
        client.send("POST", "/mcp", &headers, &body.to_string()).await;
        if progress {
            client.head().await;
        } else {
            // The call runs once another one with its id is refused.
            let mut other = server.connect().await;
            while other.post(&headers, call(1, json!({"now":"x"}))).await.status != 200 {}
            while other.post(&headers, call(1, json!({"say":"x"}))).await.json().get("error").is_none() {}
        }
        drop(client);
        server.strings.dropped.acquire().await.unwrap().forget();
    }
}

#[tokio::test]
async fn progress_makes_a_stream() {
    let server = Server::start(&settings(), 4);
    let mut client = server.connect().await;
    let mut body = modern(1, "tools/call", json!({"name":"mock_tool","arguments":{"wait":true,"say":"end"}}));
    body["params"]["_meta"]["progressToken"] = json!("tok");
    let headers = [
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "mock_tool"),
        ("Accept", "application/json, text/event-stream"),
    ];
    client.send("POST", "/mcp", &headers, &body.to_string()).await;
    let head = client.head().await;
    assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")));
    assert_eq!(head.header("x-accel-buffering"), Some("no"));
    let mut events = Vec::new();
    while events.len() < 2 {
        if let Some(data) = client.line().await.strip_prefix("data: ") {
            events.push(serde_json::from_str::<Value>(data).unwrap());
            server.strings.release.add_permits(1);
        }
    }
    assert_eq!(events[0]["method"], "notifications/progress");
    assert_eq!(events[0]["params"]["progressToken"], "tok");
    assert_eq!(events[1]["result"]["content"][0]["text"], "end");
    // A client that cannot read a stream gets one answer.
    let plain = headers[..3].iter().copied().chain([("Accept", "application/json")]).collect::<Vec<_>>();
    let reply = client_of(&server).await.post(&plain, &body).await;
    assert_eq!(reply.json()["result"]["content"][0]["text"], "end");
}

#[tokio::test]
async fn a_call_becomes_a_stream_when_its_client_is_asked() {
    let server = Server::needing(SessionNeed::None, &settings(), 4);
    let mut client = server.connect().await;
    let mut hello = initialize("2025-11-25");
    hello["params"]["capabilities"] = json!({"elicitation":{"form":{},"url":{}}});
    let welcome = client.post(&[], &hello).await;
    let session = welcome.header("mcp-session-id").unwrap().to_owned();
    assert!(session.starts_with("ptc_2025-11-25_any.fu_"), "{session}");
    let headers = [("MCP-Session-Id", &*session), ("Accept", "application/json, text/event-stream")];
    // A call without questions is answered as before.
    let plain = client.post(&headers, call(2, json!({"say":"plain"}))).await;
    assert_eq!(plain.header("content-type"), Some("application/json; charset=utf-8"));
    client.send("POST", "/mcp", &headers, &call(3, json!({"ask":true})).to_string()).await;
    let head = client.head().await;
    assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")));
    let asked = client.event().await;
    assert_eq!(asked["method"], "elicitation/create");
    // The reply is a request of its own, and counts once; another session ignores it.
    let mut other = server.connect().await;
    let stranger = other.post(&[], &hello).await.header("mcp-session-id").unwrap().to_owned();
    let reply = |n: u64| json!({"jsonrpc":"2.0","id":asked["id"],"result":{"n":n}});
    assert_eq!(other.post(&[("MCP-Session-Id", &stranger)], reply(1)).await.status, 202);
    for n in [2, 3] {
        let accepted = other.post(&[("MCP-Session-Id", &session)], reply(n)).await;
        assert_eq!((accepted.status, accepted.body.as_str()), (202, ""));
    }
    let answer = client.event().await;
    assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(3), &json!(false)));
    assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains("{\\\"n\\\":2}"), "{answer}");
    // A client that reads no stream is not asked.
    let bare = [("MCP-Session-Id", &*session), ("Accept", "application/json")];
    let nobody = server.connect().await.post(&bare, call(4, json!({"ask":true}))).await;
    assert_eq!(nobody.json()["result"]["content"][0]["text"], "nobody");
    // An evicted session is resumed, and its client is asked as before.
    server.endpoint.sessions.close_all("idle");
    let mut late = server.connect().await;
    late.send("POST", "/mcp", &headers, &call(5, json!({"ask":true})).to_string()).await;
    assert_eq!(late.head().await.header("content-type"), Some("text/event-stream"));
}

#[tokio::test]
async fn a_channel_for_news_ends_with_the_server() {
    let server = Server::start(&settings(), 4);
    let body = modern(5, "subscriptions/listen", json!({"notifications":{}})).to_string();
    let headers = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "subscriptions/listen")];
    let plain = headers.iter().copied().chain([("Accept", "application/json")]).collect::<Vec<_>>();
    assert_eq!(server.connect().await.post(&plain, &body).await.status, 406);
    let mut client = server.connect().await;
    client.send("POST", "/mcp", &headers, &body).await;
    let head = client.head().await;
    assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")));
    let mut messages = Vec::new();
    while messages.len() < 2 {
        if let Some(data) = client.line().await.strip_prefix("data: ") {
            messages.push(serde_json::from_str::<Value>(data).unwrap());
            server.stop.notify_one();
        }
    }
    assert_eq!(messages[0]["method"], "notifications/subscriptions/acknowledged");
    let subscription = "io.modelcontextprotocol/subscriptionId";
    assert_eq!(messages[0]["params"]["_meta"][subscription], 5);
    assert_eq!((&messages[1]["id"], &messages[1]["result"]["_meta"][subscription]), (&json!(5), &json!(5)));
    server.running.await.unwrap();
}

async fn client_of(server: &Server) -> Client {
    server.strings.release.add_permits(1);
    server.connect().await
}

#[tokio::test]
async fn the_modern_era() {
    let server = Server::start(&settings(), 4);
    let mut client = server.connect().await;
    let found = client.modern(1, "server/discover", json!({})).await;
    assert_eq!((found.status, &found.json()["result"]["supportedVersions"]), (200, &json!(["2026-07-28"])));
    assert_eq!(found.header("mcp-session-id"), None);
    let called = client.modern(2, "tools/call", json!({"name":"mock_tool","arguments":{"say":"m"}})).await;
    assert_eq!(called.json()["result"]["resultType"], "complete");
    for gone in ["initialize", "ping", "shutdown", "logging/setLevel", "unknown/method"] {
        let reply = client.modern(3, gone, json!({})).await;
        assert_eq!(
            (reply.status, reply.code(), &reply.json()["id"]),
            (404, json!(-32601), &json!(3)),
            "{gone}"
        );
    }
    let unknown = client.modern(4, "tools/call", json!({"name":"nope"})).await;
    assert_eq!(unknown.json()["error"], json!({"code":-32602,"message":"Unknown tool: nope"}));

    let version = ("MCP-Protocol-Version", "2026-07-28");
    let list = modern(5, "tools/list", json!({}));
    let call = modern(5, "tools/call", json!({"name":"mock_tool","arguments":{"say":"x"}}));
    let list_method = ("Mcp-Method", "tools/list");
    let call_method = ("mcp-method", "tools/call");
    for (headers, body, status, code) in [
        (&[list_method][..], &list, 400, -32020),
        (&[version], &list, 400, -32020),
        (&[version, ("Mcp-Method", "TOOLS/LIST")], &list, 400, -32020),
        (&[version, call_method], &call, 400, -32020),
        (&[version, call_method, ("Mcp-Name", "other")], &call, 400, -32020),
        (&[version, call_method, ("Mcp-Name", "=?base64?!?=")], &call, 400, -32020),
        (&[("MCP-Protocol-Version", "2099-01-01"), list_method], &list, 400, -32020),
    ] {
        let reply = client.post(headers, body).await;
        assert_eq!((reply.status, reply.code()), (status, json!(code)), "{headers:?}");
        assert_eq!(reply.json()["id"], 5);
    }
    for name in ["  mock_tool ", "=?base64?bW9ja190b29s?="] {
        assert_eq!(
            client.post(&[version, call_method, ("MCP-NAME", name)], &call).await.status,
            200,
            "{name}"
        );
    }
    let bare = json!({"jsonrpc":"2.0","id":6,"method":"tools/list","params":{}});
    let reply = client.post(&[version, list_method], &bare).await;
    assert_eq!((reply.status, reply.code()), (400, json!(-32602)));
    let mut newer = list.clone();
    newer["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
    let reply = client.post(&[("MCP-Protocol-Version", "2099-01-01")], &newer).await;
    assert_eq!((reply.status, reply.code()), (400, json!(-32022)));
    assert_eq!(reply.json()["error"]["data"], json!({"supported":["2026-07-28"],"requested":"2099-01-01"}));
    let note = json!({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}});
    assert_eq!(client.post(&[version], note).await.status, 202);
    assert_eq!(client.post(&[version], json!([list])).await.code(), json!(-32600));
    let parse = client.post(&[version], "{").await;
    assert_eq!((parse.status, parse.json().get("id")), (400, None));
}

#[tokio::test]
async fn what_was_negotiated_counts_whatever_else_a_request_says() {
    let server = Server::start(&settings(), 4);
    let mut client = client_of(&server).await;
    let version = |name| ("MCP-Protocol-Version", name);
    // A handshake works under any header, and with the newest revision in its `_meta`.
    let mut opening = initialize("2025-06-18");
    for header in ["2026-07-28", "2099-01-01", "2025-11-25", "2024-11-05"] {
        let reply = client.post(&[version(header)], &opening).await;
        assert_eq!(reply.json()["result"]["protocolVersion"], "2025-06-18", "{header}");
    }
    opening["params"]["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
    let reply = client.post(&[version("2026-07-28")], &opening).await;
    assert_eq!((reply.status, &reply.json()["result"]["protocolVersion"]), (200, &json!("2025-06-18")));
    let session = reply.header("mcp-session-id").unwrap().to_owned();
    let named = ("MCP-Session-Id", session.as_str());
    let plain = call(3, json!({"say":"hi"}));
    let mut claims = plain.clone();
    claims["params"]["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
    let whole = modern(3, "tools/call", json!({"name":"mock_tool","arguments":{"say":"hi"}}));
    for body in [&plain, &claims, &whole] {
        for header in [None, Some("2025-11-25"), Some("2024-11-05"), Some("2026-07-28"), Some("2099-01-01")] {
            let headers: Vec<_> = [named].into_iter().chain(header.map(version)).collect();
            let reply = client.post(&headers, body).await;
            let result = &reply.json()["result"];
            assert_eq!(
                (reply.status, &result["content"][0]["text"]),
                (200, &json!("hi")),
                "{header:?} {body}"
            );
            assert_eq!(result.get("resultType"), None, "{header:?} {body}");
        }
    }
    // A closed session is reported, so that its client starts a new one.
    let reply = client.ask("DELETE", "/mcp", &[named, version("2026-07-28")], "").await;
    assert_eq!(reply.status, 200);
    let reply = client.post(&[named, version("2026-07-28")], &plain).await;
    assert_eq!((reply.status, reply.code()), (404, json!(-32000)));
    // A modern request has no session: the header has no meaning there.
    let modern_headers =
        [named, version("2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "mock_tool")];
    assert_eq!(client.post(&modern_headers, &whole).await.json()["result"]["resultType"], "complete");
    // Without a negotiated revision, header and body must agree.
    for (header, code) in [("2026-07-28", -32602), ("2099-01-01", -32602)] {
        assert_eq!(client.post(&[version(header)], &plain).await.code(), json!(code), "{header}");
    }
    let mut odd = whole.clone();
    odd["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("v999.0.0");
    assert_eq!(client.post(&[version("2026-07-28")], &odd).await.code(), json!(-32020));
    assert_eq!(client.post(&[], &whole).await.code(), json!(-32020));
}

#[tokio::test]
async fn lists_that_are_not_offered_are_empty() {
    let server = Server::start(&settings(), 4);
    let (mut client, session) = server.initialize().await;
    let named = ("MCP-Session-Id", session.as_str());
    for (method, key) in [
        ("prompts/list", "prompts"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
    ] {
        assert_eq!(
            client.post(&[named], request(1, method)).await.json()["result"],
            json!({key: []}),
            "{method}"
        );
        let mut paged = request(1, method);
        paged["params"] = json!({"cursor": "x"});
        assert_eq!(client.post(&[named], paged).await.code(), json!(-32602), "{method}");
        let reply = client.modern(2, method, json!({})).await;
        if method == "prompts/list" {
            assert_eq!(reply.code(), json!(-32601));
            continue;
        }
        let result = &reply.json()["result"];
        assert_eq!((&result[key], &result["resultType"]), (&json!([]), &json!("complete")), "{method}");
        assert!(result["ttlMs"].is_u64() && result["cacheScope"].is_string(), "{result}");
    }
    for method in ["prompts/get", "resources/read", "completion/complete"] {
        assert_eq!(client.post(&[named], request(1, method)).await.code(), json!(-32601), "{method}");
    }
}

#[tokio::test]
async fn batches_of_an_old_session() {
    let server = Server::start(&settings(), 4);
    let mut client = server.connect().await;
    let reply = client.post(&[], initialize("2025-03-26")).await;
    let session = reply.header("mcp-session-id").unwrap().to_owned();
    let named = ("MCP-Session-Id", session.as_str());
    let reply = client.post(&[named], json!([request(1, "ping"), call(2, json!({"say":"two"})), 3])).await;
    let replies = reply.json();
    assert_eq!((reply.status, replies.as_array().unwrap().len()), (200, 3));
    assert_eq!(replies[2]["result"]["content"][0]["text"], "two");
    let reply = client.post(&[named], json!([{"jsonrpc":"2.0","method":"notifications/initialized"}])).await;
    assert_eq!((reply.status, reply.body.as_str()), (202, ""));
}

#[tokio::test]
async fn stopping_waits_for_what_runs_and_for_nothing_else() {
    let server = Server::start(&settings(), 4);
    let (mut client, session) = server.initialize().await;
    let named = ("MCP-Session-Id", session.as_str());
    let mut waiting = server.connect().await;
    waiting.send("POST", "/mcp", &[named], &call(1, json!({"wait":true,"say":"done"})).to_string()).await;
    while client.post(&[named], call(1, json!({}))).await.json().get("error").is_none() {}
    server.stop.notify_one();
    loop {
        let ready = client.ask("GET", "/ready", &[], "").await;
        if ready.status == 503 {
            assert!(
                ready.body.contains(r#""status":"draining","reason":"the server stops"#),
                "{}",
                ready.body
            );
            break;
        }
    }
    let refused = client.post(&[named], request(7, "ping")).await;
    assert_eq!(refused.status, 503);
    assert_eq!(
        refused.json(),
        json!({"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"server draining"}})
    );
    server.strings.release.add_permits(1);
    assert_eq!(waiting.receive().await.json()["result"]["content"][0]["text"], "done");
    server.running.await.unwrap();
    let idle = Server::start(&settings(), 4);
    let _connection = idle.connect().await;
    idle.stop.notify_one();
    idle.running.await.unwrap();
}

#[tokio::test]
async fn a_second_signal_skips_the_wait() {
    let server = Server::start(&settings(), 4);
    let (_, session) = server.initialize().await;
    let mut waiting = server.connect().await;
    let headers = [("MCP-Session-Id", session.as_str())];
    waiting.send("POST", "/mcp", &headers, &call(1, json!({"wait":true})).to_string()).await;
    let mut probe = server.connect().await;
    while probe.post(&headers, call(1, json!({}))).await.json().get("error").is_none() {}
    server.stop.notify_one();
    while probe.ask("GET", "/ready", &[], "").await.status != 503 {}
    server.stop.notify_one();
    assert_eq!(waiting.receive().await.json()["result"]["structuredContent"]["reason"], "cancelled");
    server.running.await.unwrap();
}

#[tokio::test]
async fn a_connection_that_says_nothing_is_closed() {
    let server = Server::start(&Http { request_timeout: Duration::from_millis(20), ..settings() }, 4);
    for sent in ["", "POST /mcp HTTP/1.1\r\nHost: loc"] {
        let mut client = server.connect().await;
        client.stream.get_mut().write_all(sent.as_bytes()).await.unwrap();
        let mut rest = Vec::new();
        // Ends only if the server closes.
        let _ = client.stream.read_to_end(&mut rest).await;
    }
    let mut slow = server.connect().await;
    let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{";
    slow.stream.get_mut().write_all(head.as_bytes()).await.unwrap();
    assert_eq!(slow.receive().await.status, 408);
}

#[tokio::test]
async fn https_with_both_protocols() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/http/fixtures");
    let cert = std::path::PathBuf::from(format!("{folder}/localhost.cert.pem"));
    let key = std::path::PathBuf::from(format!("{folder}/localhost.key.pem"));
    let server = Server::start(&Http { tls: Some((cert.clone(), key)), ..settings() }, 4);
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(&cert).unwrap()).unwrap();
    for (offered, agreed) in [(&["h2", "http/1.1"][..], "h2"), (&["http/1.1"], "http/1.1")] {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots.clone())
            .with_no_client_auth();
        config.alpn_protocols = offered.iter().map(|name| name.as_bytes().to_vec()).collect();
        let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
        let stream = TcpStream::connect(server.address).await.unwrap();
        let mut stream = connector.connect("localhost".try_into().unwrap(), stream).await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(agreed.as_bytes()));
        if agreed == "http/1.1" {
            stream.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
            let mut head = [0; 15];
            stream.read_exact(&mut head).await.unwrap();
            assert_eq!(&head, b"HTTP/1.1 200 OK");
        }
    }
}

#[tokio::test]
async fn tls_files_that_cannot_be_used_are_named() {
    let tls = Some(("/nowhere/cert.pem".into(), "/nowhere/key.pem".into()));
    let Err(error) = BoundListener::open(&Http { tls, ..settings() }) else {
        panic!("bound without a certificate");
    };
    assert!(error.to_string().starts_with("--http-tls-cert /nowhere/cert.pem: "), "{error}");
}

/// Connections that the server has not closed yet, detected by reading from all of them.
fn still_open(clients: &mut [TcpStream]) -> usize {
    let mut open = 0;
    for client in clients {
        let mut byte = [0];
        match client.try_read(&mut byte) {
            Err(blocked) if blocked.kind() == std::io::ErrorKind::WouldBlock => open += 1,
            _ => {}
        }
    }
    open
}

#[tokio::test]
async fn silent_connections_make_room_for_those_that_ask() {
    let settings = Http { max_connections: 20, ..settings() };
    let server = Server::start(&settings, 4);
    let (mut served, session) = server.initialize().await;
    let named = [("MCP-Session-Id", session.as_str())];
    let mut waiting = server.connect().await;
    waiting.send("POST", "/mcp", &named, &call(1, json!({"wait":true,"say":"done"})).to_string()).await;
    while served.post(&named, call(1, json!({}))).await.json().get("error").is_none() {}
    let mut silent = Vec::new();
    for _ in 0..200 {
        silent.push(TcpStream::connect(server.address).await.unwrap());
    }
    // Any client is answered, new or old, and running calls are not disturbed.
    for _ in 0..5 {
        assert_eq!(server.connect().await.ask("GET", "/health", &[], "").await.status, 200);
    }
    assert!(still_open(&mut silent) <= 20);
    server.strings.release.add_permits(1);
    assert_eq!(waiting.receive().await.json()["result"]["content"][0]["text"], "done");
}

#[tokio::test]
async fn a_client_that_does_not_read_keeps_no_permit() {
    let server = Server::start(&settings(), 1);
    let stream = TcpStream::connect(server.address).await.unwrap();
    // A window of no bytes: the stream of events can never be sent.
    let mut builder = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
    builder.initial_stream_window_size(0);
    let (mut sender, connection) = builder.handshake(TokioIo::new(stream)).await.unwrap();
    let running = tokio::spawn(connection);
    let mut body = modern(1, "tools/call", json!({"name":"mock_tool","arguments":{"say":"x"}}));
    body["params"]["_meta"]["progressToken"] = json!("tok");
    let request = http::Request::post(format!("http://{}/mcp", server.address))
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", "mock_tool")
        .body(body.to_string())
        .unwrap();
    let response = sender.send_request(request).await.unwrap();
    assert_eq!(response.status(), 200);
    // The only permit is released although no client reads the answer.
    let mut other = server.connect().await;
    loop {
        let reply = other.modern(2, "tools/call", json!({"name":"mock_tool","arguments":{"say":"y"}})).await;
        if reply.status == 200 {
            assert_eq!(reply.json()["result"]["content"][0]["text"], "y");
            break;
        }
        assert_eq!(reply.status, 503);
    }
    running.abort();
}

/// Sixty bodies arrive at once, on one thread, which polls its sockets between any two of them.
#[tokio::test]
async fn large_bodies_are_read_in_turns() {
    const CLIENTS: usize = 60;
    let settings = Http { max_body_bytes: 1 << 20, max_buffered_bytes: 16 << 20, ..settings() };
    let settings = Http { max_buffered_bytes_per_owner: 16 << 20, ..settings };
    let server = Server::start(&settings, 4);
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        let mut client = server.connect().await;
        assert_eq!(client.post(&[], "{").await.status, 400);
        clients.push(client);
    }
    let (most, over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let (noted, ended, endpoint) = (most.clone(), over.clone(), server.endpoint.clone());
    let (release, held) = std::sync::mpsc::channel::<()>();
    server.endpoint.engine.spawn_on(0, move || {
        // The thread is blocked until all bodies have arrived.
        let _ = held.recv();
        async move {
            let mut before = endpoint.counts.answered();
            while !ended.load(Ordering::SeqCst) {
                // A task that yields resumes after the worker has polled its sockets.
                tokio::task::yield_now().await;
                let now = endpoint.counts.answered();
                noted.fetch_max(now - before, Ordering::SeqCst);
                before = now;
            }
        }
    });
    // Each takes longer than the time of connections between two polls.
    let body = format!("[{}", "1,".repeat(50_000));
    for client in &mut clients {
        client.send("POST", "/mcp", &[], &body).await;
    }
    release.send(()).unwrap();
    for client in &mut clients {
        assert_eq!(client.receive().await.status, 400);
    }
    over.store(true, Ordering::SeqCst);
    let most = most.load(Ordering::SeqCst);
    // Usually a few. A task that has yielded several times does not yield again, and at most sixteen tasks have their
    // turn between two polls (engine/src/scheduler.rs).
    assert!((1..=16).contains(&most), "{most} bodies were read between two looks at the sockets");
    server.stop.notify_one();
    server.running.await.unwrap();
}

/// A body that is parsed on another thread is answered like any other.
#[tokio::test]
async fn bodies_of_megabytes_are_answered_as_small_ones_are() {
    let settings = Http { max_body_bytes: 4 << 20, max_buffered_bytes: 16 << 20, ..settings() };
    let settings = Http { max_buffered_bytes_per_owner: 16 << 20, ..settings };
    let server = Server::start(&settings, 4);
    let long = "x".repeat(1 << 20);
    let (mut client, session) = server.initialize().await;
    let called = client.modern(2, "tools/call", json!({"name":"mock_tool","arguments":{"say":long}})).await;
    assert_eq!((called.status, called.json()["result"]["content"][0]["text"] == long), (200, true));
    let unknown = client.modern(3, "tools/call", json!({"name":"nope","arguments":{"say":long}})).await;
    assert_eq!(unknown.json()["error"], json!({"code":-32602,"message":"Unknown tool: nope"}));
    let named = ("MCP-Session-Id", session.as_str());
    let called = client.post(&[named], call(4, json!({"say":long}))).await;
    assert_eq!((called.status, called.json()["result"]["content"][0]["text"] == long), (200, true));
    let note =
        json!({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":long}});
    assert_eq!(client.post(&[named], note).await.status, 202);
    let ended = client.post(&[("MCP-Session-Id", "no session")], call(5, json!({"say":long}))).await;
    assert_eq!(ended.status, 404);
    let malformed = client.post(&[], format!("[{}", "1,".repeat(1 << 20))).await;
    assert_eq!(malformed.status, 400);
    server.stop.notify_one();
    server.running.await.unwrap();
}

/// More at once than the backlog of 128 that the standard library sets for a socket.
#[tokio::test]
async fn a_burst_of_connections_waits_to_be_taken_on() {
    let most = std::fs::read_to_string("/proc/sys/net/core/somaxconn").ok();
    let most = most.and_then(|text| text.trim().parse::<usize>().ok()).unwrap_or(128).min(1000);
    let (service, _strings) = mock_service(1);
    let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap();
    let listening = Listening {
        call_budget: Duration::from_secs(30),
        memory: MemoryBudget::new(1 << 30),
        telemetry: Arc::default(),
        upstreams: None,
        verifier: None,
        login: None,
    };
    let server = HttpServer::new(
        &settings(),
        BoundListener::open(&settings()).unwrap(),
        listening,
        Arc::new(service),
        engine,
    );
    let address = server.address().unwrap();
    // No connection is accepted; one beyond the backlog would wait for longer than this test.
    let mut waiting = Vec::new();
    for _ in 0..most {
        waiting.push(TcpStream::connect(address).await.unwrap());
    }
}

#[tokio::test]
async fn metrics_are_open_to_this_machine_and_not_to_what_comes_through_a_proxy() {
    let mut settings = with_oauth(vec![], None);
    settings.oauth.as_mut().unwrap().required_scopes.clear();
    let server = Server::verifying(Some(Arc::new(NamedVerdicts)), SessionNeed::State, &settings, 4);
    let mut client = server.connect().await;
    for headers in [&[][..], &[("Host", "localhost:7332")], &[("Host", "127.0.0.1")]] {
        assert_eq!(client.ask("GET", "/metrics", headers, "").await.status, 200, "{headers:?}");
    }
    for headers in [
        &[("Host", "ptc.example")][..],
        &[("X-Forwarded-For", "203.0.113.9")],
        &[("X-Forwarded-Host", "ptc.example")],
        &[("Forwarded", "for=203.0.113.9")],
        &[("Via", "1.1 proxy")],
    ] {
        assert_eq!(client.ask("GET", "/metrics", headers, "").await.status, 401, "{headers:?}");
        let good = [headers, &[("Authorization", "Bearer good")]].concat();
        assert_eq!(client.ask("GET", "/metrics", &good, "").await.status, 200, "{headers:?}");
    }
}
