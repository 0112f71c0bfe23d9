//! Values that are known before the program runs.

use std::rc::Rc;

use ptc_vm::Value;
use ptc_vm::builtins::{Native, registry};
use ptc_vm::code::Op;
use ptc_vm::value::{Map, Set, Shape, Str};
use smallvec::SmallVec;

use super::Generator;
use super::body::Body;
use crate::ast::{Collection, Node, NodeId};
use crate::error::{CompileError, Result};
use crate::form::{Form, FormKind, Items};
use crate::names::Name;
use crate::source::Span;

impl Generator<'_> {
    /// The keyword of a name; one allocation for the whole program.
    pub(super) fn keyword(&mut self, name: Name) -> Value {
        if self.keywords.is_empty() {
            self.keywords.resize(self.forms.names.len(), None);
        }
        let text = self.text(name);
        self.keywords[name.index()].get_or_insert_with(|| Value::keyword(text)).clone()
    }

    /// The value of a constant node.
    pub(super) fn constant(&mut self, id: NodeId) -> Result<Value> {
        let ast = self.ast;
        Ok(match ast.node(id) {
            Node::Bool(b) => Value::bool(b),
            Node::Int(n) => Value::Int(n),
            Node::BigInt(n) => Value::integer(self.forms.big(n).clone()),
            Node::Float(f) => Value::float(f),
            Node::Str(s) => Value::str(self.forms.string(s)),
            Node::Regex(s) => self.regex(s, ast.span(id))?,
            Node::Keyword(name) => self.keyword(name),
            Node::Symbol(name) => Value::Symbol(Str::new(self.text(name))),
            Node::Tool(name) => Value::Tool(Str::new(self.text(name))),
            Node::Builtin(id) => {
                let builtin = registry().get(id);
                match builtin.native {
                    Native::Constant(value) => value(),
                    _ => Value::Builtin(builtin),
                }
            }
            Node::Literal { kind: Collection::Vector, items } => self.literal_vector(items)?,
            Node::Literal { kind: Collection::Map, items } => self.literal_map(items)?,
            Node::Literal { kind: Collection::Set, items } => self.literal_set(items)?,
            Node::Vector { items, .. } => {
                // Loops, no adaptors: this recurses as deep as literals are nested, on threads with small stacks.
                let items = ast.list(items);
                let mut values = Vec::with_capacity(items.len());
                for &item in items {
                    values.push(self.constant(item)?);
                }
                Value::vector(values)
            }
            Node::Map { items, .. } => {
                let mut pairs = SmallVec::<[Value; 16]>::new();
                for &item in ast.list(items) {
                    pairs.push(self.constant(item)?);
                }
                Value::Map(self.layouts.map(&mut pairs))
            }
            Node::Set { items, .. } => {
                let mut set = Set::new();
                for &item in ast.list(items) {
                    set.insert(self.constant(item)?);
                }
                Value::Set(set)
            }
            _ => Value::Nil,
        })
    }

    fn regex(&mut self, pattern: u32, span: Span) -> Result<Value> {
        ptc_vm::builtins::regex::compile(self.forms.string(pattern))
            .map_err(|error| CompileError::new(error.reason(), span, error.message()))
    }

    // --- what stands for itself, straight from the forms -------------------------------------------------
    //
    // Loops, no adaptors: this recurses as deep as literals are nested, on threads with small stacks.

    #[inline]
    fn literal(&mut self, form: Form) -> Result<Value> {
        match form.kind {
            FormKind::Bool(b) => Ok(Value::bool(b)),
            FormKind::Int(n) => Ok(Value::Int(n)),
            _ => self.counted_literal(form),
        }
    }

    /// A literal that is more than a word.
    fn counted_literal(&mut self, form: Form) -> Result<Value> {
        Ok(match form.kind {
            FormKind::Bool(b) => Value::bool(b),
            FormKind::Int(n) => Value::Int(n),
            FormKind::BigInt(n) => Value::integer(self.forms.big(n).clone()),
            FormKind::Float(f) | FormKind::SpecialFloat(f) => Value::float(f),
            FormKind::Str(s) => Value::str(self.forms.string(s)),
            FormKind::Regex(s) => self.regex(s, form.span)?,
            FormKind::Keyword(name) => self.keyword(name),
            FormKind::QuotedSymbol(name) => Value::Symbol(Str::new(self.text(name))),
            FormKind::Vector(items) => self.literal_vector(items)?,
            FormKind::Map(items) => self.literal_map(items)?,
            FormKind::Set(items) => self.literal_set(items)?,
            _ => Value::Nil,
        })
    }

    fn literal_vector(&mut self, items: Items) -> Result<Value> {
        let forms = self.forms;
        let mut values = Vec::with_capacity(items.len());
        for &item in &forms[items] {
            values.push(self.literal(item)?);
        }
        Ok(Value::vector(values))
    }

    fn literal_set(&mut self, items: Items) -> Result<Value> {
        let forms = self.forms;
        let mut set = Set::new();
        for &item in &forms[items] {
            set.insert(self.literal(item)?);
        }
        Ok(Value::Set(set))
    }

    fn literal_map(&mut self, items: Items) -> Result<Value> {
        let forms = self.forms;
        let parts = &forms[items];
        if let Some(row) = self.rows.find(parts) {
            let mut values = vec![Value::Nil; row.places.len()];
            for (&place, pair) in row.places.iter().zip(parts.chunks_exact(2)) {
                values[usize::from(place)] = self.literal(pair[1])?;
            }
            return Ok(Value::Map(Map::with_shape(row.shape.clone(), values)));
        }
        let mut pairs = SmallVec::<[Value; 16]>::new();
        for &item in parts {
            pairs.push(self.literal(item)?);
        }
        if !parts.iter().step_by(2).all(|key| matches!(key.kind, FormKind::Keyword(_))) {
            return Ok(Value::Map(self.layouts.map(&mut pairs)));
        }
        let entry = |pair: &mut [Value]| (std::mem::take(&mut pair[0]), std::mem::take(&mut pair[1]));
        let map: Map = pairs.chunks_exact_mut(2).map(entry).collect();
        if let Some(row) = Row::of(self, parts, &map) {
            self.rows.learn(row);
        }
        Ok(Value::Map(map))
    }
}

