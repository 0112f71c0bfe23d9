//! Hints on an error that depend on the program's text.

use super::request::EvalRequest;
use ptc_base::memory::{MemoryBudget, MemoryReservation};
use ptc_base::time::Instant;
use ptc_vm::Error;
use ptc_vm::builtins::library;
use ptc_vm::meter::{Allowance, Reservation};
use std::rc::Rc;

/// Programs that are read once more when they have failed: longer ones are not worth the time.
const MOST_BYTES: usize = 64 << 10;
/// Steps that reading a program once more may take: those of a text of [`MOST_BYTES`].
const STEPS: u64 = 1_000_000;

/// The error with the origin of its `nil`, if the program's text as it ran shows it (language.md 7.2). Takes memory and time as compiling
/// the program did, within its limits.
pub(super) fn explained(
    error: Error,
    text: &str,
    request: &EvalRequest,
    budget: Option<&MemoryBudget>,
    started: Instant,
) -> Error {
    if error.nil_arguments().is_none() || error.hint().is_some() || text.len() > MOST_BYTES {
        return error;
    }
    let reservation = budget.map(|budget| Rc::new(MemoryReservation::new(budget.clone())));
    let allowance = Allowance {
        memory_bytes: request.limits.memory_bytes,
        steps: STEPS,
        reservation: reservation.map(|reservation| reservation as Rc<dyn Reservation>),
        deadline: Some(request.deadline(started)),
    };
    match allowance.spend(|| ptc_compiler::nil_origin(text, library(), &error)) {
        Ok((origin, _)) => error.with_hint(origin),
        // The error is worth more than what could be said of it.
        Err(_) => error,
    }
}
