//! Options of `lisp_eval`.

use super::arguments::ArgumentCaps;
use crate::callable_programs::CallablePrograms;
use crate::channels::Asks;
use crate::descriptions::{SharedCard, programs_room};
use crate::recent_programs::RecentPrograms;
use crate::shaping::Shaper;
use ptc_host::catalog::CatalogText;
use ptc_host::credentials::Redactor;
use ptc_host::engine::{HostCalls, Limits};
use ptc_host::visible::visible;
use ptc_runs::Runs;
use std::sync::Arc;

/// The options of `lisp_eval`.
#[derive(Clone)]
pub struct EvalOptions {
    /// Limits of one program.
    pub limits: Limits,
    /// Limits on arguments.
    pub caps: ArgumentCaps,
    /// How answers are shaped.
    pub shaper: Shaper,
    /// Bytes of binary content that an answer may carry.
    pub max_attached_bytes: u64,
    /// True if answers are shaped for the length that the client passes on.
    pub fits_client: bool,
    /// Answers `tool/call` and discovery; `None` without upstreams.
    pub upstreams: Option<Arc<dyn HostCalls>>,
    /// The facts about upstreams in the description; present if and only if some are configured.
    pub card: Option<SharedCard>,
    /// The kept programs, which the texts of callers may call; `None` if none are served.
    pub programs: Option<Arc<dyn CallablePrograms>>,
    /// True if the operator declares the upstreams read-only.
    pub read_only: bool,
    /// Scrubs everything that leaves the process.
    pub redactor: Redactor,
    /// True if replies carry a report for observers.
    pub reports: bool,
    /// Asks clients the questions of programs; `None` if questions are off.
    pub asks: Option<Asks>,
    /// True if descriptions mention `ask` (server.md 10.2).
    pub tells_of_ask: bool,
    /// Stores the runs of programs that outlast their clients' wait; `None` if that is off.
    pub runs: Option<Arc<Runs>>,
    /// Remembers programs that ended well, so that they can become drafts; `None` if that is off.
    pub recent: Option<Arc<RecentPrograms>>,
}

impl EvalOptions {
    /// What descriptions say of kept programs where there are no upstreams, if any are served.
    pub(crate) fn programs_alone(&self) -> Option<CatalogText> {
        let programs = self.programs.as_ref().filter(|_| self.card.is_none())?;
        let CatalogText { short, whole } =
            programs.text_alone(programs_room(self.shaper.profile, self.tells_of_ask))?;
        let shown = |text: String| visible(&text).into_owned();
        Some(CatalogText { short: shown(short), whole: whole.map(shown) })
    }
}
