//! A waiting machine as bytes.

use super::fibers::write_fibers;
use super::{CodeDigest, MAGIC, MOST_PROGRAMS, PartWriter, Portable, SnapshotError, VERSION, WORK, build};
use crate::code::{Op, Program};
use crate::error::Result as Outcome;
use crate::graph::{self, Bounds, EncodedGraph, GraphRef, WireWriter};
use crate::machine::fiber::Fiber;
use crate::machine::{Binding, Library, Machine, Namespace, ROOT, Restoring};
use crate::meter::{self, Account};
use crate::value::{BuiltinId, ReplyWatch, Value, paid_patterns};
use ahash::AHashMap;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Bytes that a byte of a graph may take as values, at most: a place in a vector or a map, with the share of its node.
const BYTES_OF_A_BYTE: u64 = 64;

/// The host's part in a snapshot.
pub struct SnapshotSetup<'a> {
    /// The digest of a program's code. It is asked for once a program.
    pub digest: &'a dyn Fn(&Program) -> Outcome<CodeDigest>,
    /// Whether the program's own text is left out, because it comes with the request whose argument it is.
    pub text_comes_with_request: bool,
    /// How large it may be.
    pub bounds: Bounds,
    /// The host's addition.
    pub host: &'a [u8],
}

/// A machine as bytes.
#[derive(Debug)]
pub struct Snapshot {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The watches over the reading of failed results, in the order in which [`RestoredMachine`](super::RestoredMachine) has them.
    pub watches: Vec<Rc<ReplyWatch>>,
}

impl Machine {
    /// Writes this machine, which waits and whose calls the host has taken. It can continue afterwards.
    ///
    /// The work is not added to the program's steps.
    ///
    /// # Errors
    /// Why the run cannot leave this process.
    pub fn snapshot(&self, setup: &SnapshotSetup<'_>) -> Result<Snapshot, SnapshotError> {
        if !self.is_quiescent() {
            return Err(SnapshotError::NotWaiting);
        }
        let mut account = Account::reserving(u64::MAX);
        let snapshot = {
            let _installed = account.install_with(self.reservation.clone(), None);
            meter::set_work_limit(WORK);
            self.write(setup)
        };
        if let Some(reservation) = &self.reservation {
            reservation.shrink(u64::try_from(account.granted).unwrap_or(0));
        }
        snapshot
    }

    /// Whether nothing can run, and every fiber waits for its call or its branches.
    fn is_quiescent(&self) -> bool {
        let waits = |fiber: &Fiber| {
            fiber.next.is_none()
                && match &fiber.fork {
                    None => fiber.waiting_for.is_some(),
                    Some(fork) => fiber.waiting_for.is_none() && fork.waiting.is_empty() && fork.running > 0,
                }
        };
        self.ended.is_none()
            && self.ready.is_empty()
            && self.outgoing.is_empty()
            && self.fibers.first().is_some_and(Option::is_some)
            && self.fibers.iter().flatten().all(|fiber| waits(fiber))
    }

