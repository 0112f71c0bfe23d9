//! One call of a function, and what becomes of its result.

use crate::error::Result;
use crate::machine::{Args, CallNow, Ctx, Flow, Input, NativeFrame};
use crate::value::Value;

/// The frame of [`call_then`]: `call` is what to ask for first, `finish` what to do with the answer.
struct Then<F> {
    call: Option<(Value, Args)>,
    finish: Option<F>,
}

/// Calls `function` and hands the result to `finish`, which may go on with any flow; in a frame only if the
/// function needs one.
pub fn call_then<F>(ctx: &mut Ctx<'_>, function: Value, args: Args, finish: F) -> Result<Flow>
where
    F: FnOnce(&mut Ctx<'_>, Value) -> Result<Flow> + 'static,
{
    match ctx.call_now(&function, args)? {
        CallNow::Done(result) => finish(ctx, result),
        CallNow::NeedsFrame(args) => {
            Ok(Flow::Push(Box::new(Then { call: Some((function, args)), finish: Some(finish) })))
        }
    }
}

impl<F> NativeFrame for Then<F>
where
    F: FnOnce(&mut Ctx<'_>, Value) -> Result<Flow> + 'static,
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
            Some(finish) => finish(ctx, result),
            None => Ok(Flow::Return(result)),
        }
    }
}
