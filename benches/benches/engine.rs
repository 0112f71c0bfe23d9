//! Text to value: the front end, the machine, and what surrounds them.

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use ptc_benches::{PIPELINE, TINY, WORKLOADS, compile, json_records, parse_json, run};
use ptc_compiler::CompileOptions;
use ptc_vm::builtins::library;
use ptc_vm::graph::Bounds;
use ptc_vm::machine::{Limits, Payload, Reply, RestoreSetup, Setup, SnapshotSetup};
use ptc_vm::{Machine, Program, Step};
use std::hint::black_box;
use std::rc::Rc;

/// As the command allocates.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn compiling(c: &mut Criterion) {
    let mut group = c.benchmark_group("compile");
    for workload in [TINY, PIPELINE] {
        group.bench_function(workload.name, |b| b.iter(|| compile(black_box(workload.program))));
    }
    group.finish();
}

fn parsing(c: &mut Criterion) {
    let mut group = c.benchmark_group("parse");
    for workload in [TINY, PIPELINE] {
        group.bench_function(workload.name, |b| {
            b.iter(|| ptc_compiler::reader::read(black_box(workload.program)).expect("a program").len());
        });
    }
    let records = json_records(1000);
    group.bench_function("json_1000_records", |b| b.iter(|| parse_json(black_box(&records))));
    group.finish();
}

fn running(c: &mut Criterion) {
    let mut group = c.benchmark_group("run");
    group.sample_size(20);
    for workload in WORKLOADS {
        let program = compile(workload.program);
        assert_eq!(run(&program, u64::MAX), workload.answer);
        group.bench_function(workload.name, |b| b.iter(|| run(black_box(&program), u64::MAX)));
    }
    group.finish();
}

fn overhead(c: &mut Criterion) {
    let mut group = c.benchmark_group("overhead");
    for workload in [TINY, PIPELINE] {
        group.bench_function(format!("compile_and_run_{}", workload.name), |b| {
            b.iter(|| run(&compile(black_box(workload.program)), u64::MAX));
        });
    }
    suspending(&mut group);
    let program = compile(WORKLOADS[1].program);
    for slice in [1_000, 20_000, u64::MAX] {
        group.bench_function(format!("slices_of_{slice}"), |b| b.iter(|| run(&program, slice)));
    }
    group.finish();
}

/// A hundred calls, each of which stops the machine until its reply is there.
fn suspending(group: &mut BenchmarkGroup<'_, WallTime>) {
    let program = compile(
        r#"(loop [i 0] (if (< i 100) (do (tool/call {:server "s" :tool "t" :args {:id i}}) (recur (inc i))) i))"#,
    );
    group.throughput(Throughput::Elements(100));
    group.bench_function("suspend_and_resume", |b| {
        b.iter(|| {
            let limits = Limits { memory_bytes: 1 << 30, steps: 1 << 40 };
            let mut machine =
                Machine::new(program.clone(), Setup { limits, upstreams: true, ..Setup::new(library()) });
            while let Step::Wait = machine.resume(u64::MAX) {
                for call in machine.take_calls() {
                    machine.complete(call.id, Reply::success(Payload::None));
                }
            }
            assert!(machine.finish(true).result.is_ok());
        });
    });
    group.throughput(Throughput::Elements(1));
}

/// A program that waits in the middle of `map`, written and read again with its text known (waiting.md 11).
fn snapshots(c: &mut Criterion) {
    let source = r#"(defn get-user [id] (tool/call {:server "s" :tool "t" :args {:id id :full true}}))
           (map (fn [id] (:name (:value (get-user id)))) [1 2 3])"#;
    let mut program = ptc_compiler::compile(source, library(), &CompileOptions::default()).expect("compiles");
    program.text = Some(source.into());
    let program = Rc::new(program);
    let limits = Limits::default();
    let mut machine =
        Machine::new(program.clone(), Setup { limits, upstreams: true, ..Setup::new(library()) });
    assert!(matches!(machine.resume(u64::MAX), Step::Wait));
    machine.take_calls();
    // Programs know their digest once somebody has asked.
    let digest = |_: &Program| Ok([7; 16]);
    let write = |machine: &Machine| {
        let setup = SnapshotSetup {
            digest: &digest,
            text_comes_with_request: false,
            bounds: Bounds::default(),
            host: b"",
        };
        machine.snapshot(&setup).expect("it waits").bytes
    };
    let read = |bytes: &[u8]| {
        let setup = RestoreSetup {
            library: library(),
            compile: &mut |_| Ok(program.clone()),
            digest: &digest,
            request_program: None,
            limits,
            granted_bytes: 1 << 20,
            reservation: None,
            deadline: None,
            bounds: Bounds::default(),
        };
        Machine::restore(bytes, setup).expect("it was written").machine
    };
    let bytes = write(&machine);
    println!("a small waiting program takes {} bytes", bytes.len());
    let mut group = c.benchmark_group("snapshot");
    group.bench_function("write", |b| b.iter(|| write(black_box(&machine))));
    group.bench_function("read", |b| b.iter(|| read(black_box(&bytes))));
    group.bench_function("write_and_read", |b| b.iter(|| read(&write(black_box(&machine)))));
    group.finish();
}

criterion_group!(benches, parsing, compiling, running, overhead, snapshots);
criterion_main!(benches);