/// The keys of the map literals before. Those of the same keywords in the same order, as the rows of a table are, share
/// their keys without a look at the value of any.
#[derive(Default)]
pub(super) struct Rows {
    all: Vec<Rc<Row>>,
    /// Which one gives way when there are too many.
    oldest: usize,
}

struct Row {
    keys: SmallVec<[Name; 8]>,
    /// For each key, where its value lies.
    places: SmallVec<[u8; 16]>,
    shape: Rc<Shape>,
}

impl Rows {
    const MOST: usize = 16;

    fn find(&self, parts: &[Form]) -> Option<Rc<Row>> {
        let is_like = |row: &&Rc<Row>| {
            let pairs = row.keys.iter().zip(parts.chunks_exact(2));
            parts.len() == 2 * row.keys.len()
                && pairs.into_iter().all(|(&key, pair)| pair[0].kind == FormKind::Keyword(key))
        };
        self.all.iter().find(is_like).cloned()
    }

    fn learn(&mut self, row: Row) {
        if self.all.len() < Self::MOST {
            self.all.push(Rc::new(row));
        } else {
            self.all[self.oldest] = Rc::new(row);
            self.oldest = (self.oldest + 1) % Self::MOST;
        }
    }
}

impl Row {
    /// The keys of `map`, which was made of these forms. All of its keys are keywords.
    fn of(generator: &mut Generator<'_>, parts: &[Form], map: &Map) -> Option<Row> {
        let shape = map.shape()?;
        let mut row = Row { keys: SmallVec::new(), places: SmallVec::new(), shape: shape.clone() };
        for pair in parts.chunks_exact(2) {
            let FormKind::Keyword(name) = pair[0].kind else { return None };
            let place = shape.find(&generator.keyword(name)).ok()?;
            row.keys.push(name);
            row.places.push(u8::try_from(place).ok()?);
        }
        Some(row)
    }
}

impl Body {
    pub(super) fn constant_node(&mut self, generator: &mut Generator<'_>, id: NodeId) -> Result<()> {
        let op = match generator.ast.node(id) {
            Node::Nil => Op::Nil,
            Node::Bool(true) => Op::True,
            Node::Bool(false) => Op::False,
            Node::Int(n) if i32::try_from(n).is_ok() => Op::Int(n as i32),
            Node::Keyword(name) => Op::Const(self.keyword(generator, name)),
            _ => {
                let value = generator.constant(id)?;
                Op::Const(self.constant(value))
            }
        };
        self.push(op);
        Ok(())
    }
}
