//! Drafts of kept programs (`--program-drafts`): what is remembered of runs, `lisp_keep`, and what the console does with drafts.

use std::sync::Arc;

use ptc_host::engine::Engine;
use ptc_observers::draft_desk::DraftDesk;
use ptc_programs::draft_store::DraftStore;
use ptc_protocol::server_state::ServerState;
use ptc_protocol::settings::{BootError, Settings};
use ptc_tools::drafts::{DraftCheck, ServerDrafts};
use ptc_tools::kept::{Approver, KeptDirectory};
use ptc_tools::lisp_eval::EvalOptions;
use ptc_tools::lisp_keep::{KeepParts, LispKeep};
use ptc_tools::recent_programs::RecentPrograms;

use crate::options::draft_store;

/// The drafts of a server.
pub(super) struct Drafts {
    /// The programs of each conversation that ended well last.
    pub(super) recent: Arc<RecentPrograms>,
    store: Arc<dyn DraftStore>,
}

impl Drafts {
    /// The drafts of these settings, if they are on.
    ///
    /// # Errors
    /// There is no place for them.
    pub(super) fn open(
        settings: &Settings,
        engine: &Engine,
        state: &ServerState,
    ) -> Result<Option<Drafts>, BootError> {
        if !settings.programs.as_ref().is_some_and(|programs| programs.drafts) {
            return Ok(None);
        }
        let shared = state.shared_store().filter(|_| state.is_shared);
        let store = draft_store::open(&settings.env, &settings.state, shared)
            .map_err(|why| BootError::new(format!("--program-drafts: {why}")))?;
        let recent = Arc::new(RecentPrograms::new(engine.memory().cloned()));
        Ok(Some(Drafts { recent, store }))
    }

    /// What looks at drafts. `kept`: the programs that they may call.
    pub(super) fn check(
        engine: &Engine,
        options: &EvalOptions,
        kept: &Arc<KeptDirectory>,
    ) -> Arc<DraftCheck> {
        Arc::new(DraftCheck { engine: engine.clone(), limits: options.limits, kept: kept.clone() })
    }

    /// What people do with drafts on the console.
    pub(super) fn desk(&self, check: &Arc<DraftCheck>, approver: Arc<dyn Approver>) -> Arc<dyn DraftDesk> {
        Arc::new(ServerDrafts { store: self.store.clone(), check: check.clone(), approver })
    }

    /// `lisp_keep`. `console`: where the console is.
    pub(super) fn tool(
        &self,
        settings: &Settings,
        options: &EvalOptions,
        check: &Arc<DraftCheck>,
        console: Option<Arc<str>>,
    ) -> LispKeep {
        LispKeep::new(KeepParts {
            recent: self.recent.clone(),
            store: self.store.clone(),
            check: check.clone(),
            redactor: options.redactor.clone(),
            profile: settings.profile,
            console,
        })
    }
}
