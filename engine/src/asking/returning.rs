//! Resumes a suspended program, in this process or another one.

use super::Resume;
use super::leaving::code_digest;
use super::record::{self, Record};
use crate::begin::{checked, deadline};
use crate::call_log::CallLog;
use crate::compile::compiled_again;
use crate::context::RunContext;
use crate::outcome::{Failure, ResumeFault};
use crate::request::EvalRequest;
use crate::worker::Worker;
use ptc_base::memory::{MemoryBudget, MemoryReservation, ReplyMemory};
use ptc_base::time::Instant;
use ptc_vm::builtins::library;
use ptc_vm::graph::{Bounds, WireReader};
use ptc_vm::machine::{Limits as VmLimits, PendingCall, RestoreError, RestoreSetup};
use ptc_vm::meter::Reservation;
use ptc_vm::{Error, Machine};
use std::rc::Rc;

/// Most bytes of values that were granted to a program: the context.
const MOST_GRANTED: u64 = 1 << 30;
/// Most bytes of program texts that are compiled for one program.
const MOST_TEXT: usize = 4 << 20;

/// A resumed program.
pub(crate) struct Returned {
    pub(crate) machine: Machine,
    pub(crate) context: RunContext,
    /// The calls that it waits for. They are answered from the start.
    pub(crate) pending: Vec<PendingCall>,
    /// The process memory that its granted values use.
    pub(crate) granted: Option<Rc<MemoryReservation>>,
}

/// Why it is not resumed.
pub(crate) struct NotReturned {
    pub(crate) failure: Failure,
    pub(crate) fault: Option<ResumeFault>,
}

impl From<ResumeFault> for NotReturned {
    fn from(fault: ResumeFault) -> NotReturned {
        let failure = Failure::new(ptc_vm::Reason::InvalidConfig, fault.to_string());
        NotReturned { failure, fault: Some(fault) }
    }
}

impl From<RestoreError> for NotReturned {
    fn from(damage: RestoreError) -> NotReturned {
        match damage {
            RestoreError::OtherBuild => ResumeFault::OtherBuild.into(),
            RestoreError::Invalid(part) => ResumeFault::Invalid(part).into(),
            RestoreError::Refused(error) => error.into(),
        }
    }
}

impl From<Error> for NotReturned {
    fn from(error: Error) -> NotReturned {
        NotReturned { failure: Failure::from(&error), fault: None }
    }
}

impl From<Failure> for NotReturned {
    fn from(failure: Failure) -> NotReturned {
        NotReturned { failure, fault: None }
    }
}

/// The program that `resume` has, for a request that was made when it was `now`. Runs on a stack of its own.
pub(crate) fn restore(
    worker: &Worker,
    request: &EvalRequest,
    resume: &Resume,
    memory: Option<MemoryBudget>,
    now: Instant,
) -> Result<Returned, NotReturned> {
    let mut from = WireReader::new(&resume.snapshot);
    let host = from.bytes().map_err(|_| ResumeFault::Invalid("length"))?;
    let bytes = from.raw(from.left()).map_err(|_| ResumeFault::Invalid("length"))?;
    let Record { used, last_question, signed, taken, records, watches, catalog_ops, pending, brought } =
        record::read(host)?;
    // What it has used up of its time stays used up.
    let started = now.checked_sub(used).unwrap_or(now);
    let deadline = deadline(request, started);
    // Under the limits of a fresh one.
    checked(worker, request, memory.as_ref(), deadline)?;
    let mut text_left = MOST_TEXT;
    let mut compile = |text: &str| {
        text_left = text_left.checked_sub(text.len()).ok_or_else(|| Error::memory(MOST_TEXT as u64))?;
        match compiled_again(worker, text, memory.as_ref(), deadline)? {
            Some(program) => Ok(program),
            None => Err(Error::verbatim(ptc_vm::Reason::ParseError, "a program of a snapshot is none")),
        }
    };
    let limits = &request.limits;
    let mut restored = Machine::restore(
        bytes,
        RestoreSetup {
            library: library(),
            compile: &mut compile,
            digest: &code_digest,
            request_program: Some(&request.program),
            limits: VmLimits { memory_bytes: limits.memory_bytes, steps: limits.steps },
            granted_bytes: MOST_GRANTED,
            reservation: memory
                .clone()
                .map(|budget| Rc::new(MemoryReservation::new(budget)) as Rc<dyn Reservation>),
            deadline: Some(deadline),
            bounds: Bounds::default(),
        },
    )?;
    if let Some(upstreams) = &request.upstreams {
        restored.machine.set_max_request_bytes(upstreams.max_request_bytes());
    }
    let mut waiting = restored.machine.waiting_calls();
    waiting.sort_unstable();
    if !pending.iter().map(|(call, _)| *call).eq(waiting) {
        return Err(ResumeFault::Invalid("pending call").into());
    }
    let granted = memory.clone().map(|budget| Rc::new(MemoryReservation::new(budget)));
    if let Some(granted) = &granted
        && !granted.resize(restored.granted_bytes)
    {
        return Err(granted.refusal().into());
    }
    let watched: Option<Vec<_>> = watches
        .into_iter()
        .map(|(record, watch)| Some((record, restored.watches.get(watch)?.clone())))
        .collect();
    let watched = watched.ok_or(ResumeFault::Invalid("watch"))?;
    let replies = ReplyMemory::new(limits.memory_bytes, memory);
    let mut context =
        RunContext::new(request.id, started, started + limits.timeout, replies, request.asker.clone());
    context.principal = request.principal.clone();
    context.run_id = request.run_id.clone();
    context.audience = request.audience.clone();
    context.taken().into_iter().zip(taken).for_each(|(cell, count)| cell.set(count));
    context.log = CallLog::of(records, watched);
    context.catalog_ops = catalog_ops.into();
    context.board.put_back(last_question, signed, brought, &resume.answers);
    let pending = pending.into_iter().map(|(id, request)| PendingCall { id, request }).collect();
    Ok(Returned { machine: restored.machine, context, pending, granted })
}
