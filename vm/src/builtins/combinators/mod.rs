//! `comp`, `partial`, `juxt` … and the functions that they make (functions.md 23).
//!
//! A [`Combinator`](crate::value::Combinator) remembers what it was made from. Over functions that need no frame it
//! is called at once (`direct`); else a frame goes through its parts, so that a tower of any height ends with a value
//! or at a limit of the program.

mod calling;
pub(crate) mod direct;
mod making;

use super::{Arities, Builtin, Example, Native};

pub use calling::call;

/// The family's functions.
pub static BUILTINS: &[Builtin] = &[
    Builtin {
        name: "comp",
        namespace: "clojure.core",
        aliases: &["clojure.core/comp", "core/comp"],
        arities: Arities::AtLeast(0),
        signatures: &["(comp & fs)"],
        doc: "Compose functions right to left",
        section: "comb",
        examples: &[
            Example { program: "((comp str inc) 5)", value: r#""6""# },
            Example { program: "((comp inc *) 2 3)", value: "7" },
            Example { program: "((comp :a first) [{:a 5}])", value: "5" },
        ],
        native: Native::Plain(making::comp),
    },
    Builtin {
        name: "partial",
        namespace: "clojure.core",
        aliases: &["clojure.core/partial", "core/partial"],
        arities: Arities::AtLeast(0),
        signatures: &["(partial f & xs)"],
        doc: "Function with leading arguments filled in",
        section: "comb",
        examples: &[
            Example { program: "((partial + 10) 5)", value: "15" },
            Example { program: "(map (partial * 2) [1 2])", value: "[2 4]" },
        ],
        native: Native::Plain(making::partial),
    },
    Builtin {
        name: "complement",
        namespace: "clojure.core",
        aliases: &["clojure.core/complement", "core/complement"],
        arities: Arities::OneOf(&[1]),
        signatures: &["(complement f)"],
        doc: "Function with the opposite truth value",
        section: "comb",
        examples: &[Example { program: "(filter (complement even?) [1 2 3])", value: "[1 3]" }],
        native: Native::Plain(making::complement),
    },
    Builtin {
        name: "constantly",
        namespace: "clojure.core",
        aliases: &["clojure.core/constantly", "core/constantly"],
        arities: Arities::OneOf(&[1]),
        signatures: &["(constantly x)"],
        doc: "Function that always returns the same value",
        section: "comb",
        examples: &[Example { program: "((constantly 7) 1 2)", value: "7" }],
        native: Native::Plain(making::constantly),
    },
    Builtin {
        name: "every-pred",
        namespace: "clojure.core",
        aliases: &["clojure.core/every-pred", "core/every-pred"],
        arities: Arities::AtLeast(0),
        signatures: &["(every-pred p & ps)"],
        doc: "Predicate that requires all predicates",
        section: "comb",
        examples: &[Example { program: "((every-pred pos? even?) 4 6)", value: "true" }],
        native: Native::Plain(making::every_pred),
    },
    Builtin {
        name: "some-fn",
        namespace: "clojure.core",
        aliases: &["clojure.core/some-fn", "core/some-fn"],
        arities: Arities::AtLeast(0),
        signatures: &["(some-fn f & fs)"],
        doc: "Function returning the first truthy result",
        section: "comb",
        examples: &[
            Example { program: r#"((some-fn :nick :name) {:name "Al"})"#, value: r#""Al""# },
            Example { program: "((some-fn even?) 1)", value: "false" },
        ],
        native: Native::Plain(making::some_fn),
    },
    Builtin {
        name: "fnil",
        namespace: "clojure.core",
        aliases: &["clojure.core/fnil", "core/fnil"],
        arities: Arities::OneOf(&[2, 3, 4]),
        signatures: &[
            "(fnil f default)",
            "(fnil f default1 default2)",
            "(fnil f default1 default2 default3)",
        ],
        doc: "Function that calls f with defaults in the place of its first nil arguments",
        section: "comb",
        examples: &[
            Example { program: "((fnil inc 0) nil)", value: "1" },
            Example { program: "(update {} :xs (fnil conj []) 1)", value: "{:xs [1]}" },
            Example { program: "((fnil + 1 2) nil nil)", value: "3" },
        ],
        native: Native::Plain(making::fnil),
    },
    Builtin {
        name: "juxt",
        namespace: "",
        aliases: &["clojure.core/juxt", "core/juxt"],
        arities: Arities::AtLeast(0),
        signatures: &["(juxt f & fs)"],
        doc: "Function that answers the vector of the results of all fs",
        section: "comb",
        examples: &[
            Example { program: "((juxt :a :b) {:a 1 :b 2})", value: "[1 2]" },
            Example { program: r#"(map (juxt first count) ["ab" "c"])"#, value: r#"[["a" 2] ["c" 1]]"# },
            Example { program: "((juxt + -) 5 3)", value: "[8 2]" },
        ],
        native: Native::Plain(making::juxt),
    },
    Builtin {
        name: "memoize",
        namespace: "clojure.core",
        aliases: &["clojure.core/memoize", "core/memoize"],
        arities: Arities::OneOf(&[1]),
        signatures: &["(memoize f)"],
        doc: "f itself",
        section: "comb",
        examples: &[Example { program: "((memoize inc) 1)", value: "2" }],
        native: Native::Plain(making::memoize),
    },
    Builtin {
        name: "trampoline",
        namespace: "clojure.core",
        aliases: &["clojure.core/trampoline", "core/trampoline"],
        arities: Arities::AtLeast(1),
        signatures: &["(trampoline f & args)"],
        doc: "Calls f, then its result as long as that is a function",
        section: "comb",
        examples: &[Example { program: "(trampoline (fn [] (fn [] 3)))", value: "3" }],
        native: Native::Frame(calling::trampoline),
    },
    Builtin {
        name: "comparator",
        namespace: "clojure.core",
        aliases: &["clojure.core/comparator", "core/comparator"],
        arities: Arities::OneOf(&[1]),
        signatures: &["(comparator p)"],
        doc: "Comparator that answers -1, 0 or 1 from a predicate \"a comes before b\"",
        section: "comb",
        examples: &[
            Example { program: "((comparator <) 1 2)", value: "-1" },
            Example { program: "(sort (comparator >) [1 3 2])", value: "[3 2 1]" },
        ],
        native: Native::Plain(making::comparator),
    },
];
