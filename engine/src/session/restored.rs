//! Sessions that were read, and are to be written.

use super::saved::{Restored, Values, drafted};
use super::state::Discarded;
use super::{SessionState, SessionView};
use crate::outcome::SessionDraft;
use ptc_base::memory::MemoryReservation;
use ptc_vm::meter::Reservation;

impl SessionState {
    pub(in super::super) fn restored(restored: Restored, version: u64) -> SessionState {
        SessionState {
            namespace: restored.namespace,
            history: restored.history,
            turn: restored.turn,
            journal: restored.journal,
            summaries: restored.summaries,
            sizes: restored.sizes,
            history_sizes: restored.history_sizes,
            journal_bytes: restored.journal_bytes,
            version,
            ..SessionState::default()
        }
    }

    /// The session as bytes, with the data that is saved besides values.
    pub(in super::super) fn save(&mut self, about: &[u8]) -> ptc_vm::Result<SessionDraft> {
        let [first, second, third] = &self.history;
        let values = Values {
            namespace: &self.namespace,
            history: [first, second, third],
            turn: self.turn,
            journal: &self.journal,
            summaries: &self.summaries,
            sizes: &self.sizes,
            history_sizes: self.history_sizes,
            journal_bytes: self.journal_bytes,
        };
        let draft = drafted(&values, self.reservation.as_ref())?;
        Ok(self.next_version(draft.finish(about)))
    }

    /// Discarded values, to be freed.
    pub(in super::super) fn take_discarded(&mut self) -> Discarded {
        std::mem::take(&mut self.discarded)
    }

    /// Looks at it.
    pub(in super::super) fn view<R>(&self, look: impl FnOnce(&SessionView<'_>) -> R) -> R {
        let bindings = self.namespace.bindings();
        let bindings = bindings.into_iter().map(|(name, binding)| (&**name, binding)).collect();
        look(&SessionView { bindings, history: &self.history, sizes: &self.sizes })
    }

    /// The same, with memory reserved for its content.
    pub(in super::super) fn reserving(mut self, held: MemoryReservation) -> ptc_vm::Result<SessionState> {
        let bytes = self.memory_bytes().saturating_add(self.history_sizes.iter().sum());
        if !held.resize(bytes.saturating_add(self.journal_bytes)) {
            return Err(held.refusal());
        }
        self.reservation = Some(held);
        Ok(self)
    }
}
