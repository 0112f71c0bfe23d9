//! Event streams: written, and decoded as they arrive.

use bytes::Bytes;
use memchr::memchr2;

/// A message as an event. Messages are JSON without newlines, so one `data` line holds them.
#[must_use]
pub fn message_event(message: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(message.len() + 24);
    out.extend_from_slice(b"event: message\ndata: ");
    out.extend_from_slice(message);
    out.extend_from_slice(b"\n\n");
    out
}

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its `event` line; `None` without one, and for `message`, which means the same.
    pub name: Option<Box<str>>,
    /// Its `data` lines, joined with newlines.
    pub data: Bytes,
}

/// Splits a byte stream into events. Only `event`, `data`, `id` and `retry` count; lines end with `\n`, `\r\n` or `\r`. The
/// buffer holds what was fed: the feeder bounds it.
#[derive(Debug, Default)]
pub struct SseDecoder {
    /// The line under way.
    line: Vec<u8>,
    /// The data lines of the event under way, each with a newline after it.
    data: Vec<u8>,
    /// The name of the event under way.
    name: Option<Box<str>>,
    /// The last line ended with `\r`: a `\n` now belongs to it.
    after_cr: bool,
    /// The first line has been taken.
    started: bool,
    last_id: Option<String>,
    retry_ms: Option<u64>,
    /// Lines of fields other than `data` since the last blank one.
    fields: u32,
    marks: u64,
}

/// Lines of an event, besides its data and its end, that are no marks: `event`, `id` and `retry`.
const FIELDS: u32 = 3;

impl SseDecoder {
    /// Takes the next bytes and passes every completed event to `on_event`, which returns whether to continue.
    /// Yields `false` if it was stopped; the rest of `chunk` is then lost.
    pub fn feed(&mut self, chunk: &[u8], mut on_event: impl FnMut(Event) -> bool) -> bool {
        let mut rest = chunk;
        while !rest.is_empty() {
            if std::mem::take(&mut self.after_cr) && rest[0] == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let Some(end) = memchr2(b'\n', b'\r', rest) else {
                self.line.extend_from_slice(rest);
                return true;
            };
            self.after_cr = rest[end] == b'\r';
            let event = if self.line.is_empty() {
                self.take_line(&rest[..end])
            } else {
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(&rest[..end]);
                self.take_line(&line)
            };
            rest = &rest[end + 1..];
            if let Some(event) = event
                && !on_event(event)
            {
                return false;
            }
        }
        true
    }

