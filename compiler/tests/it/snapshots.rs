//! A program that waits goes on from a snapshot as if nothing had been, wherever it waits (waiting.md 2.7).

use crate::support::snapshotting::{
    Answer, KINDS, LIMITS, Open, Shown, calls, compiled, compiles, digest, drive, finish, lent, programs,
    read, read_fresh, start, written,
};
use crate::support::suspending::{ASKING, Order};
use ptc_vm::builtins::library;
use ptc_vm::graph::Bounds;
use ptc_vm::machine::{
    Binding, Limits, Namespace, Payload, PendingCall, Reply, RestoreError, RestoreSetup, Setup,
    SnapshotError, SnapshotSetup,
};
use ptc_vm::meter::Reservation;
use ptc_vm::{Machine, Step, Value, print};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Kinds that call no function: they give way to others, and never wait. Their own tests write and read them.
const NEVER_WAIT: &[&str] = &["join"];

/// Runs a program twice, once in one machine and once in another one from wait to wait. How often it waits.
fn moved_at_every_wait(source: &str, order: Order) -> usize {
    let program = compiled(source);
    let mut waits = 0;
    let want = drive(start(&program), Vec::new(), order, &mut |machine, _| machine);
    let got = drive(start(&program), Vec::new(), order, &mut |machine, open| {
        waits += 1;
        let bytes = written(&machine).unwrap_or_else(|pinned| panic!("{source}: {pinned}"));
        let restored = read(&bytes, &mut |_| Ok(program.clone()));
        let restored = restored.unwrap_or_else(|damage| panic!("{source}: {damage}"));
        assert_eq!(restored.waiting_calls(), calls(open), "{source}");
        assert_eq!(restored.under_way(), machine.under_way(), "{source}");
        assert!(
            restored.memory_live() <= machine.memory_live(),
            "{source}: {} bytes after {}",
            restored.memory_live(),
            machine.memory_live()
        );
        let again = written(&restored).unwrap_or_else(|pinned| panic!("{source}: {pinned}"));
        assert_eq!(again, bytes, "{source}: written again");
        restored
    });
    assert_eq!(got, want, "{source}, {order:?}");
    waits
}

#[test]
fn a_program_goes_on_from_its_snapshot_wherever_it_waits() {
    let mut waits = 0;
    for source in programs() {
        for order in [Order::First, Order::Last, Order::Any(3)] {
            waits += moved_at_every_wait(&source, order);
        }
    }
    assert!(waits > 1000, "{waits} waits");
}

/// The programs of the conformance data that ask their host something here.
#[test]
fn programs_of_the_conformance_data_go_on_from_their_snapshots() {
    let data = include_str!("../../../tests/conformance/given.jsonl");
    let field = |value: &Value, name: &str| match value {
        Value::Map(map) => map.get(&Value::str(name)).cloned(),
        _ => None,
    };
    let mut waits = 0;
    for line in data.lines() {
        // A few cases are about text that is none.
        let Some(case) = ptc_vm::json::parse(line.as_bytes()).expect("room") else { continue };
        let steps = match field(&case, "steps") {
            Some(Value::Vector(steps)) => steps.iter().collect(),
            _ => vec![case],
        };
        for step in steps {
            let Some(Value::Str(source)) = field(&step, "program") else { panic!("{line}") };
            let source = source.as_str();
            if ["tool/", "apropos", "(doc", "(dir", "(meta"].iter().any(|form| source.contains(form))
                && compiles(source)
            {
                waits += moved_at_every_wait(source, Order::First);
            }
        }
    }
    assert!(waits > 5, "{waits} waits");
}

/// The machine that was written goes on as well, and each snapshot of it can be gone on with on another thread, with a program
/// that is compiled there.
#[test]
fn every_snapshot_of_a_run_leads_to_its_end_on_another_thread() {
    for source in programs() {
        let program = compiled(&source);
        let mut snapshots: Vec<(Vec<u8>, Vec<Open>)> = Vec::new();
        let want = drive(start(&program), Vec::new(), Order::First, &mut |machine, open| {
            let bytes = written(&machine).unwrap_or_else(|pinned| panic!("{source}: {pinned}"));
            snapshots.push((bytes, open.to_vec()));
            machine
        });
        let elsewhere = std::thread::spawn(move || {
            let run = |(bytes, open): (Vec<u8>, Vec<Open>)| {
                let machine = read_fresh(&bytes).unwrap_or_else(|damage| panic!("{damage}"));
                drive(machine, open, Order::First, &mut |machine, _| machine)
            };
            snapshots.into_iter().map(run).collect::<Vec<Shown>>()
        });
        for got in elsewhere.join().unwrap_or_else(|_| panic!("{source}")) {
            assert_eq!(got, want, "{source}");
        }
    }
}

