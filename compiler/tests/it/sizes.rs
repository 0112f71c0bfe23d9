//! Programs of unusual shape: deep, long, wide. On threads with little stack, since a host may run many of them.

use std::fmt::Write;

use crate::support::run;
use ptc_compiler::verify::verify;
use ptc_compiler::{CompileOptions, compile};
use ptc_vm::builtins::library;
use ptc_vm::machine::{Limits, Setup};
use ptc_vm::{Machine, Step};
use std::rc::Rc;

/// What a thread of a host may have. Debug builds take several times the stack of release builds.
const STACK_BYTES: usize = if cfg!(debug_assertions) { 1024 * 1024 } else { 256 * 1024 };

fn on_small_stack<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(work)
        .expect("a thread")
        .join()
        .expect("no panic")
}

/// `open` n times, the middle, `close` n times.
fn nested(open: &str, middle: &str, close: &str, times: usize) -> String {
    format!("{}{middle}{}", open.repeat(times), close.repeat(times))
}

/// The stacks double as they grow: asked for only afterwards, a growth could pass the limit by as much as the limit is.
#[test]
fn stacks_are_asked_for_before_they_grow() {
    for source in [
        "((fn f [n] (+ 1 (f n))) 1)",
        "((fn f [a b c d e] (+ a (f a b c d e))) 1 2 3 4 5)",
        "((fn f [n] (map f [n])) 1)",
        "(apply (fn [& xs] (count xs)) (range 100000))",
    ] {
        let program =
            Rc::new(compile(source, library(), &CompileOptions::default()).expect("a right program"));
        for limit in [3 << 20, 4 << 20, 5 << 20] {
            let limits = Limits { memory_bytes: limit, steps: 10_000_000 };
            let mut machine = Machine::new(program.clone(), Setup { limits, ..Setup::new(library()) });
            while !matches!(machine.resume(u64::MAX), Step::Done) {}
            let peak = machine.finish(false).memory_peak;
            assert!(peak <= limit + (1 << 20), "{source}: {peak} bytes at the peak, of {limit}");
        }
    }
}

#[test]
fn every_form_may_be_nested_as_deep_as_the_text_may_be() {
    for (open, middle, close) in [
        ("(", "", ")"),
        ("[", "1", "]"),
        ("{:a ", "1", "}"),
        ("#{", "1", "}"),
        ("(inc ", "1", ")"),
        ("(do ", "1", ")"),
        ("(if 1 ", "1", ")"),
        ("(let [x ", "1", "] x)"),
        ("(let [x 1] ", "1", ")"),
        ("(fn [x] ", "1", ")"),
        ("(fn f ([x] 1) ([x y] ", "1", "))"),
        ("(loop [x 1] ", "1", ")"),
        ("(cond 1 ", "1", ")"),
        ("(case 1 1 ", "1", ")"),
        ("(condp = 1 1 ", "1", ")"),
        ("(and 1 ", "1", ")"),
        ("(if-let [x 1] ", "1", ")"),
        ("(-> ", "1", " inc)"),
        ("(->> 1 (let [a 1] ", "1", "))"),
        ("(cond-> 1 true (+ ", "1", "))"),
        ("(for [x [1]] ", "1", ")"),
        ("(for [x ", "[1]", "] x)"),
        ("(def x ", "1", ")"),
        ("(letfn [(f [] ", "1", ")] 1)"),
        ("(when-first [x [1]] ", "1", ")"),
        ("(task 1 ", "1", ")"),
        ("(fn [[", "x", "]] 1)"),
    ] {
        let times = 64 / open.matches(['(', '[', '{']).count().clamp(1, 2);
        on_small_stack(move || {
            for times in [times / 2, times - 2, times, 65] {
                let source = nested(open, middle, close, times);
                if let Ok(program) = compile(&source, library(), &CompileOptions::default()) {
                    verify(&program).unwrap_or_else(|why| panic!("{source}\n{why}"));
                }
            }
        });
    }
}

#[test]
fn the_depth_limit_is_found_at_once() {
    on_small_stack(|| {
        for source in ["(".repeat(100_000), nested("(", "", ")", 100_000), nested("#(", "%", ")", 100_000)] {
            let error = compile(&source, library(), &CompileOptions::default()).expect_err("too deep");
            assert_eq!(error.reason().as_str(), "parse_error");
        }
    });
}

#[test]
fn long_forms_need_no_stack() {
    let repeat = |text: &str, times: usize| text.repeat(times);
    on_small_stack(move || {
        let clauses: String = (0..5_000).map(|n| format!("(= x {n}) {n} ")).collect();
        let cases: String = (0..5_000).map(|n| format!("{n} {n} ")).collect();
        let bindings: String = (1..5_000).fold("a0 0 ".to_owned(), |mut text, n| {
            let _ = write!(text, "a{n} (inc a{}) ", n - 1);
            text
        });
        for (source, want) in [
            (format!("(-> 0 {})", repeat("inc ", 10_000)), "10000"),
            (format!("(-> 0 {})", repeat("(+ 1) ", 10_000)), "10000"),
            (format!("(->> 0 {})", repeat("(+ 1) ", 10_000)), "10000"),
            (format!("(as-> 0 x {})", repeat("(inc x) ", 10_000)), "10000"),
            (format!("(cond-> 0 {})", repeat("true inc ", 10_000)), "10000"),
            (format!("(some-> 0 {})", repeat("inc ", 10_000)), "10000"),
            (format!("(some->> 0 {})", repeat("(+ 1) ", 10_000)), "10000"),
            (format!("(let [x 4999] (cond {clauses} :else :none))"), "4999"),
            (format!("(case 4999 {cases})"), "4999"),
            (format!("(condp = 4999 {cases})"), "4999"),
            (format!("(and {})", repeat("1 ", 20_000)), "1"),
            (format!("(or {} 7)", repeat("nil ", 20_000)), "7"),
            (format!("(do {})", repeat("1 ", 20_000)), "1"),
            (format!("(count [{}])", repeat("1 ", 20_000)), "20000"),
            (format!("(+ {})", repeat("1 ", 20_000)), "20000"),
            (format!("(let [{bindings}] a4999)"), "4999"),
            (format!("(first (for [{}] 1))", repeat("x [1] ", 500)), "1"),
            (repeat("(def x 1) ", 10_000), "#'x"),
        ] {
            let got = run(&source);
            assert_eq!(got, want, "{}", &source[..60.min(source.len())]);
        }
    });
}

#[test]
fn special_forms_in_a_thread_nest_and_have_a_limit() {
    on_small_stack(|| {
        let steps = |times: usize| format!("(-> 0 {})", "(cond-> true inc) ".repeat(times));
        assert_eq!(run(&steps(25)), "25");
        assert!(run(&steps(10_000)).starts_with("!invalid_thread_form "));
    });
}

#[test]
fn frames_too_large_for_an_instruction_are_refused() {
    let bindings: String = (0..70_000).map(|n| format!("a{n} 1 ")).collect();
    let options = CompileOptions { max_names: 100_000, ..CompileOptions::default() };
    let error =
        compile(&format!("(let [{bindings}] (case 1 1 2))"), library(), &options).expect_err("too large");
    assert_eq!(error.reason().as_str(), "compile_memory_exceeded");
}
