//! The frame of most higher-order functions: call a function for each element, one after the other.

use super::{COUNTED, call, callee, pulse};
use crate::error::Result;
use crate::machine::{
    Args, CallNow, Ctx, Flow, FrameKind, Input, NativeFrame, PartReader, PartWriter, Portable, Reentry,
    RestoreError, SnapshotError, Stack, portable,
};
use crate::value::{Closure, Cursor, Value};
use std::cell::Cell;
use std::ops::ControlFlow;
use std::rc::Rc;

/// The consumer of the calls' results.
pub(crate) trait Sink: Portable + 'static {
    /// Whether [`accept`](Sink::accept) needs the element that the result belongs to.
    const KEEPS_ITEM: bool = false;

    /// Takes the result of one call, and its element (`nil` unless [`KEEPS_ITEM`](Sink::KEEPS_ITEM)). `Break` ends
    /// the loop with that value.
    fn accept(&mut self, ctx: &mut Ctx<'_>, item: Value, result: Value) -> Result<ControlFlow<Value>>;

    /// The value when there are no more elements.
    fn finish(&mut self, ctx: &mut Ctx<'_>) -> Result<Value>;

    /// Whether it can take the result that is waited for and those of `left` calls more.
    fn fits(&self, _left: usize) -> bool {
        true
    }
}

/// Where the arguments of each call come from.
pub(crate) enum Feed {
    /// The elements of one collection.
    One(Cursor),
    /// The index and the element.
    Indexed(i64, Cursor),
    /// One element of each collection, in step, as far as the shortest goes.
    Several(Vec<Cursor>),
    /// No arguments, so many times.
    Times(usize),
}

portable!(enum Feed { 0: One(items), 1: Indexed(next, items), 2: Several(cursors), 3: Times(left) }
    if |feed: &Feed| !matches!(feed, Feed::Indexed(next, _) if !(0..COUNTED).contains(next)));

impl Feed {
    /// The arguments of the next call.
    #[inline]
    fn advance(&mut self) -> Option<Args> {
        match self {
            Feed::One(cursor) => cursor.advance().map(callee::one),
            Feed::Indexed(next, cursor) => {
                let item = cursor.advance()?;
                let index = *next;
                *next += 1;
                Some(callee::two(Value::Int(index), item))
            }
            Feed::Several(cursors) => {
                if cursors.iter().any(|cursor| cursor.remaining() == 0) {
                    return None;
                }
                let mut args = Args::new();
                for cursor in cursors {
                    args.push(cursor.advance()?);
                }
                Some(args)
            }
            Feed::Times(left) => {
                *left = left.checked_sub(1)?;
                Some(Args::new())
            }
        }
    }

    /// How many calls are left.
    pub(crate) fn remaining(&self) -> usize {
        match self {
            Feed::One(cursor) | Feed::Indexed(_, cursor) => cursor.remaining(),
            Feed::Several(cursors) => cursors.iter().map(Cursor::remaining).min().unwrap_or(0),
            Feed::Times(left) => *left,
        }
    }
}

/// A loop of calls as a frame; see [`each`].
pub(crate) struct Each<S> {
    function: Value,
    feed: Feed,
    item: Value,
    /// Where the keyword that is called was found last time.
    guess: Cell<u32>,
    sink: S,
}

impl<S: Sink> Portable for Each<S> {
    fn layout(out: &mut String) {
        out.push_str("Each{function,");
        Feed::layout(out);
        out.push_str("item,");
        S::layout(out);
        out.push('}');
    }

    fn write(&self, to: &mut PartWriter<'_>) -> Result<(), SnapshotError> {
        self.function.write(to)?;
        self.feed.write(to)?;
        self.item.write(to)?;
        self.sink.write(to)
    }

    fn read(from: &mut PartReader<'_>) -> Result<Each<S>, RestoreError> {
        let (function, feed, item) = (Value::read(from)?, Feed::read(from)?, Value::read(from)?);
        let sink = S::read(from)?;
        from.check(sink.fits(feed.remaining()))?;
        Ok(Each { function, feed, item, guess: Cell::new(0), sink })
    }
}

/// Calls `function` for everything that `feed` gives and hands the results to `sink`, whose value is the builtin's.
pub(crate) fn each<S: Sink>(function: Value, feed: Feed, sink: S) -> Flow
where
    Each<S>: FrameKind,
{
    Flow::Push(Box::new(Each { function, feed, item: Value::Nil, guess: Cell::new(0), sink }))
}

impl<S: Sink> NativeFrame for Each<S>
where
    Each<S>: FrameKind,
{
    fn resume(&mut self, ctx: &mut Ctx<'_>, input: Input) -> Result<Flow> {
        if let Input::Value(result) = input {
            let item = std::mem::take(&mut self.item);
            if let ControlFlow::Break(value) = self.sink.accept(ctx, item, result)? {
                return Ok(Flow::Return(value));
            }
        }
        loop {
            let next = match (&self.function, &mut self.feed) {
                // A key of a row is read without arguments.
                (Value::Keyword(_), Feed::One(cursor)) => match cursor.advance() {
                    Some(Value::Map(row)) => {
                        ctx.charge(1)?;
                        let found = row.get_guessed(&self.function, &self.guess);
                        let result = found.cloned().unwrap_or_default();
                        let item = if S::KEEPS_ITEM { Value::Map(row) } else { Value::Nil };
                        if let ControlFlow::Break(value) = self.sink.accept(ctx, item, result)? {
                            return Ok(Flow::Return(value));
                        }
                        if pulse(ctx)? {
                            return Ok(Flow::Yield);
                        }
                        continue;
                    }
                    other => other.map(callee::one),
                },
                (_, feed) => feed.advance(),
            };
            let Some(args) = next else {
                return self.sink.finish(ctx).map(Flow::Return);
            };
            let item = match args.last() {
                Some(item) if S::KEEPS_ITEM => item.clone(),
                _ => Value::Nil,
            };
            match call(ctx, &self.function, args)? {
                CallNow::Done(result) => {
                    if let ControlFlow::Break(value) = self.sink.accept(ctx, item, result)? {
                        return Ok(Flow::Return(value));
                    }
                }
                CallNow::NeedsFrame(args) => {
                    self.item = item;
                    return Ok(Flow::Call(self.function.clone(), args));
                }
            }
            if pulse(ctx)? {
                return Ok(Flow::Yield);
            }
        }
    }

    fn reenter(&mut self, ctx: &mut Ctx<'_>, stack: &mut Stack, running: &Rc<Closure>) -> Result<Reentry> {
        let (Value::Closure(function), Feed::One(cursor)) = (&self.function, &mut self.feed) else {
            return Ok(Reentry::No);
        };
        if !Rc::ptr_eq(function, running) {
            return Ok(Reentry::No);
        }
        let Some(next) = cursor.advance() else { return Ok(Reentry::No) };
        let item = if S::KEEPS_ITEM { std::mem::replace(&mut self.item, next.clone()) } else { Value::Nil };
        if let ControlFlow::Break(value) = self.sink.accept(ctx, item, stack.take_top())? {
            stack.put_top(value);
            return Ok(Reentry::Return);
        }
        stack.push(next);
        Ok(Reentry::Call(1))
    }
}
