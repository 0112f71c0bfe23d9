//! Bytes to values.

use super::constants::{ConstantAllocation, Constants};
use super::graph_ref::{GraphRef, GraphRefKind};
use super::nodes::{COMBINATORS, NodeKind, reason};
use super::{BYTES_A_STEP, Bounds, DecodeError, WireReader};
use crate::code::{DefInfo, Module};
use crate::error::{Error, NilArguments, Position};
use crate::meter::{self, MemoryCharge};
use crate::number::MAX_INTEGER_BITS;
use crate::value::{
    Blob, Captures, Closure, Combinator, Cursor, Keyword, Map, Pieces, Regex, ReplyWatch, Set, Shape, Str,
    Temporal, Uniform, Value, Vector, Zone, key_compare,
};
use ahash::AHashMap;
use num_bigint::BigInt;
use smallvec::SmallVec;
use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::hash_map::Entry;
use std::rc::Rc;

/// Keys that are compared between two places where others may have the thread.
const KEYS_A_PIECE: usize = 1 << 10;

/// References of the bytes of a graph to the outside.
pub trait Origins {
    /// The function of this name: the one that it reaches, or one that no program can name.
    fn builtin(&self, name: &str, named: bool) -> Option<Value>;

    /// The keyword of this name, if it is one that no program is charged for.
    fn keyword(&self, name: &str) -> Option<Value>;

    /// Whether a combinator has the parts that its calls expect.
    fn accepts(&self, combinator: &Rc<Combinator>) -> bool;

    /// The program with this number, linked to the namespace that the values belong to.
    fn module(&self, number: u32) -> Option<&Rc<Module>>;

    /// The watch over the reading of the result with this number.
    fn watch(&self, number: u32) -> Option<&Rc<ReplyWatch>>;
}

/// A graph that was read.
pub struct Graph {
    nodes: Vec<DecodedNode>,
    /// Charges the table itself; values charge themselves.
    held: MemoryCharge,
}

/// The content of a node.
enum DecodedNode {
    Value(Value),
    /// The state of a `for` level, which no collection has in it.
    Cursor(Rc<RefCell<Cursor>>),
    Shape(Rc<Shape>),
    Captures(Rc<Captures>),
    Info(Rc<DefInfo>),
    Error(Error),
}

/// Reads a graph, as [`EncodedGraph::write`](super::EncodedGraph::write) writes it, and leaves the rest.
///
/// All that is made is charged to the account that is installed.
///
/// # Errors
/// The bytes are none of an encoder within `bounds`, or the account is at its limits.
pub fn decode(
    reader: &mut WireReader<'_>,
    bounds: Bounds,
    origins: &dyn Origins,
) -> Result<Graph, DecodeError> {
    decode_marked(reader, bounds, origins, 0).map(|(graph, _)| graph)
}

/// As [`decode`]; also says how many bytes the values of the first `marked` nodes take.
///
/// # Errors
/// As [`decode`]; also if there are not as many nodes.
pub(crate) fn decode_marked(
    reader: &mut WireReader<'_>,
    bounds: Bounds,
    origins: &dyn Origins,
    marked: u32,
) -> Result<(Graph, i64), DecodeError> {
    let live_before = meter::live();
    let mut of_marked = 0;
    let count = reader.count()?;
    if marked as usize > count {
        return Err(DecodeError::Invalid("number of nodes"));
    }
    if count > bounds.nodes as usize {
        return Err(DecodeError::Invalid("number of nodes"));
    }
    let mut table = Table {
        nodes: Vec::new(),
        held: MemoryCharge::default(),
        reader: reader.clone(),
        origins,
        constants: AHashMap::new(),
    };
    let all = table.reader.left();
    while table.nodes.len() < count {
        let before = table.reader.left();
        let node = table.node()?;
        meter::charge_steps(1 + (before - table.reader.left()) as u64 / BYTES_A_STEP)?;
        meter::check_memory()?;
        table.push(node)?;
        if table.nodes.len() == marked as usize {
            of_marked = meter::live() - live_before - table.held.bytes() as i64;
        }
        if all - table.reader.left() > bounds.bytes {
            return Err(DecodeError::Invalid("number of bytes"));
        }
    }
    *reader = table.reader;
    Ok((Graph { nodes: table.nodes, held: table.held }, of_marked))
}

