//! Loops over sequences without end, and walks over several of them in step.

use crate::support::{check, run};

#[test]
fn loops_walk_endless_sequences_until_while_fails() {
    check(&[
        ("(for [x (range) :while (< x 5)] (* x x))", "[0 1 4 9 16]"),
        ("(for [x (map inc (iterate #(* 2 %) 1)) :while (< x 20)] x)", "[2 3 5 9 17]"),
        (
            "(for [x (range) :when (odd? x) :let [y (* x x)] :while (< y 50)] [x y])",
            "[[1 1] [3 9] [5 25] [7 49]]",
        ),
        (
            "(for [a (range 1 4) b (iterate inc a) :while (< b 5)] [a b])",
            "[[1 1] [1 2] [1 3] [1 4] [2 2] [2 3] [2 4] [3 3] [3 4]]",
        ),
        (
            "(for [a (range) :while (< a 3) b (cycle [1 2 3]) :while (< b 3) c [:x :y]] [a b c])",
            "[[0 1 :x] [0 1 :y] [0 2 :x] [0 2 :y] [1 1 :x] [1 1 :y] [1 2 :x] [1 2 :y] [2 1 :x] [2 1 :y] [2 2 :x] [2 2 :y]]",
        ),
        ("(def n 0) (doseq [x (iterate (fn [x] (* 3 x)) 1) :while (< x 100)] (def n (+ n x))) n", "121"),
        ("(for [x (repeatedly (fn [] 7)) :while (neg? x)] x)", "[]"),
        (
            "(for [x (iterate (fn [x] (+ x (count (for [y (range) :while (<= y x)] y)))) 0) :while (< x 20)] x)",
            "[0 1 3 7 15]",
        ),
        (
            "(defn f [s] (for [x s :while (< x 3)] x)) [(f (range)) (f [1 2 3 4]) (f nil)]",
            "[[0 1 2] [1 2] []]",
        ),
        (
            "(for [x (reductions (fn [a x] (if (> x 3) (reduced :end) (+ a x))) (range)) :while true] x)",
            "[0 1 3 6 :end]",
        ),
        ("(for [[i x] (map-indexed vector (cycle \"ab\")) :while (< i 3)] x)", "[\"a\" \"b\" \"a\"]"),
        ("(map (fn [n] (for [x (range) :while (< x n)] x)) [0 1 2])", "[[] [0] [0 1]]"),
        ("(when-first [x (filter #(> % 10) (range))] (inc x))", "12"),
        ("(for [n [1 2]] (when-first [x (iterate inc n)] x))", "[1 2]"),
    ]);
}

#[test]
fn a_for_over_what_never_ends_is_a_sequence_without_end() {
    check(&[
        ("(take 3 (for [x (range)] (* x x)))", "[0 1 4]"),
        ("(first (for [x (range) :when (> (* x x) 30)] x))", "6"),
        ("(take 3 (for [x (range) y [1 2]] [x y]))", "[[0 1] [0 2] [1 1]]"),
        (
            "(take 4 (for [[a b] (map vector (range) (iterate inc 5)) :let [s (+ a b)] :when (odd? a)] [a b s]))",
            "[[1 6 7] [3 8 11] [5 10 15] [7 12 19]]",
        ),
        (
            "(let [odds (filter odd? (range))] (take 3 (for [x odds y (range x) :while (< y 1)] [x y])))",
            "[[1 0] [3 0] [5 0]]",
        ),
        ("(def primes (iterate inc 2)) (take 2 (for [p primes] (* p p)))", "[4 9]"),
        ("(let [s (range) k 10] ((fn [n] (take n (for [x s] (+ x k)))) 3))", "[10 11 12]"),
        ("(->> (for [x (->> (range) (map inc) (drop 2))] (* 2 x)) (take-while #(< % 12)))", "[6 8 10]"),
        ("(let [s (take 3 (range))] (for [x s] x))", "[0 1 2]"),
        ("(for [x (concat (range) [1]) :while (< x 2)] x)", "[0 1]"),
    ]);
    for refused in [
        "(for [x (range)] x)",
        "(doseq [x (range)] x)",
        "((fn [s] (for [x s] x)) (range))",
        "(for [a [1 2] b (map inc (range))] b)",
    ] {
        let got = run(refused);
        assert!(got.contains("(range) never ends: take"), "{refused}: {got}");
    }
}

