//! Predicates over collections (functions.md 7).

mod membership;
mod quantifiers;

use super::{Arities, Builtin, Example, Native};

/// The family's functions.
pub static BUILTINS: &[Builtin] = &[
    Builtin {
        name: "some",
        namespace: "clojure.core",
        aliases: &["clojure.core/some", "core/some"],
        arities: Arities::OneOf(&[2]),
        signatures: &["(some p c)"],
        doc: "First truthy predicate value, else nil",
        section: "preds",
        examples: &[
            Example { program: "(some even? [1 3 4])", value: "true" },
            Example { program: "(some :hit [{:x 1} {:hit 9}])", value: "9" },
            Example { program: r#"(some #{"b"} ["a" "b"])"#, value: r#""b""# },
        ],
        native: Native::Frame(quantifiers::some),
    },
    Builtin {
        name: "every?",
        namespace: "clojure.core",
        aliases: &["clojure.core/every?", "core/every?"],
        arities: Arities::OneOf(&[2]),
        signatures: &["(every? p c)"],
        doc: "True when the predicate holds for every element",
        section: "preds",
        examples: &[
            Example { program: "(every? pos? [1 2])", value: "true" },
            Example { program: "(every? :id [{:id 1} {}])", value: "false" },
        ],
        native: Native::Frame(quantifiers::every),
    },
    Builtin {
        name: "not-any?",
        namespace: "clojure.core",
        aliases: &["clojure.core/not-any?", "core/not-any?"],
        arities: Arities::OneOf(&[2]),
        signatures: &["(not-any? p c)"],
        doc: "True when the predicate holds for no element",
        section: "preds",
        examples: &[Example { program: "(not-any? neg? [1 2])", value: "true" }],
        native: Native::Frame(quantifiers::not_any),
    },
    Builtin {
        name: "not-every?",
        namespace: "clojure.core",
        aliases: &["clojure.core/not-every?", "core/not-every?"],
        arities: Arities::OneOf(&[2]),
        signatures: &["(not-every? p c)"],
        doc: "True when the predicate fails for some element",
        section: "preds",
        examples: &[Example { program: "(not-every? even? [2 3])", value: "true" }],
        native: Native::Frame(quantifiers::not_every),
    },
    Builtin {
        name: "contains?",
        namespace: "clojure.core",
        aliases: &["clojure.core/contains?", "core/contains?", "clojure.set/contains?", "set/contains?"],
        arities: Arities::OneOf(&[2]),
        signatures: &["(contains? c k)"],
        doc: "True when a map has the key, or a set or vector has the element",
        section: "preds",
        examples: &[
            Example { program: r#"(contains? {"a" nil} :a)"#, value: "true" },
            Example { program: "(contains? [10 20] 20)", value: "true" },
            Example { program: "(contains? [10 20] 0)", value: "false" },
            Example { program: "(contains? #{1} 2)", value: "false" },
        ],
        native: Native::Plain(membership::contains),
    },
    Builtin {
        name: "distinct?",
        namespace: "clojure.core",
        aliases: &["clojure.core/distinct?", "core/distinct?"],
        arities: Arities::AtLeast(0),
        signatures: &["(distinct? & xs)"],
        doc: "True when all arguments are pairwise different",
        section: "preds",
        examples: &[Example { program: "(distinct? 1 2 1)", value: "false" }],
        native: Native::Plain(membership::distinct),
    },
];
