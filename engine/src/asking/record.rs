//! A suspended program as bytes: the machine, and the host's part of it — the waiting calls, and the records for the program's
//! answer. All bytes are untrusted when they come back.

use super::board::{BlockedCall, CallQuestion};
use super::{Resume, SavedCall};
use crate::cache::KnownPrograms;
use crate::call_log::CallLog;
use crate::compile::{check_again, compiled_again};
use crate::context::{RunContext, RunState};
use crate::kept::{KeptChecks, main_scope, show_programs};
use crate::outcome::{
    AnswerBlocks, CallAuth, CallRecord, CallStatus, CatalogOp, EvalOutcome, Failure, PageRecord,
    ResultOverview, ResumeFault, Suspended,
};
use crate::questions::QuestionKind;
use crate::request::EvalRequest;
use crate::session::saved::digest;
use ptc_base::codec;
use ptc_base::memory::{MemoryBudget, MemoryReservation, ReplyMemory};
use ptc_base::time::{self, Instant};
use ptc_mcp::json::Value as Json;
use ptc_vm::builtins::library;
use ptc_vm::graph::{Bounds, EncodeError, WireReader};
use ptc_vm::machine::{
    CallId, CodeDigest, HostRequest, Limits as VmLimits, PendingCall, RestoreError, RestoreSetup,
    SnapshotSetup, text_of_snapshot,
};
use ptc_vm::meter::Reservation;
use ptc_vm::value::ReplyWatch;
use ptc_vm::{Error, Machine, Program, Reason};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

/// The version of the format.
const VERSION: u8 = 5;
/// Bytes of a snapshot at most.
const MOST_SNAPSHOT_BYTES: usize = 16 << 20;
/// Most bytes of values that were granted to a program: the context.
const MOST_GRANTED: u64 = 1 << 30;
/// Most bytes of program texts that are compiled for one program.
const MOST_TEXT: usize = 4 << 20;

/// The host's part of a suspended program. The bytes of its machine follow it.
#[derive(Serialize, Deserialize)]
struct HostRecord<'a> {
    /// Time that the program has had.
    used: Duration,
    /// The used part of its caps, in the form of `RunContext::taken`.
    taken: [u32; 4],
    records: Vec<LoggedCall>,
    /// For some of the records, by index: the place of the watch among the machine's.
    watches: Vec<(usize, usize)>,
    catalog_ops: Vec<LoggedOp>,
    /// Number of its last question.
    last_question: u32,
    /// Answers about sign-ins.
    signed: Vec<CallQuestion>,
    /// The calls that it waits for, with the questions of each.
    pending: Vec<(CallId, Cow<'a, SavedCall>, Cow<'a, [CallQuestion]>)>,
}

/// Writes `machine`, whose calls all ask. Otherwise: why it cannot leave this process.
pub(crate) fn leave(
    machine: &Machine,
    request: &EvalRequest,
    context: &RunContext,
) -> Result<EvalOutcome, String> {
    let setup = SnapshotSetup {
        digest: &code_digest,
        // Otherwise whoever goes on with it has the same request, and the same text in it.
        text_comes_with_request: !request.text_travels && has_text_of(machine, request),
        bounds: Bounds { bytes: MOST_SNAPSHOT_BYTES, ..Bounds::default() },
        host: &[],
    };
    if context.board.waiting() != machine.waiting_calls().len() {
        return Err("a call waits for a slot of its upstream that another one holds".to_owned());
    }
    let snapshot = machine.snapshot(&setup).map_err(|pinned| pinned.to_string())?;
    let (records, watches) = logged(&context.log, &snapshot.watches);
    let used = time::now().saturating_duration_since(context.started());
    let ops = context.catalog_ops.borrow();
    let written = context.board.look(|asking, last_question, signed| {
        let pending = asking.iter().map(|(call, asking)| {
            Some((*call, Cow::Borrowed(asking.saved.as_ref()?), Cow::Borrowed(&*asking.questions)))
        });
        let record = HostRecord {
            used,
            taken: context.taken().map(Cell::get),
            records: records.into_iter().map(LoggedCall).collect(),
            watches,
            catalog_ops: ops.iter().map(LoggedOp::of).collect(),
            last_question,
            signed: signed.to_vec(),
            pending: pending.collect::<Option<_>>()?,
        };
        Some((codec::encode(VERSION, &record, &snapshot.bytes), record.records))
    });
    let (bytes, records) = written.ok_or("an upstream holds a connection open with its question")?;
    if bytes.len() > MOST_SNAPSHOT_BYTES {
        return Err("the program holds more bytes than a snapshot may".to_owned());
    }
    context.leaves();
    let suspended = Suspended { snapshot: bytes.into(), questions: context.board.open() };
    let failure = Failure::new(Reason::Cancelled, format!("{} waits for answers", request.id));
    let prints = machine.printed().iter().map(|print| print.as_str().to_owned()).collect();
    Ok(EvalOutcome {
        suspended: Some(Box::new(suspended)),
        prints,
        steps: machine.steps_used(),
        upstream_calls: records.into_iter().map(|LoggedCall(record)| record).collect(),
        catalog_ops: ops.clone(),
        ..EvalOutcome::not_run(failure, used)
    })
}

