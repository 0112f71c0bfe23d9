//! Session changes that a program made, or would have made.

use super::SessionDraft;

/// The limit that a program's definitions would break.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exceeded {
    /// The exceeded quantity: `bindings`, `memory_bytes` or `binding_bytes`.
    pub field: &'static str,
    /// The limit's name, for instance `max_bindings`.
    pub limit: &'static str,
    /// The size that the session would have; at least that much where measuring stopped early.
    pub actual: u64,
    /// The limit.
    pub max: u64,
    /// The binding, where one is to blame.
    pub name: Option<String>,
}

/// A result that was too large for the history and is stored as a preview.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryNotice {
    /// Its size.
    pub bytes: u64,
    /// The limit.
    pub max_bytes: u64,
}

/// A definition that a program made or changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// Its name.
    pub name: String,
    /// A preview of its value: 10 items of a collection, 120 characters of a string.
    pub preview: String,
    /// Whether the preview leaves something out.
    pub cut: bool,
}

/// The content of a session after a program, or the rejected one.
#[derive(Clone, Debug, Default)]
pub struct SessionReport {
    /// Names that are new or have another value, with a preview of it, sorted.
    pub changed: Vec<Changed>,
    /// All names, sorted.
    pub stored: Vec<String>,
    /// Bytes of all definitions.
    pub memory_bytes: u64,
    /// A result that was replaced by a preview.
    pub notice: Option<HistoryNotice>,
    /// Why nothing was stored.
    pub exceeded: Option<Exceeded>,
    /// The session as bytes, if its rules want it saved.
    pub saved: Option<SessionDraft>,
    /// Whether the session was closed while the program ran, so that nothing was stored.
    pub closed: bool,
}
