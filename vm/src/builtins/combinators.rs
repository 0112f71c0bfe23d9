//! `comp`, `partial`, `juxt` … and the functions that they make.

use crate::error::Result;
use crate::machine::{Args, Ctx, Flow};
use crate::value::Combinator;
use std::rc::Rc;

/// Calls the function that a combinator made.
pub fn call(_ctx: &mut Ctx<'_>, combinator: &Rc<Combinator>, args: Args) -> Result<Flow> {
    Ok(Flow::TailCall(combinator.parts[0].clone(), args))
}

/// The family's functions.
pub static BUILTINS: &[super::Builtin] = &[];
