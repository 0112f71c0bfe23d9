//! Taking, dropping, splitting (functions.md 4).

pub(crate) mod counting;
pub(crate) mod grouping;
pub(super) mod while_true;

use super::Builtin;
use super::namespaces::CORE;
use super::row::{frame, fun, section};

/// The family's functions.
pub(super) static BUILTINS: &[Builtin] = &section("subset", "Taking, dropping, splitting").of([
    frame("take", CORE, "n c | n", counting::take)
        .doc("First n elements; without collection a transducer")
        .example("(take 2 [5 6 7])", "[5 6]")
        .example("(take 1 {:b 2 :a 1})", "[[:a 1]]")
        .example(r#"(take 2 "hello")"#, r#"["h" "e"]"#)
        .example("(take 3 (range 4 9 0))", "[4 4 4]")
        .example("(take -1 [1 2 3])", "[]"),
    frame("drop", CORE, "n c | n", counting::drop)
        .doc("All but the first n elements; without collection a transducer")
        .example("(drop 1 [5 6 7])", "[6 7]")
        .example("(drop 9 [1])", "[]"),
    fun("take-last", CORE, "n c", counting::take_last)
        .doc("Last n elements, nil when there are none")
        .example("(take-last 2 [5 6 7])", "[6 7]")
        .example("(take-last 2 [])", "nil"),
    fun("drop-last", CORE, "c | n c", counting::drop_last)
        .doc("Everything but the last n elements")
        .example("(drop-last [5 6 7])", "[5 6]")
        .example(r#"(drop-last 2 "abc")"#, r#"["a"]"#),
    frame("take-nth", CORE, "n c | n", counting::take_nth)
        .doc("Every n-th element, from the first on; without collection a transducer")
        .example("(take-nth 2 [1 2 3 4 5])", "[1 3 5]"),
    frame("take-while", CORE, "p c | p", while_true::take_while)
        .doc("Longest prefix whose elements satisfy p; without collection a transducer")
        .example("(take-while pos? [3 1 -2 5])", "[3 1]"),
    frame("drop-while", CORE, "p c | p", while_true::drop_while)
        .doc("What follows the longest prefix whose elements satisfy p; without collection a transducer")
        .example("(drop-while pos? [3 1 -2 5])", "[-2 5]"),
    fun("nthrest", CORE, "c n", counting::nthrest)
        .doc("Drop n elements, collection first")
        .example("(nthrest [5 6 7] 2)", "[7]"),
    fun("nthnext", CORE, "c n", counting::nthnext)
        .doc("Drop n elements, nil when nothing is left")
        .example("(nthnext [5 6 7] 3)", "nil")
        .example(r#"(nthnext "abc" 1)"#, r#"["b" "c"]"#),
    fun("split-at", CORE, "n c", counting::split_at)
        .doc("Pair of the first n elements and the rest")
        .example("(split-at 1 [5 6 7])", "[[5] [6 7]]")
        .example("(split-at -3 [5 6])", "[[] [5 6]]"),
    fun("splitv-at", CORE, "n c", counting::split_at)
        .doc("As split-at")
        .example("(splitv-at 1 [5 6 7])", "[[5] [6 7]]"),
    frame("split-with", CORE, "p c", while_true::split_with)
        .doc("Pair of the satisfying prefix and the rest")
        .example("(split-with even? [2 4 5 6])", "[[2 4] [5 6]]"),
    fun("partition", CORE, "n c | n step c | n step pad c", grouping::partition)
        .doc("Groups of exactly n elements")
        .example("(partition 2 [1 2 3 4 5])", "[[1 2] [3 4]]")
        .example("(partition 2 1 [1 2 3])", "[[1 2] [2 3]]")
        .example("(partition 3 3 [:p] [1 2 3 4])", "[[1 2 3] [4 :p]]"),
    fun("partitionv", CORE, "n c | n step c | n step pad c", grouping::partitionv)
        .doc("As partition")
        .example("(partitionv 2 [1 2 3])", "[[1 2]]"),
    frame("partition-all", CORE, "n c | n step c | n", grouping::partition_all)
        .doc("Groups of n elements, the last ones shorter; without collection a transducer")
        .example("(partition-all 2 [1 2 3])", "[[1 2] [3]]")
        .example("(partition-all 3 2 [1 2 3 4 5])", "[[1 2 3] [3 4 5] [5]]"),
    fun("partitionv-all", CORE, "n c | n step c", grouping::partitionv_all)
        .doc("As partition-all")
        .example("(partitionv-all 2 [1 2 3])", "[[1 2] [3]]"),
    frame("partition-by", CORE, "f c | f", grouping::partition_by)
        .doc("Runs of elements with identical values of f; without collection a transducer")
        .example("(partition-by odd? [1 3 2 5])", "[[1 3] [2] [5]]")
        .example(r#"(partition-by identity "aab")"#, r#"[["a" "a"] ["b"]]"#),
]);
