//! The `re-…` functions over the [engines](crate::regex).

mod functions;
mod scan;

pub(crate) use functions::{matches_whole, split_as_java};
pub(crate) use scan::{Replacement, Scan, TemplatePart};

use super::{Arities, Builtin, Example, Native};

/// The family's functions.
pub static BUILTINS: &[Builtin] = &[
    Builtin {
        name: "re-pattern",
        namespace: "clojure.core",
        aliases: &["clojure.core/re-pattern", "core/re-pattern", "regex/re-pattern"],
        arities: Arities::OneOf(&[1]),
        signatures: &["(re-pattern s)"],
        doc: "Compile a regex; a regex is returned as it is",
        section: "regex",
        examples: &[
            Example { program: "(re-pattern \"a+\")", value: "#\"a+\"" },
            Example { program: "(re-pattern #\"a+\")", value: "#\"a+\"" },
        ],
        native: Native::Plain(functions::re_pattern),
    },
    Builtin {
        name: "re-find",
        namespace: "clojure.core",
        aliases: &["clojure.core/re-find", "core/re-find", "regex/re-find"],
        arities: Arities::OneOf(&[2]),
        signatures: &["(re-find re s)"],
        doc: "First match of a regex: its text, or [whole group1 …] if the regex has groups; nil if there is none",
        section: "regex",
        examples: &[
            Example { program: "(re-find #\"\\d+\" \"v12.5\")", value: "\"12\"" },
            Example { program: "(re-find #\"(\\d+)\\.(\\d+)\" \"v12.5\")", value: "[\"12.5\" \"12\" \"5\"]" },
            Example { program: "(re-find #\"(a)?(b)\" \"b\")", value: "[\"b\" nil \"b\"]" },
            Example { program: "(re-find #\"x\" \"abc\")", value: "nil" },
        ],
        native: Native::Plain(functions::re_find),
    },
    Builtin {
        name: "re-matches",
        namespace: "clojure.core",
        aliases: &["clojure.core/re-matches", "core/re-matches", "regex/re-matches"],
        arities: Arities::OneOf(&[2]),
        signatures: &["(re-matches re s)"],
        doc: "Match of a regex against the whole string",
        section: "regex",
        examples: &[
            Example {
                program: "(re-matches #\"(\\w+)@(\\w+)\" \"me@home\")",
                value: "[\"me@home\" \"me\" \"home\"]",
            },
            Example { program: "(re-matches #\"\\d+\" \"12a\")", value: "nil" },
        ],
        native: Native::Plain(functions::re_matches),
    },
    Builtin {
        name: "re-seq",
        namespace: "clojure.core",
        aliases: &["clojure.core/re-seq", "core/re-seq", "regex/re-seq"],
        arities: Arities::OneOf(&[2]),
        signatures: &["(re-seq re s)"],
        doc: "All matches of a regex as a vector",
        section: "regex",
        examples: &[
            Example { program: "(re-seq #\"\\d+\" \"a1b22\")", value: "[\"1\" \"22\"]" },
            Example {
                program: "(re-seq #\"(\\w)=(\\d)\" \"a=1,b=2\")",
                value: "[[\"a=1\" \"a\" \"1\"] [\"b=2\" \"b\" \"2\"]]",
            },
        ],
        native: Native::Frame(functions::re_seq),
    },
    Builtin {
        name: "re-split",
        namespace: "regex",
        aliases: &["regex/re-split"],
        arities: Arities::OneOf(&[2]),
        signatures: &["(re-split re s)"],
        doc: "Split a string at a regex, regex first; empty pieces are kept",
        section: "regex",
        examples: &[Example { program: "(re-split #\",\\s*\" \"a, b,c\")", value: "[\"a\" \"b\" \"c\"]" }],
        native: Native::Frame(functions::re_split),
    },
    Builtin {
        name: "extract",
        namespace: "clojure.string",
        aliases: &["clojure.string/extract", "str/extract", "string/extract"],
        arities: Arities::OneOf(&[2, 3]),
        signatures: &["(extract pat s)", "(extract pat s n)"],
        doc: "Text of capture group n (default 1) of the first match, or nil",
        section: "regex",
        examples: &[
            Example { program: "(extract \"id=(\\\\d+)\" \"id=42\")", value: "\"42\"" },
            Example { program: "(extract #\"\\d+\" \"v7\" 0)", value: "\"7\"" },
        ],
        native: Native::Plain(functions::extract),
    },
    Builtin {
        name: "extract-int",
        namespace: "clojure.string",
        aliases: &["clojure.string/extract-int", "str/extract-int", "string/extract-int"],
        arities: Arities::OneOf(&[2, 3, 4]),
        signatures: &["(extract-int pat s)", "(extract-int pat s n)", "(extract-int pat s n default)"],
        doc: "Capture group of the first match read as an integer, nil or the default on failure",
        section: "regex",
        examples: &[
            Example { program: "(extract-int \"age=(\\\\d+)\" \"age=25\")", value: "25" },
            Example { program: "(extract-int \"n=(\\\\w+)\" \"n=x\" 1 0)", value: "0" },
        ],
        native: Native::Plain(functions::extract_int),
    },
];
