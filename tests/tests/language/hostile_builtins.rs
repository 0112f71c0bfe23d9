//! Every builtin that loops charges steps and memory: each builtin of the registry gets an input made to hurt, under
//! a step limit and under a memory limit that leave little beyond what making the input took, and must end at once.

use ptc_host::engine::{self, Engine, EngineOptions, EvalOutcome, EvalRequest, Render};
use ptc_tests::hostile::{BETWEEN_PLACES, CLASSES, Class, Inputs, Work, calls, head};
use ptc_vm::builtins::{Native, library};
use ptc_vm::machine::Limits;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

/// How much a call may use beyond making its input.
const STEPS: u64 = 2_000;
/// Steps of the runs that shall meet the memory limit.
const STEPS_FOR_MEMORY: u64 = 400_000;
/// Bytes beyond making the input.
const MEMORY: u64 = 64 << 10;
/// How far the peak of memory may pass the limit: one slice of work between two checks.
const SLACK: u64 = 1 << 20;
/// Most steps of a call whose work does not grow with its input.
const CONSTANT: u64 = 200;

struct Bench<'a> {
    engine: &'a Engine,
    class: &'a Class,
    context: Arc<str>,
}

impl Bench<'_> {
    async fn run(&self, program: &str, steps: u64, memory: u64) -> EvalOutcome {
        let mut request = EvalRequest::new(format!("(def x {})\n{program}", self.class.input));
        request.context = Some(self.context.clone());
        let timeout = Duration::from_secs(120);
        request.limits = engine::Limits { timeout, memory_bytes: memory, steps, ..engine::Limits::plain() };
        request.render = Render { max_text_bytes: Some(1_000), json: false };
        self.engine.eval(request).await
    }
}

/// How a run ended, in a word.
fn ending(outcome: &EvalOutcome) -> &str {
    match &outcome.result {
        Ok(_) => "value",
        Err(failure) => failure.reason.as_str(),
    }
}

/// Endings that show that the call never reached its builtin.
const MISTAKES: &[&str] =
    &["parse_error", "unbound_var", "invalid_form", "invalid_arity", "arity_error", "arity_mismatch"];

fn refused(outcome: &EvalOutcome) -> bool {
    matches!(ending(outcome), "step_limit_exceeded" | "memory_exceeded")
}

/// What is wrong with one call, if anything.
async fn fault(bench: &Bench<'_>, base: &EvalOutcome, call: &str) -> Option<String> {
    let program = bench.class.around.replace("CALL", call);
    let (steps, memory) = (base.steps + STEPS, base.memory_peak_bytes + MEMORY);
    let by_steps = bench.run(&program, steps, 256 << 20).await;
    let by_memory = bench.run(&program, base.steps + STEPS_FOR_MEMORY, memory).await;
    let seen = format!(
        "{} after {} steps, {} at {} bytes",
        ending(&by_steps),
        by_steps.steps.saturating_sub(base.steps),
        ending(&by_memory),
        by_memory.memory_peak_bytes.saturating_sub(base.memory_peak_bytes),
    );
    if MISTAKES.contains(&ending(&by_steps)) {
        return Some(format!("the row is wrong: {seen}"));
    }
    if by_steps.steps > steps || by_memory.steps > base.steps + STEPS_FOR_MEMORY {
        return Some(format!("more steps than allowed: {seen}"));
    }
    if by_memory.memory_peak_bytes > memory + SLACK {
        return Some(format!("more memory than allowed: {seen}"));
    }
    if ending(&by_steps) == "timeout" || ending(&by_memory) == "timeout" {
        return Some(format!("ran until its time was up: {seen}"));
    }
    let right = match bench.class.work {
        Work::Grows => refused(&by_steps) || refused(&by_memory),
        Work::Constant => by_steps.steps <= base.steps + CONSTANT && !refused(&by_memory),
    };
    (!right).then_some(seen)
}

#[tokio::test]
async fn every_builtin_ends_at_once_on_hostile_input() {
    let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).expect("threads");
    let mut faults = String::new();
    for class in CLASSES {
        let context = format!("{{\"x\":{}}}", (class.granted)(1)).into();
        let bench = Bench { engine: &engine, class, context };
        let base = bench.run("nil", 25_000_000, 256 << 20).await;
        assert!(base.result.is_ok(), "{}: {:?}", class.input, base.result);
        for call in calls(class) {
            if let Some(fault) = fault(&bench, &base, call).await {
                let _ = writeln!(faults, "{call} with x = {}: {fault}", class.input);
            }
        }
    }
    assert!(faults.is_empty(), "\n{faults}");
}

