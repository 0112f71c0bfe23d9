//! `iterate`, `repeatedly`, `cycle`, and the source of elements of endless sequences.

use crate::builtins::support::endless::{self, Endless};
use crate::builtins::support::{Feed, callee, check, each, elements};
use crate::builtins::transform::mapping::Collect;
use crate::error::{Error, Result};
use crate::machine::{Args, Ctx, Flow, portable};
use crate::value::{Value, Vector, VectorIter};
use std::mem::take;
use std::ops::Range;

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

/// The results of so many calls.
pub(crate) fn times(count: usize, function: Value) -> Result<Flow> {
    let feed = Feed::Times(count);
    let sink = Collect::all(&feed)?;
    Ok(each(function, feed, sink))
}

/// Where elements come from.
pub(crate) enum ElementSource {
    /// The same one again and again.
    Repeat(Value),
    /// The next element, and the step.
    Range(Value, Value),
    Cycle(Vector, VectorIter),
    /// The function, the last element (at first: the next one), and whether that has been given out.
    Iterate(Value, Value, bool),
    Repeatedly(Value),
    /// The function, the lanes that its arguments come from, and the arguments for the next element.
    InStep(Value, Vec<usize>, Vec<Value>),
}

portable!(enum ElementSource {
    0: Repeat(item),
    1: Range(next, step),
    2: Cycle(all, items),
    3: Iterate(function, last, started),
    4: Repeatedly(function),
    5: InStep(function, lanes, args),
});

/// The next element, or the call that makes it.
pub(crate) enum Element {
    Ready(Value),
    /// A call.
    Call(Value, Args),
    /// The element of this lane, which has to be [gathered](ElementSource::gather) first.
    Of(usize),
}

impl ElementSource {
    /// That of an endless sequence that is made of no other one.
    pub(crate) fn of(endless: &Endless<'_>) -> Option<ElementSource> {
        Some(match endless {
            Endless::Repeat(x) => ElementSource::Repeat((*x).clone()),
            Endless::Range(start, step) => ElementSource::Range((*start).clone(), (*step).clone()),
            Endless::Cycle(vector) => ElementSource::Cycle((*vector).clone(), vector.iter()),
            Endless::Iterate(function, x) => ElementSource::Iterate((*function).clone(), (*x).clone(), false),
            Endless::Repeatedly(function) => ElementSource::Repeatedly((*function).clone()),
            Endless::Through(..) | Endless::After(..) | Endless::InStep(..) => return None,
        })
    }

    /// That of a function whose arguments are the elements of these lanes.
    pub(crate) fn in_step(function: &Value, lanes: Range<usize>) -> Option<ElementSource> {
        Some(ElementSource::InStep(function.clone(), lanes.collect(), Vec::new()))
    }

    /// Whether the lanes that lane `own` of so many draws on are there, after it.
    pub(crate) fn is_sound(&self, own: usize, count: usize) -> bool {
        match self {
            ElementSource::InStep(_, lanes, args) => {
                args.len() <= lanes.len() && lanes.iter().all(|lane| (own + 1..count).contains(lane))
            }
            _ => true,
        }
    }

    /// The next element, or the call whose result it is: that has to be [kept](ElementSource::remember).
    pub(crate) fn next(&mut self) -> Result<Element> {
        Ok(match self {
            ElementSource::Repeat(item) => Element::Ready(item.clone()),
            ElementSource::Range(next, step) => {
                let after = crate::number::add(next, step)?;
                Element::Ready(std::mem::replace(next, after))
            }
            ElementSource::Cycle(vector, items) => Element::Ready(match items.next() {
                Some(item) => item,
                None => {
                    *items = vector.iter();
                    items.next().unwrap_or_default()
                }
            }),
            ElementSource::Iterate(_, first, started @ false) => {
                *started = true;
                Element::Ready(first.clone())
            }
            ElementSource::Iterate(function, last, _) => {
                Element::Call(function.clone(), callee::one(take(last)))
            }
            ElementSource::Repeatedly(function) => Element::Call(function.clone(), Args::new()),
            ElementSource::InStep(function, lanes, args) => match lanes.get(args.len()) {
                Some(lane) => Element::Of(*lane),
                None => Element::Call(function.clone(), args.drain(..).collect()),
            },
        })
    }

    /// Takes the next argument of the function whose arguments come from lanes.
    pub(crate) fn gather(&mut self, arg: Value) {
        if let ElementSource::InStep(_, _, args) = self {
            args.push(arg);
        }
    }

    /// Keeps the value from which the next element is made.
    pub(crate) fn remember(&mut self, element: &Value) {
        if let ElementSource::Iterate(_, last, _) = self {
            *last = element.clone();
        }
    }
}
