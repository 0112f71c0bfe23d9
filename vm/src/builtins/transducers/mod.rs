//! Transducers: transformations of elements that `into`, `transduce`, `sequence` and `eduction` put to work.
//!
//! A transducer is a value that remembers its function and arguments: `(map inc)`, `(take 3)`, or a `comp` of such.
//! It runs as a `pipeline` of stages, not as a tower of functions, so a program cannot call one or write
//! one of its own.

mod pipeline;
mod running;
mod stage;
mod stopping;

use super::{Arities, Builtin, Example, Native};
use crate::error::Result;
use crate::machine::Flow;
use crate::value::Value;

pub(crate) use running::{called, into};

/// The transducer of the function `name` over its arguments so far, as the result of the call without collection.
pub(crate) fn transducer(name: &str, args: &mut [Value]) -> Result<Flow> {
    Ok(Flow::Return(stage::transducer(name, args)))
}

/// The family's functions.
pub static BUILTINS: &[Builtin] = &[
    Builtin {
        name: "transduce",
        namespace: "clojure.core",
        aliases: &["clojure.core/transduce", "core/transduce"],
        arities: Arities::OneOf(&[3, 4]),
        signatures: &["(transduce xf f c)", "(transduce xf f init c)"],
        doc: "Folds with f what a transducer makes of the elements; f is called with the result at the end if it takes one argument",
        section: "transducers",
        examples: &[
            Example { program: "(transduce (map inc) + [1 2])", value: "5" },
            Example { program: "(transduce (comp (filter odd?) (map inc)) conj [] [1 2 3])", value: "[2 4]" },
        ],
        native: Native::Frame(running::transduce),
    },
    Builtin {
        name: "sequence",
        namespace: "clojure.core",
        aliases: &["clojure.core/sequence", "core/sequence"],
        arities: Arities::OneOf(&[1, 2]),
        signatures: &["(sequence xf c)", "(sequence c)"],
        doc: "Vector of what a transducer makes of the elements, or of the elements",
        section: "transducers",
        examples: &[
            Example { program: "(sequence (map inc) [1 2])", value: "[2 3]" },
            Example { program: r#"(sequence "ab")"#, value: r#"["a" "b"]"# },
        ],
        native: Native::Frame(running::sequence),
    },
    Builtin {
        name: "eduction",
        namespace: "clojure.core",
        aliases: &["clojure.core/eduction", "core/eduction"],
        arities: Arities::AtLeast(1),
        signatures: &["(eduction xf & xfs c)"],
        doc: "Vector of what transducers, one after the other, make of the elements",
        section: "transducers",
        examples: &[Example { program: "(eduction (map inc) (filter even?) [1 2 3])", value: "[2 4]" }],
        native: Native::Frame(running::eduction),
    },
    Builtin {
        name: "completing",
        namespace: "clojure.core",
        aliases: &["clojure.core/completing", "core/completing"],
        arities: Arities::OneOf(&[1, 2]),
        signatures: &["(completing f)", "(completing f cf)"],
        doc: "A function for transduce that folds with f and ends with cf, or with nothing",
        section: "transducers",
        examples: &[Example { program: "(transduce (map inc) (completing + str) 0 [1 2])", value: r#""5""# }],
        native: Native::Plain(running::completing),
    },
    Builtin {
        name: "halt-when",
        namespace: "clojure.core",
        aliases: &["clojure.core/halt-when", "core/halt-when"],
        arities: Arities::OneOf(&[1, 2]),
        signatures: &["(halt-when p)", "(halt-when p result)"],
        doc: "Transducer that ends the whole run at the first element that satisfies p: with the element, or with (result acc element)",
        section: "transducers",
        examples: &[Example { program: "(transduce (halt-when neg?) + 0 [1 -5 2])", value: "-5" }],
        native: Native::Frame(running::halt_when),
    },
    Builtin {
        name: "cat",
        namespace: "clojure.core",
        aliases: &["clojure.core/cat", "core/cat"],
        arities: Arities::OneOf(&[1]),
        signatures: &["cat"],
        doc: "Transducer that puts the elements of each element in its place",
        section: "transducers",
        examples: &[Example { program: "(into [] cat [[1 2] [3]])", value: "[1 2 3]" }],
        native: Native::Plain(running::cat),
    },
    Builtin {
        name: "reduced",
        namespace: "clojure.core",
        aliases: &["clojure.core/reduced", "core/reduced"],
        arities: Arities::OneOf(&[1]),
        signatures: &["(reduced x)"],
        doc: "Tells reduce, reductions, reduce-kv and transduce to stop with x",
        section: "transducers",
        examples: &[Example {
            program: "(reduce (fn [a x] (if (neg? x) (reduced a) (+ a x))) 0 [1 2 -1 5])",
            value: "3",
        }],
        native: Native::Plain(stopping::reduced),
    },
    Builtin {
        name: "reduced?",
        namespace: "clojure.core",
        aliases: &["clojure.core/reduced?", "core/reduced?"],
        arities: Arities::OneOf(&[1]),
        signatures: &["(reduced? x)"],
        doc: "Whether x is a result of reduced",
        section: "transducers",
        examples: &[
            Example { program: "(reduced? (reduced 1))", value: "true" },
            Example { program: "(reduced? 1)", value: "false" },
        ],
        native: Native::Plain(stopping::reduced_p),
    },
    Builtin {
        name: "unreduced",
        namespace: "clojure.core",
        aliases: &["clojure.core/unreduced", "core/unreduced"],
        arities: Arities::OneOf(&[1]),
        signatures: &["(unreduced x)"],
        doc: "The value inside a result of reduced, or x itself",
        section: "transducers",
        examples: &[
            Example { program: "(unreduced (reduced 1))", value: "1" },
            Example { program: "(unreduced 1)", value: "1" },
        ],
        native: Native::Plain(stopping::unreduced),
    },
    Builtin {
        name: "ensure-reduced",
        namespace: "clojure.core",
        aliases: &["clojure.core/ensure-reduced", "core/ensure-reduced"],
        arities: Arities::OneOf(&[1]),
        signatures: &["(ensure-reduced x)"],
        doc: "x as a result of reduced, wrapped once",
        section: "transducers",
        examples: &[Example { program: "(unreduced (ensure-reduced (reduced 1)))", value: "1" }],
        native: Native::Plain(stopping::ensure_reduced),
    },
];
