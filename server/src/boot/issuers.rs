//! The issuers of callers' access tokens.

use std::sync::Arc;

use ptc_host::credentials::Redactor;
use ptc_host::issuers::{IssuerOptions, Issuers};
use ptc_host::policy::CurrentPolicy;

use super::upstreams::client;
use ptc_protocol::settings::{BootError, Http, Settings};

/// The issuers that the settings name, whose keys are being fetched from now on; `None` if no access tokens are accepted.
///
/// # Errors
/// If the operator's file of certificate authorities cannot be used, an issuer is no URL, or a secret cannot be kept out of results.
pub(super) fn open(
    http: &Http,
    settings: &Settings,
    policy: Option<&CurrentPolicy>,
    redactor: &Redactor,
) -> Result<Option<Arc<Issuers>>, BootError> {
    let Some(oauth) = &http.oauth else { return Ok(None) };
    let secret = oauth.introspection_client.iter().map(|(_, secret)| secret);
    redactor.register(secret).map_err(|no_room| {
        BootError::new(format!(
            "the secret of --introspection-client cannot be kept out of results: {no_room}"
        ))
    })?;
    let secret = oauth.login_client.iter().filter_map(|(_, secret)| secret.as_ref());
    redactor.register(secret).map_err(|no_room| {
        BootError::new(format!("the secret of --http-login-client cannot be kept out of results: {no_room}"))
    })?;
    let policy = policy.map(CurrentPolicy::policy);
    let profiles: Vec<&str> = policy.iter().flat_map(|policy| policy.profiles().names()).collect();
    let of_profiles = http.public_url.iter().flat_map(|url| profiles.iter().map(|name| url.of_profile(name)));
    let options = IssuerOptions {
        issuers: oauth.issuers.clone(),
        audiences: oauth.audiences.iter().cloned().chain(of_profiles).collect(),
        any_type: oauth.any_type,
        introspection_client: oauth.introspection_client.clone(),
        login_client: oauth.login_client.clone(),
    };
    let issuers =
        Issuers::new(options, &client(settings)?).ok_or_else(|| BootError::new("--issuer is no URL"))?;
    issuers.prepare();
    Ok(Some(Arc::new(issuers)))
}
