//! `value["name"]` and `value[0]`.

use std::ops;

use super::Value;

/// An index of an array's element or an object's member.
pub trait Index {
    /// The value at this index.
    fn find<'v>(&self, value: &'v Value) -> Option<&'v Value>;
    /// The value at this index, mutably.
    fn find_mut<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value>;
    /// The value at this index, inserted if possible: a new member of an object, or of null, which becomes an object.
    ///
    /// # Panics
    /// If it cannot be inserted.
    fn find_or_insert<'v>(&self, value: &'v mut Value) -> &'v mut Value;
}

impl Value {
    /// The element or member there, if there is one.
    pub fn get<I: Index>(&self, index: I) -> Option<&Value> {
        index.find(self)
    }

    /// The element or member there, mutably, if there is one.
    pub fn get_mut<I: Index>(&mut self, index: I) -> Option<&mut Value> {
        index.find_mut(self)
    }
}

impl Index for usize {
    fn find<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        value.as_array()?.get(*self)
    }

    fn find_mut<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        value.as_array_mut()?.get_mut(*self)
    }

    fn find_or_insert<'v>(&self, value: &'v mut Value) -> &'v mut Value {
        match value {
            Value::Array(items) => &mut items[*self],
            other => panic!("cannot index {other:?} by a number"),
        }
    }
}

impl Index for str {
    fn find<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        value.as_object()?.get(self)
    }

    fn find_mut<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        value.as_object_mut()?.get_mut(self)
    }

    fn find_or_insert<'v>(&self, value: &'v mut Value) -> &'v mut Value {
        if value.is_null() {
            *value = Value::Object(super::Map::new());
        }
        match value {
            Value::Object(members) => members.member_or_null(self),
            other => panic!("cannot index {other:?} by a name"),
        }
    }
}

impl Index for String {
    fn find<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        Index::find(self.as_str(), value)
    }

    fn find_mut<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        self.as_str().find_mut(value)
    }

    fn find_or_insert<'v>(&self, value: &'v mut Value) -> &'v mut Value {
        self.as_str().find_or_insert(value)
    }
}

impl<I: Index + ?Sized> Index for &I {
    fn find<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        (**self).find(value)
    }

    fn find_mut<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        (**self).find_mut(value)
    }

    fn find_or_insert<'v>(&self, value: &'v mut Value) -> &'v mut Value {
        (**self).find_or_insert(value)
    }
}

/// Null if the index finds nothing.
impl<I: Index> ops::Index<I> for Value {
    type Output = Value;

    fn index(&self, index: I) -> &Value {
        static NULL: Value = Value::Null;
        index.find(self).unwrap_or(&NULL)
    }
}

impl<I: Index> ops::IndexMut<I> for Value {
    fn index_mut(&mut self, index: I) -> &mut Value {
        index.find_or_insert(self)
    }
}

impl ops::Index<&str> for super::Map {
    type Output = Value;

    fn index(&self, name: &str) -> &Value {
        self.get(name).expect("a member of that name")
    }
}