    fn write(&self, setup: &SnapshotSetup<'_>) -> Result<Snapshot, SnapshotError> {
        let Some(own) = &self.program else { return Err(SnapshotError::NotWaiting) };
        let mut to = PartWriter::new(&setup.bounds);
        to.program(own)?;
        let env = &self.env;
        // What was granted comes first: the program's memory does not count it.
        env.context.write(&mut to)?;
        env.history.iter().try_for_each(|value| value.write(&mut to))?;
        env.budget.write(&mut to)?;
        let mut names = SnapshotNames::of(self);
        names.list_shadowing(&mut to)?;
        names.list_mentioned(&mut to)?;
        names.write_former(&mut to)?;
        names.list_mentioned(&mut to)?;
        let granted = to.nodes();
        names.write_own(&mut to)?;

        env.journal.write(&mut to)?;
        env.summaries.write(&mut to)?;
        env.strict_data.write(&mut to)?;
        env.max_attached_bytes.write(&mut to)?;
        env.tools.write(&mut to)?;
        env.upstreams.write(&mut to)?;
        env.started_at.write(&mut to)?;
        self.limits.write(&mut to)?;
        self.steps_used.write(&mut to)?;
        let peak = u64::try_from(self.account.peak).unwrap_or(0);
        peak.min(self.limits.memory_bytes).write(&mut to)?;
        self.next_call.write(&mut to)?;
        self.next_fork.write(&mut to)?;
        self.fork_notes.write(&mut to)?;
        self.missed.keys().write(&mut to)?;
        write_paid(&self.account, &mut to)?;
        let overlays = write_fibers(&self.fibers, ROOT, self.env.namespace.library(), &mut to)?;
        let machine = to.take_out();

        // Values first: they may bring programs, and with them names.
        let mut overlaid = Vec::with_capacity(overlays.len());
        for overlay in overlays {
            let mut entries: Vec<(u32, &Value)> =
                overlay.iter().map(|(slot, value)| (*slot, value)).collect();
            entries.sort_unstable_by_key(|(slot, _)| *slot);
            let mut places = Vec::with_capacity(entries.len());
            for (slot, value) in entries {
                names.list(slot, &mut to)?;
                places.push((slot, to.place_of(value)?));
            }
            overlaid.push(places);
        }
        names.list_mentioned(&mut to)?;
        let (listed, renumbered) = names.finish();

        let encoded = to.finish();
        if encoded.programs.len() > MOST_PROGRAMS {
            return Err(SnapshotError::TooLarge("programs"));
        }
        let mut out = WireWriter::new();
        out.raw(MAGIC);
        out.raw(&VERSION.to_le_bytes());
        out.raw(&build(self.env.namespace.library()));
        write_sources(&encoded.programs, setup, &mut out)?;
        listed.write_names(self, &mut out);
        write_watches(&encoded.watches, &mut out);
        out.unsigned(u64::from(granted));
        encoded.write(&mut out);
        listed.write_bindings(self.slots_before, &mut out);
        out.count(overlaid.len());
        for entries in overlaid {
            out.count(entries.len());
            for (slot, value) in entries {
                out.unsigned(u64::from(renumbered[&slot]));
                out.place(value);
            }
        }
        out.bytes(&machine.into_bytes());
        out.bytes(setup.host);
        if out.len() > setup.bounds.bytes {
            return Err(SnapshotError::TooLarge("bytes"));
        }
        self.check_memory_of(&encoded, granted, setup.bounds)?;
        Ok(Snapshot { bytes: out.into_bytes(), watches: encoded.watches })
    }

    /// Refuses a snapshot that would take more memory than the program may. Only versions of one collection that have nodes in
    /// common take more than before, and only large ones can come near the limit: so most need no check.
    fn check_memory_of(
        &self,
        encoded: &EncodedGraph,
        granted: u32,
        bounds: Bounds,
    ) -> Result<(), SnapshotError> {
        let limit = self.limits.memory_bytes;
        if encoded.table_bytes() as u64 * BYTES_OF_A_BYTE <= limit {
            return Ok(());
        }
        let mut bytes = WireWriter::new();
        encoded.write(&mut bytes);
        let bytes = bytes.into_bytes();
        // The values are linked to a namespace that nobody sees.
        let mut namespace = Namespace::new(self.env.namespace.library());
        let origins = Restoring::new(encoded.programs.iter().cloned(), &mut namespace)
            .with_watches(encoded.watches.clone());
        let stacks: i64 = self.fibers.iter().flatten().map(|fiber| fiber.charged() as i64).sum();
        let before = meter::live();
        let (values, of_granted) =
            graph::decode_marked(&mut graph::WireReader::new(&bytes), bounds, &origins, granted).map_err(
                |unread| match unread {
                    graph::DecodeError::Invalid(_) => SnapshotError::Memory,
                    graph::DecodeError::Refused(error) => SnapshotError::Refused(error),
                },
            )?;
        let live = meter::live() - before - of_granted - values.table_bytes() as i64 + stacks;
        drop(values);
        if live > i64::try_from(limit).unwrap_or(i64::MAX) { Err(SnapshotError::Memory) } else { Ok(()) }
    }
}

