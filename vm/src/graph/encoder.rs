//! Values to bytes.

use super::children::{Child, ChildEncounter, OpenValue};
use super::constants::Constants;
use super::nodes::NodeKind;
use super::{BYTES_A_STEP, Bounds, EncodeError, GraphRef, WireWriter};
use crate::code::{DefInfo, Program};
use crate::error::{Error, Position};
use crate::meter::{self, MemoryCharge};
use crate::value::{
    Big, Blob, BuiltinHandle, BuiltinId, Captures, Contents, ReplyWatch, Str, Temporal, Uniform, Value,
};
use ahash::AHashMap;
use smallvec::SmallVec;
use std::rc::Rc;

/// Nodes between two looks at the encoder's own memory.
const NODES_A_LOOK: u32 = 64;
/// Bytes of a text of a reply that rows may share, and how many are remembered for that; a power of two.
const LONGEST_SHARED: usize = 16;
const SHARED: usize = 64;

/// Writes values into one graph.
///
/// Values must not change while the encoder lives: it identifies allocations by address. It keeps a reference to all values
/// that it was given.
pub struct Encoder {
    bounds: Bounds,
    keeps_watches: bool,
    tells_constants: bool,
    table: WireWriter,
    nodes: u32,
    /// Numbers of the nodes of allocations that may be met again, by address.
    known: AHashMap<usize, u32>,
    builtins: AHashMap<BuiltinId, u32>,
    programs: Vec<Rc<Program>>,
    program_numbers: AHashMap<usize, u32>,
    /// Which program has a definition's documentation, and where in it, by address.
    infos: AHashMap<usize, (u32, u32)>,
    /// Which program's constants have a value in them, and its number there, by address.
    constants: AHashMap<usize, (u32, u32)>,
    watches: Vec<Rc<ReplyWatch>>,
    /// Short texts that were made of rows last.
    shared: Vec<Option<(Str, u32)>>,
    kept: Vec<PinnedValue>,
    levels: Vec<PartialNode>,
    /// Places of the children of all levels.
    places: Vec<GraphRef>,
    held: MemoryCharge,
}

/// A value that must keep its address.
#[expect(dead_code, reason = "held, not read")]
enum PinnedValue {
    Value(Value),
    Captures(Rc<Captures>),
    Info(Rc<DefInfo>),
}

/// A node some of whose children are written.
struct PartialNode {
    open: OpenValue,
    /// Where its children's places begin.
    base: usize,
    /// The address under which the node will be known, if it may be met again.
    address: Option<usize>,
}

/// A graph as bytes.
#[derive(Debug)]
pub struct EncodedGraph {
    nodes: u32,
    table: Vec<u8>,
    /// The programs that closures, frames and documentation belong to, by their numbers.
    pub programs: Vec<Rc<Program>>,
    /// The watches over the reading of results, by their numbers; none unless the encoder keeps them.
    pub watches: Vec<Rc<ReplyWatch>>,
}

impl EncodedGraph {
    /// Writes the table, as [`decode`](super::decode) reads it.
    pub fn write(&self, to: &mut WireWriter) {
        to.unsigned(u64::from(self.nodes));
        to.raw(&self.table);
    }

    /// How many nodes it has.
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// Bytes of the table.
    pub fn table_bytes(&self) -> usize {
        self.table.len()
    }
}

/// The result of visiting a child.
enum ChildVisit {
    Told(GraphRef),
    Enter(OpenValue, Option<usize>),
}

impl Encoder {
    /// An encoder of a graph within `bounds`. Failed results of calls are written as plain maps.
    pub fn new(bounds: Bounds) -> Encoder {
        Encoder {
            bounds,
            keeps_watches: false,
            tells_constants: false,
            table: WireWriter::new(),
            nodes: 0,
            known: AHashMap::new(),
            builtins: AHashMap::new(),
            programs: Vec::new(),
            program_numbers: AHashMap::new(),
            infos: AHashMap::new(),
            constants: AHashMap::new(),
            watches: Vec::new(),
            shared: Vec::new(),
            kept: Vec::new(),
            levels: Vec::new(),
            places: Vec::new(),
            held: MemoryCharge::default(),
        }
    }

