//! The options of the HTTP listener, and the combinations that prevent a start.

use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use ptc_host::credentials::Secret;
use ptc_host::ordinary_file;
use ptc_host::sign_in::PROCESS;

use super::values::{Values, shown_url};
use ptc_protocol::principal::ANONYMOUS;
use ptc_protocol::settings::BootError;
use ptc_protocol::settings::{EvaluationLimits, Health, Http, NamedToken, PublicUrl, RateLimit};
use ptc_runs::webhook::ANSWERS;

/// Least length of a token, in bytes.
const MIN_TOKEN_BYTES: usize = 32;
/// The paths of the sign-in page.
const SIGN_IN_PATHS: [&str; 5] =
    ["/oauth/start", "/oauth/callback", "/oauth/login", "/oauth/login/callback", "/oauth/logout"];
/// The path of the metadata for OAuth clients.
const METADATA_PATH: &str = "/.well-known/oauth-protected-resource";
/// Longest token.
const MAX_TOKEN_BYTES: usize = 16 << 10;
/// The names of tokens that have none.
const UNNAMED: [&str; 2] = ["default", "operator"];
/// The principal of shared sign-ins.
const EVERYONE: &str = "*";
/// Largest token file that is read, in bytes.
const MAX_TOKEN_FILE_BYTES: u64 = 1 << 20;

/// Interprets the HTTP options; `None` unless `--http` is on. While it is off, nothing about them is an error but that access tokens
/// are wanted, as nobody would ask for them.
pub(super) fn resolve(
    values: &mut Values<'_>,
    limits: &EvaluationLimits,
    has_upstreams: bool,
) -> Result<Option<Http>, BootError> {
    if !values.switch("http") {
        super::access_tokens::check_pipe(values)?;
        return Ok(None);
    }
    let host = host(values)?;
    let path = absolute(values.word("http-path"));
    let metrics_path = absolute(values.word("http-metrics-path"));
    let console = values.switch("console");
    let mut paths = vec!["/health", "/ready", &path, &metrics_path];
    if console {
        paths.push("/console");
    }
    let public_url = public_url(values)?;
    if public_url.is_some() {
        paths.extend(SIGN_IN_PATHS);
    }
    if !values.list("issuer").is_empty() {
        paths.push(METADATA_PATH);
    }
    if values.text("approval-webhook-url").is_some() {
        paths.push(ANSWERS);
    }
    if (1..paths.len()).any(|at| paths[..at].contains(&paths[at])) {
        return Err(BootError::new("HTTP paths must be distinct"));
    }
    let tokens = read_all(values)?;
    let auth_disabled = values.switch("http-disable-auth");
    let oauth =
        super::access_tokens::resolve(values, public_url.as_ref(), auth_disabled, !tokens.is_empty())?;
    let unsafe_network = values.switch("http-allow-unsafe-network");
    let has_auth = !tokens.is_empty() || oauth.is_some();
    check_auth(host, has_auth, auth_disabled, unsafe_network, has_upstreams)?;
    let port = values.number("http-port")?;
    let port = u16::try_from(port).map_err(|_| {
        BootError::new(format!(
            "{} must be a port number from 1 to 65535, got: {port}",
            values.shown("http-port")
        ))
    })?;
    let tls = match (values.path("http-tls-cert"), values.path("http-tls-key")) {
        (Some(cert), Some(key)) => Some((cert, key)),
        (None, None) => None,
        _ => return Err(BootError::new("--http-tls-cert and --http-tls-key must be given together")),
    };
    let max_sessions = values.size("http-max-sessions")?;
    // Operators only observe: they take no share from the others. Access tokens are those of any number of people.
    let callers = names(tokens.iter().filter(|token| !token.is_operator));
    let principals = match oauth {
        Some(_) => callers + 2,
        None if auth_disabled => 1,
        None => callers.max(1),
    };
    let max_sessions_per_owner = values.share("http-max-sessions-per-owner", max_sessions, principals)?;
    let max_connections = values.size("http-max-connections")?;
    let max_body_bytes = values.size_or("http-max-body-bytes", limits.max_frame_bytes)?;
    let quarter = usize::try_from(limits.max_total_memory_bytes / 4).unwrap_or(usize::MAX);
    // With less room than one body takes, such a body could never be received.
    let max_buffered_bytes = values.size_or("http-max-buffered-bytes", quarter)?.max(max_body_bytes);
    let max_buffered_bytes_per_owner = values
        .share("http-max-buffered-bytes-per-owner", max_buffered_bytes, principals)?
        .max(max_body_bytes);
    let max_listeners = values.size("http-max-listeners")?;
    if auth_disabled || !has_auth {
        let message =
            "HTTP requests are not authenticated: every program on this machine may call".to_owned();
        values.warn("http_auth_disabled_loopback", message);
    } else if oauth.is_none() && names(&tokens) == 1 && max_sessions_per_owner < max_sessions {
        let message = format!(
            "one token is one owner: its {max_sessions_per_owner} sessions are fewer than the {max_sessions} of the \
             server"
        );
        values.warn("http_single_token_owner_cap_below_global", message);
    }
    Ok(Some(Http {
        host,
        port,
        path,
        auth_disabled,
        allowed_origins: values.list("http-allowed-origin"),
        tls,
        request_timeout: values.time("http-request-timeout-ms")?,
        idle_timeout: values.time("http-idle-timeout-ms")?,
        shutdown_grace: values.time("http-shutdown-grace-ms")?,
        max_body_bytes,
        max_buffered_bytes,
        max_buffered_bytes_per_owner,
        max_connections,
        max_connections_per_owner: values.share(
            "http-max-connections-per-owner",
            max_connections,
            principals,
        )?,
        session_ttl: values.time("http-session-ttl-ms")?,
        session_idle: values.time("http-session-idle-timeout-ms")?,
        max_sessions,
        max_sessions_per_owner,
        max_listeners,
        max_listeners_per_owner: values.share("http-max-listeners-per-owner", max_listeners, principals)?,
        max_in_flight: values.size("http-max-in-flight-per-session")?,
        rate_limit: rate_limit(values, has_auth)?,
        tokens,
        oauth,
        metrics: values.switch("http-metrics"),
        metrics_path,
        metrics_owners: values.switch("http-metrics-owners"),
        instance: instance(values),
        console,
        public_url,
    }))
}

