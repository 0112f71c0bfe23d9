//! Programmer faults, which end the program (upstreams.md 8.3).

use ptc_vm::machine::Reply;
use ptc_vm::{Error, Reason};

/// Ends the program with this text.
pub(super) fn raise(text: &str) -> Reply {
    Reply::Raise(Error::verbatim(Reason::RuntimeError, format!("runtime_error: {text}")))
}
