//! The bytecode verifier, for tests and fuzzing. It checks everything that the machine takes on trust.
//!
//! The verifier follows every path through every body. It tracks the depth of the stack and the slots whose value a last use
//! has moved away.

use std::collections::BTreeSet;

use ptc_vm::code::{Arity, Capture, Function, Op};
use ptc_vm::{Program, Value};

/// The known state before an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
struct StackState {
    depth: u32,
    /// Slots that hold nothing any more.
    moved: BTreeSet<u32>,
}

/// Checks a program.
///
/// # Errors
/// Which instruction of which function is wrong, and how.
pub fn verify(program: &Program) -> Result<(), String> {
    for (index, function) in program.functions.iter().enumerate() {
        if function.arities.is_empty() {
            return Err(format!("function {index} has no body"));
        }
        for arity in &function.arities {
            Verifier { program, function, arity, states: vec![None; arity.code.len()], todo: vec![0] }
                .run()
                .map_err(|why| {
                    format!("function {index} ({}): {why}\n{:#?}", function.display, arity.code)
                })?;
        }
    }
    Ok(())
}

struct Verifier<'a> {
    program: &'a Program,
    function: &'a Function,
    arity: &'a Arity,
    states: Vec<Option<StackState>>,
    todo: Vec<usize>,
}

