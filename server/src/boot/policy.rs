//! The policy of a server: the file of rules, or `principals` in the upstreams file (auth.md 14.2), and the profiles (14.5).

use std::path::Path;
use std::sync::Arc;

use ptc_host::config::UpstreamsConfig;
use ptc_host::ordinary_file;
use ptc_host::policy::policy::MAX_FILE_BYTES;
use ptc_host::policy::{CurrentPolicy, Identity, Policy, Profiles};
use tracing::warn;

use ptc_protocol::settings::{BootError, Settings};

/// The policy that the operator names, with the profiles; `None` without either: everybody may do everything.
///
/// # Errors
/// It cannot be read, is wrong, or is in two places; `--profile` names a profile that there is not.
pub(super) fn load_policy(
    settings: &Settings,
    config: Option<&UpstreamsConfig>,
) -> Result<Option<Arc<CurrentPolicy>>, BootError> {
    let named = settings.policy_file.as_deref();
    let profiles = profiles(settings, config)?;
    let policy = match (named, config.and_then(|config| config.principals.as_ref())) {
        (None, None) if profiles.names().next().is_none() => return Ok(None),
        (None, None) => Policy::open(),
        (Some(_), Some(_)) => {
            return Err(BootError::new(
                "there are two policies: --policy, and principals in the upstreams file; remove one",
            ));
        }
        (Some(path), None) => read(path)?,
        (None, Some(principals)) => {
            Policy::from_value(principals).map_err(|fault| BootError::new(fault.to_string()))?
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
    check_identities(&policy, &identities(config))?;
    Ok(Some(Arc::new(CurrentPolicy::new(policy.with_profiles(profiles)))))
}

/// The names of the upstreams, each with the sign-in that it can have: that of each caller, if people sign in to it, or one for all.
pub(super) fn identities(config: Option<&UpstreamsConfig>) -> Vec<(String, Option<Identity>)> {
    let upstreams = config.into_iter().flat_map(|config| &config.upstreams);
    let with_most = upstreams.map(|upstream| {
        let most = upstream.transport.oauth().map(|oauth| match oauth.grant.has_person() {
            true => Identity::PerPrincipal,
            false => Identity::Shared,
        });
        (upstream.name.clone(), most)
    });
    with_most.collect()
}

/// Checks that rules want callers' own sign-ins only where people sign in.
///
/// # Errors
/// A rule does not.
pub(super) fn check_identities(
    policy: &Policy,
    identities: &[(String, Option<Identity>)],
) -> Result<(), BootError> {
    for (name, most) in identities {
        if let Some(pattern) = policy.impossible_identity(name, *most) {
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

/// Reads a file of rules.
///
/// # Errors
/// It cannot be read, or is wrong.
#[expect(clippy::disallowed_methods, reason = "entry point: read()")]
pub(super) fn read(path: &Path) -> Result<Policy, BootError> {
    let text = ordinary_file::read_text(path, MAX_FILE_BYTES)
        .map_err(|fault| BootError::new(format!("--policy {}: {fault}", path.display())))?;
    Policy::parse(&text).map_err(|fault| BootError::new(fault.to_string()))
}
