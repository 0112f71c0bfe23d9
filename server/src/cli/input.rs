//! Reads input lines on a separate thread, so that upstreams are served while a person thinks.

use super::output;
use rustyline::error::ReadlineError;
use std::fs::File;
use std::io::{self, BufRead, Read};
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc;
use tokio::sync::mpsc as answers;

/// Exit status of a process that Ctrl-C ended.
pub(super) const INTERRUPTED: u8 = 130;

/// Largest program that is read from a file or a pipe, in bytes. The limits of programs are far lower.
const MAX_SOURCE_BYTES: u64 = 16 << 20;

/// The program in the file `path`, which may be a pipe, or on standard input.
///
/// # Errors
/// One sentence: it cannot be read, is too large, or is no text.
#[expect(clippy::disallowed_methods, reason = "entry point: program()")]
pub(super) fn program(path: Option<&Path>) -> Result<String, String> {
    let what = || path.map_or_else(|| "standard input".to_owned(), |path| path.display().to_string());
    let mut text = String::new();
    let read = match path {
        Some(path) => {
            File::open(path).and_then(|file| file.take(MAX_SOURCE_BYTES + 1).read_to_string(&mut text))
        }
        None => io::stdin().lock().take(MAX_SOURCE_BYTES + 1).read_to_string(&mut text),
    };
    read.map_err(|error| format!("cannot read {}: {error}", what()))?;
    if text.len() as u64 > MAX_SOURCE_BYTES {
        return Err(format!("cannot read {}: larger than {MAX_SOURCE_BYTES} bytes", what()));
    }
    Ok(text)
}

/// The result of a read.
#[derive(Debug)]
pub(super) enum InputLine {
    /// A line, or with an editor all lines of a form, without the final newline.
    Text(String),
    /// Ctrl-C at the prompt: the typed text is discarded.
    Interrupted,
    /// Ctrl-D, or the end of the pipe.
    End,
    /// Nothing more can be read; the sentence says why.
    Failed(String),
}

impl From<rustyline::Result<String>> for InputLine {
    /// The result of an editor.
    fn from(read: rustyline::Result<String>) -> InputLine {
        match read {
            Ok(text) => InputLine::Text(text),
            Err(ReadlineError::Interrupted) => InputLine::Interrupted,
            Err(ReadlineError::Eof) => InputLine::End,
            Err(error) => InputLine::Failed(format!("cannot read from the terminal: {error}")),
        }
    }
}

/// The reading thread.
pub(super) struct Input {
    ask: mpsc::Sender<()>,
    answers: answers::Receiver<InputLine>,
}

impl Input {
    /// Reads lines as they come, without a prompt.
    ///
    /// # Errors
    /// If the operating system refuses a thread.
    pub(super) fn plain() -> io::Result<Input> {
        Input::spawn(|| plain_line)
    }

    /// Reads lines with an editor, which `open` creates on the reading thread.
    ///
    /// # Errors
    /// If the operating system refuses a thread.
    pub(super) fn terminal<E: 'static>(
        open: impl FnOnce() -> rustyline::Result<E> + Send + 'static,
        line: fn(&mut E) -> InputLine,
    ) -> io::Result<Input> {
        Input::spawn(move || {
            let mut editor = open();
            move || match &mut editor {
                Ok(editor) => line(editor),
                Err(error) => InputLine::Failed(format!("cannot use the terminal: {error}")),
            }
        })
    }

    fn spawn<R: FnMut() -> InputLine>(open: impl FnOnce() -> R + Send + 'static) -> io::Result<Input> {
        let (ask, asked) = mpsc::channel();
        let (answer, answers) = answers::channel(1);
        std::thread::Builder::new().name("ptc-input".to_owned()).spawn(move || {
            let mut read = open();
            while asked.recv().is_ok() && answer.blocking_send(read()).is_ok() {}
        })?;
        Ok(Input { ask, answers })
    }

    /// The next line. Dropping the future loses the line that it would have returned.
    pub(super) async fn line(&mut self) -> InputLine {
        if self.ask.send(()).is_err() {
            return InputLine::End;
        }
        self.answers.recv().await.unwrap_or(InputLine::End)
    }

    /// The next line, for a loop that also ends with Ctrl-C or when its output is closed.
    ///
    /// # Errors
    /// The exit code of such an end.
    pub(super) async fn next(&mut self) -> Result<InputLine, ExitCode> {
        let line = tokio::select! {
            line = self.line() => line,
            Ok(()) = tokio::signal::ctrl_c() => return Err(ExitCode::from(INTERRUPTED)),
        };
        if output::is_closed() { Err(ExitCode::SUCCESS) } else { Ok(line) }
    }
}

#[expect(clippy::disallowed_methods, reason = "entry point: plain_line()")]
fn plain_line() -> InputLine {
    let mut line = String::new();
    match io::stdin().lock().read_line(&mut line) {
        Ok(0) => InputLine::End,
        Ok(_) => {
            line.truncate(line.trim_end_matches(['\r', '\n']).len());
            InputLine::Text(line)
        }
        Err(error) => InputLine::Failed(format!("cannot read standard input: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_are_read_when_they_are_asked_for() {
        let open = || Ok(["a", "b"].map(str::to_owned).to_vec());
        let line = |left: &mut Vec<String>| InputLine::from(left.pop().ok_or(ReadlineError::Eof));
        let mut input = Input::terminal(open, line).unwrap();
        let shown = format!("{:?} {:?} {:?}", input.line().await, input.line().await, input.line().await);
        assert_eq!(shown, "Text(\"b\") Text(\"a\") End");
        let mut broken =
            Input::terminal::<()>(|| Err(ReadlineError::Interrupted), |()| InputLine::End).unwrap();
        assert!(
            matches!(broken.line().await, InputLine::Failed(why) if why.starts_with("cannot use the terminal: "))
        );
    }
}
