//! Evaluates typed input in one session of an engine.

use crate::cli::output::{errln, outln};
use ptc_host::aggregator::notes;
use ptc_host::credentials::Redactor;
use ptc_host::engine::{Engine, EvalId, EvalOutcome, EvalRequest, Failure};

use super::layout::lay_out;
use crate::cli::{limits, questions, report};
use std::cell::Cell;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// The REPL's session within its engine.
const KEY: &str = "repl";
/// The duration is shown for programs that take longer than this.
const SLOW: Duration = Duration::from_secs(1);
/// The width of a terminal that does not report it.
const USUAL_COLUMNS: usize = 80;

/// A session and how its results are shown.
pub(super) struct Session {
    engine: Engine,
    template: EvalRequest,
    redactor: Redactor,
    terminal: bool,
    /// True if a program has failed.
    failed: Cell<bool>,
}

impl Session {
    /// A new session whose programs run like `template`. Nothing known to `redactor` is shown.
    pub(super) fn new(
        engine: Engine,
        mut template: EvalRequest,
        redactor: Redactor,
        terminal: bool,
    ) -> Session {
        template.session = Some(Arc::from(KEY));
        template.asker = questions::at_terminal(&redactor);
        Session { engine, template, redactor, terminal, failed: Cell::new(false) }
    }

    /// True if a program has failed.
    pub(super) fn has_failed(&self) -> bool {
        self.failed.get()
    }

    /// Most bytes of a program.
    pub(super) fn longest_program(&self) -> usize {
        self.template.limits.program_bytes
    }

    /// Evaluates and shows a program; returns whether it succeeded.
    pub(super) async fn show(&self, program: &str) -> bool {
        let Some(outcome) = self.run(program, false).await else { return false };
        match outcome.result {
            Ok(answer) => {
                self.say(&match self.terminal {
                    true => lay_out(&answer.text, columns()),
                    false => answer.text,
                });
                if let Some(cut) = answer.cut {
                    self.say(&format!("; {cut}"));
                }
                true
            }
            Err(failure) => {
                self.report(program, failure);
                false
            }
        }
    }

    /// Evaluates a program whose text, or list of texts, is shown for people rather than as a literal.
    #[expect(clippy::disallowed_methods, reason = "entry point: Session.read_aloud")]
    pub(super) async fn read_aloud(&self, program: &str) {
        let Some(outcome) = self.run(program, true).await else { return };
        match outcome.result {
            Ok(answer) => {
                let json = answer.json.and_then(Result::ok);
                match json.and_then(|json| serde_json::from_str(&json).ok()) {
                    Some(ptc_mcp::json::Value::String(text)) => self.say(&text),
                    Some(ptc_mcp::json::Value::Array(lines)) => {
                        lines.iter().for_each(|line| self.say(line.as_str().unwrap_or(&line.to_string())))
                    }
                    _ => self.say(&answer.text),
                }
            }
            Err(failure) => self.report(program, failure),
        }
    }

    /// Runs a program for its effects on the session; returns whether it succeeded.
    pub(super) async fn load(&self, program: &str) -> bool {
        let Some(outcome) = self.run(program, false).await else { return false };
        outcome.result.map_err(|failure| self.report(program, failure)).is_ok()
    }

    /// Runs a program and shows its prints as they happen. `None` if Ctrl-C ended it.
    async fn run(&self, program: &str, json: bool) -> Option<EvalOutcome> {
        let (sink, mut prints) = mpsc::unbounded_channel();
        let mut request = self.template.clone();
        request.program = Arc::from(program);
        request.id = EvalId::new();
        request.render.json = json;
        request.print_sink = Some(Arc::new(sink));
        let outcome = {
            let mut eval = pin!(self.engine.eval(request));
            let mut interrupt = pin!(tokio::signal::ctrl_c());
            loop {
                tokio::select! {
                    biased;
                    Some(print) = prints.recv() => self.say(&print),
                    outcome = &mut eval => break Some(outcome),
                    Ok(()) = &mut interrupt => break None,
                }
            }
        };
        while let Ok(print) = prints.try_recv() {
            self.say(&print);
        }
        for note in outcome.iter().flat_map(notes) {
            self.say(&format!("; {note}"));
        }
        if let Some(outcome) = outcome.as_ref().filter(|outcome| self.terminal && outcome.duration >= SLOW) {
            self.say(&format!("; {:.1} s", outcome.duration.as_secs_f64()));
        }
        if outcome.is_none() {
            // The terminal has shown ^C itself.
            errln!("{}cancelled", if self.terminal { "\n" } else { "" });
            self.settle().await;
        }
        outcome
    }

    /// Waits until the worker has taken a cancelled program off the session.
    async fn settle(&self) {
        loop {
            let idle = self.engine.with_sessions(KEY, |sessions| {
                sessions.get(KEY).is_none_or(|place| place.borrow().is_idle())
            });
            if idle.await != Some(false) {
                return;
            }
        }
    }

    /// The names that the session defines.
    pub(super) async fn names(&self) -> Vec<String> {
        let names = self.engine.with_sessions(KEY, |sessions| {
            let Some(place) = sessions.get(KEY) else { return Vec::new() };
            let names = place
                .borrow()
                .view(|session| session.bindings.iter().map(|(name, _)| (*name).to_owned()).collect());
            names.unwrap_or_default()
        });
        names.await.unwrap_or_default()
    }

    /// Shows a text on standard output.
    pub(super) fn say(&self, text: &str) {
        let text = self.redactor.scrub(text);
        outln!("{}", report::shown(&text, self.terminal));
    }

    fn report(&self, program: &str, mut failure: Failure) {
        self.failed.set(true);
        limits::explain(&mut failure, self.template.upstreams.is_some());
        failure.message = self.redactor.scrub_string(failure.message);
        failure.hint = failure.hint.map(|hint| self.redactor.scrub_string(hint));
        report::failure(program, &failure, self.terminal);
    }
}

/// The width of the terminal.
fn columns() -> usize {
    terminal_size::terminal_size().map_or(USUAL_COLUMNS, |(width, _)| usize::from(width.0).max(20))
}
