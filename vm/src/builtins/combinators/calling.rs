//! Calls of functions that combinators made, with a frame for the functions inside.

use crate::builtins::namespaces::EXTENSION;
use crate::builtins::row::frame;
use crate::builtins::support::{Builder, callee, pulse};
use crate::builtins::{Builtin, transducers};
use crate::error::{Error, Reason, Result};
use crate::machine::{Args, CallNow, Ctx, Flow, Input, NativeFrame, portable};
use crate::meter;
use crate::print;
use crate::value::{Combinator, CombinatorKind, Value, Vector};
use std::mem::take;
use std::rc::Rc;

/// Calls the function that a combinator made.
pub(crate) fn call(ctx: &mut Ctx<'_>, combinator: &Rc<Combinator>, mut args: Args) -> Result<Flow> {
    let parts = &combinator.parts;
    let state = match combinator.kind {
        CombinatorKind::Constantly => return Ok(Flow::Return(parts[0].clone())),
        CombinatorKind::Partial => {
            let args = with_first(ctx, &parts[1..], args)?;
            return Ok(Flow::TailCall(parts[0].clone(), args));
        }
        CombinatorKind::Fnil => {
            fill(&parts[1..], &mut args);
            return Ok(Flow::TailCall(parts[0].clone(), args));
        }
        CombinatorKind::Memoize => return remembering(ctx, &parts[0], args),
        CombinatorKind::Transducer => return Err(transducers::called()),
        CombinatorKind::Endless | CombinatorKind::Reduced => {
            let shown = print::readable_lossy(&Value::Combinator(combinator.clone()));
            return Err(Error::new(Reason::NotCallable, format!("not callable: {shown}")));
        }
        CombinatorKind::Comp => CombinatorProgress::Comp { left: parts.len(), args },
        CombinatorKind::Complement => CombinatorProgress::Complement { args },
        CombinatorKind::Juxt => CombinatorProgress::Juxt { args, out: Builder::with_capacity(parts.len())? },
        CombinatorKind::EveryPred | CombinatorKind::SomeFn if args.is_empty() => {
            let nothing = if combinator.kind == CombinatorKind::EveryPred { Value::True } else { Value::Nil };
            return Ok(Flow::Return(nothing));
        }
        CombinatorKind::EveryPred => CombinatorProgress::Quantify { some: false, at: 0, args },
        CombinatorKind::SomeFn => CombinatorProgress::Quantify { some: true, at: 0, args },
    };
    Ok(Flow::Push(Box::new(CombinatorCall { combinator: combinator.clone(), state })))
}

/// The arguments of a `partial`, then those of the call. Charges for all of them.
pub(super) fn with_first(ctx: &mut Ctx<'_>, first: &[Value], mut args: Args) -> Result<Args> {
    let count = first.len() + args.len();
    ctx.charge(count)?;
    ctx.reserve(count * size_of::<Value>())?;
    let mut all = Args::with_capacity(count);
    if meter::is_long(count) {
        meter::pieces(first).for_each(|piece| all.extend(piece.iter().cloned()));
        meter::pieces_mut(&mut args).for_each(|piece| all.extend(piece.iter_mut().map(take)));
    } else {
        all.extend(first.iter().cloned());
        all.extend(args);
    }
    Ok(all)
}

/// Puts the defaults of a `fnil` in the place of nil arguments.
pub(super) fn fill(defaults: &[Value], args: &mut Args) {
    for (arg, default) in args.iter_mut().zip(defaults) {
        if arg.is_nil() {
            *arg = default.clone();
        }
    }
}

/// A combinator's function in the middle of its work.
pub(crate) struct CombinatorCall {
    combinator: Rc<Combinator>,
    state: CombinatorProgress,
}

portable!(CombinatorCall { combinator, state } if CombinatorCall::is_sound);

