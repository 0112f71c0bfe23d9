//! Exclusive access of a program to its session's state: taken at the start, then committed or rolled back.

use super::place::SessionPlace;
use super::rules::{SessionLimits, SessionRules};
#[cfg(feature = "saved-sessions")]
use super::saved::{Values, drafted};
use super::size::{measure, measure_binding, total};
use super::state::{Committed, SessionState, history_with};
use crate::outcome::{CallRecord, Changed, Exceeded, Failure, HistoryNotice, SessionReport};
use ptc_base::memory::{MemoryBudget, MemoryReservation};
use ptc_vm::builtins::library;
use ptc_vm::machine::Namespace;
use ptc_vm::meter::Reservation;
use ptc_vm::print::{Budget, Preview, preview, render_capped};
use ptc_vm::value::{Map, Str};
use ptc_vm::{Reason, Value};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// How a value is shown beside its name.
const SHOWN: Preview = Preview { items: 10, characters: Some(120), counts: true };
/// The form of the marker that replaces an oversized result.
const MARKER: Preview = Preview { items: 10, characters: Some(200), counts: true };
/// How far above a limit sizes are still measured exactly.
const EXACT: u64 = 4;

/// A session's state while one program has it to itself.
pub(in super::super) struct SessionLock {
    place: Rc<RefCell<SessionPlace>>,
    /// All but the namespace, which the program has: an empty one stands here.
    state: SessionState,
    /// The process had no memory for the program's journal.
    journal_refused: bool,
    rules: Option<Arc<dyn SessionRules>>,
    committed: Option<Rc<Committed>>,
}

impl SessionLock {
    /// Takes a session's state; `None` while another program has it.
    pub(in super::super) fn take(
        place: Rc<RefCell<SessionPlace>>,
        rules: Option<Arc<dyn SessionRules>>,
        memory: Option<&MemoryBudget>,
    ) -> Option<(SessionLock, Namespace)> {
        let mut state = place.borrow_mut().state.take()?;
        let namespace = std::mem::replace(&mut state.namespace, Namespace::new(library()));
        let committed = rules.is_some().then(|| {
            let bindings = namespace
                .bindings()
                .into_iter()
                .map(|(name, binding)| (name.clone(), binding.clone()))
                .collect();
            Rc::new(Committed { bindings, history: state.history.clone(), sizes: state.sizes.clone() })
        });
        let before = std::mem::replace(&mut place.borrow_mut().committed, committed.clone());
        drop(before);
        let reservation = state.reservation.take().or_else(|| memory.cloned().map(MemoryReservation::new));
        state.reservation = reservation.filter(|_| rules.is_some());
        Some((SessionLock { place, state, journal_refused: false, rules, committed }, namespace))
    }

    /// The last three results, latest first.
    pub(in super::super) fn history(&self) -> [Value; 3] {
        self.state.history.clone()
    }

    /// The journal that a program works with, if the session keeps one.
    pub(in super::super) fn journal(&self) -> Option<Map> {
        self.rules.as_ref().is_some_and(|rules| rules.keeps_journal()).then(|| self.state.journal.clone())
    }

    /// Takes over a program's journal, however it ended. If the process has no memory for it, the journal stays as it was, and
    /// the program fails.
    pub(in super::super) fn note(&mut self, journal: Option<Map>, summaries: Vec<(Str, Value)>) {
        let Some(journal) = journal else { return };
        if let (Some(reservation), Some(rules)) = (&self.state.reservation, &self.rules) {
            let cap = rules.limits().memory_bytes.saturating_mul(EXACT);
            let noted = self.state.summaries.iter().chain(&summaries);
            let noted = noted.map(|(id, text)| id.as_str().len() as u64 + measure(text, cap));
            let bytes = measure(&Value::Map(journal.clone()), cap) + noted.sum::<u64>();
            if !reservation
                .resize(reservation.bytes().saturating_sub(self.state.journal_bytes).saturating_add(bytes))
            {
                self.journal_refused = true;
                return;
            }
            self.state.journal_bytes = bytes;
        }
        self.state.journal = journal;
        self.state.summaries.extend(summaries);
    }

    /// Whether the value of a program goes into the history; `returned` says that `(return v)` gave it.
    pub(in super::super) fn remembers(&self, returned: bool) -> bool {
        !returned || self.rules.as_ref().is_none_or(|rules| rules.remembers_returned())
    }

    /// Whether the definitions of a program that ended with `(fail v)` stay.
    pub(in super::super) fn keeps_after_fail(&self) -> bool {
        self.rules.as_ref().is_some_and(|rules| rules.keeps_after_fail())
    }

    /// Restores the session's former state.
    pub(in super::super) fn roll_back(self, namespace: Namespace) {
        self.give_back(namespace, None);
    }

