//! Maps (functions.md 9): reading, writing, nested updates, and folds over entries.
//!
//! Reads find keys flexibly (language.md 2.6), and so do writes by `assoc`, `update`, `dissoc`, `merge` and the like:
//! they change the entry that a read of the key would find (ruling 12).

pub(super) mod path;
mod read;
#[cfg(test)]
mod tests;
pub(super) mod transform;
pub(super) mod update;
mod write;

pub(super) use read::{entry_parts, select};

use super::Builtin;
use super::namespaces::{CORE, PTC};
use super::row::{frame, fun, section};

/// The family's functions.
pub(super) static BUILTINS: &[Builtin] = &section("maps", "Maps").of([
    fun("get", CORE, "m k | m k dflt", read::get)
        .doc(
            "Value at a key of a map or an index of a vector or string, element of a set, or nil / a default",
        )
        .example(r#"(get {"a" 1} :a)"#, "1")
        .example("(get [7 8] 1)", "8")
        .example("(get {:a nil} :a 5)", "nil")
        .example(r#"(get "abc" 1)"#, r#""b""#),
    fun("get-in", CORE, "m path | m path dflt", read::get_in)
        .doc("Value at a path, or nil / a default")
        .example(r#"(get-in {:a [{"b" 3}]} [:a 0 :b])"#, "3")
        .example(r#"(get-in ["ab" "cd"] [1 0])"#, r#""c""#)
        .example("(get-in {:a 1} [:a :b] :none)", ":none"),
    fun("assoc", CORE, "m k v & kvs", write::assoc)
        .at_least(0)
        .doc("Set keys of a map or indices of a vector")
        .example("(assoc {:a 1} :b 2 :c 3)", "{:a 1 :b 2 :c 3}")
        .example("(assoc [1 2] 2 9)", "[1 2 9]")
        .example(r#"(assoc {"a" 1} :a 2)"#, r#"{"a" 2}"#)
        .example("(assoc nil :k 0)", "{:k 0}"),
    fun("assoc-in", CORE, "m path v", update::assoc_in)
        .doc("Set a value at a path, creating maps")
        .example("(assoc-in {} [:a :b] 1)", "{:a {:b 1}}")
        .example("(assoc-in {:v [1 2]} [:v 0] 9)", "{:v [9 2]}"),
    frame("update", CORE, "m k f & args", update::update)
        .at_least(0)
        .doc("Replace the value at a key by a function of it")
        .example("(update {:n 1} :n + 5)", "{:n 6}")
        .example("(update {:n nil} :n (fnil inc 0))", "{:n 1}")
        .example(r#"(update {"n" 1} :n inc)"#, r#"{"n" 2}"#)
        .example("(update [1 2] 0 dec)", "[0 2]"),
    frame("update-in", CORE, "m path f & args", update::update_in)
        .at_least(0)
        .doc("Replace the value at a path by a function of it")
        .example("(update-in {:a {:b 1}} [:a :b] + 10)", "{:a {:b 11}}")
        .example("(update-in {} [:hits :x] (fnil inc 0))", "{:hits {:x 1}}"),
    fun("dissoc", CORE, "m & ks", write::dissoc)
        .doc("Remove keys from a map")
        .example("(dissoc {:a 1 :b 2 :c 3} :a :c)", "{:b 2}")
        .example(r#"(dissoc {"a" 1 "b" 2} :a)"#, r#"{"b" 2}"#),
    fun("merge", CORE, "& ms", write::merge)
        .doc("Merge maps, later values win")
        .example("(merge {:a 1} nil {:a 2 :b 3})", "{:a 2 :b 3}")
        .example(r#"(merge {"a" 1} {:a 2})"#, r#"{"a" 2}"#)
        .example("(merge nil nil)", "nil"),
    frame("merge-with", CORE, "f & ms", transform::merge_with)
        .doc("Merge maps, combining clashing values")
        .example("(merge-with + {:a 1} {:a 2 :b 5})", "{:a 3 :b 5}")
        .example("(merge-with into {:a [1]} {:a [2]})", "{:a [1 2]}"),
    fun("select-keys", CORE, "m ks", read::select_keys)
        .doc("Part of a map with the given keys")
        .example(r#"(select-keys {"a" 1 :b 2} [:a :z])"#, "{:a 1}"),
    fun("seq-to-map-for-destructuring", CORE, "s", read::map_of_pairs)
        .doc("The map of keys and values in turn, with a map behind them, as patterns take them apart")
        .example("(seq-to-map-for-destructuring [:a 1 {:b 2}])", "{:a 1 :b 2}"),
    fun("keys", CORE, "m", read::keys)
        .doc("Keys of a map in ascending order; nil if there are none")
        .example("(keys {:b 1 :a 2})", "[:a :b]"),
    fun("vals", CORE, "m", read::vals)
        .aliases(&[".values"])
        .doc("Values of a map in key order; nil if there are none")
        .example("(vals {:b 1 :a 2})", "[2 1]"),
    fun("entries", PTC, "m", read::entries)
        .doc("Entries of a map as vectors in key order (extension)")
        .example("(entries {:b 1 :a 2})", "[[:a 2] [:b 1]]"),
    fun("key", CORE, "e", read::key)
        .aliases(&[".getKey"])
        .doc("Key of an entry")
        .example("(key (first (seq {:a 1})))", ":a"),
    fun("val", CORE, "e", read::val)
        .aliases(&[".getValue"])
        .doc("Value of an entry")
        .example("(val [:a 1])", "1"),
    fun("find", CORE, "m k", read::find)
        .doc("Entry for a key or index, nil when absent")
        .example(r#"(find {"a" 1} :a)"#, "[:a 1]")
        .example("(find [10 20] 1)", "[1 20]")
        .example("(find {:a 1} :b)", "nil"),
    frame("update-vals", CORE, "m f", transform::update_vals)
        .doc("Apply a function to every value of a map")
        .example("(update-vals {:a 1 :b 2} inc)", "{:a 2 :b 3}")
        .example(r#"(-> (group-by count ["a" "bb" "c"]) (update-vals count))"#, "{1 2 2 1}"),
    frame("update-keys", CORE, "m f", transform::update_keys)
        .doc("Apply a function to every key of a map, or index of a vector")
        .example(r#"(update-keys {:a 1 "b" 2} name)"#, r#"{"a" 1 "b" 2}"#),
    frame("reduce-kv", CORE, "f init m", transform::reduce_kv)
        .doc("Fold over the entries of a map, or the indices and elements of a vector")
        .example("(reduce-kv (fn [a k v] (conj a [v k])) [] {:b 1 :a 2})", "[[2 :a] [1 :b]]")
        .example("(reduce-kv (fn [a i x] (+ a (* i x))) 0 [5 6 7])", "20"),
    fun("hash-map", CORE, "& kvs", write::hash_map)
        .doc("Map from alternating keys and values")
        .example("(hash-map :a 1 :b nil)", "{:a 1 :b nil}"),
    fun("array-map", CORE, "& kvs", write::array_map)
        .doc("Alias of hash-map")
        .example("(array-map :b 1 :a 2)", "{:a 2 :b 1}"),
    fun("sorted-map", CORE, "& kvs", write::sorted_map)
        .doc("Map from alternating keys and values; every map is sorted")
        .example("(sorted-map :b 1 :a 2)", "{:a 2 :b 1}"),
    fun("sorted-map-by", CORE, "cmp & kvs", write::sorted_map_by)
        .doc("As sorted-map; the comparator can only be < or compare, since there is one order")
        .example("(sorted-map-by compare :b 1 :a 2)", "{:a 2 :b 1}"),
]);
