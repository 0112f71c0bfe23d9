//! What the programs of the conformance data and the examples of the builtins make, written as bytes and read again: values,
//! definitions, the functions among them, and what they share.

use ptc_compiler::{CompileOptions, compile};
use ptc_mcp::json::Value as CaseValue;
use ptc_tests::conformance::{Case, STEPS_TO_LIMIT, json_lines, tags};
use ptc_tests::with_room;
use ptc_vm::builtins::library;
use ptc_vm::graph::{
    Bounds, DecodeError, EncodeError, Encoder, Graph, WireReader, WireWriter, decode, write_code,
};
use ptc_vm::machine::{Binding, Limits, Namespace, Restoring, Setup};
use ptc_vm::meter::Account;
use ptc_vm::{Error, Machine, Program, Step, Value, json, print};
use std::rc::Rc;

/// What a program leaves, in one namespace.
struct Left {
    namespace: Namespace,
    value: Option<Value>,
    error: Option<Error>,
}

fn program(source: &str) -> Option<Rc<Program>> {
    compile(source, library(), &CompileOptions::default()).ok().map(Rc::new)
}

/// What a program is given.
#[derive(Default)]
struct Given {
    context: Value,
    limits: Limits,
}

fn run(program: Rc<Program>, namespace: Namespace, given: &Given) -> Left {
    let context = given.context.clone();
    let setup =
        Setup { namespace, context, limits: given.limits, strict_data: true, ..Setup::new(library()) };
    let mut machine = Machine::new(program, setup);
    loop {
        match machine.resume(100_000) {
            Step::Slice => {}
            Step::Done => break,
            Step::Wait => machine.abort(Error::timeout(0)),
        }
    }
    let outcome = machine.finish(true);
    let namespace = outcome.namespace;
    match outcome.result {
        Ok(value) => Left { namespace, value: Some(value), error: None },
        Err(error) => Left { namespace, value: None, error: Some(error) },
    }
}

/// All that was left as bytes, with the programs that it refers to.
fn written(left: &Left) -> Result<(Vec<u8>, Vec<Rc<Program>>), EncodeError> {
    let mut encoder = Encoder::new(Bounds::default());
    let value = left.value.as_ref().map(|value| encoder.value(value)).transpose()?;
    let error = left.error.as_ref().map(|error| encoder.error(error)).transpose()?;
    let mut bindings = Vec::new();
    for (name, binding) in left.namespace.bindings() {
        bindings.push((name, encoder.value(&binding.value)?, binding.info.as_ref()));
    }
    let mut roots = WireWriter::new();
    for place in value.into_iter().chain(error) {
        roots.place(place);
    }
    roots.count(bindings.len());
    for (name, place, info) in bindings {
        roots.text(name);
        roots.place(place);
        roots.byte(u8::from(info.is_some()));
        if let Some(info) = info {
            roots.place(encoder.info(info)?);
        }
    }
    let encoded = encoder.finish();
    let mut writer = WireWriter::new();
    encoded.write(&mut writer);
    writer.raw(&roots.into_bytes());
    Ok((writer.into_bytes(), encoded.programs))
}

/// The same, from bytes and programs that were compiled again.
fn read(bytes: &[u8], programs: Vec<Rc<Program>>, of: &Left) -> Result<Left, DecodeError> {
    let mut namespace = Namespace::new(library());
    let origins = Restoring::new(programs, &mut namespace);
    let mut reader = WireReader::new(bytes);
    let graph: Graph = decode(&mut reader, Bounds::default(), &origins)?;
    let value = of.value.as_ref().map(|_| graph.value(reader.place()?)).transpose()?;
    let error = of.error.as_ref().map(|_| graph.error(reader.place()?)).transpose()?;
    for _ in 0..reader.count()? {
        let (name, value) = (reader.text()?, graph.value(reader.place()?)?);
        let info = (reader.byte()? == 1).then(|| graph.info(reader.place()?)).transpose()?;
        let slot = namespace.slot(&name.into());
        namespace.set(slot, Some(Binding { value, info }));
    }
    reader.finish("end")?;
    Ok(Left { namespace, value, error })
}

fn code(program: &Program) -> Vec<u8> {
    let mut all = Vec::new();
    write_code(program, &mut |bytes| all.extend_from_slice(bytes)).expect("code is small");
    all
}

/// Everything that can be seen of what is left.
fn shown(left: &Left) -> String {
    let mut text = left.value.as_ref().map(print::readable_lossy).unwrap_or_default();
    if let Some(error) = &left.error {
        text.push_str(&format!("{error:?}"));
    }
    for (name, binding) in left.namespace.bindings() {
        let doc = binding.info.as_ref().map(|info| (info.doc.clone(), info.source.clone()));
        text.push_str(&format!("\n{name} {} {doc:?}", print::readable_lossy(&binding.value)));
    }
    text
}

