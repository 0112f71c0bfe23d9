//! Programs, compiled and run.

#![allow(dead_code, reason = "each test file uses its part")]

pub(crate) mod snapshotting;
pub(crate) mod suspending;

use std::rc::Rc;

use ptc_compiler::verify::verify;
use ptc_compiler::{CompileOptions, compile};
use ptc_vm::builtins::library;
use ptc_vm::machine::Setup;
use ptc_vm::{Machine, Program, Step, print};

/// The value as `pr-str` prints it, or `!reason message`.
pub(crate) fn run(source: &str) -> String {
    match compile(source, library(), &CompileOptions::default()) {
        Ok(program) => {
            if let Err(why) = verify(&program) {
                panic!("{source}\n{why}");
            }
            run_program(program)
        }
        Err(error) => format!("!{} {}{}", error.reason(), error.message(), error.hint()),
    }
}

/// The outcome of a compiled program.
pub(crate) fn run_program(program: Program) -> String {
    let mut machine = Machine::new(Rc::new(program), Setup::new(library()));
    while let Step::Slice = machine.resume(100_000) {}
    match machine.finish(true).result {
        Ok(value) => print::readable(&value).unwrap_or_else(|error| format!("!{}", error.message())),
        // The hint as people and models read it, right behind the message.
        Err(error) => format!("!{} {}{}", error.reason(), error.message(), error.hint().unwrap_or_default()),
    }
}

/// Checks a table of programs and what they give.
pub(crate) fn check(table: &[(&str, &str)]) {
    let mut wrong = Vec::new();
    for (source, want) in table {
        let got = run(source);
        if got != *want {
            wrong.push(format!("{source}\n  want {want}\n  got  {got}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), table.len(), wrong.join("\n"));
}
