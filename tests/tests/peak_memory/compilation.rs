//! Compilation under the program's limits (ruling 64), and what stays of programs between evals.

use ptc_compiler::CompileOptions;
use ptc_host::engine::{Engine, EngineOptions, EvalOutcome, EvalRequest, Limits, MemoryBudget};
use ptc_vm::builtins::library;
use ptc_vm::meter::Allowance;
use std::fmt::Write;
use std::time::Duration;

use super::{ALLOCATOR, ALONE};

/// What the process may take beyond a program's limit: its text, and the old block of a table that grows.
const BEYOND_THE_LIMIT: usize = 4 << 20;

/// Bytes of a program.
const TEXT: usize = 65_000;

/// `part` with a running number for each `%`, as often as it fits into a program.
fn repeated(part: &str) -> String {
    numbered(part, 0)
}

fn numbered(part: &str, first: usize) -> String {
    let mut text = String::new();
    let mut number = first;
    while text.len() + part.len() + 8 < TEXT {
        text.push_str(&part.replace('%', &number.to_string()));
        number += 1;
    }
    text
}

fn plain(program: impl Into<String>) -> EvalRequest {
    let mut request = EvalRequest::new(program.into());
    request.limits = Limits { timeout: Duration::from_secs(600), ..Limits::plain() };
    request
}

fn ending(outcome: &EvalOutcome) -> String {
    match &outcome.result {
        Ok(_) => "value".to_owned(),
        Err(failure) => format!("{}: {}", failure.reason.as_str(), failure.message),
    }
}

