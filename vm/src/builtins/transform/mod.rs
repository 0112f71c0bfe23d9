//! Transforming and filtering (functions.md 2). Results are vectors.

pub(crate) mod filtering;
pub(crate) mod mapping;

use super::Builtin;
use super::namespaces::{CORE, EXTENSION};
use super::row::{frame, fun, section};

/// The family's functions.
pub(super) static BUILTINS: &[Builtin] = &section("transform", "Transforming and filtering").of([
    frame("map", CORE, "f c | f c & cs | f", mapping::map)
        .doc(
            "Results of f for each element, or for the elements of several \
             collections in step; without collection a transducer",
        )
        .example("(map inc [1 2 3])", "[2 3 4]")
        .example("(map (fn [[k v]] [v k]) {:a 1})", "[[1 :a]]")
        .example("(map + [1 2 3] [10 20])", "[11 22]")
        .example(r#"(map :id [{:id 7} {"id" 8} {}])"#, "[7 8 nil]")
        .example("(map vector [1 2] [3 4] [5 6] [7 8])", "[[1 3 5 7] [2 4 6 8]]"),
    frame("mapv", CORE, "f c | f c & cs", mapping::mapv)
        .doc("As map")
        .example(r#"(mapv count ["a" "bcd"])"#, "[1 3]"),
    frame("mapcat", CORE, "f c | f c & cs | f", mapping::mapcat)
        .doc("Elements of the results of f, in one vector; without collection a transducer")
        .example("(mapcat (fn [x] [x (* x x)]) [2 3])", "[2 4 3 9]")
        .example(r#"(mapcat :tags [{:tags ["a" "b"]} {} {:tags "c"}])"#, r#"["a" "b" "c"]"#)
        .example("(mapcat list [1 2] [3 4])", "[1 3 2 4]"),
    frame("map-indexed", CORE, "f c | f", mapping::map_indexed)
        .doc("Results of (f index element); without collection a transducer")
        .example(r#"(map-indexed (fn [i s] (str i s)) ["a" "b"])"#, r#"["0a" "1b"]"#),
    frame("keep", CORE, "f c | f", mapping::keep)
        .doc("Results of f that are not nil; without collection a transducer")
        .example("(keep :n [{:n 1} {} {:n false}])", "[1 false]")
        .example("(keep (fn [x] (when (odd? x) (* x 10))) [1 2 3])", "[10 30]"),
    frame("keep-indexed", CORE, "f c | f", mapping::keep_indexed)
        .doc("Results of (f index element) that are not nil; without collection a transducer")
        .example("(keep-indexed (fn [i x] (when (even? i) x)) [:a :b :c])", "[:a :c]"),
    frame("filter", CORE, "p c | p", filtering::filter)
        .doc("Elements for which p is truthy; without collection a transducer")
        .example("(filter odd? [1 2 3])", "[1 3]")
        .example("(filter :ok [{:ok true} {:ok nil}])", "[{:ok true}]")
        .example("(filter (fn [[k v]] (> v 1)) {:a 1 :b 2})", "[[:b 2]]")
        .example("(filter #{:x} [:x :y])", "[:x]"),
    frame("filterv", CORE, "p c", filtering::filterv)
        .doc("Elements for which p is truthy, always as a vector")
        .example("(filterv even? (range 5))", "[0 2 4]"),
    frame("remove", CORE, "p c | p", filtering::remove)
        .doc("Elements for which p is falsy; without collection a transducer")
        .example("(remove nil? [1 nil 2])", "[1 2]")
        .example("(remove (fn [[k v]] (nil? v)) {:a nil :b 2})", "[[:b 2]]"),
    fun("flatten", CORE, "v", filtering::flatten)
        .doc("Splice nested vectors completely")
        .example(r#"(flatten [1 [2 [3 #{4}]] "ab"])"#, r#"[1 2 3 #{4} "ab"]"#),
    frame("distinct", CORE, "c |", filtering::distinct)
        .doc("First occurrences in order, told apart by identity; without collection a transducer")
        .example("(distinct [3 1 3 1.0])", "[3 1 1.0]")
        .example(r#"(distinct "noon")"#, r#"["n" "o"]"#),
    frame("distinct-by", EXTENSION, "k c", filtering::distinct_by)
        .doc("First item for each distinct key value")
        .example(
            r#"(distinct-by :t [{:t 1 :n "a"} {:t 1 :n "b"} {:t 2 :n "c"}])"#,
            r#"[{:n "a" :t 1} {:n "c" :t 2}]"#,
        ),
    frame("dedupe", CORE, "c |", filtering::dedupe)
        .doc("Elements without consecutive duplicates; without collection a transducer")
        .example("(dedupe [1 1 2 2 1])", "[1 2 1]")
        .example(r#"(dedupe "aabb")"#, r#"["a" "b"]"#),
    frame("run!", CORE, "f c", mapping::run)
        .doc("Calls f for each element, for what it prints or calls; nil")
        .example("(run! println [1 2])", "nil"),
]);
