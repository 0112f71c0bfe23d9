//! Other readers of JSON on the message that ours reads: they make values of it and, if it has one, of the text in it.

use std::hint::black_box;

use sonic_rs::JsonValueTrait;

/// A reader, by its name: reads a message, and then its text if told that it has one.
pub(crate) type JsonReader = (&'static str, fn(message: &[u8], has_text: bool));

/// Those that are compared.
pub(crate) const JSON_READERS: [JsonReader; 3] =
    [("serde_json", serde_json), ("sonic-rs", sonic_rs), ("simd-json, tape", simd_json)];

fn serde_json(message: &[u8], has_text: bool) {
    let message: serde_json::Value = serde_json::from_slice(black_box(message)).expect("JSON");
    if has_text {
        let text = message["result"]["content"][0]["text"].as_str().expect("a text");
        black_box(serde_json::from_str::<serde_json::Value>(text).expect("JSON"));
    }
    black_box(message);
}

fn sonic_rs(message: &[u8], has_text: bool) {
    let message: sonic_rs::Value = sonic_rs::from_slice(black_box(message)).expect("JSON");
    if has_text {
        let text = message["result"]["content"][0]["text"].as_str().expect("a text");
        black_box(sonic_rs::from_str::<sonic_rs::Value>(text).expect("JSON"));
    }
    black_box(message);
}

fn simd_json(message: &[u8], has_text: bool) {
    // It reads in place.
    let mut copy = black_box(message).to_vec();
    let message = simd_json::to_tape(&mut copy).expect("JSON");
    if has_text {
        // The longest string of the message.
        let texts = message.0.iter().filter_map(|node| match node {
            simd_json::Node::String(text) => Some(*text),
            _ => None,
        });
        let text = texts.max_by_key(|text| text.len()).expect("a text");
        let mut inner = text.as_bytes().to_vec();
        black_box(simd_json::to_tape(&mut inner).expect("JSON"));
    }
    black_box(message);
}
