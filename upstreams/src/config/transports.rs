//! The three kinds of upstream entry and their keys.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ptc_mcp::json::{Map, Value};
use url::Url;

use super::ca_file;
use super::child_env::child_env;
use super::fields::Fields;
use super::oauth::{OAuthConfig, check_plain_url};
use super::routing::Routing;
use super::urls::{check_insecure_auth, parse_url};
use crate::child::{ChildEnv, ChildSpec, resolve_command};
use ptc_base::config_error::{ConfigError, ConfigWarning};
use ptc_base::environment::ProcessEnv;
use ptc_http::Certificates;
use ptc_secret::credentials::{CredentialStore, HttpAuth, Secret};

/// A package runner that fetches its package first takes this long and longer.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(60);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_RESPONSE_BYTES: usize = 2 * 1024 * 1024;

/// How an upstream is reached.
#[derive(Clone, Debug, PartialEq)]
pub enum Transport {
    /// A child process that speaks MCP on its standard streams (`mcp_stdio`).
    Stdio(StdioConfig),
    /// A Streamable HTTP endpoint (`mcp_http`), or one of HTTP+SSE (`mcp_sse`).
    Http(HttpConfig),
    /// Selected GET operations of a REST service (`openapi`).
    OpenApi(OpenApiConfig),
}

impl Transport {
    /// The word in the file.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Stdio(_) => "mcp_stdio",
            Self::Http(HttpConfig { old_stream: true, .. }) => "mcp_sse",
            Self::Http(_) => "mcp_http",
            Self::OpenApi(_) => "openapi",
        }
    }

    /// The bound of the wait for the head of an answer, if there is one.
    #[must_use]
    pub fn first_byte_timeout(&self) -> Option<Duration> {
        match self {
            Self::Http(entry) => entry.first_byte_timeout,
            Self::Stdio(_) | Self::OpenApi(_) => None,
        }
    }

    /// The bound of one call that the entry sets, if it has one.
    #[must_use]
    pub fn request_timeout(&self) -> Option<Duration> {
        match self {
            Self::Stdio(entry) => entry.request_timeout,
            Self::Http(entry) => Some(entry.request_timeout),
            Self::OpenApi(entry) => Some(entry.request_timeout),
        }
    }

    /// The operator's headers, for transports that speak HTTP.
    pub fn auth(&self) -> Option<&HttpAuth> {
        match self {
            Self::Stdio(_) => None,
            Self::Http(entry) => Some(&entry.auth),
            Self::OpenApi(entry) => Some(&entry.auth),
        }
    }

    /// How sign-ins are obtained, for entries whose `auth` is of type `oauth`.
    pub fn oauth(&self) -> Option<&Arc<OAuthConfig>> {
        match self {
            Self::Stdio(_) => None,
            Self::Http(entry) => entry.oauth.as_ref(),
            Self::OpenApi(entry) => entry.oauth.as_ref(),
        }
    }

    /// The URL of the upstream, for transports that have one.
    pub fn url(&self) -> Option<&Url> {
        match self {
            Self::Stdio(_) => None,
            Self::Http(entry) => Some(&entry.url),
            Self::OpenApi(entry) => Some(&entry.base_url),
        }
    }
}

/// Which era of MCP to speak to an upstream (ruling 29).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// Find out: stdio tries the handshake first, HTTP the modern era.
    #[default]
    Auto,
    /// `initialize`, revisions 2024-11-05 to 2025-11-25.
    Handshake,
    /// Per-request `_meta`, revision 2026-07-28.
    Modern,
}

impl Protocol {
    fn parse(fields: &Fields<'_>) -> Result<Self, ConfigError> {
        match fields.get("protocol") {
            None => Ok(Self::Auto),
            Some(Value::String(word)) if word == "auto" => Ok(Self::Auto),
            Some(Value::String(word)) if word == "handshake" => Ok(Self::Handshake),
            Some(Value::String(word)) if word == "modern" => Ok(Self::Modern),
            Some(other) => {
                Err(fields.error(format_args!("protocol must be auto, handshake or modern, got {other}")))
            }
        }
    }
}

