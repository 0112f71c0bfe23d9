//! State shared by all fibers of a machine.

use super::called_program::ProgramChecks;
use super::host_call::UpstreamCall;
use super::namespace::{Binding, Namespace};
use super::program_catalog::ProgramCatalogSource;
use crate::meter;
use crate::value::{Layouts, Map, Str, Value, identical};
use ahash::AHashSet;
use std::rc::Rc;

/// The program's surroundings.
pub(crate) struct Env {
    /// Definitions.
    pub(crate) namespace: Namespace,
    /// Bindings to restore in the namespace if the program fails, oldest first.
    pub(crate) undo: Vec<(u32, Option<Binding>)>,
    /// The granted context of `data/`: a map, or `nil`.
    pub(crate) context: Value,
    /// Whether a missing context key is an error.
    pub(crate) strict_data: bool,
    /// Results of the last programs, latest first.
    pub(crate) history: [Value; 3],
    /// The value of `budget/remaining`.
    pub(crate) budget: Value,
    /// Stored values of `task`, if the host keeps a journal.
    pub(crate) journal: Option<Map>,
    /// The notes of `step-done`.
    pub(crate) summaries: Vec<(Str, Value)>,
    /// Bytes that may be attached to the reply in all.
    pub(crate) max_attached_bytes: u64,
    /// Registered tools of `(tool/NAME …)`.
    pub(crate) tools: Vec<Rc<str>>,
    /// Whether `tool/call` and upstream discovery exist.
    pub(crate) upstreams: bool,
    /// Most bytes that one call sends to the host.
    pub(crate) max_request_bytes: usize,
    /// Keys of the map literals that were evaluated last.
    pub(crate) layouts: Layouts,
    /// Whether the program has called a kept one: only then there may be frames of such calls.
    pub(crate) calls_programs: bool,
    /// What checks the arguments and values of kept programs that are called, if the host does.
    pub(crate) program_checks: Option<Rc<dyn ProgramChecks>>,
    /// The kept programs that discovery shows, if the host serves any.
    pub(crate) program_catalog: Option<Rc<ProgramCatalogSource>>,
    /// When the program started, in milliseconds since 1970-01-01T00:00:00Z: the one time that it sees.
    pub(crate) started_at: i64,
    /// The call that `(tool/call)` without arguments makes, until it is made.
    pub(crate) prepared_call: Option<Box<UpstreamCall>>,
}

impl Env {
    /// Names whose value differs from the one before the program, sorted.
    pub(crate) fn changed(&self) -> Vec<Rc<str>> {
        if self.undo.is_empty() {
            return Vec::new();
        }
        let mut seen = AHashSet::new();
        let mut names: Vec<Rc<str>> = Vec::new();
        for (slot, before) in &self.undo {
            // The first entry of a slot holds what was there before the program.
            if seen.insert(*slot) {
                let same = match (before, self.namespace.value(*slot)) {
                    (Some(before), Some(now)) => identical(&before.value, now) && !meter::exhausted(),
                    (before, now) => before.is_none() && now.is_none(),
                };
                if !same {
                    names.push(self.namespace.name(*slot).clone());
                }
            }
        }
        names.sort_unstable();
        names
    }

    /// Undoes all definitions since the start, and forgets names that came in since there were `slots`.
    pub(crate) fn roll_back(&mut self, slots: usize) {
        while let Some((slot, binding)) = self.undo.pop() {
            self.namespace.set(slot, binding);
        }
        self.namespace.truncate(slots);
    }
}
