//! Messages for a person at a terminal.

use crate::cli::output::{errln, print_json};
use ptc_host::engine::Failure;
use ptc_host::visible::visible;
use ptc_mcp::json::json;
use std::borrow::Cow;
use std::ffi::OsStr;
use std::process::ExitCode;

/// The exit status for a wrong command line, as in clap.
const WRONG_COMMAND_LINE: u8 = 2;

/// Reports on standard error why the command cannot do its work.
pub fn fault(message: &str) -> ExitCode {
    errln!("ptc: {}", visible(message));
    ExitCode::FAILURE
}

/// Reports why the command cannot do its work, as JSON for programs or to a person.
pub(super) fn unusable(message: &str, json: bool) -> ExitCode {
    if json {
        print_json(&json!({"ok": false, "error": message}));
        return ExitCode::FAILURE;
    }
    fault(message)
}

/// Reports why a command line cannot be executed: no work was started.
pub(crate) fn refused(message: &str) -> ExitCode {
    let _ = fault(message);
    ExitCode::from(WRONG_COMMAND_LINE)
}

/// Foreign text for standard output or standard error. On a terminal its hidden characters are escaped, so that no
/// output can move the cursor or imitate other output. Files and pipes get it unchanged.
pub(crate) fn shown(text: &str, terminal: bool) -> Cow<'_, str> {
    if terminal { visible(text) } else { Cow::Borrowed(text) }
}

/// True if a terminal should show colours: not if `NO_COLOR` is set, or the terminal supports none.
pub(crate) fn has_colours(terminal: bool) -> bool {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    wants_colours(terminal, set("NO_COLOR").is_some(), set("TERM").as_deref())
}

fn wants_colours(terminal: bool, refused: bool, kind: Option<&OsStr>) -> bool {
    terminal && !refused && kind != Some(OsStr::new("dumb"))
}

/// Prints a failure with the source line and a caret under the place, coloured on a terminal.
pub fn failure(source: &str, failure: &Failure, terminal: bool) {
    let (red, dim, plain) =
        if has_colours(terminal) { ("\x1b[31m", "\x1b[2m", "\x1b[0m") } else { ("", "", "") };
    let message = failure.full_message();
    let reason = failure.reason.as_str();
    // Many messages begin with their reason.
    let text = message.strip_prefix(reason).and_then(|text| text.strip_prefix(": ")).unwrap_or(&message);
    errln!("{red}{reason}{plain}: {}", shown(text, terminal));
    let (source, position) = match (&failure.definition, failure.position) {
        (Some(definition), _) => {
            match definition.name() {
                "" => errln!("{dim}in an earlier definition:{plain}"),
                name => errln!("{dim}in the definition of {}:{plain}", shown(name, terminal)),
            }
            (definition.source.as_str(), definition.position)
        }
        (None, Some(position)) => (source, position),
        (None, None) => return,
    };
    let Some(line) = source.split('\n').nth(position.line as usize - 1) else { return };
    let number = position.line.to_string();
    let line = line.trim_end_matches('\r');
    // Tabs stay tabs under the line, so that the caret is below the place.
    let pad: String =
        line.chars().take(position.column as usize - 1).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
    errln!("{dim}{number} |{plain} {}", shown(line, terminal));
    errln!("{dim}{} |{plain} {pad}{red}^{plain}", " ".repeat(number.len()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_for_terminals_that_want_them() {
        assert!(wants_colours(true, false, Some(OsStr::new("xterm"))) && wants_colours(true, false, None));
        assert!(!wants_colours(false, false, None) && !wants_colours(true, true, None));
        assert!(!wants_colours(true, false, Some(OsStr::new("dumb"))));
    }
}
