//! Objects of the same members share their keys.
//!
//! The rows of a table repeat their member names in the same order. Once an object has been read, the next one
//! that begins alike at the same depth is expected to go on alike: its names are only compared, and its map
//! takes over the first one's keys as a whole.

use crate::value::{Map, Shape, Str, Value};
use std::rc::Rc;

/// Layouts that are remembered.
const MOST: usize = 32;

/// The names of an object in the order of the text.
struct Layout {
    depth: usize,
    names: Vec<Str>,
    shape: Rc<Shape>,
    /// For each name, where its value lies in a map of this shape.
    places: Vec<u8>,
}

/// Which layout an object is expected to have.
pub(super) type LayoutId = usize;

/// The layouts seen last.
#[derive(Default)]
pub(super) struct Layouts {
    all: Vec<Layout>,
    /// Which one gives way when there are too many.
    oldest: usize,
}

impl Layouts {
    /// The layout of the object at this depth that began with this very key.
    pub(super) fn find(&self, depth: usize, first: &Str) -> Option<LayoutId> {
        self.all.iter().position(|layout| layout.depth == depth && layout.names[0].same_allocation(first))
    }

    /// The name that is expected as number `index`.
    #[inline]
    pub(super) fn name(&self, layout: LayoutId, index: usize) -> Option<&Str> {
        self.all[layout].names.get(index)
    }

    /// The map of these values, in the order of the text; `None` if there are too few of them.
    pub(super) fn map(&self, layout: LayoutId, values: &mut [Value]) -> Option<Map> {
        let layout = &self.all[layout];
        if values.len() != layout.names.len() {
            return None;
        }
        let mut sorted = vec![Value::Nil; values.len()];
        for (value, place) in values.iter_mut().zip(&layout.places) {
            sorted[usize::from(*place)] = std::mem::take(value);
        }
        Some(Map::with_shape(layout.shape.clone(), sorted))
    }

    /// Remembers an object that has just been read.
    pub(super) fn learn(&mut self, depth: usize, names: Vec<Str>, map: &Map) {
        let Some(shape) = map.shape() else { return };
        // A name that stands twice in the text has no place of its own.
        if names.is_empty() || names.len() != shape.len() {
            return;
        }
        let place =
            |name: &Str| shape.find(&Value::Str(name.clone())).ok().and_then(|at| u8::try_from(at).ok());
        let Some(places) = names.iter().map(place).collect() else { return };
        let old = self.find(depth, &names[0]);
        let layout = Layout { depth, names, shape: shape.clone(), places };
        match old {
            Some(old) => self.all[old] = layout,
            None if self.all.len() < MOST => self.all.push(layout),
            None => {
                self.all[self.oldest] = layout;
                self.oldest = (self.oldest + 1) % MOST;
            }
        }
    }
}
