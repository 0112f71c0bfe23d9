//! `sort` and `sort-by`: keys first, then a stable sort of them, then the items in that order.

use super::comparator::{Comparator, ComparatorVerdict, verdict};
use super::merge::Merge;
use super::natural::{Natural, SortResult};
use crate::builtins::support::{Builder, MemoryCharge, callee, check, elements, pulse};
use crate::error::{Error, Result};
use crate::machine::{
    CallNow, Ctx, Flow, Input, NativeFrame, PartReader, PartWriter, Portable, RestoreError, SnapshotError,
    portable,
};
use crate::print;
use crate::value::{Cursor, Value, Vector, compare};
use std::cmp::Ordering;
use std::mem::take;

const SORT: &str = "sort";
const SORT_BY: &str = "sort-by";

/// A sort under way.
pub(crate) struct Sorting {
    name: &'static str,
    comparator: Comparator,
    keys: Vec<Value>,
    /// The items that the keys belong to; `None` when they are their own keys.
    items: Option<Vector>,
    /// Sorts without questions, where that is right.
    natural: Option<Natural>,
    merge: Merge<u32>,
    /// The two keys that were asked for, when the question has been turned round.
    asked_back: Option<(u32, u32)>,
    _held: MemoryCharge,
}

/// As it is while a comparator is asked: a sort without questions never waits.
impl Portable for Sorting {
    fn layout(out: &mut String) {
        out.push_str("Sorting{by,");
        Comparator::layout(out);
        out.push_str("keys,items,from,into,width,left,right,back}");
    }

    fn write(&self, to: &mut PartWriter<'_>) -> Result<(), SnapshotError> {
        if self.natural.is_some() {
            return Err(to.unwritable());
        }
        (self.name == SORT_BY).write(to)?;
        self.comparator.write(to)?;
        self.keys.write(to)?;
        self.items.write(to)?;
        let (from, into, width, places) = self.merge.progress();
        from.to_vec().write(to)?;
        into.to_vec().write(to)?;
        width.write(to)?;
        places.write(to)?;
        self.asked_back.is_some().write(to)
    }

    fn read(from: &mut PartReader<'_>) -> Result<Sorting, RestoreError> {
        let name = if bool::read(from)? { SORT_BY } else { SORT };
        let (comparator, keys) = (Comparator::read(from)?, Vec::<Value>::read(from)?);
        let items = Option::<Vector>::read(from)?;
        let (order, into) = (Vec::<u32>::read(from)?, Vec::<u32>::read(from)?);
        let (width, (left, right)) = Portable::read(from)?;
        from.check(
            order.len() == keys.len()
                && items.as_ref().is_none_or(|items| items.len() == keys.len())
                && order.iter().chain(&into).all(|key| (*key as usize) < keys.len()),
        )?;
        let held = held_for(&keys, keys.len())?;
        let mut merge = Merge::resumed(order, into, width, left, right).ok_or_else(|| from.damage())?;
        let asked_back = if bool::read(from)? { merge.question() } else { None };
        Ok(Sorting { name, comparator, keys, items, natural: None, merge, asked_back, _held: held })
    }
}

/// The room of a sort of these keys, `asked` of which are put in order by questions.
fn held_for(keys: &Vec<Value>, asked: usize) -> Result<MemoryCharge> {
    MemoryCharge::new(keys.capacity() * size_of::<Value>() + 2 * asked * size_of::<u32>())
}

/// The items in order; `items` are those of the keys, which are them where there are none.
fn result(keys: &mut [Value], items: Option<&Vector>, sorted: SortResult<'_>) -> Result<Value> {
    let order = match sorted {
        SortResult::Integers(integers) => {
            let mut out = Builder::with_capacity(integers.len())?;
            for n in integers {
                out.push(Value::Int(*n))?;
            }
            return Ok(out.take());
        }
        SortResult::Indices(order) => order,
    };
    let mut out = Builder::with_capacity(order.len())?;
    for i in order {
        let i = *i as usize;
        out.push(match items {
            Some(items) => items.get(i).unwrap_or_default(),
            None => take(&mut keys[i]),
        })?;
    }
    Ok(out.take())
}

