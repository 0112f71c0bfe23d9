//! Sequence functions at work in programs: with functions of every kind, across slices, on hostile inputs.

use crate::support::check;
use ptc_compiler::{CompileOptions, compile};
use ptc_vm::builtins::library;
use ptc_vm::machine::{Limits, Setup};
use ptc_vm::{Machine, Step, print};
use std::rc::Rc;

/// What a program gives, its steps and its memory peak, when it is run in slices of `fuel`.
fn sliced(source: &str, fuel: u64, limits: Limits) -> (String, u64, u64) {
    let program = compile(source, library(), &CompileOptions::default()).expect("a program");
    let mut machine = Machine::new(Rc::new(program), Setup { limits, ..Setup::new(library()) });
    while let Step::Slice = machine.resume(fuel) {}
    let outcome = machine.finish(true);
    let shown = match outcome.result {
        Ok(value) => print::readable(&value).unwrap_or_else(|error| format!("!{}", error.message())),
        Err(error) => format!("!{} {}", error.reason(), error.message()),
    };
    (shown, outcome.steps, outcome.memory_peak)
}

#[test]
fn maps_and_sets_are_read_by_position_in_the_order_in_which_they_are_walked() {
    check(&[
        (
            "(map (fn [f] (f {:b 1 :a 2})) [first second last ffirst fnext])",
            "[[:a 2] [:b 1] [:b 1] :a [:b 1]]",
        ),
        (
            "(map (fn [f] (f {:b 1 :a 2})) [rest next butlast nfirst nnext])",
            "[[[:b 1]] [[:b 1]] [[:a 2]] [2] nil]",
        ),
        ("(map (fn [f] (f #{3 1 2})) [first second last fnext])", "[1 2 3 2]"),
        ("(map (fn [f] (f #{3 1 2})) [rest next butlast nnext])", "[[2 3] [2 3] [1 2] [3]]"),
        (
            "(map (fn [f] (f {})) [first second last rest next butlast ffirst nfirst])",
            "[nil nil nil [] nil nil nil nil]",
        ),
        (
            "(map (fn [f] (f #{})) [first second last rest next butlast fnext nnext])",
            "[nil nil nil [] nil nil nil nil]",
        ),
        ("(map (fn [f] (f 2 #{5 3 1})) [take drop take-last drop-last])", "[[1 3] [5] [3 5] [1]]"),
        (
            "(map (fn [f] (f 1 {:b 1 :a 2})) [take drop take-last drop-last])",
            "[[[:a 2]] [[:b 1]] [[:b 1]] [[:a 2]]]",
        ),
        ("[(reverse #{1 2}) (reverse {:a 1 :b 2})]", "[(2 1) ([:b 2] [:a 1])]"),
        (
            "[(sort #{2 1}) (sort > #{1 2}) (sort (fn [a b] (> (val a) (val b))) {:a 1 :b 2})]",
            "[[1 2] [2 1] [[:b 2] [:a 1]]]",
        ),
        ("[(interpose 0 #{1 2}) (interleave #{1 2} {:a 1 :b 2})]", "[[1 0 2] [1 [:a 1] 2 [:b 2]]]"),
        ("(->> [3 1 3] set (take 1))", "[1]"),
        ("(nth {:a 1} 0)", "!type_error type_error: nth: invalid argument types: map, number"),
        ("(ffirst \"ab\")", "!type_error type_error: ffirst: invalid argument types: string"),
    ]);
}

