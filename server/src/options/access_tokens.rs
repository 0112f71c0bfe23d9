//! The options by which callers bring access tokens (auth.md 13), and the combinations that prevent a start.

use std::path::Path;

use ptc_host::credentials::Secret;
use ptc_host::ordinary_file;
use url::{Host, Url};

use super::values::{Values, shown_url};
use ptc_protocol::settings::{BootError, InboundOAuth, PublicUrl};

/// Largest file with a client of an issuer, in bytes.
const MAX_CLIENT_FILE_BYTES: u64 = 64 << 10;
/// Options that mean something with `--issuer` alone.
const OF_ISSUERS: [&str; 5] =
    ["audience", "required-scope", "jwt-typ-any", "introspection-client", "http-login-client"];
/// Options that give static tokens.
const OF_TOKENS: [&str; 3] = ["http-auth-token-file", "http-auth-token", "http-operator-token-file"];

/// Checks that nobody wants access tokens on a pipe, where callers have none.
///
/// # Errors
/// An option says so.
pub(super) fn check_pipe(values: &Values<'_>) -> Result<(), BootError> {
    let wants_oauth = || values.text("http-auth").is_some_and(|mode| mode.contains("oauth"));
    let wanted = match wants_oauth() {
        true => Some("http-auth"),
        false => ["issuer"].into_iter().chain(OF_ISSUERS).find(|name| is_given(values, name)),
    };
    match wanted {
        None => Ok(()),
        Some(name) => Err(BootError::new(format!(
            "{} needs --http: the client of a pipe has no access token; add --http and --public-url, or leave it out",
            values.shown(name)
        ))),
    }
}

/// Whether an option is given; a switch, if it is on.
fn is_given(values: &Values<'_>, name: &str) -> bool {
    match name {
        "jwt-typ-any" => values.text(name).is_some_and(|text| text == "true"),
        _ => values.text(name).is_some(),
    }
}

/// Interprets the options; `None` if no access tokens are accepted. `has_tokens` if there are static tokens.
pub(super) fn resolve(
    values: &mut Values<'_>,
    public_url: Option<&PublicUrl>,
    auth_disabled: bool,
    has_tokens: bool,
) -> Result<Option<InboundOAuth>, BootError> {
    let refuse = |text: String| Err(BootError::new(text));
    let issuers = values.list("issuer");
    let mode = values.text("http-auth");
    let (oauth, token) = match mode.as_deref() {
        None => (!issuers.is_empty(), issuers.is_empty()),
        Some("token") => (false, true),
        Some("oauth") => (true, false),
        Some("oauth,token" | "token,oauth") => (true, true),
        Some(other) => {
            return refuse(format!(
                "{} must be one of: token, oauth, oauth,token, got: {other:?}",
                values.shown("http-auth")
            ));
        }
    };
    if !oauth {
        if !issuers.is_empty() {
            return refuse("--http-auth token does not accept access tokens; remove --issuer or pass --http-auth oauth,token".into());
        }
        let useless = OF_ISSUERS.into_iter().find(|name| values.text(name).is_some());
        return match useless {
            Some(name) => {
                refuse(format!("{} needs --issuer: whose tokens does it speak of?", values.shown(name)))
            }
            None => Ok(None),
        };
    }
    if auth_disabled {
        return refuse("--http-disable-auth cannot be combined with --http-auth oauth or --issuer".into());
    }
    if issuers.is_empty() {
        return refuse(
            "--http-auth oauth needs --issuer, the URL of the provider whose tokens are accepted".into(),
        );
    }
    let Some(public_url) = public_url else {
        return refuse(
            "--issuer needs --public-url, the URL of the MCP endpoint as clients write it: tokens must be for it".into(),
        );
    };
    if has_tokens && !token {
        let given = OF_TOKENS.into_iter().find(|name| values.text(name).is_some());
        return refuse(format!(
            "--http-auth oauth does not accept static tokens; remove --{} or pass --http-auth oauth,token",
            given.unwrap_or(OF_TOKENS[0])
        ));
    }
    if !has_tokens && token {
        return refuse("--http-auth oauth,token needs --http-auth-token-file; without static tokens, pass --http-auth oauth".into());
    }
    if let Some(wrong) = issuers.iter().find(|issuer| !is_issuer(issuer)) {
        return refuse(format!(
            "{} must be an https URL without query (http only for loopback hosts), as the provider writes it in `iss`, \
             got: {}",
            values.shown("issuer"),
            shown_url(wrong)
        ));
    }
    let required_scopes = values.list("required-scope");
    if let Some(wrong) = required_scopes.iter().find(|scope| !is_scope(scope)) {
        return refuse(format!(
            "{} must be one scope, visible ASCII without spaces and quotes, got: {wrong:?}",
            values.shown("required-scope")
        ));
    }
    let mut audiences = values.list("audience");
    audiences.extend(own_audiences(public_url));
    Ok(Some(InboundOAuth {
        issuers,
        audiences,
        required_scopes,
        any_type: values.switch("jwt-typ-any"),
        introspection_client: values
            .path("introspection-client")
            .map(|path| introspection_client(&path))
            .transpose()?,
        login_client: values.path("http-login-client").map(|path| login_client(&path)).transpose()?,
    }))
}

