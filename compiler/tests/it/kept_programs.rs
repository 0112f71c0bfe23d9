//! Texts that are made of kept programs (language.md 12).

use crate::support::snapshotting::{Answer, Open, calls, compiled, drive, read_fresh, start, written};
use crate::support::suspending::Order;
use crate::support::{check, run};
use ptc_compiler::parts::{link, place};
use ptc_compiler::{CompileOptions, compile};
use ptc_vm::builtins::library;
use ptc_vm::machine::{Limits, Setup};
use ptc_vm::{Machine, Step, Value, print};
use std::rc::Rc;

/// A program that calls `b`, and `b`.
fn with_b(main: &str, b: &str) -> String {
    link(main, false, [("b", format!("{{:description \"b\"}}\n{b}").as_str())])
}

#[test]
fn a_called_program_gives_its_value() {
    let table: &[(&str, &str, &str)] = &[
        ("(program/b {:x 2})", "(* data/x 3)", "6"),
        ("(map program/b [{:x 1} {:x 2}])", "(inc data/x)", "[2 3]"),
        ("(pmap program/b [{:x 1} {:x 2}])", "(def y data/x) (defn g [z] (+ y z)) (g 10)", "[11 12]"),
        ("(-> {:x 1} (program/b) inc)", "data/x", "2"),
        ("(:a (program/b {}))", "{:a 7}", "7"),
        ("program/b", "1", "#fn[_]"),
        // names are its own, whatever is defined around it
        (
            "(def x 1) (defn inc [y] 0) (defn helper [] 5) [x (program/b {:x 2}) (inc 3)]",
            "(def x 9) (defn helper [] (inc data/x)) [x (helper)]",
            "[1 [9 3] 0]",
        ),
        (
            "(defn + [a b] 0) [(program/b {:x 2}) (+ 1 2)]",
            "[(+ data/x 1) (reduce + [1 2 3]) (map inc [data/x])]",
            "[[3 6 [3]] 0]",
        ),
        // a call begins without what the one before has defined
        ("[(program/b {:x 1}) (program/b {:x 2})]", "(defonce y data/x) y", "[1 2]"),
        (
            "(pmap (fn [n] [(program/b {:x n}) (program/b {:x 9})]) [1 2])",
            "(defonce y data/x) y",
            "[[1 9] [2 9]]",
        ),
        // `return` ends the call
        (
            "[(program/b {:x 1}) 2]",
            "(defn g [] (return 5)) (with-out-str (map (fn [_] (g)) [1 2])) 6",
            "[5 2]",
        ),
        ("(do (program/b {:x 1}) (println \"seen\") 2)", "(with-out-str (println 1) (return nil))", "2"),
        // context and argument are apart
        ("(program/b {\"x\" 1 \"y_z\" 2})", "(defn g [] data/x) [(g) data/y-z ((fn [] data/x))]", "[1 2 1]"),
        ("(program/b {})", "(require '[clojure.string :as s]) (s/upper-case \"a\")", "\"A\""),
        ("(program/b {})", "", "nil"),
        ("(program/b {})", "(if true (return 1) 2) 3", "1"),
        (
            "(let [x 1] (program/b {:x x}))",
            "(let [{:keys [a] :or {a data/x}} {}] (loop [i 0] (if (< i 3) (recur (inc i)) [a i])))",
            "[1 3]",
        ),
    ];
    let linked: Vec<String> = table.iter().map(|(main, b, _)| with_b(main, b)).collect();
    let rows: Vec<(&str, &str)> =
        linked.iter().zip(table).map(|(text, (_, _, want))| (text.as_str(), *want)).collect();
    check(&rows);
}

