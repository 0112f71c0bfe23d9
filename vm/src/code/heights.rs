//! How high the stack is before each instruction, for who is handed a place in the middle of a body.

use super::{Arity, Op};
use crate::value::Value;

/// Where an instruction goes besides the next one.
enum Successors {
    /// Nowhere else.
    On,
    /// Also there, with the height that it has there.
    OnOr(u32, u32),
    /// Only there.
    Only(u32),
    /// Nowhere: it leaves the frame.
    Out,
}

impl Op {
    /// Whether a function of the program may be called at this instruction, so that it may wait. Instructions for a builtin
    /// call the program's own definition of its name if there is one.
    pub fn may_call(self) -> bool {
        match self {
            Op::Call(_) | Op::TailCall(_) | Op::CallProgram | Op::Native { .. } => true,
            // The elements of an endless sequence are made by its functions.
            Op::Element { .. } | Op::ElementsFrom { .. } => true,
            Op::Add
            | Op::Subtract
            | Op::Multiply
            | Op::Modulo
            | Op::Less
            | Op::LessOrEqual
            | Op::Greater
            | Op::GreaterOrEqual
            | Op::Equal
            | Op::Not
            | Op::IsNil
            | Op::AddInt(_)
            | Op::Inc
            | Op::Dec
            | Op::AddLocals { .. }
            | Op::AddLocal(_)
            | Op::AddLocalInt { .. }
            | Op::SubtractLocals { .. }
            | Op::SubtractLocal(_)
            | Op::SubtractLocalInt { .. }
            | Op::SubtractInt(_)
            | Op::MultiplyLocals { .. }
            | Op::MultiplyLocal(_)
            | Op::MultiplyLocalInt { .. }
            | Op::MultiplyInt(_)
            | Op::ModuloLocals { .. }
            | Op::ModuloLocal(_)
            | Op::ModuloLocalInt { .. }
            | Op::ModuloInt(_)
            | Op::LessLocals { .. }
            | Op::LessLocal(_)
            | Op::LessLocalInt { .. }
            | Op::LessInt(_)
            | Op::LessOrEqualLocals { .. }
            | Op::LessOrEqualLocal(_)
            | Op::LessOrEqualLocalInt { .. }
            | Op::LessOrEqualInt(_)
            | Op::GreaterLocals { .. }
            | Op::GreaterLocal(_)
            | Op::GreaterLocalInt { .. }
            | Op::GreaterInt(_)
            | Op::GreaterOrEqualLocals { .. }
            | Op::GreaterOrEqualLocal(_)
            | Op::GreaterOrEqualLocalInt { .. }
            | Op::GreaterOrEqualInt(_)
            | Op::EqualLocals { .. }
            | Op::EqualLocal(_)
            | Op::EqualLocalInt { .. }
            | Op::EqualInt(_)
            | Op::IncLocal(_)
            | Op::DecLocal(_)
            | Op::Next { .. } => true,
            Op::Nil
            | Op::True
            | Op::False
            | Op::Int(_)
            | Op::Const(_)
            | Op::Local(_)
            | Op::TakeLocal(_)
            | Op::SetLocal(_)
            | Op::Capture(_)
            | Op::SelfFn
            | Op::Sibling(_)
            | Op::Global(_)
            | Op::GlobalOrNil(_)
            | Op::DefGlobal(_)
            | Op::DefGlobalDoc { .. }
            | Op::JumpIfDefined { .. }
            | Op::Var(_)
            | Op::Data(_)
            | Op::DataOf(_)
            | Op::History(_)
            | Op::Budget
            | Op::Pop
            | Op::Dup
            | Op::Slide(_)
            | Op::Jump(_)
            | Op::Loop(_)
            | Op::JumpIfFalse(_)
            | Op::JumpIfTrue(_)
            | Op::JumpIfFalseKeep(_)
            | Op::JumpIfTrueKeep(_)
            | Op::JumpIfNilKeep(_)
            | Op::JumpIfNil(_)
            | Op::EqualConst { .. }
            | Op::Return
            | Op::Halt
            | Op::Fail
            | Op::Vector(_)
            | Op::Map(_)
            | Op::Record(_)
            | Op::Set(_)
            | Op::AppendTo(_)
            | Op::Closure(_)
            | Op::Lookup { .. }
            | Op::LookupOr { .. }
            | Op::LookupLocal { .. }
            | Op::Recur { .. }
            | Op::CheckSequential { .. }
            | Op::CheckMap(_)
            | Op::KeywordArguments(_)
            | Op::Entry { .. }
            | Op::HasEntry { .. }
            | Op::Cursor
            | Op::Walk
            | Op::EndWalk(_)
            | Op::TaskEnter(_)
            | Op::TaskLeave => false,
        }
    }

