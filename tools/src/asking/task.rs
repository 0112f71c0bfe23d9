//! Asks a client through its task for the answers that its program waits for (waiting.md 6.3).

use ptc_host::questions::{Mode, PendingQuestion, Question};
use ptc_mcp::Revision;

use super::shown::Screen;
use super::{Asks, Caller};
use ptc_protocol::Elicitation;
use ptc_runs::RunView;

impl Caller {
    /// True if its client has a task, and can be asked this question through it.
    pub(super) fn is_asked_by_its_task(&self, question: &Question) -> bool {
        let Some(modes) = self.task_modes.filter(|_| !self.is_attended()) else { return false };
        Screen::new(modes, Revision::V2026_07_28).shows(question.level, &question.mode)
    }
}

impl Asks {
    /// The open questions of a run, as `inputRequests`: a JSON object of those that a client of these modes can be
    /// shown. A question that it may not answer becomes a page of the console, if there is one.
    pub(crate) fn input_requests(&self, run: &RunView, modes: Elicitation) -> String {
        let screen = Screen::new(modes, Revision::V2026_07_28);
        let shown = run.open().filter_map(|open| Some((open, self.mode_of(screen, run, open)?)));
        screen.requests(shown)
    }

    /// The form in which such a client is asked this question, if it can be.
    pub(super) fn mode_of(&self, screen: Screen, run: &RunView, open: &PendingQuestion) -> Option<Mode> {
        let question = &open.question;
        if screen.shows(question.level, &question.mode) {
            return Some(question.mode.clone());
        }
        let page = format!("{}#q={}", self.0.rules.console.as_deref()?, run.run_id);
        let page = Mode::Url(page.into());
        screen.shows(question.level, &page).then_some(page)
    }
}
