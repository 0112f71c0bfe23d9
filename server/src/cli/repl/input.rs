//! Where lines come from. They are read on a thread of their own, so that upstreams are served while a person thinks.

use super::editor::Prompt;
use std::io::{self, BufRead};
use std::sync::mpsc;
use tokio::sync::mpsc as answers;

/// What was read.
#[derive(Debug)]
pub(super) enum Line {
    /// A line, or with an editor all lines of a form; without its end.
    Text(String),
    /// Ctrl-C at the prompt: what was typed is forgotten.
    Interrupted,
    /// Ctrl-D, or the end of the pipe.
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
    /// Reads lines as they come, without prompt.
    ///
    /// # Errors
    /// The operating system refused a thread.
    pub(super) fn plain() -> io::Result<Input> {
        Input::spawn(|| plain_line)
    }

    /// Reads lines with an editor.
    ///
    /// # Errors
    /// The operating system refused a thread.
    pub(super) fn terminal(prompt: Prompt) -> io::Result<Input> {
        Input::spawn(move || {
            let mut editor = prompt.open();
            move || match &mut editor {
                Ok(editor) => editor.line(),
                Err(error) => Line::Failed(format!("cannot use the terminal: {error}")),
            }
        })
    }

    fn spawn<R: FnMut() -> Line>(open: impl FnOnce() -> R + Send + 'static) -> io::Result<Input> {
        let (ask, asked) = mpsc::channel();
        let (answer, answers) = answers::channel(1);
        std::thread::Builder::new().name("ptc-input".to_owned()).spawn(move || {
            let mut read = open();
            while asked.recv().is_ok() && answer.blocking_send(read()).is_ok() {}
        })?;
        Ok(Input { ask, answers })
    }

    /// The next line. Dropping the future loses the line that it would have given.
    pub(super) async fn line(&mut self) -> Line {
        if self.ask.send(()).is_err() {
            return Line::End;
        }
        self.answers.recv().await.unwrap_or(Line::End)
    }
}

fn plain_line() -> Line {
    let mut line = String::new();
    match io::stdin().lock().read_line(&mut line) {
        Ok(0) => Line::End,
        Ok(_) => {
            line.truncate(line.trim_end_matches(['\r', '\n']).len());
            Line::Text(line)
        }
        Err(error) => Line::Failed(format!("cannot read standard input: {error}")),
    }
}
