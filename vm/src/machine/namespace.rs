//! The user namespace: the definitions of `def`, kept from program to program of a session.

use super::library::Library;
use crate::code::DefInfo;
use crate::value::Value;
use ahash::AHashMap;
use std::rc::Rc;

/// Names that programs define over those of a library, each in a slot that linked code refers to.
pub struct Namespace {
    library: &'static Library,
    slots: AHashMap<Rc<str>, u32>,
    entries: Vec<NamespaceSlot>,
    /// How many builtins' names have a value here.
    shadowing: u32,
}

struct NamespaceSlot {
    name: Rc<str>,
    binding: Option<Binding>,
    /// Whether the library has a builtin of this name.
    shadows: bool,
}

/// The binding of a name.
#[derive(Clone, Debug)]
pub struct Binding {
    /// The value.
    pub value: Value,
    /// Documentation, when the definition carried some.
    pub info: Option<Rc<DefInfo>>,
}

impl Namespace {
    /// An empty namespace over `library`.
    pub fn new(library: &'static Library) -> Namespace {
        Namespace { library, slots: AHashMap::new(), entries: Vec::new(), shadowing: 0 }
    }

    /// The library under it.
    #[inline]
    pub fn library(&self) -> &'static Library {
        self.library
    }

    /// The slot of `name`, made if there is none; it has no value yet then.
    pub fn slot(&mut self, name: &Rc<str>) -> u32 {
        *self.slots.entry(name.clone()).or_insert_with(|| {
            let shadows = self.library.id(name).is_some();
            self.entries.push(NamespaceSlot { name: name.clone(), binding: None, shadows });
            self.entries.len() as u32 - 1
        })
    }

    /// Makes room for so many names more.
    pub(super) fn reserve(&mut self, names: usize) {
        self.slots.reserve(names);
        self.entries.reserve(names);
    }

    /// The slot of `name`, if it has one.
    pub(crate) fn find_slot(&self, name: &str) -> Option<u32> {
        self.slots.get(name).copied()
    }

    /// The value in a slot.
    #[inline]
    pub fn value(&self, slot: u32) -> Option<&Value> {
        self.entries[slot as usize].binding.as_ref().map(|binding| &binding.value)
    }

    /// The binding of the name in a slot.
    pub(super) fn binding(&self, slot: u32) -> Option<&Binding> {
        self.entries[slot as usize].binding.as_ref()
    }

    /// The slots of builtins' names that have a value here.
    pub(super) fn shadowing(&self) -> impl Iterator<Item = u32> {
        (0..)
            .zip(&self.entries)
            .filter(|(_, entry)| entry.shadows && entry.binding.is_some())
            .map(|(slot, _)| slot)
    }

    /// The name of a slot.
    pub fn name(&self, slot: u32) -> &Rc<str> {
        &self.entries[slot as usize].name
    }

    /// The binding of `name`.
    pub fn get(&self, name: &str) -> Option<&Binding> {
        let slot = *self.slots.get(name)?;
        self.entries[slot as usize].binding.as_ref()
    }

    /// Whether `name` has a value.
    pub fn defines(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Puts a binding into a slot and returns the one it replaces.
    pub fn set(&mut self, slot: u32, binding: Option<Binding>) -> Option<Binding> {
        let entry = &mut self.entries[slot as usize];
        let before = std::mem::replace(&mut entry.binding, binding);
        let (was, is) = (before.is_some(), entry.binding.is_some());
        if was != is && entry.shadows {
            if is { self.shadowing += 1 } else { self.shadowing -= 1 }
        }
        before
    }

    /// Whether any builtin's name has a value here.
    pub(crate) fn shadows_builtins(&self) -> bool {
        self.shadowing > 0
    }

    /// How many slots there are, with and without a value.
    pub fn slots(&self) -> usize {
        self.entries.len()
    }

    /// Forgets the slots from `len` on: those that a failed program brought in.
    pub fn truncate(&mut self, len: usize) {
        for entry in self.entries.drain(len.min(self.entries.len())..) {
            self.slots.remove(&entry.name);
        }
    }

    /// The names that have a value, with their bindings, sorted by name.
    pub fn bindings(&self) -> Vec<(&Rc<str>, &Binding)> {
        let mut all: Vec<_> = self
            .entries
            .iter()
            .filter_map(|e| e.binding.as_ref().map(|binding| (&e.name, binding)))
            .collect();
        all.sort_by(|a, b| a.0.cmp(b.0));
        all
    }

    /// Removes a name's value and returns it.
    pub fn forget(&mut self, name: &str) -> Option<Binding> {
        let slot = self.slots.get(name).copied()?;
        self.set(slot, None)
    }
}
