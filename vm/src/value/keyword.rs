//! Keywords: names without namespace, equal when their names are.

use super::Allocation;
use crate::meter;
use compact_str::CompactString;
use std::rc::Rc;

/// A keyword. Constants of one program share their allocation, so that most comparisons are of pointers;
/// nothing is interned beyond that, so that `(keyword s)` leaves nothing behind.
#[derive(Clone)]
pub struct Keyword(Rc<InternedName>);

struct InternedName {
    /// Mostly short, and then part of the one allocation.
    text: CompactString,
}

impl InternedName {
    const OVERHEAD: usize = 40;
}

impl Drop for InternedName {
    fn drop(&mut self) {
        meter::credit_memory(InternedName::OVERHEAD + self.text.len());
    }
}

impl Keyword {
    /// The keyword of this name, without colon.
    pub(crate) fn new(name: &str) -> Keyword {
        meter::charge_memory(InternedName::OVERHEAD + name.len());
        Keyword(Rc::new(InternedName { text: CompactString::new(name) }))
    }

    /// The name, without colon.
    #[inline]
    pub fn name(&self) -> &str {
        &self.0.text
    }

    /// Where the name lies.
    pub(super) fn allocation(&self) -> Allocation {
        Allocation::of(&self.0)
    }

    /// Whether both are the same allocation; a cheap first test, never a proof of difference.
    #[inline]
    pub(crate) fn same_allocation(&self, other: &Keyword) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

impl PartialEq for Keyword {
    #[inline]
    fn eq(&self, other: &Keyword) -> bool {
        self.same_allocation(other) || self.name() == other.name()
    }
}

impl Eq for Keyword {}
