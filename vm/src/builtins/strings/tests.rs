use crate::builtins::support::testing::{display, outcome};
use crate::machine::Limits;
use crate::value::Regex;
use crate::value::Value;

fn s(text: &str) -> Value {
    Value::str(text)
}

fn re(source: &str) -> Value {
    Regex::literal(source).expect("a pattern")
}

#[test]
fn positions_count_graphemes() {
    let family = "a👨‍👩‍👧e\u{301}z";
    assert_eq!(display("subs", [s(family), Value::Int(1), Value::Int(3)]), "\"👨‍👩‍👧e\u{301}\"");
    assert_eq!(display("index-of", [s(family), s("z")]), "3");
    // Inside a cluster: the cluster counts.
    assert_eq!(display("index-of", [s(family), s("\u{301}")]), "2");
    assert_eq!(display("index-of", [s(family), s("z"), Value::Int(4)]), "nil");
    assert_eq!(display("last-index-of", [s("xéxéx"), s("é"), Value::Int(2)]), "1");
    assert_eq!(display("last-index-of", [s("aaa"), s("aa"), Value::Int(1)]), "1");
    assert_eq!(display("last-index-of", [s("hello"), s("l"), Value::Int(-1)]), "nil");
    assert_eq!(display("last-index-of", [s("日本"), s("")]), "2");
    assert_eq!(display("index-of", [s("abab"), s(""), Value::Int(9)]), "4");
    assert_eq!(display("clojure.string/reverse", [s(family)]), "\"ze\u{301}👨‍👩‍👧a\"");
}

#[test]
fn subs_never_fails_for_numbers() {
    let huge = Value::integer("100000000000000000000".parse().expect("an integer"));
    for (start, end, want) in [
        (Value::Int(1), Some(Value::Int(3)), "\"el\""),
        (Value::Int(-1), None, "\"\""),
        (Value::Int(-1), Some(Value::Int(3)), "\"\""),
        (Value::Int(9), None, "\"\""),
        (Value::Int(2), Some(Value::Int(99)), "\"llo\""),
        (Value::Int(3), Some(Value::Int(1)), "\"\""),
        (huge.clone(), None, "\"\""),
        (Value::Int(1), Some(huge), "\"ello\""),
        (Value::float(1.0), Some(Value::float(2.9)), "\"e\""),
        (Value::float(f64::INFINITY), None, "\"\""),
        (s("1"), None, "! type_error: subs: invalid argument types: string, string"),
    ] {
        let args: Vec<Value> = [s("hello"), start].into_iter().chain(end).collect();
        assert_eq!(display("subs", args), want);
    }
}

#[test]
fn case_follows_unicode() {
    assert_eq!(display("upper-case", [s("straße ﬁ")]), "\"STRASSE FI\"");
    assert_eq!(display("lower-case", [s("ΑΣ İ")]), "\"ας i\u{307}\"");
    assert_eq!(display("capitalize", [s("ßTOP")]), "\"SStop\"");
    assert_eq!(display("capitalize", [s("")]), "\"\"");
    assert_eq!(display("lower-case", [Value::keyword("Kw")]), "\":kw\"");
    assert_eq!(display("lower-case", [Value::Nil]), "! type_error: lower-case: invalid argument types: nil");
    assert_eq!(display("starts-with?", [Value::keyword("abc"), s(":a")]), "true");
    assert_eq!(display("capitalize", [Value::Int(1)]), "\"1\"");
}

#[test]
fn white_space_is_that_of_unicode() {
    assert_eq!(display("trim", [s("\u{a0}\u{2003} a b\u{2028}\u{85}\n")]), "\"a b\"");
    assert_eq!(display("triml", [s("\u{200b} a")]), "\"\u{200b} a\"");
    assert_eq!(display("blank?", [s(" \u{2003}\n")]), "true");
    assert_eq!(display("blank?", [s("\u{a0}")]), "false");
    assert_eq!(display("blank?", [s("\u{1c}\u{1f}\u{b}")]), "true");
    assert_eq!(display("trim-newline", [s("a \r\n\n\r")]), "\"a \"");
}

