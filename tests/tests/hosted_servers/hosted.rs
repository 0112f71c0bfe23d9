//! A hosted MCP server with its authorization server, on one loopback port, with the habits that real ones have (auth.md 17).
//! It refuses whatever the real one would refuse, and keeps why.

use std::collections::{HashMap, HashSet};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use ptc_mcp::json::{Value, json};
use url::form_urlencoded;

/// What happens to whoever wants to register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Registration {
    /// Nothing is advertised, and the usual path is 404.
    Absent,
    /// 403 to clients that it does not know by name.
    Refused,
    /// Anybody may.
    Open,
    /// Anybody may, as a public client; yet a secret is handed out, and demanded.
    WithSecret,
}

/// What is particular about a server.
#[derive(Debug, Clone)]
pub(crate) struct Habits {
    /// The path of its MCP endpoint, which may be part of the resource.
    pub(crate) path: String,
    /// The path of its issuer.
    pub(crate) issuer_path: &'static str,
    pub(crate) registration: Registration,
    /// An application of one's own: its id and secret, which goes into the body of requests.
    pub(crate) application: Option<(&'static str, &'static str)>,
    /// Whether metadata of the resource are published.
    pub(crate) resource_metadata: bool,
    /// An issuer on another host, in metadata at the root of this one.
    pub(crate) foreign_issuer: Option<&'static str>,
    /// Metadata only where OpenID appends them to the issuer.
    pub(crate) openid_only: bool,
    /// Whether `resource` must be sent with each request, or must not.
    pub(crate) resource: Option<bool>,
    /// Whether `scope` must be sent.
    pub(crate) demands_scope: bool,
    /// The host of redirect addresses.
    pub(crate) redirect_host: &'static str,
    /// Whether refreshing replaces the refresh token, and ends the access tokens before.
    pub(crate) rotates: bool,
}

impl Habits {
    /// A server at this path without habits.
    pub(crate) fn plain(path: &str) -> Habits {
        Habits {
            path: path.to_owned(),
            issuer_path: "",
            registration: Registration::Open,
            application: None,
            resource_metadata: true,
            foreign_issuer: None,
            openid_only: false,
            resource: None,
            demands_scope: false,
            redirect_host: "127.0.0.1",
            rotates: false,
        }
    }
}

/// The server.
#[derive(Clone)]
pub(crate) struct Hosted {
    pub(crate) origin: String,
    habits: Arc<Habits>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// Ids of registered clients, with their secrets.
    clients: HashMap<String, Option<String>>,
    codes: HashMap<String, String>,
    access: HashSet<String>,
    refresh: HashSet<String>,
    spent: HashSet<String>,
    issued: usize,
    said: Vec<String>,
}

struct Request {
    method: String,
    target: String,
    headers: HashMap<String, String>,
    body: String,
}

struct Answer {
    status: u16,
    headers: String,
    body: String,
}

type Fields = HashMap<String, String>;

