//! A run that is written down as a test.

use std::io::IsTerminal as _;
use std::path::Path;

use ptc_host::credentials::Redactor;
use ptc_host::engine::EvalOutcome;
use ptc_host::visible::visible;
use ptc_programs::recording::RunRecording;

use crate::cli::output::{errln, write_error};
use crate::cli::setup::atomic_file;
use crate::cli::{questions, report};

/// Whether a run can be written to this file, to be asked before it calls anything.
///
/// # Errors
/// One sentence: the file is there already, or its folder is not.
pub(in crate::cli) fn check_file(file: &Path) -> Result<(), String> {
    if file.exists() {
        return Err(format!("{}: it exists already; --record writes a new file", file.display()));
    }
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => {
            Err(format!("{}: there is no folder {}", file.display(), folder.display()))
        }
        _ => Ok(()),
    }
}

/// Shows the test of a run, and writes it to a new file. At a terminal a person is asked first.
///
/// # Errors
/// One sentence: the run cannot be a test, or the file cannot be written.
pub(in crate::cli) fn keep(
    recording: &RunRecording,
    file: &Path,
    input: &str,
    outcome: &EvalOutcome,
    redactor: &Redactor,
) -> Result<(), String> {
    let test = recording.test(input, outcome, redactor, 0);
    let test = test.map_err(|why| format!("the run cannot be a test: {why}"))?;
    check_file(file)?;
    errln!("{}", report::shown(&test, std::io::stderr().is_terminal()));
    if questions::is_at_terminal() {
        write_error(format_args!("Write this to {}? [Y/n] ", visible(&file.to_string_lossy())));
        if !questions::agrees() {
            errln!("Nothing was written.");
            return Ok(());
        }
    }
    atomic_file::write(file, &format!("{test}\n"))
}
