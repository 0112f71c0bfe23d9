//! Limits on the results that a model reads.

use super::Mode;

/// Limits on the results that a model reads back (agent.md 3, `format_options`).
///
/// The small defaults that agent.md lists for results are overturned by ruling 20: a result has up to 16 KiB, cut
/// between elements, with a note on what is missing. A host that wants the small ones sets them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormatOptions {
    /// Items of each collection in a program's result that a PTC-Lisp agent reads after writing the program in its text; `None`
    /// (all that fit) by default.
    pub feedback_limit: Option<usize>,
    /// Most bytes of such a result; 16 KiB by default.
    pub feedback_max_chars: usize,
    /// Items of each collection in a result of `lisp_eval`; `None` (all that fit) by default.
    pub result_limit: Option<usize>,
    /// Most bytes of a result of `lisp_eval`; 16 KiB by default.
    pub result_max_chars: usize,
    /// Most characters of one print; 2000 by default, which the language itself allows.
    pub max_print_length: usize,
    /// Most bytes of all prints of a program; 16 KiB by default.
    pub prints_max_bytes: usize,
    /// Most bytes of one result that `*1 *2 *3` keep; by default 512, in combined mode 1024.
    pub history_max_bytes: Option<u64>,
    /// Most characters of a context value in the inventory of data; 250 by default.
    pub preview_max_chars: usize,
}

impl FormatOptions {
    /// Options that are zero, by name.
    pub(crate) fn zeros(&self) -> impl Iterator<Item = &'static str> {
        [
            ("feedback_limit", self.feedback_limit == Some(0)),
            ("feedback_max_chars", self.feedback_max_chars == 0),
            ("result_limit", self.result_limit == Some(0)),
            ("result_max_chars", self.result_max_chars == 0),
            ("max_print_length", self.max_print_length == 0),
            ("prints_max_bytes", self.prints_max_bytes == 0),
            ("history_max_bytes", self.history_max_bytes == Some(0)),
            ("preview_max_chars", self.preview_max_chars == 0),
        ]
        .into_iter()
        .filter_map(|(name, zero)| zero.then_some(name))
    }

    /// Items and bytes of a program's result in this mode.
    pub(crate) fn result(&self, mode: Mode) -> (Option<usize>, usize) {
        match mode {
            Mode::Lisp => (self.feedback_limit, self.feedback_max_chars),
            _ => (self.result_limit, self.result_max_chars),
        }
    }

    /// Bytes of one result that `*1 *2 *3` keep in this mode.
    pub(crate) fn history(&self, mode: Mode) -> u64 {
        self.history_max_bytes.unwrap_or(if mode == Mode::Combined { 1024 } else { 512 })
    }
}

impl Default for FormatOptions {
    fn default() -> FormatOptions {
        FormatOptions {
            feedback_limit: None,
            feedback_max_chars: 16 << 10,
            result_limit: None,
            result_max_chars: 16 << 10,
            max_print_length: 2000,
            prints_max_bytes: 16 << 10,
            history_max_bytes: None,
            preview_max_chars: 250,
        }
    }
}
