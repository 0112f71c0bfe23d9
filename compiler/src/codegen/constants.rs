//! Constants: values that are known before the program runs.

use std::rc::Rc;

use ptc_vm::Value;
use ptc_vm::code::Op;
use ptc_vm::meter;
use ptc_vm::value::{Map, Set, Str};
use smallvec::SmallVec;

use super::body::FunctionCode;
use super::generator::Generator;
use super::rows::Row;
use crate::ast::{Collection, Node, NodeId, TableRange};
use crate::error::{CompileError, Result};
use crate::form::{Form, FormKind, Items};
use crate::names::Name;
use crate::source::Span;

/// Steps of making a value of a collection.
const STEPS_PER_VALUE: u64 = 4;
/// Bytes that a value takes in a collection that is being built, at most, besides its own.
const BYTES_PER_VALUE: usize = 64;

impl Generator<'_> {
    /// The keyword of a name; one allocation for the whole program.
    pub(super) fn keyword(&mut self, name: Name) -> Value {
        if self.keywords.is_empty() {
            self.keywords.resize(self.forms.names.len(), None);
        }
        let text = self.text(name);
        self.keywords[name.index()].get_or_insert_with(|| Value::keyword(text)).clone()
    }

    /// A builtin that no definition can replace.
    pub(super) fn builtin(&self, name: &str, span: Span) -> Result<Value> {
        let library = self.analysis.library;
        let id = library.id(name);
        id.map(|id| library.value(id))
            .ok_or_else(|| CompileError::form(span, format!("{name} is not available")))
    }

    /// A keyword or a symbol that does not occur in the program as a whole: it may be longer than its spelling in the program.
    fn joined(&self, text: u32, is_keyword: bool, span: impl FnOnce() -> Span) -> Result<Value> {
        let text = self.forms.string(text);
        meter::reserve(text.len()).map_err(|error| CompileError::limit(span(), &error))?;
        Ok(if is_keyword { Value::keyword(text) } else { Value::Symbol(Str::new(text)) })
    }

    /// A string constant. Short texts that repeat, as those in the columns of a table do, are mostly one allocation.
    fn string(&mut self, index: u32) -> Value {
        /// Longest text that is looked for.
        const LONGEST: usize = 24;
        /// How many are remembered; a power of two.
        const SLOTS: usize = 32;
        let text = self.forms.string(index);
        let (first, last) = match text.as_bytes() {
            [] => (0, 0),
            bytes if bytes.len() > LONGEST => return Value::str(text),
            [first, .., last] => (usize::from(*first), usize::from(*last)),
            [only] => (usize::from(*only), 0),
        };
        if self.strings.is_empty() {
            self.strings.resize(SLOTS, None);
        }
        let slot = &mut self.strings[(first * 7 + last + text.len() * 3) % SLOTS];
        match slot {
            Some(known) if known.as_str() == text => Value::Str(known.clone()),
            _ => Value::Str(slot.insert(Str::new(text)).clone()),
        }
    }

    /// The value of a constant node.
    pub(super) fn constant(&mut self, id: NodeId) -> Result<Value> {
        let ast = self.ast;
        Ok(match ast.node(id) {
            Node::Bool(b) => Value::bool(b),
            Node::Int(n) => Value::Int(n),
            Node::BigInt(n) => Value::integer(self.forms.big(n).clone()),
            Node::Float(f) => Value::float(f),
            Node::Str(s) => self.string(s),
            Node::Regex(s) => self.regex(s, ast.span(id))?,
            Node::Keyword(name) => self.keyword(name),
            Node::Joined { text, is_keyword } => self.joined(text, is_keyword, || ast.span(id))?,
            Node::Symbol(name) => Value::Symbol(Str::new(self.text(name))),
            Node::Tool(name) => Value::Tool(Str::new(self.text(name))),
            Node::Builtin(id) => self.analysis.library.value(id),
            Node::Literal { kind: Collection::Vector, items } => self.literal_vector(items)?,
            Node::Literal { kind: Collection::Map, items } => self.literal_map(items)?,
            Node::Literal { kind: Collection::Set, items } => self.literal_set(items)?,
            Node::Vector { items, .. } => Value::vector(self.constant_items(id, items)?),
            Node::List(items) => Value::list(self.constant_items(id, items)?),
            Node::Map { items, .. } => {
                self.charge_values(ast.list(items).len(), || ast.span(id))?;
                let mut pairs = SmallVec::<[Value; 16]>::new();
                for &item in ast.list(items) {
                    pairs.push(self.constant(item)?);
                }
                Value::Map(self.layouts.map(&mut pairs))
            }
            Node::Set { items, .. } => {
                self.charge_values(ast.list(items).len(), || ast.span(id))?;
                let mut set = Set::new();
                for &item in ast.list(items) {
                    set.insert(self.constant(item)?);
                }
                Value::Set(set)
            }
            _ => Value::Nil,
        })
    }

    /// The values of the items of a vector or a list.
    fn constant_items(&mut self, id: NodeId, items: TableRange) -> Result<Vec<Value>> {
        let ast = self.ast;
        // Loops, no adaptors: this recurses as deep as literals are nested, on threads with small stacks.
        let items = ast.list(items);
        self.charge_values(items.len(), || ast.span(id))?;
        let mut values = Vec::with_capacity(items.len());
        for &item in items {
            values.push(self.constant(item)?);
        }
        Ok(values)
    }

    /// For a map literal with constant keys that are all different, the map from each key to the place of its value in the
    /// text: the operand of [`Op::Record`].
    pub(super) fn places(&mut self, items: TableRange) -> Result<Option<Value>> {
        let ast = self.ast;
        let items = ast.list(items);
        let count = items.len() / 2;
        let is_plain = |key: &NodeId| {
            matches!(ast.node(*key), Node::Keyword(_) | Node::Joined { .. } | Node::Str(_) | Node::Int(_))
        };
        if count > Map::SMALL_MAX || count == 0 || !items.iter().step_by(2).all(is_plain) {
            return Ok(None);
        }
        let mut pairs = SmallVec::<[Value; 16]>::new();
        for (place, &key) in items.iter().step_by(2).enumerate() {
            pairs.push(self.constant(key)?);
            pairs.push(Value::Int(place as i64));
        }
        let map = self.layouts.map(&mut pairs);
        Ok((map.len() == count).then_some(Value::Map(map)))
    }

    fn regex(&mut self, pattern: u32, span: Span) -> Result<Value> {
        ptc_vm::value::Regex::literal(self.forms.string(pattern))
            .map_err(|error| CompileError::new(error.reason(), span, error.message()))
    }

    /// Charges a collection of so many values that is about to be built.
    fn charge_values(&self, values: usize, span: impl FnOnce() -> Span) -> Result<()> {
        meter::charge_steps(STEPS_PER_VALUE * values as u64)
            .and_then(|()| meter::reserve(BYTES_PER_VALUE * values))
            .map_err(|error| CompileError::limit(span(), &error))
    }

    /// Charges the collection of a literal.
    fn charge_literal(&self, items: Items) -> Result<()> {
        let forms = &self.forms[items];
        self.charge_values(forms.len(), || forms.first().map_or_else(Span::default, |form| form.span))
    }

    // --- what stands for itself, straight from the forms -------------------------------------------------
    //
    // Loops, no adaptors: this recurses as deep as literals are nested, on threads with small stacks.

    fn literal(&mut self, form: Form) -> Result<Value> {
        if let Some(value) = self.plain(form) {
            return Ok(value);
        }
        Ok(match form.kind {
            FormKind::BigInt(n) => Value::integer(self.forms.big(n).clone()),
            FormKind::Regex(s) => self.regex(s, form.span)?,
            FormKind::JoinedKeyword { text, .. } => self.joined(text, true, || form.span)?,
            FormKind::QuotedSymbol(name) => Value::Symbol(Str::new(self.text(name))),
            FormKind::Vector(items) => self.literal_vector(items)?,
            FormKind::Map(items) => self.literal_map(items)?,
            FormKind::Set(items) => self.literal_set(items)?,
            _ => Value::Nil,
        })
    }

    /// The common literals, which cannot fail.
    #[inline]
    fn plain(&mut self, form: Form) -> Option<Value> {
        Some(match form.kind {
            FormKind::Nil => Value::Nil,
            FormKind::Bool(b) => Value::bool(b),
            FormKind::Int(n) => Value::Int(n),
            FormKind::Float(f) | FormKind::SpecialFloat(f) => Value::float(f),
            FormKind::Str(s) => self.string(s),
            FormKind::Keyword(name) => self.keyword(name),
            _ => return None,
        })
    }

    fn literal_vector(&mut self, items: Items) -> Result<Value> {
        self.charge_literal(items)?;
        let forms = self.forms;
        let mut values = Vec::with_capacity(items.len());
        for &item in &forms[items] {
            values.push(self.literal(item)?);
        }
        Ok(Value::vector(values))
    }

    fn literal_set(&mut self, items: Items) -> Result<Value> {
        self.charge_literal(items)?;
        let forms = self.forms;
        let mut set = Set::new();
        for &item in &forms[items] {
            set.insert(self.literal(item)?);
        }
        Ok(Value::Set(set))
    }

    fn literal_map(&mut self, items: Items) -> Result<Value> {
        self.charge_literal(items)?;
        let forms = self.forms;
        let parts = &forms[items];
        let Some(row) = self.row(parts) else {
            let mut pairs = SmallVec::<[Value; 16]>::new();
            for &item in parts {
                pairs.push(self.literal(item)?);
            }
            return Ok(Value::Map(self.layouts.map(&mut pairs)));
        };
        let values = if parts.chunks_exact(2).all(|pair| is_plain(pair[1].kind)) {
            let value = |&source| self.plain(parts[usize::from(source)]).unwrap_or_default();
            row.sources.iter().map(value).collect()
        } else {
            // As they are written, so that of several values that cannot be made the first one is reported.
            let mut values = vec![Value::Nil; row.sources.len()];
            for (pair, source) in parts.chunks_exact(2).zip((1..).step_by(2)) {
                let value = self.literal(pair[1])?;
                if let Some(place) = row.sources.iter().position(|&other| other == source) {
                    values[place] = value;
                }
            }
            values
        };
        Ok(Value::Map(Map::with_shape(row.shape.clone(), values)))
    }

    /// How a map of these keys and values is laid out, if all its keys are keywords and there are few.
    fn row(&mut self, parts: &[Form]) -> Option<Rc<Row>> {
        if let Some(row) = self.rows.find(parts) {
            return Some(row);
        }
        let row = Rc::new(Row::of(parts, |name| self.keyword(name))?);
        self.rows.learn(row.clone());
        Some(row)
    }
}

/// The forms that [`Generator::plain`] makes values of.
fn is_plain(kind: FormKind) -> bool {
    use FormKind::*;
    matches!(kind, Nil | Bool(_) | Int(_) | Float(_) | SpecialFloat(_) | Str(_) | Keyword(_))
}

impl FunctionCode {
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
