//! `take-while`, `drop-while`, `split-with`: the longest prefix that satisfies a predicate.

use crate::builtins::support::transducer;
use crate::builtins::support::{Feed, Sink, check, each, sequence};
use crate::error::Result;
use crate::machine::{Ctx, Flow, portable};
use crate::value::{Cursor, Value, Vector};
use std::mem::take;
use std::ops::ControlFlow;

/// The form of the result from the prefix and the rest.
#[derive(Clone, Copy)]
enum ResultForm {
    Prefix,
    Rest,
    Both,
}

portable!(enum ResultForm { 0: Prefix, 1: Rest, 2: Both });

impl ResultForm {
    fn of(self, all: &Vector, at: usize) -> Value {
        let prefix = || Value::Vector(all.slice(0, at));
        let rest = || Value::Vector(all.slice(at, all.len()));
        match self {
            ResultForm::Prefix => prefix(),
            ResultForm::Rest => rest(),
            ResultForm::Both => Value::pair(prefix(), rest()),
        }
    }
}

/// Counts truthy results up to the first falsy one.
pub(crate) struct Prefix {
    part: ResultForm,
    all: Vector,
    length: usize,
}

portable!(Prefix { part, all, length } if |prefix: &Prefix| prefix.length <= prefix.all.len());

impl Sink for Prefix {
    fn accept(&mut self, _: &mut Ctx<'_>, _: Value, result: Value) -> Result<ControlFlow<Value>> {
        if result.is_truthy() {
            self.length += 1;
            return Ok(ControlFlow::Continue(()));
        }
        Ok(ControlFlow::Break(self.part.of(&self.all, self.length)))
    }

    fn finish(&mut self, _: &mut Ctx<'_>) -> Result<Value> {
        Ok(self.part.of(&self.all, self.length))
    }
}

fn prefix(ctx: &mut Ctx<'_>, shown: &str, part: ResultForm, args: &mut [Value]) -> Result<Flow> {
    let items = check::unchecked(ctx, shown, args)?;
    let all = match &args[1] {
        Value::Vector(vector) | Value::List(vector) | Value::Queue(vector) => vector.clone(),
        _ => sequence::rest_of(ctx, items)?,
    };
    let feed = Feed::One(Cursor::Vector(all.clone().into_iter()));
    Ok(each(take(&mut args[0]), feed, Prefix { part, all, length: 0 }))
}

/// `(take-while p c)`
pub(super) fn take_while(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    if args.len() == 1 {
        check::callable("take-while", 1, "predicate", &args[0])?;
        return transducer(ctx, "take-while", args);
    }
    prefix(ctx, "take-while", ResultForm::Prefix, args)
}

/// `(drop-while p c)`
pub(crate) fn drop_while(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    if args.len() == 1 {
        check::callable("drop-while", 1, "predicate", &args[0])?;
        return transducer(ctx, "drop-while", args);
    }
    prefix(ctx, "drop-while", ResultForm::Rest, args)
}

/// `(split-with p c)`
pub(super) fn split_with(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    prefix(ctx, "split-with", ResultForm::Both, args)
}
