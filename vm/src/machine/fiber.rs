//! A strand of execution: the program itself, or a branch of `pmap`/`pcalls`.

use super::call_stack::CallStack;
use super::fiber_state::FiberState;
use super::fork::ForkNote;
use super::frame::{AnyFrame, Flow, ForkKind, Input};
use super::host_call::CallId;
use super::operations;
use super::output::Output;
use super::stack::Args;
use super::stack::Stack;
use crate::code::Arity;
use crate::error::{Position, Result};
use crate::meter::{self, MemoryCharge};
use crate::value::{Closure, Value, Vector};
use ahash::AHashMap;
use std::rc::Rc;

/// Index of a fiber in its machine.
pub(super) type FiberId = u32;

/// Definitions that a branch made and that end with it, by namespace slot.
pub(super) type Overlay = AHashMap<u32, Value>;

/// One of a function's bodies. An enum, so that a frame has values to spare for frames other than of code.
#[derive(Clone, Copy)]
pub(super) enum BodyIndex {
    First,
    /// This one of several; a program's text is too short for more than 16 bits can tell.
    Other(u16),
}

/// A frame of code: where it stands and where its slots begin.
pub(super) struct CodeFrame {
    /// The running closure.
    pub(super) closure: Rc<Closure>,
    /// Which of its bodies.
    pub(super) body: BodyIndex,
    /// Next instruction.
    pub(super) pc: u32,
    /// Stack index of slot 0; the callee lies, or lay, right below.
    pub(super) base: u32,
}

impl CodeFrame {
    /// The frame of a call whose `argc` arguments lie on the stack, over a place for the callee.
    #[inline(always)]
    pub(super) fn enter(stack: &mut Stack, callee: Rc<Closure>, argc: usize) -> Result<CodeFrame> {
        let body = if callee.first().parameters.is_exactly(argc) {
            BodyIndex::First
        } else {
            choose_body(stack, &callee, argc)?
        };
        let mut frame = CodeFrame { closure: callee, body, pc: 0, base: 0 };
        frame.base = stack.height() as u32 - frame.body().parameters.slots();
        Ok(frame)
    }

    /// The running body.
    #[inline(always)]
    pub(super) fn body(&self) -> &Arity {
        match self.body {
            BodyIndex::First => self.closure.first(),
            BodyIndex::Other(n) => &self.closure.code().arities[usize::from(n)],
        }
    }

    /// Whether it only calls a kept program.
    pub(super) fn is_entry(&self) -> bool {
        self.closure.module.program.is_entry(self.closure.function)
    }

    /// Where the program's text stands that runs here.
    pub(super) fn position(&self) -> Option<Position> {
        self.body().position((self.pc as usize).saturating_sub(1))
    }
}

/// Finds the body for `argc` arguments on top of the stack where there is a choice, and packs surplus ones into a vector; `nil`
/// if there are none.
#[inline(never)]
fn choose_body(stack: &mut Stack, callee: &Closure, argc: usize) -> Result<BodyIndex> {
    let function = callee.code();
    let Some(index) = function.arities.iter().position(|body| body.parameters.accepts(argc)) else {
        return Err(operations::wrong_arity(function, argc));
    };
    // More bodies, of as many different numbers of parameters, are longer than a text may be.
    let Ok(which) = u16::try_from(index) else { return Err(operations::wrong_arity(function, argc)) };
    let body = &function.arities[index];
    if body.parameters.rest {
        let surplus = argc - body.parameters.required as usize;
        if surplus == 0 {
            // As in Clojure, so that `(when more …)` and `(if xs (recur xs) …)` end.
            stack.push(Value::Nil);
        } else {
            meter::reserve(surplus * size_of::<Value>())?;
            let rest = stack.take_vec(stack.height() - surplus);
            stack.push(Value::Vector(Vector::from_vec(rest)));
        }
    }
    Ok(BodyIndex::Other(which))
}

/// The state of a builtin, charged as long as it is on the stack.
pub(super) struct NativeCall {
    pub(super) frame: Box<dyn AnyFrame>,
}