#[test]
fn functions_of_every_kind_are_accepted_everywhere() {
    check(&[
        ("(map {1 :a} [1 2])", "[:a nil]"),
        ("(filter {1 true} [1 2])", "[1]"),
        ("(remove #{1} [1 2])", "[2]"),
        ("(map :k [1 nil {:k 2} \"s\" inc])", "[nil nil 2 nil nil]"),
        ("(map :k [{} {:k 1}] [7 8])", "[7 1]"),
        ("(reduce (fn [& xs] (apply + xs)) [1 2 3])", "6"),
        ("(map (fn [a b c d] [a b c d]) [1] [2] [3] [4])", "[[1 2 3 4]]"),
        ("(sort-by {1 9 2 3} [1 2])", "[2 1]"),
        ("(group-by \"t\" [{:t 1} {\"t\" 1}])", "{1 [{:t 1} {\"t\" 1}]}"),
        ("(sum-by [:a :b] [{:a {:b 2}} {:a {}} {:a {:b 3}}])", "5"),
        ("(map apply [+ *] [[1 2] [3 4]])", "[3 12]"),
        ("(map juxt [inc dec])", "[#fn[...] #fn[...]]"),
        ("(every? (complement nil?) [1 2])", "true"),
        (
            "((comp (map inc) (filter odd?)) 1)",
            "!type_error type_error: a transducer such as (map f) is not called: give \
          it to into, transduce, sequence or eduction, for instance (into [] (map f) c)",
        ),
    ]);
}

#[test]
fn floats_are_counts_and_indexes() {
    check(&[
        ("[(take 2.0 [1 2 3]) (drop 2.0 [1 2 3]) (split-at 1.0 [1 2 3])]", "[[1 2] [3] [[1] [2 3]]]"),
        // What counts down to zero takes one more for a fraction.
        (
            "[(take 1.5 [1 2 3]) (take 0.5 [1 2]) (drop 1.5 [1 2 3]) (split-at 1.5 [1 2])]",
            "[[1 2] [1] [3] [[1 2] []]]",
        ),
        ("[(take-last 1.5 [1 2 3]) (drop-last 1.5 [1 2 3]) (take-last 1.0 \"ab\")]", "[[2 3] [1] [\"b\"]]"),
        (
            "[(nthrest [1 2 3] 1.0) (nthnext [1 2 3] 1.5) (take -1.5 [1]) (take ##NaN [1])]",
            "[[2 3] [3] [] []]",
        ),
        ("[(take ##Inf [1 2]) (drop ##Inf [1 2]) (take 2.0 (range))]", "[[1 2] [] [0 1]]"),
        // What takes an integer leaves the fraction out.
        (
            "[(nth [1 2 3] 1.0) (nth [1 2 3] 1.7) (nth [1 2] -0.5) (nth \"abc\" 2.0) (nth [1] 9.0 :none)]",
            "[2 2 1 \"c\" :none]",
        ),
        ("[(subs \"abcdef\" 1.0 3.0) (subs \"abcdef\" 1.9 3.2) (subs \"abc\" -1)]", "[\"bc\" \"bc\" \"\"]"),
        ("[(subvec [1 2 3 4] 2.0) (subvec [1 2 3 4] 1.9 3.9)]", "[[3 4] [2 3]]"),
        ("[(repeat 2.9 :x) (repeatedly 1.5 (fn [] 1)) (repeat -1.0 :x)]", "[[:x :x] [1 1] []]"),
        (
            "[(partition 2.0 [1 2 3 4 5]) (partition 2.5 1 [1 2 3]) (partition 2 1.0 [1 2 3])]",
            "[[[1 2] [3 4]] [] [[1 2] [2 3]]]",
        ),
        ("[(partition-all 2.0 [1 2 3]) (take-nth 2.0 [1 2 3])]", "[[[1 2] [3]] [1 3]]"),
        (
            "[(into [] (take 2.0) [1 2 3]) (into [] (comp (drop 1.0) (take-nth 2.0)) [1 2 3 4]) (into [] (partition-all 2.0) [1 2 3])]",
            "[[1 2] [2 4] [[1 2] [3]]]",
        ),
        (
            "[(str/index-of \"abcabc\" \"b\" 2.0) (str/last-index-of \"abcabc\" \"b\" 3.0) (str/split \"a,b,c\" #\",\" 2.0)]",
            "[4 1 [\"a\" \"b,c\"]]",
        ),
        // No float is a key of a vector.
        ("[(get [1 2] 1.0) (get [1 2] 1.0 :none) (bounded-count 2.0 [1 2 3])]", "[nil :none 3]"),
        ("[(range 3 3 0) (count (range 3.5 3.5 0)) (take 2 (range 1 5 0))]", "[[] 0 [1 1]]"),
        ("(take \"2\" [1 2])", "!type_error type_error: take: arg 1 expected integer, got string"),
    ]);
}

