//! Discovery: `apropos dir doc meta ns-publics` and their like describe the available names (language.md 5.7, upstreams.md 13).
//!
//! They know the registry, the special forms and the program's own definitions (as `user`). Other names go to the host, where
//! there are upstreams.

mod catalog;
mod describe;
pub(super) mod functions;
mod programs;
mod references;
mod search;

pub(crate) use functions::{ONE_DOC, UPSTREAM_APROPOS, no_backend};

use super::Builtin;
use super::namespaces::{EXTENSION, UNQUALIFIED_CORE};
use super::row::{frame, fun, section};

/// The family's functions.
pub(super) static BUILTINS: &[Builtin] = &section("disc", "Discovery").of([
    frame("apropos", EXTENSION, "query | query {:limit 8 :load false}", functions::apropos)
        .doc("Search functions, special forms and tools by words")
        .example(r#"(starts-with? (first (apropos "group-by")) "local: group-by - ")"#, "true"),
    frame("dir", UNQUALIFIED_CORE, "ref | ref {:limit 50 :offset 0}", functions::dir)
        .doc("Members of a namespace, class or upstream server")
        .example("(count (dir 'json {:limit 2}))", "2"),
    frame("doc", UNQUALIFIED_CORE, "ref & refs", functions::doc)
        .doc("Documentation of functions, special forms, tools and servers as text")
        .example("(first (split-lines (doc 'filter)))", r#""filter""#)
        .example(r#"(count (re-seq #"Kind: " (doc 'filter 'map)))"#, "2"),
    frame("meta", UNQUALIFIED_CORE, "ref", functions::meta)
        .doc("Description of a function, special form or tool as a map")
        .example("(:kind (meta 'filter))", r#""ptc-builtin""#),
    fun("ns-publics", UNQUALIFIED_CORE, "ns", functions::ns_publics)
        .doc("Public names of a namespace, as a map")
        .example(r#"(contains? (ns-publics 'json) "json/parse-string")"#, "true"),
    fun("all-ns", UNQUALIFIED_CORE, "", functions::all_ns)
        .doc("Names of the namespaces")
        .example("(first (all-ns))", r#""clojure.core""#),
    fun("ns-name", UNQUALIFIED_CORE, "ns", functions::ns_name)
        .doc("Canonical name of a namespace")
        .example("(ns-name 'str)", r#""clojure.string""#),
    fun("source", UNQUALIFIED_CORE, "ref", functions::source)
        .doc("Print the definition of a function of the program")
        .example("(do (defn twice [x] (* 2 x)) (source twice))", "nil"),
    fun("describe", EXTENSION, "x | x {:depth 3 :sample 2 :paths false}", describe::describe)
        .doc("Shape of data: kinds, counts, keys, ranges and examples, for several levels or by path")
        .example(
            "(describe [1 2 2])",
            "{:count 1 :items {:count 3 :distinct 2 :examples [1 2] :max 2 :min 1 :type :integer} \
             :size 3 :type :vector}",
        )
        .example(
            "(:keys (:items (describe [{:a 1} {:a nil}])))",
            "{:a {:count 2 :examples [1] :max 1 :min 1 :types {:integer 1 :nil 1}}}",
        )
        .example("(map :path (describe {:a [{:b 1}]} {:paths true}))", r#"["<root>" "a" "a[]" "a[].b"]"#),
]);

#[cfg(test)]
mod tests;
