//! Values that sessions keep from program to program, on the driver that owns them.

use super::request::SessionKey;
use ahash::AHashMap;
use ptc_vm::Value;
use ptc_vm::machine::Namespace;
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
}

impl SessionState {
    /// Puts a result in front of the history.
    pub fn remember(&mut self, value: Value) {
        let [first, second, _] = std::mem::take(&mut self.history);
        self.history = [value, first, second];
        self.turn += 1;
    }
}

/// The sessions of one driver.
#[derive(Default)]
pub struct SessionStore {
    sessions: RefCell<AHashMap<SessionKey, Rc<RefCell<Option<SessionState>>>>>,
}

impl SessionStore {
    /// The session of this key, made if there is none. Its state is absent while an eval runs on it.
    pub fn open(&self, key: &SessionKey) -> Rc<RefCell<Option<SessionState>>> {
        self.sessions
            .borrow_mut()
            .entry(key.clone())
            .or_insert_with(|| Rc::new(RefCell::new(Some(SessionState::default()))))
            .clone()
    }

    /// The session of this key.
    pub fn get(&self, key: &str) -> Option<Rc<RefCell<Option<SessionState>>>> {
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