impl NativeCall {
    pub(super) fn new(frame: Box<dyn AnyFrame>) -> NativeCall {
        meter::charge_memory(size_of_val(&*frame));
        NativeCall { frame }
    }
}

impl Drop for NativeCall {
    fn drop(&mut self) {
        meter::credit_memory(size_of_val(&*self.frame));
    }
}

/// A walk over an endless sequence whose loop is in its body.
pub(super) struct EndlessWalk {
    pub(super) call: NativeCall,
    _held: MemoryCharge,
}

impl EndlessWalk {
    /// Refuses when the limit has no room for one more.
    pub(super) fn new(call: NativeCall) -> Result<EndlessWalk> {
        // The list doubles.
        Ok(EndlessWalk { call, _held: MemoryCharge::new(2 * size_of::<EndlessWalk>())? })
    }
}

/// A fiber's action when it runs next, unless its top frame just continues.
pub(super) enum FiberResumption {
    /// Call a function.
    Call(Value, Args),
    /// Call a kept program.
    Enter(Box<dyn AnyFrame>),
    /// Hand a value to the frame on top.
    Value(Value),
    /// Resume the builtin on top.
    Native(Input),
    /// Do what the builtin on top has requested.
    Flow(Flow),
    /// Take the next element of the walk with this number.
    Walk(usize),
    /// Leave the loop on top, which has no more elements.
    NoElement,
    /// Fail.
    Raise(crate::error::Error),
}

/// Branches of a fork, as their parent keeps them.
pub(super) struct Fork {
    /// Which of the program's forks.
    pub(super) number: u32,
    pub(super) kind: ForkKind,
    /// All branches, started or not.
    pub(super) count: usize,
    /// Branches that have not been started, last first.
    pub(super) waiting: Vec<(Value, Args)>,
    /// The results of the started branches, in branch order.
    pub(super) branches: Vec<Branch>,
    /// Branches that have been started and have not ended.
    pub(super) running: u32,
    /// Bytes of all branches, started or not.
    pub(super) _held: MemoryCharge,
}

impl Fork {
    /// Bytes that a branch is charged, started or not.
    pub(super) const BRANCH_BYTES: usize = size_of::<(Value, Args)>() + size_of::<Branch>();

    /// The note on its end.
    pub(super) fn ended(&self) -> ForkNote {
        let with_value =
            self.branches.iter().filter(|branch| matches!(branch, Branch::Done(Ok(_), _))).count();
        let errors = Some(self.count - with_value);
        ForkNote { number: self.number, kind: self.kind, count: self.count, errors }
    }
}

/// One started branch.
pub(super) enum Branch {
    /// Still running, in this fiber.
    Running(FiberId),
    /// Ended, with its output.
    Done(Result<Value>, Output),
    /// Stopped because an earlier branch failed.
    Cancelled,
}

/// A strand of execution.
pub(super) struct Fiber {
    pub(super) stack: Stack,
    pub(super) frames: CallStack,
    pub(super) next: Option<FiberResumption>,
    pub(super) own: FiberState,
    /// For a branch: who forked it, and which branch it is.
    pub(super) parent: Option<(FiberId, u32)>,
    /// For a branch: definitions made in it and around it.
    pub(super) overlay: Option<Rc<Overlay>>,
    pub(super) fork: Option<Box<Fork>>,
    /// The host call that it waits for.
    pub(super) waiting_for: Option<CallId>,
    /// The request that the call has sent, charged until it is answered.
    pub(super) asked: MemoryCharge,
    /// The walks over endless sequences that loops are in, innermost last, but for those that make an element.
    pub(super) walks: Vec<EndlessWalk>,
    /// Bytes charged for the stacks.
    charged: usize,
}

impl Fiber {
    const BYTES: usize = 240;

    /// A fiber that begins with `next`.
    pub(super) fn new(next: FiberResumption) -> Fiber {
        meter::charge_memory(Self::BYTES);
        Fiber {
            stack: Stack::default(),
            frames: CallStack::default(),
            next: Some(next),
            own: FiberState::default(),
            parent: None,
            overlay: None,
            fork: None,
            waiting_for: None,
            asked: MemoryCharge::default(),
            walks: Vec::new(),
            charged: 0,
        }
    }

