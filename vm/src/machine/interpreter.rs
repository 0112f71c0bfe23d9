//! The loop that executes instructions.
//!
//! The running code frame lives in local variables; the others lie on the fiber's frame stack. A call that cannot be finished
//! inside the loop (builtins with frames, host calls, forks) goes through [`native`](super::native), which says how to
//! continue.

use super::Ctx;
use super::Machine;
use super::call_stack::Frame;
use super::fiber::{CodeFrame, Fiber, FiberId, FiberResumption};
use super::frame::{Flow, Reentry};
use super::fuel::Fuel;
use super::native::Landing;
use super::operations;
use super::stack::{Stack, clear, copy, fill, take};
use crate::code::Op;
use crate::error::{Error, Result};
use crate::meter;
use crate::value::Value;
use std::mem::ManuallyDrop;
use std::ops::ControlFlow;
use std::rc::Rc;

/// Steps of the next call of a builtin that calls one closure for each element: for resuming it, for its decision to call,
/// and for the call.
const REENTRY_STEPS: i64 = if meter::METERED { 3 } else { 0 };

/// Why a fiber stopped, unless it failed.
pub(super) enum FiberStop {
    /// The slice is used up.
    Slice,
    /// It waits for the host.
    Wait,
    /// Its branches are to be started.
    Forked,
    /// It has ended with this value.
    Done(Value),
    /// `(return value)`
    Halt(Value),
    /// `(fail value)`
    Fail(Error),
}

impl Machine {
    /// Runs one fiber until it stops.
    pub(super) fn run_fiber(&mut self, id: FiberId, fiber: &mut Fiber, fuel: &mut Fuel) -> Result<FiberStop> {
        if fiber.fork.is_some() {
            return Ok(FiberStop::Forked);
        }
        let result = self.run_frames(id, fiber, fuel);
        fuel.close();
        result.map_err(|error| {
            let code = fiber.frames.downwards().find_map(|frame| match frame {
                Frame::Code(code) => code.frame().filter(|frame| !frame.is_entry()),
                Frame::Native(_) => None,
            });
            match code {
                Some(code) => self.locate(error, &code),
                None => error,
            }
        })
    }

    fn run_frames(&mut self, id: FiberId, fiber: &mut Fiber, fuel: &mut Fuel) -> Result<FiberStop> {
        loop {
            if let Some(next) = fiber.next.take() {
                match self.trampoline(id, fiber, fuel, next)? {
                    Landing::Code => {}
                    Landing::Stop(stop) => return Ok(stop),
                }
            }
            let stop = if self.env.namespace.shadows_builtins() || fiber.overlay.is_some() {
                self.interpret::<true>(fiber, fuel)?
            } else {
                self.interpret::<false>(fiber, fuel)?
            };
            match stop {
                Some(stop) => return Ok(stop),
                None => continue,
            }
        }
    }

    /// Executes code frames. `None` asks the caller to work off `fiber.next` on the trampoline, or to come back because
    /// builtins have been shadowed.
    ///
    /// `CHECKED` is set once a definition may hide a builtin or a global: then every instruction that stands
    /// for a name looks the name up.
    fn interpret<const CHECKED: bool>(
        &mut self,
        fiber: &mut Fiber,
        fuel: &mut Fuel,
    ) -> Result<Option<FiberStop>> {
        // The loop works on a stack of its own, which it reaches without a pointer.
        let mut stack = std::mem::take(&mut fiber.stack);
        let result = self.execute::<CHECKED>(fiber, &mut stack, fuel);
        fiber.stack = stack;
        result
    }

