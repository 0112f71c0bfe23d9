//! A pipeline at work: elements go through the stages one after the other, and into the output.
//!
//! They come from collections, or from an endless sequence: then only the output, or a stage that takes so many elements, ends
//! the run. Nothing of such a sequence is made before it is wanted.

use super::lane::{CallRequest, Lane};
use super::stage::PipelineStage;
use crate::builtins::generate::unfolding::Element;
use crate::builtins::support::adding::pour;
use crate::builtins::support::reduced::{is_reduced, unreduced};
use crate::builtins::support::{Builder, call, callee, check, pulse};
use crate::error::Result;
use crate::machine::{AnyFrame, Args, CallNow, Ctx, Flow, Input, NativeFrame, portable};
use crate::meter::MemoryCharge;
use crate::value::{Cursor, Value};
use std::mem::take;
use std::ops::ControlFlow;

/// The destination of the elements that come out.
pub(crate) enum Output {
    /// A vector.
    Vector(Builder),
    /// A collection, as by `into`.
    Into(Value),
    /// A fold; `None` as long as the initial value has to be asked for.
    Fold { function: Value, acc: Option<Value> },
    /// The first element, or its substitute.
    First(Value),
    /// A fold of `reduce`, whose function is not called at the end. Unless it has started, the first element is the
    /// accumulator.
    Reduce { function: Value, acc: Value, started: bool },
    /// The first truthy (or falsy) answer ends the run: with `decided`, or with that answer.
    Decide { predicate: Value, decisive: bool, decided: Option<bool>, answer: Value },
    /// The body of a loop, one at a time.
    Loop,
    /// Nothing, up to one that is `reduced`; and the value.
    Nothing(Value),
}

portable!(enum Output {
    0: Vector(out),
    1: Into(target),
    2: Fold { function, acc },
    3: First(found),
    4: Reduce { function, acc, started },
    5: Decide { predicate, decisive, decided, answer },
    6: Loop,
    7: Nothing(value),
});

/// A run of a pipeline.
pub(crate) struct Pipeline {
    /// The lane whose elements go into the output.
    main: Lane,
    /// The lanes of endless sequences that are walked in step, numbered from 1 on.
    others: Vec<Lane>,
    /// The lane that is at work.
    active: usize,
    output: Output,
    /// Bytes of the stages and lanes of an endless sequence, of which a program may make any number.
    held: MemoryCharge,
}

portable!(Pipeline { main, others, active, output, held } if Pipeline::is_sound);

impl Pipeline {
    pub(super) fn new(stages: Vec<PipelineStage>, items: Cursor, output: Output) -> Pipeline {
        let main = Lane::new(stages, items);
        Pipeline { main, others: Vec::new(), active: 0, output, held: MemoryCharge::default() }
    }

    /// One over an endless sequence: its elements pass its own stages, and then these.
    fn over(ctx: &mut Ctx<'_>, series: &Value, more: Vec<PipelineStage>, output: Output) -> Result<Pipeline> {
        let (main, others) = Lane::all(ctx, series, more)?;
        let stages = others.iter().map(|lane| lane.stages.len()).sum::<usize>() + main.stages.len();
        let held = MemoryCharge::new(others.len() * size_of::<Lane>() + stages * size_of::<PipelineStage>())?;
        Ok(Pipeline { main, others, active: 0, output, held })
    }

    fn is_sound(&self) -> bool {
        let count = 1 + self.others.len();
        let others = self.others.iter().zip(1..).all(|(lane, own)| lane.is_sound(own, count));
        others && self.main.is_sound(0, count) && self.active < count
    }

    /// The lane at work.
    #[inline]
    fn lane(&mut self) -> &mut Lane {
        match self.active.checked_sub(1) {
            None => &mut self.main,
            Some(other) => &mut self.others[other],
        }
    }

    /// Hands the next element of the lane at work, or its end, to the lane whose elements are made of it.
    fn hand_up(&mut self, part: Option<Value>) {
        self.active = self.lane().parent;
        self.lane().gather(part);
    }

    /// Whether the lane at work is the first one and has no more stages before it.
    fn is_output(&self, at: usize) -> bool {
        self.active == 0 && at >= self.main.stages.len()
    }

