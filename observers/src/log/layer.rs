//! Turns tracing events into log lines.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use ptc_host::credentials::Redactor;
use ptc_host::trace;
use ptc_host::visible::visible_line;
use ptc_mcp::json::{write_integer, write_string};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use super::sink::Sink;
use super::timestamp;
use ptc_protocol::settings::LogLevel;

/// Bytes of memory that a thread keeps from line to line; memory beyond that is freed.
const KEPT: usize = 16 << 10;

/// The least severity that is written, which may change while the process runs.
#[derive(Debug, Clone)]
pub struct CurrentLevel(Arc<AtomicU8>);

/// The levels by their numbers in [`CurrentLevel`].
const LEVELS: [LogLevel; 4] = [LogLevel::Debug, LogLevel::Info, LogLevel::Warn, LogLevel::Error];

impl CurrentLevel {
    pub(super) fn new(level: LogLevel) -> Self {
        CurrentLevel(Arc::new(AtomicU8::new(level as u8)))
    }

    /// The level that holds now.
    #[must_use]
    pub fn get(&self) -> LogLevel {
        LEVELS.get(usize::from(self.0.load(Ordering::Relaxed))).copied().unwrap_or(LogLevel::Info)
    }

    /// Lets another level hold.
    pub fn set(&self, level: LogLevel) {
        self.0.store(level as u8, Ordering::Relaxed);
        // Places that log remember whether they are admitted.
        tracing::callsite::rebuild_interest_cache();
    }
}

/// The layer that writes JSON lines.
pub(super) struct JsonLines {
    level: CurrentLevel,
    redactor: Redactor,
    sink: Sink,
}

impl JsonLines {
    pub(super) fn new(level: CurrentLevel, redactor: Redactor, sink: Sink) -> Self {
        JsonLines { level, redactor: redactor.for_log(), sink }
    }

    /// The minimum severity of our own events that is written.
    fn least(&self) -> Level {
        match self.level.get() {
            LogLevel::Debug => Level::DEBUG,
            LogLevel::Info => Level::INFO,
            LogLevel::Warn => Level::WARN,
            LogLevel::Error => Level::ERROR,
        }
    }

    fn admits(&self, metadata: &Metadata<'_>) -> bool {
        // Events of libraries below a warning are not for operators of this server.
        let is_ours = metadata.target().starts_with("ptc");
        *metadata.level() <= if is_ours { self.least() } else { Level::WARN }
    }
}

impl<S: Subscriber> Layer<S> for JsonLines {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        metadata.is_event() && self.admits(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::from_level(self.least().max(Level::WARN)))
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        thread_local! {
            static PARTS: Cell<LineBuffers> = const { Cell::new(LineBuffers::new()) };
        }
        // Taken, not borrowed, so that a value may log while it is printed.
        let mut parts = PARTS.take();
        parts.clear();
        let metadata = event.metadata();
        let mut line = LineWriter { redactor: &self.redactor, parts: &mut parts };
        event.record(&mut line);
        for field in metadata.fields() {
            line.null_if_missing(&field);
        }
        line.finish(metadata);
        self.sink.write(&parts.line);
        if parts.line.capacity() <= KEPT {
            PARTS.set(parts);
        }
    }
}

/// The parts of a line, in buffers reused from line to line.
#[derive(Default)]
struct LineBuffers {
    /// JSON of the event's name; empty without one.
    event: Vec<u8>,
    /// JSON of the id of the HTTP request; empty without one.
    request_id: Vec<u8>,
    /// JSON of the JSON-RPC id; empty without one.
    rpc_id: Vec<u8>,
    /// Members of `fields`, each with a comma before it.
    fields: Vec<u8>,
    /// A bit for each field that has a value, by its place in the event's declaration.
    present: u64,
    /// A value as printed.
    printed: String,
    /// The whole line.
    line: Vec<u8>,
}

impl LineBuffers {
    const fn new() -> Self {
        LineBuffers {
            event: Vec::new(),
            request_id: Vec::new(),
            rpc_id: Vec::new(),
            fields: Vec::new(),
            present: 0,
            printed: String::new(),
            line: Vec::new(),
        }
    }

    fn clear(&mut self) {
        self.event.clear();
        self.request_id.clear();
        self.rpc_id.clear();
        self.fields.clear();
        self.present = 0;
        self.line.clear();
    }
}

