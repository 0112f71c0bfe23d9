//! The way of elements from where they come from through stages.

use super::stage::{PipelineStage, stages};
use crate::builtins::generate::unfolding::{Element, ElementSource};
use crate::builtins::subset::grouping::not_positive;
use crate::builtins::support::endless::{self, Endless};
use crate::builtins::support::reduced::{is_reduced, unreduced};
use crate::builtins::support::{callee, cursor};
use crate::builtins::transform::mapping::{replacement, spliced};
use crate::error::{Error, Result};
use crate::machine::{Args, Ctx, portable};
use crate::value::{Cursor, Value, Vector, identical};
use std::collections::VecDeque;
use std::mem::take;
use std::ops::ControlFlow;

/// One way, as far as elements have come on it.
pub(crate) struct Lane {
    pub(super) stages: Vec<PipelineStage>,
    /// Pending elements that enter at a stage, innermost last.
    sources: Vec<(usize, Cursor)>,
    /// The source after those, at the first stage, for as long as it takes elements.
    endless: Option<ElementSource>,
    /// Whether a function of the endless sequence runs, whose result is the next element.
    pub(super) makes_element: bool,
    /// The element under way and the stage it is about to enter. Kept while the stage's function runs.
    pub(super) current: Option<(usize, Value)>,
    /// Stages before this one take no more elements, and hold nothing that is still wanted.
    live: usize,
    /// The lane whose elements are made of this one's; its own number if it is the first one.
    pub(super) parent: usize,
}

portable!(Lane { stages, sources, endless, makes_element, current, live, parent });

/// A call that a stage or the output needs.
pub(super) struct CallRequest {
    pub(super) function: Value,
    pub(super) args: Args,
}

impl CallRequest {
    /// A call with one argument.
    pub(super) fn one(function: &Value, item: &Value) -> CallRequest {
        CallRequest { function: function.clone(), args: callee::one(item.clone()) }
    }
}

/// The element that `halt-when` has found, after its function for the result.
pub(super) type Halt = (Value, Value);

impl Lane {
    /// That of a collection's elements.
    pub(super) fn new(stages: Vec<PipelineStage>, items: Cursor) -> Lane {
        Lane {
            stages,
            sources: vec![(0, items)],
            endless: None,
            makes_element: false,
            current: None,
            live: 0,
            parent: 0,
        }
    }

    /// Those of an endless sequence and of the ones that it walks in step, each after the one that it is walked for. The
    /// elements of the first one pass its own stages, and then `more`.
    ///
    /// # Errors
    /// The program's limits.
    pub(super) fn all(
        ctx: &mut Ctx<'_>,
        series: &Value,
        more: Vec<PipelineStage>,
    ) -> Result<(Lane, Vec<Lane>)> {
        let mut todo = VecDeque::new();
        let mut known = 1;
        let mut first = Lane::over(ctx, series, 0, &mut known, &mut todo)?;
        first.stages.extend(more);
        let mut others = Vec::new();
        while let Some((parent, series)) = todo.pop_front() {
            ctx.reserve(known * (size_of::<Lane>() + size_of::<(usize, &Value)>()))?;
            others.push(Lane::over(ctx, series, parent, &mut known, &mut todo)?);
        }
        Ok((first, others))
    }

