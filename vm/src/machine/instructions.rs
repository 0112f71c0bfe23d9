//! The instructions that the [loop](super::interpreter) is too narrow for.
//!
//! They work on the state in memory: the value stack, and the frame, whose `pc` is after the running instruction.

use super::builtin::{Builtin, Native};
use super::fiber::{CodeFrame, EndlessWalk, Fiber, FiberResumption, NativeCall, Overlay};
use super::fuel::Fuel;
use super::interpreter::FiberStop;
use super::operations::{self, Binary, Operands};
use super::program_call::ProgramCall;
use super::stack::Stack;
use super::{Args, Ctx, Machine, ctx, unbound_names};
use crate::code::{Capture, DefInfo, Op, bare_name};
use crate::error::{Error, Reason, Result};
use crate::meter;
use crate::value::{BuiltinId, Captures, Closure, Set, Str, Value, Vector};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::rc::Rc;

/// Whether the loop continues, or why it is left: as [`Machine::interpret`] says.
type LoopResult = Result<ControlFlow<Option<FiberStop>>>;

const ON: LoopResult = Ok(ControlFlow::Continue(()));

/// Bytes charged for an entry of the undo log.
pub(super) const UNDO_BYTES: usize = 40;

/// Runs an operation that charges its own work.
macro_rules! metered {
    ($fuel:ident, $run:expr) => {{
        $fuel.open();
        let result = $run;
        $fuel.close();
        result
    }};
}

impl Machine {
    /// Calls a builtin with the `argc` values on top.
    pub(super) fn call_builtin(
        &mut self,
        fiber: &mut Fiber,
        stack: &mut Stack,
        fuel: &mut Fuel,
        id: BuiltinId,
        argc: u16,
    ) -> LoopResult {
        let library = self.env.namespace.library();
        let builtin = library.get(id);
        let argc = usize::from(argc);
        let at = stack.height() - argc;
        if self.may_shadow(fiber.overlay.as_deref())
            && let Some(callee) = self.shadow_of(fiber.overlay.as_deref(), builtin.name)
        {
            return hand_over(fiber, callee, stack.take_from(at));
        }
        library.check_arity(builtin, argc)?;
        let Native::Plain(run) = builtin.native else {
            return hand_over(fiber, library.function(id), stack.take_from(at));
        };
        let mut ctx = Ctx { env: &mut self.env, own: &mut fiber.own, slice: fuel.left() };
        match metered!(fuel, run(&mut ctx, stack.values_from(at))) {
            Ok(result) => {
                stack.cut(at);
                stack.push(result);
            }
            Err(error) => {
                if library.series_function(builtin, stack.values_from(at)).is_some() {
                    return hand_over(fiber, library.function(id), stack.take_from(at));
                }
                let args = stack.values_from(at);
                return Err(of_call(library.refused(error, args), builtin, args));
            }
        }
        meter::check_memory()?;
        ON
    }

    /// Calls the callee under the `argc` values on top.
    pub(super) fn call(
        &mut self,
        fiber: &mut Fiber,
        stack: &mut Stack,
        fuel: &mut Fuel,
        frame: &mut CodeFrame,
        argc: usize,
    ) -> LoopResult {
        let at = stack.height() - argc - 1;
        if let Some(callee) = stack.take_closure(at) {
            meter::check_memory()?;
            fiber.enter(frame, stack, callee, argc)?;
            return ON;
        }
        // Callees without frames are done here.
        let args = stack.take_from(at + 1);
        let callee = stack.pop();
        let mut ctx = Ctx { env: &mut self.env, own: &mut fiber.own, slice: fuel.left() };
        match metered!(fuel, ctx::call_now(&mut ctx, &callee, args))? {
            ctx::CallNow::Done(value) => stack.push(value),
            ctx::CallNow::NeedsFrame(args) => return hand_over(fiber, callee, args),
        }
        meter::check_memory()?;
        ON
    }

    /// As [`call`](Machine::call), giving `frame` up if the callee is a closure.
    pub(super) fn tail_call(
        &mut self,
        fiber: &mut Fiber,
        stack: &mut Stack,
        fuel: &mut Fuel,
        frame: &mut CodeFrame,
        argc: usize,
    ) -> LoopResult {
        let at = stack.height() - argc - 1;
        let Some(callee) = stack.take_closure(at) else {
            return self.call(fiber, stack, fuel, frame, argc);
        };
        meter::check_memory()?;
        let mut called = CodeFrame::enter(stack, callee, argc)?;
        // The arguments move down onto the frame that is given up.
        stack.move_down(at + 1, frame.base as usize);
        called.base = frame.base;
        *frame = called;
        ON
    }

