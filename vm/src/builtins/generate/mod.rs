//! Generation (functions.md 8): ranges, repetitions, and sequences without end.

mod ranges;
mod unfolding;

use super::{Arities, Builtin, Example, Native};

pub(crate) use unfolding::{beginning, beginning_while};

/// The family's functions.
pub static BUILTINS: &[Builtin] = &[
    Builtin {
        name: "range",
        namespace: "clojure.core",
        aliases: &["clojure.core/range", "core/range"],
        arities: Arities::OneOf(&[0, 1, 2, 3]),
        signatures: &["(range end)", "(range start end)", "(range start end step)", "(range)"],
        doc: "Numbers from start (0) up to end, which is excluded, by step (1); (range) never ends: only for take and for walks in step with another collection",
        section: "gen",
        examples: &[
            Example { program: "(range 4)", value: "[0 1 2 3]" },
            Example { program: "(range 2 5)", value: "[2 3 4]" },
            Example { program: "(range 10 0 -4)", value: "[10 6 2]" },
            Example { program: "(range 0 1 0.5)", value: "[0 0.5]" },
        ],
        native: Native::Plain(ranges::range),
    },
    Builtin {
        name: "repeat",
        namespace: "clojure.core",
        aliases: &["clojure.core/repeat", "core/repeat"],
        arities: Arities::OneOf(&[1, 2]),
        signatures: &["(repeat n x)", "(repeat x)"],
        doc: "n times x; without n it never ends: only for take and for walks in step with another collection",
        section: "gen",
        examples: &[
            Example { program: "(repeat 3 :a)", value: "[:a :a :a]" },
            Example { program: "(take 2 (repeat 0))", value: "[0 0]" },
            Example { program: "(zipmap [:a :b] (repeat 0))", value: "{:a 0 :b 0}" },
        ],
        native: Native::Plain(ranges::repeat),
    },
    Builtin {
        name: "repeatedly",
        namespace: "clojure.core",
        aliases: &["clojure.core/repeatedly", "core/repeatedly"],
        arities: Arities::OneOf(&[1, 2]),
        signatures: &["(repeatedly n f)", "(repeatedly f)"],
        doc: "Results of n calls of f; without n it never ends: only for take and take-while",
        section: "gen",
        examples: &[
            Example { program: "(repeatedly 2 (fn [] 1))", value: "[1 1]" },
            Example { program: "(take 2 (repeatedly (fn [] 1)))", value: "[1 1]" },
        ],
        native: Native::Frame(unfolding::repeatedly),
    },
    Builtin {
        name: "iterate",
        namespace: "clojure.core",
        aliases: &["clojure.core/iterate", "core/iterate"],
        arities: Arities::OneOf(&[2]),
        signatures: &["(iterate f x)"],
        doc: "x, (f x), (f (f x)) … without end: only for take and take-while",
        section: "gen",
        examples: &[
            Example { program: "(take 4 (iterate inc 1))", value: "[1 2 3 4]" },
            Example {
                program: "(take-while (fn [x] (< x 50)) (iterate (partial * 2) 1))",
                value: "[1 2 4 8 16 32]",
            },
        ],
        native: Native::Plain(unfolding::iterate),
    },
    Builtin {
        name: "cycle",
        namespace: "clojure.core",
        aliases: &["clojure.core/cycle", "core/cycle"],
        arities: Arities::OneOf(&[1]),
        signatures: &["(cycle c)"],
        doc: "The elements again and again without end: only for take and for walks in step with another collection",
        section: "gen",
        examples: &[
            Example { program: "(take 5 (cycle [1 2]))", value: "[1 2 1 2 1]" },
            Example { program: "(map vector [1 2 3] (cycle [:a :b]))", value: "[[1 :a] [2 :b] [3 :a]]" },
        ],
        native: Native::Plain(unfolding::cycle),
    },
];
