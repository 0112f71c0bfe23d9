//! Calls of every function of the library, made from what the registry says: names, aliases, arities, and parameter
//! names, which tell what an argument should be.

use super::Choices;
use ptc_vm::builtins::{Arities, Builtin, Native, library};
use std::sync::LazyLock;

/// What an argument should be, as far as a parameter's name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Anything.
    Any,
    /// A vector, a map, a set, a string or `nil`.
    Collection,
    /// A map.
    Map,
    /// A string.
    Text,
    /// A small integer.
    Count,
    /// A keyword, a string or a number to look up.
    Key,
    /// A function of one or two arguments.
    Function,
    /// A regular expression.
    Pattern,
    /// A date, an instant or a duration.
    Time,
    /// A transducer.
    Transducer,
}

/// A function and what it takes.
#[derive(Debug)]
pub struct Call {
    /// The spellings that mean it.
    pub names: Vec<&'static str>,
    /// How many arguments it takes.
    pub arities: Arities,
    /// Kinds of the parameters of its longest signature; those behind are as the last.
    pub kinds: Vec<Kind>,
}

/// Every function of the library, in the registry's order.
pub fn calls() -> &'static [Call] {
    static CALLS: LazyLock<Vec<Call>> = LazyLock::new(|| {
        library()
            .all()
            .iter()
            .filter(|builtin| !matches!(builtin.native, Native::Constant(_)))
            .map(|builtin| call(builtin))
            .collect()
    });
    &CALLS
}

fn call(builtin: &'static Builtin) -> Call {
    let signatures = builtin.signatures();
    let longest = signatures.iter().max_by_key(|signature| signature.len()).map_or("", |longest| longest);
    let parameters = longest.trim_matches(['(', ')']).split_whitespace().skip(1).filter(|word| *word != "&");
    Call {
        names: std::iter::once(builtin.name).chain(library().aliases(builtin).iter().copied()).collect(),
        arities: builtin.arities,
        kinds: parameters.map(kind).collect(),
    }
}

fn kind(parameter: &str) -> Kind {
    match parameter.trim_end_matches(['…', '?']) {
        "c" | "xs" | "coll" | "cs" | "colls" | "ks" | "kvs" | "args" | "path" | "keys" | "relation"
        | "ss" | "from" | "to" | "children" | "left" | "right" => Kind::Collection,
        "m" | "replacements" | "renames" => Kind::Map,
        "s" | "s1" | "s2" | "sep" | "separator" | "suffix" | "prefix" | "text" | "fmt" | "query" | "ns"
        | "name" => Kind::Text,
        "n" | "i" | "index" | "start" | "end" | "step" | "radix" | "limit" | "year" | "month" | "day"
        | "ms" => Kind::Count,
        "k" | "key" | "id" => Kind::Key,
        "f" | "fs" | "p" | "pred" | "ps" | "cmp" | "predicate" | "test" | "thunks" | "branch" | "rf"
        | "cf" | "inner" | "outer" => Kind::Function,
        "xf" | "xfs" => Kind::Transducer,
        "re" | "pattern" | "pat" => Kind::Pattern,
        "date" | "instant" | "duration" => Kind::Time,
        _ => Kind::Any,
    }
}

impl Call {
    /// A number of arguments that the function takes; once in a while one that it does not.
    pub fn count(&self, choices: &mut Choices<'_>) -> usize {
        if choices.once_in(100) {
            return choices.below(5);
        }
        match self.arities {
            Arities::OneOf(counts) => usize::from(*choices.one(counts)),
            Arities::AtLeast(n) => usize::from(n) + choices.below(3),
        }
    }

    /// The kind of argument `n`.
    pub fn kind(&self, n: usize) -> Kind {
        self.kinds.get(n).or(self.kinds.last()).copied().unwrap_or(Kind::Any)
    }
}

