//! The comparison of nested values, with a stack on the heap.

use super::memory::{LONG, PairedCollections, Stack, identity};
use super::{Rank, compare_strings, compare_text, functions, numbers, rank};
use crate::meter;
use crate::value::{Combinator, MapIter, SetIter, Temporal, Value, VectorIter, Zone};
use functions::Opaque;
use std::cmp::Ordering;
use std::rc::Rc;

/// Which of the three questions is asked.
#[derive(Clone, Copy)]
pub(super) struct Mode {
    /// An integer comes before an equal float.
    strict: bool,
    /// The values are the operands themselves, so that NaN equals nothing.
    operand: bool,
}

impl Mode {
    pub(super) const LOOSE: Mode = Mode { strict: false, operand: false };
    pub(super) const STRICT: Mode = Mode { strict: true, operand: false };
    pub(super) const EQUAL: Mode = Mode { strict: false, operand: true };

    fn inside(self) -> Mode {
        Mode { operand: false, ..self }
    }

    /// Keys of maps and elements of sets are the same only if identical, in every mode.
    const KEYS: Mode = Mode::STRICT;
}

/// The result of comparing two values without entering them.
enum ShallowComparison {
    Decided(Ordering),
    Enter(PairLevel),
}

/// A pair of collections that is being compared.
enum PairLevel {
    /// Of the same length.
    Vectors(VectorIter, VectorIter, Mode),
    /// Of the same size. All keys come first, then all values.
    Maps { a: MapIter, b: MapIter, keys: bool, mode: Mode },
    /// Of the same size.
    Sets(SetIter, SetIter),
    /// Of closures.
    Captures(std::vec::IntoIter<Value>, std::vec::IntoIter<Value>, Mode),
    /// The parts from this one on.
    Combinators(Rc<Combinator>, Rc<Combinator>, usize, Mode),
}

/// The pairs that a long comparison has met, for each of the two ways in which an integer may meet an equal float.
#[derive(Default)]
struct ComparedPairs {
    loose: PairedCollections,
    strict: PairedCollections,
}

impl ComparedPairs {
    /// Whether these two were met as a pair, or as equal to others that were. They have been from now on.
    #[inline(never)]
    fn again(&mut self, a: &Value, b: &Value, mode: Mode) -> bool {
        let paired = if mode.strict { &mut self.strict } else { &mut self.loose };
        match (identity(a), identity(b)) {
            (Some(a), Some(b)) => paired.again(a, b),
            _ => false,
        }
    }
}

/// Compares two values of any kind.
pub(super) fn order(a: &Value, b: &Value, mode: Mode) -> Ordering {
    let mut top = match look(a, b, mode) {
        ShallowComparison::Decided(order) => return order,
        ShallowComparison::Enter(level) => level,
    };
    let mut outer = Stack::new();
    let mut looks = 0_u32;
    let mut met: Option<Box<ComparedPairs>> = None;
    loop {
        looks = looks.saturating_add(1);
        meter::work(1);
        if meter::exhausted() {
            return Ordering::Equal;
        }
        match top.advance() {
            Ok((x, y, mode)) => match look(&x, &y, mode) {
                ShallowComparison::Decided(Ordering::Equal) => {}
                ShallowComparison::Decided(order) => return order,
                ShallowComparison::Enter(_)
                    if looks > LONG && met.get_or_insert_default().again(&x, &y, mode) => {}
                ShallowComparison::Enter(level) => {
                    let parent = std::mem::replace(&mut top, level);
                    // A level that is done needs no coming back, so that `[[[…]]]` takes no stack at all.
                    if !parent.is_done() {
                        outer.push(parent);
                    }
                }
            },
            Err(Ordering::Equal) => match outer.pop() {
                Some(parent) => top = parent,
                None => return Ordering::Equal,
            },
            Err(order) => return order,
        }
    }
}

impl PairLevel {
    /// The next pair to compare, or how the level ends when all pairs were equal.
    fn advance(&mut self) -> Result<(Value, Value, Mode), Ordering> {
        match self {
            PairLevel::Vectors(a, b, mode) => pair(a.next(), b.next(), *mode),
            PairLevel::Sets(a, b) => pair(a.next(), b.next(), Mode::KEYS),
            PairLevel::Captures(a, b, mode) => pair(a.next(), b.next(), *mode),
            PairLevel::Combinators(a, b, at, mode) => {
                let parts = (a.parts.get(*at).cloned(), b.parts.get(*at).cloned());
                *at += 1;
                pair(parts.0, parts.1, *mode)
            }
            PairLevel::Maps { a, b, keys, mode } => {
                if *keys {
                    if let (Some((x, _)), Some((y, _))) = (a.next(), b.next()) {
                        return Ok((x, y, Mode::KEYS));
                    }
                    a.restart();
                    b.restart();
                    *keys = false;
                }
                pair(a.next().map(|(_, x)| x), b.next().map(|(_, y)| y), *mode)
            }
        }
    }

