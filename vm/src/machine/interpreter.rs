//! The loop that executes instructions.
//!
//! The running code frame lives in local variables; the others lie on the fiber's frame stack. A call that
//! cannot be finished inside the loop (builtins with frames, host calls, forks) goes through
//! [`native`](super::native), which says how to go on.

use super::Machine;
use super::call;
use super::fiber::{CodeFrame, Fiber, FiberId, Frame, Next};
use super::native::Settled;
use super::operations as ops;
use super::{Advanced, Args, Ctx, unbound};
use crate::builtins::{Native, arithmetic, registry};
use crate::code::{Arity, Capture, Op};
use crate::error::{Error, Result};
use crate::meter;
use crate::value::{Captures, Closure, Set, Str, Value, Vector};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::rc::Rc;

/// Why a fiber stopped, unless it failed.
pub(super) enum Stop {
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

/// Steps of one run of one fiber.
#[derive(Clone, Copy)]
pub(super) struct Fuel {
    /// Steps of this slice that are left. Below zero after an operation that cost more.
    left: i64,
    /// Steps of this slice.
    slice: i64,
    /// Steps of the program that are left beyond this slice.
    beyond: u64,
}

impl Fuel {
    /// A slice of `slice` steps of a program that may use `left` in all.
    pub(super) fn new(slice: i64, left: u64) -> Fuel {
        Fuel { left: slice, slice, beyond: left - (slice.max(0) as u64).min(left) }
    }

    /// Steps used so far.
    pub(super) fn used(&self) -> u64 {
        (self.slice - self.left) as u64
    }

    /// Tells the meter how much work the next builtin may charge.
    #[inline]
    pub(super) fn open(&self) {
        meter::set_work_limit(self.beyond.saturating_add(self.left.max(0) as u64));
    }

    /// Takes over what a builtin charged.
    #[inline]
    pub(super) fn close(&mut self) {
        let work = meter::take_work();
        self.left = self.left.saturating_sub(i64::try_from(work).unwrap_or(i64::MAX));
    }

    /// Whether the slice is used up.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.left <= 0
    }

    /// Steps left in this slice.
    pub(super) fn left(&self) -> u64 {
        self.left.max(0) as u64
    }
}

impl Machine {
    /// Runs one fiber until it stops.
    pub(super) fn run_fiber(&mut self, id: FiberId, fiber: &mut Fiber, fuel: &mut Fuel) -> Result<Stop> {
        if fiber.fork.is_some() {
            return Ok(Stop::Forked);
        }
        let result = self.run_frames(id, fiber, fuel);
        fuel.close();
        result.map_err(|error| {
            let code = fiber.frames.iter().rev().find_map(|frame| match frame {
                Frame::Code(code) => Some(code),
                Frame::Native(_) => None,
            });
            let position = code.and_then(|code| code.body.position((code.pc as usize).saturating_sub(1)));
            error.at(position)
        })
    }

