//! Generation (functions.md 8): ranges, repetitions, and sequences without end.

mod ranges;
pub(super) mod unfolding;

use super::Builtin;
use super::namespaces::CORE;
use super::row::{frame, fun, section};

/// The family's functions.
pub(super) static BUILTINS: &[Builtin] = &section("gen", "Generation").of([
    fun("range", CORE, "end | start end | start end step |", ranges::range)
        .doc(
            "Numbers from start (0) up to end, which is excluded, by step (1); (range) never \
             ends, and is made as it is taken",
        )
        .example("(range 4)", "[0 1 2 3]")
        .example("(range 2 5)", "[2 3 4]")
        .example("(range 10 0 -4)", "[10 6 2]")
        .example("(range 0 1 0.5)", "[0 0.5]"),
    fun("replicate", CORE, "n x", ranges::repeat)
        .doc("n times x, as (repeat n x)")
        .example("(replicate 2 :x)", "[:x :x]"),
    fun("repeat", CORE, "n x | x", ranges::repeat)
        .doc("n times x; without n it never ends, and is made as it is taken")
        .example("(repeat 3 :a)", "[:a :a :a]")
        .example("(take 2 (repeat 0))", "[0 0]")
        .example("(zipmap [:a :b] (repeat 0))", "{:a 0 :b 0}"),
    frame("repeatedly", CORE, "n f | f", unfolding::repeatedly)
        .doc("Results of n calls of f; without n it never ends, and is made as it is taken")
        .example("(repeatedly 2 (fn [] 1))", "[1 1]")
        .example("(take 2 (repeatedly (fn [] 1)))", "[1 1]"),
    fun("iterate", CORE, "f x", unfolding::iterate)
        .doc("x, (f x), (f (f x)) … without end: only for take and take-while")
        .example("(take 4 (iterate inc 1))", "[1 2 3 4]")
        .example("(take-while (fn [x] (< x 50)) (iterate (partial * 2) 1))", "[1 2 4 8 16 32]"),
    fun("cycle", CORE, "c", unfolding::cycle)
        .doc(
            "The elements again and again without end: only for take and \
             for walks in step with another collection",
        )
        .example("(take 5 (cycle [1 2]))", "[1 2 1 2 1]")
        .example("(map vector [1 2 3] (cycle [:a :b]))", "[[1 :a] [2 :b] [3 :a]]"),
]);
