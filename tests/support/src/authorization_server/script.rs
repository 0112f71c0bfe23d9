//! How the server behaves, and what befalls requests.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use ptc_mcp::json::Value;

/// What a refresh does to the refresh token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rotation {
    /// It stays, and the answer names none.
    Keep,
    /// Each is good for one refresh.
    Rotate,
    /// Likewise, and a second use ends the whole family of tokens, as at Notion. A refresh ends the access tokens before it.
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
    /// Nothing is done, and there is no answer for as long as the client is there.
    Ignored,
    /// It is done, and there is no answer for as long as the client is there.
    Withheld,
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
    /// Likewise, but with a secret, which it demands from then on, as Figma does. Its answer names this method.
    WithSecret(&'static str),
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
    /// The path of the MCP endpoint.
    pub(crate) path: String,
    /// The path of the issuer.
    pub(crate) issuer_path: &'static str,
    /// Whether there are metadata of the server.
    pub(crate) has_metadata: bool,
    /// Whether they are only where OpenID appends them to the issuer.
    pub(crate) openid_only: bool,
    /// `expires_in` of access tokens.
    pub(crate) lifetime: Option<u64>,
    /// How many bytes longer than need be they are.
    pub(crate) padding: usize,
    pub(crate) rotation: Rotation,
    pub(crate) registration: Registration,
    /// `token_endpoint_auth_methods_supported`, and what is taken.
    pub(crate) methods: Vec<&'static str>,
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
    /// Whether `resource` must come with each request, or must not.
    pub(crate) wants_resource: Option<bool>,
    /// `authorization_servers` of the protected resource metadata, where it is not this one.
    pub(crate) servers: Option<Vec<String>>,
    /// Whether there are protected resource metadata.
    pub(crate) has_resource_metadata: bool,
    /// `scopes_supported` of both documents.
    pub(crate) scopes: Vec<&'static str>,
    /// More of them in the document of the server. Whoever asks for one is refused.
    pub(crate) tenant_scopes: Vec<&'static str>,
    /// Whether `scope` must be sent.
    pub(crate) demands_scope: bool,
    /// `scope` of challenges.
    pub(crate) challenged: Option<&'static str>,
    /// `WWW-Authenticate`, where it is not the right one.
    pub(crate) challenge: Option<String>,
    /// Scopes that the tool `write` needs.
    pub(crate) write_needs: Vec<&'static str>,
    /// Secrets of clients that were registered beforehand, by id; without a secret they are public.
    pub(crate) clients: HashMap<String, Option<String>>,
    /// What redirect addresses begin with.
    pub(crate) redirects: &'static str,
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
            write_needs: Vec::new(),
            clients: HashMap::new(),
            redirects: "http://",
            denies: false,
            device_patience: 1,
            trouble: HashMap::new(),
        }
    }
}
