//! `loop`, `recur`, `for`, `doseq`.

use ptc_vm::code::Op;

use super::body::{FunctionCode, Jump, OpenLoop};
use super::generator::Generator;
use crate::ast::{ComprehensionLoop, FUNCTION_BODY, Modifier, Node, NodeId, Pattern, TableRange};
use crate::error::Result;
use crate::source::Span;

impl FunctionCode {
    pub(super) fn loop_form(
        &mut self,
        generator: &mut Generator<'_>,
        index: u32,
        tail: bool,
    ) -> Result<bool> {
        let ast = generator.ast;
        let form = &ast.loops[index as usize];
        let depth = self.depth();
        let mut slots = Vec::with_capacity(form.variables.len());
        for binding in form.variables.of(&ast.bindings) {
            // Always a slot of its own: `recur` writes to it.
            self.node(generator, binding.value, false)?;
            slots.push(self.top());
            if let Pattern::Bind(local) = ast.patterns[binding.pattern.0 as usize] {
                self.place(local, self.top());
            }
        }
        let head = self.here();
        self.loops.push(OpenLoop { index, head, depth: self.depth(), slots });
        self.bindings(generator, form.heads)?;
        let falls = self.node(generator, form.body, tail)?;
        self.loops.pop();
        Ok(self.leave_scope(depth, falls))
    }

    pub(super) fn recur(
        &mut self,
        generator: &mut Generator<'_>,
        arguments: TableRange,
        target: u32,
        span: Span,
    ) -> Result<()> {
        let ast = generator.ast;
        let (head, depth, slots) = match self.loops.last() {
            Some(open) if open.index == target => (open.head, open.depth, open.slots.clone()),
            _ => {
                debug_assert_eq!(target, FUNCTION_BODY);
                (0, self.parameters.len() as u32, self.parameters.clone())
            }
        };
        let before = self.depth();
        if arguments.len() != slots.len() {
            return self.recur_mismatch(generator, arguments, slots.len() as u32, span);
        }
        let mut written = Vec::with_capacity(slots.len());
        for (&argument, &slot) in ast.list(arguments).iter().zip(&slots) {
            match ast.node(argument) {
                // A variable that keeps its value, and that nothing else has moved away.
                Node::Local { local, last: true } if self.slot(local) == slot => {}
                _ => {
                    self.node(generator, argument, false)?;
                    written.push(slot);
                }
            }
        }
        let count = written.len() as u32;
        let first = written.first().copied().unwrap_or(0);
        let in_a_row = written.iter().zip(first..).all(|(&slot, expected)| slot == expected);
        match (u8::try_from(count), u16::try_from(first)) {
            (Ok(short), Ok(first)) if in_a_row && self.depth() == depth + count => {
                self.at(generator, span);
                self.emit(Op::Recur { count: short, first, target: head }, count, 0);
            }
            _ => {
                for &slot in written.iter().rev() {
                    self.emit(Op::SetLocal(slot), 1, 0);
                }
                self.drop_values(self.depth() - depth);
                self.at(generator, span);
                self.emit(Op::Loop(head), 0, 0);
            }
        }
        self.set_depth(before + 1);
        Ok(())
    }

    /// The wrong number of values for `recur` is an error when it is reached (language.md 3.4): they are given to a function
    /// that does not take so many.
    fn recur_mismatch(
        &mut self,
        generator: &mut Generator<'_>,
        arguments: TableRange,
        expected: u32,
        span: Span,
    ) -> Result<()> {
        let ast = generator.ast;
        let before = self.depth();
        let function = generator.arity_check(expected, span);
        self.push(Op::Closure(function));
        for &argument in ast.list(arguments) {
            self.node(generator, argument, false)?;
        }
        self.at(generator, span);
        let count = arguments.len() as u32;
        self.emit(Op::Call(count), count + 1, 1);
        self.emit(Op::Return, 0, 0);
        self.set_depth(before + 1);
        Ok(())
    }

    /// Loops inside each other: all of them are opened, then the body, then all are closed.
    pub(super) fn comprehension(
        &mut self,
        generator: &mut Generator<'_>,
        index: u32,
        span: Span,
    ) -> Result<()> {
        let form = &generator.ast.comprehensions[index as usize];
        let start = self.depth();
        if form.collects {
            self.push(Op::Vector(0));
        }
        let mut open: Vec<OpenLevel> = Vec::with_capacity(form.levels.len());
        for level in &form.levels {
            open.push(self.open_level(generator, level)?);
        }
        let inner = self.depth();
        self.node(generator, form.body, false)?;
        self.set_depth(inner + 1);
        if form.collects {
            self.at(generator, span);
            self.emit(Op::AppendTo(start), 1, 0);
        } else {
            self.emit(Op::Pop, 1, 0);
        }
        while let Some(level) = open.pop() {
            self.close_level(level);
        }
        if !form.collects {
            self.push(Op::Nil);
        }
        Ok(())
    }

    /// Takes the next element, binds it, and generates the modifiers after the pair.
    fn open_level(&mut self, generator: &mut Generator<'_>, level: &ComprehensionLoop) -> Result<OpenLevel> {
        self.node(generator, level.collection, false)?;
        let at = generator.ast.span(level.collection);
        self.at(generator, at);
        let walks = level.modifiers.iter().any(|modifier| matches!(modifier, Modifier::While(_)));
        self.emit(if walks { Op::Walk } else { Op::Cursor }, 1, 1);
        let (slot, head, depth) = (self.short(self.top(), at)?, self.here(), self.depth());
        let end = self.jump_with(Op::Next { slot, exit: u32::MAX }, 1);
        let mut open = OpenLevel { head, depth, exits: vec![end], walks };
        self.pattern(generator, level.pattern, self.top(), at)?;
        for modifier in &level.modifiers {
            match *modifier {
                Modifier::When(test) => {
                    self.unless(generator, test, depth, |this| this.emit(Op::Loop(head), 0, 0))?
                }
                Modifier::While(test) => {
                    let exits = &mut open.exits;
                    self.unless(generator, test, depth, |this| exits.push(this.jump(Op::Jump, 0)))?
                }
                Modifier::Let(bindings) => self.bindings(generator, bindings)?,
            }
        }
        Ok(open)
    }

    /// Leaves the element, by `leave`, where a test does not hold.
    fn unless(
        &mut self,
        generator: &mut Generator<'_>,
        test: NodeId,
        depth: u32,
        leave: impl FnOnce(&mut Self),
    ) -> Result<()> {
        self.node(generator, test, false)?;
        let holds = self.jump(Op::JumpIfTrue, 1);
        let inner = self.depth();
        self.drop_values(inner - depth);
        leave(self);
        self.set_depth(inner);
        self.patch(holds);
        Ok(())
    }

    /// Goes back for the next element, and drops the cursor once there is none.
    fn close_level(&mut self, level: OpenLevel) {
        self.drop_values(self.depth() - level.depth);
        self.emit(Op::Loop(level.head), 0, 0);
        for exit in level.exits {
            self.patch(exit);
        }
        self.set_depth(level.depth);
        if level.walks {
            self.emit(Op::EndWalk(self.top()), 0, 0);
        }
        self.emit(Op::Pop, 1, 0);
    }
}

/// A level of a comprehension whose body is being generated.
struct OpenLevel {
    /// Where the next element is taken.
    head: u32,
    /// Depth with the cursor on top.
    depth: u32,
    /// The jumps that leave the level.
    exits: Vec<Jump>,
    /// Whether it may walk an endless sequence: its `:while` ends it.
    walks: bool,
}
