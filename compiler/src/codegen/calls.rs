//! Calls.

use ptc_vm::code::Op;
use ptc_vm::value::BuiltinId;

use super::body::FunctionCode;
use super::generator::Generator;
use crate::ast::{Node, NodeId, TableRange};
use crate::error::Result;
use crate::names::Name;

/// How a call is done, once its arguments are on the stack.
#[derive(Clone, Copy)]
enum Plan {
    /// Nothing is on the stack but the arguments.
    Instruction(Op),
    /// `(:k m)`
    Lookup(Name),
    /// `(:k m default)`
    LookupOr(Name),
    /// A builtin that no instruction stands for.
    Native(BuiltinId),
    /// The callee lies under the arguments.
    Value,
}

impl FunctionCode {
    pub(super) fn call(&mut self, generator: &mut Generator<'_>, id: NodeId, tail: bool) -> Result<bool> {
        let (plan, arguments) = self.begin_call(generator, id)?;
        self.end_call(generator, id, plan, arguments, arguments.len(), tail)
    }

    /// Calls inside each other, the innermost first. Arguments before the value in a call are evaluated before the value.
    pub(super) fn thread(
        &mut self,
        generator: &mut Generator<'_>,
        base: NodeId,
        calls: TableRange,
        tail: bool,
    ) -> Result<bool> {
        let ast = generator.ast;
        let calls = ast.list(calls);
        let depth = self.depth();
        let mut open = Vec::with_capacity(calls.len());
        for &id in calls.iter().rev() {
            open.push(self.begin_call(generator, id)?);
        }
        if !self.node(generator, base, false)? {
            self.set_depth(depth + 1);
            return Ok(false);
        }
        for (i, &id) in calls.iter().enumerate() {
            let Some((plan, arguments)) = open.pop() else { break };
            let hole = ast.list(arguments).iter().position(|&node| ast.node(node) == Node::Hole);
            let done = hole.map_or(0, |at| at + 1);
            let last = i + 1 == calls.len();
            if !self.end_call(generator, id, plan, arguments, done, tail && last)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Pushes the callee and the arguments up to the hole, or all of them.
    fn begin_call(&mut self, generator: &mut Generator<'_>, id: NodeId) -> Result<(Plan, TableRange)> {
        let ast = generator.ast;
        let (plan, arguments) = match ast.node(id) {
            Node::Call { callee, arguments } => {
                let plan = match (ast.node(callee), arguments.len()) {
                    (Node::Keyword(name), 1) => Plan::Lookup(name),
                    (Node::Keyword(name), 2) => Plan::LookupOr(name),
                    _ => {
                        self.node(generator, callee, false)?;
                        Plan::Value
                    }
                };
                (plan, arguments)
            }
            Node::CallGlobal { name, arguments } => {
                let plan = generator.global_plan(name, arguments);
                if matches!(plan, Plan::Value) {
                    self.at(generator, ast.span(id));
                    let index = generator.global(name);
                    self.push(Op::Global(index));
                }
                (plan, arguments)
            }
            other => unreachable!("{other:?} is no call"),
        };
        for &argument in ast.list(arguments) {
            if ast.node(argument) == Node::Hole {
                break;
            }
            if is_operand(plan, argument, arguments, ast) {
                break;
            }
            self.node(generator, argument, false)?;
        }
        Ok((plan, arguments))
    }

    /// Pushes the arguments from `done` on and calls.
    fn end_call(
        &mut self,
        generator: &mut Generator<'_>,
        id: NodeId,
        plan: Plan,
        arguments: TableRange,
        done: usize,
        tail: bool,
    ) -> Result<bool> {
        let ast = generator.ast;
        for &argument in &ast.list(arguments)[done.min(arguments.len())..] {
            if !is_operand(plan, argument, arguments, ast) {
                self.node(generator, argument, false)?;
            }
        }
        let count = arguments.len() as u32;
        self.at(generator, ast.span(id));
        match plan {
            Plan::Instruction(op @ Op::AddInt(_)) => self.operation(op, 1),
            Plan::Instruction(op) => self.operation(op, count),
            Plan::Lookup(name) => {
                let (cache, key) = (self.lookup(), self.keyword(generator, name));
                self.operation(Op::Lookup { cache, key }, 1);
            }
            Plan::LookupOr(name) => {
                let (cache, key) = (self.lookup(), self.keyword(generator, name));
                self.emit(Op::LookupOr { cache, key }, 2, 1);
            }
            Plan::Native(id) => self.emit(Op::Native { id, argc: count as u16 }, count, 1),
            Plan::Value if tail => self.emit(Op::TailCall(count), count + 1, 1),
            Plan::Value => self.emit(Op::Call(count), count + 1, 1),
        }
        Ok(self.done(tail))
    }
}

/// Whether an argument is part of the instruction.
fn is_operand(plan: Plan, argument: NodeId, arguments: TableRange, ast: &crate::ast::Ast) -> bool {
    matches!(plan, Plan::Instruction(Op::AddInt(_))) && argument == ast.child(arguments, 1)
}

impl Generator<'_> {
    /// How a global name is called: a builtin has its own way, which the machine leaves once its name is defined.
    fn global_plan(&self, name: Name, arguments: TableRange) -> Plan {
        let text = self.text(name);
        let known = self.analysis.known(name, text);
        let Some(id) = known.builtin.filter(|_| known.special.is_none()) else { return Plan::Value };
        let op = match (text, self.ast.list(arguments)) {
            ("+", [_, right]) => match self.ast.node(*right) {
                Node::Int(n) if i32::try_from(n).is_ok() => Op::AddInt(n as i32),
                _ => Op::Add,
            },
            ("-", [_, _]) => Op::Subtract,
            ("*", [_, _]) => Op::Multiply,
            ("mod", [_, _]) => Op::Modulo,
            ("<", [_, _]) => Op::Less,
            ("<=", [_, _]) => Op::LessOrEqual,
            (">", [_, _]) => Op::Greater,
            (">=", [_, _]) => Op::GreaterOrEqual,
            ("=", [_, _]) => Op::Equal,
            ("not", [_]) => Op::Not,
            ("nil?", [_]) => Op::IsNil,
            ("inc", [_]) => Op::Inc,
            ("dec", [_]) => Op::Dec,
            _ => {
                return if arguments.len() <= usize::from(u16::MAX) { Plan::Native(id) } else { Plan::Value };
            }
        };
        Plan::Instruction(op)
    }
}
