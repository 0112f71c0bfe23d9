//! `some` and its kin: stop at the first decisive element.

use crate::builtins::support::{Feed, Sink, check, each};
use crate::error::Result;
use crate::machine::{Ctx, Flow, portable};
use crate::value::Value;
use std::mem::take;
use std::ops::ControlFlow;

/// The condition that ends the loop, and its result.
pub(crate) struct Quantifier {
    /// Whether a truthy (or a falsy) result decides.
    decisive: bool,
    /// The value then; `None`: the result itself.
    decided: Option<bool>,
    /// The value when nothing has decided.
    otherwise: Value,
}

portable!(Quantifier { decisive, decided, otherwise });

impl Sink for Quantifier {
    fn accept(&mut self, _: &mut Ctx<'_>, _: Value, result: Value) -> Result<ControlFlow<Value>> {
        Ok(if result.is_truthy() == self.decisive {
            ControlFlow::Break(self.decided.map_or(result, Value::bool))
        } else {
            ControlFlow::Continue(())
        })
    }

    fn finish(&mut self, _: &mut Ctx<'_>) -> Result<Value> {
        Ok(take(&mut self.otherwise))
    }
}

fn quantify(ctx: &mut Ctx<'_>, shown: &str, args: &mut [Value], quantifier: Quantifier) -> Result<Flow> {
    let items = check::unchecked(ctx, shown, args)?;
    Ok(each(take(&mut args[0]), Feed::One(items), quantifier))
}

/// `(some p c)`
pub(super) fn some(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    quantify(ctx, "some", args, Quantifier { decisive: true, decided: None, otherwise: Value::Nil })
}

/// `(every? p c)`
pub(super) fn every(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    let quantifier = Quantifier { decisive: false, decided: Some(false), otherwise: Value::True };
    quantify(ctx, "every?", args, quantifier)
}

/// `(not-any? p c)`
pub(super) fn not_any(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    let quantifier = Quantifier { decisive: true, decided: Some(false), otherwise: Value::True };
    quantify(ctx, "not-any?", args, quantifier)
}

/// `(not-every? p c)`
pub(super) fn not_every(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    let quantifier = Quantifier { decisive: false, decided: Some(true), otherwise: Value::False };
    quantify(ctx, "not-every?", args, quantifier)
}
