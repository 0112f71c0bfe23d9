//! The shared state of a session.

use super::size;
#[cfg(feature = "saved-sessions")]
use crate::outcome::SessionDraft;
#[cfg(feature = "saved-sessions")]
use bytes::Bytes;
use ptc_base::memory::MemoryReservation;
use ptc_vm::Value;
use ptc_vm::builtins::library;
use ptc_vm::machine::{Binding, Namespace};
use ptc_vm::value::{Map, Str};
use std::any::Any;
use std::rc::Rc;
#[cfg(feature = "saved-sessions")]
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// The state that a session's programs share.
pub struct SessionState {
    /// Definitions.
    pub namespace: Namespace,
    /// The last three results, latest first.
    pub history: [Value; 3],
    /// Programs that succeeded.
    pub turn: u64,
    /// Values that `task` stored by id, for sessions whose rules keep a journal. Kept however a program ends.
    pub journal: Map,
    /// The notes of `step-done`, under the same condition: id and summary, in order.
    pub summaries: Vec<(Str, Value)>,
    /// Bytes of each binding by the table of [`measure`], sorted by name. Kept for sessions under rules only.
    pub(super) sizes: Vec<(Rc<str>, u64)>,
    /// Bytes of each remembered result by the same table, latest first; 0 where there is none. Under the same condition.
    pub(super) history_sizes: [u64; 3],
    /// Bytes of the journal and the summaries by the same table; kept for sessions under rules within a budget.
    pub(super) journal_bytes: u64,
    /// The process memory reserved for definitions, remembered results and the journal; kept for sessions under rules within a
    /// budget.
    pub(super) reservation: Option<MemoryReservation>,
    /// The version under which it is saved; 0 if it is not.
    #[cfg(feature = "saved-sessions")]
    pub(super) version: u64,
    /// Whether the store has taken that version; a session that came from the store counts as taken.
    #[cfg(feature = "saved-sessions")]
    pub(super) kept: Option<Arc<AtomicBool>>,
    /// Discarded values that are not freed yet: freeing may take long, so it is done in turns.
    pub(super) discarded: Discarded,
}

/// Discarded values.
pub(in super::super) type Discarded = Vec<Box<dyn Any>>;

impl Default for SessionState {
    fn default() -> SessionState {
        SessionState {
            namespace: Namespace::new(library()),
            history: Default::default(),
            turn: 0,
            journal: Map::default(),
            summaries: Vec::new(),
            sizes: Vec::new(),
            history_sizes: [0; 3],
            journal_bytes: 0,
            reservation: None,
            #[cfg(feature = "saved-sessions")]
            version: 0,
            #[cfg(feature = "saved-sessions")]
            kept: None,
            discarded: Vec::new(),
        }
    }
}

impl SessionState {
    /// The version that a store has of it; 0 if it has none.
    #[cfg(feature = "saved-sessions")]
    pub(in super::super) fn saved_version(&self) -> u64 {
        let is_kept = self.kept.as_ref().is_none_or(|kept| kept.load(Ordering::Acquire));
        if is_kept { self.version } else { 0 }
    }

    /// It is about to be the next version.
    #[cfg(feature = "saved-sessions")]
    pub(super) fn next_version(&mut self, blob: Bytes) -> SessionDraft {
        let (draft, kept) = SessionDraft::new(blob);
        self.version += 1;
        self.kept = Some(kept);
        draft
    }

    /// Marks that it matches no stored version.
    #[cfg(feature = "saved-sessions")]
    pub(in super::super) fn lose_version(&mut self) {
        self.kept = Some(Arc::default());
    }

    /// Puts a result of `bytes` in front of the history.
    pub(super) fn remember(&mut self, value: Value, bytes: u64) {
        self.history.rotate_right(1);
        self.history[0] = value;
        self.history_sizes = history_with(self.history_sizes, bytes);
        self.turn += 1;
    }

    /// Removes a definition; whether there was one.
    pub fn forget(&mut self, name: &str) -> bool {
        let was = self.namespace.forget(name).map(|binding| self.discarded.push(Box::new(binding))).is_some();
        self.sizes.retain(|(known, _)| &**known != name);
        self.release_surplus();
        was
    }

    /// Removes all definitions. Their names keep their slots: functions among the last results know names by them.
    pub fn forget_all(&mut self) {
        let names: Vec<Rc<str>> =
            self.namespace.bindings().into_iter().map(|(name, _)| name.clone()).collect();
        let all: Vec<_> = names.iter().filter_map(|name| self.namespace.forget(name)).collect();
        self.discarded.push(Box::new(all));
        self.sizes = Vec::new();
        self.release_surplus();
    }

    /// Forgets the last results.
    pub fn forget_history(&mut self) {
        self.discarded.push(Box::new(std::mem::take(&mut self.history)));
    }

    /// Releases the reservation of discarded definitions and results.
    pub(super) fn release_surplus(&self) {
        let bytes = self.memory_bytes() + self.history_sizes.iter().sum::<u64>() + self.journal_bytes;
        if let Some(reservation) = self.reservation.as_ref().filter(|reservation| reservation.bytes() > bytes)
        {
            let _ = reservation.resize(bytes);
        }
    }

    /// Bytes of all definitions together.
    pub fn memory_bytes(&self) -> u64 {
        size::total(&self.sizes)
    }

    /// Name and bytes of each definition, sorted by name; for sessions under rules.
    pub fn sizes(&self) -> &[(Rc<str>, u64)] {
        &self.sizes
    }
}

/// The sizes of a history with a result of `bytes` in front.
pub(super) fn history_with([first, second, _]: [u64; 3], bytes: u64) -> [u64; 3] {
    [bytes, first, second]
}

/// The last commit of a session, readable also while a program runs on it.
pub(in super::super) struct Committed {
    pub(super) bindings: Vec<(Rc<str>, Binding)>,
    pub(super) history: [Value; 3],
    pub(super) sizes: Vec<(Rc<str>, u64)>,
}

impl Committed {
    /// Looks at it.
    pub(in super::super) fn view<R>(&self, look: impl FnOnce(&SessionView<'_>) -> R) -> R {
        let bindings = self.bindings.iter().map(|(name, binding)| (&**name, binding)).collect();
        look(&SessionView { bindings, history: &self.history, sizes: &self.sizes })
    }
}

/// A view of a session's content.
pub struct SessionView<'s> {
    /// Names and their bindings, sorted by name.
    pub bindings: Vec<(&'s str, &'s Binding)>,
    /// The last three results, latest first.
    pub history: &'s [Value; 3],
    /// Name and bytes of each definition, sorted by name.
    pub sizes: &'s [(Rc<str>, u64)],
}
