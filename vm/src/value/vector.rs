//! The vector: the only sequential type, indexed from 0.

use super::{Value, drop_deferred};
use crate::meter;
use std::rc::Rc;

/// An immutable vector of values.
#[derive(Clone)]
pub struct Vector(Rc<Items>);

struct Items(Vec<Value>);

impl Items {
    const OVERHEAD: usize = 48;
}

impl Drop for Items {
    fn drop(&mut self) {
        meter::credit_memory(Items::OVERHEAD + self.0.capacity() * size_of::<Value>());
        for item in self.0.drain(..) {
            drop_deferred(item);
        }
    }
}

impl Default for Vector {
    fn default() -> Vector {
        Vector::new()
    }
}

impl Vector {
    /// The empty vector.
    pub fn new() -> Vector {
        Vector::from_vec(Vec::new())
    }

    /// Takes over `items`. Callers that build a size which the program controls [reserve](meter::reserve) first.
    pub fn from_vec(items: Vec<Value>) -> Vector {
        meter::charge_memory(Items::OVERHEAD + items.capacity() * size_of::<Value>());
        Vector(Rc::new(Items(items)))
    }

    /// The integers `start, start + step, …`, `len` of them, without memory for each.
    pub fn range(start: i64, step: i64, len: usize) -> Vector {
        (0..len as i64).map(|i| Value::Int(start + i * step)).collect()
    }

    /// `len` times `value`, without memory for each.
    pub fn repeat(value: Value, len: usize) -> Vector {
        Vector::from_vec(vec![value; len])
    }

    /// How many elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.0.len()
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The element at `index`.
    #[inline]
    pub fn get(&self, index: usize) -> Option<Value> {
        self.0.0.get(index).cloned()
    }

    fn make_mut(&mut self) -> &mut Items {
        if Rc::get_mut(&mut self.0).is_none() {
            *self = Vector::from_vec(self.0.0.clone());
        }
        Rc::get_mut(&mut self.0).expect("just made unique")
    }

    /// Appends `value`; in place when nobody else holds this vector.
    pub fn push(&mut self, value: Value) {
        let items = self.make_mut();
        let before = items.0.capacity();
        items.0.push(value);
        meter::charge_memory((items.0.capacity() - before) * size_of::<Value>());
    }

    /// Replaces the element at `index`, which must exist.
    pub fn set(&mut self, index: usize, value: Value) {
        self.make_mut().0[index] = value;
    }

    /// Removes and returns the last element.
    pub fn pop(&mut self) -> Option<Value> {
        if self.is_empty() { None } else { self.make_mut().0.pop() }
    }

    /// The elements from `start` up to `end`, clamped; shares structure where that saves work.
    pub fn slice(&self, start: usize, end: usize) -> Vector {
        let end = end.min(self.len());
        if start >= end { Vector::new() } else { Vector::from_vec(self.0.0[start..end].to_vec()) }
    }

    /// This vector's elements, then those of `other`.
    pub fn append(&mut self, other: &Vector) {
        for item in other.iter() {
            self.push(item);
        }
    }

    /// The elements, cloned one by one.
    pub fn iter(&self) -> VectorIter {
        self.clone().into_iter()
    }

    /// A copy of the elements.
    pub fn to_vec(&self) -> Vec<Value> {
        self.iter().collect()
    }

    /// Whether both are the same allocation.
    pub fn same_allocation(&self, other: &Vector) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

impl FromIterator<Value> for Vector {
    fn from_iter<I: IntoIterator<Item = Value>>(items: I) -> Vector {
        Vector::from_vec(items.into_iter().collect())
    }
}

impl IntoIterator for Vector {
    type Item = Value;
    type IntoIter = VectorIter;

    fn into_iter(self) -> VectorIter {
        let end = self.len();
        VectorIter { vector: self, next: 0, end }
    }
}

/// Iterates a vector that it holds.
#[derive(Clone)]
pub struct VectorIter {
    vector: Vector,
    next: usize,
    end: usize,
}

impl Iterator for VectorIter {
    type Item = Value;

    #[inline]
    fn next(&mut self) -> Option<Value> {
        if self.next >= self.end {
            return None;
        }
        let item = self.vector.get(self.next);
        self.next += 1;
        item
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.end - self.next, Some(self.end - self.next))
    }
}

impl DoubleEndedIterator for VectorIter {
    fn next_back(&mut self) -> Option<Value> {
        if self.next >= self.end {
            return None;
        }
        self.end -= 1;
        self.vector.get(self.end)
    }
}

impl ExactSizeIterator for VectorIter {}
