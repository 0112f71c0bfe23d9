//! `reduce` and `reductions`.

use crate::builtins::support::reduced::{is_reduced, unreduced};
use crate::builtins::support::{Builder, callee, check, pulse};
use crate::error::Result;
use crate::machine::{CallNow, Ctx, Flow, Input, NativeFrame, Reentry, Stack, portable};
use crate::value::{Closure, Cursor, Value};
use std::mem::take;
use std::rc::Rc;

/// A fold under way.
pub(crate) struct Reduce {
    function: Value,
    items: Cursor,
    acc: Value,
    /// The function is `+`, which adds small integers here.
    adds: bool,
}

portable!(Reduce { function, items, acc, adds });

impl Reduce {
    /// Adds small integers as long as there are some, without calls.
    #[inline]
    fn add_integers(&mut self, ctx: &mut Ctx<'_>) -> Result<Option<Value>> {
        while let Some(item) = self.items.advance() {
            let sum = match (&self.acc, &item) {
                (Value::Int(a), Value::Int(b)) => a.checked_add(*b),
                _ => None,
            };
            match sum {
                Some(sum) => {
                    ctx.charge(1)?;
                    self.acc = Value::Int(sum);
                }
                None => return Ok(Some(item)),
            }
            if ctx.should_yield() {
                break;
            }
        }
        Ok(None)
    }
}

impl NativeFrame for Reduce {
    fn resume(&mut self, ctx: &mut Ctx<'_>, input: Input) -> Result<Flow> {
        if let Input::Value(result) = input {
            if is_reduced(&result) {
                return Ok(Flow::Return(unreduced(result)));
            }
            self.acc = result;
        }
        loop {
            let item = if self.adds { self.add_integers(ctx)? } else { self.items.advance() };
            let Some(item) = item else {
                if self.items.remaining() > 0 {
                    return Ok(Flow::Yield);
                }
                return Ok(Flow::Return(take(&mut self.acc)));
            };
            // The accumulator moves into the call, so that a function may change it in place.
            match ctx.call_now(&self.function, callee::two(take(&mut self.acc), item))? {
                CallNow::Done(result) if is_reduced(&result) => return Ok(Flow::Return(unreduced(result))),
                CallNow::Done(result) => self.acc = result,
                CallNow::NeedsFrame(args) => return Ok(Flow::Call(self.function.clone(), args)),
            }
            if pulse(ctx)? {
                return Ok(Flow::Yield);
            }
        }
    }

    fn reenter(&mut self, _: &mut Ctx<'_>, stack: &mut Stack, running: &Rc<Closure>) -> Result<Reentry> {
        let Value::Closure(function) = &self.function else { return Ok(Reentry::No) };
        if !Rc::ptr_eq(function, running) || is_reduced(stack.top()) {
            return Ok(Reentry::No);
        }
        let Some(item) = self.items.advance() else { return Ok(Reentry::No) };
        let result = stack.take_top();
        stack.push(result);
        stack.push(item);
        Ok(Reentry::Call(2))
    }
}

/// The result of `(f)`, or nothing, for an empty collection without an initial value (ruling 11).
fn nothing(ctx: &mut Ctx<'_>, function: Value) -> Result<Flow> {
    if check::takes(ctx, &function, 0)? {
        Ok(Flow::TailCall(function, Default::default()))
    } else {
        Ok(Flow::Return(Value::Nil))
    }
}

/// The function, the elements and the first accumulator of `(name f c)` and `(name f init c)`. Without `init` the first
/// element is the accumulator, if there is one.
fn opening(
    ctx: &mut Ctx<'_>,
    name: &'static str,
    args: &mut [Value],
) -> Result<(Value, Cursor, Option<Value>)> {
    check::callable(name, 1, "callable", &args[0])?;
    let last = args.len() - 1;
    let mut items = check::seqable(ctx, name, last + 1, &args[last])?;
    let function = take(&mut args[0]);
    let acc = if last == 2 { Some(take(&mut args[1])) } else { items.advance() };
    Ok((function, items, acc))
}

/// `(reduce f c)`, `(reduce f init c)`
pub(super) fn reduce(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    let (function, items, acc) = opening(ctx, "reduce", args)?;
    let Some(acc) = acc else { return nothing(ctx, function) };
    if items.remaining() == 0 {
        return Ok(Flow::Return(acc));
    }
    let adds = matches!(function, Value::Builtin(builtin) if builtin.name == "+");
    // The frame holds the elements; the argument must not keep the collection shared.
    args[args.len() - 1] = Value::Nil;
    Ok(Flow::Push(Box::new(Reduce { function, items, acc, adds })))
}

/// All accumulators of a fold under way.
pub(crate) struct Reductions {
    function: Value,
    items: Cursor,
    acc: Value,
    out: Builder,
}

portable!(Reductions { function, items, acc, out });

impl Reductions {
    /// Takes the next accumulator; whether it is the last one.
    fn accept(&mut self, result: Value) -> Result<bool> {
        let ends = is_reduced(&result);
        self.acc = unreduced(result);
        self.out.push(self.acc.clone())?;
        Ok(ends)
    }
}

impl NativeFrame for Reductions {
    fn resume(&mut self, ctx: &mut Ctx<'_>, input: Input) -> Result<Flow> {
        if let Input::Value(result) = input
            && self.accept(result)?
        {
            return Ok(Flow::Return(self.out.take()));
        }
        loop {
            let Some(item) = self.items.advance() else { return Ok(Flow::Return(self.out.take())) };
            match ctx.call_now(&self.function, callee::two(take(&mut self.acc), item))? {
                CallNow::Done(result) => {
                    if self.accept(result)? {
                        return Ok(Flow::Return(self.out.take()));
                    }
                }
                CallNow::NeedsFrame(args) => return Ok(Flow::Call(self.function.clone(), args)),
            }
            if pulse(ctx)? {
                return Ok(Flow::Yield);
            }
        }
    }
}

/// `((reductions f []))`: the value of `(f)` alone.
pub(crate) struct SingleReduction(Value);

portable!(SingleReduction(function));

impl NativeFrame for SingleReduction {
    fn resume(&mut self, _: &mut Ctx<'_>, input: Input) -> Result<Flow> {
        Ok(match input {
            Input::Start => Flow::Call(take(&mut self.0), Default::default()),
            Input::Value(value) => Flow::Return(Value::vector([value])),
        })
    }
}

/// `(reductions f c)`, `(reductions f init c)`
pub(super) fn reductions(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    let (function, items, acc) = opening(ctx, "reductions", args)?;
    let acc = match acc {
        Some(acc) => acc,
        None if check::takes(ctx, &function, 0)? => {
            return Ok(Flow::Push(Box::new(SingleReduction(function))));
        }
        None => return Ok(Flow::Return(Value::vector([]))),
    };
    let mut out = Builder::with_capacity(items.remaining().saturating_add(1))?;
    if is_reduced(&acc) {
        return Ok(Flow::Return(Value::vector([unreduced(acc)])));
    }
    out.push(acc.clone())?;
    Ok(Flow::Push(Box::new(Reductions { function, items, acc, out })))
}
