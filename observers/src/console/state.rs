//! The page's data as JSON.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use ptc_host::aggregator::Aggregator;
use ptc_host::engine::Engine;
use ptc_host::upstream::Phase;
use ptc_mcp::json::{Object, object_text, write_array};

use super::Console;
use crate::recent::{RecentCall, Ring};
use crate::sources::Sources;
use ptc_protocol::identity;
use ptc_protocol::principal::Principal;
use ptc_protocol::timestamp::{self, instant};

/// Recent calls that are shown.
const RECENT: usize = 50;

/// The listener's facts.
#[derive(Debug)]
pub struct Facts<'f> {
    /// Its label.
    pub instance: &'f str,
    /// True if it is draining.
    pub draining: bool,
    /// True if the viewer is an operator.
    pub operator: bool,
    /// True if the viewer sees what all callers use: an operator, and whoever is the only caller.
    pub sees_all: bool,
    /// Calls that may run at the same time.
    pub permits: usize,
    /// Calls that are running, of those that the viewer sees.
    pub permits_in_use: usize,
    /// Open HTTP sessions, of those that the viewer sees.
    pub http_sessions: usize,
    /// Time since it was bound.
    pub uptime: Duration,
}

/// Everything that changes over time, for one caller.
pub fn state(
    console: &Console,
    ring: &Ring,
    sources: &Sources,
    facts: &Facts<'_>,
    principal: &Principal,
) -> String {
    let now = timestamp::now();
    object_text(|object| {
        object.string("now", &instant(now));
        let mut server = Object::new(object.key("server"));
        server.string("version", identity::VERSION);
        server.string("instance", facts.instance);
        server.string("caller", principal.name());
        server.boolean("operator", facts.operator);
        server.integer("uptime_seconds", facts.uptime.as_secs());
        server.boolean("draining", facts.draining);
        server.integer("permits", facts.permits as u64);
        server.integer("permits_in_use", facts.permits_in_use as u64);
        server.integer("http_sessions", facts.http_sessions as u64);
        if let Some(memory) = sources.engine.as_ref().and_then(Engine::memory).filter(|_| facts.sees_all) {
            server.integer("memory_bytes", memory.used());
            server.integer("memory_limit_bytes", memory.limit());
        }
        server.end();
        console.live.lock().write(object, principal);
        console.timelines.lock().write(object, principal, now);
        match &sources.sessions {
            None => object.raw("sessions", "null"),
            Some(sessions) => {
                write_array(object.key("sessions"), sessions.summaries_of(principal), |out, summary| {
                    out.extend_from_slice(summary.as_bytes());
                });
                object.boolean("sessions_of_store", sessions.is_part());
            }
        }
        match &sources.upstreams {
            None => object.raw("upstreams", "null"),
            Some(upstreams) => write_upstreams(object, &upstreams.current(), principal),
        }
        let recent = ring.of(principal);
        object.integer("remembered", recent.len() as u64);
        write_array(object.key("recent"), recent.iter().take(RECENT), |out, record| {
            out.extend_from_slice(call(record).as_bytes());
        });
    })
}

/// A recent call with the data for its waterfall.
fn call(record: &RecentCall) -> String {
    object_text(|object| {
        object.string("request_id", &record.request_id);
        match record.eval_id {
            Some(eval_id) => object.string("eval_id", &eval_id.to_string()),
            None => object.raw("eval_id", "null"),
        }
        object.string("ts", &instant(record.at));
        object.string("tool", &record.tool);
        object.string("status", if record.is_error { "error" } else { "ok" });
        match &record.reason {
            Some(reason) => object.string("reason", reason),
            None => object.raw("reason", "null"),
        }
        object.integer("duration_ms", record.duration_ms);
        object.raw("program", record.program.as_deref().unwrap_or("null"));
        if let Some(usage) = &record.usage {
            object.integer("steps", usage.steps);
            object.integer("memory_peak_bytes", usage.memory_peak_bytes);
            object.integer("run_us", usage.duration.as_micros() as u64);
        }
        if let Some(bytes) = record.result_bytes {
            object.integer("result_bytes", bytes);
        }
        if let Some(metrics) = &record.metrics {
            object.integer("fetched_bytes", metrics.result_bytes);
            object.raw("ratio", &metrics.ratio_json());
        }
        write_array(object.key("upstream_calls"), &record.upstream_calls, |out, call| {
            let json = object_text(|object| {
                object.string("server", &call.server);
                object.string("tool", &call.tool);
                object.boolean("ok", call.ok);
                object.integer("offset_ms", call.offset_ms);
                object.integer("duration_ms", call.duration_ms);
                if let Some(reason) = &call.reason {
                    object.string("reason", reason);
                }
                if let Some(bytes) = call.result_bytes {
                    object.integer("result_bytes", bytes);
                }
            });
            out.extend_from_slice(json.as_bytes());
        });
    })
}