impl Sorting {
    /// Sorts without questions for about a millisecond, where that is right. The result, once all is done.
    fn advance_naturally(&mut self, ctx: &mut Ctx<'_>) -> Result<Option<Value>> {
        let Some(natural) = &mut self.natural else { return Ok(None) };
        match natural.advance(ctx, &self.keys)? {
            Some(sorted) => result(&mut self.keys, self.items.as_ref(), sorted).map(Some),
            None => Ok(None),
        }
    }

    /// Takes an answer of the comparator. Whether the question has to be turned round.
    fn answer(&mut self, answer: &Value) -> Result<bool> {
        if self.asked_back.take().is_some() {
            self.merge.answer(answer.is_truthy());
            return Ok(false);
        }
        match verdict(self.name, answer)? {
            ComparatorVerdict::SecondFirst(second_first) => {
                self.merge.answer(second_first);
                Ok(false)
            }
            ComparatorVerdict::AskBack => Ok(true),
        }
    }
}

impl NativeFrame for Sorting {
    fn resume(&mut self, ctx: &mut Ctx<'_>, input: Input) -> Result<Flow> {
        while self.natural.is_some() {
            if let Some(result) = self.advance_naturally(ctx)? {
                return Ok(Flow::Return(result));
            }
            if pulse(ctx)? {
                return Ok(Flow::Yield);
            }
        }
        let mut turn_round = match &input {
            Input::Value(answer) => self.answer(answer)?,
            Input::Start => false,
        };
        loop {
            let Some((first, second)) = self.merge.question() else {
                let sorted = SortResult::Indices(self.merge.sorted());
                return result(&mut self.keys, self.items.as_ref(), sorted).map(Flow::Return);
            };
            let (a, b) = (first as usize, second as usize);
            let function = match &self.comparator {
                Comparator::Natural { descending } => {
                    ctx.charge(1)?;
                    let order = compare(&self.keys[a], &self.keys[b]);
                    let second_first = if *descending { Ordering::Less } else { Ordering::Greater };
                    self.merge.answer(order == second_first);
                    if pulse(ctx)? {
                        return Ok(Flow::Yield);
                    }
                    continue;
                }
                Comparator::Function { function, .. } => function,
            };
            let (a, b) = if turn_round { (b, a) } else { (a, b) };
            if turn_round {
                self.asked_back = Some((first, second));
            }
            let args = callee::two(self.keys[a].clone(), self.keys[b].clone());
            match ctx.call_now(function, args)? {
                CallNow::Done(answer) => turn_round = self.answer(&answer)?,
                CallNow::NeedsFrame(args) => return Ok(Flow::Call(function.clone(), args)),
            }
            // Not between the two halves of a question: the answer to the first one is not kept.
            if !turn_round && pulse(ctx)? {
                return Ok(Flow::Yield);
            }
        }
    }
}

/// Sorts `items` by `keys`, which are the items themselves when `items` is `None`.
fn start(
    ctx: &mut Ctx<'_>,
    name: &'static str,
    comparator: Comparator,
    keys: Vector,
    items: Option<Vector>,
) -> Result<Flow> {
    ctx.charge(keys.len())?;
    ctx.reserve(keys.len().saturating_mul(2 * size_of::<Value>()))?;
    let known = match &comparator {
        Comparator::Natural { descending } => Some(*descending),
        Comparator::Function { known, .. } => *known,
    };
    let natural = match known {
        Some(descending) => Natural::of(ctx, &keys, items.is_none(), descending)?,
        None => None,
    };
    let copy = if natural.as_ref().is_some_and(Natural::has_keys) { Vec::new() } else { keys.to_vec() };
    drop(keys);
    let keys = copy;
    let asked = if natural.is_some() { 0 } else { keys.len() };
    let held = held_for(&keys, asked)?;
    let merge = Merge::by_questions((0..asked as u32).collect());
    let mut sorting =
        Sorting { name, comparator, keys, items, natural, merge, asked_back: None, _held: held };
    // Short ones are over before a frame would be worth it.
    if let Some(result) = sorting.advance_naturally(ctx)? {
        return Ok(Flow::Return(result));
    }
    Ok(Flow::Push(Box::new(sorting)))
}

