//! The conformance data, run through the engine and judged by the rules of `compare.py`.
//!
//! `known.txt` lists, one by one and with the ruling, the cases that may differ in value. It is strict: an
//! unlisted difference fails, and so does a listed case that is right.

use ptc_host::engine::{Engine, EngineOptions, EvalRequest};
use ptc_mcp::json::{Value, json};
use ptc_tests::conformance::{Case, Rules, STEPS_TO_LIMIT, Verdict, check_case, folder, json_lines, tags};
use ptc_tests::with_room;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;
use std::sync::Arc;

/// Least share of cases that must be right in reason, message and prints too.
const MIN_FULL: f64 = 0.97;

/// Runs a program of a case, or of a step of one.
async fn run(engine: &Engine, part: &Value, case: &Case<'_>, session: Option<&str>) -> Value {
    let program = part["program"].as_str().expect("a case or a step has a program");
    let mut request = EvalRequest::new(program);
    request.strict_data = true;
    request.context = part.get("context").map(|context| Arc::from(context.to_string()));
    request.session = session.map(Arc::from);
    if case.is_stopped_by_limit() {
        request.limits.steps = STEPS_TO_LIMIT;
    }
    if program.len() > request.limits.program_bytes {
        // Refused by the command line and the server before it becomes a program.
        return json!({"ok": false, "result": null, "prints": [], "error": {"reason": "args_error",
            "message": format!("argument `program` exceeds max_program_bytes ({} > {})", program.len(), request.limits.program_bytes)}});
    }
    let outcome = engine.eval(request).await;
    match &outcome.result {
        Ok(answer) => json!({"ok": true, "result": answer.text, "error": null, "prints": outcome.prints}),
        Err(failure) => json!({"ok": false, "result": null, "prints": outcome.prints,
            "error": {"reason": failure.reason.as_str(), "message": failure.message}}),
    }
}

/// All verdicts of a case, with its results.
async fn judge(engine: &Engine, rules: &Rules, case: &Value) -> (Vec<Verdict>, Vec<Value>) {
    let id = case["id"].as_str().expect("a case has an id");
    let mut verdicts = Vec::new();
    let mut results = Vec::new();
    if let Some(steps) = case["steps"].as_array() {
        for step in steps {
            let part = Case { case, expect: &step["expect"], tags: tags(step) };
            let got = run(engine, step, &part, Some(id)).await;
            verdicts.push(check_case(rules, &part, &got));
            results.push(got);
        }
    } else {
        let whole = Case { case, expect: &case["expect"], tags: tags(case) };
        let got = run(engine, case, &whole, None).await;
        verdicts.push(check_case(rules, &whole, &got));
        results.push(got);
    }
    (verdicts, results)
}

#[test]
fn the_conformance_data_hold() {
    with_room(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(judge_all());
    });
}

async fn judge_all() {
    let engine = Engine::start(EngineOptions::default()).expect("threads");
    let rules = Rules::load();
    let known: HashSet<String> = std::fs::read_to_string(folder().join("known.txt"))
        .expect("known.txt belongs to the repository")
        .lines()
        .filter_map(|line| {
            line.split('#').next().map(str::trim).filter(|id| !id.is_empty()).map(str::to_owned)
        })
        .collect();
    let mut table: BTreeMap<String, [usize; 3]> = BTreeMap::new();
    let mut report = String::new();
    let mut seen = HashSet::new();
    let mut stale = Vec::new();
    let mut verdicts_file = String::new();
    for case in json_lines("given.jsonl") {
        if tags(&case).contains(&"spec-conflict") {
            continue;
        }
        let id = case["id"].as_str().expect("a case has an id").to_owned();
        let (verdicts, results) = judge(&engine, &rules, &case).await;
        let (value, full) = (verdicts.iter().all(|v| v.value), verdicts.iter().all(|v| v.full));
        if !full {
            let _ = writeln!(verdicts_file, "{id} {}", if value { "full" } else { "value" });
        }
        let listed = known.contains(&id);
        if listed && value {
            stale.push(id.clone());
        }
        let row = table.entry(case["family"].as_str().unwrap_or_default().to_owned()).or_default();
        row[0] += 1;
        row[1] += usize::from(value);
        // As `compare.py` counts: what a ruling has overturned is no fault of reason, message or prints.
        row[2] += usize::from(full || listed);
        if !value && !listed {
            let why = verdicts.iter().map(|v| v.why).find(|why| !why.is_empty()).unwrap_or_default();
            let _ = writeln!(report, "{id}: {why}\n  {}\n  got {}", case["program"], json!(results));
        }
        seen.insert(id);
    }
    // For `tests/conformance/agree.py`, which compares them with those of `compare.py`.
    std::fs::write(concat!(env!("CARGO_TARGET_TMPDIR"), "/conformance-verdicts.txt"), verdicts_file)
        .expect("the target folder can be written");
    stale.extend(known.iter().filter(|id| !seen.contains(*id)).cloned());
    let total = table.values().fold([0; 3], |sum, row| [sum[0] + row[0], sum[1] + row[1], sum[2] + row[2]]);
    for (family, [cases, value, full]) in &table {
        println!("{family:<12}{cases:>6}{value:>7}{full:>7}");
    }
    println!("{:<12}{:>6}{:>7}{:>7}", "total", total[0], total[1], total[2]);
    assert!(report.is_empty(), "value level:\n{report}");
    assert!(stale.is_empty(), "listed in known.txt but right, or no case at all: {stale:?}");
    let full = total[2] as f64 / total[0] as f64;
    assert!(full >= MIN_FULL, "full level {full:.4} is below {MIN_FULL}");
}
