//! `tree-seq`: the nodes of a tree that two functions describe.

use super::walk::{check_functions, children};
use crate::builtins::support::{Builder, MemoryCharge, callee, pulse};
use crate::error::{Error, Result};
use crate::machine::{CallNow, Ctx, Flow, Input, NativeFrame, portable};
use crate::value::{Cursor, Value};
use std::mem::take;

/// The children of a node, and whether they are those of a string.
struct TreeLevel {
    children: Cursor,
    of_string: bool,
    _room: MemoryCharge,
}

portable!(TreeLevel { children, of_string, _room });

impl TreeLevel {
    fn new(children: Cursor, of_string: bool) -> Result<TreeLevel> {
        Ok(TreeLevel { children, of_string, _room: MemoryCharge::new(2 * size_of::<TreeLevel>())? })
    }
}

/// The walk's next question about the current node.
#[derive(Clone, Copy)]
enum NodeQuestion {
    /// The next node.
    Node,
    /// Whether it can have children.
    Branch,
    /// Its children.
    Children,
}

portable!(enum NodeQuestion { 0: Node, 1: Branch, 2: Children });

pub(crate) struct TreeSeq {
    branch: Value,
    children: Value,
    /// Ready-made TYPES error for children that are no collection.
    types: Error,
    levels: Vec<TreeLevel>,
    out: Builder,
    node: Value,
    ask: NodeQuestion,
}

portable!(TreeSeq { branch, children, types, levels, out, node, ask });

/// `(tree-seq branch? children root)`
pub(super) fn tree_seq(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    check_functions("tree-seq", 2, args)?;
    let types = Error::argument_types("tree-seq", args);
    let root = Value::vector([take(&mut args[2])]);
    let levels =
        root.cursor()?.map(|children| TreeLevel::new(children, false)).transpose()?.into_iter().collect();
    Ok(Flow::Push(Box::new(TreeSeq {
        branch: take(&mut args[0]),
        children: take(&mut args[1]),
        types,
        levels,
        out: Builder::new(),
        node: Value::Nil,
        ask: NodeQuestion::Node,
    })))
}

impl TreeSeq {
    /// Goes to the next node; whether there is one.
    fn step(&mut self) -> Result<bool> {
        while let Some(level) = self.levels.last_mut() {
            let Some(node) = level.children.advance() else {
                self.levels.pop();
                continue;
            };
            // A grapheme of a string is a leaf, not a string with one grapheme.
            let is_leaf = level.of_string && matches!(node, Value::Str(_));
            self.out.push(node.clone())?;
            self.node = node;
            self.ask = if is_leaf { NodeQuestion::Node } else { NodeQuestion::Branch };
            return Ok(true);
        }
        Ok(false)
    }

    /// Takes the answer to the question.
    fn accept(&mut self, ctx: &mut Ctx<'_>, answer: Value) -> Result<()> {
        self.ask = match self.ask {
            NodeQuestion::Branch if answer.is_truthy() => NodeQuestion::Children,
            NodeQuestion::Children => {
                let Some(children) = children(ctx, &answer)? else { return Err(self.types.clone()) };
                self.levels.push(TreeLevel::new(children, matches!(self.node, Value::Str(_)))?);
                NodeQuestion::Node
            }
            _ => NodeQuestion::Node,
        };
        Ok(())
    }
}

impl NativeFrame for TreeSeq {
    fn resume(&mut self, ctx: &mut Ctx<'_>, input: Input) -> Result<Flow> {
        if let Input::Value(answer) = input {
            self.accept(ctx, answer)?;
        }
        loop {
            let function = match self.ask {
                NodeQuestion::Node => {
                    ctx.charge(1)?;
                    if !self.step()? {
                        return Ok(Flow::Return(self.out.take()));
                    }
                    continue;
                }
                NodeQuestion::Branch => &self.branch,
                NodeQuestion::Children => &self.children,
            };
            match ctx.call_now(function, callee::one(self.node.clone()))? {
                CallNow::Done(answer) => self.accept(ctx, answer)?,
                CallNow::NeedsFrame(args) => return Ok(Flow::Call(function.clone(), args)),
            }
            if pulse(ctx)? {
                return Ok(Flow::Yield);
            }
        }
    }
}
