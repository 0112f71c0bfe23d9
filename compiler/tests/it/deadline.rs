//! A deadline is met in the middle of a builtin's work, which may be long on little memory: values are shared.

use ptc_compiler::CompileOptions;
use ptc_vm::builtins::library;
use ptc_vm::machine::{Limits, Setup};
use ptc_vm::meter::Deadline;
use ptc_vm::{Machine, Reason, Step};
use std::cell::Cell;
use std::rc::Rc;

/// Looks at the clock until the deadline; each one is some ten thousand steps of a builtin after the last.
const LOOKS: u64 = 20;
/// So many steps that nothing here takes them all.
const STEPS: u64 = 1 << 50;

thread_local! {
    static LOOKED: Cell<u64> = const { Cell::new(0) };
}

/// A clock that moves only when somebody looks.
fn clock() -> u64 {
    LOOKED.replace(LOOKED.get() + 1)
}

/// The program, run to its end with the deadline at `at`.
fn ended(source: &str, memory_bytes: u64, at: u64) -> Machine {
    LOOKED.set(0);
    let program = ptc_compiler::compile(source, library(), &CompileOptions::default()).expect("compiles");
    let setup = Setup {
        limits: Limits { memory_bytes, steps: STEPS },
        deadline: Some(Deadline { clock, at, allowed_ms: 7 }),
        ..Setup::new(library())
    };
    let mut machine = Machine::new(Rc::new(program), setup);
    assert!(matches!(machine.resume(STEPS), Step::Done));
    machine
}

fn run(source: &str, memory_bytes: u64, at: u64) -> (ptc_vm::Result<ptc_vm::Value>, u64) {
    let outcome = ended(source, memory_bytes, at).finish(true);
    (outcome.result, outcome.steps)
}

const TREES: &str = "(def tree (fn [n] (reduce (fn [a _] [a a]) [n] (range 60))))";

#[test]
fn a_builtin_that_works_for_long_ends_at_the_deadline() {
    for work in ["(flatten (tree []))", "(count (tree-seq vector? seq (tree [])))", "(str (tree []))"] {
        let (result, _) = run(&format!("{TREES} {work}"), 4 << 20, LOOKS);
        let Err(error) = result else { panic!("{work} has a value") };
        if error.reason() != Reason::MemoryExceeded {
            assert_eq!(error.reason(), Reason::Timeout, "{work}: {error}");
            assert_eq!(error.message(), "execution exceeded 7ms limit", "{work}");
            assert_eq!(LOOKED.get(), LOOKS + 1, "{work}: nobody looks at the clock once the time is over");
        }
    }
}

#[test]
fn long_twins_are_compared_until_the_deadline() {
    const TWINS: &str = "(def a (mapv vector (range 100000))) (def b (mapv vector (range 100000)))";
    let (built, _) = run(TWINS, 256 << 20, u64::MAX);
    assert!(built.is_ok());
    let soon_after = LOOKED.get() + 2;
    for work in [
        "(= a b)",
        "(compare a b)",
        "(contains? #{a} b)",
        "(sort [a b])",
        "(distinct [a b])",
        "(group-by identity [a b])",
        "(frequencies [a b])",
    ] {
        let (result, _) = run(&format!("{TWINS} {work}"), 256 << 20, soon_after);
        let Err(error) = result else { panic!("{work} has a value") };
        assert_eq!(error.message(), "execution exceeded 7ms limit", "{work}");
        assert_eq!(LOOKED.get(), soon_after + 1, "{work}: nobody looks at the clock once the time is over");
    }
}

#[test]
fn a_value_whose_text_takes_too_long_ends_at_the_deadline() {
    let mut machine = ended(&format!("{TREES} [(tree []) (tree [])]"), 4 << 20, LOOKS);
    let looked = machine.inspect(|value| ptc_vm::print::readable(value).map(|text| text.len()));
    let Some(Err(error)) = looked else { panic!("it has a text") };
    assert!(matches!(error.reason(), Reason::Timeout | Reason::MemoryExceeded), "{error}");
}

#[test]
fn a_builtin_that_builds_for_long_ends_at_the_deadline() {
    for work in [
        "(into #{} (range 10000000))",
        "(frequencies (range 10000000))",
        "(interleave (range 10000000) (range 10000000))",
        "(clojure.string/join \",\" (range 10000000))",
    ] {
        let (result, _) = run(work, 1 << 30, LOOKS);
        let Err(error) = result else { panic!("{work} has a value") };
        assert_eq!(error.reason(), Reason::Timeout, "{work}: {error}");
    }
}

#[test]
fn before_the_deadline_nothing_is_different() {
    let source =
        "(let [a (range 200000) b (vec (range 200000))] [(= a b) (count (distinct b)) (compare a b)])";
    let (late, steps) = run(source, 64 << 20, u64::MAX);
    assert!(LOOKED.get() > 0, "the clock was looked at");
    let late = ptc_vm::print::readable(&late.expect("has a value")).expect("small");
    assert_eq!(late, "[true 200000 0]");
    let (_, again) = run(source, 64 << 20, u64::MAX - 1);
    assert_eq!(steps, again);
}
