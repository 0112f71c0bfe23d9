//! How a function without its collection becomes a transducer.

use crate::error::Result;
use crate::machine::{Ctx, Flow};
use crate::value::{Combinator, CombinatorKind, Value};

/// The transducer of the function `name` over its arguments so far, as the result of the call without collection.
pub(crate) fn transducer(ctx: &Ctx<'_>, name: &str, args: &mut [Value]) -> Result<Flow> {
    let mut parts = Vec::with_capacity(args.len() + 1);
    parts.push(ctx.library().required(name));
    parts.extend(args.iter_mut().map(std::mem::take));
    Ok(Flow::Return(Value::Combinator(Combinator::new(CombinatorKind::Transducer, parts))))
}
