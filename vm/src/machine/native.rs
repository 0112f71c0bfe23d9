//! Calls that the instruction loop hands over: builtins with frames, combinators, host calls, forks.

use super::builtin::Native;
use super::call;
use super::call_stack::Frame;
use super::ctx::{self, CallNow};
use super::fiber::{CodeFrame, EndlessWalk, Fiber, FiberId, FiberResumption, NativeCall};
use super::frame::{Flow, Input};
use super::fuel::Fuel;
use super::interpreter::FiberStop;
use super::stack::Args;
use super::{Ctx, Machine, PendingCall};
use crate::code::Op;
use crate::error::Result;
use crate::meter::{self, MemoryCharge};
use crate::value::{Value, drop_many};

/// How to continue after a call has been set up or finished.
pub(super) enum Landing {
    /// A code frame is on top; run it.
    Code,
    /// The fiber stops.
    Stop(FiberStop),
}

impl Machine {
    /// Works `next` off until code can run or the fiber must stop. Every round costs one step, so that a
    /// chain of builtins that call builtins is metered and can be interrupted.
    pub(super) fn trampoline(
        &mut self,
        id: FiberId,
        fiber: &mut Fiber,
        fuel: &mut Fuel,
        mut next: FiberResumption,
    ) -> Result<Landing> {
        loop {
            if fuel.is_empty() && !matches!(next, FiberResumption::Raise(_)) {
                fiber.next = Some(next);
                return Ok(Landing::Stop(FiberStop::Slice));
            }
            if let FiberResumption::Walk(number) = next {
                next = take_step(fiber, number)?;
                continue;
            }
            if let FiberResumption::Enter(call) = next {
                fiber.reserve(0)?;
                fiber.frames.push(Frame::Native(NativeCall::new(call)));
                fiber.charge_stacks()?;
                next = FiberResumption::Native(Input::Start);
                continue;
            }
            if let FiberResumption::NoElement = next {
                if leave_loop(fiber) {
                    return Ok(Landing::Code);
                }
                next = FiberResumption::Value(Value::Nil);
                continue;
            }
            // A var is called as its value is.
            if let FiberResumption::Call(Value::Var(name), args) = next {
                meter::work(1);
                let Some(value) = self.value_of(fiber.overlay.as_deref(), name.as_str()) else {
                    return Err(call::not_callable(&Value::Var(name)));
                };
                next = FiberResumption::Call(value, args);
                continue;
            }
            if let FiberResumption::Flow(flow) = next {
                match self.follow(id, fiber, flow, true)? {
                    Ok(then) => next = then,
                    Err(stop) => return Ok(Landing::Stop(stop)),
                }
                continue;
            }
            fuel.open();
            // A frame that is resumed after a yield is not charged again: steps do not depend on slices.
            if !matches!(next, FiberResumption::Native(_)) {
                meter::work(1);
            }
            let slice = fuel.left();
            let mut ctx = Ctx { env: &mut self.env, own: &mut fiber.own, slice };
            let (flow, from_frame) = match next {
                FiberResumption::Raise(error) => return Err(error),
                FiberResumption::Flow(_)
                | FiberResumption::Walk(_)
                | FiberResumption::Enter(_)
                | FiberResumption::NoElement => {
                    unreachable!("followed above")
                }
                FiberResumption::Value(value) => match fiber.frames.last_mut() {
                    Some(Frame::Native(call)) => (call.frame.resume(&mut ctx, Input::Value(value))?, true),
                    Some(Frame::Code(_)) => {
                        fiber.stack.push(value);
                        fuel.close();
                        meter::check_memory()?;
                        return Ok(Landing::Code);
                    }
                    None => return Ok(Landing::Stop(FiberStop::Done(value))),
                },
                FiberResumption::Native(input) => match fiber.frames.last_mut() {
                    Some(Frame::Native(call)) => (call.frame.resume(&mut ctx, input)?, true),
                    _ => unreachable!("only a builtin yields"),
                },
                FiberResumption::Call(Value::Closure(callee), args) => {
                    fuel.close();
                    let argc = args.len();
                    fiber.reserve(argc + 1)?;
                    fiber.stack.push(Value::Nil);
                    if meter::is_long(argc) {
                        push_many(fiber, args);
                    } else {
                        for arg in args {
                            fiber.stack.push(arg);
                        }
                    }
                    // What they lie on counts before surplus ones are packed.
                    fiber.charge_stacks()?;
                    let frame = CodeFrame::enter(&mut fiber.stack, callee, argc)?;
                    fiber.frames.push_code(frame);
                    fiber.charge_stacks()?;
                    return Ok(Landing::Code);
                }
                FiberResumption::Call(callee, args) => (start(&mut ctx, callee, args)?, false),
            };
            fuel.close();
            meter::check_memory()?;
            match self.follow(id, fiber, flow, from_frame)? {
                Ok(then) => next = then,
                Err(stop) => return Ok(Landing::Stop(stop)),
            }
        }
    }

