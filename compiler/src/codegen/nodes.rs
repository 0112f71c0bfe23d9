//! The code of core forms: the dispatch over nodes, and the small cases.

use ptc_vm::Value;
use ptc_vm::code::Op;

use super::body::{FunctionCode, Jump};
use super::generator::Generator;
use crate::ast::{FnId, Node, NodeId, PipeKind, TableRange};
use crate::error::Result;
use crate::names::Name;
use crate::source::Span;

impl FunctionCode {
    /// Code that pushes the value of a node, or with `tail` returns it. Whether the code after it can be reached.
    pub(super) fn node(&mut self, generator: &mut Generator<'_>, id: NodeId, tail: bool) -> Result<bool> {
        let ast = generator.ast;
        match ast.node(id) {
            Node::Do(items) => return self.sequence(generator, items, tail),
            Node::If(condition, then, otherwise) => {
                return self.if_form(generator, condition, then, otherwise, tail);
            }
            Node::And(items) => return self.short_circuit(generator, items, Op::JumpIfFalseKeep, tail),
            Node::Or(items) => return self.short_circuit(generator, items, Op::JumpIfTrueKeep, tail),
            Node::Cond(items) => return self.cond(generator, items, tail),
            Node::Case(index) => return self.case(generator, index, tail),
            Node::Condp(index) => return self.condp(generator, index, tail),
            Node::ConditionalLet(index) => return self.conditional_let(generator, index, tail),
            Node::Let { bindings, body } => {
                let depth = self.depth();
                self.bindings(generator, bindings)?;
                let falls = self.node(generator, body, tail)?;
                return Ok(self.leave_scope(depth, falls));
            }
            Node::Loop(index) => return self.loop_form(generator, index, tail),
            Node::Recur { arguments, target } => {
                self.recur(generator, arguments, target, ast.span(id))?;
                return Ok(false);
            }
            Node::Letfn(index) => {
                let group = &ast.groups[index as usize];
                let depth = self.depth();
                for &(function, local) in &group.members {
                    self.closure(generator, function);
                    self.place(local, self.top());
                }
                let falls = self.node(generator, group.body, tail)?;
                return Ok(self.leave_scope(depth, falls));
            }
            Node::Call { .. } | Node::CallGlobal { .. } => {
                return self.call(generator, id, tail);
            }
            Node::Thread { base, calls } => return self.thread(generator, base, calls, tail),
            Node::Pipe(index) => return self.pipe(generator, index, tail),
            Node::Return(value) => {
                self.node(generator, value, false)?;
                self.code.push(Op::Halt);
                return Ok(false);
            }
            Node::Fail(value) => {
                self.node(generator, value, false)?;
                self.at(generator, ast.span(id));
                self.code.push(Op::Fail);
                return Ok(false);
            }
            _ => self.value(generator, id)?,
        }
        Ok(self.done(tail))
    }

    /// The value is on the stack: returns it in tail position.
    pub(super) fn done(&mut self, tail: bool) -> bool {
        if tail {
            self.code.push(Op::Return);
        }
        !tail
    }

    /// Drops the bindings of a scope under its value, if its end is reached.
    pub(super) fn leave_scope(&mut self, depth: u32, falls: bool) -> bool {
        if falls {
            self.slide_to(depth);
        }
        self.set_depth(depth + 1);
        falls
    }

