//! Turns tracing events into lines.

use std::fmt;

use ptc_host::credentials::Redactor;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use super::sink::Sink;
use crate::options::settings::LogLevel;
use crate::protocol::json::write_string;

/// The layer that writes JSON lines.
pub(super) struct JsonLines {
    level: LogLevel,
    redactor: Redactor,
    sink: Sink,
}

impl JsonLines {
    pub(super) fn new(level: LogLevel, redactor: Redactor, sink: Sink) -> Self {
        JsonLines { level, redactor, sink }
    }

    fn admits(&self, metadata: &Metadata<'_>) -> bool {
        let least = match self.level {
            // What libraries have to say below a warning is not for operators of this server.
            _ if !metadata.target().starts_with("ptc") => Level::WARN,
            LogLevel::Debug => Level::DEBUG,
            LogLevel::Info => Level::INFO,
            LogLevel::Warn => Level::WARN,
            LogLevel::Error => Level::ERROR,
        };
        *metadata.level() <= least
    }
}

impl<S: Subscriber> Layer<S> for JsonLines {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        metadata.is_event() && self.admits(metadata)
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        let mut line = Line { redactor: &self.redactor, event: None, request_id: None, fields: Vec::new() };
        event.record(&mut line);
        for field in metadata.fields() {
            line.null_if_missing(field.name());
        }
        self.sink.write(line.finish(metadata));
    }
}

struct Line<'a> {
    redactor: &'a Redactor,
    event: Option<String>,
    request_id: Option<String>,
    /// Names and JSON of values.
    fields: Vec<(&'static str, Vec<u8>)>,
}

impl Line<'_> {
    fn push(&mut self, field: &Field, json: Vec<u8>) {
        self.fields.push((field.name(), json));
    }

    fn text(&mut self, field: &Field, text: &str) {
        match field.name() {
            "event" => self.event = Some(text.to_owned()),
            "request_id" => self.request_id = Some(self.redactor.scrub(text).into_owned()),
            _ => {
                let mut json = Vec::new();
                write_string(&mut json, &self.redactor.scrub(text));
                self.push(field, json);
            }
        }
    }

    fn null_if_missing(&mut self, name: &'static str) {
        if !matches!(name, "event" | "request_id" | "message")
            && !self.fields.iter().any(|(known, _)| *known == name)
        {
            self.fields.push((name, b"null".to_vec()));
        }
    }

    fn finish(mut self, metadata: &Metadata<'_>) -> Vec<u8> {
        let mut out = Vec::with_capacity(192);
        out.extend_from_slice(b"{\"ts\":\"");
        out.extend_from_slice(
            jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string().as_bytes(),
        );
        out.extend_from_slice(b"\",\"level\":\"");
        out.extend_from_slice(match *metadata.level() {
            Level::ERROR => b"error",
            Level::WARN => b"warn",
            Level::INFO => b"info",
            _ => b"debug",
        });
        out.extend_from_slice(b"\",\"event\":");
        // An event of a library has a message and no name.
        match self.event.take() {
            Some(event) => write_string(&mut out, &event),
            None => write_string(&mut out, metadata.target()),
        }
        if let Some(request_id) = &self.request_id {
            out.extend_from_slice(b",\"request_id\":");
            write_string(&mut out, request_id);
        }
        if !self.fields.is_empty() {
            let mut separator = b",\"fields\":{".as_slice();
            for (name, json) in &self.fields {
                out.extend_from_slice(separator);
                write_string(&mut out, name);
                out.push(b':');
                out.extend_from_slice(json);
                separator = b",";
            }
            out.push(b'}');
        }
        out.extend_from_slice(b"}\n");
        out
    }
}

impl Visit for Line<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.text(field, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.text(field, &format!("{value:?}"));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.push(field, value.to_string().into_bytes());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.push(field, value.to_string().into_bytes());
    }

    fn record_i128(&mut self, field: &Field, value: i128) {
        self.push(field, value.to_string().into_bytes());
    }

    fn record_u128(&mut self, field: &Field, value: u128) {
        self.push(field, value.to_string().into_bytes());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.push(field, value.to_string().into_bytes());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        let json = if value.is_finite() { value.to_string() } else { "null".into() };
        self.push(field, json.into_bytes());
    }
}
