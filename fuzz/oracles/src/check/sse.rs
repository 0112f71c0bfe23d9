//! Event streams.

use crate::generate::Choices;
use ptc_mcp::sse::SseDecoder;

/// What a stream said.
#[derive(Debug, PartialEq)]
struct Heard {
    events: Vec<Vec<u8>>,
    last_id: Option<String>,
    retry_ms: Option<u64>,
}

/// Any split of a stream into chunks gives the same events, and those are what the standard says.
pub fn sse(data: &[u8]) {
    let mut choices = Choices::new(data);
    let sizes: Vec<usize> = (0..6).map(|_| 1 + choices.below(9)).collect();
    let stream = choices.all();
    let whole = decode(std::iter::once(stream));
    let mut rest = stream;
    let cut = sizes.iter().cycle().map_while(|size| {
        let (now, later) = rest.split_at((*size).min(rest.len()));
        rest = later;
        (!now.is_empty()).then_some(now)
    });
    assert_eq!(decode(cut), whole);
    assert_eq!(plainly(stream), whole);
}

fn decode<'a>(chunks: impl Iterator<Item = &'a [u8]>) -> Heard {
    let mut decoder = SseDecoder::default();
    let mut events = Vec::new();
    for chunk in chunks {
        let went_on = decoder.feed(chunk, |event| {
            events.push(event.data.to_vec());
            true
        });
        assert!(went_on);
    }
    events.extend(decoder.finish().map(|event| event.data.to_vec()));
    assert_eq!(decoder.buffered(), 0);
    Heard { events, last_id: decoder.last_id().map(str::to_owned), retry_ms: decoder.retry_ms() }
}

/// The same at a glance, over the whole stream: HTML standard 9.2.6, but that the end completes a last event.
fn plainly(stream: &[u8]) -> Heard {
    let stream = stream.strip_prefix(b"\xef\xbb\xbf").unwrap_or(stream);
    let mut lines: Vec<Vec<u8>> = vec![Vec::new()];
    let mut after_cr = false;
    for byte in stream {
        match byte {
            b'\n' if after_cr => {}
            b'\n' | b'\r' => lines.push(Vec::new()),
            other => lines.last_mut().expect("one at least").push(*other),
        }
        after_cr = *byte == b'\r';
    }
    lines.push(Vec::new());
    let mut heard = Heard { events: Vec::new(), last_id: None, retry_ms: None };
    let mut data: Option<Vec<u8>> = None;
    for line in lines {
        if line.is_empty() {
            heard.events.extend(data.take());
            continue;
        }
        let (name, value) = match line.iter().position(|b| *b == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (&line[..], &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        let text = std::str::from_utf8(value).ok();
        match name {
            b"data" => match &mut data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => data = Some(value.to_vec()),
            },
            b"id" if !value.contains(&0) => {
                heard.last_id = text.filter(|id| !id.is_empty()).map(str::to_owned);
            }
            b"retry" => {
                let digits = text.filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
                heard.retry_ms = digits.and_then(|text| text.parse().ok()).or(heard.retry_ms);
            }
            _ => {}
        }
    }
    heard
}
