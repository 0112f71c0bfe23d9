//! What all fibers of a machine share.

use super::namespace::{Binding, Namespace};
use crate::value::{Map, Str, Value};
use std::rc::Rc;

/// The program's surroundings.
pub(crate) struct Env {
    /// Definitions.
    pub(crate) namespace: Namespace,
    /// What to put back into the namespace if the program fails, oldest first.
    pub(crate) undo: Vec<(u32, Option<Binding>)>,
    /// The granted context behind `data/`: a map, or `nil`.
    pub(crate) context: Value,
    /// Whether a missing context key is an error.
    pub(crate) strict_data: bool,
    /// Results of the last programs, latest first.
    pub(crate) history: [Value; 3],
    /// What `budget/remaining` gives.
    pub(crate) budget: Value,
    /// Stored values of `task`, if the host keeps a journal.
    pub(crate) journal: Option<Map>,
    /// What `step-done` recorded.
    pub(crate) summaries: Vec<(Str, Value)>,
    /// Registered tools of `(tool/NAME …)`.
    pub(crate) tools: Vec<Rc<str>>,
    /// Whether `tool/call` and upstream discovery exist.
    pub(crate) upstreams: bool,
    /// Milliseconds since the epoch.
    pub(crate) clock: fn() -> i64,
}

impl Env {
    /// Undoes all definitions since the start, and forgets names that came in since there were `slots`.
    pub(crate) fn roll_back(&mut self, slots: usize) {
        while let Some((slot, binding)) = self.undo.pop() {
            self.namespace.set(slot, binding);
        }
        self.namespace.truncate(slots);
    }
}