/// The listener for probes, which is available on pipes as well.
pub(super) fn health(values: &Values<'_>) -> Result<Option<Health>, BootError> {
    let Some(text) = values.text("health-listen") else { return Ok(None) };
    let address = match text.split_once(':') {
        Some((host, port)) if host.eq_ignore_ascii_case("localhost") => {
            port.parse().ok().map(|port: u16| SocketAddr::from(([127, 0, 0, 1], port)))
        }
        _ => text.parse().ok(),
    };
    let address = address.ok_or_else(|| {
        BootError::new(format!(
            "{} must be an IP address or localhost and a port, such as 127.0.0.1:7333, got: {text:?}",
            values.shown("health-listen")
        ))
    })?;
    Ok(Some(Health { address, instance: instance(values) }))
}

fn instance(values: &Values<'_>) -> String {
    values.text("http-instance-label").unwrap_or_else(host_name)
}

fn public_url(values: &Values<'_>) -> Result<Option<PublicUrl>, BootError> {
    let Some(text) = values.text("public-url") else { return Ok(None) };
    let url = PublicUrl::parse(&text).ok_or_else(|| {
        BootError::new(format!(
            "{} must be the https URL of the MCP endpoint without query, such as https://ptc.example/mcp (http only for \
             loopback hosts), got: {}",
            values.shown("public-url"),
            shown_url(&text)
        ))
    })?;
    Ok(Some(url))
}

fn host(values: &Values<'_>) -> Result<IpAddr, BootError> {
    let text = values.word("http-host");
    if text.eq_ignore_ascii_case("localhost") {
        return Ok(IpAddr::from([127, 0, 0, 1]));
    }
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(&text);
    bare.parse().map_err(|_| BootError::new("HTTP host must be an IP address or localhost"))
}

fn absolute(path: String) -> String {
    if path.starts_with('/') { path } else { format!("/{path}") }
}

fn check_auth(
    host: IpAddr,
    has_auth: bool,
    auth_disabled: bool,
    unsafe_network: bool,
    has_upstreams: bool,
) -> Result<(), BootError> {
    let refuse = |text: &str| Err(BootError::new(text));
    if auth_disabled && unsafe_network {
        return refuse("--http-disable-auth cannot be combined with --http-allow-unsafe-network");
    }
    if auth_disabled && !host.is_loopback() {
        return refuse("--http-disable-auth is only permitted on loopback binds");
    }
    if !auth_disabled && !has_auth {
        if !host.is_loopback() {
            return refuse("HTTP auth token is required for non-loopback binds");
        }
        if has_upstreams {
            return refuse(
                "HTTP auth token is required when upstreams are configured; pass --http-disable-auth to let every \
                 program on this machine use them",
            );
        }
    }
    Ok(())
}

/// A token, and where it stands, for messages.
struct PlacedToken {
    token: NamedToken,
    place: String,
}