enum CombinatorProgress {
    /// So many functions are left, and the next one, which is the last of them, gets these arguments.
    Comp { left: usize, args: Args },
    /// The function has not been called yet.
    Complement { args: Args },
    /// All functions get the same arguments.
    Juxt { args: Args, out: Builder },
    /// Functions outer, arguments inner, up to the first truthy (or falsy) result.
    Quantify { some: bool, at: usize, args: Args },
}

portable!(enum CombinatorProgress {
    0: Comp { left, args },
    1: Complement { args },
    2: Juxt { args, out },
    3: Quantify { some, at, args },
});

/// The next action.
enum NextAction {
    Call(usize, Args),
    TailCall(usize, Args),
    Return(Value),
}

impl CombinatorCall {
    /// Whether its progress is that of its kind of combinator while it waits for a call.
    fn is_sound(&self) -> bool {
        let count = self.combinator.parts.len();
        match (self.combinator.kind, &self.state) {
            (CombinatorKind::Comp, CombinatorProgress::Comp { left, .. }) => (1..count).contains(left),
            (CombinatorKind::Complement, CombinatorProgress::Complement { .. }) => count > 0,
            (CombinatorKind::Juxt, CombinatorProgress::Juxt { out, .. }) => out.len() < count,
            (CombinatorKind::EveryPred, CombinatorProgress::Quantify { some: false, at, args })
            | (CombinatorKind::SomeFn, CombinatorProgress::Quantify { some: true, at, args }) => {
                (1..=count * args.len()).contains(at)
            }
            _ => false,
        }
    }

    /// The next call, or the end.
    fn next(&mut self, ctx: &mut Ctx<'_>) -> Result<NextAction> {
        let count = self.combinator.parts.len();
        Ok(match &mut self.state {
            CombinatorProgress::Comp { left: 1, args } => NextAction::TailCall(0, take(args)),
            CombinatorProgress::Comp { left, args } => {
                *left -= 1;
                NextAction::Call(*left, take(args))
            }
            CombinatorProgress::Complement { args } => NextAction::Call(0, take(args)),
            CombinatorProgress::Juxt { args, out } if out.len() + 1 < count => {
                ctx.charge(args.len())?;
                NextAction::Call(out.len(), args.clone())
            }
            CombinatorProgress::Juxt { args, out } if out.len() < count => {
                NextAction::Call(out.len(), take(args))
            }
            CombinatorProgress::Juxt { out, .. } => NextAction::Return(out.take()),
            CombinatorProgress::Quantify { at, args, .. } => {
                let (function, arg) = (*at / args.len(), *at % args.len());
                *at += 1;
                NextAction::Call(function, callee::one(args[arg].clone()))
            }
        })
    }

    /// Takes the result of a call; the value if that ends the work.
    fn accept(&mut self, result: Value) -> Result<Option<Value>> {
        match &mut self.state {
            CombinatorProgress::Comp { args, .. } => *args = callee::one(result),
            CombinatorProgress::Complement { .. } => return Ok(Some(Value::bool(!result.is_truthy()))),
            CombinatorProgress::Juxt { out, .. } => out.push(result)?,
            CombinatorProgress::Quantify { some, at, args } => {
                let ends = *at == self.combinator.parts.len() * args.len();
                if ends || result.is_truthy() == *some {
                    return Ok(Some(if *some { result } else { Value::bool(result.is_truthy()) }));
                }
            }
        }
        Ok(None)
    }
}

impl NativeFrame for CombinatorCall {
    fn resume(&mut self, ctx: &mut Ctx<'_>, input: Input) -> Result<Flow> {
        if let Input::Value(result) = input
            && let Some(value) = self.accept(result)?
        {
            return Ok(Flow::Return(value));
        }
        loop {
            let (index, args) = match self.next(ctx)? {
                NextAction::Return(value) => return Ok(Flow::Return(value)),
                NextAction::TailCall(index, args) => {
                    return Ok(Flow::TailCall(self.combinator.parts[index].clone(), args));
                }
                NextAction::Call(index, args) => (index, args),
            };
            let function = &self.combinator.parts[index];
            match ctx.call_now(function, args)? {
                CallNow::Done(result) => {
                    if let Some(value) = self.accept(result)? {
                        return Ok(Flow::Return(value));
                    }
                }
                CallNow::NeedsFrame(args) => return Ok(Flow::Call(function.clone(), args)),
            }
            if pulse(ctx)? {
                return Ok(Flow::Yield);
            }
        }
    }
}

