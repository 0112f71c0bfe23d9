//! Access to elements, sequence views, sizes, and vectors from arguments (functions.md 1).

mod positional;
mod views;

use super::Builtin;
use super::namespaces::{CORE, SET};
use super::row::{frame, fun, section};

pub(super) use positional::grapheme_at;
pub(crate) use positional::{or_nil, reversed};
pub(crate) use views::is_empty;

/// The family's functions.
pub(super) static BUILTINS: &[Builtin] = &section("access", "Element access").of([
    fun("first", CORE, "c", positional::first)
        .doc("First element of a collection or string, nil when empty")
        .example("(first [7 8])", "7")
        .example(r#"(first "zoo")"#, r#""z""#)
        .example("(first [])", "nil"),
    fun("second", CORE, "c", positional::second)
        .doc("Second element of a collection or string, nil when absent")
        .example("(second [7 8])", "8")
        .example(r#"(second "z")"#, "nil"),
    fun("last", CORE, "c", positional::last)
        .doc("Last element of a collection or string, nil when empty")
        .example("(last [7 8 9])", "9"),
    fun("nth", CORE, "c i | c i dflt", positional::nth)
        .doc("Element at an index; nil or the given default when out of range")
        .example("(nth [5 6 7] 2)", "7")
        .example("(nth [5 6 7] -1)", "nil")
        .example("(nth [5 6] 9 :none)", ":none")
        .example(r#"(nth "héy" 1)"#, r#""é""#),
    fun("rest", CORE, "c", positional::rest)
        .doc("Everything after the first element: of a list a list, else a vector")
        .example("(rest [4 5 6])", "[5 6]")
        .example(r#"(rest "abc")"#, r#"["b" "c"]"#),
    fun("next", CORE, "c", positional::next)
        .doc("Everything after the first element, nil when nothing is left")
        .example("(next [4 5])", "[5]")
        .example("(next [4])", "nil"),
    fun("butlast", CORE, "c", positional::butlast)
        .doc("Everything before the last element, nil when nothing is left")
        .example("(butlast [4 5 6])", "[4 5]")
        .example(r#"(butlast ["x"])"#, "nil"),
    frame("ffirst", CORE, "v", positional::ffirst)
        .doc("First element of the first element")
        .example("(ffirst [[1 2] [3]])", "1")
        .example(r#"(ffirst ["ab"])"#, r#""a""#),
    fun("fnext", CORE, "v", positional::fnext)
        .doc("First element of next, i.e. the second element")
        .example("(fnext [1 2 3])", "2"),
    frame("nfirst", CORE, "v", positional::nfirst)
        .doc("Next of the first element")
        .example("(nfirst [[1 2 3] [4]])", "[2 3]"),
    fun("nnext", CORE, "v", positional::nnext)
        .doc("Next of next, i.e. everything from the third element")
        .example("(nnext [1 2 3 4])", "[3 4]"),
    fun("peek", CORE, "v", positional::peek)
        .doc("Last element of a vector, first of a list")
        .example("(peek [1 2 9])", "9")
        .example("(peek '(1 2 9))", "1"),
    fun("pop", CORE, "v", positional::pop)
        .doc("Vector without its last element, list without its first, nil for an empty one")
        .example("(pop [1 2 9])", "[1 2]")
        .example("(pop '(1 2 9))", "(2 9)")
        .example("(pop [])", "nil"),
    fun("subvec", CORE, "v a | v a b", positional::subvec)
        .doc("Slice of a vector with clamped bounds")
        .example("(subvec [5 6 7 8] 1 3)", "[6 7]")
        .example("(subvec [5 6 7] -2 99)", "[5 6 7]"),
    fun("seq", CORE, "c", views::seq)
        .doc("Elements of any seqable in order, nil when it is empty")
        .example("(seq {:b 1 :a 2})", "[[:a 2] [:b 1]]")
        .example(r#"(seq "")"#, "nil")
        .example(r#"(seq "hi")"#, r#"["h" "i"]"#),
    fun("count", CORE, "c", views::count)
        .doc("Number of elements, entries or graphemes")
        .example(r#"(count "añ😀")"#, "3")
        .example("(count {:a 1})", "1"),
    fun("empty?", CORE, "c", views::empty_p)
        .doc("True when a collection or string has no elements")
        .example("(empty? [])", "true")
        .example(r#"(empty? " ")"#, "false"),
    fun("not-empty", CORE, "c", views::not_empty)
        .doc("The collection itself, or nil when it is empty")
        .example(r#"(not-empty "x")"#, r#""x""#)
        .example("(not-empty {})", "nil"),
    fun("empty", CORE, "c", views::empty)
        .doc("Empty collection of the same kind; nil for what is none")
        .example("(empty [1 2])", "[]")
        .example("(empty #{1})", "#{}"),
    fun("vec", CORE, "c", views::vec)
        .also_in(SET)
        .doc("Convert a seqable to a vector")
        .example("(vec #{3 1 2})", "[1 2 3]")
        .example(r#"(vec "hi")"#, r#"["h" "i"]"#)
        .example("(vec nil)", "[]"),
    fun("vector", CORE, "& xs", views::vector)
        .also_in(SET)
        .doc("Vector of the arguments")
        .example(r#"(vector 1 nil "a")"#, r#"[1 nil "a"]"#),
    fun("list", CORE, "& xs", views::list)
        .doc("List of the arguments: conj, peek and pop work in front")
        .example("(list 1 2)", "(1 2)")
        .example("(conj (list 1 2) 0)", "(0 1 2)")
        .example("(= (list 1 2) [1 2])", "true"),
    fun("list*", CORE, "x & xs c", views::list_star)
        .doc("List of the arguments followed by the elements of the last one")
        .example("(list* 1 2 [3 4])", "(1 2 3 4)"),
    fun("rseq", CORE, "c", positional::rseq)
        .doc("Elements of a vector, map or set in reverse order, nil when empty")
        .example("(rseq [1 2 3])", "[3 2 1]")
        .example("(rseq {:a 1 :b 2})", "[[:b 2] [:a 1]]")
        .example("(rseq [])", "nil"),
    fun("bounded-count", CORE, "n c", views::bounded_count)
        .doc("Number of elements; of a string or an endless sequence at most n")
        .example("(bounded-count 2 [5 6 7])", "3")
        .example("(bounded-count 2 (range))", "2"),
    frame("doall", CORE, "c | n c", views::doall)
        .doc("The collection itself: nothing finite is lazy")
        .example("(doall (map inc [1 2]))", "[2 3]"),
    frame("dorun", CORE, "c | n c", views::dorun)
        .doc("nil: nothing finite is lazy; with n the first elements of an endless sequence are made")
        .example("(dorun (map inc [1 2]))", "nil")
        .example("(dorun 2 (repeatedly (fn [] 1)))", "nil"),
    fun("realized?", CORE, "x", views::realized)
        .doc("true: nothing is lazy")
        .example("(realized? (map inc [1 2]))", "true"),
]);