    /// The same, which also writes who learns of the reading of a failed result: see [`EncodedGraph::watches`].
    pub fn keeping_watches(mut self) -> Encoder {
        self.keeps_watches = true;
        self
    }

    /// The same, but parts of a program's text are identified by their place there, as long as that program [is
    /// known](Encoder::program_with_constants) by then.
    pub fn telling_constants(mut self) -> Encoder {
        self.tells_constants = true;
        self
    }

    /// Writes a value with all that it refers to. Reads nothing of it that the program has not read: rows that are text stay
    /// text, and no failed result counts as looked at.
    ///
    /// # Errors
    /// The graph gets too large, or the account is at its limits. The encoder is of no use then.
    pub fn value(&mut self, value: &Value) -> Result<GraphRef, EncodeError> {
        if value.allocation().is_some() {
            self.kept.push(PinnedValue::Value(value.clone()));
        }
        self.write(ChildEncounter { child: Child::Value(value.clone()), once: false })
    }

    /// Writes captured values, which closures may share.
    ///
    /// # Errors
    /// As [`value`](Encoder::value).
    pub fn captures(&mut self, captures: &Rc<Captures>) -> Result<GraphRef, EncodeError> {
        self.kept.push(PinnedValue::Captures(captures.clone()));
        self.write(ChildEncounter { child: Child::Captures(captures.clone()), once: false })
    }

    /// Writes the documentation of a definition: as a place of its program where a value or a frame that was written before
    /// belongs to that program, as texts otherwise.
    ///
    /// # Errors
    /// As [`value`](Encoder::value).
    pub fn info(&mut self, info: &Rc<DefInfo>) -> Result<GraphRef, EncodeError> {
        let address = Rc::as_ptr(info).addr();
        if let Some(number) = self.known.get(&address) {
            return Ok(GraphRef::node(*number));
        }
        let before = self.table.len();
        match self.infos.get(&address).copied() {
            Some((program, index)) => {
                self.kind(NodeKind::InfoOfProgram);
                self.table.unsigned(u64::from(program));
                self.table.unsigned(u64::from(index));
            }
            None => {
                self.kept.push(PinnedValue::Info(info.clone()));
                self.kind(NodeKind::Info);
                self.optional_text(info.doc.as_deref());
                self.table.count(info.parameters.len());
                info.parameters.iter().for_each(|parameters| self.table.text(parameters));
                self.table.text(&info.source);
            }
        }
        self.finish_node(before, Some(address))
    }

    /// Writes an error, with its payload.
    ///
    /// # Errors
    /// As [`value`](Encoder::value).
    pub fn error(&mut self, error: &Error) -> Result<GraphRef, EncodeError> {
        let payload = error.payload().map(|payload| self.value(payload)).transpose()?;
        let before = self.table.len();
        self.kind(NodeKind::Error);
        self.table.text(error.reason().as_str());
        self.table.text(error.message());
        self.table.byte(u8::from(error.position().is_some()));
        if let Some(Position { line, column }) = error.position() {
            self.table.unsigned(u64::from(line));
            self.table.unsigned(u64::from(column));
        }
        self.table.byte(u8::from(payload.is_some()));
        if let Some(payload) = payload {
            self.table.place(payload);
        }
        self.optional_text(error.hint());
        self.table.byte(u8::from(error.nil_arguments().is_some()));
        if let Some(nil) = error.nil_arguments() {
            self.table.text(&nil.function);
            self.table.byte(u8::from(nil.count.is_some()));
            self.table.count(nil.count.unwrap_or(0));
            self.table.count(nil.first);
        }
        self.finish_node(before, None)
    }

    /// The number of a program, which it gets if it has none.
    pub fn program(&mut self, program: &Rc<Program>) -> u32 {
        let address = Rc::as_ptr(program).addr();
        if let Some(number) = self.program_numbers.get(&address) {
            return *number;
        }
        let number = self.programs.len() as u32;
        self.program_numbers.insert(address, number);
        self.programs.push(program.clone());
        for (index, info) in (0..).zip(&program.defs) {
            self.infos.insert(Rc::as_ptr(info).addr(), (number, index));
        }
        number
    }

