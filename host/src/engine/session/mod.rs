//! Values that sessions keep from program to program, on the driver that owns them.
//!
//! A [`SessionStore`] holds the places of one driver. While a program runs, its session's state is with the program
//! and the place keeps what was committed last, so that others can still look at it. With [`SessionRules`] a result
//! is stored only if it keeps within [`SessionLimits`]; otherwise the session is left as it was.

mod commit;
mod rules;
mod size;

pub use rules::{Changed, Exceeded, HistoryNotice, SessionLimits, SessionReport, SessionRules};
pub use size::{measure, measure_binding, measure_history, measure_strings};

pub(super) use commit::Lease;

use super::request::SessionKey;
use crate::memory::Loan;
use ahash::AHashMap;
use ptc_vm::Value;
use ptc_vm::machine::{Binding, Namespace};
use ptc_vm::value::{Map, Str};
use std::cell::RefCell;
use std::rc::Rc;

/// What a session's programs share.
#[derive(Default)]
pub struct SessionState {
    /// Definitions.
    pub namespace: Namespace,
    /// The last three results, latest first.
    pub history: [Value; 3],
    /// Programs that succeeded.
    pub turn: u64,
    /// Values that `task` stored by id, for sessions whose rules keep a journal. Kept whatever a program ends with.
    pub journal: Map,
    /// What `step-done` noted, under the same condition: id and summary, in order.
    pub summaries: Vec<(Str, Value)>,
    /// Bytes of each binding by the table of [`measure`], sorted by name. Kept for sessions under rules only.
    sizes: Vec<(Rc<str>, u64)>,
    /// Bytes of each remembered result by the same table, latest first; 0 where there is none. Under the same condition.
    history_sizes: [u64; 3],
    /// Bytes of the journal and the summaries by the same table; kept for sessions under rules within a budget.
    journal_bytes: u64,
    /// What definitions, remembered results and the journal have taken of the process's memory; kept for sessions under
    /// rules within a budget.
    loan: Option<Loan>,
}

impl SessionState {
    /// Puts a result of `bytes` in front of the history.
    fn remember(&mut self, value: Value, bytes: u64) {
        self.history.rotate_right(1);
        self.history[0] = value;
        self.history_sizes = history_with(self.history_sizes, bytes);
        self.turn += 1;
    }

    /// Removes a definition; whether there was one.
    pub fn forget(&mut self, name: &str) -> bool {
        let was = self.namespace.defines(name);
        self.namespace.forget(name);
        self.sizes.retain(|(known, _)| &**known != name);
        self.settle();
        was
    }

    /// Removes all definitions.
    pub fn forget_all(&mut self) {
        self.namespace = Namespace::new();
        self.sizes = Vec::new();
        self.settle();
    }

    /// Gives back what forgotten definitions and results had taken.
    fn settle(&self) {
        let bytes = self.memory_bytes() + self.history_sizes.iter().sum::<u64>() + self.journal_bytes;
        if let Some(loan) = self.loan.as_ref().filter(|loan| loan.bytes() > bytes) {
            let _ = loan.resize(bytes);
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
fn history_with([first, second, _]: [u64; 3], bytes: u64) -> [u64; 3] {
    [bytes, first, second]
}

/// What a session last committed: readable also while a program runs on it.
struct Committed {
    bindings: Vec<(Rc<str>, Binding)>,
    history: [Value; 3],
    sizes: Vec<(Rc<str>, u64)>,
}

/// A view of what a session holds.
pub struct SessionView<'s> {
    /// Names and what they stand for, sorted by name.
    pub bindings: Vec<(&'s str, &'s Binding)>,
    /// The last three results, latest first.
    pub history: &'s [Value; 3],
    /// Name and bytes of each definition, sorted by name.
    pub sizes: &'s [(Rc<str>, u64)],
}

/// Where a session's state rests between programs.
#[derive(Default)]
pub struct SessionPlace {
    /// Absent while an eval runs.
    state: Option<SessionState>,
    /// Present while an eval under rules runs.
    committed: Option<Rc<Committed>>,
}

impl SessionPlace {
    fn fresh() -> SessionPlace {
        SessionPlace { state: Some(SessionState::default()), committed: None }
    }

    /// Looks at what was committed last; `None` while an eval without rules runs.
    pub fn view<R>(&self, look: impl FnOnce(&SessionView<'_>) -> R) -> Option<R> {
        if let Some(state) = &self.state {
            let bindings =
                state.namespace.bindings().into_iter().map(|(name, binding)| (&**name, binding)).collect();
            return Some(look(&SessionView { bindings, history: &state.history, sizes: &state.sizes }));
        }
        let committed = self.committed.as_ref()?;
        let bindings = committed.bindings.iter().map(|(name, binding)| (&**name, binding)).collect();
        Some(look(&SessionView { bindings, history: &committed.history, sizes: &committed.sizes }))
    }

    /// Whether no eval runs.
    pub fn is_idle(&self) -> bool {
        self.state.is_some()
    }

    /// The state; `None` while an eval runs.
    pub fn state(&self) -> Option<&SessionState> {
        self.state.as_ref()
    }

    /// The state, to be changed; `None` while an eval runs.
    pub fn state_mut(&mut self) -> Option<&mut SessionState> {
        self.state.as_mut()
    }
}

/// The sessions of one driver.
#[derive(Default)]
pub struct SessionStore {
    sessions: RefCell<AHashMap<SessionKey, Rc<RefCell<SessionPlace>>>>,
}

impl SessionStore {
    /// The session of this key, made if there is none.
    pub fn open(&self, key: &SessionKey) -> Rc<RefCell<SessionPlace>> {
        self.sessions
            .borrow_mut()
            .entry(key.clone())
            .or_insert_with(|| Rc::new(RefCell::new(SessionPlace::fresh())))
            .clone()
    }

    /// The session of this key.
    pub fn get(&self, key: &str) -> Option<Rc<RefCell<SessionPlace>>> {
        self.sessions.borrow().get(key).cloned()
    }

    /// Drops a session and everything it holds; whether there was one.
    pub fn close(&self, key: &str) -> bool {
        self.sessions.borrow_mut().remove(key).is_some()
    }

    /// How many sessions there are.
    pub fn len(&self) -> usize {
        self.sessions.borrow().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
