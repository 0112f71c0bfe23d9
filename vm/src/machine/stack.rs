//! The value stack of a fiber.

use crate::value::{Closure, Value};
use smallvec::SmallVec;
use std::rc::Rc;

/// Arguments of a call.
pub type Args = SmallVec<[Value; 3]>;

/// A stack of values.
///
/// It is kept longer than it is high: the places above the top hold `nil`s, or other values without a reference count. So
/// code finds all places of its frame ([`Stack::frame`]) in one slice that nothing moves while it runs, a push overwrites
/// without dropping, and a pop of a number leaves it where it is.
#[derive(Default)]
pub struct Stack {
    places: Vec<Value>,
    height: usize,
}

impl Stack {
    /// Puts a value on top.
    #[inline]
    pub fn push(&mut self, value: Value) {
        match self.places.get_mut(self.height) {
            Some(place) => fill(place, value),
            None => self.extend(value),
        }
        self.height += 1;
    }

    /// Puts a value where no place is yet.
    #[cold]
    #[inline(never)]
    fn extend(&mut self, value: Value) {
        self.grow(self.height + 1);
        self.places[self.height] = value;
    }

    /// The value on top.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    pub fn top(&self) -> &Value {
        &self.places[self.height - 1]
    }

    /// Takes the value on top and leaves `nil` there.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    pub(crate) fn take_top(&mut self) -> Value {
        let place = &mut self.places[self.height - 1];
        let value = take(place);
        fill(place, Value::Nil);
        value
    }

    /// Puts a value into the place on top, from which the one before has been [taken](Stack::take_top).
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    pub(crate) fn put_top(&mut self, value: Value) {
        fill(&mut self.places[self.height - 1], value);
    }

    /// How many values there are.
    #[inline]
    pub(super) fn height(&self) -> usize {
        self.height
    }

    /// Says how many values there are, after code has pushed and popped in the slice of its [`frame`](Stack::frame). Those
    /// above must hold nothing that is counted.
    #[inline]
    pub(super) fn set_height(&mut self, height: usize) {
        debug_assert!(self.places[height..].iter().take(16).all(Value::is_immediate));
        self.height = height;
    }

    /// Values that it has room for.
    #[inline]
    pub(super) fn capacity(&self) -> usize {
        self.places.len()
    }

    /// Makes it at least `len` long, which it is not yet.
    #[cold]
    #[inline(never)]
    pub(super) fn grow(&mut self, len: usize) {
        let length = self.length_for(len);
        self.places.reserve_exact(length - self.places.len());
        self.places.resize_with(length, Value::default);
    }

    /// Makes it at least `len` long, and no longer than that.
    pub(super) fn grow_to(&mut self, len: usize) {
        if len > self.places.len() {
            self.places.reserve_exact(len - self.places.len());
            self.places.resize_with(len, Value::default);
        }
    }

    /// Bytes more that it takes when it is made to hold `count` values more.
    pub(super) fn growth_for(&self, count: usize) -> usize {
        (self.length_for(self.height + count) - self.places.len()) * size_of::<Value>()
    }

    /// How long it is made to reach `len`: twice as long as it was, so that growing costs little for each value.
    fn length_for(&self, len: usize) -> usize {
        let now = self.places.len();
        if len <= now { now } else { len.max(2 * now).max(4) }
    }

    /// Whether it is at least `len` long.
    #[inline]
    pub(super) fn reaches(&self, len: usize) -> bool {
        self.places.len() >= len
    }

    /// The places of a frame: `size` from `base` on.
    #[inline]
    pub(super) fn frame(&mut self, base: usize, size: usize) -> &mut [Value] {
        &mut self.places[base..base + size]
    }

    /// The value at `index`.
    #[inline]
    pub(super) fn at(&self, index: usize) -> &Value {
        &self.places[index]
    }

    /// As [`at`](Stack::at), to be changed in place.
    #[inline]
    pub(super) fn at_mut(&mut self, index: usize) -> &mut Value {
        &mut self.places[index]
    }

    /// Takes the closure at `index`, if the value there is one.
    #[inline]
    pub(super) fn take_closure(&mut self, index: usize) -> Option<Rc<Closure>> {
        match &mut self.places[index] {
            place @ Value::Closure(_) => match std::mem::take(place) {
                Value::Closure(closure) => Some(closure),
                _ => None,
            },
            _ => None,
        }
    }

    /// The values from `from` on.
    #[inline]
    pub(super) fn values_from(&mut self, from: usize) -> &mut [Value] {
        &mut self.places[from..self.height]
    }

    /// Takes the top.
    #[inline]
    pub(super) fn pop(&mut self) -> Value {
        self.height -= 1;
        std::mem::take(&mut self.places[self.height])
    }

    /// Drops all values from `height` on.
    #[inline]
    pub(super) fn cut(&mut self, height: usize) {
        clear(&mut self.places[height..self.height]);
        self.height = height;
    }

    /// Ends the frame at `base`, whose places have been [cleared](clear): its result takes the place of the callee below.
    #[inline(always)]
    pub(super) fn end_frame(&mut self, base: usize, result: Value) {
        match self.places.get_mut(base.wrapping_sub(1)) {
            Some(callee) => fill(callee, result),
            None => misplaced(result),
        }
        self.set_height(base);
    }

    /// Takes all values from `height` on.
    pub(super) fn take_from(&mut self, height: usize) -> Args {
        let values = &mut self.places[height..self.height];
        let taken = match values {
            // By far the most; put in place rather than collected.
            [a, b] => Args::from_buf_and_len([std::mem::take(a), std::mem::take(b), Value::Nil], 2),
            values => values.iter_mut().map(std::mem::take).collect(),
        };
        self.height = height;
        taken
    }

    /// As [`take_from`](Stack::take_from), for any number of values.
    pub(super) fn take_vec(&mut self, height: usize) -> Vec<Value> {
        let taken = self.places[height..self.height].iter_mut().map(std::mem::take).collect();
        self.height = height;
        taken
    }

    /// Moves the values from `from` on down to `to`; the values in between are dropped.
    #[inline]
    pub(super) fn move_down(&mut self, from: usize, to: usize) {
        let count = self.height - from;
        for i in 0..count {
            self.places.swap(to + i, from + i);
        }
        self.cut(to + count);
    }
}

