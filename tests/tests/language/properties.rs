//! What holds for every program, tried on all programs of the conformance data: slices change nothing, and what is
//! printed reads back as what it was.

use ptc_compiler::{CompileOptions, compile};
use ptc_tests::conformance::json_lines;
use ptc_tests::with_room;
use ptc_vm::builtins::library;
use ptc_vm::machine::{Limits, Reply, Setup};
use ptc_vm::{Machine, Program, Step, Value, json, print};
use std::fmt::Write;
use std::rc::Rc;

/// Programs of the data with their contexts. Those with several steps come step by step, each on its own.
fn programs() -> Vec<(String, Option<ptc_mcp::json::Value>)> {
    let mut programs = Vec::new();
    for case in json_lines("given.jsonl") {
        let steps = case["steps"].as_array().cloned().unwrap_or_else(|| vec![case.clone()]);
        for step in steps {
            let program = step["program"].as_str().expect("a program").to_owned();
            programs.push((program, step.get("context").filter(|context| !context.is_null()).cloned()));
        }
    }
    assert!(programs.len() > 4_000, "only {} programs", programs.len());
    programs
}

/// What a run shows.
#[derive(Debug, PartialEq)]
struct Shown {
    result: String,
    prints: Vec<String>,
    steps: u64,
}

fn run(program: &Rc<Program>, context: Option<&ptc_mcp::json::Value>, slice: u64) -> (Shown, Option<Value>) {
    let context = context
        .and_then(|context| json::parse(context.to_string().as_bytes()).expect("JSON within the limits"))
        .unwrap_or(Value::Nil);
    // Few enough steps that endless loops of the data end soon when each step is a slice.
    let limits = Limits { steps: 50_000, ..Limits::default() };
    let mut machine = Machine::new(program.clone(), Setup { context, limits, ..Setup::new(library()) });
    loop {
        match machine.resume(slice) {
            Step::Done => break,
            Step::Slice => {}
            Step::Wait => {
                for call in machine.take_calls() {
                    machine.complete(
                        call.id,
                        Reply::Raise(ptc_vm::Error::new(ptc_vm::Reason::RuntimeError, "no host")),
                    );
                }
            }
        }
    }
    // Under the program's own meters: a value may be an enormous tree by sharing.
    let printed = machine.inspect(print::readable).transpose().map(Option::unwrap_or_default);
    let outcome = machine.finish(true);
    let (result, value) = match (outcome.result, printed) {
        (Ok(value), Ok(printed)) => (printed, Some(value)),
        (Err(error), _) | (_, Err(error)) => (format!("!{} {}", error.reason(), error.message()), None),
    };
    let prints = outcome.prints.iter().map(|line| line.as_str().to_owned()).collect();
    (Shown { result, prints, steps: outcome.steps }, value)
}

#[test]
fn slices_change_nothing() {
    with_room(run_in_slices);
}

fn run_in_slices() {
    let mut wrong = String::new();
    let mut tried = 0;
    for (source, context) in programs() {
        let Ok(program) = compile(&source, library(), &CompileOptions::default()) else {
            continue;
        };
        let program = Rc::new(program);
        let (whole, _) = run(&program, context.as_ref(), u64::MAX);
        for slice in [1, 17] {
            let (sliced, _) = run(&program, context.as_ref(), slice);
            if sliced != whole {
                let _ = writeln!(wrong, "{source}\n  whole       {whole:?}\n  slices of {slice} {sliced:?}");
            }
        }
        tried += 1;
    }
    assert!(tried > 3_000, "only {tried} programs compiled");
    assert!(wrong.is_empty(), "{wrong}");
}

/// Whether a printed value is data: what has no literal (functions, vars, dates, special floats) prints as a
/// description, which is not meant to be read.
fn is_data(value: &Value) -> bool {
    match value {
        Value::Nil | Value::True | Value::False | Value::Int(_) | Value::Keyword(_) => true,
        // A literal has at most 100 digits (language.md 1.3).
        Value::BigInt(_) => print::readable(value).is_ok_and(|text| text.len() <= 100),
        // Backspace prints as `\b` (language.md 6.1), which literals keep as two characters (ruling 8).
        Value::Str(text) => !text.as_str().contains('\u{8}'),
        Value::Float(x) => x.is_finite(),
        Value::Vector(items) => items.iter().all(|item| is_data(&item)),
        // What is printed of a list is a call to who reads it.
        Value::List(_) => false,
        Value::Map(map) => map.iter().all(|(key, value)| is_data(key) && is_data(value)),
        Value::Set(set) => set.iter().all(is_data),
        _ => false,
    }
}

fn json_text(value: &Value) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    json::write(value, &mut text).is_ok().then_some(text)
}

#[test]
fn what_is_printed_reads_back() {
    with_room(read_back);
}

fn read_back() {
    let mut wrong = String::new();
    let mut tried = 0;
    for (source, context) in programs() {
        let Ok(program) = compile(&source, library(), &CompileOptions::default()) else {
            continue;
        };
        let (shown, value) = run(&Rc::new(program), context.as_ref(), u64::MAX);
        let Some(value) = value.filter(is_data) else { continue };
        let again = match compile(&shown.result, library(), &CompileOptions::default()) {
            Ok(program) => run(&Rc::new(program), None, u64::MAX).0.result,
            Err(error) => format!("!{} {}", error.reason(), error.message()),
        };
        if again != shown.result {
            let _ = writeln!(wrong, "{source}\n  printed {}\n  again   {again}", shown.result);
        }
        // What a program reads out of its own print is what JSON readers read, too.
        if let Some(text) = json_text(&value) {
            let read = |text: &[u8]| json::parse(text).expect("within our limits").expect("JSON");
            // Once read, all keys are strings, whose order may be another than that of keywords and numbers.
            let once = json_text(&read(&text)).expect("what was read can be written");
            let twice = json_text(&read(&once)).expect("what was read can be written");
            if twice != once || once.len() != text.len() {
                let [text, once] = [&text, &once].map(|text| String::from_utf8_lossy(text));
                let _ = writeln!(wrong, "{source}\n  as JSON {text}\n  again   {once}");
            }
        }
        tried += 1;
    }
    assert!(tried > 2_500, "only {tried} programs gave data");
    assert!(wrong.is_empty(), "{wrong}");
}
