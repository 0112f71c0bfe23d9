//! A host call may stand in any function that is given to any builtin, and in any form: the program waits there and
//! goes on, in whatever order the replies come and however small the slices are.

use crate::support::suspending::{ASKING, DIRECT, Order, PROGRAMS};
use ptc_compiler::{CompileOptions, compile};
use ptc_vm::builtins::{Native, library};
use ptc_vm::machine::{HostRequest, Payload, PendingCall, Reply, Setup};
use ptc_vm::{Machine, Step, print};
use std::rc::Rc;

/// Builtins that answer with a frame but call no function of the program.
const CALL_NOTHING: &[&str] = &[
    "apropos",
    "ask",
    "dir",
    "doc",
    "meta",
    "resource/list",
    "resource/templates",
    "resource/read",
    "sleep-ms",
    "resource/complete",
    "prompt/list",
    "prompt/get",
    "prompt/complete",
    "split",
    "join",
    ".split",
    ".replaceAll",
    ".replaceFirst",
    "String/join",
    "re-seq",
    "re-split",
    "distinct",
    "dedupe",
    "take",
    "drop",
    "take-nth",
    "partition-all",
    "interpose",
    "prewalk-replace",
    "postwalk-replace",
    "keywordize-keys",
    "stringify-keys",
    "keywordize-keys",
];

/// What a run shows: value or error, prints, steps.
fn run(definition: &str, program: &str, order: Order, slice: u64) -> (String, Vec<String>, u64) {
    let source = format!("{definition} {program}");
    let compiled = compile(&source, library(), &CompileOptions::default())
        .unwrap_or_else(|error| panic!("{source}: {error:?}"));
    let setup = Setup { tools: vec![Rc::from("echo")], ..Setup::new(library()) };
    let mut machine = Machine::new(Rc::new(compiled), setup);
    let mut open: Vec<PendingCall> = Vec::new();
    let mut seed = match order {
        Order::Any(seed) => seed,
        _ => 0,
    };
    loop {
        let step = machine.resume(slice);
        open.extend(machine.take_calls());
        match step {
            Step::Done => break,
            Step::Slice => {}
            Step::Wait => {
                assert!(!open.is_empty(), "{source}: waits for nothing");
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let next = match order {
                    Order::First => 0,
                    Order::Last => open.len() - 1,
                    Order::Any(_) => (seed >> 33) as usize % open.len(),
                };
                let call = open.remove(next);
                let HostRequest::Tool { arguments, .. } = call.request else {
                    panic!("{source}: not a tool")
                };
                machine.complete(call.id, Reply::Value(Payload::Json(arguments.into())));
            }
        }
    }
    let outcome = machine.finish(true);
    let shown = match &outcome.result {
        Ok(value) => print::readable(value).expect("printable"),
        Err(error) => format!("!{} {}", error.reason(), error.message()),
    };
    (shown, outcome.prints.iter().map(|line| line.as_str().to_owned()).collect(), outcome.steps)
}

#[test]
fn a_call_waits_inside_every_function_and_form() {
    for program in PROGRAMS {
        let (want, prints, _) = run(DIRECT, program, Order::First, u64::MAX);
        assert!(!want.starts_with('!') || program.contains("fail"), "{program}: {want}");
        let (got, printed, steps) = run(ASKING, program, Order::First, u64::MAX);
        assert_eq!((&got, &printed), (&want, &prints), "{program}");
        for slice in [1, 3, u64::MAX] {
            for order in [Order::Last, Order::Any(1)] {
                let again = run(ASKING, program, order, slice);
                assert_eq!(
                    again,
                    (want.clone(), prints.clone(), steps),
                    "{program}, slices of {slice}, {order:?}"
                );
            }
        }
    }
}

/// Three of each at once, so that the calls of one program are answered between those of others.
#[test]
fn the_order_of_replies_changes_nothing() {
    for program in
        PROGRAMS.iter().filter(|program| !program.contains("(def a") && !program.contains("(return"))
    {
        let program = format!("(pmap (fn [n] {program}) (range 3))");
        let (want, prints, steps) = run(ASKING, &program, Order::First, u64::MAX);
        for order in [Order::Last, Order::Any(2), Order::Any(3)] {
            let (got, printed, used) = run(ASKING, &program, order, 7);
            assert_eq!((&got, &printed), (&want, &prints), "{program}, {order:?}");
            // How far the other branches had come when one failed depends on the world.
            assert!(used == steps || want.starts_with('!'), "{program}, {order:?}: {used} steps and {steps}");
        }
    }
}

/// The failure of the first branch, in the order of the program, is the program's failure.
#[test]
fn the_order_of_replies_does_not_choose_the_failure() {
    for program in [
        "(pmap (fn [n] (if (= 0 (f n)) (inc \"a\") (count 5))) [0 1])",
        "(pmap (fn [n] (if (= 0 (f n)) (+ 1 (f 2)) (inc {}))) [0 1 2])",
        "(pcalls (fn [] (f 1)) (fn [] (do (f 2) (inc []))) (fn [] (do (f 3) (nth [] 4))))",
        "(map (fn [x] (pmap (fn [y] (inc (str (f x) (f y)))) [1 2])) [1 2])",
    ] {
        let (want, ..) = run(ASKING, program, Order::First, u64::MAX);
        assert!(want.starts_with('!'), "{program} gives {want}");
        for order in [Order::Last, Order::Any(2), Order::Any(3), Order::Any(5)] {
            assert_eq!(run(ASKING, program, order, 5).0, want, "{program}, {order:?}");
        }
    }
}

#[test]
fn every_builtin_that_calls_functions_has_its_program() {
    let missing: Vec<&str> = library()
        .all()
        .iter()
        .filter(|builtin| matches!(builtin.native, Native::Frame(_)))
        .filter(|builtin| !CALL_NOTHING.contains(&builtin.name))
        .filter(|builtin| {
            let spellings =
                || std::iter::once(builtin.name).chain(library().aliases(builtin).iter().copied());
            !PROGRAMS.iter().any(|program| {
                spellings().any(|name| {
                    program.contains(&format!("({name} ")) || program.contains(&format!("({name}) "))
                })
            })
        })
        .map(|builtin| builtin.name)
        .collect();
    assert!(missing.is_empty(), "no program in PROGRAMS calls {missing:?}");
}
