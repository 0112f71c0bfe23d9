//! A scriptable authorization server, and the MCP server that it protects, on one loopback port. It consents by itself.
//!
//! Other test crates include this file by its path: it uses nothing but `std`, `serde_json`, `url`, `base64` and `ring`.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD as BASE64, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use url::form_urlencoded;

/// What a refresh does to the refresh token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rotation {
    /// It stays, and the answer names none.
    Keep,
    /// Each is good for one refresh.
    Rotate,
    /// Likewise, and a second use ends the whole family of tokens, as at Notion.
    ReuseEndsFamily,
}

/// What happens to the next request of an endpoint.
#[derive(Clone, Debug)]
pub(crate) enum Trouble {
    /// It takes so long, and is then answered as usual.
    Slow(Duration),
    /// This status, with this `Retry-After`, and nothing is done.
    Status(u16, Option<u64>),
    /// This OAuth error with status 400, and nothing is done.
    Error(&'static str),
    /// A redirect to this place, and nothing is done.
    Redirect(String),
    /// It is done, and the connection is closed in place of an answer.
    Lost,
    /// A body of so many bytes.
    Huge(usize),
    /// A body that is no JSON, with status 200.
    Garbage,
}

/// How clients become known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Registration {
    /// Whoever asks is registered as a public client.
    Open,
    /// Likewise, but with a secret, which it demands from then on, as Figma does.
    WithSecret,
    /// The endpoint is there and refuses with this status.
    Refused(u16),
    /// There is no endpoint.
    None,
}

/// What `iss` an answer to the browser has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Iss {
    /// The issuer.
    Right,
    /// None.
    Absent,
    /// This one.
    Other(String),
}

/// How the server behaves. Tests change it while it runs.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    /// `expires_in` of access tokens.
    pub(crate) lifetime: Option<u64>,
    pub(crate) rotation: Rotation,
    pub(crate) registration: Registration,
    /// `client_id_metadata_document_supported`.
    pub(crate) cimd: bool,
    /// `authorization_response_iss_parameter_supported`.
    pub(crate) advertises_iss: Option<bool>,
    pub(crate) iss: Iss,
    /// `issuer` of the metadata, where it is not the right one.
    pub(crate) issuer: Option<Value>,
    /// `code_challenge_methods_supported`.
    pub(crate) pkce: Option<Vec<&'static str>>,
    /// `resource` of the protected resource metadata, where it is not the URL.
    pub(crate) resource: Option<String>,
    /// `authorization_servers` of the protected resource metadata, where it is not this one.
    pub(crate) servers: Option<Vec<String>>,
    /// Whether there are protected resource metadata.
    pub(crate) has_resource_metadata: bool,
    /// `scopes_supported` of both documents.
    pub(crate) scopes: Vec<&'static str>,
    /// `scope` of challenges.
    pub(crate) challenged: Option<&'static str>,
    /// Scopes that the tool `write` needs.
    pub(crate) write_needs: Vec<&'static str>,
    /// Secrets of clients that were registered beforehand, by id; without a secret they are public.
    pub(crate) clients: HashMap<String, Option<String>>,
    /// Whether a person who is shown the page says no.
    pub(crate) denies: bool,
    /// How often a device is told to be patient before it is signed in.
    pub(crate) device_patience: u32,
    /// What happens next, by path.
    pub(crate) trouble: HashMap<&'static str, VecDeque<Trouble>>,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            lifetime: Some(3600),
            rotation: Rotation::Rotate,
            registration: Registration::Open,
            cimd: false,
            advertises_iss: Some(true),
            iss: Iss::Right,
            issuer: None,
            pkce: Some(vec!["S256"]),
            resource: None,
            servers: None,
            has_resource_metadata: true,
            scopes: Vec::new(),
            challenged: None,
            write_needs: Vec::new(),
            clients: HashMap::new(),
            denies: false,
            device_patience: 1,
            trouble: HashMap::new(),
        }
    }
}

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Hit {
    pub(crate) method: String,
    /// Without its query.
    pub(crate) path: String,
    /// Query and form.
    pub(crate) form: BTreeMap<String, String>,
    pub(crate) headers: Vec<(String, String)>,
    /// The body, where it is JSON.
    pub(crate) json: Value,
    /// The status that it was answered with.
    pub(crate) status: u16,
}

