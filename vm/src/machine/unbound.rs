//! What to say of a name that means nothing (language.md 3.14).

use super::Namespace;
use crate::error::{Error, Reason};

/// The error of phase 5, for names in order of traversal.
pub(super) fn static_error(names: &[&str], _namespace: &Namespace) -> Error {
    let text = match names {
        [name] => format!("Undefined variable: {name}"),
        names => format!("Undefined variables: {}", names.join(", ")),
    };
    Error::new(Reason::UnboundVar, text)
}

/// The error of a name that is read before it is defined.
pub(super) fn runtime_error(name: &str, _namespace: &Namespace) -> Error {
    Error::new(Reason::UnboundVar, format!("undefined variable: {name}"))
}
