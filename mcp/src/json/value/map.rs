//! The members of an object, in insertion order.

use indexmap::IndexMap;

use super::Value;
use crate::json::write_string;

/// The members of an object by name, in the order in which they were first inserted. Two maps of the same members are equal in
/// any order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Map(IndexMap<String, Value>);

impl Map {
    /// No members.
    pub fn new() -> Self {
        Self::default()
    }

    /// No members, with the given capacity.
    pub fn with_capacity(capacity: usize) -> Self {
        Self(IndexMap::with_capacity(capacity))
    }

    /// The number of members.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The member of that name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// The member of that name, mutably.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Value> {
        self.0.get_mut(name)
    }

    /// The member of that name, with its name as it is kept here.
    pub fn get_key_value(&self, name: &str) -> Option<(&String, &Value)> {
        self.0.get_key_value(name)
    }

    /// Whether there is a member of that name.
    pub fn contains_key(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Sets a member; yields the old value. A new one comes last.
    pub fn insert(&mut self, name: String, value: Value) -> Option<Value> {
        self.0.insert(name, value)
    }

    /// The member of that name, put last as null if there is none.
    pub(super) fn member_or_null(&mut self, name: &str) -> &mut Value {
        self.0.entry(name.to_owned()).or_default()
    }

    /// Removes a member; the last one takes its place.
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        self.0.swap_remove(name)
    }

    /// Removes a member; those after it move up.
    pub fn shift_remove(&mut self, name: &str) -> Option<Value> {
        self.0.shift_remove(name)
    }

    /// Keeps only the members for which `keep` is true.
    pub fn retain(&mut self, keep: impl FnMut(&String, &mut Value) -> bool) {
        self.0.retain(keep);
    }

    /// The members in order.
    pub fn iter(&self) -> indexmap::map::Iter<'_, String, Value> {
        self.0.iter()
    }

    /// The members in order, mutably.
    pub fn iter_mut(&mut self) -> indexmap::map::IterMut<'_, String, Value> {
        self.0.iter_mut()
    }

    /// The names in order.
    pub fn keys(&self) -> indexmap::map::Keys<'_, String, Value> {
        self.0.keys()
    }

    /// The values in order.
    pub fn values(&self) -> indexmap::map::Values<'_, String, Value> {
        self.0.values()
    }

    /// The values in order, mutably.
    pub fn values_mut(&mut self) -> indexmap::map::ValuesMut<'_, String, Value> {
        self.0.values_mut()
    }

    /// Appends the object as compact JSON.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        for (at, (name, value)) in self.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            write_string(out, name);
            out.push(b':');
            value.write(out);
        }
        out.push(b'}');
    }
}

impl IntoIterator for Map {
    type Item = (String, Value);
    type IntoIter = indexmap::map::IntoIter<String, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Map {
    type Item = (&'a String, &'a Value);
    type IntoIter = indexmap::map::Iter<'a, String, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<'a> IntoIterator for &'a mut Map {
    type Item = (&'a String, &'a mut Value);
    type IntoIter = indexmap::map::IterMut<'a, String, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter_mut()
    }
}

impl FromIterator<(String, Value)> for Map {
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(members: I) -> Self {
        Self(IndexMap::from_iter(members))
    }
}

impl Extend<(String, Value)> for Map {
    fn extend<I: IntoIterator<Item = (String, Value)>>(&mut self, members: I) {
        self.0.extend(members);
    }
}