/// An `mcp_stdio` entry.
#[derive(Clone, Debug, PartialEq)]
pub struct StdioConfig {
    /// The program, to be resolved with the child's search path.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its whole environment.
    pub env: ChildEnv,
    /// Its working folder.
    pub cd: Option<PathBuf>,
    /// Which era to speak.
    pub protocol: Protocol,
    /// Bound on starting, handshake and listing, each request on its own.
    pub handshake_timeout: Duration,
    /// Upper bound of one call besides the program's own; `None` if the entry sets none.
    pub request_timeout: Option<Duration>,
    /// Largest handshake reply or page of tools, in bytes. Calls use the program's limit.
    pub max_response_bytes: usize,
}

impl StdioConfig {
    /// An entry with nothing but a command: no arguments, an empty environment, defaults elsewhere.
    pub fn for_command(command: impl Into<String>) -> Self {
        Self {
            command: command.into(),
            args: Vec::new(),
            env: ChildEnv::default(),
            cd: None,
            protocol: Protocol::Auto,
            handshake_timeout: HANDSHAKE_TIMEOUT,
            request_timeout: None,
            max_response_bytes: MAX_RESPONSE_BYTES,
        }
    }

    /// The program that starts; `None` if there is none.
    pub fn program(&self) -> Option<PathBuf> {
        resolve_command(&self.command, self.cd.as_deref(), self.env.path())
    }

    pub(super) fn parse(
        fields: &Fields<'_>,
        env: &ProcessEnv,
        withheld: &BTreeSet<String>,
        resolved: &mut Vec<Secret>,
    ) -> Result<Self, ConfigError> {
        if let Some(Value::Object(_)) = fields.peek("auth") {
            return Err(fields.error("auth of type \"oauth\" needs transport mcp_http or openapi"));
        }
        let command = fields.required_string("command")?;
        let args = fields.strings("args")?.unwrap_or_default();
        let entry = Self {
            env: child_env(fields, env, withheld, resolved)?,
            args,
            cd: fields.either(["cd", "cwd"], Fields::string)?.filter(|cd| !cd.is_empty()).map(PathBuf::from),
            protocol: Protocol::parse(fields)?,
            handshake_timeout: fields.millis("handshake_timeout_ms")?.unwrap_or(HANDSHAKE_TIMEOUT),
            request_timeout: request_timeout(fields)?,
            max_response_bytes: fields.positive("max_response_bytes")?.unwrap_or(MAX_RESPONSE_BYTES),
            ..Self::for_command(command)
        };
        if entry.args.iter().any(|arg| arg.contains('\0')) || command.contains('\0') {
            return Err(fields.error("has NUL in command or args"));
        }
        Ok(entry)
    }
}

impl From<&StdioConfig> for ChildSpec {
    fn from(entry: &StdioConfig) -> Self {
        Self {
            command: entry.command.clone(),
            args: entry.args.clone(),
            env: entry.env.clone(),
            directory: entry.cd.clone(),
        }
    }
}

/// An `mcp_http` or `mcp_sse` entry.
#[derive(Clone, Debug, PartialEq)]
pub struct HttpConfig {
    /// The endpoint.
    pub url: Url,
    /// The endpoint as the file spells it, without its fragment.
    pub url_text: String,
    /// The operator's headers.
    pub auth: HttpAuth,
    /// How sign-ins are obtained, if calls need one.
    pub oauth: Option<Arc<OAuthConfig>>,
    /// How requests get there.
    pub routing: Routing,
    /// Certificates that are trusted besides those of the system and of `--ca-file`.
    pub certificates: Option<Certificates>,
    /// Whether the endpoint is known to speak HTTP+SSE of 2024-11-05 (`mcp_sse`). Others are asked first.
    pub old_stream: bool,
    /// Which era to speak.
    pub protocol: Protocol,
    /// Bound on one handshake request, connecting included.
    pub handshake_timeout: Duration,
    /// Upper bound of one request besides the program's own.
    pub request_timeout: Duration,
    /// Bound on TCP and TLS.
    pub connect_timeout: Duration,
    /// Bound on the wait for the head of a call's answer, from the first byte written; without it only the bound on the whole
    /// call.
    pub first_byte_timeout: Option<Duration>,
    /// Largest response body in bytes; calls use the smaller of this and the program's limit.
    pub max_response_bytes: usize,
}

