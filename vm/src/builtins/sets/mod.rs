//! Sets (functions.md 10) and relations, the rest of `clojure.set`.

mod algebra;
pub(super) mod relational;
#[cfg(test)]
mod tests;

use super::Builtin;
use super::namespaces::{CORE, SET};
use super::row::{frame, fun, section};

/// The family's functions.
pub(super) static BUILTINS: &[Builtin] = &section("sets", "Sets").of([
    fun("set", CORE, "c", algebra::set)
        .also_in(SET)
        .doc("Set of the elements of a collection")
        .example("(set [3 1 3])", "#{1 3}"),
    fun("hash-set", CORE, "& xs", algebra::hash_set)
        .also_in(SET)
        .doc("Set of the arguments")
        .example("(hash-set 2 1 2)", "#{1 2}"),
    fun("disj", CORE, "s & xs", algebra::disj)
        .also_in(SET)
        .doc("Remove elements from a set")
        .example("(disj #{1 2 3} 2 9)", "#{1 3}"),
    fun("union", SET, "& ss", algebra::union)
        .doc("Union of sets")
        .example("(union #{1} #{2} #{1 3})", "#{1 2 3}"),
    fun("intersection", SET, "s & ss", algebra::intersection)
        .doc("Intersection of sets")
        .example("(intersection #{1 2 3} #{2 3} #{3})", "#{3}"),
    fun("difference", SET, "s & ss", algebra::difference)
        .doc("First set without the elements of the others")
        .example("(difference #{1 2 3} #{2})", "#{1 3}"),
    fun("sorted-set", CORE, "& xs", algebra::hash_set)
        .doc("Set of the arguments; every set is sorted")
        .example("(sorted-set 2 1 2)", "#{1 2}"),
    fun("sorted-set-by", CORE, "cmp & xs", algebra::sorted_set_by)
        .doc("As sorted-set; the comparator can only be < or compare, since there is one order")
        .example("(sorted-set-by < 2 1 2)", "#{1 2}"),
    fun("subset?", SET, "s1 s2", algebra::is_subset)
        .doc("Whether s2 contains every element of s1")
        .example("(subset? #{1} #{1 2})", "true")
        .example("(subset? #{1 3} #{1 2})", "false"),
    fun("superset?", SET, "s1 s2", algebra::is_superset)
        .doc("Whether s1 contains every element of s2")
        .example("(superset? #{1 2} #{1})", "true"),
    fun("rename-keys", SET, "m renames", relational::rename_keys)
        .doc("The map with keys replaced as renames says; absent keys are ignored")
        .example("(rename-keys {:a 1 :b 2} {:a :x :z :y})", "{:b 2 :x 1}")
        .example(r#"(rename-keys {"first_name" "Z"} {:first-name :name})"#, r#"{:name "Z"}"#),
    fun("map-invert", SET, "m", relational::map_invert)
        .doc("The map with values as keys; of equal values the last key in order counts")
        .example("(map-invert {:a 1 :b 2})", "{1 :a 2 :b}"),
    frame("set/select", SET, "pred relation", relational::select_rows)
        .doc("Set of the elements for which pred holds")
        .example("(set/select odd? #{1 2 3})", "#{1 3}"),
    fun("set/project", SET, "relation ks", relational::project)
        .doc("Set of the maps of a set or vector, each with only the keys ks")
        .example("(set/project [{:a 1 :b 2} {:a 1 :b 3}] [:a])", "#{{:a 1}}"),
    fun("set/rename", SET, "relation renames", relational::rename)
        .doc("Set of the maps of a set or vector, each with renamed keys")
        .example("(set/rename #{{:a 1}} {:a :x})", "#{{:x 1}}"),
    fun("set/index", SET, "relation ks", relational::index)
        .doc("Map from what maps have at the keys ks to the set of those maps")
        .example("(set/index [{:a 1 :b 2} {:a 1 :b 3}] [:a])", "{{:a 1} #{{:a 1 :b 2} {:a 1 :b 3}}}"),
    fun("set/join", SET, "left right | left right keys", relational::join)
        .doc(
            "Set of merged pairs of maps that agree on their common keys, or on \
             keys of the left that keys maps to keys of the right",
        )
        .example(r#"(set/join [{:id 1 :n "a"}] [{:id 1 :t 5} {:id 2 :t 6}])"#, r#"#{{:id 1 :n "a" :t 5}}"#)
        .example("(set/join [{:id 1}] [{:user 1 :t 5}] {:id :user})", "#{{:id 1 :t 5 :user 1}}"),
]);
