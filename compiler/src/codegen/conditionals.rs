//! Branches. Each leaves the stack one value deeper than it was before the form.

use ptc_vm::code::Op;

use super::body::{FunctionCode, Jump};
use super::generator::Generator;
use crate::ast::{Ast, Condition, Node, NodeId, TableRange};
use crate::error::Result;

impl FunctionCode {
    pub(super) fn if_form(
        &mut self,
        generator: &mut Generator<'_>,
        condition: NodeId,
        then: NodeId,
        otherwise: NodeId,
        tail: bool,
    ) -> Result<bool> {
        self.node(generator, condition, false)?;
        let depth = self.depth() - 1;
        let no = self.jump(Op::JumpIfFalse, 1);
        let falls = self.node(generator, then, tail)?;
        let end = falls.then(|| self.jump(Op::Jump, 0));
        self.patch(no);
        self.set_depth(depth);
        let other_falls = self.node(generator, otherwise, tail)?;
        if let Some(end) = end {
            self.patch(end);
        }
        self.set_depth(depth + 1);
        Ok(falls || other_falls)
    }

    pub(super) fn short_circuit(
        &mut self,
        generator: &mut Generator<'_>,
        items: TableRange,
        op: fn(u32) -> Op,
        tail: bool,
    ) -> Result<bool> {
        let ast = generator.ast;
        let depth = self.depth();
        let mut ends = Vec::new();
        let mut falls = true;
        for (i, &item) in ast.list(items).iter().enumerate() {
            let last = i + 1 == items.len();
            falls = self.node(generator, item, tail && last)?;
            if !falls {
                break;
            }
            if !last {
                ends.push(self.jump(op, 1));
            }
        }
        self.set_depth(depth + 1);
        if ends.is_empty() {
            return Ok(falls);
        }
        self.patch_all(ends);
        Ok(self.done(tail))
    }

    fn patch_all(&mut self, jumps: Vec<Jump>) {
        for jump in jumps {
            self.patch(jump);
        }
    }

    pub(super) fn cond(
        &mut self,
        generator: &mut Generator<'_>,
        items: TableRange,
        tail: bool,
    ) -> Result<bool> {
        let ast = generator.ast;
        let depth = self.depth();
        let Some((&default, clauses)) = ast.list(items).split_last() else { return Ok(true) };
        let mut ends = Vec::new();
        let mut otherwise = Some(default);
        for clause in clauses.chunks_exact(2) {
            if is_truthy_constant(ast, clause[0]) {
                otherwise = Some(clause[1]);
                break;
            }
            if !self.node(generator, clause[0], false)? {
                otherwise = None;
                break;
            }
            let next = self.jump(Op::JumpIfFalse, 1);
            if self.node(generator, clause[1], tail)? {
                ends.push(self.jump(Op::Jump, 0));
            }
            self.patch(next);
            self.set_depth(depth);
        }
        let falls = match otherwise {
            Some(node) => self.node(generator, node, tail)?,
            None => false,
        };
        let reached = falls || !ends.is_empty();
        self.patch_all(ends);
        self.set_depth(depth + 1);
        Ok(reached)
    }

    pub(super) fn case(&mut self, generator: &mut Generator<'_>, index: u32, tail: bool) -> Result<bool> {
        let ast = generator.ast;
        let case = &ast.cases[index as usize];
        let depth = self.depth();
        if !self.node(generator, case.subject, false)? {
            return Ok(false);
        }
        let slot = self.short(self.top(), ast.span(case.subject))?;
        let mut ends = Vec::new();
        for &(constants, result) in &case.clauses {
            let mut hits = Vec::new();
            let mut miss = None;
            for (i, &constant) in ast.list(constants).iter().enumerate() {
                let value = generator.constant(constant)?;
                let key = self.constant(value);
                self.push(Op::EqualConst { slot, key });
                if i + 1 == constants.len() {
                    miss = Some(self.jump(Op::JumpIfFalse, 1));
                } else {
                    hits.push(self.jump(Op::JumpIfTrue, 1));
                }
            }
            self.patch_all(hits);
            let falls = self.node(generator, result, tail)?;
            if self.leave_scope(depth, falls) {
                ends.push(self.jump(Op::Jump, 0));
            }
            self.set_depth(depth + 1);
            if let Some(miss) = miss {
                self.patch(miss);
            }
        }
        let falls = self.node(generator, case.default, tail)?;
        let falls = self.leave_scope(depth, falls) || !ends.is_empty();
        self.patch_all(ends);
        Ok(falls)
    }

