//! Keywords with a namespace.

use crate::support::{check, run};
use ptc_compiler::{CompileOptions, compile};
use ptc_vm::builtins::library;
use ptc_vm::meter::Allowance;

#[test]
fn keywords_have_namespaces() {
    check(&[
        (":user/id", ":user/id"),
        ("(str :user/id)", "\":user/id\""),
        ("[(name :user/id) (namespace :user/id) (namespace :id)]", "[\"id\" \"user\" nil]"),
        (
            "[(keyword \"user\" \"id\") (keyword \"user/id\") (= :user/id (keyword 'user/id))]",
            "[:user/id :user/id true]",
        ),
        ("(map qualified-keyword? [:a/b :a 'a/b])", "[true false false]"),
        ("(map simple-keyword? [:a/b :a 'a])", "[false true false]"),
        ("(map qualified-ident? [:a/b :a 'a/b])", "[true false true]"),
        ("[(:user/id {:user/id 1}) ({:user/id 2} :user/id) (get-in {:a/b {:c/d 3}} [:a/b :c/d])]", "[1 2 3]"),
        // Keys of data are found, too.
        ("[(:user/id {\"user/id\" 1}) (get {:user/id 2} \"user/id\") (:a/b-c {\"a/b_c\" 3})]", "[1 2 3]"),
        ("(update {\"user/id\" 1} :user/id inc)", "{\"user/id\" 2}"),
        ("(json/generate-string {:user/id :a/b})", r#""{\"user/id\":\"a/b\"}""#),
        ("(json/parse-string \"{\\\"user/id\\\": 1, \\\"a b\\\": 2}\" true)", "{:user/id 1 \"a b\" 2}"),
        ("(sort [:b :a/c :a :b/a])", "[:a :a/c :b :b/a]"),
        ("(map (fn [x] (:a/x x)) [{:a/x 1} {:a/y 2}])", "[1 nil]"),
        ("(read-string \"{:user/id #:a{:b 1}}\")", "{:user/id {:a/b 1}}"),
        ("(/ 8 2)", "4"),
        ("[(reduce / [8 2]) (map / [2 4] [1 2])]", "[4 [2 2]]"),
    ]);
}

#[test]
fn maps_have_namespaces() {
    check(&[
        ("#:user{:id 1 :name \"Ann\"}", "{:user/id 1 :user/name \"Ann\"}"),
        ("#:user{:id (inc 1) :tags #{:a} :in {:id 3}}", "{:user/id 2 :user/in {:id 3} :user/tags #{:a}}"),
        ("#:user{:a/id 1 :_/id 2 \"id\" 3 4 5}", "{4 5 :a/id 1 :id 2 \"id\" 3}"),
        ("[(:user/id #:user{:id 1}) (= #:user{:id 1} {:user/id 1}) (count #:a {})]", "[1 true 0]"),
        ("'#:a{:b c}", "{:a/b 'c}"),
        ("(let [x 1] #:a{:b x :c [x]})", "{:a/b 1 :a/c [1]}"),
        ("#:a{:b 1 :a/b 2}", "!duplicate_key duplicate_key: duplicate key :a/b in map literal"),
        (
            "#:a{:b 1 :c 2 :d 3 :e 4 :f 5 :g 6 :h 7 :i 8 :a/b 9}",
            "!duplicate_key duplicate_key: duplicate key :a/b in map literal",
        ),
        (
            "::id",
            "!parse_error syntax error: could not parse keyword at line 1, column 1. There is no current namespace: write :id",
        ),
        (
            "#::{:id 1}",
            "!parse_error syntax error: could not parse expression at line 1, column 1. There is no current namespace: write #:name{…}, or the map without #::",
        ),
        (
            ":a/b/c",
            "!unbound_var Undefined variable: /c. A keyword has one slash at most: for :a/b/c write :a/b-c",
        ),
    ]);
}

#[test]
fn patterns_bind_names_without_their_namespace() {
    check(&[
        ("(let [{:keys [user/id]} {:user/id 1}] id)", "1"),
        ("(let [{:keys [:user/id :n]} {:user/id 1 :n 2}] [id n])", "[1 2]"),
        ("(let [{:user/keys [id name]} {:user/id 1 :user/name 2}] [id name])", "[1 2]"),
        ("(let [#:user{:keys [id]} #:user{:id 1}] id)", "1"),
        ("(let [{:user/keys [id] :keys [id2] :or {id 5} :as m} {:id2 7}] [id id2 m])", "[5 7 {:id2 7}]"),
        ("(let [{:user/keys [id]} {\"user/id\" 1}] id)", "1"),
        ("(let [{:syms [a/b] :x/syms [c]} {'a/b 1 'x/c 2}] [b c])", "[1 2]"),
        ("(let [{:strs [a/b] x :c/d} {\"a/b\" 1 :c/d 2}] [b x])", "[1 2]"),
        ("((fn [& {:keys [user/id]}] id) :user/id 1)", "1"),
        ("(for [{:user/keys [id]} [#:user{:id 1} #:user{:id 2}]] id)", "[1 2]"),
    ]);
    let error = run("(let [{:user/other [id]} {}] id)");
    assert!(error.starts_with("!unsupported_pattern"), "{error}");
}

/// Each key is written out with the namespace of its map, so that a short text could ask for much.
#[test]
fn long_namespaces_of_maps_are_charged_for_every_key() {
    let keys: String = (0..4_000).map(|n| format!(":k{n} {n} ")).collect();
    let source = format!("#:{}{{{keys}}}", "n".repeat(20_000));
    let allowance =
        Allowance { memory_bytes: 8 << 20, steps: 100_000_000, reservation: None, deadline: None };
    let mut refused = None;
    let spent = allowance.spend(|| {
        refused = compile(&source, library(), &CompileOptions::default()).err();
        Ok(())
    });
    assert!(spent.is_ok());
    assert_eq!(refused.map(|error| error.reason().to_string()).as_deref(), Some("memory_exceeded"));
}
