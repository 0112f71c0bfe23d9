//! Opens the store that the settings name, and announces this replica to others.

use std::sync::Arc;
use std::time::Duration;

use ptc_host::engine::Engine;
use ptc_host::state::{
    RedbOptions, RedbState, Replica, SealedState, StateStore, WatchedState, follow_store, store_time,
    time_of_day,
};
use tracing::{info, warn};

use super::question_settings::People;
use crate::options::state::shared_store;
use ptc_host::digest::hex;
use ptc_host::time;
use ptc_protocol::identity;
use ptc_protocol::server_state::ServerState;
use ptc_protocol::settings::{BootError, Settings};

/// Tolerated difference between the clocks of a machine and its store. The machine's clock judges the tokens and
/// certificates of others.
const TOLERATED: Duration = Duration::from_secs(5);
/// The interval at which a replica announces itself.
const ATTENDANCE: Duration = Duration::from_secs(10);

/// Opens the store. The file of a folder is opened if sessions or runs are stored in it, or the approvals of kept programs by an
/// HTTP server: only one process can have it, and servers on pipes share the folder. Sign-ins need none.
///
/// # Errors
/// A sentence that says why the store cannot be used.
pub(super) async fn open(
    settings: &Settings,
    engine: &Engine,
    people: People,
) -> Result<ServerState, BootError> {
    let state = &settings.state;
    let has_approvals = settings.programs.is_some() && settings.http.is_some();
    let has_file = settings.sessions.enabled || settings.runs.long || people.have_the_file || has_approvals;
    let mut opened = ServerState {
        secret: state.secret.clone(),
        store: None,
        is_shared: state.url.is_some(),
        is_required: state.required,
        replica: name(settings),
    };
    if let Some(sealed) = shared_store(state).map_err(BootError::new)? {
        opened.store = Some(WatchedState::new(Arc::new(sealed)));
    } else if let (Some(folder), Some(secret), true) = (&state.dir, &state.secret, has_file) {
        let options = RedbOptions { folder: folder.clone(), flushing: state.flushing, limits: state.limits };
        let file = RedbState::open(options).map_err(|error| BootError::new(error.to_string()))?;
        opened.store = Some(WatchedState::new(Arc::new(SealedState::new(Arc::new(file), secret))));
    }
    let Some(store) = opened.store.clone() else { return Ok(opened) };
    let replica = Replica {
        name: opened.replica.to_string(),
        build: identity::VERSION.to_owned(),
        seen: Duration::ZERO,
    };
    match store.attend(&replica).await {
        Ok(now) => {
            heed(now, opened.is_shared);
            info!(event = "state_store_opened", shared = opened.is_shared, replica = &*opened.replica);
        }
        Err(error) if state.required => {
            return Err(BootError::new(format!(
                "{error} (--state-url); start it, or go on without it with --state-required=false"
            )));
        }
        Err(error) => warn!(event = "state_store_unavailable", reason = %error),
    }
    if opened.is_shared {
        engine.spawn_on(0, move || keep_known(store, replica));
    }
    Ok(opened)
}

/// Uses the clock of a shared store, and warns if this machine's clock differs.
fn heed(now: u64, is_shared: bool) {
    if !is_shared {
        return;
    }
    let (is_first, own) = (store_time().is_none(), time_of_day());
    follow_store(now);
    let differs_by = Duration::from_millis(own.abs_diff(now));
    if is_first && differs_by > TOLERATED {
        let seconds = differs_by.as_secs();
        warn!(event = "state_store_clock_differs", seconds, ahead = own > now);
    }
}

/// Announces this replica at intervals.
async fn keep_known(store: WatchedState, replica: Replica) {
    let mut was_down = false;
    loop {
        // A store that is down is polled more often, so that its return is noticed.
        time::sleep(if was_down { Duration::from_secs(1) } else { ATTENDANCE }).await;
        let answer = store.attend(&replica).await;
        if let Ok(now) = answer {
            heed(now, true);
        }
        let is_down = store.is_down();
        match (was_down, is_down, answer) {
            (false, true, Err(error)) => warn!(event = "state_store_down", reason = %error),
            (true, false, _) => info!(event = "state_store_back"),
            _ => {}
        }
        was_down = is_down;
    }
}

/// A unique name of this replica: the name of the instance, and random digits.
fn name(settings: &Settings) -> Arc<str> {
    let mut random = [0; 4];
    // Without entropy the process id distinguishes replicas of one machine.
    if getrandom::fill(&mut random).is_err() {
        random = std::process::id().to_be_bytes();
    }
    let instance = settings.http.as_ref().map_or("ptc", |http| http.instance.as_str());
    format!("{instance}-{}", hex(&random)).into()
}
