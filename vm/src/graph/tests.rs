use super::*;
use crate::builtins::library;
use crate::code::{
    Capture, DefInfo, Function, LANGUAGE_VERSION, Module, Op, Parameters, Program, ReservedMemory,
};
use crate::error::{Position, Reason};
use crate::json;
use crate::machine::{Namespace, Restoring};
use crate::meter::{self, Account, Allowance, PauseAnswer, Pauses};
use crate::print::readable_lossy;
use crate::value::{
    Blob, Captures, Closure, Combinator, CombinatorKind, Cursor, Map, Regex, ReplyWatch, Set, Temporal,
    Value, Vector, Zone, identical,
};
use bytes::Bytes;
use num_bigint::BigInt;
use proptest::prelude::*;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Writes one value.
fn encoded(value: &Value) -> (EncodedGraph, Vec<u8>) {
    let mut encoder = Encoder::new(Bounds::default());
    let place = encoder.value(value).expect("it fits");
    let encoded = encoder.finish();
    let mut writer = WireWriter::new();
    encoded.write(&mut writer);
    writer.place(place);
    (encoded, writer.into_bytes())
}

fn origins(programs: &[Rc<Program>]) -> Restoring {
    Restoring::new(programs.iter().cloned(), &mut Namespace::new(library()))
}

/// Reads one value.
fn decoded(bytes: &[u8], origins: &dyn Origins) -> Result<Value, DecodeError> {
    let mut reader = WireReader::new(bytes);
    let graph = decode(&mut reader, Bounds::default(), origins)?;
    let place = reader.place()?;
    reader.finish("end")?;
    graph.slot(place)
}

/// Bytes that what `build` makes holds.
fn held_by<R>(build: impl FnOnce() -> R) -> (R, i64) {
    let mut account = Account::new(1 << 40);
    let built = {
        let _installed = account.install();
        build()
    };
    (built, account.live)
}

/// A value comes back as it was, holds no more than before, and gives the same bytes again.
fn comes_back(build: impl FnOnce() -> Value) -> Value {
    let (before, bytes_before) = held_by(build);
    let (encoded, bytes) = encoded(&before);
    let origins = origins(&encoded.programs);
    let (after, bytes_after) = held_by(|| decoded(&bytes, &origins).expect("what an encoder writes"));
    assert!(identical(&before, &after), "{before:?}\n{after:?}");
    assert!(bytes_after <= bytes_before, "{bytes_after} > {bytes_before}: {before:?}");
    let again = self::encoded(&after).1;
    assert!(again == bytes, "{before:?}\n{bytes:?}\n{again:?}");
    after
}

fn ints(range: std::ops::Range<i64>) -> Vec<Value> {
    range.map(Value::Int).collect()
}

fn scalars() -> Vec<Value> {
    let regex = Regex::literal("a(?<n>b+)|\\p{L}").expect("a pattern");
    let mut all: Vec<Value> =
        [0, 1, -1, 63, -64, 1 << 61, (1 << 62) - 1, 1 << 62, -(1 << 62), -(1 << 62) - 1, i64::MIN, i64::MAX]
            .map(Value::Int)
            .to_vec();
    all.extend(
        [0.0, -0.0, 1.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE].map(Value::float),
    );
    all.extend(["", "a", "é👍", &"long".repeat(100)].map(Value::str));
    all.extend([Value::Nil, Value::True, Value::False, Value::keyword("k"), Value::keyword("")]);
    all.extend(
        [BigInt::from(i64::MAX) + 1, BigInt::from(i64::MIN) - 1, BigInt::from(-7).pow(999)]
            .map(Value::integer),
    );
    let text = || match Value::str("name") {
        Value::Str(text) => text,
        _ => unreachable!("a string"),
    };
    all.extend([Value::Var(text()), Value::Symbol(text()), Value::Tool(text())]);
    all.extend([
        Value::temporal(Temporal::date(-9)),
        Value::temporal(Temporal::instant(1_700_000_000_123_456, 6)),
        Value::temporal(Temporal::duration(i64::MIN)),
        Value::temporal(Temporal::local(-5, 6)),
        Value::temporal(Temporal::zoned(5, 0, Zone::UTC)),
        Value::temporal(Temporal::zoned(
            1_774_746_000_000_000,
            3,
            Zone::named("Europe/Berlin").expect("a zone"),
        )),
        Value::temporal(Temporal::zoned(i64::MAX, 0, Zone::named("UTC-3").expect("a zone"))),
    ]);
    all.push(regex);
    all.extend(["map", "+", "first"].map(|name| library().function_named(name).expect("a function")));
    all
}

