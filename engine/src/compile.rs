//! Compilation of a request's program, under the program's own limits (ruling 64).
//!
//! Compilation has its own account, before there is a machine: it may take as many bytes as the program's values may, its time
//! is the program's, and its steps are counted apart, so that a program takes the same steps with a warm and a cold cache. The
//! cost is remembered with the program: a cached one is refused where a fresh one would be.

use super::cache::{CompiledProgram, KnownPrograms, PLACE_BYTES};
use super::outcome::Failure;
use super::request::EvalRequest;
use ptc_base::memory::{MemoryBudget, MemoryReservation};
use ptc_base::trace::{OpenSpan, SpanWork};
use ptc_compiler::CompileOptions;
use ptc_vm::builtins::library;
use ptc_vm::code::ReservedMemory;
use ptc_vm::machine::Limits;
use ptc_vm::meter::{Allowance, Deadline, Reservation};
use ptc_vm::{Program, Reason, Result};
use std::rc::Rc;
use std::sync::Arc;

/// Steps that compilation may take even where the program itself gets fewer: those of a text of some 64 KiB.
const LEAST_STEPS: u64 = 1_000_000;
/// The budget for recompiling the text of a stored function: enough for the longest texts that sessions have.
#[cfg(feature = "saved-sessions")]
const AGAIN_STEPS: u64 = 64 * LEAST_STEPS;
#[cfg(feature = "saved-sessions")]
const AGAIN_BYTES: u64 = 256 << 20;

/// The request's program, unless it is too large or cannot be compiled.
pub(super) fn checked(
    programs: &KnownPrograms,
    request: &EvalRequest,
    memory: Option<&MemoryBudget>,
    deadline: Deadline,
) -> std::result::Result<Rc<Program>, Failure> {
    let (size, limit) = (request.program.len(), request.limits.program_bytes);
    if size > limit {
        let text = format!("program size {size} bytes exceeds limit of {limit}");
        return Err(Failure::new(Reason::ProgramTooLarge, text));
    }
    compiled(programs, request, memory, deadline).map_err(|error| Failure::from(&error))
}

/// The request's program, compiled if it is not known. Its size has been checked.
fn compiled(
    programs: &KnownPrograms,
    request: &EvalRequest,
    memory: Option<&MemoryBudget>,
    deadline: Deadline,
) -> Result<Rc<Program>> {
    let limits = &request.limits;
    let steps = limits.steps.max(LEAST_STEPS);
    if let Some(known) = programs.known(&request.program) {
        known.check(steps, limits.memory_bytes)?;
        return Ok(known.program);
    }
    let limits = Limits { memory_bytes: limits.memory_bytes, steps };
    let span = OpenSpan::below(request.trace.as_ref());
    let fresh = compile(&request.program, memory, limits, deadline);
    if let Some(span) = span {
        span.end(SpanWork::Compile { failed: fresh.is_err() });
    }
    let fresh = fresh?;
    programs.remember(&request.program, &fresh);
    Ok(fresh.program)
}

/// The program of a text that was compiled before, perhaps by another process: it is compiled if it is not known.
/// `None` if it is no program.
#[cfg(feature = "saved-sessions")]
pub(super) fn compiled_again(
    programs: &KnownPrograms,
    text: &str,
    memory: Option<&MemoryBudget>,
    deadline: Deadline,
) -> Result<Option<Rc<Program>>> {
    if let Some(known) = programs.known(text) {
        return Ok(Some(known.program));
    }
    let text: Arc<str> = text.into();
    let limits = Limits { memory_bytes: AGAIN_BYTES, steps: AGAIN_STEPS };
    match compile(&text, memory, limits, deadline) {
        Ok(fresh) => {
            programs.remember(&text, &fresh);
            Ok(Some(fresh.program))
        }
        Err(error) => match error.reason() {
            Reason::MemoryExceeded | Reason::StepLimitExceeded | Reason::Timeout => Err(error),
            _ => Ok(None),
        },
    }
}

fn compile(
    text: &Arc<str>,
    memory: Option<&MemoryBudget>,
    limits: Limits,
    deadline: Deadline,
) -> Result<CompiledProgram> {
    let reservation = memory.cloned().map(|budget| Rc::new(MemoryReservation::new(budget)));
    let allowance = Allowance {
        memory_bytes: limits.memory_bytes,
        steps: limits.steps,
        reservation: reservation.clone().map(|reservation| reservation as Rc<dyn Reservation>),
        deadline: Some(deadline),
    };
    // The program's size has been checked against its own limit.
    let options = CompileOptions { max_source_bytes: usize::MAX, ..CompileOptions::default() };
    let (mut program, spent) = allowance.spend(|| Ok(ptc_compiler::compile(text, library(), &options)?))?;
    program.text = Some(text.clone());
    if let Some(reservation) = reservation {
        // Compilation held more, so this shrinks, but for what only the cache has.
        let bytes = PLACE_BYTES + program.source_bytes + program.heap_bytes;
        if !reservation.resize(bytes as u64) {
            return Err(reservation.refusal());
        }
        program.reserved = ReservedMemory(Some(reservation));
    }
    Ok(CompiledProgram { program: Rc::new(program), spent })
}