#[test]
fn every_builtin_is_tried() {
    let mut tried: BTreeMap<&str, usize> = BTreeMap::new();
    for call in CLASSES.iter().flat_map(calls) {
        *tried.entry(head(call)).or_default() += 1;
    }
    let missing: Vec<&str> = library()
        .all()
        .iter()
        .filter(|builtin| !matches!(builtin.native, Native::Constant(_)) && !tried.contains_key(builtin.name))
        .map(|builtin| builtin.name)
        .collect();
    assert!(missing.is_empty(), "not tried: {missing:?}");
}

#[test]
fn every_builtin_gives_way_in_the_middle_of_its_work() {
    let mut faults = String::new();
    for class in CLASSES {
        // What is charged at once for a text need not be done: its length may be known, or the answer stand at its beginning.
        let is_text = (class.granted)(1).starts_with('"');
        let x = (class.granted)(if is_text { 4 } else { 12 });
        // Ten times what may lie between two places shows whether that gives way which only a limit ends.
        let steps = if class.is_endless() { 10 * BETWEEN_PLACES } else { 4_000_000 };
        let limits = Limits { memory_bytes: 100 << 20, steps };
        let inputs = Inputs::new(&format!("{{\"x\":{x}}}"), class.input, limits);
        for call in calls(class) {
            let held = inputs.run(&class.around.replace("CALL", call));
            // What a limit refused was charged, but not done.
            let owed = if held.result.is_ok() && !is_text { held.owed } else { 0 };
            let steps = if is_text { held.steps - held.gap.steps } else { held.steps };
            if steps > held.places * BETWEEN_PLACES || owed > BETWEEN_PLACES {
                let places = held.places;
                let _ = writeln!(
                    faults,
                    "{call} with x = {}: {steps} steps, {places} places, {owed} at once",
                    class.input
                );
            }
        }
    }
    assert!(faults.is_empty(), "\n{faults}");
}

#[test]
fn what_reads_a_whole_text_gives_way_on_the_way() {
    let plain = "abcde".repeat(800_000);
    let texts: [(&str, &[&str]); 6] = [
        (
            "a",
            &[
                "(format \"%-4000000s|\" x)",
                "(format \"%4000000s|\" x)",
                "(format \"%04000000d|\" 1)",
                "(format \"%.1000000f\" 1.5)",
                "(format \"%,.1000000f\" 1e300)",
                "(format \"%.1000000E\" 1.5e-9)",
                "(format \"%.1000000g\" 1.5)",
                "(format \"%04000000.1000000f\" 1.5)",
            ],
        ),
        (
            &"a,".repeat(100_000),
            &["(csv/parse-string x)", "(csv/read-csv x)", "(csv/parse-string (str x \"\\n\" x))"],
        ),
        (&" ".repeat(4_000_000), &["(json/parse-string x)", "(json/parse-lenient x)"]),
        (&"//x\\n".repeat(400_000), &["(json/parse-lenient x)"]),
        (
            &" ".repeat(4_000_000),
            &["(trim x)", "(triml x)", "(trimr x)", "(.trim x)", "(blank? x)", "(.isBlank x)"],
        ),
        (
            &plain,
            &[
                "(pr-str x)",
                "(format \"%S\" x)",
                "(json/generate-string x)",
                "(json/generate-string {x [x]})",
                "(includes? x \"z\")",
                "(includes? x \"bb\")",
                "(.contains x \"bb\")",
                "(index-of x \"bb\")",
                "(last-index-of x \"bb\")",
                "(replace x \"bb\" \"c\")",
                "(replace-first x \"bb\" \"c\")",
                "(split x \"z\")",
                "(csv/generate-string [[x]])",
            ],
        ),
    ];
    let mut faults = String::new();
    for (text, calls) in texts {
        let limits = Limits { memory_bytes: 100 << 20, steps: 25_000_000 };
        let inputs = Inputs::new(&format!("{{\"x\":\"{text}\"}}"), "data/x", limits);
        for call in calls {
            let held = inputs.run(&format!("(do {call} nil)"));
            assert!(held.result.is_ok(), "{call}: {:?}", held.result);
            if held.owed > BETWEEN_PLACES {
                let _ = writeln!(faults, "{call}: {held:?}");
            }
        }
    }
    assert!(faults.is_empty(), "\n{faults}");
}
