//! `lisp_debug`: reports on the caller's own calls. It reads the memory of the process and changes nothing.

mod arguments;
mod definition;
mod get;
mod head;
mod size;
mod stats;

pub use head::NAME;
use head::write_head;
use std::sync::Arc;

use futures_util::FutureExt;
use ptc_mcp::json::{Raw, object_text, write_array};

use arguments::{DebugQuery, Filter};
use get::Get;
use ptc_observers::recent::{RecentCall, Ring};
use ptc_observers::recording::Recording;
use ptc_observers::trace::Traces;
use ptc_protocol::timestamp;
use ptc_protocol::tool::{CallContext, Definition, Preparation, Tool, ToolReply};
use size::ResponseBudget;

/// The tool.
pub struct LispDebug {
    ring: Arc<Ring>,
    recording: Recording,
    max_response_bytes: usize,
    traces: Option<Arc<Traces>>,
}

impl LispDebug {
    /// Reports on the calls in `ring` and, if there are `traces`, on their files, in responses of at most
    /// `max_response_bytes`.
    pub fn new(
        ring: Arc<Ring>,
        recording: Recording,
        max_response_bytes: usize,
        traces: Option<Arc<Traces>>,
    ) -> Self {
        LispDebug { ring, recording, max_response_bytes, traces }
    }

    fn answer(&self, arguments: Option<Raw<'_>>, context: &CallContext) -> Result<Preparation, String> {
        let ask = arguments::read(arguments)?;
        let room = ResponseBudget::of(context, self.max_response_bytes);
        let own = self.ring.of(&context.owner.principal);
        let structured = match ask {
            DebugQuery::Stats(filter) => self.stats(&own, filter, &room),
            DebugQuery::Recent { filter, limit } => self.recent(&own, filter, limit, &room),
            DebugQuery::Get { id } => {
                let get = Get { record: own.into_iter().find(|record| record.is(&id)), id, room };
                let recording = self.recording.clone();
                match &self.traces {
                    None => get.answer(&recording, None),
                    Some(traces) => {
                        let (traces, owner_hash) =
                            (traces.clone(), context.owner.principal.hash().to_owned());
                        let max_bytes = self.max_response_bytes;
                        return Ok(Preparation::Free(
                            async move {
                                let found = traces.find(&get.id, owner_hash, max_bytes).await;
                                ToolReply::mirrored(false, get.answer(&recording, found))
                            }
                            .boxed(),
                        ));
                    }
                }
            }
        };
        Ok(Preparation::Done(ToolReply::mirrored(false, structured)))
    }

    fn stats(&self, own: &[Arc<RecentCall>], filter: Filter, room: &ResponseBudget) -> String {
        let window = select(own, filter);
        let mut parts = stats::ShownTotals::of(&window);
        loop {
            let text = object_text(|object| {
                write_head(object, "stats", self.recording.policy);
                object.string("debug_source", "ring_buffer");
                object.integer("ring_size", self.ring.capacity() as u64);
                object.integer("ring_count", own.len() as u64);
                object.boolean("trace_dir_enabled", self.traces.is_some());
                parts.write(object);
            });
            if room.holds(&text) || !parts.shrink() {
                return text;
            }
        }
    }

    fn recent(&self, own: &[Arc<RecentCall>], filter: Filter, limit: usize, room: &ResponseBudget) -> String {
        let calls: Vec<String> =
            select(own, filter).into_iter().take(limit).map(|record| record.brief_json()).collect();
        let text = |calls: &[String], truncated: bool| {
            object_text(|object| {
                write_head(object, "recent", self.recording.policy);
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
}

impl Tool for LispDebug {
    fn definition(&self) -> Definition {
        definition::definition()
    }

    fn prepare(&self, arguments: Option<Raw<'_>>, context: &CallContext) -> Preparation {
        self.answer(arguments, context)
            .unwrap_or_else(|message| Preparation::Done(ToolReply::failure("args_error", &message, &message)))
    }

    fn is_observed(&self) -> bool {
        false
    }
}

/// The records that pass a filter, the newest first.
fn select(own: &[Arc<RecentCall>], filter: Filter) -> Vec<&RecentCall> {
    let since = filter.since.and_then(|since| timestamp::now().checked_sub(since).ok());
    own.iter()
        .map(|record| &**record)
        .filter(|record| since.is_none_or(|since| record.at >= since))
        .filter(|record| !filter.errors_only || record.is_error)
        .collect()
}
