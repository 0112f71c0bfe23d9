//! The sessions of one worker, by key.

use super::state::{Committed, Discarded, SessionState, SessionView};
use ahash::AHashMap;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// Names a session within its engine.
pub type SessionKey = Arc<str>;

/// Where a session's state rests between programs.
#[derive(Default)]
pub struct SessionPlace {
    /// Absent while an eval runs.
    pub(super) state: Option<SessionState>,
    /// Present while an eval under rules runs.
    pub(super) committed: Option<Rc<Committed>>,
}

impl SessionPlace {
    fn fresh() -> SessionPlace {
        SessionPlace { state: Some(SessionState::default()), committed: None }
    }

    /// Views the state committed last; `None` while an eval without rules runs.
    pub fn view<R>(&self, look: impl FnOnce(&SessionView<'_>) -> R) -> Option<R> {
        if let Some(state) = &self.state {
            let bindings =
                state.namespace.bindings().into_iter().map(|(name, binding)| (&**name, binding)).collect();
            return Some(look(&SessionView { bindings, history: &state.history, sizes: &state.sizes }));
        }
        let committed = self.committed.as_ref()?;
        Some(committed.view(look))
    }

    /// A copy of its content, if it is of this version and no eval runs.
    #[cfg(feature = "saved-sessions")]
    pub(in super::super) fn copy_of(&self, version: u64) -> Option<Committed> {
        let state = self.state.as_ref().filter(|state| state.saved_version() == version)?;
        let bindings = state.namespace.bindings();
        let bindings = bindings.into_iter().map(|(name, binding)| (name.clone(), binding.clone())).collect();
        Some(Committed { bindings, history: state.history.clone(), sizes: state.sizes.clone() })
    }

    /// Whether no eval runs.
    pub fn is_idle(&self) -> bool {
        self.state.is_some()
    }

    /// The state; `None` while an eval runs.
    pub fn state(&self) -> Option<&SessionState> {
        self.state.as_ref()
    }

    /// Takes the state, as an eval does; `None` while one runs.
    #[cfg(feature = "saved-sessions")]
    pub(in super::super) fn take(&mut self) -> Option<SessionState> {
        self.state.take()
    }

    /// Gives the taken state back.
    #[cfg(feature = "saved-sessions")]
    pub(in super::super) fn give_back(&mut self, state: SessionState) {
        self.state = Some(state);
    }

    /// The state, mutably; `None` while an eval runs.
    pub fn state_mut(&mut self) -> Option<&mut SessionState> {
        self.state.as_mut()
    }
}

/// A place that its session's programs hold while they run.
#[cfg(feature = "saved-sessions")]
pub(in super::super) type SharedPlace = Rc<RefCell<SessionPlace>>;

/// The sessions of one worker.
#[derive(Default)]
pub struct SessionStore {
    sessions: RefCell<AHashMap<SessionKey, Rc<RefCell<SessionPlace>>>>,
    /// Sessions that were closed and are not freed yet.
    closed: RefCell<Discarded>,
}

impl SessionStore {
    /// The session of this key, created if it is missing.
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

    /// Makes `state` the session of this key. Returns its place, and the previous state, to be dropped where freeing may take
    /// its time.
    #[cfg(feature = "saved-sessions")]
    pub(in super::super) fn put(
        &self,
        key: &SessionKey,
        state: SessionState,
    ) -> (SharedPlace, Option<SharedPlace>) {
        let place = Rc::new(RefCell::new(SessionPlace { state: Some(state), committed: None }));
        let before = self.sessions.borrow_mut().insert(key.clone(), place.clone());
        (place, before)
    }

    /// Drops a session and everything it holds; whether there was one.
    pub fn close(&self, key: &str) -> bool {
        let removed = self.sessions.borrow_mut().remove(key);
        removed.map(|place| self.closed.borrow_mut().push(Box::new(place))).is_some()
    }

    /// Closed sessions, and the discarded values of session `key`, to be freed where others can have the thread meanwhile.
    pub(in super::super) fn take_discarded(&self, key: &str) -> Discarded {
        let mut discarded = self.closed.take();
        if let Some(place) = self.get(key)
            && let Some(state) = place.borrow_mut().state_mut()
        {
            discarded.append(&mut state.discarded);
        }
        discarded
    }

    /// How many sessions there are.
    pub fn len(&self) -> usize {
        self.sessions.borrow().len()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