/// The tokens of all sources.
///
/// # Errors
/// A file cannot be read or is at fault, two callers have one name, or a token is too short or too long: with file and line.
fn read_all(values: &Values<'_>) -> Result<Vec<NamedToken>, BootError> {
    let fixed = values.text("http-auth-token").map(|token| PlacedToken {
        token: NamedToken { name: UNNAMED[0].into(), token: Secret::new(token), is_operator: false },
        place: values.shown("http-auth-token"),
    });
    let mut tokens: Vec<PlacedToken> = fixed.into_iter().collect();
    if let Some(path) = values.path("http-auth-token-file") {
        tokens.extend(read_tokens("http-auth-token-file", &path, UNNAMED[0], false)?);
    }
    if let Some(path) = values.path("http-operator-token-file") {
        tokens.extend(read_tokens("http-operator-token-file", &path, UNNAMED[1], true)?);
    }
    check_own(&tokens)?;
    for (at, PlacedToken { token, place }) in tokens.iter().enumerate() {
        // A file may name a caller twice: with its old token and its new one.
        let is_overlap = |other: &NamedToken| {
            other.is_operator == token.is_operator && !UNNAMED.contains(&token.name.as_str())
        };
        let mut before = tokens[..at].iter();
        let same = before.find(|other| other.token.name == token.name && !is_overlap(&other.token));
        if let Some(other) = same {
            return Err(BootError::new(format!(
                "{place}: two HTTP auth tokens have the name {:?}, the other one at {}",
                token.name, other.place
            )));
        }
        if token.token.len() < MIN_TOKEN_BYTES {
            return Err(BootError::new(format!(
                "{place}: HTTP auth token must be at least {MIN_TOKEN_BYTES} characters"
            )));
        }
        if token.token.len() > MAX_TOKEN_BYTES {
            return Err(BootError::new(format!(
                "{place}: HTTP auth token must have at most 16 KiB, as a header has"
            )));
        }
    }
    Ok(tokens.into_iter().map(|placed| placed.token).collect())
}

/// Checks that each caller has tokens of its own: whoever brings one that two have would be either.
///
/// # Errors
/// Two callers have one.
fn check_own(tokens: &[PlacedToken]) -> Result<(), BootError> {
    let mut first: HashMap<&[u8], &PlacedToken> = HashMap::new();
    for here in tokens {
        let former = first.entry(here.token.token.open().as_bytes()).or_insert(here);
        if (&former.token.name, former.token.is_operator) != (&here.token.name, here.token.is_operator) {
            return Err(BootError::new(format!(
                "{} and {} have the same token, under the names {:?} and {:?}: give each caller a token of its own",
                former.place, here.place, former.token.name, here.token.name
            )));
        }
    }
    Ok(())
}

/// How many names tokens have.
fn names<'t>(tokens: impl IntoIterator<Item = &'t NamedToken>) -> usize {
    tokens.into_iter().map(|token| &token.name).collect::<BTreeSet<_>>().len()
}

/// The tokens of a file, each with its place; a token without a name gets the given one.
#[expect(clippy::disallowed_methods, reason = "entry point: read_tokens()")]
fn read_tokens(
    flag: &str,
    path: &Path,
    unnamed: &str,
    is_operator: bool,
) -> Result<Vec<PlacedToken>, BootError> {
    let file = format!("--{flag} {}", path.display());
    let text = ordinary_file::read_text(path, MAX_TOKEN_FILE_BYTES)
        .map_err(|fault| BootError::new(format!("{file}: {fault}")))?;
    let mut tokens = Vec::new();
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (name, token) = match line.split_once(':') {
            Some((name, token)) => (name.trim(), token.trim()),
            None => (unnamed, line),
        };
        let place = format!("{file}:{number}");
        if name.is_empty() {
            return Err(BootError::new(format!("{place}: a token has an empty name")));
        }
        if is_reserved(name) {
            return Err(BootError::new(format!(
                "{place}: the name {name:?} is reserved; give the token another, without `|`"
            )));
        }
        let token = NamedToken { name: name.to_owned(), token: Secret::new(token), is_operator };
        tokens.push(PlacedToken { token, place });
    }
    if tokens.is_empty() {
        return Err(BootError::new(format!("{file}: the file holds no token")));
    }
    Ok(tokens)
}

/// True for a name by which somebody else is known: the server itself, everybody, or the bearer of an access token.
fn is_reserved(name: &str) -> bool {
    [PROCESS, ANONYMOUS, EVERYONE].contains(&name) || name.contains('|')
}

fn rate_limit(values: &mut Values<'_>, has_tokens: bool) -> Result<Option<RateLimit>, BootError> {
    let limit = RateLimit {
        window: values.time("http-auth-rate-limit-window-ms")?,
        max_failures: u32::try_from(values.number("http-auth-rate-limit-max-failures")?).unwrap_or(u32::MAX),
        block: values.time("http-auth-rate-limit-block-ms")?,
    };
    Ok((values.switch("http-auth-rate-limit") && has_tokens).then_some(limit))
}

#[expect(clippy::disallowed_methods, reason = "entry point: host_name()")]
fn host_name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .or_else(|_| std::fs::read_to_string("/etc/hostname"))
        .map(|name| name.trim().to_owned())
        .ok()
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "localhost".into())
}
