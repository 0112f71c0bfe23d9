//! The meters refuse at every point: each program is run with every step limit up to what it needs, and with every
//! memory limit up to its peak. It ends with its value or with the limit's own error, and its definitions are undone.

use ptc_compiler::{CompileOptions, compile};
use ptc_vm::builtins::library;
use ptc_vm::machine::{HostRequest, Limits, Namespace, Payload, Reply, Setup};
use ptc_vm::{Machine, Program, Reason, Step, print};
use std::rc::Rc;

/// Programs beyond the examples of the registry: definitions, closures, branches, host calls, prints.
const PROGRAMS: &[&str] = &[
    "(def a [1 2 3]) (defn f [x] (conj a x)) (def a (f 4)) (map f a)",
    "(defn g [n] (if (zero? n) [] (conj (g (dec n)) n))) (g 9)",
    "(def kept {:x 1}) (def kept (assoc kept :y (pmap (fn [i] (* i i)) (range 4)))) kept",
    "(println \"one\") (doseq [x [1 2 3]] (println x {:x x})) (def printed true)",
    "(def r (pmap (fn [i] (get (tool/echo {:x i}) \"x\")) [3 1 2])) (reduce + r)",
    "(loop [i 0 acc {}] (if (= i 20) acc (recur (inc i) (assoc acc (str \"k\" i) [i (* i 1000000007)]))))",
    "(let [text (apply str (repeat 30 \"aé\"))] [(str/upper-case text) (str/split text #\"é\") (count text)])",
    "(reduce * (range 1 40))",
    "(for [x (range 5) y (range x) :when (odd? (+ x y)) :let [z (* x y)]] {:x x :y y :z z})",
    "(sort-by (fn [m] (- (:n m))) (map (fn [n] {:n n}) (range 12)))",
    "(json/parse-string \"{\\\"a\\\": [1, 2.5, {\\\"b\\\": null}], \\\"c\\\": \\\"text\\\"}\")",
    "(walk/postwalk (fn [x] (if (number? x) (inc x) x)) {:a [1 {:b 2}] :c #{3 4}})",
    "(transduce (comp (map inc) (filter odd?) (partition-all 2)) conj [] (range 10))",
    "(letfn [(even [n] (or (zero? n) (odd (dec n)))) (odd [n] (and (pos? n) (even (dec n))))] (even 10))",
    "(group-by even? (map-indexed (fn [i x] (+ i x)) [5 3 1]))",
];

/// What earlier programs have left: a name that the programs above define anew, and one that they do not touch.
const BEFORE: &str = "(def a :before) (def untouched [1 {:k \"v\"}])";

struct Ended {
    /// The printed value, or the reason of the failure.
    result: Result<String, Reason>,
    steps: u64,
    memory_peak: u64,
    namespace: Namespace,
}

fn run(program: &Rc<Program>, namespace: Namespace, limits: Limits) -> Ended {
    let setup = Setup { namespace, limits, tools: vec![Rc::from("echo")], ..Setup::new(library()) };
    let mut machine = Machine::new(program.clone(), setup);
    loop {
        match machine.resume(u64::MAX) {
            Step::Done => break,
            Step::Slice => {}
            Step::Wait => {
                for call in machine.take_calls() {
                    let answer = match call.request {
                        HostRequest::Tool { arguments, .. } => Payload::Json(arguments.into()),
                        HostRequest::Sleep { .. } => Payload::None,
                        other => panic!("nobody answers {other:?}"),
                    };
                    machine.complete(call.id, Reply::Value(answer));
                }
            }
        }
    }
    let steps = machine.steps_used();
    let printed = machine.inspect(print::readable).transpose();
    let outcome = machine.finish(true);
    let result = match (outcome.result, printed) {
        (Ok(_), Ok(text)) => Ok(text.unwrap_or_default()),
        (Err(error), _) | (_, Err(error)) => Err(error.reason()),
    };
    Ended { result, steps, memory_peak: outcome.memory_peak, namespace: outcome.namespace }
}

fn before() -> Namespace {
    let program = compile(BEFORE, library(), &CompileOptions::default()).expect("a program");
    run(&Rc::new(program), Namespace::new(library()), Limits::default()).namespace
}

/// Every name of the namespace with its printed value.
fn definitions(namespace: &Namespace) -> Vec<(String, String)> {
    let mut all: Vec<_> = namespace
        .bindings()
        .into_iter()
        .map(|(name, binding)| (name.to_string(), print::readable(&binding.value).expect("small values")))
        .collect();
    all.sort();
    all
}

fn programs() -> Vec<String> {
    let examples = library().all().iter().flat_map(|builtin| builtin.examples.iter());
    let mut programs: Vec<String> = examples.map(|example| example.program.to_owned()).collect();
    programs.extend(PROGRAMS.iter().map(|program| (*program).to_owned()));
    programs
}

/// Runs all programs under limits that `each` makes of what the program needs.
fn refuse(refusal: Reason, each: impl Fn(&Ended) -> Vec<Limits>) {
    let undone = definitions(&before());
    let (mut refusals, mut tried) = (0, 0);
    for source in programs() {
        let Ok(program) = compile(&source, library(), &CompileOptions::default()) else {
            continue;
        };
        let program = Rc::new(program);
        let free = run(&program, before(), Limits::default());
        tried += 1;
        for limits in each(&free) {
            let ended = run(&program, before(), limits);
            if ended.result == free.result {
                continue;
            }
            assert_eq!(ended.result, Err(refusal), "{source} under {limits:?}");
            assert_eq!(definitions(&ended.namespace), undone, "{source} under {limits:?}");
            refusals += 1;
        }
    }
    assert!(tried > 400 && refusals > 10 * tried, "{refusals} refusals in {tried} programs");
}

#[test]
fn the_step_meter_refuses_at_every_step() {
    refuse(Reason::StepLimitExceeded, |free| {
        (1..=free.steps.min(2_000)).map(|steps| Limits { steps, ..Limits::default() }).collect()
    });
}

#[test]
fn the_memory_meter_refuses_at_every_size() {
    // Charges are multiples of eight bytes, or of a text's length; a prime stride meets both kinds.
    refuse(Reason::MemoryExceeded, |free| {
        (0..=free.memory_peak.min(40_000))
            .step_by(61)
            .map(|bytes| Limits { memory_bytes: bytes, ..Limits::default() })
            .collect()
    });
}
