//! The instructions of one function body, and the depth of its stack.

use ptc_vm::Value;
use ptc_vm::code::{Arity, Op, Parameters};
use ptc_vm::error::Position;

use crate::ast::{self, LocalId};
use crate::error::{CompileError, Result};
use crate::names::Name;
use crate::source::Span;

/// A jump whose target is not known yet: the index of its instruction.
#[derive(Clone, Copy)]
pub(super) struct Jump(usize);

/// A loop that is being generated.
pub(super) struct OpenLoop {
    /// Index into [`ast::Ast::loops`].
    pub(super) index: u32,
    /// Its first instruction.
    pub(super) head: u32,
    /// Depth of the stack there.
    pub(super) depth: u32,
    /// The slots of its variables.
    pub(super) slots: Vec<u32>,
}

#[derive(Default)]
pub(super) struct FunctionCode {
    pub(super) code: Vec<Op>,
    /// No jump lands after this instruction so far.
    pub(super) last_target: usize,
    constants: Vec<Value>,
    /// Constants that are keywords, to use them again.
    pub(super) keywords: Vec<(Name, u32)>,
    pub(super) positions: Vec<(u32, Position)>,
    /// Values on the stack above the base of the frame.
    depth: u32,
    max_depth: u32,
    slots: Vec<u32>,
    lookups: u32,
    pub(super) loops: Vec<OpenLoop>,
    /// The slots of the parameters, for a `recur` to the start of the function.
    pub(super) parameters: Vec<u32>,
}

impl FunctionCode {
    /// Begins a body with so many locals, in tables that are empty and may have served before.
    pub(super) fn begin(&mut self, locals: u32) {
        debug_assert!(self.code.is_empty() && self.constants.is_empty() && self.loops.is_empty());
        (self.last_target, self.depth, self.max_depth, self.lookups) = (0, 0, 0, 0);
        self.slots.resize(locals as usize, 0);
    }

    pub(super) fn enter_function(&mut self, arity: &ast::Arity) {
        let locals = (0..arity.required).map(LocalId).chain(arity.rest);
        for (slot, local) in locals.enumerate() {
            self.slots[local.0 as usize] = slot as u32;
            self.parameters.push(slot as u32);
        }
        self.grow(self.parameters.len() as u32);
    }

    /// The finished body, without room to spare: programs are kept. The tables are empty afterwards.
    pub(super) fn finish(&mut self, parameters: Parameters) -> Arity {
        let arity = Arity {
            parameters,
            code: self.code.to_vec(),
            constants: self.constants.drain(..).collect(),
            max_stack: self.max_depth,
            lookups: vec![Default::default(); self.lookups as usize],
            positions: self.positions.to_vec(),
        };
        self.code.clear();
        self.keywords.clear();
        self.positions.clear();
        self.slots.clear();
        self.parameters.clear();
        arity
    }

    // --- the stack ---------------------------------------------------------------------------------------

    pub(super) fn depth(&self) -> u32 {
        self.depth
    }

    fn grow(&mut self, by: u32) {
        self.depth += by;
        self.max_depth = self.max_depth.max(self.depth);
    }

    /// Goes on at a place that jumps reach with another depth than the code before it.
    pub(super) fn set_depth(&mut self, depth: u32) {
        self.depth = depth;
        self.max_depth = self.max_depth.max(depth);
    }

    /// The slot of the value on top.
    pub(super) fn top(&self) -> u32 {
        self.depth - 1
    }

    pub(super) fn slot(&self, local: LocalId) -> u32 {
        self.slots[local.0 as usize]
    }

    pub(super) fn place(&mut self, local: LocalId, slot: u32) {
        self.slots[local.0 as usize] = slot;
    }

    /// A slot where an instruction has 16 bits for it.
    pub(super) fn short(&self, slot: u32, span: Span) -> Result<u16> {
        u16::try_from(slot).map_err(|_| CompileError::too_large(span, "65 536 values in one function"))
    }

    /// Refuses a body that is too large to be run.
    pub(super) fn check(&self, span: Span) -> Result<()> {
        if self.code.len() > u32::MAX as usize / 2 {
            Err(CompileError::too_large(span, "2³¹ instructions"))
        } else {
            Ok(())
        }
    }

    // --- instructions ------------------------------------------------------------------------------------

    /// An instruction that pops and pushes; the depth changes by the difference.
    pub(super) fn emit(&mut self, op: Op, pops: u32, pushes: u32) {
        self.code.push(op);
        self.depth -= pops;
        self.grow(pushes);
    }

    /// An instruction that pushes one value.
    pub(super) fn push(&mut self, op: Op) {
        self.emit(op, 0, 1);
    }

    /// The next instruction, as a place that jumps come to.
    pub(super) fn here(&mut self) -> u32 {
        self.last_target = self.code.len();
        self.code.len() as u32
    }

    /// One value less is on the stack: its push has been taken back.
    pub(super) fn forget_push(&mut self) {
        self.depth -= 1;
    }

    /// A jump forward. `pops`: how many values it takes off the stack when it does not jump.
    pub(super) fn jump(&mut self, op: fn(u32) -> Op, pops: u32) -> Jump {
        self.emit(op(u32::MAX), pops, 0);
        Jump(self.code.len() - 1)
    }

    /// A jump forward with more operands than the target, which is patched in.
    pub(super) fn jump_with(&mut self, op: Op, pushes: u32) -> Jump {
        self.emit(op, 0, pushes);
        Jump(self.code.len() - 1)
    }

    /// Lets a jump come here.
    pub(super) fn patch(&mut self, jump: Jump) {
        let here = self.here();
        match &mut self.code[jump.0] {
            Op::Jump(target)
            | Op::JumpIfFalse(target)
            | Op::JumpIfTrue(target)
            | Op::JumpIfFalseKeep(target)
            | Op::JumpIfTrueKeep(target)
            | Op::JumpIfNilKeep(target)
            | Op::JumpIfNil(target)
            | Op::TaskEnter(target)
            | Op::JumpIfDefined { target, .. }
            | Op::Next { exit: target, .. } => *target = here,
            other => unreachable!("{other:?} does not jump"),
        }
    }

    /// Drops `count` values from the top.
    pub(super) fn drop_values(&mut self, count: u32) {
        if count <= 3 {
            for _ in 0..count {
                self.emit(Op::Pop, 1, 0);
            }
        } else {
            self.push(Op::Nil);
            self.emit(Op::Slide(count), count, 0);
            self.emit(Op::Pop, 1, 0);
        }
    }

    /// Drops the values between `depth` and the value on top.
    pub(super) fn slide_to(&mut self, depth: u32) {
        let under = self.depth - 1 - depth;
        if under > 0 {
            self.emit(Op::Slide(under), under, 0);
        }
    }

    pub(super) fn constant(&mut self, value: Value) -> u32 {
        self.constants.push(value);
        self.constants.len() as u32 - 1
    }

    /// A new place that looks up a constant key. When they run out, places share a guess.
    pub(super) fn lookup(&mut self) -> u16 {
        let number = self.lookups % (u32::from(u16::MAX) + 1);
        self.lookups = (self.lookups + 1).min(u32::from(u16::MAX) + 1);
        number as u16
    }
}