#[test]
fn swapped_and_wrong_arguments_have_the_texts_of_the_specification() {
    check(&[
        (
            "(filter [1 2] odd?)",
            "!type_error type_error: expected a collection, got a function — collection operations like \
             filter/map/reduce take the collection last; arguments may be swapped",
        ),
        ("(map 5 [1])", "!type_error type_error: map: arg 1 expected keyfn, got number"),
        ("(map 5 [1] [2])", "!type_error type_error: map: arg 1 expected callable, got number"),
        ("(map inc 5)", "!type_error type_error: map: arg 2 expected seqable, got number"),
        ("(take-while nil [1])", "!type_error type_error: take-while: invalid argument types: nil, list"),
        ("(take-while nil [])", "[]"),
        ("[(some [:a] [{:a 1}]) (some [7 8] [1 0])]", "[1 8]"),
        ("(partition-by [5 6] [0 1])", "[[0] [1]]"),
        ("(some even? 5)", "!type_error type_error: expected a collection, got number 5"),
        ("(distinct #{1})", "!type_error type_error: distinct does not support sets (sets are unordered)"),
        ("(nth [1 2] \"1\")", "!type_error type_error: nth: invalid argument types: list, string"),
        (
            "(partition nil [1])",
            "!type_error type_error: type_error: partition: n must be a positive integer, got nil",
        ),
        (
            "(into {} [1])",
            "!type_error type_error: type_error: into: invalid map entry: 1. Expected [key, value] vector.",
        ),
        ("(mapcat inc [1])", "!type_error type_error: mapcat: function must return a collection, got number"),
        ("(apply + 5)", "!type_error type_error: apply expects collection as last argument, got number"),
        ("(apply nil [1])", "!not_callable not callable: nil"),
        ("(apply +)", "!invalid_arity Analysis error: expected (apply f coll) or (apply f x y coll)"),
        (
            "(pcalls (fn [x] x))",
            "!pcalls_error pcalls_error: pcalls requires zero-arity thunks, got function with arity 1",
        ),
        ("(pmap (fn [x] (/ 1 x)) [1 0])", "!pmap_error pmap_error: arithmetic_error: division by zero"),
        (
            "(pmap :a {:a 1})",
            "!type_error type_error: pmap: keyword accessor requires a list of maps, got a single map",
        ),
        (
            "(sort-by :p [{:p 1}] <)",
            "!type_error type_error: sort-by expects (key, comparator, collection) but got (key, collection, \
             comparator). Try: (sort-by :p > collection)",
        ),
        (
            "(min-by :a)",
            "!runtime_error Runtime error: min-by requires at least a key and one value or collection",
        ),
    ]);
}

