//! A page: the place of its items, and its signs.

use super::names::{LISTS, Plain, WRAPPERS, is_envelope, is_side_list};
use super::signs::Signs;
use crate::value::{Map, Value, Vector};
use smallvec::SmallVec;

/// Most entries of one map that are examined: a larger map is keyed by data.
pub(super) const MOST_ENTRIES: usize = 64;
/// How deep items lie in maps.
const MOST_DEPTH: usize = 5;

/// The name of a key.
pub(super) fn key_name(key: &Value) -> Option<&str> {
    match key {
        Value::Keyword(key) => Some(key.name()),
        Value::Str(key) => Some(key.as_str()),
        _ => None,
    }
}

/// The entries of a map that are looked at.
pub(super) fn entries(map: &Map) -> impl Iterator<Item = (&str, &Value)> {
    map.iter().take(MOST_ENTRIES).filter_map(|(key, value)| Some((key_name(key)?, value)))
}

/// Whether a value is a list of items.
pub(crate) fn is_list(value: &Value) -> bool {
    matches!(value, Value::Vector(_) | Value::List(_) | Value::Queue(_))
}

fn elements(list: &Value) -> Option<&Vector> {
    match list {
        Value::Vector(list) | Value::List(list) | Value::Queue(list) => Some(list),
        _ => None,
    }
}

/// A page that was read.
pub(crate) struct Page<'v> {
    /// The list of its items; `None` where that is not plain.
    list: Option<&'v Value>,
    /// The keys that lead to them.
    path: SmallVec<[&'v str; 4]>,
    /// The maps around them, from the outside.
    around: SmallVec<[&'v Map; 4]>,
    pub(super) signs: Signs<'v>,
}

impl<'v> Page<'v> {
    /// Reads a page of the tool of this name. `path`: where the items of the page before lay.
    pub(crate) fn read(value: &'v Value, tool: &str, path: Option<&[String]>) -> Page<'v> {
        let mut page =
            Page { list: None, path: SmallVec::new(), around: SmallVec::new(), signs: Signs::default() };
        match value {
            Value::Map(map) => {
                if !path.is_some_and(|path| page.follow(map, path)) {
                    page.walk(map, tool);
                }
                let items = page.list.and(page.path.last()).copied().unwrap_or_default();
                page.signs = Signs::of(page.around.iter().rev().copied(), items);
            }
            list if is_list(list) => page.list = Some(list),
            _ => {}
        }
        page
    }

    /// Goes where the items of the page before lay; whether there are any.
    fn follow(&mut self, map: &'v Map, path: &[String]) -> bool {
        let mut here = map;
        let Some((last, before)) = path.split_last() else { return false };
        let at = |map: &'v Map, name: &str| entries(map).find(|(key, _)| *key == name);
        self.around.push(here);
        for name in before {
            let Some((key, Value::Map(inner))) = at(here, name) else { break };
            self.path.push(key);
            self.around.push(inner);
            here = inner;
        }
        if self.path.len() == before.len()
            && let Some((key, list)) = at(here, last)
            && is_list(list)
        {
            self.path.push(key);
            self.list = Some(list);
            return true;
        }
        self.path.clear();
        self.around.clear();
        false
    }

    fn walk(&mut self, map: &'v Map, tool: &str) {
        let mut here = map;
        self.around.push(here);
        for _ in 0..MOST_DEPTH {
            match list_in(here, tool) {
                Lists::One(key, list) => {
                    self.path.push(key);
                    self.list = Some(list);
                    return;
                }
                Lists::Several => return,
                Lists::None => {}
            }
            let Some((key, inner)) = inner(here) else { return };
            self.path.push(key);
            self.around.push(inner);
            here = inner;
        }
    }

    /// The list of items: for edges, their nodes. `nil` if the page says that there are none.
    pub(crate) fn items(&self) -> Option<Value> {
        let Some(list) = self.list else {
            let says_none = self.signs.total.is_some_and(|total| total.what == 0)
                || self.around.first().is_some_and(|map| map.is_empty() || is_null_list(map));
            return says_none.then_some(Value::Nil);
        };
        let edges = self.path.last().filter(|key| **key == "edges").and(elements(list));
        let nodes = edges.and_then(|edges| {
            let node = |edge: Value| match &edge {
                Value::Map(edge) => edge.entry_named("node", false).map(|(_, node)| node.clone()),
                _ => None,
            };
            edges.iter().map(node).collect::<Option<Vec<Value>>>()
        });
        Some(nodes.map_or_else(|| list.clone(), |nodes| Value::Vector(Vector::from_vec(nodes))))
    }

    /// How many items there are, if they were found.
    pub(crate) fn count(&self) -> Option<usize> {
        match self.list {
            Some(list) => elements(list).map(Vector::len),
            None => self.items().map(|_| 0),
        }
    }

    /// How many items the page says that there are in all, and the key that says so. `count` and the like may be of the page.
    pub(crate) fn total(&self) -> Option<(String, i64)> {
        let total =
            self.signs.total.filter(|total| total.strong || Plain::of(total.key).as_str() == "total")?;
        Some((total.key.to_owned(), total.what))
    }

    /// The keys that lead to the items.
    pub(crate) fn path(&self) -> Vec<String> {
        self.list.map_or_else(Vec::new, |_| self.path.iter().map(|key| (*key).to_owned()).collect())
    }

    /// The name of the last item: for edges their cursor, else the item's id.
    pub(super) fn last_item(&self, names: &[&str]) -> Option<Value> {
        let Some(Value::Map(last)) = elements(self.list?)?.last() else { return None };
        let found = |name: &&str| last.entry_named(name, false).map(|(_, value)| value.clone());
        names.iter().find_map(found).filter(|id| matches!(id, Value::Str(_) | Value::Int(_)))
    }

    /// The entries of the maps around the items.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&'v str, &'v Value)> {
        self.around.iter().flat_map(|map| entries(map))
    }

    /// The first keys of the maps around the items.
    pub(crate) fn keys(&self, most: usize) -> Vec<&'v str> {
        let mut keys: Vec<&str> = Vec::new();
        for (key, _) in self.entries() {
            if keys.len() < most && !keys.contains(&key) {
                keys.push(key);
            }
        }
        keys
    }
}

