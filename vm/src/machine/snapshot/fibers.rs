//! Fibers with their stacks and frames.
//!
//! A fork's branches follow it, in the order in which they are met from the root on. So the numbers of fibers are never
//! written, and fibers that are read form a tree for any bytes.

use super::{PartReader, PartWriter, Portable, RestoreError, SnapshotError, portable};
use crate::code::Arity;
use crate::error::Error;
use crate::machine::call_stack::Frame;
use crate::machine::fiber::{
    BodyIndex, Branch, CodeFrame, EndlessWalk, Fiber, FiberId, Fork, NativeCall, Overlay,
};
use crate::machine::host_call::CallId;
use crate::machine::output::Output;
use crate::machine::{ForkKind, Library};
use crate::meter::MemoryCharge;
use crate::value::{Map, Value};
use ahash::AHashMap;
use std::collections::VecDeque;
use std::rc::Rc;

/// A branch as it is written: a running one is a fiber that comes later.
enum BranchRecord {
    Running,
    Done(Result<Value, Error>, Output),
    Cancelled,
}

portable!(enum BranchRecord { 0: Running, 1: Done(result, output), 2: Cancelled });

/// The event that a fiber waits for.
enum FiberEvent {
    Call(CallId),
    Fork { number: u32, kind: ForkKind, count: usize, branches: Vec<BranchRecord> },
}

portable!(enum FiberEvent { 0: Call(call), 1: Fork { number, kind, count, branches } });

/// Which definitions a branch sees besides those of all.
enum DefinitionView {
    Nothing,
    /// The view of the fiber that has forked it.
    AsParent,
    /// Those of the next overlay.
    Own,
}

portable!(enum DefinitionView { 0: Nothing, 1: AsParent, 2: Own });

/// Writes all fibers. Returns the overlays, whose slots are still to be numbered.
pub(super) fn write_fibers<'m>(
    fibers: &'m [Option<Box<Fiber>>],
    root: FiberId,
    library: &Library,
    to: &mut PartWriter<'_>,
) -> Result<Vec<&'m Rc<Overlay>>, SnapshotError> {
    let mut overlays = Vec::new();
    let mut todo: VecDeque<(FiberId, Option<&Rc<Overlay>>)> = VecDeque::from([(root, None)]);
    while let Some((id, seen)) = todo.pop_front() {
        let Some(Some(fiber)) = fibers.get(id as usize) else { return Err(SnapshotError::NotWaiting) };
        let sees = match (&fiber.overlay, seen) {
            (None, _) => DefinitionView::Nothing,
            (Some(own), Some(parent)) if Rc::ptr_eq(own, parent) => DefinitionView::AsParent,
            (Some(own), _) => {
                overlays.push(own);
                DefinitionView::Own
            }
        };
        sees.write(to)?;
        fiber.own.output.write(to)?;
        fiber.own.remembered.clone().unwrap_or_default().write(to)?;
        write_stack(fiber, library, to)?;
        match (&fiber.fork, fiber.waiting_for) {
            (None, Some(call)) => {
                to.byte(0)?;
                call.write(to)?;
            }
            (Some(fork), None) => {
                to.byte(1)?;
                fork.number.write(to)?;
                fork.kind.write(to)?;
                fork.count.write(to)?;
                fork.branches.len().write(to)?;
                for branch in &fork.branches {
                    match branch {
                        Branch::Running(id) => {
                            todo.push_back((*id, fiber.overlay.as_ref()));
                            to.byte(0)?;
                        }
                        Branch::Done(result, output) => {
                            to.byte(1)?;
                            result.write(to)?;
                            output.write(to)?;
                        }
                        Branch::Cancelled => to.byte(2)?,
                    }
                }
            }
            _ => return Err(SnapshotError::NotWaiting),
        }
    }
    Ok(overlays)
}

fn write_stack(fiber: &Fiber, library: &Library, to: &mut PartWriter<'_>) -> Result<(), SnapshotError> {
    to.uint(fiber.stack.height() as u64)?;
    (0..fiber.stack.height()).try_for_each(|index| to.value(fiber.stack.at(index)))?;
    to.uint(fiber.frames.height() as u64)?;
    for frame in fiber.frames.upwards() {
        match frame {
            Frame::Code(suspended) => {
                let Some(CodeFrame { closure, body, pc, base }) = suspended.frame() else {
                    return Err(SnapshotError::NotWaiting);
                };
                to.byte(0)?;
                to.value(&Value::Closure(closure))?;
                match body {
                    BodyIndex::First => to.uint(0)?,
                    BodyIndex::Other(n) => to.uint(u64::from(n))?,
                }
                to.uint(u64::from(pc))?;
                to.uint(u64::from(base))?;
            }
            Frame::Native(call) => {
                to.byte(1)?;
                write_native(call, library, to)?;
            }
        }
    }
    to.uint(fiber.walks.len() as u64)?;
    fiber.walks.iter().try_for_each(|walk| write_native(&walk.call, library, to))
}

