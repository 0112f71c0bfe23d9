//! A pipeline at work: elements go through the stages one after the other, and into the output.
//!
//! They come from collections, or from an endless sequence: then only the output, or a stage that takes so many elements, ends
//! the run. Nothing of such a sequence is made before it is wanted.

use super::stage::{Stage, stages};
use crate::builtins::generate::unfolding::{Element, Source};
use crate::builtins::support::adding::pour;
use crate::builtins::support::endless::{self, Endless};
use crate::builtins::support::reduced::{is_reduced, unreduced};
use crate::builtins::support::{Builder, call, callee, check, cursor, pulse};
use crate::builtins::transform::mapping::spliced;
use crate::error::{Error, Result};
use crate::machine::{Args, CallNow, Ctx, Flow, Input, NativeFrame, portable};
use crate::value::{Cursor, Value, Vector, identical};
use std::mem::take;
use std::ops::ControlFlow;

/// What the elements that come out go into.
pub(crate) enum Output {
    /// A vector.
    Vector(Builder),
    /// A collection, as by `into`.
    Into(Value),
    /// A fold; `None` as long as the initial value has to be asked for.
    Fold { function: Value, acc: Option<Value> },
    /// The first element, or what stands for it.
    First(Value),
    /// A fold of `reduce`, whose function is not told of the end. Unless it has started, the first element is the accumulator.
    Reduce { function: Value, acc: Value, started: bool },
    /// The first truthy (or falsy) answer ends the run: with `decided`, or with that answer.
    Decide { predicate: Value, decisive: bool, decided: Option<bool>, answer: Value },
}

portable!(enum Output {
    0: Vector(out),
    1: Into(target),
    2: Fold { function, acc },
    3: First(found),
    4: Reduce { function, acc, started },
    5: Decide { predicate, decisive, decided, answer },
});

/// A run of a pipeline.
pub(crate) struct Pipeline {
    stages: Vec<Stage>,
    /// What is still to come: elements that enter at a stage, innermost last.
    sources: Vec<(usize, Cursor)>,
    /// What comes behind those, at the first stage, for as long as it takes elements.
    endless: Option<Source>,
    /// Whether a function of the endless sequence runs, whose result is the next element.
    makes_element: bool,
    /// The element under way and the stage it is about to enter. Kept while the stage's function runs.
    current: Option<(usize, Value)>,
    /// Stages before this one take no more elements, and hold nothing that is still wanted.
    live: usize,
    output: Output,
}

portable!(Pipeline { stages, sources, endless, makes_element, current, live, output } if Pipeline::is_sound);

/// A call that a stage or the output needs.
struct Request {
    function: Value,
    args: Args,
}

impl Pipeline {
    pub(super) fn new(stages: Vec<Stage>, items: Cursor, output: Output) -> Pipeline {
        Pipeline {
            stages,
            sources: vec![(0, items)],
            endless: None,
            makes_element: false,
            current: None,
            live: 0,
            output,
        }
    }

    /// One over an endless sequence: its elements pass its own stages, and then these.
    ///
    /// # Errors
    /// The program's limits.
    pub(super) fn over(
        ctx: &mut Ctx<'_>,
        series: &Value,
        more: Vec<Stage>,
        output: Output,
    ) -> Result<Pipeline> {
        // Outermost first: what is done to the elements, from its end, and what comes before them.
        let (mut backwards, mut fronts) = (Vec::new(), Vec::new());
        let mut value = series;
        let endless = loop {
            ctx.charge(1)?;
            match endless::open(value) {
                Some(Endless::Through(transducers, inner)) => {
                    for transducer in transducers.iter().rev() {
                        let more = stages(ctx, "sequence", 1, transducer)?;
                        ctx.reserve((backwards.len() + more.len()) * size_of::<Stage>())?;
                        backwards.extend(more.into_iter().rev());
                    }
                    value = inner;
                }
                Some(Endless::After(front, inner)) => {
                    ctx.reserve((fronts.len() + 1) * size_of::<(usize, Cursor)>())?;
                    fronts.push((backwards.len(), front));
                    value = inner;
                }
                Some(plain) => break Source::of(&plain),
                None => return Err(endless::error(series)),
            }
        };
        let own = backwards.len();
        let enter = |(passed, front): (usize, &Vector)| (own - passed, Cursor::Vector(front.iter()));
        let sources = fronts.into_iter().rev().map(enter).collect();
        let stages = backwards.into_iter().rev().chain(more).collect();
        Ok(Pipeline { stages, sources, endless, makes_element: false, current: None, live: 0, output })
    }

    /// Whether all its numbers are those of stages, or of the output behind them.
    fn is_sound(&self) -> bool {
        let count = self.stages.len();
        let current = self.current.as_ref().map(|(stage, _)| stage);
        self.sources.iter().map(|(stage, _)| stage).chain(current).all(|stage| *stage <= count)
            && self.live <= count + 1
            && (!self.makes_element || self.endless.is_some() && self.current.is_none())
    }