impl Hit {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.form.get(name).map(String::as_str)
    }

    fn bearer(&self) -> Option<&str> {
        self.header("authorization")?.strip_prefix("Bearer ")
    }
}

/// A family of tokens: what came of one consent.
#[derive(Debug)]
struct Family {
    client: String,
    scope: String,
    refresh: String,
    spent: Vec<String>,
    over: bool,
}

#[derive(Debug)]
struct Access {
    family: usize,
    scope: String,
    until: Option<u64>,
}

/// A code that was given out.
struct Code {
    client: String,
    redirect_uri: String,
    challenge: String,
    scope: String,
}

#[derive(Default)]
struct State {
    hits: Vec<Hit>,
    families: Vec<Family>,
    access: HashMap<String, Access>,
    codes: HashMap<String, Code>,
    devices: HashMap<String, (String, String, u32)>,
    /// Of registered clients.
    secrets: HashMap<String, Option<String>>,
    count: u64,
}

struct Shared {
    origin: String,
    script: Mutex<Script>,
    state: Mutex<State>,
    /// Seconds by which its clock is ahead.
    ahead: AtomicU64,
    over: AtomicBool,
}

/// The server. It ends when it is dropped.
pub(crate) struct AuthorizationServer {
    shared: Arc<Shared>,
}

type Answer = (u16, Vec<(String, String)>, Vec<u8>);

impl AuthorizationServer {
    pub(crate) fn start(script: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let shared = Arc::new(Shared {
            origin: format!("http://{}", listener.local_addr().unwrap()),
            script: Mutex::new(script),
            state: Mutex::default(),
            ahead: AtomicU64::new(0),
            over: AtomicBool::new(false),
        });
        let accepting = shared.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if accepting.over.load(Ordering::SeqCst) {
                    return;
                }
                let (shared, stream) = (accepting.clone(), stream.unwrap());
                std::thread::spawn(move || serve(&shared, stream));
            }
        });
        Self { shared }
    }

    /// The issuer, which is the origin.
    pub(crate) fn issuer(&self) -> &str {
        &self.shared.origin
    }

    /// The URL of the MCP server.
    pub(crate) fn mcp(&self) -> String {
        format!("{}/mcp", self.shared.origin)
    }

    pub(crate) fn script(&self) -> MutexGuard<'_, Script> {
        self.shared.script.lock().unwrap()
    }

    /// The next request to `path` meets this.
    pub(crate) fn trouble(&self, path: &'static str, trouble: Trouble) {
        self.script().trouble.entry(path).or_default().push_back(trouble);
    }

    /// All requests to `path` so far.
    pub(crate) fn hits(&self, path: &str) -> Vec<Hit> {
        self.shared.state.lock().unwrap().hits.iter().filter(|hit| hit.path == path).cloned().collect()
    }

    /// All requests so far.
    pub(crate) fn all_hits(&self) -> Vec<Hit> {
        self.shared.state.lock().unwrap().hits.clone()
    }

    /// Token requests of this grant so far.
    pub(crate) fn grants(&self, grant: &str) -> Vec<Hit> {
        self.hits("/token").into_iter().filter(|hit| hit.get("grant_type") == Some(grant)).collect()
    }

    /// Sets its clock ahead.
    pub(crate) fn advance(&self, seconds: u64) {
        self.shared.ahead.fetch_add(seconds, Ordering::SeqCst);
    }

    /// Ends all access tokens, as a server does that has lost its memory; refresh tokens stay.
    pub(crate) fn forget_access(&self) {
        self.shared.state.lock().unwrap().access.clear();
    }

    /// Ends all families.
    pub(crate) fn end_families(&self) {
        let mut state = self.shared.state.lock().unwrap();
        state.families.iter_mut().for_each(|family| family.over = true);
        state.access.clear();
    }

    /// How many refresh tokens have been spent.
    pub(crate) fn rotations(&self) -> usize {
        self.shared.state.lock().unwrap().families.iter().map(|family| family.spent.len()).sum()
    }

    /// Whether any family lives.
    pub(crate) fn is_signed_in(&self) -> bool {
        self.shared.state.lock().unwrap().families.iter().any(|family| !family.over)
    }

    /// Every secret that it has given out.
    pub(crate) fn secrets(&self) -> Vec<String> {
        let state = self.shared.state.lock().unwrap();
        let refresh = state.families.iter().flat_map(|f| f.spent.iter().chain([&f.refresh]).cloned());
        let clients = state.secrets.values().flatten().cloned();
        refresh
            .chain(state.access.keys().cloned())
            .chain(state.codes.keys().cloned())
            .chain(clients)
            .collect()
    }
}

