//! The call of a kept program: a frame that says whose functions run above it.
//!
//! A kept program takes one map of data and gives data, as its tool does: functions neither go in nor come out. So everything
//! that runs above the frame is the program's, and nothing of it runs anywhere else, but what it defines while it runs.

use super::call_stack::Frame;
use super::called_program::CalledProgram;
use super::fiber::Fiber;
use super::stack::Args;
use super::{Ctx, Flow, HostRequest, Input, Machine, NativeFrame, portable};
use crate::code::PROGRAM_NAMESPACE;
use crate::error::{Error, Reason, Result};
use crate::meter;
use crate::value::{Closure, Value};
use std::cell::Cell;
use std::rc::Rc;

/// The frame of a call.
pub struct ProgramCall {
    function: Rc<Closure>,
    /// Until the function is called.
    argument: Option<Value>,
    /// Upstream calls made in it and below it.
    calls: Cell<u32>,
}

impl ProgramCall {
    pub(super) fn new(function: Rc<Closure>, argument: Value) -> ProgramCall {
        ProgramCall { function, argument: Some(argument), calls: Cell::new(0) }
    }

    fn called(&self) -> Result<CalledProgram> {
        CalledProgram::of(&self.function)
            .ok_or_else(|| Error::verbatim(Reason::RuntimeError, "runtime_error: this is no kept program"))
    }
}

portable!(ProgramCall { function, argument, calls } if |call: &ProgramCall| CalledProgram::of(&call.function).is_some());

impl NativeFrame for ProgramCall {
    fn resume(&mut self, ctx: &mut Ctx<'_>, input: Input) -> Result<Flow> {
        let called = self.called()?;
        let checks = ctx.env.program_checks.clone();
        if let Some(mut argument) = self.argument.take() {
            if !matches!(argument, Value::Map(_)) {
                let (name, kind) = (called.name(), argument.kind_label());
                let text = format!("(program/{name} …) takes a map of arguments, got {kind}");
                return Err(Error::type_error(text));
            }
            check_data(&argument, || format!("the arguments of program/{}", called.name()))?;
            if let Some(checks) = checks {
                argument = checks.argument(&called, argument)?;
            }
            return Ok(Flow::Call(Value::Closure(self.function.clone()), Args::from_iter([argument])));
        }
        let value = match input {
            Input::Value(value) => value,
            Input::Start => Value::Nil,
        };
        check_data(&value, || format!("the value of program/{}", called.name()))?;
        if let Some(checks) = checks {
            checks.result(&called, &value)?;
        }
        Ok(Flow::Leave(self.function.clone(), value))
    }

    fn called_program(&self) -> Option<&ProgramCall> {
        Some(self)
    }
}

/// Refuses functions and what holds any. Charges a step for each value.
fn check_data(value: &Value, what: impl Fn() -> String) -> Result<()> {
    let mut waiting = vec![value.clone()];
    let room = |more: usize| meter::reserve(more.saturating_mul(size_of::<Value>()));
    while let Some(value) = waiting.pop() {
        meter::charge_steps(1)?;
        match value {
            Value::Vector(items) | Value::List(items) | Value::Queue(items) => {
                room(waiting.len() + items.len())?;
                waiting.extend(items);
            }
            Value::Map(map) => {
                room(waiting.len() + 2 * map.len())?;
                map.into_iter().for_each(|(key, value)| waiting.extend([key, value]));
            }
            Value::Set(set) => {
                room(waiting.len() + set.len())?;
                waiting.extend(set);
            }
            Value::Builtin(_)
            | Value::Closure(_)
            | Value::Combinator(_)
            | Value::Tool(_)
            | Value::Var(_)
            | Value::Cursor(_) => {
                let (what, kind) = (what(), value.kind_label());
                return Err(Error::type_error(format!("{what} must be data, got {kind}")));
            }
            Value::Nil
            | Value::False
            | Value::True
            | Value::Int(_)
            | Value::Float(_)
            | Value::BigInt(_)
            | Value::Keyword(_)
            | Value::Str(_)
            | Value::Symbol(_)
            | Value::Regex(_)
            | Value::Blob(_)
            | Value::Temporal(_) => {}
        }
    }
    Ok(())
}