#[test]
fn walks_in_step_of_endless_sequences_only_are_endless() {
    check(&[
        ("(take 2 (map vector (range) (iterate inc 5)))", "[[0 5] [1 6]]"),
        ("(take 4 (interleave (range) (repeat :a)))", "[0 :a 1 :a]"),
        ("(take 5 (mapcat list (range) (cycle [:x :y])))", "[0 :x 1 :y 2]"),
        ("(take 3 (map + (filter odd? (range)) (rest (iterate #(* 2 %) 1)) (repeat 100)))", "[103 107 113]"),
        ("(map list [1 2] (map vector (range) (range)))", "[(1 [0 0]) (2 [1 1])]"),
        ("(nth (map vector (map + (range) (range)) (range)) 3)", "[6 3]"),
        ("(first (reduce (fn [s _] (map + s (range))) (range) (range 50)))", "0"),
        (
            "(take 9 (map (fn [a b] [a b]) (range) (reductions (fn [a x] (if (> x 2) (reduced :end) (+ a x))) (range))))",
            "[[0 0] [1 1] [2 3] [3 :end]]",
        ),
        ("(for [[a b] (map vector (range) (cycle \"xy\")) :while (< a 3)] b)", "[\"x\" \"y\" \"x\"]"),
    ]);
}

#[test]
fn more_functions_make_endless_sequences_of_endless_ones() {
    check(&[
        ("(take 5 (reductions + (range)))", "[0 1 3 6 10]"),
        ("(take 3 (reductions * 1 (iterate inc 1)))", "[1 1 2]"),
        ("(take 3 (reductions conj [] (range)))", "[[] [0] [0 1]]"),
        ("(take 9 (reductions (fn [a x] (if (> x 2) (reduced :end) (+ a x))) (range)))", "[0 1 3 :end]"),
        ("(take 3 (partition 2 1 (range)))", "[[0 1] [1 2] [2 3]]"),
        ("(take 2 (partition 2 5 (range)))", "[[0 1] [5 6]]"),
        ("(->> (iterate #(quot % 2) 100) (partition 2 1) (drop-while (fn [[a b]] (not= a b))) ffirst)", "0"),
        ("(take 3 (conj (range) 8 9))", "[9 8 0]"),
        ("(take 4 (list* 7 8 (range)))", "[7 8 0 1]"),
        ("(let [[a b] (split-at 2 (range))] [a (first b)])", "[[0 1] 2]"),
        ("(let [[a b] (split-with #(< % 3) (range))] [a (take 2 b)])", "[[0 1 2] [3 4]]"),
        ("[(ffirst (repeat [1 2])) (nfirst (repeat [1 2 3]))]", "[1 [2 3]]"),
        ("(take 3 (eduction (map inc) (filter odd?) (range)))", "[1 3 5]"),
        (
            "(partition 0 1 (range))",
            "!type_error type_error: type_error: partition: n must be a positive integer, got 0",
        ),
    ]);
}

#[test]
fn what_needs_an_end_says_what_to_write() {
    for refused in [
        "(count (range))",
        "(last (range))",
        "(sort (map inc (range)))",
        "(vec (filter odd? (range)))",
        "(reverse (range))",
        "(butlast (range))",
        "(take-last 2 (range))",
        "(set (range))",
        "(map last [(range)])",
        "(partition 2 1 [0] (range))",
        "(mapv vector (range) (range))",
        "(into [] (range))",
    ] {
        let got = run(refused);
        assert!(got.contains("(range) never ends: take a finite part of it"), "{refused}: {got}");
    }
}
