//! Traversal of values: the references of a node, child by child, with a stack on the heap.

use super::nodes::NodeKind;
use crate::value::{
    Captures, Closure, Combinator, Contents, Cursor, Map, MapIter, Pieces, RowField, Set, SetIter, Shape,
    Str, Uniform, Value, Vector, VectorIter,
};
use std::cell::RefCell;
use std::rc::Rc;

/// A reference of a node.
pub(super) enum Child {
    Value(Value),
    /// A field of an unread row: the value has no owner.
    Made(Value),
    Shape(Rc<Shape>),
    Captures(Rc<Captures>),
    Text(Str),
}

/// A child, and whether it is met once only: its parent is its only owner, and the parent is met once.
pub(super) struct ChildEncounter {
    pub(super) child: Child,
    pub(super) once: bool,
}

impl ChildEncounter {
    fn held(value: &Value) -> ChildEncounter {
        // Before this look has made a holder more.
        let once = value.allocation().is_none_or(|allocation| allocation.holders == 1);
        ChildEncounter { child: Child::Value(value.clone()), once }
    }

    /// A value out of a tree, whose nodes several versions of a collection may share.
    fn of_tree(value: Value) -> ChildEncounter {
        ChildEncounter { child: Child::Value(value), once: false }
    }

    fn shape(shape: Rc<Shape>) -> ChildEncounter {
        ChildEncounter { child: Child::Shape(shape), once: false }
    }
}

/// A value some of whose children are still to be written.
pub(super) enum OpenValue {
    Flat {
        vector: Vector,
        at: usize,
    },
    Long(VectorIter),
    /// A list or a queue, with the vector of its elements.
    List {
        kind: NodeKind,
        items: Option<Vector>,
    },
    Pieces {
        pieces: Pieces,
        repeated: Option<Value>,
        items: VectorIter,
        piece: usize,
        taken: usize,
    },
    Shape {
        shape: Rc<Shape>,
        at: usize,
    },
    Small {
        map: Map,
        shape: Option<Rc<Shape>>,
        at: usize,
    },
    Row {
        _row: Map,
        shape: Option<Rc<Shape>>,
        fields: std::vec::IntoIter<RowField>,
    },
    TreeMap {
        entries: MapIter,
        value: Option<Value>,
    },
    SmallSet {
        _set: Set,
        shape: Option<Rc<Shape>>,
    },
    TreeSet(SetIter),
    Closure {
        closure: Rc<Closure>,
        captures: Option<Rc<Captures>>,
    },
    Captures {
        captures: Rc<Captures>,
        at: usize,
    },
    Combinator {
        combinator: Rc<Combinator>,
        at: usize,
    },
    /// A var, a symbol or a tool.
    Named {
        value: Value,
        text: Option<Str>,
    },
    Cursor {
        _cursor: Rc<RefCell<Cursor>>,
        collection: Option<Value>,
        taken: usize,
    },
}

impl OpenValue {
    pub(super) fn vector(vector: Vector) -> OpenValue {
        if vector.as_flat().is_some() {
            return OpenValue::Flat { vector, at: 0 };
        }
        match vector.pieces() {
            Some(pieces) => {
                let repeated = match &pieces.uniform {
                    Uniform::Repeat(value) => Some(value.clone()),
                    Uniform::Run(..) => None,
                };
                OpenValue::Pieces { pieces, repeated, items: vector.into_iter(), piece: 0, taken: 0 }
            }
            None => OpenValue::Long(vector.into_iter()),
        }
    }

    pub(super) fn map(map: Map) -> OpenValue {
        let (shape, fields) = match map.contents() {
            Contents::Small(shape, _) | Contents::Watched(shape, ..) => (Some(shape.clone()), None),
            Contents::Row(shape, fields) => (Some(shape.clone()), Some(fields.into_iter())),
            Contents::Tree => (None, None),
        };
        match (shape, fields) {
            (None, _) => OpenValue::TreeMap { entries: map.into_iter(), value: None },
            (shape, None) => OpenValue::Small { map, shape, at: 0 },
            (shape, Some(fields)) => OpenValue::Row { _row: map, shape, fields },
        }
    }

