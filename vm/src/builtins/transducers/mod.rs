//! Transducers: transformations of elements that `into`, `transduce`, `sequence` and `eduction` put to work.
//!
//! A transducer is a value that remembers its function and arguments: `(map inc)`, `(take 3)`, or a `comp` of such. It runs as
//! a `pipeline` of stages, not as a tower of functions, so a program cannot call one. Those that a program writes come after
//! the stages.

mod lane;
pub(super) mod pipeline;
mod running;
pub(super) mod split_transducer;
pub(super) mod stage;
mod stopping;

use super::Builtin;
use super::namespaces::CORE;
use super::row::{frame, fun, section};

pub(crate) use running::{COMPLETING, called, into};

/// The family's functions.
pub(super) static BUILTINS: &[Builtin] = &section("transducers", "Transducers").of([
    frame("transduce", CORE, "xf f c | xf f init c", running::transduce)
        .doc(
            "Folds with f what a transducer makes of the elements; f is called \
             with the result at the end if it takes one argument",
        )
        .example("(transduce (map inc) + [1 2])", "5")
        .example("(transduce (comp (filter odd?) (map inc)) conj [] [1 2 3])", "[2 4]"),
    frame("sequence", CORE, "xf c & cs | c", running::sequence)
        .doc(
            "Vector of what a transducer makes of the elements, or of the elements; one that begins with map or mapcat takes \
             several collections in step",
        )
        .example("(sequence (map inc) [1 2])", "[2 3]")
        .example("(sequence (map +) [1 2] (repeat 10))", "[11 12]")
        .example(r#"(sequence "ab")"#, r#"["a" "b"]"#),
    frame("eduction", CORE, "xf & xfs c", running::eduction)
        .doc("Vector of what transducers, one after the other, make of the elements")
        .example("(eduction (map inc) (filter even?) [1 2 3])", "[2 4]"),
    fun("completing", CORE, "f | f cf", running::completing)
        .doc("A function for transduce that folds with f and ends with cf, or with nothing")
        .example("(transduce (map inc) (completing + str) 0 [1 2])", r#""5""#),
    frame("halt-when", CORE, "p | p result", running::halt_when)
        .doc(
            "Transducer that ends the whole run at the first element that \
             satisfies p: with the element, or with (result acc element)",
        )
        .example("(transduce (halt-when neg?) + 0 [1 -5 2])", "-5"),
    fun("cat", CORE, "rf", running::cat)
        .calls(&["cat"])
        .doc("Transducer that puts the elements of each element in its place")
        .example("(into [] cat [[1 2] [3]])", "[1 2 3]"),
    fun("reduced", CORE, "x", stopping::reduced)
        .doc("Tells reduce, reductions, reduce-kv and transduce to stop with x")
        .example("(reduce (fn [a x] (if (neg? x) (reduced a) (+ a x))) 0 [1 2 -1 5])", "3"),
    fun("reduced?", CORE, "x", stopping::reduced_p)
        .doc("Whether x is a result of reduced")
        .example("(reduced? (reduced 1))", "true")
        .example("(reduced? 1)", "false"),
    fun("unreduced", CORE, "x", stopping::unreduced)
        .doc("The value inside a result of reduced, or x itself")
        .example("(unreduced (reduced 1))", "1")
        .example("(unreduced 1)", "1"),
    fun("ensure-reduced", CORE, "x", stopping::ensure_reduced)
        .doc("x as a result of reduced, wrapped once")
        .example("(unreduced (ensure-reduced (reduced 1)))", "1"),
]);
