//! Combining collections (functions.md 5).

mod adding;
mod combinatorics;
pub(super) mod mixing;

use super::Builtin;
use super::namespaces::{COMBINATORICS, CORE, EXTENSION, QUEUE};
use super::row::{constant, frame, fun, section};
use crate::value::{Value, Vector};

/// The family's functions.
pub(super) static BUILTINS: &[Builtin] = &section("combine", "Combining").of([
    fun("cons", CORE, "x c", adding::cons)
        .doc("List of an element and those of a collection")
        .example("(cons 0 [1 2])", "(0 1 2)")
        .example(r#"(cons :x "ab")"#, r#"(:x "a" "b")"#),
    fun("conj", CORE, "| c & xs", adding::conj)
        .doc("Add elements: at the end of a vector or a queue, in front of a list, into a set, as an entry of a map")
        .example("(conj [1] 2 3)", "[1 2 3]")
        .example("(conj #{1} 1 2)", "#{1 2}")
        .example("(conj {:a 1} [:b 2])", "{:a 1 :b 2}")
        .example("(conj '(1) 2 3)", "(3 2 1)")
        .example("(conj nil 1 2)", "(2 1)")
        .example("(conj {:a 1} {:b 2 :c 3})", "{:a 1 :b 2 :c 3}"),
    constant("PersistentQueue/EMPTY", QUEUE, || Value::Queue(Vector::new()))
        .calls(&["PersistentQueue/EMPTY"])
        .doc("The empty queue: conj and into add at its end, peek and pop work at its front")
        .example("(into PersistentQueue/EMPTY [1 2 3])", "(1 2 3)")
        .example("(peek (conj PersistentQueue/EMPTY 1 2))", "1")
        .example("(pop (conj PersistentQueue/EMPTY 1 2))", "(2)"),
    fun("concat", CORE, "& cs", adding::concat)
        .doc("Elements of all collections in order")
        .example("(concat [1] nil [2 3])", "[1 2 3]")
        .example("(concat [1] #{2})", "[1 2]")
        .example(r#"(concat "ab" "c")"#, r#"["a" "b" "c"]"#),
    frame("into", CORE, "to from | to xf from", adding::into)
        .one_of(&[0, 1, 2, 3])
        .doc("to with all elements of from, or with those that a transducer makes of them")
        .example("(into [1] [2 3])", "[1 2 3]")
        .example("(into () [1 2 3])", "(3 2 1)")
        .example("(into {} [[:a 1] [:b 2]])", "{:a 1 :b 2}")
        .example("(into #{} [1 1 2])", "#{1 2}")
        .example("(into [] {:b 1 :a 2})", "[[:a 2] [:b 1]]")
        .example("(into [] (map inc) [1 2])", "[2 3]"),
    fun("interleave", CORE, "& cs", mixing::interleave)
        .doc("Alternate the elements of several collections")
        .example(r#"(interleave [1 2 3] "ab")"#, r#"[1 "a" 2 "b"]"#),
    frame("interpose", CORE, "sep c | sep", mixing::interpose)
        .doc("Elements with sep between them; without collection a transducer")
        .example("(interpose 0 [1 2 3])", "[1 0 2 0 3]")
        .example(r#"(apply str (interpose "-" ["a" "b"]))"#, r#""a-b""#),
    fun("zip", EXTENSION, "a b", mixing::zip)
        .doc("Pairs of aligned elements of two vectors (extension)")
        .example("(zip [1 2 3] [:a :b])", "[[1 :a] [2 :b]]"),
    fun("zipmap", CORE, "ks vs", mixing::zipmap)
        .doc("Map from a collection of keys and one of values")
        .example("(zipmap [:a :b] [1 2 3])", "{:a 1 :b 2}"),
    fun("combinations", EXTENSION, "c n", mixing::combinations)
        .doc("All n-element combinations in input order (extension)")
        .example("(combinations [:a :b :c] 2)", "[[:a :b] [:a :c] [:b :c]]")
        .example("(combinations [1 2] 0)", "[[]]"),
    fun("combinatorics/combinations", COMBINATORICS, "c n", combinatorics::combinations)
        .doc("All n-element combinations; equal items are not told apart")
        .example("(combinatorics/combinations [1 1 2] 2)", "[[1 1] [1 2]]"),
    fun("combinatorics/subsets", COMBINATORICS, "c", combinatorics::subsets)
        .doc("The combinations of each size, the smallest first")
        .example("(combinatorics/subsets [1 2])", "[[] [1] [2] [1 2]]"),
    fun("combinatorics/permutations", COMBINATORICS, "c", combinatorics::permutations)
        .doc("All orders of the items; equal items are not told apart")
        .example("(combinatorics/permutations [1 2 3])", "[[1 2 3] [1 3 2] [2 1 3] [2 3 1] [3 1 2] [3 2 1]]")
        .example("(combo/permutations [:a :a :b])", "[[:a :a :b] [:a :b :a] [:b :a :a]]"),
    fun("combinatorics/cartesian-product", COMBINATORICS, "& cs", combinatorics::cartesian_product)
        .doc("All ways to take one item of each collection")
        .example("(combinatorics/cartesian-product [1 2] [:a :b])", "[[1 :a] [1 :b] [2 :a] [2 :b]]"),
    fun("combinatorics/selections", COMBINATORICS, "c n", combinatorics::selections)
        .doc("All ways to take n items, each as often as may be")
        .example("(combinatorics/selections [0 1] 2)", "[[0 0] [0 1] [1 0] [1 1]]"),
]);
