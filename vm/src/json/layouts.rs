//! Objects of the same members share their keys.
//!
//! The rows of a table repeat their member names in the same order. Once an object has been read, the next one that begins
//! alike at the same depth is expected to continue alike: its names are only compared, and its map takes over the first one's
//! keys as a whole.

use super::rows;
use super::strings;
use crate::value::{Map, ReplyText, Rows, Shape, Str, Value};
use std::rc::Rc;

/// Layouts that are remembered.
const MOST: usize = 32;

/// The names of an object in the order of the text.
struct Layout {
    depth: usize,
    names: Vec<Str>,
    shape: Rc<Shape>,
    /// For each value of a map of this shape, the number of its name.
    order: Vec<u8>,
    /// Whether no name has anything that is written with an escape.
    is_plain: bool,
    /// Shared by its maps that are left as text, if any may be.
    rows: Option<Rc<Rows>>,
}

/// Which layout an object is expected to have.
pub(super) type LayoutId = usize;

/// The layouts seen last.
#[derive(Default)]
pub(super) struct Layouts {
    all: Vec<Layout>,
    /// The next one to evict.
    oldest: usize,
    /// The one that was found last, by depth.
    last: Vec<LayoutId>,
}

impl Layouts {
    /// The layout of the object at this depth that began with this very key.
    pub(super) fn find(&mut self, depth: usize, first: &Str) -> Option<LayoutId> {
        let found = self.position(depth, first)?;
        if self.last.len() <= depth {
            self.last.resize(depth + 1, LayoutId::MAX);
        }
        self.last[depth] = found;
        Some(found)
    }

    fn position(&self, depth: usize, first: &Str) -> Option<LayoutId> {
        self.all.iter().position(|layout| layout.depth == depth && layout.names[0].same_allocation(first))
    }

    /// The layout that was found last at this depth.
    #[inline]
    pub(super) fn last(&self, depth: usize) -> Option<LayoutId> {
        let last = *self.last.get(depth)?;
        // Another one may have taken its place.
        self.all.get(last).is_some_and(|layout| layout.depth == depth).then_some(last)
    }

    /// Shared by the rows of this layout, if they may be left as text.
    #[inline]
    pub(super) fn rows(&self, layout: LayoutId) -> Option<&Rc<Rows>> {
        self.all[layout].rows.as_ref()
    }

    /// The length of the name that is expected as number `index`, if `text`, which begins after a quote, continues with just
    /// that name and a quote.
    #[inline]
    pub(super) fn goes_on(&self, layout: LayoutId, index: usize, text: &[u8]) -> Option<usize> {
        let layout = &self.all[layout];
        let name = layout.names.get(index)?.as_str().as_bytes();
        let is_it = layout.is_plain && text.get(name.len()) == Some(&b'"') && text.starts_with(name);
        is_it.then_some(name.len())
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
        let sorted =
            layout.order.iter().map(|index| std::mem::take(&mut values[usize::from(*index)])).collect();
        Some(Map::with_shape(layout.shape.clone(), sorted))
    }

    /// Remembers an object that has just been read. Others like it may be left as `text`.
    pub(super) fn learn(&mut self, depth: usize, names: Vec<Str>, map: &Map, text: Option<&Rc<ReplyText>>) {
        let Some(shape) = map.shape() else { return };
        // A name that stands twice in the text has no place of its own.
        if names.is_empty() || names.len() != shape.len() {
            return;
        }
        let place =
            |name: &Str| shape.find(&Value::Str(name.clone())).ok().and_then(|at| u8::try_from(at).ok());
        let Some(places) = names.iter().map(place).collect::<Option<Vec<u8>>>() else { return };
        let mut order = vec![0; places.len()];
        for (index, place) in (0..=u8::MAX).zip(places) {
            order[usize::from(place)] = index;
        }
        let is_plain = names.iter().all(|name| strings::is_plain(name.as_str()));
        let is_scalar = |value: &Value| !matches!(value, Value::Map(_) | Value::Vector(_));
        let rows = text
            .filter(|_| is_plain && map.iter().all(|(_, value)| is_scalar(value)))
            .map(|text| Rows::new(text.clone(), shape.clone(), names.clone(), order.clone(), rows::read));
        let old = self.position(depth, &names[0]);
        let layout = Layout { depth, names, shape: shape.clone(), order, is_plain, rows };
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
