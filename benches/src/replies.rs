//! Messages with which an upstream answers a call, and programs that ask for them.

use bytes::Bytes;
use ptc_mcp::message::lenient::parse;
use ptc_vm::builtins::library;
use ptc_vm::machine::{Limits, Payload, Reply, Setup};
use ptc_vm::{Machine, Program, Step};
use std::fmt::Write;
use std::rc::Rc;

/// A program over the answer of its only upstream tool.
#[derive(Clone, Copy, Debug)]
pub struct OverReply {
    /// Its name.
    pub name: &'static str,
    /// Program text.
    pub program: &'static str,
    /// The value's readable form.
    pub answer: &'static str,
    /// The message that the upstream sends.
    pub message: fn() -> Bytes,
}

/// Rows of a table as text and as structured content, and a small answer.
pub const OVER_REPLIES: &[OverReply] = &[
    OverReply {
        name: "json_text_2mb",
        program: r#"(->> (:value (tool/call {:server "s" :tool "t"})) (filter #(= "paid" (get % "state"))) (sum-by #(get % "total")))"#,
        answer: "16584389",
        message: || as_text(&rows(10_000)),
    },
    OverReply {
        name: "json_structured_2mb",
        program: r#"(->> (get (:value (tool/call {:server "s" :tool "t"})) "rows") (filter #(= "paid" (get % "state"))) (sum-by #(get % "total")))"#,
        answer: "16584389",
        message: || as_structured(&rows(10_000)),
    },
    OverReply {
        name: "call_1k",
        program: r#"(count (:value (tool/call {:server "s" :tool "t" :args {:id 7}})))"#,
        answer: "5",
        message: || as_text(&rows(5)),
    },
];

/// An array of `count` rows of eight columns, some 215 bytes each.
fn rows(count: usize) -> String {
    let mut text = String::from("[");
    for id in 0..count {
        let (region, state) =
            (["emea", "apac", "americas", "nordics"][id % 4], ["open", "paid", "refunded"][id / 7 % 3]);
        let comma = if id == 0 { "" } else { "," };
        let _ = write!(
            text,
            r#"{comma}{{"id":{id},"customer":"Customer {:05}","region":"{region}","state":"{state}","total":{},"currency":"EUR","created_at":"2026-{:02}-{:02}T08:{:02}:00Z","note":"order \"{id}\" by phone, übliche Lieferung, no invoice sent so far"}}"#,
            id * 7_919 % 100_003,
            id * 31 % 9_973,
            id % 12 + 1,
            id % 28 + 1,
            id % 60,
        );
    }
    text.push(']');
    text
}

fn as_text(json: &str) -> Bytes {
    let escaped = json.replace('\\', r"\\").replace('"', r#"\""#);
    format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[{{"type":"text","text":"{escaped}"}}]}}}}"#)
        .into()
}

fn as_structured(json: &str) -> Bytes {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[{{"type":"text","text":"see there"}}],"structuredContent":{{"rows":{json}}}}}}}"#
    )
    .into()
}

/// What a program gets of a message that answers its call.
///
/// # Panics
/// When it is no usual answer of a tool.
fn payload(message: &Bytes) -> Payload {
    let messages = parse(message, 1).expect("JSON");
    let read = messages.iter().next().expect("one message");
    let (result, outline) = (read.result.expect("a result"), read.outline.as_ref().expect("a usual one"));
    match (outline.structured(result), outline.decoded_text()) {
        (Some(structured), _) => Payload::Json(message.slice_ref(structured.text().as_bytes())),
        (None, Some(text)) => Payload::JsonOrText(text.clone()),
        (None, None) => panic!("neither structured content nor a text with escapes"),
    }
}

/// Runs a compiled program whose calls are answered with `message`, which is read anew each time, and gives its value's readable form.
///
/// # Panics
/// When it fails.
pub fn run_over(program: &Rc<Program>, message: &Bytes) -> String {
    let limits = Limits { memory_bytes: 1 << 30, steps: 1 << 40 };
    let mut machine =
        Machine::new(program.clone(), Setup { limits, upstreams: true, ..Setup::new(library()) });
    while let Step::Wait = machine.resume(u64::MAX) {
        for call in machine.take_calls() {
            machine.complete(call.id, Reply::success(payload(message)));
        }
    }
    match machine.finish(true).result {
        Ok(value) => ptc_vm::print::readable(&value).expect("small"),
        Err(error) => panic!("{error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile;

    #[test]
    fn the_programs_give_their_answers() {
        for over in OVER_REPLIES {
            assert_eq!(run_over(&compile(over.program), &(over.message)()), over.answer, "{}", over.name);
        }
    }
}