#[test]
fn every_kind_of_builtin_is_written_in_the_middle_of_its_work() {
    let mut without: BTreeSet<&str> =
        library().frame_kinds().filter(|kind| !NEVER_WAIT.contains(kind)).collect();
    for (kind, program) in KINDS {
        let mut met = false;
        drive(
            start(&compiled(&format!("{ASKING} {program}"))),
            Vec::new(),
            Order::First,
            &mut |machine, _| {
                if machine.under_way().contains(kind) {
                    met = true;
                    let restored = read_fresh(&written(&machine).expect(kind)).expect(kind);
                    assert_eq!(restored.under_way(), machine.under_way(), "{program}");
                }
                machine
            },
        );
        assert!(met, "`{kind}` does not wait in {program}");
        without.remove(kind);
    }
    assert!(without.is_empty(), "no program waits in the middle of {without:?}");
}

#[test]
fn only_what_waits_can_be_written() {
    let not_waiting = |machine: &Machine| matches!(written(machine), Err(SnapshotError::NotWaiting));
    let mut machine = start(&compiled(&format!("{ASKING} (f 1)")));
    assert!(not_waiting(&machine), "it has not begun");
    assert!(matches!(machine.resume(1), Step::Slice));
    assert!(not_waiting(&machine), "it can run");
    while !matches!(machine.resume(1), Step::Wait) {}
    assert!(not_waiting(&machine), "the host has not taken the call");
    let call = machine.take_calls()[0].id;
    assert!(written(&machine).is_ok());
    machine.complete(call, Reply::Value(Payload::None));
    assert!(not_waiting(&machine), "its call is answered");
    while !matches!(machine.resume(u64::MAX), Step::Done) {}
    assert!(not_waiting(&machine), "it is over");
}

#[test]
fn caps_pin_a_run() {
    let source = format!("{ASKING} (let [x (mapv str (range 5000))] (f 1) (count x))");
    let mut machine = start(&compiled(&source));
    while !matches!(machine.resume(u64::MAX), Step::Wait) {}
    machine.take_calls();
    let within = |bounds| {
        let setup = SnapshotSetup { digest: &digest, text_comes_with_request: false, bounds, host: b"" };
        machine.snapshot(&setup).map(|snapshot| snapshot.bytes.len())
    };
    assert!(within(Bounds::default()).is_ok());
    let nodes = within(Bounds { nodes: 4000, ..Bounds::default() });
    assert!(matches!(nodes, Err(SnapshotError::TooLarge(_))), "{nodes:?}");
    let bytes = within(Bounds { bytes: 10_000, ..Bounds::default() });
    assert!(matches!(bytes, Err(SnapshotError::TooLarge(_))), "{bytes:?}");
}

/// Versions of one map have most of their nodes in common, which a snapshot does not keep.
#[test]
fn what_would_take_more_memory_than_it_may_stays_where_it_is() {
    let source = format!(
        "{ASKING} (let [m (zipmap (range 3000) (range 3000)) all (mapv (fn [i] (assoc m i :x)) (range 150))] (f 1) (count all))"
    );
    let mut machine = start(&compiled(&source));
    while !matches!(machine.resume(u64::MAX), Step::Wait) {}
    machine.take_calls();
    assert!(machine.memory_live() < 1 << 20, "{} bytes", machine.memory_live());
    let pinned = written(&machine);
    assert!(matches!(pinned, Err(SnapshotError::Memory)), "{:?}", pinned.map(|bytes| bytes.len()));
    // It goes on where it is.
    let call = machine.waiting_calls()[0];
    machine.complete(call, Reply::Value(Payload::None));
    while !matches!(machine.resume(u64::MAX), Step::Done) {}
    assert_eq!(finish(machine).0, "150");
}

