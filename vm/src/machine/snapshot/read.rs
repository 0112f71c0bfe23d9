//! A waiting machine of bytes.

use super::fibers::{Fibers, read_fibers};
use super::{CodeDigest, MAGIC, MOST_PROGRAMS, PartReader, Portable, RestoreError, VERSION, WORK, build};
use crate::code::Program;
use crate::error::{Error, Reason, Result as Outcome};
use crate::graph::{Bounds, Graph, WireReader, decode_marked};
use crate::machine::call_stack::Frame;
use crate::machine::env::Env;
use crate::machine::fiber::Overlay;
use crate::machine::{Binding, Library, Limits, MAX_REQUEST_BYTES, Machine, Namespace, Restoring};
use crate::meter::{self, Account, Deadline, MemoryCharge, Reservation};
use crate::value::{Layouts, MissedKeys, PaidPatterns, ReplyWatch, replace_missed};
use std::collections::VecDeque;
use std::rc::Rc;

/// Bytes that a name of the namespace takes besides its text, and more than who learns of the reading of a result takes.
const NAME_BYTES: u64 = 160;
/// Bytes that a definition of a branch takes in a table that is half full.
const OVERLAID_BYTES: usize = 64;

/// Bytes that tables take for each byte that is read, while reading lasts.
const TABLE_BYTES: usize = 64;

/// Calls, forks and definitions are numbered below this, so that no number overflows.
const MOST_NUMBER: u64 = 1 << 62;

/// The host's part in restoring a machine.
pub struct RestoreSetup<'a> {
    /// The library that it was made with.
    pub library: &'static Library,
    /// Gives the program of a text, from a cache or compiled, with [its text](Program::text). It bounds its own work: texts are
    /// as hostile as all else.
    pub compile: &'a mut dyn FnMut(&str) -> Outcome<Rc<Program>>,
    /// The digest of a program's code. It is asked for once a program.
    pub digest: &'a dyn Fn(&Program) -> Outcome<CodeDigest>,
    /// The program's own text, where that came with the request.
    pub request_program: Option<&'a str>,
    /// Most that its limits may be.
    pub limits: Limits,
    /// Most bytes granted to it: the context, and values of a session.
    pub granted_bytes: u64,
    /// The lender of memory within the limit; without it nothing is reserved.
    pub reservation: Option<Rc<dyn Reservation>>,
    /// When the program has to end even in the middle of a builtin.
    pub deadline: Option<Deadline>,
    /// How large a snapshot may be.
    pub bounds: Bounds,
}

/// A machine that was read.
pub struct RestoredMachine {
    /// The machine. It waits for the calls of [`waiting_calls`](Machine::waiting_calls).
    pub machine: Machine,
    /// The watches over the reading of failed results, in the order of [`Snapshot::watches`](super::Snapshot::watches).
    pub watches: Vec<Rc<ReplyWatch>>,
    /// Bytes granted to it. They are the host's to hold: the machine has released its reservation for them.
    pub granted_bytes: u64,
    /// The host's addition.
    pub host: Vec<u8>,
}

/// The part before the values.
struct SnapshotHeader {
    programs: Vec<Rc<Program>>,
    namespace: Namespace,
    watches: Vec<Rc<ReplyWatch>>,
    /// How many nodes hold granted values.
    granted: u32,
}

