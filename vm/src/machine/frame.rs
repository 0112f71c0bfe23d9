//! How a builtin calls functions, forks, and waits: frames that are resumed with the results.
//!
//! Nothing of a program may live on the Rust stack, so a builtin that calls functions is a state machine. Its
//! [`FrameFn`](super::FrameFn) answers with a [`Flow`]; [`Flow::Push`] installs a [`NativeFrame`],
//! which the machine resumes with the result of every call that it asks for.
//!
//! Most calls need no frame: [`Ctx::call_now`](super::Ctx::call_now) runs plain builtins, keywords, maps and
//! sets at once. Use it first, and [`Flow::Call`] only when it declines.

use super::program_call::ProgramCall;
use super::stack::{Args, Stack};
use super::{Ctx, HostRequest, PartReader, PartWriter, Portable, RestoreError, SnapshotError};
use crate::error::Result;
use crate::value::{Closure, Value};
use std::rc::Rc;

/// A builtin's next request.
pub enum Flow {
    /// The builtin is done.
    Return(Value),
    /// Call this function; the result comes with the next [`NativeFrame::resume`]. Only from a frame.
    Call(Value, Args),
    /// Call this function; its result is the builtin's result.
    TailCall(Value, Args),
    /// Install this frame and resume it with [`Input::Start`].
    Push(Box<dyn AnyFrame>),
    /// The slice is used up ([`Ctx::should_yield`]): resume with [`Input::Start`] in the next one. Only from a frame.
    Yield,
    /// Call all of these at the same time; the vector of the results is the builtin's result.
    Fork(ForkKind, Vec<(Value, Args)>),
    /// Ask the host. The reply's value is the builtin's result.
    Host(HostRequest),
    /// The next element of the loop that walks it, which resumes it with [`Input::Start`] for the one after. Only from a frame.
    Element(Value),
    /// There are no more elements for that loop. Only from a frame.
    NoElement,
    /// The kept program of this function has given this value. Only from the frame of its call.
    Leave(Rc<Closure>, Value),
}

/// Which form forks; it names the errors (language.md 3.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForkKind {
    /// `pmap`
    Pmap,
    /// `pcalls`
    Pcalls,
}

/// The input of a frame's resumption.
pub enum Input {
    /// First resumption, or the one after [`Flow::Yield`].
    Start,
    /// The result of the call that it asked for.
    Value(Value),
}

/// The stable name of a kind of frame.
///
/// The library gives it, in one table of all kinds: a frame is plain data of a type that has a name, never a closure, so
/// that a program that waits can be written down.
pub trait FrameKind {
    /// The name, unique in the library.
    const NAME: &'static str;
}

/// The row of one kind of frame in the library's table.
pub(crate) struct FrameRow {
    /// Its name.
    pub(crate) name: &'static str,
    /// Appends the description of its parts.
    pub(crate) layout: fn(&mut String),
    /// Reads one.
    pub(crate) read: fn(&mut PartReader<'_>) -> Result<Box<dyn AnyFrame>, RestoreError>,
}

/// A builtin in the middle of its work.
pub trait NativeFrame: FrameKind + Portable + 'static {
    /// Goes on until the next call, or the end.
    fn resume(&mut self, ctx: &mut Ctx<'_>, input: Input) -> Result<Flow>;

    /// Takes the result of a call and makes the next one without leaving the loop of instructions, if that is a call of the
    /// same closure, `running`: the common case for frames that call one closure for each element. The result lies on top of
    /// `stack`, in the place of the callee. The steps of the call are the machine's to count; everything else is charged as
    /// [`resume`](NativeFrame::resume) charges it.
    fn reenter(&mut self, _ctx: &mut Ctx<'_>, _stack: &mut Stack, _running: &Rc<Closure>) -> Result<Reentry> {
        Ok(Reentry::No)
    }

    /// Takes back what it has done to the machine: it is not resumed again.
    fn give_up(&mut self, _ctx: &mut Ctx<'_>) {}

    /// The call of a kept program, if it is one.
    fn called_program(&self) -> Option<&ProgramCall> {
        None
    }
}

/// A frame of any kind.
pub trait AnyFrame {
    /// The name of its kind.
    fn kind(&self) -> &'static str;

    /// Writes it down; the row of its [kind](AnyFrame::kind) reads it.
    ///
    /// # Errors
    /// See [`Portable::write`].
    fn write(&self, to: &mut PartWriter<'_>) -> Result<(), SnapshotError>;

    /// See [`NativeFrame::resume`].
    fn resume(&mut self, ctx: &mut Ctx<'_>, input: Input) -> Result<Flow>;

    /// See [`NativeFrame::reenter`].
    fn reenter(&mut self, ctx: &mut Ctx<'_>, stack: &mut Stack, running: &Rc<Closure>) -> Result<Reentry>;

    /// See [`NativeFrame::give_up`].
    fn give_up(&mut self, ctx: &mut Ctx<'_>);

    /// See [`NativeFrame::called_program`].
    fn called_program(&self) -> Option<&ProgramCall>;
}

impl<F: NativeFrame> AnyFrame for F {
    fn kind(&self) -> &'static str {
        F::NAME
    }

    fn write(&self, to: &mut PartWriter<'_>) -> Result<(), SnapshotError> {
        Portable::write(self, to)
    }

    #[inline]
    fn resume(&mut self, ctx: &mut Ctx<'_>, input: Input) -> Result<Flow> {
        NativeFrame::resume(self, ctx, input)
    }

    #[inline]
    fn reenter(&mut self, ctx: &mut Ctx<'_>, stack: &mut Stack, running: &Rc<Closure>) -> Result<Reentry> {
        NativeFrame::reenter(self, ctx, stack, running)
    }

    fn give_up(&mut self, ctx: &mut Ctx<'_>) {
        NativeFrame::give_up(self, ctx);
    }

    fn called_program(&self) -> Option<&ProgramCall> {
        NativeFrame::called_program(self)
    }
}

/// The outcome of [`NativeFrame::reenter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reentry {
    /// Nothing: it is to be resumed.
    No,
    /// So many arguments lie on the stack, over the place of the callee.
    Call(usize),
    /// Its own result lies on top, in the place of the callee.
    Return,
}
