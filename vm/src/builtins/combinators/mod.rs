//! `comp`, `partial`, `juxt` … and the functions that they make (functions.md 23).
//!
//! A [`Combinator`](crate::value::Combinator) remembers its parts. Over functions that need no frame it is called at once
//! (`direct`); else a frame goes through its parts, so that a tower of any height ends with a value or at a limit of the
//! program.

pub(super) mod calling;
pub(crate) mod direct;
mod making;
mod parts;

use super::Builtin;
use super::namespaces::{CORE, EXTENSION};
use super::row::{frame, fun, section};

pub(crate) use calling::{COMPARING, call};
pub(crate) use parts::accepts;

/// The family's functions.
pub(super) static BUILTINS: &[Builtin] = &section("comb", "Combinators").of([
    fun("comp", CORE, "& fs", making::comp)
        .doc("Compose functions right to left")
        .example("((comp str inc) 5)", r#""6""#)
        .example("((comp inc *) 2 3)", "7")
        .example("((comp :a first) [{:a 5}])", "5"),
    fun("partial", CORE, "f & xs", making::partial)
        .at_least(0)
        .doc("Function with leading arguments filled in")
        .example("((partial + 10) 5)", "15")
        .example("(map (partial * 2) [1 2])", "[2 4]"),
    fun("complement", CORE, "f", making::complement)
        .doc("Function with the opposite truth value")
        .example("(filter (complement even?) [1 2 3])", "[1 3]"),
    fun("constantly", CORE, "x", making::constantly)
        .doc("Function that always returns the same value")
        .example("((constantly 7) 1 2)", "7"),
    fun("every-pred", CORE, "p & ps", making::every_pred)
        .at_least(0)
        .doc("Predicate that requires all predicates")
        .example("((every-pred pos? even?) 4 6)", "true"),
    fun("some-fn", CORE, "f & fs", making::some_fn)
        .at_least(0)
        .doc("Function returning the first truthy result")
        .example(r#"((some-fn :nick :name) {:name "Al"})"#, r#""Al""#)
        .example("((some-fn even?) 1)", "false"),
    fun("fnil", CORE, "f default | f default1 default2 | f default1 default2 default3", making::fnil)
        .doc("Function that calls f with defaults in the place of its first nil arguments")
        .example("((fnil inc 0) nil)", "1")
        .example("(update {} :xs (fnil conj []) 1)", "{:xs [1]}")
        .example("((fnil + 1 2) nil nil)", "3"),
    fun("juxt", EXTENSION, "f & fs", making::juxt)
        .also_in(CORE)
        .at_least(0)
        .doc("Function that answers the vector of the results of all fs")
        .example("((juxt :a :b) {:a 1 :b 2})", "[1 2]")
        .example(r#"(map (juxt first count) ["ab" "c"])"#, r#"[["a" 2] ["c" 1]]"#)
        .example("((juxt + -) 5 3)", "[8 2]"),
    fun("memoize", CORE, "f", making::memoize)
        .doc("f that is called once with the same arguments, for as long as its program or branch of pmap runs")
        .example("(let [f (memoize (fn [x] (println x) (* x x)))] [(f 3) (f 3)])", "[9 9]"),
    frame("trampoline", CORE, "f & args", calling::trampoline)
        .doc("Calls f, then its result as long as that is a function")
        .example("(trampoline (fn [] (fn [] 3)))", "3"),
    fun("comparator", CORE, "p", making::comparator)
        .doc(r#"Comparator that answers -1, 0 or 1 from a predicate "a comes before b""#)
        .example("((comparator <) 1 2)", "-1")
        .example("(sort (comparator >) [1 3 2])", "[3 2 1]"),
]);
