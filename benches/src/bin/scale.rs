//! Cost against size: `scale` runs a program of each family of builtins over 10² to 10⁶ elements, and `scale waiting` lets 10
//! to 100 000 programs wait at once. Prints Markdown, no verdict but a mark: a report for people, not a test.
//!
//! Steps and time are shown for one element, or for one element and doubling where the documented order is n log n: a
//! family keeps to its order if the numbers of a row stay level. Steps are the same on every run; times grow a little with
//! the caches that a size leaves.

use ptc_benches::compile;
use ptc_vm::builtins::library;
use ptc_vm::machine::{Limits, Setup};
use ptc_vm::value::{Map, Vector};
use ptc_vm::{Machine, Program, Step, Value};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::rc::Rc;
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// How cost may grow.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    /// n
    Linear,
    /// n log n
    Sorting,
}

use Order::{Linear, Sorting};

/// Family, order, and a program over `data/xs` (integers in no order), `data/rows` (maps), `data/words` (a vector of short
/// strings) and `data/text` (those words, separated by blanks).
const FAMILIES: &[(&str, Order, &str)] = &[
    ("reduce", Linear, "(reduce (fn [a x] (+ a x)) 0 data/xs)"),
    ("map", Linear, "(count (map (fn [x] (* x 2)) data/xs))"),
    ("filter", Linear, "(count (filter even? data/xs))"),
    ("mapcat", Linear, "(count (mapcat (fn [x] [x x]) data/xs))"),
    ("keep, remove", Linear, "(count (keep (fn [x] (if (odd? x) x nil)) (remove neg? data/xs)))"),
    ("for", Linear, "(count (for [x data/xs :when (even? x)] (inc x)))"),
    ("loop, rest", Sorting, "(loop [xs data/xs n 0] (if (empty? xs) n (recur (rest xs) (inc n))))"),
    ("nth", Sorting, "(reduce (fn [a i] (+ a (nth data/xs i))) 0 (range (count data/xs)))"),
    ("conj on a vector", Linear, "(count (reduce conj [] data/xs))"),
    (
        "assoc on a vector",
        Sorting,
        "(count (reduce (fn [v i] (assoc v i 0)) data/xs (range (count data/xs))))",
    ),
    ("assoc on a map", Sorting, "(count (reduce (fn [m x] (assoc m x x)) {} data/xs))"),
    (
        "update on a map",
        Sorting,
        "(count (reduce (fn [m x] (update m (mod x 1000) inc)) (zipmap (range 1000) (repeat 1000 0)) data/xs))",
    ),
    ("dissoc", Sorting, "(count (reduce (fn [m x] (dissoc m x)) (zipmap data/xs data/xs) data/xs))"),
    ("conj on a set", Sorting, "(count (reduce conj #{} data/xs))"),
    ("into", Linear, "(count (into [] (map inc data/xs)))"),
    ("set", Sorting, "(count (set data/xs))"),
    ("zipmap", Sorting, "(count (zipmap data/xs data/xs))"),
    ("merge", Sorting, "(let [m (zipmap data/xs data/xs)] (count (merge m m)))"),
    ("update-vals", Linear, "(count (update-vals (zipmap data/xs data/xs) inc))"),
    ("frequencies", Sorting, "(count (frequencies data/words))"),
    ("group-by", Sorting, "(count (group-by (fn [x] (mod x 10)) data/xs))"),
    ("distinct", Sorting, "(count (distinct data/xs))"),
    ("sort", Sorting, "(count (sort data/xs))"),
    ("sort-by", Sorting, "(count (sort-by (fn [x] (- x)) data/xs))"),
    ("sort-by a key", Sorting, "(count (sort-by :total data/rows))"),
    ("sum by a key", Linear, "(reduce + (map :total data/rows))"),
    ("reverse", Linear, "(first (reverse data/xs))"),
    ("concat", Linear, "(count (concat data/xs data/xs))"),
    ("take, drop", Linear, "(count (drop 10 (take (count data/xs) data/xs)))"),
    ("take-while", Linear, "(count (take-while (fn [x] (>= x 0)) data/xs))"),
    ("partition", Linear, "(count (partition 3 data/xs))"),
    ("partition-by", Linear, "(count (partition-by even? data/xs))"),
    ("interleave, interpose", Linear, "(count (interpose 0 (interleave data/xs data/xs)))"),
    ("flatten", Linear, "(count (flatten (map (fn [x] [x [x]]) data/xs)))"),
    ("reductions", Linear, "(count (reductions + data/xs))"),
    ("max-key", Linear, "(apply max data/xs)"),
    ("equality", Linear, "(= data/xs (into [] data/xs))"),
    ("str of parts", Linear, "(count (apply str data/words))"),
    ("join", Linear, "(count (clojure.string/join \",\" data/words))"),
    ("split", Linear, "(count (clojure.string/split data/text #\" \"))"),
    ("replace in text", Linear, "(count (clojure.string/replace data/text \"w\" \"vv\"))"),
    ("upper-case", Linear, "(count (clojure.string/upper-case data/text))"),
    ("re-seq of words", Linear, "(count (re-seq #\"\\w+\" data/text))"),
    ("re-seq", Linear, "(count (re-seq #\"[a-z]+[0-9]+\" data/text))"),
    ("index-of", Linear, "(clojure.string/index-of data/text \"nowhere\")"),
    ("seq of characters", Linear, "(count (seq data/text))"),
    ("pr-str", Linear, "(count (pr-str data/xs))"),
    ("JSON out", Linear, "(count (json/generate-string data/rows))"),
    ("JSON in", Linear, "(count (json/parse-string (json/generate-string data/rows)))"),
];