    /// The next element to work on, or the call that makes it: from the sources, then what stages hold back.
    fn next(&mut self) -> Result<Option<(usize, Element)>> {
        while let Some((stage, items)) = self.sources.last_mut() {
            if let Some(item) = items.advance() {
                return Ok(Some((*stage, Element::Ready(item))));
            }
            self.sources.pop();
        }
        if self.live == 0
            && let Some(endless) = &mut self.endless
        {
            return Ok(Some((0, endless.next()?)));
        }
        while let Some(stage) = self.stages.get_mut(self.live) {
            self.live += 1;
            if let Some(rest) = stage.flush() {
                return Ok(Some((self.live, Element::Ready(rest))));
            }
        }
        Ok(None)
    }

    /// An element of the endless sequence has been made.
    fn made(&mut self, element: Value) {
        self.makes_element = false;
        if let Some(endless) = &mut self.endless {
            endless.remember(&element);
        }
        self.current = Some((0, element));
    }

    /// No more elements before or in stage `at`.
    fn stop(&mut self, at: usize) {
        self.live = self.live.max(at + 1);
        self.sources.retain(|(stage, _)| *stage > at);
    }

    /// The call that must be made before `item` can pass stage `at`.
    fn request(&mut self, at: usize, item: &Value) -> Option<Request> {
        let one =
            |function: &Value| Some(Request { function: function.clone(), args: callee::one(item.clone()) });
        match self.stages.get_mut(at) {
            None => match &mut self.output {
                Output::Fold { function, acc } => {
                    let args = callee::two(acc.take().unwrap_or_default(), item.clone());
                    Some(Request { function: function.clone(), args })
                }
                Output::Reduce { function, acc, started: true } => {
                    let args = callee::two(take(acc), item.clone());
                    Some(Request { function: function.clone(), args })
                }
                Output::Decide { predicate, .. } => one(predicate),
                Output::Vector(_) | Output::Into(_) | Output::First(_) | Output::Reduce { .. } => None,
            },
            Some(
                Stage::Map(function)
                | Stage::Mapcat(function)
                | Stage::Keep(function)
                | Stage::TakeWhile(function)
                | Stage::DropWhile(Some(function))
                | Stage::Filter { predicate: function, .. }
                | Stage::PartitionBy { function, .. }
                | Stage::HaltWhen { predicate: function, .. },
            ) => one(function),
            Some(Stage::MapIndexed(function, index) | Stage::KeepIndexed(function, index)) => {
                let args = callee::two(Value::Int(*index), item.clone());
                *index += 1;
                Some(Request { function: function.clone(), args })
            }
            Some(_) => None,
        }
    }