#[test]
fn scalars_come_back() {
    for index in 0..scalars().len() {
        comes_back(|| scalars().swap_remove(index));
    }
    comes_back(|| Value::vector(scalars()));
    let blob = || Blob::new("image", "image/png", "file:///a", b"AAAA").expect("room").expect("base64");
    let (before, after) = (Value::Blob(blob()), comes_back(|| Value::Blob(blob())));
    let (Value::Blob(before), Value::Blob(after)) = (before, after) else { panic!("binary content") };
    assert_eq!(before.content(), after.content());
}

#[test]
fn collections_of_every_size_come_back() {
    for len in [0, 1, 2, 3, 16, 17, 31, 32, 33, 63, 64, 65, 100, 1024, 1025, 5000] {
        comes_back(|| Value::vector(ints(0..len)));
        comes_back(|| {
            Value::Vector(ints(0..len).into_iter().fold(Vector::new(), |mut all, n| {
                all.push_front(n);
                all
            }))
        });
        comes_back(|| Value::list(ints(0..len)));
        comes_back(|| Value::Set(ints(0..len).into_iter().collect()));
        comes_back(|| Value::Map(ints(0..len).into_iter().map(|n| (n.clone(), n)).collect()));
        // Trees that have become as small as a tree gets.
        comes_back(|| {
            let mut set: Set = ints(0..len + 40).into_iter().collect();
            ints(len..len + 40).iter().for_each(|n| assert!(set.remove(n)));
            Value::Set(set)
        });
        comes_back(|| {
            let mut map: Map = ints(0..len + 40).into_iter().map(|n| (n.clone(), n)).collect();
            ints(len..len + 40).iter().for_each(|n| assert!(map.remove(n).is_some()));
            Value::Map(map)
        });
        comes_back(|| {
            let long = Vector::from_vec(ints(0..2 * len + 300));
            Value::Vector(long.slice(7, 7 + len as usize))
        });
    }
}

#[test]
fn lists_come_back_as_lists_and_share_their_elements() {
    let items = Vector::from_vec(ints(0..100));
    let both = comes_back(|| {
        let items = Vector::from_vec(ints(0..100));
        let list = Value::List(items.clone());
        Value::vector([Value::Vector(items), list.clone(), Value::list([list])])
    });
    let Value::Vector(both) = both else { panic!("a vector") };
    let both = both.to_vec();
    let [Value::Vector(vector), Value::List(list), Value::List(outer)] = &both[..] else {
        panic!("a vector and two lists")
    };
    assert!(vector.same_allocation(list) && identical(&Value::Vector(items), &both[1]));
    assert!(matches!(outer.first(), Some(Value::List(inner)) if inner.same_allocation(vector)));
    comes_back(|| Value::List(Vector::range(0, 1, 100_000)));
    let queue = comes_back(|| Value::Queue(Vector::range(0, 1, 100_000)));
    assert!(matches!(queue, Value::Queue(_)));
    // A tree by sharing costs its nodes and not its paths.
    let shared = (0..60).fold(Value::list([]), |all, _| Value::list([all.clone(), all]));
    assert!(encoded(&shared).1.len() < 1000);
}

/// What vectors with stretches go through.
#[derive(Clone, Copy, Debug)]
enum Change {
    Set(usize),
    PushBack(usize),
    PushFront(usize),
    Slice(usize, usize),
    Append(usize),
}

fn changed(mut vector: Vector, changes: &[Change]) -> Vector {
    for (index, change) in changes.iter().enumerate() {
        let mark = Value::Int(-1 - index as i64);
        match *change {
            Change::Set(at) if !vector.is_empty() => vector.set(at % vector.len(), mark),
            Change::Set(_) => {}
            Change::PushBack(times) => (0..times).for_each(|_| vector.push(mark.clone())),
            Change::PushFront(times) => (0..times).for_each(|_| vector.push_front(mark.clone())),
            Change::Slice(from, to) => {
                let len = vector.len();
                vector = vector.slice(from % (len + 1), len - to % (len / 2 + 1));
            }
            Change::Append(len) => vector.append(&Vector::range(5, 2, len)),
        }
    }
    vector
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        any::<usize>().prop_map(Change::Set),
        (0_usize..70).prop_map(Change::PushBack),
        (0_usize..70).prop_map(Change::PushFront),
        (0_usize..200, 0_usize..200).prop_map(|(from, to)| Change::Slice(from, to)),
        (0_usize..100).prop_map(Change::Append),
    ]
}