const SIZES: [usize; 5] = [100, 1_000, 10_000, 100_000, 1_000_000];
/// Programs that took longer are not tried at the next size.
const PATIENCE: Duration = Duration::from_secs(4);

fn context(n: usize) -> Value {
    // A permutation for every size that is no multiple of 7919.
    let xs: Vec<Value> = (0..n).map(|i| Value::Int((i * 7919 % n) as i64)).collect();
    let words: Vec<Value> = (0..n).map(|i| Value::str(format!("word{}", i * 7919 % 997))).collect();
    let text: Vec<String> = (0..n).map(|i| format!("word{}", i % 997)).collect();
    let keys = ["id", "region", "total"].map(Value::keyword);
    let rows: Vec<Value> = (0..n)
        .map(|i| {
            let values = [i, i % 7, i * 31 % 1000].map(|n| Value::Int(n as i64));
            Value::Map(Map::from_entries(keys.iter().cloned().zip(values).collect()))
        })
        .collect();
    let entries = [
        ("xs", Value::Vector(Vector::from_vec(xs))),
        ("words", Value::Vector(Vector::from_vec(words))),
        ("rows", Value::Vector(Vector::from_vec(rows))),
        ("text", Value::str(text.join(" "))),
    ];
    Value::Map(Map::from_entries(entries.map(|(name, value)| (Value::keyword(name), value)).into()))
}

/// Steps of the program, and the fastest of some runs.
fn cost(program: &Rc<Program>, context: &Value, n: usize) -> Result<(u64, Duration), String> {
    let runs = (1_000_000 / n).clamp(1, 20);
    let mut best = (0, Duration::MAX);
    for _ in 0..runs {
        let limits = Limits { memory_bytes: 8 << 30, steps: 1 << 44 };
        let setup = Setup { limits, context: context.clone(), ..Setup::new(library()) };
        let start = Instant::now();
        let mut machine = Machine::new(program.clone(), setup);
        while !matches!(machine.resume(u64::MAX), Step::Done) {}
        let took = start.elapsed();
        let outcome = machine.finish(true);
        outcome.result.map_err(|error| error.message().to_owned())?;
        best = (outcome.steps, best.1.min(took));
    }
    Ok(best)
}

/// Work of the order for `n` elements, in elements.
fn expected(order: Order, n: usize) -> f64 {
    match order {
        Linear => n as f64,
        Sorting => n as f64 * (n as f64).log2(),
    }
}

/// Whether the last of these is far above the second: the first size is dominated by what every program costs.
fn bends(costs: &[f64], factor: f64) -> bool {
    matches!(costs, [_, second, .., last] if *last > factor * second)
}

fn curves() {
    let contexts: Vec<Value> = SIZES.iter().map(|n| context(*n)).collect();
    println!(
        "| Family | Order | Steps at 10², 10³, 10⁴, 10⁵, 10⁶ | Nanoseconds at the same | |\n|---|---|---|---|---|"
    );
    for (name, order, source) in FAMILIES {
        let program = compile(source);
        let (mut steps, mut times) = (Vec::new(), Vec::new());
        for (n, context) in SIZES.iter().zip(&contexts) {
            let (used, took) = match cost(&program, context, *n) {
                Ok(cost) => cost,
                Err(error) => {
                    eprintln!("{name} at {n}: {error}");
                    break;
                }
            };
            steps.push(used as f64 / expected(*order, *n));
            times.push(took.as_nanos() as f64 / expected(*order, *n));
            if took > PATIENCE {
                break;
            }
        }
        let shown = |costs: &[f64]| costs.iter().map(|c| format!("{c:.1}")).collect::<Vec<_>>().join(" ");
        let order = if *order == Linear { "n" } else { "n log n" };
        let mark = match (bends(&steps, 1.5), bends(&times, 4.0), times.len() == SIZES.len()) {
            (true, ..) => "steps bend",
            (_, true, _) => "time bends",
            (.., false) => "gave up",
            _ => "",
        };
        println!("| {name} | {order} | {} | {} | {mark} |", shown(&steps), shown(&times));
    }
}

/// Resident bytes of this process, where the system tells.
fn resident() -> Option<usize> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    statm.split(' ').nth(1)?.parse::<usize>().ok().map(|pages| pages * 4096)
}

fn waiting() {
    let source = r#"(defn get-user [id] (tool/call {:server "s" :tool "t" :args {:id id :full true}}))
        (map (fn [id] (:name (:value (get-user id)))) [1 2 3])"#;
    let program = compile(source);
    println!("| Programs waiting | Allocated bytes each | Resident, all |\n|---|---|---|");
    for count in [10, 100, 1_000, 10_000, 100_000] {
        let mut machines = Vec::with_capacity(count);
        let (before, region) = (resident(), Region::new(ALLOCATOR));
        for _ in 0..count {
            let mut machine =
                Machine::new(program.clone(), Setup { upstreams: true, ..Setup::new(library()) });
            assert!(matches!(machine.resume(u64::MAX), Step::Wait), "it calls its upstream");
            drop(machine.take_calls());
            machines.push(machine);
        }
        let stats = region.change();
        let each = (stats.bytes_allocated - stats.bytes_deallocated) / count + size_of::<Machine>();
        let resident = match (before, resident()) {
            (Some(before), Some(after)) => {
                format!("{:.1} MiB", after.saturating_sub(before) as f64 / 1048576.0)
            }
            _ => "–".to_owned(),
        };
        println!("| {count} | {each} | {resident} |");
    }
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("waiting") => waiting(),
        _ => curves(),
    }
}