impl Machine {
    /// Reads a machine that [`snapshot`](Machine::snapshot) has written.
    ///
    /// The work is not added to the program's steps, and its values are charged to it.
    ///
    /// # Errors
    /// The bytes are none of this build's, or there is no room.
    pub fn restore(bytes: &[u8], setup: RestoreSetup<'_>) -> Result<RestoredMachine, RestoreError> {
        if bytes.len() > setup.bounds.bytes {
            return Err(RestoreError::Invalid("size"));
        }
        let RestoreSetup {
            library,
            compile,
            digest,
            request_program,
            limits,
            granted_bytes,
            reservation,
            deadline,
            bounds,
        } = setup;
        let mut reader = WireReader::new(bytes);
        if reader.raw(MAGIC.len())? != MAGIC {
            return Err(RestoreError::Invalid("head"));
        }
        if reader.raw(2)? != VERSION.to_le_bytes() || reader.raw(8)? != build(library) {
            return Err(RestoreError::OtherBuild);
        }
        let most = limits.memory_bytes.saturating_add(granted_bytes);
        let front = read_front(&mut reader, library, compile, digest, request_program, most)?;
        // The tables that are read are gone when the program goes on.
        let tables = bytes.len().min(bounds.nodes as usize).saturating_mul(TABLE_BYTES) as u64;
        let mut account = Account::reserving(most.saturating_add(tables));
        let paid = PaidPatterns::of(&account);
        let back = {
            let _installed = account.install_with(reservation.clone(), deadline);
            meter::set_work_limit(WORK);
            let back = read_back(&mut reader, front, limits, granted_bytes, &paid, bounds);
            match meter::overdue() {
                Some(error) => Err(RestoreError::Refused(error)),
                None => back,
            }
        };
        // Which keys there were is not known any more: those of the maps that are left do not tell.
        replace_missed(MissedKeys::default());
        let mut back = back?;
        let granted = i64::try_from(back.granted_bytes).unwrap_or(i64::MAX);
        account.live -= granted;
        account.peak = back.peak.max(account.live);
        account.limit = i64::try_from(back.limits.memory_bytes).unwrap_or(i64::MAX);
        // What was granted is the host's to reserve, and tables are gone: no more than the limit is had without asking.
        let kept = (account.granted - granted).clamp(0, account.limit);
        if let Some(reservation) = &reservation {
            reservation.shrink(u64::try_from(account.granted - kept).unwrap_or(0));
        }
        account.granted = kept;
        let host = std::mem::take(&mut back.host);
        back.env.calls_programs = back.fibers.call_programs();
        Ok(RestoredMachine {
            watches: std::mem::take(&mut back.watches),
            granted_bytes: back.granted_bytes,
            host,
            machine: Machine {
                env: back.env,
                program: Some(back.program),
                slots_before: back.slots_before,
                fibers: back.fibers.fibers,
                free_fibers: Vec::new(),
                ready: VecDeque::new(),
                waiting: back.fibers.waiting,
                outgoing: Default::default(),
                next_call: back.next_call,
                next_fork: back.next_fork,
                fork_notes: back.fork_notes,
                _paid: paid,
                account,
                reservation,
                deadline,
                limits: back.limits,
                steps_used: back.steps_used,
                ended: None,
                returned: false,
                missed: MissedKeys::restored(back.missed_keys),
                output: Default::default(),
            },
        })
    }

    /// The calls that this machine waits for, ascending.
    pub fn waiting_calls(&self) -> Vec<crate::machine::CallId> {
        let mut calls: Vec<_> = self.waiting.keys().copied().collect();
        calls.sort_unstable();
        calls
    }
}

/// The text of the program of a snapshot, if it has that with it. Nothing else is read.
pub fn text_of_snapshot<'b>(bytes: &'b [u8], library: &'static Library) -> Option<&'b str> {
    let mut reader = WireReader::new(bytes);
    let is_ours = reader.raw(MAGIC.len()).ok()? == MAGIC
        && reader.raw(2).ok()? == VERSION.to_le_bytes()
        && reader.raw(8).ok()? == build(library);
    let has_text = is_ours && reader.count().ok()? > 0 && reader.byte().ok()? == 0;
    if has_text { reader.text().ok() } else { None }
}

impl Machine {
    /// The kinds of the builtins that are in the middle of their work, fiber by fiber, each from the outermost on.
    pub fn under_way(&self) -> Vec<&'static str> {
        let frames = self.fibers.iter().flatten().flat_map(|fiber| fiber.frames.upwards());
        frames
            .filter_map(|frame| match frame {
                Frame::Native(call) => Some(call.frame.kind()),
                Frame::Code(_) => None,
            })
            .collect()
    }
}