    /// The lane of an endless sequence. The sequences that it walks in step get the next numbers from `known` on, and are still
    /// to be added.
    fn over<'a>(
        ctx: &mut Ctx<'_>,
        series: &'a Value,
        parent: usize,
        known: &mut usize,
        todo: &mut VecDeque<(usize, &'a Value)>,
    ) -> Result<Lane> {
        // Numbers are given in the order in which they are done.
        let own = *known - todo.len() - 1;
        // Outermost first: what is done to the elements, from its end, and what comes before them.
        let (mut backwards, mut fronts) = (Vec::new(), Vec::new());
        let mut value = series;
        let endless = loop {
            ctx.charge(1)?;
            match endless::open(value) {
                Some(Endless::Through(transducers, inner)) => {
                    for transducer in transducers.iter().rev() {
                        let more = stages(ctx, "sequence", 1, transducer)?;
                        ctx.reserve((backwards.len() + more.len()) * size_of::<PipelineStage>())?;
                        backwards.extend(more.into_iter().rev());
                    }
                    value = inner;
                }
                Some(Endless::After(front, inner)) => {
                    ctx.reserve((fronts.len() + 1) * size_of::<(usize, Cursor)>())?;
                    fronts.push((backwards.len(), front));
                    value = inner;
                }
                Some(Endless::InStep(function, all)) => {
                    ctx.charge(all.len())?;
                    ctx.reserve((todo.len() + all.len()) * size_of::<(usize, &Value)>())?;
                    let lanes = *known..*known + all.len();
                    todo.extend(all.iter().map(|series| (own, series)));
                    *known += all.len();
                    break ElementSource::in_step(function, lanes);
                }
                Some(plain) => break ElementSource::of(&plain),
                None => return Err(endless::error(series)),
            }
        };
        let count = backwards.len();
        let enter = |(passed, front): (usize, &Vector)| (count - passed, Cursor::Vector(front.iter()));
        Ok(Lane {
            stages: backwards.into_iter().rev().collect(),
            sources: fronts.into_iter().rev().map(enter).collect(),
            endless,
            makes_element: false,
            current: None,
            live: 0,
            parent,
        })
    }

    /// Whether all its numbers are those of stages, or one past the last, and those of later lanes.
    pub(super) fn is_sound(&self, own: usize, lanes: usize) -> bool {
        let count = self.stages.len();
        let current = self.current.as_ref().map(|(stage, _)| stage);
        self.sources.iter().map(|(stage, _)| stage).chain(current).all(|stage| *stage <= count)
            && self.live <= count + 1
            && (!self.makes_element || self.endless.is_some() && self.current.is_none())
            && (self.parent < own || own == 0)
            && self.endless.as_ref().is_none_or(|source| source.is_sound(own, lanes))
    }