    /// Lets `item` through stage `at`, given the answer of its call. `Break` ends the run at once.
    fn pass(
        &mut self,
        ctx: &mut Ctx<'_>,
        at: usize,
        item: Value,
        answer: Value,
    ) -> Result<ControlFlow<Flow>> {
        let next = at + 1;
        let Some(stage) = self.stages.get_mut(at) else {
            match &mut self.output {
                Output::Vector(out) => out.push(item)?,
                Output::Into(target) => pour(ctx, target, item)?,
                Output::Fold { acc, .. } if is_reduced(&answer) => {
                    *acc = Some(unreduced(answer));
                    self.stop(at);
                }
                Output::Fold { acc, .. } => *acc = Some(answer),
                Output::Reduce { acc, started: started @ false, .. } => {
                    (*acc, *started) = (item, true);
                }
                Output::Reduce { acc, .. } if is_reduced(&answer) => {
                    *acc = unreduced(answer);
                    self.stop(at);
                }
                Output::Reduce { acc, .. } => *acc = answer,
                Output::First(found) => {
                    *found = item;
                    self.stop(at);
                }
                Output::Decide { decisive, decided, answer: found, .. } => {
                    if answer.is_truthy() == *decisive {
                        *found = decided.map_or(answer, Value::bool);
                        self.stop(at);
                    }
                }
            }
            return Ok(ControlFlow::Continue(()));
        };
        let out = match stage {
            Stage::Map(_) | Stage::MapIndexed(..) => Some(answer),
            Stage::Mapcat(function) => {
                let by_keyword = matches!(function, Value::Keyword(_));
                match spliced(ctx, answer, by_keyword)? {
                    ControlFlow::Continue(items) => {
                        self.splice(ctx, next, items)?;
                        None
                    }
                    ControlFlow::Break(one) => Some(one),
                }
            }
            Stage::Cat => {
                let Some(items) = cursor(ctx, &item)? else {
                    return Err(Error::argument("cat", 1, "seqable", &item));
                };
                self.splice(ctx, next, items)?;
                None
            }
            Stage::Filter { truthy, .. } => (answer.is_truthy() == *truthy).then_some(item),
            Stage::Keep(_) | Stage::KeepIndexed(..) => (!answer.is_nil()).then_some(answer),
            Stage::Take(left) => {
                let wanted = *left > 0;
                *left = left.saturating_sub(1);
                if *left == 0 {
                    self.stop(at);
                }
                wanted.then_some(item)
            }
            Stage::TakeWhile(_) if answer.is_truthy() => Some(item),
            Stage::TakeWhile(_) => {
                self.stop(at);
                None
            }
            Stage::Drop(0) => Some(item),
            Stage::Drop(left) => {
                *left -= 1;
                None
            }
            Stage::DropWhile(Some(_)) if answer.is_truthy() => None,
            Stage::DropWhile(predicate) => {
                *predicate = None;
                Some(item)
            }
            Stage::TakeNth { step, skip: skip @ 0 } => {
                *skip = *step - 1;
                Some(item)
            }
            Stage::TakeNth { skip, .. } => {
                *skip -= 1;
                None
            }
            Stage::Distinct(seen) => seen.entry(item.clone(), || ())?.1.then_some(item),
            Stage::Dedupe(last) => {
                let repeats = last.as_ref().is_some_and(|last| identical(last, &item));
                if !repeats {
                    *last = Some(item.clone());
                }
                (!repeats).then_some(item)
            }
            Stage::Interpose { started: false, .. } => {
                *stage = match std::mem::replace(stage, Stage::Cat) {
                    Stage::Interpose { separator, .. } => Stage::Interpose { separator, started: true },
                    other => other,
                };
                Some(item)
            }
            Stage::Interpose { separator, .. } => {
                let both: Vector = [separator.clone(), item].into_iter().collect();
                self.splice(ctx, next, Cursor::Vector(both.into_iter()))?;
                None
            }
            Stage::PartitionAll(n, run) => {
                run.push(item)?;
                (run.len() == *n).then(|| run.take())
            }
            Stage::PartitionBy { key, run, .. } => {
                let changed = key.as_ref().is_some_and(|last| !identical(last, &answer));
                let done = if changed { Some(run.take()) } else { None };
                if key.is_none() || changed {
                    *key = Some(answer);
                }
                run.push(item)?;
                done
            }
            Stage::HaltWhen { .. } if !answer.is_truthy() => Some(item),
            Stage::HaltWhen { result, .. } => {
                let result = take(result);
                return Ok(ControlFlow::Break(self.halt(result, item)));
            }
        };
        if let Some(out) = out {
            self.current = Some((next, out));
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Elements that enter at stage `at` before everything else.
    fn splice(&mut self, ctx: &mut Ctx<'_>, at: usize, items: Cursor) -> Result<()> {
        if items.remaining() > 0 {
            ctx.reserve((self.sources.len() + 1) * size_of::<(usize, Cursor)>())?;
            self.sources.push((at, items));
        }
        Ok(())
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
            | Output::Reduce { acc: found, .. } => take(found),
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
            | Output::Reduce { acc: found, .. } => Flow::Return(take(found)),
            Output::Fold { function, acc } => {
                let acc = acc.take().unwrap_or_default();
                if check::takes(ctx, function, 1)? {
                    Flow::TailCall(take(function), callee::one(acc))
                } else {
                    Flow::Return(acc)
                }
            }
        })
    }
}

/// What `output` makes of an endless sequence whose elements pass these stages.
///
/// # Errors
/// The program's limits.
pub(crate) fn over(ctx: &mut Ctx<'_>, series: &Value, more: Vec<Stage>, output: Output) -> Result<Flow> {
    Ok(Flow::Push(Box::new(Pipeline::over(ctx, series, more, output)?)))
}

/// A vector of so many elements, if it is known how many.
///
/// # Errors
/// There is no room.
pub(crate) fn vector_of(count: usize) -> Result<Output> {
    Builder::with_capacity(count).map(Output::Vector)
}

impl NativeFrame for Pipeline {
    fn resume(&mut self, ctx: &mut Ctx<'_>, input: Input) -> Result<Flow> {
        let mut answer = match (input, &mut self.output) {
            (Input::Start, Output::Fold { function, acc: None }) if self.current.is_none() => {
                return Ok(Flow::Call(function.clone(), Args::new()));
            }
            (Input::Value(initial), Output::Fold { acc: acc @ None, .. }) if self.current.is_none() => {
                *acc = Some(initial);
                None
            }
            (Input::Start, _) => None,
            (Input::Value(element), _) if self.makes_element => {
                self.made(element);
                None
            }
            (Input::Value(answer), _) => Some(answer),
        };
        loop {
            let (at, item) = match self.current.take() {
                Some(work) => work,
                None => match self.next()? {
                    None => return self.finish(ctx),
                    Some((at, Element::Ready(item))) => (at, item),
                    Some((_, Element::Call(function, args))) => match call(ctx, &function, args)? {
                        CallNow::Done(element) => {
                            self.made(element);
                            continue;
                        }
                        CallNow::NeedsFrame(args) => {
                            self.makes_element = true;
                            return Ok(Flow::Call(function, args));
                        }
                    },
                },
            };
            let answer = match answer.take() {
                Some(answer) => answer,
                None => match self.request(at, &item) {
                    None => {
                        ctx.charge(1)?;
                        Value::Nil
                    }
                    Some(Request { function, args }) => match call(ctx, &function, args)? {
                        CallNow::Done(answer) => answer,
                        CallNow::NeedsFrame(args) => {
                            self.current = Some((at, item));
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
