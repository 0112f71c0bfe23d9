//! User-visible output: the answer on standard output, progress on standard error.

use crate::cli::output::{self, outln};
use crate::cli::report;
use futures_util::future::BoxFuture;
use ptc_host::credentials::Redactor;
use ptc_host::engine::{Asker, Verdict};
use ptc_host::questions::{Answer, PendingQuestion, QuestionId};
use ptc_host::sync::Mutex;
use ptc_host::visible::visible;
use std::borrow::Cow;
use std::io::{IsTerminal, Write as _};
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

/// Characters of arguments, results and errors that a note shows.
const MAX_NOTE: usize = 300;
/// Lines of a program that a note shows.
const MAX_LINES: usize = 40;

/// The destination of answers and notes.
pub(super) struct Screen {
    /// Standard output is a terminal.
    out: bool,
    /// Standard error is a terminal.
    err: bool,
    quiet: bool,
    /// The answer is a value: only the checked one is printed.
    typed: bool,
    state: Mutex<ScreenState>,
}

#[derive(Default)]
struct ScreenState {
    redactor: Redactor,
    /// True if text of the current answer is already shown.
    shown: bool,
    /// The end of the text received so far, if it may be the beginning of a secret.
    held: String,
    /// The cursor is not at the beginning of a line.
    open_line: bool,
}

impl Screen {
    pub(super) fn new(quiet: bool, typed: bool) -> Screen {
        let state = Mutex::new(ScreenState::default());
        Screen {
            out: std::io::stdout().is_terminal(),
            err: std::io::stderr().is_terminal(),
            quiet,
            typed,
            state,
        }
    }

    /// Scrubs everything that is shown from now on.
    pub(super) fn scrub_with(&self, redactor: Redactor) {
        self.state().redactor = redactor;
    }

    /// True if text is shown as it arrives.
    pub(super) fn is_live(&self) -> bool {
        self.out && !self.typed
    }

    /// Notes that a new response of the model begins.
    pub(super) fn begin(&self) {
        let mut state = self.state();
        end_line(&mut state);
        state.shown = false;
    }

    /// Shows text of the model as it arrives.
    pub(super) fn text(&self, text: &str) {
        if !self.is_live() {
            return;
        }
        let mut state = self.state();
        let mut clean = std::mem::take(&mut state.held) + text;
        clean = state.redactor.scrub_string(clean);
        let mut end = clean.len() - state.redactor.unfinished(&clean);
        // Half a secret may end within a character.
        while !clean.is_char_boundary(end) {
            end -= 1;
        }
        state.held = clean.split_off(end);
        state.shown = true;
        if !clean.is_empty() {
            write_out(&visible(&clean));
            state.open_line = !clean.ends_with('\n');
        }
    }

    /// Shows the complete answer; returns whether it could be written.
    pub(super) fn answer(&self, text: &str) -> bool {
        let mut state = self.state();
        // Text that arrived in pieces is shown already.
        if self.is_live() && state.shown {
            end_line(&mut state);
            return true;
        }
        let clean = state.redactor.scrub(text).into_owned();
        let shown = report::shown(&clean, self.out);
        outln!("{}", shown.trim_end_matches('\n'));
        !output::is_closed()
    }

    /// Shows the beginning of an answer that was cut off. Values are not shown in part.
    pub(super) fn part(&self, text: &str) {
        if !self.typed {
            self.answer(text);
        }
    }

    /// Shows a program that the model runs.
    pub(super) fn program(&self, source: &str) {
        let mut lines: Vec<&str> = source.trim_end().lines().take(MAX_LINES + 1).collect();
        if lines.len() > MAX_LINES {
            lines[MAX_LINES] = "…";
        }
        let program = lines.join("\n   ");
        self.note(&format!("λ  {program}"));
    }

    /// Shows a call of an upstream's tool.
    pub(super) fn call(&self, server: &str, tool: &str, arguments: &str) {
        self.note(&format!("→  {server}/{tool} {}", self.short(arguments)));
    }

