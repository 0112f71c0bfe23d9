//! The policy of a server: the file of rules, or `principals` in the upstreams file (auth.md 14.2), and the profiles (14.5).

use std::path::Path;

use ptc_host::config::{UpstreamConfig, UpstreamsConfig};
use ptc_host::digest::sha256_of_parts;
use ptc_host::ordinary_file;
use ptc_host::policy::policy::MAX_FILE_BYTES;
use ptc_host::policy::{Identity, Policy, Profiles};
use tracing::warn;

use ptc_protocol::settings::{BootError, Settings};

/// A policy with its profiles, as the files say.
pub(super) struct ReadPolicy {
    pub(super) policy: Policy,
    /// Of the texts that it was made of.
    pub(super) digest: [u8; 32],
}

/// The policy that the operator names, with the profiles; `None` without either: everybody may do everything.
///
/// # Errors
/// It cannot be read, is wrong, or is in two places; `--profile` names a profile that there is not.
pub(super) fn read_policy(
    settings: &Settings,
    config: Option<&UpstreamsConfig>,
) -> Result<Option<ReadPolicy>, BootError> {
    let named = settings.policy_file.as_deref();
    let in_config = config.and_then(|config| config.principals.as_ref());
    let profiles = profiles(settings, config)?;
    let (policy, text) = match (named, in_config) {
        (None, None) if profiles.names().next().is_none() => return Ok(None),
        (None, None) => (Policy::open(), String::new()),
        (Some(_), Some(_)) => {
            return Err(BootError::new(
                "there are two policies: --policy, and principals in the upstreams file; remove one",
            ));
        }
        (Some(path), None) => {
            let text = read_text(path)?;
            let parsed = Policy::parse(&text);
            (parsed.map_err(|fault| BootError::new(format!("--policy {}: {fault}", path.display())))?, text)
        }
        (None, Some(principals)) => {
            let policy = Policy::from_value(principals)
                .map_err(|fault| BootError::new(format!("principals in the upstreams file: {fault}")))?;
            (policy, principals.to_string())
        }
    };
    let names: Vec<&str> = config
        .into_iter()
        .flat_map(|config| &config.upstreams)
        .map(|upstream| upstream.name.as_str())
        .collect();
    for pattern in policy.idle(&names) {
        warn!(
            event = "policy_names_no_upstream",
            "the policy has rules for '{pattern}', and no upstream has that name"
        );
    }
    for (profile, pattern) in profiles.idle(&names) {
        warn!(
            event = "profile_names_no_upstream",
            "the profile '{profile}' shows '{pattern}', and no upstream has that name"
        );
    }
    check_identities(&policy, config)?;
    let of_profiles = config.and_then(|config| config.profiles.as_ref()).map(ToString::to_string);
    let digest = sha256_of_parts(&[text.as_bytes(), of_profiles.unwrap_or_default().as_bytes()]);
    Ok(Some(ReadPolicy { policy: policy.with_profiles(profiles), digest }))
}

/// The sign-in that an upstream can have: that of each caller, if people sign in to it, or one for all; `None` without any.
fn most_identity(upstream: &UpstreamConfig) -> Option<Identity> {
    upstream.transport.oauth().map(|oauth| match oauth.grant.has_person() {
        true => Identity::PerPrincipal,
        false => Identity::Shared,
    })
}

/// Checks that rules want callers' own sign-ins only where people sign in.
///
/// # Errors
/// A rule does not.
fn check_identities(policy: &Policy, config: Option<&UpstreamsConfig>) -> Result<(), BootError> {
    for upstream in config.into_iter().flat_map(|config| &config.upstreams) {
        let (name, most) = (&upstream.name, most_identity(upstream));
        if let Some(pattern) = policy.impossible_identity(name, most) {
            let why = match most {
                Some(_) => "its auth.grant acts for no person",
                None => "its entry has no auth of type \"oauth\"",
            };
            return Err(BootError::new(format!(
                "policy: the rule for '{pattern}' has identity per_principal, and nobody signs in to upstream '{name}': {why}; \
                 remove the rule's identity, or change auth of the entry"
            )));
        }
    }
    Ok(())
}

/// The profiles of the upstreams file.
fn profiles(settings: &Settings, config: Option<&UpstreamsConfig>) -> Result<Profiles, BootError> {
    let profiles = match config.and_then(|config| config.profiles.as_ref()) {
        Some(profiles) => {
            Profiles::parse(profiles).map_err(|fault| BootError::new(format!("upstreams config: {fault}")))?
        }
        None => Profiles::default(),
    };
    match &settings.upstream_profile {
        Some(name) if settings.http.is_some() => Err(BootError::new(format!(
            "--profile / PTC_PROFILE is for a pipe: over HTTP the profile has an address of its own, /mcp/{name}"
        ))),
        Some(name) if profiles.named(name).is_none() => {
            Err(BootError::new(format!("--profile / PTC_PROFILE: {}", profiles.lacks(name))))
        }
        _ => Ok(profiles),
    }
}

/// The text of a file of rules.
///
/// # Errors
/// It cannot be read.
#[expect(clippy::disallowed_methods, reason = "entry point: read_text()")]
fn read_text(path: &Path) -> Result<String, BootError> {
    ordinary_file::read_text(path, MAX_FILE_BYTES)
        .map(|text| text.to_string())
        .map_err(|fault| BootError::new(format!("--policy {}: {fault}", path.display())))
}