/// Texts of programs, each with a digest of its code.
fn write_sources(
    programs: &[Rc<Program>],
    setup: &SnapshotSetup<'_>,
    out: &mut WireWriter,
) -> Result<(), SnapshotError> {
    out.count(programs.len());
    for (number, program) in programs.iter().enumerate() {
        let left_out = number == 0 && setup.text_comes_with_request;
        out.byte(u8::from(left_out));
        if !left_out {
            out.text(program.text.as_deref().ok_or(SnapshotError::NoText)?);
        }
        out.raw(&program.digest(setup.digest).map_err(SnapshotError::Refused)?);
    }
    Ok(())
}

fn write_watches(watches: &[Rc<ReplyWatch>], out: &mut WireWriter) {
    out.count(watches.len());
    for watch in watches {
        out.byte(u8::from(watch.looked_at()));
        let unreadable = watch.unreadable();
        out.byte(u8::from(unreadable.is_some()));
        if let Some(message) = unreadable {
            out.text(&message);
        }
    }
}

/// The patterns that the program has paid for: it never pays twice.
fn write_paid(account: &Account, to: &mut PartWriter<'_>) -> Result<(), SnapshotError> {
    let mut paid = paid_patterns(account);
    paid.sort_unstable();
    paid.len().write(to)?;
    for (pattern, parts) in paid {
        to.text(&pattern)?;
        u32::from(parts).write(to)?;
    }
    Ok(())
}

/// The places of a binding's value and of its documentation.
type BindingPlaces = (GraphRef, Option<GraphRef>);

/// The names that the restored machine will have: those that its programs mention, and those that hide a builtin.
struct SnapshotNames<'m> {
    namespace: &'m Namespace,
    /// Bindings of names before the program defined them.
    former: BTreeMap<u32, Option<&'m Binding>>,
    former_places: BTreeMap<u32, Option<BindingPlaces>>,
    listed: BTreeMap<u32, Option<BindingPlaces>>,
    /// Programs whose names are listed.
    programs: usize,
    /// Whether all names are listed, because a program may look at all of them.
    all: bool,
}

/// The names in the order of their slots.
struct NameList {
    slots: Vec<(u32, Option<BindingPlaces>)>,
    former: Vec<(u32, Option<BindingPlaces>)>,
}

