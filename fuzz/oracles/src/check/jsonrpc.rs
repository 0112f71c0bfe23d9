//! JSON-RPC messages and their framing.

use crate::generate::Choices;
use ptc_mcp::RpcError;
use ptc_mcp::encode;
use ptc_mcp::json::Value;
use ptc_mcp::json::compact_len;
use ptc_mcp::lines::{Frame, LineBuffer};
use ptc_mcp::message::id::{id_of_head, id_of_tail, number_of_id};
use ptc_mcp::message::lenient::{Message, Messages, parse};

const MAX_BATCH: usize = 4;

/// Any bytes are frames, the same wherever reads are cut; any frame is a message or an error, and what is read of it is
/// what is in it.
pub fn jsonrpc(data: &[u8]) {
    let mut choices = Choices::new(data);
    let cap = 1 + choices.below(600);
    let size = 1 + choices.below(50);
    let stream = choices.all();
    let whole = frames(std::iter::once(stream), cap);
    assert_eq!(frames(stream.chunks(size), cap), whole, "cap {cap}, reads of {size}");
    let newlines = stream.iter().filter(|b| **b == b'\n').count();
    assert_eq!(whole.len(), newlines, "one frame a line");
    message(stream);
    for line in stream.split(|b| *b == b'\n') {
        message(line);
    }
}

/// Whole lines; of oversized ones the length alone, since heads are as long as what had arrived.
fn frames<'a>(chunks: impl Iterator<Item = &'a [u8]>, cap: usize) -> Vec<Result<Vec<u8>, u64>> {
    let mut buffer = LineBuffer::default();
    let mut frames = Vec::new();
    let mut begun = false;
    for chunk in chunks {
        buffer.extend(chunk);
        while let Some(frame) = buffer.next(cap) {
            match frame {
                Frame::Line(line) => {
                    assert!(!begun && line.len() <= cap && !line.contains(&b'\n'));
                    frames.push(Ok(line.to_vec()));
                }
                Frame::Overflow { head } => {
                    assert!(!begun && head.len() <= cap.max(256));
                    begun = true;
                }
                Frame::OverflowEnd { tail, bytes, .. } => {
                    assert!(begun && bytes > cap as u64 && tail.len() as u64 <= bytes);
                    begun = false;
                    frames.push(Err(bytes));
                }
            }
        }
    }
    frames
}

fn message(text: &[u8]) {
    let (head, tail) = (id_of_head(text), id_of_tail(text));
    for cut in [text.len() / 2, text.len().saturating_sub(1)] {
        let _ = (id_of_head(&text[..cut]), id_of_tail(&text[cut..]));
    }
    let _ = compact_len(text);
    let _ = RpcError::of_bytes(text);
    let Ok(messages) = parse(text, MAX_BATCH) else { return };
    // Members that nobody reads are skipped without a look at their characters.
    let Ok(text) = std::str::from_utf8(text) else { return };
    let whole: Value = match serde_json::from_str(text) {
        Ok(whole) => whole,
        // A plain reader also refuses half of a surrogate pair in a skipped member, and numbers no float can hold.
        Err(error) => {
            let is_its_own = error.is_syntax() || error.is_data();
            assert!(is_its_own && text.contains(['\\', 'e', 'E']), "{error}: {text}");
            return;
        }
    };
    let text = text.as_bytes();
    assert_eq!(compact_len(text), compacted(text), "{}", String::from_utf8_lossy(text));
    if let Messages::One(one) = &messages {
        let id = one.id.and_then(number_of_id);
        assert_eq!(head, id, "at the head of {}", String::from_utf8_lossy(text));
        assert!(tail.is_none() || tail == id, "at the tail of {}: {tail:?}", String::from_utf8_lossy(text));
    }
    let objects = match &whole {
        Value::Array(batch) => batch.iter().collect(),
        one => vec![one],
    };
    assert!(objects.len() == messages.iter().count() && objects.len() <= MAX_BATCH);
    for (message, object) in messages.iter().zip(objects) {
        members(message, object);
        if let Some(error) = message.error {
            let error = RpcError::read(error);
            assert!(error.message.len() <= text.len().max(1_000));
        }
        if let (Some(method), Some(id)) = (&message.method, message.id.and_then(number_of_id)) {
            written(id, method, message.params.unwrap_or("{}"));
        }
    }
}

/// What [`parse`] found is what a plain reader finds.
fn members(message: &Message<'_>, object: &Value) {
    let raw = |raw: Option<&str>| raw.map(|raw| serde_json::from_str::<Value>(raw).expect("JSON"));
    assert_eq!(raw(message.id).as_ref(), object.get("id"));
    assert_eq!(raw(message.params).as_ref(), object.get("params"));
    assert_eq!(raw(message.result).as_ref(), object.get("result"));
    assert_eq!(raw(message.error).as_ref(), object.get("error").filter(|error| !error.is_null()));
    assert_eq!(message.method.as_deref(), object.get("method").and_then(Value::as_str));
}

/// What we write is one line that says the same.
fn written(id: u64, method: &str, params: &str) {
    let line = encode::request(id, method, params.as_bytes());
    assert!(!line.contains(&b'\n') && !line.contains(&b'\r'));
    let Ok(Messages::One(again)) = parse(&line, 1) else { panic!("{}", String::from_utf8_lossy(&line)) };
    assert_eq!((again.id.and_then(number_of_id), again.method.as_deref()), (Some(id), Some(method)));
    let value = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
    assert_eq!(again.params.map(value), Some(value(params)));
}

/// The length without white space outside strings, one byte at a time.
fn compacted(text: &[u8]) -> u64 {
    let (mut length, mut inside, mut escaped) = (0, false, false);
    for byte in text {
        if inside || !byte.is_ascii_whitespace() {
            length += 1;
        }
        match byte {
            _ if escaped => escaped = false,
            b'\\' if inside => escaped = true,
            b'"' => inside = !inside,
            _ => {}
        }
    }
    length
}
