//! Values through their texts and back.

use crate::generate::data::{self, Datum};
use crate::generate::{Choices, data::datum};
use crate::run::{self, PLAIN_HOST};
use ptc_vm::machine::Limits;
use ptc_vm::print::{self, Budget, render_capped};
use ptc_vm::{Value, json, value};

const ROOM: Limits = Limits { memory_bytes: 64 << 20, steps: 10_000_000 };

/// What is printed reads back and prints the same; what is written as JSON parses to the same.
pub fn roundtrip(data: &[u8]) {
    let mut choices = Choices::new(data);
    let cap = choices.below(2_000);
    let tree = datum(&mut choices);
    let value = tree.value();
    let printed = print::readable(&value).expect("no limits");

    let read = |text: &str| {
        let program = run::compiled(text).unwrap_or_else(|| panic!("a print cannot be read: {text}"));
        run::run(&program, ROOM, u64::MAX, PLAIN_HOST).result.unwrap_or_else(|e| panic!("{e:?}: {text}"))
    };
    // What is printed of a list is a call to who reads it.
    if !tree.has_list() {
        assert_eq!(read(&printed), printed, "print, read, print");
    }
    assert_eq!(read(&tree.literal()), printed, "a literal is the value that it says");
    rendered(&value, &printed, cap);
    as_json(&value);

    let tree = data::json_datum(&mut choices);
    let text = json_text(&tree.value()).expect("JSON data has a JSON form");
    let parsed = json::parse(&text).expect("no limits").expect("JSON");
    assert!(value::equal(&parsed, &tree.value()), "{tree:?}\n{}", String::from_utf8_lossy(&text));
    same_kinds(&tree, &parsed);
}

fn json_text(value: &Value) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    json::write(value, &mut text).is_ok().then_some(text)
}

/// Once read, all keys are strings, whose order may be another; from then on nothing changes.
fn as_json(value: &Value) {
    let Some(text) = json_text(value) else { return };
    serde_json::from_slice::<ptc_mcp::json::Value>(&text).expect("others read it");
    let parse = |text: &[u8]| json::parse(text).expect("no limits").expect("what we write is JSON");
    let once = json_text(&parse(&text)).expect("what was read can be written");
    assert_eq!(once.len(), text.len(), "{}", String::from_utf8_lossy(&text));
    let twice = json_text(&parse(&once)).expect("what was read can be written");
    assert_eq!(once, twice);
}

/// A rendering with room is the readable form, one without keeps to its room and says what is missing.
fn rendered(value: &Value, printed: &str, cap: usize) {
    let whole = render_capped(value, printed.len(), Budget::default());
    assert_eq!((whole.text.as_str(), whole.truncated.is_none()), (printed, true));
    let cut = render_capped(value, cap, Budget::default());
    if printed.len() <= cap {
        assert_eq!(cut.text, printed);
    } else {
        assert!(cut.truncated.is_some(), "{cap} bytes hold all of {printed}");
        assert!(cut.text.len() <= cap.max(64), "{} bytes for {cap}: {}", cut.text.len(), cut.text);
    }
    let _ = print::literal(value);
    let _ = print::bounded(value, cap % 7);
    let _ = print::readable_lossy(value);
}

/// An integer stays an integer and a float a float, which `=` does not tell.
fn same_kinds(tree: &Datum, parsed: &Value) {
    match (tree, parsed) {
        (Datum::Int(_), Value::Int(_) | Value::BigInt(_)) | (Datum::Float(_), Value::Float(_)) => {}
        (Datum::Int(_) | Datum::Float(_), other) => panic!("{tree:?} came back as {other:?}"),
        (Datum::Vector(items), Value::Vector(parsed)) => {
            items.iter().zip(parsed.iter()).for_each(|(item, parsed)| same_kinds(item, &parsed));
        }
        (Datum::Map(entries), Value::Map(parsed)) => {
            for (key, value) in entries {
                same_kinds(value, parsed.get(&key.value()).expect("every key comes back"));
            }
        }
        _ => {}
    }
}