impl<'m> SnapshotNames<'m> {
    fn of(machine: &'m Machine) -> SnapshotNames<'m> {
        let mut former = BTreeMap::new();
        for (slot, binding) in &machine.env.undo {
            // The first one holds what was there before the program.
            former.entry(*slot).or_insert(binding.as_ref());
        }
        SnapshotNames {
            namespace: &machine.env.namespace,
            former,
            former_places: BTreeMap::new(),
            listed: BTreeMap::new(),
            programs: 0,
            all: false,
        }
    }

    fn place(binding: &Binding, to: &mut PartWriter<'_>) -> Result<BindingPlaces, SnapshotError> {
        let value = to.place_of(&binding.value)?;
        let info = binding.info.as_ref().map(|info| to.place_of_info(info)).transpose()?;
        Ok((value, info))
    }

    /// Lists a name, and writes its binding, unless the program has made it.
    fn list(&mut self, slot: u32, to: &mut PartWriter<'_>) -> Result<(), SnapshotError> {
        if self.listed.contains_key(&slot) || self.former.contains_key(&slot) {
            return Ok(());
        }
        self.listed.insert(slot, None);
        if let Some(binding) = self.namespace.binding(slot) {
            let places = SnapshotNames::place(binding, to)?;
            self.listed.insert(slot, Some(places));
        }
        Ok(())
    }

    /// Lists the names that hide a builtin: instructions that stand for one ask for them by name.
    fn list_shadowing(&mut self, to: &mut PartWriter<'_>) -> Result<(), SnapshotError> {
        if !self.namespace.shadows_builtins() {
            return Ok(());
        }
        let shadowing: Vec<u32> = self.namespace.shadowing().collect();
        shadowing.into_iter().try_for_each(|slot| self.list(slot, to))
    }

    /// Lists the names mentioned by the programs known so far, which may add more programs.
    fn list_mentioned(&mut self, to: &mut PartWriter<'_>) -> Result<(), SnapshotError> {
        while let Some(program) = to.programs().get(self.programs).cloned() {
            self.programs += 1;
            for name in &program.globals {
                if let Some(slot) = self.namespace.find_slot(name) {
                    self.list(slot, to)?;
                }
            }
            if !self.all
                && self.listed.len() + self.former.len() < self.namespace.slots()
                && looks_at_names(&program, self.namespace.library())
            {
                self.all = true;
                for slot in 0..self.namespace.slots() as u32 {
                    if self.namespace.value(slot).is_some() {
                        self.list(slot, to)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Writes the bindings of names before the program defined them.
    fn write_former(&mut self, to: &mut PartWriter<'_>) -> Result<(), SnapshotError> {
        for (slot, binding) in &self.former {
            let places = binding.map(|binding| SnapshotNames::place(binding, to)).transpose()?;
            self.former_places.insert(*slot, places);
        }
        Ok(())
    }

    /// Writes the program's definitions.
    fn write_own(&mut self, to: &mut PartWriter<'_>) -> Result<(), SnapshotError> {
        let slots: Vec<u32> = self.former.keys().copied().collect();
        for slot in slots {
            let binding = self.namespace.binding(slot);
            let places = binding.map(|binding| SnapshotNames::place(binding, to)).transpose()?;
            self.listed.insert(slot, places);
        }
        Ok(())
    }

    /// The names by slot, and the slots that they will have.
    fn finish(self) -> (NameList, AHashMap<u32, u32>) {
        let slots: Vec<(u32, Option<BindingPlaces>)> = self.listed.into_iter().collect();
        let renumbered: AHashMap<u32, u32> = (0..).zip(&slots).map(|(new, (slot, _))| (*slot, new)).collect();
        let former =
            self.former_places.into_iter().map(|(slot, places)| (renumbered[&slot], places)).collect();
        (NameList { slots, former }, renumbered)
    }
}

impl NameList {
    fn write_names(&self, machine: &Machine, out: &mut WireWriter) {
        out.count(self.slots.len());
        for (slot, _) in &self.slots {
            out.text(machine.env.namespace.name(*slot));
        }
    }

    /// The bindings of the names, how many of them existed before the program, and the bindings to restore if it fails.
    fn write_bindings(&self, slots_before: usize, out: &mut WireWriter) {
        for (_, places) in &self.slots {
            write_binding(*places, out);
        }
        out.count(self.slots.partition_point(|(slot, _)| (*slot as usize) < slots_before));
        out.count(self.former.len());
        for (slot, places) in &self.former {
            out.unsigned(u64::from(*slot));
            write_binding(*places, out);
        }
    }
}

/// 0: none; 1: a value; 2: a value with documentation.
fn write_binding(places: Option<BindingPlaces>, out: &mut WireWriter) {
    match places {
        None => out.byte(0),
        Some((value, None)) => {
            out.byte(1);
            out.place(value);
        }
        Some((value, Some(info))) => {
            out.byte(2);
            out.place(value);
            out.place(info);
        }
    }
}

/// Whether a program mentions a function that looks through all names.
fn looks_at_names(program: &Program, library: &Library) -> bool {
    let looks = |id: BuiltinId| library.get(id).section.name == "disc";
    let code = program.functions.iter().flat_map(|function| &function.arities);
    program.globals.iter().filter_map(|name| library.id(name)).any(looks)
        || code.clone().flat_map(|body| &body.constants).any(|value| match value {
            Value::Builtin(handle) => looks(handle.id),
            _ => false,
        })
        || code.flat_map(|body| &body.code).any(|op| matches!(op, Op::Native { id, .. } if looks(*id)))
}