impl Drop for AuthorizationServer {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.shared.origin.trim_start_matches("http://"));
    }
}

/// What a browser does with an authorization URL: goes there, and yields where it is sent.
pub(crate) fn browse(url: &str) -> String {
    let (origin, path) = url.trim_start_matches("http://").split_once('/').unwrap();
    let mut stream = TcpStream::connect(origin).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nhost: {origin}\r\nconnection: close\r\n\r\n").unwrap();
    // The head alone: the connection may stay open.
    let head: Vec<String> =
        BufReader::new(stream).lines().map(Result::unwrap).take_while(|line| !line.is_empty()).collect();
    let location = head.iter().find_map(|line| line.strip_prefix("location: "));
    location.unwrap_or_else(|| panic!("no redirect: {head:?}")).to_owned()
}

fn serve(shared: &Shared, stream: TcpStream) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    while let Some(mut hit) = read(&mut reader) {
        let trouble = {
            let mut script = shared.script.lock().unwrap();
            let key = script.trouble.keys().find(|path| **path == hit.path).copied();
            key.and_then(|key| script.trouble.get_mut(key)?.pop_front())
        };
        let json_header = || ("content-type".to_owned(), "application/json".to_owned());
        let answer: Option<Answer> = match trouble {
            None => Some(shared.answer(&hit)),
            Some(Trouble::Slow(pause)) => {
                let answer = shared.answer(&hit);
                std::thread::sleep(pause);
                Some(answer)
            }
            Some(Trouble::Lost) => {
                shared.answer(&hit);
                None
            }
            Some(Trouble::Status(status, after)) => Some((
                status,
                after.map(|s| ("retry-after".to_owned(), s.to_string())).into_iter().collect(),
                Vec::new(),
            )),
            Some(Trouble::Error(code)) => {
                Some((400, vec![json_header()], json!({"error": code}).to_string().into_bytes()))
            }
            Some(Trouble::Redirect(to)) => Some((307, vec![("location".to_owned(), to)], Vec::new())),
            Some(Trouble::Huge(bytes)) => Some((200, vec![json_header()], vec![b' '; bytes])),
            Some(Trouble::Garbage) => Some((200, vec![json_header()], b"<html>".to_vec())),
        };
        hit.status = answer.as_ref().map_or(0, |answer| answer.0);
        let is_last = hit.headers.iter().any(|(name, value)| name == "connection" && value == "close");
        shared.state.lock().unwrap().hits.push(hit);
        let Some((status, headers, body)) = answer else { return };
        let mut head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n", body.len());
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += "\r\n";
        if stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body)).is_err() || is_last {
            return;
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Hit> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length =
        headers.iter().find(|(name, _)| name == "content-length").map_or(0, |(_, v)| v.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let pairs = form_urlencoded::parse(query.as_bytes());
    let mut form: BTreeMap<String, String> = pairs.into_owned().collect();
    let json = serde_json::from_slice(&body).unwrap_or_default();
    if json == Value::Null {
        form.extend(form_urlencoded::parse(&body).into_owned());
    }
    Some(Hit { method, path: path.to_owned(), form, headers, json, status: 0 })
}

fn json_answer(status: u16, body: &Value) -> Answer {
    (status, vec![("content-type".to_owned(), "application/json".to_owned())], body.to_string().into_bytes())
}

fn error(status: u16, code: &str) -> Answer {
    json_answer(status, &json!({"error": code, "error_description": "as the test wants it"}))
}

impl Shared {
    fn now(&self) -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() + self.ahead.load(Ordering::SeqCst)
    }

    fn answer(&self, hit: &Hit) -> Answer {
        let script = self.script.lock().unwrap().clone();
        let mut state = self.state.lock().unwrap();
        match hit.path.as_str() {
            "/mcp" => self.mcp(hit, &script, &mut state),
            "/openapi.json" | "/items" => self.rest(hit, &script, &state),
            "/.well-known/oauth-protected-resource" | "/.well-known/oauth-protected-resource/mcp"
                if script.has_resource_metadata =>
            {
                let resource = script.resource.clone().unwrap_or_else(|| format!("{}/mcp", self.origin));
                let servers = script.servers.clone().unwrap_or_else(|| vec![self.origin.clone()]);
                let mut document = json!({"resource": resource, "authorization_servers": servers});
                if !script.scopes.is_empty() {
                    document["scopes_supported"] = json!(script.scopes);
                }
                json_answer(200, &document)
            }
            "/.well-known/oauth-authorization-server" => json_answer(200, &self.metadata(&script)),
            "/register" => register(hit, &script, &mut state),
            "/authorize" => self.authorize(hit, &script, &mut state),
            "/token" => self.token(hit, &script, &mut state),
            "/device" => device(self, hit, &script, &mut state),
            "/revoke" => {
                let token = hit.get("token").unwrap_or_default();
                for family in state.families.iter_mut().filter(|family| family.refresh == token) {
                    family.over = true;
                }
                state.access.remove(token);
                (200, Vec::new(), Vec::new())
            }
            _ => (404, Vec::new(), Vec::new()),
        }
    }

    fn metadata(&self, script: &Script) -> Value {
        let at = |path: &str| format!("{}{path}", self.origin);
        let mut document = json!({
            "issuer": script.issuer.clone().unwrap_or_else(|| json!(self.origin)),
            "authorization_endpoint": at("/authorize"),
            "token_endpoint": at("/token"),
            "revocation_endpoint": at("/revoke"),
            "device_authorization_endpoint": at("/device"),
            "response_types_supported": ["code"],
            "token_endpoint_auth_methods_supported":
                ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"],
        });
        if script.registration != Registration::None {
            document["registration_endpoint"] = json!(at("/register"));
        }
        if let Some(methods) = &script.pkce {
            document["code_challenge_methods_supported"] = json!(methods);
        }
        if let Some(advertises) = script.advertises_iss {
            document["authorization_response_iss_parameter_supported"] = json!(advertises);
        }
        if script.cimd {
            document["client_id_metadata_document_supported"] = json!(true);
        }
        if !script.scopes.is_empty() {
            document["scopes_supported"] = json!(script.scopes);
        }
        if script.issuer == Some(Value::Null) {
            document.as_object_mut().unwrap().remove("issuer");
        }
        document
    }

    fn authorize(&self, hit: &Hit, script: &Script, state: &mut State) -> Answer {
        let get = |name: &str| hit.get(name).unwrap_or_default().to_owned();
        if get("code_challenge_method") != "S256" || get("state").is_empty() || get("response_type") != "code"
        {
            return error(400, "invalid_request");
        }
        let mut back = form_urlencoded::Serializer::new(String::new());
        back.append_pair("state", &get("state"));
        match &script.iss {
            Iss::Right => drop(back.append_pair("iss", &self.origin)),
            Iss::Other(other) => drop(back.append_pair("iss", other)),
            Iss::Absent => {}
        }
        if script.denies {
            back.append_pair("error", "access_denied");
        } else {
            state.count += 1;
            let code = format!("the-code-of-consent-{}", state.count);
            back.append_pair("code", &code);
            let (client, redirect_uri) = (get("client_id"), get("redirect_uri"));
            state.codes.insert(
                code,
                Code { client, redirect_uri, challenge: get("code_challenge"), scope: get("scope") },
            );
        }
        (302, vec![("location".to_owned(), format!("{}?{}", get("redirect_uri"), back.finish()))], Vec::new())
    }

    fn token(&self, hit: &Hit, script: &Script, state: &mut State) -> Answer {
        let client = match authenticated(hit, script, state) {
            Ok(client) => client,
            Err(answer) => return answer,
        };
        let family = match hit.get("grant_type").unwrap_or_default() {
            "authorization_code" => {
                let code = hit.get("code").and_then(|code| state.codes.remove(code));
                let verifier = hit.get("code_verifier").unwrap_or_default();
                let hash = ring::digest::digest(&ring::digest::SHA256, verifier.as_bytes());
                let code = code.filter(|code| {
                    code.client == client
                        && Some(code.redirect_uri.as_str()) == hit.get("redirect_uri")
                        && code.challenge == URL_SAFE_NO_PAD.encode(hash)
                });
                let Some(code) = code else { return error(400, "invalid_grant") };
                state.begin(client, code.scope)
            }
            "refresh_token" => {
                let token = hit.get("refresh_token").unwrap_or_default();
                let spent = |family: &Family| family.spent.iter().any(|spent| spent == token);
                if let Some(family) = state.families.iter().position(spent) {
                    if script.rotation == Rotation::ReuseEndsFamily {
                        state.families[family].over = true;
                        state.access.retain(|_, access| access.family != family);
                    }
                    return error(400, "invalid_grant");
                }
                let lives =
                    |family: &Family| family.refresh == token && !family.over && family.client == client;
                let Some(family) = state.families.iter().position(lives) else {
                    return error(400, "invalid_grant");
                };
                if script.rotation != Rotation::Keep {
                    state.count += 1;
                    let next = format!("refresh+token/{}=of-{family}", state.count);
                    let old = std::mem::replace(&mut state.families[family].refresh, next);
                    state.families[family].spent.push(old);
                }
                family
            }
            "client_credentials" => state.begin(client, hit.get("scope").unwrap_or_default().to_owned()),
            "urn:ietf:params:oauth:grant-type:device_code" => {
                let code = hit.get("device_code").unwrap_or_default();
                match state.devices.get_mut(code) {
                    None => return error(400, "expired_token"),
                    Some(_) if script.denies => return error(400, "access_denied"),
                    Some((_, _, patience @ 1..)) => {
                        *patience -= 1;
                        return error(400, "authorization_pending");
                    }
                    Some((client, scope, 0)) => {
                        let (client, scope) = (client.clone(), scope.clone());
                        state.devices.remove(code);
                        state.begin(client, scope)
                    }
                }
            }
            _ => return error(400, "unsupported_grant_type"),
        };
        state.count += 1;
        let token = format!("access-token-{}-\"quoted\" of {family}", state.count).replace(['"', ' '], "~");
        let scope = state.families[family].scope.clone();
        let until = script.lifetime.map(|lifetime| self.now() + lifetime);
        state.access.insert(token.clone(), Access { family, scope: scope.clone(), until });
        let mut answer = json!({"access_token": token, "token_type": "Bearer"});
        if let Some(lifetime) = script.lifetime {
            answer["expires_in"] = json!(lifetime);
        }
        if !scope.is_empty() {
            answer["scope"] = json!(scope);
        }
        let grant = hit.get("grant_type");
        if grant != Some("client_credentials")
            && !(grant == Some("refresh_token") && script.rotation == Rotation::Keep)
        {
            answer["refresh_token"] = json!(state.families[family].refresh);
        }
        json_answer(200, &answer)
    }

    /// Who asks with a good token.
    fn admitted<'s>(&self, hit: &Hit, state: &'s State) -> Option<&'s Access> {
        let access = state.access.get(hit.bearer()?)?;
        access.until.is_none_or(|until| self.now() < until).then_some(access)
    }

    fn challenge(&self, hit: &Hit, script: &Script) -> Answer {
        let mut challenge = String::from("Bearer ");
        if hit.bearer().is_some() {
            challenge += "error=\"invalid_token\", ";
        }
        if script.has_resource_metadata {
            challenge +=
                &format!("resource_metadata=\"{}/.well-known/oauth-protected-resource/mcp\"", self.origin);
        } else {
            challenge += "realm=\"mcp\"";
        }
        if let Some(scope) = script.challenged {
            challenge += &format!(", scope=\"{scope}\"");
        }
        (401, vec![("www-authenticate".to_owned(), challenge)], Vec::new())
    }

    fn mcp(&self, hit: &Hit, script: &Script, state: &mut State) -> Answer {
        let Some(access) = self.admitted(hit, state) else { return self.challenge(hit, script) };
        if hit.method != "POST" {
            return (if hit.method == "DELETE" { 200 } else { 405 }, Vec::new(), Vec::new());
        }
        let method = hit.json["method"].as_str().unwrap_or_default();
        let result = match method {
            "initialize" => {
                json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "scripted", "version": "1"}})
            }
            "tools/list" => {
                let tools =
                    ["whoami", "write"].map(|name| json!({"name": name, "inputSchema": {"type": "object"}}));
                json!({"tools": tools})
            }
            "tools/call" => {
                let needs = if hit.json["params"]["name"] == "write" { &script.write_needs[..] } else { &[] };
                let has = |scope: &&str| access.scope.split(' ').any(|had| had == *scope);
                if !needs.iter().all(has) {
                    let challenge = format!(
                        "Bearer error=\"insufficient_scope\", scope=\"{}\", resource_metadata=\"{}/.well-known/oauth-protected-resource/mcp\"",
                        needs.join(" "),
                        self.origin
                    );
                    return (403, vec![("www-authenticate".to_owned(), challenge)], Vec::new());
                }
                // A server that echoes what it should not.
                let echoed = hit.header("authorization").unwrap_or_default();
                json!({"content": [{"type": "text", "text": format!("family {} echoes {echoed}", access.family)}]})
            }
            _ if hit.json.get("id").is_none() => return (202, Vec::new(), Vec::new()),
            _ => {
                return json_answer(
                    200,
                    &json!({"jsonrpc": "2.0", "id": hit.json["id"], "error": {"code": -32601, "message": "no such method"}}),
                );
            }
        };
        let mut answer = json_answer(200, &json!({"jsonrpc": "2.0", "id": hit.json["id"], "result": result}));
        if method == "initialize" {
            answer.1.push(("mcp-session-id".to_owned(), "session-1".to_owned()));
        }
        answer
    }

    fn rest(&self, hit: &Hit, script: &Script, state: &State) -> Answer {
        if self.admitted(hit, state).is_none() {
            return self.challenge(hit, script);
        }
        json_answer(
            200,
            &match hit.path.as_str() {
                "/items" => json!([1, 2]),
                _ => {
                    json!({"openapi": "3.0.0", "paths": {"/items": {"get": {"operationId": "items", "responses": {}}}}})
                }
            },
        )
    }
}