/// Texts of some 64 KiB that ask a lot of the compiler.
fn demanding() -> Vec<(&'static str, String)> {
    let nested = |open: &str, close: &str, levels: usize, inside: &str| {
        format!("{}{inside}{}", open.repeat(levels), close.repeat(levels))
    };
    vec![
        ("patterns that are not used", format!("[{}]", repeated(r#"#"\w{40}N%" "#))),
        ("large patterns that are not used", format!("[{}]", repeated(r#"#"(?:\w\p{L}){8}%" "#))),
        ("classes", format!("[{}]", repeated(r#"#"[\w\p{Greek}\p{Han}]%" "#))),
        ("properties", format!("[{}]", repeated(r#"#"(?i:\pL\pN\pS\pP\pM\pZ\PL\PN)%" "#))),
        ("counted repetitions", format!("[{}]", repeated(r#"#"(((a{1,90}){1,90}){1,90})%" "#))),
        ("lookbehinds", format!("[{}]", repeated(r#"#"(?<=(?<=\w{0,100})\w{0,100})%" "#))),
        ("open braces", format!("[{}]", repeated(&format!("#\"{}%\" ", "{".repeat(200))))),
        ("integers", format!("[{}]", repeated("1 "))),
        ("big integers", format!("[{}]", repeated(&format!("{}% ", "9".repeat(80))))),
        ("empty vectors", format!("[{}]", repeated("[]"))),
        ("empty sets", format!("[{}]", repeated("#{}"))),
        ("maps of different keys", format!("[{}]", repeated("{:a% 1}"))),
        ("a large map", format!("{{{}}}", repeated("% [%] "))),
        ("a large set", format!("#{{{}}}", repeated("[%] "))),
        ("sets in sets", nested("#{1 2 3 4 5 6 7 8 9 ", "}", 60, &format!("[{}]", "1 ".repeat(30_000)))),
        ("vectors in vectors", repeated(&nested("[", "]", 60, "%"))),
        ("strings", format!("[{}]", repeated("\"%\" "))),
        ("a long string", format!("\"{}\"", "x\\n".repeat(TEXT / 3))),
        ("bindings", format!("(let [{}] a1)", repeated("a% % "))),
        ("patterns of bindings", format!("(let [{}] 1)", repeated("[a% & b%] [1] "))),
        ("functions", format!("[{}]", repeated("(fn [x] %)"))),
        ("short functions", format!("[{}]", "#(+ %1 %2) ".repeat(5_900))),
        ("functions in functions", repeated(&nested("(fn [a] (let [b a] ", "))", 25, "(+ a b)"))),
        ("definitions in definitions", {
            nested("(def a (fn [] ", "))", 30, &format!("[{}]", "1 ".repeat(30_000)))
        }),
        ("captures", {
            let names: String = (0..2_000).map(|n| format!("a{n} ")).collect();
            let bindings: String = (0..2_000).map(|n| format!("a{n} {n} ")).collect();
            format!("(let [{bindings}] [{}])", format!("(fn [] [{names}])").repeat(3))
        }),
        ("siblings", format!("(letfn [{}] 1)", repeated("(f% [x] (f0 x)) "))),
        ("comments", format!("[{}]", repeated(";%\n"))),
        ("names that mean nothing", format!("[{}]", repeated("undefined% "))),
        ("threads", format!("(-> 1 {})", repeated("inc "))),
        ("conditionals", repeated(&nested("(if true ", ")", 60, "%"))),
        ("cases", format!("(case 1 {})", repeated("% % "))),
        ("definitions", repeated("(def d% %)")),
        ("names", format!("[{}]", repeated(":n% "))),
        ("quoted", format!("'[{}]", repeated("(a b %) "))),
        ("comprehensions", format!("(for [{}] 1)", repeated("x% [1] "))),
    ]
}

#[tokio::test]
async fn a_demanding_text_stays_within_the_limits_of_its_program() {
    let _alone = ALONE.lock().await;
    let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).expect("threads");
    let mut wrong = String::new();
    for (name, program) in demanding() {
        let request = plain(program);
        let limit = usize::try_from(request.limits.memory_bytes).expect("fits");
        let before = ALLOCATOR.current_usage();
        ALLOCATOR.reset_peak_usage();
        let outcome = engine.eval(request).await;
        let taken = ALLOCATOR.peak_usage().saturating_sub(before);
        println!("{name}: {taken} bytes, {}", ending(&outcome).chars().take(100).collect::<String>());
        if taken > limit + BEYOND_THE_LIMIT {
            let _ = writeln!(wrong, "{name} took {taken} bytes under a limit of {limit}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Steps that compiling `text` takes.
fn steps_to_compile(text: &str) -> u64 {
    let allowance = Allowance { memory_bytes: 64 << 20, steps: 1 << 40, reservation: None, deadline: None };
    let options = CompileOptions::default();
    let compiled = allowance.spend(|| Ok(ptc_compiler::compile(text, library(), &options)?));
    compiled.expect("no limit").1.steps
}

#[test]
fn what_is_looked_through_for_each_of_many_is_paid_for() {
    let many =
        |part: &str, count: usize| (0..count).map(|n| part.replace('%', &n.to_string())).collect::<String>();
    let siblings = |count| format!("(letfn [{}] 1)", many("(f% [] 1) ", count));
    let defaults =
        |count| format!("(let [{{:keys [{}] :or {{{}}}}} {{}}] 1)", many("a% ", count), many("a% 1 ", count));
    // Twice as many take more than twice the steps, by what each of them looks through.
    let excess =
        |text: &dyn Fn(usize) -> String| steps_to_compile(&text(2_000)) - 2 * steps_to_compile(&text(1_000));
    assert!(excess(&siblings) >= 2_000 * 1_000, "{}", excess(&siblings));
    assert!(excess(&defaults) >= 2_000 * 1_000 / 4, "{}", excess(&defaults));
}

/// Programs that build many automata, each of them dear.
const HUNGRY: [&str; 6] = [
    r#"(count (filter #(re-find % "abc") [PATTERNS]))"#,
    r#"(count (filter #(re-matches % "abc") [PATTERNS]))"#,
    r#"(count (map #(re-find (re-pattern (str "(?:\\w\\p{L}){7}" %)) "abc") (range 100000)))"#,
    r#"(count (map #(re-seq (re-pattern (str "(?i:[\\w\\p{Greek}]{8})" %)) "abc\n") (range 100000)))"#,
    r#"(let [ps (mapv #(re-pattern (str "(?:\\w\\p{L}){7}$" %)) (range 100000))] (count (map #(re-find % "a") ps)))"#,
    r#"(count (map #(split "a,b" (re-pattern (str "(\\w{1,9}),|" %))) (range 100000)))"#,
];

#[tokio::test]
async fn automata_are_built_at_the_cost_of_who_uses_them() {
    let _alone = ALONE.lock().await;
    let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).expect("threads");
    let patterns = repeated(r#"#"(?:\w\p{L}){7}%" "#);
    for program in HUNGRY {
        let program = program.replace("PATTERNS", &patterns);
        let shown: String = program.chars().take(80).collect();
        let before = ALLOCATOR.current_usage();
        ALLOCATOR.reset_peak_usage();
        let mut endings = Vec::new();
        for _ in 0..2 {
            let mut request = plain(program.clone());
            request.limits.steps = 2_000_000;
            endings.push(engine.eval(request).await);
        }
        let taken = ALLOCATOR.peak_usage().saturating_sub(before);
        for outcome in &endings {
            let failure = outcome.result.as_ref().expect_err(&shown);
            assert!(matches!(failure.reason.as_str(), "step_limit_exceeded" | "memory_exceeded"), "{shown}");
        }
        assert_eq!(endings[0].steps, endings[1].steps, "known or not, it takes the same steps: {shown}");
        // The code with its constants may take as much as the values, 10 MiB each.
        assert!(taken < 20 << 20, "{taken} bytes: {shown}");
    }
}

#[tokio::test]
async fn what_programs_leave_behind_is_counted_and_bounded() {
    let _alone = ALONE.lock().await;
    for part in ["[%] ", "{:k% [%]} ", "(fn [x] %) ", r#"#"(?:\w\p{L}){5}%" "#, "\"text %\" "] {
        let memory = MemoryBudget::new(64 << 20);
        let options = EngineOptions { threads: 1, memory: Some(memory.clone()), ..EngineOptions::default() };
        let engine = Engine::start(options).expect("threads");
        engine.eval(plain("1")).await;
        let before = ALLOCATOR.current_usage();
        // Until one was forgotten for another one.
        let (mut most, mut forgets) = (0, false);
        for n in 0..70 {
            let program = format!("(count (filter #(= % 1) [{}]))", numbered(part, 1000 * n));
            engine.eval(plain(program)).await.result.expect("a value");
            let now = engine.cached().program_bytes;
            forgets |= now <= most;
            if forgets && n >= 10 {
                break;
            }
            most = now;
        }
        assert!(forgets, "{part}: {most} bytes of 70 programs are kept");
        for n in 0..10 {
            let program = format!(
                r#"(map #(re-find % "a b") [{}])"#,
                r#"#"(?:\w ){4}N" "#.repeat(20).replace('N', &n.to_string())
            );
            engine.eval(plain(program)).await.result.expect("a value");
        }
        let left = ALLOCATOR.current_usage().saturating_sub(before);
        let cached = engine.cached();
        let counted = cached.program_bytes + cached.pattern_bytes;
        println!("{part}: {left} bytes are left, {cached:?}");
        assert!(cached.program_bytes <= 8 << 20 && cached.pattern_bytes <= 8 << 20, "{part}: {cached:?}");
        assert!(left as u64 <= counted + (1 << 20), "{part}: {left} bytes are left, {counted} are counted");
        assert_eq!(memory.used(), counted, "{part}");
    }
}

#[tokio::test]
async fn caches_give_way_to_programs() {
    let _alone = ALONE.lock().await;
    let memory = MemoryBudget::new(8 << 20);
    let options = EngineOptions { threads: 1, memory: Some(memory.clone()), ..EngineOptions::default() };
    let engine = Engine::start(options).expect("threads");
    for n in 0..20 {
        engine.eval(plain(format!("[{n} {}]", "[1 2] ".repeat(500)))).await.result.expect("a value");
    }
    assert!(engine.cached().program_bytes > 500_000, "{:?}", engine.cached());
    // It needs all but some hundred kilobytes.
    let outcome = engine.eval(plain("(count (vec (map inc (range 400000))))")).await;
    assert_eq!(outcome.result.expect("there is room").text, "400000");
    let cached = engine.cached();
    assert_eq!(memory.used(), cached.program_bytes + cached.pattern_bytes);
}

#[tokio::test]
async fn compilation_names_the_limit_it_comes_to() {
    let _alone = ALONE.lock().await;
    let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).expect("threads");
    let vectors = format!("[{}]", repeated("[] "));
    for _ in 0..2 {
        let mut request = plain(vectors.clone());
        request.limits.memory_bytes = 300_000;
        let failure = engine.eval(request).await.result.expect_err("too large");
        assert_eq!(failure.message, "heap limit 300000 bytes exceeded");
        // A worker that knows the program refuses it as well.
        engine.eval(plain(vectors.clone())).await.result.expect("a value");
    }
    let mut request = plain(format!("[{}]", repeated("1 ").repeat(40)));
    request.limits.program_bytes = 10 << 20;
    request.limits.memory_bytes = 1 << 30;
    request.limits.steps = 1_000;
    let failure = engine.eval(request).await.result.expect_err("too much work");
    assert_eq!(failure.reason.as_str(), "step_limit_exceeded");
    assert!(failure.message.starts_with("execution exceeded 1000000 step limit"), "{}", failure.message);

    let mut request = plain(format!("[{}]", repeated("1 ").repeat(40)));
    request.limits.program_bytes = 10 << 20;
    request.limits.memory_bytes = 1 << 30;
    request.limits.timeout = Duration::ZERO;
    let failure = engine.eval(request).await.result.expect_err("no time");
    assert_eq!((failure.reason.as_str(), &*failure.message), ("timeout", "execution exceeded 0ms limit"));
}

#[tokio::test]
async fn compilation_is_reserved_from_the_budget() {
    let _alone = ALONE.lock().await;
    let memory = MemoryBudget::new(1 << 20);
    let options = EngineOptions { threads: 1, memory: Some(memory.clone()), ..EngineOptions::default() };
    let engine = Engine::start(options).expect("threads");
    let failure =
        engine.eval(plain(format!("[{}]", repeated("[] ")))).await.result.expect_err("too large for all");
    assert_eq!(failure.message, "the server's memory budget is exhausted");
    assert_eq!(memory.used(), 0);
}
