//! Programs that want to hurt the process: each ends with a named error, and others answer in the meantime.

use ptc_host::engine::{Engine, EngineOptions, EvalRequest, Limits};
use std::time::Duration;

async fn reason(engine: &Engine, program: &str) -> String {
    let mut request = EvalRequest::new(program);
    // Steps and memory decide here, not the clock of a busy machine.
    request.limits = Limits { steps: 3_000_000, timeout: Duration::from_secs(300), ..Limits::plain() };
    match engine.eval(request).await.result {
        Ok(answer) => format!("a value of {} bytes", answer.text.len()),
        Err(failure) => failure.reason.as_str().to_owned(),
    }
}

#[tokio::test]
async fn runaway_programs_end_with_a_named_error_while_others_answer() {
    let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).expect("threads");
    let parentheses = "(".repeat(60_000);
    let cases = [
        ("(loop [] (recur))", "step_limit_exceeded"),
        ("(loop [v []] (recur (conj v v 1 2 3)))", "memory_exceeded"),
        (parentheses.as_str(), "parse_error"),
        ("(reduce (fn [acc _] [acc]) nil (range 100000))", "runtime_error"),
        ("(defn f [x] (+ 1 (f x))) (f 1)", "memory_exceeded"),
        ("(reduce (fn [s _] (str s s)) \"ab\" (range 60))", "memory_exceeded"),
        ("(reduce (fn [a _] [a a]) [] (range 60))", "step_limit_exceeded"),
        ("(map (fn [x] (range 1000000)) (range 1000000))", "memory_exceeded"),
        ("(pmap (fn f [x] (pmap f [x x])) [1])", "memory_exceeded"),
        ("(loop [] (println \"again\") (recur))", "memory_exceeded"),
    ];
    let mut wrong = Vec::new();
    for (program, expected) in cases {
        let (hostile, small) =
            tokio::join!(reason(&engine, program), engine.eval(EvalRequest::new("(+ 1 2)")));
        if hostile != expected {
            wrong.push(format!("{}: {hostile}, not {expected}", &program[..program.len().min(80)]));
        }
        assert_eq!(small.result.expect("unharmed").text, "3");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
