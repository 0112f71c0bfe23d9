//! Ordering (functions.md 3): a stable sort that comparators of any kind may take part in.

mod comparator;
mod merge;
mod natural;
mod sequences;
pub(super) mod sort;

use super::Builtin;
use super::namespaces::CORE;
use super::row::{frame, fun, section};

/// The family's functions.
pub(super) static BUILTINS: &[Builtin] = &section("order", "Ordering").of([
    frame("sort", CORE, "c | cmp c", sort::sort)
        .doc(
            "Ascending by the order of values, or by a comparator (a \
             function of two arguments, :asc or :desc); stable",
        )
        .example("(sort [3 1 2])", "[1 2 3]")
        .example("(sort > [1 3 2])", "[3 2 1]")
        .example("(sort {:b 1 :a 2})", "[[:a 2] [:b 1]]")
        .example(r#"(sort [3 "b" nil :k 1])"#, r#"[nil 1 3 :k "b"]"#)
        .example("(sort (fn [a b] (compare b a)) [1 3 2])", "[3 2 1]")
        .example("(sort :desc [1 3 2])", "[3 2 1]"),
    frame("sort-by", CORE, "k c | k cmp c", sort::sort_by)
        .doc("Sorted by an extracted key, optionally with a comparator on the keys; stable")
        .example("(sort-by :n [{:n 2} {:n 1}])", "[{:n 1} {:n 2}]")
        .example("(sort-by second > {:a 1 :b 3 :c 2})", "[[:b 3] [:c 2] [:a 1]]")
        .example("(sort-by [:p :q] [{:p {:q 2}} {:p {:q 1}}])", "[{:p {:q 1}} {:p {:q 2}}]")
        .example(
            "(sort-by (juxt :a :b) [{:a 1 :b 2} {:a 1 :b 1} {:a 0 :b 9}])",
            "[{:a 0 :b 9} {:a 1 :b 1} {:a 1 :b 2}]",
        )
        .example(
            "(sort-by :p > [{:p 1 :i 0} {:p 2 :i 1} {:p 1 :i 2}])",
            "[{:i 1 :p 2} {:i 0 :p 1} {:i 2 :p 1}]",
        ),
    fun("reverse", CORE, "c", sequences::reverse)
        .doc("List of the elements in reverse order")
        .example("(reverse [1 2 3])", "(3 2 1)")
        .example(r#"(apply str (reverse "abc"))"#, r#""cba""#),
    fun("subseq", CORE, "c test key | c test key test key", sequences::subseq)
        .one_of(&[3, 5])
        .doc("Entries of a map or elements of a set whose keys satisfy < <= > >= tests, ascending")
        .example("(subseq #{1 2 3 4} > 1 < 4)", "[2 3]")
        .example("(subseq {1 :a 2 :b} >= 2)", "[[2 :b]]"),
    fun("rsubseq", CORE, "c test key | c test key test key", sequences::rsubseq)
        .one_of(&[3, 5])
        .doc("As subseq, descending")
        .example("(rsubseq #{1 2 3 4} > 1)", "[4 3 2]"),
]);