#[test]
fn sorting_is_stable_and_follows_comparators_of_every_kind() {
    check(&[
        ("(sort > [1 3 2 3.0 1.0])", "[3 3.0 2 1 1.0]"),
        ("(map :i (sort-by :p > [{:p 1 :i 0} {:p 2 :i 1} {:p 1 :i 2} {:p 2 :i 3}]))", "[1 3 0 2]"),
        ("(map :i (sort-by :p >= [{:p 1 :i 0} {:p 2 :i 1} {:p 1 :i 2} {:p 2 :i 3}]))", "[1 3 0 2]"),
        (
            "(map :i (sort-by :p (fn [a b] (> a b)) [{:p 1 :i 0} {:p 2 :i 1} {:p 1 :i 2} {:p 2 :i 3}]))",
            "[1 3 0 2]",
        ),
        ("(map :i (sort-by :p :desc [{:p 1 :i 0} {:p 2 :i 1} {:p 1 :i 2} {:p 2 :i 3}]))", "[1 3 0 2]"),
        ("(sort (fn [a b] false) [3 1 2])", "[3 1 2]"),
        ("(sort (fn [a b] (- b a)) [1 3 2])", "[3 2 1]"),
        ("(sort #(compare (second %1) (second %2)) [[1 2] [2 1] [3 1]])", "[[2 1] [3 1] [1 2]]"),
        ("(sort [##NaN 1 ##Inf -1 ##-Inf])", "[##-Inf -1 1 ##Inf ##NaN]"),
        ("(sort [3 \"b\" nil :k 1 [2]])", "[nil 1 3 :k [2] \"b\"]"),
        ("(sort [[1 2 3] [5 5] [9]])", "[[9] [5 5] [1 2 3]]"),
        ("(sort-by :n [{:n 2} {} {:n 1}])", "[{} {:n 1} {:n 2}]"),
        ("(map first (sorted-map 1 :a nil :b))", "[nil 1]"),
        (
            "(sort (fn [a b] nil) [1 2])",
            "!type_error type_error: sort: comparator must return a boolean or an integer, got nil",
        ),
        (
            "(sort :up [1 2])",
            "!type_error type_error: type_error: invalid comparator: :up. Expected :asc, :desc, or a function of 2 arguments.",
        ),
        ("(= (range 1000) (sort (fn [a b] (< a b)) (map #(mod (* % 389) 1000) (range 1000))))", "true"),
    ]);
}

#[test]
fn reducing_nothing_and_stopping_early() {
    check(&[
        ("[(reduce + []) (reduce * nil) (reduce conj []) (reduce str \"\")]", "[0 1 [] \"\"]"),
        (
            "[(reduce max []) (reduce (fn [a b] a) []) (reduce (partial + 1) []) (reduce :k [])]",
            "[nil nil 1 nil]",
        ),
        ("(reduce (fn [a x] (if (> x 2) (reduced [a x]) (+ a x))) 0 (range 100))", "[3 3]"),
        ("(reductions (fn [a x] (if (> x 2) (reduced a) (+ a x))) (range 100))", "[0 1 3 3]"),
        ("(reductions + [])", "[0]"),
        ("(reduced 5)", "5"),
    ]);
}

#[test]
fn transducers_work_as_one_package() {
    check(&[
        ("(into [] (comp (filter odd?) (map inc) (take 2)) (range))", "[2 4]"),
        ("(into [] (comp (filter odd?) (map inc) (take 2)) (range 100))", "[2 4]"),
        ("(into #{} (map (fn [x] (mod x 3))) (range 10))", "#{0 1 2}"),
        ("(into {} (map (juxt identity str)) [1 2])", "{1 \"1\" 2 \"2\"}"),
        ("(transduce (map inc) + [1 2 3])", "9"),
        ("(transduce (take-while pos?) conj [] [1 2 -1 3])", "[1 2]"),
        ("(transduce (map inc) (fn [a b] (if (> b 3) (reduced a) (+ a b))) 0 (range 10))", "6"),
        ("(transduce (partition-all 2) (completing conj count) [] [1 2 3])", "2"),
        ("(sequence (comp (mapcat range) (distinct) (map-indexed vector)) [2 3])", "[[0 0] [1 1] [2 2]]"),
        ("(sequence (comp (partition-by odd?) (take 2) cat) [1 3 2 4 5])", "[1 3 2 4]"),
        ("(sequence (comp (partition-all 2) (interpose :x)) [1 2 3])", "[[1 2] :x [3]]"),
        ("(sequence (comp (drop 1) (drop-while odd?) (dedupe) (take-nth 2)) [0 1 3 4 4 5 6])", "[4 6]"),
        ("(eduction (keep :a) (keep-indexed (fn [i x] (when (odd? i) x))) [{:a 1} {} {:a 2}])", "[2]"),
        ("(sequence identity [1 2])", "[1 2]"),
        ("(into [] inc [1])", "!type_error type_error: into: arg 2 expected transducer, got function"),
        ("(transduce (halt-when neg? (fn [acc x] [acc x])) conj [] [1 -2 3])", "[[1] -2]"),
        ("(sequence (map (fn [x] (reduce + (map inc (range x))))) [3 4])", "[6 10]"),
    ]);
}