impl State {
    /// A new family of tokens.
    fn begin(&mut self, client: String, scope: String) -> usize {
        self.count += 1;
        let refresh = format!("refresh+token/{}=of-{}", self.count, self.families.len());
        self.families.push(Family { client, scope, refresh, spent: Vec::new(), over: false });
        self.families.len() - 1
    }
}

/// The client of a request, if it is who it says.
fn authenticated(hit: &Hit, script: &Script, state: &State) -> Result<String, Answer> {
    let basic = hit.header("authorization").and_then(|value| value.strip_prefix("Basic "));
    let decoded =
        |text: &str| form_urlencoded::parse(format!("x={text}").as_bytes()).next().unwrap().1.into_owned();
    let pair = basic.and_then(|text| String::from_utf8(BASE64.decode(text).ok()?).ok());
    let (id, secret) = match pair.as_deref().and_then(|pair| pair.split_once(':')) {
        Some((id, secret)) => (decoded(id), Some(decoded(secret))),
        None => {
            (hit.get("client_id").unwrap_or_default().to_owned(), hit.get("client_secret").map(str::to_owned))
        }
    };
    if hit.get("client_assertion").is_some() {
        return Ok(hit.get("client_id").unwrap_or("by-assertion").to_owned());
    }
    let known = script.clients.get(&id).or_else(|| state.secrets.get(&id));
    match known {
        Some(expected) if *expected == secret || (expected.is_none() && secret.is_none()) => Ok(id),
        None if script.cimd && id.starts_with("https://") => Ok(id),
        _ => Err(error(401, "invalid_client")),
    }
}