impl Hosted {
    /// Serves on a free port, for as long as the process lives.
    pub(crate) fn start(habits: Habits) -> Hosted {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let origin = format!("http://{}", listener.local_addr().expect("bound"));
        let hosted = Hosted { origin, habits: Arc::new(habits), state: Arc::default() };
        if let Some((id, secret)) = hosted.habits.application {
            hosted.state().clients.insert(id.to_owned(), Some(secret.to_owned()));
        }
        let served = hosted.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (Ok(mut stream), served) = (stream, served.clone()) else { return };
                std::thread::spawn(move || {
                    let Some(request) = read(&mut stream) else { return };
                    let Answer { status, headers, body } = served.answer(&request);
                    let length = body.len();
                    let head = format!(
                        "HTTP/1.1 {status} Said\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n"
                    );
                    // Whoever asked may have gone.
                    let _ = stream.write_all((head + &body).as_bytes());
                });
            }
        });
        hosted
    }

    /// The URL of its MCP endpoint.
    pub(crate) fn url(&self) -> String {
        format!("{}{}", self.origin, self.habits.path)
    }

    /// Ends all access tokens, as time does.
    pub(crate) fn end_access_tokens(&self) {
        self.state().access.clear();
    }

    /// What happened: `registered`, `authorized`, `code`, `refreshed`, and each refusal with its reason.
    pub(crate) fn said(&self) -> Vec<String> {
        self.state().said.clone()
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("no panic")
    }

    fn issuer(&self) -> String {
        self.habits
            .foreign_issuer
            .map_or_else(|| format!("{}{}", self.origin, self.habits.issuer_path), str::to_owned)
    }

    fn answer(&self, request: &Request) -> Answer {
        let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
        let habits = &self.habits;
        let own = format!("{}{}", self.origin, habits.issuer_path);
        let path_of = |name: &str| format!("{}/{name}", habits.issuer_path);
        let of_resource =
            format!("/.well-known/oauth-protected-resource{}", habits.path.trim_end_matches('/'));
        let of_server = match (habits.openid_only, habits.foreign_issuer) {
            (true, _) => format!("{}/.well-known/openid-configuration", habits.issuer_path),
            (false, Some(_)) => "/.well-known/oauth-authorization-server".to_owned(),
            (false, None) => format!("/.well-known/oauth-authorization-server{}", habits.issuer_path),
        };
        let get = request.method == "GET";
        if path == habits.path {
            self.tools(request)
        } else if get && path == of_resource && habits.resource_metadata {
            json_answer(200, &json!({"resource": self.url(), "authorization_servers": [self.issuer()]}))
        } else if get && path == of_server {
            let mut document = json!({
                "issuer": self.issuer(), "authorization_endpoint": format!("{own}/authorize"),
                "token_endpoint": format!("{own}/token"), "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"], "scopes_supported": ["everything", "of", "the", "tenant"],
            });
            if habits.registration != Registration::Absent {
                document["registration_endpoint"] = format!("{own}/register").into();
            }
            if habits.application.is_some() || habits.registration == Registration::WithSecret {
                document["token_endpoint_auth_methods_supported"] = json!(["none", "client_secret_post"]);
            }
            json_answer(200, &document)
        } else if get && path == path_of("authorize") {
            self.authorize(&fields(query))
        } else if request.method == "POST" && path == path_of("token") {
            self.tokens(request)
        } else if request.method == "POST" && path == path_of("register") {
            self.register(request)
        } else {
            Answer { status: 404, headers: String::new(), body: String::new() }
        }
    }

    /// The MCP endpoint, of the handshake era.
    fn tools(&self, request: &Request) -> Answer {
        let token = request.headers.get("authorization").and_then(|value| value.strip_prefix("Bearer "));
        if !token.is_some_and(|token| self.state().access.contains(token)) {
            let metadata = match self.habits.resource_metadata {
                true => format!(
                    " resource_metadata=\"{}/.well-known/oauth-protected-resource{}\"",
                    self.origin,
                    self.habits.path.trim_end_matches('/')
                ),
                false => " realm=\"mcp\"".to_owned(),
            };
            return Answer {
                status: 401,
                headers: format!("www-authenticate: Bearer{metadata}\r\n"),
                body: String::new(),
            };
        }
        let message: Value = serde_json::from_str(&request.body).unwrap_or_default();
        let result = match message["method"].as_str().unwrap_or_default() {
            "initialize" => {
                json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "hosted", "version": "1"}})
            }
            "tools/list" => json!({"tools": [{"name": "hello", "inputSchema": {"type": "object"}}]}),
            "tools/call" => json!({"content": [{"type": "text", "text": "hello"}]}),
            _ if message["id"].is_null() => {
                return Answer { status: 202, headers: String::new(), body: String::new() };
            }
            _ => {
                return json_answer(
                    200,
                    &json!({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no"}}),
                );
            }
        };
        json_answer(200, &json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
    }

    /// A person who consents at once.
    fn authorize(&self, asked: &Fields) -> Answer {
        let redirect = asked.get("redirect_uri").cloned().unwrap_or_default();
        let state = asked.get("state").cloned().unwrap_or_default();
        let known = asked.get("client_id").is_some_and(|id| self.state().clients.contains_key(id));
        let wrong = if !known {
            Some("unknown client")
        } else if !redirect.starts_with(&format!("http://{}:", self.habits.redirect_host)) {
            Some("another redirect address")
        } else if asked.get("code_challenge_method").map(String::as_str) != Some("S256") {
            Some("no PKCE")
        } else if self.habits.demands_scope && asked.get("scope").is_none_or(String::is_empty) {
            Some("no scope")
        } else if asked.get("scope").is_some_and(|scope| scope.contains("tenant")) {
            Some("all scopes of the tenant")
        } else {
            self.wrong_resource(asked)
        };
        let verdict = match wrong {
            Some(why) => {
                self.state().said.push(why.to_owned());
                "error=invalid_request".to_owned()
            }
            None => {
                let mut held = self.state();
                held.issued += 1;
                let code = format!("code-{}", held.issued);
                held.codes.insert(code.clone(), redirect.clone());
                held.said.push("authorized".to_owned());
                format!("code={code}")
            }
        };
        Answer {
            status: 302,
            headers: format!("location: {redirect}?{verdict}&state={state}\r\n"),
            body: String::new(),
        }
    }

    fn wrong_resource(&self, asked: &Fields) -> Option<&'static str> {
        match (self.habits.resource, asked.get("resource")) {
            (Some(true), None) => Some("no resource"),
            (Some(false), Some(_)) => Some("a resource"),
            (_, Some(resource)) if *resource != self.url() => Some("another resource"),
            _ => None,
        }
    }

    fn tokens(&self, request: &Request) -> Answer {
        let asked = fields(&request.body);
        let of = |name: &str| asked.get(name).cloned().unwrap_or_default();
        let refuse = |why: &str, code: &str| {
            self.state().said.push(why.to_owned());
            json_answer(400, &json!({"error": code}))
        };
        let registered = self.state().clients.get(&of("client_id")).cloned();
        match registered {
            Some(secret) if secret.clone().unwrap_or_default() == of("client_secret") => {}
            _ => return refuse("client authentication", "invalid_client"),
        }
        if let Some(why) = self.wrong_resource(&asked) {
            return refuse(why, "invalid_target");
        }
        let mut held = self.state();
        match of("grant_type").as_str() {
            "authorization_code" => {
                let right =
                    held.codes.remove(&of("code")).is_some_and(|redirect| redirect == of("redirect_uri"));
                if !right || of("code_verifier").len() < 43 {
                    drop(held);
                    return refuse("code", "invalid_grant");
                }
                held.said.push("code".to_owned());
            }
            "refresh_token" => {
                let token = of("refresh_token");
                if held.spent.contains(&token) {
                    held.refresh.clear();
                    held.access.clear();
                    drop(held);
                    return refuse("a refresh token came twice", "invalid_grant");
                }
                if !held.refresh.contains(&token) {
                    drop(held);
                    return refuse("refresh token", "invalid_grant");
                }
                if self.habits.rotates {
                    held.refresh.remove(&token);
                    held.spent.insert(token);
                    held.access.clear();
                }
                held.said.push("refreshed".to_owned());
            }
            _ => {
                drop(held);
                return refuse("grant", "unsupported_grant_type");
            }
        }
        held.issued += 1;
        let access = format!("access-token-{:08}", held.issued);
        let mut answer = json!({"access_token": access, "token_type": "bearer", "expires_in": 3600});
        held.access.insert(access);
        if self.habits.rotates || of("grant_type") == "authorization_code" {
            let refresh = format!("refresh-token-{:08}", held.issued);
            answer["refresh_token"] = refresh.as_str().into();
            held.refresh.insert(refresh);
        }
        drop(held);
        json_answer(200, &answer)
    }

    fn register(&self, request: &Request) -> Answer {
        let asked: Value = serde_json::from_str(&request.body).unwrap_or_default();
        let mut held = self.state();
        if self.habits.registration == Registration::Refused {
            held.said.push("registration".to_owned());
            drop(held);
            return json_answer(403, &json!({"error": "access_denied"}));
        }
        held.issued += 1;
        let id = format!("client-{}", held.issued);
        let secret = (self.habits.registration == Registration::WithSecret)
            .then(|| "handed-out-secret-0123456789".to_owned());
        held.clients.insert(id.clone(), secret.clone());
        held.said.push("registered".to_owned());
        drop(held);
        let mut answer = json!({"client_id": id, "redirect_uris": asked["redirect_uris"], "token_endpoint_auth_method": "none"});
        if let Some(secret) = secret {
            answer["client_secret"] = secret.into();
        }
        json_answer(201, &answer)
    }
}

fn json_answer(status: u16, body: &Value) -> Answer {
    Answer { status, headers: "content-type: application/json\r\n".to_owned(), body: body.to_string() }
}

fn fields(text: &str) -> Fields {
    form_urlencoded::parse(text.as_bytes()).into_owned().collect()
}

fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let mut lines = head.lines();
            let mut first = lines.next()?.split(' ').map(str::to_owned);
            let headers: HashMap<_, _> = lines
                .filter_map(|line| line.split_once(": "))
                .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
                .collect();
            let length: usize = headers.get("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
            if bytes.len() >= end + 4 + length {
                let body = String::from_utf8_lossy(&bytes[end + 4..]).into_owned();
                return Some(Request { method: first.next()?, target: first.next()?, headers, body });
            }
        }
        match stream.read(&mut chunk) {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&chunk[..count]),
        }
    }
}
