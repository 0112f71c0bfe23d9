//! Lines from a terminal, read on a thread of their own, so that upstreams are served while a person thinks.

use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;
use std::io;
use std::sync::mpsc;
use tokio::sync::mpsc as answers;

/// What stands before the place where one types.
const PROMPT: &str = "> ";

/// What was read.
#[derive(Debug)]
pub(super) enum Line {
    /// A line, without its end.
    Text(String),
    /// Ctrl-C at the prompt.
    Interrupted,
    /// Ctrl-D.
    End,
    /// Nothing can be read any more; the sentence says why.
    Failed(String),
}

/// The thread that reads.
pub(super) struct Input {
    ask: mpsc::Sender<()>,
    answers: answers::Receiver<Line>,
}

impl Input {
    /// Reads lines with an editor that remembers those of this process.
    ///
    /// # Errors
    /// The operating system refused a thread.
    pub(super) fn terminal() -> io::Result<Input> {
        let (ask, asked) = mpsc::channel();
        let (answer, answers) = answers::channel(1);
        std::thread::Builder::new().name("ptc-input".to_owned()).spawn(move || {
            let mut editor = DefaultEditor::new();
            while asked.recv().is_ok() {
                let line = match &mut editor {
                    Ok(editor) => read(editor),
                    Err(error) => Line::Failed(format!("cannot use the terminal: {error}")),
                };
                if answer.blocking_send(line).is_err() {
                    return;
                }
            }
        })?;
        Ok(Input { ask, answers })
    }

    /// The next line.
    pub(super) async fn line(&mut self) -> Line {
        if self.ask.send(()).is_err() {
            return Line::End;
        }
        self.answers.recv().await.unwrap_or(Line::End)
    }
}

fn read(editor: &mut DefaultEditor) -> Line {
    match editor.readline(PROMPT) {
        Ok(text) => {
            // A history that is full or refuses repeats is no reason to stop.
            let _ = editor.add_history_entry(&text);
            Line::Text(text)
        }
        Err(ReadlineError::Interrupted) => Line::Interrupted,
        Err(ReadlineError::Eof) => Line::End,
        Err(error) => Line::Failed(format!("cannot read from the terminal: {error}")),
    }
}