#[test]
fn combinators_take_any_number_of_arguments() {
    check(&[
        ("((juxt + - *) 2 3)", "[5 -1 6]"),
        ("((comp) 7)", "7"),
        ("((comp str +) 1 2 3)", "\"6\""),
        ("((comp (fn [x] (* 2 x)) (partial + 1) count) [1 2])", "6"),
        ("((every-pred pos? even?))", "true"),
        (
            "[((some-fn :a :b) {:b 1}) ((some-fn even?) 1) ((some-fn even? (fn [x] nil)) 1) ((some-fn even?))]",
            "[1 false nil nil]",
        ),
        ("((fnil (fn [a b c] [a b c]) 1 2) nil nil nil)", "[1 2 nil]"),
        ("(update {} :n (fnil inc 0))", "{:n 1}"),
        ("((complement (fn [a b] (< a b))) 1 2)", "false"),
        ("(map (comp {1 :one} inc) [0 1])", "[:one nil]"),
        ("((comp nil inc) 1)", "!not_callable not callable: nil"),
        ("(sort (comparator (fn [a b] (> a b))) [1 3 2])", "[3 2 1]"),
        ("(trampoline (fn f [n] (if (pos? n) (fn [] (f (dec n))) :done)) 10000)", ":done"),
    ]);
}

#[test]
fn what_never_ends_is_taken_from() {
    check(&[
        ("(take 3 (range 4 9 0))", "[4 4 4]"),
        ("(->> (range 4 9 0) (take 2))", "[4 4]"),
        (
            "(range 1 2 0)",
            "!type_error type_error: type_error: zero-step range must be consumed by bounded take",
        ),
        ("(take 5 (iterate (fn [[a b]] [b (+ a b)]) [0 1]))", "[[0 1] [1 1] [1 2] [2 3] [3 5]]"),
        ("(take 0 (iterate inc 1))", "[]"),
        ("(take-while (fn [x] (< x 3)) (iterate inc 0))", "[0 1 2]"),
        ("(take-while #(< % 3) (range))", "[0 1 2]"),
        ("(take 3 (repeatedly (fn [] :x)))", "[:x :x :x]"),
        ("(map vector (range) \"ab\")", "[[0 \"a\"] [1 \"b\"]]"),
        ("(zipmap [:a :b] (repeat 0))", "{:a 0 :b 0}"),
        ("(interleave [1 2] (cycle [:x]))", "[1 :x 2 :x]"),
        ("(cycle [])", "[]"),
        (
            "(iterate inc 1)",
            "!runtime_error Runtime error: (iterate #<builtin> 1) never ends: take a finite part of it, for instance (take 10 (iterate #<builtin> 1))",
        ),
        (
            "(count (repeat 1))",
            "!runtime_error Runtime error: (repeat 1) never ends: take a finite part of it, for instance (take 10 (repeat 1))",
        ),
        ("(count (repeat 1000000000 :x))", "1000000000"),
        ("(reduce + (range 1000000))", "499999500000"),
    ]);
}

