//! Walking nested collections: `walk`, `prewalk`, `postwalk`, and the walks with a function of our own.
//!
//! A walk steps into vectors, lists, sets and maps; the children of a map are its entries as two-element vectors. The
//! collections that are open at a time are a stack on the heap.

use crate::builtins::maps::entry_parts;
use crate::builtins::strings::is_keyword_name;
use crate::builtins::support::{Builder, MemoryCharge, callee, cursor, pulse, sequence};
use crate::error::{Error, Result};
use crate::machine::{CallNow, Ctx, Flow, Input, NativeFrame, portable};
use crate::print;
use crate::value::{Cursor, Map, Set, Value, Vector, parts_of_name};

/// A collection that is being rebuilt from the results for its children.
pub(super) struct WalkLevel {
    kind: Collection,
    children: Cursor,
    done: Builder,
    _room: MemoryCharge,
}

portable!(WalkLevel { kind, children, done, _room });

#[derive(Clone, Copy)]
enum Collection {
    Vector,
    Set,
    Map,
    List,
}

portable!(enum Collection { 0: Vector, 1: Set, 2: Map, 3: List });

impl WalkLevel {
    /// Opens a collection; returns the form itself if it has no children.
    pub(super) fn open(ctx: &mut Ctx<'_>, form: Value) -> Result<Result<WalkLevel, Value>> {
        let kind = match &form {
            Value::Vector(items) if !items.is_empty() => Collection::Vector,
            Value::List(items) | Value::Queue(items) if !items.is_empty() => Collection::List,
            Value::Set(items) if !items.is_empty() => Collection::Set,
            Value::Map(entries) if !entries.is_empty() => Collection::Map,
            _ => return Ok(Err(form)),
        };
        match cursor(ctx, &form)? {
            Some(children) => {
                let room = MemoryCharge::new(2 * size_of::<WalkLevel>())?;
                Ok(Ok(WalkLevel { kind, children, done: Builder::new(), _room: room }))
            }
            None => Ok(Err(form)),
        }
    }

    /// The next child.
    pub(super) fn next(&mut self) -> Option<Value> {
        self.children.advance()
    }

    /// Takes the result for a child. For a map that is an entry, or `nil` for none.
    pub(super) fn accept(&mut self, child: Value) -> Result<()> {
        if matches!(self.kind, Collection::Map) {
            if child.is_nil() {
                return Ok(());
            }
            if entry_parts(&child).is_none() {
                return Err(Error::type_error(format!(
                    "walk: inner function must return [key, value], got: {}",
                    print::readable_lossy(&child)
                )));
            }
        }
        self.done.push(child)
    }

    /// The collection of the results for all children.
    pub(super) fn close(mut self, ctx: &mut Ctx<'_>) -> Result<Value> {
        let items = self.done.take_vector();
        match self.kind {
            Collection::Vector => Ok(Value::Vector(items)),
            Collection::List => Ok(Value::List(items)),
            Collection::Set => {
                ctx.reserve(items.len().saturating_mul(2 * Set::ELEMENT_BYTES))?;
                Ok(Value::Set(items.into_iter().collect()))
            }
            Collection::Map => {
                ctx.reserve(items.len().saturating_mul(2 * Map::ENTRY_BYTES + sequence::PAIR))?;
                Ok(Value::Map(items.iter().filter_map(|item| entry_parts(&item)).collect()))
            }
        }
    }
}

/// The action on every node.
pub(in crate::builtins) enum Action {
    /// A call of a function of the program.
    Call(Value),
    /// The value of exactly this key takes the place of the node.
    Replace(Map),
    /// Every map gets keys of another kind.
    Rename(KeyConversion),
    /// A call of a function of the program for every key of a map, and for nothing else.
    CallKeys(Value),
}

portable!(enum Action { 0: Call(function), 1: Replace(replacements), 2: Rename(keys), 3: CallKeys(function) });