    /// Nodes that are no control flow.
    fn value(&mut self, generator: &mut Generator<'_>, id: NodeId) -> Result<()> {
        let ast = generator.ast;
        if ast.is_constant(id) {
            return self.constant_node(generator, id);
        }
        match ast.node(id) {
            Node::Local { local, last } => {
                let slot = self.slot(local);
                self.push(if last { Op::TakeLocal(slot) } else { Op::Local(slot) });
            }
            Node::Capture(index) => self.push(Op::Capture(index)),
            Node::SelfFn => self.push(Op::SelfFn),
            Node::Sibling(id) => self.push(Op::Sibling(id.0 + 1)),
            Node::Global(name) => {
                self.at(generator, ast.span(id));
                let index = generator.global(name);
                self.push(Op::Global(index));
            }
            Node::GlobalOrNil(name) => {
                let index = generator.global(name);
                self.push(Op::GlobalOrNil(index));
            }
            Node::Data(name) => {
                self.at(generator, ast.span(id));
                let key = self.keyword(generator, name);
                self.push(Op::Data(key));
            }
            Node::DataOf { argument, name } => {
                self.node(generator, argument, false)?;
                self.at(generator, ast.span(id));
                let key = self.keyword(generator, name);
                self.emit(Op::DataOf(key), 1, 1);
            }
            Node::CallProgram { function, argument } => {
                self.closure(generator, function);
                self.node(generator, argument, false)?;
                self.emit(Op::CallProgram, 2, 1);
            }
            Node::History(n) => self.push(Op::History(n)),
            Node::Budget => self.push(Op::Budget),
            Node::Vector { items, .. } => self.collection(generator, id, items, 1, Op::Vector)?,
            Node::Map { items, .. } => match generator.places(items)? {
                Some(places) => self.record(generator, id, items, places)?,
                None => self.collection(generator, id, items, 2, Op::Map)?,
            },
            Node::Set { items, .. } => self.collection(generator, id, items, 1, Op::Set)?,
            Node::Fn(function) => self.closure(generator, function),
            Node::For(index) => self.comprehension(generator, index, ast.span(id))?,
            Node::Def(index) => self.definition(generator, index)?,
            Node::Var(name) => {
                let index = generator.global(name);
                self.push(Op::Var(index));
            }
            Node::Task(id, value) => {
                self.node(generator, id, false)?;
                self.at(generator, ast.span(id));
                let stored = self.jump_with(Op::TaskEnter(u32::MAX), 0);
                self.node(generator, value, false)?;
                self.emit(Op::TaskLeave, 2, 1);
                self.patch(stored);
            }
            Node::Hole => {}
            other => unreachable!("{other:?} is control flow or constant"),
        }
        Ok(())
    }

    fn collection(
        &mut self,
        generator: &mut Generator<'_>,
        id: NodeId,
        items: TableRange,
        size: u32,
        op: fn(u32) -> Op,
    ) -> Result<()> {
        let ast = generator.ast;
        for &item in ast.list(items) {
            self.node(generator, item, false)?;
        }
        self.at(generator, ast.span(id));
        let count = items.len() as u32;
        self.emit(op(count / size), count, 1);
        Ok(())
    }

    /// A map literal with constant keys, whose values lie at `places`.
    fn record(
        &mut self,
        generator: &mut Generator<'_>,
        id: NodeId,
        items: TableRange,
        places: Value,
    ) -> Result<()> {
        let ast = generator.ast;
        for &value in ast.list(items).iter().skip(1).step_by(2) {
            self.node(generator, value, false)?;
        }
        self.at(generator, ast.span(id));
        let count = items.len() as u32 / 2;
        let places = self.constant(places);
        self.emit(Op::Record(places), count, 1);
        Ok(())
    }

    fn closure(&mut self, generator: &mut Generator<'_>, function: FnId) {
        generator.capture(function, self);
        self.push(Op::Closure(function.0 + 1));
    }

    /// Nodes in order; the value of the last.
    pub(super) fn sequence(
        &mut self,
        generator: &mut Generator<'_>,
        items: TableRange,
        tail: bool,
    ) -> Result<bool> {
        let ast = generator.ast;
        let Some((&last, before)) = ast.list(items).split_last() else {
            self.push(Op::Nil);
            return Ok(self.done(tail));
        };
        for &item in before {
            if ast.is_constant(item) {
                continue;
            }
            if !self.node(generator, item, false)? {
                return Ok(false);
            }
            self.emit(Op::Pop, 1, 0);
        }
        self.node(generator, last, tail)
    }

