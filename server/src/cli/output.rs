//! Standard output and standard error of a command.
//!
//! What cannot be written ends no command in its middle. The first fault of standard output is kept, and [`conclude`]
//! turns it into the exit status: a full disk is a failure, a reader that went away (`| head -1`) is none.

use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;
use std::sync::OnceLock;

/// Why standard output took nothing more.
static FAULT: OnceLock<io::Error> = OnceLock::new();

/// Writes a line to standard output.
macro_rules! outln {
    () => { $crate::cli::output::write(format_args!("\n")) };
    ($($text:tt)*) => { $crate::cli::output::write(format_args!("{}\n", format_args!($($text)*))) };
}

/// Writes a line to standard error, if that takes it.
macro_rules! errln {
    ($($text:tt)*) => { $crate::cli::output::write_error(format_args!("{}\n", format_args!($($text)*))) };
}

pub(super) use {errln, outln};

/// Writes to standard output, at once.
pub(super) fn write(text: fmt::Arguments<'_>) {
    let mut out = io::stdout().lock();
    keep(out.write_fmt(text).and_then(|()| out.flush()));
}

/// Writes to standard error, if that takes it.
pub(super) fn write_error(text: fmt::Arguments<'_>) {
    // There is no place left to say that this cannot be said.
    let _ = io::stderr().lock().write_fmt(text);
}

/// Keeps the first fault of a writer over standard output; returns whether there is none.
pub(super) fn keep(written: io::Result<()>) -> bool {
    match written {
        Ok(()) => true,
        Err(fault) => {
            // A later fault says nothing new.
            let _ = FAULT.set(fault);
            false
        }
    }
}

/// Whether standard output takes nothing more.
pub(super) fn is_closed() -> bool {
    FAULT.get().is_some()
}

/// The exit status of a command that ended with `exit`.
pub(super) fn conclude(exit: ExitCode) -> ExitCode {
    keep(io::stdout().lock().flush());
    match FAULT.get() {
        Some(fault) if fault.kind() != ErrorKind::BrokenPipe => {
            errln!("ptc: cannot write to standard output: {fault}");
            ExitCode::FAILURE
        }
        _ => exit,
    }
}