/// The conversion of maps' keys.
#[derive(Clone, Copy)]
pub(in crate::builtins) enum KeyConversion {
    /// Strings that can be keywords become keywords.
    Keywords,
    /// Keywords become their names.
    Strings,
}

portable!(enum KeyConversion { 0: Keywords, 1: Strings });

impl KeyConversion {
    fn rename(self, key: &Value) -> Option<Value> {
        match (self, key) {
            (KeyConversion::Keywords, Value::Str(text)) if is_keyword_name(text.as_str()) => {
                Some(Value::keyword(text.as_str()))
            }
            (KeyConversion::Strings, Value::Keyword(keyword)) => {
                Some(Value::str(parts_of_name(keyword.name()).1))
            }
            _ => None,
        }
    }

    /// Replaces the keys of `node`, if it is a map.
    fn rename_all(self, ctx: &mut Ctx<'_>, node: Value) -> Result<Value> {
        let Value::Map(map) = &node else { return Ok(node) };
        ctx.charge(map.len())?;
        if !map.iter().any(|(key, _)| self.rename(key).is_some()) {
            return Ok(node);
        }
        ctx.reserve(map.len().saturating_mul(3 * Map::ENTRY_BYTES))?;
        let renamed =
            |(key, value): (&Value, &Value)| (self.rename(key).unwrap_or_else(|| key.clone()), value.clone());
        Ok(Value::Map(map.iter().map(renamed).collect()))
    }
}

/// When it is done: before the children, which are then those of the result, or after.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::builtins) enum WalkOrder {
    Before,
    After,
}

portable!(enum WalkOrder { 0: Before, 1: After });

/// Where the walk is, with the node that it is about.
enum WalkPosition {
    /// A node that has not been looked at.
    Node(Value),
    /// A node whose children come next.
    Inside(Value),
    /// A node whose children are done.
    Outside(Value),
    /// A node that is done.
    Done(Value),
    /// Waiting for a call.
    Call,
}

portable!(enum WalkPosition { 0: Node(node), 1: Inside(node), 2: Outside(node), 3: Done(node), 4: Call });

pub(crate) struct TreeWalk {
    action: Action,
    when: WalkOrder,
    levels: Vec<WalkLevel>,
    at: WalkPosition,
}

portable!(TreeWalk { action, when, levels, at });

/// Walks all of `form`.
pub(in crate::builtins) fn walk(action: Action, when: WalkOrder, form: Value) -> Flow {
    Flow::Push(Box::new(TreeWalk { action, when, levels: Vec::new(), at: WalkPosition::Node(form) }))
}

impl TreeWalk {
    /// Does the action; `None` if a call has to be waited for, which is the flow then.
    fn act(&self, ctx: &mut Ctx<'_>, node: Value) -> Result<Result<Value, Flow>> {
        match &self.action {
            Action::Replace(replacements) => Ok(Ok(replacements.get(&node).cloned().unwrap_or(node))),
            Action::Rename(keys) => keys.rename_all(ctx, node).map(Ok),
            Action::CallKeys(_) if !self.is_at_key() => Ok(Ok(node)),
            Action::Call(function) | Action::CallKeys(function) => {
                match ctx.call_now(function, callee::one(node))? {
                    CallNow::Done(value) => Ok(Ok(value)),
                    CallNow::NeedsFrame(args) => Ok(Err(Flow::Call(function.clone(), args))),
                }
            }
        }
    }

    /// Whether the node is the first part of an entry of a map.
    fn is_at_key(&self) -> bool {
        match &self.levels[..] {
            [.., map, entry] => matches!(map.kind, Collection::Map) && entry.done.is_empty(),
            _ => false,
        }
    }

    /// Where the walk is once the action has given `value`.
    fn acted(&self, value: Value) -> WalkPosition {
        match self.when {
            WalkOrder::Before => WalkPosition::Inside(value),
            WalkOrder::After => WalkPosition::Done(value),
        }
    }
}

