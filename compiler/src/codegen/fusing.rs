//! Superinstructions: an operation fused with the instructions that push its operands.
//!
//! An operand that is a local or a small integer needs no place on the stack, because the operation reads it where it is. Only
//! a push without effects is taken back, and only if it stands right before the operation and no jump lands after it.

use ptc_vm::code::Op;

use super::body::FunctionCode;

/// The instructions of a binary operation by where its operands come from.
struct Forms {
    /// Both from slots.
    locals: fn(u16, u16) -> Op,
    /// The left one from the stack, the right one from a slot.
    local: fn(u32) -> Op,
    /// The left one from a slot, the right one a small integer.
    local_int: fn(u16, i32) -> Op,
    /// The left one from the stack, the right one a small integer.
    int: fn(i32) -> Op,
}

macro_rules! forms {
    ($($op:ident: $locals:ident $local:ident $local_int:ident $int:ident;)*) => {
        /// The forms of an operation that has them.
        fn forms(op: Op) -> Option<Forms> {
            match op {
                $(Op::$op => Some(Forms {
                    locals: |a, b| Op::$locals { a, b },
                    local: Op::$local,
                    local_int: |a, n| Op::$local_int { a, n },
                    int: Op::$int,
                }),)*
                _ => None,
            }
        }
    };
}

forms! {
    Add: AddLocals AddLocal AddLocalInt AddInt;
    Subtract: SubtractLocals SubtractLocal SubtractLocalInt SubtractInt;
    Multiply: MultiplyLocals MultiplyLocal MultiplyLocalInt MultiplyInt;
    Modulo: ModuloLocals ModuloLocal ModuloLocalInt ModuloInt;
    Less: LessLocals LessLocal LessLocalInt LessInt;
    LessOrEqual: LessOrEqualLocals LessOrEqualLocal LessOrEqualLocalInt LessOrEqualInt;
    Greater: GreaterLocals GreaterLocal GreaterLocalInt GreaterInt;
    GreaterOrEqual: GreaterOrEqualLocals GreaterOrEqualLocal GreaterOrEqualLocalInt GreaterOrEqualInt;
    Equal: EqualLocals EqualLocal EqualLocalInt EqualInt;
}

impl FunctionCode {
    /// Emits an operation that pops `operands` values and pushes one.
    pub(super) fn operation(&mut self, op: Op, operands: u32) {
        if let Some(forms) = forms(op) {
            return self.binary(op, &forms);
        }
        let fused = match (op, self.pushed()) {
            (Op::AddInt(n), Some(Op::Local(a) | Op::TakeLocal(a))) => {
                u16::try_from(a).ok().map(|a| Op::AddLocalInt { a, n })
            }
            (Op::Inc, Some(Op::Local(slot) | Op::TakeLocal(slot))) => Some(Op::IncLocal(slot)),
            (Op::Dec, Some(Op::Local(slot) | Op::TakeLocal(slot))) => Some(Op::DecLocal(slot)),
            // A map that is read for the last time moves to the stack, so that what is found in it is held once.
            (Op::Lookup { cache, key }, Some(Op::Local(slot))) => {
                u8::try_from(slot).ok().map(|slot| Op::LookupLocal { slot, cache, key })
            }
            _ => None,
        };
        match fused {
            Some(fused) => {
                self.take_back();
                self.emit(fused, operands - 1, 1);
            }
            None => self.emit(op, operands, 1),
        }
    }

    fn binary(&mut self, op: Op, forms: &Forms) {
        match self.pushed() {
            Some(Op::Local(b) | Op::TakeLocal(b)) => {
                self.take_back();
                match (self.pushed_local(), u16::try_from(b)) {
                    (Some(a), Ok(b)) => {
                        self.take_back();
                        self.emit((forms.locals)(a, b), 0, 1);
                    }
                    _ => self.emit((forms.local)(b), 1, 1),
                }
            }
            Some(Op::Int(n)) => {
                self.take_back();
                match self.pushed_local() {
                    Some(a) => {
                        self.take_back();
                        self.emit((forms.local_int)(a, n), 0, 1);
                    }
                    None => self.emit((forms.int)(n), 1, 1),
                }
            }
            _ => self.emit(op, 2, 1),
        }
    }

    /// The last instruction, unless a jump lands after it.
    fn pushed(&self) -> Option<Op> {
        if self.code.len() > self.last_target { self.code.last().copied() } else { None }
    }

    /// The slot that the last instruction pushes, if it is such a push.
    fn pushed_local(&self) -> Option<u16> {
        match self.pushed()? {
            Op::Local(slot) | Op::TakeLocal(slot) => u16::try_from(slot).ok(),
            _ => None,
        }
    }

    /// Removes the last instruction, a push that cannot fail. The position of the next one moves with it.
    fn take_back(&mut self) {
        self.code.pop();
        self.forget_push();
        let next = self.code.len() as u32;
        if let Some((first, position)) = self.positions.pop() {
            if first > next {
                if self.positions.last().is_some_and(|&(before, _)| before >= next) {
                    self.positions.pop();
                }
                self.positions.push((next, position));
            } else {
                self.positions.push((first, position));
            }
        }
    }
}
