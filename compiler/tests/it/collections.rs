//! Collections and sequences where Clojure has a value and other dialects an error.

use crate::support::check;

#[test]
fn functions_take_what_is_no_collection_of_their_kind() {
    check(&[
        (r#"[(keys "") (vals #{}) (keys (set {:a 1}))]"#, "[nil nil [:a]]"),
        (r#"(map flatten [5 {:a 1} "a" #{[1]} nil])"#, "[[] [] [] [] []]"),
        (r#"[(ffirst "") (nfirst "") (ffirst [(range)]) (take 2 (nfirst [(range)]))]"#, "[nil nil 0 [1 2]]"),
        ("(ffirst 5)", "!type_error type_error: ffirst: invalid argument types: number"),
        ("(apply nfirst [[5]])", "!type_error type_error: nfirst: invalid argument types: list"),
        (
            r#"[(nthrest "ab" 0) (nthrest #{} 1) (nthrest {} 2) (nthrest "ab" 1) (nthnext nil nil)]"#,
            r#"["ab" #{} {} ["b"] nil]"#,
        ),
        ("[(min-key nil 1) (max-key 5 :a)]", "[1 :a]"),
        (r#"[(bounded-count 2 "abc") (bounded-count 9 "abc") (bounded-count 2 [1 2 3])]"#, "[2 3 3]"),
        ("(sort-by (fn [x] (nth x)) [[1 2]])", "[[1 2]]"),
        ("[(merge [1] 2) (merge false {:a 1}) (merge nil false)]", "[[1 2] {:a 1} nil]"),
    ]);
}

#[test]
fn groups_and_steps_of_nothing_never_end() {
    check(&[
        ("[(partition -1 [1 2]) (partition 0 2 [1 2 3]) (take 2 (partition 0 [1]))]", "[[] [[] []] [[] []]]"),
        (
            "[(take 2 (partition 2 0 [1 2 3])) (partition 2 0 [1]) (partition 2 -1 [:p] [1])]",
            "[[[1 2] [1 2]] [] [[1 :p]]]",
        ),
        (
            "[(partition-all 0 1 [1 2]) (take 1 (partition-all 0 [1])) (partition-all 0 [])]",
            "[[[] []] [[]] []]",
        ),
        ("[(take 2 (take-nth 0 [7 8])) (take 2 (take-nth -3 [7])) (take-nth 0 [])]", "[[7 7] [7 7] []]"),
        ("[(into [] (take-nth -2) [1 2 3]) (into [] (take-nth 0) [])]", "[[1 3] []]"),
        (
            "(into [] (take-nth 0) [1])",
            "!type_error type_error: type_error: take-nth: n must be a positive integer, got 0",
        ),
        ("(partition 3 3 (cycle [7 8]) [1 2 3 4])", "[[1 2 3] [4 7 8]]"),
        (
            "(count (partition 2 0 [1 2]))",
            "!runtime_error Runtime error: (repeat [1 2]) never ends: take a finite part of it, for instance (take 10 (repeat [1 2]))",
        ),
    ]);
}

#[test]
fn endless_sequences_go_through_more_functions() {
    check(&[
        ("[(empty (range)) (take 3 (cycle (range))) (bounded-count 5 (range))]", "[() [0 1 2] 5]"),
        ("[(run! #(when (> % 3) (reduced 1)) (range)) (run! reduced [1 2])]", "[nil nil]"),
        ("(take 2 (doall 3 (iterate inc 5)))", "[5 6]"),
        ("(dorun 3 (map #(if (> % 3) (fail :too-far) %) (range)))", "nil"),
        ("(take 3 (replace {1 :a} (range)))", "[0 :a 2]"),
        ("(take 2 (range 9223372036854775807 ##Inf))", "[9223372036854775807 9223372036854775808]"),
        ("[(take 2 (range 0 ##-Inf -2)) (range 0 ##-Inf) (take 2 (range 3 ##Inf 0.0))]", "[[0 -2] [] [3 3]]"),
        (
            "(range 0 ##NaN)",
            "!type_error type_error: type_error: range expects numeric bounds and step, got [0 ##NaN 1]",
        ),
    ]);
}

#[test]
fn transducers_take_several_collections_and_functions_of_the_program() {
    check(&[
        ("(into [] (replace {1 :one}) [1 2])", "[:one 2]"),
        ("(eduction (replace [:a :b]) (map name) [0 1])", r#"["a" "b"]"#),
        ("(sequence (map +) [1 2 3] (repeat 10))", "[11 12 13]"),
        ("(sequence (comp (comp (mapcat vector) (filter odd?)) (take 2)) (range 9) (range 6 10))", "[1 7]"),
        ("(take 2 (sequence (map vector) (range) (iterate inc 5)))", "[[0 5] [1 6]]"),
        (
            "(sequence (filter odd?) [1] [2])",
            "!arity_error arity error: sequence: (filter …) takes the elements of one collection; begin with map or mapcat",
        ),
        ("(sequence (fn [rf] (fn ([r] (rf r :end)) ([r x] (rf r x)))) [1 2])", "[1 2 :end]"),
        ("(transduce (comp (map inc) (fn [rf] (fn ([r] (rf r)) ([r x] (rf r (* 10 x)))))) + [1 2 3])", "90"),
        ("(into #{} (fn [rf] (fn ([r] (rf r)) ([r x] (if (odd? x) r (rf r x))))) [1 2 3 4])", "#{2 4}"),
        ("(into [] (fn [rf] (fn ([r] r) ([r x] (if (> x 3) (reduced r) (rf r x))))) (range))", "[0 1 2 3]"),
        ("(into [] inc [1])", "!type_error type_error: into: arg 2 expected transducer, got function"),
        (
            "(into [] (comp (fn [rf] rf) (map inc)) [1])",
            "!type_error type_error: into: arg 2 expected transducer, got function",
        ),
        (
            "(into [] (fn [rf] 5) [1])",
            "!type_error type_error: a transducer that the program writes must give a function of (result) and (result input), got number",
        ),
        (
            "(transduce (fn [rf] rf) + 5)",
            "!type_error type_error: transduce: arg 3 expected seqable, got number",
        ),
    ]);
}

#[test]
fn differences_of_data() {
    check(&[
        (
            "(require '[clojure.data :as d]) (d/diff {:a {:b [1 {:c 2}]}} {:a {:b [1 {:c 3}]} :x nil})",
            "[{:a {:b [nil {:c 2}]}} {:a {:b [nil {:c 3}]} :x nil} {:a {:b [1]}}]",
        ),
        (
            "(require '[clojure.data :refer [diff]]) (diff {:a nil :b false} {:a 1 :b false})",
            "[{:a nil} {:a 1} {:b false}]",
        ),
        (
            "(require '[clojure.data :as data]) [(data/diff 1 2) (map data/diff [1] [3]) data/x]",
            "[[1 2 nil] [[1 3 nil]] nil]",
        ),
        ("(clojure.data/diff {:a {:b 1} :c 2} {:a {} :c 2})", "[{:a {:b 1}} {:a nil} {:c 2}]"),
        ("(clojure.data/diff [1 2 nil 4] '(1 nil 3))", "[[nil 2 nil 4] [nil nil 3] [1]]"),
        ("(clojure.data/diff '(1 2) [1 2])", "[nil nil (1 2)]"),
        (
            "[(clojure.data/diff [nil] []) (clojure.data/diff #{1} #{}) (clojure.data/diff nil [])]",
            "[[[nil] nil nil] [#{1} nil nil] [nil [] nil]]",
        ),
        ("(clojure.data/diff {:a 1} {\"a\" 1})", r#"[{:a 1} {"a" 1} nil]"#),
        ("(clojure.data/diff 1 1.0)", "[nil nil 1]"),
        (
            "(defn deep [n x] (reduce (fn [a _] [a]) x (range n))) (= (nth (clojure.data/diff (deep 50 1) (deep 50 2)) 0) (deep 50 1))",
            "true",
        ),
        ("(diff 1 2)", "!unbound_var Undefined variable: diff. Did you mean: clojure.data/diff"),
    ]);
}

#[test]
fn collections_sorted_by_a_comparator_have_the_one_order() {
    let refused = "maps and sets are in ascending order, so the comparator can only be < or compare; sort where another order is needed:";
    check(&[
        ("[(sorted-set-by < 3 1) (sorted-map-by compare :b 1 :a 2)]", "[#{1 3} {:a 2 :b 1}]"),
        ("(into (sorted-map-by <) [[2 :b] [1 :a]])", "{1 :a 2 :b}"),
        (
            "(sorted-map-by > 1 2)",
            &format!("!runtime_error Runtime error: sorted-map-by: {refused} (sort-by key > m)"),
        ),
        (
            "(sorted-set-by (comp - compare) 1)",
            &format!("!runtime_error Runtime error: sorted-set-by: {refused} (sort > s)"),
        ),
        (
            "(sorted-map-by < 1)",
            "!arity_error arity error: sorted-map-by requires an even number of arguments, got 1",
        ),
    ]);
}

#[test]
fn forms_in_a_do_at_top_level_may_load() {
    check(&[
        ("(do (require '[clojure.set :as cs]) (def x 1) (cs/union #{x} #{2}))", "#{1 2}"),
        ("(do 1 (do 2 (def y 3)) (do)) y", "3"),
        (
            "(use '[clojure.string :only (join split)]) [(reverse \"ab\") (join (split \"a b\" #\" \"))]",
            r#"[("b" "a") "ab"]"#,
        ),
        ("(use 'clojure.string) (reverse \"ab\")", "\"ba\""),
    ]);
}