    /// The next element to work on, or how it is made: from the sources, then the elements that stages hold back.
    pub(super) fn next(&mut self) -> Result<Option<(usize, Element)>> {
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
    pub(super) fn made(&mut self, element: Value) {
        self.makes_element = false;
        if let Some(endless) = &mut self.endless {
            endless.remember(&element);
        }
        self.current = Some((0, element));
    }

    /// The next part of the element that is made of other lanes; `None` once one of these has no more.
    pub(super) fn gather(&mut self, part: Option<Value>) {
        match (part, &mut self.endless) {
            (Some(part), Some(source)) => source.gather(part),
            _ => self.endless = None,
        }
    }

    /// No more elements before or in stage `at`.
    pub(super) fn stop(&mut self, at: usize) {
        self.live = self.live.max(at + 1);
        self.sources.retain(|(stage, _)| *stage > at);
    }

    /// The call that must be made before `item` can pass stage `at`.
    pub(super) fn request(&mut self, at: usize, item: &Value) -> Option<CallRequest> {
        match self.stages.get_mut(at)? {
            PipelineStage::Map(function)
            | PipelineStage::Mapcat(function)
            | PipelineStage::Keep(function)
            | PipelineStage::TakeWhile(function)
            | PipelineStage::DropWhile(Some(function))
            | PipelineStage::Filter { predicate: function, .. }
            | PipelineStage::PartitionBy { function, .. }
            | PipelineStage::HaltWhen { predicate: function, .. } => Some(CallRequest::one(function, item)),
            PipelineStage::MapIndexed(function, index) | PipelineStage::KeepIndexed(function, index) => {
                let args = callee::two(Value::Int(*index), item.clone());
                *index += 1;
                Some(CallRequest { function: function.clone(), args })
            }
            PipelineStage::Reductions { function, acc, started: true } => {
                let args = callee::two(take(acc), item.clone());
                Some(CallRequest { function: function.clone(), args })
            }
            _ => None,
        }
    }

    /// Lets `item` through stage `at`, given the answer of its call. `Break` ends the run at once.
    pub(super) fn pass(
        &mut self,
        ctx: &mut Ctx<'_>,
        at: usize,
        item: Value,
        answer: Value,
    ) -> Result<ControlFlow<Halt>> {
        let next = at + 1;
        let Some(stage) = self.stages.get_mut(at) else { return Ok(ControlFlow::Continue(())) };
        let out = match stage {
            PipelineStage::Map(_) | PipelineStage::MapIndexed(..) => Some(answer),
            PipelineStage::Mapcat(function) => {
                let by_keyword = matches!(function, Value::Keyword(_));
                match spliced(ctx, answer, by_keyword)? {
                    ControlFlow::Continue(items) => {
                        self.splice(ctx, next, items)?;
                        None
                    }
                    ControlFlow::Break(one) => Some(one),
                }
            }
            PipelineStage::Cat => {
                let Some(items) = cursor(ctx, &item)? else {
                    return Err(Error::argument("cat", 1, "seqable", &item));
                };
                self.splice(ctx, next, items)?;
                None
            }
            PipelineStage::Filter { truthy, .. } => (answer.is_truthy() == *truthy).then_some(item),
            PipelineStage::Replace(table) => Some(replacement(ctx, table, item)?),
            PipelineStage::Keep(_) | PipelineStage::KeepIndexed(..) => (!answer.is_nil()).then_some(answer),
            PipelineStage::Take(left) => {
                let wanted = *left > 0;
                *left = left.saturating_sub(1);
                if *left == 0 {
                    self.stop(at);
                }
                wanted.then_some(item)
            }
            PipelineStage::TakeWhile(_) if answer.is_truthy() => Some(item),
            PipelineStage::TakeWhile(_) => {
                self.stop(at);
                None
            }
            PipelineStage::Drop(0) => Some(item),
            PipelineStage::Drop(left) => {
                *left -= 1;
                None
            }
            PipelineStage::DropWhile(Some(_)) if answer.is_truthy() => None,
            PipelineStage::DropWhile(predicate) => {
                *predicate = None;
                Some(item)
            }
            PipelineStage::TakeNth { step: 0, .. } => {
                return Err(not_positive("take-nth", "n", &Value::Int(0)));
            }
            PipelineStage::TakeNth { step, skip: skip @ 0 } => {
                *skip = *step - 1;
                Some(item)
            }
            PipelineStage::TakeNth { skip, .. } => {
                *skip -= 1;
                None
            }
            PipelineStage::Distinct(seen) => seen.entry(item.clone(), || ())?.1.then_some(item),
            PipelineStage::Dedupe(last) => {
                let repeats = last.as_ref().is_some_and(|last| identical(last, &item));
                if !repeats {
                    *last = Some(item.clone());
                }
                (!repeats).then_some(item)
            }
            PipelineStage::Interpose { started: false, .. } => {
                *stage = match std::mem::replace(stage, PipelineStage::Cat) {
                    PipelineStage::Interpose { separator, .. } => {
                        PipelineStage::Interpose { separator, started: true }
                    }
                    other => other,
                };
                Some(item)
            }
            PipelineStage::Interpose { separator, .. } => {
                let both: Vector = [separator.clone(), item].into_iter().collect();
                self.splice(ctx, next, Cursor::Vector(both.into_iter()))?;
                None
            }
            PipelineStage::PartitionAll(n, run) => {
                run.push(item)?;
                (run.len() == *n).then(|| run.take())
            }
            PipelineStage::PartitionBy { key, run, .. } => {
                let changed = key.as_ref().is_some_and(|last| !identical(last, &answer));
                let done = if changed { Some(run.take()) } else { None };
                if key.is_none() || changed {
                    *key = Some(answer);
                }
                run.push(item)?;
                done
            }
            PipelineStage::HaltWhen { .. } if !answer.is_truthy() => Some(item),
            PipelineStage::HaltWhen { result, .. } => return Ok(ControlFlow::Break((take(result), item))),
            PipelineStage::Reductions { acc, started: started @ false, .. } => {
                (*acc, *started) = (item.clone(), true);
                Some(item)
            }
            PipelineStage::Reductions { acc, .. } => {
                if is_reduced(&answer) {
                    self.stop(at);
                    Some(unreduced(answer))
                } else {
                    *acc = answer.clone();
                    Some(answer)
                }
            }
            PipelineStage::Windows { skip: skip @ 1.., .. } => {
                *skip -= 1;
                None
            }
            PipelineStage::Windows { size, step, skip, run } => {
                run.push(item);
                if run.len() < *size {
                    None
                } else {
                    ctx.charge(run.len())?;
                    *skip = step.saturating_sub(*size);
                    let behind = run.slice((*step).min(*size), *size);
                    Some(Value::Vector(std::mem::replace(run, behind)))
                }
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
}