    /// Stores a program's results, if the rules allow it: its definitions, and its value unless there is none. Without rules
    /// everything is stored and there is nothing to report.
    pub(in super::super) fn commit(
        mut self,
        namespace: Namespace,
        changed: &[Rc<str>],
        value: Option<Value>,
        prints: &[String],
        calls: &[CallRecord],
    ) -> Result<Option<Box<SessionReport>>, Box<(Failure, SessionReport)>> {
        let Some(rules) = self.rules.clone() else {
            self.give_back(namespace, value.map(|value| (value, 0)));
            return Ok(None);
        };
        let limits = rules.limits();
        let sizes = self.new_sizes(&namespace, changed, &limits);
        let exceeded = exceeded(&sizes, &limits);
        let (value, notice) = match value {
            None => (None, None),
            Some(value) => {
                let (value, bytes, notice) = remembered(value, limits.history_entry_bytes, &*rules);
                (Some((value, bytes)), notice)
            }
        };
        let history = value
            .as_ref()
            .map_or(self.state.history_sizes, |(_, b)| history_with(self.state.history_sizes, *b));
        let mut report = SessionReport {
            changed: changed
                .iter()
                .filter_map(|name| {
                    namespace.get(name).map(|binding| changed_definition(name, &binding.value))
                })
                .collect(),
            stored: sizes.iter().map(|(name, _)| name.to_string()).collect(),
            memory_bytes: total(&sizes),
            notice,
            exceeded,
            saved: None,
            closed: false,
        };
        #[cfg(feature = "saved-sessions")]
        let draft = match self.draft(&namespace, &sizes, value.as_ref(), &mut report, &*rules) {
            Ok(draft) => draft,
            Err(error) => {
                let before = self.restored(namespace);
                self.give_back(before, None);
                return Err(Box::new((Failure::from(&error), report)));
            }
        };
        let held =
            report.memory_bytes.saturating_add(history.iter().sum()).saturating_add(self.state.journal_bytes);
        if report.exceeded.is_none() && (self.journal_refused || !self.reserve(held)) {
            let held = self.state.reservation.as_ref();
            let refusal = held.map_or_else(ptc_vm::Error::memory_budget, |held| held.refusal());
            let before = self.restored(namespace);
            self.give_back(before, None);
            let failure = Failure::from(&refusal);
            return Err(Box::new((failure, report)));
        }
        if report.exceeded.is_none() && rules.commit(&report, prints, calls) {
            self.state.sizes = sizes;
            #[cfg(feature = "saved-sessions")]
            if let Some(draft) = draft {
                report.saved = Some(self.state.next_version(draft.finish(&rules.about())));
            }
            self.give_back(namespace, value);
            return Ok(Some(Box::new(report)));
        }
        report.closed = report.exceeded.is_none();
        let text = match report.closed {
            true => "session is closed",
            false => "session persisted-state limit exceeded; eval was not committed",
        };
        let before = self.restored(namespace);
        self.give_back(before, None);
        Err(Box::new((Failure::new(Reason::MemoryExceeded, text), report)))
    }

    /// The session as bytes, as it will be after the commit, if it is to be saved. Texts that are too long are reported.
    #[cfg(feature = "saved-sessions")]
    fn draft(
        &self,
        namespace: &Namespace,
        sizes: &[(Rc<str>, u64)],
        value: Option<&(Value, u64)>,
        report: &mut SessionReport,
        rules: &dyn SessionRules,
    ) -> ptc_vm::Result<Option<super::saved::Draft>> {
        let Some(most) = rules.saves().filter(|_| report.exceeded.is_none()) else { return Ok(None) };
        let [first, second, third] = &self.state.history;
        let history = match value {
            Some((value, _)) => [value, first, second],
            None => [first, second, third],
        };
        let values = Values {
            namespace,
            history,
            turn: self.state.turn + u64::from(value.is_some()),
            journal: &self.state.journal,
            summaries: &self.state.summaries,
            sizes,
            history_sizes: value.map_or(self.state.history_sizes, |(_, bytes)| {
                history_with(self.state.history_sizes, *bytes)
            }),
            journal_bytes: self.state.journal_bytes,
        };
        let draft = drafted(&values, self.state.reservation.as_ref())?;
        report.exceeded = (draft.source_bytes > most).then_some(Exceeded {
            field: "source_bytes",
            limit: "max_session_source_bytes",
            actual: draft.source_bytes,
            max: most,
            name: None,
        });
        Ok(Some(draft))
    }

    /// Reserves process memory for definitions, history and journal, if there is enough.
    fn reserve(&self, bytes: u64) -> bool {
        self.state.reservation.as_ref().is_none_or(|reservation| reservation.resize(bytes))
    }

    /// Sizes after the program: known ones for names that did not change.
    fn new_sizes(
        &self,
        namespace: &Namespace,
        changed: &[Rc<str>],
        limits: &SessionLimits,
    ) -> Vec<(Rc<str>, u64)> {
        let cap = limits.memory_bytes.max(limits.binding_bytes).saturating_mul(EXACT);
        let known = |name: &Rc<str>| {
            let at = self.state.sizes.binary_search_by(|(known, _)| known.cmp(name)).ok()?;
            changed.binary_search(name).is_err().then(|| self.state.sizes[at].1)
        };
        namespace
            .bindings()
            .into_iter()
            .map(|(name, binding)| {
                (name.clone(), known(name).unwrap_or_else(|| measure_binding(binding, cap)))
            })
            .collect()
    }

