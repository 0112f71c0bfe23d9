//! Values that are known before the program runs.

use ptc_vm::Value;
use ptc_vm::builtins::{Native, registry};
use ptc_vm::code::Op;
use ptc_vm::value::{Set, Str};
use smallvec::SmallVec;

use super::Generator;
use super::body::Body;
use crate::ast::{Node, NodeId};
use crate::error::{CompileError, Result};
use crate::names::Name;

impl Generator<'_> {
    /// The keyword of a name; one allocation for the whole program.
    pub(super) fn keyword(&mut self, name: Name) -> Value {
        if self.keywords.len() <= name.index() {
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
            Node::Regex(s) => self.regex(s, id)?,
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

    fn regex(&mut self, pattern: u32, id: NodeId) -> Result<Value> {
        ptc_vm::builtins::regex::compile(self.forms.string(pattern))
            .map_err(|error| CompileError::new(error.reason(), self.ast.span(id), error.message()))
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