impl HttpConfig {
    /// An entry with nothing but a URL: no headers of the operator's, defaults elsewhere.
    pub fn for_url(url: Url) -> Self {
        Self {
            url_text: url.as_str().to_owned(),
            url,
            auth: HttpAuth::default(),
            oauth: None,
            routing: Routing::Direct,
            certificates: None,
            old_stream: false,
            protocol: Protocol::Auto,
            handshake_timeout: HANDSHAKE_TIMEOUT,
            request_timeout: REQUEST_TIMEOUT,
            connect_timeout: CONNECT_TIMEOUT,
            first_byte_timeout: None,
            max_response_bytes: MAX_RESPONSE_BYTES,
        }
    }

    pub(super) fn parse(
        fields: &Fields<'_>,
        env: &ProcessEnv,
        store: &CredentialStore,
        base_dir: Option<&Path>,
        old_stream: bool,
        resolved: &mut Vec<Secret>,
    ) -> Result<Self, ConfigError> {
        let (auth, oauth) = auth(fields, store, base_dir, "url")?;
        let insecure = InsecureOptIns::parse(fields)?;
        let url_text = fields.get("url").and_then(Value::as_str).unwrap_or_default();
        let url_text = url_text.split('#').next().unwrap_or_default().to_owned();
        let url = parse_url(fields, "url", fields.required_string("url")?, insecure.http)?;
        check_insecure_auth(fields, [&url].into_iter(), auth.has_credentials(), insecure.auth)?;
        auth.check_collisions(fields.upstream)?;
        let routing = Routing::parse(fields, env, store, resolved)?;
        let certificates = ca_file::parse(fields, env, base_dir, [&url].into_iter())?;
        let protocol = if old_stream { Protocol::Handshake } else { Protocol::parse(fields)? };
        Ok(Self {
            auth,
            oauth,
            url_text,
            routing,
            certificates,
            old_stream,
            protocol,
            handshake_timeout: fields.millis("handshake_timeout_ms")?.unwrap_or(HANDSHAKE_TIMEOUT),
            request_timeout: request_timeout(fields)?.unwrap_or(REQUEST_TIMEOUT),
            connect_timeout: fields.millis("connect_timeout_ms")?.unwrap_or(CONNECT_TIMEOUT),
            first_byte_timeout: fields.millis("first_byte_timeout_ms")?,
            max_response_bytes: fields.positive("max_response_bytes")?.unwrap_or(MAX_RESPONSE_BYTES),
            ..Self::for_url(url)
        })
    }
}

/// The operator's headers, and how sign-ins are obtained: `auth` is a list for the one and an object for the other.
fn auth(
    fields: &Fields<'_>,
    store: &CredentialStore,
    base_dir: Option<&Path>,
    url_key: &'static str,
) -> Result<(HttpAuth, Option<Arc<OAuthConfig>>), ConfigError> {
    let oauth = OAuthConfig::parse(fields, store, base_dir)?;
    let emitters = fields.get("auth").filter(|_| oauth.is_none());
    let auth = HttpAuth::parse(fields.upstream, emitters, fields.get("static_headers"))?;
    auth.check_bindings(fields.upstream, store)?;
    if oauth.is_some() {
        check_plain_url(fields, url_key)?;
    }
    Ok((auth, oauth.map(Arc::new)))
}

