//! How a builtin calls functions, forks, and waits: frames that are resumed with the results.
//!
//! Nothing of a program may live on the Rust stack, so a builtin that calls functions is a state machine. Its
//! [`FrameFn`](crate::builtins::FrameFn) answers with a [`Flow`]; [`Flow::Push`] installs a [`NativeFrame`],
//! which the machine resumes with the result of every call that it asks for.
//!
//! Most calls need no frame: [`Ctx::call_now`](super::Ctx::call_now) runs plain builtins, keywords, maps and
//! sets at once. Use it first, and [`Flow::Call`] only when it declines.

use super::{Ctx, HostRequest};
use crate::error::Result;
use crate::value::{Closure, Value};
use smallvec::SmallVec;
use std::rc::Rc;

/// Arguments of a call.
pub type Args = SmallVec<[Value; 3]>;

/// What a builtin wants next.
pub enum Flow {
    /// The builtin is done.
    Return(Value),
    /// Call this function; the result comes with the next [`NativeFrame::resume`]. Only from a frame.
    Call(Value, Args),
    /// Call this function; its result is the builtin's result.
    TailCall(Value, Args),
    /// Install this frame and resume it with [`Input::Start`].
    Push(Box<dyn NativeFrame>),
    /// The slice is used up ([`Ctx::should_yield`]): resume with [`Input::Start`] in the next one. Only from a frame.
    Yield,
    /// Call all of these at the same time; the vector of the results is the builtin's result.
    Fork(ForkKind, Vec<(Value, Args)>),
    /// Ask the host. The reply's value is the builtin's result.
    Host(HostRequest),
}

/// Which form forks; it names the errors (language.md 3.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForkKind {
    /// `pmap`
    Pmap,
    /// `pcalls`
    Pcalls,
}

/// What a frame is resumed with.
pub enum Input {
    /// First resumption, or the one after [`Flow::Yield`].
    Start,
    /// The result of the call that it asked for.
    Value(Value),
}

/// A builtin in the middle of its work.
pub trait NativeFrame {
    /// Goes on until the next call, or the end.
    fn resume(&mut self, ctx: &mut Ctx<'_>, input: Input) -> Result<Flow>;

    /// As [`resume`](NativeFrame::resume) with the result of a call. Frames that mostly call one closure again and again
    /// put its arguments straight onto the value stack; they do, charge and answer the same otherwise.
    fn advance(&mut self, ctx: &mut Ctx<'_>, result: Value, _stack: &mut Vec<Value>) -> Result<Advanced> {
        self.resume(ctx, Input::Value(result)).map(Advanced::Flow)
    }
}

/// What a frame wants after a call; see [`NativeFrame::advance`].
pub enum Advanced {
    /// Anything.
    Flow(Flow),
    /// A call of this closure with so many arguments, which lie on the stack over a `nil` for the callee.
    Called(Rc<Closure>, usize),
}