/// Whether a map has nothing where its items would be, and does not tell of an error instead.
fn is_null_list(map: &Map) -> bool {
    let is_error =
        |(key, value): (&str, &Value)| !matches!(value, Value::Nil) && matches!(key, "error" | "errors");
    !entries(map).any(is_error)
        && entries(map)
            .any(|(key, value)| matches!(value, Value::Nil) && LISTS.contains(&Plain::of(key).as_str()))
}

enum Lists<'v> {
    None,
    One(&'v str, &'v Value),
    Several,
}

/// The list of items among the entries of a map.
fn list_in<'v>(map: &'v Map, tool: &str) -> Lists<'v> {
    let all: SmallVec<[(&str, &Value); 4]> = entries(map).filter(|(_, value)| is_list(value)).collect();
    let is_side = |key: &str| is_side_list(Plain::of(key).as_str());
    let main: SmallVec<[(&str, &Value); 4]> = all.iter().copied().filter(|(key, _)| !is_side(key)).collect();
    match (main.as_slice(), all.as_slice()) {
        ([], []) => return Lists::None,
        ([(key, list)], _) => return Lists::One(key, list),
        // What lies deeper may be the items; links never are.
        ([], _) if inner(map).is_some() => return Lists::None,
        ([], [(key, list)]) if !matches!(*key, "links" | "link") => return Lists::One(key, list),
        ([], _) => return Lists::None,
        _ => {}
    }
    let usual = LISTS.iter().find_map(|name| main.iter().find(|(key, _)| Plain::of(key).as_str() == *name));
    let tool = Plain::of(tool);
    let named = || {
        let mut named = main.iter().filter(|(key, _)| {
            let key = Plain::of(key);
            let key = key.as_str();
            key.len() > 2
                && (tool.as_str().contains(key) || tool.as_str().contains(key.trim_end_matches('s')))
        });
        named.next().filter(|_| named.next().is_none())
    };
    let of_maps = || {
        let mut of_maps = main.iter().filter(|(_, list)| {
            elements(list).is_some_and(|list| matches!(list.first(), Some(Value::Map(_))))
        });
        of_maps.next().filter(|_| of_maps.next().is_none())
    };
    match usual.or_else(named).or_else(of_maps) {
        Some((key, list)) => Lists::One(key, list),
        None => Lists::Several,
    }
}

/// The map among the entries in which the items lie.
fn inner(map: &Map) -> Option<(&str, &Map)> {
    let maps: SmallVec<[(&str, Plain, &Map); 4]> = entries(map)
        .filter_map(|(key, value)| match value {
            Value::Map(inner) => Some((key, Plain::of(key), inner)),
            _ => None,
        })
        .filter(|(_, plain, _)| !is_envelope(plain.as_str()) && plain.as_str() != "next")
        .collect();
    let holds_list =
        |map: &Map| entries(map).any(|(key, value)| is_list(value) && !is_side_list(Plain::of(key).as_str()));
    let mut holders = maps.iter().filter(|(_, _, map)| holds_list(map));
    let holder = holders.next().filter(|_| holders.next().is_none());
    let wrapper =
        || WRAPPERS.iter().find_map(|name| maps.iter().find(|(_, plain, _)| plain.as_str() == *name));
    let only = || maps.first().filter(|_| maps.len() == 1);
    let (key, _, inner) = holder.or_else(wrapper).or_else(only)?;
    Some((key, inner))
}
