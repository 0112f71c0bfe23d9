//! Standard output and standard error of a command.
//!
//! A failed write does not stop a command. The first fault of standard output is recorded, and [`conclude`] turns it
//! into the exit status: a full disk is a failure, a closed reader (`| head -1`) is not.

use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;
use std::sync::OnceLock;

use ptc_host::visible::visible;
use ptc_mcp::json::Value;

/// The first fault of standard output.
static FAULT: OnceLock<io::Error> = OnceLock::new();

/// Writes a line to standard output.
macro_rules! outln {
    () => { $crate::cli::output::write(format_args!("\n")) };
    ($($text:tt)*) => { $crate::cli::output::write(format_args!("{}\n", format_args!($($text)*))) };
}

/// Writes a line to standard error, if possible.
macro_rules! errln {
    ($($text:tt)*) => { $crate::cli::output::write_error(format_args!("{}\n", format_args!($($text)*))) };
}

pub(super) use {errln, outln};

/// Writes to standard output, at once.
pub(super) fn write(text: fmt::Arguments<'_>) {
    let mut out = io::stdout().lock();
    keep(out.write_fmt(text).and_then(|()| out.flush()));
}

/// Writes a line of JSON for programs.
pub(super) fn print_json(value: &Value) {
    write(format_args!("{}\n", visible(&value.to_string())));
}

/// Writes to standard error, if possible.
pub(super) fn write_error(text: fmt::Arguments<'_>) {
    // A fault here cannot be reported anywhere.
    let _ = io::stderr().lock().write_fmt(text);
}

/// Rows of as many cells as aligned columns, a line each.
pub(super) fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width =
        |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

/// Records the first fault of a writer over standard output; returns true if there is none.
pub(super) fn keep(written: io::Result<()>) -> bool {
    match written {
        Ok(()) => true,
        Err(fault) => {
            // Only the first fault is recorded.
            let _ = FAULT.set(fault);
            false
        }
    }
}

/// True if standard output is closed or failed.
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
