//! Reading files again while the server runs, on SIGHUP.
//!
//! A file is read and checked first, and takes the place of the old one in one step, or is refused whole. Programs that run keep
//! what they began with.

use std::path::Path;
use std::sync::Arc;

use ptc_host::policy::CurrentPolicy;
use ptc_host::time;
use tokio::signal::unix::Signal;
use tracing::{info, warn};

use super::policy::read;
use ptc_protocol::Service;
use ptc_protocol::settings::Settings;

/// Reads the policy again at each of these signals.
pub(super) fn follow(
    hangups: Option<Signal>,
    settings: &Settings,
    policy: Option<&Arc<CurrentPolicy>>,
    service: &Arc<Service>,
) {
    let Some(mut hangups) = hangups else { return };
    let file = settings.policy_file.clone().zip(policy.cloned());
    // Not for longer than the server is there.
    let service = Arc::downgrade(service);
    tokio::spawn(async move {
        while hangups.recv().await.is_some() {
            let Some(service) = service.upgrade() else { return };
            match &file {
                Some((path, policy)) => reload(path, policy, &service).await,
                None => {
                    warn!(
                        event = "signal_ignored",
                        signal = "SIGHUP",
                        "there is no --policy to read again; restart the server to read other files"
                    );
                }
            }
        }
    });
}

/// Lets the policy of the file hold, unless it is at fault.
async fn reload(path: &Path, policy: &CurrentPolicy, service: &Service) {
    let path = path.to_owned();
    let fresh = match time::spawn_blocking(move || read(&path)).await {
        Ok(Ok(fresh)) => fresh,
        Ok(Err(fault)) => {
            warn!(event = "reload_refused", reason = %fault, "the policy stays as it was");
            return;
        }
        Err(fault) => {
            warn!(event = "reload_refused", reason = %fault, "the policy stays as it was");
            return;
        }
    };
    let rules = fresh.rules();
    // Profiles stand in the upstreams file.
    let profiles = policy.policy().profiles().clone();
    policy.replace(fresh.with_profiles(profiles));
    info!(event = "policy_reloaded", rules);
    service.refresh_tools();
}