impl Graph {
    /// Bytes of the table itself, without those of its values.
    pub(crate) fn table_bytes(&self) -> usize {
        self.held.bytes()
    }

    /// The value at a place.
    ///
    /// # Errors
    /// There is none, or it is one that no program sees.
    pub fn value(&self, place: GraphRef) -> Result<Value, DecodeError> {
        value(&self.nodes, place)
    }

    /// The value at a place that may be the state of a `for` level.
    ///
    /// # Errors
    /// There is none.
    pub fn slot(&self, place: GraphRef) -> Result<Value, DecodeError> {
        match place.told() {
            GraphRefKind::Node(number)
                if matches!(find(&self.nodes, number), Some(DecodedNode::Cursor(_))) =>
            {
                let Some(DecodedNode::Cursor(cursor)) = find(&self.nodes, number) else {
                    unreachable!("just found")
                };
                Ok(Value::Cursor(cursor.clone()))
            }
            _ => self.value(place),
        }
    }

    /// The captured values at a place.
    ///
    /// # Errors
    /// There are none.
    pub fn captures(&self, place: GraphRef) -> Result<Rc<Captures>, DecodeError> {
        match node(&self.nodes, place) {
            Some(DecodedNode::Captures(captures)) => Ok(captures.clone()),
            _ => Err(DecodeError::Invalid("captures")),
        }
    }

    /// The documentation of a definition at a place.
    ///
    /// # Errors
    /// There is none.
    pub fn info(&self, place: GraphRef) -> Result<Rc<DefInfo>, DecodeError> {
        match node(&self.nodes, place) {
            Some(DecodedNode::Info(info)) => Ok(info.clone()),
            _ => Err(DecodeError::Invalid("definition")),
        }
    }

    /// The error at a place.
    ///
    /// # Errors
    /// There is none.
    pub fn error(&self, place: GraphRef) -> Result<Error, DecodeError> {
        match node(&self.nodes, place) {
            Some(DecodedNode::Error(error)) => Ok(error.clone()),
            _ => Err(DecodeError::Invalid("error")),
        }
    }
}

fn find(nodes: &[DecodedNode], number: u64) -> Option<&DecodedNode> {
    nodes.get(usize::try_from(number).ok()?)
}

fn node(nodes: &[DecodedNode], place: GraphRef) -> Option<&DecodedNode> {
    match place.told() {
        GraphRefKind::Node(number) => find(nodes, number),
        _ => None,
    }
}

fn value(nodes: &[DecodedNode], place: GraphRef) -> Result<Value, DecodeError> {
    Ok(match place.told() {
        GraphRefKind::Nil => Value::Nil,
        GraphRefKind::False => Value::False,
        GraphRefKind::True => Value::True,
        GraphRefKind::Int(n) => Value::Int(n),
        GraphRefKind::Node(number) => match find(nodes, number) {
            Some(DecodedNode::Value(value)) => value.clone(),
            _ => return Err(DecodeError::Invalid("value")),
        },
    })
}

/// The nodes that have been read.
struct Table<'a, 'b> {
    nodes: Vec<DecodedNode>,
    held: MemoryCharge,
    reader: WireReader<'a>,
    origins: &'b dyn Origins,
    /// The parts of constants, by the number of their program.
    constants: AHashMap<u32, Constants>,
}

