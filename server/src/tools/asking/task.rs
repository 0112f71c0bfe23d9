//! What a program waits for whose client was given a task: it is asked by the task (waiting.md 6.3).

use ptc_host::questions::{Mode, Question};
use ptc_mcp::Revision;
use ptc_mcp::json::object_text;

use super::shown::Screen;
use super::{Asks, Caller};
use crate::protocol::Elicitation;
use crate::protocol::tool::Asked;
use crate::runs::{KeptCall, KeptQuestion, WaitingRun};

impl Caller {
    /// Whether its client has a task, and that can ask it this.
    pub(super) fn is_asked_by_its_task(&self, question: &Question) -> bool {
        let Some(modes) = self.task_modes.filter(|_| !self.is_attended()) else { return false };
        Screen::new(modes, Revision::V2026_07_28).shows(question.level, &question.mode)
    }
}

impl Asks {
    /// How the client of a run that goes on can be asked: by its task, if it has one.
    pub(crate) fn of_run(call: &KeptCall) -> Asked {
        let modes = call.task_modes.map(Elicitation::of_bits);
        Asked { takes_tasks: modes.is_some(), modes: modes.unwrap_or_default(), ..Asked::default() }
    }

    /// What a run waits for, as `inputRequests`: a JSON object of all that a client of these modes can be shown. What it may not answer is
    /// a page of the console, if there is one.
    pub(crate) fn input_requests(&self, run: &WaitingRun, modes: Elicitation) -> String {
        let screen = Screen::new(modes, Revision::V2026_07_28);
        object_text(|requests| {
            for kept in &run.questions {
                let Some(mode) = self.mode_of(screen, run, kept) else { continue };
                let params = screen.params((&kept.question.message, &mode), kept.fault.as_deref(), None);
                let request = object_text(|request| {
                    request.string("method", "elicitation/create");
                    request.raw("params", &params);
                });
                requests.raw(&kept.id.to_string(), &request);
            }
        })
    }

    /// How such a client is asked this, if it can be.
    pub(super) fn mode_of(&self, screen: Screen, run: &WaitingRun, kept: &KeptQuestion) -> Option<Mode> {
        let question = &kept.question;
        if screen.shows(question.level, &question.mode) {
            return Some(question.mode.clone());
        }
        let page = format!("{}#q={}", self.0.rules.console.as_deref()?, run.run_id);
        let page = Mode::Url(page.into());
        screen.shows(question.level, &page).then_some(page)
    }
}