/// Where an OpenAPI document is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemaSource {
    /// A file; relative paths are resolved against the folder of the upstreams file.
    File(PathBuf),
    /// A URL, fetched once at start with the headers that calls carry, never across a redirect.
    Url(Url),
}

/// The `operation_overrides` of one operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperationOverride {
    /// Tool name, before normalisation.
    pub name: Option<String>,
    /// Tool description.
    pub description: Option<String>,
    /// Default arguments, which callers may override.
    pub default_args: Option<Map>,
}

/// An `openapi` entry.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenApiConfig {
    /// Origin and path prefix of every call.
    pub base_url: Url,
    /// The document.
    pub schema: SchemaSource,
    /// The `operationId`s that become tools, in the order of the file.
    pub include_operations: Vec<String>,
    /// By `operationId`.
    pub overrides: BTreeMap<String, OperationOverride>,
    /// The operator's headers.
    pub auth: HttpAuth,
    /// How sign-ins are obtained, if calls need one.
    pub oauth: Option<Arc<OAuthConfig>>,
    /// How requests get there, that for the document included.
    pub routing: Routing,
    /// Certificates that are trusted besides those of the system and of `--ca-file`.
    pub certificates: Option<Certificates>,
    /// Upper bound of one request besides the program's own.
    pub request_timeout: Duration,
    /// Bound on TCP and TLS.
    pub connect_timeout: Duration,
    /// Bound on the wait for the head of a call's answer, from the first byte written; without it only the bound on the whole
    /// call.
    pub first_byte_timeout: Option<Duration>,
    /// Largest response body in bytes; calls use the smaller of this and the program's limit.
    pub max_response_bytes: usize,
    /// Largest OpenAPI document in bytes, enforced before it is decoded.
    pub schema_max_bytes: usize,
}

impl OpenApiConfig {
    pub(super) fn parse(
        fields: &Fields<'_>,
        env: &ProcessEnv,
        store: &CredentialStore,
        base_dir: Option<&Path>,
        resolved: &mut Vec<Secret>,
        warnings: &mut Vec<ConfigWarning>,
    ) -> Result<Self, ConfigError> {
        let (auth, oauth) = auth(fields, store, base_dir, "base_url")?;
        let insecure = InsecureOptIns::parse(fields)?;
        let base_url = parse_url(fields, "base_url", fields.required_string("base_url")?, insecure.http)?;
        if base_url.query().is_some() || base_url.fragment().is_some() {
            return Err(fields.error("base_url must not have a query or a fragment"));
        }
        let schema_url = match fields.string("schema_url")?.filter(|text| !text.is_empty()) {
            Some(text) => Some(parse_url(fields, "schema_url", text, insecure.http)?),
            None => None,
        };
        let credentialed = [Some(&base_url), schema_url.as_ref()].into_iter().flatten();
        check_insecure_auth(fields, credentialed, auth.has_credentials(), insecure.auth)?;
        auth.check_collisions(fields.upstream)?;
        let urls = [Some(&base_url), schema_url.as_ref()].into_iter().flatten();
        let certificates = ca_file::parse(fields, env, base_dir, urls)?;
        let include_operations = include_operations(fields)?;
        let schema_file = fields.string("schema_file")?.filter(|text| !text.is_empty());
        let schema = match (schema_file, schema_url) {
            (Some(file), None) => {
                SchemaSource::File(base_dir.map_or_else(|| file.into(), |dir| dir.join(file)))
            }
            (None, Some(url)) => SchemaSource::Url(url),
            _ => return Err(fields.error("must set exactly one of schema_file or schema_url")),
        };
        if let SchemaSource::Url(url) = &schema
            && url.origin() != base_url.origin()
            && auth.has_credentials()
        {
            warnings.push(ConfigWarning::new(
                "schema_url_other_origin",
                Some(fields.upstream),
                format_args!(
                    "upstream {} sends its credentials to the schema host {} too, which is not the origin of base_url",
                    fields.upstream,
                    url.host_str().unwrap_or_default()
                ),
            ));
        }
        let overrides = overrides(fields)?;
        for id in overrides.keys().filter(|id| !include_operations.contains(id)) {
            warnings.push(ConfigWarning::new(
                "operation_override_unused",
                Some(fields.upstream),
                format_args!(
                    "upstream {} overrides operation {id:?}, which include_operations does not list",
                    fields.upstream
                ),
            ));
        }
        Ok(Self {
            base_url,
            schema,
            include_operations,
            overrides,
            auth,
            oauth,
            routing: Routing::parse(fields, env, store, resolved)?,
            certificates,
            request_timeout: request_timeout(fields)?.unwrap_or(REQUEST_TIMEOUT),
            connect_timeout: fields.millis("connect_timeout_ms")?.unwrap_or(CONNECT_TIMEOUT),
            first_byte_timeout: fields.millis("first_byte_timeout_ms")?,
            max_response_bytes: fields.positive("max_response_bytes")?.unwrap_or(MAX_RESPONSE_BYTES),
            schema_max_bytes: fields.positive("schema_max_bytes")?.unwrap_or(MAX_RESPONSE_BYTES),
        })
    }
}