fn read_front(
    reader: &mut WireReader<'_>,
    library: &'static Library,
    compile: &mut dyn FnMut(&str) -> Outcome<Rc<Program>>,
    digest: &dyn Fn(&Program) -> Outcome<CodeDigest>,
    request_program: Option<&str>,
    most_bytes: u64,
) -> Result<SnapshotHeader, RestoreError> {
    let invalid = RestoreError::Invalid("program");
    let count = reader.count()?;
    if !(1..=MOST_PROGRAMS).contains(&count) {
        return Err(invalid);
    }
    let mut programs = Vec::with_capacity(count);
    for number in 0..count {
        let text = match (reader.byte()?, number, request_program) {
            (0, ..) => reader.text()?,
            (1, 0, Some(text)) => text,
            _ => return Err(invalid),
        };
        let written = reader.raw(size_of::<CodeDigest>())?;
        let program = compile(text).map_err(|error| match error.reason() {
            Reason::MemoryExceeded
            | Reason::CompileMemoryExceeded
            | Reason::StepLimitExceeded
            | Reason::Timeout
            | Reason::Cancelled => RestoreError::Refused(error),
            _ => RestoreError::Invalid("program"),
        })?;
        if program.digest(digest)? != written {
            return Err(RestoreError::OtherBuild);
        }
        programs.push(program);
    }
    // Nobody charges for names, so that they are refused where they alone would take too much.
    let counted = |reader: &mut WireReader<'_>| {
        let count = reader.count()?;
        let fits = count as u64 <= most_bytes / NAME_BYTES;
        if fits { Ok(count) } else { Err(RestoreError::Refused(Error::memory(most_bytes))) }
    };
    let mut namespace = Namespace::new(library);
    for slot in 0..counted(reader)? {
        let name = Rc::from(reader.text()?);
        if namespace.slot(&name) as usize != slot {
            return Err(RestoreError::Invalid("names"));
        }
    }
    let mut watches = Vec::new();
    for _ in 0..counted(reader)? {
        let looked_at = reader.flag()?;
        let unreadable = if reader.flag()? { Some(reader.text()?.to_owned()) } else { None };
        watches.push(Rc::new(ReplyWatch::restored(looked_at, unreadable)));
    }
    let granted = reader.unsigned_32()?;
    Ok(SnapshotHeader { programs, namespace, watches, granted })
}

/// The parts of a machine.
struct MachineParts {
    env: Env,
    program: Rc<Program>,
    slots_before: usize,
    fibers: Fibers,
    next_call: u64,
    next_fork: u32,
    fork_notes: Option<Vec<crate::machine::ForkNote>>,
    limits: Limits,
    steps_used: u64,
    peak: i64,
    missed_keys: Vec<crate::value::MissedKey>,
    watches: Vec<Rc<ReplyWatch>>,
    granted_bytes: u64,
    host: Vec<u8>,
}