impl<'a> Table<'a, '_> {
    fn push(&mut self, node: DecodedNode) -> Result<(), DecodeError> {
        if self.nodes.len() == self.nodes.capacity() {
            let more = (self.nodes.len() / 2).max(16);
            self.held.resize((self.nodes.len() + more) * size_of::<DecodedNode>())?;
            self.nodes.reserve_exact(more);
        }
        self.nodes.push(node);
        Ok(())
    }

    /// Reads the next node.
    fn node(&mut self) -> Result<DecodedNode, DecodeError> {
        let kind = NodeKind::of(self.reader.byte()?).ok_or(DecodeError::Invalid("kind of node"))?;
        Ok(DecodedNode::Value(match kind {
            NodeKind::Int => {
                let n = self.reader.signed()?;
                if GraphRef::int(n).is_some() {
                    return Err(DecodeError::Invalid("integer"));
                }
                Value::Int(n)
            }
            NodeKind::Float => {
                let bytes = self.reader.raw(8)?;
                Value::float(f64::from_bits(u64::from_le_bytes(bytes.try_into().unwrap_or_default())))
            }
            NodeKind::Big => self.big()?,
            NodeKind::Keyword => {
                let name = self.reader.text()?;
                match self.origins.keyword(name) {
                    Some(known) => known,
                    None => {
                        meter::reserve(name.len())?;
                        Value::Keyword(Keyword::new(name))
                    }
                }
            }
            NodeKind::Str => Value::Str(Str::new(self.reserved_text()?)),
            NodeKind::Var => Value::Var(self.string()?),
            NodeKind::Symbol => Value::Symbol(self.string()?),
            NodeKind::Tool => Value::Tool(self.string()?),
            NodeKind::Regex => {
                let source = self.reader.text()?;
                Value::Regex(Regex::read_again(source)?.ok_or(DecodeError::Invalid("regular expression"))?)
            }
            NodeKind::Builtin | NodeKind::Unnamed => {
                let name = self.reader.text()?;
                let named = kind == NodeKind::Builtin;
                self.origins.builtin(name, named).ok_or(DecodeError::Invalid("function"))?
            }
            NodeKind::Vector => {
                let count = self.reader.count()?;
                Value::Vector(Vector::from_vec(self.values(count)?))
            }
            NodeKind::LongVector => self.long_vector()?,
            NodeKind::List => match self.numbered()? {
                DecodedNode::Value(Value::Vector(items)) => Value::List(items.clone()),
                _ => return Err(DecodeError::Invalid("list")),
            },
            NodeKind::Queue => match self.numbered()? {
                DecodedNode::Value(Value::Vector(items)) => Value::Queue(items.clone()),
                _ => return Err(DecodeError::Invalid("queue")),
            },
            NodeKind::Shape => return self.shape().map(DecodedNode::Shape),
            NodeKind::ShapedMap => Value::Map(self.shaped_map()?),
            NodeKind::WatchedMap => {
                let map = self.shaped_map()?;
                let watch =
                    self.origins.watch(self.reader.unsigned_32()?).ok_or(DecodeError::Invalid("watch"))?;
                Value::Map(map.watched(watch.clone()))
            }
            NodeKind::TreeMap => self.tree_map()?,
            NodeKind::ShapedSet => {
                let shape = self.shape_at()?;
                Value::Set(Set::with_shape(shape))
            }
            NodeKind::TreeSet => self.tree_set()?,
            NodeKind::Closure => self.closure()?,
            NodeKind::Captures => {
                let count = self.reader.count()?;
                meter::reserve(count * size_of::<Value>())?;
                let mut values = SmallVec::with_capacity(count);
                for _ in 0..count {
                    values.push(self.value()?);
                }
                return Ok(DecodedNode::Captures(Captures::new(values)));
            }
            NodeKind::Combinator => self.combinator()?,
            NodeKind::Date => {
                let days = self.reader.signed()?;
                if days.unsigned_abs() > Temporal::MOST_DAYS.unsigned_abs() {
                    return Err(DecodeError::Invalid("date"));
                }
                Value::temporal(Temporal::date(days))
            }
            NodeKind::Instant => {
                let (micros, digits) = self.moment()?;
                Value::temporal(Temporal::instant(micros, digits))
            }
            NodeKind::LocalDateTime => {
                let (micros, digits) = self.moment()?;
                Value::temporal(Temporal::local(micros, digits))
            }
            NodeKind::ZonedDateTime => {
                let (micros, digits) = self.moment()?;
                let zone = Zone::named(self.reader.text()?).ok_or(DecodeError::Invalid("zone"))?;
                Value::temporal(Temporal::zoned(micros, digits, zone))
            }
            NodeKind::Duration => Value::temporal(Temporal::duration(self.reader.signed()?)),
            NodeKind::Cursor => return self.cursor(),
            NodeKind::Constant => return self.constant(),
            NodeKind::InfoOfProgram => {
                let module = self.module()?;
                let index = self.reader.index(module.program.defs.len(), "definition")?;
                return Ok(DecodedNode::Info(module.program.defs[index].clone()));
            }
            NodeKind::Info => return self.info(),
            NodeKind::Error => return self.error().map(DecodedNode::Error),
            NodeKind::Blob => {
                let (kind, mime_type) = (self.reader.text()?, self.reader.text()?);
                let (uri, base64) = (self.reader.text()?, self.reader.text()?);
                let blob = Blob::new(kind, mime_type, uri, base64.as_bytes())?;
                let as_written = |blob: &Rc<Blob>| {
                    let content = blob.content();
                    content.kind == kind && *content.mime_type == *mime_type && *content.base64 == *base64
                };
                Value::Blob(blob.filter(as_written).ok_or(DecodeError::Invalid("binary content"))?)
            }
        }))
    }

    /// A text whose bytes are about to be held.
    fn reserved_text(&mut self) -> Result<&'a str, DecodeError> {
        let text = self.reader.text()?;
        meter::reserve(text.len())?;
        Ok(text)
    }

    fn value(&mut self) -> Result<Value, DecodeError> {
        let place = self.reader.place()?;
        value(&self.nodes, place)
    }

    fn values(&mut self, count: usize) -> Result<Vec<Value>, DecodeError> {
        meter::reserve(count * size_of::<Value>())?;
        let mut values = Vec::with_capacity(count);
        for _ in 0..count {
            values.push(self.value()?);
            if values.len().is_multiple_of(KEYS_A_PIECE) {
                meter::charge_steps(1)?;
                meter::uncharged(KEYS_A_PIECE);
            }
        }
        Ok(values)
    }

    /// The node with the number that comes next.
    fn numbered(&mut self) -> Result<&DecodedNode, DecodeError> {
        let index = self.reader.index(self.nodes.len(), "number of a node")?;
        Ok(&self.nodes[index])
    }

    fn string(&mut self) -> Result<Str, DecodeError> {
        match self.numbered()? {
            DecodedNode::Value(Value::Str(text)) => Ok(text.clone()),
            _ => Err(DecodeError::Invalid("name")),
        }
    }

    fn shape_at(&mut self) -> Result<Rc<Shape>, DecodeError> {
        match self.numbered()? {
            DecodedNode::Shape(shape) => Ok(shape.clone()),
            _ => Err(DecodeError::Invalid("shape")),
        }
    }

    fn constant(&mut self) -> Result<DecodedNode, DecodeError> {
        let (program, number) = (self.reader.unsigned_32()?, self.reader.unsigned_32()?);
        let module = self.origins.module(program).ok_or(DecodeError::Invalid("program"))?;
        let constants = match self.constants.entry(program) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(Constants::of(&module.program)?),
        };
        match constants.part(number) {
            Some(ConstantAllocation::Value(value)) => Ok(DecodedNode::Value(value.clone())),
            Some(ConstantAllocation::Shape(shape)) => Ok(DecodedNode::Shape(shape.clone())),
            None => Err(DecodeError::Invalid("constant")),
        }
    }

    fn module(&mut self) -> Result<Rc<Module>, DecodeError> {
        let number = self.reader.unsigned_32()?;
        self.origins.module(number).cloned().ok_or(DecodeError::Invalid("program"))
    }

    fn big(&mut self) -> Result<Value, DecodeError> {
        let bytes = self.reader.bytes()?;
        if bytes.len() as u64 > MAX_INTEGER_BITS / 8 + 1 {
            return Err(DecodeError::Invalid("integer"));
        }
        meter::reserve(bytes.len())?;
        let n = BigInt::from_signed_bytes_le(bytes);
        if n.to_signed_bytes_le() != bytes || n.bits() > MAX_INTEGER_BITS || i64::try_from(&n).is_ok() {
            return Err(DecodeError::Invalid("integer"));
        }
        Ok(Value::integer(n))
    }

    fn long_vector(&mut self) -> Result<Value, DecodeError> {
        let uniform = match self.reader.byte()? {
            0 => Uniform::Run(self.reader.signed()?, self.reader.signed()?),
            1 => Uniform::Repeat(self.value()?),
            _ => return Err(DecodeError::Invalid("vector")),
        };
        let start = self.reader.unsigned()?;
        let count = self.reader.count()?;
        meter::reserve(count * size_of::<usize>())?;
        let mut lengths = Vec::with_capacity(count);
        let mut there = 0_usize;
        for place in 0..count {
            let length =
                usize::try_from(self.reader.unsigned()?).map_err(|_| DecodeError::Invalid("vector"))?;
            // Only the first may be empty, as an encoder has it.
            if length == 0 && place > 0 {
                return Err(DecodeError::Invalid("vector"));
            }
            there = there.saturating_add(if place.is_multiple_of(2) { length } else { 0 });
            lengths.push(length);
        }
        if count < 2 || there > self.reader.left() {
            return Err(DecodeError::Invalid("vector"));
        }
        let items = self.values(there)?;
        // A path to a leaf for each piece, at most: a dozen branches.
        meter::reserve(Vector::bytes_of_pieces(&lengths))?;
        let vector = Vector::from_pieces(Pieces { uniform, start, lengths }, items);
        vector.map(Value::Vector).ok_or(DecodeError::Invalid("vector"))
    }

    fn shape(&mut self) -> Result<Rc<Shape>, DecodeError> {
        let of_reply = match self.reader.byte()? {
            0 => false,
            1 => true,
            _ => return Err(DecodeError::Invalid("shape")),
        };
        let count = self.reader.count()?;
        if count > Shape::MOST_KEYS {
            return Err(DecodeError::Invalid("shape"));
        }
        let keys = self.values(count)?;
        ascending(&keys, |key| key)?;
        let shape = Shape::of_ascending(keys);
        if of_reply {
            shape.mark_reply();
        }
        Ok(shape)
    }

    fn shaped_map(&mut self) -> Result<Map, DecodeError> {
        let shape = self.shape_at()?;
        let values = self.values(shape.len())?;
        Ok(Map::with_shape(shape, values))
    }

    fn tree_map(&mut self) -> Result<Value, DecodeError> {
        let count = self.tree_count(2)?;
        meter::reserve(2 * count * Map::ENTRY_BYTES)?;
        let mut entries = Vec::with_capacity(count);
        for _ in 0..count {
            entries.push((self.value()?, self.value()?));
            if entries.len().is_multiple_of(KEYS_A_PIECE) {
                meter::charge_steps(1)?;
                meter::uncharged(KEYS_A_PIECE);
            }
        }
        ascending(&entries, |(key, _)| key)?;
        Ok(Value::Map(Map::tree(entries)))
    }

    fn tree_set(&mut self) -> Result<Value, DecodeError> {
        let count = self.tree_count(1)?;
        meter::reserve(2 * count * Set::ELEMENT_BYTES)?;
        let elements = self.values(count)?;
        ascending(&elements, |element| element)?;
        Ok(Value::Set(Set::tree(elements)))
    }

    /// How many entries a tree has, of so many places each.
    fn tree_count(&mut self, places: usize) -> Result<usize, DecodeError> {
        let count = self.reader.count()?;
        if count < Map::LEAST_OF_TREE || count > self.reader.left() / places {
            return Err(DecodeError::Invalid("tree"));
        }
        Ok(count)
    }

    fn closure(&mut self) -> Result<Value, DecodeError> {
        let module = self.module()?;
        let index = self.reader.index(module.program.functions.len(), "function")?;
        let DecodedNode::Captures(captures) = self.numbered()? else {
            return Err(DecodeError::Invalid("captures"));
        };
        let captures = captures.clone();
        // The code has been made for as many.
        if captures.values().len() < module.program.functions[index].captures.len() {
            return Err(DecodeError::Invalid("captures"));
        }
        Ok(Value::Closure(Closure::new(module, index as u32, captures)))
    }

    /// Microseconds of a point in time, and the fraction digits to print.
    fn moment(&mut self) -> Result<(i64, u8), DecodeError> {
        let (micros, digits) = (self.reader.signed()?, self.reader.byte()?);
        if digits > 6 {
            return Err(DecodeError::Invalid("instant"));
        }
        Ok((micros, digits))
    }

    fn combinator(&mut self) -> Result<Value, DecodeError> {
        let kind = usize::from(self.reader.byte()?);
        let kind = *COMBINATORS.get(kind).ok_or(DecodeError::Invalid("combinator"))?;
        let count = self.reader.count()?;
        let combinator = Combinator::new(kind, self.values(count)?);
        if !self.origins.accepts(&combinator) {
            return Err(DecodeError::Invalid("combinator"));
        }
        Ok(Value::Combinator(combinator))
    }

    fn cursor(&mut self) -> Result<DecodedNode, DecodeError> {
        let collection = self.value()?;
        let taken = usize::try_from(self.reader.unsigned()?).map_err(|_| DecodeError::Invalid("cursor"))?;
        let invalid = DecodeError::Invalid("cursor");
        let mut cursor = match collection {
            Value::Vector(vector) => Cursor::Vector(vector.into_iter()),
            Value::Map(map) => Cursor::Map(map.into_iter()),
            Value::Set(set) => Cursor::Set(set.into_iter()),
            _ => return Err(invalid),
        };
        if taken > cursor.remaining() {
            return Err(invalid);
        }
        cursor.skip(taken);
        Ok(DecodedNode::Cursor(Rc::new(RefCell::new(cursor))))
    }

    fn flag(&mut self) -> Result<bool, DecodeError> {
        match self.reader.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(DecodeError::Invalid("flag")),
        }
    }

    fn optional_text(&mut self) -> Result<Option<&'a str>, DecodeError> {
        if self.flag()? { self.reserved_text().map(Some) } else { Ok(None) }
    }

    fn info(&mut self) -> Result<DecodedNode, DecodeError> {
        let doc = self.optional_text()?.map(Rc::from);
        let count = self.reader.count()?;
        meter::reserve(count * size_of::<Rc<str>>())?;
        let mut parameters = Vec::with_capacity(count);
        for _ in 0..count {
            parameters.push(Rc::from(self.reserved_text()?));
        }
        let source = Rc::from(self.reserved_text()?);
        Ok(DecodedNode::Info(Rc::new(DefInfo { doc, parameters, source })))
    }

    fn error(&mut self) -> Result<Error, DecodeError> {
        let reason = reason(self.reader.text()?).ok_or(DecodeError::Invalid("reason"))?;
        let mut error = Error::verbatim(reason, self.reserved_text()?);
        if self.flag()? {
            let (line, column) = (self.reader.unsigned_32()?, self.reader.unsigned_32()?);
            error = error.at(Some(Position { line, column }));
        }
        if self.flag()? {
            error = error.with_payload(Some(self.value()?));
        }
        if let Some(hint) = self.optional_text()? {
            error = error.with_hint(hint.to_owned());
        }
        if self.flag()? {
            let function = self.reserved_text()?.to_owned();
            let counted = self.flag()?;
            let mut number =
                || usize::try_from(self.reader.unsigned()?).map_err(|_| DecodeError::Invalid("number"));
            let (count, first) = (number()?, number()?);
            let count = counted.then_some(count);
            error = error.of_nil_arguments(NilArguments { function, count, first });
        }
        Ok(error)
    }
}

/// Refuses keys that do not ascend, or of which two are the same.
fn ascending<T>(items: &[T], key: impl Fn(&T) -> &Value) -> Result<(), DecodeError> {
    for (index, pair) in items.windows(2).enumerate() {
        if index.is_multiple_of(KEYS_A_PIECE) {
            meter::charge_steps(KEYS_A_PIECE as u64)?;
        }
        if key_compare(key(&pair[0]), key(&pair[1])) != Ordering::Less {
            // An order that was cut short says nothing.
            meter::charge_steps(0)?;
            return Err(DecodeError::Invalid("order of keys"));
        }
    }
    Ok(())
}