impl Machine {
    /// The kept programs within which a fiber asks for this, the innermost first; each counts it if it is an upstream call.
    pub(super) fn programs_asking(&self, fiber: &Fiber, request: &HostRequest) -> Vec<CalledProgram> {
        let is_call = matches!(request, HostRequest::Upstream(_) | HostRequest::Feature(_));
        self.programs_around(fiber, u32::from(is_call))
    }

    /// The kept programs that run in a fiber and in those that have forked it, the innermost first, after so many more calls.
    fn programs_around(&self, fiber: &Fiber, more: u32) -> Vec<CalledProgram> {
        let mut found = Vec::new();
        let mut next = Some(fiber);
        while let Some(fiber) = next {
            found.extend(fiber.frames.downwards().filter_map(|frame| match frame {
                Frame::Native(call) => {
                    let call = call.frame.called_program()?;
                    call.calls.set(call.calls.get().saturating_add(more));
                    Some(CalledProgram { calls: call.calls.get(), ..CalledProgram::of(&call.function)? })
                }
                Frame::Code(_) => None,
            }));
            next = fiber.parent.and_then(|(parent, _)| self.fibers.get(parent as usize)?.as_deref());
        }
        found
    }

    /// The kept programs within which a call was made that the machine waits for: those of
    /// [`PendingCall::within`](super::PendingCall::within).
    pub fn programs_of_call(&self, call: super::CallId) -> Vec<CalledProgram> {
        let fiber = self.waiting.get(&call).and_then(|id| self.fibers.get(*id as usize)?.as_deref());
        match fiber {
            Some(fiber) if self.env.calls_programs => self.programs_around(fiber, 0),
            _ => Vec::new(),
        }
    }

    /// Forgets what a kept program has defined: its next call begins without it.
    pub(super) fn leave_program(&mut self, fiber: &mut Fiber, function: &Closure) {
        let module = &function.module;
        let Some(part) = module.program.parts.iter().skip(1).find(|part| part.function == function.function)
        else {
            return;
        };
        for global in &part.globals {
            let slot = module.slots[*global as usize];
            match &mut fiber.overlay {
                Some(overlay) => {
                    Rc::make_mut(overlay).remove(&slot);
                }
                None => drop(self.env.namespace.set(slot, None)),
            }
        }
    }

    /// Gives up what runs above the innermost call of a kept program, and that call; whether the fiber has one. Its value is to be
    /// handed to the frame that is on top then.
    pub(super) fn unwind_to_call(&mut self, fiber: &mut Fiber) -> bool {
        let is_call =
            |frame: &Frame| matches!(frame, Frame::Native(call) if call.frame.called_program().is_some());
        if !fiber.frames.downwards().any(is_call) {
            return false;
        }
        while let Some(frame) = fiber.frames.pop() {
            match frame {
                // Its callee lies below its arguments.
                Frame::Code(code) => {
                    if let Some(frame) = code.frame() {
                        fiber.stack.cut((frame.base as usize).saturating_sub(1));
                    }
                }
                Frame::Native(mut call) => {
                    if call.frame.called_program().is_some() {
                        fiber.frames.push(Frame::Native(call));
                        return true;
                    }
                    let mut ctx = Ctx { env: &mut self.env, own: &mut fiber.own, slice: 0 };
                    call.frame.give_up(&mut ctx);
                }
            }
        }
        false
    }

    /// Forgets the definitions of kept programs that were ended in the middle.
    pub(super) fn forget_definitions_of_programs(&mut self) {
        if !self.env.calls_programs {
            return;
        }
        for (slot, _) in &self.env.undo {
            if self.env.namespace.name(*slot).starts_with(PROGRAM_NAMESPACE) {
                self.env.namespace.set(*slot, None);
            }
        }
    }
}