#[test]
fn what_a_call_cannot_take_or_give_is_told() {
    let table: &[(&str, &str, &str)] = &[
        ("(program/b 5)", "1", "!type_error type_error: (program/b …) takes a map of arguments, got number"),
        (
            "(program/b {:f inc})",
            "1",
            "!type_error type_error: the arguments of program/b must be data, got function",
        ),
        (
            "(program/b {:f [#{(fn [] 1)}]})",
            "1",
            "!type_error type_error: the arguments of program/b must be data, got function",
        ),
        (
            "(program/b {})",
            "[{:f (fn [] 1)}]",
            "!type_error type_error: the value of program/b must be data, got function",
        ),
        (
            "(program/b {})",
            "data/x",
            "!runtime_error runtime_error: data/x is not bound: the `context` object did not provide a `x` key",
        ),
        (
            "(program/b)",
            "1",
            "!invalid_arity Analysis error: (program/b {…}) takes one map of arguments, got 0",
        ),
        ("(program/c {})", "1", "!unbound_var unbound_var: no program is named c. Did you mean program/b?"),
        ("(program/other {})", "1", "!unbound_var unbound_var: no program is named other. There are b"),
        ("x (program/b {})", "(def x 1)", "!unbound_var Undefined variable: x"),
        ("(def x 1) (program/b {})", "(inc x)", "!unbound_var Undefined variable: x"),
        ("(program/b {})", "(g) (defn g [] 1)", "!unbound_var Undefined variable: g"),
        (
            "(program/b {})",
            "(defn inc [x] x)",
            "!invalid_form invalid_form: inc is a function of the language: a program that is called defines names of its own",
        ),
        ("(program/b {})", "(fail {:a 1})", "!fail {:a 1}"),
    ];
    let mut wrong = Vec::new();
    for (main, b, want) in table {
        let got = run(&with_b(main, b));
        if !got.starts_with(want) {
            wrong.push(format!("{main} / {b}\n  want {want}\n  got  {got}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(run("(program/b {})").contains("no program is named b. There are none here"));
}

#[test]
fn a_text_with_a_head_runs_without_it() {
    for text in ["\u{c}{:description \"x\"} (+ 1 2)", "\u{c} ; first\n{:a (undefined)}\n3"] {
        assert_eq!(run(text), "3", "{text:?}");
    }
    assert_eq!(run("\u{c}{:a 1}"), "nil");
    assert_eq!(run("[1\u{c}2]"), "[1 2]", "a form feed is white space");
    let twice = link("1", false, [("b", "{} 1"), ("b", "{} 2")]);
    let names: Vec<String> = (0..257).map(|n| format!("p{n}")).collect();
    let many = |count: usize| link("1", false, names.iter().take(count).map(|name| (name.as_str(), "{} 1")));
    assert_eq!(run(&many(256)), "1");
    assert!(run(&many(257)).contains("a text brings at most 256 programs along"));
    assert!(run(&twice).contains("program/b stands twice in one text"), "{}", run(&twice));
}

#[test]
fn places_are_those_of_the_files() {
    let at = |text: &str| {
        let error = compile(text, library(), &CompileOptions::default()).expect_err("refused");
        let position = error.position();
        let place = place(text, position.line);
        (
            place.map_or_else(String::new, |(name, line)| format!("{name}:{line}")),
            position.line,
            position.column,
        )
    };
    assert_eq!(at(&with_b("(program/b {})", "\n (foo 1)")), ("b:3".to_owned(), 5, 3));
    assert_eq!(at(&link("{:a 1}\n(let)", true, [("b", "{} 1")])), (String::new(), 2, 1));
    // What is not closed in one file says nothing of another.
    assert_eq!(at(&link("(f", false, [("b", "{} )")])).0, "");
    assert_eq!(at(&link("(program/b {})", false, [("b", "{} (str \"a)"), ("c", "{} \"\"")])).0, "b:1");
}

#[test]
fn a_call_of_the_host_knows_within_which_programs_it_is_made() {
    let text = link(
        "(tool/echo {}) (pmap (fn [_] (program/b {})) [1])",
        false,
        [("b", "{} (pcalls (fn [] (program/c {})))"), ("c", "{} (def t tool/echo) (map t [{}])")],
    );
    let program = compiled(&text);
    let mut machine = start(&program);
    let mut seen = Vec::new();
    let mut restored = 0;
    loop {
        match machine.resume(u64::MAX) {
            Step::Done => break,
            Step::Slice => {}
            Step::Wait => {
                let made = machine.take_calls();
                let names = |within: &[ptc_vm::machine::CalledProgram]| -> Vec<String> {
                    within.iter().map(|called| called.name().to_owned()).collect()
                };
                seen.extend(made.iter().map(|call| names(&call.within)));
                let open: Vec<Open> = made.into_iter().map(Answer::to).collect();
                machine = read_fresh(&written(&machine).expect("waits")).expect("one of this build");
                assert_eq!(machine.waiting_calls(), calls(&open));
                for (call, answer) in open {
                    assert_eq!(names(&machine.programs_of_call(call)), *seen.last().expect("seen"));
                    restored += 1;
                    machine.complete(call, answer.reply());
                }
            }
        }
    }
    assert_eq!(seen, [vec![], vec!["c".to_owned(), "b".to_owned()]]);
    assert_eq!(restored, 2);
}

/// A function that a program of another time has left calls what it called then.
#[test]
fn nothing_of_a_called_program_stays_behind() {
    for (b, value) in [("(def x 1) (defn g [] x) (g)", "1"), ("(def x 1) (fail x)", "!fail")] {
        let program = compiled(&with_b("(def kept (program/b {})) kept", b));
        let mut machine = start(&program);
        while !matches!(machine.resume(u64::MAX), Step::Done) {}
        let outcome = machine.finish(true);
        let names: Vec<String> =
            outcome.namespace.bindings().iter().map(|(name, _)| name.to_string()).collect();
        let changed: Vec<&str> = outcome.changed.iter().map(|name| &**name).collect();
        let kept: &[&str] = if value.starts_with('!') { &[] } else { &["kept"] };
        assert_eq!(
            (names, changed),
            (kept.iter().map(|name| (*name).to_owned()).collect(), kept.to_vec()),
            "{b}"
        );
    }
}

#[test]
fn a_program_costs_the_same_however_its_slices_are() {
    let text = with_b("(map program/b [{:x 1} {:x 2}])", "(reduce + (range data/x))");
    let program = compiled(&text);
    let whole = drive(start(&program), Vec::new(), Order::First, &mut |machine, _| machine);
    let mut machine = start(&program);
    while !matches!(machine.resume(1), Step::Done) {}
    assert_eq!(machine.steps_used(), whole.2);
}

/// How a program ends, its value printed at its own expense.
fn ending(source: &str) -> String {
    let program = match compile(source, library(), &CompileOptions::default()) {
        Ok(program) => program,
        Err(error) => return format!("!{} {}", error.reason(), error.message()),
    };
    let limits = Limits { steps: 1_000_000, ..Limits::default() };
    let mut machine =
        Machine::new(Rc::new(program), Setup { limits, strict_data: true, ..Setup::new(library()) });
    while let Step::Slice = machine.resume(100_000) {}
    let shown = machine.inspect(print::readable);
    match (machine.finish(true).result, shown) {
        (Ok(_), Some(Ok(text))) => text,
        (Err(error), _) | (_, Some(Err(error))) => format!("!{} {}", error.reason(), error.message()),
        (Ok(_), None) => "!nothing".to_owned(),
    }
}

/// The programs of the conformance data mean the same when they are called, and as the main part of a text with a head.
#[test]
fn programs_of_the_conformance_data_give_the_same_when_they_are_called() {
    let data = include_str!("../../../tests/conformance/given.jsonl");
    let (mut same, mut wrong) = (0, Vec::new());
    for line in data.lines() {
        let Ok(Some(Value::Map(case))) = ptc_vm::json::parse(line.as_bytes()) else { continue };
        let Some(Value::Str(source)) = case.get(&Value::str("program")) else { continue };
        let source = source.as_str();
        let plain = ending(source);
        if source.contains('\u{c}') || source.contains("*1") || plain.contains("limit") {
            continue;
        }
        let kept = ending(&link(&format!("{{:description \"x\"}} {source}"), true, []));
        // Places in messages are others.
        let reason = |shown: &str| shown.split(' ').next().unwrap_or_default().to_owned();
        let is_same = kept == plain || plain.starts_with('!') && reason(&kept) == reason(&plain);
        if !is_same {
            wrong.push(format!("{source}\n  plain {plain}\n  kept  {kept}"));
        }
        let called = ending(&with_b("(program/b {})", source));
        // It gives data only, and defines names of its own only; errors name what they name.
        let is_refused =
            ["must be data", "is a function of the language", "Undefined variable", "step limit"]
                .iter()
                .any(|text| called.contains(text));
        if called == plain {
            same += 1;
        } else if !is_refused && !plain.starts_with('!') {
            wrong.push(format!("{source}\n  plain  {plain}\n  called {called}"));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(same > 1000, "{same} are the same");
}
