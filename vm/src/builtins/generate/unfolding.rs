//! `iterate`, `repeatedly`, `cycle`, and the beginning of what never ends.

use crate::builtins::support::endless::{self, Endless};
use crate::builtins::support::{Builder, Feed, callee, check, each, elements, pulse};
use crate::builtins::transform::mapping::Collect;
use crate::error::{Error, Result};
use crate::machine::{Args, CallNow, Ctx, Flow, Input, NativeFrame, portable};
use crate::value::{Value, Vector, VectorIter};
use std::mem::take;
use std::ops::ControlFlow;

/// `(iterate f x)`
pub(super) fn iterate(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    check::callable("iterate", 1, "callable", &args[0])?;
    Ok(endless::make(ctx, "iterate", args.iter_mut().map(take)))
}

/// `(cycle c)`
pub(super) fn cycle(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    if !args[0].is_seqable() {
        return Err(Error::argument("cycle", 1, "seqable", &args[0]));
    }
    let all = elements(ctx, take(&mut args[0]))?.unwrap_or_default();
    Ok(if all.is_empty() { Value::Vector(all) } else { endless::make(ctx, "cycle", [Value::Vector(all)]) })
}

/// `(repeatedly n f)`, `(repeatedly f)`
pub(super) fn repeatedly(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    let function = args.len() - 1;
    check::callable("repeatedly", function + 1, "callable", &args[function])?;
    if function == 0 {
        return Ok(Flow::Return(endless::make(ctx, "repeatedly", [take(&mut args[0])])));
    }
    match check::count(&args[0]) {
        Some(count) => times(count, take(&mut args[1])),
        None => Err(Error::argument("repeatedly", 1, "integer", &args[0])),
    }
}

fn times(count: usize, function: Value) -> Result<Flow> {
    let feed = Feed::Times(count);
    let sink = Collect::all(&feed)?;
    Ok(each(function, feed, sink))
}

/// The first `count` elements of an endless sequence.
pub(crate) fn beginning(ctx: &mut Ctx<'_>, endless: &Endless<'_>, count: usize) -> Result<Flow> {
    if let Some(items) = endless::beginning(ctx, endless, count)? {
        return Ok(Flow::Return(Value::Vector(items)));
    }
    match endless {
        Endless::Repeatedly(function) => times(count, (*function).clone()),
        endless => {
            let out = Builder::with_capacity(count)?;
            Ok(unfold(endless, Some(count), None, out))
        }
    }
}

/// The elements of an endless sequence before the first one for which the predicate is falsy.
pub(crate) fn beginning_while(endless: &Endless<'_>, predicate: Value) -> Result<Flow> {
    Ok(unfold(endless, None, Some(predicate), Builder::new()))
}

fn unfold(endless: &Endless<'_>, left: Option<usize>, predicate: Option<Value>, out: Builder) -> Flow {
    let source = match endless {
        Endless::Repeat(x) => Source::Plain(Vector::repeat((*x).clone(), usize::MAX).into_iter()),
        Endless::Range(start, step) => Source::Range((*start).clone(), (*step).clone()),
        Endless::Cycle(vector) => Source::Cycle((*vector).clone(), vector.iter()),
        Endless::Iterate(function, x) => Source::Iterate((*function).clone(), (*x).clone(), false),
        Endless::Repeatedly(function) => Source::Repeatedly((*function).clone()),
    };
    Flow::Push(Box::new(Unfold { source, left, predicate, testing: None, out }))
}

/// Where elements come from.
enum Source {
    Plain(VectorIter),
    /// The next element, and the step.
    Range(Value, Value),
    Cycle(Vector, VectorIter),
    /// The function, the last element (at first: the next one), and whether that has been given out.
    Iterate(Value, Value, bool),
    Repeatedly(Value),
}

portable!(enum Source {
    0: Plain(items),
    1: Range(next, step),
    2: Cycle(all, items),
    3: Iterate(function, last, started),
    4: Repeatedly(function),
});