impl Verifier<'_> {
    fn run(mut self) -> Result<(), String> {
        if self.arity.code.is_empty() {
            return Err("no code".into());
        }
        self.states[0] = Some(StackState { depth: self.arity.parameters.slots(), moved: BTreeSet::new() });
        while let Some(pc) = self.todo.pop() {
            let Some(state) = self.states[pc].clone() else { continue };
            self.step(pc, state).map_err(|why| format!("at {pc} {:?}: {why}", self.arity.code[pc]))?;
        }
        // What the machine goes by when it is handed a program in the middle of its work.
        let found: Vec<Option<u32>> =
            self.states.iter().map(|state| state.as_ref().map(|state| state.depth)).collect();
        match self.arity.heights() {
            Some(heights) if heights == found => Ok(()),
            heights => Err(format!("has heights {found:?}, and the machine finds {heights:?}")),
        }
    }

    /// Goes on at `pc` with a state.
    fn reach(&mut self, pc: usize, state: StackState) -> Result<(), String> {
        if pc >= self.arity.code.len() {
            return Err(format!("goes to {pc}, behind the end"));
        }
        if state.depth > self.arity.max_stack {
            return Err(format!("depth {} exceeds {}", state.depth, self.arity.max_stack));
        }
        match &mut self.states[pc] {
            None => {
                self.states[pc] = Some(state);
                self.todo.push(pc);
            }
            Some(known) => {
                if known.depth != state.depth {
                    return Err(format!("{pc} is reached with depth {} and {}", known.depth, state.depth));
                }
                let before = known.moved.len();
                known.moved.extend(state.moved);
                if known.moved.len() > before {
                    self.todo.push(pc);
                }
            }
        }
        Ok(())
    }

    fn read(state: &StackState, slot: u32) -> Result<(), String> {
        if slot >= state.depth {
            return Err(format!("reads slot {slot} of {}", state.depth));
        }
        if state.moved.contains(&slot) {
            return Err(format!("reads slot {slot}, which has been moved away"));
        }
        Ok(())
    }

    /// Takes values off the top, which must be there.
    fn pop(state: &mut StackState, count: u32) -> Result<(), String> {
        for _ in 0..count {
            let Some(top) = state.depth.checked_sub(1) else { return Err("pops an empty stack".into()) };
            Self::read(state, top)?;
            state.depth = top;
        }
        Ok(())
    }

    /// Drops values off the top, of any kind.
    fn discard(state: &mut StackState, count: u32) -> Result<(), String> {
        state.depth = state.depth.checked_sub(count).ok_or("drops more than there is")?;
        state.moved = state.moved.iter().copied().filter(|&slot| slot < state.depth).collect();
        Ok(())
    }

    fn constant(&self, index: u32) -> Result<(), String> {
        if (index as usize) < self.arity.constants.len() {
            Ok(())
        } else {
            Err(format!("no constant {index}"))
        }
    }

    fn global(&self, index: u32) -> Result<(), String> {
        if (index as usize) < self.program.globals.len() { Ok(()) } else { Err(format!("no global {index}")) }
    }

    fn step(&mut self, pc: usize, mut state: StackState) -> Result<(), String> {
        let next = pc + 1;
        let (pops, pushes) = match self.arity.code[pc] {
            Op::JumpIfDefined { global, target } => {
                self.global(u32::from(global))?;
                self.reach(target as usize, state.clone())?;
                (0, 0)
            }
            Op::Jump(target) => return self.reach(target as usize, state),
            Op::Loop(target) => {
                if target as usize > pc {
                    return Err("loops forward".into());
                }
                return self.reach(target as usize, state);
            }
            Op::JumpIfFalse(target) | Op::JumpIfTrue(target) | Op::JumpIfNil(target) => {
                Self::pop(&mut state, 1)?;
                self.reach(target as usize, state.clone())?;
                (0, 0)
            }
            Op::JumpIfFalseKeep(target) | Op::JumpIfTrueKeep(target) => {
                let kept = state.clone();
                Self::pop(&mut state, 1)?;
                self.reach(target as usize, kept)?;
                (0, 0)
            }
            Op::JumpIfNilKeep(target) => {
                Self::read(&state, state.depth.checked_sub(1).ok_or("nothing to test")?)?;
                self.reach(target as usize, state.clone())?;
                (0, 0)
            }
            Op::Return | Op::Halt | Op::Fail => return Self::pop(&mut state, 1),
            Op::Recur { count, first, target } => {
                Self::pop(&mut state, u32::from(count))?;
                if u32::from(first) + u32::from(count) > state.depth {
                    return Err(format!(
                        "writes slots {first} to {} of {}",
                        first + u16::from(count),
                        state.depth
                    ));
                }
                for slot in u32::from(first)..u32::from(first) + u32::from(count) {
                    state.moved.remove(&slot);
                }
                if target as usize > pc {
                    return Err("loops forward".into());
                }
                return self.reach(target as usize, state);
            }
            Op::Next { slot, exit } => {
                Self::read(&state, u32::from(slot))?;
                self.reach(exit as usize, state.clone())?;
                (0, 1)
            }
            Op::TaskEnter(target) => {
                Self::pop(&mut state, 1)?;
                state.depth += 1;
                self.reach(target as usize, state.clone())?;
                (0, 0)
            }
            op => self.effect(op, next, &mut state)?,
        };
        Self::pop(&mut state, pops)?;
        state.depth += pushes;
        self.reach(next, state)
    }

    /// The numbers of values that an instruction without a jump pops and pushes. Its operands must exist.
    fn effect(&self, op: Op, next: usize, state: &mut StackState) -> Result<(u32, u32), String> {
        Ok(match op {
            Op::Nil | Op::True | Op::False | Op::Int(_) | Op::SelfFn | Op::Budget => (0, 1),
            Op::History(n) if (1..=3).contains(&n) => (0, 1),
            Op::History(n) => return Err(format!("no history {n}")),
            Op::Const(index) | Op::Data(index) => {
                self.constant(index)?;
                (0, 1)
            }
            Op::DataOf(index) => {
                self.constant(index)?;
                (1, 1)
            }
            Op::CallProgram => (2, 1),
            Op::Local(slot) => {
                Self::read(state, slot)?;
                (0, 1)
            }
            Op::TakeLocal(slot) => {
                Self::read(state, slot)?;
                state.moved.insert(slot);
                (0, 1)
            }
            Op::SetLocal(slot) => {
                Self::pop(state, 1)?;
                if slot >= state.depth {
                    return Err(format!("writes slot {slot} of {}", state.depth));
                }
                state.moved.remove(&slot);
                (0, 0)
            }
            Op::Capture(index) => {
                if index as usize >= self.function.captures.len() {
                    return Err(format!("no capture {index}"));
                }
                (0, 1)
            }
            Op::Global(index) | Op::GlobalOrNil(index) | Op::Var(index) => {
                self.global(index)?;
                (0, 1)
            }
            Op::DefGlobal(index) => {
                self.global(index)?;
                (1, 1)
            }
            Op::DefGlobalDoc { global, info } => {
                self.global(u32::from(global))?;
                if info as usize >= self.program.defs.len() {
                    return Err(format!("no documentation {info}"));
                }
                (1, 1)
            }
            Op::Pop => {
                Self::discard(state, 1)?;
                (0, 0)
            }
            Op::Dup => {
                Self::read(state, state.depth.checked_sub(1).ok_or("nothing to copy")?)?;
                (0, 1)
            }
            Op::Slide(count) => {
                Self::pop(state, 1)?;
                Self::discard(state, count)?;
                (0, 1)
            }
            Op::EqualConst { slot, key } => {
                Self::read(state, u32::from(slot))?;
                self.constant(key)?;
                (0, 1)
            }
            Op::Vector(n) | Op::Set(n) => (n, 1),
            Op::Map(n) => (2 * n, 1),
            Op::Record(index) => (self.record(index)?, 1),
            Op::AppendTo(slot) => {
                Self::pop(state, 1)?;
                Self::read(state, slot)?;
                (0, 0)
            }
            Op::Closure(index) => {
                self.closure(index, state)?;
                (0, 1)
            }
            Op::Sibling(index) => {
                let sibling = self.program.functions.get(index as usize);
                if sibling.is_none_or(|sibling| sibling.captures.len() != self.function.captures.len()) {
                    return Err(format!("function {index} does not share these captures"));
                }
                (0, 1)
            }
            Op::Call(count) => (count + 1, 1),
            Op::TailCall(count) => {
                if self.arity.code.get(next) != Some(&Op::Return) {
                    return Err("a tail call must be followed by a return".into());
                }
                (count + 1, 1)
            }
            Op::Native { argc, .. } => (u32::from(argc), 1),
            Op::Add
            | Op::Subtract
            | Op::Multiply
            | Op::Modulo
            | Op::Less
            | Op::LessOrEqual
            | Op::Greater
            | Op::GreaterOrEqual
            | Op::Equal => (2, 1),
            Op::AddLocals { a, b }
            | Op::SubtractLocals { a, b }
            | Op::MultiplyLocals { a, b }
            | Op::ModuloLocals { a, b }
            | Op::LessLocals { a, b }
            | Op::LessOrEqualLocals { a, b }
            | Op::GreaterLocals { a, b }
            | Op::GreaterOrEqualLocals { a, b }
            | Op::EqualLocals { a, b } => {
                Self::read(state, u32::from(a))?;
                Self::read(state, u32::from(b))?;
                (0, 1)
            }
            Op::AddLocal(b)
            | Op::SubtractLocal(b)
            | Op::MultiplyLocal(b)
            | Op::ModuloLocal(b)
            | Op::LessLocal(b)
            | Op::LessOrEqualLocal(b)
            | Op::GreaterLocal(b)
            | Op::GreaterOrEqualLocal(b)
            | Op::EqualLocal(b) => {
                Self::read(state, b)?;
                (1, 1)
            }
            Op::AddLocalInt { a, .. }
            | Op::SubtractLocalInt { a, .. }
            | Op::MultiplyLocalInt { a, .. }
            | Op::ModuloLocalInt { a, .. }
            | Op::LessLocalInt { a, .. }
            | Op::LessOrEqualLocalInt { a, .. }
            | Op::GreaterLocalInt { a, .. }
            | Op::GreaterOrEqualLocalInt { a, .. }
            | Op::EqualLocalInt { a, .. } => {
                Self::read(state, u32::from(a))?;
                (0, 1)
            }
            Op::SubtractInt(_)
            | Op::MultiplyInt(_)
            | Op::ModuloInt(_)
            | Op::LessInt(_)
            | Op::LessOrEqualInt(_)
            | Op::GreaterInt(_)
            | Op::GreaterOrEqualInt(_)
            | Op::EqualInt(_) => (1, 1),
            Op::IncLocal(slot) | Op::DecLocal(slot) => {
                Self::read(state, slot)?;
                (0, 1)
            }
            Op::LookupLocal { slot, cache, key } => {
                Self::read(state, u32::from(slot))?;
                self.lookup(cache.into(), key)?;
                (0, 1)
            }
            Op::Not | Op::IsNil | Op::AddInt(_) | Op::Inc | Op::Dec => (1, 1),
            Op::Lookup { cache, key } => {
                self.lookup(cache.into(), key)?;
                (1, 1)
            }
            Op::LookupOr { cache, key } => {
                self.lookup(cache.into(), key)?;
                (2, 1)
            }
            Op::CheckSequential { slot, .. }
            | Op::CheckMap(slot)
            | Op::KeywordArguments(slot)
            | Op::EndWalk(slot) => {
                Self::read(state, slot)?;
                (0, 0)
            }
            Op::Element { slot, .. } | Op::ElementsFrom { slot, .. } => {
                Self::read(state, u32::from(slot))?;
                (0, 1)
            }
            Op::Entry { slot, key } | Op::HasEntry { slot, key } => {
                Self::read(state, u32::from(slot))?;
                self.constant(key)?;
                (0, 1)
            }
            Op::Cursor | Op::Walk => (1, 1),
            Op::TaskLeave => (2, 1),
            Op::JumpIfDefined { .. }
            | Op::Jump(_)
            | Op::Loop(_)
            | Op::JumpIfFalse(_)
            | Op::JumpIfTrue(_)
            | Op::JumpIfNil(_)
            | Op::JumpIfFalseKeep(_)
            | Op::JumpIfTrueKeep(_)
            | Op::JumpIfNilKeep(_)
            | Op::Return
            | Op::Halt
            | Op::Fail
            | Op::Recur { .. }
            | Op::Next { .. }
            | Op::TaskEnter(_) => unreachable!("what may go elsewhere is followed by `step`"),
        })
    }

    fn lookup(&self, cache: usize, key: u32) -> Result<(), String> {
        self.constant(key)?;
        if cache < self.arity.lookups.len() { Ok(()) } else { Err(format!("no lookup {cache}")) }
    }

    /// How many values a map literal takes. Its constant says where each of them goes.
    fn record(&self, index: u32) -> Result<u32, String> {
        self.constant(index)?;
        let Value::Map(places) = &self.arity.constants[index as usize] else {
            return Err(format!("constant {index} is no map"));
        };
        let mut left: Vec<i64> = (0..places.len() as i64).collect();
        left.retain(|n| !places.iter().any(|(_, place)| matches!(place, Value::Int(p) if p == n)));
        if !left.is_empty() || places.shape().is_none() {
            return Err(format!("constant {index} does not say where {left:?} go"));
        }
        Ok(places.len() as u32)
    }

    /// Checks that a closure's captures exist.
    fn closure(&self, index: u32, state: &StackState) -> Result<(), String> {
        let Some(made) = self.program.functions.get(index as usize) else {
            return Err(format!("no function {index}"));
        };
        for capture in &made.captures {
            match *capture {
                Capture::Local(slot) => Self::read(state, slot)?,
                Capture::Capture(n) if n as usize >= self.function.captures.len() => {
                    return Err(format!("captures capture {n}"));
                }
                _ => {}
            }
        }
        Ok(())
    }
}
