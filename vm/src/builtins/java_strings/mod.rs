//! `.substring`, `.indexOf` … and the constants of Java's number classes.
//!
//! These raise where Java raises; positions count graphemes.

mod maps;
mod methods;

use super::Builtin;
use super::namespaces::{BOOLEAN, COLLECTION, DOUBLE, JAVA_STRING, OBJECT};
use super::row::{constant, frame, fun, section};
use crate::value::Value;

/// The family's functions.
pub(super) static BUILTINS: &[Builtin] = &section("jstr", "Java strings and constants").of([
    fun(".contains", JAVA_STRING, "s part", methods::contains)
        .doc("True when the string contains the substring, or the vector or set the element")
        .example(r#"(.contains "hello" "ell")"#, "true")
        .example("(.contains [1 2] 2)", "true"),
    fun(".indexOf", JAVA_STRING, "s part | s part from", methods::index_of)
        .doc("Position of the first occurrence in a string or vector, -1 when absent")
        .example("(.indexOf [5 6] 6)", "1")
        .example(r#"(.indexOf "hello" "l")"#, "2")
        .example(r#"(.indexOf "hello" "z")"#, "-1"),
    fun(".lastIndexOf", JAVA_STRING, "s part | s part from", methods::last_index_of)
        .doc("Position of the last occurrence in a string or vector, -1 when absent")
        .example(r#"(.lastIndexOf "hello" "l")"#, "3"),
    fun(".length", JAVA_STRING, "s", methods::length)
        .doc("Number of graphemes")
        .example(r#"(.length "a😀")"#, "2"),
    fun(".substring", JAVA_STRING, "s start | s start end", methods::substring)
        .doc("Substring, raising out of range")
        .example(r#"(.substring "hello" 1 3)"#, r#""el""#)
        .example(r#"(.substring "abcd" 1.9)"#, r#""bcd""#),
    fun(".toUpperCase", JAVA_STRING, "s", methods::to_upper_case)
        .doc("Upper-case a string")
        .example(r#"(.toUpperCase "abc")"#, r#""ABC""#),
    fun(".toLowerCase", JAVA_STRING, "s", methods::to_lower_case)
        .doc("Lower-case a string")
        .example(r#"(.toLowerCase "ABC")"#, r#""abc""#),
    fun(".startsWith", JAVA_STRING, "s prefix", methods::starts_with)
        .doc("True when the string begins with the prefix")
        .example(r#"(.startsWith "hello" "he")"#, "true"),
    fun(".endsWith", JAVA_STRING, "s suffix", methods::ends_with)
        .doc("True when the string ends with the suffix")
        .example(r#"(.endsWith "hello" "lo")"#, "true"),
    fun(".trim", JAVA_STRING, "s", methods::trim)
        .aliases(&[".strip"])
        .doc("Remove white space at both ends")
        .example(r#"(.trim " a ")"#, r#""a""#),
    fun(".isEmpty", JAVA_STRING, "s", methods::is_empty)
        .doc("True for the empty string, and for a collection without elements")
        .example(r#"(.isEmpty "")"#, "true"),
    fun(".isBlank", JAVA_STRING, "s", methods::is_blank)
        .doc("True for a string of white space only")
        .example(r#"(.isBlank "  ")"#, "true"),
    fun(".charAt", JAVA_STRING, "s index", methods::char_at)
        .doc("Character at a position, raising out of range")
        .example(r#"(.charAt "abc" 1)"#, r#""b""#),
    fun(".equalsIgnoreCase", JAVA_STRING, "a b", methods::equals_ignore_case)
        .doc("Equality but for case")
        .example(r#"(.equalsIgnoreCase "Ab" "aB")"#, "true"),
    fun(".replace", JAVA_STRING, "s old new", methods::replace)
        .doc("Replace all occurrences of a text")
        .example(r#"(.replace "a.b.c" "." "-")"#, r#""a-b-c""#),
    fun(".concat", JAVA_STRING, "a b", methods::concat)
        .doc("Two strings one after the other")
        .example(r#"(.concat "a" "b")"#, r#""ab""#),
    fun(".matches", JAVA_STRING, "s pattern", methods::matches)
        .doc("True when a regex, given as text, matches the whole string")
        .example(r#"(.matches "a12" "a\\d+")"#, "true"),
    frame(".split", JAVA_STRING, "s pattern | s pattern limit", methods::split)
        .doc("Split at a regex given as text; trailing empty pieces are dropped")
        .example(r#"(.split "a,b,,c,," ",")"#, r#"["a" "b" "" "c"]"#),
    fun(".equals", OBJECT, "a b", methods::equals).doc("Equality").example(r#"(.equals "a" "a")"#, "true"),
    fun(".toString", OBJECT, "x", methods::to_string)
        .aliases(&["String/valueOf", "Double/toString", "Boolean/toString", "Character/toString"])
        .doc("Text of a value, as str gives it")
        .example("(.toString 42)", r#""42""#),
    frame(".replaceAll", JAVA_STRING, "s pattern new", methods::replace_all)
        .doc("Replace all matches of a regex given as text; $1 is a group")
        .example(r#"(.replaceAll "a1b2" "\d" "-")"#, r#""a-b-""#),
    frame(".replaceFirst", JAVA_STRING, "s pattern new", methods::replace_first)
        .doc("Replace the first match of a regex given as text")
        .example(r#"(.replaceFirst "a1b2" "\d" "-")"#, r#""a-b2""#),
    fun(".toCharArray", JAVA_STRING, "s", methods::to_char_array)
        .doc("The characters of a string, as a vector")
        .example(r#"(.toCharArray "ab")"#, r#"["a" "b"]"#),
    fun(".size", COLLECTION, "c", methods::size)
        .doc("Number of elements or entries")
        .example("(.size [1 2])", "2"),
    fun(".get", COLLECTION, "c k", methods::get)
        .doc("Element of a vector at an index, raising out of range; value of a key of a map")
        .example("(.get [5 6] 1)", "6")
        .example("(.get {:a 1} :a)", "1"),
    fun(".containsKey", COLLECTION, "m k", maps::contains_key)
        .doc("Whether a map has a key, or a vector an index")
        .example("(.containsKey {:a 1} :a)", "true"),
    fun(".containsValue", COLLECTION, "m v", maps::contains_value)
        .doc("Whether a map has a value")
        .example("(.containsValue {:a 1} 1)", "true"),
    fun(".getOrDefault", COLLECTION, "m k dflt", maps::get_or_default)
        .doc("Value of a key of a map, or the default")
        .example("(.getOrDefault {:a 1} :b 2)", "2"),
    fun(".keySet", COLLECTION, "m", maps::key_set)
        .doc("The keys of a map, as a set")
        .example("(.keySet {:b 1 :a 2})", "#{:a :b}"),
    fun(".entrySet", COLLECTION, "m", maps::entry_set)
        .doc("The entries of a map, as a set")
        .example("(.entrySet {:a 1})", "#{[:a 1]}"),
    frame("String/join", JAVA_STRING, "separator coll", methods::join)
        .doc("Join elements with a separator")
        .example(r#"(String/join "," ["a" "b"])"#, r#""a,b""#),
    constant("POSITIVE_INFINITY", DOUBLE, || Value::float(f64::INFINITY))
        .aliases(&["Float/POSITIVE_INFINITY"])
        .doc("Positive infinity")
        .example("Double/POSITIVE_INFINITY", "##Inf"),
    constant("NEGATIVE_INFINITY", DOUBLE, || Value::float(f64::NEG_INFINITY))
        .aliases(&["Float/NEGATIVE_INFINITY"])
        .doc("Negative infinity")
        .example("NEGATIVE_INFINITY", "##-Inf"),
    constant("NaN", DOUBLE, || Value::float(f64::NAN))
        .aliases(&["Float/NaN"])
        .doc("Not a number")
        .example("(NaN? Double/NaN)", "true"),
    constant("Double/MAX_VALUE", DOUBLE, || Value::float(f64::MAX))
        .doc("Largest float")
        .example("(> Double/MAX_VALUE 1e308)", "true"),
    constant("Double/MIN_VALUE", DOUBLE, || Value::float(5e-324))
        .doc("Smallest positive float")
        .example("(pos? Double/MIN_VALUE)", "true"),
    constant("Boolean/TRUE", BOOLEAN, || Value::True).doc("true").example("Boolean/TRUE", "true"),
    constant("Boolean/FALSE", BOOLEAN, || Value::False).doc("false").example("Boolean/FALSE", "false"),
]);

#[cfg(test)]
mod tests;