    /// The call that must be made before `item` can pass stage `at`.
    fn request(&mut self, at: usize, item: &Value) -> Option<CallRequest> {
        if !self.is_output(at) {
            return self.lane().request(at, item);
        }
        match &mut self.output {
            Output::Fold { function, acc } => {
                let args = callee::two(acc.take().unwrap_or_default(), item.clone());
                Some(CallRequest { function: function.clone(), args })
            }
            Output::Reduce { function, acc, started: true } => {
                let args = callee::two(take(acc), item.clone());
                Some(CallRequest { function: function.clone(), args })
            }
            Output::Decide { predicate, .. } => Some(CallRequest::one(predicate, item)),
            Output::Vector(_)
            | Output::Into(_)
            | Output::First(_)
            | Output::Reduce { .. }
            | Output::Loop
            | Output::Nothing(_) => None,
        }
    }

    /// Lets `item` through stage `at`, given the answer of its call. `Break` ends the run at once, or hands an element out.
    fn pass(
        &mut self,
        ctx: &mut Ctx<'_>,
        at: usize,
        item: Value,
        answer: Value,
    ) -> Result<ControlFlow<Flow>> {
        if !self.is_output(at) {
            return Ok(match self.lane().pass(ctx, at, item, answer)? {
                ControlFlow::Continue(()) => ControlFlow::Continue(()),
                ControlFlow::Break((result, item)) => ControlFlow::Break(self.halt(result, item)),
            });
        }
        match &mut self.output {
            Output::Vector(out) => out.push(item)?,
            Output::Into(target) => pour(ctx, target, item)?,
            Output::Fold { acc, .. } if is_reduced(&answer) => {
                *acc = Some(unreduced(answer));
                self.main.stop(at);
            }
            Output::Fold { acc, .. } => *acc = Some(answer),
            Output::Reduce { acc, started: started @ false, .. } => (*acc, *started) = (item, true),
            Output::Reduce { acc, .. } if is_reduced(&answer) => {
                *acc = unreduced(answer);
                self.main.stop(at);
            }
            Output::Reduce { acc, .. } => *acc = answer,
            Output::First(found) => {
                *found = item;
                self.main.stop(at);
            }
            Output::Decide { decisive, decided, answer: found, .. } => {
                if answer.is_truthy() == *decisive {
                    *found = decided.map_or(answer, Value::bool);
                    self.main.stop(at);
                }
            }
            Output::Loop => return Ok(ControlFlow::Break(Flow::Element(item))),
            Output::Nothing(_) => {
                if is_reduced(&item) {
                    self.main.stop(at);
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// `halt-when` has found its element: it is the result, or `(result acc element)` is.
    fn halt(&mut self, result: Value, item: Value) -> Flow {
        if result.is_nil() {
            return Flow::Return(item);
        }
        let acc = match &mut self.output {
            Output::Vector(out) => out.take(),
            Output::Into(target) => take(target),
            Output::Fold { acc, .. } => acc.take().unwrap_or_default(),
            Output::First(found)
            | Output::Decide { answer: found, .. }
            | Output::Reduce { acc: found, .. }
            | Output::Nothing(found) => take(found),
            Output::Loop => Value::Nil,
        };
        Flow::TailCall(result, callee::two(acc, item))
    }

    /// The value, once there are no more elements. A fold's function is called once more with its result, as
    /// Clojure does, if it takes one argument.
    fn finish(&mut self, ctx: &mut Ctx<'_>) -> Result<Flow> {
        Ok(match &mut self.output {
            Output::Vector(out) => Flow::Return(out.take()),
            Output::Into(found)
            | Output::First(found)
            | Output::Decide { answer: found, .. }
            | Output::Reduce { acc: found, .. }
            | Output::Nothing(found) => Flow::Return(take(found)),
            Output::Fold { function, acc } => {
                let acc = acc.take().unwrap_or_default();
                if check::takes(ctx, function, 1)? {
                    Flow::TailCall(take(function), callee::one(acc))
                } else {
                    Flow::Return(acc)
                }
            }
            Output::Loop => Flow::NoElement,
        })
    }
}

/// Runs `output` over an endless sequence whose elements pass these stages.
///
/// # Errors
/// The program's limits.
pub(crate) fn over(
    ctx: &mut Ctx<'_>,
    series: &Value,
    more: Vec<PipelineStage>,
    output: Output,
) -> Result<Flow> {
    Ok(Flow::Push(Box::new(Pipeline::over(ctx, series, more, output)?)))
}

/// A collection that is an argument of a call.
pub(super) struct CollectionArgument<V> {
    /// The function that is called.
    pub(super) function: &'static str,
    /// The position among its arguments, from 1.
    pub(super) position: usize,
    pub(super) value: V,
}

/// Runs over `collection`.
pub(super) fn run(
    ctx: &mut Ctx<'_>,
    collection: CollectionArgument<&Value>,
    stages: Vec<PipelineStage>,
    output: Output,
) -> Result<Flow> {
    let CollectionArgument { function, position, value } = collection;
    if value.is_endless() {
        return over(ctx, value, stages, output);
    }
    let items = check::seqable(ctx, function, position, value)?;
    Ok(Flow::Push(Box::new(Pipeline::new(stages, items, output))))
}

/// A vector of so many elements, if it is known how many.
///
/// # Errors
/// There is no room.
pub(crate) fn vector_of(count: usize) -> Result<Output> {
    Builder::with_capacity(count).map(Output::Vector)
}

/// The frame that hands the elements of an endless sequence to the body of a loop.
///
/// # Errors
/// The program's limits.
pub(crate) fn walk(ctx: &mut Ctx<'_>, series: &Value) -> Result<Box<dyn AnyFrame>> {
    Ok(Box::new(Pipeline::over(ctx, series, Vec::new(), Output::Loop)?))
}

impl NativeFrame for Pipeline {
    fn resume(&mut self, ctx: &mut Ctx<'_>, input: Input) -> Result<Flow> {
        let begins = self.active == 0 && self.main.current.is_none();
        let makes_element = self.lane().makes_element;
        let mut answer = match (input, &mut self.output) {
            (Input::Start, Output::Fold { function, acc: None }) if begins => {
                return Ok(Flow::Call(function.clone(), Args::new()));
            }
            (Input::Value(initial), Output::Fold { acc: acc @ None, .. }) if begins => {
                *acc = Some(initial);
                None
            }
            (Input::Start, _) => None,
            (Input::Value(element), _) if makes_element => {
                self.lane().made(element);
                None
            }
            (Input::Value(answer), _) => Some(answer),
        };
        loop {
            let (at, item) = match self.lane().current.take() {
                Some(work) => work,
                None => match self.lane().next()? {
                    Some((at, Element::Ready(item))) => (at, item),
                    Some((_, Element::Call(function, args))) => match call(ctx, &function, args)? {
                        CallNow::Done(element) => {
                            self.lane().made(element);
                            continue;
                        }
                        CallNow::NeedsFrame(args) => {
                            self.lane().makes_element = true;
                            return Ok(Flow::Call(function, args));
                        }
                    },
                    None if self.active == 0 => return self.finish(ctx),
                    other => {
                        ctx.charge(1)?;
                        match other {
                            Some((_, Element::Of(lane))) => self.active = lane,
                            _ => self.hand_up(None),
                        }
                        if pulse(ctx)? {
                            return Ok(Flow::Yield);
                        }
                        continue;
                    }
                },
            };
            if self.active > 0 && at >= self.lane().stages.len() {
                ctx.charge(1)?;
                self.hand_up(Some(item));
                continue;
            }
            let answer = match answer.take() {
                Some(answer) => answer,
                None => match self.request(at, &item) {
                    None => {
                        ctx.charge(1)?;
                        Value::Nil
                    }
                    Some(CallRequest { function, args }) => match call(ctx, &function, args)? {
                        CallNow::Done(answer) => answer,
                        CallNow::NeedsFrame(args) => {
                            self.lane().current = Some((at, item));
                            return Ok(Flow::Call(function, args));
                        }
                    },
                },
            };
            if let ControlFlow::Break(flow) = self.pass(ctx, at, item, answer)? {
                return Ok(flow);
            }
            if pulse(ctx)? {
                return Ok(Flow::Yield);
            }
        }
    }
}
