//! `apropos`, `dir`, `doc`, `meta`, `ns-publics`, `tool/servers`

use super::Builtin;

/// The family's functions.
pub static BUILTINS: &[Builtin] = &[];
