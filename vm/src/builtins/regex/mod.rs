//! The `re-…` functions over the [engines](crate::regex).

mod functions;
pub(super) mod scan;

pub(crate) use functions::{matches_whole, split_as_java};
pub(crate) use scan::{Replacement, Scan, TemplatePart};

use super::Builtin;
use super::namespaces::{CORE, REGEX, STRING};
use super::row::{frame, fun, section};

/// The family's functions.
pub(super) static BUILTINS: &[Builtin] = &section("regex", "Regular expressions").of([
    fun("re-pattern", CORE, "s", functions::re_pattern)
        .also_in(REGEX)
        .doc("Compile a regex; a regex is returned as it is")
        .example(r#"(re-pattern "a+")"#, r#"#"a+""#)
        .example(r#"(re-pattern #"a+")"#, r#"#"a+""#),
    fun("re-find", CORE, "re s", functions::re_find)
        .also_in(REGEX)
        .doc(
            "First match of a regex: its text, or [whole group1 …] if the \
             regex has groups; nil if there is none",
        )
        .example(r#"(re-find #"\d+" "v12.5")"#, r#""12""#)
        .example(r#"(re-find #"(\d+)\.(\d+)" "v12.5")"#, r#"["12.5" "12" "5"]"#)
        .example(r#"(re-find #"(a)?(b)" "b")"#, r#"["b" nil "b"]"#)
        .example(r#"(re-find #"x" "abc")"#, "nil"),
    fun("re-matches", CORE, "re s", functions::re_matches)
        .also_in(REGEX)
        .doc("Match of a regex against the whole string")
        .example(r#"(re-matches #"(\w+)@(\w+)" "me@home")"#, r#"["me@home" "me" "home"]"#)
        .example(r#"(re-matches #"\d+" "12a")"#, "nil"),
    frame("re-seq", CORE, "re s", functions::re_seq)
        .also_in(REGEX)
        .doc("All matches of a regex as a vector; nil if there are none")
        .example(r#"(re-seq #"\d+" "a1b22")"#, r#"["1" "22"]"#)
        .example(r#"(re-seq #"(\w)=(\d)" "a=1,b=2")"#, r#"[["a=1" "a" "1"] ["b=2" "b" "2"]]"#),
    frame("re-split", REGEX, "re s", functions::re_split)
        .doc("Split a string at a regex, regex first; empty pieces are kept")
        .example(r#"(re-split #",\s*" "a, b,c")"#, r#"["a" "b" "c"]"#),
    fun("extract", STRING, "pat s | pat s n", functions::extract)
        .doc("Text of capture group n (default 1) of the first match, or nil")
        .example(r#"(extract "id=(\\d+)" "id=42")"#, r#""42""#)
        .example(r#"(extract #"\d+" "v7" 0)"#, r#""7""#),
    fun("extract-int", STRING, "pat s | pat s n | pat s n default", functions::extract_int)
        .doc("Capture group of the first match read as an integer, nil or the default on failure")
        .example(r#"(extract-int "age=(\\d+)" "age=25")"#, "25")
        .example(r#"(extract-int "n=(\\w+)" "n=x" 1 0)"#, "0"),
]);
