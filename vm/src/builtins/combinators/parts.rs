//! The parts of combinators. Functions of the library make them valid; bytes from outside are untrusted.

use crate::builtins::support::endless;
use crate::value::{Combinator, CombinatorKind, Value};
use std::rc::Rc;

/// Whether a combinator has the parts that calls of it, and who takes it apart, expect.
pub(crate) fn accepts(combinator: &Rc<Combinator>) -> bool {
    let parts = &combinator.parts[..];
    match combinator.kind {
        CombinatorKind::Complement
        | CombinatorKind::Constantly
        | CombinatorKind::Memoize
        | CombinatorKind::Reduced => parts.len() == 1,
        CombinatorKind::Comp
        | CombinatorKind::EveryPred
        | CombinatorKind::Fnil
        | CombinatorKind::Juxt
        | CombinatorKind::Partial
        | CombinatorKind::SomeFn => !parts.is_empty(),
        CombinatorKind::Endless => match endless::open(&Value::Combinator(combinator.clone())) {
            Some(endless::Endless::Cycle(items)) => !items.is_empty(),
            other => other.is_some(),
        },
        CombinatorKind::Transducer => match parts {
            // Steps of nothing would never get on.
            [Value::Builtin(builtin), args @ ..] if builtin.name == "partition-all" => {
                matches!(args, [Value::Int(1..)] | [Value::BigInt(_)])
            }
            // Elements that come to one of nothing are refused.
            [Value::Builtin(builtin), args @ ..] if builtin.name == "take-nth" => {
                matches!(args, [Value::Int(0..)])
            }
            [Value::Builtin(builtin), args @ ..] if builtin.name == "partition" => {
                matches!(args, [Value::Int(1..), Value::Int(1..)])
            }
            [Value::Builtin(_), ..] => true,
            _ => false,
        },
    }
}