struct InsecureOptIns {
    http: bool,
    auth: bool,
}

impl InsecureOptIns {
    fn parse(fields: &Fields<'_>) -> Result<Self, ConfigError> {
        // What goes over a socket does not leave this machine.
        let stays_here = fields.string("unix_socket")?.is_some_and(|path| !path.is_empty());
        Ok(Self {
            http: fields.bool("allow_insecure_http")?.unwrap_or(false) || stays_here,
            auth: fields.bool("allow_insecure_auth")?.unwrap_or(false) || stays_here,
        })
    }
}

/// `request_timeout_ms`, alias `timeout_ms` (ruling 24).
fn request_timeout(fields: &Fields<'_>) -> Result<Option<Duration>, ConfigError> {
    fields.either(["request_timeout_ms", "timeout_ms"], Fields::millis)
}

fn include_operations(fields: &Fields<'_>) -> Result<Vec<String>, ConfigError> {
    let fail = || fields.error("requires non-empty include_operations");
    let Some(Value::Array(items)) = fields.get("include_operations") else { return Err(fail()) };
    let mut ids: Vec<String> = Vec::with_capacity(items.len());
    for item in items {
        let id = item.as_str().filter(|id| !id.is_empty()).ok_or_else(fail)?;
        if ids.iter().any(|known| known == id) {
            return Err(fields.error(format_args!("lists operation {id:?} twice in include_operations")));
        }
        ids.push(id.to_owned());
    }
    if ids.is_empty() { Err(fail()) } else { Ok(ids) }
}

fn overrides(fields: &Fields<'_>) -> Result<BTreeMap<String, OperationOverride>, ConfigError> {
    let mut all = BTreeMap::new();
    for (id, value) in fields.object("operation_overrides")?.into_iter().flatten() {
        let fail = |what: &str| fields.error(format_args!("operation_overrides {id:?} {what}"));
        let Value::Object(entry) = value else { return Err(fail("must be an object")) };
        let text = |key: &str| match entry.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(fail(&format!("{key} must be a string"))),
        };
        let default_args = match entry.get("default_args") {
            None | Some(Value::Null) => None,
            Some(Value::Object(args)) => Some(args.clone()),
            Some(_) => return Err(fail("default_args must be an object")),
        };
        if let Some(key) =
            entry.keys().find(|k| !["name", "description", "default_args"].contains(&k.as_str()))
        {
            return Err(fail(&format!("has unknown key {key:?}")));
        }
        let over = OperationOverride { name: text("name")?, description: text("description")?, default_args };
        all.insert(id.clone(), over);
    }
    Ok(all)
}