    fn definition(&mut self, generator: &mut Generator<'_>, index: u32) -> Result<()> {
        let ast = generator.ast;
        let definition = &ast.definitions[index as usize];
        let global = generator.global(definition.name);
        let skip = if definition.once {
            let global = generator.short_global(definition.name, definition.span)?;
            Some(self.jump_with(Op::JumpIfDefined { global, target: u32::MAX }, 0))
        } else {
            None
        };
        self.node(generator, definition.value, false)?;
        match generator.documentation(definition) {
            Some(info) => {
                let global = generator.short_global(definition.name, definition.span)?;
                self.emit(Op::DefGlobalDoc { global, info }, 1, 1);
            }
            None => self.emit(Op::DefGlobal(global), 1, 1),
        }
        if let Some(skip) = skip {
            let end = self.jump(Op::Jump, 0);
            self.patch(skip);
            self.set_depth(self.depth() - 1);
            self.push(Op::Var(global));
            self.patch(end);
        }
        Ok(())
    }

    /// One value goes from step to step in its slot, which is always the top of the stack between steps.
    fn pipe(&mut self, generator: &mut Generator<'_>, index: u32, tail: bool) -> Result<bool> {
        let ast = generator.ast;
        let pipe = ast.pipes[index as usize];
        self.node(generator, pipe.start, false)?;
        let slot = self.top();
        self.place(pipe.local, slot);
        let steps = ast.list(pipe.steps);
        let mut ends: Vec<Jump> = Vec::new();
        match pipe.kind {
            PipeKind::As | PipeKind::Some => {
                for (i, &step) in steps.iter().enumerate() {
                    if pipe.kind == PipeKind::Some {
                        ends.push(self.jump(Op::JumpIfNilKeep, 0));
                    }
                    let last = i + 1 == steps.len();
                    let falls = self.node(generator, step, tail && last)?;
                    if falls {
                        self.emit(Op::SetLocal(slot), 1, 0);
                    } else if last {
                        self.set_depth(slot + 1);
                        if ends.is_empty() {
                            return Ok(false);
                        }
                    } else {
                        self.set_depth(slot + 1);
                    }
                }
            }
            PipeKind::Cond => {
                for (i, pair) in steps.chunks_exact(2).enumerate() {
                    self.node(generator, pair[0], false)?;
                    let skip = self.jump(Op::JumpIfFalse, 1);
                    if self.node(generator, pair[1], tail && 2 * i + 2 == steps.len())? {
                        self.emit(Op::SetLocal(slot), 1, 0);
                    } else {
                        self.set_depth(slot + 1);
                    }
                    self.patch(skip);
                }
            }
            PipeKind::Doto => {
                for &step in steps {
                    self.node(generator, step, false)?;
                    self.set_depth(slot + 2);
                    self.emit(Op::Pop, 1, 0);
                }
            }
        }
        for end in ends {
            self.patch(end);
        }
        Ok(self.done(tail))
    }

    /// Says where the next instructions stand in the text, for errors.
    pub(super) fn at(&mut self, generator: &Generator<'_>, span: Span) {
        let position = generator.lines.position(span.start);
        if self.positions.last().is_some_and(|&(_, last)| last == position) {
            return;
        }
        let next = self.code.len() as u32;
        match self.positions.last_mut() {
            Some(last) if last.0 == next => last.1 = position,
            _ => self.positions.push((next, position)),
        }
    }

    pub(super) fn keyword(&mut self, generator: &mut Generator<'_>, name: Name) -> u32 {
        // Few keywords repeat many times; beyond these the constants may repeat.
        if let Some((_, index)) = self.keywords.iter().rev().take(16).find(|(known, _)| *known == name) {
            return *index;
        }
        let index = self.constant(generator.keyword(name));
        self.keywords.push((name, index));
        index
    }
}
