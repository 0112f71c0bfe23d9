//! Aggregation and grouping (functions.md 6).

pub(super) mod extremes;
pub(super) mod fold;
pub(super) mod grouping;
pub(super) mod sums;

use super::Builtin;
use super::namespaces::{CORE, EXTENSION};
use super::row::{frame, fun, section};

/// The family's functions.
pub(super) static BUILTINS: &[Builtin] = &section("aggregate", "Aggregation and grouping").of([
    frame("reduce", CORE, "f c | f init c", fold::reduce)
        .doc(
            "Folds the elements with f from init, or from the first element; (f) when \
             there is nothing to fold and f takes no argument, else nil",
        )
        .example("(reduce + [1 2 3])", "6")
        .example("(reduce (fn [m x] (assoc m x true)) {} [:a :b])", "{:a true :b true}")
        .example("(reduce (fn [s [k v]] (+ s v)) 0 {:a 1 :b 2})", "3")
        .example("(reduce + [])", "0")
        .example("(reduce (fn [a b] (if (> b 2) (reduced a) (+ a b))) [1 2 3 4])", "3"),
    frame("reductions", CORE, "f c | f init c", fold::reductions)
        .doc("All accumulators of reduce")
        .example("(reductions + [1 2 3])", "[1 3 6]")
        .example("(reductions + 10 [1 2])", "[10 11 13]"),
    fun("sum", EXTENSION, "v", sums::sum)
        .doc("Sum of a vector of numbers, nil elements skipped (extension)")
        .example("(sum [1 nil 2.5])", "3.5")
        .example("(sum [])", "0"),
    fun("avg", EXTENSION, "v", sums::avg)
        .doc("Mean of a vector of numbers as a float, nil when empty (extension)")
        .example("(avg [1 2 nil])", "1.5")
        .example("(avg [])", "nil"),
    frame("sum-by", EXTENSION, "k c", sums::sum_by)
        .doc("Sum of a key over the items (extension)")
        .example("(sum-by :n [{:n 1} {} {:n 2.5}])", "3.5")
        .example("(sum-by second {:a 1 :b 2})", "3"),
    frame("avg-by", EXTENSION, "k c", sums::avg_by)
        .doc("Mean of a key over the items (extension)")
        .example("(avg-by :n [{:n 1} {:n nil} {:n 2}])", "1.5"),
    frame("min-by", EXTENSION, "k c | k x & more", extremes::min_by)
        .at_least(0)
        .doc("Item with the smallest key value (extension)")
        .example("(min-by :p [{:p 3} {:p nil} {:p 1}])", "{:p 1}")
        .example(r#"(min-by count "abc" "de")"#, r#""de""#),
    frame("max-by", EXTENSION, "k c | k x & more", extremes::max_by)
        .at_least(0)
        .doc("Item with the largest key value (extension)")
        .example("(max-by :p [{:p 3} {:p 9}])", "{:p 9}")
        .example("(max-by val {:a 1 :b 2})", "[:b 2]"),
    frame("min-key", CORE, "f x & more", extremes::min_key)
        .at_least(0)
        .doc("Argument for which the function value is least, the last of equals")
        .example(r#"(min-key count "abc" "a")"#, r#""a""#)
        .example("(apply min-key second {:a 3 :b 1})", "[:b 1]"),
    frame("max-key", CORE, "f x & more", extremes::max_key)
        .at_least(0)
        .doc("Argument for which the function value is greatest, the last of equals")
        .example("(max-key abs -7 3)", "-7")
        .example(r#"(apply max-key count ["ab" "cd" "e"])"#, r#""cd""#)
        .example("(apply max-key val {:a 3 :b 7})", "[:b 7]"),
    frame("group-by", CORE, "k c", grouping::group_by)
        .doc("Map from key value to the items having it")
        .example("(group-by :t [{:t 1} {:t 2} {:t 1}])", "{1 [{:t 1} {:t 1}] 2 [{:t 2}]}")
        .example(r#"(group-by count ["a" "bb" "c"])"#, r#"{1 ["a" "c"] 2 ["bb"]}"#),
    fun("frequencies", CORE, "c", grouping::frequencies)
        .doc("Map from element to number of occurrences")
        .example(r#"(frequencies ["b" "a" "b"])"#, r#"{"a" 1 "b" 2}"#)
        .example(r#"(frequencies "hello")"#, r#"{"e" 1 "h" 1 "l" 2 "o" 1}"#),
]);
