//! The text of one line, before it becomes part of the chain.

use jiff::Timestamp;
use ptc_mcp::json::{Object, object_text};
use ptc_protocol::timestamp::{self, instant};

/// The kind of the lines about the log itself: where a file begins, what is missing, where the process ended.
pub(super) const LOG: &str = "log";

/// A line of now.
pub(super) fn line(kind: &str, write: impl FnOnce(&mut Object<'_>)) -> Vec<u8> {
    line_at(kind, timestamp::now(), write)
}

/// A line of that time: one JSON object without a line feed.
pub(super) fn line_at(kind: &str, at: Timestamp, write: impl FnOnce(&mut Object<'_>)) -> Vec<u8> {
    let text = object_text(|line| {
        line.string("at", &instant(at));
        line.string("kind", kind);
        write(line);
    });
    text.into_bytes()
}