#[test]
fn splitting_drops_empty_pieces_at_the_end() {
    for (text, separator, want) in [
        ("a,b,,c,,", ",", r#"["a" "b" "" "c"]"#),
        (",,", ",", "[]"),
        (",a", ",", r#"["" "a"]"#),
        ("", ",", r#"[""]"#),
        ("", "", r#"[""]"#),
        ("日本", "", r#"["日" "本"]"#),
        ("a👍b", "👍", r#"["a" "b"]"#),
    ] {
        assert_eq!(display("split", [s(text), s(separator)]), want, "{text:?} {separator:?}");
    }
    assert_eq!(
        display("split", [s("a"), s(", ")]),
        "! type_error: type_error: split: delimiter must be a regex pattern, got plain string \", \""
    );
    for (text, source, limit, want) in [
        ("one  two", " ", None, r#"["one" "" "two"]"#),
        ("a1b22c", r"\d+", None, r#"["a" "b" "c"]"#),
        ("a1b2", r"(\d)", None, r#"["a" "b"]"#),
        ("abc", "", None, r#"["a" "b" "c"]"#),
        ("a👍🏽", "", None, r#"["a" "👍🏽"]"#),
        ("abc", "", Some(2), r#"["a" "bc"]"#),
        ("abc", "", Some(9), r#"["a" "b" "c" ""]"#),
        ("abc", "", Some(-1), r#"["a" "b" "c" ""]"#),
        ("", "", None, r#"[""]"#),
        ("baac", "a*", None, r#"["b" "" "c"]"#),
        (",a,", ",", None, r#"["" "a"]"#),
        (",,", ",", None, "[]"),
        ("a,b,,", ",", Some(0), r#"["a" "b"]"#),
        ("a,b,,", ",", Some(-1), r#"["a" "b" "" ""]"#),
        ("a,b,,", ",", Some(9), r#"["a" "b" "" ""]"#),
        ("", ",", None, r#"[""]"#),
        ("a: b: c", ": ", Some(2), r#"["a" "b: c"]"#),
        ("a: b: c", ": ", Some(1), r#"["a: b: c"]"#),
        ("aXbXc", "X", Some(-1), r#"["a" "b" "c"]"#),
    ] {
        let args: Vec<Value> = [s(text), re(source)].into_iter().chain(limit.map(Value::Int)).collect();
        assert_eq!(display("split", args), want, "{text:?} {source}");
    }
    assert_eq!(display("split-lines", [s("a\nb\r\nc\n\n")]), r#"["a" "b" "c"]"#);
    for (text, want) in
        [("", r#"[""]"#), ("\n\r\n", "[]"), ("\na", r#"["" "a"]"#), ("a\rb\r", r#"["a\rb\r"]"#)]
    {
        assert_eq!(display("split-lines", [s(text)]), want, "{text:?}");
    }
}

#[test]
fn replacing_by_text() {
    assert_eq!(display("replace", [s("a.b.c"), s("."), s("")]), "\"abc\"");
    assert_eq!(display("replace", [s("日b"), s(""), s("-")]), "\"-日-b-\"");
    assert_eq!(display("replace-first", [s("ab"), s(""), s("-")]), "\"-ab\"");
    assert_eq!(display("replace-first", [s("aXbX"), s("X"), s("$1")]), "\"a$1bX\"");
    assert_eq!(
        display("replace", [s("2024-01-02"), re(r"(\d+)-(\d+)-(\d+)"), s("$3/$2/$1")]),
        "\"02/01/2024\""
    );
    assert_eq!(display("replace", [s("hello"), re("l"), s("$9")]), "\"he$9$9o\"");
    assert_eq!(display("replace", [s("abc"), re(""), s("-")]), "\"-a-b-c-\"");
    assert_eq!(display("replace", [s("b"), re("(a)?b"), s("<$1>")]), "\"<>\"");
    assert_eq!(display("replace-first", [s("a1b2"), re(r"\d"), s("#")]), "\"a#b2\"");
    assert_eq!(
        display("replace", [s("a"), Value::Int(5), s("b")]),
        "! type_error: replace: invalid argument types: string, number, string"
    );
}

#[test]
fn names_of_keywords_symbols_and_strings() {
    assert_eq!(display("name", [Value::keyword("a-b")]), "\"a-b\"");
    assert_eq!(display("name", [Value::keyword("user/id")]), "\"id\"");
    assert_eq!(display("namespace", [Value::keyword("user/id")]), "\"user\"");
    assert_eq!(display("namespace", [Value::keyword("id")]), "nil");
    assert_eq!(display("namespace", [Value::Symbol("str/join".into())]), "\"str\"");
    assert_eq!(display("str", [Value::keyword("user/id")]), "\":user/id\"");
    assert_eq!(display("symbol", [Value::keyword("user/id")]), "'user/id");
    assert_eq!(display("name", [Value::Symbol("str/join".into())]), "\"join\"");
    assert_eq!(display("name", [Value::Int(5)]), "! Runtime error: name not supported on: 5");
    assert_eq!(
        display("name", [Value::float(f64::NAN)]),
        "! Runtime error: name not supported on special value: ##NaN"
    );
    assert_eq!(display("keyword", [s("my.app/id")]), ":my.app/id");
    assert_eq!(display("keyword", [s("user"), s("id")]), ":user/id");
    assert_eq!(display("keyword", [Value::Nil, s("id")]), ":id");
    assert_eq!(
        display("keyword", [s("user"), Value::Nil]),
        "! type_error: keyword: invalid argument types: string, nil"
    );
    for text in ["a/b/c", "/b", "a/", "/", "", "a b", "a\u{200b}", "\""] {
        assert_eq!(display("keyword", [s(text)]), format!("(keyword {})", display("identity", [s(text)])));
        assert_eq!(display("str", [Value::keyword(text)]), display("identity", [s(&format!(":{text}"))]));
    }
    assert_eq!(display("keyword", [s("a"), s("b/c")]), "(keyword \"a/b/c\")");
    assert_eq!(
        display("keyword", [s("a/b"), s("c")]),
        "! Runtime error: invalid keyword namespace: \"a/b\" holds a slash"
    );
    assert_eq!(display("name", [Value::keyword("a/b/c")]), "\"b/c\"");
    assert_eq!(display("namespace", [Value::keyword("/b")]), "\"\"");
    assert_eq!(display("namespace", [Value::keyword("/")]), "nil");
    assert_eq!(display("keyword", [s("1a*")]), ":1a*");
    assert_eq!(display("keyword", [Value::Int(5)]), "nil");
    assert_eq!(display("symbol", [s("a b")]), "(symbol \"a b\")");
    assert_eq!(display("symbol", [s("true")]), "(symbol \"true\")");
    assert_eq!(display("symbol", [s("str"), s("join")]), "'str/join");
    assert_eq!(display("symbol", [Value::Nil, s("join")]), "'join");
    assert_eq!(
        display("symbol", [s("a/b"), s("c")]),
        "! Runtime error: invalid symbol namespace: \"a/b\" holds a slash"
    );
    assert_eq!(display("char", [Value::Int(-1)]), "! Runtime error: char: -1 is not a code point");
}

#[test]
fn joining_takes_any_collection() {
    assert_eq!(display("join", [s(","), s("abc")]), "\"a,b,c\"");
    assert_eq!(display("join", [s(","), Value::Nil]), "\"\"");
    assert_eq!(
        display("join", [Value::Int(42), Value::vector([s("a")])]),
        "! type_error: join: invalid argument types: number, list"
    );
    assert_eq!(
        display("str", [Value::Nil, s("a"), Value::float(2.5), Value::vector([s("a")])]),
        "\"a2.5[\\\"a\\\"]\""
    );
    let integers = [0, 7, -7, 10, 99, -100, i64::MAX, i64::MIN];
    let args: Vec<Value> = integers.into_iter().flat_map(|n| [Value::Int(n), s(" "), Value::Nil]).collect();
    let text: String = integers.iter().map(|n| format!("{n} ")).collect();
    assert_eq!(display("str", args), format!("{text:?}"));
}

#[test]
fn results_beyond_the_memory_limit_are_refused() {
    let limits = Limits { memory_bytes: 200_000, ..Limits::default() };
    let text = || s(&"ab".repeat(5_000));
    for (name, args) in [
        ("replace", vec![text(), s("a"), s(&"x".repeat(100))]),
        ("replace", vec![text(), re("a"), s(&"x".repeat(100))]),
        ("split", vec![text(), s("a")]),
        ("split", vec![text(), re("a")]),
        ("re-seq", vec![re("a"), text()]),
    ] {
        let result = outcome(name, args, limits).result;
        assert!(result.is_err_and(|error| error.reason() == crate::Reason::MemoryExceeded), "{name}");
    }
}

#[test]
fn the_number_of_steps_does_not_depend_on_the_slices() {
    let text = s(&"word, ".repeat(2_000));
    let steps = |name: &str, args: Vec<Value>| outcome(name, args, Limits::default()).steps;
    let first = steps("split", vec![text.clone(), re(", ")]);
    assert!(first > 2_000);
    assert_eq!(steps("split", vec![text, re(", ")]), first);
}

#[test]
fn the_case_of_a_long_text_changes_as_that_of_a_short_one() {
    let plain = "Straße İ ǅ ﬁ ".repeat(3_000);
    let sigmas = "ΟΔΥΣΣΕΥΣ' ΣΟΦΟΣ. ".repeat(3_000);
    let one_word = "ΑΣ".repeat(20_000);
    let only = "Σ".repeat(40_000);
    let accents = "ΑΣ\u{301}\u{345}Σ'ΒΣ.·".repeat(6_000);
    let broken = format!("{}{}Σ", "ΑΣ ".repeat(5_000), "Σ\u{301}".repeat(20_000));
    for text in [plain, sigmas, one_word, only, accents, broken] {
        let same = |name: &str, expected: &str| {
            assert_eq!(display(name, [s(&text)]), display("identity", [s(expected)]), "{name}");
        };
        same("upper-case", &text.to_uppercase());
        same("lower-case", &text.to_lowercase());
    }
}
