//! Ordering (functions.md 3): a stable sort that comparators of any kind may take part in.

mod comparator;
mod merge;
mod natural;
mod sequences;
mod sort;

use super::{Arities, Builtin, Example, Native};

/// The family's functions.
pub static BUILTINS: &[Builtin] = &[
    Builtin {
        name: "sort",
        namespace: "clojure.core",
        aliases: &["clojure.core/sort", "core/sort"],
        arities: Arities::OneOf(&[1, 2]),
        signatures: &["(sort c)", "(sort cmp c)"],
        doc: "Ascending by the order of values, or by a comparator (a function of two arguments, :asc or :desc); stable",
        section: "order",
        examples: &[
            Example { program: "(sort [3 1 2])", value: "[1 2 3]" },
            Example { program: "(sort > [1 3 2])", value: "[3 2 1]" },
            Example { program: "(sort {:b 1 :a 2})", value: "[[:a 2] [:b 1]]" },
            Example { program: r#"(sort [3 "b" nil :k 1])"#, value: r#"[1 3 nil :k "b"]"# },
            Example { program: "(sort (fn [a b] (compare b a)) [1 3 2])", value: "[3 2 1]" },
            Example { program: "(sort :desc [1 3 2])", value: "[3 2 1]" },
        ],
        native: Native::Frame(sort::sort),
    },
    Builtin {
        name: "sort-by",
        namespace: "clojure.core",
        aliases: &["clojure.core/sort-by", "core/sort-by"],
        arities: Arities::OneOf(&[2, 3]),
        signatures: &["(sort-by k c)", "(sort-by k cmp c)"],
        doc: "Sorted by an extracted key, optionally with a comparator on the keys; stable",
        section: "order",
        examples: &[
            Example { program: "(sort-by :n [{:n 2} {:n 1}])", value: "[{:n 1} {:n 2}]" },
            Example { program: "(sort-by second > {:a 1 :b 3 :c 2})", value: "[[:b 3] [:c 2] [:a 1]]" },
            Example {
                program: "(sort-by [:p :q] [{:p {:q 2}} {:p {:q 1}}])",
                value: "[{:p {:q 1}} {:p {:q 2}}]",
            },
            Example {
                program: "(sort-by (juxt :a :b) [{:a 1 :b 2} {:a 1 :b 1} {:a 0 :b 9}])",
                value: "[{:a 0 :b 9} {:a 1 :b 1} {:a 1 :b 2}]",
            },
            Example {
                program: "(sort-by :p > [{:p 1 :i 0} {:p 2 :i 1} {:p 1 :i 2}])",
                value: "[{:i 1 :p 2} {:i 0 :p 1} {:i 2 :p 1}]",
            },
        ],
        native: Native::Frame(sort::sort_by),
    },
    Builtin {
        name: "reverse",
        namespace: "clojure.core",
        aliases: &["clojure.core/reverse", "core/reverse"],
        arities: Arities::OneOf(&[1]),
        signatures: &["(reverse c)"],
        doc: "Elements in reverse order, as a vector",
        section: "order",
        examples: &[
            Example { program: "(reverse [1 2 3])", value: "[3 2 1]" },
            Example { program: r#"(apply str (reverse "abc"))"#, value: r#""cba""# },
        ],
        native: Native::Plain(sequences::reverse),
    },
    Builtin {
        name: "subseq",
        namespace: "clojure.core",
        aliases: &["clojure.core/subseq", "core/subseq"],
        arities: Arities::OneOf(&[3, 5]),
        signatures: &["(subseq c test key)", "(subseq c test key test key)"],
        doc: "Entries of a map or elements of a set whose keys satisfy < <= > >= tests, ascending",
        section: "order",
        examples: &[
            Example { program: "(subseq #{1 2 3 4} > 1 < 4)", value: "[2 3]" },
            Example { program: "(subseq {1 :a 2 :b} >= 2)", value: "[[2 :b]]" },
        ],
        native: Native::Plain(sequences::subseq),
    },
    Builtin {
        name: "rsubseq",
        namespace: "clojure.core",
        aliases: &["clojure.core/rsubseq", "core/rsubseq"],
        arities: Arities::OneOf(&[3, 5]),
        signatures: &["(rsubseq c test key)", "(rsubseq c test key test key)"],
        doc: "As subseq, descending",
        section: "order",
        examples: &[Example { program: "(rsubseq #{1 2 3 4} > 1)", value: "[4 3 2]" }],
        native: Native::Plain(sequences::rsubseq),
    },
];