/// Text of an argument that stands on its own, where no name in scope is wanted.
pub fn argument(kind: Kind, choices: &mut Choices<'_>) -> String {
    let of = |list: &[&str], choices: &mut Choices<'_>| (*choices.one(list)).to_owned();
    match kind {
        Kind::Collection => of(
            &[
                "[]",
                "[3 1 2]",
                "[[1 2] [3 4]]",
                "{:a 1 :b 2}",
                "#{1 2 3}",
                "\"añb\"",
                "nil",
                "[{:a 1 :k \"x\"} {:a 2}]",
                "(range 40)",
                "[\"b\" \"a\" nil]",
                "(repeat 9 [1])",
                "{\"a\" {\"b\" [1 2]}}",
                "[1 1.5 -2 99999999999999999999]",
                "(iterate inc 1)",
            ],
            choices,
        ),
        Kind::Map => of(
            &[
                "{:a 1 :b 2}",
                "{}",
                "{\"a\" 1 \"b\" {:c 3}}",
                "nil",
                "{1 :x [2] :y nil 3}",
                "{:a {:b {:c 1}}}",
            ],
            choices,
        ),
        Kind::Text => of(
            &[
                "\"abc\"",
                "\"\"",
                "\"a,b,,c\"",
                "\" Ünï 👩‍👩‍👧 \"",
                "\"line\\nline\"",
                "\"%5d %s %.3f\"",
                "\"42\"",
                "\"2024-02-29T12:00:00Z\"",
                "\"{\\\"a\\\": [1, 2.5]}\"",
                "\"-1e3\"",
            ],
            choices,
        ),
        Kind::Count => of(
            &["0", "1", "2", "3", "-1", "7", "100", "1000000000", "9223372036854775807", "2.5", "64"],
            choices,
        ),
        Kind::Key => of(&[":a", ":b", "\"a\"", "0", "1", "[:a :b]", "nil", ":total-sum", "1.0"], choices),
        Kind::Function => of(
            &[
                "inc",
                "(fn [x] x)",
                "(fn [x y] [x y])",
                "+",
                ":a",
                "#{1 2}",
                "(fn [& xs] (count xs))",
                "str",
                "<",
                "odd?",
                "(comp first vec)",
                "(partial + 1)",
                "identity",
                "(fn [] 1)",
                "{1 :one}",
                "(fn [a x] (reduced x))",
                "compare",
                "nil?",
                "vector",
                "(juxt identity str)",
            ],
            choices,
        ),
        Kind::Pattern => of(
            &[
                "#\"[a-z]+\"",
                "#\"(\\d+)-(\\d+)?\"",
                "#\"\"",
                "\"b\"",
                "#\"(?i)é|x*\"",
                "#\"(a)(?=b)\"",
                "#\"(a+)+$\"",
                "#\"(.)\\1\"",
            ],
            choices,
        ),
        Kind::Time => of(
            &[
                "(LocalDate/of 2024 2 29)",
                "(Instant/ofEpochMilli 1700000000123)",
                "(Duration/ofHours 30)",
                "(LocalDate/ofEpochDay -800000)",
                "(java.util.Date. 0)",
                "(Duration/parse \"PT-1.5S\")",
                "(LocalDateTime/of 2026 3 29 2 30)",
                "(ZonedDateTime/parse \"2026-10-25T02:30+01:00[Europe/Berlin]\")",
                "(in-zone (java.util.Date. 0) \"-05:30\")",
            ],
            choices,
        ),
        Kind::Transducer => of(
            &[
                "(map inc)",
                "(filter odd?)",
                "(take 2)",
                "(comp (map str) (take 3))",
                "(partition-all 2)",
                "cat",
                "(dedupe)",
                "(mapcat vector)",
            ],
            choices,
        ),
        Kind::Any => of(
            &[
                "nil",
                "1",
                ":k",
                "\"s\"",
                "[1 2]",
                "{:a 1}",
                "#{:x}",
                "-7",
                "2.5",
                "true",
                "inc",
                "99999999999999999999",
                "##NaN",
                "##Inf",
                "#\"x\"",
                "(LocalDate/of 2024 1 31)",
                "'sym",
                "Long/MAX_VALUE",
                "Long/MIN_VALUE",
                "(vec (range 70))",
                "(into {} (map vector (range 40) (range 40)))",
            ],
            choices,
        ),
    }
}