    /// The event that the end of the stream completes, for servers that leave out the last blank line.
    pub fn finish(&mut self) -> Option<Event> {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.take_line(&line);
        }
        self.take_event()
    }

    /// Bytes of the event under way.
    #[must_use]
    pub fn buffered(&self) -> usize {
        self.line.len() + self.data.len()
    }

    /// The last event id seen: where a broken stream may be taken up again.
    #[must_use]
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// The number of marks: each event, and every line that is part of none, such as a comment or a further blank line.
    #[must_use]
    pub fn marks(&self) -> u64 {
        self.marks
    }

    /// The server's reconnection delay in milliseconds.
    #[must_use]
    pub fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    fn take_line(&mut self, mut line: &[u8]) -> Option<Event> {
        if !std::mem::replace(&mut self.started, true) {
            // A byte order mark may stand in front of all, cut by chunks like anything else.
            line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        }
        if line.is_empty() {
            (self.fields, self.marks) = (0, self.marks + 1);
            return self.take_event();
        }
        let colon = line.iter().position(|b| *b == b':').unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        let name = &line[..colon];
        if matches!(name, b"event" | b"id" | b"retry") && self.fields < FIELDS {
            self.fields += 1;
        } else if name != b"data" {
            self.marks += 1;
        }
        match name {
            b"data" => {
                self.data.extend_from_slice(value);
                self.data.push(b'\n');
            }
            b"event" => {
                let name = std::str::from_utf8(value).ok().filter(|name| !matches!(*name, "" | "message"));
                self.name = name.map(Box::from);
            }
            b"id" if !value.contains(&0) => {
                self.last_id = std::str::from_utf8(value).ok().filter(|id| !id.is_empty()).map(str::to_owned);
            }
            b"retry" => {
                // Digits only: `parse` takes a sign, too.
                let digits =
                    std::str::from_utf8(value).ok().filter(|v| v.bytes().all(|b| b.is_ascii_digit()));
                self.retry_ms = digits.and_then(|v| v.parse().ok()).or(self.retry_ms);
            }
            _ => {}
        }
        None
    }

    fn take_event(&mut self) -> Option<Event> {
        let (mut data, name) = (std::mem::take(&mut self.data), self.name.take());
        data.pop()?;
        Some(Event { name, data: Bytes::from(data) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decode(chunks: &[&[u8]]) -> Vec<String> {
        let mut decoder = SseDecoder::default();
        let mut out = Vec::new();
        for chunk in chunks {
            decoder.feed(chunk, |event| {
                out.push(String::from_utf8(event.data.to_vec()).unwrap());
                true
            });
        }
        out.extend(decoder.finish().map(|e| String::from_utf8(e.data.to_vec()).unwrap()));
        out
    }

    #[test]
    fn events_end_at_blank_lines_of_every_kind() {
        for end in ["\n", "\r\n", "\r"] {
            let stream = "event: message|data: 1||: comment|data:2|data: 3|id: x||||data|".replace('|', end);
            assert_eq!(decode(&[stream.as_bytes()]), ["1", "2\n3", ""], "{end:?}");
        }
        assert_eq!(decode(&[b"data: a\r\n\ndata: b\n\r\n"]), ["a", "b"]);
    }

    #[test]
    fn a_last_event_without_a_blank_line_counts() {
        assert_eq!(decode(&[b"data: 1\n\ndata: 2"]), ["1", "2"]);
        assert_eq!(decode(&[b": only a comment\n\n"]), [""; 0]);
    }

    #[test]
    fn a_byte_order_mark_is_skipped_and_one_space_only() {
        assert_eq!(decode(&["\u{feff}data:  x\n\n".as_bytes()]), [" x"]);
        // Chunks may cut the mark.
        assert_eq!(decode(&[b"\xef", b"\xbb", b"\xbfdata: x\n\n"]), ["x"]);
    }

    #[test]
    fn events_have_names_of_their_own() {
        let stream =
            b"event: endpoint\ndata: /m\n\nevent: message\ndata: 1\n\ndata: 2\n\nevent: ping\n\ndata: 3\n\n";
        let mut names = Vec::new();
        SseDecoder::default().feed(stream, |event| {
            names.push((event.name.as_deref().map(str::to_owned), event.data));
            true
        });
        let expected = [(Some("endpoint"), "/m"), (None, "1"), (None, "2"), (None, "3")];
        let expected = expected.map(|(name, data)| (name.map(str::to_owned), Bytes::from(data)));
        assert_eq!(names, expected, "a name without data is no event, and does not last");
    }

    #[test]
    fn ids_and_retry_are_remembered() {
        let mut decoder = SseDecoder::default();
        decoder.feed(b"id: 7\nretry: 20\ndata:\n\nretry: x\nretry: +30\n", |_| true);
        assert_eq!((decoder.last_id(), decoder.retry_ms()), (Some("7"), Some(20)));
    }

    #[test]
    fn events_blank_lines_and_comments_are_marks() {
        let marks = |stream: &str| {
            let mut decoder = SseDecoder::default();
            decoder.feed(stream.as_bytes(), |_| true);
            decoder.marks()
        };
        assert_eq!(marks("event: message\nid: 1\nretry: 2\ndata: 1\ndata: 2\n\n"), 1);
        assert_eq!(marks("data: 1\n\ndata: 2\n\n\n\n"), 4);
        assert_eq!(marks(": comment\n:\nother: 1\n"), 3);
        assert_eq!(marks(&"id: 1\n".repeat(10)), 7, "more lines than an event has");
    }

    #[test]
    fn decoding_stops_when_told() {
        let mut decoder = SseDecoder::default();
        let mut seen = 0;
        let go_on = decoder.feed(b"data: 1\n\ndata: 2\n\n", |_| {
            seen += 1;
            false
        });
        assert!(!go_on);
        assert_eq!(seen, 1);
    }

    proptest! {
        #[test]
        fn events_do_not_depend_on_how_the_stream_is_cut(
            text in "(data: ?[ab]{0,3}|id: 1|:c|)(\r|\n|\r\n)",
            more in proptest::collection::vec("(data: ?[ab]{0,3}|id: 1|:c|)(\r|\n|\r\n)", 0..8),
            size in 1usize..6,
        ) {
            let stream = text + &more.concat();
            let whole = decode(&[stream.as_bytes()]);
            let cut: Vec<&[u8]> = stream.as_bytes().chunks(size).collect();
            prop_assert_eq!(decode(&cut), whole);
        }

        #[test]
        fn no_bytes_make_the_decoder_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut decoder = SseDecoder::default();
            decoder.feed(&bytes, |_| true);
            decoder.finish();
        }
    }
}
