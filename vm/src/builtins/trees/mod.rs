//! Trees (functions.md 11): `clojure.walk`, `tree-seq` and `clojure.data/diff`.

mod diff;
mod functions;
#[cfg(test)]
mod tests;
pub(super) mod tree_seq;
pub(super) mod walk;

use super::Builtin;
use super::namespaces::{CORE, DATA, WALK};
use super::row::{frame, fun, section};

/// The family's functions.
pub(super) static BUILTINS: &[Builtin] = &section("walk", "Trees").of([
    frame("walk", WALK, "inner outer form", functions::walk_once)
        .doc("Apply one function to the children and another to the rebuilt form")
        .example("(walk inc (fn [v] (apply + v)) [1 2 3])", "9")
        .example("(walk (fn [[k v]] [k (* 2 v)]) identity {:a 1})", "{:a 2}"),
    frame("prewalk", WALK, "f form", functions::prewalk)
        .doc("Transform a tree from the root down")
        .example("(prewalk (fn [x] (if (number? x) (* 10 x) x)) [1 [2 {:a 3}]])", "[10 [20 {:a 30}]]"),
    frame("postwalk", WALK, "f form", functions::postwalk)
        .doc("Transform a tree from the leaves up")
        .example("(postwalk (fn [x] (if (map? x) (dissoc x :tmp) x)) [{:a 1 :tmp 2}])", "[{:a 1}]"),
    frame("tree-seq", CORE, "branch? children root", tree_seq::tree_seq)
        .doc("All nodes of a tree in depth-first order")
        .example("(map :id (tree-seq :kids :kids {:id 1 :kids [{:id 2} {:id 3}]}))", "[1 2 3]")
        .example("(tree-seq vector? identity [1 [2]])", "[[1 [2]] 1 [2] 2]"),
    frame("prewalk-replace", WALK, "replacements form", functions::prewalk_replace)
        .doc("Replace nodes that are keys of a map, from the root down")
        .example("(prewalk-replace {:a [:b] :b 1} [:a :c])", "[[1] :c]"),
    frame("postwalk-replace", WALK, "replacements form", functions::postwalk_replace)
        .doc("Replace nodes that are keys of a map, from the leaves up")
        .example("(postwalk-replace {:a 1} [:a [:b :a]])", "[1 [:b 1]]"),
    frame("keywordize-keys", WALK, "form", functions::keywordize_keys)
        .doc("Replace the string keys of all maps by keywords, where keyword accepts them")
        .example(r#"(keywordize-keys [{"a" 1 "b c" {"d" 2}}])"#, r#"[{:a 1 "b c" {:d 2}}]"#),
    frame("stringify-keys", WALK, "form", functions::stringify_keys)
        .doc("Replace the keyword keys of all maps by their names")
        .example("(stringify-keys {:a {:b 1}})", r#"{"a" {"b" 1}}"#),
    fun("clojure.data/diff", DATA, "a b", diff::diff)
        .doc(
            "What is only in a, only in b, and in both, nil for nothing: of maps by key, of sequences by place, of sets by \
             element, of everything else as it is",
        )
        .example("(clojure.data/diff {:a 1 :b 2} {:a 1 :b 3 :c 4})", "[{:b 2} {:b 3 :c 4} {:a 1}]")
        .example("(clojure.data/diff [1 2 3] [1 5])", "[[nil 2 3] [nil 5] [1]]")
        .example("(clojure.data/diff #{1 2} #{2 3})", "[#{1} #{3} #{2}]")
        .example("(clojure.data/diff 1 2)", "[1 2 nil]"),
]);