    /// As [`program`](Encoder::program); its constants are identified by their places from now on, if the encoder does that.
    ///
    /// # Errors
    /// The account is at its limits.
    pub(crate) fn program_with_constants(&mut self, program: &Rc<Program>) -> Result<u32, EncodeError> {
        let known = self.programs.len();
        let number = self.program(program);
        if self.tells_constants && self.programs.len() > known {
            for (address, part) in Constants::of(program)?.numbers() {
                self.constants.entry(address).or_insert((number, part));
            }
        }
        Ok(number)
    }

    /// Writes a node that refers to the constant at `address`, if there is one.
    fn constant(&mut self, address: usize) -> Result<Option<GraphRef>, EncodeError> {
        let Some((program, number)) = self.constants.get(&address).copied() else { return Ok(None) };
        let before = self.table.len();
        self.kind(NodeKind::Constant);
        self.table.unsigned(u64::from(program));
        self.table.unsigned(u64::from(number));
        self.finish_node(before, Some(address)).map(Some)
    }

    /// The programs so far, by their numbers.
    pub(crate) fn programs(&self) -> &[Rc<Program>] {
        &self.programs
    }

    /// How many nodes there are so far.
    pub(crate) fn nodes(&self) -> u32 {
        self.nodes
    }

    /// Bytes of the table so far.
    pub fn table_bytes(&self) -> usize {
        self.table.len()
    }

    /// The graph of all that was written.
    pub fn finish(self) -> EncodedGraph {
        let Encoder { nodes, table, programs, watches, .. } = self;
        EncodedGraph { nodes, table: table.into_bytes(), programs, watches }
    }

    fn write(&mut self, met: ChildEncounter) -> Result<GraphRef, EncodeError> {
        let (open, address) = match self.look(met)? {
            ChildVisit::Told(place) => return Ok(place),
            ChildVisit::Enter(open, address) => (open, address),
        };
        debug_assert!(self.levels.is_empty() && self.places.is_empty());
        self.levels.push(PartialNode { open, base: 0, address });
        loop {
            let Some(top) = self.levels.last_mut() else { return Ok(GraphRef::NIL) };
            let Some(met) = top.open.next() else {
                let place = self.close()?;
                if self.levels.is_empty() {
                    return Ok(place);
                }
                self.child_is_at(place)?;
                continue;
            };
            match self.look(met)? {
                ChildVisit::Told(place) => self.child_is_at(place)?,
                ChildVisit::Enter(open, address) => {
                    let base = self.places.len();
                    self.levels.push(PartialNode { open, base, address });
                }
            }
        }
    }

    fn child_is_at(&mut self, place: GraphRef) -> Result<(), EncodeError> {
        self.places.push(place);
        // Each place is a byte at least.
        if self.places.len() > self.bounds.bytes {
            return Err(EncodeError::TooLarge("bytes"));
        }
        if self.places.len().is_multiple_of(1 << 10) {
            meter::charge_steps(1)?;
            meter::uncharged(1 << 10);
            self.charge_own()?;
        }
        Ok(())
    }

    /// Writes a child that refers to nothing, or says how to go through one that does.
    fn look(&mut self, ChildEncounter { child, once }: ChildEncounter) -> Result<ChildVisit, EncodeError> {
        match child {
            Child::Value(value) => {
                let address = value.allocation().map(|allocation| allocation.address);
                self.look_at_value(value, address, !once)
            }
            Child::Made(value) => self.made(&value).map(ChildVisit::Told),
            Child::Text(text) => {
                let value = Value::Str(text);
                let address = value.allocation().map(|allocation| allocation.address);
                self.look_at_value(value, address, true)
            }
            Child::Shape(shape) => {
                let address = Rc::as_ptr(&shape).addr();
                if let Some(number) = self.known.get(&address) {
                    return Ok(ChildVisit::Told(GraphRef::node(*number)));
                }
                Ok(match self.constant(address)? {
                    Some(place) => ChildVisit::Told(place),
                    None => ChildVisit::Enter(OpenValue::Shape { shape, at: 0 }, Some(address)),
                })
            }
            Child::Captures(captures) => {
                let address = Rc::as_ptr(&captures).addr();
                Ok(match self.known.get(&address) {
                    Some(number) => ChildVisit::Told(GraphRef::node(*number)),
                    None => ChildVisit::Enter(OpenValue::Captures { captures, at: 0 }, Some(address)),
                })
            }
        }
    }