/// What `source` leaves comes back, and gives the same bytes again. Gives what came back, to go on with.
fn comes_back(source: &str, before: Namespace, given: &Given) -> Namespace {
    let Some(first) = program(source) else { return before };
    let left = run(first.clone(), before, given);
    let (bytes, programs) = match written(&left) {
        Ok(written) => written,
        // No value of the language's tests is as large as that.
        Err(EncodeError::TooLarge(what)) => panic!("{source}: too many {what}"),
        Err(EncodeError::Refused(error)) => panic!("{source}: {error}"),
    };
    // Code never comes from outside: the same texts come to the same code. Programs of earlier steps stay as they are.
    let again = programs.iter().map(|known| {
        if !Rc::ptr_eq(known, &first) {
            return known.clone();
        }
        let again = program(source).expect("it was compiled before");
        assert_eq!(code(&again), code(known), "{source}");
        again
    });
    let again: Vec<_> = again.collect();
    let back = read(&bytes, again, &left).unwrap_or_else(|error| panic!("{source}: {error:?}"));
    assert_eq!(shown(&left), shown(&back), "{source}");
    let (second, programs) = written(&back).unwrap_or_else(|error| panic!("{source}: {error:?}"));
    assert_eq!(programs.len(), again_count(&programs), "each program once");
    assert!(bytes == second, "{source}: other bytes\n{bytes:?}\n{second:?}");
    back.namespace
}

fn again_count(programs: &[Rc<Program>]) -> usize {
    let mut addresses: Vec<_> = programs.iter().map(|program| Rc::as_ptr(program).addr()).collect();
    addresses.sort_unstable();
    addresses.dedup();
    addresses.len()
}

/// What a step of a case is given.
fn given(case: &CaseValue, step: &CaseValue) -> Given {
    let text = step.get("context").map(ToString::to_string);
    let context = text.and_then(|text| json::parse(text.as_bytes()).ok().flatten()).unwrap_or_default();
    let mut limits = Limits::default();
    if (Case { case, expect: &step["expect"], tags: tags(step) }).is_stopped_by_limit() {
        limits.steps = STEPS_TO_LIMIT;
    }
    Given { context, limits }
}

#[test]
fn what_the_conformance_programs_make_comes_back_as_bytes() {
    with_room(|| {
        let mut account = Account::new(1 << 40);
        let _installed = account.install();
        let mut programs = 0;
        for case in json_lines("given.jsonl") {
            let mut namespace = Namespace::new(library());
            let steps = case["steps"].as_array().cloned().unwrap_or_else(|| vec![case.clone()]);
            for step in steps {
                let source = step["program"].as_str().expect("a program");
                namespace = comes_back(source, namespace, &given(&case, &step));
                programs += 1;
            }
        }
        assert!(programs > 1000, "{programs}");
    });
}

#[test]
fn what_the_examples_of_builtins_make_comes_back_as_bytes() {
    with_room(|| {
        for example in library().all().iter().flat_map(|builtin| builtin.examples.iter()) {
            comes_back(example.program, Namespace::new(library()), &Given::default());
        }
    });
}

#[test]
fn functions_that_came_back_do_what_they_did() {
    let steps: &[(&str, &str)] = &[
        (
            "(def rate 3) (defn twice [x] (* 2 x)) (defn scaled \"by the rate\" [x] (* rate (twice x)))",
            "#'scaled",
        ),
        ("(def make (fn [n] (fn [x] (+ n x)))) (def add5 (make 5)) (add5 1)", "6"),
        (
            "(def both (letfn [(ev? [n] (if (zero? n) true (od? (dec n)))) (od? [n] (if (zero? n) false (ev? (dec n))))] \
             {:even ev? :odd od?})) ((:even both) 10)",
            "true",
        ),
        ("((:odd both) 7)", "true"),
        (
            "(def pipeline (comp (map twice) (filter #(> % 4)) (take 2))) (into [] pipeline (range 10))",
            "[6 8]",
        ),
        ("(into [] pipeline [10 20 30])", "[20 40]"),
        ("(scaled (add5 1))", "36"),
        ("(def rate 10) (scaled 1)", "20"),
        ("(def xs (vec (range 100000))) (count (conj xs 1))", "100001"),
        ("[(nth xs 5000) (subs (doc scaled) 20 31)]", "[5000 \"by the rate\"]"),
        ("((partial (juxt add5 twice) 4))", "[9 8]"),
        ("(def table (map (fn [n] {:id n :tag (str \"t\" n)}) (range 200))) (:tag (last table))", "\"t199\""),
        ("(re-find #\"t(\\d+)\" (:tag (nth table 17)))", "[\"t17\" \"17\"]"),
    ];
    let mut namespace = Namespace::new(library());
    for (source, expected) in steps {
        let compiled = program(source).unwrap_or_else(|| panic!("{source}"));
        let left = run(compiled, namespace, &Given::default());
        assert!(left.error.is_none(), "{source}: {:?}", left.error);
        assert_eq!(left.value.as_ref().map(print::readable_lossy).as_deref(), Some(*expected), "{source}");
        let (bytes, programs) = written(&left).expect("it fits");
        namespace = read(&bytes, programs, &left).expect("what was written").namespace;
    }
}