fn write_native(call: &NativeCall, library: &Library, to: &mut PartWriter<'_>) -> Result<(), SnapshotError> {
    let kind = call.frame.kind();
    let kinds = library.parts.frames;
    let Ok(number) = kinds.binary_search_by(|row| row.name.cmp(kind)) else {
        return Err(SnapshotError::Frame(kind));
    };
    to.uint(number as u64)?;
    to.begin_frame(kind);
    call.frame.write(to)
}

fn read_native(library: &Library, from: &mut PartReader<'_>) -> Result<NativeCall, RestoreError> {
    let number = u32::read(from)? as usize;
    let row = library.parts.frames.get(number).ok_or_else(|| from.damage())?;
    from.begin_frame(row.name);
    Ok(NativeCall::new((row.read)(from)?))
}

/// The fibers of a machine, and which of them waits for which call.
pub(super) struct Fibers {
    pub(super) fibers: Vec<Option<Box<Fiber>>>,
    pub(super) waiting: AHashMap<CallId, FiberId>,
}

impl Fibers {
    /// Whether one of them is in a call of a kept program.
    pub(super) fn call_programs(&self) -> bool {
        let mut frames = self.fibers.iter().flatten().flat_map(|fiber| fiber.frames.upwards());
        frames.any(|frame| matches!(frame, Frame::Native(call) if call.frame.called_program().is_some()))
    }
}

/// Reads all fibers. `overlays` are the branches' views, in the order of the fibers.
pub(super) fn read_fibers(
    overlays: Vec<Rc<Overlay>>,
    library: &Library,
    from: &mut PartReader<'_>,
) -> Result<Fibers, RestoreError> {
    let mut read = Fibers { fibers: Vec::new(), waiting: AHashMap::new() };
    let mut overlays = overlays.into_iter();
    let mut heights = Heights::default();
    let mut todo: VecDeque<(FiberId, u32)> = VecDeque::new();
    loop {
        let parent = todo.pop_front();
        let id = read.fibers.len() as FiberId;
        let mut fiber = Box::new(Fiber::waiting());
        from.hold::<Fiber>(1)?;
        from.begin("overlay");
        fiber.parent = parent;
        let seen = parent.and_then(|(parent, _)| read.fibers[parent as usize].as_ref()?.overlay.clone());
        fiber.overlay = match (DefinitionView::read(from)?, parent, seen) {
            (DefinitionView::Nothing, None, _) => None,
            (DefinitionView::AsParent, Some(_), Some(seen)) => Some(seen),
            // The program itself defines for all.
            (DefinitionView::Own, Some(_), _) => Some(overlays.next().ok_or_else(|| from.damage())?),
            _ => return Err(from.damage()),
        };
        from.begin("output");
        fiber.own.output = Output::read(from)?;
        fiber.own.remembered = Some(Map::read(from)?).filter(|map| !map.is_empty());
        read_stack(&mut fiber, &mut heights, library, from)?;
        from.begin("fiber");
        match FiberEvent::read(from)? {
            FiberEvent::Call(call) => {
                fiber.waiting_for = Some(call);
                let is_known = read.waiting.insert(call, id).is_some();
                from.check(!is_known)?;
            }
            FiberEvent::Fork { number, kind, count, branches } => {
                let fork = fork(id, number, kind, count, branches, &mut todo, from)?;
                fiber.fork = Some(Box::new(fork));
            }
        }
        read.fibers.push(Some(fiber));
        // Those that run are numbered in the order in which they are met.
        if todo.is_empty() {
            break;
        }
    }
    from.check(overlays.next().is_none())?;
    number_branches(&mut read.fibers);
    Ok(read)
}

