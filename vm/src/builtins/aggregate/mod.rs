//! Aggregation and grouping (functions.md 6).

mod extremes;
mod fold;
mod grouping;
mod sums;

use super::{Arities, Builtin, Example, Native};

/// The family's functions.
pub static BUILTINS: &[Builtin] = &[
    Builtin {
        name: "reduce",
        namespace: "clojure.core",
        aliases: &["clojure.core/reduce", "core/reduce"],
        arities: Arities::OneOf(&[2, 3]),
        signatures: &["(reduce f c)", "(reduce f init c)"],
        doc: "Folds the elements with f from init, or from the first element; (f) when there is nothing to fold and f takes no argument, else nil",
        section: "aggregate",
        examples: &[
            Example { program: "(reduce + [1 2 3])", value: "6" },
            Example {
                program: "(reduce (fn [m x] (assoc m x true)) {} [:a :b])",
                value: "{:a true :b true}",
            },
            Example { program: "(reduce (fn [s [k v]] (+ s v)) 0 {:a 1 :b 2})", value: "3" },
            Example { program: "(reduce + [])", value: "0" },
            Example { program: "(reduce (fn [a b] (if (> b 2) (reduced a) (+ a b))) [1 2 3 4])", value: "3" },
        ],
        native: Native::Frame(fold::reduce),
    },
    Builtin {
        name: "reductions",
        namespace: "clojure.core",
        aliases: &["clojure.core/reductions", "core/reductions"],
        arities: Arities::OneOf(&[2, 3]),
        signatures: &["(reductions f c)", "(reductions f init c)"],
        doc: "All accumulators of reduce",
        section: "aggregate",
        examples: &[
            Example { program: "(reductions + [1 2 3])", value: "[1 3 6]" },
            Example { program: "(reductions + 10 [1 2])", value: "[10 11 13]" },
        ],
        native: Native::Frame(fold::reductions),
    },
    Builtin {
        name: "sum",
        namespace: "",
        aliases: &[],
        arities: Arities::OneOf(&[1]),
        signatures: &["(sum v)"],
        doc: "Sum of a vector of numbers, nil elements skipped (extension)",
        section: "aggregate",
        examples: &[
            Example { program: "(sum [1 nil 2.5])", value: "3.5" },
            Example { program: "(sum [])", value: "0" },
        ],
        native: Native::Plain(sums::sum),
    },
    Builtin {
        name: "avg",
        namespace: "",
        aliases: &[],
        arities: Arities::OneOf(&[1]),
        signatures: &["(avg v)"],
        doc: "Mean of a vector of numbers as a float, nil when empty (extension)",
        section: "aggregate",
        examples: &[
            Example { program: "(avg [1 2 nil])", value: "1.5" },
            Example { program: "(avg [])", value: "nil" },
        ],
        native: Native::Plain(sums::avg),
    },
    Builtin {
        name: "sum-by",
        namespace: "",
        aliases: &[],
        arities: Arities::OneOf(&[2]),
        signatures: &["(sum-by k c)"],
        doc: "Sum of a key over the items (extension)",
        section: "aggregate",
        examples: &[
            Example { program: "(sum-by :n [{:n 1} {} {:n 2.5}])", value: "3.5" },
            Example { program: "(sum-by second {:a 1 :b 2})", value: "3" },
        ],
        native: Native::Frame(sums::sum_by),
    },
    Builtin {
        name: "avg-by",
        namespace: "",
        aliases: &[],
        arities: Arities::OneOf(&[2]),
        signatures: &["(avg-by k c)"],
        doc: "Mean of a key over the items (extension)",
        section: "aggregate",
        examples: &[Example { program: "(avg-by :n [{:n 1} {:n nil} {:n 2}])", value: "1.5" }],
        native: Native::Frame(sums::avg_by),
    },
    Builtin {
        name: "min-by",
        namespace: "",
        aliases: &[],
        arities: Arities::AtLeast(0),
        signatures: &["(min-by k c)", "(min-by k x & more)"],
        doc: "Item with the smallest key value (extension)",
        section: "aggregate",
        examples: &[
            Example { program: "(min-by :p [{:p 3} {:p nil} {:p 1}])", value: "{:p 1}" },
            Example { program: r#"(min-by count "abc" "de")"#, value: r#""de""# },
        ],
        native: Native::Frame(extremes::min_by),
    },
    Builtin {
        name: "max-by",
        namespace: "",
        aliases: &[],
        arities: Arities::AtLeast(0),
        signatures: &["(max-by k c)", "(max-by k x & more)"],
        doc: "Item with the largest key value (extension)",
        section: "aggregate",
        examples: &[
            Example { program: "(max-by :p [{:p 3} {:p 9}])", value: "{:p 9}" },
            Example { program: "(max-by val {:a 1 :b 2})", value: "[:b 2]" },
        ],
        native: Native::Frame(extremes::max_by),
    },
    Builtin {
        name: "min-key",
        namespace: "clojure.core",
        aliases: &["clojure.core/min-key", "core/min-key"],
        arities: Arities::AtLeast(0),
        signatures: &["(min-key f x & more)"],
        doc: "Argument for which the function value is least",
        section: "aggregate",
        examples: &[
            Example { program: r#"(min-key count "abc" "a")"#, value: r#""a""# },
            Example { program: "(apply min-key second {:a 3 :b 1})", value: "[:b 1]" },
        ],
        native: Native::Frame(extremes::min_key),
    },
    Builtin {
        name: "max-key",
        namespace: "clojure.core",
        aliases: &["clojure.core/max-key", "core/max-key"],
        arities: Arities::AtLeast(0),
        signatures: &["(max-key f x & more)"],
        doc: "Argument for which the function value is greatest",
        section: "aggregate",
        examples: &[
            Example { program: "(max-key abs -7 3)", value: "-7" },
            Example { program: "(apply max-key val {:a 3 :b 7})", value: "[:b 7]" },
        ],
        native: Native::Frame(extremes::max_key),
    },
    Builtin {
        name: "group-by",
        namespace: "clojure.core",
        aliases: &["clojure.core/group-by", "core/group-by"],
        arities: Arities::OneOf(&[2]),
        signatures: &["(group-by k c)"],
        doc: "Map from key value to the items having it",
        section: "aggregate",
        examples: &[
            Example {
                program: "(group-by :t [{:t 1} {:t 2} {:t 1}])",
                value: "{1 [{:t 1} {:t 1}] 2 [{:t 2}]}",
            },
            Example { program: r#"(group-by count ["a" "bb" "c"])"#, value: r#"{1 ["a" "c"] 2 ["bb"]}"# },
        ],
        native: Native::Frame(grouping::group_by),
    },
    Builtin {
        name: "frequencies",
        namespace: "clojure.core",
        aliases: &["clojure.core/frequencies", "core/frequencies"],
        arities: Arities::OneOf(&[1]),
        signatures: &["(frequencies c)"],
        doc: "Map from element to number of occurrences",
        section: "aggregate",
        examples: &[
            Example { program: r#"(frequencies ["b" "a" "b"])"#, value: r#"{"a" 1 "b" 2}"# },
            Example { program: r#"(frequencies "hello")"#, value: r#"{"e" 1 "h" 1 "l" 2 "o" 1}"# },
        ],
        native: Native::Plain(grouping::frequencies),
    },
];
