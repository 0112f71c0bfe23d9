//! How the server behaves, and what befalls requests.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use ptc_mcp::json::Value;

use crate::fake_http::Gate;

/// What a refresh does to the refresh token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rotation {
    /// It stays, and the answer names none.
    Keep,
    /// Each is good for one refresh.
    Rotate,
    /// Likewise, and a second use ends the whole family of tokens, as at Notion. A refresh ends the access tokens before it.
    ReuseEndsFamily,
}

/// What happens to the next request of an endpoint.
#[derive(Clone, Debug)]
pub enum Trouble {
    /// It takes so long, and is then answered as usual.
    Slow(Duration),
    /// It is done, and answered as usual once the gate lets it pass.
    Held(Gate),
    /// This status, with this `Retry-After`, and nothing is done.
    Status(u16, Option<u64>),
    /// This OAuth error with status 400, and nothing is done.
    Error(&'static str),
    /// A redirect to this place, and nothing is done.
    Redirect(String),
    /// It is done, and the connection is closed in place of an answer.
    Lost,
    /// Nothing is done, and there is no answer for as long as the client is there.
    Ignored,
    /// It is done, and there is no answer for as long as the client is there.
    Withheld,
    /// A body of so many bytes.
    Huge(usize),
    /// A page of a proxy with this status.
    Page(u16),
    /// A body that is no JSON, with status 200.
    Garbage,
}

/// How clients become known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Registration {
    /// Whoever asks is registered as a public client.
    Open,
    /// Likewise, but with a secret, which it demands from then on, as Figma does. Its answer names this method.
    WithSecret(&'static str),
    /// The endpoint is there and refuses with this status.
    Refused(u16),
    /// There is no endpoint.
    None,
}

/// What `iss` an answer to the browser has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Iss {
    /// The issuer.
    Right,
    /// None.
    Absent,
    /// This one.
    Other(String),
}

/// How the server behaves. Tests change it while it runs.
#[derive(Clone, Debug)]
pub struct Script {
    /// The path of the MCP endpoint.
    pub path: String,
    /// The path of the issuer.
    pub issuer_path: &'static str,
    /// Whether there are metadata of the server.
    pub has_metadata: bool,
    /// Whether they are only where OpenID appends them to the issuer.
    pub openid_only: bool,
    /// `expires_in` of access tokens.
    pub lifetime: Option<u64>,
    /// How many bytes longer than need be they are.
    pub padding: usize,
    /// What a refresh does to the refresh token.
    pub rotation: Rotation,
    /// How clients become known.
    pub registration: Registration,
    /// `token_endpoint_auth_methods_supported`, and what is taken.
    pub methods: Vec<&'static str>,
    /// `client_id_metadata_document_supported`.
    pub cimd: bool,
    /// `authorization_response_iss_parameter_supported`.
    pub advertises_iss: Option<bool>,
    /// What `iss` an answer to the browser has.
    pub iss: Iss,
    /// `issuer` of the metadata, where it is not the right one.
    pub issuer: Option<Value>,
    /// `jwks_uri`, where it is not the right one.
    pub jwks_uri: Option<String>,
    /// `code_challenge_methods_supported`.
    pub pkce: Option<Vec<&'static str>>,
    /// `resource` of the protected resource metadata, where it is not the URL.
    pub resource: Option<String>,
    /// Whether `resource` must come with each request, or must not.
    pub wants_resource: Option<bool>,
    /// `authorization_servers` of the protected resource metadata, where it is not this one.
    pub servers: Option<Vec<String>>,
    /// Whether there are protected resource metadata.
    pub has_resource_metadata: bool,
    /// `scopes_supported` of both documents.
    pub scopes: Vec<&'static str>,
    /// More of them in the document of the server. Whoever asks for one is refused.
    pub tenant_scopes: Vec<&'static str>,
    /// Whether `scope` must be sent.
    pub demands_scope: bool,
    /// `scope` of challenges.
    pub challenged: Option<&'static str>,
    /// `WWW-Authenticate`, where it is not the right one.
    pub challenge: Option<String>,
    /// The status of challenges, where it is not 401.
    pub challenges_with: Option<u16>,
    /// Names of more tools, by the family of the tokens of who asks: each is also the name of a resource, and of a prompt.
    pub own_tools: HashMap<usize, Vec<&'static str>>,
    /// Whether the next call is told first that the list of tools has changed.
    pub announces_list: bool,
    /// Scopes that the tool `write` needs.
    pub write_needs: Vec<&'static str>,
    /// Secrets of clients that were registered beforehand, by id; without a secret they are public.
    pub clients: HashMap<String, Option<String>>,
    /// Other claims of ID tokens, null for none of them; `typ` is that of the header.
    pub id_token: Value,
    /// What redirect addresses begin with.
    pub redirects: &'static str,
    /// Whether a person who is shown the page says no.
    pub denies: bool,
    /// How often a device is told to be patient before it is signed in.
    pub device_patience: u32,
    /// The status of the page that a person sees whose client is forgotten, where it is no JSON with 422.
    pub forgets_with: Option<u16>,
    /// How a request is told that its token has ended, where it is not by 401: this status, 200 for a result with `isError`.
    pub tells_ended_by: Option<u16>,
    /// What happens next, by path.
    pub trouble: HashMap<&'static str, VecDeque<Trouble>>,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            path: "/mcp".to_owned(),
            issuer_path: "",
            has_metadata: true,
            openid_only: false,
            lifetime: Some(3600),
            padding: 0,
            rotation: Rotation::Rotate,
            registration: Registration::Open,
            methods: vec!["none", "client_secret_basic", "client_secret_post", "private_key_jwt"],
            cimd: false,
            advertises_iss: Some(true),
            iss: Iss::Right,
            issuer: None,
            jwks_uri: None,
            pkce: Some(vec!["S256"]),
            resource: None,
            wants_resource: None,
            servers: None,
            has_resource_metadata: true,
            scopes: Vec::new(),
            tenant_scopes: Vec::new(),
            demands_scope: false,
            challenged: None,
            challenge: None,
            challenges_with: None,
            own_tools: HashMap::new(),
            announces_list: false,
            write_needs: Vec::new(),
            clients: HashMap::new(),
            id_token: Value::Object(Default::default()),
            redirects: "http://",
            denies: false,
            device_patience: 1,
            forgets_with: None,
            tells_ended_by: None,
            trouble: HashMap::new(),
        }
    }
}
