//! Predicates over collections (functions.md 7).

mod membership;
pub(super) mod quantifiers;

use super::Builtin;
use super::namespaces::{CORE, SET};
use super::row::{frame, fun, section};

/// The family's functions.
pub(super) static BUILTINS: &[Builtin] = &section("preds", "Predicates over collections").of([
    frame("some", CORE, "p c", quantifiers::some)
        .doc("First truthy predicate value, else nil")
        .example("(some even? [1 3 4])", "true")
        .example("(some :hit [{:x 1} {:hit 9}])", "9")
        .example(r#"(some #{"b"} ["a" "b"])"#, r#""b""#),
    frame("every?", CORE, "p c", quantifiers::every)
        .doc("True when the predicate holds for every element")
        .example("(every? pos? [1 2])", "true")
        .example("(every? :id [{:id 1} {}])", "false"),
    frame("not-any?", CORE, "p c", quantifiers::not_any)
        .doc("True when the predicate holds for no element")
        .example("(not-any? neg? [1 2])", "true"),
    frame("not-every?", CORE, "p c", quantifiers::not_every)
        .doc("True when the predicate fails for some element")
        .example("(not-every? even? [2 3])", "true"),
    fun("contains?", CORE, "c k", membership::contains)
        .also_in(SET)
        .doc("True when a map has the key, a set the element, or a vector or string the index")
        .example(r#"(contains? {"a" nil} :a)"#, "true")
        .example("(contains? [10 20] 1)", "true")
        .example("(contains? [10 20] 20)", "false")
        .example("(contains? #{1} 2)", "false"),
    fun("distinct?", CORE, "& xs", membership::distinct)
        .doc("True when all arguments are pairwise different")
        .example("(distinct? 1 2 1)", "false"),
]);