    /// The height after this for the one before it, if it continues with the next instruction, and its other targets.
    fn step(self, arity: &Arity, height: u32) -> Option<(u32, Successors)> {
        let (pops, pushes, ways) = match self {
            Op::Jump(target) | Op::Loop(target) => (0, 0, Successors::Only(target)),
            Op::Recur { count, target, .. } => (u32::from(count), 0, Successors::Only(target)),
            Op::Return | Op::Halt | Op::Fail => (1, 0, Successors::Out),
            Op::JumpIfDefined { target, .. } => (0, 0, Successors::OnOr(target, height)),
            Op::JumpIfFalse(target) | Op::JumpIfTrue(target) | Op::JumpIfNil(target) => {
                (1, 0, Successors::OnOr(target, height.checked_sub(1)?))
            }
            Op::JumpIfFalseKeep(target) | Op::JumpIfTrueKeep(target) => {
                (1, 0, Successors::OnOr(target, height))
            }
            Op::JumpIfNilKeep(target) | Op::TaskEnter(target) => (1, 1, Successors::OnOr(target, height)),
            Op::Next { exit, .. } => (0, 1, Successors::OnOr(exit, height)),
            Op::Slide(count) => (count.checked_add(1)?, 1, Successors::On),
            Op::Vector(n) | Op::Set(n) => (n, 1, Successors::On),
            Op::Map(n) => (n.checked_mul(2)?, 1, Successors::On),
            Op::Record(index) => match arity.constants.get(index as usize)? {
                Value::Map(places) => (places.len() as u32, 1, Successors::On),
                _ => return None,
            },
            Op::Call(count) | Op::TailCall(count) => (count.checked_add(1)?, 1, Successors::On),
            Op::Native { argc, .. } => (u32::from(argc), 1, Successors::On),
            Op::Nil
            | Op::True
            | Op::False
            | Op::Int(_)
            | Op::Const(_)
            | Op::Local(_)
            | Op::TakeLocal(_)
            | Op::Capture(_)
            | Op::SelfFn
            | Op::Sibling(_)
            | Op::Global(_)
            | Op::GlobalOrNil(_)
            | Op::Var(_)
            | Op::Data(_)
            | Op::History(_)
            | Op::Budget
            | Op::EqualConst { .. }
            | Op::Closure(_)
            | Op::AddLocals { .. }
            | Op::AddLocalInt { .. }
            | Op::SubtractLocals { .. }
            | Op::SubtractLocalInt { .. }
            | Op::MultiplyLocals { .. }
            | Op::MultiplyLocalInt { .. }
            | Op::ModuloLocals { .. }
            | Op::ModuloLocalInt { .. }
            | Op::LessLocals { .. }
            | Op::LessLocalInt { .. }
            | Op::LessOrEqualLocals { .. }
            | Op::LessOrEqualLocalInt { .. }
            | Op::GreaterLocals { .. }
            | Op::GreaterLocalInt { .. }
            | Op::GreaterOrEqualLocals { .. }
            | Op::GreaterOrEqualLocalInt { .. }
            | Op::EqualLocals { .. }
            | Op::EqualLocalInt { .. }
            | Op::IncLocal(_)
            | Op::DecLocal(_)
            | Op::LookupLocal { .. }
            | Op::Element { .. }
            | Op::ElementsFrom { .. }
            | Op::Entry { .. }
            | Op::HasEntry { .. } => (0, 1, Successors::On),
            // One more than before.
            Op::Dup => (1, 2, Successors::On),
            Op::SetLocal(_) | Op::Pop | Op::AppendTo(_) => (1, 0, Successors::On),
            Op::CheckSequential { .. } | Op::CheckMap(_) | Op::KeywordArguments(_) | Op::EndWalk(_) => {
                (0, 0, Successors::On)
            }
            Op::DefGlobal(_)
            | Op::DefGlobalDoc { .. }
            | Op::DataOf(_)
            | Op::Not
            | Op::IsNil
            | Op::AddInt(_)
            | Op::Inc
            | Op::Dec
            | Op::Lookup { .. }
            | Op::AddLocal(_)
            | Op::SubtractLocal(_)
            | Op::SubtractInt(_)
            | Op::MultiplyLocal(_)
            | Op::MultiplyInt(_)
            | Op::ModuloLocal(_)
            | Op::ModuloInt(_)
            | Op::LessLocal(_)
            | Op::LessInt(_)
            | Op::LessOrEqualLocal(_)
            | Op::LessOrEqualInt(_)
            | Op::GreaterLocal(_)
            | Op::GreaterInt(_)
            | Op::GreaterOrEqualLocal(_)
            | Op::GreaterOrEqualInt(_)
            | Op::EqualLocal(_)
            | Op::EqualInt(_)
            | Op::Cursor
            | Op::Walk => (1, 1, Successors::On),
            Op::Add
            | Op::Subtract
            | Op::Multiply
            | Op::Modulo
            | Op::Less
            | Op::LessOrEqual
            | Op::Greater
            | Op::GreaterOrEqual
            | Op::Equal
            | Op::LookupOr { .. }
            | Op::CallProgram
            | Op::TaskLeave => (2, 1, Successors::On),
        };
        Some((height.checked_sub(pops)?.checked_add(pushes)?, ways))
    }
}

impl Arity {
    /// How many values the frame holds before each instruction; `None` for one that nothing leads to.
    ///
    /// `None` in all if the code does not hold together. Compiled code does; `ptc_compiler::verify` checks it, and that
    /// both find the same.
    pub fn heights(&self) -> Option<Vec<Option<u32>>> {
        let mut heights = vec![None; self.code.len()];
        let mut todo = vec![(0, self.parameters.slots())];
        while let Some((mut at, mut height)) = todo.pop() {
            loop {
                match heights.get_mut(at)? {
                    Some(known) if *known == height => break,
                    Some(_) => return None,
                    new => *new = Some(height),
                }
                let (behind, ways) = self.code[at].step(self, height)?;
                (at, height) = match ways {
                    Successors::On => (at + 1, behind),
                    Successors::OnOr(target, there) => {
                        todo.push((target as usize, there));
                        (at + 1, behind)
                    }
                    Successors::Only(target) => (target as usize, behind),
                    Successors::Out => break,
                };
            }
        }
        Some(heights)
    }
}