/// A frame without a place for its callee. The value is given up, so that the loop need not be ready to drop it.
#[cold]
#[inline(never)]
fn misplaced(value: Value) -> ! {
    std::mem::forget(value);
    unreachable!("a frame lies over its callee")
}

/// Puts a value into a place that holds nothing which is counted.
#[inline(always)]
pub(super) fn fill(place: &mut Value, value: Value) {
    let before = std::mem::replace(place, value);
    debug_assert!(before.is_immediate());
    std::mem::forget(before);
}

/// Takes the value out of a place. A small integer stays there: it is neither counted nor read again, and handing it over
/// by itself keeps tag and number in registers, where a copy of both at once would wait for the two stores that made them.
#[inline(always)]
pub(super) fn take(place: &mut Value) -> Value {
    match place {
        Value::Int(n) => Value::Int(*n),
        other => std::mem::take(other),
    }
}

/// A copy of a value; of a small integer without a call.
#[inline(always)]
pub(super) fn copy(value: &Value) -> Value {
    match value {
        Value::Int(n) => Value::Int(*n),
        other => other.clone(),
    }
}

/// Drops the values in these places.
#[inline(always)]
pub(super) fn clear(places: &mut [Value]) {
    for place in places {
        if !place.is_immediate() {
            clear_counted(place);
        }
    }
}

/// Drops a value that is counted; out of the way of those that are not.
#[cold]
#[inline(never)]
fn clear_counted(place: &mut Value) {
    drop(std::mem::take(place));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::Account;

    #[test]
    fn what_is_cut_is_dropped_and_its_places_are_used_again() {
        let mut account = Account::new(10_000);
        {
            let _installed = account.install();
            let mut stack = Stack::default();
            for n in 0..3 {
                stack.push(Value::vector([Value::Int(n)]));
            }
            stack.cut(1);
            assert_eq!(stack.height(), 1);
            assert!(stack.frame(1, 2).iter().all(Value::is_nil));
            stack.push(Value::Int(7));
            assert!(matches!(stack.take_from(1)[..], [Value::Int(7)]));
            stack.cut(0);
        }
        assert_eq!(account.live, 0);
    }

    #[test]
    fn values_move_down_over_those_that_are_given_up() {
        let mut stack = Stack::default();
        for n in 0..4 {
            stack.push(Value::Int(n));
        }
        stack.push(Value::vector([]));
        stack.move_down(3, 1);
        let left = stack.take_vec(0);
        assert!(matches!(left[..], [Value::Int(0), Value::Int(3), Value::Vector(_)]));
    }
}
