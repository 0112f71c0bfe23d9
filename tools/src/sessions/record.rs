//! The directory's record of a session, without its values.

use jiff::Timestamp;
use ptc_host::credentials::Redactor;
use ptc_host::engine::{CallRecord, SessionReport};
use ptc_mcp::json::{Object, object_text};

use super::environment::Environment;
use super::journal::Journal;
use ptc_observers::sources::SessionSummaries;
use ptc_protocol::principal::{Owner, Principal};
use ptc_protocol::timestamp::instant;

/// A session without its values.
#[derive(Clone)]
pub(super) struct Record {
    pub(super) owner: Owner,
    pub(super) title: Option<Box<str>>,
    pub(super) created: Timestamp,
    /// The time of the last use.
    pub(super) updated: Timestamp,
    /// The latest possible end.
    pub(super) expires: Timestamp,
    /// The number of committed programs.
    pub(super) turn: u64,
    pub(super) memory_bytes: u64,
    pub(super) binding_count: usize,
    pub(super) journal: Journal,
}

/// Maximum number of sessions that the console lists.
const MAX_LISTED: usize = 200;
/// The size of an empty set of bindings.
pub(super) const EMPTY_BYTES: u64 = 6;

impl Record {
    pub(super) fn new(owner: Owner, title: Option<String>, now: Timestamp, expires: Timestamp) -> Self {
        Record {
            owner,
            title: title.map(String::into_boxed_str),
            created: now,
            updated: now,
            expires,
            turn: 0,
            memory_bytes: EMPTY_BYTES,
            binding_count: 0,
            journal: Journal::default(),
        }
    }

    /// Records the outcome of a committed program.
    pub(super) fn committed(
        &mut self,
        report: &SessionReport,
        prints: &[String],
        calls: &[CallRecord],
        env: &Environment,
    ) {
        self.turn += 1;
        self.memory_bytes = report.memory_bytes;
        self.binding_count = report.stored.len();
        self.updated = env.now();
        self.journal.note(prints, calls, &env.settings, &env.redactor_of(&self.owner));
    }

    /// The session in the answer to its program, which has ended.
    pub(super) fn describe(&self, id: &str, redactor: &Redactor) -> Description {
        let brief = object_text(|object| {
            object.string("session_id", id);
            object.integer("turn", self.turn);
            object.integer("memory_bytes", self.memory_bytes);
            object.integer("binding_count", self.binding_count as u64);
        });
        Description { brief, summary: self.summary(id, redactor, false) }
    }

    /// A summary without the values, and whether a program runs on the session.
    pub(super) fn summary(&self, id: &str, redactor: &Redactor, running: bool) -> String {
        object_text(|object| self.write_summary(object, id, redactor, running))
    }

    /// The same, with whose it is.
    pub(super) fn summary_with_owner(&self, id: &str, redactor: &Redactor, running: bool) -> String {
        object_text(|object| {
            object.string("principal", self.owner.principal.name());
            self.write_summary(object, id, redactor, running);
        })
    }

    fn write_summary(&self, object: &mut Object<'_>, id: &str, redactor: &Redactor, running: bool) {
        let redactor = redactor.for_principal(Some(self.owner.principal.name()));
        object.string("session_id", id);
        match &self.title {
            Some(title) => object.string("title", &redactor.scrub(title)),
            None => object.raw("title", "null"),
        }
        object.integer("turn", self.turn);
        object.string("created_at", &instant(self.created));
        object.string("updated_at", &instant(self.updated));
        object.string("expires_at", &instant(self.expires));
        object.string("eval_status", if running { "running" } else { "idle" });
        object.integer("memory_bytes", self.memory_bytes);
        object.integer("binding_count", self.binding_count as u64);
    }

    /// True if it belongs to this principal, if one is given.
    pub(super) fn is_of(&self, principal: Option<&Principal>) -> bool {
        principal.is_none_or(|principal| self.owner.principal == *principal)
    }

    /// The `usage` object. The history is stored with the values.
    pub(super) fn usage(&self, history_count: usize, history_bytes: u64) -> String {
        let journal = &self.journal;
        object_text(|object| {
            object.integer("memory_bytes", self.memory_bytes);
            object.integer("binding_count", self.binding_count as u64);
            object.integer("history_count", history_count as u64);
            object.integer("history_bytes", history_bytes);
            let logs = [
                ("print_entries", "print_bytes", &journal.prints),
                ("tool_call_entries", "tool_call_bytes", &journal.tool_calls),
                ("upstream_call_entries", "upstream_call_bytes", &journal.upstream_calls),
            ];
            for (entries, bytes, log) in logs {
                object.integer(entries, log.len() as u64);
                object.integer(bytes, log.bytes());
            }
        })
    }
}

/// An open session as the console lists it: its id, its record, and whether a program runs on it.
pub(super) type ListedSession<'s> = (&'s str, &'s Record, bool);

/// Summaries of the sessions that were used last, by one pass over all that are open: only those that are listed become text.
pub(super) fn latest_summaries<'s>(
    open: impl Iterator<Item = ListedSession<'s>>,
    redactor: &Redactor,
) -> SessionSummaries {
    let mut open: Vec<ListedSession<'s>> = open.collect();
    let count = open.len();
    let by_time = |session: &ListedSession<'s>| std::cmp::Reverse(session.1.updated);
    if count > MAX_LISTED {
        open.select_nth_unstable_by_key(MAX_LISTED, by_time);
        open.truncate(MAX_LISTED);
    }
    open.sort_by_key(by_time);
    let latest = open.iter().map(|(id, record, running)| record.summary_with_owner(id, redactor, *running));
    SessionSummaries { count, latest: latest.collect() }
}

/// The `session` object of an answer to a program.
pub(super) struct Description {
    /// After a success.
    pub(super) brief: String,
    /// After a failure.
    pub(super) summary: String,
}

impl Description {
    /// A session that was closed in the meantime.
    pub(super) fn of_closed(id: &str) -> Description {
        let id = object_text(|object| object.string("session_id", id));
        Description { brief: id.clone(), summary: id }
    }
}

/// Returns the text of a `status: ok` answer, with the members that `write` adds.
pub(super) fn ok(write: impl FnOnce(&mut Object<'_>)) -> String {
    object_text(|object| {
        object.string("status", "ok");
        write(object);
    })
}
