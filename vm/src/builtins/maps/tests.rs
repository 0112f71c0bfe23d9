use crate::builtins::support::testing::{call, check, display, outcome, read};
use crate::error::Reason;
use crate::machine::Limits;
use crate::value::{Combinator, CombinatorKind, Value, Vector};

#[test]
fn reads_are_flexible() {
    check(&[
        (r#"(get {"a" 1} :a)"#, "1"),
        (r#"(get {"first_name" "Z"} :first-name)"#, r#""Z""#),
        ("(get {:a nil} :a 5)", "nil"),
        ("(get {:a 1} :b 5)", "5"),
        ("(get [7 8] 1)", "8"),
        ("(get [7 8] -1)", "nil"),
        ("(get [7 8] :a 3)", "3"),
        ("(get nil :a 3)", "3"),
        ("(get {:a {:b 2}} [:a :b])", "nil"),
        ("(get {[1 2] :v} [1 2])", ":v"),
        ("(get {:a 1} [])", "nil"),
        ("(get {:a 1} [:a :b] :none)", ":none"),
        ("(get 5 :a)", "nil"),
        ("(get 5 :a :none)", ":none"),
        (r#"(get "k" {"k" 1})"#, "nil"),
        (r#"(get "héy" 1)"#, r#""é""#),
        (r#"(get "abc" 9 :none)"#, ":none"),
        (r#"(get "abc" -1)"#, "nil"),
        (r#"(get "abc" :a)"#, "nil"),
        ("(get #{1 nil} 1)", "1"),
        ("(get #{1} 2 :none)", ":none"),
        (r#"(get-in ["ab" "cd"] [1 0])"#, r#""c""#),
        ("(get-in {:a #{:x}} [:a :x])", ":x"),
        ("(get-in 5 [:a] 1)", "1"),
        (r#"(get-in {:a [{"b" 3}]} [:a 0 :b])"#, "3"),
        ("(get-in {:a 1} [:a :b] :none)", ":none"),
        ("(get-in {:a nil} [:a] 1)", "nil"),
        ("(get-in nil [:a] 1)", "1"),
        ("(get-in nil [:a])", "nil"),
        ("(get-in {:a 1} [])", "{:a 1}"),
        ("(get-in {:a 1} nil)", "{:a 1}"),
        ("(get-in {:a 1} #{:a} 7)", "1"),
        ("(get-in {:a 1} 5)", "! type_error: get-in: arg 2 expected seqable, got number"),
        ("(get-in [:a] {:a 1})", "nil"),
        (r#"(find {"a" 1} :a)"#, "[:a 1]"),
        ("(find {:a nil} :a)", "[:a nil]"),
        ("(find [10 20] 1)", "[1 20]"),
        ("(find nil 1)", "nil"),
        (
            "(find #{1} 1)",
            "! type_error: type_error: find: set is not associative; find supports maps and vectors only",
        ),
        (r#"(select-keys {"a" 1 :b 2} [:a :z])"#, "{:a 1}"),
        ("(select-keys {[1 2] 3 [4 5] 6} [[1 2]])", "{[1 2] 3}"),
        ("(select-keys [5 6] [1])", "{1 6}"),
        ("(select-keys nil [:a])", "{}"),
        ("(select-keys {:a {:b 1}} {:a :b})", "{}"),
        ("(select-keys {[:a :b] 1} {:a :b})", "{[:a :b] 1}"),
        ("(select-keys #{:a} [])", "{}"),
        ("(select-keys 5 nil)", "{}"),
        ("(select-keys #{:a} [:a])", "! type_error: select-keys: arg 1 expected map, got set"),
        ("(select-keys {:a 1} 5)", "! type_error: select-keys: arg 2 expected seqable, got number"),
    ]);
}

#[test]
fn parts_come_in_key_order() {
    check(&[
        ("(keys {:b 1 :a 2})", "[:a :b]"),
        ("(vals {:b 1 :a 2})", "[2 1]"),
        ("(entries {:b 1 :a 2})", "[[:a 2] [:b 1]]"),
        ("(keys nil)", "nil"),
        ("(keys {})", "nil"),
        ("(vals {})", "nil"),
        ("(keys [])", "nil"),
        (r#"(keys "")"#, "nil"),
        ("(vals #{})", "nil"),
        ("(vals #{[:a 1] [:b 2]})", "[1 2]"),
        (r#"(keys "ab")"#, "! type_error: keys: arg 1 expected map, got string"),
        ("(keys 5)", "! type_error: keys: arg 1 expected map, got number"),
        ("(entries nil)", "! type_error: entries: invalid argument types: nil"),
        ("(vals [1 2])", "! type_error: vals: arg 1 expected map, got list"),
        ("(key [1 2])", "1"),
        ("(val [1 2])", "2"),
        ("(key {:a 1})", "! type_error: key: invalid argument types: map"),
        ("(val [1 2 3])", "! type_error: val: invalid argument types: list"),
    ]);
}

#[test]
fn writes_change_the_entry_that_a_read_finds() {
    check(&[
        ("(assoc {:a 1} :b 2 :c 3)", "{:a 1 :b 2 :c 3}"),
        (r#"(assoc {"a_b" 1} :a-b 2)"#, r#"{"a_b" 2}"#),
        ("(assoc [1 2] 2 9)", "[1 2 9]"),
        ("(assoc [1 2] 0 9 2 8)", "[9 2 8]"),
        ("(assoc nil :k 0)", "{:k 0}"),
        ("(assoc [1 2] 5 9)", "! Runtime error: index 5 out of bounds for list of length 2"),
        ("(assoc [1 2] -1 9)", "! type_error: assoc: invalid argument types: list, number, number"),
        ("(assoc {} :a)", "! Runtime error: assoc requires a map or list and key-value pairs, got 2 args"),
        ("(assoc)", "! Runtime error: assoc requires a map or list and key-value pairs, got 0 args"),
        ("(assoc #{1} 1 2)", "! type_error: assoc: arg 1 expected map or list, got set"),
        ("(dissoc {:a 1 :b 2 :c 3} :a :c)", "{:b 2}"),
        (r#"(dissoc {"a" 1} :a)"#, "{}"),
        ("(dissoc nil :a)", "nil"),
        ("(dissoc [1] 0)", "! type_error: dissoc: arg 1 expected map, got list"),
        ("(merge {:a 1} nil {:a 2 :b 3})", "{:a 2 :b 3}"),
        (r#"(merge {:a 1} {"a" 2})"#, "{:a 2}"),
        (r#"(merge {} {:a 1 "a" 2})"#, r#"{:a 1 "a" 2}"#),
        (r#"(merge {:a 0} {:a 1 "a" 2})"#, r#"{:a 1 "a" 2}"#),
        ("(merge {:a 1} [:b 2])", "{:a 1 :b 2}"),
        ("(merge)", "nil"),
        ("(merge nil)", "nil"),
        ("(merge nil nil)", "nil"),
        ("(merge {} nil)", "{}"),
        ("(merge-with + nil nil)", "nil"),
        ("(merge 5)", "5"),
        ("(merge false)", "nil"),
        ("(merge nil false)", "nil"),
        ("(merge false {:a 1})", "{:a 1}"),
        ("(merge [1 2] 3 nil {:a 1})", "[1 2 3 nil {:a 1}]"),
        ("(merge #{1} 2 [3 4])", "#{1 2 [3 4]}"),
        ("(merge 5 {:a 1})", "! type_error: merge: arg 1 expected map, got number"),
        ("(merge {:a 1} false)", "! type_error: merge: arg 2 expected map, got boolean"),
        ("(merge {:a 1} 5)", "! type_error: merge: arg 2 expected map, got number"),
        ("(hash-map :a 1 :a 2)", "{:a 2}"),
        (r#"(hash-map :a 1 "a" 2)"#, r#"{:a 1 "a" 2}"#),
        ("(hash-map :a)", "! arity error: hash-map requires an even number of arguments, got 1"),
        ("(array-map :b 1 :a 2)", "{:a 2 :b 1}"),
    ]);
}

#[test]
fn updates_reach_into_nested_values() {
    check(&[
        ("(assoc-in {} [:a :b] 1)", "{:a {:b 1}}"),
        ("(assoc-in {:v [1 2]} [:v 0] 9)", "{:v [9 2]}"),
        ("(assoc-in {:v [1 2]} [:v 2] 9)", "{:v [1 2 9]}"),
        (r#"(assoc-in {"db" {"host" 1}} [:db :host] 2)"#, r#"{"db" {"host" 2}}"#),
        ("(assoc-in {:a nil} [:a :b] 1)", "{:a {:b 1}}"),
        ("(assoc-in nil [:a] 1)", "{:a 1}"),
        ("(assoc-in {:a 1} nil 2)", "{nil 2 :a 1}"),
        ("(assoc-in {:a 1} [] 2)", "{nil 2 :a 1}"),
        ("(assoc-in {:a 1} [:a :b] 2)", "! Runtime error: could not put/update key :a on a non-map value"),
        ("(assoc-in [1 2] [5] 9)", "! Runtime error: index 5 out of bounds for list of length 2"),
        ("(assoc-in [1 2] [-1] 9)", "! type_error: assoc-in: invalid argument types: list, list, number"),
        ("(assoc-in {:a 1} #{} 2)", "! type_error: assoc-in: invalid argument types: map, set, number"),
        ("(assoc-in 5 [:a] 2)", "! type_error: assoc-in: invalid argument types: number, list, number"),
        ("(update {:n 1} :n + 5)", "{:n 6}"),
        (r#"(update {"n" 1} :n inc)"#, r#"{"n" 2}"#),
        ("(update {} :n nil?)", "{:n true}"),
        ("(update nil :n nil?)", "{:n true}"),
        ("(update [1 2] 0 dec)", "[0 2]"),
        ("(update [1 2] 2 nil?)", "[1 2 true]"),
        ("(update {:a 1} :a {1 10})", "{:a 10}"),
        ("(update {:a 1} :a #{1})", "{:a 1}"),
        ("(update [1 2] 3 dec)", "! Runtime error: index 3 out of bounds for list of length 2"),
        ("(update [1] :a dec)", "! type_error: update: invalid argument types: list, keyword, function"),
        ("(update {} :a)", "! type_error: update: invalid argument types: map, keyword"),
        ("(update {:a 1} :a 5)", "! type_error: update: arg 3 expected callable, got number"),
        (r#"(update "abc" 0 identity)"#, "! type_error: update: arg 1 expected map or list, got string"),
        (
            "(update {:n 1} :n inc 0)",
            "! arity error: update: function expects 1 argument(s) but was called with 2. The extra argument may have \
             been intended as a default value, but update passes extra args to the function. Use (or current-val \
             default) inside the function, or wrap with fnil.",
        ),
        (
            "(update {:n 1} :n inc 0 1)",
            "! arity error: update: function expects 1 argument(s) but was called with 3. Extra arguments are passed \
             to the function, not used as defaults.",
        ),
        ("(update-in {:a {:b 1}} [:a :b] + 10)", "{:a {:b 11}}"),
        (r#"(update-in {"a" [{"b" 1}]} [:a 0 :b] inc)"#, r#"{"a" [{"b" 2}]}"#),
        ("(update-in {:a {:b 1}} [:a :b] {1 10})", "{:a {:b 10}}"),
        (
            r#"(update-in {:a {:b 1}} [:a :b] "str")"#,
            "! type_error: update-in: arg 3 expected callable, got string",
        ),
        ("(update-in {:a 1} [:a :b] inc)", "! Runtime error: could not put/update key :a on a non-map value"),
        ("(update-in 5 [:a] inc)", "! type_error: update-in: invalid argument types: number, list, function"),
    ]);
}

#[test]
fn folds_and_transformations_of_entries() {
    check(&[
        ("(update-vals {:a 1 :b 2} inc)", "{:a 2 :b 3}"),
        ("(update-vals {:a 1} {1 10})", "{:a 10}"),
        ("(update-vals [1 2] inc)", "[2 3]"),
        ("(update-vals nil inc)", "nil"),
        ("(update-vals {} inc)", "{}"),
        (
            "(update-vals inc {:a 1})",
            "! type_error: update-vals expects (map, function) but got (function, map). Use -> (thread-first) instead \
             of ->> (thread-last) with update-vals",
        ),
        ("(update-vals {:a 1} 5)", "! type_error: update-vals: arg 2 expected callable, got number"),
        (r#"(update-keys {1 2 3 4} pr-str)"#, r#"{"1" 2 "3" 4}"#),
        ("(update-keys {:a 1 :b 2} {:a :x :b :x})", "{:x 2}"),
        ("(update-keys [1 2] pr-str)", r#"{"0" 1 "1" 2}"#),
        ("(update-keys 5 pr-str)", "! type_error: update-keys: arg 1 expected map, got number"),
        ("(reduce-kv vector 0 {:a 1 :b 2})", "[[0 :a 1] :b 2]"),
        ("(reduce-kv vector 0 [7 8])", "[[0 0 7] 1 8]"),
        ("(reduce-kv + 0 nil)", "0"),
        ("(reduce-kv + 0 5)", "! type_error: reduce-kv: arg 3 expected map, got number"),
        ("(reduce-kv :k 0 {:a 1})", "! type_error: reduce-kv: invalid argument types: keyword, number, map"),
        ("(reduce-kv nil 0 {:a 1})", "! type_error: reduce-kv: arg 1 expected callable, got nil"),
        ("(merge-with + {:a 1} {:a 2 :b 5} nil {:b 1})", "{:a 3 :b 6}"),
        (r#"(merge-with + {"a" 1} {:a 2})"#, r#"{"a" 3}"#),
        ("(merge-with into {:a [1]} {:a [2]})", "{:a [1 2]}"),
        ("(merge-with +)", "nil"),
        ("(merge-with + 5)", "5"),
        ("(merge-with)", "! arity error: merge-with requires at least 1 argument, got 0"),
        (
            r#"(merge-with "str" {:a 1} {:a 2})"#,
            "! type_error: merge-with: arg 1 expected callable, got string",
        ),
        ("(merge-with + {:a 2} [10 20])", "! type_error: merge-with: arg 3 expected map, got list"),
    ]);
}

/// A function that is called in a frame: `comp` of `name`.
fn framed(name: &str) -> Value {
    let Value::Builtin(comp) = read("comp") else { panic!("comp is a builtin") };
    call(comp.name, [read(name), read("identity")]).expect("a function")
}

#[test]
fn functions_that_need_a_frame_give_the_same() {
    let inc = framed("inc");
    for (name, args, expected) in [
        ("update", vec![read("{:n 1}"), read(":n"), inc.clone()], "{:n 2}"),
        ("update", vec![read("[1 2]"), read("1"), inc.clone()], "[1 3]"),
        ("update-in", vec![read("{:a [1]}"), read("[:a 0]"), inc.clone()], "{:a [2]}"),
        ("update-vals", vec![read("{:a 1 :b 2}"), inc.clone()], "{:a 2 :b 3}"),
        ("update-keys", vec![read("{1 1 2 2}"), inc], "{2 1 3 2}"),
    ] {
        assert_eq!(display(name, args), expected, "{name}");
    }
    let plus = Value::Combinator(Combinator::new(CombinatorKind::Partial, vec![read("+")]));
    assert_eq!(
        display("merge-with", [plus.clone(), read("{:a 1 :b 1}"), read("{:a 2 :b 3}")]),
        "{:a 3 :b 4}"
    );
    assert_eq!(display("reduce-kv", [plus, read("0"), read("[5 6]")]), "12");
}

#[test]
fn a_long_path_takes_no_native_stack_and_is_charged() {
    let path = || Value::Vector(Vector::repeat(Value::keyword("k"), 100_000));
    let deep = call("assoc-in", [Value::Nil, path(), Value::Int(1)]);
    // A hundred thousand maps are more than ten megabytes.
    assert_eq!(deep.expect_err("too large").reason(), Reason::MemoryExceeded);
    let run = outcome(
        "assoc-in",
        [Value::Nil, path(), Value::Int(1)],
        Limits { memory_bytes: 1 << 30, steps: 1 << 30 },
    );
    assert!(run.steps >= 100_000);
    assert_eq!(display("get-in", [run.result.expect("enough memory"), path()]), "1");
}

#[test]
fn the_steps_of_a_merge_follow_its_size() {
    let map = |n: i64| Value::Map((0..n).map(|i| (Value::Int(i), Value::Nil)).collect());
    let steps = |n| outcome("merge", [read("{:a 1}"), map(n)], Limits::default()).steps;
    assert!((1000..5000).contains(&(steps(2000) - steps(1000))));
}