    /// Executes any other instruction; see [`Machine::interpret`] for `CHECKED`.
    #[expect(clippy::too_many_lines, reason = "one arm for each instruction")]
    #[inline(never)]
    pub(super) fn perform<const CHECKED: bool>(
        &mut self,
        fiber: &mut Fiber,
        stack: &mut Stack,
        fuel: &mut Fuel,
        frame: &mut CodeFrame,
        op: Op,
    ) -> LoopResult {
        let base = frame.base as usize;
        let closure = &*frame.closure;
        let body = frame.body();
        let constants = &body.constants[..];
        match op {
            Op::Sibling(function) => {
                let sibling = Closure::new(closure.module.clone(), function, closure.captures.clone());
                stack.push(Value::Closure(sibling));
                meter::check_memory()?;
            }
            Op::Global(n) | Op::GlobalOrNil(n) => {
                let slot = closure.module.slots[n as usize];
                let overlaid = if CHECKED { overlaid(fiber.overlay.as_deref(), slot) } else { None };
                match overlaid.or_else(|| self.env.namespace.value(slot)) {
                    Some(value) => stack.push(value.clone()),
                    None => {
                        let name = &closure.module.program.globals[n as usize];
                        match self.env.namespace.library().id(name) {
                            Some(id) => stack.push(self.env.namespace.library().value(id)),
                            None if matches!(op, Op::GlobalOrNil(_)) => stack.push(Value::Nil),
                            None => {
                                return Err(unbound_names::runtime_error(
                                    bare_name(name),
                                    &self.env.namespace,
                                ));
                            }
                        }
                    }
                }
            }
            Op::DefGlobal(n) => {
                let value = stack.pop();
                let slot = closure.module.slots[n as usize];
                stack.push(self.define(fiber.overlay.as_mut(), slot, value, None));
                if !CHECKED && self.env.namespace.shadows_builtins() {
                    return Ok(ControlFlow::Break(None));
                }
            }
            Op::DefGlobalDoc { global, info } => {
                let value = stack.pop();
                let slot = closure.module.slots[usize::from(global)];
                let info = closure.module.program.defs[info as usize].clone();
                stack.push(self.define(fiber.overlay.as_mut(), slot, value, Some(info)));
                if !CHECKED && self.env.namespace.shadows_builtins() {
                    return Ok(ControlFlow::Break(None));
                }
            }
            Op::JumpIfDefined { global, target } => {
                let slot = closure.module.slots[usize::from(global)];
                let overlaid = overlaid(fiber.overlay.as_deref(), slot);
                if overlaid.is_some() || self.env.namespace.value(slot).is_some() {
                    frame.pc = target;
                }
            }
            Op::Var(n) => {
                let name = &closure.module.program.globals[n as usize];
                stack.push(Value::Var(Str::new(name)));
            }
            Op::Data(key) => stack.push(operations::data(&self.env, &constants[key as usize])?),
            Op::DataOf(key) => {
                let argument = stack.pop();
                stack.push(operations::data_of(&argument, &constants[key as usize], true)?);
            }
            Op::CallProgram => {
                let argument = stack.pop();
                let Value::Closure(function) = stack.pop() else {
                    unreachable!("the compiler puts it there")
                };
                self.env.calls_programs = true;
                let call = ProgramCall::new(function, argument);
                fiber.next = Some(FiberResumption::Enter(Box::new(call)));
                return Ok(ControlFlow::Break(None));
            }
            Op::History(n) => stack.push(self.env.history[usize::from(n) - 1].clone()),
            Op::Budget => stack.push(self.env.budget.clone()),

            Op::Loop(target) => {
                frame.pc = target;
                meter::check_memory()?;
            }
            Op::Recur { count, first, target } => {
                frame.pc = target;
                let from = stack.height() - usize::from(count);
                for i in 0..usize::from(count) {
                    let value = std::mem::take(stack.at_mut(from + i));
                    stack.at_mut(base + usize::from(first) + i).put(value);
                }
                stack.cut(from);
                meter::check_memory()?;
            }
            Op::EqualConst { slot, key } => {
                let value = stack.at(base + usize::from(slot));
                let same = metered!(fuel, crate::value::equal(value, &constants[key as usize]));
                stack.push(Value::bool(same));
            }
            Op::Halt => return Ok(ControlFlow::Break(Some(FiberStop::Halt(stack.pop())))),
            Op::Fail => {
                let value = stack.pop();
                let shown = metered!(fuel, crate::print::bounded(&value, 50));
                let error = Error::fail(value, shown).at(frame.position());
                return Ok(ControlFlow::Break(Some(FiberStop::Fail(error))));
            }

            Op::Vector(n) => {
                meter::reserve(n as usize * size_of::<Value>())?;
                let from = stack.height() - n as usize;
                let items: Vector = stack.values_from(from).iter_mut().map(std::mem::take).collect();
                stack.cut(from);
                stack.push(Value::Vector(items));
            }
            Op::Map(n) => {
                let from = stack.height() - 2 * n as usize;
                let map = metered!(fuel, self.env.layouts.map(stack.values_from(from)));
                stack.cut(from);
                stack.push(Value::Map(map));
                meter::check_memory()?;
            }
            Op::Record(n) => {
                let Value::Map(places) = &constants[n as usize] else {
                    unreachable!("checked by the compiler")
                };
                let from = stack.height() - places.len();
                let map = places.take_from_places(stack.values_from(from));
                stack.set_height(from);
                stack.push(Value::Map(map));
                meter::check_memory()?;
            }
            Op::Set(n) => {
                let from = stack.height() - n as usize;
                let items = stack.values_from(from).iter_mut().map(std::mem::take);
                let set: Set = metered!(fuel, items.collect());
                stack.cut(from);
                stack.push(Value::Set(set));
                meter::check_memory()?;
            }
            Op::AppendTo(slot) => {
                let value = stack.pop();
                if let Value::Vector(vector) = stack.at_mut(base + slot as usize) {
                    vector.push(value);
                }
                meter::check_memory()?;
            }

            Op::Closure(function) => {
                let captures = &closure.module.program.functions[function as usize].captures;
                let mut values = SmallVec::with_capacity(captures.len());
                for capture in captures {
                    values.push(match *capture {
                        Capture::Local(slot) => stack.at(base + slot as usize).clone(),
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
                meter::check_memory()?;
            }

            Op::Not => {
                return self.unary::<CHECKED>(fiber, stack, "not", |a| Ok(Value::bool(!a.is_truthy())));
            }
            Op::IsNil => return self.unary::<CHECKED>(fiber, stack, "nil?", |a| Ok(Value::bool(a.is_nil()))),
            Op::Inc => return self.unary::<CHECKED>(fiber, stack, "inc", |a| operations::increment(a, 1)),
            Op::Dec => return self.unary::<CHECKED>(fiber, stack, "dec", |a| operations::increment(a, -1)),
            Op::IncLocal(slot) => {
                stack.push(stack.at(base + slot as usize).clone());
                return self.unary::<CHECKED>(fiber, stack, "inc", |a| operations::increment(a, 1));
            }
            Op::DecLocal(slot) => {
                stack.push(stack.at(base + slot as usize).clone());
                return self.unary::<CHECKED>(fiber, stack, "dec", |a| operations::increment(a, -1));
            }
            Op::Lookup { cache, key } => {
                let map = stack.pop();
                let (key, guess) = (&constants[key as usize], &body.lookups[usize::from(cache)]);
                let found = metered!(fuel, operations::find(&map, key, guess));
                stack.push(found.unwrap_or_default());
            }
            Op::LookupLocal { slot, cache, key } => {
                let map = stack.at(base + usize::from(slot));
                let (key, guess) = (&constants[key as usize], &body.lookups[usize::from(cache)]);
                let found = metered!(fuel, operations::find(map, key, guess));
                stack.push(found.unwrap_or_default());
            }
            Op::LookupOr { cache, key } => {
                let default = stack.pop();
                let map = stack.pop();
                let (key, guess) = (&constants[key as usize], &body.lookups[usize::from(cache)]);
                let found = metered!(fuel, operations::find(&map, key, guess));
                stack.push(found.unwrap_or(default));
            }

            Op::CheckSequential { slot, rest } => {
                metered!(fuel, operations::check_sequential(stack.at_mut(base + slot as usize), rest))?;
                meter::check_memory()?;
            }
            Op::Element { slot, index } => {
                let element = match stack.at(base + usize::from(slot)) {
                    Value::Vector(items) | Value::List(items) | Value::Queue(items) => {
                        items.get(index as usize).unwrap_or_default()
                    }
                    series if series.is_endless() => {
                        let args = Args::from_iter([series.clone(), Value::Int(i64::from(index))]);
                        return hand_over(fiber, self.env.namespace.library().required("nth"), args);
                    }
                    _ => Value::Nil,
                };
                stack.push(element);
            }
            Op::ElementsFrom { slot, from } => {
                let whole = stack.at(base + usize::from(slot));
                let rest = match whole {
                    Value::Vector(items) | Value::List(items) | Value::Queue(items)
                        if items.len() > from as usize =>
                    {
                        meter::reserve(items.len() * size_of::<Value>())?;
                        whole.sequence_like(items.slice(from as usize, items.len()))
                    }
                    series if series.is_endless() => {
                        let args = Args::from_iter([series.clone(), Value::Int(i64::from(from))]);
                        return hand_over(fiber, self.env.namespace.library().required("nthrest"), args);
                    }
                    _ => Value::Nil,
                };
                stack.push(rest);
            }
            Op::CheckMap(slot) => {
                metered!(fuel, operations::check_map(stack.at_mut(base + slot as usize)))?;
            }
            Op::KeywordArguments(slot) => {
                metered!(fuel, operations::keyword_arguments(stack.at_mut(base + slot as usize)))?;
            }
            Op::Entry { slot, key } => {
                let map = stack.at(base + usize::from(slot));
                let found = metered!(fuel, operations::entry(map, &constants[key as usize]));
                stack.push(found.unwrap_or_default());
            }
            Op::HasEntry { slot, key } => {
                let map = stack.at(base + usize::from(slot));
                let found = metered!(fuel, operations::entry(map, &constants[key as usize]));
                stack.push(Value::bool(found.is_some()));
            }

            Op::Walk if stack.top().is_endless() => {
                let series = stack.pop();
                let walk_series = self.env.namespace.library().parts.walk_series;
                let mut ctx = Ctx { env: &mut self.env, own: &mut fiber.own, slice: fuel.left() };
                let frame = metered!(fuel, walk_series(&mut ctx, &series))?;
                stack.push(Value::Int(fiber.walks.len() as i64));
                fiber.walks.push(EndlessWalk::new(NativeCall::new(frame))?);
            }
            Op::Cursor | Op::Walk => {
                let collection = stack.pop();
                match metered!(fuel, collection.cursor())? {
                    Some(cursor) => stack.push(Value::Cursor(Rc::new(RefCell::new(cursor)))),
                    None => {
                        let args = [collection];
                        let error = Error::argument_types("seq", &args);
                        return Err(self.env.namespace.library().refused(error, &args));
                    }
                }
                meter::check_memory()?;
            }
            Op::Next { slot, exit } => match stack.at(base + usize::from(slot)) {
                Value::Int(number) => {
                    // A number that is none of ours is that of no walk.
                    fiber.next = Some(FiberResumption::Walk(usize::try_from(*number).unwrap_or(usize::MAX)));
                    return Ok(ControlFlow::Break(None));
                }
                _ => frame.pc = exit,
            },
            Op::EndWalk(slot) => {
                if let Value::Int(number) = stack.at(base + slot as usize) {
                    fiber.walks.truncate(usize::try_from(*number).unwrap_or(usize::MAX));
                }
            }

            Op::TaskEnter(target) => {
                let id = stack.pop();
                let id = metered!(fuel, operations::task_id(&id))?;
                match self.env.journal.as_ref().and_then(|journal| journal.get(&id)) {
                    Some(stored) => {
                        stack.push(stored.clone());
                        frame.pc = target;
                    }
                    None => stack.push(id),
                }
            }
            Op::TaskLeave => {
                let value = stack.pop();
                let id = stack.pop();
                if let Some(journal) = &mut self.env.journal {
                    journal.insert(id, value.clone());
                }
                stack.push(value);
            }

            op => match operations::binary(op) {
                Some(binary) => return self.binary::<CHECKED>(fiber, stack, fuel, base, &binary),
                None => unreachable!("the loop itself executes {op:?}"),
            },
        }
        ON
    }

    /// An operation on the top.
    fn unary<const CHECKED: bool>(
        &self,
        fiber: &mut Fiber,
        stack: &mut Stack,
        name: &str,
        operation: fn(&Value) -> Result<Value>,
    ) -> LoopResult {
        let operand = stack.pop();
        if CHECKED && let Some(callee) = self.shadow_of(fiber.overlay.as_deref(), name) {
            return hand_over(fiber, callee, Args::from_iter([operand]));
        }
        match operation(&operand) {
            Ok(result) => stack.push(result),
            Err(error) => return Err(error.with_nil_arguments(name, &[operand])),
        }
        meter::check_memory()?;
        ON
    }

    /// An operation on two operands of any kind, wherever they lie.
    fn binary<const CHECKED: bool>(
        &self,
        fiber: &mut Fiber,
        stack: &mut Stack,
        fuel: &mut Fuel,
        base: usize,
        binary: &Binary,
    ) -> LoopResult {
        let top = stack.height();
        let number;
        let (a, b, popped) = match binary.operands {
            Operands::Popped => (stack.at(top - 2), stack.at(top - 1), 2),
            Operands::Locals(a, b) => (stack.at(base + usize::from(a)), stack.at(base + usize::from(b)), 0),
            Operands::Local(b) => (stack.at(top - 1), stack.at(base + b as usize), 1),
            Operands::LocalInt(a, n) => {
                number = Value::Int(i64::from(n));
                (stack.at(base + usize::from(a)), &number, 0)
            }
            Operands::Int(n) => {
                number = Value::Int(i64::from(n));
                (stack.at(top - 1), &number, 1)
            }
        };
        if CHECKED && let Some(callee) = self.shadow_of(fiber.overlay.as_deref(), binary.name) {
            let args = Args::from_iter([a.clone(), b.clone()]);
            stack.cut(top - popped);
            return hand_over(fiber, callee, args);
        }
        let result = match metered!(fuel, (binary.run)(a, b)) {
            Ok(result) => result,
            Err(error) => return Err(error.with_nil_arguments(binary.name, &[a.clone(), b.clone()])),
        };
        stack.cut(top - popped);
        stack.push(result);
        meter::check_memory()?;
        ON
    }

    /// Whether any builtin's name may have a value of the user's.
    #[inline(always)]
    fn may_shadow(&self, overlay: Option<&Overlay>) -> bool {
        self.env.namespace.shadows_builtins() || overlay.is_some_and(|overlay| !overlay.is_empty())
    }

    /// The user's value for a builtin's name, if there is one.
    fn shadow_of(&self, overlay: Option<&Overlay>, name: &str) -> Option<Value> {
        if !self.may_shadow(overlay) {
            return None;
        }
        self.value_of(overlay, name)
    }

    /// The value that the program or its session has given a name.
    pub(super) fn value_of(&self, overlay: Option<&Overlay>, name: &str) -> Option<Value> {
        let slot = self.env.namespace.find_slot(name)?;
        overlaid(overlay, slot).or_else(|| self.env.namespace.value(slot)).cloned()
    }

    /// Stores a definition and returns its var. In a branch it is stored for that branch only (language.md 3.12).
    fn define(
        &mut self,
        overlay: Option<&mut Rc<Overlay>>,
        slot: u32,
        value: Value,
        info: Option<Rc<DefInfo>>,
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

#[inline]
fn overlaid(overlay: Option<&Overlay>, slot: u32) -> Option<&Value> {
    overlay.and_then(|overlay| overlay.get(&slot))
}

/// The error of a builtin with the facts of its call. Arithmetic takes its arguments two by two, the first one into its result;
/// the other functions report themselves which was `nil`.
#[cold]
#[inline(never)]
fn of_call(error: Error, builtin: &Builtin, args: &[Value]) -> Error {
    if builtin.section.name != "arith" {
        return error;
    }
    match error.nil_arguments().map(|nil| nil.first) {
        None if error.reason() == Reason::ArithmeticError => error.with_nil_arguments(builtin.name, args),
        // Of several arguments the first one has been taken, and says nothing any more.
        None => error,
        // What comes before is a number, so the first one is nil itself.
        Some(0) => error.with_nil_argument(builtin.name, args.len(), 0),
        Some(_) => {
            let after = args.iter().skip(1).position(Value::is_nil).map_or(0, |at| at + 1);
            error.with_nil_argument(builtin.name, args.len(), after)
        }
    }
}

/// Leaves the loop for a call that the [trampoline](Machine::trampoline) sets up.
#[inline]
fn hand_over(fiber: &mut Fiber, callee: Value, args: Args) -> LoopResult {
    fiber.next = Some(FiberResumption::Call(callee, args));
    Ok(ControlFlow::Break(None))
}