/// The next element, or the call that gives it.
enum Element {
    Ready(Value),
    Call(Value, Args),
}

impl Source {
    fn next(&mut self) -> Result<Element> {
        Ok(match self {
            Source::Plain(items) => Element::Ready(items.next().unwrap_or_default()),
            Source::Range(next, step) => {
                let after = crate::number::add(next, step)?;
                Element::Ready(std::mem::replace(next, after))
            }
            Source::Cycle(vector, items) => Element::Ready(match items.next() {
                Some(item) => item,
                None => {
                    *items = vector.iter();
                    items.next().unwrap_or_default()
                }
            }),
            Source::Iterate(_, first, started @ false) => {
                *started = true;
                Element::Ready(first.clone())
            }
            Source::Iterate(function, last, _) => Element::Call(function.clone(), callee::one(take(last))),
            Source::Repeatedly(function) => Element::Call(function.clone(), Args::new()),
        })
    }

    /// Keeps what the next element is made from.
    fn remember(&mut self, element: &Value) {
        if let Source::Iterate(_, last, _) = self {
            *last = element.clone();
        }
    }
}

/// Elements of an endless sequence, up to a number of them or to the first that fails a test.
pub(crate) struct Unfold {
    source: Source,
    left: Option<usize>,
    predicate: Option<Value>,
    /// The element whose test is under way.
    testing: Option<Value>,
    out: Builder,
}

portable!(Unfold { source, left, predicate, testing, out }
    // The element that a call gives is one of those that are left.
    if |unfold: &Unfold| unfold.testing.is_some() || unfold.left != Some(0));

impl Unfold {
    /// Takes the result of a call: a verdict on the element that is being tested, or the next element. `Break` at
    /// the end, else the call of a test if one is due.
    fn arrive(&mut self, value: Value) -> Result<ControlFlow<(), Option<(Value, Args)>>> {
        let Some(element) = self.testing.take() else { return self.accept(value).map(ControlFlow::Continue) };
        if !value.is_truthy() {
            return Ok(ControlFlow::Break(()));
        }
        self.out.push(element)?;
        Ok(ControlFlow::Continue(None))
    }

    /// Takes the next element: into the output, or to the test, whose call is returned.
    fn accept(&mut self, element: Value) -> Result<Option<(Value, Args)>> {
        self.source.remember(&element);
        if let Some(left) = &mut self.left {
            *left -= 1;
        }
        match &self.predicate {
            None => {
                self.out.push(element)?;
                Ok(None)
            }
            Some(predicate) => {
                self.testing = Some(element.clone());
                Ok(Some((predicate.clone(), callee::one(element))))
            }
        }
    }
}

impl NativeFrame for Unfold {
    fn resume(&mut self, ctx: &mut Ctx<'_>, input: Input) -> Result<Flow> {
        let mut call = None;
        if let Input::Value(value) = input {
            match self.arrive(value)? {
                ControlFlow::Break(()) => return Ok(Flow::Return(self.out.take())),
                ControlFlow::Continue(due) => call = due,
            }
        }
        loop {
            let (function, args) = match call.take() {
                Some(call) => call,
                None if self.left == Some(0) => return Ok(Flow::Return(self.out.take())),
                None => match self.source.next()? {
                    Element::Call(function, args) => (function, args),
                    Element::Ready(element) => {
                        ctx.charge(1)?;
                        call = self.accept(element)?;
                        continue;
                    }
                },
            };
            match ctx.call_now(&function, args)? {
                CallNow::NeedsFrame(args) => return Ok(Flow::Call(function, args)),
                CallNow::Done(value) => match self.arrive(value)? {
                    ControlFlow::Break(()) => return Ok(Flow::Return(self.out.take())),
                    ControlFlow::Continue(due) => call = due,
                },
            }
            // Between the call for an element and the call of its test nothing is kept for later.
            if call.is_none() && pulse(ctx)? {
                return Ok(Flow::Yield);
            }
        }
    }
}
