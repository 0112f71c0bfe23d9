//! Every builtin of the registry: it is documented, and each of its examples gives the value it promises.

use ptc_host::engine::{Engine, EngineOptions, EvalRequest};
use ptc_vm::builtins::{Arities, Native, library};
use std::collections::BTreeSet;

#[tokio::test]
async fn every_example_gives_its_value() {
    let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).expect("threads");
    let mut wrong = Vec::new();
    let mut run = 0;
    for builtin in library().all() {
        for example in builtin.examples.iter() {
            run += 1;
            let found = match engine.eval(EvalRequest::new(example.program)).await.result {
                Ok(answer) if answer.text == example.value => continue,
                Ok(answer) => answer.text,
                Err(failure) => format!("!{} {}", failure.reason.as_str(), failure.message),
            };
            wrong.push(format!("{}: {} => {found}, not {}", builtin.name, example.program, example.value));
        }
    }
    assert!(wrong.is_empty(), "{} of {run} examples:\n{}", wrong.len(), wrong.join("\n"));
    assert!(run >= library().all().len(), "only {run} examples");
}

#[test]
fn every_builtin_has_an_example() {
    let without: Vec<&str> = library()
        .all()
        .iter()
        .filter(|builtin| builtin.examples.is_empty())
        .map(|builtin| builtin.name)
        .collect();
    assert!(without.is_empty(), "no example: {without:?}");
}

#[test]
fn every_builtin_is_described() {
    let mut faults = Vec::new();
    for builtin in library().all() {
        let name = builtin.name;
        let mut fault = |what: &str| faults.push(format!("{name}: {what}"));
        if name.is_empty() || name.contains(char::is_whitespace) {
            fault("bad name");
        }
        if builtin.doc.trim().is_empty() || builtin.doc.contains('\n') {
            fault("the doc is not one line");
        }
        if builtin.section.name.is_empty() {
            fault("no section");
        }
        if library().aliases(builtin).iter().any(|alias| alias.is_empty() || *alias == name) {
            fault("an alias that says nothing");
        }
        let ascending = match builtin.arities {
            Arities::OneOf(counts) => counts.is_sorted_by(|a, b| a < b),
            Arities::AtLeast(_) => true,
        };
        let constant = matches!(builtin.native, Native::Constant(_));
        if builtin.signatures().is_empty() && !constant {
            fault("no signature");
        }
        if !ascending || (matches!(builtin.arities, Arities::OneOf([])) && !constant) {
            fault("arities not ascending or none");
        }
        for signature in builtin.signatures() {
            let spelled = std::iter::once(&name)
                .chain(library().aliases(builtin))
                .any(|name| signature.trim_start_matches('(').starts_with(name));
            if !spelled {
                fault(&format!("signature {signature} shows another name"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn names_lead_to_their_builtin() {
    let mut seen = BTreeSet::new();
    for builtin in library().all() {
        for name in std::iter::once(&builtin.name).chain(library().aliases(builtin)) {
            assert!(seen.insert(*name), "{name} twice");
            assert_eq!(library().find(name).expect("registered").name, builtin.name);
        }
    }
    assert!(seen.len() > 400, "only {} names", seen.len());
}
