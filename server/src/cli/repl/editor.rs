//! The line editor: history, completion, colours, and input over several lines with indentation.

use super::completion::{Vocabulary, complete, language};
use super::forms::{self, TypedText};
use super::highlight::Style;
use super::indent::indentation;
use crate::cli::input::InputLine;
use crate::cli::output::errln;
use crate::cli::report;
use ptc_vm::SpecialForm;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::history::DefaultHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{
    Cmd, ColorMode, CompletionType, ConditionalEventHandler, Config, Context, Editor, Event, EventContext,
    EventHandler, Helper, Hinter, KeyCode, KeyEvent, Modifiers, RepeatCount,
};
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Entries that the history file keeps.
const HISTORY_ENTRIES: usize = 10_000;

/// The settings of an editor.
pub(super) struct Prompt {
    /// The prompt.
    pub(super) text: &'static str,
    /// The prompt of continuation lines, as wide.
    pub(super) continuation: &'static str,
    /// The history file; `None` for a history that is lost with the process.
    pub(super) history: Option<PathBuf>,
    /// Completions besides the names of the language.
    pub(super) vocabulary: Vocabulary,
}

/// An editor on the terminal of this process.
pub(super) struct LineEditor {
    prompt: &'static str,
    editor: Editor<Assistant, DefaultHistory>,
    history: Option<PathBuf>,
}

impl Prompt {
    /// Opens the terminal and reads the history.
    pub(super) fn open(self) -> rustyline::Result<LineEditor> {
        let config = Config::builder()
            .max_history_size(HISTORY_ENTRIES)?
            .history_ignore_space(true)
            .completion_type(CompletionType::List)
            // The continuation prompt is drawn only with colours; the style knows whether there are any.
            .color_mode(ColorMode::Forced)
            .build();
        let mut editor = Editor::with_config(config)?;
        let width = self.text.len();
        let style = Style {
            colours: report::has_colours(true),
            continuation: self.continuation,
            special_forms: SpecialForm::ALL.iter().map(|form| form.name()).collect(),
        };
        editor.set_helper(Some(Assistant {
            vocabulary: self.vocabulary,
            language: language(),
            style,
            is_final: Cell::new(false),
        }));
        editor.bind_sequence(
            Event::from(KeyEvent(KeyCode::Enter, Modifiers::NONE)),
            EventHandler::Conditional(Box::new(NewLine { prompt: width })),
        );
        let mut history = self.history;
        if let Some(path) = &history {
            let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
            let read = made.map_err(ReadlineError::Io).and_then(|()| match editor.load_history(path) {
                Err(ReadlineError::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
                read => read,
            });
            if let Err(error) = read {
                errln!("ptc: no history is kept: {}: {error}", path.display());
                history = None;
            }
        }
        Ok(LineEditor { prompt: self.text, editor, history })
    }
}

impl LineEditor {
    /// Lets the person type one text.
    pub(super) fn line(&mut self) -> InputLine {
        let read = self.editor.readline(self.prompt);
        if let Ok(text) = &read {
            let new = self.editor.add_history_entry(text.as_str()).unwrap_or(false);
            // Appended at once: a REPL that is killed loses nothing, and concurrent REPLs keep each other's lines.
            if new && self.history.as_ref().is_some_and(|path| self.editor.append_history(path).is_err()) {
                self.history = None;
                errln!("ptc: the history file cannot be written any more");
            }
        }
        read.into()
    }
}

/// Enter in an unfinished form: a new line, indented.
struct NewLine {
    /// The width of the prompt.
    prompt: usize,
}

impl ConditionalEventHandler for NewLine {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, context: &EventContext<'_>) -> Option<Cmd> {
        let text = context.line();
        if super::commands::is_command(text) || forms::read(text) != TypedText::Unfinished {
            return None;
        }
        let before = text.get(..context.pos())?;
        Some(Cmd::Insert(1, format!("\n{}", " ".repeat(indentation(before, self.prompt)))))
    }
}

/// Completion, colours and validation for the editor.
#[derive(Helper, Hinter)]
struct Assistant {
    vocabulary: Vocabulary,
    /// Names of the language.
    language: BTreeSet<&'static str>,
    style: Style,
    /// True if the text is shown for the last time, without a cursor.
    is_final: Cell<bool>,
}

impl Completer for Assistant {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(complete(&line[..position], &self.language, &self.vocabulary))
    }
}

impl Validator for Assistant {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(match forms::read(context.input()) {
            TypedText::Unfinished if !super::commands::is_command(context.input()) => {
                ValidationResult::Incomplete
            }
            _ => ValidationResult::Valid(None),
        })
    }
}

impl Highlighter for Assistant {
    fn highlight<'l>(&self, line: &'l str, position: usize) -> Cow<'l, str> {
        let cursor = (self.style.colours && !self.is_final.get()).then_some(position);
        Cow::Owned(self.style.paint(line, cursor))
    }

    fn highlight_char(&self, _: &str, _: usize, kind: CmdKind) -> bool {
        self.is_final.set(kind == CmdKind::ForcedRefresh);
        true
    }
}
