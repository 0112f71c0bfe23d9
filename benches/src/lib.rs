//! Criterion benchmarks of the engine, and the programs that they share.
//!
//! | Bench | Groups |
//! |---|---|
//! | `engine` | `parse/`, `compile/`, `run/`, `overhead/` |
//! | `service` | `overhead/` (program cache, sessions), `host/`, `http/` |
//! | `waiting` | `waiting/`: a program leaves and comes back, and the parts of that |
//! | `host` | `tool/call` over HTTP and over a pipe, each beside a bare client; `pmap` over slow calls |

pub mod replies;

use ptc_compiler::CompileOptions;
use ptc_vm::builtins::library;
use ptc_vm::machine::{Limits, Setup};
use ptc_vm::{Machine, Program, Step, Value, json};
use std::rc::Rc;

/// A named program with the text of the value that it must give.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// Name within its group.
    pub name: &'static str,
    /// Program text.
    pub program: &'static str,
    /// The value's readable form.
    pub answer: &'static str,
}

/// A tiny program.
pub const TINY: Workload = Workload { name: "tiny", program: "(+ 1 2)", answer: "3" };

/// A pipeline of ten lines over ten records.
pub const PIPELINE: Workload = Workload {
    name: "pipeline",
    program: r#"(def orders
  [{:id 1 :region "eu" :total 120 :paid true} {:id 2 :region "us" :total 75 :paid false}
   {:id 3 :region "eu" :total 310 :paid true} {:id 4 :region "ap" :total 42 :paid true}
   {:id 5 :region "us" :total 99 :paid true} {:id 6 :region "eu" :total 18 :paid false}
   {:id 7 :region "ap" :total 230 :paid true} {:id 8 :region "us" :total 64 :paid true}
   {:id 9 :region "eu" :total 87 :paid true} {:id 10 :region "ap" :total 155 :paid false}])
(->> orders
     (filter :paid)
     (group-by :region)
     (map (fn [[region rows]] [region (reduce + (map :total rows))]))
     (sort-by second >)
     (into []))"#,
    answer: r#"[["eu" 517] ["ap" 272] ["us" 163]]"#,
};

/// Programs that run long enough to measure the machine rather than its start.
pub const WORKLOADS: &[Workload] = &[
    Workload {
        name: "fib25",
        program: "(defn fib [n] (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (fib 25)",
        answer: "75025",
    },
    Workload {
        name: "loop_sum_1e6",
        program: "(loop [i 0 sum 0] (if (< i 1000000) (recur (inc i) (+ sum i)) sum))",
        answer: "499999500000",
    },
    Workload {
        name: "reduce_closure_1e6",
        program: "(reduce (fn [acc x] (+ acc x)) 0 (range 1000000))",
        answer: "499999500000",
    },
    Workload {
        name: "records_10k",
        program:
            "(def rows (map (fn [i] {:id i :region (mod i 7) :total (mod (* i 31) 1000)}) (range 10000)))
(->> rows (filter (fn [r] (> (:total r) 500))) (group-by :region)
     (map (fn [[k v]] [k (reduce + (map :total v))])) (sort-by second >) first)",
        answer: "[3 535569]",
    },
    Workload {
        name: "word_count_20k",
        program: "(def words (map (fn [i] (str \"word\" (mod (* i 7919) 997))) (range 20000)))
(count (frequencies words))",
        answer: "997",
    },
    Workload {
        name: "sort_50k",
        program: "(def xs (map (fn [i] (mod (* i 7919) 50021)) (range 50000))) (nth (sort xs) 25000)",
        answer: "25009",
    },
    Workload {
        name: "string_report",
        program: "(count (clojure.string/join \"\\n\" (map (fn [i] (str \"line \" i \": \" (* i i))) (range 5000))))",
        answer: "94263",
    },
    Workload {
        name: "regex_2k_lines",
        program: "(def lines (map (fn [i] (str \"2026-01-\" (mod i 28) \" ERROR code=\" i)) (range 2000)))
(reduce + (map (fn [l] (parse-long (second (re-find #\"code=(\\d+)\" l)))) lines))",
        answer: "1999000",
    },
    Workload {
        name: "json_1k",
        program: "(def text (json/generate-string (map (fn [i] {\"id\" i \"name\" (str \"name \" i) \"region\" (str \"r\" (mod i 7)) \"total\" (+ (mod i 1000) 0.25) \"active\" true}) (range 1000))))
(->> (json/parse-string text) (filter :active) (group-by :region)
     (map (fn [[k v]] [k (reduce + (map :total v))])) (into {}) json/generate-string count)",
        answer: "98",
    },
];

/// Compiles a program.
///
/// # Panics
/// When it does not compile: the programs here are right.
pub fn compile(source: &str) -> Rc<Program> {
    match ptc_compiler::compile(source, library(), &CompileOptions::default()) {
        Ok(program) => Rc::new(program),
        Err(error) => panic!("{source}: {error}"),
    }
}

/// Runs a compiled program to its end in slices of `slice` steps, and gives its value's readable form.
///
/// # Panics
/// When it fails.
pub fn run(program: &Rc<Program>, slice: u64) -> String {
    let limits = Limits { memory_bytes: 1 << 30, steps: 1 << 40 };
    let mut machine = Machine::new(program.clone(), Setup { limits, ..Setup::new(library()) });
    while !matches!(machine.resume(slice), Step::Done) {}
    let outcome = machine.finish(true);
    match outcome.result {
        Ok(value) => ptc_vm::print::readable(&value).expect("small"),
        Err(error) => panic!("{error}"),
    }
}

/// A JSON document of `n` records, some 90 bytes each.
pub fn json_records(n: usize) -> Vec<u8> {
    let rows: Vec<String> = (0..n)
        .map(|i| {
            format!(
                r#"{{"id":{i},"name":"name {i}","region":"r{}","total":{}.5,"active":true}}"#,
                i % 7,
                i % 1000
            )
        })
        .collect();
    format!("[{}]", rows.join(",")).into_bytes()
}

/// Parses JSON into a value.
///
/// # Panics
/// When it is not JSON.
pub fn parse_json(text: &[u8]) -> Value {
    json::parse(text).expect("no limits").expect("JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workloads_give_their_answers() {
        for workload in WORKLOADS.iter().chain([&TINY, &PIPELINE]) {
            assert_eq!(run(&compile(workload.program), u64::MAX), workload.answer, "{}", workload.name);
        }
    }
}
