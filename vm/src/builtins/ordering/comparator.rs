//! The values that `sort` accepts as a comparator, and the meaning of their answers (ruling 11).

use crate::builtins::support::check;
use crate::error::{Error, Result};
use crate::machine::{Ctx, portable};
use crate::print;
use crate::value::Value;

/// How two keys are compared.
pub(super) enum Comparator {
    /// By the order of values.
    Natural { descending: bool },
    /// By calls of a function.
    Function {
        /// The function.
        function: Value,
        /// Its order on keys of one simple kind, when that is known: whether it is descending.
        known: Option<bool>,
    },
}

portable!(enum Comparator { 0: Natural { descending }, 1: Function { function, known } });

/// The meaning of one answer of a comparator.
pub(super) enum ComparatorVerdict {
    /// Whether the second key comes first.
    SecondFirst(bool),
    /// Not the first before the second; the question the other way round decides.
    AskBack,
}

impl Comparator {
    /// The comparator that a value stands for.
    pub(super) fn of(ctx: &mut Ctx<'_>, name: &str, n: usize, value: Value) -> Result<Comparator> {
        match &value {
            Value::Keyword(keyword) => match keyword.name() {
                "asc" => Ok(Comparator::Natural { descending: false }),
                "desc" => Ok(Comparator::Natural { descending: true }),
                _ => Err(invalid(&value)),
            },
            Value::Closure(_) if !check::takes(ctx, &value, 2)? => Err(invalid(&value)),
            _ => {
                check::callable(name, n, "callable", &value)?;
                let known = match &value {
                    Value::Builtin(builtin) => match builtin.name {
                        "<" | "<=" | "compare" => Some(false),
                        ">" | ">=" => Some(true),
                        _ => None,
                    },
                    _ => None,
                };
                Ok(Comparator::Function { function: value, known })
            }
        }
    }
}

/// The meaning of the answer to `(f a b)`, where `a` is the earlier one: a boolean comparator is asked again the other way
/// round when it says no, a numeric one answers by its sign.
pub(super) fn verdict(name: &str, answer: &Value) -> Result<ComparatorVerdict> {
    Ok(match answer {
        Value::True => ComparatorVerdict::SecondFirst(false),
        Value::False => ComparatorVerdict::AskBack,
        Value::Int(n) => ComparatorVerdict::SecondFirst(*n > 0),
        Value::Float(x) => ComparatorVerdict::SecondFirst(x.get() > 0.0),
        Value::BigInt(n) => ComparatorVerdict::SecondFirst(n.get().sign() == num_bigint::Sign::Plus),
        other => {
            return Err(Error::type_error(format!(
                "{name}: comparator must return a boolean or an integer, got {}",
                other.kind_label()
            )));
        }
    })
}

/// `invalid comparator: V. …`; the doubled prefix is the text of the specification.
#[cold]
fn invalid(value: &Value) -> Error {
    Error::type_error(format!(
        "type_error: invalid comparator: {}. Expected :asc, :desc, or a function of 2 arguments.",
        print::readable_lossy(value)
    ))
}