/// The text of the program of a suspended one, if it travels with it ([`EvalRequest::text_travels`]).
#[must_use]
pub fn travelling_text(snapshot: &[u8]) -> Option<&str> {
    let (_, machine) = codec::decode::<HostRecord<'_>>(VERSION, snapshot)?;
    text_of_snapshot(machine, library())
}

/// Whether the text that runs is that of the request, without kept programs behind it.
fn has_text_of(machine: &Machine, request: &EvalRequest) -> bool {
    let text = machine.program().and_then(|program| program.text.as_ref());
    text.is_none_or(|text| **text == *request.program)
}

/// The digest of a program's code, as snapshots have it.
fn code_digest(program: &Program) -> Result<CodeDigest, Error> {
    digest(program).map_err(|unwritten| match unwritten {
        EncodeError::Refused(error) => error,
        // Nothing bounds the size of what is digested.
        EncodeError::TooLarge(_) => Error::memory(u64::MAX),
    })
}

/// The part of the calls' log that is written: current records, and which of the machine's watches belong to them.
fn logged(log: &CallLog, watched: &[Rc<ReplyWatch>]) -> (Vec<CallRecord>, Vec<(usize, usize)>) {
    let (records, watches) = log.as_settled();
    let place = |watch| watched.iter().position(|known| Rc::ptr_eq(known, watch));
    let watches = watches.iter().filter_map(|(record, watch)| Some((*record, place(watch)?))).collect();
    (records, watches)
}

/// A resumed program.
pub(crate) struct ResumedProgram {
    pub(crate) machine: Machine,
    pub(crate) context: RunContext,
    /// The calls that it waits for. They are answered from the start.
    pub(crate) pending: Vec<PendingCall>,
    /// The process memory that its granted values use.
    pub(crate) granted: Option<Rc<MemoryReservation>>,
}

/// Why it is not resumed.
pub(crate) struct NotRestored {
    pub(crate) failure: Failure,
    pub(crate) fault: Option<ResumeFault>,
}

impl From<ResumeFault> for NotRestored {
    fn from(fault: ResumeFault) -> NotRestored {
        let failure = Failure::new(ptc_vm::Reason::InvalidConfig, fault.to_string());
        NotRestored { failure, fault: Some(fault) }
    }
}

impl From<RestoreError> for NotRestored {
    fn from(damage: RestoreError) -> NotRestored {
        match damage {
            RestoreError::OtherBuild => ResumeFault::OtherBuild.into(),
            RestoreError::Invalid(part) => ResumeFault::Invalid(part).into(),
            RestoreError::Refused(error) => error.into(),
        }
    }
}

impl From<Error> for NotRestored {
    fn from(error: Error) -> NotRestored {
        NotRestored { failure: Failure::from(&error), fault: None }
    }
}

impl From<Failure> for NotRestored {
    fn from(failure: Failure) -> NotRestored {
        NotRestored { failure, fault: None }
    }
}