    /// Shows the end of a call: the size of its result, or its error.
    pub(super) fn result(&self, server: &str, tool: &str, outcome: Result<usize, &str>, took: Duration) {
        let ms = took.as_millis();
        self.note(&match outcome {
            Ok(bytes) => format!("←  {server}/{tool} ok, {bytes} bytes, {ms} ms"),
            Err(text) => format!("←  {server}/{tool} failed: {} ({ms} ms)", self.short(text)),
        });
    }

    /// The outcome of a program.
    pub(super) fn value(&self, text: &str) {
        self.note(&format!("=  {}", self.short(text)));
    }

    /// One or more lines of progress.
    pub(super) fn note(&self, text: &str) {
        if self.quiet {
            return;
        }
        let mut state = self.state();
        end_line(&mut state);
        let clean = state.redactor.scrub(text).into_owned();
        let (dim, plain) = if report::has_colours(self.err) { ("\x1b[2m", "\x1b[0m") } else { ("", "") };
        // A closed standard error ends nothing.
        let _ = writeln!(std::io::stderr().lock(), "{dim}{}{plain}", report::shown(&clean, self.err));
    }

    /// Shows the reason for a missing answer.
    pub(super) fn fault(&self, text: &str) {
        let mut state = self.state();
        end_line(&mut state);
        let clean = state.redactor.scrub(text).into_owned();
        let _ = writeln!(std::io::stderr().lock(), "ptc: {}", report::shown(&clean, self.err));
    }

    /// Ends a line that was left open, so that a prompt starts at the left edge.
    pub(super) fn settle(&self) {
        end_line(&mut self.state());
    }

    /// The beginning of a text, on one line. Secrets are removed before the cut, so that no part of one remains.
    fn short(&self, text: &str) -> String {
        let clean = self.state().redactor.scrub(text).into_owned();
        one_line(&clean, MAX_NOTE).into_owned()
    }

    fn state(&self) -> MutexGuard<'_, ScreenState> {
        self.state.lock()
    }
}

/// The asker at the terminal. Its questions begin on a line of their own.
pub(super) struct TerminalAsker {
    pub(super) person: Arc<dyn Asker>,
    pub(super) screen: Arc<Screen>,
}

impl Asker for TerminalAsker {
    fn ask(&self, open: Vec<PendingQuestion>) -> BoxFuture<'static, Verdict> {
        self.screen.settle();
        self.person.ask(open)
    }

    fn hold(&self, open: Vec<PendingQuestion>, why: String) -> BoxFuture<'static, Vec<(QuestionId, Answer)>> {
        self.screen.settle();
        self.person.hold(open, why)
    }
}

fn end_line(state: &mut ScreenState) {
    if !state.held.is_empty() {
        let held = std::mem::take(&mut state.held);
        write_out(&visible(&held));
        state.open_line = true;
    }
    if std::mem::take(&mut state.open_line) {
        write_out("\n");
    }
}

fn write_out(text: &str) {
    // A closed terminal ends the chat at its next prompt.
    output::write(format_args!("{text}"));
}

/// A text on one line, cut to `max` characters.
fn one_line(text: &str, max: usize) -> Cow<'_, str> {
    let text = text.trim();
    let too_long = text.char_indices().nth(max);
    if too_long.is_none() && !text.contains(['\n', '\r']) {
        return Cow::Borrowed(text);
    }
    let cut = too_long.map_or(text, |(end, _)| &text[..end]);
    let mut line = cut.replace("\r\n", " ").replace(['\n', '\r'], " ");
    if too_long.is_some() {
        line.push('…');
    }
    Cow::Owned(line)
}

#[cfg(test)]
mod tests {
    use super::one_line;

    #[test]
    fn notes_are_short_lines() {
        assert_eq!(one_line(" a\nb\r\nc ", 10), "a b c");
        assert_eq!(one_line("éééé", 3), "ééé…");
        assert_eq!(one_line("abc", 3), "abc");
    }
}
