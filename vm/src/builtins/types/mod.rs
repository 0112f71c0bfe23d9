//! Type predicates (functions.md 19). One argument, any value, never an error.

mod predicates;

use super::Builtin;
use super::namespaces::{CORE, EXTENSION, REGEX, SET};
use super::row::{fun, section};
use predicates::{
    is_any, is_associative, is_boolean, is_callable, is_char, is_collection, is_counted, is_false, is_float,
    is_function, is_identifier, is_integer, is_keyword, is_list, is_map, is_never, is_nil, is_number,
    is_qualified_identifier, is_qualified_keyword, is_qualified_symbol, is_regex, is_seqable, is_sequential,
    is_set, is_simple_identifier, is_simple_keyword, is_simple_symbol, is_some, is_string, is_symbol,
    is_true, is_vector, type_of,
};

/// The family's functions.
pub(super) static BUILTINS: &[Builtin] = &section("types", "Type predicates").of([
    fun("nil?", CORE, "x", is_nil).doc("True for nil").example("(nil? nil)", "true"),
    fun("some?", CORE, "x", is_some).doc("True for anything but nil").example("(some? false)", "true"),
    fun("boolean?", CORE, "x", is_boolean).doc("True for true and false").example("(boolean? false)", "true"),
    fun("true?", CORE, "x", is_true).doc("True only for true").example("(true? 1)", "false"),
    fun("false?", CORE, "x", is_false).doc("True only for false").example("(false? nil)", "false"),
    fun("number?", CORE, "x", is_number).doc("True for any number").example("(number? ##NaN)", "true"),
    fun("int?", CORE, "x", is_integer).doc("True for integers").example("(int? 5.0)", "false"),
    fun("integer?", CORE, "x", is_integer).doc("True for integers").example("(integer? 7)", "true"),
    fun("float?", CORE, "x", is_float)
        .doc("True for floats, infinities and NaN among them")
        .example("(float? 1.5)", "true"),
    fun("double?", CORE, "x", is_float).doc("Same as float?").example("(double? 2)", "false"),
    fun("rational?", CORE, "x", is_integer)
        .doc("True for integers: there are no ratios")
        .example("(rational? 3)", "true"),
    fun("ratio?", CORE, "x", is_never).doc("Always false: / gives floats").example("(ratio? 1)", "false"),
    fun("decimal?", CORE, "x", is_never)
        .doc("Always false: there are no decimals")
        .example("(decimal? 1.5)", "false"),
    fun("string?", CORE, "x", is_string).doc("True for strings").example(r#"(string? \a)"#, "true"),
    fun("char?", CORE, "x", is_char)
        .doc("True for one-grapheme strings")
        .example(r#"(char? "é")"#, "true")
        .example(r#"(char? "ab")"#, "false"),
    fun("keyword?", CORE, "x", is_keyword).doc("True for keywords").example("(keyword? :k)", "true"),
    fun("symbol?", CORE, "x", is_symbol).doc("True for symbols, such as 'x").example("(symbol? 'x)", "true"),
    fun("simple-symbol?", CORE, "x", is_simple_symbol)
        .doc("True for symbols without a namespace")
        .example("(simple-symbol? 'a/b)", "false"),
    fun("qualified-symbol?", CORE, "x", is_qualified_symbol)
        .doc("True for symbols with a namespace")
        .example("(qualified-symbol? 'a/b)", "true"),
    fun("simple-ident?", CORE, "x", is_simple_identifier)
        .doc("True for keywords and symbols without a namespace")
        .example("(simple-ident? :a)", "true"),
    fun("qualified-ident?", CORE, "x", is_qualified_identifier)
        .doc("True for keywords and symbols with a namespace")
        .example("(qualified-ident? :a/b)", "true"),
    fun("qualified-keyword?", CORE, "x", is_qualified_keyword)
        .doc("True for keywords with a namespace")
        .example("(qualified-keyword? :user/id)", "true")
        .example("(qualified-keyword? :id)", "false"),
    fun("vector?", CORE, "x", is_vector).doc("True for vectors").example("(vector? (map inc [1]))", "true"),
    fun("map?", CORE, "x", is_map).doc("True for maps").example("(map? {})", "true"),
    fun("set?", CORE, "x", is_set).also_in(SET).doc("True for sets").example("(set? #{})", "true"),
    fun("coll?", CORE, "x", is_collection)
        .doc("True for vectors, lists, maps, sets and endless sequences")
        .example(r#"(coll? "x")"#, "false"),
    fun("sequential?", CORE, "x", is_sequential)
        .doc("True for vectors, lists and endless sequences")
        .example("(sequential? #{1})", "false"),
    fun("seq?", CORE, "x", is_sequential)
        .doc("True for vectors, lists and endless sequences: there are no others")
        .example("(seq? [1])", "true"),
    fun("associative?", CORE, "x", is_associative)
        .doc("True for vectors and maps")
        .example("(associative? [])", "true"),
    fun("counted?", CORE, "x", is_counted)
        .doc("True for vectors, lists, maps and sets")
        .example(r#"(counted? "x")"#, "false"),
    fun("indexed?", CORE, "x", is_vector).doc("True for vectors").example(r#"(indexed? "x")"#, "false"),
    fun("reversible?", CORE, "x", is_vector).doc("True for vectors").example("(reversible? {})", "false"),
    fun("sorted?", CORE, "x", is_never)
        .doc("Always false: every map and set is sorted, none by choice")
        .example("(sorted? #{1})", "false"),
    fun("seqable?", CORE, "x", is_seqable).doc("True for what seq accepts").example("(seqable? 5)", "false"),
    fun("map-entry?", CORE, "x", is_never)
        .doc("Always false: entries are vectors")
        .example("(map-entry? [:a 1])", "false"),
    fun("fn?", CORE, "x", is_function)
        .doc("True for functions")
        .example("(fn? inc)", "true")
        .example("(fn? :k)", "false"),
    fun("ifn?", CORE, "x", is_callable)
        .doc("True for what can be called: functions, keywords, maps, sets, vectors")
        .example("(ifn? {:a 1})", "true")
        .example(r#"(ifn? "a")"#, "false"),
    fun("regex?", EXTENSION, "x", is_regex)
        .also_in(REGEX)
        .doc("True for compiled regexes")
        .example(r#"(regex? #"a")"#, "true"),
    fun("type", CORE, "x", type_of)
        .doc("Kind of a value as a keyword")
        .example("(type 1.5)", ":number")
        .example("(type #{})", ":set"),
    fun("any?", CORE, "x", is_any).doc("True for every value").example("(any? nil)", "true"),
    fun("ident?", CORE, "x", is_identifier)
        .doc("True for keywords and symbols")
        .example("(ident? :k)", "true"),
    fun("simple-keyword?", CORE, "x", is_simple_keyword)
        .doc("True for keywords without a namespace")
        .example("(simple-keyword? :k)", "true"),
    fun("list?", CORE, "x", is_list)
        .doc("True for lists; other sequences are vectors")
        .example("(list? '(1))", "true")
        .example("(list? (map inc [1]))", "false"),
    fun("bytes?", CORE, "x", is_never)
        .doc("Always false: there are no byte arrays")
        .example(r#"(bytes? "x")"#, "false"),
    fun("uri?", CORE, "x", is_never)
        .doc("Always false: URIs are strings")
        .example(r#"(uri? "https://example.org")"#, "false"),
    fun("uuid?", CORE, "x", is_never)
        .doc("Always false: UUIDs are strings")
        .example(r#"(uuid? "550e8400-e29b-41d4-a716-446655440000")"#, "false"),
]);