    /// The namespace as it was before the program, which left it as `after`. Names keep their slots: functions that are kept
    /// know their definitions by them.
    fn restored(&mut self, mut after: Namespace) -> Namespace {
        let names: Vec<Rc<str>> = after.bindings().into_iter().map(|(name, _)| name.clone()).collect();
        // Freed later, in turns.
        let made: Vec<_> = names.iter().filter_map(|name| after.forget(name)).collect();
        self.state.discarded.push(Box::new(made));
        for (name, binding) in self.committed.iter().flat_map(|committed| &committed.bindings) {
            let slot = after.slot(name);
            after.set(slot, Some(binding.clone()));
        }
        after
    }

    fn give_back(self, namespace: Namespace, result: Option<(Value, u64)>) {
        let mut state = self.state;
        state.namespace = namespace;
        if let Some((value, bytes)) = result {
            state.remember(value, bytes);
        }
        state.release_surplus();
        let before = self.place.replace(SessionPlace { state: Some(state), committed: None });
        // Not borrowed meanwhile: what it freed may be large, and freeing pauses.
        drop(before);
    }
}

/// The definition `name`, with a preview of its value.
fn changed_definition(name: &str, value: &Value) -> Changed {
    let shown = preview(value, SHOWN);
    // A preview that left nothing out is the readable form.
    let whole = render_capped(value, shown.len(), Budget::default());
    let cut = whole.truncated.is_some() || whole.text != shown;
    Changed { name: name.to_owned(), preview: shown, cut }
}

/// The first limit that these bindings break.
fn exceeded(sizes: &[(Rc<str>, u64)], limits: &SessionLimits) -> Option<Exceeded> {
    let over = |field, limit, actual: u64, max: u64, name| {
        (actual > max).then_some(Exceeded { field, limit, actual, max, name })
    };
    over("bindings", "max_bindings", sizes.len() as u64, limits.bindings as u64, None)
        .or_else(|| over("memory_bytes", "max_memory_bytes", total(sizes), limits.memory_bytes, None))
        .or_else(|| {
            sizes.iter().find_map(|(name, bytes)| {
                let name = Some(name.to_string());
                over("binding_bytes", "max_binding_bytes", *bytes, limits.binding_bytes, name)
            })
        })
}

/// The form of a result in the history, and its bytes.
fn remembered(value: Value, max_bytes: u64, rules: &dyn SessionRules) -> (Value, u64, Option<HistoryNotice>) {
    let bytes = measure(&value, max_bytes.saturating_mul(EXACT));
    if bytes <= max_bytes {
        return (value, bytes, None);
    }
    let notice = Some(HistoryNotice { bytes, max_bytes });
    if let Some(value) = rules.shortened(&value, max_bytes) {
        let bytes = measure(&value, max_bytes.saturating_mul(EXACT));
        return (value, bytes, notice);
    }
    let number = |n: u64| Value::Int(i64::try_from(n).unwrap_or(i64::MAX));
    let entry = |name: &str, value: Value| (Value::keyword(name), value);
    let mut entries = vec![
        entry("lisp_session_preview", Value::True),
        entry("reason", Value::keyword("max_history_entry_bytes")),
        entry("bytes", number(bytes)),
        entry("max_bytes", number(max_bytes)),
        entry("preview", Value::str(preview(&value, MARKER))),
    ];
    // With a preview, without one, and at the least that there was something.
    let (mut marker, mut bytes) = (Value::Nil, 0);
    for kept in [5, 4, 1] {
        entries.truncate(kept);
        marker = Value::Map(Map::from_entries(entries.clone()));
        bytes = measure(&marker, max_bytes);
        if bytes <= max_bytes {
            break;
        }
    }
    (marker, bytes, notice)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Plain;

    impl SessionRules for Plain {
        fn limits(&self) -> SessionLimits {
            let most = u64::MAX;
            SessionLimits { bindings: 1, memory_bytes: most, binding_bytes: most, history_entry_bytes: 1 }
        }

        fn commit(&self, _: &SessionReport, _: &[String], _: &[CallRecord]) -> bool {
            true
        }
    }

    #[test]
    fn an_oversized_result_is_remembered_as_a_preview_that_fits() {
        assert_eq!(remembered(Value::Int(1), 100, &Plain).2, None);
        let long = Value::str("h".repeat(2048));
        for (max, keys) in [(1000, 5), (120, 4), (40, 1)] {
            let (marker, bytes, notice) = remembered(long.clone(), max, &Plain);
            assert_eq!(bytes, measure(&marker, u64::MAX), "{max}");
            assert_eq!(notice, Some(HistoryNotice { bytes: 2054, max_bytes: max }));
            let Value::Map(map) = &marker else { panic!("{marker:?}") };
            assert_eq!(map.len(), keys, "{max}");
        }
    }
}
