//! The line editor: history, completion, input over several lines.

use super::forms::{self, Typed};
use crate::cli::input::Line;
use crate::cli::output::errln;
use ptc_vm::SpecialForm;
use ptc_vm::builtins::library;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter, MatchingBracketHighlighter};
use rustyline::history::DefaultHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{CompletionType, Config, Context, Editor, Helper, Hinter};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Entries that the history file keeps.
const HISTORY_ENTRIES: usize = 10_000;

/// Names that the program at the prompt may use besides those of the language. They change from form to form.
pub(super) type Names = Arc<Mutex<Vec<String>>>;

/// The settings of an editor.
pub(super) struct Prompt {
    /// The prompt.
    pub(super) text: &'static str,
    /// The history file; `None` for a history that ends with the process.
    pub(super) history: Option<PathBuf>,
    /// Completions besides the names of the language.
    pub(super) names: Names,
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
            .build();
        let mut editor = Editor::with_config(config)?;
        editor.set_helper(Some(Assistant::new(self.names)));
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
    pub(super) fn line(&mut self) -> Line {
        let read = self.editor.readline(self.prompt);
        if let Ok(text) = &read {
            let new = self.editor.add_history_entry(text.as_str()).unwrap_or(false);
            // Appended at once: a REPL that is killed loses nothing, and two at a time keep each other's lines.
            if new && self.history.as_ref().is_some_and(|path| self.editor.append_history(path).is_err()) {
                self.history = None;
                errln!("ptc: the history file cannot be written any more");
            }
        }
        read.into()
    }
}

/// Completion and hints for the editor.
#[derive(Helper, Hinter)]
struct Assistant {
    names: Names,
    /// Names of the language.
    language: BTreeSet<&'static str>,
    brackets: MatchingBracketHighlighter,
}

impl Assistant {
    fn new(names: Names) -> Assistant {
        let builtins = library().all().iter().flat_map(|builtin| {
            std::iter::once(builtin.name).chain(library().aliases(builtin).iter().copied())
        });
        let forms = SpecialForm::ALL.iter().map(|form| form.name()).chain([
            "tool/call",
            "*1",
            "*2",
            "*3",
            "nil",
            "true",
            "false",
        ]);
        Assistant {
            names,
            language: builtins.chain(forms).collect(),
            brackets: MatchingBracketHighlighter::new(),
        }
    }

    /// Names that begin like the text before `position` in `line`, and where that text begins.
    fn completions(&self, line: &str, position: usize) -> (usize, Vec<String>) {
        let before = &line[..position];
        let start = before.rfind(ends_name).map_or(0, |at| at + 1);
        let begun = &before[start..];
        if begun.is_empty() {
            return (position, Vec::new());
        }
        let mut found: BTreeSet<String> = self
            .language
            .iter()
            .filter(|name| name.starts_with(begun))
            .map(|name| (*name).to_owned())
            .collect();
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        found.extend(names.iter().filter(|name| name.starts_with(begun)).cloned());
        (start, found.into_iter().collect())
    }
}

/// Characters that no symbol contains. All are ASCII, so what follows starts at the next byte.
fn ends_name(c: char) -> bool {
    c.is_ascii_whitespace() || "()[]{}\"'`,;#@^~".contains(c)
}

impl Completer for Assistant {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.completions(line, position))
    }
}

impl Validator for Assistant {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(match forms::read(context.input()) {
            Typed::Unfinished if !super::commands::is_command(context.input()) => {
                ValidationResult::Incomplete
            }
            _ => ValidationResult::Valid(None),
        })
    }
}

impl Highlighter for Assistant {
    fn highlight<'l>(&self, line: &'l str, position: usize) -> Cow<'l, str> {
        self.brackets.highlight(line, position)
    }

    fn highlight_char(&self, line: &str, position: usize, kind: CmdKind) -> bool {
        self.brackets.highlight_char(line, position, kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_language_and_session_are_completed() {
        let names: Names = Arc::new(Mutex::new(vec!["total".to_owned(), "data/orders".to_owned()]));
        let assistant = Assistant::new(names.clone());
        let found = |line: &str| assistant.completions(line, line.len());
        let (start, all) = found("(map (fn [x] (group-");
        assert_eq!((start, all), (14, vec!["group-by".to_owned()]));
        assert_eq!(found("(count tota"), (7, vec!["total".to_owned()]));
        assert_eq!(found("data/").1, ["data/orders"]);
        assert!(found("(when-l").1.contains(&"when-let".to_owned()), "special forms");
        assert!(found("é(tool").1.contains(&"tool/call".to_owned()));
        assert!(found("(").1.is_empty(), "nothing is proposed before anything is typed");
        names.lock().unwrap().push("totals".to_owned());
        assert_eq!(found("tota").1, ["total", "totals"]);
    }
}