    /// A fiber that waits, with nothing on its stacks yet.
    pub(super) fn waiting() -> Fiber {
        let mut fiber = Fiber::new(FiberResumption::Native(Input::Start));
        fiber.next = None;
        fiber
    }

    /// Makes room for as many values and frames as are about to be put there, if the limit has room for them.
    pub(super) fn take_room(&mut self, values: usize, frames: usize) -> Result<()> {
        let values_now = self.stack.capacity();
        let more_values = values.saturating_sub(values_now).saturating_mul(size_of::<Value>());
        let more_frames =
            frames.saturating_mul(size_of::<super::call_stack::Frame>()).saturating_sub(self.frames.bytes());
        meter::reserve(more_values.saturating_add(more_frames))?;
        self.stack.grow_to(values);
        self.frames.grow_to(frames);
        self.charge_stacks()
    }

    /// Bytes charged for it.
    pub(super) fn charged(&self) -> usize {
        Self::BYTES + self.charged
    }

    /// Makes `frame` that of a call whose `argc` arguments lie on `stack`, over a place for the callee, and keeps the one
    /// it was.
    pub(super) fn enter(
        &mut self,
        frame: &mut CodeFrame,
        stack: &mut Stack,
        callee: Rc<Closure>,
        argc: usize,
    ) -> Result<()> {
        let grows = !self.frames.has_room();
        if grows {
            meter::reserve(self.frames.growth())?;
        }
        let called = CodeFrame::enter(stack, callee, argc)?;
        self.frames.push_code(std::mem::replace(frame, called));
        if grows { self.charge_stacks_with(stack.capacity()) } else { Ok(()) }
    }

    /// Makes `stack`, which the loop has, at least `len` long, if the limit has room for that.
    #[cold]
    #[inline(never)]
    pub(super) fn grow(&mut self, stack: &mut Stack, len: usize) -> Result<()> {
        meter::reserve(stack.growth_for(len - stack.height()))?;
        stack.grow(len);
        self.charge_stacks_with(stack.capacity())
    }

    /// Refuses when the limit has no room for one more frame and `count` more values. The stacks double, so that asking
    /// only afterwards could pass the limit by as much as it is.
    #[inline]
    pub(super) fn reserve(&self, count: usize) -> Result<()> {
        match self.frames.growth() + self.stack.growth_for(count) {
            0 => Ok(()),
            bytes => meter::reserve(bytes),
        }
    }

    /// Charges growth of the stacks since the last time. Refuses when the memory limit is passed.
    #[inline]
    pub(super) fn charge_stacks(&mut self) -> Result<()> {
        self.charge_stacks_with(self.stack.capacity())
    }

    /// As [`charge_stacks`](Fiber::charge_stacks) while the loop has the value stack, whose capacity is `values`. Inlined
    /// always, since the loop asks at each call of a closure by a builtin, and a call of its own would cost it 4 %.
    #[inline(always)]
    pub(super) fn charge_stacks_with(&mut self, values: usize) -> Result<()> {
        let bytes = values * size_of::<Value>() + self.frames.bytes();
        if bytes != self.charged {
            self.charge(bytes);
        }
        meter::check_memory()
    }

    /// Charges the stacks' growth since the running frame was put there: a waiting fiber may wait for long. Beyond the limit it
    /// is refused when it continues.
    #[inline]
    pub(super) fn settle(&mut self) {
        let bytes = self.stack.capacity() * size_of::<Value>() + self.frames.bytes();
        if bytes != self.charged {
            self.charge(bytes);
        }
    }

    #[cold]
    #[inline(never)]
    fn charge(&mut self, bytes: usize) {
        if bytes > self.charged {
            meter::charge_memory(bytes - self.charged);
        } else {
            meter::credit_memory(self.charged - bytes);
        }
        self.charged = bytes;
    }
}

impl Drop for Fiber {
    fn drop(&mut self) {
        meter::credit_memory(Self::BYTES + self.charged);
    }
}