/// `(sort c)`, `(sort cmp c)`
pub(super) fn sort(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    let last = args.len() - 1;
    let comparator = if last == 1 {
        Comparator::of(ctx, "sort", 1, args[0].clone())?
    } else {
        Comparator::Natural { descending: false }
    };
    if !args[last].is_seqable() {
        return Err(Error::argument("sort", last + 1, "seqable", &args[last]));
    }
    let all = elements(ctx, take(&mut args[last]))?.unwrap_or_default();
    start(ctx, SORT, comparator, all, None)
}

/// Collects the keys of the items, then sorts.
pub(crate) struct SortKeys {
    function: Value,
    comparator: Option<Comparator>,
    items: Cursor,
    all: Vector,
    keys: Builder,
}

portable!(SortKeys { function, comparator, items, all, keys }
    // A key for each item; the one that is waited for is still to come.
    if |keys: &SortKeys| keys.all.len() == keys.keys.len() + 1 + keys.items.remaining());

impl NativeFrame for SortKeys {
    fn resume(&mut self, ctx: &mut Ctx<'_>, input: Input) -> Result<Flow> {
        if let Input::Value(key) = input {
            self.keys.push(key)?;
        }
        loop {
            let Some(item) = self.items.advance() else {
                let keys = self.keys.take_vector();
                let comparator = self.comparator.take().unwrap_or(Comparator::Natural { descending: false });
                return start(ctx, SORT_BY, comparator, keys, Some(take(&mut self.all)));
            };
            match crate::builtins::support::call(ctx, &self.function, callee::one(item))? {
                CallNow::Done(key) => self.keys.push(key)?,
                CallNow::NeedsFrame(args) => return Ok(Flow::Call(self.function.clone(), args)),
            }
            if pulse(ctx)? {
                return Ok(Flow::Yield);
            }
        }
    }
}

/// `(sort-by k c)`, `(sort-by k cmp c)`
pub(super) fn sort_by(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    if let [key @ (Value::Keyword(_) | Value::Str(_) | Value::Vector(_)), collection, comparator] = &*args {
        let is_collection = matches!(
            collection,
            Value::Vector(_) | Value::List(_) | Value::Queue(_) | Value::Map(_) | Value::Set(_) | Value::Nil
        );
        if is_collection && comparator.is_function() {
            return Err(Error::type_error(format!(
                "sort-by expects (key, comparator, collection) but got (key, collection, comparator). Try: (sort-by {} > \
                 collection)",
                print::readable_lossy(key)
            )));
        }
    }
    if !check::is_key_function(&args[0]) {
        return Err(Error::argument("sort-by", 1, "sort keyfn", &args[0]));
    }
    let last = args.len() - 1;
    let comparator = if last == 2 {
        Comparator::of(ctx, "sort-by", 2, args[1].clone())?
    } else {
        Comparator::Natural { descending: false }
    };
    if !args[last].is_seqable() {
        return Err(Error::argument("sort-by", last + 1, "seqable", &args[last]));
    }
    let all = elements(ctx, take(&mut args[last]))?.unwrap_or_default();
    // Nothing has to be compared, so no key is asked for.
    if all.len() < 2 {
        return Ok(Flow::Return(Value::Vector(all)));
    }
    let keys = Builder::with_capacity(all.len())?;
    Ok(Flow::Push(Box::new(SortKeys {
        function: take(&mut args[0]),
        comparator: Some(comparator),
        items: Cursor::Vector(all.clone().into_iter()),
        all,
        keys,
    })))
}