    fn look_at_value(
        &mut self,
        value: Value,
        address: Option<usize>,
        again: bool,
    ) -> Result<ChildVisit, EncodeError> {
        let value = match value {
            Value::Nil => return Ok(ChildVisit::Told(GraphRef::NIL)),
            Value::False => return Ok(ChildVisit::Told(GraphRef::FALSE)),
            Value::True => return Ok(ChildVisit::Told(GraphRef::TRUE)),
            Value::Int(n) => {
                let told = GraphRef::int(n);
                let place = told.map_or_else(|| self.scalar(&Value::Int(n), None), Ok)?;
                return Ok(ChildVisit::Told(place));
            }
            Value::Builtin(handle) => return self.builtin(handle).map(ChildVisit::Told),
            // They have their text in common with strings, and are told by it.
            Value::Var(ref text) | Value::Symbol(ref text) | Value::Tool(ref text) => {
                let text = Some(text.clone());
                return Ok(ChildVisit::Enter(OpenValue::Named { value, text }, None));
            }
            // They have their elements in common with a vector, and are told by it.
            Value::List(items) => {
                return Ok(ChildVisit::Enter(
                    OpenValue::List { kind: NodeKind::List, items: Some(items) },
                    None,
                ));
            }
            Value::Queue(items) => {
                return Ok(ChildVisit::Enter(
                    OpenValue::List { kind: NodeKind::Queue, items: Some(items) },
                    None,
                ));
            }
            value => value,
        };
        if again
            && let Some(address) = address
            && let Some(number) = self.known.get(&address)
        {
            return Ok(ChildVisit::Told(GraphRef::node(*number)));
        }
        let address = address.filter(|_| again);
        if let Some(address) = address
            && let Some(place) = self.constant(address)?
        {
            return Ok(ChildVisit::Told(place));
        }
        let open = match value {
            Value::Vector(vector) => OpenValue::vector(vector),
            Value::Map(map) => OpenValue::map(map),
            Value::Set(set) => OpenValue::set(set),
            Value::Closure(closure) => {
                let captures = Some(closure.captures.clone());
                OpenValue::Closure { closure, captures }
            }
            Value::Combinator(combinator) => OpenValue::Combinator { combinator, at: 0 },
            Value::Cursor(cursor) => {
                let open = OpenValue::cursor(cursor);
                if let OpenValue::Cursor { collection: Some(collection), .. } = &open {
                    // A cursor may let go of its collection.
                    self.kept.push(PinnedValue::Value(collection.clone()));
                }
                open
            }
            scalar => return self.scalar(&scalar, address).map(ChildVisit::Told),
        };
        Ok(ChildVisit::Enter(open, address))
    }

    /// A field of a row, which has no owner. Short texts are shared as they are when rows are read.
    fn made(&mut self, value: &Value) -> Result<GraphRef, EncodeError> {
        let text = match value {
            Value::Str(text) if text.as_str().len() <= LONGEST_SHARED => text,
            Value::Nil => return Ok(GraphRef::NIL),
            Value::False => return Ok(GraphRef::FALSE),
            Value::True => return Ok(GraphRef::TRUE),
            Value::Int(n) => {
                return GraphRef::int(*n).map_or_else(|| self.scalar(value, None), Ok);
            }
            _ => return self.scalar(value, None),
        };
        if self.shared.is_empty() {
            self.shared.resize(SHARED, None);
        }
        // FNV-1a
        let hash = text
            .as_str()
            .bytes()
            .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        let slot = (hash ^ (hash >> 16)) as usize % SHARED;
        if let Some((known, number)) = &self.shared[slot]
            && known.as_str() == text.as_str()
        {
            return Ok(GraphRef::node(*number));
        }
        let number = self.nodes;
        let place = self.scalar(value, None)?;
        self.shared[slot] = Some((text.clone(), number));
        Ok(place)
    }

    fn builtin(&mut self, handle: &'static BuiltinHandle) -> Result<GraphRef, EncodeError> {
        if let Some(number) = self.builtins.get(&handle.id) {
            return Ok(GraphRef::node(*number));
        }
        self.builtins.insert(handle.id, self.nodes);
        let before = self.table.len();
        self.kind(if handle.named { NodeKind::Builtin } else { NodeKind::Unnamed });
        self.table.text(handle.name);
        self.finish_node(before, None)
    }