/// How to make a value whose parts are shared: each from those before it.
#[derive(Clone, Debug)]
enum Recipe {
    Scalar(usize),
    Vector(Vec<usize>),
    Long(Vec<usize>),
    Repeat(usize, usize),
    Set(Vec<usize>),
    LargeSet(Vec<usize>),
    Map(Vec<usize>),
    LargeMap(Vec<usize>),
    Assoc(usize, usize),
    Combinator(Vec<usize>),
    Run(i64, i64, usize),
}

fn recipes() -> impl Strategy<Value = Vec<Recipe>> {
    let parts = || prop::collection::vec(1_usize..6, 1..5);
    let recipe = prop_oneof![
        2 => (0_usize..40).prop_map(Recipe::Scalar),
        4 => parts().prop_map(Recipe::Vector),
        1 => parts().prop_map(Recipe::Long),
        1 => (1_usize..6, 0_usize..200).prop_map(|(part, count)| Recipe::Repeat(part, count)),
        1 => parts().prop_map(Recipe::Set),
        1 => parts().prop_map(Recipe::LargeSet),
        2 => parts().prop_map(Recipe::Map),
        1 => parts().prop_map(Recipe::LargeMap),
        2 => (1_usize..6, 1_usize..6).prop_map(|(map, value)| Recipe::Assoc(map, value)),
        1 => parts().prop_map(Recipe::Combinator),
        1 => (any::<i64>(), -3_i64..3, 0_usize..200).prop_map(|(first, step, len)| Recipe::Run(first, step, len)),
    ];
    prop::collection::vec(recipe, 1..30)
}

/// The last value, its parts shared.
fn made(recipes: &[Recipe]) -> Value {
    let mut made = vec![Value::Int(0)];
    for recipe in recipes {
        let back = |by: &usize| made[made.len().saturating_sub(*by)].clone();
        let all = |parts: &[usize]| parts.iter().map(back).collect::<Vec<_>>();
        let value = match recipe {
            Recipe::Scalar(index) => {
                let mut scalars = scalars();
                let index = index % scalars.len();
                scalars.swap_remove(index)
            }
            Recipe::Vector(parts) => Value::vector(all(parts)),
            Recipe::Long(parts) => Value::Vector(all(parts).into_iter().chain(ints(0..70)).collect()),
            Recipe::Repeat(part, count) => Value::Vector(Vector::repeat(back(part), *count)),
            Recipe::Set(parts) => Value::Set(all(parts).into_iter().collect()),
            Recipe::LargeSet(parts) => Value::Set(all(parts).into_iter().chain(ints(0..50)).collect()),
            Recipe::Map(parts) => {
                let keys = all(parts);
                Value::Map(keys.iter().rev().cloned().zip(keys.iter().cloned()).collect())
            }
            Recipe::LargeMap(parts) => {
                let more = ints(0..40).into_iter().map(|n| (n.clone(), n));
                Value::Map(all(parts).into_iter().map(|key| (key.clone(), key)).chain(more).collect())
            }
            Recipe::Assoc(map, value) => match back(map) {
                // Nodes of trees that versions share are not kept shared.
                Value::Map(mut map) if map.shape().is_some() => {
                    map.insert(Value::keyword("added"), back(value));
                    Value::Map(map)
                }
                other => other,
            },
            Recipe::Combinator(parts) => {
                Value::Combinator(Combinator::new(CombinatorKind::Partial, all(parts)))
            }
            Recipe::Run(first, step, len) => Value::Vector(Vector::range(*first / 4, *step, *len)),
        };
        made.push(value);
    }
    made.pop().unwrap_or_default()
}

proptest! {
    #[test]
    fn values_come_back_with_what_they_share(recipes in recipes()) {
        comes_back(|| made(&recipes));
    }

    #[test]
    fn vectors_with_stretches_come_back(
        run in (any::<i64>(), -3_i64..4, 17_usize..3000),
        repeats in any::<bool>(),
        changes in prop::collection::vec(change(), 0..8),
    ) {
        let (first, step, len) = run;
        let start = || if repeats {
            Vector::repeat(Value::str("again"), len)
        } else {
            Vector::range(first / 4, step, len)
        };
        let back = comes_back(|| Value::Vector(changed(start(), &changes)));
        let Value::Vector(back) = back else { panic!("a vector") };
        let same = changed(start(), &changes);
        prop_assert!(back.len() == same.len() && back.iter().zip(same).all(|(a, b)| identical(&a, &b)));
        // It is a vector like any other.
        let more = [Change::PushFront(40), Change::Set(17), Change::PushBack(40), Change::Slice(3, 5)];
        let (before, after) = (changed(changed(start(), &changes), &more), changed(back, &more));
        prop_assert!(identical(&Value::Vector(before), &Value::Vector(after)));
    }

    #[test]
    fn bytes_that_were_changed_are_refused_or_are_a_value(
        recipes in recipes(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = encoded(&made(&recipes)).1;
        for (index, byte) in &changes {
            let index = index.index(bytes.len());
            bytes[index] = *byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len() + 1));
        }
        is_harmless(&bytes);
    }

    #[test]
    fn arbitrary_bytes_are_refused_or_are_a_value(bytes in prop::collection::vec(0_u8..40, 0..200)) {
        is_harmless(&bytes);
    }
}

