//! The prints and calls of a session's programs: the latest entries, bounded in number and size.

use std::collections::VecDeque;

use ptc_host::credentials::Redactor;
use ptc_host::engine::{CallRecord, CallStatus, measure_strings};
use ptc_mcp::json::object_text;

use ptc_protocol::settings::Sessions;

/// Entries of one kind. Older entries are dropped for newer ones.
#[derive(Clone, Default)]
pub(super) struct Log(VecDeque<Box<str>>);

impl Log {
    /// These entries, oldest first, which were within the limits when they were recorded.
    pub(super) fn of(entries: Vec<Box<str>>) -> Log {
        Log(entries.into())
    }

    /// Appends an entry and drops the oldest ones beyond the bounds.
    fn push(&mut self, entry: &str, max_entries: usize, max_bytes: u64) {
        self.0.push_back(entry.into());
        while self.0.len() > max_entries || self.bytes() > max_bytes && !self.0.is_empty() {
            self.0.pop_front();
        }
    }

    /// The entries, oldest first.
    pub(super) fn entries(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.iter().map(|entry| &**entry)
    }

    /// The number of entries.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Their size as a list.
    pub(super) fn bytes(&self) -> u64 {
        measure_strings(self.entries())
    }

    /// Drops all.
    pub(super) fn clear(&mut self) {
        self.0 = VecDeque::new();
    }
}

/// The journal of a session's committed programs, with secrets removed.
#[derive(Clone, Default)]
pub(super) struct Journal {
    /// Printed texts.
    pub(super) prints: Log,
    /// Calls as programs made them, as JSON objects.
    pub(super) tool_calls: Log,
    /// Calls as they reached upstreams, as JSON objects.
    pub(super) upstream_calls: Log,
}

impl Journal {
    /// Records the prints and calls of a program.
    pub(super) fn note(
        &mut self,
        prints: &[String],
        calls: &[CallRecord],
        limits: &Sessions,
        redactor: &Redactor,
    ) {
        for print in prints {
            self.prints.push(&redactor.scrub(print), limits.print_entries, limits.print_bytes);
        }
        for call in calls {
            let entry = call_entry(call, redactor);
            self.tool_calls.push(&entry, limits.tool_call_entries, limits.tool_call_bytes);
            self.upstream_calls.push(&entry, limits.upstream_call_entries, limits.upstream_call_bytes);
        }
    }
}

fn call_entry(call: &CallRecord, redactor: &Redactor) -> String {
    object_text(|object| {
        object.string("name", &redactor.scrub(&format!("{}.{}", call.server, call.tool)));
        // Scrubbed already; arguments that are too long are replaced by an empty object.
        object.raw("args", call.args.as_deref().unwrap_or("{}"));
        match call.status {
            CallStatus::Ok => object.string("status", "ok"),
            CallStatus::Error => {
                object.string("status", "error");
                let error = call.error.as_deref().or(call.reason.as_deref()).unwrap_or("upstream_error");
                object.string("error", &redactor.scrub(error));
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_entries_within_both_bounds_are_kept() {
        let mut log = Log::default();
        for n in 0..5 {
            log.push(&format!("line {n}"), 3, 1000);
        }
        assert_eq!(log.entries().collect::<Vec<_>>(), ["line 2", "line 3", "line 4"]);
        log.push("x", 3, 30);
        assert_eq!((log.entries().collect::<Vec<_>>(), log.bytes()), (vec!["line 4", "x"], 24));
        log.push(&"y".repeat(100), 3, 30);
        assert_eq!(log.len(), 0);
    }
}
