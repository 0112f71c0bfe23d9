//! Map literals share their keys.

use super::{SMALL_MAX, Shape};
use crate::value::{Map, Value};
use smallvec::SmallVec;
use std::rc::Rc;

/// Literals that are remembered; a power of two.
const SLOTS: usize = 64;

/// Longest names of keys that are remembered. Comparing them costs nothing, so that a program costs the same whether
/// its literals are remembered or not.
const NAME_MAX: usize = 48;

/// The literals that a program evaluated last. A literal in a loop makes maps whose keys are the same allocations every
/// time: all of them share one [`Shape`].
#[derive(Default)]
pub struct Layouts(Vec<Option<Box<Layout>>>);

struct Layout {
    /// The keys as written.
    keys: SmallVec<[Value; 8]>,
    /// For each of them, where its value lies.
    places: SmallVec<[u8; 16]>,
    shape: Rc<Shape>,
}

impl Layouts {
    /// The map of alternating keys and values, which are taken out; of identical keys the first with the last value.
    pub fn map(&mut self, pairs: &mut [Value]) -> Map {
        let count = pairs.len() / 2;
        let Some(slot) = slot(pairs) else { return sorted(pairs) };
        if self.0.is_empty() {
            self.0.resize_with(SLOTS, || None);
        }
        if let Some(layout) = &self.0[slot]
            && layout.keys.len() == count
            && layout.keys.iter().zip(pairs.chunks_exact(2)).all(|(key, pair)| same(key, &pair[0]))
        {
            let mut values = vec![Value::Nil; count];
            for (pair, place) in pairs.chunks_exact_mut(2).zip(&layout.places) {
                values[usize::from(*place)] = std::mem::take(&mut pair[1]);
            }
            return Map::with_shape(layout.shape.clone(), values);
        }
        let keys: SmallVec<[Value; 8]> = pairs.chunks_exact(2).map(|pair| pair[0].clone()).collect();
        let map = sorted(pairs);
        if let Some(shape) = map.shape()
            && shape.len() == count
        {
            let places = keys.iter().map(|key| shape.find(key).unwrap_or(0) as u8).collect();
            self.0[slot] = Some(Box::new(Layout { keys, places, shape: shape.clone() }));
        }
        map
    }
}

fn sorted(pairs: &mut [Value]) -> Map {
    pairs
        .chunks_exact_mut(2)
        .map(|pair| (std::mem::take(&mut pair[0]), std::mem::take(&mut pair[1])))
        .collect()
}

/// Whether two keys are certainly identical, without reading their texts.
#[inline]
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Keyword(a), Value::Keyword(b)) => a.same_allocation(b),
        (Value::Str(a), Value::Str(b)) => a.same_allocation(b),
        (Value::Int(a), Value::Int(b)) => a == b,
        _ => false,
    }
}

/// Where to look for a literal with these keys, if it can be remembered.
#[inline]
fn slot(pairs: &[Value]) -> Option<usize> {
    let count = pairs.len() / 2;
    if count == 0 || count > SMALL_MAX {
        return None;
    }
    let mut hash = count;
    for pair in pairs.chunks_exact(2) {
        // Ends and length of names tell the literals of one program apart well enough.
        let part = match &pair[0] {
            Value::Keyword(key) => name_hash(key.name())?,
            Value::Str(key) => name_hash(key.as_str())?,
            Value::Int(n) => *n as usize,
            _ => return None,
        };
        hash = (hash.rotate_left(5) ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as usize);
    }
    Some((hash >> 20) % SLOTS)
}

#[inline]
fn name_hash(name: &str) -> Option<usize> {
    let bytes = name.as_bytes();
    let (first, last) = (bytes.first()?, bytes.last()?);
    (bytes.len() <= NAME_MAX).then(|| bytes.len() << 16 | usize::from(*first) << 8 | usize::from(*last))
}