#[test]
fn values_and_steps_do_not_depend_on_slices() {
    let programs = [
        "(map (fn [x] (* x x)) (range 50))",
        "(sort (fn [a b] (> a b)) (map #(mod (* % 7) 31) (range 31)))",
        "(sort-by (fn [x] [(mod x 3) x]) (range 30))",
        "(into [] (comp (map inc) (partition-all 3) (mapcat identity) (take 10)) (range 40))",
        "(group-by (juxt even? (fn [x] (mod x 3))) (range 30))",
        "(reduce (fn [m x] (update m (mod x 4) (fnil conj []) x)) {} (range 30))",
        "(pmap (fn [x] (reduce + (range x))) (range 10))",
        "(take 20 (iterate (fn [x] (* 2 x)) 1))",
        "(partition-by (fn [x] (quot x 4)) (range 30))",
        "(for [x (map - (range)) :while (> x -9) y (iterate (fn [y] (+ 2 y)) 1) :while (< y 4)] [x y])",
        "(take 9 (map (fn [a b] [a b]) (filter odd? (range)) (interleave (range) (reductions + (iterate inc 1)))))",
        "(take 9 (for [x (range) y [1 2] :when (odd? (+ x y))] [x y]))",
        // Numbers that return and `recur` take from an operation: one, two and three variables, beside others, past 64 bits.
        "(loop [i 0] (if (< i 30) (recur (inc i)) i))",
        "(loop [i 0 sum 0] (if (< i 30) (recur (inc i) (+ sum i)) sum))",
        "(loop [i 0 a 0 b 1] (if (< i 30) (recur (inc i) b (+ a b)) a))",
        "(loop [xs [1 2 3] n 0] (if (seq xs) (recur (rest xs) (+ n 2)) n))",
        "(loop [i nil n nil] (if (= n 9) [i n] (recur (if i (inc i) 0) (if n (+ n 1) 0))))",
        "(loop [i 0 n 9223372036854775800] (if (< i 12) (recur (inc i) (+ n i)) n))",
        "(loop [i 9223372036854775800 n 0] (if (< n 12) (recur (inc i) (+ n 1)) i))",
        "(loop [i 0 x 0.5] (if (< i 12) (recur (inc i) (+ x i)) x))",
        "(map (fn [x] (let [y (* x 3)] (- y 1))) [1 2.5 9223372036854775807])",
        "(defn fib [n] (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (fib 9)",
    ];
    for program in programs {
        let whole = sliced(program, 1_000_000, Limits::default());
        for fuel in [1, 2, 7, 50] {
            let (shown, steps, _) = sliced(program, fuel, Limits::default());
            assert_eq!((&shown, steps), (&whole.0, whole.1), "{program} in slices of {fuel}");
        }
    }
}