/// The public URL; one without a path has two forms, and clients ask for tokens with either.
fn own_audiences(public_url: &PublicUrl) -> Vec<String> {
    let written = public_url.as_str();
    let bare = written.strip_suffix('/').unwrap_or(written);
    match bare.eq_ignore_ascii_case(public_url.origin()) {
        true => vec![bare.to_owned(), format!("{bare}/")],
        false => vec![written.to_owned()],
    }
}

/// True for the URL of an issuer (RFC 8414 2). It must not have the character that separates it from subjects.
fn is_issuer(text: &str) -> bool {
    let Ok(url) = Url::parse(text) else { return false };
    let is_loopback = match url.host() {
        Some(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => return false,
    };
    let is_secure = url.scheme() == "https" || url.scheme() == "http" && is_loopback;
    let is_plain = url.username().is_empty() && url.password().is_none();
    is_secure && is_plain && !text.contains(['|', '?', '#', '"'])
}

/// True for a `scope-token` (RFC 6749 3.3).
fn is_scope(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\')
}

/// The id and secret of a file with one line `id:secret`.
fn introspection_client(path: &Path) -> Result<(String, Secret), BootError> {
    match client("introspection-client", path)? {
        Some((id, Some(secret))) => Ok((id, secret)),
        _ => Err(unfit("introspection-client", path, &"the file must hold one line, id:secret")),
    }
}

/// The id and secret of a file with one line, `id` or `id:secret`.
fn login_client(path: &Path) -> Result<(String, Option<Secret>), BootError> {
    client("http-login-client", path)?
        .ok_or_else(|| unfit("http-login-client", path, &"the file must hold one line, id or id:secret"))
}

/// The client of a file with one line, `id` or `id:secret`; `None` if it has another form.
#[expect(clippy::disallowed_methods, reason = "entry point: client()")]
fn client(flag: &str, path: &Path) -> Result<Option<(String, Option<Secret>)>, BootError> {
    let text =
        ordinary_file::read_text(path, MAX_CLIENT_FILE_BYTES).map_err(|fault| unfit(flag, path, &fault))?;
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let (Some(line), None) = (lines.next(), lines.next()) else { return Ok(None) };
    let (id, secret) = match line.split_once(':') {
        Some((id, secret)) => (id.trim(), Some(secret.trim())),
        None => (line, None),
    };
    let is_whole = !id.is_empty() && secret != Some("");
    Ok(is_whole.then(|| (id.to_owned(), secret.map(Secret::new))))
}

fn unfit(flag: &str, path: &Path, detail: &dyn std::fmt::Display) -> BootError {
    BootError::new(format!("--{flag} {}: {detail}", path.display()))
}