fn read_back(
    reader: &mut WireReader<'_>,
    front: SnapshotHeader,
    most: Limits,
    most_granted: u64,
    paid: &PaidPatterns,
    bounds: Bounds,
) -> Result<MachineParts, RestoreError> {
    let SnapshotHeader { programs, mut namespace, watches, granted } = front;
    let Some(program) = programs.first().cloned() else { return Err(RestoreError::Invalid("program")) };
    let names = namespace.slots();
    let before = meter::live();
    let origins = Restoring::new(programs, &mut namespace).with_watches(watches.clone());
    // Every name that a program mentions is one of those that were written.
    if namespace.slots() != names {
        return Err(RestoreError::Invalid("names"));
    }
    let (graph, granted_bytes) = decode_marked(reader, bounds, &origins, granted)?;
    let granted_bytes = u64::try_from(granted_bytes).unwrap_or(0);
    if granted_bytes > most_granted {
        return Err(RestoreError::Invalid("granted values"));
    }
    let bindings = (0..names).map(|_| read_binding(reader, &graph)).collect::<Result<Vec<_>, _>>()?;
    for (slot, binding) in (0..).zip(bindings) {
        namespace.set(slot, binding);
    }
    let slots_before = reader.index(names + 1, "names")?;
    let mut undo = Vec::new();
    for _ in 0..reader.count()? {
        let slot = reader.index(names, "definitions")? as u32;
        undo.push((slot, read_binding(reader, &graph)?));
        meter::reserve(crate::machine::instructions::UNDO_BYTES)?;
        meter::charge_memory(crate::machine::instructions::UNDO_BYTES);
    }
    // Each name once, as they are written.
    if !undo.is_sorted_by(|a, b| a.0 < b.0) {
        return Err(RestoreError::Invalid("definitions"));
    }
    let overlays = read_overlays(reader, &graph, names)?;
    let machine = reader.bytes()?;
    let host = reader.bytes()?.to_vec();
    reader.clone().finish("end")?;

    let mut from = PartReader::new(WireReader::new(machine), &graph);
    from.begin("surroundings");
    let context = Portable::read(&mut from)?;
    let history = [from.value()?, from.value()?, from.value()?];
    let env = Env {
        namespace,
        undo,
        context,
        history,
        budget: Portable::read(&mut from)?,
        journal: Portable::read(&mut from)?,
        summaries: Portable::read(&mut from)?,
        strict_data: Portable::read(&mut from)?,
        max_attached_bytes: Portable::read(&mut from)?,
        tools: Portable::read(&mut from)?,
        upstreams: Portable::read(&mut from)?,
        max_request_bytes: MAX_REQUEST_BYTES,
        layouts: Layouts::default(),
        calls_programs: false,
        program_checks: None,
        program_catalog: None,
        started_at: Portable::read(&mut from)?,
        prepared_call: None,
    };
    from.begin("limits");
    let limits = Limits::read(&mut from)?;
    let steps_used = u64::read(&mut from)?;
    let peak = i64::try_from(u64::read(&mut from)?).map_err(|_| from.damage())?;
    from.check(
        peak as u64 <= limits.memory_bytes
            && limits.memory_bytes <= most.memory_bytes
            && limits.steps <= most.steps
            && steps_used <= limits.steps,
    )?;
    from.begin("counters");
    let (next_call, next_fork) = (u64::read(&mut from)?, u32::read(&mut from)?);
    from.check(next_call < MOST_NUMBER)?;
    let fork_notes = Portable::read(&mut from)?;
    let missed_keys = Vec::read(&mut from)?;
    from.begin("patterns");
    for _ in 0..from.count()? {
        let source = from.text()?;
        let parts = u16::try_from(from.uint()?).map_err(|_| from.damage())?;
        let is_new = paid.remember(source, parts)?;
        from.check(is_new)?;
    }
    let fibers = read_fibers(overlays, env.namespace.library(), &mut from)?;
    from.check(fibers.waiting.keys().all(|call| *call < next_call))?;
    from.finish()?;
    drop(graph);
    let live = meter::live() - before - i64::try_from(granted_bytes).unwrap_or(i64::MAX);
    if live > i64::try_from(limits.memory_bytes).unwrap_or(i64::MAX) {
        return Err(RestoreError::Refused(Error::memory(limits.memory_bytes)));
    }
    // What was cut short because there were no steps left is wrong.
    meter::charge_steps(0)?;
    Ok(MachineParts {
        env,
        program,
        slots_before,
        fibers,
        next_call,
        next_fork,
        fork_notes,
        limits,
        steps_used,
        peak,
        missed_keys,
        watches,
        granted_bytes,
        host,
    })
}

fn read_binding(reader: &mut WireReader<'_>, graph: &Graph) -> Result<Option<Binding>, RestoreError> {
    Ok(match reader.byte()? {
        0 => None,
        told @ (1 | 2) => {
            let value = graph.value(reader.place()?)?;
            let info = if told == 2 { Some(graph.info(reader.place()?)?) } else { None };
            Some(Binding { value, info })
        }
        _ => return Err(RestoreError::Invalid("definitions")),
    })
}

/// The branches' own definitions.
fn read_overlays(
    reader: &mut WireReader<'_>,
    graph: &Graph,
    names: usize,
) -> Result<Vec<Rc<Overlay>>, RestoreError> {
    let mut overlays = Vec::new();
    let (mut entries, mut held) = (0_usize, MemoryCharge::default());
    for _ in 0..reader.count()? {
        let mut overlay = Overlay::new();
        let mut before = None;
        entries += 1;
        held.resize(entries * OVERLAID_BYTES)?;
        for _ in 0..reader.count()? {
            entries += 1;
            held.resize(entries * OVERLAID_BYTES)?;
            let slot = reader.index(names, "overlay")? as u32;
            if before >= Some(slot) {
                return Err(RestoreError::Invalid("overlay"));
            }
            before = Some(slot);
            overlay.insert(slot, graph.value(reader.place()?)?);
        }
        overlays.push(Rc::new(overlay));
    }
    Ok(overlays)
}