/// Reading these bytes ends within its limits, and a value that comes of it can be used.
fn is_harmless(bytes: &[u8]) {
    let origins = origins(&[program()]);
    let allowance = Allowance { memory_bytes: 1 << 20, steps: 100_000, reservation: None, deadline: None };
    let mut value = None;
    let done = allowance.spend(|| {
        value = decoded(bytes, &origins).ok();
        Ok(())
    });
    let Ok(((), spent)) = done else { return };
    assert!(spent.peak_bytes <= 2 << 20, "{spent:?}");
    if let Some(value) = value {
        let mut account = Account::new(1 << 30);
        let _installed = account.install();
        readable_lossy(&value);
        let mut out = Vec::new();
        let _ = json::write(&value, &mut out);
        assert!(identical(&value, &value));
        encoded(&value);
    }
}

#[test]
fn a_shared_tree_costs_its_nodes_and_not_its_paths() {
    let tree = (0..60).fold(Value::str("leaf"), |inner, _| Value::pair(inner.clone(), inner));
    let (encoded, bytes) = encoded(&tree);
    assert_eq!(encoded.nodes(), 61);
    assert!(bytes.len() < 400, "{}", bytes.len());
    let after = decoded(&bytes, &origins(&[])).expect("what an encoder writes");
    assert!(identical(&tree, &after));
    comes_back(|| (0..60).fold(Value::str("leaf"), |inner, _| Value::pair(inner.clone(), inner)));
}

#[test]
fn nodes_that_versions_of_a_collection_share_hide_no_sharing() {
    let versions = |inner: Value| {
        let one: Vector = std::iter::once(inner).chain(ints(0..70)).collect();
        let mut other = one.clone();
        other.push(Value::Nil);
        Value::pair(Value::Vector(one), Value::Vector(other))
    };
    let tree = (0..40).fold(Value::str("leaf"), |inner, _| versions(inner));
    let (encoded, bytes) = encoded(&tree);
    assert_eq!(encoded.nodes(), 1 + 3 * 40);
    let after = decoded(&bytes, &origins(&[])).expect("what an encoder writes");
    assert!(identical(&tree, &after));
    assert!(self::encoded(&after).1 == bytes);
}

#[test]
fn nesting_takes_no_native_stack() {
    comes_back(|| (0..100_000).fold(Value::Nil, |inner, _| Value::vector([inner])));
    comes_back(|| {
        (0..100_000).fold(Value::Nil, |inner, _| Value::Map([(Value::Int(1), inner)].into_iter().collect()))
    });
}

#[test]
fn a_run_takes_a_few_bytes_and_no_memory() {
    for value in [
        Value::Vector(Vector::range(0, 1, 1_000_000)),
        Value::Vector(Vector::repeat(Value::str("x"), 1_000_000)),
        Value::Vector(Vector::range(i64::MIN, 1 << 40, 1_000_000).slice(3, 999_990)),
    ] {
        let bytes = encoded(&value).1;
        assert!(bytes.len() < 40, "{}", bytes.len());
        let (back, held) = held_by(|| decoded(&bytes, &origins(&[])).expect("what an encoder writes"));
        assert!(held < 400, "{held}");
        assert!(identical(&value, &back));
    }
}

#[test]
fn maps_share_their_keys_and_five_small_bindings_are_small() {
    let table = comes_back(|| {
        let keys = ["id", "name", "tags"].map(Value::keyword).to_vec();
        let shape = crate::value::Shape::of(keys).expect("keys that differ");
        let row = |n| vec![Value::Int(n), Value::str(format!("n{n}")), Value::vector([])];
        Value::vector(
            (0..100).map(|n| Value::Map(Map::with_shape(shape.clone(), row(n)))).collect::<Vec<_>>(),
        )
    });
    let Value::Vector(rows) = table else { panic!("rows") };
    let shape = |row: &Value| match row {
        Value::Map(map) => Rc::as_ptr(map.shape().expect("a small map")),
        _ => panic!("a row"),
    };
    let first = shape(&rows.first().expect("a row"));
    assert!(rows.all(|row| shape(row) == first));
    let mut encoder = Encoder::new(Bounds::default());
    let map = Value::Map([(Value::keyword("a"), Value::Int(1))].into_iter().collect());
    for value in [Value::Int(1), Value::str("text"), map, Value::vector(ints(0..5)), Value::float(1.5)] {
        encoder.value(&value).expect("it fits");
    }
    assert!(encoder.table_bytes() < 60, "{}", encoder.table_bytes());
}

