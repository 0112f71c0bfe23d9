//! Trees (functions.md 11): `clojure.walk` and `tree-seq`.

mod functions;
#[cfg(test)]
mod tests;
mod tree_seq;
mod walk;

use super::{Arities, Builtin, Example, Native};

/// The family's functions.
pub static BUILTINS: &[Builtin] = &[
    Builtin {
        name: "walk",
        namespace: "clojure.walk",
        aliases: &["clojure.walk/walk", "walk/walk"],
        arities: Arities::OneOf(&[3]),
        signatures: &["(walk inner outer form)"],
        doc: "Apply one function to the children and another to the rebuilt form",
        section: "walk",
        examples: &[
            Example { program: "(walk inc (fn [v] (apply + v)) [1 2 3])", value: "9" },
            Example { program: "(walk (fn [[k v]] [k (* 2 v)]) identity {:a 1})", value: "{:a 2}" },
        ],
        native: Native::Frame(functions::walk_once),
    },
    Builtin {
        name: "prewalk",
        namespace: "clojure.walk",
        aliases: &["clojure.walk/prewalk", "walk/prewalk"],
        arities: Arities::OneOf(&[2]),
        signatures: &["(prewalk f form)"],
        doc: "Transform a tree from the root down",
        section: "walk",
        examples: &[Example {
            program: "(prewalk (fn [x] (if (number? x) (* 10 x) x)) [1 [2 {:a 3}]])",
            value: "[10 [20 {:a 30}]]",
        }],
        native: Native::Frame(functions::prewalk),
    },
    Builtin {
        name: "postwalk",
        namespace: "clojure.walk",
        aliases: &["clojure.walk/postwalk", "walk/postwalk"],
        arities: Arities::OneOf(&[2]),
        signatures: &["(postwalk f form)"],
        doc: "Transform a tree from the leaves up",
        section: "walk",
        examples: &[Example {
            program: "(postwalk (fn [x] (if (map? x) (dissoc x :tmp) x)) [{:a 1 :tmp 2}])",
            value: "[{:a 1}]",
        }],
        native: Native::Frame(functions::postwalk),
    },
    Builtin {
        name: "tree-seq",
        namespace: "clojure.core",
        aliases: &["clojure.core/tree-seq", "core/tree-seq"],
        arities: Arities::OneOf(&[3]),
        signatures: &["(tree-seq branch? children root)"],
        doc: "All nodes of a tree in depth-first order",
        section: "walk",
        examples: &[
            Example {
                program: "(map :id (tree-seq :kids :kids {:id 1 :kids [{:id 2} {:id 3}]}))",
                value: "[1 2 3]",
            },
            Example { program: "(tree-seq vector? identity [1 [2]])", value: "[[1 [2]] 1 [2] 2]" },
        ],
        native: Native::Frame(tree_seq::tree_seq),
    },
    Builtin {
        name: "prewalk-replace",
        namespace: "clojure.walk",
        aliases: &["clojure.walk/prewalk-replace", "walk/prewalk-replace"],
        arities: Arities::OneOf(&[2]),
        signatures: &["(prewalk-replace replacements form)"],
        doc: "Replace nodes that are keys of a map, from the root down",
        section: "walk",
        examples: &[Example { program: "(prewalk-replace {:a [:b] :b 1} [:a :c])", value: "[[1] :c]" }],
        native: Native::Frame(functions::prewalk_replace),
    },
    Builtin {
        name: "postwalk-replace",
        namespace: "clojure.walk",
        aliases: &["clojure.walk/postwalk-replace", "walk/postwalk-replace"],
        arities: Arities::OneOf(&[2]),
        signatures: &["(postwalk-replace replacements form)"],
        doc: "Replace nodes that are keys of a map, from the leaves up",
        section: "walk",
        examples: &[Example { program: "(postwalk-replace {:a 1} [:a [:b :a]])", value: "[1 [:b 1]]" }],
        native: Native::Frame(functions::postwalk_replace),
    },
    Builtin {
        name: "keywordize-keys",
        namespace: "clojure.walk",
        aliases: &["clojure.walk/keywordize-keys", "walk/keywordize-keys"],
        arities: Arities::OneOf(&[1]),
        signatures: &["(keywordize-keys form)"],
        doc: "Replace the string keys of all maps by keywords, where keyword accepts them",
        section: "walk",
        examples: &[Example {
            program: r#"(keywordize-keys [{"a" 1 "b c" {"d" 2}}])"#,
            value: r#"[{:a 1 "b c" {:d 2}}]"#,
        }],
        native: Native::Frame(functions::keywordize_keys),
    },
    Builtin {
        name: "stringify-keys",
        namespace: "clojure.walk",
        aliases: &["clojure.walk/stringify-keys", "walk/stringify-keys"],
        arities: Arities::OneOf(&[1]),
        signatures: &["(stringify-keys form)"],
        doc: "Replace the keyword keys of all maps by strings",
        section: "walk",
        examples: &[Example { program: "(stringify-keys {:a {:b 1}})", value: r#"{"a" {"b" 1}}"# }],
        native: Native::Frame(functions::stringify_keys),
    },
];