    /// The loop proper. Its state is a handful of local variables, and it stays small because nothing in it calls a function
    /// that would need them: other cases (a call, an operand that is no small integer, a rare instruction) break out of the
    /// inner loop and are done by [`perform`](Machine::perform) on the state in memory, from which the outer loop begins anew.
    /// Compilers keep variables in registers in a small loop without calls, not in a large one with them.
    #[inline(always)]
    fn execute<const CHECKED: bool>(
        &mut self,
        fiber: &mut Fiber,
        stack: &mut Stack,
        fuel: &mut Fuel,
    ) -> Result<Option<FiberStop>> {
        let Some(mut frame) = fiber.frames.pop_code() else {
            unreachable!("the trampoline leaves a code frame on top")
        };
        // Counted here, and written back wherever anybody else counts or the loop is left.
        let mut left = fuel.left;
        'frame: loop {
            let closure = &*frame.closure;
            let body = frame.body();
            let code = &body.code[..];
            let base = frame.base as usize;
            let size = body.max_stack as usize;
            if !stack.reaches(base + size) {
                match fiber.grow(stack, base + size) {
                    // Begun anew, so that those who need not grow know that they reach.
                    Ok(()) => continue 'frame,
                    Err(error) => {
                        fuel.left = left;
                        return Err(error);
                    }
                }
            }
            // The next instruction.
            let mut pc = frame.pc as usize;
            // Steps are not counted one by one: between two jumps `pc` counts them. What is left is this less `pc`, and a
            // jump adds how far it goes.
            let mut credit = if meter::METERED { left + pc as i64 } else { left };
            // The places of this frame, of which the first `top` hold values.
            let mut top = stack.height() - base;
            let slots = stack.frame(base, size);

            macro_rules! left {
                () => {
                    if meter::METERED { credit - pc as i64 } else { credit }
                };
            }
            macro_rules! jump {
                ($target:expr) => {{
                    let target = $target as usize;
                    if meter::METERED {
                        credit += target as i64 - pc as i64;
                    }
                    pc = target;
                }};
            }
            macro_rules! push {
                ($value:expr) => {{
                    let value: Value = $value;
                    match slots.get_mut(top) {
                        Some(place) => fill(place, value),
                        None => overflow(value),
                    }
                    top += 1;
                }};
            }
            macro_rules! pop {
                () => {{
                    top -= 1;
                    take(&mut slots[top])
                }};
            }
            let op: Op = 'run: loop {
                'returned: {
                    let n: i64 = 'carry: {
                        // Goes the way of a truth value: pushes it, or takes the branch right behind at once, for its step.
                        macro_rules! test {
                            ($holds:expr) => {{
                                let holds = $holds;
                                if let Some(&Op::JumpIfFalse(target)) = code.get(pc) {
                                    pc += 1;
                                    if !holds {
                                        jump!(target);
                                    }
                                } else {
                                    push!(Value::bool(holds));
                                }
                            }};
                        }
                        // Pushes a small integer, or keeps it in a register where the next instruction may take it from there.
                        macro_rules! int {
                            ($n:expr) => {{
                                let n: i64 = $n;
                                if let Some(Op::Return | Op::Recur { .. }) = code.get(pc) {
                                    break 'carry n;
                                }
                                push!(Value::Int(n));
                            }};
                        }
                        // The small integer that lies in a slot; all else is not for this loop.
                        macro_rules! integer {
                            ($op:expr, $slot:expr) => {
                                match &slots[$slot] {
                                    Value::Int(n) => *n,
                                    _ => break 'run *$op,
                                }
                            };
                        }
                        // An operation on small integers, of which the last `$popped` are popped; numbers need no dropping. `$finish`
                        // does something with the result.
                        macro_rules! operate {
                            ($op:expr, $a:expr, $b:expr, $popped:expr, $operation:expr, $finish:ident) => {{
                                if CHECKED {
                                    break 'run *$op;
                                }
                                let (a, b): (i64, i64) = ($a, $b);
                                let Some(result) = $operation(a, b) else { break 'run *$op };
                                top -= $popped;
                                $finish!(result);
                            }};
                        }
                        // The places where operands come from.
                        macro_rules! both_popped {
                            ($op:expr, $operation:expr, $finish:ident) => {
                                operate!(
                                    $op,
                                    integer!($op, top - 2),
                                    integer!($op, top - 1),
                                    2,
                                    $operation,
                                    $finish
                                )
                            };
                        }
                        macro_rules! locals {
                            ($op:expr, $a:expr, $b:expr, $operation:expr, $finish:ident) => {{
                                let (a, b) = (usize::from(*$a), usize::from(*$b));
                                operate!($op, integer!($op, a), integer!($op, b), 0, $operation, $finish)
                            }};
                        }
                        macro_rules! local {
                            ($op:expr, $b:expr, $operation:expr, $finish:ident) => {{
                                let b = *$b as usize;
                                operate!(
                                    $op,
                                    integer!($op, top - 1),
                                    integer!($op, b),
                                    1,
                                    $operation,
                                    $finish
                                )
                            }};
                        }
                        macro_rules! local_int {
                            ($op:expr, $a:expr, $n:expr, $operation:expr, $finish:ident) => {{
                                let a = usize::from(*$a);
                                operate!($op, integer!($op, a), i64::from(*$n), 0, $operation, $finish)
                            }};
                        }
                        macro_rules! popped_int {
                            ($op:expr, $n:expr, $operation:expr, $finish:ident) => {
                                operate!($op, integer!($op, top - 1), i64::from(*$n), 1, $operation, $finish)
                            };
                        }

                        let Some(op) = code.get(pc) else { unreachable!("code ends with a return") };
                        pc += 1;
                        // By reference: what an instruction holds is read where it is needed, not before.
                        match op {
                            Op::Nil => push!(Value::Nil),
                            Op::True => push!(Value::True),
                            Op::False => push!(Value::False),
                            Op::Int(n) => push!(Value::Int(i64::from(*n))),
                            Op::Const(n) => push!(copy(&body.constants[*n as usize])),
                            Op::Local(slot) => push!(copy(&slots[*slot as usize])),
                            Op::TakeLocal(slot) => match &mut slots[*slot as usize] {
                                Value::Int(n) => int!(*n),
                                other => push!(std::mem::take(other)),
                            },
                            Op::SetLocal(slot) => {
                                let value = pop!();
                                match slots.get_mut(*slot as usize) {
                                    Some(place) => place.put(value),
                                    None => overflow(value),
                                }
                            }
                            Op::Capture(n) => push!(copy(&closure.captures.values()[*n as usize])),
                            Op::SelfFn => push!(Value::Closure(frame.closure.clone())),
                            Op::Global(n) => {
                                if CHECKED {
                                    break 'run *op;
                                }
                                match self.env.namespace.value(closure.module.slots[*n as usize]) {
                                    Some(Value::Closure(value)) => push!(Value::Closure(value.clone())),
                                    Some(value) => push!(copy(value)),
                                    None => break 'run *op,
                                }
                            }
                            Op::Pop => pop!().discard(),
                            Op::Dup => push!(copy(&slots[top - 1])),
                            Op::Slide(n) => {
                                let value = pop!();
                                let below = top - *n as usize;
                                clear(&mut slots[below..top]);
                                top = below;
                                push!(value);
                            }
                            Op::Jump(target) => jump!(*target),
                            Op::Loop(target) => {
                                if left!() < 0 || meter::is_over() {
                                    break 'run *op;
                                }
                                jump!(*target);
                            }
                            Op::Recur { count, first, target } => {
                                if left!() < 0 || meter::is_over() {
                                    break 'run *op;
                                }
                                let (first, count) = (usize::from(*first), usize::from(*count));
                                jump!(*target);
                                top -= count;
                                // Most loops have few variables, and these are numbers.
                                if count == 2
                                    && let Some([Value::Int(a), Value::Int(b)]) = slots.get(top..top + 2)
                                {
                                    let (a, b) = (*a, *b);
                                    rebind(&mut slots[first], a);
                                    rebind(&mut slots[first + 1], b);
                                } else if count == 1
                                    && let Value::Int(a) = &slots[top]
                                {
                                    let a = *a;
                                    rebind(&mut slots[first], a);
                                } else {
                                    let (below, values) = slots[..top + count].split_at_mut(top);
                                    for (slot, value) in below[first..first + count].iter_mut().zip(values) {
                                        slot.put(take(value));
                                    }
                                }
                            }
                            Op::JumpIfFalse(target) => {
                                let value = pop!();
                                let jumps = !value.is_truthy();
                                value.discard();
                                if jumps {
                                    jump!(*target);
                                }
                            }
                            Op::JumpIfTrue(target) => {
                                let value = pop!();
                                let jumps = value.is_truthy();
                                value.discard();
                                if jumps {
                                    jump!(*target);
                                }
                            }
                            Op::JumpIfFalseKeep(target) => {
                                if slots[top - 1].is_truthy() {
                                    pop!().discard();
                                } else {
                                    jump!(*target);
                                }
                            }
                            Op::JumpIfTrueKeep(target) => {
                                if slots[top - 1].is_truthy() {
                                    jump!(*target);
                                } else {
                                    top -= 1;
                                }
                            }
                            Op::JumpIfNilKeep(target) => {
                                if slots[top - 1].is_nil() {
                                    jump!(*target);
                                }
                            }
                            Op::JumpIfNil(target) => {
                                let value = pop!();
                                let jumps = value.is_nil();
                                value.discard();
                                if jumps {
                                    jump!(*target);
                                }
                            }
                            Op::Return => {
                                left = left!();
                                if left < 0 {
                                    break 'run *op;
                                }
                                // Nothing that could unwind has to drop it.
                                let result = ManuallyDrop::new(pop!());
                                clear(&mut slots[..top]);
                                stack.end_frame(base, ManuallyDrop::into_inner(result));
                                break 'returned;
                            }
                            Op::Call(argc) => {
                                let argc = *argc as usize;
                                let at = top - argc - 1;
                                left = left!();
                                if left < 0 || meter::is_over() {
                                    break 'run *op;
                                }
                                let Some(free) = fiber.frames.free() else { break 'run *op };
                                let place = &mut slots[at];
                                match place {
                                    Value::Closure(callee) if callee.first().parameters.is_exactly(argc) => {}
                                    _ => break 'run *op,
                                }
                                let Value::Closure(closure) = std::mem::take(place) else {
                                    unreachable!("just matched")
                                };
                                free.enter(&mut frame, pc as u32, closure, (base + at + 1) as u32);
                                fiber.frames.raise();
                                stack.set_height(base + top);
                                continue 'frame;
                            }
                            Op::Element { slot, index } => {
                                let Value::Vector(vector) = &slots[usize::from(*slot)] else {
                                    break 'run *op;
                                };
                                push!(vector.get(*index as usize).unwrap_or_default());
                            }
                            Op::CheckSequential { slot, .. } => {
                                let (Value::Vector(_) | Value::Nil) = &slots[*slot as usize] else {
                                    break 'run *op;
                                };
                            }
                            Op::CheckMap(slot) => {
                                let (Value::Map(_) | Value::Nil) = &slots[*slot as usize] else {
                                    break 'run *op;
                                };
                            }
                            Op::Next { slot, exit } => {
                                let Value::Cursor(cursor) = &slots[usize::from(*slot)] else {
                                    break 'run *op;
                                };
                                let next = cursor.borrow_mut().advance();
                                match next {
                                    Some(element) => push!(element),
                                    None => jump!(*exit),
                                }
                            }
                            Op::Lookup { cache, key } => {
                                let guess = &body.lookups[usize::from(*cache)];
                                let found = operations::find_at(
                                    &slots[top - 1],
                                    &body.constants[*key as usize],
                                    guess,
                                );
                                let Some(found) = found else { break 'run *op };
                                slots[top - 1].put(found);
                            }
                            Op::LookupLocal { slot, cache, key } => {
                                let guess = &body.lookups[usize::from(*cache)];
                                let map = &slots[usize::from(*slot)];
                                let found = operations::find_at(map, &body.constants[*key as usize], guess);
                                let Some(found) = found else { break 'run *op };
                                push!(found);
                            }

                            Op::Add => both_popped!(op, i64::checked_add, int),
                            Op::AddLocals { a, b } => locals!(op, a, b, i64::checked_add, int),
                            Op::AddLocal(b) => local!(op, b, i64::checked_add, int),
                            Op::AddLocalInt { a, n } => local_int!(op, a, n, i64::checked_add, int),
                            Op::AddInt(n) => popped_int!(op, n, i64::checked_add, int),
                            Op::Subtract => both_popped!(op, i64::checked_sub, int),
                            Op::SubtractLocals { a, b } => locals!(op, a, b, i64::checked_sub, int),
                            Op::SubtractLocal(b) => local!(op, b, i64::checked_sub, int),
                            Op::SubtractLocalInt { a, n } => local_int!(op, a, n, i64::checked_sub, int),
                            Op::SubtractInt(n) => popped_int!(op, n, i64::checked_sub, int),
                            Op::Multiply => both_popped!(op, i64::checked_mul, int),
                            Op::MultiplyLocals { a, b } => locals!(op, a, b, i64::checked_mul, int),
                            Op::MultiplyLocal(b) => local!(op, b, i64::checked_mul, int),
                            Op::MultiplyLocalInt { a, n } => local_int!(op, a, n, i64::checked_mul, int),
                            Op::MultiplyInt(n) => popped_int!(op, n, i64::checked_mul, int),
                            Op::Modulo => both_popped!(op, operations::small_modulo, int),
                            Op::ModuloLocals { a, b } => locals!(op, a, b, operations::small_modulo, int),
                            Op::ModuloLocal(b) => local!(op, b, operations::small_modulo, int),
                            Op::ModuloLocalInt { a, n } => {
                                local_int!(op, a, n, operations::small_modulo, int)
                            }
                            Op::ModuloInt(n) => popped_int!(op, n, operations::small_modulo, int),
                            Op::Less => both_popped!(op, |a, b| Some(a < b), test),
                            Op::LessLocals { a, b } => locals!(op, a, b, |a, b| Some(a < b), test),
                            Op::LessLocal(b) => local!(op, b, |a, b| Some(a < b), test),
                            Op::LessLocalInt { a, n } => local_int!(op, a, n, |a, b| Some(a < b), test),
                            Op::LessInt(n) => popped_int!(op, n, |a, b| Some(a < b), test),
                            Op::LessOrEqual => both_popped!(op, |a, b| Some(a <= b), test),
                            Op::LessOrEqualLocals { a, b } => locals!(op, a, b, |a, b| Some(a <= b), test),
                            Op::LessOrEqualLocal(b) => local!(op, b, |a, b| Some(a <= b), test),
                            Op::LessOrEqualLocalInt { a, n } => {
                                local_int!(op, a, n, |a, b| Some(a <= b), test)
                            }
                            Op::LessOrEqualInt(n) => popped_int!(op, n, |a, b| Some(a <= b), test),
                            Op::Greater => both_popped!(op, |a, b| Some(a > b), test),
                            Op::GreaterLocals { a, b } => locals!(op, a, b, |a, b| Some(a > b), test),
                            Op::GreaterLocal(b) => local!(op, b, |a, b| Some(a > b), test),
                            Op::GreaterLocalInt { a, n } => local_int!(op, a, n, |a, b| Some(a > b), test),
                            Op::GreaterInt(n) => popped_int!(op, n, |a, b| Some(a > b), test),
                            Op::GreaterOrEqual => both_popped!(op, |a, b| Some(a >= b), test),
                            Op::GreaterOrEqualLocals { a, b } => locals!(op, a, b, |a, b| Some(a >= b), test),
                            Op::GreaterOrEqualLocal(b) => local!(op, b, |a, b| Some(a >= b), test),
                            Op::GreaterOrEqualLocalInt { a, n } => {
                                local_int!(op, a, n, |a, b| Some(a >= b), test)
                            }
                            Op::GreaterOrEqualInt(n) => popped_int!(op, n, |a, b| Some(a >= b), test),
                            Op::Equal => both_popped!(op, |a, b| Some(a == b), test),
                            Op::EqualLocals { a, b } => locals!(op, a, b, |a, b| Some(a == b), test),
                            Op::EqualLocal(b) => local!(op, b, |a, b| Some(a == b), test),
                            Op::EqualLocalInt { a, n } => local_int!(op, a, n, |a, b| Some(a == b), test),
                            Op::EqualInt(n) => popped_int!(op, n, |a, b| Some(a == b), test),
                            Op::Not => {
                                if CHECKED {
                                    break 'run *op;
                                }
                                let value = pop!();
                                let holds = !value.is_truthy();
                                value.discard();
                                test!(holds);
                            }
                            Op::IsNil => {
                                if CHECKED {
                                    break 'run *op;
                                }
                                let value = pop!();
                                let holds = value.is_nil();
                                value.discard();
                                test!(holds);
                            }
                            Op::IncLocal(slot) => {
                                operate!(op, integer!(op, *slot as usize), 1, 0, i64::checked_add, int)
                            }
                            Op::DecLocal(slot) => {
                                operate!(op, integer!(op, *slot as usize), 1, 0, i64::checked_sub, int)
                            }
                            Op::Inc => popped_int!(op, &1, i64::checked_add, int),
                            Op::Dec => popped_int!(op, &1, i64::checked_sub, int),
                            // All by name, so that the jump to an instruction needs no look at what there is.
                            Op::Sibling(_)
                            | Op::GlobalOrNil(_)
                            | Op::DefGlobal(_)
                            | Op::DefGlobalDoc { .. }
                            | Op::JumpIfDefined { .. }
                            | Op::Var(_)
                            | Op::Data(_)
                            | Op::DataOf(_)
                            | Op::History(_)
                            | Op::Budget
                            | Op::EqualConst { .. }
                            | Op::Halt
                            | Op::Fail
                            | Op::Vector(_)
                            | Op::Map(_)
                            | Op::Record(_)
                            | Op::Set(_)
                            | Op::AppendTo(_)
                            | Op::Closure(_)
                            | Op::TailCall(_)
                            | Op::CallProgram
                            | Op::Native { .. }
                            | Op::LookupOr { .. }
                            | Op::ElementsFrom { .. }
                            | Op::KeywordArguments(_)
                            | Op::Entry { .. }
                            | Op::HasEntry { .. }
                            | Op::Cursor
                            | Op::Walk
                            | Op::EndWalk(_)
                            | Op::TaskEnter(_)
                            | Op::TaskLeave => break 'run *op,
                        }
                        continue 'run;
                    };
                    // A small integer that the next instruction takes, if it can, without its way over the stack.
                    match code.get(pc) {
                        Some(Op::Return) => {
                            left = left!() - i64::from(meter::METERED);
                            if left >= 0 {
                                clear(&mut slots[..top]);
                                stack.end_frame(base, Value::Int(n));
                                break 'returned;
                            }
                        }
                        Some(Op::Recur { count, first, target }) => {
                            let (count, first) = (*count, usize::from(*first));
                            if left!() > 0 && !meter::is_over() {
                                if count == 1 {
                                    pc += 1;
                                    jump!(*target);
                                    rebind(&mut slots[first], n);
                                    continue 'run;
                                }
                                if count == 2
                                    && let Some(Value::Int(before)) = slots.get(top.wrapping_sub(1))
                                {
                                    let before = *before;
                                    pc += 1;
                                    jump!(*target);
                                    top -= 1;
                                    rebind(&mut slots[first], before);
                                    rebind(&mut slots[first + 1], n);
                                    continue 'run;
                                }
                            }
                        }
                        _ => {}
                    }
                    push!(Value::Int(n));
                    continue 'run;
                }
                // The frame has ended; its result lies where the callee lay.
                if fiber.frames.leave_into(&mut frame) {
                    continue 'frame;
                }
                match fiber.frames.last_mut() {
                    Some(Frame::Code(_)) => unreachable!("that would be the caller"),
                    None => {
                        fuel.left = left;
                        return Ok(Some(FiberStop::Done(stack.pop())));
                    }
                    Some(Frame::Native(native)) => {
                        fuel.left = left;
                        let reentry = if left > REENTRY_STEPS {
                            fuel.open();
                            let slice = fuel.left();
                            let mut ctx = Ctx { env: &mut self.env, own: &mut fiber.own, slice };
                            let reentry = native.frame.reenter(&mut ctx, stack, &frame.closure)?;
                            fuel.close();
                            reentry
                        } else {
                            Reentry::No
                        };
                        match reentry {
                            Reentry::Call(argc) => {
                                // The same closure once more, and mostly the same body.
                                fuel.left -= REENTRY_STEPS;
                                left = fuel.left;
                                fiber.charge_stacks_with(stack.capacity())?;
                                frame.pc = 0;
                                if !frame.body().parameters.is_exactly(argc) {
                                    frame = CodeFrame::enter(stack, frame.closure.clone(), argc)?;
                                }
                                continue 'frame;
                            }
                            Reentry::Return => {
                                fuel.left -= i64::from(meter::METERED);
                                fiber.next = Some(FiberResumption::Flow(Flow::Return(stack.pop())));
                            }
                            Reentry::No => fiber.next = Some(FiberResumption::Value(stack.pop())),
                        }
                        return Ok(None);
                    }
                }
            };

            // Another instruction, with everything where others find it.
            frame.pc = pc as u32;
            stack.set_height(base + top);
            left = left!();
            fuel.left = left;
            if left < 0 {
                // No step was left for it: it is executed when there is.
                fuel.left += 1;
                frame.pc -= 1;
                fiber.frames.push_code(frame);
                return Ok(Some(FiberStop::Slice));
            }
            let done = match op {
                Op::Native { id, argc } => self.call_builtin(fiber, stack, fuel, id, argc),
                Op::Call(argc) => self.call(fiber, stack, fuel, &mut frame, argc as usize),
                Op::TailCall(argc) => self.tail_call(fiber, stack, fuel, &mut frame, argc as usize),
                op => self.perform::<CHECKED>(fiber, stack, fuel, &mut frame, op),
            };
            left = fuel.left;
            match done {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(stop)) => {
                    fiber.frames.push_code(frame);
                    return Ok(stop);
                }
                Err(error) => return Err(self.locate(error, &frame)),
            }
        }
    }

    /// The error with its place, unless it has one. The facts of the call there are useful only in the program's own text.
    #[cold]
    #[inline(never)]
    fn locate(&self, error: Error, frame: &CodeFrame) -> Error {
        if error.position().is_some() || error.definition().is_some() {
            return error;
        }
        let program = &frame.closure.module.program;
        if self.program.as_ref().is_some_and(|own| Rc::ptr_eq(own, program)) {
            return error.at(frame.position());
        }
        let error = error.without_nil_arguments();
        match frame.position().and_then(|at| program.definition_at(at)) {
            Some(definition) => error.in_definition(definition),
            // The caller has a place, then.
            None => error,
        }
    }
}

/// Gives a variable of a loop its next value; mostly it has been a number before, and only that is written.
#[inline(always)]
fn rebind(slot: &mut Value, n: i64) {
    match slot {
        Value::Int(before) => *before = n,
        other => other.put(Value::Int(n)),
    }
}

/// A frame that is higher than its code says. The value is given up, so that the loop need not be ready to drop it.
#[cold]
#[inline(never)]
fn overflow(value: Value) -> ! {
    std::mem::forget(value);
    unreachable!("code keeps to the height of its frame")
}