impl NativeFrame for TreeWalk {
    fn resume(&mut self, ctx: &mut Ctx<'_>, input: Input) -> Result<Flow> {
        if let Input::Value(value) = input {
            self.at = self.acted(value);
        }
        loop {
            let next = match std::mem::replace(&mut self.at, WalkPosition::Call) {
                WalkPosition::Node(node) if self.when == WalkOrder::Before => match self.act(ctx, node)? {
                    Ok(value) => self.acted(value),
                    Err(flow) => return Ok(flow),
                },
                WalkPosition::Node(node) => WalkPosition::Inside(node),
                WalkPosition::Inside(node) => {
                    ctx.charge(1)?;
                    match WalkLevel::open(ctx, node)? {
                        Ok(mut level) => {
                            let child = level.next();
                            self.levels.push(level);
                            WalkPosition::Node(child.unwrap_or_default())
                        }
                        Err(leaf) => WalkPosition::Outside(leaf),
                    }
                }
                WalkPosition::Outside(node) if self.when == WalkOrder::After => match self.act(ctx, node)? {
                    Ok(value) => self.acted(value),
                    Err(flow) => return Ok(flow),
                },
                WalkPosition::Outside(node) => WalkPosition::Done(node),
                WalkPosition::Done(node) => {
                    let Some(level) = self.levels.last_mut() else { return Ok(Flow::Return(node)) };
                    level.accept(node)?;
                    match level.next() {
                        Some(child) => WalkPosition::Node(child),
                        None => match self.levels.pop() {
                            Some(level) => WalkPosition::Outside(level.close(ctx)?),
                            None => unreachable!("it was the last one"),
                        },
                    }
                }
                WalkPosition::Call => unreachable!("the result of the call has come"),
            };
            self.at = next;
            if pulse(ctx)? {
                return Ok(Flow::Yield);
            }
        }
    }
}

/// One level under way, for `walk`.
pub(crate) struct LevelWalk {
    inner: Value,
    outer: Value,
    level: Option<WalkLevel>,
}

portable!(LevelWalk { inner, outer, level });

/// Calls `inner` for every child of `form`, and `outer` with the collection rebuilt from the results.
pub(super) fn once(ctx: &mut Ctx<'_>, inner: Value, outer: Value, form: Value) -> Result<Flow> {
    Ok(match WalkLevel::open(ctx, form)? {
        Ok(level) => Flow::Push(Box::new(LevelWalk { inner, outer, level: Some(level) })),
        Err(leaf) => Flow::TailCall(outer, callee::one(leaf)),
    })
}

impl NativeFrame for LevelWalk {
    fn resume(&mut self, ctx: &mut Ctx<'_>, input: Input) -> Result<Flow> {
        let Some(mut level) = self.level.take() else { return Ok(Flow::Return(Value::Nil)) };
        if let Input::Value(child) = input {
            level.accept(child)?;
        }
        while let Some(child) = level.next() {
            match ctx.call_now(&self.inner, callee::one(child))? {
                CallNow::Done(child) => level.accept(child)?,
                CallNow::NeedsFrame(args) => {
                    self.level = Some(level);
                    return Ok(Flow::Call(self.inner.clone(), args));
                }
            }
            if pulse(ctx)? {
                self.level = Some(level);
                return Ok(Flow::Yield);
            }
        }
        let rebuilt = level.close(ctx)?;
        Ok(Flow::TailCall(std::mem::take(&mut self.outer), callee::one(rebuilt)))
    }
}

/// Refuses functions that are none.
pub(super) fn check_functions(name: &str, count: usize, args: &[Value]) -> Result<()> {
    if args[..count].iter().all(Value::is_callable) { Ok(()) } else { Err(Error::argument_types(name, args)) }
}

/// The children of a node as the branches of `tree-seq` see them.
pub(super) fn children(ctx: &mut Ctx<'_>, value: &Value) -> Result<Option<Cursor>> {
    match value {
        Value::Nil => Ok(Some(Cursor::Vector(Vector::new().into_iter()))),
        value => cursor(ctx, value),
    }
}