fn register(hit: &Hit, script: &Script, state: &mut State) -> Answer {
    if let Registration::Refused(status) = script.registration {
        return error(status, "access_denied");
    }
    if script.registration == Registration::None {
        return (404, Vec::new(), Vec::new());
    }
    state.count += 1;
    let id = format!("client-{}", state.count);
    let secret = (script.registration == Registration::WithSecret)
        .then(|| format!("secret/of+client-{}", state.count));
    state.secrets.insert(id.clone(), secret.clone());
    let mut answer = hit.json.clone();
    answer["client_id"] = json!(id);
    if let Some(secret) = secret {
        answer["client_secret"] = json!(secret);
        answer["token_endpoint_auth_method"] = json!("client_secret_post");
    }
    json_answer(201, &answer)
}

fn device(shared: &Shared, hit: &Hit, script: &Script, state: &mut State) -> Answer {
    let client = match authenticated(hit, script, state) {
        Ok(client) => client,
        Err(answer) => return answer,
    };
    state.count += 1;
    let code = format!("device-code-{}", state.count);
    let scope = hit.get("scope").unwrap_or_default().to_owned();
    state.devices.insert(code.clone(), (client, scope, script.device_patience));
    json_answer(
        200,
        &json!({
            "device_code": code, "user_code": "WDJB-MJHT", "verification_uri": format!("{}/activate", shared.origin),
            "expires_in": 900, "interval": 1
        }),
    )
}