    /// Whether nothing is left to be decided here.
    fn is_done(&self) -> bool {
        match self {
            PairLevel::Vectors(a, b, _) => a.len() == 0 && b.len() == 0,
            PairLevel::Maps { a, keys, .. } => !keys && a.len() == 0,
            PairLevel::Sets(a, ..) => a.len() == 0,
            PairLevel::Captures(a, b, _) => a.len() == 0 && b.len() == 0,
            PairLevel::Combinators(a, b, at, _) => *at >= a.parts.len() && *at >= b.parts.len(),
        }
    }
}

fn pair(a: Option<Value>, b: Option<Value>, mode: Mode) -> Result<(Value, Value, Mode), Ordering> {
    match (a, b) {
        (Some(a), Some(b)) => Ok((a, b, mode)),
        (None, None) => Err(Ordering::Equal),
        (None, Some(_)) => Err(Ordering::Less),
        (Some(_), None) => Err(Ordering::Greater),
    }
}

fn look(a: &Value, b: &Value, mode: Mode) -> ShallowComparison {
    let (rank_a, rank_b) = (rank(a), rank(b));
    if rank_a != rank_b {
        return ShallowComparison::Decided(rank_a.cmp(&rank_b));
    }
    if rank_a == Rank::Number && mode.operand && (is_nan(a) || is_nan(b)) {
        return ShallowComparison::Decided(Ordering::Less);
    }
    let order = match (a, b) {
        (Value::Keyword(x), Value::Keyword(y)) if x.same_allocation(y) => Ordering::Equal,
        (Value::Keyword(x), Value::Keyword(y)) => compare_text(x.name(), y.name()),
        (Value::Str(x), Value::Str(y)) => compare_strings(x, y),
        (
            Value::Vector(x) | Value::List(x) | Value::Queue(x),
            Value::Vector(y) | Value::List(y) | Value::Queue(y),
        ) => {
            if x.same_allocation(y) {
                Ordering::Equal
            } else if x.len() != y.len() {
                x.len().cmp(&y.len())
            } else {
                return ShallowComparison::Enter(PairLevel::Vectors(x.iter(), y.iter(), mode.inside()));
            }
        }
        (Value::Map(x), Value::Map(y)) => {
            if x.same_allocation(y) {
                Ordering::Equal
            } else if x.len() != y.len() {
                x.len().cmp(&y.len())
            } else {
                let (a, b) = (x.clone().into_iter(), y.clone().into_iter());
                return ShallowComparison::Enter(PairLevel::Maps {
                    a,
                    b,
                    keys: !x.same_keys(y),
                    mode: mode.inside(),
                });
            }
        }
        (Value::Set(x), Value::Set(y)) => {
            if x.same_allocation(y) {
                Ordering::Equal
            } else if x.len() != y.len() {
                x.len().cmp(&y.len())
            } else {
                let (a, b) = (x.clone().into_iter(), y.clone().into_iter());
                return ShallowComparison::Enter(PairLevel::Sets(a, b));
            }
        }
        (Value::Temporal(x), Value::Temporal(y)) => {
            temporal_key(x).cmp(&temporal_key(y)).then_with(|| zone(x).cmp(&zone(y)))
        }
        _ => match rank_a {
            Rank::Number => numbers::compare(a, b, mode.strict),
            Rank::Nil => Ordering::Equal,
            Rank::Boolean => a.is_truthy().cmp(&b.is_truthy()),
            _ => match functions::compare(a, b) {
                Opaque::Decided(order) => order,
                Opaque::Captures(x, y) => {
                    return ShallowComparison::Enter(PairLevel::Captures(
                        x.into_iter(),
                        y.into_iter(),
                        mode.inside(),
                    ));
                }
                Opaque::Combinators(x, y) => {
                    return ShallowComparison::Enter(PairLevel::Combinators(x, y, 0, mode.inside()));
                }
            },
        },
    };
    ShallowComparison::Decided(order)
}

fn is_nan(value: &Value) -> bool {
    matches!(value, Value::Float(x) if x.is_nan())
}

/// Dates before instants before durations before times without and with a zone, each by time. Instants of the same time that
/// were given with different numbers of digits differ, as they do in print.
pub(super) fn temporal_key(value: &Temporal) -> (u8, i64, u8) {
    match value {
        Temporal::Date(days) => (0, *days, 0),
        Temporal::Instant { micros, digits } => (1, *micros, *digits),
        Temporal::Duration(millis) => (2, *millis, 0),
        Temporal::Local { micros, digits } => (3, *micros, *digits),
        Temporal::Zoned { micros, digits, .. } => (4, *micros, *digits),
    }
}

/// Distinguishes times of one instant.
fn zone(value: &Temporal) -> Option<Zone> {
    match value {
        Temporal::Zoned { zone, .. } => Some(*zone),
        _ => None,
    }
}
