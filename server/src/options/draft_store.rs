//! Where drafts of programs lie (programs.md 11), the same for the server and for every command: files of the state folder, or rows of
//! the store that replicas share.

use std::sync::Arc;

use ptc_host::config::ProcessEnv;
use ptc_host::state::StateStore;
use ptc_programs::draft_files::DraftFiles;
use ptc_programs::draft_rows::DraftRows;
use ptc_programs::draft_store::DraftStore;
use ptc_protocol::settings::StateSettings;

use super::sign_in_store::{KeyPlace, StorePlace};

/// The drafts of these options. `shared`: the store, if replicas share one. Nothing is made before the first draft.
///
/// # Errors
/// A sentence that says that no place for them is known.
pub(crate) fn open(
    env: &ProcessEnv,
    state: &StateSettings,
    shared: Option<Arc<dyn StateStore>>,
) -> Result<Arc<dyn DraftStore>, String> {
    if let Some(shared) = shared {
        return Ok(Arc::new(DraftRows::new(shared)));
    }
    let place = StorePlace::of(env, state.dir.clone(), KeyPlace::default());
    let no_place = "there is no place for drafts: name a folder with --state-dir, or set HOME";
    Ok(Arc::new(DraftFiles::new(&place.folder().ok_or(no_place)?)))
}