/// The program is begun here, and ended by a process that knows nothing but the bytes.
#[test]
fn another_process_goes_on() {
    const FILE: &str = "PTC_TEST_SNAPSHOT";
    const SHOWN: &str = "shown: ";
    if let Some(file) = std::env::var_os(FILE) {
        let machine = read_fresh(&std::fs::read(file).expect("the snapshot")).expect("one of this build");
        let open =
            machine.waiting_calls().into_iter().map(|call| (call, Answer::Echo(br#"{"x":7}"#.to_vec())));
        let shown = drive(machine, open.collect(), Order::Last, &mut |machine, _| machine);
        println!("{SHOWN}{shown:?}");
        return;
    }
    let source = format!(
        "{ASKING} (do (def a 1) (println \"begun\") (pmap (fn [x] (reduce (fn [acc y] (+ acc (f y))) a (range x))) [2 1 3]))"
    );
    let program = compiled(&source);
    let seven = |call: PendingCall| (call.id, Answer::Echo(br#"{"x":7}"#.to_vec()));
    let mut machine = start(&program);
    assert!(matches!(machine.resume(u64::MAX), Step::Wait));
    machine.take_calls();
    let file = std::env::temp_dir().join(format!("ptc-snapshot-{}", std::process::id()));
    std::fs::write(&file, written(&machine).expect("waits")).expect("a file");
    let child = std::process::Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "snapshots::another_process_goes_on", "--nocapture"])
        .env(FILE, &file)
        .output()
        .expect("a process");
    std::fs::remove_file(&file).expect("the file");
    let told = String::from_utf8_lossy(&child.stdout).into_owned();
    let shown = told.lines().find_map(|line| line.split_once(SHOWN)).map(|(_, shown)| shown.to_owned());

    // The same, without leaving: the calls that wait get 7, those that come later what they ask for.
    let mut machine = start(&program);
    assert!(matches!(machine.resume(u64::MAX), Step::Wait));
    let open = machine.take_calls().into_iter().map(seven).collect();
    let want = drive(machine, open, Order::Last, &mut |machine, _| machine);
    assert!(!want.0.starts_with('!') && want.1 == ["begun"], "{want:?}");
    assert_eq!(shown.as_deref(), Some(format!("{want:?}").as_str()), "{told}");
}

/// What comes with the request is not written, and what the host adds comes back.
#[test]
fn the_text_may_come_with_the_request() {
    let source = format!("{ASKING} (inc (f 1))");
    let mut machine = start(&compiled(&source));
    assert!(matches!(machine.resume(u64::MAX), Step::Wait));
    let open = machine.take_calls().into_iter().map(Answer::to).collect();
    let setup = SnapshotSetup {
        digest: &digest,
        text_comes_with_request: true,
        bounds: Bounds::default(),
        host: b"what the host adds",
    };
    let snapshot = machine.snapshot(&setup).expect("waits");
    let has = |text: &[u8]| snapshot.bytes.windows(text.len()).any(|part| part == text);
    assert!(!has(source.as_bytes()) && has(b"what the host adds"));
    let mut compile_here = |text: &str| Ok(compiled(text));
    let restored = Machine::restore(
        &snapshot.bytes,
        RestoreSetup { request_program: Some(&source), ..lent(&mut compile_here) },
    )
    .unwrap_or_else(|damage| panic!("{damage}"));
    assert_eq!(restored.host, b"what the host adds");
    assert_eq!(drive(restored.machine, open, Order::First, &mut |machine, _| machine).0, "2");
    let without = Machine::restore(&snapshot.bytes, lent(&mut compile_here)).err();
    assert_eq!(without.map(|damage| damage.to_string()).as_deref(), Some("invalid snapshot: program"));
    let other = RestoreSetup { request_program: Some("(f 2)"), ..lent(&mut compile_here) };
    assert!(matches!(Machine::restore(&snapshot.bytes, other).err(), Some(RestoreError::OtherBuild)));
}

/// The context and what a session holds are granted: they count for the host, and not for the program, on either side.
#[test]
fn what_was_granted_counts_for_the_host() {
    let rows = |count: i64| {
        Value::vector((0..count).map(|n| Value::str(format!("row number {n}"))).collect::<Vec<_>>())
    };
    let mut namespace = Namespace::new(library());
    let slot = namespace.slot(&Rc::from("kept"));
    namespace.set(slot, Some(Binding { value: rows(500), info: None }));
    let slot = namespace.slot(&Rc::from("unmentioned"));
    namespace.set(slot, Some(Binding { value: rows(500), info: None }));
    let source = format!(
        "{ASKING} (do (def own (f [1 2])) (def kept (conj kept (f 3))) [(count data/rows) (count kept) own])"
    );
    let setup = Setup {
        namespace,
        context: Value::Map([(Value::str("rows"), rows(1000))].into_iter().collect()),
        tools: vec![Rc::from("echo")],
        limits: Limits { memory_bytes: 20_000, steps: 50_000 },
        ..Setup::new(library())
    };
    let mut machine = Machine::new(compiled(&source), setup);
    assert!(matches!(machine.resume(u64::MAX), Step::Wait), "{:?}", machine.result());
    for (call, answer) in machine.take_calls().into_iter().map(Answer::to) {
        machine.complete(call, answer.reply());
    }
    assert!(matches!(machine.resume(u64::MAX), Step::Wait), "{:?}", machine.result());
    let open: Vec<Open> = machine.take_calls().into_iter().map(Answer::to).collect();
    let bytes = written(&machine).unwrap_or_else(|pinned| panic!("{pinned}"));
    let mut compile_here = |text: &str| Ok(compiled(text));
    let restored =
        Machine::restore(&bytes, lent(&mut compile_here)).unwrap_or_else(|damage| panic!("{damage}"));
    assert!((70_000..200_000).contains(&restored.granted_bytes), "{} bytes", restored.granted_bytes);
    let (live, before) = (restored.machine.memory_live(), machine.memory_live());
    assert!(live <= before && before < 20_000, "{live} after {before}");
    let shown = drive(restored.machine, open.clone(), Order::First, &mut |machine, _| machine);
    assert_eq!(shown, drive(machine, open, Order::First, &mut |machine, _| machine));
    assert_eq!(shown.0, "[1000 501 [1 2]]");
    let little = RestoreSetup { granted_bytes: 10_000, ..lent(&mut compile_here) };
    let refused = Machine::restore(&bytes, little).err().map(|damage| damage.to_string());
    assert_eq!(refused.as_deref(), Some("invalid snapshot: granted values"));
}

/// A failed definition is taken back after the move as before it, and what a session had is told apart from what came in.
#[test]
fn definitions_are_taken_back_from_a_program_that_has_moved() {
    let mut namespace = Namespace::new(library());
    let slot = namespace.slot(&Rc::from("a"));
    namespace.set(slot, Some(Binding { value: Value::Int(1), info: None }));
    let source = format!("{ASKING} (do (def a 2) (def a 3) (defn b \"Doc.\" [x] x) (f 1) (inc \"x\"))");
    let setup = Setup { namespace, tools: vec![Rc::from("echo")], limits: LIMITS, ..Setup::new(library()) };
    let mut machine = Machine::new(compiled(&source), setup);
    assert!(matches!(machine.resume(u64::MAX), Step::Wait));
    let open: Vec<Open> = machine.take_calls().into_iter().map(Answer::to).collect();
    let mut machine = read_fresh(&written(&machine).expect("waits")).expect("was written");
    for (call, answer) in open {
        machine.complete(call, answer.reply());
    }
    assert!(matches!(machine.resume(u64::MAX), Step::Done));
    let outcome = machine.finish(true);
    assert!(outcome.result.is_err() && outcome.changed.is_empty());
    let bindings: Vec<String> = outcome
        .namespace
        .bindings()
        .iter()
        .map(|(name, binding)| format!("{name} {}", print::readable(&binding.value).expect("printable")))
        .collect();
    assert_eq!(bindings, ["a 1"]);
}

/// One `tool/call` in a `map`, with its text in it (waiting.md 11: at most 4 KiB sealed).
#[test]
fn a_small_waiting_program_is_small() {
    let source = r#"(defn get-user [id] (tool/call {:server "s" :tool "t" :args {:id id :full true}}))
        (map (fn [id] (:name (:value (get-user id)))) [1 2 3])"#;
    let mut machine = start(&compiled(source));
    assert!(matches!(machine.resume(u64::MAX), Step::Wait));
    machine.take_calls();
    let bytes = written(&machine).expect("waits").len();
    println!("{bytes} bytes, {} of them text", source.len());
    assert!(bytes - source.len() <= 300, "{bytes} bytes");
}

/// What has been reserved of the memory of all programs.
#[derive(Default)]
struct Purse(Cell<i64>);

impl Reservation for Purse {
    fn grow(&self, bytes: u64) -> bool {
        self.0.set(self.0.get() + bytes as i64);
        true
    }

    fn shrink(&self, bytes: u64) {
        self.0.set(self.0.get() - bytes as i64);
    }
}

#[test]
fn memory_is_reserved_for_what_is_held_and_for_nothing_else() {
    let (here, there) = (Rc::new(Purse::default()), Rc::new(Purse::default()));
    let program = compiled(&format!("{ASKING} (let [x (mapv str (range 2000))] (f 1) (count x))"));
    let setup = Setup {
        tools: vec![Rc::from("echo")],
        limits: LIMITS,
        reservation: Some(here.clone()),
        context: Value::Map([(Value::str("a"), Value::str("b".repeat(50_000)))].into_iter().collect()),
        ..Setup::new(library())
    };
    let mut machine = Machine::new(program, setup);
    assert!(matches!(machine.resume(u64::MAX), Step::Wait));
    machine.take_calls();
    let before = here.0.get();
    let bytes = written(&machine).expect("waits");
    assert_eq!(here.0.get(), before, "writing gives back what it takes");
    let mut compile_here = |text: &str| Ok(compiled(text));
    let setup = RestoreSetup { reservation: Some(there.clone()), ..lent(&mut compile_here) };
    let restored = Machine::restore(&bytes, setup).unwrap_or_else(|damage| panic!("{damage}"));
    assert!(restored.granted_bytes >= 50_000, "{} bytes", restored.granted_bytes);
    let (held, reserved) = (restored.machine.memory_live() as i64, there.0.get());
    assert!(held > 80_000 && reserved >= held, "{reserved} reserved for {held}");
    assert!(reserved <= LIMITS.memory_bytes as i64, "{reserved} reserved");
}