    pub(super) fn set(set: Set) -> OpenValue {
        let shape = match set.contents() {
            Contents::Small(shape, _) => Some(shape.clone()),
            _ => None,
        };
        if shape.is_some() {
            OpenValue::SmallSet { _set: set, shape }
        } else {
            OpenValue::TreeSet(set.into_iter())
        }
    }

    pub(super) fn cursor(cursor: Rc<RefCell<Cursor>>) -> OpenValue {
        let (collection, taken) = match &*cursor.borrow() {
            Cursor::Vector(iter) => {
                let (vector, taken) = iter.taken();
                (Value::Vector(vector.clone()), taken)
            }
            Cursor::Map(iter) => {
                let (map, taken) = iter.taken();
                (Value::Map(map), taken)
            }
            Cursor::Set(iter) => {
                let (set, taken) = iter.taken();
                (Value::Set(set), taken)
            }
        };
        OpenValue::Cursor { _cursor: cursor, collection: Some(collection), taken }
    }

    /// The next child, in the node's order.
    pub(super) fn next(&mut self) -> Option<ChildEncounter> {
        match self {
            OpenValue::Flat { vector, at } => {
                *at += 1;
                vector.as_flat()?.get(*at - 1).map(ChildEncounter::held)
            }
            OpenValue::Long(items) => items.next().map(ChildEncounter::of_tree),
            OpenValue::List { items, .. } => {
                let items = Child::Value(Value::Vector(items.take()?));
                Some(ChildEncounter { child: items, once: false })
            }
            OpenValue::Pieces { pieces, repeated, items, piece, taken } => {
                if let Some(value) = repeated.take() {
                    return Some(ChildEncounter::of_tree(value));
                }
                let mut skipped = 0;
                while *taken == *pieces.lengths.get(*piece)? {
                    skipped += pieces.lengths.get(*piece + 1)?;
                    (*piece, *taken) = (*piece + 2, 0);
                }
                *taken += 1;
                items.nth(skipped).map(ChildEncounter::of_tree)
            }
            OpenValue::Shape { shape, at } => {
                *at += 1;
                shape.keys().get(*at - 1).map(ChildEncounter::held)
            }
            OpenValue::Small { map, shape, at } => {
                if let Some(shape) = shape.take() {
                    return Some(ChildEncounter::shape(shape));
                }
                *at += 1;
                match map.contents() {
                    Contents::Small(_, values) | Contents::Watched(_, values, _) => {
                        values.get(*at - 1).map(ChildEncounter::held)
                    }
                    _ => None,
                }
            }
            OpenValue::Row { shape, fields, .. } => {
                if let Some(shape) = shape.take() {
                    return Some(ChildEncounter::shape(shape));
                }
                Some(match fields.next()? {
                    RowField::Read(value) => ChildEncounter::of_tree(value),
                    RowField::Text(value) => ChildEncounter { child: Child::Made(value), once: true },
                })
            }
            OpenValue::TreeMap { entries, value } => {
                if let Some(value) = value.take() {
                    return Some(ChildEncounter::of_tree(value));
                }
                let (key, its) = entries.next()?;
                *value = Some(its);
                Some(ChildEncounter::of_tree(key))
            }
            OpenValue::SmallSet { shape, .. } => shape.take().map(ChildEncounter::shape),
            OpenValue::TreeSet(elements) => elements.next().map(ChildEncounter::of_tree),
            OpenValue::Closure { captures, .. } => captures
                .take()
                .map(|captures| ChildEncounter { child: Child::Captures(captures), once: false }),
            OpenValue::Captures { captures, at } => {
                *at += 1;
                captures.values().get(*at - 1).map(ChildEncounter::held)
            }
            OpenValue::Combinator { combinator, at } => {
                *at += 1;
                combinator.parts.get(*at - 1).map(ChildEncounter::held)
            }
            OpenValue::Named { text, .. } => {
                text.take().map(|text| ChildEncounter { child: Child::Text(text), once: false })
            }
            OpenValue::Cursor { collection, .. } => collection.take().map(ChildEncounter::of_tree),
        }
    }
}