#[test]
fn hostile_inputs_end_with_a_value_or_at_a_limit() {
    let limits = Limits { memory_bytes: 4 << 20, steps: 1_500_000 };
    let programs = [
        // Shared structure that is exponentially large as a tree.
        "(count (flatten (reduce (fn [a _] [a a]) [1] (range 60))))",
        "(count (reduce (fn [v _] (concat v v)) [1] (range 60)))",
        // Depth.
        "(count (flatten (reduce (fn [a _] [a]) 1 (range 100000))))",
        "((reduce (fn [f _] (comp f inc)) inc (range 100000)) 0)",
        "((reduce (fn [f _] (comp inc f)) inc (range 100000)) 0)",
        "((apply comp (repeat 100000 inc)) 0)",
        "((reduce (fn [f _] (partial f 1)) + (range 100000)))",
        "((reduce (fn [f _] (complement f)) nil? (range 100000)) 0)",
        "((reduce (fn [f _] (juxt f)) inc (range 100000)) 0)",
        "(count (into [] (reduce (fn [xf _] (comp xf (map inc))) (map inc) (range 100000)) [1 2]))",
        "(do (defn f [x] (reduce (fn [a b] (f b)) 0 [x x])) (f 1))",
        "(do (defn f [x] (pmap f [x x])) (f 1))",
        "(do (defn f [_] (pmap f (range 100000))) (f 1))",
        // Sizes.
        "(count (combinations (range 40) 20))",
        "(count (combinations (range 1000000) 2))",
        "(count (partition 1000 1 (range 1000000)))",
        "(count (partition-all 1000000000000 1 (range 1000000)))",
        "(count (interleave (range 100000000) (range 100000000)))",
        "(count (interpose 0 (repeat 1000000000 1)))",
        "(count (map inc (range 1000000000000)))",
        "(count (sort (repeat 1000000000 1)))",
        "(count (reverse (range 100000000)))",
        "(count (vec (repeat 1000000000000 nil)))",
        "(apply + (range 1000000000))",
        "(count (frequencies (range 1000000000)))",
        "(count (distinct (range 1000000000)))",
        "(count (zipmap (range 1000000000) (repeat 0)))",
        "(count (cons 1 (repeat 1000000000000 nil)))",
        "(count (into #{} (range 100000000)))",
        "(count (into () (range 1000000000)))",
        "(count (reduce conj () (range 1000000000)))",
        "(count (loop [a () i 0] (if (< i 100000) (recur (list a) (inc i)) a)))",
        "(count (mapcat (fn [_] (range 100000)) (range 100000)))",
        "(count (take 1000000000 (iterate inc 1)))",
        "(take-while (constantly true) (repeat 1))",
        "(count (range 0 1e300 1e-300))",
        "(count (range 1e17 1e18 1))",
        "(count (pmap inc (range 1000000000)))",
        "(count (reductions + (range 1000000000)))",
        // Comparators that contradict themselves.
        "(count (sort (fn [a b] true) (range 1000)))",
        "(count (sort (fn [a b] (odd? (+ a b))) (range 1000)))",
        "(count (sort (fn [a b] 1) (range 1000)))",
    ];
    for program in programs {
        let (shown, steps, peak) = sliced(program, 10_000, limits);
        let limited = shown.starts_with("!memory_exceeded") || shown.starts_with("!step_limit_exceeded");
        let nested = shown.starts_with("!pmap_error");
        let number = shown.parse::<i64>().is_ok() || shown == "true" || shown == "false";
        assert!(limited || nested || number || shown.starts_with('['), "{program} => {shown}");
        assert!(steps <= limits.steps, "{program} used {steps} steps");
        assert!(peak <= limits.memory_bytes + (1 << 20), "{program} held {peak} bytes");
    }
}

/// Long enough for several runs of `sort`'s own, of each kind.
#[test]
fn long_sorts_are_right_and_stable_and_give_way() {
    let limits = Limits { memory_bytes: 1 << 30, steps: 1 << 40 };
    // Most steps without a break: of texts a run, of numbers one that is nearly all of these.
    let (numbers, texts) = (u64::MAX, 100_000);
    let kinds = [
        ("n", numbers),
        ("(* 0.5 n)", numbers),
        ("(str (+ 10000 n))", texts),
        ("(keyword (str \"k\" (+ 10000 n)))", texts),
    ];
    for (kind, most) in kinds {
        let source = format!(
            "(def rows (map (fn [i] (let [n (mod (* i 7919) 7001)] [{kind} n i])) (range 17000)))
             (def sorted (sort-by first rows))
             (def reversed (sort-by first > rows))
             (defn ordered? [before? rows]
               (loop [i 1]
                 (or (>= i 17000)
                     (let [[_ m j] (nth rows (dec i)) [_ n k] (nth rows i)]
                       (and (or (before? m n) (and (= m n) (< j k))) (recur (inc i)))))))
             [(ordered? < sorted) (ordered? > reversed)]"
        );
        let program = Rc::new(compile(&source, library(), &CompileOptions::default()).expect("a program"));
        let run = |fuel| {
            let mut machine = Machine::new(program.clone(), Setup { limits, ..Setup::new(library()) });
            let mut longest = 0;
            loop {
                let before = machine.steps_used();
                let step = machine.resume(fuel);
                longest = longest.max(machine.steps_used() - before);
                if let Step::Done = step {
                    break;
                }
            }
            let outcome = machine.finish(true);
            let value = print::readable(&outcome.result.expect("a value")).expect("short");
            assert_eq!(value, "[true true]", "{kind}");
            (outcome.steps, longest)
        };
        let (steps, longest) = run(1_000);
        assert_eq!(run(u64::MAX).0, steps, "{kind}");
        assert!(longest < most, "{kind}: {longest} steps without a break");
    }
}
