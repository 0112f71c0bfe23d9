//! What the meter says that values hold, against what the allocator says.
//!
//! A program of its own without the test harness, since the allocator counts for all threads.

use ptc_vm::json;
use ptc_vm::meter::Account;
use ptc_vm::value::{Map, Set, Value, Vector};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Builds values of one kind.
type Build = fn() -> Value;

fn int(n: i64) -> Value {
    Value::Int(n)
}

fn keyed(n: i64) -> Value {
    Value::keyword(format!("key-{n}"))
}

fn vector_of(count: i64, item: fn(i64) -> Value) -> Value {
    Value::Vector((0..count).map(item).collect())
}

fn map_of(count: i64, key: fn(i64) -> Value) -> Map {
    (0..count).map(|n| (key(n), int(n))).collect()
}

/// A thousand versions of a collection, each with one change.
fn versions(change: impl Fn(i64, &mut Value), start: Value) -> Value {
    let mut current = start;
    let versions = (0..1000).map(|n| {
        change(n, &mut current);
        current.clone()
    });
    Value::Vector(versions.collect())
}

const SCENARIOS: &[(&str, Build)] = &[
    ("integers", || vector_of(10_000, int)),
    ("integers, pushed one by one", || {
        let mut vector = Vector::new();
        (0..10_000).for_each(|n| vector.push(int(n)));
        Value::Vector(vector)
    }),
    ("integers, put before one by one", || {
        let mut vector = Vector::new();
        (0..10_000).for_each(|n| vector.push_front(int(n)));
        Value::Vector(vector)
    }),
    ("pairs", || vector_of(2000, |n| Value::pair(int(n), int(n)))),
    ("short vectors", || vector_of(2000, |n| vector_of(n % 20, int))),
    ("short strings", || vector_of(2000, |n| Value::str(n.to_string()))),
    ("long strings", || vector_of(500, |n| Value::str("x".repeat(n as usize)))),
    ("keywords", || vector_of(2000, keyed)),
    ("maps of a few keys", || vector_of(1000, |n| Value::Map(map_of(n % 10, int)))),
    ("a large map", || Value::Map(map_of(10_000, int))),
    ("a large map, in any order", || {
        let mut map = Map::new();
        (0..10_000).for_each(|n| map.insert(int(n * 7919 % 10_007), Value::Nil));
        Value::Map(map)
    }),
    ("a large set", || Value::Set((0..10_000).map(|n| int(n * 7919 % 10_007)).collect::<Set>())),
    ("rows", || {
        let rows: Vec<String> =
            (0..1000).map(|n| format!(r#"{{"id":{n},"name":"n{n}","tags":["a","b"]}}"#)).collect();
        json::parse(format!("[{}]", rows.join(",")).as_bytes()).expect("enough memory").expect("JSON")
    }),
    ("versions of a vector", || {
        let change = |n, value: &mut Value| {
            if let Value::Vector(vector) = value {
                vector.set(n as usize * 10, Value::Nil);
            }
        };
        versions(change, vector_of(10_000, int))
    }),
    ("versions of a map", || {
        let change = |n, value: &mut Value| {
            if let Value::Map(map) = value {
                map.insert(int(n * 10), Value::Nil);
            }
        };
        versions(change, Value::Map(map_of(10_000, int)))
    }),
    ("a map that has shrunk", || {
        let mut map = map_of(10_000, int);
        (0..9_000).for_each(|n| drop(map.remove(&int(n * 7919 % 10_007))));
        Value::Map(map)
    }),
    ("slices", || {
        let Value::Vector(all) = vector_of(10_000, int) else { unreachable!("it is a vector") };
        Value::Vector((0..500).map(|n| Value::Vector(all.slice(n * 10, n * 10 + 100))).collect())
    }),
];

/// Bytes allocated since the region began and not freed.
fn held(region: &Region<'_, System>) -> i64 {
    let change = region.change();
    change.bytes_allocated as i64 - change.bytes_deallocated as i64
}

fn main() {
    for (name, build) in SCENARIOS {
        // What is made once and kept, such as hash seeds and thread-locals, is made before.
        drop(build());
        let mut account = Account::new(u64::MAX >> 1);
        let region = Region::new(ALLOCATOR);
        let installed = account.install();
        let value = build();
        drop(installed);
        let real = held(&region);
        let ratio = account.live as f64 / real as f64;
        assert!((0.8..1.4).contains(&ratio), "{name}: charged {} bytes, held {real}", account.live);
        let installed = account.install();
        drop(value);
        drop(installed);
        assert_eq!((account.live, held(&region)), (0, 0), "{name}: left behind");
    }
    println!("{} kinds of values agree", SCENARIOS.len());
}
