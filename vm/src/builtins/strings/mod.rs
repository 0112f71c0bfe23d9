//! Strings: `str`, `join`, `split`, `replace`, `format` … All positions and lengths count graphemes.

mod args;
pub(super) mod escape;
mod finding;
mod format;
pub(super) mod join;
mod names;
mod replace;
mod rolling;
mod search;
mod simple;
mod split;

pub(crate) use finding::find;
pub(crate) use join::join;
pub(crate) use names::is_keyword_name;
pub(crate) use replace::{literal as replace_literal, replace, replace_first};
pub(crate) use search::{index_of, last_index_of};
pub(crate) use simple::{is_all_space, to_lower, to_upper, trim};

use super::Builtin;
use super::namespaces::{CORE, STRING};
use super::row::{constant, frame, fun, section};

/// The family's functions.
pub(super) static BUILTINS: &[Builtin] = &section("strings", "Strings").of([
    fun("str", CORE, "& xs", join::str)
        .also_in(STRING)
        .doc("Concatenated texts of all arguments; nil is empty")
        .example(r#"(str "n=" 3 nil :k true)"#, r#""n=3:ktrue""#)
        .example(r#"(str [1 "a" nil])"#, r#""[1 \"a\" nil]""#)
        .example("(str 2.50)", r#""2.5""#),
    fun("subs", CORE, "s start | s start end", simple::subs)
        .also_in(STRING)
        .doc("Substring by grapheme positions; what lies outside is empty")
        .example(r#"(subs "hello" 1 3)"#, r#""el""#)
        .example(r#"(subs "hello" -1)"#, r#""""#)
        .example(r#"(subs "hello" 2 99)"#, r#""llo""#),
    frame("join", STRING, "coll | separator coll", join::join)
        .doc("Join elements into a string with an optional separator")
        .example(r#"(join ", " [1 nil :k])"#, r#""1, , :k""#)
        .example(r#"(join ["a" "b"])"#, r#""ab""#)
        .example(r#"(join "," "abc")"#, r#""a,b,c""#),
    frame("split", STRING, "s separator | s separator limit", split::split)
        .doc("Split a string at a regex or a single character; empty pieces at the end are dropped, with a negative limit kept")
        .example(r#"(split "a,b,,c" ",")"#, r#"["a" "b" "" "c"]"#)
        .example(r#"(split "x1y22z" #"\d+")"#, r#"["x" "y" "z"]"#)
        .example(r#"(split "abc" #"")"#, r#"["a" "b" "c"]"#)
        .example(r#"(split "a,b,," #",")"#, r#"["a" "b"]"#)
        .example(r#"(split "a,b,c" #"," 2)"#, r#"["a" "b,c"]"#),
    fun("split-lines", STRING, "s", split::split_lines)
        .doc("Split a string into lines")
        .example(r#"(split-lines "a\nb\r\nc\n\n")"#, r#"["a" "b" "c"]"#),
    fun("trim", STRING, "s", simple::trim)
        .doc("Remove white space at both ends")
        .example(r#"(trim "  a b \n")"#, r#""a b""#),
    fun("triml", STRING, "s", simple::triml)
        .doc("Remove white space at the start")
        .example(r#"(triml "  a ")"#, r#""a ""#),
    fun("trimr", STRING, "s", simple::trimr)
        .doc("Remove white space at the end")
        .example(r#"(trimr "  a ")"#, r#""  a""#),
    fun("trim-newline", STRING, "s", simple::trim_newline)
        .doc("Remove trailing newlines")
        .example(r#"(trim-newline "a \r\n\n")"#, r#""a ""#),
    fun("blank?", STRING, "s", simple::blank)
        .doc("True for nil, empty or white-space-only strings")
        .example(r#"(blank? " \t")"#, "true")
        .example("(blank? nil)", "true"),
    frame("replace", CORE, "s pattern new | m coll | m", replace::replace)
        .also_in(STRING)
        .doc(
            "Replace all matches of a string or regex; new is a text ($1 is a group) or a \
             function of the match. Over a collection: replace elements by a map; \
             without the collection a transducer",
        )
        .example(r#"(replace "a-b-c" "-" "+")"#, r#""a+b+c""#)
        .example("(replace \"x1y2\" #\"\\d\" \"#\")", r#""x#y#""#)
        .example(r#"(replace "John Smith" #"(\w+) (\w+)" "$2 $1")"#, r#""Smith John""#)
        .example(r#"(replace "abc" #"b" upper-case)"#, r#""aBc""#)
        .example("(into [] (replace {1 :one}) [1 2])", "[:one 2]"),
    frame("replace-first", STRING, "s pattern new", replace::replace_first)
        .doc("Replace the first match of a string or regex, as replace does")
        .example(r#"(replace-first "a-b-c" "-" "+")"#, r#""a+b-c""#)
        .example(r#"(replace-first "x1y2" #"(\d)" "<$1>")"#, r#""x<1>y2""#),
    fun("re-quote-replacement", STRING, "s", simple::re_quote_replacement)
        .doc("A text as replace puts it, with $ and \\ standing for themselves")
        .example(r#"(replace "a b" #"b" (re-quote-replacement "$1"))"#, r#""a $1""#),
    fun("upcase", STRING, "s", simple::upcase)
        .doc("Upper-case a string")
        .example(r#"(upcase "straße")"#, r#""STRASSE""#),
    fun("upper-case", STRING, "s", simple::upper_case)
        .doc("Upper-case a string")
        .example(r#"(upper-case "abc")"#, r#""ABC""#),
    fun("downcase", STRING, "s", simple::downcase)
        .doc("Lower-case a string")
        .example(r#"(downcase "ÀB")"#, r#""àb""#),
    fun("lower-case", STRING, "s", simple::lower_case)
        .doc("Lower-case a string")
        .example(r#"(lower-case "ABC")"#, r#""abc""#),
    fun("capitalize", STRING, "s", simple::capitalize)
        .doc("First character in upper case, the rest in lower case")
        .example(r#"(capitalize "hELLO")"#, r#""Hello""#),
    fun("clojure.string/reverse", STRING, "s", simple::reverse)
        .calls(&["(str/reverse s)"])
        .doc("The string with its characters in reverse; the bare name reverse gives a vector")
        .example(r#"(str/reverse "abc")"#, r#""cba""#),
    frame("escape", STRING, "s f", escape::escape)
        .doc("Replace every character for which a map or function has a text")
        .example(r#"(escape "a<b" {"<" "&lt;"})"#, r#""a&lt;b""#)
        .example(r#"(escape "ab" (fn [c] (if (= c "a") "-" nil)))"#, r#""-b""#),
    constant("char-escape-string", CORE, escape::escapes)
        .doc("Map from characters to how strings are printed with them")
        .example(r"(char-escape-string \newline)", r#""\\n""#),
    constant("char-name-string", CORE, escape::names)
        .doc("Map from characters to their names")
        .example(r"(char-name-string \newline)", r#""newline""#),
    fun("munge", CORE, "s", names::munge)
        .doc("A name as Java spells it")
        .example(r#"(munge "a-b?")"#, r#""a_b_QMARK_""#)
        .example("(munge 'a/b)", "'a_SLASH_b"),
    fun("namespace-munge", CORE, "s", names::namespace_munge)
        .doc("The name of a namespace with _ for -")
        .example(r#"(namespace-munge "my-app.core")"#, r#""my_app.core""#),
    fun("starts-with?", STRING, "s prefix", simple::starts_with)
        .doc("True when a string begins with a prefix")
        .example(r#"(starts-with? "hello" "he")"#, "true"),
    fun("ends-with?", STRING, "s suffix", simple::ends_with)
        .doc("True when a string ends with a suffix")
        .example(r#"(ends-with? "a.csv" ".csv")"#, "true"),
    fun("includes?", STRING, "s part", simple::includes)
        .doc("True when a string contains a substring")
        .example(r#"(includes? "hello" "ell")"#, "true"),
    fun("index-of", STRING, "s value | s value from", search::index_of_builtin)
        .doc("Position of the first occurrence, or nil")
        .example(r#"(index-of "banana" "an" 2)"#, "3")
        .example(r#"(index-of "abc" "z")"#, "nil"),
    fun("last-index-of", STRING, "s value | s value from", search::last_index_of_builtin)
        .doc("Position of the last occurrence, or nil")
        .example(r#"(last-index-of "banana" "an")"#, "3")
        .example(r#"(last-index-of "aaa" "aa")"#, "1"),
    fun("format", CORE, "fmt & args", format::format)
        .also_in(STRING)
        .aliases(&["String/format"])
        .at_least(0)
        .doc(
            "Text by a Java format string: %s %d %f %.2f %e %x %o %c %b \
             %n %% with flags - + 0 , ( and width",
        )
        .example(r#"(format "%s: %d (%.2f%%)" "cpu" 3 99.5)"#, r#""cpu: 3 (99.50%)""#)
        .example(r#"(format "%x %o %e" 255 8 1234.5)"#, r#""ff 10 1.234500e+03""#)
        .example(r#"(format "%05d|%-4s|%,d" 3 "ab" 1234567)"#, r#""00003|ab  |1,234,567""#),
    fun("name", CORE, "x", names::name)
        .also_in(STRING)
        .doc("Name of a keyword, symbol or string, without its namespace")
        .example("(name :user-id)", r#""user-id""#)
        .example("(name :user/id)", r#""id""#)
        .example(r#"(name "x")"#, r#""x""#),
    fun("namespace", CORE, "x", names::namespace)
        .doc("Namespace of a keyword or symbol: what stands before its slash; nil without one")
        .example("(namespace :user/id)", r#""user""#)
        .example("(namespace :a)", "nil"),
    fun("keyword", CORE, "x | ns name", names::keyword)
        .doc("Keyword of a string or symbol, or of a namespace and a name; nil for anything else")
        .example(r#"(keyword "user-id")"#, ":user-id")
        .example(r#"(keyword "user" "id")"#, ":user/id")
        .example(r#"(keyword "a b")"#, r#"(keyword "a b")"#)
        .example("(keyword nil)", "nil"),
    fun("symbol", CORE, "x | ns name", names::symbol)
        .doc("Symbol of a string or keyword, or of a namespace and a name")
        .example(r#"(symbol "github/search")"#, "'github/search")
        .example(r#"(symbol "user" "id")"#, "'user/id"),
    fun("char", CORE, "x", names::char)
        .doc("One-character string of a code point")
        .example("(char 65)", r#""A""#),
]);

#[cfg(test)]
mod tests;
