//! What clients and planners are told of the upstreams before they call: the descriptions, `instructions`, the catalog of
//! `lisp_task`.

use std::sync::{Arc, Weak};

use ptc_host::aggregator::{Aggregator, CurrentUpstreams};
use ptc_host::catalog::snapshot;
use ptc_protocol::Service;
use ptc_protocol::settings::{BootError, Settings};
use ptc_tools::descriptions::SharedCard;
use ptc_tools::kept::KeptDirectory;
use ptc_tools::lisp_task::{SharedTaskCatalog, TaskCatalog, capability_summary};
use tracing::warn;

use super::assembly::{EntryTools, upstream_card};

/// The texts about the upstreams, each of which its users share.
#[derive(Clone)]
pub(super) struct Advertised {
    settings: Settings,
    upstreams: Weak<CurrentUpstreams>,
    kept: Option<Arc<KeptDirectory>>,
    card: SharedCard,
    /// Of `lisp_task`, if there is one.
    tasks: Option<SharedTaskCatalog>,
}

impl Advertised {
    pub(super) fn new(
        settings: &Settings,
        upstreams: &Arc<CurrentUpstreams>,
        kept: Option<Arc<KeptDirectory>>,
        card: SharedCard,
        tasks: Option<SharedTaskCatalog>,
    ) -> Self {
        Advertised { settings: settings.clone(), upstreams: Arc::downgrade(upstreams), kept, card, tasks }
    }

    /// Counts the changes of the kept programs that are listed; `None` if there are none.
    pub(super) fn kept_revision(&self) -> Option<u64> {
        self.kept.as_ref().map(|kept| kept.revision())
    }

    /// Has the descriptions say what the upstreams list now. `None` if they are gone.
    pub(super) fn refresh(&self) -> Option<()> {
        let upstreams = self.upstreams.upgrade()?.current();
        self.card.set(upstream_card(&self.settings, &upstreams.unfiltered(), self.kept.as_deref()));
        Some(())
    }

    /// Tells clients and planners of other upstreams.
    pub(super) fn renew(&self, service: &Service) {
        let Some(upstreams) = self.upstreams.upgrade().map(|upstreams| upstreams.current()) else { return };
        let card = upstream_card(&self.settings, &upstreams.unfiltered(), self.kept.as_deref());
        service.set_instructions(EntryTools::of(&self.settings).instructions(Some(&card.servers)));
        self.card.set(card);
        if let Some(tasks) = &self.tasks {
            match task_catalog(&self.settings, &upstreams, self.kept.as_deref()) {
                Ok(catalog) => tasks.set(catalog),
                Err(fault) => warn!(event = "agentic_config_error", "{fault}"),
            }
        }
        service.refresh_tools();
    }
}

/// What a planner is told of all upstreams.
///
/// # Errors
/// The operator's own summary cannot be read.
pub(super) fn task_catalog(
    settings: &Settings,
    upstreams: &Aggregator,
    kept: Option<&KeptDirectory>,
) -> Result<TaskCatalog, BootError> {
    let mode = settings.aggregator.catalog_mode;
    let view = upstreams.unfiltered();
    let catalog = view.advertised();
    let programs = kept.map(|kept| kept.described(Some(&view))).unwrap_or_default();
    let summary = capability_summary(&settings.planner, &catalog, mode)?;
    Ok(TaskCatalog {
        snapshot: snapshot(&catalog, &programs, mode, settings.aggregator.catalog_bytes),
        catalog,
        summary,
    })
}
