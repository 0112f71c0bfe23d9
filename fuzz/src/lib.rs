//! What the fuzz targets check. Each function takes the fuzzer's bytes and panics when a promise is broken.

use ptc_compiler::CompileOptions;
use ptc_vm::machine::{Limits, Setup};
use ptc_vm::{Machine, Reason, Step, print};
use std::rc::Rc;

/// Limits small enough that a fuzz run tries many programs.
const LIMITS: Limits = Limits { memory_bytes: 4 << 20, steps: 200_000 };

fn compiled(text: &str) -> Option<Rc<ptc_vm::Program>> {
    match ptc_compiler::compile(text, &CompileOptions::default()) {
        Ok(program) => Some(Rc::new(program)),
        Err(error) => {
            let position = error.position();
            let lines = text.split('\n').count();
            assert!(position.line >= 1 && position.line as usize <= lines, "{error} at {position:?} of {lines} lines");
            assert!(!error.message().is_empty());
            None
        }
    }
}

/// How a program ended, as far as two runs must agree.
#[derive(Debug, PartialEq)]
struct Ending {
    result: Result<String, (Reason, String)>,
    prints: Vec<String>,
    steps: u64,
}

fn run(program: &Rc<ptc_vm::Program>, slice: u64) -> Ending {
    let mut machine = Machine::new(program.clone(), Setup { limits: LIMITS, ..Setup::default() });
    let mut rounds = 0u64;
    loop {
        match machine.resume(slice) {
            Step::Done => break,
            Step::Slice => rounds += 1,
            Step::Wait => panic!("a program without upstreams waits"),
        }
        assert!(rounds <= LIMITS.steps, "a slice made no progress");
    }
    let shown = machine.inspect(print::readable);
    let outcome = machine.finish(true);
    assert!(outcome.steps <= LIMITS.steps);
    assert!(outcome.memory_peak <= LIMITS.memory_bytes + (1 << 20), "peak {}", outcome.memory_peak);
    let result = match outcome.result {
        Ok(_) => shown.expect("a value").map_err(|e| (e.reason(), e.message().to_owned())),
        Err(error) => Err((error.reason(), error.message().to_owned())),
    };
    Ending {
        result,
        prints: outcome.prints.iter().map(|p| p.as_str().to_owned()).collect(),
        steps: outcome.steps,
    }
}

/// Reading any bytes gives tokens and forms, or an error inside the text.
pub fn reader(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = ptc_compiler::reader::read(text);
    }
}

/// Compiling any text gives a program or an error that names a place in it.
pub fn compile(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = compiled(text);
    }
}

/// Any program ends by value, error or named limit within its limits, and the same way whatever the slices. What it
/// prints as a value reads back to the same print.
pub fn vm(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    // The clock readers are the only source of difference.
    if text.contains("Date.") || text.contains("currentTimeMillis") {
        return;
    }
    let Some(program) = compiled(text) else { return };
    let whole = run(&program, u64::MAX);
    assert_eq!(whole, run(&program, 7), "slices of 7 steps");
}

/// JSON that parses is written and parsed again to the same text.
pub fn json(data: &[u8]) {
    let Ok(Some(value)) = ptc_vm::json::parse(data) else { return };
    let mut once = Vec::new();
    if ptc_vm::json::write(&value, &mut once).is_err() {
        return;
    }
    let again = ptc_vm::json::parse(&once).expect("no limits").expect("what we write is JSON");
    let mut twice = Vec::new();
    ptc_vm::json::write(&again, &mut twice).expect("as before");
    assert_eq!(once, twice);
}