    /// The next action for a builtin's request, or why the fiber stops. `from_frame`: the request comes from the frame on top.
    /// Inlined into its callers, so that the callee is moved once.
    #[inline(always)]
    fn follow(
        &mut self,
        id: FiberId,
        fiber: &mut Fiber,
        flow: Flow,
        from_frame: bool,
    ) -> Result<std::result::Result<FiberResumption, FiberStop>> {
        if from_frame && !matches!(flow, Flow::Call(..) | Flow::Yield | Flow::Element(_)) {
            fiber.frames.pop();
        }
        Ok(Ok(match flow {
            Flow::Return(value) => FiberResumption::Value(value),
            Flow::Call(callee, args) | Flow::TailCall(callee, args) => FiberResumption::Call(callee, args),
            Flow::Push(frame) => {
                fiber.reserve(0)?;
                fiber.frames.push(Frame::Native(NativeCall::new(frame)));
                fiber.charge_stacks()?;
                FiberResumption::Native(Input::Start)
            }
            Flow::Yield => FiberResumption::Native(Input::Start),
            Flow::Fork(kind, branches) => {
                self.fork(fiber, kind, branches);
                return Ok(Err(FiberStop::Forked));
            }
            Flow::Host(request) => {
                fiber.asked = MemoryCharge::new(request.bytes())?;
                let call = self.next_call;
                self.next_call += 1;
                self.waiting.insert(call, id);
                fiber.waiting_for = Some(call);
                let within =
                    if self.env.calls_programs { self.programs_asking(fiber, &request) } else { Vec::new() };
                self.outgoing.push(PendingCall { id: call, request, within });
                return Ok(Err(FiberStop::Wait));
            }
            Flow::Element(element) => {
                if let Some(Frame::Native(call)) = fiber.frames.pop() {
                    fiber.walks.push(EndlessWalk::new(call)?);
                }
                FiberResumption::Value(element)
            }
            Flow::NoElement => FiberResumption::NoElement,
            Flow::Leave(function, value) => {
                self.leave_program(fiber, &function);
                FiberResumption::Value(value)
            }
        }))
    }
}

/// Resumes the walk with this number for its next element; those of loops inside its own have ended. Untrusted bytes may name
/// one that does not exist.
fn take_step(fiber: &mut Fiber, number: usize) -> Result<FiberResumption> {
    fiber.walks.truncate(number.saturating_add(1));
    if fiber.walks.len() <= number {
        return Ok(FiberResumption::NoElement);
    }
    let Some(walk) = fiber.walks.pop() else { return Ok(FiberResumption::NoElement) };
    fiber.reserve(0)?;
    fiber.frames.push(Frame::Native(walk.call));
    fiber.charge_stacks()?;
    Ok(FiberResumption::Native(Input::Start))
}

/// Lets the frame on top leave the loop whose next element it waits for; whether it is in one.
fn leave_loop(fiber: &mut Fiber) -> bool {
    let Some(mut frame) = fiber.frames.pop_code() else { return false };
    let waits_at = (frame.pc as usize).checked_sub(1).and_then(|at| frame.body().code.get(at).copied());
    let exit = match waits_at {
        Some(Op::Next { exit, .. }) => Some(exit),
        _ => None,
    };
    frame.pc = exit.unwrap_or(frame.pc);
    fiber.frames.push_code(frame);
    exit.is_some()
}

/// Puts as many arguments on the stack as `apply` may spread.
#[cold]
fn push_many(fiber: &mut Fiber, mut args: Args) {
    for piece in meter::pieces_mut(&mut args) {
        piece.iter_mut().for_each(|arg| fiber.stack.push(std::mem::take(arg)));
    }
}

/// Begins a call of anything but a closure.
fn start(ctx: &mut Ctx<'_>, callee: Value, mut args: Args) -> Result<Flow> {
    if let Value::Builtin(handle) = &callee {
        let library = ctx.library();
        let builtin = library.of(handle);
        library.check_arity(builtin, args.len())?;
        let series = args.iter().find(|arg| arg.is_endless()).cloned();
        if series.is_some()
            && let Some(run) = library.series_function(builtin, &args)
            && let Some(flow) = run(ctx, &mut args)?
        {
            return Ok(flow);
        }
        let flow = match builtin.native {
            Native::Frame(run) => run(ctx, &mut args),
            Native::Plain(run) => run(ctx, &mut args).map(Flow::Return),
            Native::Constant(value) => return start(ctx, value(), args),
        };
        if meter::is_long(args.len()) {
            drop_many(&mut args);
        }
        return match series {
            Some(series) => flow.map_err(|error| library.refused(error, &[series])),
            None => flow,
        };
    }
    let args = match ctx::call_now(ctx, &callee, args)? {
        CallNow::Done(value) => return Ok(Flow::Return(value)),
        CallNow::NeedsFrame(args) => args,
    };
    let library = ctx.library();
    match callee {
        Value::Combinator(combinator) => (library.parts.call_combinator)(ctx, &combinator, args),
        Value::Tool(name) => (library.parts.call_tool)(ctx, &name, &args),
        other => Err(call::not_callable(&other)),
    }
}