/// A reply of rows that stay text.
fn rows() -> Value {
    let row =
        |n| format!(r#"{{"id":{n},"name":"customer number {n}","state":"paid","note":"a\nb","sum":{n}.5}}"#);
    let text = format!("[{}]", (0..600).map(row).collect::<Vec<_>>().join(","));
    let parsed = json::parse_reply(&Bytes::from(text)).expect("enough memory");
    let json::DocumentReading::Value(value) = parsed else { panic!("JSON") };
    value
}

#[test]
fn rows_that_are_text_are_written_as_values_and_stay_text() {
    let (value, held) = held_by(rows);
    let Value::Vector(all) = &value else { panic!("rows") };
    let is_text = |row: &Value| match row {
        Value::Map(map) => match map.contents() {
            crate::value::Contents::Row(_, fields) => {
                fields.iter().all(|field| matches!(field, crate::value::RowField::Text(_)))
            }
            _ => false,
        },
        _ => false,
    };
    let texts = || all.iter().filter(is_text).count();
    let before = texts();
    assert!(before > 500, "{before}");
    let (bytes, charged) = held_by(|| encoded(&value).1);
    assert_eq!(texts(), before, "writing reads nothing");
    assert_eq!(charged, 0, "writing leaves nothing behind");
    let (after, held_after) = held_by(|| decoded(&bytes, &origins(&[])).expect("what an encoder writes"));
    assert!(held_after <= held, "{held_after} > {held}");
    assert!(identical(&value, &after));
    assert!(encoded(&after).1 == bytes);
    // Some fields have been read.
    let value = rows();
    let Value::Vector(all) = &value else { panic!("rows") };
    all.all(|row| matches!(row, Value::Map(map) if map.get(&Value::str("name")).is_some()));
    let after = decoded(&encoded(&value).1, &origins(&[])).expect("what an encoder writes");
    assert!(identical(&value, &after));
}

#[test]
fn failed_results_are_written_without_a_look_at_them() {
    let watch = Rc::new(ReplyWatch::default());
    let entries =
        [(Value::keyword("ok"), Value::False), (Value::keyword("reason"), Value::keyword("timeout"))];
    let map: Map = entries.into_iter().collect();
    let value = Value::Map(map.clone().watched(watch.clone()));
    let bytes = encoded(&value).1;
    assert!(!watch.looked_at());
    let plain = decoded(&bytes, &origins(&[])).expect("what an encoder writes");
    assert!(matches!(&plain, Value::Map(map) if map.shape().is_some()), "nobody learns of its reading");

    let mut encoder = Encoder::new(Bounds::default()).keeping_watches();
    let place = encoder.value(&value).expect("it fits");
    let encoded = encoder.finish();
    assert!(!watch.looked_at());
    let mut writer = WireWriter::new();
    encoded.write(&mut writer);
    writer.place(place);
    let bytes = writer.into_bytes();
    assert!(decoded(&bytes, &origins(&[])).is_err(), "there is no such watch");
    let new = Rc::new(ReplyWatch::default());
    let origins = origins(&[]).with_watches(vec![new.clone()]);
    let Value::Map(after) = decoded(&bytes, &origins).expect("what an encoder writes") else {
        panic!("a map")
    };
    assert!(!new.looked_at());
    assert!(matches!(after.get(&Value::keyword("ok")), Some(Value::False)));
    assert!(new.looked_at() && !watch.looked_at());
}

/// A function over two captured values, one without, and its documentation.
fn program() -> Rc<Program> {
    let body = |code: Vec<Op>| crate::code::Arity {
        parameters: Parameters { required: 0, rest: false },
        code,
        constants: vec![Value::str("constant"), Value::keyword("k")],
        max_stack: 2,
        lookups: Vec::new(),
        positions: Vec::new(),
    };
    let function = |captures: Vec<Capture>, code| {
        Rc::new(Function {
            name: Some("f".into()),
            arities: vec![Rc::new(body(code))],
            captures,
            display: "#fn[]".into(),
            position: Position { line: 1, column: 1 },
        })
    };
    Rc::new(Program {
        functions: vec![
            function(Vec::new(), vec![Op::Nil, Op::Return]),
            function(vec![Capture::Local(0), Capture::Local(1)], vec![Op::Capture(1), Op::Return]),
        ],
        globals: vec!["f".into()],
        requires: Vec::new(),
        tools: Vec::new(),
        defs: vec![Rc::new(DefInfo {
            doc: None,
            parameters: vec!["[]".into()],
            source: "(defn f [] 1)".into(),
        })],
        def_positions: vec![Position { line: 1, column: 1 }],
        local_names: Vec::new(),
        notes: Vec::new(),
        shadows_builtin: false,
        source_bytes: 13,
        parts: Box::default(),
        derived: Default::default(),
        text: None,
        code_digest: Default::default(),
        heap_bytes: 0,
        reserved: ReservedMemory::default(),
    })
}

fn captured(values: &[Value]) -> Rc<Captures> {
    Captures::new(values.iter().cloned().collect())
}

#[test]
fn closures_come_back_over_their_programs_with_what_they_share() {
    let program = program();
    let module = Rc::new(Module { program: program.clone(), slots: vec![0].into() });
    let captures = captured(&[Value::Int(1), Value::str("two")]);
    let closure = |index| Value::Closure(Closure::new(module.clone(), index, captures.clone()));
    let value = Value::vector([closure(1), closure(1), closure(0)]);
    let mut encoder = Encoder::new(Bounds::default());
    let place = encoder.value(&value).expect("it fits");
    let info = encoder.info(&program.defs[0]).expect("it fits");
    let other = Rc::new(DefInfo { doc: Some("d".into()), parameters: vec![], source: "(def g)".into() });
    let other_info = encoder.info(&other).expect("it fits");
    let frames = encoder.captures(&captures).expect("it fits");
    let encoded = encoder.finish();
    assert_eq!(encoded.programs.len(), 1);
    let mut writer = WireWriter::new();
    encoded.write(&mut writer);
    let bytes = writer.into_bytes();
    let read = |programs: &[Rc<Program>]| {
        let mut reader = WireReader::new(&bytes);
        let graph = decode(&mut reader, Bounds::default(), &origins(programs))?;
        reader.finish("end").map(|()| graph)
    };
    let graph = read(&encoded.programs).expect("what an encoder writes");
    assert!(Rc::ptr_eq(&graph.info(info).expect("a definition"), &program.defs[0]));
    let text = graph.info(other_info).expect("a definition");
    assert_eq!((text.doc.as_deref(), &*text.source), (Some("d"), "(def g)"));
    let captures = graph.captures(frames).expect("captured values");
    let Value::Vector(after) = graph.value(place).expect("a value") else { panic!("a vector") };
    for (index, function) in [1, 1, 0].into_iter().enumerate() {
        let Some(Value::Closure(closure)) = after.get(index) else { panic!("a closure") };
        assert_eq!(closure.function, function);
        assert!(Rc::ptr_eq(&closure.captures, &captures), "they are shared");
        assert!(Rc::ptr_eq(&closure.module.program, &program));
    }
    assert!(read(&[]).is_err(), "there is no such program");
    assert!(graph.value(frames).is_err() && graph.value(info).is_err() && graph.captures(place).is_err());
}

#[test]
fn a_closure_without_what_its_code_reads_is_refused() {
    let module = Rc::new(Module { program: program(), slots: vec![0].into() });
    let broken = Value::Closure(Closure::new(module, 1, captured(&[Value::Nil])));
    let (encoded, bytes) = encoded(&broken);
    assert!(matches!(decoded(&bytes, &origins(&encoded.programs)), Err(DecodeError::Invalid("captures"))));
}

#[test]
fn combinators_without_what_their_calls_expect_are_refused() {
    let function = |name| library().function_named(name).expect("a function");
    for (kind, parts, is_right) in [
        (CombinatorKind::Comp, vec![], false),
        (CombinatorKind::Partial, vec![], false),
        (CombinatorKind::Reduced, vec![], false),
        (CombinatorKind::Constantly, vec![Value::Nil, Value::Nil], false),
        (CombinatorKind::Endless, vec![function("cycle"), Value::vector([])], false),
        (CombinatorKind::Endless, vec![function("cycle"), Value::vector([Value::Nil])], true),
        (CombinatorKind::Endless, vec![function("map"), Value::Nil], false),
        (CombinatorKind::Transducer, vec![function("map"), function("inc")], true),
        (CombinatorKind::Transducer, vec![function("take-nth"), Value::Int(-1)], false),
        (CombinatorKind::Transducer, vec![Value::Nil], false),
    ] {
        let shown = format!("{kind:?} {parts:?}");
        let bytes = encoded(&Value::Combinator(Combinator::new(kind, parts))).1;
        assert_eq!(decoded(&bytes, &origins(&[])).is_ok(), is_right, "{shown}");
    }
}

#[test]
fn cursors_come_back_where_they_were_and_never_inside_a_value() {
    let collections = [
        Value::vector(ints(0..100)),
        Value::Vector(Vector::range(0, 1, 1000)),
        Value::Set(ints(0..50).into_iter().collect()),
        Value::Map(ints(0..5).into_iter().map(|n| (n.clone(), n)).collect()),
    ];
    for (collection, taken) in collections.into_iter().flat_map(|c| [0, 1, 5].map(|taken| (c.clone(), taken)))
    {
        let mut cursor = collection.cursor().expect("enough memory").expect("a collection");
        (0..taken).for_each(|_| drop(cursor.advance()));
        let bytes = encoded(&Value::Cursor(Rc::new(RefCell::new(cursor.clone())))).1;
        let Ok(Value::Cursor(after)) = decoded(&bytes, &origins(&[])) else { panic!("a cursor") };
        let mut after = after.borrow().clone();
        assert_eq!(after.remaining(), cursor.remaining());
        while let Some(next) = cursor.advance() {
            assert!(identical(&next, &after.advance().expect("as many")));
        }
        assert!(after.advance().is_none());
    }
    let inside =
        Value::vector([Value::Cursor(Rc::new(RefCell::new(Cursor::Vector(Vector::new().into_iter()))))]);
    assert!(decoded(&encoded(&inside).1, &origins(&[])).is_err());
}

#[test]
fn errors_come_back_whole() {
    let payload = Value::vector(ints(0..3));
    let errors = [
        Error::fail(payload, "[0 1 2]".into()).at(Some(Position { line: 3, column: 7 })),
        Error::type_error("x").with_hint("try y".into()),
        Error::argument("first", 1, "collection", &Value::Nil),
        Error::new(Reason::Cancelled, "gone"),
    ];
    let mut encoder = Encoder::new(Bounds::default());
    let places = errors.each_ref().map(|error| encoder.error(error).expect("it fits"));
    let mut writer = WireWriter::new();
    encoder.finish().write(&mut writer);
    let bytes = writer.into_bytes();
    let graph = decode(&mut WireReader::new(&bytes), Bounds::default(), &origins(&[]))
        .expect("what an encoder writes");
    for (error, place) in errors.iter().zip(places) {
        let after = graph.error(place).expect("an error");
        assert_eq!(format!("{error:?}"), format!("{after:?}"));
    }
}

#[test]
fn what_is_not_as_an_encoder_writes_it_is_refused() {
    // One node of the kind, and the place of the first node.
    let refused = |part, node: &[u8]| {
        let bytes = [&[1], node, &[6]].concat();
        match decoded(&bytes, &origins(&[])) {
            Err(DecodeError::Invalid(why)) => assert_eq!(why, part, "{node:?}"),
            other => panic!("{node:?}: {other:?}"),
        }
    };
    refused("kind of node", &[99]);
    refused("integer", &[0, 2]);
    refused("text", &[4, 1, 0xff]);
    refused("length", &[4, 100, b'a']);
    refused("function", &[9, 1, b'?']);
    refused("function", &[9, 10, b'D', b'o', b'u', b'b', b'l', b'e', b'/', b'N', b'a', b'N']);
    refused("value", &[10, 1, 6]);
    refused("value", &[10, 1, 8]);
    refused("order of keys", &[12, 0, 2, 1, 3]);
    refused("order of keys", &[12, 0, 2, 1, 1]);
    refused("shape", &[12, 0, 33].iter().chain(&[1; 33]).copied().collect::<Vec<u8>>());
    refused("tree", &[17, 2, 1, 3]);
    refused("number of a node", &[13, 0]);
    refused("program", &[18, 0, 0, 0]);
    refused("date", &[21, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01]);
    refused("instant", &[22, 0, 7]);
    refused("number of a node", &[31, 0]);
    refused("vector", &[11, 0, 1, 1, 0, 2, 0, 0]);
    refused("vector", &[11, 0, 1, 1, 0, 1, 0]);
    refused("integer", &[2, 1, 5]);
    refused("regular expression", &[8, 1, b'(']);
    refused("reason", &[27, 1, b'x']);
    refused("binary content", &[28, 1, b'x', 0, 0, 0]);
    let list_of_a_text = [2, 4, 1, b'x', 31, 0, 8];
    assert!(matches!(decoded(&list_of_a_text, &origins(&[])), Err(DecodeError::Invalid("list"))));
    let mut long = encoded(&Value::str("x")).1;
    long.push(0);
    assert!(matches!(decoded(&long, &origins(&[])), Err(DecodeError::Invalid("end"))));
    assert!(matches!(decoded(&[0xff, 0xff, 0xff, 0x7f], &origins(&[])), Err(DecodeError::Invalid("length"))));
}

#[test]
fn graphs_are_bounded_in_nodes_and_bytes() {
    let texts = Value::vector((0..100).map(|n| Value::str(format!("text {n}"))).collect::<Vec<_>>());
    for (bounds, part) in
        [(Bounds { nodes: 50, bytes: 1 << 20 }, "nodes"), (Bounds { nodes: 1000, bytes: 500 }, "bytes")]
    {
        match Encoder::new(bounds).value(&texts) {
            Err(EncodeError::TooLarge(what)) => assert_eq!(what, part),
            other => panic!("{other:?}"),
        }
        let bytes = encoded(&texts).1;
        assert!(decode(&mut WireReader::new(&bytes), bounds, &origins(&[])).is_err());
    }
}

#[test]
fn both_ways_stop_at_the_limits_of_the_account() {
    let texts = Value::vector((0..100_000).map(|n| Value::str(format!("text {n}"))).collect::<Vec<_>>());
    let bytes = encoded(&texts).1;
    let allow = |memory_bytes, steps| Allowance { memory_bytes, steps, reservation: None, deadline: None };
    for (memory_bytes, steps) in [(1 << 30, 1000), (1 << 18, 1 << 30)] {
        let written =
            allow(memory_bytes, steps).spend(|| match Encoder::new(Bounds::default()).value(&texts) {
                Err(EncodeError::Refused(error)) => Err::<(), Error>(error),
                other => panic!("{other:?}"),
            });
        assert!(written.is_err());
        let read = allow(memory_bytes, steps).spend(|| match decoded(&bytes, &origins(&[])) {
            Err(DecodeError::Refused(error)) => Err::<(), Error>(error),
            other => panic!("{:?}", other.map(|_| ())),
        });
        assert!(read.is_err());
    }
}

thread_local! {
    static PAUSED: Cell<u32> = const { Cell::new(0) };
}

#[test]
fn both_ways_give_way() {
    const COUNTED: Pauses = Pauses {
        is_due: || true,
        pause: || {
            PAUSED.set(PAUSED.get() + 1);
            PauseAnswer::GoOn
        },
    };
    let wide = Value::vector((0..200_000).map(|n| Value::vector([Value::Int(n)])).collect::<Vec<_>>());
    let pauses = |work: &mut dyn FnMut()| {
        PAUSED.set(0);
        meter::pausing(COUNTED, || {
            let allowance =
                Allowance { memory_bytes: 1 << 30, steps: 1 << 30, reservation: None, deadline: None };
            allowance.spend(|| {
                work();
                Ok(())
            })
        })
        .expect("within its limits");
        PAUSED.get()
    };
    let mut bytes = Vec::new();
    assert!(pauses(&mut || bytes = encoded(&wide).1) >= 15, "{}", PAUSED.get());
    assert!(pauses(&mut || drop(decoded(&bytes, &origins(&[])))) >= 15, "{}", PAUSED.get());
}

#[test]
fn code_is_told_from_other_code() {
    let digest = |program: &Program| {
        let mut all = Vec::new();
        write_code(program, &mut |bytes| all.extend_from_slice(bytes)).expect("it fits");
        all
    };
    let own = digest(&program());
    assert_eq!(own, digest(&program()));
    assert!(
        own.starts_with(&LANGUAGE_VERSION.to_le_bytes()),
        "the same code means something else in another language"
    );
    let changed = |change: fn(&mut Program)| {
        let mut program = Rc::try_unwrap(program()).expect("nobody else has it");
        change(&mut program);
        digest(&program)
    };
    assert_ne!(own, changed(|program| program.globals[0] = "g".into()));
    assert_ne!(own, changed(|program| program.shadows_builtin = true));
    assert_ne!(own, changed(|program| program.functions.truncate(1)));
    assert_ne!(
        own,
        changed(|program| {
            let function = Rc::get_mut(&mut program.functions[1]).expect("nobody else has it");
            let arity = Rc::get_mut(&mut function.arities[0]).expect("nobody else has it");
            arity.constants[0] = Value::str("another");
        })
    );
    assert_ne!(
        own,
        changed(|program| {
            let function = Rc::get_mut(&mut program.functions[1]).expect("nobody else has it");
            Rc::get_mut(&mut function.arities[0]).expect("nobody else has it").code[0] = Op::True;
        })
    );
}
