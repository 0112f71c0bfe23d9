//! Compilation of a request's program, under the program's own limits (ruling 64).
//!
//! Compilation has its own account, before there is a machine: it may take as many bytes as the program's values may, its time
//! is the program's, and its steps are counted apart, so that a program takes the same steps with a warm and a cold cache. The
//! cost is remembered with the program: a cached one is refused where a fresh one would be.

use super::cache::{CompiledProgram, KnownPrograms, PLACE_BYTES};
use super::kept::{ServedPrograms, scopes};
use super::outcome::Failure;
use super::request::EvalRequest;
use ptc_base::memory::{MemoryBudget, MemoryReservation};
use ptc_base::trace::{OpenSpan, SpanWork};
use ptc_compiler::CompileOptions;
use ptc_compiler::datum::may_mention_programs;
use ptc_vm::builtins::library;
use ptc_vm::code::ReservedMemory;
use ptc_vm::error::Position;
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

/// The request's program, unless it is too large, calls a kept program that there is not, or cannot be compiled.
pub(super) fn checked(
    programs: &KnownPrograms,
    request: &EvalRequest,
    memory: Option<&MemoryBudget>,
    deadline: Deadline,
) -> std::result::Result<Rc<Program>, Failure> {
    check_size(request)?;
    match &request.programs {
        Some(served) if may_mention_programs(&request.program) => {
            let text = linked(&**served, request, memory, deadline)?;
            compiled(programs, request, &text, memory, deadline)
        }
        _ => compiled(programs, request, &request.program, memory, deadline),
    }
}

/// As [`checked`] for a program that was begun before and is in its snapshot. One that calls kept programs has the text of then:
/// what is served by now does not matter.
#[cfg(feature = "saved-sessions")]
pub(super) fn check_again(
    programs: &KnownPrograms,
    request: &EvalRequest,
    memory: Option<&MemoryBudget>,
    deadline: Deadline,
) -> std::result::Result<(), Failure> {
    if may_mention_programs(&request.program) {
        return check_size(request);
    }
    checked(programs, request, memory, deadline).map(drop)
}

/// What is added to a text by linking it is the operator's: the limit is that of the caller's own.
fn check_size(request: &EvalRequest) -> std::result::Result<(), Failure> {
    let (size, limit) = (request.program.len(), request.limits.program_bytes);
    if size > limit {
        let text = format!("program size {size} bytes exceeds limit of {limit}");
        return Err(Failure::new(Reason::ProgramTooLarge, text));
    }
    Ok(())
}

/// The request's text with the kept programs that it calls, found under the limits of its compilation.
fn linked(
    served: &dyn ServedPrograms,
    request: &EvalRequest,
    memory: Option<&MemoryBudget>,
    deadline: Deadline,
) -> std::result::Result<Arc<str>, Failure> {
    let limits = &request.limits;
    let reservation = memory.cloned().map(|budget| Rc::new(MemoryReservation::new(budget)));
    let allowance = Allowance {
        memory_bytes: limits.memory_bytes,
        steps: limits.steps.max(LEAST_STEPS),
        reservation: reservation.map(|reservation| reservation as Rc<dyn Reservation>),
        deadline: Some(deadline),
    };
    let linked = allowance.spend(|| Ok(served.link(&request.program)));
    let (linked, _) = linked.map_err(|error| Failure::from(&error))?;
    linked.map_err(|fault| {
        let place = (fault.line > 0).then_some(Position { line: fault.line, column: fault.column });
        let text = format!("{}: {}", Reason::UnboundVar, fault.text);
        Failure { position: place, ..Failure::new(Reason::UnboundVar, text) }
    })
}

/// The program of a request whose text as it runs is `text`, compiled if it is not known. Its size has been checked.
fn compiled(
    programs: &KnownPrograms,
    request: &EvalRequest,
    text: &Arc<str>,
    memory: Option<&MemoryBudget>,
    deadline: Deadline,
) -> std::result::Result<Rc<Program>, Failure> {
    known_or_compiled(programs, request, text, memory, deadline)
        .map_err(|error| Failure::from(&error).placed(text))
}

fn known_or_compiled(
    programs: &KnownPrograms,
    request: &EvalRequest,
    text: &Arc<str>,
    memory: Option<&MemoryBudget>,
    deadline: Deadline,
) -> Result<Rc<Program>> {
    let limits = &request.limits;
    let steps = limits.steps.max(LEAST_STEPS);
    if let Some(known) = programs.known(text) {
        known.check(steps, limits.memory_bytes)?;
        return Ok(known.program);
    }
    let limits = Limits { memory_bytes: limits.memory_bytes, steps };
    let span = OpenSpan::below(request.trace.as_ref());
    let fresh = compile(text, memory, limits, deadline);
    if let Some(span) = span {
        span.end(SpanWork::Compile { failure: fresh.as_ref().err().map(|error| error.reason().as_str()) });
    }
    let fresh = fresh?;
    programs.remember(text, &fresh);
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
    let (program, spent) = allowance.spend(|| {
        let mut program = ptc_compiler::compile(text, library(), &options)?;
        program.text = Some(text.clone());
        // Heads are read at the program's expense, too, and held by the cache.
        let heads = scopes(&program).map_or(0, |scopes| scopes.heap_bytes());
        program.heap_bytes += heads;
        Ok(program)
    })?;
    let mut program = program;
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
