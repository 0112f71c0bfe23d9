//! Transducers.

use super::{Builtin, registry};
use crate::error::Result;
use crate::machine::Flow;
use crate::value::{Combinator, CombinatorKind, Value};

/// The transducer of the function `name` over its arguments so far: a value that `into`, `transduce`, `sequence` and
/// `eduction` put to work.
pub(crate) fn transducer(name: &str, args: &mut [Value]) -> Result<Flow> {
    let builtin = registry().find(name).expect("the function itself");
    let mut parts = Vec::with_capacity(args.len() + 1);
    parts.push(Value::Builtin(builtin));
    parts.extend(args.iter_mut().map(std::mem::take));
    Ok(Flow::Return(Value::Combinator(Combinator::new(CombinatorKind::Transducer, parts))))
}

/// The family's functions.
pub static BUILTINS: &[Builtin] = &[];
