//! One call of a function, and the use of its result.

use crate::error::Result;
use crate::machine::{
    Args, CallNow, Ctx, Flow, FrameKind, Input, NativeFrame, PartReader, PartWriter, Portable, RestoreError,
    SnapshotError,
};
use crate::value::Value;

/// The use of a call's result.
pub(crate) trait Continuation: Portable + 'static {
    /// Takes the result, and may continue with any flow.
    fn finish(self, ctx: &mut Ctx<'_>, result: Value) -> Result<Flow>;

    /// See [`NativeFrame::give_up`].
    fn give_up(self, _ctx: &mut Ctx<'_>) {}
}

/// The frame of [`call_then`]: `call` is the first request, `finish` takes the answer.
pub(crate) struct ThenFrame<C> {
    call: Option<(Value, Args)>,
    finish: Option<C>,
}

impl<C: Continuation> Portable for ThenFrame<C> {
    fn layout(out: &mut String) {
        out.push_str("Then{call,");
        C::layout(out);
        out.push('}');
    }

    fn write(&self, to: &mut PartWriter<'_>) -> Result<(), SnapshotError> {
        self.call.write(to)?;
        self.finish.write(to)
    }

    fn read(from: &mut PartReader<'_>) -> Result<ThenFrame<C>, RestoreError> {
        Ok(ThenFrame { call: Portable::read(from)?, finish: Portable::read(from)? })
    }
}

/// Calls `function` and hands the result to `finish`; in a frame only if the function needs one.
pub(crate) fn call_then<C: Continuation>(
    ctx: &mut Ctx<'_>,
    function: Value,
    args: Args,
    finish: C,
) -> Result<Flow>
where
    ThenFrame<C>: FrameKind,
{
    match ctx.call_now(&function, args)? {
        CallNow::Done(result) => finish.finish(ctx, result),
        CallNow::NeedsFrame(args) => {
            Ok(Flow::Push(Box::new(ThenFrame { call: Some((function, args)), finish: Some(finish) })))
        }
    }
}

impl<C: Continuation> NativeFrame for ThenFrame<C>
where
    ThenFrame<C>: FrameKind,
{
    fn resume(&mut self, ctx: &mut Ctx<'_>, input: Input) -> Result<Flow> {
        if let Some((function, args)) = self.call.take() {
            return Ok(Flow::Call(function, args));
        }
        let result = match input {
            Input::Value(result) => result,
            Input::Start => Value::Nil,
        };
        match self.finish.take() {
            Some(finish) => finish.finish(ctx, result),
            None => Ok(Flow::Return(result)),
        }
    }

    fn give_up(&mut self, ctx: &mut Ctx<'_>) {
        if let Some(finish) = self.finish.take() {
            finish.give_up(ctx);
        }
    }
}
