//! The page's data as JSON.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use ptc_host::aggregator::Aggregator;
use ptc_host::catalog::{Catalog, OtherTools, ToolEntry, marks};
use ptc_host::config::PinReport;
use ptc_host::engine::Engine;
use ptc_host::upstream::Phase;
use ptc_mcp::json::{Object, object_text, write_array, write_strings};

use super::Console;
use crate::sources::Sources;
use ptc_protocol::identity;
use ptc_protocol::principal::Principal;
use ptc_protocol::timestamp::{self, instant};

/// Accounts that are shown.
const ACCOUNTS: usize = 100;
/// Bytes of definitions that are searched for marks at a time: a page takes no time of callers.
const MARKED_BYTES: usize = 512 << 10;
/// Bytes of the diff of one tool.
const DIFF_BYTES: usize = 4096;

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
pub fn state(console: &Console, sources: &Sources, facts: &Facts<'_>, principal: &Principal) -> String {
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
        let whose = (!facts.operator).then_some(principal);
        object.integer("live_count", console.live.lock().count(whose) as u64);
        console.timelines.lock().write(object, whose, now);
        write_accounts(object, console, sources, whose);
        match &sources.sessions {
            None => object.raw("sessions", "null"),
            Some(sessions) => {
                let found = sessions.summaries_of(whose);
                object.integer("session_count", found.count as u64);
                write_array(object.key("sessions"), &found.latest, |out, summary| {
                    out.extend_from_slice(summary.as_bytes());
                });
                object.boolean("sessions_of_store", sessions.is_part());
            }
        }
        match &sources.upstreams {
            None => object.raw("upstreams", "null"),
            Some(upstreams) => write_upstreams(object, &upstreams.current(), principal, facts.operator),
        }
    })
}

/// What callers hold: those that hold most, or `principal` alone.
fn write_accounts(
    object: &mut Object<'_>,
    console: &Console,
    sources: &Sources,
    principal: Option<&Principal>,
) {
    let memory = sources.engine.as_ref().and_then(Engine::memory);
    let mut calls = console.live.lock().counts();
    let taken = memory.map(|memory| memory.taken_by()).unwrap_or_default();
    let mut accounts: Vec<(Arc<str>, u64, u64)> = Vec::new();
    for (name, bytes) in taken {
        let running = calls.remove(&name).unwrap_or(0);
        accounts.push((name, bytes, running));
    }
    accounts.extend(calls.into_iter().map(|(name, running)| (name, 0, running)));
    match principal {
        Some(own) => accounts.retain(|(name, ..)| **name == *own.name()),
        None => accounts.retain(|(_, bytes, running)| *bytes > 0 || *running > 0),
    }
    accounts.sort_by(|a, b| (b.1, b.2, &a.0).cmp(&(a.1, a.2, &b.0)));
    object.integer("account_count", accounts.len() as u64);
    write_array(object.key("accounts"), accounts.iter().take(ACCOUNTS), |out, (name, bytes, running)| {
        let json = object_text(|object| {
            object.string("principal", name);
            if memory.is_some() {
                object.integer("memory_bytes", *bytes);
            }
            object.integer("running", *running);
        });
        out.extend_from_slice(json.as_bytes());
    });
}