    /// Writes a node that refers to none.
    fn scalar(&mut self, value: &Value, address: Option<usize>) -> Result<GraphRef, EncodeError> {
        let before = self.table.len();
        match value {
            Value::Int(n) => {
                self.kind(NodeKind::Int);
                self.table.signed(*n);
            }
            Value::Float(x) => {
                self.kind(NodeKind::Float);
                self.table.raw(&x.get().to_bits().to_le_bytes());
            }
            Value::BigInt(n) => self.big(n),
            Value::Keyword(keyword) => {
                self.kind(NodeKind::Keyword);
                self.table.text(keyword.name());
            }
            Value::Str(text) => {
                self.kind(NodeKind::Str);
                self.table.text(text.as_str());
            }
            Value::Regex(regex) => {
                self.kind(NodeKind::Regex);
                self.table.text(regex.source.as_str());
            }
            Value::Temporal(temporal) => self.temporal(temporal),
            Value::Blob(blob) => self.blob(blob),
            _ => unreachable!("all others refer to something, or are told without a node"),
        }
        self.finish_node(before, address)
    }

    fn big(&mut self, n: &Big) {
        self.kind(NodeKind::Big);
        self.table.bytes(&n.get().to_signed_bytes_le());
    }

    fn temporal(&mut self, temporal: &Temporal) {
        match *temporal {
            Temporal::Date(days) => {
                self.kind(NodeKind::Date);
                self.table.signed(days);
            }
            Temporal::Instant { micros, digits } => {
                self.kind(NodeKind::Instant);
                self.table.signed(micros);
                self.table.byte(digits);
            }
            Temporal::Duration(millis) => {
                self.kind(NodeKind::Duration);
                self.table.signed(millis);
            }
            Temporal::Local { micros, digits } => {
                self.kind(NodeKind::LocalDateTime);
                self.table.signed(micros);
                self.table.byte(digits);
            }
            Temporal::Zoned { micros, digits, zone } => {
                self.kind(NodeKind::ZonedDateTime);
                self.table.signed(micros);
                self.table.byte(digits);
                self.table.text(&zone.name());
            }
        }
    }

    fn blob(&mut self, blob: &Blob) {
        let content = blob.content();
        self.kind(NodeKind::Blob);
        self.table.text(content.kind);
        self.table.text(&content.mime_type);
        self.table.text(&content.uri);
        self.table.text(&content.base64);
    }

    fn kind(&mut self, kind: NodeKind) {
        self.table.byte(kind as u8);
    }

    fn optional_text(&mut self, text: Option<&str>) {
        self.table.byte(u8::from(text.is_some()));
        if let Some(text) = text {
            self.table.text(text);
        }
    }

