//! What walks over a text with a pattern are charged: exact numbers of steps, no times.

use ptc_compiler::{CompileOptions, compile};
use ptc_vm::builtins::library;
use ptc_vm::machine::{Limits, Setup};
use ptc_vm::{Machine, Step};
use std::rc::Rc;

/// Steps of `walk`, a program over `text`, which is `unit` so many times.
fn steps(walk: &str, unit: &str, times: usize) -> u64 {
    let run = |program: &str| {
        let source = format!("(let [text (apply str (repeat {times} {unit:?}))] {program})");
        let limits = Limits { memory_bytes: 1 << 30, steps: 1 << 40 };
        let program = compile(&source, library(), &CompileOptions::default()).expect("a program");
        let mut machine = Machine::new(Rc::new(program), Setup { limits, ..Setup::new(library()) });
        while let Step::Slice = machine.resume(20_000) {}
        let outcome = machine.finish(true);
        outcome.result.unwrap_or_else(|error| panic!("{source}: {error}"));
        outcome.steps
    };
    run(walk) - run("(count text)")
}

#[test]
fn a_walk_costs_as_much_an_element_in_a_long_text_as_in_a_short_one() {
    for (walk, unit) in [
        (r#"(count (re-seq #"[a-z]+[0-9]+" text))"#, "abc12 "),
        (r#"(count (re-seq #"\w+" text))"#, "abc12 "),
        (r#"(count (re-seq #"code=(\d+)" text))"#, "code=12 "),
        (r#"(count (re-seq #"(\w+)\s*=\s*(\d+)" text))"#, "key = 12, "),
        (r#"(count (re-seq #"'.*?'" text))"#, "'q' "),
        (r#"(count (re-seq #"(?m)^(\w+): (.*)$" text))"#, "a: b\n"),
        (r#"(count (re-seq #"(?s)<(.+?)>" text))"#, "<a\n>"),
        (r#"(count (re-seq #"\ba+ b+\b" text))"#, "aa bb "),
        (r#"(count (re-seq #"[a-z]{1,200}" text))"#, "abc "),
        (r#"(count (clojure.string/split text #"\s*,\s*"))"#, "ab , "),
        (r#"(count (clojure.string/replace text #"(a+)b" "$1"))"#, "aab "),
        (r#"(count (clojure.string/replace text #"(a+)b" (fn [m] "c")))"#, "aab "),
    ] {
        let [short, long] = [1_000, 10_000].map(|n| steps(walk, unit, n) as f64 / n as f64);
        assert!(short > 1.0, "{walk}: {short} steps");
        assert!(long < 1.02 * short, "{walk}: {short}, then {long} steps");
    }
    // Where no automaton can read (a word boundary beside a letter that is not ASCII), an element costs more as long as the
    // rest of the text is long; each further one costs the same.
    let walk = r#"(count (re-seq #"\b\w.*é|è$" text))"#;
    let [short, long] = [10_000, 40_000].map(|n| {
        let [one, two] = [n, 2 * n].map(|n| steps(walk, "aé è b\n", n) as f64);
        (two - one) / n as f64
    });
    assert!(long < 1.02 * short, "{walk}: {short}, then {long} steps for one more");
    let walk = r#"(count (re-seq #"(?s)<(.+?)>" text))"#;
    let [short, long] = [1_000, 100_000].map(|n| steps(walk, "<a\n>", n) as f64 / n as f64);
    assert!(long < 1.02 * short, "{walk}: {short}, then {long} steps");
}

/// What may look at all that is left, and does, pays for it.
#[test]
fn a_walk_that_looks_at_the_rest_each_time_is_charged_for_it() {
    for walk in [
        r#"(count (re-seq #"a.*z|a" text))"#,
        r#"(count (re-seq #"(?m)a.*z$|a" text))"#,
        r#"(count (re-seq #"é|(a).*\bz|a" text))"#,
        r#"(count (clojure.string/split text #"a(.*z)?"))"#,
        r#"(clojure.string/replace text #"a(?:[^z]*z)?" "")"#,
    ] {
        for unit in ["aaaaaaaa", "aaéaaaa"] {
            let (n, times) = (8 * 100, 100);
            let (one, two) = (steps(walk, unit, times), steps(walk, unit, 2 * times));
            // A step for 8 bytes, half of the text in the mean; less near its end and where there is no `a`.
            let least = (n * n / 2 / 8) as u64 / 2;
            assert!(one > least && two > 3 * one, "{walk} on {unit}: {one}, then {two} steps, not {least}");
        }
    }
}
