//! Discovery: `apropos dir doc meta ns-publics` and their like describe what there is (language.md 5.7,
//! upstreams.md 13).
//!
//! They know the registry, the special forms and the program's own definitions (as `user`). What they do not know
//! goes to the host, where there are upstreams.

mod catalog;
mod describe;
mod functions;
mod references;
mod search;

pub(crate) use functions::no_backend;

use super::{Arities, Builtin, Example, Native};

/// The family's functions.
pub static BUILTINS: &[Builtin] = &[
    Builtin {
        name: "apropos",
        namespace: "",
        aliases: &[],
        arities: Arities::OneOf(&[1, 2]),
        signatures: &["(apropos query)", "(apropos query {:limit 8 :load false})"],
        doc: "Search functions, special forms and tools by words",
        section: "disc",
        examples: &[Example {
            program: "(starts-with? (first (apropos \"group-by\")) \"local: group-by - \")",
            value: "true",
        }],
        native: Native::Frame(functions::apropos),
    },
    Builtin {
        name: "dir",
        namespace: "clojure.core",
        aliases: &[],
        arities: Arities::OneOf(&[1, 2]),
        signatures: &["(dir ref)", "(dir ref {:limit 50 :offset 0})"],
        doc: "Members of a namespace, class or upstream server",
        section: "disc",
        examples: &[Example { program: "(count (dir 'json {:limit 2}))", value: "2" }],
        native: Native::Frame(functions::dir),
    },
    Builtin {
        name: "doc",
        namespace: "clojure.core",
        aliases: &[],
        arities: Arities::OneOf(&[1]),
        signatures: &["(doc ref)"],
        doc: "Documentation of a function, special form or tool as text",
        section: "disc",
        examples: &[Example { program: "(first (split-lines (doc 'filter)))", value: "\"filter\"" }],
        native: Native::Frame(functions::doc),
    },
    Builtin {
        name: "meta",
        namespace: "clojure.core",
        aliases: &[],
        arities: Arities::OneOf(&[1]),
        signatures: &["(meta ref)"],
        doc: "Description of a function, special form or tool as a map",
        section: "disc",
        examples: &[Example { program: "(:kind (meta 'filter))", value: "\"ptc-builtin\"" }],
        native: Native::Frame(functions::meta),
    },
    Builtin {
        name: "ns-publics",
        namespace: "clojure.core",
        aliases: &[],
        arities: Arities::OneOf(&[1]),
        signatures: &["(ns-publics ns)"],
        doc: "Public names of a namespace, as a map",
        section: "disc",
        examples: &[Example {
            program: "(contains? (ns-publics 'json) \"json/parse-string\")",
            value: "true",
        }],
        native: Native::Plain(functions::ns_publics),
    },
    Builtin {
        name: "all-ns",
        namespace: "clojure.core",
        aliases: &[],
        arities: Arities::OneOf(&[0]),
        signatures: &["(all-ns)"],
        doc: "Names of the namespaces",
        section: "disc",
        examples: &[Example { program: "(first (all-ns))", value: "\"clojure.core\"" }],
        native: Native::Plain(functions::all_ns),
    },
    Builtin {
        name: "ns-name",
        namespace: "clojure.core",
        aliases: &[],
        arities: Arities::OneOf(&[1]),
        signatures: &["(ns-name ns)"],
        doc: "Canonical name of a namespace",
        section: "disc",
        examples: &[Example { program: "(ns-name 'str)", value: "\"clojure.string\"" }],
        native: Native::Plain(functions::ns_name),
    },
    Builtin {
        name: "source",
        namespace: "clojure.core",
        aliases: &[],
        arities: Arities::OneOf(&[1]),
        signatures: &["(source ref)"],
        doc: "Print the definition of a function of the program",
        section: "disc",
        examples: &[Example { program: "(do (defn twice [x] (* 2 x)) (source twice))", value: "nil" }],
        native: Native::Plain(functions::source),
    },
    Builtin {
        name: "describe",
        namespace: "",
        aliases: &[],
        arities: Arities::OneOf(&[1, 2]),
        signatures: &["(describe x)", "(describe x {:depth 3 :sample 2 :paths false})"],
        doc: "Shape of data: kinds, counts, keys, ranges and examples, for several levels or by path",
        section: "disc",
        examples: &[
            Example {
                program: "(describe [1 2 2])",
                value: "{:count 1 :items {:count 3 :distinct 2 :examples [1 2] :max 2 :min 1 :type :integer} :size 3 :type :vector}",
            },
            Example {
                program: "(:keys (:items (describe [{:a 1} {:a nil}])))",
                value: "{:a {:count 2 :examples [1] :max 1 :min 1 :types {:integer 1 :nil 1}}}",
            },
            Example {
                program: "(map :path (describe {:a [{:b 1}]} {:paths true}))",
                value: "[\"<root>\" \"a\" \"a[]\" \"a[].b\"]",
            },
        ],
        native: Native::Plain(describe::describe),
    },
];

#[cfg(test)]
mod tests;