struct LineWriter<'a> {
    redactor: &'a Redactor,
    parts: &'a mut LineBuffers,
}

impl LineWriter<'_> {
    /// Begins a member of `fields`; its value is written by the caller.
    fn member(&mut self, field: &Field) -> &mut Vec<u8> {
        self.parts.present |= bit(field);
        let out = &mut self.parts.fields;
        out.push(b',');
        write_string(out, field.name());
        out.push(b':');
        out
    }

    fn text(&mut self, field: &Field, text: &str) {
        let redactor = self.redactor;
        let out = match field.name() {
            "event" => {
                self.parts.event.clear();
                return write_string(&mut self.parts.event, text);
            }
            "request_id" => {
                self.parts.request_id.clear();
                &mut self.parts.request_id
            }
            "rpc_id" => {
                self.parts.rpc_id.clear();
                &mut self.parts.rpc_id
            }
            _ => self.member(field),
        };
        let before = out.len();
        write_string(out, &redactor.scrub(text));
        // The same JSON, with characters escaped that a terminal would hide.
        if let Ok(Cow::Owned(shown)) = std::str::from_utf8(&out[before..]).map(visible_line) {
            out.truncate(before);
            out.extend_from_slice(shown.as_bytes());
        }
    }

    /// A value that is printed as JSON.
    fn raw(&mut self, field: &Field, value: impl fmt::Display) {
        let mut printed = std::mem::take(&mut self.parts.printed);
        printed.clear();
        // Writing to memory does not fail.
        let _ = write!(printed, "{value}");
        self.member(field).extend_from_slice(printed.as_bytes());
        self.parts.printed = printed;
    }

    fn null_if_missing(&mut self, field: &Field) {
        if !matches!(field.name(), "event" | "request_id" | "rpc_id" | "message")
            && self.parts.present & bit(field) == 0
        {
            self.member(field).extend_from_slice(b"null");
        }
    }

    fn finish(&mut self, metadata: &Metadata<'_>) {
        let LineBuffers { event, request_id, rpc_id, fields, line, .. } = &mut *self.parts;
        line.extend_from_slice(b"{\"ts\":\"");
        timestamp::write_now(line);
        line.extend_from_slice(b"\",\"level\":\"");
        line.extend_from_slice(match *metadata.level() {
            Level::ERROR => b"error",
            Level::WARN => b"warn",
            Level::INFO => b"info",
            _ => b"debug",
        });
        line.extend_from_slice(b"\",\"event\":");
        // An event of a library has a message and no name.
        match event.is_empty() {
            false => line.extend_from_slice(event),
            true => write_string(line, metadata.target()),
        }
        if !request_id.is_empty() {
            line.extend_from_slice(b",\"request_id\":");
            line.extend_from_slice(request_id);
        }
        if !rpc_id.is_empty() {
            line.extend_from_slice(b",\"rpc_id\":");
            line.extend_from_slice(rpc_id);
        }
        if let Some(trace_id) = trace::current_id() {
            // Writing to memory does not fail.
            let _ = write!(line, ",\"trace_id\":\"{trace_id}\"");
        }
        if let Some(fields) = fields.strip_prefix(b",") {
            line.extend_from_slice(b",\"fields\":{");
            line.extend_from_slice(fields);
            line.push(b'}');
        }
        line.extend_from_slice(b"}\n");
    }
}

/// The bit of a field. Events have at most 32.
fn bit(field: &Field) -> u64 {
    1 << (field.index() & 63)
}

impl Visit for LineWriter<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.text(field, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let mut printed = std::mem::take(&mut self.parts.printed);
        printed.clear();
        // Writing to memory does not fail.
        let _ = write!(printed, "{value:?}");
        self.text(field, &printed);
        self.parts.printed = printed;
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.raw(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        write_integer(self.member(field), value);
    }

    fn record_i128(&mut self, field: &Field, value: i128) {
        self.raw(field, value);
    }

    fn record_u128(&mut self, field: &Field, value: u128) {
        self.raw(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.member(field).extend_from_slice(if value { b"true" } else { b"false" });
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        match value.is_finite() {
            true => self.raw(field, value),
            false => self.member(field).extend_from_slice(b"null"),
        }
    }
}
