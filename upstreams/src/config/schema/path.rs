//! Paths into the upstreams file, and where in its text they lead.

use std::fmt;

use jsonc_parser::ast::{ObjectProp, Value};
use jsonc_parser::common::Ranged as _;
use ptc_schema::parsed::{PlaceStep, SchemaPlace};

/// The way from the whole file to a place in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Path(Vec<Step>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Key(String),
    Item(usize),
}

impl Path {
    /// The same place of a check.
    pub(super) fn of(place: &SchemaPlace<'_>) -> Path {
        let steps = place.steps().into_iter().map(|step| match step {
            PlaceStep::Member(key) => Step::Key(key.to_owned()),
            PlaceStep::Element(index) => Step::Item(index),
        });
        Path(steps.collect())
    }

    /// The value of this key of the object here.
    pub(super) fn key(&self, key: &str) -> Path {
        Path(self.0.iter().cloned().chain([Step::Key(key.to_owned())]).collect())
    }

    /// The key at this depth, if there is one.
    pub(super) fn key_at(&self, depth: usize) -> Option<&str> {
        match self.0.get(depth) {
            Some(Step::Key(key)) => Some(key),
            _ => None,
        }
    }

    /// The innermost key.
    pub(super) fn last_key(&self) -> Option<&str> {
        self.0.iter().rev().find_map(|step| match step {
            Step::Key(key) => Some(key.as_str()),
            Step::Item(_) => None,
        })
    }

    /// Where it leads in a text that was read as `root`, as an offset in bytes: the value, or with `to_key` its key. Where the
    /// text has no such place, the last place on the way.
    pub(super) fn offset(&self, root: &Value<'_>, to_key: bool) -> usize {
        let mut here = root;
        let mut offset = here.start();
        for (depth, step) in self.0.iter().enumerate() {
            let next = match (step, here) {
                (Step::Key(key), Value::Object(object)) => {
                    let found = object.properties.iter().find(|property| property.name.as_str() == key);
                    found.map(|property: &ObjectProp<'_>| (&property.value, property.start()))
                }
                (Step::Item(index), Value::Array(array)) => {
                    array.elements.get(*index).map(|element| (element, element.start()))
                }
                _ => None,
            };
            let Some((value, key)) = next else { return offset };
            here = value;
            offset = if to_key && depth + 1 == self.0.len() { key } else { value.start() };
        }
        offset
    }
}

/// `upstreams.github.auth[0].scheme`; a key of other characters is quoted.
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_plain = |key: &str| {
            !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '$'))
        };
        for (depth, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) if !is_plain(key) => write!(f, "[{key:?}]")?,
                Step::Key(key) if depth == 0 => f.write_str(key)?,
                Step::Key(key) => write!(f, ".{key}")?,
                Step::Item(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}