    fn run_frames(&mut self, id: FiberId, fiber: &mut Fiber, fuel: &mut Fuel) -> Result<Stop> {
        loop {
            if let Some(next) = fiber.next.take() {
                match self.settle(id, fiber, fuel, next)? {
                    Settled::Code => {}
                    Settled::Stop(stop) => return Ok(stop),
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

    /// Executes code frames. `None` asks the caller to settle `fiber.next`, or to come back because
    /// builtins have been shadowed.
    ///
    /// `CHECKED` is set once a definition may hide a builtin or a global: then every instruction that stands
    /// for a name looks the name up.
    fn interpret<const CHECKED: bool>(&mut self, fiber: &mut Fiber, fuel: &mut Fuel) -> Result<Option<Stop>> {
        // The loop works on a stack and a count of its own, which it reaches without a pointer.
        let (mut stack, mut own) = (std::mem::take(&mut fiber.stack), *fuel);
        let result = self.execute::<CHECKED>(fiber, &mut stack, &mut own);
        (fiber.stack, *fuel) = (stack, own);
        result
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each instruction, most of one line")]
    #[inline(always)]
    fn execute<const CHECKED: bool>(
        &mut self,
        fiber: &mut Fiber,
        stack: &mut Vec<Value>,
        fuel: &mut Fuel,
    ) -> Result<Option<Stop>> {
        let Some(Frame::Code(mut frame)) = fiber.frames.pop() else {
            unreachable!("settle leaves a code frame on top")
        };
        'frame: loop {
            let closure = &*frame.closure;
            let body = &*frame.body;
            let code = &body.code[..];
            let constants = &body.constants[..];
            let base = frame.base as usize;
            let mut pc = frame.pc as usize;

            // Fails with the position of the running instruction.
            macro_rules! fail {
                ($error:expr) => {{
                    let error: Error = $error;
                    return Err(error.at(body.position(pc - 1)));
                }};
            }
            macro_rules! tri {
                ($result:expr) => {
                    match $result {
                        Ok(value) => value,
                        Err(error) => fail!(error),
                    }
                };
            }
            macro_rules! pop {
                () => {
                    stack.pop().unwrap_or_default()
                };
            }
            // Goes the way of a truth value: pushes it, or takes the branch right behind at once, for its step.
            macro_rules! test {
                ($holds:expr) => {{
                    let holds = $holds;
                    if let Some(&Op::JumpIfFalse(target)) = code.get(pc) {
                        fuel.left -= 1;
                        pc = if holds { pc + 1 } else { target as usize };
                    } else {
                        stack.push(Value::bool(holds));
                    }
                }};
            }
            // Suspends the frame and leaves the loop.
            macro_rules! leave {
                ($stop:expr) => {{
                    frame.pc = pc as u32;
                    fiber.frames.push(Frame::Code(frame));
                    return Ok($stop);
                }};
            }
            // Hands a call over to `settle`.
            macro_rules! call_slowly {
                ($callee:expr, $args:expr) => {{
                    let (callee, args) = ($callee, $args);
                    fiber.next = Some(Next::Call(callee, args));
                    leave!(None)
                }};
            }
            // A user definition of a builtin's name takes precedence (language.md 4.2).
            macro_rules! unless_shadowed {
                ($name:literal, $argc:expr) => {
                    if CHECKED {
                        if let Some(callee) = self.shadow_of(fiber.overlay.as_deref(), $name) {
                            let args = stack.drain(stack.len() - $argc..).collect();
                            call_slowly!(callee, args);
                        }
                    }
                };
            }
            // A user definition of the operator's name takes these operands, the last `$popped` of them from the stack.
            macro_rules! unless_defined {
                ($name:literal, $popped:expr, [$($operand:expr),*]) => {
                    if CHECKED && let Some(callee) = self.shadow_of(fiber.overlay.as_deref(), $name) {
                        let args = Args::from_iter([$($operand),*]);
                        let left = stack.len() - $popped;
                        cut(stack, left);
                        call_slowly!(callee, args);
                    }
                };
            }
            // `(op a b)` of any two operands, of which the last `$popped` are popped. `$finish` does something with the
            // result of the fast path for small integers, `$slow` takes everything else.
            macro_rules! operate {
                ($name:literal, $popped:expr, $a:expr, $b:expr, $fast:expr, $slow:path, $finish:ident) => {{
                    unless_defined!($name, $popped, [$a.clone(), $b.clone()]);
                    let fast = match ($a, $b) {
                        (Value::Int(a), Value::Int(b)) => $fast(*a, *b),
                        _ => None,
                    };
                    match fast {
                        Some(fast) => {
                            // Only integers lie there, which need no dropping.
                            let popped: usize = $popped;
                            for _ in 0..popped {
                                std::mem::forget(stack.pop());
                            }
                            $finish!(fast);
                        }
                        None => {
                            let result = tri!(slowly(fuel, $slow, $a, $b));
                            let left = stack.len() - $popped;
                            cut(stack, left);
                            stack.push(result);
                        }
                    }
                }};
            }
            macro_rules! push {
                ($n:expr) => {
                    stack.push(Value::Int($n))
                };
            }
            // The four places where operands come from.
            macro_rules! both_popped {
                ($name:literal, $fast:expr, $slow:path, $finish:ident) => {{
                    let at = stack.len() - 2;
                    operate!($name, 2, &stack[at], &stack[at + 1], $fast, $slow, $finish)
                }};
            }
            macro_rules! locals {
                ($name:literal, $a:expr, $b:expr, $fast:expr, $slow:path, $finish:ident) => {{
                    let (a, b) = (base + usize::from($a), base + usize::from($b));
                    operate!($name, 0, &stack[a], &stack[b], $fast, $slow, $finish)
                }};
            }
            macro_rules! local {
                ($name:literal, $b:expr, $fast:expr, $slow:path, $finish:ident) => {{
                    let (a, b) = (stack.len() - 1, base + $b as usize);
                    operate!($name, 1, &stack[a], &stack[b], $fast, $slow, $finish)
                }};
            }
            macro_rules! local_int {
                ($name:literal, $a:expr, $n:expr, $fast:expr, $slow:path, $finish:ident) => {{
                    let (a, n) = (base + usize::from($a), Value::Int(i64::from($n)));
                    operate!($name, 0, &stack[a], &n, $fast, $slow, $finish)
                }};
            }
            macro_rules! int {
                ($name:literal, $n:expr, $fast:expr, $slow:path, $finish:ident) => {{
                    let (a, n) = (stack.len() - 1, Value::Int(i64::from($n)));
                    operate!($name, 1, &stack[a], &n, $fast, $slow, $finish)
                }};
            }

            loop {
                fuel.left -= 1;
                if fuel.left < 0 {
                    fuel.left += 1;
                    leave!(Some(Stop::Slice));
                }
                let op = code[pc];
                pc += 1;
                match op {
                    Op::Nil => stack.push(Value::Nil),
                    Op::True => stack.push(Value::True),
                    Op::False => stack.push(Value::False),
                    Op::Int(n) => stack.push(Value::Int(i64::from(n))),
                    Op::Const(n) => stack.push(constants[n as usize].clone()),
                    Op::Local(slot) => {
                        let value = stack[base + slot as usize].clone();
                        stack.push(value);
                    }
                    Op::TakeLocal(slot) => {
                        let value = std::mem::take(&mut stack[base + slot as usize]);
                        stack.push(value);
                    }
                    Op::SetLocal(slot) => {
                        let value = pop!();
                        stack[base + slot as usize].put(value);
                    }
                    Op::Capture(n) => stack.push(closure.captures.values()[n as usize].clone()),
                    Op::SelfFn => stack.push(Value::Closure(frame.closure.clone())),
                    Op::Sibling(function) => {
                        let sibling =
                            Closure::new(closure.module.clone(), function, closure.captures.clone());
                        stack.push(Value::Closure(sibling));
                    }
                    Op::Global(n) | Op::GlobalOrNil(n) => {
                        let slot = closure.module.slots[n as usize];
                        let overlaid = if CHECKED { overlaid(fiber.overlay.as_deref(), slot) } else { None };
                        match overlaid.or_else(|| self.env.namespace.value(slot)) {
                            Some(value) => stack.push(value.clone()),
                            None => {
                                let name = &closure.module.program.globals[n as usize];
                                match registry().find(name) {
                                    Some(builtin) => stack.push(ops::builtin_value(builtin)),
                                    None if matches!(op, Op::GlobalOrNil(_)) => stack.push(Value::Nil),
                                    None => fail!(unbound::runtime_error(name, &self.env.namespace)),
                                }
                            }
                        }
                    }
                    Op::DefGlobal(n) => {
                        let value = pop!();
                        let slot = closure.module.slots[n as usize];
                        stack.push(self.define(fiber.overlay.as_mut(), slot, value, None));
                        if !CHECKED && self.env.namespace.shadows_builtins() {
                            leave!(None);
                        }
                    }
                    Op::DefGlobalDoc { global, info } => {
                        let value = pop!();
                        let slot = closure.module.slots[usize::from(global)];
                        let info = closure.module.program.defs[info as usize].clone();
                        stack.push(self.define(fiber.overlay.as_mut(), slot, value, Some(info)));
                        if !CHECKED && self.env.namespace.shadows_builtins() {
                            leave!(None);
                        }
                    }
                    Op::JumpIfDefined { global, target } => {
                        let slot = closure.module.slots[usize::from(global)];
                        let overlaid = overlaid(fiber.overlay.as_deref(), slot);
                        if overlaid.is_some() || self.env.namespace.value(slot).is_some() {
                            pc = target as usize;
                        }
                    }
                    Op::Var(n) => {
                        let name = &closure.module.program.globals[n as usize];
                        stack.push(Value::Var(Str::new(name)));
                    }
                    Op::Data(key) => {
                        let value = tri!(ops::data(&self.env, &constants[key as usize]));
                        stack.push(value);
                    }
                    Op::History(n) => stack.push(self.env.history[usize::from(n) - 1].clone()),
                    Op::Budget => stack.push(self.env.budget.clone()),

                    Op::Pop => pop!().discard(),
                    Op::Dup => {
                        let value = stack.last().cloned().unwrap_or_default();
                        stack.push(value);
                    }
                    Op::Slide(n) => {
                        let top = pop!();
                        let left = stack.len() - n as usize;
                        cut(stack, left);
                        stack.push(top);
                    }
                    Op::Jump(target) => pc = target as usize,
                    Op::Loop(target) => {
                        pc = target as usize;
                        tri!(meter::check_memory());
                    }
                    Op::Recur { count, first, target } => {
                        pc = target as usize;
                        let (first, count) = (base + usize::from(first), usize::from(count));
                        let from = stack.len() - count;
                        let (below, values) = stack.split_at_mut(from);
                        for (slot, value) in below[first..first + count].iter_mut().zip(values) {
                            slot.put(std::mem::take(value));
                        }
                        // Nothing is left there that would have to be dropped.
                        while stack.len() > from {
                            std::mem::forget(stack.pop());
                        }
                        tri!(meter::check_memory());
                    }
                    Op::JumpIfFalse(target) => {
                        let value = pop!();
                        if !value.is_truthy() {
                            pc = target as usize;
                        }
                        value.discard();
                    }
                    Op::JumpIfTrue(target) => {
                        let value = pop!();
                        if value.is_truthy() {
                            pc = target as usize;
                        }
                        value.discard();
                    }
                    Op::JumpIfFalseKeep(target) => {
                        if stack.last().is_some_and(Value::is_truthy) {
                            stack.pop();
                        } else {
                            pc = target as usize;
                        }
                    }
                    Op::JumpIfTrueKeep(target) => {
                        if stack.last().is_some_and(Value::is_truthy) {
                            pc = target as usize;
                        } else {
                            stack.pop();
                        }
                    }
                    Op::JumpIfNilKeep(target) => {
                        if stack.last().is_some_and(Value::is_nil) {
                            pc = target as usize;
                        }
                    }
                    Op::JumpIfNil(target) => {
                        if pop!().is_nil() {
                            pc = target as usize;
                        }
                    }
                    Op::EqualConst { slot, key } => {
                        fuel.open();
                        let same =
                            crate::value::equal(&stack[base + usize::from(slot)], &constants[key as usize]);
                        fuel.close();
                        stack.push(Value::bool(same));
                    }
                    Op::Return => {
                        let value = pop!();
                        cut(stack, base - 1);
                        if let Some(Frame::Native(_)) = fiber.frames.last() {
                            if self.give_back(fiber, stack, fuel, value, &mut frame)? {
                                continue 'frame;
                            }
                            return Ok(None);
                        }
                        let Some(Frame::Code(caller)) = fiber.frames.pop() else {
                            return Ok(Some(Stop::Done(value)));
                        };
                        stack.push(value);
                        frame = caller;
                        continue 'frame;
                    }
                    Op::Halt => {
                        let value = pop!();
                        leave!(Some(Stop::Halt(value)));
                    }
                    Op::Fail => {
                        let value = pop!();
                        fuel.open();
                        let shown = crate::print::bounded(&value, 50);
                        fuel.close();
                        let error = Error::fail(value, shown).at(body.position(pc - 1));
                        leave!(Some(Stop::Fail(error)));
                    }

                    Op::Vector(n) => {
                        tri!(meter::reserve(n as usize * size_of::<Value>()));
                        let items: Vector = stack.drain(stack.len() - n as usize..).collect();
                        stack.push(Value::Vector(items));
                    }
                    Op::Map(n) => {
                        fuel.open();
                        let from = stack.len() - 2 * n as usize;
                        let map = self.env.layouts.map(&mut stack[from..]);
                        stack.truncate(from);
                        fuel.close();
                        stack.push(Value::Map(map));
                        tri!(meter::check_memory());
                    }
                    Op::Set(n) => {
                        fuel.open();
                        let set: Set = stack.drain(stack.len() - n as usize..).collect();
                        fuel.close();
                        stack.push(Value::Set(set));
                        tri!(meter::check_memory());
                    }
                    Op::AppendTo(slot) => {
                        let value = pop!();
                        if let Value::Vector(vector) = &mut stack[base + slot as usize] {
                            vector.push(value);
                        }
                        tri!(meter::check_memory());
                    }

                    Op::Closure(function) => {
                        let captures = &closure.module.program.functions[function as usize].captures;
                        let mut values = SmallVec::with_capacity(captures.len());
                        for capture in captures {
                            values.push(match *capture {
                                Capture::Local(slot) => stack[base + slot as usize].clone(),
                                Capture::Capture(n) => closure.captures.values()[n as usize].clone(),
                                Capture::SelfFn => Value::Closure(frame.closure.clone()),
                                Capture::Sibling(function) => Value::Closure(Closure::new(
                                    closure.module.clone(),
                                    function,
                                    closure.captures.clone(),
                                )),
                                Capture::Nothing => Value::Nil,
                            });
                        }
                        let made = Closure::new(closure.module.clone(), function, Captures::new(values));
                        stack.push(Value::Closure(made));
                    }
                    Op::Call(argc) | Op::TailCall(argc) => {
                        let argc = argc as usize;
                        let at = stack.len() - argc - 1;
                        if !matches!(stack[at], Value::Closure(_)) {
                            // Callees without frames are done here.
                            let callee = std::mem::take(&mut stack[at]);
                            let args = stack.drain(at + 1..).collect();
                            stack.pop();
                            fuel.open();
                            let slice = fuel.left();
                            let mut ctx = Ctx { env: &mut self.env, prints: &mut fiber.prints, slice };
                            let done = call::call_now(&mut ctx, &callee, args);
                            fuel.close();
                            match tri!(done) {
                                call::CallNow::Done(value) => {
                                    stack.push(value);
                                    tri!(meter::check_memory());
                                    continue;
                                }
                                call::CallNow::NeedsFrame(args) => call_slowly!(callee, args),
                            }
                        }
                        let Value::Closure(callee) = std::mem::take(&mut stack[at]) else {
                            unreachable!("just matched")
                        };
                        let body = tri!(enter(stack, &callee, argc));
                        let mut new_base = at + 1;
                        if matches!(op, Op::TailCall(_)) {
                            // The arguments move down onto the frame that is given up.
                            let args = stack.len() - new_base;
                            let below = base;
                            for i in 0..args {
                                stack.swap(below + i, new_base + i);
                            }
                            cut(stack, below + args);
                            new_base = below;
                            frame = CodeFrame { closure: callee, body, pc: 0, base: new_base as u32 };
                        } else {
                            frame.pc = pc as u32;
                            let new = CodeFrame { closure: callee, body, pc: 0, base: new_base as u32 };
                            fiber.frames.push(Frame::Code(std::mem::replace(&mut frame, new)));
                            fiber.settle_with(stack.capacity())?;
                        }
                        continue 'frame;
                    }
                    Op::Native { id, argc } => {
                        let builtin = registry().get(id);
                        let argc = usize::from(argc);
                        let at = stack.len() - argc;
                        if CHECKED
                            && let Some(callee) = self.shadow_of(fiber.overlay.as_deref(), builtin.name)
                        {
                            let args = stack.drain(at..).collect();
                            call_slowly!(callee, args);
                        }
                        tri!(builtin.check_arity(argc));
                        match builtin.native {
                            Native::Plain(run) => {
                                fuel.open();
                                let slice = fuel.left();
                                let mut ctx = Ctx { env: &mut self.env, prints: &mut fiber.prints, slice };
                                let result = run(&mut ctx, &mut stack[at..]);
                                fuel.close();
                                let result = tri!(result);
                                stack.truncate(at);
                                stack.push(result);
                                tri!(meter::check_memory());
                            }
                            _ => {
                                let args = stack.drain(at..).collect();
                                call_slowly!(Value::Builtin(builtin), args);
                            }
                        }
                    }

                    Op::Add => both_popped!("+", i64::checked_add, arithmetic::add, push),
                    Op::AddLocals { a, b } => locals!("+", a, b, i64::checked_add, arithmetic::add, push),
                    Op::AddLocal(b) => local!("+", b, i64::checked_add, arithmetic::add, push),
                    Op::AddLocalInt { a, n } => {
                        local_int!("+", a, n, i64::checked_add, arithmetic::add, push)
                    }
                    Op::AddInt(n) => int!("+", n, i64::checked_add, arithmetic::add, push),
                    Op::Subtract => both_popped!("-", i64::checked_sub, arithmetic::subtract, push),
                    Op::SubtractLocals { a, b } => {
                        locals!("-", a, b, i64::checked_sub, arithmetic::subtract, push)
                    }
                    Op::SubtractLocal(b) => local!("-", b, i64::checked_sub, arithmetic::subtract, push),
                    Op::SubtractLocalInt { a, n } => {
                        local_int!("-", a, n, i64::checked_sub, arithmetic::subtract, push)
                    }
                    Op::SubtractInt(n) => int!("-", n, i64::checked_sub, arithmetic::subtract, push),
                    Op::Multiply => both_popped!("*", i64::checked_mul, arithmetic::multiply, push),
                    Op::MultiplyLocals { a, b } => {
                        locals!("*", a, b, i64::checked_mul, arithmetic::multiply, push)
                    }
                    Op::MultiplyLocal(b) => local!("*", b, i64::checked_mul, arithmetic::multiply, push),
                    Op::MultiplyLocalInt { a, n } => {
                        local_int!("*", a, n, i64::checked_mul, arithmetic::multiply, push)
                    }
                    Op::MultiplyInt(n) => int!("*", n, i64::checked_mul, arithmetic::multiply, push),
                    Op::Less => both_popped!("<", |a, b| Some(a < b), ops::less, test),
                    Op::LessLocals { a, b } => locals!("<", a, b, |a, b| Some(a < b), ops::less, test),
                    Op::LessLocal(b) => local!("<", b, |a, b| Some(a < b), ops::less, test),
                    Op::LessLocalInt { a, n } => local_int!("<", a, n, |a, b| Some(a < b), ops::less, test),
                    Op::LessInt(n) => int!("<", n, |a, b| Some(a < b), ops::less, test),
                    Op::LessOrEqual => both_popped!("<=", |a, b| Some(a <= b), ops::less_or_equal, test),
                    Op::LessOrEqualLocals { a, b } => {
                        locals!("<=", a, b, |a, b| Some(a <= b), ops::less_or_equal, test)
                    }
                    Op::LessOrEqualLocal(b) => local!("<=", b, |a, b| Some(a <= b), ops::less_or_equal, test),
                    Op::LessOrEqualLocalInt { a, n } => {
                        local_int!("<=", a, n, |a, b| Some(a <= b), ops::less_or_equal, test)
                    }
                    Op::LessOrEqualInt(n) => int!("<=", n, |a, b| Some(a <= b), ops::less_or_equal, test),
                    Op::Greater => both_popped!(">", |a, b| Some(a > b), ops::greater, test),
                    Op::GreaterLocals { a, b } => locals!(">", a, b, |a, b| Some(a > b), ops::greater, test),
                    Op::GreaterLocal(b) => local!(">", b, |a, b| Some(a > b), ops::greater, test),
                    Op::GreaterLocalInt { a, n } => {
                        local_int!(">", a, n, |a, b| Some(a > b), ops::greater, test)
                    }
                    Op::GreaterInt(n) => int!(">", n, |a, b| Some(a > b), ops::greater, test),
                    Op::GreaterOrEqual => {
                        both_popped!(">=", |a, b| Some(a >= b), ops::greater_or_equal, test)
                    }
                    Op::GreaterOrEqualLocals { a, b } => {
                        locals!(">=", a, b, |a, b| Some(a >= b), ops::greater_or_equal, test)
                    }
                    Op::GreaterOrEqualLocal(b) => {
                        local!(">=", b, |a, b| Some(a >= b), ops::greater_or_equal, test)
                    }
                    Op::GreaterOrEqualLocalInt { a, n } => {
                        local_int!(">=", a, n, |a, b| Some(a >= b), ops::greater_or_equal, test)
                    }
                    Op::GreaterOrEqualInt(n) => {
                        int!(">=", n, |a, b| Some(a >= b), ops::greater_or_equal, test)
                    }
                    Op::Equal => both_popped!("=", |a, b| Some(a == b), ops::equal, test),
                    Op::EqualLocals { a, b } => locals!("=", a, b, |a, b| Some(a == b), ops::equal, test),
                    Op::EqualLocal(b) => local!("=", b, |a, b| Some(a == b), ops::equal, test),
                    Op::EqualLocalInt { a, n } => {
                        local_int!("=", a, n, |a, b| Some(a == b), ops::equal, test)
                    }
                    Op::EqualInt(n) => int!("=", n, |a, b| Some(a == b), ops::equal, test),
                    Op::Not => {
                        unless_shadowed!("not", 1);
                        let value = pop!();
                        stack.push(Value::bool(!value.is_truthy()));
                    }
                    Op::IsNil => {
                        unless_shadowed!("nil?", 1);
                        let value = pop!();
                        stack.push(Value::bool(value.is_nil()));
                    }
                    Op::Inc => {
                        unless_shadowed!("inc", 1);
                        let value = pop!();
                        stack.push(tri!(ops::increment(&value, 1)));
                    }
                    Op::Dec => {
                        unless_shadowed!("dec", 1);
                        let value = pop!();
                        stack.push(tri!(ops::increment(&value, -1)));
                    }
                    Op::IncLocal(slot) => {
                        let at = base + slot as usize;
                        unless_defined!("inc", 0, [stack[at].clone()]);
                        let sum = match &stack[at] {
                            Value::Int(n) if *n < i64::MAX => Value::Int(n + 1),
                            other => tri!(ops::increment(other, 1)),
                        };
                        stack.push(sum);
                    }
                    Op::DecLocal(slot) => {
                        let at = base + slot as usize;
                        unless_defined!("dec", 0, [stack[at].clone()]);
                        let difference = match &stack[at] {
                            Value::Int(n) if *n > i64::MIN => Value::Int(n - 1),
                            other => tri!(ops::increment(other, -1)),
                        };
                        stack.push(difference);
                    }
                    Op::Lookup { cache, key } => {
                        let map = pop!();
                        let (key, guess) = (&constants[key as usize], &body.lookups[usize::from(cache)]);
                        stack.push(ops::lookup(fuel, &map, key, guess).unwrap_or_default());
                    }
                    Op::LookupLocal { slot, cache, key } => {
                        let map = &stack[base + usize::from(slot)];
                        let (key, guess) = (&constants[key as usize], &body.lookups[usize::from(cache)]);
                        let found = ops::lookup(fuel, map, key, guess).unwrap_or_default();
                        stack.push(found);
                    }
                    Op::LookupOr { cache, key } => {
                        let default = pop!();
                        let map = pop!();
                        let (key, guess) = (&constants[key as usize], &body.lookups[usize::from(cache)]);
                        stack.push(ops::lookup(fuel, &map, key, guess).unwrap_or(default));
                    }

                    Op::CheckSequential(slot) => {
                        fuel.open();
                        let checked = ops::check_sequential(&mut stack[base + slot as usize]);
                        fuel.close();
                        tri!(checked);
                    }
                    Op::Element { slot, index } => {
                        let element = match &stack[base + usize::from(slot)] {
                            Value::Vector(vector) => vector.get(index as usize).unwrap_or_default(),
                            _ => Value::Nil,
                        };
                        stack.push(element);
                    }
                    Op::ElementsFrom { slot, from } => {
                        let rest = match &stack[base + usize::from(slot)] {
                            Value::Vector(vector) => {
                                tri!(meter::reserve(vector.len() * size_of::<Value>()));
                                vector.slice(from as usize, vector.len())
                            }
                            _ => Vector::new(),
                        };
                        stack.push(Value::Vector(rest));
                    }
                    Op::CheckMap(slot) => tri!(ops::check_map(&stack[base + slot as usize])),
                    Op::KeywordArguments(slot) => {
                        fuel.open();
                        let made = ops::keyword_arguments(&mut stack[base + slot as usize]);
                        fuel.close();
                        tri!(made);
                    }
                    Op::Entry { slot, key } => {
                        fuel.open();
                        let found = ops::entry(&stack[base + usize::from(slot)], &constants[key as usize]);
                        fuel.close();
                        stack.push(found.unwrap_or_default());
                    }
                    Op::HasEntry { slot, key } => {
                        fuel.open();
                        let found = ops::entry(&stack[base + usize::from(slot)], &constants[key as usize]);
                        fuel.close();
                        stack.push(Value::bool(found.is_some()));
                    }

                    Op::Cursor => {
                        let collection = pop!();
                        fuel.open();
                        let cursor = collection.cursor();
                        fuel.close();
                        match cursor {
                            Some(cursor) => stack.push(Value::Cursor(Rc::new(RefCell::new(cursor)))),
                            None => fail!(Error::argument_types("seq", &[collection])),
                        }
                        tri!(meter::check_memory());
                    }
                    Op::Next { slot, exit } => {
                        let next = match &stack[base + usize::from(slot)] {
                            Value::Cursor(cursor) => cursor.borrow_mut().advance(),
                            _ => None,
                        };
                        match next {
                            Some(element) => stack.push(element),
                            None => pc = exit as usize,
                        }
                    }

                    Op::TaskEnter(target) => {
                        let id = pop!();
                        fuel.open();
                        let id = ops::task_id(&id);
                        fuel.close();
                        let id = tri!(id);
                        match self.env.journal.as_ref().and_then(|journal| journal.get(&id)) {
                            Some(stored) => {
                                stack.push(stored.clone());
                                pc = target as usize;
                            }
                            None => stack.push(id),
                        }
                    }
                    Op::TaskLeave => {
                        let value = pop!();
                        let id = pop!();
                        if let Some(journal) = &mut self.env.journal {
                            journal.insert(id, value.clone());
                        }
                        stack.push(value);
                    }
                }
            }
        }
    }

    /// Hands the result of `frame` to the builtin on top of the frame stack. If all that wants is to call a closure, `frame`
    /// becomes that call's, and the loop goes on with it; everything else is left to [`settle`](Machine::settle), which
    /// charges the same. Whether the loop goes on.
    fn give_back(
        &mut self,
        fiber: &mut Fiber,
        stack: &mut Vec<Value>,
        fuel: &mut Fuel,
        result: Value,
        frame: &mut CodeFrame,
    ) -> Result<bool> {
        let Some(Frame::Native(call)) = fiber.frames.last_mut() else {
            unreachable!("the caller has seen it")
        };
        if fuel.is_empty() {
            fiber.next = Some(Next::Value(result));
            return Ok(false);
        }
        fuel.left -= 1;
        fuel.open();
        let mut ctx = Ctx { env: &mut self.env, prints: &mut fiber.prints, slice: fuel.left() };
        let next = call.frame.advance(&mut ctx, result, stack)?;
        fuel.close();
        meter::check_memory()?;
        let (callee, argc) = match next {
            Advanced::Called(callee, argc) => (callee, argc),
            Advanced::Flow(flow) => {
                fiber.next = Some(Next::Flow(flow));
                return Ok(false);
            }
        };
        if fuel.is_empty() {
            let args = stack.drain(stack.len() - argc..).collect();
            stack.pop();
            fiber.next = Some(Next::Call(Value::Closure(callee), args));
            return Ok(false);
        }
        fuel.left -= 1;
        let parameters = frame.body.parameters;
        if Rc::ptr_eq(&callee, &frame.closure) && !parameters.rest && parameters.required as usize == argc {
            // The same body once more.
            frame.pc = 0;
            frame.base = (stack.len() - argc) as u32;
        } else {
            *frame = CodeFrame::enter(stack, callee, argc)?;
        }
        fiber.settle_with(stack.capacity())?;
        Ok(true)
    }

    /// The user's value for a builtin's name, if there is one.
    fn shadow_of(&self, overlay: Option<&super::fiber::Overlay>, name: &str) -> Option<Value> {
        if !self.env.namespace.shadows_builtins() && overlay.is_none_or(|overlay| overlay.is_empty()) {
            return None;
        }
        let slot = self.env.namespace.find_slot(name)?;
        overlaid(overlay, slot).or_else(|| self.env.namespace.value(slot)).cloned()
    }

    /// Stores a definition and gives its var. In a branch it is stored for that branch only (language.md 3.12).
    fn define(
        &mut self,
        overlay: Option<&mut Rc<super::fiber::Overlay>>,
        slot: u32,
        value: Value,
        info: Option<Rc<crate::code::DefInfo>>,
    ) -> Value {
        let var = Value::Var(Str::new(self.env.namespace.name(slot)));
        match overlay {
            Some(overlay) => {
                Rc::make_mut(overlay).insert(slot, value);
            }
            None => {
                let before = self.env.namespace.set(slot, Some(super::Binding { value, info }));
                self.env.undo.push((slot, before));
                meter::charge_memory(UNDO_BYTES);
            }
        }
        var
    }
}

/// What an entry of the undo log stands for.
const UNDO_BYTES: usize = 40;

#[inline]
fn overlaid(overlay: Option<&super::fiber::Overlay>, slot: u32) -> Option<&Value> {
    overlay.and_then(|overlay| overlay.get(&slot))
}

/// Finds the body for `argc` arguments on top of the stack and packs surplus ones into a vector.
#[inline(always)]
pub(super) fn enter(stack: &mut Vec<Value>, callee: &Closure, argc: usize) -> Result<Rc<Arity>> {
    let function = callee.code();
    let Some(body) = function.body_for(argc) else {
        return Err(ops::wrong_arity(function, argc));
    };
    if body.parameters.rest {
        pack(stack, argc - body.parameters.required as usize)?;
    }
    Ok(body.clone())
}

/// Makes one vector of the last `surplus` values.
#[cold]
#[inline(never)]
fn pack(stack: &mut Vec<Value>, surplus: usize) -> Result<()> {
    meter::reserve(surplus * size_of::<Value>())?;
    let rest: Vec<Value> = stack.drain(stack.len() - surplus..).collect();
    stack.push(Value::Vector(Vector::from_vec(rest)));
    Ok(())
}

/// Drops all values from `len` on.
#[inline(always)]
fn cut(stack: &mut Vec<Value>, len: usize) {
    while stack.len() > len {
        if let Some(value) = stack.pop() {
            value.discard();
        }
    }
}

/// An operation on anything but small integers.
#[cold]
#[inline(never)]
fn slowly(
    fuel: &mut Fuel,
    operation: fn(&Value, &Value) -> Result<Value>,
    a: &Value,
    b: &Value,
) -> Result<Value> {
    fuel.open();
    let result = operation(a, b);
    fuel.close();
    let result = result?;
    meter::check_memory()?;
    Ok(result)
}
