//! Text to value: the front end, the machine, and what surrounds them.

use criterion::{Criterion, criterion_group, criterion_main};
use ptc_benches::{PIPELINE, TINY, WORKLOADS, compile, json_records, parse_json, run};
use std::hint::black_box;

fn compiling(c: &mut Criterion) {
    let mut group = c.benchmark_group("compile");
    for workload in [TINY, PIPELINE] {
        group.bench_function(workload.name, |b| b.iter(|| compile(black_box(workload.program))));
    }
    group.finish();
}

fn parsing(c: &mut Criterion) {
    let mut group = c.benchmark_group("parse");
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
    let program = compile(WORKLOADS[1].program);
    for slice in [1_000, 20_000, u64::MAX] {
        group.bench_function(format!("slices_of_{slice}"), |b| b.iter(|| run(&program, slice)));
    }
    group.finish();
}

criterion_group!(benches, parsing, compiling, running, overhead);
criterion_main!(benches);
