//! Keys of an entry that nothing reads (ruling 62).

use super::fields::Fields;
use ptc_base::config_error::{ConfigError, ConfigWarning};
use ptc_base::similar::most_similar;

/// Keys that let something in or keep something out. An entry that means one of them and does not get it is not started.
const GUARDS: [&str; 21] = [
    "allow_insecure_auth",
    "allow_insecure_http",
    "allow_prompts",
    "allow_resources",
    "allow_tools",
    "approve",
    "approve_level",
    "approve_tools",
    "auth",
    "ca_file",
    "deny_prompts",
    "deny_resources",
    "deny_tools",
    "disabled",
    "env",
    "inherit_env",
    "pin",
    "proxy",
    "proxy_auth",
    "static_headers",
    "unix_socket",
];

const CHECKED: &str = "certificates are always checked; name the PEM file of an authority, or of a server's own certificate, in ca_file";

/// Keys of clients, or of other products, that have another form here.
const ELSEWHERE: [(&str, &str); 21] = [
    ("headers", "write static_headers, and auth with a credential binding for a secret"),
    ("authorization", "write auth with a credential binding"),
    ("token", "write auth with a credential binding"),
    ("enabled", "write disabled"),
    ("environment", "write env"),
    ("includeTools", "write allow_tools"),
    ("excludeTools", "write deny_tools"),
    ("disabledTools", "write deny_tools"),
    ("http_proxy", "write proxy"),
    ("https_proxy", "write proxy"),
    ("socket", "write unix_socket"),
    ("socketPath", "write unix_socket"),
    ("ca", "write ca_file"),
    ("cacert", "write ca_file"),
    ("insecure", CHECKED),
    ("verify", CHECKED),
    ("verify_ssl", CHECKED),
    ("ssl_verify", CHECKED),
    ("tls_verify", CHECKED),
    ("rejectUnauthorized", CHECKED),
    ("policy", "rules for callers are in the file of --policy, or in principals beside upstreams"),
];

/// Judges the keys of a `transport` entry that were not read.
///
/// # Errors
/// A key that guards something, or is close to one that does.
pub(super) fn judge(fields: &Fields<'_>, transport: &str) -> Result<Option<ConfigWarning>, ConfigError> {
    let known = fields.known();
    let mut ignored = Vec::new();
    for key in fields.unknown() {
        if GUARDS.contains(&key) {
            return Err(
                fields.error(format_args!("has {key}, which means nothing for {transport}; remove it"))
            );
        }
        let elsewhere = ELSEWHERE.iter().find(|(other, _)| other.eq_ignore_ascii_case(key));
        if let Some((_, advice)) = elsewhere {
            return Err(
                fields.error(format_args!("has {key}, which is no key of an upstreams file; {advice}"))
            );
        }
        if let Some(guard) = most_similar(key, GUARDS.into_iter()) {
            return Err(fields.error(format_args!("has unknown key {key:?}; did you mean {guard}?")));
        }
        if key.starts_with("approv") {
            return Err(fields.error(format_args!("has {key}, which this version does not know; remove it")));
        }
        ignored.push(match most_similar(key, known.iter().copied()) {
            Some(near) => format!("{key} (did you mean {near}?)"),
            None => key.to_owned(),
        });
    }
    Ok((!ignored.is_empty()).then(|| {
        ConfigWarning::new(
            "upstreams_config_unknown_keys",
            Some(fields.upstream),
            format_args!(
                "upstream {} has unknown keys, which are ignored: {}",
                fields.upstream,
                ignored.join(", ")
            ),
        )
    }))
}
