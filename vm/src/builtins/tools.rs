//! `(tool/NAME …)` and `tool/call`.

use crate::error::Result;
use crate::machine::{Ctx, Flow};
use crate::value::{Str, Value};

/// Calls the tool that a tool reference names.
pub fn call(_ctx: &mut Ctx<'_>, _name: &Str, _args: &[Value]) -> Result<Flow> {
    Ok(Flow::Return(Value::Nil))
}

/// The family's functions.
pub static BUILTINS: &[super::Builtin] = &[];
