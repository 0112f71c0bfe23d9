//! `lisp_debug`: what happened to the caller's own calls. Reads the memory of the process and changes nothing.

mod arguments;
mod definition;
mod size;
mod stats;

use std::sync::Arc;

use jiff::Timestamp;

use super::{CallContext, Definition, Prepared, Tool, ToolReply};
use crate::insight::{Record, Ring};
use crate::options::settings::PayloadPolicy;
use crate::protocol::json::{Object, Raw, object_text, write_array};
use arguments::{Ask, Filter};
use size::Room;

/// The name of the tool.
pub const NAME: &str = "lisp_debug";

/// The tool.
pub struct LispDebug {
    ring: Arc<Ring>,
    policy: PayloadPolicy,
    max_response_bytes: usize,
    traces: bool,
}

impl LispDebug {
    /// Tells of the calls in `ring`, in responses of at most `max_response_bytes`.
    pub fn new(ring: Arc<Ring>, policy: PayloadPolicy, max_response_bytes: usize, traces: bool) -> Self {
        LispDebug { ring, policy, max_response_bytes, traces }
    }

    fn answer(&self, arguments: Option<Raw<'_>>, context: &CallContext) -> Result<ToolReply, String> {
        let ask = arguments::read(arguments)?;
        let room = Room::of(context, self.max_response_bytes);
        let own = self.ring.of(&context.owner.principal);
        let structured = match ask {
            Ask::Stats(filter) => self.stats(&own, filter, &room),
            Ask::Recent { filter, limit } => self.recent(&own, filter, limit, &room),
            Ask::Get { id } => self.get(&own, &id, &room),
        };
        Ok(ToolReply::mirrored(false, structured))
    }

    /// The members that all answers begin with.
    fn write_head(&self, object: &mut Object<'_>, op: &str) {
        object.string("op", op);
        object.string("payload_policy", policy_name(self.policy));
        object.boolean("redaction_applied", true);
    }

    fn stats(&self, own: &[Arc<Record>], filter: Filter, room: &Room) -> String {
        let window = select(own, filter);
        let mut parts = stats::Parts::of(&window);
        loop {
            let text = object_text(|object| {
                self.write_head(object, "stats");
                object.string("debug_source", "ring_buffer");
                object.integer("ring_size", self.ring.capacity() as u64);
                object.integer("ring_count", own.len() as u64);
                object.boolean("trace_dir_enabled", self.traces);
                parts.write(object);
            });
            if room.holds(&text) || !parts.shrink() {
                return text;
            }
        }
    }

    fn recent(&self, own: &[Arc<Record>], filter: Filter, limit: usize, room: &Room) -> String {
        let calls: Vec<String> =
            select(own, filter).into_iter().take(limit).map(|record| record.brief_json()).collect();
        let text = |calls: &[String], truncated: bool| {
            object_text(|object| {
                self.write_head(object, "recent");
                object.integer("count", calls.len() as u64);
                if truncated {
                    object.boolean("truncated", true);
                }
                write_array(object.key("calls"), calls, |out, call| out.extend_from_slice(call.as_bytes()));
            })
        };
        let fitting = room.fitting(&text(&[], true), &calls);
        let whole = text(&calls, false);
        if room.holds(&whole) { whole } else { text(&calls[..fitting], true) }
    }

    fn get(&self, own: &[Arc<Record>], id: &str, room: &Room) -> String {
        let record = own.iter().find(|record| record.is(id));
        let text = |record: Option<&str>, found: bool| {
            object_text(|object| {
                self.write_head(object, "get");
                object.string("request_id", id);
                object.boolean("found", found);
                object.string("source", "ring_buffer");
                match record {
                    Some(record) => object.raw("record", record),
                    None if found => {
                        object.boolean("truncated", true);
                        object.string("note", TOO_BIG);
                    }
                    None => {}
                }
            })
        };
        let json = record.map(|record| record.full_json());
        let whole = text(json.as_deref(), json.is_some());
        if room.holds(&whole) { whole } else { text(None, json.is_some()) }
    }
}

const TOO_BIG: &str = "the record exceeds --max-debug-response-bytes; start the server with --trace-dir to read such \
    records from trace files";

impl Tool for LispDebug {
    fn definition(&self) -> Definition {
        definition::definition()
    }

    fn prepare(&self, arguments: Option<Raw<'_>>, context: &CallContext) -> Prepared {
        Prepared::Done(
            self.answer(arguments, context)
                .unwrap_or_else(|message| ToolReply::failure("args_error", &message, &message)),
        )
    }

    fn is_observed(&self) -> bool {
        false
    }
}

/// The name of a policy on the command line and in answers.
fn policy_name(policy: PayloadPolicy) -> &'static str {
    match policy {
        PayloadPolicy::None => "none",
        PayloadPolicy::Summary => "summary",
        PayloadPolicy::Full => "full",
    }
}

/// The records that a filter admits, the newest first.
fn select(own: &[Arc<Record>], filter: Filter) -> Vec<&Record> {
    let since = filter.since.and_then(|since| Timestamp::now().checked_sub(since).ok());
    own.iter()
        .map(|record| &**record)
        .filter(|record| since.is_none_or(|since| record.at >= since))
        .filter(|record| !filter.errors_only || record.is_error)
        .collect()
}