/// Calls a memoized function, unless this fiber has called it with these arguments before.
fn remembering(ctx: &mut Ctx<'_>, function: &Value, args: Args) -> Result<Flow> {
    let with = with_first(ctx, std::slice::from_ref(function), args.clone())?;
    let call = Value::Vector(Vector::from_vec(with.into_vec()));
    if let Some(value) = ctx.remembered(&call) {
        return Ok(Flow::Return(value.clone()));
    }
    match ctx.call_now(function, args)? {
        CallNow::Done(value) => {
            ctx.remember(call, value.clone())?;
            Ok(Flow::Return(value))
        }
        CallNow::NeedsFrame(args) => {
            Ok(Flow::Push(Box::new(Remember { function: function.clone(), args, call })))
        }
    }
}

/// A memoized function that is called for the first time with its arguments.
pub(crate) struct Remember {
    function: Value,
    args: Args,
    /// Function and arguments.
    call: Value,
}

portable!(Remember { function, args, call });

impl NativeFrame for Remember {
    fn resume(&mut self, ctx: &mut Ctx<'_>, input: Input) -> Result<Flow> {
        match input {
            Input::Start => Ok(Flow::Call(self.function.clone(), take(&mut self.args))),
            Input::Value(value) => {
                ctx.remember(take(&mut self.call), value.clone())?;
                Ok(Flow::Return(value))
            }
        }
    }
}

/// `(trampoline f & args)`: calls the result without arguments as long as it is a function.
pub(crate) struct Trampoline {
    function: Value,
    args: Args,
}

portable!(Trampoline { function, args });

impl NativeFrame for Trampoline {
    fn resume(&mut self, _: &mut Ctx<'_>, input: Input) -> Result<Flow> {
        match input {
            Input::Value(value) if !value.is_function() => Ok(Flow::Return(value)),
            Input::Value(function) => Ok(Flow::Call(function, Args::new())),
            Input::Start => Ok(Flow::Call(take(&mut self.function), take(&mut self.args))),
        }
    }
}

/// `(trampoline f & args)`
pub(super) fn trampoline(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    let function = take(&mut args[0]);
    let args = args[1..].iter_mut().map(take).collect();
    Ok(Flow::Push(Box::new(Trampoline { function, args })))
}

/// The function that the result of `comparator` calls: `(p a b)`.
pub(crate) static COMPARING: Builtin = frame("comparator", EXTENSION, "predicate a b", |_, args| {
    let [predicate, a, b] = args else { unreachable!("three arguments have been checked") };
    let (predicate, a, b) = (take(predicate), take(a), take(b));
    Ok(Flow::Push(Box::new(Comparing { predicate, a, b, turned: false })))
});

/// -1, 0 or 1, by asking the predicate about both orders.
pub(crate) struct Comparing {
    predicate: Value,
    a: Value,
    b: Value,
    turned: bool,
}

portable!(Comparing { predicate, a, b, turned });

impl NativeFrame for Comparing {
    fn resume(&mut self, _: &mut Ctx<'_>, input: Input) -> Result<Flow> {
        let (a, b) = (self.a.clone(), self.b.clone());
        Ok(match input {
            Input::Start => Flow::Call(self.predicate.clone(), callee::two(a, b)),
            Input::Value(holds) if holds.is_truthy() => {
                Flow::Return(Value::Int(if self.turned { 1 } else { -1 }))
            }
            Input::Value(_) if self.turned => Flow::Return(Value::Int(0)),
            Input::Value(_) => {
                self.turned = true;
                Flow::Call(self.predicate.clone(), callee::two(b, a))
            }
        })
    }
}