    pub(super) fn condp(&mut self, generator: &mut Generator<'_>, index: u32, tail: bool) -> Result<bool> {
        let ast = generator.ast;
        let condp = &ast.condps[index as usize];
        let depth = self.depth();
        if !self.node(generator, condp.predicate, false)? || !self.node(generator, condp.subject, false)? {
            self.set_depth(depth + 1);
            return Ok(false);
        }
        let (predicate, subject) = (self.top() - 1, self.top());
        let mut ends = Vec::new();
        for clause in &condp.clauses {
            self.push(Op::Local(predicate));
            if !self.node(generator, clause.test, false)? {
                self.set_depth(depth + 1);
                self.patch_all(ends);
                return Ok(true);
            }
            self.push(Op::Local(subject));
            self.at(generator, ast.span(clause.test));
            self.emit(Op::Call(2), 3, 1);
            let next;
            let falls;
            if clause.applies {
                let hit = self.jump(Op::JumpIfTrueKeep, 1);
                next = self.jump(Op::Jump, 0);
                self.patch(hit);
                self.set_depth(subject + 2);
                let answer = self.top();
                self.node(generator, clause.result, false)?;
                self.push(Op::TakeLocal(answer));
                self.at(generator, ast.span(clause.result));
                self.emit(Op::Call(1), 2, 1);
                falls = self.done(tail);
            } else {
                next = self.jump(Op::JumpIfFalse, 1);
                falls = self.node(generator, clause.result, tail)?;
            }
            if self.leave_scope(depth, falls) {
                ends.push(self.jump(Op::Jump, 0));
            }
            self.set_depth(depth + 2);
            self.patch(next);
        }
        let falls = self.node(generator, condp.default, tail)?;
        let falls = self.leave_scope(depth, falls) || !ends.is_empty();
        self.patch_all(ends);
        Ok(falls)
    }

    pub(super) fn conditional_let(
        &mut self,
        generator: &mut Generator<'_>,
        index: u32,
        tail: bool,
    ) -> Result<bool> {
        let ast = generator.ast;
        let form = ast.conditional_lets[index as usize];
        let depth = self.depth();
        if !self.node(generator, form.value, false)? {
            return Ok(false);
        }
        let span = ast.span(form.value);
        let no = match form.condition {
            Condition::Truthy => {
                self.push(Op::Dup);
                self.jump(Op::JumpIfFalse, 1)
            }
            Condition::NonNil => {
                self.push(Op::Dup);
                self.jump(Op::JumpIfNil, 1)
            }
            Condition::First => {
                self.at(generator, span);
                self.emit(Op::Walk, 1, 1);
                let slot = self.short(self.top(), span)?;
                let none = self.jump_with(Op::Next { slot, exit: u32::MAX }, 1);
                self.emit(Op::EndWalk(slot.into()), 0, 0);
                none
            }
        };
        self.pattern(generator, form.pattern, self.top(), span)?;
        let falls = self.node(generator, form.then, tail)?;
        let end = self.leave_scope(depth, falls).then(|| self.jump(Op::Jump, 0));
        self.patch(no);
        self.set_depth(depth + 1);
        let falls = self.node(generator, form.otherwise, tail)?;
        let falls = self.leave_scope(depth, falls) || end.is_some();
        if let Some(end) = end {
            self.patch(end);
        }
        Ok(falls)
    }
}

/// Whether a test is a constant that holds, such as `:else`.
fn is_truthy_constant(ast: &Ast, id: NodeId) -> bool {
    ast.is_constant(id) && !matches!(ast.node(id), Node::Nil | Node::Bool(false))
}