fn write_upstreams(object: &mut Object<'_>, upstreams: &Arc<Aggregator>, principal: &Principal) {
    let redactor = upstreams.redactor().for_principal(Some(principal.name()));
    let view = upstreams.view(principal.authority()).of(principal.known_name());
    let seen = view.catalog();
    write_array(object.key("upstreams"), view.upstreams(), |out, (config, handle)| {
        // If each caller signs in for itself, the faults of others are not shown to this caller.
        let own = handle.serving(view.caller(&config.name)).and_then(Result::ok);
        let health = own.as_ref().map_or_else(|| handle.health(), |own| own.health());
        let json = object_text(|object| {
            object.string("name", &config.name);
            object.string("transport", handle.transport());
            object.string("phase", phase(health.phase));
            match &health.protocol_version {
                Some(version) => object.string("protocol_version", version),
                None => object.raw("protocol_version", "null"),
            }
            let tools = match principal.authority() {
                None => health.tools,
                Some(_) => seen.server(&config.name).map_or(0, |server| server.tools().len()),
            };
            object.integer("tools", tools as u64);
            object.integer("in_flight", health.in_flight as u64);
            object.integer("starts", health.starts);
            match &health.last_fault {
                Some(fault) => object.string("last_fault", &redactor.scrub(&fault.to_string())),
                None => object.raw("last_fault", "null"),
            }
            let said = handle.messages(Some(principal.name()));
            write_array(object.key("messages"), &said, |out, message| {
                let at = Timestamp::try_from(message.at).unwrap_or_default();
                let json = object_text(|object| {
                    object.string("ts", &instant(at));
                    object.string("level", message.level.name());
                    object.string("text", &redactor.scrub(&message.text));
                });
                out.extend_from_slice(json.as_bytes());
            });
        });
        out.extend_from_slice(json.as_bytes());
    });
}

fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Stopped => "stopped",
        Phase::Starting => "starting",
        Phase::Started => "started",
        Phase::Recovery(_) => "recovery",
        Phase::Closed => "closed",
    }
}

/// The tools that a caller sees. Names and descriptions were scrubbed when they were listed.
pub fn catalog(sources: &Sources, principal: &Principal) -> String {
    object_text(|object| {
        let seen = |upstreams: &Arc<Aggregator>| {
            upstreams.view(principal.authority()).of(principal.known_name()).catalog()
        };
        let current = sources.upstreams.as_ref().map(|upstreams| upstreams.current());
        let catalog = current.as_ref().map(seen);
        let servers = catalog.iter().flat_map(|catalog| catalog.servers());
        write_array(object.key("servers"), servers, |out, server| {
            let json = object_text(|object| {
                object.string("name", &server.name);
                object.string("description", &server.description);
                object.boolean("loaded", server.loaded);
                write_array(object.key("tools"), server.tools_by_name(), |out, tool| {
                    let json = object_text(|object| {
                        object.string("name", &tool.name);
                        object.string("description", &tool.description);
                    });
                    out.extend_from_slice(json.as_bytes());
                });
            });
            out.extend_from_slice(json.as_bytes());
        });
    })
}