/// The upstreams that `principal` sees. An operator sees the state of all of them, and of those outside of its grant no more than that.
fn write_upstreams(
    object: &mut Object<'_>,
    upstreams: &Arc<Aggregator>,
    principal: &Principal,
    operator: bool,
) {
    let redactor = upstreams.redactor().for_principal(Some(principal.name()));
    let view = upstreams.view(principal.authority()).of(principal.known_name());
    let seen = view.catalog();
    let shown = if operator { upstreams.unfiltered() } else { view.clone() };
    write_array(object.key("upstreams"), shown.upstreams(), |out, (config, handle)| {
        let granted = view.sees(&config.name);
        // If each caller signs in for itself, the faults of others are shown to operators alone.
        let own = if operator { None } else { handle.serving(view.caller(&config.name)) };
        let own = own.and_then(Result::ok);
        let health = own.as_ref().map_or_else(|| handle.health(), |own| own.health());
        let json = object_text(|object| {
            object.string("name", &config.name);
            object.boolean("granted", granted);
            object.string("transport", handle.transport());
            object.string("phase", phase(health.phase));
            match &health.protocol_version {
                Some(version) => object.string("protocol_version", version),
                None => object.raw("protocol_version", "null"),
            }
            let tools = match principal.authority() {
                None => health.tools,
                Some(_) if !granted => health.tools,
                Some(_) => seen.server(&config.name).map_or(0, |server| server.tools().len()),
            };
            object.integer("tools", tools as u64);
            match view.pins(&config.name).map(|report| report.summary()).filter(|told| !told.is_empty()) {
                Some(told) => object.string("pins", &told),
                None => object.raw("pins", "null"),
            }
            object.integer("in_flight", health.in_flight as u64);
            object.integer("starts", health.starts);
            if let Phase::Recovery(left) = health.phase {
                object.integer("retry_in_seconds", left.as_secs_f64().ceil() as u64);
            }
            match &health.last_fault {
                Some(fault) => object.string("last_fault", &redactor.scrub(&fault.to_string())),
                None => object.raw("last_fault", "null"),
            }
            let said = if granted { handle.messages(Some(principal.name())) } else { Vec::new() };
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

/// The catalog that a caller sees.
fn seen_catalog(sources: &Sources, principal: &Principal) -> Option<Catalog> {
    let upstreams = sources.upstreams.as_ref()?.current();
    Some(upstreams.view(principal.authority()).of(principal.known_name()).catalog())
}

/// The tools that are withheld until somebody accepts them, in order of names.
fn unaccepted(pins: &PinReport) -> impl Iterator<Item = &String> {
    let listed = pins.changed.iter().map(|changed| &changed.name).chain(&pins.new);
    listed.filter(|_| pins.refuses)
}

fn is_withheld(pins: &PinReport, tool: &str) -> bool {
    pins.refuses && pins.is_unaccepted(tool)
}

/// Why a tool is not accepted, with what changed of it; nothing if it is.
fn write_pin(object: &mut Object<'_>, pins: &PinReport, tool: &str) {
    let Some(why) = pins.why(tool) else { return };
    object.string("unaccepted", &why);
    if let Some(changed) = pins.changed(tool) {
        object.string("diff", &changed.diff(DIFF_BYTES, true));
    }
}

/// What deserves a look in a tool's definition; nothing if nothing does.
fn write_marks(
    object: &mut Object<'_>,
    tool: Option<&ToolEntry>,
    others: &OtherTools<'_>,
    budget: &Cell<usize>,
) {
    let found = tool.map(|tool| marks(tool, others, budget)).unwrap_or_default();
    if found.is_empty() {
        return;
    }
    write_array(object.key("marks"), &found, |out, mark| {
        let json = object_text(|object| {
            object.string("rule", mark.rule);
            object.string("finding", mark.finding);
            object.string("excerpt", &mark.excerpt);
        });
        out.extend_from_slice(json.as_bytes());
    });
}

/// Whether a tool that a caller sees says that it only reads; `None` for one that it does not see.
pub fn tool_only_reads(sources: &Sources, principal: &Principal, upstream: &str, tool: &str) -> Option<bool> {
    let catalog = seen_catalog(sources, principal)?;
    Some(catalog.server(upstream)?.tool(tool)?.only_reads())
}

/// The tools that a caller sees, those that are withheld by name. Names and descriptions were scrubbed when they were listed.
pub fn catalog(sources: &Sources, principal: &Principal) -> String {
    object_text(|object| {
        let upstreams = sources.upstreams.as_ref().map(|upstreams| upstreams.current());
        let view = upstreams
            .as_ref()
            .map(|upstreams| upstreams.view(principal.authority()).of(principal.known_name()));
        let catalog = view.as_ref().map(|view| view.catalog());
        let budget = Cell::new(MARKED_BYTES);
        let servers =
            catalog.iter().flat_map(|catalog| catalog.servers().map(move |server| (catalog, server)));
        write_array(object.key("servers"), servers, |out, (catalog, server)| {
            let pins = view.as_ref().and_then(|view| view.pins(&server.name));
            let others = OtherTools::of(catalog, &server.name);
            let json = object_text(|object| {
                object.string("name", &server.name);
                object.string("description", &server.description);
                object.boolean("loaded", server.loaded);
                if let Some(pins) = &pins {
                    write_array(object.key("withheld"), unaccepted(pins), |out, name| {
                        let json = object_text(|object| {
                            object.string("name", name);
                            write_pin(object, pins, name);
                            let tool = server.withheld().find(|tool| tool.name == *name);
                            write_marks(object, tool, &others, &budget);
                        });
                        out.extend_from_slice(json.as_bytes());
                    });
                    let mut gone = Vec::new();
                    write_strings(&mut gone, pins.gone.iter().map(String::as_str));
                    object.raw("gone", &String::from_utf8_lossy(&gone));
                }
                write_array(object.key("tools"), server.tools_by_name(), |out, tool| {
                    let json = object_text(|object| {
                        object.string("name", &tool.name);
                        object.string("description", &tool.description);
                        object.boolean("only_reads", tool.only_reads());
                        let is_withheld = pins.as_ref().is_some_and(|pins| is_withheld(pins, &tool.name));
                        object.boolean("callable", !is_withheld && !server.refuses(&tool.name));
                        if let Some(pins) = &pins {
                            write_pin(object, pins, &tool.name);
                        }
                        write_marks(object, Some(tool), &others, &budget);
                        object.raw("input_schema", &tool.input_schema.to_string());
                    });
                    out.extend_from_slice(json.as_bytes());
                });
            });
            out.extend_from_slice(json.as_bytes());
        });
    })
}