/// The program that `resume` has, for a request that was made when it was `now`. Runs on a stack of its own.
pub(crate) fn restore(
    programs: &KnownPrograms,
    request: &EvalRequest,
    resume: &Resume,
    memory: Option<MemoryBudget>,
    now: Instant,
) -> Result<ResumedProgram, NotRestored> {
    let (record, bytes) = HostRecord::read(&resume.snapshot)?;
    let HostRecord { used, taken, records, watches, catalog_ops, last_question, signed, pending } = record;
    let (mut pending, blocked) = waiting_calls(pending)?;
    // What it has used up of its time stays used up.
    let started = now.checked_sub(used).unwrap_or(now);
    let deadline = request.deadline(started);
    // Under the limits of a fresh one.
    check_again(programs, request, memory.as_ref(), deadline)?;
    let mut text_left = MOST_TEXT;
    let mut compile = |text: &str| {
        text_left = text_left.checked_sub(text.len()).ok_or_else(|| Error::memory(MOST_TEXT as u64))?;
        match compiled_again(programs, text, memory.as_ref(), deadline)? {
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
    if !pending.iter().map(|call| call.id).eq(waiting) {
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
        RunState::new(request.id, started, started + limits.timeout, replies, request.asker.clone());
    context.principal = request.principal.clone();
    context.authority = request.authority.clone();
    context.run_id = request.run_id.clone();
    context.audience = request.audience.clone();
    context.reply_slot = request.reply_slot.clone();
    context.trace = request.trace.clone();
    context.taken().into_iter().zip(taken).for_each(|(cell, count)| cell.set(count));
    context.log = CallLog::of(records.into_iter().map(|LoggedCall(record)| record).collect(), watched);
    let catalog_ops = catalog_ops.into_iter().map(LoggedOp::into_op).collect::<Option<Vec<CatalogOp>>>();
    context.catalog_ops = catalog_ops.ok_or(ResumeFault::Invalid("discovery"))?.into();
    context.board.put_back(last_question, signed, blocked, &resume.answers);
    context.kept_calls.set(context.calls.get());
    restored.machine.set_program_checks(Rc::new(KeptChecks));
    show_programs(&mut restored.machine, request);
    for call in &mut pending {
        call.within = restored.machine.programs_of_call(call.id);
    }
    let context = RunContext::new(context, main_scope(restored.machine.program()));
    Ok(ResumedProgram { machine: restored.machine, context, pending, granted })
}

const PENDING: ResumeFault = ResumeFault::Invalid("pending call");

impl HostRecord<'_> {
    /// Reads the record of a snapshot, and returns the bytes of the machine behind it.
    fn read(snapshot: &[u8]) -> Result<(HostRecord<'_>, &[u8]), ResumeFault> {
        if snapshot.first().is_some_and(|version| *version != VERSION) {
            return Err(ResumeFault::OtherBuild);
        }
        let (record, machine) =
            codec::decode::<HostRecord<'_>>(VERSION, snapshot).ok_or(ResumeFault::Invalid("record"))?;
        let is_later = |asked: &CallQuestion| asked.id.is_some_and(|id| id.number() > record.last_question);
        let is_sign_in = |asked: &CallQuestion| asked.kind == QuestionKind::SignIn && asked.answer.is_some();
        if record.signed.iter().any(|asked| is_later(asked) || !is_sign_in(asked)) {
            return Err(ResumeFault::Invalid("sign-in"));
        }
        if record.watches.iter().any(|(call, _)| *call >= record.records.len()) {
            return Err(ResumeFault::Invalid("watch"));
        }
        if record.pending.iter().any(|(_, _, questions)| questions.iter().any(is_later)) {
            return Err(PENDING);
        }
        Ok((record, machine))
    }
}

/// The calls that a program waits for, each with its request and for the board.
fn waiting_calls(
    pending: Vec<(CallId, Cow<'_, SavedCall>, Cow<'_, [CallQuestion]>)>,
) -> Result<(Vec<PendingCall>, BTreeMap<CallId, BlockedCall>), ResumeFault> {
    let (mut calls, mut blocked) = (Vec::with_capacity(pending.len()), BTreeMap::new());
    for (id, saved, questions) in pending {
        let mut from = WireReader::new(&saved.request);
        let request = HostRequest::read(&mut from).map_err(|_| PENDING)?;
        from.finish("pending call").map_err(|_| PENDING)?;
        calls.push(PendingCall { id, request, within: Vec::new() });
        let saved = Some(SavedCall { request: Vec::new(), ..saved.into_owned() });
        let call = BlockedCall { questions: questions.into_owned(), saved, tell: None };
        if blocked.insert(id, call).is_some() {
            return Err(PENDING);
        }
    }
    Ok((calls, blocked))
}

/// A call record as it is written.
#[derive(Serialize, Deserialize)]
struct LoggedCall(#[serde(with = "CallForm")] CallRecord);

/// The form of a call record. Overviews and samples stay behind: they are for immediate reports.
#[derive(Serialize, Deserialize)]
#[serde(remote = "CallRecord")]
struct CallForm {
    server: String,
    tool: String,
    args: Option<Box<str>>,
    status: CallStatus,
    offset_ms: u64,
    duration_ms: u64,
    reason: Option<String>,
    sent: Option<bool>,
    error: Option<String>,
    result_bytes: Option<u64>,
    oversize: bool,
    auth: Option<CallAuth>,
    http_status: Option<u16>,
    #[serde(skip)]
    overview: Option<ResultOverview>,
    looked_at: bool,
    blocks: Option<AnswerBlocks>,
    argument_note: Option<Box<str>>,
    answer_note: Option<Box<str>>,
    #[serde(skip)]
    sample: Option<Box<[u8]>>,
    #[serde(skip)]
    beginning: Option<Box<str>>,
    #[serde(skip)]
    seen_shape: Option<String>,
    page: Option<Box<PageRecord>>,
}

const OPERATIONS: [&str; 5] = ["servers", "apropos", "dir", "doc", "meta"];

/// A discovery operation as it is written.
#[derive(Serialize, Deserialize)]
struct LoggedOp {
    /// The place of its name in [`OPERATIONS`].
    operation: usize,
    args: String,
    /// The words of faults are the host's own; what is shown is that there was one.
    is_fault: bool,
    note: Option<String>,
    duration: Duration,
}

impl LoggedOp {
    fn of(op: &CatalogOp) -> LoggedOp {
        LoggedOp {
            operation: OPERATIONS.iter().position(|name| *name == op.operation).unwrap_or(usize::MAX),
            args: op.args.to_string(),
            is_fault: op.reason.is_some(),
            note: op.note.clone(),
            duration: op.duration,
        }
    }

    /// The operation; `None` if it is none of ours.
    #[expect(clippy::disallowed_methods, reason = "entry point: LoggedOp.into_op")]
    fn into_op(self) -> Option<CatalogOp> {
        Some(CatalogOp {
            operation: OPERATIONS.get(self.operation).copied()?,
            args: serde_json::from_str::<Json>(&self.args).ok()?,
            reason: self.is_fault.then_some("upstream_unavailable"),
            note: self.note,
            duration: self.duration,
        })
    }
}