    /// Writes the node of the innermost level, whose children are written.
    fn close(&mut self) -> Result<GraphRef, EncodeError> {
        let Some(PartialNode { open, base, address }) = self.levels.pop() else {
            unreachable!("a level is open")
        };
        let before = self.table.len();
        let places: SmallVec<[GraphRef; 16]> = self.places.drain(base..).collect();
        match open {
            OpenValue::Flat { .. } | OpenValue::Long(_) => self.list(NodeKind::Vector, &places),
            OpenValue::List { kind, .. } => self.shaped(kind, &places),
            OpenValue::Pieces { pieces, .. } => {
                self.kind(NodeKind::LongVector);
                let mut places = &places[..];
                match (pieces.uniform, places) {
                    (Uniform::Run(first, step), _) => {
                        self.table.byte(0);
                        self.table.signed(first);
                        self.table.signed(step);
                    }
                    (Uniform::Repeat(_), [value, rest @ ..]) => {
                        self.table.byte(1);
                        self.table.place(*value);
                        places = rest;
                    }
                    (Uniform::Repeat(_), []) => unreachable!("the repeated value comes first"),
                }
                self.table.unsigned(pieces.start);
                self.table.count(pieces.lengths.len());
                pieces.lengths.iter().for_each(|length| self.table.count(*length));
                self.rest(places);
            }
            OpenValue::Shape { shape, .. } => {
                self.kind(NodeKind::Shape);
                self.table.byte(u8::from(shape.is_of_reply()));
                self.table.count(places.len());
                self.rest(&places);
            }
            OpenValue::Small { map, .. } => {
                let watch = match map.contents() {
                    Contents::Watched(_, _, watch) if self.keeps_watches => Some(watch.clone()),
                    _ => None,
                };
                self.shaped(
                    if watch.is_some() { NodeKind::WatchedMap } else { NodeKind::ShapedMap },
                    &places,
                );
                if let Some(watch) = watch {
                    let known = self.watches.iter().position(|known| Rc::ptr_eq(known, &watch));
                    self.table.count(known.unwrap_or(self.watches.len()));
                    if known.is_none() {
                        self.watches.push(watch);
                    }
                }
            }
            OpenValue::Row { .. } => self.shaped(NodeKind::ShapedMap, &places),
            OpenValue::TreeMap { .. } => {
                self.kind(NodeKind::TreeMap);
                self.table.count(places.len() / 2);
                self.rest(&places);
            }
            OpenValue::SmallSet { .. } => self.shaped(NodeKind::ShapedSet, &places),
            OpenValue::TreeSet(_) => self.list(NodeKind::TreeSet, &places),
            OpenValue::Closure { closure, .. } => {
                let program = self.program_with_constants(&closure.module.program)?;
                self.kind(NodeKind::Closure);
                self.table.unsigned(u64::from(program));
                self.table.unsigned(u64::from(closure.function));
                self.shaped_rest(&places);
            }
            OpenValue::Captures { .. } => self.list(NodeKind::Captures, &places),
            OpenValue::Combinator { combinator, .. } => {
                self.kind(NodeKind::Combinator);
                self.table.byte(combinator.kind as u8);
                self.table.count(places.len());
                self.rest(&places);
            }
            OpenValue::Named { value, .. } => {
                self.kind(match value {
                    Value::Var(_) => NodeKind::Var,
                    Value::Symbol(_) => NodeKind::Symbol,
                    _ => NodeKind::Tool,
                });
                self.shaped_rest(&places);
            }
            OpenValue::Cursor { taken, .. } => {
                self.kind(NodeKind::Cursor);
                self.rest(&places);
                self.table.count(taken);
            }
        }
        self.finish_node(before, address)
    }

    fn list(&mut self, kind: NodeKind, places: &[GraphRef]) {
        self.kind(kind);
        self.table.count(places.len());
        self.rest(places);
    }

    /// A node that begins with the number of another one.
    fn shaped(&mut self, kind: NodeKind, places: &[GraphRef]) {
        self.kind(kind);
        self.shaped_rest(places);
    }

    /// The number of a node, then places.
    fn shaped_rest(&mut self, places: &[GraphRef]) {
        let [first, rest @ ..] = places else { unreachable!("the node comes first") };
        self.table.unsigned((first.0 - GraphRef::FIRST_NODE) / 2);
        self.rest(rest);
    }

    fn rest(&mut self, places: &[GraphRef]) {
        places.iter().for_each(|place| self.table.place(*place));
    }

    /// The node whose bytes begin at `before` is written.
    fn finish_node(&mut self, before: usize, address: Option<usize>) -> Result<GraphRef, EncodeError> {
        if self.nodes >= self.bounds.nodes {
            return Err(EncodeError::TooLarge("nodes"));
        }
        if self.table.len() > self.bounds.bytes {
            return Err(EncodeError::TooLarge("bytes"));
        }
        meter::charge_steps(1 + (self.table.len() - before) as u64 / BYTES_A_STEP)?;
        let number = self.nodes;
        self.nodes += 1;
        if let Some(address) = address {
            self.known.insert(address, number);
        }
        if number.is_multiple_of(NODES_A_LOOK) {
            self.charge_own()?;
        }
        Ok(GraphRef::node(number))
    }

    /// Charges the encoder's own memory.
    fn charge_own(&mut self) -> Result<(), EncodeError> {
        let bytes = self.table.capacity()
            + (self.known.capacity() + self.infos.capacity()) * size_of::<(usize, (u32, u32))>()
            + self.kept.capacity() * size_of::<PinnedValue>()
            + self.levels.capacity() * size_of::<PartialNode>()
            + self.places.capacity() * size_of::<GraphRef>();
        Ok(self.held.resize(bytes)?)
    }
}