/// A fork, whose running branches are put after those that are still to be read.
fn fork(
    id: FiberId,
    number: u32,
    kind: ForkKind,
    count: usize,
    records: Vec<BranchRecord>,
    todo: &mut VecDeque<(FiberId, u32)>,
    from: &PartReader<'_>,
) -> Result<Fork, RestoreError> {
    let mut running = 0;
    let mut has_failed = false;
    let mut branches = Vec::with_capacity(records.len());
    for (index, record) in (0..).zip(records) {
        branches.push(match record {
            BranchRecord::Running => {
                running += 1;
                todo.push_back((id, index));
                // Its number is known once it is read.
                Branch::Running(FiberId::MAX)
            }
            BranchRecord::Done(result, output) => {
                has_failed |= result.is_err();
                Branch::Done(result, output)
            }
            BranchRecord::Cancelled => Branch::Cancelled,
        });
    }
    // Branches that have not begun are given up only where one before them has failed.
    let complete = if has_failed { count >= branches.len() } else { count == branches.len() };
    from.check(running > 0 && complete)?;
    let held = MemoryCharge::new(count.saturating_mul(Fork::BRANCH_BYTES))?;
    Ok(Fork { number, kind, count, waiting: Vec::new(), branches, running, _held: held })
}

/// Tells each running branch its number.
fn number_branches(fibers: &mut [Option<Box<Fiber>>]) {
    let parents: Vec<Option<(FiberId, u32)>> =
        fibers.iter().map(|fiber| fiber.as_ref().and_then(|fiber| fiber.parent)).collect();
    for (id, parent) in (0..).zip(parents) {
        let Some((parent, index)) = parent else { continue };
        let fork = fibers[parent as usize].as_mut().and_then(|fiber| fiber.fork.as_mut());
        if let Some(branch) = fork.and_then(|fork| fork.branches.get_mut(index as usize)) {
            *branch = Branch::Running(id);
        }
    }
}

/// Heights of the bodies that have been met, by where they lie.
#[derive(Default)]
struct Heights(AHashMap<usize, Option<Vec<Option<u32>>>>);

impl Heights {
    /// How many values a frame holds that stands before instruction `pc` of `body` and waits for the result of the one
    /// before; `None` if it cannot wait there.
    fn waiting(&mut self, body: &Rc<Arity>, pc: u32) -> Option<u32> {
        let before = pc.checked_sub(1)? as usize;
        if !body.code.get(before)?.may_call() {
            return None;
        }
        let heights = self.0.entry(Rc::as_ptr(body).addr()).or_insert_with(|| body.heights());
        // What nothing leads to is nowhere to wait.
        (*heights.as_ref()?.get(before)?)?;
        (*heights.as_ref()?.get(pc as usize)?)?.checked_sub(1)
    }
}

fn read_stack(
    fiber: &mut Fiber,
    heights: &mut Heights,
    library: &Library,
    from: &mut PartReader<'_>,
) -> Result<(), RestoreError> {
    from.begin("stack");
    let height = from.count()?;
    fiber.take_room(height, 0)?;
    for _ in 0..height {
        let value = from.slot()?;
        fiber.stack.push(value);
    }
    let frames = from.count()?;
    fiber.take_room(height, frames)?;
    // Where the stack of the frame below ends, with the place for the callee above it.
    let mut next_base = 1_u32;
    let mut top = 0_u32;
    for _ in 0..frames {
        from.begin("frame");
        match from.byte()? {
            0 => {
                let Value::Closure(closure) = from.value()? else { return Err(from.damage()) };
                let (body, pc, base) = (u32::read(from)?, u32::read(from)?, u32::read(from)?);
                let arity = closure.code().arities.get(body as usize).ok_or_else(|| from.damage())?;
                let held = heights.waiting(arity, pc).ok_or_else(|| from.damage())?;
                from.check(base == next_base)?;
                // The place of its callee is overwritten and not dropped when it ends.
                from.check((base as usize) <= height && fiber.stack.at(base as usize - 1).is_nil())?;
                top = base.checked_add(held).ok_or_else(|| from.damage())?;
                // Above what it holds lies the place of the callee.
                next_base = top.checked_add(1).ok_or_else(|| from.damage())?;
                let size = base as usize + arity.max_stack as usize;
                fiber.take_room(size, frames)?;
                let body = match u16::try_from(body) {
                    Ok(0) => BodyIndex::First,
                    Ok(n) => BodyIndex::Other(n),
                    Err(_) => return Err(from.damage()),
                };
                fiber.frames.push_code(CodeFrame { closure, body, pc, base });
            }
            1 => fiber.frames.push(Frame::Native(read_native(library, from)?)),
            _ => return Err(from.damage()),
        }
    }
    from.begin("stack");
    from.check(height == top as usize)?;
    from.begin("walks");
    let walks = from.count()?;
    from.hold::<EndlessWalk>(walks)?;
    for _ in 0..walks {
        let call = read_native(library, from)?;
        from.check(call.frame.kind() == library.parts.walk_kind)?;
        fiber.walks.push(EndlessWalk::new(call)?);
    }
    fiber.charge_stacks()?;
    Ok(())
}
