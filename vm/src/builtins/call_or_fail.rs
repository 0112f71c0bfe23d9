//! `tool/call!`: the value of a call that must succeed (functions.md 32).

use super::support::{Continuation, call_then};
use crate::error::{Error, Result};
use crate::machine::{Args, Ctx, Flow, portable};
use crate::print;
use crate::value::{Str, Value};
use std::mem::take;

/// The value of an upstream call that succeeded, or the end of the program with its message.
pub(crate) struct Unwrap;

portable!(Unwrap {});

impl Continuation for Unwrap {
    fn finish(self, _: &mut Ctx<'_>, result: Value) -> Result<Flow> {
        let Value::Map(map) = &result else { return Ok(Flow::Return(result)) };
        let part = |name| map.get_flexible(&Value::keyword(name)).cloned();
        if matches!(part("ok"), Some(Value::True)) {
            return Ok(Flow::Return(part("value").unwrap_or_default()));
        }
        let message = part("message").or_else(|| part("reason")).unwrap_or_default();
        let shown = print::readable(&message)?;
        Err(Error::fail(message, shown))
    }
}

/// `(tool/call! …)`: as `tool/call`
pub(super) fn call_or_fail(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    let args: Args = args.iter_mut().map(take).collect();
    call_then(ctx, Value::Tool(Str::new("call")), args, Unwrap)
}
